//! What is pinned, what the store keeps, and what a seal notices.

// Clippy takes helpers of tests for code of the library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tollgate_config::diagnostic::Code;
use tollgate_config::trust::{
    ChangeKind, Digest, PinKind, Seal, Store, StoreError, Survey, Surveyed, SurveyedCommand,
    Tampering, TrustState,
};

/// A project in a directory of its own, with a place for the store beside it.
struct Project {
    place: TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Self {
        let place = TempDir::new().unwrap();
        let root = place.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let project = Self { place, root };
        project.write(".agents/hooks.json", "{}");
        project
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn store_path(&self) -> PathBuf {
        self.place.path().join("state/trust.json")
    }

    fn surveyed(&self, commands: &[&str], declared: &[&str]) -> Surveyed {
        let cwd = self.root.join(".agents");
        let command = |text: &&str| SurveyedCommand { text: (*text).to_owned(), cwd: cwd.clone() };
        Surveyed {
            file: self.root.join(".agents/hooks.json"),
            commands: commands.iter().map(command).collect(),
            declared: declared.iter().map(|glob| (*glob).to_owned()).collect(),
        }
    }

    fn survey(&self, commands: &[&str], declared: &[&str]) -> Survey {
        Survey::new(&self.root, &[self.surveyed(commands, declared)]).unwrap()
    }

    /// The seal of a project that is trusted as it is.
    fn seal(&self, commands: &[&str]) -> Arc<Seal> {
        let mut store = Store::open(self.store_path()).unwrap();
        let survey = self.survey(commands, &[]);
        store.trust(&survey).unwrap();
        let TrustState::Trusted(seal) = store.state(&survey) else { panic!("not trusted") };
        seal.check().unwrap();
        seal
    }
}

fn pinned(survey: &Survey) -> Vec<(PinKind, &str)> {
    survey.pins().map(|pin| (pin.kind, pin.path.as_str())).collect()
}

fn scripts(survey: &Survey) -> Vec<&str> {
    let is_script = |pin: &&tollgate_config::trust::Pin| pin.kind == PinKind::Script;
    survey.pins().filter(is_script).map(|pin| pin.path.as_str()).collect()
}

#[test]
fn every_word_that_is_a_file_of_the_project_is_pinned() {
    let project = Project::new();
    for path in [".agents/a.sh", "b.py", "tools/c d.sh", "tools/e.sh", "conf.toml"] {
        project.write(path, "x");
    }
    for (command, expected) in [
        ("./a.sh", vec![".agents/a.sh"]),
        ("python3 ../b.py --x", vec!["b.py"]),
        ("python3 b.py", vec!["b.py"]),
        ("bash '../tools/c d.sh'", vec!["tools/c d.sh"]),
        (r"bash ../tools/c\ d.sh", vec!["tools/c d.sh"]),
        ("X=1 Y=../conf.toml ./a.sh", vec![".agents/a.sh", "conf.toml"]),
        ("./a.sh --config=../conf.toml", vec![".agents/a.sh", "conf.toml"]),
        ("curl -d @a.sh host", vec![".agents/a.sh"]),
        ("true;./a.sh|tee x&&../tools/e.sh", vec![".agents/a.sh", "tools/e.sh"]),
        ("echo $(./a.sh) `../tools/e.sh`", vec![".agents/a.sh", "tools/e.sh"]),
        ("bash -c 'cd x; ./a.sh \"$@\"'", vec![".agents/a.sh"]),
        ("cd ../tools && ./e.sh", vec!["tools/e.sh"]),
        ("\"$PWD/a.sh\"", vec![".agents/a.sh"]),
        ("$(pwd)/a.sh", vec![".agents/a.sh"]),
        ("\"$PROJECT\"/tools/e.sh", vec!["tools/e.sh"]),
        ("sh <a.sh", vec![".agents/a.sh"]),
        ("sh <<EOF\n./a.sh\nEOF", vec![".agents/a.sh"]),
        ("/bin/true", vec![]),
        ("../../outside.sh", vec![]),
    ] {
        fs::write(project.place.path().join("outside.sh"), "x").unwrap();
        assert_eq!(scripts(&project.survey(&[command], &[])), expected, "{command}");
    }
}

#[test]
fn what_is_executed_is_pinned_and_data_is_not() {
    const A: &str = ".agents/a.sh";
    let project = Project::new();
    for path in [".agents/a.sh", ".agents/log", "data.json", "filter.jq", "x.awk", "Makefile"] {
        project.write(path, "x");
    }
    project.write("bin/cat", "x");
    for (command, expected) in [
        // Data.
        ("./a.sh >> log", vec![A]),
        ("./a.sh 2>>log >../data.json", vec![A]),
        ("echo done >> log", vec![]),
        ("cat >> ./log; echo '{}'", vec![]),
        ("date | tee -a log", vec![]),
        ("[ -f ../data.json ] && ./a.sh", vec![A]),
        ("test -x a.sh || exit 0; grep -q x ../data.json", vec![]),
        ("[[ -f a.sh ]]; jq -e .x ../data.json", vec![]),
        ("/usr/bin/jq -r --slurpfile d ../data.json .x", vec![]),
        ("env LANG=C timeout 5 cat ../data.json", vec![]),
        ("cat ../data.json | python3 a.sh", vec![A]),
        ("bash a.sh < ../data.json", vec![A]),
        ("while read line; do echo \"$line\"; done < ../data.json", vec![]),
        ("LOG=./log; echo x >> \"$LOG\"", vec![]),
        ("bash -c 'cat ../data.json; ./a.sh >> log'", vec![A]),
        ("cat ../data.json | python3 -c 'import json, sys; json.load(sys.stdin)'", vec![]),
        ("echo \"see ./log now\"", vec![]),
        // Executed, or in doubt.
        (". ./a.sh", vec![A]),
        ("source ./a.sh && cat ../data.json", vec![A]),
        ("jq -f ../filter.jq ../data.json", vec!["data.json", "filter.jq"]),
        ("jq -rf ../filter.jq", vec!["filter.jq"]),
        ("jq --from-file ../filter.jq", vec!["filter.jq"]),
        ("jq 'import \"filter\" as f; .' ../filter.jq", vec!["filter.jq"]),
        ("awk -f ../x.awk", vec!["x.awk"]),
        ("sed -f ../x.awk", vec!["x.awk"]),
        ("make -f ../Makefile", vec!["Makefile"]),
        ("cat a.sh | sh", vec![A]),
        ("cat a.sh | bash -s", vec![A]),
        ("cat a.sh | bash -c sh", vec![A]),
        ("bash -c 'cat a.sh' | bash -c 'bash -s x'", vec![A]),
        ("bash -c 'cat a.sh' | sh", vec![A]),
        ("eval \"$(cat a.sh)\"", vec![A]),
        ("source <(cat a.sh)", vec![A]),
        ("bash <(cat a.sh)", vec![A]),
        ("$(cat a.sh)", vec![A]),
        ("X=$(cat a.sh); $X", vec![A]),
        ("X=$(cat a.sh); sh -c \"$X\"", vec![A]),
        ("X=./a.sh; cat log >> \"$X\"; \"$X\"", vec![A, ".agents/log"]),
        ("X=./a.sh; echo \"$X\"; sh $X", vec![A]),
        ("cat a.sh | xargs sh -c", vec![A]),
        ("cat a.sh | python3 -c 'import sys; exec(sys.stdin.read())'", vec![A]),
        ("cat a.sh | source /dev/stdin", vec![A]),
        ("../bin/cat a.sh", vec![A, "bin/cat"]),
        ("cat() { sh \"$@\"; }; cat a.sh", vec![A]),
        ("PATH=../bin:$PATH; cat a.sh", vec![A]),
        ("sort --compress-program=./a.sh", vec![A]),
        ("BASH_ENV=./a.sh cat x", vec![A]),
        ("trap ./a.sh EXIT", vec![A]),
        ("psql < a.sh", vec![A]),
    ] {
        assert_eq!(scripts(&project.survey(&[command], &[])), expected, "{command}");
    }
    // What only reads leaves nothing to pin.
    for command in ["cat >> log; echo '{}'", "jq .x", "grep -q x && exit 2"] {
        assert!(project.survey(&[command], &[]).unpinned().is_empty(), "{command}");
    }
}

#[test]
fn a_file_that_earlier_versions_pinned_without_need_is_no_change() {
    let project = Project::new();
    project.write(".agents/log", "x");
    let mut store = Store::open(project.store_path()).unwrap();
    store.trust(&project.survey(&["./log"], &[])).unwrap();
    project.write(".agents/log", "more");
    let survey = project.survey(&["cat ./log"], &[]);
    assert!(matches!(store.state(&survey), TrustState::Trusted(_)));
    fs::remove_file(project.root.join(".agents/log")).unwrap();
    assert!(matches!(store.state(&survey), TrustState::Changed(_)));
}

#[test]
fn what_cannot_be_pinned_is_listed_with_the_reason() {
    let project = Project::new();
    project.write(".agents/a.sh", "x");
    project.write("lib/m.py", "x");
    for (command, reason) in [
        ("make lint", "`make` reads further files"),
        ("env CI=1 timeout 5 npm run check", "`npm` reads further files"),
        ("python3 -m pytest", "`python3 -m` runs what is in no file"),
        ("python3.12 -Im x", "`python3.12 -m` runs"),
        ("node -e 'x()'", "`node -e` runs"),
        ("bash -lc './a.sh'", "`bash -c` runs"),
        ("node /opt/x.js", "no word of it is a file of the project"),
        ("$HOOKS/a.sh", "where `a.sh` is depends on `$HOOKS`"),
        ("$HOOKS/b.sh", "where `b.sh` is depends on `$HOOKS`"),
        ("./a.sh ../lib", "`../lib` is a directory"),
        ("./a.sh ../lib/*.py", "`../lib/*.py` is a pattern of many files"),
        ("./a.sh && cargo run", "`cargo` reads further files"),
    ] {
        let survey = project.survey(&[command], &[]);
        let unpinned = survey.unpinned();
        assert_eq!(unpinned.len(), 1, "{command}: {unpinned:?}");
        assert_eq!(unpinned[0].command, command);
        assert_eq!(unpinned[0].file, ".agents/hooks.json");
        assert!(unpinned[0].reason.contains(reason), "{command}: {}", unpinned[0].reason);
    }
    for command in ["./a.sh", "bash a.sh -c", "python3 ../lib/m.py -m x"] {
        assert!(project.survey(&[command], &[]).unpinned().is_empty(), "{command}");
    }
}

#[test]
fn declared_files_are_pinned_within_bounds() {
    let project = Project::new();
    for path in ["lib/a.py", "lib/deep/b.py", "lib/c.txt", ".git/x.py"] {
        project.write(path, "x");
    }
    symlink("/", project.root.join("lib/everything")).unwrap();
    let declared = |glob: &str| {
        let survey = project.survey(&[], &[glob]);
        let pins = survey.pins().filter(|pin| pin.kind == PinKind::Declared);
        let names: Vec<_> = pins.map(|pin| pin.path.clone()).collect();
        let reasons: Vec<_> = survey.unpinned().iter().map(|u| u.reason.clone()).collect();
        (names, reasons)
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(declared("lib/**/*.py"), (names(&["lib/a.py", "lib/deep/b.py"]), vec![]));
    assert_eq!(declared("**/*.py"), (names(&["lib/a.py", "lib/deep/b.py"]), vec![]));
    assert_eq!(declared("lib/*.py"), (names(&["lib/a.py"]), vec![]));
    assert_eq!(declared("lib/c.txt"), (names(&["lib/c.txt"]), vec![]));
    assert_eq!(declared("none/*"), (vec![], names(&["it matches no file"])));
    assert_eq!(declared("../*"), (vec![], names(&["it leads out of the project"])));
    assert!(declared("[").1[0].starts_with("it is no glob"));
    for n in 0..2_001 {
        project.write(&format!("many/{n}"), "");
    }
    assert_eq!(declared("many/*"), (vec![], names(&["it matches more than 2000 files"])));
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_a_script_does_not_stop_us() {
    let project = Project::new();
    let made = Command::new("mkfifo").arg(project.root.join("pipe")).status();
    assert!(made.unwrap().success());
    let survey = project.survey(&["sh ../pipe", "sh /dev/zero"], &[]);
    assert!(scripts(&survey).is_empty());
    assert!(survey.unpinned()[0].reason.contains("not a regular file"));
}

#[test]
fn a_link_is_pinned_by_its_content_and_by_where_it_leads() {
    let project = Project::new();
    let outside = project.place.path().canonicalize().unwrap().join("shared");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x.sh"), "x").unwrap();
    fs::write(outside.join("y.sh"), "x").unwrap();
    symlink(outside.join("x.sh"), project.root.join("link.sh")).unwrap();
    symlink(&outside, project.root.join("dir")).unwrap();
    let survey = project.survey(&["../link.sh ../dir/y.sh"], &[]);
    let targets: Vec<_> =
        survey.pins().skip(1).map(|pin| (pin.path.clone(), pin.target.clone().unwrap())).collect();
    let at = |name: &str| outside.join(name).to_str().unwrap().to_owned();
    assert_eq!(targets, [("dir/y.sh".to_owned(), at("y.sh")), ("link.sh".to_owned(), at("x.sh"))]);

    let mut store = Store::open(project.store_path()).unwrap();
    store.trust(&survey).unwrap();
    fs::remove_file(project.root.join("link.sh")).unwrap();
    symlink(outside.join("y.sh"), project.root.join("link.sh")).unwrap();
    let survey = project.survey(&["../link.sh ../dir/y.sh"], &[]);
    let TrustState::Changed(changes) = store.state(&survey) else { panic!() };
    assert_eq!((changes.len(), changes[0].what), (1, ChangeKind::Moved));
}

#[test]
fn the_digest_is_over_everything_and_not_over_the_place() {
    let (one, other) = (Project::new(), Project::new());
    for project in [&one, &other] {
        project.write("a.sh", "x");
    }
    let commands = ["bash ../a.sh", "make x"];
    let digest = one.survey(&commands, &[]).digest();
    assert_eq!(digest, other.survey(&commands, &[]).digest());
    assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    assert!("12".parse::<Digest>().is_err());

    let mut digests = BTreeSet::from([digest.clone()]);
    digests.insert(one.survey(&["bash ../a.sh"], &[]).digest());
    digests.insert(one.survey(&["bash ../a.sh", "make y"], &[]).digest());
    digests.insert(one.survey(&commands, &["a.sh"]).digest());
    one.write("a.sh", "y");
    digests.insert(one.survey(&commands, &[]).digest());
    one.write(".agents/hooks.json", "{ }");
    digests.insert(one.survey(&commands, &[]).digest());
    assert_eq!(digests.len(), 6);

    let mut store = Store::open(one.store_path()).unwrap();
    let changed = one.survey(&commands, &[]);
    assert!(matches!(store.trust_if(&changed, &digest), Err(StoreError::WrongDigest { .. })));
    assert!(matches!(store.state(&changed), TrustState::Untrusted));
    store.trust_if(&changed, &changed.digest()).unwrap();
    assert!(matches!(store.state(&changed), TrustState::Trusted(_)));
}

#[test]
fn the_state_tells_each_change() {
    let project = Project::new();
    project.write("a.sh", "x");
    project.write("b.sh", "x");
    let commands = ["bash ../a.sh", "bash ../b.sh", "bash ../late.sh"];
    let mut store = Store::open(project.store_path()).unwrap();
    let survey = project.survey(&commands, &[]);
    assert!(matches!(store.state(&survey), TrustState::Untrusted));
    store.trust(&survey).unwrap();
    assert!(matches!(store.state(&survey), TrustState::Trusted(_)));

    // Another process sees the same.
    let store = Store::open(project.store_path()).unwrap();
    assert!(matches!(store.state(&project.survey(&commands, &[])), TrustState::Trusted(_)));
    assert_eq!(store.projects().next().unwrap().0, project.root);

    project.write("a.sh", "y");
    fs::remove_file(project.root.join("b.sh")).unwrap();
    project.write("late.sh", "x");
    let other = Surveyed {
        file: project.root.join(".polytoken/hooks.json"),
        commands: vec![],
        declared: vec![],
    };
    project.write(".polytoken/hooks.json", "[]");
    let survey = Survey::new(&project.root, &[project.surveyed(&commands, &[]), other]).unwrap();
    let TrustState::Changed(changes) = store.state(&survey) else { panic!() };
    let told: Vec<_> = changes.iter().map(|c| (c.path.as_str(), c.what, c.code())).collect();
    assert_eq!(
        told,
        [
            (".polytoken/hooks.json", ChangeKind::New, Code::ChangedSinceTrusted),
            ("a.sh", ChangeKind::Changed, Code::ChangedSinceTrusted),
            ("late.sh", ChangeKind::New, Code::ChangedSinceTrusted),
            ("b.sh", ChangeKind::Deleted, Code::MissingSinceTrusted),
        ]
    );
    let (old, new) = (changes[1].old.unwrap().short(), changes[1].new.unwrap().short());
    assert_eq!(changes[1].to_string(), format!("script `a.sh` was changed: {old}, now {new}"));

    // A hook file that is gone is a change as well, also when it was the only one.
    fs::remove_file(project.root.join(".agents/hooks.json")).unwrap();
    let gone = Survey::new(&project.root, &[project.surveyed(&commands, &[])]).unwrap();
    let TrustState::Changed(changes) = store.state(&gone) else { panic!() };
    assert!(changes.iter().all(|change| change.what == ChangeKind::Deleted), "{changes:?}");
    let none = Survey::new(&project.root, &[]).unwrap();
    assert!(matches!(store.state(&none), TrustState::Changed(_)));
}

#[test]
fn a_project_is_known_by_where_it_really_is_and_can_be_revoked() {
    let project = Project::new();
    let link = project.place.path().join("link");
    symlink(&project.root, &link).unwrap();
    let mut store = Store::open(project.store_path()).unwrap();
    store.trust(&project.survey(&[], &[])).unwrap();
    let through_link =
        Surveyed { file: link.join(".agents/hooks.json"), ..project.surveyed(&[], &[]) };
    let survey = Survey::new(&link, &[through_link]).unwrap();
    assert_eq!(survey.root(), project.root);
    assert!(matches!(store.state(&survey), TrustState::Trusted(_)));
    assert!(store.revoke(&link).unwrap());
    assert!(!store.revoke(&link).unwrap());
    assert!(matches!(store.state(&survey), TrustState::Untrusted));
}

// ---- the seal ----

#[test]
fn a_seal_notices_what_changes_and_stays_broken() {
    let project = Project::new();
    project.write("a.sh", "one");
    let seal = project.seal(&["bash ../a.sh"]);

    // The same content is no change, however it got there.
    project.write("new", "one");
    fs::rename(project.root.join("new"), project.root.join("a.sh")).unwrap();
    seal.check().unwrap();

    // The same length, at once: time stamps may not tell.
    project.write("a.sh", "two");
    let tampered = seal.check().unwrap_err();
    assert_eq!(tampered.path, "a.sh");
    assert!(matches!(tampered.what, Tampering::Changed { .. }));

    project.write("a.sh", "one");
    assert_eq!(seal.check().unwrap_err(), tampered);
    assert!(project.seal(&["bash ../a.sh"]).check().is_ok());
}

#[test]
fn a_seal_notices_what_is_gone() {
    let project = Project::new();
    project.write("a.sh", "one");
    let seal = project.seal(&["bash ../a.sh"]);
    fs::remove_file(project.root.join("a.sh")).unwrap();
    assert_eq!(seal.check().unwrap_err().what, Tampering::Deleted);

    project.write("a.sh", "one");
    let seal = project.seal(&["bash ../a.sh"]);
    fs::remove_file(project.root.join("a.sh")).unwrap();
    fs::create_dir(project.root.join("a.sh")).unwrap();
    assert_eq!(seal.check().unwrap_err().what, Tampering::Deleted);
}

#[test]
fn a_seal_notices_a_directory_that_became_a_link() {
    let project = Project::new();
    project.write("tools/a.sh", "one");
    // The very same file, by another way: only the way tells.
    let seal = project.seal(&["bash ../tools/a.sh"]);
    fs::rename(project.root.join("tools"), project.place.path().join("elsewhere")).unwrap();
    symlink(project.place.path().join("elsewhere"), project.root.join("tools")).unwrap();
    assert!(matches!(seal.check().unwrap_err().what, Tampering::Moved { to: Some(_) }));

    // A directory that was replaced by one with the same content is none.
    let project = Project::new();
    project.write("tools/a.sh", "one");
    let seal = project.seal(&["bash ../tools/a.sh"]);
    fs::rename(project.root.join("tools"), project.root.join("old")).unwrap();
    project.write("tools/a.sh", "one");
    seal.check().unwrap();
    seal.check().unwrap();
}

#[test]
fn a_seal_of_some_files_minds_only_those() {
    let project = Project::new();
    project.write("a.sh", "one");
    project.write("b.sh", "one");
    let seal = project.seal(&["bash ../a.sh", "bash ../b.sh"]);
    let survey = project.survey(&["bash ../a.sh"], &[]);
    assert_eq!(survey.paths_for(Path::new(".agents/hooks.json")), [".agents/hooks.json", "a.sh"]);
    let some = seal.for_files(survey.paths_for(Path::new(".agents/hooks.json"))).unwrap();
    assert!(seal.for_files(["c.sh"]).is_err());
    project.write("b.sh", "two");
    some.check().unwrap();
    seal.check().unwrap_err();
    project.write("a.sh", "two");
    some.check().unwrap_err();
    seal.for_files([project.root.join("a.sh")]).unwrap().check().unwrap_err();
}

#[test]
fn a_check_where_nothing_changed_allocates_nothing() {
    let project = Project::new();
    project.write("a.sh", "one");
    let seal = project.seal(&["bash ../a.sh"]);
    seal.check().unwrap();
    let counted = allocation_counter::measure(|| seal.check().unwrap());
    assert_eq!(counted.count_total, 0);
}

// ---- the store ----

#[test]
fn a_broken_store_is_an_error_and_never_an_empty_one() {
    let project = Project::new();
    let path = project.store_path();
    Store::open(&path).unwrap().trust(&project.survey(&[], &[])).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let half = whole[..whole.len() / 2].to_owned();
    for content in [
        "",
        "null",
        "{}",
        &half,
        &whole.replace("\"version\": 1", "\"version\": 2"),
        &whole.replace("\"pins\"", "\"nips\""),
        &whole.replace("\"hash\": \"", "\"hash\": \"x"),
    ] {
        fs::write(&path, content).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Broken { .. }), "{content}: {error}");
        assert_eq!(error.diagnostic().code, Code::BrokenTrustStore);
        // One that was opened before does not write over it either.
    }
    fs::write(&path, &whole).unwrap();
    let mut store = Store::open(&path).unwrap();
    fs::write(&path, &half).unwrap();
    store.trust(&project.survey(&[], &[])).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), half);
    fs::write(&path, b"\xff\xfe").unwrap();
    assert!(Store::open(&path).unwrap_err().diagnostic().line().contains("not UTF-8"));
}

#[test]
fn a_store_that_others_could_write_is_refused() {
    let project = Project::new();
    let path = project.store_path();
    Store::open(&path).unwrap().trust(&project.survey(&[], &[])).unwrap();
    let refused = || matches!(Store::open(&path), Err(StoreError::Refused { .. }));
    let chmod = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode));
    let directory = path.parent().unwrap();
    for mode in [0o620, 0o602, 0o666] {
        chmod(&path, mode).unwrap();
        assert!(refused(), "{mode:o}");
    }
    chmod(&path, 0o644).unwrap();
    assert!(!refused());
    for mode in [0o772, 0o707, 0o1777] {
        chmod(directory, mode).unwrap();
        assert!(refused(), "{mode:o}");
    }
    // A group that others may be in.
    let group = fs::metadata(directory).unwrap().gid();
    if std::os::unix::fs::chown(directory, None, Some(12_345)).is_ok() {
        chmod(directory, 0o770).unwrap();
        assert!(refused());
        std::os::unix::fs::chown(directory, None, Some(group)).unwrap();
    }
    // Of a group that is the person's own, the rights are taken away.
    chmod(directory, 0o775).unwrap();
    let mode = || fs::metadata(directory).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o775);
    assert_eq!(if refused() { 0o755 } else { mode() }, 0o755);
    chmod(directory, 0o755).unwrap();
    assert!(!refused());

    if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
        assert!(refused());
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        std::os::unix::fs::chown(directory, Some(12_345), None).unwrap();
        assert!(refused());
        std::os::unix::fs::chown(directory, Some(0), None).unwrap();
    }
    // A link is followed if it is ours, and stays one.
    let link = project.place.path().join("link.json");
    symlink(&path, &link).unwrap();
    let mut store = Store::open(&link).unwrap();
    assert_eq!(store.projects().count(), 1);
    assert!(store.revoke(&project.root).unwrap());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(Store::open(&path).unwrap().projects().count(), 0);
    if std::os::unix::fs::lchown(&link, Some(12_345), None).is_ok() {
        assert!(matches!(Store::open(&link), Err(StoreError::Refused { .. })));
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(Store::open(&path).is_err());
}

#[test]
fn of_many_writers_at_once_none_loses_a_project() {
    let place = TempDir::new().unwrap();
    let path = place.path().join("state/trust.json");
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let (root, path) = (place.path().join(format!("p{writer}")), path.clone());
            thread::spawn(move || {
                for n in 0..6 {
                    let root = root.join(n.to_string());
                    fs::create_dir_all(&root).unwrap();
                    let survey = Survey::new(&root, &[]).unwrap();
                    Store::open(&path).unwrap().trust(&survey).unwrap();
                }
            })
        })
        .collect();
    // Who reads meanwhile sees a whole store that only grows.
    let mut before = 0;
    while writers.iter().any(|writer| !writer.is_finished()) {
        let now = Store::open(&path).unwrap().projects().count();
        assert!(now >= before);
        before = now;
    }
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(Store::open(&path).unwrap().projects().count(), 96);
}

/// Not a test of its own: what [`a_writer_that_is_killed_leaves_a_whole_store`] starts and kills.
#[test]
fn writes_until_it_is_killed() {
    let Some(place) = std::env::var_os("TOLLGATE_TEST_WRITES_TO").map(PathBuf::from) else {
        return;
    };
    for n in 0.. {
        let root = place.join(format!("{}-{}", std::process::id(), n % 50));
        fs::create_dir_all(&root).unwrap();
        let survey = Survey::new(&root, &[]).unwrap();
        Store::open(place.join("state/trust.json")).unwrap().trust(&survey).unwrap();
        // Told by a name of its own, so that it is known what has to be in the store.
        fs::write(place.join("told").join(root.file_name().unwrap()), "").unwrap();
    }
}

#[test]
fn a_writer_that_is_killed_leaves_a_whole_store() {
    let place = TempDir::new().unwrap();
    let told = place.path().join("told");
    fs::create_dir(&told).unwrap();
    let path = place.path().join("state/trust.json");
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writes_until_it_is_killed", "--nocapture"])
            .env("TOLLGATE_TEST_WRITES_TO", place.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut seed = 1_u64;
    for _ in 0..60 {
        // Two at once, each killed at another moment.
        let mut writers = [start(), start()];
        for writer in &mut writers {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            thread::sleep(Duration::from_micros(3_000 + (seed >> 33) % 25_000));
            writer.kill().unwrap();
            writer.wait().unwrap();
            Store::open(&path).unwrap();
        }
    }
    let store = Store::open(&path).unwrap();
    let kept: BTreeSet<_> = store.projects().filter_map(|(root, _)| root.file_name()).collect();
    let finished: Vec<_> = fs::read_dir(&told).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(finished.len() > 10, "the writers never came to write: {}", finished.len());
    for name in &finished {
        assert!(kept.contains(name.as_os_str()), "{name:?} was told to be trusted and is lost");
    }
    // What a killed writer left behind hinders nobody, and no lock is held.
    let root = place.path().join("last");
    fs::create_dir(&root).unwrap();
    Store::open(&path).unwrap().trust(&Survey::new(&root, &[]).unwrap()).unwrap();
}

#[test]
fn pins_are_listed_by_kind() {
    let project = Project::new();
    project.write("a.sh", "x");
    let survey = project.survey(&["bash ../a.sh"], &["*.sh"]);
    assert_eq!(
        pinned(&survey),
        [
            (PinKind::HookFile, ".agents/hooks.json"),
            (PinKind::Script, "a.sh"),
            (PinKind::Declared, "a.sh"),
        ]
    );
}
