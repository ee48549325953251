//! What is different at a terminal: colours, and questions to the person.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

struct World {
    root: tempfile::TempDir,
}

impl World {
    /// A project with a guard.
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let hooks = root.path().join("project/.tollgate/hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::create_dir(root.path().join("home")).unwrap();
        let guard = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return ask(\"really?\")\n---\n";
        fs::write(hooks.join("asks.md"), guard).unwrap();
        fs::write(root.path().join("call.json"), r#"{"name": "run_command"}"#).unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("TERM", "xterm-256color");
        command
    }
}

/// Runs a command at a terminal at which somebody types, and gives what is shown there.
fn at_terminal(mut command: Command, typed: &str) -> (String, ExitStatus) {
    let terminal: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let side = || File::options().read(true).write(true).open(Path::new(&name)).unwrap();
    let mut child = command
        .stdin(Stdio::from(side()))
        .stdout(Stdio::from(side()))
        .stderr(Stdio::from(side()))
        .spawn()
        .unwrap();
    // Our copies of its side are closed with this.
    drop(command);
    let mut terminal = File::from(terminal);
    terminal.write_all(typed.as_bytes()).unwrap();
    let reader = thread::spawn(move || {
        let mut shown = Vec::new();
        // The end of the other side is an error here.
        let _ = terminal.read_to_end(&mut shown);
        String::from_utf8(shown).unwrap()
    });
    let status = child.wait().unwrap();
    (reader.join().unwrap(), status)
}

#[test]
fn colours_are_for_terminals_and_can_be_turned_off() {
    let world = World::new();
    let (shown, _) = at_terminal(world.command(&["list"]), "");
    assert!(shown.contains("\x1b[1m"), "{shown}");
    let mut command = world.command(&["list"]);
    command.env("NO_COLOR", "1");
    let (shown, _) = at_terminal(command, "");
    assert!(!shown.contains('\x1b') && shown.contains("tollgate-guard"), "{shown}");
    let mut command = world.command(&["list"]);
    command.env("TERM", "dumb");
    let (shown, _) = at_terminal(command, "");
    assert!(!shown.contains('\x1b'), "{shown}");
}

#[test]
fn trust_is_given_by_a_person_who_says_yes() {
    let world = World::new();
    let (shown, status) = at_terminal(world.command(&["trust"]), "n\n");
    assert!(shown.contains("Nothing was pinned."), "{shown}");
    assert_eq!(status.code(), Some(1));
    let (shown, status) = at_terminal(world.command(&["trust"]), "y\n");
    assert!(shown.contains("is trusted as it is now."), "{shown}");
    assert_eq!(status.code(), Some(0));
    assert!(world.command(&["trust", "--show"]).output().unwrap().status.success());
}

#[test]
fn a_question_is_put_where_it_is_wanted() {
    let world = World::new();
    let call = world.path("call.json");
    let arguments = [
        "fire",
        "tool.pre",
        "--hooks",
        ".tollgate/hooks",
        "--payload",
        call.to_str().unwrap(),
        "--interactive",
    ];
    let (shown, status) = at_terminal(world.command(&arguments), "yes\n");
    assert!(shown.contains("really?") && shown.contains("allow"), "{shown}");
    assert_eq!(status.code(), Some(0));
    let (shown, status) = at_terminal(world.command(&arguments), "\n");
    assert!(shown.contains("the person who was asked said no"), "{shown}");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn setup_asks_before_it_writes_and_before_it_undoes() {
    let world = World::new();
    fs::create_dir_all(world.path("home/.claude")).unwrap();
    let settings = world.path("home/.claude/settings.json");
    for answer in ["n\n", "no\n", "what?\n"] {
        let (shown, status) = at_terminal(world.command(&["setup"]), answer);
        assert!(shown.contains("7 hook files to") && shown.contains("[Y/n]"), "{shown}");
        assert!(shown.contains("nothing was changed"), "{shown}");
        assert_eq!((status.code(), settings.exists()), (Some(1), false), "{shown}");
    }
    let (shown, status) = at_terminal(world.command(&["setup"]), "\n");
    assert!(shown.contains("guarded by") && shown.contains("setup --undo"), "{shown}");
    assert_eq!((status.code(), settings.exists()), (Some(0), true), "{shown}");
    let (shown, status) = at_terminal(world.command(&["setup", "--undo"]), "n\n");
    assert!(shown.contains("Undo setup, which wrote 8 files?"), "{shown}");
    assert_eq!((status.code(), settings.exists()), (Some(1), true), "{shown}");
    let (shown, status) = at_terminal(world.command(&["setup", "--undo"]), "y\n");
    assert_eq!((status.code(), settings.exists()), (Some(0), false), "{shown}");
}
