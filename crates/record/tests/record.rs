//! The record under kills, cuts, flipped bits, locks and many writers.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use tollgate_record::{Code, Entry, Kept, Limits, Reader, RecordError, Recorder, Refused, Stored};

fn limits() -> Limits {
    Limits { segment: 2_000, segments: 4_000, patience: Duration::from_secs(30), waiting: 4 }
}

fn refused(host: &str) -> Entry {
    let reason = "Lines\nand\ttabs and \u{202e} others.".to_owned();
    Entry::Refused(Box::new(Refused { host: host.to_owned(), reason, ..Refused::default() }))
}

fn host(stored: &Stored) -> String {
    match &stored.entry {
        Entry::Refused(refused) => refused.host.clone(),
        other => panic!("{other:?}"),
    }
}

fn hosts(state: &Path) -> Vec<String> {
    let newest = Reader::with(state, limits()).newest(10_000).unwrap();
    newest.iter().map(host).collect()
}

fn segments(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("record")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut segments: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "log")).collect();
    segments.sort();
    segments
}

fn damage(state: &Path) -> usize {
    Reader::with(state, limits()).check().unwrap().damage.len()
}

/// A record with a few entries in one segment.
fn small(names: &[&str]) -> (tempfile::TempDir, Recorder) {
    let state = tempfile::tempdir().unwrap();
    let recorder = Recorder::with(state.path(), limits());
    for name in names {
        recorder.append(&refused(name)).unwrap();
    }
    (state, recorder)
}

#[test]
fn entries_are_read_from_the_newest_over_segments() {
    let state = tempfile::tempdir().unwrap();
    let recorder = Recorder::with(state.path(), limits());
    let names: Vec<String> = (0..40).map(|number| format!("h{number}")).collect();
    for name in &names {
        assert!(matches!(recorder.append(&refused(name)), Ok(Kept::InChain(_))));
    }
    let backward: Vec<String> = names.iter().rev().cloned().collect();
    assert_eq!(hosts(state.path()), backward);
    assert!(segments(state.path()).len() > 5);
    let reader = Reader::with(state.path(), limits());
    assert_eq!(reader.check().unwrap().damage, []);
    let newest = reader.newest_refusals(3).unwrap();
    assert_eq!(newest.iter().map(|(_, it)| &it.host).collect::<Vec<_>>(), ["h39", "h38", "h37"]);
    let numbers: Vec<u64> =
        reader.newest(100).unwrap().iter().map(|it| it.sequence.unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    for path in segments(state.path()) {
        assert!(fs::metadata(&path).unwrap().len() <= 2_000, "{}", path.display());
    }
}

#[test]
fn the_number_of_segments_is_bounded() {
    let state = tempfile::tempdir().unwrap();
    let limits = Limits { segments: 3, ..limits() };
    let recorder = Recorder::with(state.path(), limits);
    for number in 0..60 {
        recorder.append(&refused(&format!("h{number}"))).unwrap();
    }
    assert_eq!(segments(state.path()).len(), 3);
    assert_eq!(hosts(state.path())[0], "h59");
    assert_eq!(damage(state.path()), 0);
}

#[test]
fn an_entry_that_is_too_large_is_an_error_and_changes_nothing() {
    let (state, recorder) = small(&["a"]);
    let large = refused(&"x".repeat(70_000));
    assert!(matches!(recorder.append(&large), Err(RecordError::TooLarge(_))));
    assert_eq!(hosts(state.path()), ["a"]);
    // The largest ones are longer than a segment, and than the tail that is read first.
    let (state, recorder) = small(&[]);
    let long = "y".repeat(60_000);
    for _ in 0..3 {
        recorder.append(&refused(&long)).unwrap();
    }
    recorder.append(&refused("b")).unwrap();
    assert_eq!(hosts(state.path()).len(), 4);
    assert_eq!(damage(state.path()), 0);
}

#[test]
fn a_torn_tail_is_recognised_and_nothing_is_overwritten() {
    let (state, _) = small(&["a", "b", "c"]);
    let segment = segments(state.path()).remove(0);
    let whole = fs::read(&segment).unwrap();
    let start = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in start + 1..whole.len() {
        for zeroed in [false, true] {
            let state = tempfile::tempdir().unwrap();
            let folder = state.path().join("record");
            let recorder = Recorder::with(state.path(), limits());
            recorder.append(&refused("other")).unwrap();
            let torn = folder.join("00000001.log");
            let mut bytes = whole[..end].to_vec();
            if zeroed {
                bytes.resize(whole.len(), 0);
            }
            fs::write(&torn, &bytes).unwrap();
            assert!(matches!(recorder.append(&refused("d")), Ok(Kept::InChain(_))));
            recorder.append(&refused("e")).unwrap();
            assert_eq!(fs::read(&torn).unwrap(), bytes);
            assert_eq!(hosts(state.path()), ["e", "d", "b", "a"], "cut at {end}");
            assert_eq!(damage(state.path()), 1, "cut at {end}");
            assert_eq!(segments(state.path()).len(), 2);
        }
    }
}

#[test]
fn a_torn_first_frame_goes_back_to_the_segment_before() {
    let (state, recorder) = small(&["a", "b"]);
    let first = segments(state.path()).remove(0);
    let before = fs::read(&first).unwrap();
    for (number, torn) in [(2, &b""[..]), (3, b"{\"v\":1,"), (4, b"\n"), (5, &[0; 300])] {
        let path = state.path().join(format!("record/{number:08}.log"));
        // What an entry before has begun is in the way of nobody.
        let _ = fs::remove_file(&path);
        fs::write(&path, torn).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    recorder.append(&refused("c")).unwrap();
    assert_eq!(hosts(state.path()), ["c", "b", "a"]);
    assert_eq!(fs::read(&first).unwrap(), before);
    assert_eq!(segments(state.path()).len(), 6);
}

#[test]
fn every_flipped_byte_is_noticed_and_costs_one_entry_at_most() {
    let (state, _) = small(&["a", "b", "c", "d"]);
    let segment = segments(state.path()).remove(0);
    let whole = fs::read(&segment).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&segment, &flipped).unwrap();
        assert!(damage(state.path()) > 0, "byte {at}");
        let left = hosts(state.path());
        // A line feed that is gone joins two frames; one that is new cuts one.
        assert!(left.len() >= 2, "byte {at}: {left:?}");
        let all = ["a", "b", "c", "d"];
        assert!(left.iter().all(|host| all.contains(&host.as_str())), "byte {at}: {left:?}");
    }
    fs::write(&segment, &whole).unwrap();
    assert_eq!(damage(state.path()), 0);
}

#[test]
fn frames_that_are_exchanged_or_repeated_are_noticed() {
    let (state, _) = small(&["a", "b", "c"]);
    let segment = segments(state.path()).remove(0);
    let whole = fs::read(&segment).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for order in [&[0, 2, 1, 3][..], &[0, 1, 1, 2, 3], &[0, 1, 3], &[1, 2, 3]] {
        let bytes: Vec<u8> = order.iter().flat_map(|line| lines[*line].to_vec()).collect();
        fs::write(&segment, bytes).unwrap();
        assert!(damage(state.path()) > 0, "{order:?}");
    }
}

/// Not a test of its own: what the tests below start in other processes.
#[test]
fn writes_for_other_tests() {
    let Ok(state) = std::env::var("RECORD_STATE") else { return };
    let name = std::env::var("RECORD_NAME").unwrap();
    let count: usize = std::env::var("RECORD_COUNT").unwrap().parse().unwrap();
    let recorder = Recorder::with(Path::new(&state), limits());
    for number in 0..count {
        let name = format!("{name}-{number}");
        recorder.append(&refused(&name)).unwrap();
        println!("acknowledged {name}");
    }
}

fn writer(state: &Path, name: &str, count: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "writes_for_other_tests", "--nocapture"])
        .env("RECORD_STATE", state)
        .env("RECORD_NAME", name)
        .env("RECORD_COUNT", count.to_string())
        .stdout(Stdio::piped());
    command
}

#[test]
fn many_writers_share_one_chain() {
    let state = tempfile::tempdir().unwrap();
    let names = ["p", "q", "r"];
    let children: Vec<_> =
        names.iter().map(|name| writer(state.path(), name, 25).spawn().unwrap()).collect();
    std::thread::scope(|scope| {
        for name in ["s", "t"] {
            let recorder = Recorder::with(state.path(), limits());
            scope.spawn(move || {
                for number in 0..25 {
                    recorder.append(&refused(&format!("{name}-{number}"))).unwrap();
                }
            });
        }
    });
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let found: BTreeSet<String> = hosts(state.path()).into_iter().collect();
    let wanted: BTreeSet<String> = ["p", "q", "r", "s", "t"]
        .iter()
        .flat_map(|name| (0..25).map(move |number| format!("{name}-{number}")))
        .collect();
    assert_eq!(found, wanted);
    assert_eq!(damage(state.path()), 0);
}

#[test]
fn nothing_acknowledged_is_lost_when_a_writer_is_killed() {
    let state = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..8 {
        let mut child = writer(state.path(), &format!("k{round}"), 100_000).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut note = |line: String| {
            let name = line.split_once("acknowledged ").map(|(_, name)| name.to_owned());
            acknowledged.extend(name);
        };
        lines.by_ref().take(3 + round * 2).for_each(|line| note(line.unwrap()));
        child.kill().unwrap();
        lines.for_each(|line| note(line.unwrap()));
        child.wait().unwrap();
    }
    Recorder::with(state.path(), limits()).append(&refused("after")).unwrap();
    let found: BTreeSet<String> = hosts(state.path()).into_iter().collect();
    assert!(acknowledged.len() > 8);
    for name in &acknowledged {
        // The last line of a child may have been cut off.
        assert!(found.iter().any(|other| other.starts_with(name.as_str())), "{name}");
    }
    assert!(found.contains("after"));
}

#[test]
fn a_lock_that_is_held_stalls_nobody() {
    let (state, _) = small(&["a"]);
    let patience = Duration::from_millis(1);
    let recorder = Recorder::with(state.path(), Limits { patience, ..limits() });
    let held = File::open(state.path().join("record/lock")).unwrap();
    held.lock().unwrap();
    for name in ["b", "c", "d", "e"] {
        assert_eq!(recorder.append(&refused(name)).unwrap(), Kept::Waiting);
    }
    assert!(matches!(recorder.append(&refused("f")), Err(RecordError::Busy(_))));
    // They can be read while they wait.
    assert_eq!(hosts(state.path()), ["e", "d", "c", "b", "a"]);
    drop(held);
    assert!(matches!(recorder.append(&refused("g")), Ok(Kept::InChain(_))));
    assert_eq!(hosts(state.path()), ["g", "e", "d", "c", "b", "a"]);
    assert_eq!(damage(state.path()), 0);
    let left = fs::read_dir(state.path().join("record")).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.starts_with("wait-")));
}

#[test]
fn an_entry_that_waits_and_is_torn_is_not_taken() {
    let (state, recorder) = small(&["a"]);
    let torn = state.path().join("record/wait-00000000000000000001-00");
    fs::write(&torn, "{\"v\":1,\"at\"").unwrap();
    recorder.append(&refused("b")).unwrap();
    assert_eq!(hosts(state.path()), ["b", "a"]);
    // Its writer may still be at it.
    assert!(torn.exists());
    let long_ago = SystemTime::now() - Duration::from_hours(1);
    File::options().write(true).open(&torn).unwrap().set_modified(long_ago).unwrap();
    recorder.append(&refused("c")).unwrap();
    assert!(!torn.exists());
    assert_eq!(hosts(state.path()), ["c", "b", "a"]);
}

#[test]
fn the_record_is_private_and_not_shared() {
    let (state, recorder) = small(&["a"]);
    let folder = state.path().join("record");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
    assert!(matches!(recorder.append(&refused("b")), Err(RecordError::Refused { .. })));
    assert!(Reader::with(state.path(), limits()).newest(1).is_err());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&segments(state.path())[0], fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(recorder.append(&refused("b")), Err(RecordError::Refused { .. })));

    let other = tempfile::tempdir().unwrap();
    symlink(&folder, other.path().join("record")).unwrap();
    let recorder = Recorder::with(other.path(), limits());
    assert!(matches!(recorder.append(&refused("b")), Err(RecordError::Refused { .. })));
}

#[test]
fn a_missing_record_is_empty() {
    let state = tempfile::tempdir().unwrap();
    assert_eq!(Reader::new(state.path()).newest(10).unwrap(), []);
    assert_eq!(Reader::new(state.path()).check().unwrap().entries, 0);
    assert!(!state.path().join("record").exists());
}

#[test]
fn codes_are_random_and_easy_to_type() {
    let codes: BTreeSet<Code> = (0..200).map(|_| Code::random().unwrap()).collect();
    assert!(codes.len() > 190);
    for code in codes {
        assert_eq!(code.as_str().to_lowercase().parse::<Code>().unwrap(), code);
        assert!(!code.as_str().contains(['I', 'L', 'O', 'U']));
    }
    for wrong in ["", "7KQ2M", "7KQ2MXX", "7KQ2MU", "7KQ2M\u{202e}", "--------"] {
        assert!(wrong.parse::<Code>().is_err(), "{wrong}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_segment_is_not_waited_for() {
    let (state, recorder) = small(&["a"]);
    let pipe = state.path().join("record/00000002.log");
    let made = Command::new("mkfifo").arg("-m").arg("600").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert!(recorder.append(&refused("b")).is_err());
}
