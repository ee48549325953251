//! From a refusal to an exception: the code, the person at a terminal, and what passes afterwards.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Rules of the person: one denies, another asks about the same.
const POLICY: &str = r#"
policy.deny("run_command", name = "no-push", when = lambda args: "push" in args["CommandLine"], reason = "Nothing is pushed.")
policy.deny("run_command", name = "no-tags", when = lambda args: "--tags" in args["CommandLine"], reason = "No tags.")
"#;

/// A hook of the person that objects on its own.
const HOOK: &str = r#"---
event: tool.pre
when: payload["name"] == "run_command"
script: |
  def handle(event, payload):
      if "twice" in payload["args"]["CommandLine"]:
          return block("Not twice.")
      return allow()
---
"#;

struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: TempDir::new().unwrap() };
        for folder in ["project/.git", "other/.git", "home/.config/tollgate/hooks"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        fs::write(place.path("home/.config/tollgate/policy.star"), POLICY).unwrap();
        fs::write(place.path("home/.config/tollgate/hooks/twice.md"), HOOK).unwrap();
        place
    }

    /// With the starter guard that reads scripts.
    fn with_guard() -> Self {
        let place = Self::new();
        let guard = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hooks/command-guard.md");
        fs::copy(guard, place.path("home/.config/tollgate/hooks/command-guard.md")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn state(&self) -> PathBuf {
        self.path("home/.local/state/tollgate")
    }

    fn tollgate(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .current_dir(self.path("project"));
        command
    }

    fn hook(&self, host: &str, directory: &str, input: &Value) -> Command {
        let payload = json!({
            "session_id": "s", "cwd": self.path(directory), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": input,
        });
        let file = self.path(&format!("payload-{}", named_by(&payload)));
        fs::write(&file, payload.to_string()).unwrap();
        let mut command = self.tollgate(&["hook", host]);
        command.stdin(File::open(file).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What Claude Code is told of a call in a directory: the reason of a refusal.
    fn calls_in(&self, directory: &str, line: &str) -> Result<(), String> {
        answer(&self.hook("claude", directory, &json!({"command": line})).output().unwrap())
    }

    fn calls(&self, line: &str) -> Result<(), String> {
        self.calls_in("project", line)
    }

    /// This process is both the agent that asks and the person, so what is recorded of the agent is removed first.
    fn forget_agent(&self) {
        for entry in fs::read_dir(self.state().join("hosts")).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("agent-") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    /// A command of the person without a terminal.
    fn says(&self, arguments: &[&str]) -> (bool, String) {
        self.forget_agent();
        let output = self.tollgate(arguments).stdin(Stdio::null()).output().unwrap();
        (output.status.success(), said(&output))
    }

    /// A command of the person at a terminal, and what is shown there.
    fn types(&self, arguments: &[&str], typed: &str) -> (bool, String) {
        self.forget_agent();
        at_terminal(self.tollgate(arguments), typed)
    }

    /// Makes an exception.
    fn allow(&self, code: &str, more: &[&str]) -> String {
        let (is_fine, shown) = self.types(&[&["allow", code], more].concat(), "yes\n");
        assert!(is_fine && shown.contains("Allowed"), "{shown}");
        shown
    }
}

/// A name for a file with this content.
fn named_by(payload: &Value) -> String {
    let text = payload.to_string();
    let hash = text.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte));
    format!("{hash:x}")
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn answer(output: &Output) -> Result<(), String> {
    if output.status.success() {
        assert!(output.stdout.is_empty(), "{}", said(output));
        return Ok(());
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = &answer["hookSpecificOutput"]["permissionDecisionReason"];
    Err(reason.as_str().unwrap().to_owned())
}

/// The code at the end of a refusal.
fn code(refused: Result<(), String>) -> String {
    let reason = refused.unwrap_err();
    assert!(reason.contains("To let exactly this call pass"), "{reason}");
    let (_, code) = reason.split_once("a person can run `tollgate allow ").unwrap();
    let code = code.strip_suffix("`.").unwrap().to_owned();
    assert_eq!(code.len(), 6, "{reason}");
    code
}

/// A refusal without a code.
fn no_code(refused: Result<(), String>) -> String {
    let reason = refused.unwrap_err();
    assert!(!reason.contains("To let exactly this call pass"), "{reason}");
    reason
}

fn at_terminal(mut command: Command, typed: &str) -> (bool, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let side = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    command.env("NO_COLOR", "1");
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
    let is_fine = child.wait().unwrap().success();
    (is_fine, reader.join().unwrap())
}

#[test]
fn a_call_passes_once_in_its_directory() {
    let place = Place::new();
    let code = code(place.calls("git push origin main"));
    let shown = place.allow(&code, &["--reason", "it is the release"]);
    for part in [
        "Claude Code was refused",
        "git push origin main",
        "rule no-push",
        "Nothing is pushed.",
        "for one call",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (_, list) = place.says(&["allow", "--list"]);
    assert!(list.contains(&code) && list.contains("once"), "{list}");
    // Not in another directory, and not another call.
    place.calls_in("other", "git push origin main").unwrap_err();
    place.calls("git push origin main --force").unwrap_err();
    place.calls("git push origin  main").unwrap_err();
    place.calls("ls").unwrap();
    // A model describes each of its calls in other words.
    let again = json!({"command": "git push origin main", "description": "Pushes"});
    answer(&place.hook("claude", "project", &again).output().unwrap()).unwrap();
    place.calls("git push origin main").unwrap_err();
    assert!(place.says(&["allow", "--list"]).1.contains("No exceptions are in force."));
}

#[test]
fn all_of_it_stands_in_the_record() {
    let place = Place::new();
    let line = "curl -H 'Authorization: Bearer abcdef123456789' push.example.org";
    let code = code(place.calls(line));
    place.allow(&code, &["--always"]);
    place.calls(line).unwrap();
    place.says(&["allow", "--revoke", &code]);
    let record = fs::read_to_string(place.state().join("record/00000001.log")).unwrap();
    assert!(!record.contains("abcdef123456789"), "{record}");
    let entries: Vec<Value> = record
        .lines()
        .map(|line| serde_json::from_str::<Value>(line.split('\t').next().unwrap()).unwrap())
        .map(|entry| entry["entry"].clone())
        .collect();
    let kinds: Vec<&String> =
        entries.iter().flat_map(|entry| entry.as_object().unwrap().keys()).collect();
    assert_eq!(kinds, ["began", "refused", "exception_made", "excepted", "exception_revoked"]);
    let refused = &entries[1]["refused"];
    assert_eq!((&refused["code"], &refused["rule"]), (&json!(code), &json!("no-push")));
    assert_eq!((&refused["host"], &refused["tool"]), (&json!("claude"), &json!("run_command")));
}

#[test]
fn one_code_covers_all_hooks_and_rules_that_object() {
    let place = Place::new();
    let line = "git push twice --tags";
    let code = code(place.calls(line));
    let shown = place.allow(&code, &[]);
    for part in ["Not twice.", "rule no-push", "Nothing is pushed.", "rule no-tags", "No tags."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (_, list) = place.says(&["allow", "--list"]);
    assert!(list.contains("policy, twice"), "{list}");
    // It is spent once for all of them.
    place.calls(line).unwrap();
    place.calls(line).unwrap_err();
}

#[test]
fn an_exception_covers_no_hook_or_rule_that_came_later() {
    let place = Place::new();
    let hook = place.path("home/.config/tollgate/hooks/twice.md");
    let policy = place.path("home/.config/tollgate/policy.star");
    fs::remove_file(&hook).unwrap();
    fs::write(&policy, POLICY.lines().nth(1).unwrap()).unwrap();
    let line = "git push twice --tags";
    place.allow(&code(place.calls(line)), &["--always"]);
    place.calls(line).unwrap();
    fs::write(&policy, POLICY).unwrap();
    let reason = place.calls(line).unwrap_err();
    assert!(reason.starts_with("No tags."), "{reason}");
    fs::write(&policy, POLICY.lines().nth(1).unwrap()).unwrap();
    fs::write(&hook, HOOK).unwrap();
    let reason = place.calls(line).unwrap_err();
    assert!(reason.starts_with("Not twice."), "{reason}");
}

#[test]
fn a_command_is_not_run_to_find_out_whether_it_objects() {
    let place = Place::new();
    let hook = HOOK.replace("event: tool.pre", "event: tool.pre\npriority: -1");
    fs::write(place.path("home/.config/tollgate/hooks/twice.md"), hook).unwrap();
    let log = place.path("ran");
    let command =
        format!("echo ran >> '{}'; echo 'Not by the command.' >&2; exit 2", log.display());
    let hooks = json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]},
    ]}});
    fs::create_dir_all(place.path("home/.config/tollgate/codex")).unwrap();
    fs::write(place.path("home/.config/tollgate/codex/hooks.json"), hooks.to_string()).unwrap();
    let runs = || fs::read_to_string(&log).unwrap_or_default().lines().count();

    let refused = place.calls("ls twice");
    assert!(
        refused.as_ref().unwrap_err().contains("unless another hook refuses it"),
        "{refused:?}"
    );
    let first = code(refused);
    assert_eq!(runs(), 0);
    place.allow(&first, &[]);
    let refused = place.calls("ls twice");
    let reason = refused.as_ref().unwrap_err();
    assert!(reason.starts_with("Not by the command."), "{reason}");
    assert!(!reason.contains("unless another hook"), "{reason}");
    let second = code(refused);
    assert_eq!(runs(), 1);
    assert_ne!(first, second);
    place.allow(&second, &[]);
    // Neither was spent while the other one still refused.
    place.calls("ls twice").unwrap();
    assert_eq!(runs(), 2);
    place.calls("ls twice").unwrap_err();
}

#[test]
fn an_objection_that_cannot_be_excepted_leaves_no_code() {
    let place = Place::new();
    // The script objects first, and the built-in guard after it.
    assert!(no_code(place.calls("tollgate allow 7KQ2MX # twice")).starts_with("Not twice."));
    let hook = |name: &str| place.path(&format!("home/.config/tollgate/hooks/{name}.md"));
    for (name, broken) in [
        ("failing", HOOK.replace("return block(\"Not twice.\")", "fail(\"no reason\")")),
        ("condition", HOOK.replace("payload[\"name\"]", "payload[\"other\"]")),
    ] {
        let broken = broken.replace("event: tool.pre", "event: tool.pre\npriority: 1");
        fs::write(hook(name), broken).unwrap();
        assert!(no_code(place.calls("ls twice")).starts_with("Not twice."), "{name}");
        fs::remove_file(hook(name)).unwrap();
    }
    code(place.calls("ls twice"));
}

#[test]
fn a_changed_script_is_a_new_call() {
    let place = Place::with_guard();
    let script = place.path("project/clean.sh");
    fs::write(&script, "git push --force origin main\n").unwrap();
    let line = "sh clean.sh";
    let code = code(place.calls(line));
    let shown = place.allow(&code, &["--always"]);
    assert!(shown.contains("unchanged") && shown.contains("clean.sh"), "{shown}");
    place.calls(line).unwrap();
    place.calls(line).unwrap();
    fs::write(&script, "git push --force origin other\n").unwrap();
    place.calls(line).unwrap_err();
    fs::write(&script, "git push --force origin main\n").unwrap();
    place.calls(line).unwrap();
    fs::remove_file(&script).unwrap();
    let _ = place.calls(line);
    fs::write(&script, "git push --force origin all\n").unwrap();
    place.calls(line).unwrap_err();
}

#[test]
fn it_ends() {
    let place = Place::new();
    let code = code(place.calls("git push"));
    place.allow(&code, &["--for", "1h"]);
    place.calls("git push").unwrap();
    place.calls("git push").unwrap();
    let (is_fine, said) = place.says(&["allow", "--list", "--json"]);
    let list: Value = serde_json::from_str(&said).unwrap();
    assert!(
        is_fine && list[0]["id"] == json!(code) && list[0]["left"].as_u64() <= Some(3600),
        "{said}"
    );
    // As if the hour was over.
    let file = place.state().join("record/exceptions.json");
    let mut store: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let until = store["exceptions"][0]["until"].as_u64().unwrap();
    store["exceptions"][0]["until"] = json!(until - 3_601);
    store["exceptions"][0]["made"] = json!(until - 7_201);
    fs::write(&file, store.to_string()).unwrap();
    place.calls("git push").unwrap_err();
    assert!(place.says(&["allow", "--list"]).1.contains("No exceptions"));

    place.allow(&code, &["--always"]);
    place.calls("git push").unwrap();
    let (is_fine, said) = place.says(&["allow", "--revoke", &code]);
    assert!(is_fine, "{said}");
    place.calls("git push").unwrap_err();
    assert!(!place.says(&["allow", "--revoke", &code]).0);
}

#[test]
fn a_pattern_covers_such_commands_and_no_others() {
    let place = Place::new();
    let code = code(place.calls("git push origin main"));
    let (is_fine, shown) = place.types(&["allow", &code, "--as", "git push other *"], "yes\n");
    assert!(!is_fine && shown.contains("does not cover"), "{shown}");
    let shown = place.allow(&code, &["--always", "--as", "git push origin *"]);
    assert!(shown.contains("git push origin *"), "{shown}");
    place.calls("git push origin feature").unwrap();
    for line in [
        "git push origin --force",
        "git push origin +main",
        "git push origin $(id)",
        "git push origin main > x",
        "git push origin main; ls",
        "git push",
    ] {
        place.calls(line).unwrap_err();
    }
    place.calls_in("other", "git push origin feature").unwrap_err();
    // Its other arguments are bound.
    let background = json!({"command": "git push origin feature", "run_in_background": true});
    answer(&place.hook("claude", "project", &background).output().unwrap()).unwrap_err();
}

#[test]
fn nobody_but_a_person_who_confirms_makes_one() {
    let place = Place::new();
    let code = code(place.calls("git push"));
    let (is_fine, said) = place.says(&["allow", &code]);
    assert!(!is_fine && said.contains("needs a terminal"), "{said}");
    for typed in ["\n", "y\n", "no\n", "\u{4}"] {
        let (is_fine, shown) = place.types(&["allow", &code], typed);
        assert!(!is_fine && shown.contains("Nothing was allowed."), "{shown}");
    }
    // Below an agent, a terminal is of no use. This process is recorded as one.
    let _ = place.calls("git push");
    let (is_fine, shown) = at_terminal(place.tollgate(&["allow", &code]), "yes\n");
    assert!(!is_fine && shown.contains("an agent started it"), "{shown}");
    let (is_fine, shown) = at_terminal(place.tollgate(&["allow", "--revoke", &code]), "");
    assert!(!is_fine && shown.contains("an agent started it"), "{shown}");
    let list = place.tollgate(&["allow", "--list"]).output().unwrap();
    assert!(list.status.success(), "{list:?}");
    place.calls("git push").unwrap_err();
    for wrong in ["000000", "x", ""] {
        let (is_fine, _) = place.types(&["allow", wrong], "yes\n");
        assert!(!is_fine, "{wrong}");
    }
}

#[test]
fn the_built_in_guard_and_failures_have_no_code() {
    let place = Place::new();
    for line in [
        "tollgate allow 7KQ2MX",
        "rm -rf ~/.local/state/tollgate/record",
        "echo {} > ~/.local/state/tollgate/record/exceptions.json",
    ] {
        no_code(place.calls(line));
    }
    let broken = HOOK.replace("return block(\"Not twice.\")", "fail(\"no reason\")");
    fs::write(place.path("home/.config/tollgate/hooks/twice.md"), broken).unwrap();
    no_code(place.calls("ls twice"));
    // Nor has what cannot be shown to a person in full.
    no_code(place.calls(&format!("git push {}", "x".repeat(20_000))));
}

#[test]
fn settings_forbid_them() {
    let place = Place::new();
    let config = place.path("home/.config/tollgate/config.toml");
    let code = code(place.calls("git push"));
    place.allow(&code, &["--always"]);
    place.calls("git push").unwrap();
    fs::write(&config, "[exceptions]\nallow = \"once\"\n").unwrap();
    // One that was made before does not count.
    place.calls("git push").unwrap_err();
    for (setting, more) in
        [("once", "--always"), ("once", "--for=1h"), ("for", "--always"), ("none", "--once")]
    {
        fs::write(&config, format!("[exceptions]\nallow = \"{setting}\"\n")).unwrap();
        let (is_fine, shown) = place.types(&["allow", &code, more], "yes\n");
        assert!(!is_fine && shown.contains("`exceptions.allow` is"), "{shown}");
    }
    assert_eq!(no_code(place.calls("git push")), "Nothing is pushed.");
    fs::write(&config, "[exceptions]\nallow = \"for\"\n").unwrap();
    place.allow(&code, &["--for", "1h"]);
    place.calls("git push").unwrap();
}

#[test]
fn of_two_that_race_for_one_call_one_passes() {
    let place = Place::new();
    for _ in 0..3 {
        place.allow(&code(place.calls("git push")), &[]);
        let input = json!({"command": "git push"});
        let children: Vec<_> =
            (0..4).map(|_| place.hook("claude", "project", &input).spawn().unwrap()).collect();
        let passed = children
            .into_iter()
            .flat_map(|child| answer(&child.wait_with_output().unwrap()))
            .count();
        assert_eq!(passed, 1);
    }
}

#[test]
fn what_is_shown_is_shown_as_what_it_is() {
    let place = Place::new();
    let code = code(place.calls("git push \u{202e}x\u{1b}[2J\r# harmless\nls\u{200b}"));
    let (_, shown) = place.types(&["allow", &code], "no\n");
    for part in ["\\u{202e}x\\u{1b}[2J\\u{d}# harmless", "ls\\u{200b}"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!shown.contains(['\u{202e}', '\u{1b}', '\u{200b}']), "{shown}");
}

#[test]
fn a_refusal_that_cannot_be_recorded_stands_without_a_code() {
    let place = Place::new();
    fs::create_dir_all(place.state()).unwrap();
    fs::write(place.state().join("record"), "a file").unwrap();
    assert_eq!(no_code(place.calls("git push")), "Nothing is pushed.");
    fs::remove_file(place.state().join("record")).unwrap();
    // A store that is broken excepts nothing.
    place.allow(&code(place.calls("git push")), &["--always"]);
    fs::write(place.state().join("record/exceptions.json"), "{").unwrap();
    place.calls("git push").unwrap_err();
}

#[test]
fn a_question_that_a_host_cannot_ask_has_a_code() {
    let place = Place::new();
    let asks = HOOK.replace("return block(\"Not twice.\")", "return ask(\"Twice?\")");
    fs::write(place.path("home/.config/tollgate/hooks/twice.md"), asks).unwrap();
    // In the second one, a rule denies first, and the question would come next.
    for (line, reason) in [("ls twice", "Twice?"), ("git push twice", "Nothing is pushed.")] {
        let calls = || {
            let mut command = place.hook("codex", "project", &json!({"command": line}));
            answer(&command.output().unwrap())
        };
        let refused = calls();
        assert!(refused.as_ref().unwrap_err().starts_with(reason), "{refused:?}");
        let shown = place.allow(&code(refused), &[]);
        assert!(shown.contains(reason) && shown.contains("Twice?"), "{shown}");
        calls().unwrap();
        calls().unwrap_err();
    }
}
