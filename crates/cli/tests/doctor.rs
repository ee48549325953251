//! `tollgate doctor` does not say of a guard that it holds where it does not, and `install` says what comes of it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

const TOLLGATE: &str = env!("CARGO_BIN_EXE_tollgate");

/// A project and a home.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: TempDir::new().unwrap() };
        fs::create_dir_all(place.path("project/.git")).unwrap();
        fs::create_dir_all(place.path("home")).unwrap();
        place
    }

    /// With a guard of the person.
    fn guarded() -> Self {
        let place = Self::new();
        place.write(
            "home/.config/tollgate/hooks/command-guard.md",
            include_str!("../../../hooks/command-guard.md"),
        );
        place
    }

    /// With Tollgate in the project's configuration of an agent.
    fn with(host: &str) -> Self {
        let place = Self::guarded();
        place.run(&["install", host, "--project", "--program", TOLLGATE]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn edit(&self, name: &str, change: impl FnOnce(String) -> String) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        let changed = change(text.clone());
        assert_ne!(changed, text, "{name}");
        fs::write(self.path(name), changed).unwrap();
    }

    /// The code, and what was said.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.run_in("project", arguments)
    }

    fn run_in(&self, directory: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(TOLLGATE)
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .current_dir(self.path(directory))
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }

    /// That no guard holds, and that this is why.
    fn fails(&self, why: &str) -> String {
        let (code, said) = self.run(&["doctor"]);
        assert_eq!(code, Some(1), "{why}: {said}");
        let mut lines = said.lines().filter(|line| line.contains("problem:"));
        assert!(lines.any(|line| line.contains(why)), "{why} is in {said}");
        said
    }

    fn holds(&self) -> String {
        let (code, said) = self.run(&["doctor"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains("problem"), "{said}");
        said
    }
}

#[test]
fn an_entry_that_was_made_weaker_does_not_hold() {
    let cases = [
        ("/matcher", json!("Read"), "not asked about Bash, "),
        (
            "/hooks/0/async",
            json!(true),
            "PreToolUse is not what this version writes: `async` is true",
        ),
        ("/hooks/0/if", json!("Bash(rm *)"), "`if` is \"Bash(rm *)\""),
        ("/hooks/0/once", json!(true), "`once` is true"),
        ("/hooks/0/type", json!("prompt"), "`type` is \"prompt\""),
        ("/hooks/0/onFailure", json!("continue"), "`onFailure` is \"continue\""),
        ("/hooks/0/onFailure", json!(null), "`tollgate install claude --project` puts it right"),
    ];
    for (at, value, why) in cases {
        let place = Place::with("claude");
        place.holds();
        place.edit("project/.claude/settings.json", |text| {
            let mut settings: Value = serde_json::from_str(&text).unwrap();
            let (parent, key) = at.rsplit_once('/').unwrap();
            settings.pointer_mut(&format!("/hooks/PreToolUse/0{parent}")).unwrap()[key] = value;
            settings.to_string()
        });
        let said = place.fails(why);
        assert!(said.contains("Claude Code: not guarded: 1 problem"), "{said}");
        place.run(&["install", "claude", "--project", "--program", TOLLGATE]);
        place.holds();
    }
}

#[test]
fn tools_that_are_left_out_are_told() {
    let place = Place::with("claude");
    place.edit("project/.claude/settings.json", |text| {
        text.replacen("\"matcher\": \"\"", "\"matcher\": \"Bash|Read\"", 1)
    });
    let (_, said) = place.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    let missed = report[0]["layers"][1]["tools_not_covered"].as_array().unwrap().clone();
    assert!(missed.contains(&json!("Edit")) && !missed.contains(&json!("Bash")), "{missed:?}");
}

#[test]
fn a_switch_of_another_layer_counts() {
    let cases = [
        ("claude", "home/.claude/settings.json", r#"{"disableAllHooks": true}"#),
        ("claude", "project/.claude/settings.local.json", r#"{"disableAllHooks": true}"#),
        ("gemini", "home/.gemini/settings.json", r#"{"hooksConfig": {"enabled": false}}"#),
        ("gemini", "home/.gemini/settings.json", r#"{"hooksConfig": {"disabled": ["tollgate"]}}"#),
        ("codex", "home/.codex/config.toml", "[features]\nhooks = false\n"),
        ("qwen", "home/.qwen/settings.json", r#"{"disableAllHooks": true}"#),
    ];
    for (host, file, text) in cases {
        let place = Place::with(host);
        place.write(file, text);
        place.fails("turns hooks off");
        // And the other way round.
        let place = Place::new();
        place.run(&["install", host, "--user"]);
        if host != "codex" {
            let (_, base) = file.split_once('/').unwrap();
            place.write(&format!("project/{base}"), text);
            place.fails("turns hooks off");
        }
    }
}

#[test]
fn codex_does_not_run_what_it_was_not_told_to_trust() {
    let place = Place::new();
    place.run(&["install", "codex", "--user"]);
    let said = place.fails("Codex has not been told to trust these hooks");
    assert!(said.contains("type /hooks"), "{said}");
}

#[test]
fn a_plugin_is_what_was_shipped_and_asks_what_it_names() {
    let plugin = "project/.opencode/plugin/tollgate.js";
    let place = Place::with("opencode");
    place.holds();
    place.edit(plugin, |text| text.replace("throw ", "void "));
    place.fails("the file is not the one of this version");
    let place = Place::with("opencode");
    place.edit(plugin, |text| text.replace(TOLLGATE, "/bin/true"));
    place.fails("a call that has to be refused was not");
}

#[test]
fn a_program_that_is_not_there_is_told_apart_from_one_that_refuses() {
    for (host, file) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json"),
        ("copilot", ".github/hooks/tollgate.json"),
        ("cline", ".clinerules/hooks/PreToolUse"),
        ("opencode", ".opencode/plugin/tollgate.js"),
    ] {
        let file = format!("project/{file}");
        let place = Place::with(host);
        place.edit(&file, |text| text.replace(TOLLGATE, "/nonexistent/tg"));
        let said =
            place.fails("the program is not there: `/nonexistent/tg`; every call is refused");
        assert!(!said.contains("test call refused"), "{host}: {said}");
        // One that is there, and is not Tollgate: what stands around it refuses for it.
        if !matches!(host, "claude" | "opencode") {
            let place = Place::with(host);
            place.edit(&file, |text| text.replace(TOLLGATE, "/bin/false"));
            place.fails("a call was refused, but not by Tollgate's guard");
        }
    }
    // At another gate than the one that is tried.
    let place = Place::with("claude");
    place.edit("project/.claude/settings.json", |text| {
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        settings["hooks"]["PostToolUse"][0]["hooks"][0]["command"] = json!("/bin/true");
        settings.to_string()
    });
    place.fails("another program is asked at PostToolUse: `/bin/true`");
}

/// A refusal holds under these agents whatever another hook says; the doctor does not cry wolf.
#[test]
fn another_hook_that_undoes_no_refusal_is_a_note() {
    let place = Place::guarded();
    let theirs =
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "approve"}]}]}}"#;
    place.write("project/.qwen/settings.json", theirs);
    place.run(&["install", "qwen", "--project", "--program", TOLLGATE]);
    let said = place.holds();
    assert!(said.contains("note: another hook at PreToolUse"), "{said}");
    assert!(said.contains("a refusal holds"), "{said}");
}

#[test]
fn hook_files_that_are_not_in_force_are_told() {
    let place = Place::with("claude");
    let guard = "project/.tollgate/policy.star";
    place.write(guard, "policy.deny(\"run_command\")\n");
    place.fails("1 hook file of this project is not trusted, so hooks in there do not run: `tollgate trust`");
    place.run(&["trust", "--yes"]);
    place.holds();
    // It runs as it was approved, unless that is to close the gates.
    place.write(guard, "policy.allow(\"run_command\")\n");
    place.holds();
    place.write("home/.config/tollgate/config.toml", "[trust]\nchanged = \"closed\"\n");
    place.fails("1 hook file of this project is not what was trusted");
    fs::remove_file(place.path(guard)).unwrap();
    place.fails("not what was trusted");
    place.run(&["trust", "--revoke"]);
    place.write("home/.config/tollgate/policy.star", "policy.deny(");
    place.fails("1 hook file here is broken");
    fs::remove_file(place.path("home/.config/tollgate/policy.star")).unwrap();
    place.write("home/.config/tollgate/config.toml", "engine = 7\n");
    place.fails("Tollgate's own settings are broken");
}

#[test]
fn install_says_that_a_project_has_to_be_trusted_again() {
    let place = Place::new();
    let theirs =
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    place.write("project/.claude/settings.json", theirs);
    let trusted = place.run(&["trust", "--yes"]);
    assert_eq!(trusted.0, Some(0), "{trusted:?}");
    let (_, said) = place.run(&["install", "claude", "--project"]);
    assert!(said.contains("trust it again, `tollgate trust`"), "{said}");
    place.run(&["trust", "--yes"]);
    let (_, said) = place.run(&["uninstall", "claude", "--project"]);
    assert!(said.contains("trust it again, `tollgate trust`"), "{said}");
    // A project that nobody has trusted has nothing to trust again.
    place.run(&["trust", "--revoke"]);
    let (_, said) = place.run(&["install", "claude", "--project"]);
    assert!(!said.contains("trust it again"), "{said}");
}

#[test]
fn a_project_names_the_program_by_its_bare_name() {
    let place = Place::new();
    let (code, said) = place.run(&["install", "claude", "--project"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("anyone without Tollgate on the PATH as `tollgate`"), "{said}");
    assert!(said.contains("every call refused"), "{said}");
    let settings = fs::read_to_string(place.path("project/.claude/settings.json")).unwrap();
    assert!(settings.contains("\"command\": \"tollgate\""), "{settings}");
    let said = place.fails("the program is not there: `tollgate`");
    assert!(said.contains("`tollgate install claude --project` puts it right"), "{said}");
    place.run(&["uninstall", "claude", "--project"]);
    assert!(!place.path("project/.claude").exists());
}

#[test]
fn a_colleague_without_tollgate_can_have_a_warning() {
    for (host, file) in [
        ("claude", ".claude/settings.json"),
        ("gemini", ".gemini/settings.json"),
        ("cline", ".clinerules/hooks"),
        ("opencode", ".opencode/plugin/tollgate.js"),
        ("antigravity", ".agents/hooks.json"),
        ("polytoken", ".polytoken/hooks.json"),
    ] {
        let place = Place::guarded();
        let install = |how: &str| {
            place.run(&["install", host, "--project", "--program", TOLLGATE, "--missing", how])
        };
        let (code, said) = install("warn");
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("works without guards, and gets a warning"), "{said}");
        place.holds();
        // What is chosen stays until something else is chosen.
        let (_, said) = place.run(&["install", host, "--project", "--program", TOLLGATE]);
        assert!(said.contains("installed already"), "{host}: {said}");
        let (_, said) = place.run(&["check"]);
        assert!(!said.contains("TG"), "Tollgate is no hook of itself under {host}: {said}");
        let (_, said) = install("refuse");
        assert!(
            said.contains("asks Tollgate now") && said.contains("every call refused"),
            "{said}"
        );
        place.holds();
        place.run(&["uninstall", host, "--project"]);
        assert!(!place.path("project").join(file).exists(), "{host}");
    }
}

#[test]
fn install_is_for_the_person_unless_told_otherwise() {
    let place = Place::new();
    let (code, said) = place.run(&["install", "claude"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!place.path("project/.claude").exists(), "{said}");
    let settings = fs::read_to_string(place.path("home/.claude/settings.json")).unwrap();
    assert!(settings.contains(TOLLGATE), "{settings}");
    let (_, said) = place.run(&["uninstall", "claude", "--project"]);
    assert!(said.contains("it is installed for the user: `tollgate uninstall claude`"), "{said}");
    let (_, said) = place.run(&["uninstall", "claude"]);
    assert!(said.contains("no longer asks Tollgate"), "{said}");
    assert!(!place.path("home/.claude").exists());
    // Wrong uses change nothing.
    for (arguments, why) in [
        (&["install", "claude", "--missing", "warn"][..], "--project"),
        (&["install", "claude", "--project", "--missing", "maybe"], "invalid value"),
        (&["install", "claude", "--project", "--user"], "cannot be used with"),
        (&["install", "kimi", "--project"], "no hooks in a project configuration"),
        (&["install", "claude", "--program", "a b"], "cannot be written into a configuration"),
    ] {
        let (code, said) = place.run(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    assert_eq!(fs::read_dir(place.path("home")).unwrap().count(), 0);
}

#[test]
fn a_person_has_a_starter_set_for_all_projects() {
    let place = Place::new();
    let (code, said) = place.run(&["init", "--user"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(place.path("home/.config/tollgate/hooks/command-guard.md").is_file(), "{said}");
    assert!(place.path("home/.config/tollgate/policy.star").is_file(), "{said}");
    assert!(!place.path("project/.tollgate").exists());
    let (_, said) = place.run(&["list"]);
    assert!(said.contains("git-guard") && !said.contains("Not trusted"), "{said}");
    place.edit("home/.config/tollgate/policy.star", |text| format!("# mine\n{text}"));
    let (_, said) = place.run(&["init", "--user", "--guard", "budget"]);
    assert!(said.contains("budget.md"), "{said}");
    let (_, said) = place.run(&["init", "--user"]);
    assert!(said.contains("kept") && !said.contains("written"), "{said}");
    let policy = fs::read_to_string(place.path("home/.config/tollgate/policy.star")).unwrap();
    assert!(policy.starts_with("# mine"));
    let (code, said) = place.run(&["init", "--user", "--dialect", "polytoken"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is for projects"), "{said}");
    let (code, _) = place.run(&["init", "--user", "--project", "."]);
    assert_eq!(code, Some(1));
}

#[test]
fn what_cannot_be_read_is_not_said_to_be_unchanged() {
    let place = Place::with("claude");
    place.write("home/.claude/settings.json", "{\"hooks\": ");
    let said = place.fails("settings.json:1:");
    assert!(!said.contains("nothing was changed") && !said.contains("command again"), "{said}");
}

/// An agent: a program that tells its version.
fn agent(place: &Place, name: &str, version: &str) {
    place.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{version}\n"));
    let path = place.path(&format!("bin/{name}"));
    // By another process: this one may still have the file open when a test beside starts a program.
    assert!(Command::new("chmod").arg("755").arg(path).status().unwrap().success());
}

#[test]
fn connected_is_not_guarded() {
    let place = Place::new();
    place.run(&["install", "claude"]);
    let (code, said) = place.run(&["doctor"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Claude Code: connected, but no guards are on"), "{said}");
    // A hook that refuses nothing is no guard either.
    let hook = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n";
    place.write("home/.config/tollgate/hooks/hook.md", hook);
    let (_, said) = place.run(&["doctor"]);
    assert!(said.contains("connected, but no guards are on"), "{said}");
    place.run(&["init", "--user"]);
    let said = place.holds();
    assert!(said.contains("Claude Code: guarded by 7 hooks; test call refused in"), "{said}");
    let (_, said) = place.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report[0]["state"], "guarded");
    assert_eq!(report[0]["guards"].as_array().unwrap().len(), 7);
    let canary = &report[0]["layers"][0]["canary"];
    assert_eq!(canary["destructive"]["call"], "mkfs.ext4 -F /dev/sda1");
    // One that asks about it holds it as well.
    let place = Place::new();
    place.run(&["install", "claude"]);
    place.write("home/.config/tollgate/policy.star", "policy.ask_user(\"run_command\")\n");
    let said = place.holds();
    assert!(said.contains("guarded by 1 hook; test call put to you in"), "{said}");
}

#[test]
fn a_subdirectory_counts_where_the_agent_would_start_in_it() {
    for (host, is_read) in [
        ("claude", false),
        ("gemini", false),
        ("copilot", false),
        ("qwen", false),
        ("droid", true),
        ("cline", true),
        ("opencode", true),
    ] {
        let place = Place::with(host);
        fs::create_dir_all(place.path("project/src/deep")).unwrap();
        place.holds();
        let (code, said) = place.run_in("project/src/deep", &["doctor"]);
        if is_read {
            assert_eq!(code, Some(0), "{host}: {said}");
            continue;
        }
        assert_eq!(code, Some(1), "{host}: {said}");
        assert!(said.contains("when it is started in `src/deep`"), "{host}: {said}");
        assert!(said.contains(&format!("or `tollgate install {host}`")), "{host}: {said}");
        place.run(&["install", host]);
        let (code, said) = place.run_in("project/src/deep", &["doctor"]);
        assert_eq!(code, Some(0), "{host}: {said}");
        assert!(said.contains("the user level holds there"), "{host}: {said}");
    }
}

#[test]
fn an_agent_that_is_too_old_is_not_guarded() {
    let place = Place::with("claude");
    for (version, why) in [
        (
            "echo '2.1.290 (Claude Code)'",
            "problem: Claude Code 2.1.290 is too old: older versions ignore",
        ),
        ("echo '2.1.296 (Claude Code)'", "note: Claude Code 2.1.296 is older than the version"),
        ("echo no; exit 1", "note: cannot tell its version"),
    ] {
        agent(&place, "claude", version);
        let (code, said) = place.run(&["doctor"]);
        assert!(said.contains(why), "{said}");
        assert_eq!(code, Some(i32::from(why.starts_with("problem"))), "{said}");
    }
    agent(&place, "claude", "echo '2.1.400 (Claude Code)'");
    assert!(!place.holds().contains("version that"));
    let (_, said) = place.run(&["doctor", "--json"]);
    assert!(said.contains("\"version\": \"2.1.400\""), "{said}");
}

#[test]
fn a_hook_that_could_rewrite_later_is_named() {
    let theirs =
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./rewrite"}]}]}}"#;
    let place = Place::with("claude");
    place.write("home/.claude/settings.json", theirs);
    let said = place.holds();
    assert!(
        said.contains(
            "note: another hook at PreToolUse can rewrite a call after Tollgate has seen it: `./rewrite` in ~/"
        ),
        "{said}"
    );
}

#[test]
fn an_answer_that_would_come_too_late_is_told() {
    let place = Place::with("claude");
    place.edit("project/.claude/settings.json", |text| text.replace("\"50\"", "\"58\""));
    place.fails("Claude Code stops waiting after 60 s, and Tollgate may take 58 s");
    let place = Place::with("gemini");
    place.edit("project/.gemini/settings.json", |text| {
        text.replacen("\"timeout\": 60000", "\"timeout\": 5000", 1)
    });
    place.fails("BeforeTool: Gemini CLI stops waiting after 5 s, and Tollgate may take 50 s");
    // Whatever its settings say, this one waits no longer.
    let place = Place::with("qwen");
    place.edit("project/.qwen/settings.json", |text| {
        text.replace("\"timeout\": 60", "\"timeout\": 600").replace("deadline 50", "deadline 500")
    });
    let said = place.run(&["doctor"]).1;
    assert!(
        said.contains("not what this version writes") || said.contains("stops waiting"),
        "{said}"
    );
}
