//! Which project a session is held to: what is kept of it may be damaged, and where the agent is may be nowhere.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::json;
use tempfile::TempDir;

/// A trusted project whose policy refuses `rm`, another project without hooks, and a home.
struct World {
    root: TempDir,
    project: PathBuf,
}

const POLICY: &str = r#"policy.deny("run_command", when = lambda args: "rm" in args["CommandLine"], reason = "no rm here")"#;

impl World {
    fn new() -> Self {
        let world = Self::named(OsStr::new("project"));
        let trusted = world.run(&world.project, &["trust", "--yes"], "");
        assert!(trusted.status.success(), "{trusted:?}");
        world
    }

    fn named(name: &OsStr) -> Self {
        let root = TempDir::new().unwrap();
        let project = root.path().canonicalize().unwrap().join(name);
        for directory in [".git", ".tollgate", "sub"] {
            fs::create_dir_all(project.join(directory)).unwrap();
        }
        fs::create_dir_all(root.path().join("elsewhere/.git")).unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        fs::write(project.join(".tollgate/policy.star"), POLICY).unwrap();
        Self { root, project }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn pins(&self) -> PathBuf {
        self.path("home/.local/state/tollgate/hosts")
    }

    fn run(&self, directory: &Path, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.path("home"));
        command.args(arguments).current_dir(directory);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Codex calls a tool, in a session, being in a directory. The hook runs in a directory of no project.
    fn call(&self, session: &str, event: &str, directory: &Path) -> Output {
        self.call_from(&self.path("home"), session, event, &directory.to_string_lossy())
    }

    fn call_from(&self, here: &Path, session: &str, event: &str, directory: &str) -> Output {
        let call = json!({
            "session_id": session, "turn_id": "t", "hook_event_name": event, "cwd": directory,
            "tool_name": "Bash", "tool_input": {"command": "rm -r x"}, "source": "startup",
        });
        self.run(here, &["hook", "codex"], &call.to_string())
    }

    fn is_refused(&self, session: &str, directory: &Path) -> bool {
        self.call(session, "PreToolUse", directory).status.code() == Some(2)
    }

    fn old(&self, name: &str, days: u64) {
        let file = File::options().write(true).open(self.pins().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_hours(24 * days)).unwrap();
    }
}

#[test]
fn a_damaged_pin_is_made_anew() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    for damage in ["", "\0", "relative/path", "/nowhere/at/all"] {
        assert!(world.is_refused("s", &world.project), "{damage:?}");
        assert!(world.is_refused("s", &elsewhere), "{damage:?}: the pin holds");
        fs::write(world.pins().join("codex-s"), damage).unwrap();
        assert!(world.is_refused("s", &world.project), "{damage:?}");
        assert!(world.is_refused("s", &elsewhere), "{damage:?}: it holds again");
    }
    fs::remove_file(world.pins().join("codex-s")).unwrap();
    assert!(world.is_refused("s", &world.project));
    assert!(world.is_refused("s", &elsewhere));
}

/// If nothing can be kept, an agent is only believed while its process is where it says that it is.
#[test]
fn where_nothing_can_be_kept_an_agent_cannot_leave() {
    let world = World::new();
    fs::create_dir_all(world.pins().parent().unwrap()).unwrap();
    fs::write(world.pins(), "").unwrap();
    let output = world.call("s", "PreToolUse", &world.path("elsewhere"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("cannot keep which project"),
        "{output:?}"
    );
    // This process is the agent.
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let output = world.call("s", "PreToolUse", &here);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = world.call("s", "SessionStart", &world.path("elsewhere"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// A session that goes on keeps its file, however long ago it began, and others lose theirs.
#[test]
fn a_session_may_go_on_for_months() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    assert!(world.is_refused("long", &world.project));
    assert!(world.is_refused("over", &world.project));
    fs::write(world.pins().join("codex-long.written"), "/a\n").unwrap();
    fs::write(world.pins().join("codex-over.written"), "/a\n").unwrap();
    fs::write(world.pins().join("codex-killed.part-7"), "/a\n").unwrap();
    fs::write(world.pins().join("codex-young.part-8"), "/a\n").unwrap();
    for name in [
        "codex-long",
        "codex-long.written",
        "codex-over",
        "codex-over.written",
        "codex-killed.part-7",
    ] {
        world.old(name, 40);
    }
    assert!(world.is_refused("long", &elsewhere), "it is still held to its project");
    // Another session begins, and what is old is removed.
    assert!(world.is_refused("other", &world.project));
    let is_there = |name: &str| world.pins().join(name).exists();
    for (name, kept) in [
        ("codex-long", true),
        ("codex-long.written", true),
        ("codex-over", false),
        ("codex-over.written", false),
        ("codex-killed.part-7", false),
        ("codex-young.part-8", true),
    ] {
        assert_eq!(is_there(name), kept, "{name}");
    }
    assert!(world.is_refused("long", &elsewhere));
}

#[test]
fn sessions_are_not_taken_for_each_other() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    let long = "x".repeat(80);
    let ids = [
        "a/b",
        "a_b",
        "a.b",
        "a b",
        "A-b",
        "a-b",
        &long,
        &format!("{long}y"),
        &format!("{long}z"),
        "ä",
        "../../x",
    ];
    for (place, id) in ids.iter().enumerate() {
        // Every other one begins elsewhere, where nothing is refused.
        let begins = if place % 2 == 0 { &world.project } else { &elsewhere };
        assert_eq!(world.is_refused(id, begins), place % 2 == 0, "{id}");
    }
    for (place, id) in ids.iter().enumerate() {
        assert_eq!(world.is_refused(id, &elsewhere), place % 2 == 0, "{id}");
    }
    let names: Vec<_> =
        fs::read_dir(world.pins()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| name.len() < 140), "{names:?}");
}

/// A directory that is gone, or has too long a name, is in the project around it, or where the hook was started.
#[test]
fn a_directory_that_is_nowhere() {
    let world = World::new();
    let gone = world.project.join("sub/gone/further");
    assert!(world.is_refused("gone", &gone));
    let long = world.project.join("d/".repeat(3_000));
    let output = world.call("long", "PreToolUse", &long);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let nowhere = "/nowhere/at/all";
    let output = world.call_from(&world.project.join("sub"), "nowhere", "PreToolUse", nowhere);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output =
        world.call_from(&world.project, "long", "PreToolUse", &format!("/{}", "x".repeat(5_000)));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// A hook that was started in a directory which is gone answers all the same.
#[test]
fn a_hook_without_a_directory() {
    let world = World::new();
    let call = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": world.project.join("sub"),
        "turn_id": "t", "tool_name": "Bash", "tool_input": {"command": "rm -r x"},
    });
    let script = format!(
        "mkdir gone; cd gone; rmdir ../gone; exec {} hook codex",
        env!("CARGO_BIN_EXE_tollgate")
    );
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", world.path("home"))
        .current_dir(world.path("elsewhere"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// JSON cannot name such a directory, and the trust store neither. So its own hooks cannot be trusted; those of the person
/// are in force, and what they let pass is let pass.
#[test]
fn a_project_whose_name_is_not_utf8() {
    let world = World::named(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(world.path("home/.config/tollgate")).unwrap();
    fs::write(world.path("home/.config/tollgate/policy.star"), POLICY).unwrap();
    let trusted = world.run(&world.project, &["trust", "--yes"], "");
    assert_eq!(trusted.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&trusted.stderr).contains("is not UTF-8"), "{trusted:?}");
    let shown = world.project.to_string_lossy().into_owned();
    let output = world.call_from(&world.project, "s", "PreToolUse", &shown);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no rm here"), "{output:?}");
    let call = json!({
        "session_id": "s", "turn_id": "t", "hook_event_name": "PreToolUse", "cwd": shown,
        "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let output = world.run(&world.project, &["hook", "codex"], &call.to_string());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
