//! The store of exceptions.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;

use tollgate_record::exceptions::{Binding, Exception, Lasting, Objector, Store, now};
use tollgate_record::{Code, RecordError};

fn code(text: &str) -> Code {
    text.parse().unwrap()
}

fn exception(id: &str, lasting: Lasting, until: Option<u64>) -> Exception {
    let binding = Binding {
        hooks: vec![Objector {
            hook: "guard".to_owned(),
            source: None,
            rule: None,
            reason: "no".to_owned(),
        }],
        call: "00".to_owned(),
        rest: None,
        directory: "/work".to_owned(),
        reads: Vec::new(),
    };
    let shown = "git push".to_owned();
    let (pattern, reason) = (None, None);
    Exception { id: code(id), made: now(), lasting, until, binding, pattern, shown, reason }
}

fn ids(store: &Store) -> Vec<String> {
    store.list().unwrap().iter().map(|it| it.id.to_string()).collect()
}

#[test]
fn one_for_one_call_is_spent_and_others_stay() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    assert_eq!(ids(&store), [""; 0]);
    store.add(exception("000001", Lasting::Once, None)).unwrap();
    store.add(exception("000002", Lasting::For, Some(now() + 60))).unwrap();
    store.add(exception("000003", Lasting::Always, None)).unwrap();
    let all = BTreeSet::from([code("000001"), code("000002"), code("000003")]);
    assert!(store.spend(&all).unwrap());
    assert_eq!(ids(&store), ["000002", "000003"]);
    // One that is gone keeps the others from being spent.
    store.add(exception("000004", Lasting::Once, None)).unwrap();
    assert!(!store.spend(&BTreeSet::from([code("000001"), code("000004")])).unwrap());
    assert_eq!(ids(&store), ["000002", "000003", "000004"]);
    assert!(store.revoke(&code("000003")).unwrap());
    assert!(!store.revoke(&code("000003")).unwrap());
    assert_eq!(ids(&store), ["000002", "000004"]);
}

#[test]
fn of_many_only_one_spends_it() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    for _ in 0..10 {
        store.add(exception("000001", Lasting::Once, None)).unwrap();
        let barrier = Barrier::new(8);
        let spent = std::thread::scope(|scope| {
            let spend = || {
                barrier.wait();
                Store::new(state.path()).spend(&BTreeSet::from([code("000001")])).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(spend)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count()
        });
        assert_eq!(spent, 1);
    }
}

#[test]
fn one_that_is_over_is_none() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    store.add(exception("000001", Lasting::For, Some(now()))).unwrap();
    store.add(exception("000002", Lasting::For, Some(now() + 60))).unwrap();
    let early =
        Exception { made: now() + 3_600, ..exception("000003", Lasting::For, Some(now() + 7_200)) };
    store.add(early).unwrap();
    assert_eq!(ids(&store), ["000002"]);
    assert!(!store.spend(&BTreeSet::from([code("000001")])).unwrap());
}

#[test]
fn the_store_is_bounded() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    for number in 0..256 {
        store.add(exception(&format!("{number:06}"), Lasting::Always, None)).unwrap();
    }
    let more = store.add(exception("999999", Lasting::Always, None));
    assert!(matches!(more, Err(RecordError::Full(256))));
    // The same one again is no further one.
    store.add(exception("000000", Lasting::Always, None)).unwrap();
}

#[test]
fn a_store_that_is_broken_or_not_private_is_an_error() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    store.add(exception("000001", Lasting::Always, None)).unwrap();
    let file = state.path().join("record/exceptions.json");
    let whole = fs::read_to_string(&file).unwrap();
    for broken in [
        "",
        "{}",
        "[]",
        &whole.replace("\"version\": 1", "\"version\": 2"),
        &whole[..whole.len() / 2],
    ] {
        fs::write(&file, broken).unwrap();
        assert!(store.list().is_err(), "{broken}");
        assert!(store.add(exception("000002", Lasting::Once, None)).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    }
    fs::write(&file, &whole).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(store.list(), Err(RecordError::Refused { .. })));
}

#[test]
fn a_lock_that_is_held_is_not_waited_for_without_end() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    store.add(exception("000001", Lasting::Once, None)).unwrap();
    let held = File::open(state.path().join("record/exceptions.lock")).unwrap();
    held.lock().unwrap();
    assert!(matches!(store.spend(&BTreeSet::from([code("000001")])), Err(RecordError::Busy(_))));
    // To look needs no lock.
    assert_eq!(ids(&store), ["000001"]);
}
