//! Commands for people are refused where an agent runs them, with real processes.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use tempfile::TempDir;

const TOLLGATE: &str = env!("CARGO_BIN_EXE_tollgate");

/// What an agent does: asks its hook as the agents do it, by a shell, and then runs a command.
const AGENT: &str =
    r#"/bin/sh -c '"$0" "$@"; exit $?' "$TOLLGATE" hook claude < "$PAYLOAD" > "$ANSWER"; "$@""#;

/// What the person is told.
const REFUSED: &str =
    "changes what an agent may do, and an agent started it: `fake-agent`, process ";

struct World {
    root: TempDir,
}

impl World {
    /// A project with a hook, and an agent: a shell by another name.
    fn new() -> Self {
        let world = Self { root: TempDir::new().unwrap() };
        fs::create_dir_all(world.path("project/.tollgate/hooks")).unwrap();
        fs::create_dir_all(world.path("home")).unwrap();
        let hook = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n";
        fs::write(world.path("project/.tollgate/hooks/hook.md"), hook).unwrap();
        let payload = json!({
            "session_id": "s", "cwd": world.path("project"), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": "ls"},
        });
        fs::write(world.path("payload"), payload.to_string()).unwrap();
        symlink(fs::canonicalize("/bin/sh").unwrap(), world.path("fake-agent")).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("TOLLGATE", TOLLGATE)
            .env("PAYLOAD", self.path("payload"))
            .env("ANSWER", self.path("answer"))
            .env("OTHER", self.path("other"))
            .current_dir(self.path("project"));
        command
    }

    /// The agent, which asks its hook and then runs a command line.
    fn agent(&self, line: &str) -> Command {
        let mut command = self.command(&self.path("fake-agent"));
        command.args(["-c", AGENT, "agent", "/bin/sh", "-c", line]);
        command
    }

    fn records(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("state/tollgate/hosts")).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_record =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("agent-");
        paths.filter(is_record).collect()
    }

    fn is_trusted(&self) -> bool {
        let mut shows = self.command(Path::new(TOLLGATE));
        shows.args(["trust", "--show"]).output().unwrap().status.success()
    }
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs a command at a terminal at which somebody types, and gives what is shown there.
fn at_terminal(mut command: Command, typed: &str) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let side = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
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
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
fn an_agent_that_asks_cannot_run_them() {
    let world = World::new();
    for line in [
        "$TOLLGATE trust --yes",
        "$TOLLGATE trust",
        "$TOLLGATE trust --revoke",
        "$TOLLGATE install claude",
        "$TOLLGATE install claude --user",
        "$TOLLGATE uninstall claude",
        "$TOLLGATE setup --yes",
        "$TOLLGATE setup --undo --yes",
        // What is printed for a person to repeat, an agent can repeat as well.
        "$TOLLGATE trust --yes $($TOLLGATE trust --show --json | grep -o '[0-9a-f]\\{64\\}' | head -1)",
        "script -qec '$TOLLGATE trust --yes' /dev/null",
        "echo y | script -qec '$TOLLGATE trust' /dev/null",
        "setsid --wait $TOLLGATE trust --yes",
        "nohup $TOLLGATE trust --yes",
        "(cd / && $TOLLGATE install claude --user)",
        "sh -c 'sh -c \"$TOLLGATE trust --yes || exit 3\" || exit 3'",
        "cp $TOLLGATE ../renamed && ../renamed trust --yes",
        // Elsewhere there is no record.
        "HOME=$OTHER XDG_STATE_HOME=$OTHER $TOLLGATE install claude",
        "env -i PATH=$PATH HOME=$OTHER $TOLLGATE install claude",
        "env -i $TOLLGATE uninstall claude",
    ] {
        let output = world.agent(line).output().unwrap();
        let said = said(&output);
        assert!(said.contains(REFUSED), "{line}: {said}");
        assert!(said.contains("run it in a terminal of your own"), "{line}: {said}");
        assert!(!output.status.success(), "{line}: {said}");
        assert!(!world.path("project/.claude").exists(), "{line}");
        assert!(!world.is_trusted(), "{line}");
    }
    let shown = at_terminal(world.agent("$TOLLGATE trust"), "y\n");
    assert!(shown.contains(REFUSED) && !world.is_trusted(), "{shown}");
}

#[test]
fn what_it_is_told_can_be_read_by_a_program() {
    let world = World::new();
    let output = world.agent("$TOLLGATE trust --yes --json").output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains(REFUSED), "{answer}");
}

#[test]
fn to_look_is_for_everybody() {
    let world = World::new();
    for line in [
        "$TOLLGATE trust --show",
        "$TOLLGATE install claude --dry-run",
        "$TOLLGATE setup --dry-run",
        "$TOLLGATE uninstall claude --dry-run",
        "$TOLLGATE list",
        "$TOLLGATE check",
        "$TOLLGATE help trust",
    ] {
        let said = said(&world.agent(line).output().unwrap());
        assert!(!said.contains("an agent started it") && !said.is_empty(), "{line}: {said}");
    }
}

#[test]
fn a_person_can_while_an_agent_runs_beside() {
    let world = World::new();
    // It has asked, and waits for as long as its input is open.
    let mut agent = world
        .agent("echo asked; read line")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 6];
    agent.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(world.records().len(), 1);
    let trusts = world.command(Path::new(TOLLGATE)).args(["trust", "--yes"]).output().unwrap();
    assert!(trusts.status.success(), "{}", said(&trusts));
    assert!(world.is_trusted());
    drop(agent.stdin.take());
    agent.wait().unwrap();
    // Nor does a hook that a person calls make an agent of their shell.
    let line = "$TOLLGATE hook claude < $PAYLOAD; $TOLLGATE trust --revoke\nexit\n";
    let mut shell = world.command(Path::new("/bin/sh"));
    shell.env("PS1", "");
    let shown = at_terminal(shell, line);
    assert!(!shown.contains("an agent started it") && !world.is_trusted(), "{shown}");
}

#[test]
fn one_that_runs_in_a_hook_or_in_an_agent_of_ours_is_refused() {
    let world = World::new();
    let settings = json!({"guard": {"PreToolUse": [{"matcher": "*", "hooks": [
        {"type": "command", "command": format!("{TOLLGATE} trust --yes > {} 2>&1", world.path("said").display())},
    ]}]}});
    fs::create_dir_all(world.path("home/.gemini/config")).unwrap();
    fs::write(world.path("home/.gemini/config/hooks.json"), settings.to_string()).unwrap();
    let mut fires = world.command(Path::new(TOLLGATE));
    fs::write(world.path("call"), r#"{"name": "run_command"}"#).unwrap();
    fires.args(["fire", "tool.pre", "--payload"]).arg(world.path("call")).output().unwrap();
    let said = fs::read_to_string(world.path("said")).unwrap();
    assert!(said.contains("an agent started it: `tollgate"), "{said}");
    assert!(!world.is_trusted());
}

#[test]
fn an_agent_is_recorded_once_and_forgotten_when_it_has_ended() {
    let world = World::new();
    let folder = world.path("state/tollgate/hosts");
    fs::create_dir_all(&folder).unwrap();
    let (old, new, other) =
        (folder.join("agent-4000000-1"), folder.join("agent-4000001-1"), folder.join("claude-s"));
    for file in [&old, &new, &other] {
        fs::write(file, "claude").unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_hours(48);
    for file in [&old, &other] {
        File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
    }
    let again = r#"ls -i "$XDG_STATE_HOME/tollgate/hosts"; "$TOLLGATE" hook claude < "$PAYLOAD"; ls -i "$XDG_STATE_HOME/tollgate/hosts""#;
    let output = world.agent(again).output().unwrap();
    let said = said(&output);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("agent-")).collect();
    assert_eq!(lines.len(), 4, "{said}");
    assert_eq!(lines[..2], lines[2..], "{said}");
    assert!(!old.exists() && new.exists() && other.exists(), "{:?}", world.records());
}

#[test]
fn an_agent_that_cannot_be_recorded_is_answered() {
    let world = World::new();
    let answer = |world: &World| {
        let output = world.agent("cat $ANSWER").output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
        output.stdout
    };
    let before = answer(&world);
    let folder = world.path("state/tollgate/hosts");
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "a file").unwrap();
    assert_eq!(answer(&world), before);
    assert_eq!(fs::read_to_string(&folder).unwrap(), "a file");
}
