//! A trusted project goes on running as it was approved while a change waits for review.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use stub::{Stub, codes, hook, runner, trust, write};
use tempfile::TempDir;
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Loaded, Setup, load};
use tollgate_core::prelude::*;

mod stub;

/// A script that denies what its payload says `rm` of.
const GUARD: &str = "#!/bin/sh\ngrep -q rm && echo '{\"decision\": \"deny\", \"reason\": \"approved\"}' \
                     || echo '{\"decision\": \"allow\"}'\n";

struct Project {
    _place: TempDir,
    root: PathBuf,
    places: Places,
}

impl Project {
    fn new(command: &str) -> Self {
        let place = TempDir::new().unwrap();
        let places = Places::below(&place.path().canonicalize().unwrap());
        let root = places.project.clone().unwrap();
        let hooks = serde_json::json!({"guard": {"PreToolUse": [
            {"matcher": "run_command", "hooks": [{"command": command, "timeout": 5}]}
        ]}});
        write(&root.join(".agents/hooks.json"), &hooks.to_string());
        let project = Self { _place: place, root, places };
        project.script("guard.sh", GUARD);
        project
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.root.join(".agents").join(name);
        write(&path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(".agents").join(name)
    }

    fn load(&self) -> Loaded {
        load(&Setup::new(self.places.clone()).scripts(Stub::default()))
    }
}

async fn call(loaded: Loaded, tool: &str, line: &str) -> Outcome<ToolPre> {
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolCall::new(tool).arg("CommandLine", line);
    runner(loaded).dispatch(&operation, ToolPre::from(call)).await
}

/// A change of a trusted project, and the codes that are reported.
type Change = (&'static str, fn(&Project), &'static [&'static str]);

#[tokio::test]
async fn a_change_runs_as_it_was_approved() {
    const ALLOWS: &str = "#!/bin/sh\necho '{\"decision\": \"allow\"}'\n";
    const CHANGES: &[Change] = &[
        ("a script is edited", |p| p.script("guard.sh", ALLOWS), &["TG078"]),
        ("a script is deleted", |p| fs::remove_file(p.path("guard.sh")).unwrap(), &["TG078"]),
        (
            "a script is a link now",
            |p| {
                p.script("other.sh", ALLOWS);
                fs::remove_file(p.path("guard.sh")).unwrap();
                std::os::unix::fs::symlink("other.sh", p.path("guard.sh")).unwrap();
            },
            &["TG078"],
        ),
        ("the hook file is edited", |p| write(&p.path("hooks.json"), "{}"), &["TG078", "TG078"]),
        ("the hook file is broken", |p| write(&p.path("hooks.json"), "{"), &["TG078", "TG078"]),
        (
            "the hook file is deleted",
            |p| fs::remove_file(p.path("hooks.json")).unwrap(),
            &["TG078", "TG078"],
        ),
        (
            "another hook file comes",
            |p| write(&p.root.join(".polytoken/hooks.json"), "[{\"x\": 1}]"),
            &["TG078"],
        ),
        (
            "a Markdown hook comes that denies all",
            |p| write(&p.root.join(".tollgate/hooks/no.md"), &hook("script: block")),
            &["TG078"],
        ),
    ];
    for command in
        ["./guard.sh", "bash guard.sh", "X=1 '.'/guard.sh; exit 0", "cat | \"$PWD\"/guard.sh"]
    {
        for (name, change, expected) in CHANGES {
            let project = Project::new(command);
            trust(&project.places);
            change(&project);
            let loaded = project.load();
            assert_eq!(codes(&loaded.diagnostics), *expected, "{name}: {:?}", loaded.diagnostics);
            assert!(loaded.is_sound, "{command}, {name}");
            assert!(!loaded.has_errors(), "{command}, {name}");
            assert!(loaded.files.iter().all(|file| file.state == FileState::InForce), "{name}");
            let denied = call(loaded, "run_command", "rm x").await;
            let detail = denied.record.detail();
            assert_eq!(denied.verdict.level, Level::Deny, "{command}, {name}");
            assert_eq!(denied.reason(), "approved", "{command}, {name}: {detail}");
            let allowed = call(project.load(), "run_command", "ls").await;
            assert_eq!(allowed.verdict.level, Level::Allow, "{command}, {name}");
        }
    }
}

#[tokio::test]
async fn what_cannot_run_as_it_was_approved_closes_its_gate() {
    let large = format!("{GUARD}#{}\n", "x".repeat(1 << 20));
    for (command, script, change, why) in [
        (
            "./guard.sh",
            GUARD.replace("grep", ". \"$(dirname \"$0\")/lib.sh\"; grep"),
            "edit",
            "finds files by its own place",
        ),
        ("./guard.sh", large, "edit", "no copy of it is kept"),
        ("bash -c './guard.sh'", GUARD.to_owned(), "edit", "inside of a word"),
        ("./guard.sh ./conf.toml", GUARD.to_owned(), "edit-conf", "may need the files beside it"),
        ("./guard.sh; ./late.sh", GUARD.to_owned(), "add", "`.agents/late.sh` is new"),
        ("./guard.sh", GUARD.to_owned(), "tamper", "no copy of it is kept"),
    ] {
        let project = Project::new(command);
        project.script("guard.sh", &script);
        project.script("conf.toml", "x = 1\n");
        trust(&project.places);
        match change {
            "edit" => project.script("guard.sh", "exit 0\n"),
            "edit-conf" => project.script("conf.toml", "x = 2\n"),
            "add" => project.script("late.sh", "exit 0\n"),
            _ => {
                project.script("guard.sh", "exit 0\n");
                let approved = project.places.trust.as_ref().unwrap().with_file_name("approved");
                for entry in fs::read_dir(approved).unwrap() {
                    let copy = entry.unwrap().path().join("guard.sh");
                    if copy.exists() {
                        fs::write(copy, "exit 0\n").unwrap();
                    }
                }
            }
        }
        let loaded = project.load();
        assert!(!loaded.is_sound, "{command}");
        assert_eq!(loaded.files[0].state, FileState::Changed, "{command}");
        let told: Vec<_> = loaded.diagnostics.iter().map(|said| said.message.clone()).collect();
        assert!(told.iter().any(|said| said.contains(why)), "{command}: {told:?}");
        assert!(codes(&loaded.diagnostics).contains(&"TG061"), "{command}: {told:?}");
        let outcome = call(loaded, "run_command", "ls").await;
        assert_eq!(outcome.verdict.level, Level::Deny, "{command}");
        assert!(outcome.record.detail().contains(why), "{command}: {}", outcome.record.detail());
        // Calls that it is not asked about go on.
        let other = call(project.load(), "view_file", "x").await;
        assert_ne!(other.verdict.level, Level::Deny, "{command}");
    }
}

#[tokio::test]
async fn without_the_directory_it_runs_in_a_command_denies() {
    let project = Project::new("./guard.sh");
    trust(&project.places);
    fs::remove_dir_all(project.path("")).unwrap();
    assert_eq!(call(project.load(), "run_command", "ls").await.verdict.level, Level::Deny);
}

#[tokio::test]
async fn a_copy_that_changes_while_hooks_are_in_force_closes_the_gate() {
    let project = Project::new("./guard.sh");
    trust(&project.places);
    project.script("guard.sh", "exit 0\n");
    let loaded = project.load();
    let approved = project.places.trust.as_ref().unwrap().with_file_name("approved");
    for entry in fs::read_dir(approved).unwrap() {
        let copy = entry.unwrap().path().join("guard.sh");
        if copy.exists() {
            fs::write(copy, "#!/bin/sh\necho '{\"decision\": \"allow\"}'\n").unwrap();
        }
    }
    assert_eq!(call(loaded, "run_command", "ls").await.verdict.level, Level::Deny);
}

#[tokio::test]
async fn a_changed_markdown_hook_and_policy_run_as_they_were_approved() {
    let project = Project::new("./guard.sh");
    let files = [".tollgate/hooks/no.md", ".tollgate/policy.star"];
    for (file, text, changed) in [
        (files[0], hook("script: block"), hook("")),
        (files[1], "block".to_owned(), "allow".to_owned()),
    ] {
        for how in ["edit", "delete"] {
            write(&project.root.join(file), &text);
            trust(&project.places);
            let before = call(project.load(), "view_file", "x").await;
            match how {
                "edit" => write(&project.root.join(file), &changed),
                _ => fs::remove_file(project.root.join(file)).unwrap(),
            }
            let loaded = project.load();
            assert_eq!(codes(&loaded.diagnostics), ["TG078"], "{file} {how}");
            let after = call(loaded, "view_file", "x").await;
            assert_eq!(after.verdict.level, before.verdict.level, "{file} {how}");
            assert_eq!(after.verdict.level, Level::Deny, "{file} {how}");
        }
        let _ = fs::remove_file(project.root.join(file));
        trust(&project.places);
    }
}

#[tokio::test]
async fn settings_count_as_they_were_approved() {
    let project = Project::new("./guard.sh");
    let file = project.root.join(".tollgate/config.toml");
    write(&file, "[limits]\nhook = \"3s\"\n");
    trust(&project.places);
    write(&file, "[limits]\nhook = \"1s\"\n");
    let setup = Setup::new(project.places.clone()).scripts(Stub::default());
    assert_eq!(setup.settings.settings.limits.hook.as_secs(), 3);
    let loaded = load(&setup);
    assert_eq!(codes(&loaded.diagnostics), ["TG078"]);
    assert_eq!(call(loaded, "run_command", "rm").await.reason(), "approved");

    // Without the file, nobody looks for what it narrowed.
    fs::remove_file(&file).unwrap();
    let loaded = project.load();
    assert!(codes(&loaded.diagnostics).contains(&"TG062"), "{:?}", loaded.diagnostics);
    assert_eq!(call(loaded, "run_command", "ls").await.verdict.level, Level::Deny);

    // A project may close itself while a change waits.
    write(&file, "[trust]\nchanged = \"closed\"\n");
    trust(&project.places);
    write(&project.path("hooks.json"), "{}");
    assert_eq!(call(project.load(), "view_file", "x").await.verdict.level, Level::Deny);
}

#[test]
fn copies_are_private_and_go_with_what_they_are_of() {
    let project = Project::new("./guard.sh");
    trust(&project.places);
    let approved = project.places.trust.as_ref().unwrap().with_file_name("approved");
    let files = || {
        let mut files = Vec::new();
        for folder in fs::read_dir(&approved).unwrap() {
            let folder = folder.unwrap().path();
            for file in fs::read_dir(&folder).unwrap() {
                files.push(file.unwrap().path());
            }
        }
        files
    };
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let before = files();
    assert_eq!(before.len(), 3, "{before:?}");
    for file in &before {
        assert_eq!(mode(file.parent().unwrap()), 0o700);
        let expected = if file.ends_with("guard.sh") { 0o700 } else { 0o600 };
        assert_eq!(mode(file), expected, "{}", file.display());
    }
    project.script("guard.sh", "exit 0\n");
    trust(&project.places);
    let after = files();
    assert_eq!(after.len(), 3, "{after:?}");
    assert_ne!(before, after);

    let path = project.places.trust.as_ref().unwrap();
    let mut store = tollgate_config::trust::Store::open(path).unwrap();
    assert!(store.revoke(&project.root).unwrap());
    assert_eq!(files(), Vec::<PathBuf>::new());
}
