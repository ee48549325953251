//! `tollgate setup` protects a machine, and `setup --undo` leaves it as it was; `status` tells the same on one screen.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

const TOLLGATE: &str = env!("CARGO_BIN_EXE_tollgate");

/// The record of what was refused. It outlives `setup --undo`.
const RECORD: &str = ".local/state/tollgate/record";

/// A machine: a home, a project with a subdirectory, and programs that stand in for agents.
struct Machine {
    root: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { root: TempDir::new().unwrap() };
        for folder in ["project/.git", "project/src/deep", "home", "bin"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        machine
    }

    /// With Claude Code, Codex and Gemini CLI, and the settings of a person for one of them.
    fn with_agents() -> Self {
        let machine = Self::new();
        machine.agent("claude", "2.1.325 (Claude Code)");
        machine.agent("codex", "codex-cli 0.166.0");
        machine.agent("gemini", "0.61.0");
        machine.write("home/.gemini/settings.json", "{\n  // mine\n  \"theme\": \"dark\"\n}");
        machine.write("home/.bashrc", "# nothing\n");
        machine
    }

    fn agent(&self, name: &str, version: &str) {
        self.write(&format!("bin/{name}"), &format!("#!/bin/sh\necho '{version}'\n"));
        let path = self.path(&format!("bin/{name}"));
        // By another process: this one may still have the file open when a test beside starts a program.
        assert!(Command::new("chmod").arg("755").arg(path).status().unwrap().success());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, program: &Path, directory: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .current_dir(self.path(directory))
            .stdin(Stdio::null());
        command
    }

    /// The exit code, and what was said.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.run_in("project", arguments)
    }

    fn run_in(&self, directory: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(Path::new(TOLLGATE), directory).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }

    /// Everything in the home but the record: directories, and files with their modes and content.
    fn home(&self) -> BTreeMap<PathBuf, Option<(u32, String)>> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.path("home")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(RECORD) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path.clone());
                    if !self.path("home").join(RECORD).starts_with(&path) {
                        all.insert(path, None);
                    }
                } else {
                    let mode = fs::metadata(&path).unwrap().permissions().mode();
                    let content = fs::read_to_string(&path).unwrap();
                    all.insert(path, Some((mode, content)));
                }
            }
        }
        all
    }

    /// Puts a command to the hook that Claude Code has in its settings, as Claude Code does.
    fn claude_would(&self, directory: &str, command: &str) -> Output {
        let settings: Value =
            serde_json::from_str(&self.read("home/.claude/settings.json")).unwrap();
        let hook = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
        let arguments = hook["args"].as_array().unwrap();
        let mut child = self
            .command(Path::new(hook["command"].as_str().unwrap()), directory)
            .args(arguments.iter().map(|argument| argument.as_str().unwrap()))
            .env("CLAUDE_PROJECT_DIR", self.path(directory))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let payload = json!({
            "cwd": self.path(directory), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": command},
        });
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        // This process is both the agent that asks and the person, so what is recorded of the agent is removed.
        let _ = fs::remove_dir_all(self.path("home/.local/state/tollgate/hosts"));
        output
    }
}

#[test]
fn a_machine_is_protected_and_left_as_it_was() {
    let machine = Machine::with_agents();
    let before = machine.home();

    let (code, said) = machine.run(&["setup", "--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("would write 7 hook files to ~/.config/tollgate"), "{said}");
    assert!(said.contains("would edit ~/.gemini/settings.json, for Gemini CLI"), "{said}");
    assert_eq!(machine.home(), before, "a dry run writes nothing");

    let (code, said) = machine.run(&["setup", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.lines().count() <= 25, "{said}");
    for line in [
        "Protected\n  Claude Code: guarded by 6 hooks; test call refused in",
        "  Gemini CLI: guarded by 6 hooks; test call refused in",
        "Not protected\n  Codex: Codex has not been told to trust these hooks",
        "`tollgate setup --undo` restores all files",
    ] {
        assert!(said.contains(line), "{line} is in {said}");
    }
    let manifest = machine.path("home/.local/state/tollgate/setup.json");
    assert_eq!(fs::metadata(&manifest).unwrap().permissions().mode() & 0o777, 0o600);

    let (_, said) = machine.run(&["doctor"]);
    assert!(said.contains("Claude Code: guarded by 6 hooks"), "{said}");
    for directory in ["project", "project/src/deep", "home"] {
        let refused = machine.claude_would(directory, "mkfs.ext4 -F /dev/sda1");
        assert_eq!(refused.status.code(), Some(2), "{directory}: {refused:?}");
        let passed = machine.claude_would(directory, "ls");
        assert_eq!(passed.status.code(), Some(0), "{directory}: {passed:?}");
        let (_, said) = machine.run_in(directory, &["doctor"]);
        assert!(said.contains("Claude Code: guarded by 6 hooks"), "{directory}: {said}");
    }

    // Again, there is nothing to do, and nobody is asked.
    let after = machine.home();
    let (code, said) = machine.run(&["setup"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Everything was in place already"), "{said}");
    assert_eq!(machine.home(), after);

    let (code, said) = machine.run(&["setup", "--undo", "--dry-run"]);
    assert_eq!((code, machine.home()), (Some(0), after), "{said}");
    let (code, said) = machine.run(&["setup", "--undo", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("restored 10 files"), "{said}");
    assert_eq!(machine.home(), before, "{said}");
    let (code, said) = machine.run(&["setup", "--undo", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Nothing to undo"), "{said}");
}

#[test]
fn what_the_person_has_written_is_kept() {
    let machine = Machine::with_agents();
    machine.write("home/.config/tollgate/policy.star", "# mine\n");
    machine.run(&["setup", "--yes"]);
    assert_eq!(machine.read("home/.config/tollgate/policy.star"), "# mine\n");
    // A guard and the settings of an agent are edited.
    let guard = "home/.config/tollgate/hooks/git-guard.md";
    machine.write(guard, &(machine.read(guard) + "\nMine.\n"));
    let settings = machine.read("home/.claude/settings.json");
    machine
        .write("home/.claude/settings.json", &settings.replacen('{', "{\n  \"model\": \"x\",", 1));
    let (code, said) = machine.run(&["setup", "--undo", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("git-guard.md (edited since setup wrote it)"), "{said}");
    assert!(said.contains(".claude/settings.json (edited since; only Tollgate's hooks"), "{said}");
    assert!(machine.read(guard).ends_with("Mine.\n"));
    let settings = machine.read("home/.claude/settings.json");
    assert!(settings.contains("\"model\": \"x\"") && !settings.contains("tollgate"), "{settings}");
    assert_eq!(machine.read("home/.config/tollgate/policy.star"), "# mine\n");
    assert!(!machine.path("home/.config/tollgate/hooks/command-guard.md").exists());
    assert!(!machine.path("home/.local").exists(), "nothing else is left");
}

#[test]
fn variables_say_where_everything_is() {
    let machine = Machine::with_agents();
    let before = machine.home();
    let run = |arguments: &[&str], claude: &str| {
        let mut command = machine.command(Path::new(TOLLGATE), "project");
        command
            .args(arguments)
            .env("XDG_CONFIG_HOME", machine.path("config"))
            .env("XDG_STATE_HOME", machine.path("state"))
            .env("CLAUDE_CONFIG_DIR", machine.path(claude));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, said) = run(&["setup", "claude", "--yes"], "claude");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(machine.home(), before, "all of it is elsewhere");
    for file in ["config/tollgate/policy.star", "state/tollgate/setup.json", "claude/settings.json"]
    {
        assert!(machine.path(file).is_file(), "{file}");
    }
    // With other variables the files are not found, and nothing is forgotten.
    let (code, said) = run(&["setup", "--undo", "--yes"], "elsewhere");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("set its variables as they were"), "{said}");
    let (code, said) = run(&["setup", "--undo", "--yes"], "claude");
    assert_eq!(code, Some(0), "{said}");
    for folder in ["config", "state", "claude"] {
        assert!(!machine.path(folder).exists(), "{folder}: {said}");
    }
}

#[test]
fn a_file_that_was_put_back_by_hand_is_left_alone() {
    let machine = Machine::with_agents();
    machine.run(&["install", "claude", "--program", "tollgate"]);
    let settings = machine.read("home/.claude/settings.json");
    machine.run(&["setup", "--yes"]);
    machine.write("home/.claude/settings.json", &settings);
    fs::remove_file(machine.path("home/.config/tollgate/hooks/git-guard.md")).unwrap();
    let (code, said) = machine.run(&["setup", "--undo", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("kept"), "{said}");
    assert_eq!(machine.read("home/.claude/settings.json"), settings);
    assert!(!machine.path("home/.config").exists());
}

#[test]
fn an_older_installation_is_put_back() {
    let machine = Machine::with_agents();
    machine.run(&["install", "claude", "--program", "tollgate"]);
    machine.run(&["install", "gemini"]);
    let before = machine.home();
    let (code, said) = machine.run(&["setup", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(machine.read("home/.claude/settings.json").contains(TOLLGATE));
    let (code, said) = machine.run(&["setup", "--undo", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(machine.home(), before, "{said}");
}

#[test]
fn an_agent_whose_settings_cannot_be_parsed_is_named() {
    let machine = Machine::with_agents();
    machine.write("home/.qwen/settings.json", "{\"hooks\": ");
    let before = machine.home();
    let (code, said) = machine.run(&["setup", "--yes"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Qwen Code: ") && said.contains("settings.json:1:11: "), "{said}");
    assert!(said.contains("Gemini CLI: guarded"), "{said}");
    assert_eq!(machine.read("home/.qwen/settings.json"), "{\"hooks\": ");
    machine.run(&["setup", "--undo", "--yes"]);
    assert_eq!(machine.home(), before);
}

#[test]
fn an_agent_that_hangs_does_not_keep_setup_from_its_work() {
    let machine = Machine::new();
    machine.agent("claude", "2.1.325'; sleep 600; echo '");
    let (code, said) = machine.run(&["setup", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Asking the agents for their versions ..."), "progress: {said}");
    assert!(said.contains("Claude Code: guarded"), "{said}");
}

#[test]
fn wrong_uses_change_nothing() {
    let machine = Machine::new();
    for (arguments, why) in [
        (&["setup", "--yes"][..], "no agent was found"),
        (&["setup", "netscape"], "invalid value 'netscape'"),
        (&["setup", "--undo", "claude"], "cannot be used with"),
    ] {
        let (code, said) = machine.run(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    machine.agent("claude", "2.1.325");
    for (arguments, why) in [
        (&["setup"][..], "nobody is at a terminal to confirm this"),
        (&["setup", "--json"], "nobody is at a terminal to confirm this"),
        (&["setup", "kimi", "--yes"], "Kimi Code is not on this machine"),
    ] {
        let (code, said) = machine.run(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    assert_eq!(machine.home(), BTreeMap::new());
    machine.write("home/.local/state/tollgate/setup.json", "{\"version\": 7}");
    let (code, said) = machine.run(&["setup", "--undo", "--yes"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("setup.json` cannot be read"), "{said}");
}

#[test]
fn a_program_reads_what_was_done() {
    let machine = Machine::with_agents();
    // Standard output alone: on a busy machine, progress is shown beside it.
    let report = |arguments: &[&str]| -> Value {
        let output = machine.command(Path::new(TOLLGATE), "project").args(arguments).output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap()
    };
    let plan = report(&["setup", "--dry-run", "--json"]);
    assert_eq!(plan["written"].as_array().unwrap().len(), 7);
    assert_eq!(plan["edited"].as_array().unwrap().len(), 3);
    let done = report(&["setup", "--yes", "--json"]);
    assert_eq!(done["agents"][0]["state"], "guarded");
    let status = report(&["status", "--json"]);
    assert_eq!(status["agents"][0]["state"], "guarded");
    assert_eq!(status["guards"].as_array().unwrap().len(), 6);
    assert_eq!(status["trust"], "nothing to trust");
    assert!(status.get("last_refusal").is_none());
    let undone = report(&["setup", "--undo", "--yes", "--json"]);
    assert_eq!(undone["restored"].as_array().unwrap().len(), 10);
}

#[test]
fn status_is_one_screen() {
    let machine = Machine::with_agents();
    let (code, said) = machine.run(&["status"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("Claude Code: found, not guarded. Run `tollgate install claude`."),
        "{said}"
    );
    machine.run(&["setup", "claude", "gemini", "--yes"]);
    machine.write("project/.tollgate/policy.star", "policy.deny(\"run_command\")\n");
    let (code, said) = machine.run(&["status"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("project     this project, not trusted: `tollgate trust`"), "{said}");
    machine.run(&["trust", "--yes"]);
    let (code, said) = machine.run(&["status"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Gemini CLI: guarded by"), "{said}");
    assert!(said.contains("project     this project, trusted"), "{said}");
    assert!(said.contains("command-guard") && said.lines().count() <= 24, "{said}");
    assert!(!said.contains("refused     "), "{said}");
}
