//! `tollgate fire` says what `tollgate hook` answers, and `tollgate why` what would be decided about a command.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_hosts::{Host, Verdict};

/// A project and a home with a policy of the person.
struct Place {
    directory: TempDir,
}

/// Decides in all ways about the calls that were recorded.
const POLICY: &str = r#"
policy.deny("run_command", when = lambda args: "rm" in args["CommandLine"], reason = "no rm here")
policy.ask_user("run_command", when = lambda args: "echo" in args["CommandLine"], reason = "echo?")
policy.ask_user("write_to_file", reason = "a new file?")
policy.deny("replace_file_content", reason = "no edits")
policy.deny("read_url_content", reason = "no pages")
policy.allow("view_file")
policy.deny_mcp("demo")
"#;

/// Decides about other events.
const HOOKS: &[(&str, &str)] = &[
    ("turn.start", "def handle(event, payload):\n      return block(\"no prompt\")"),
    ("tool.post", "def handle(event, payload):\n      return block(\"not this result\")"),
];

impl Place {
    fn new() -> Self {
        let place = Self { directory: TempDir::new().unwrap() };
        fs::create_dir_all(place.path("project/.git")).unwrap();
        fs::create_dir_all(place.path("project/sub")).unwrap();
        fs::create_dir_all(place.path("home/.config/tollgate/hooks")).unwrap();
        fs::write(place.path("home/.config/tollgate/policy.star"), POLICY).unwrap();
        for (event, script) in HOOKS {
            let file = place.path(&format!("home/.config/tollgate/hooks/{event}.md"));
            fs::write(file, format!("---\nevent: {event}\nscript: |\n  {script}\n---\n")).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        self.run_in("project", arguments, input)
    }

    fn run_in(&self, directory: &str, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.path("home"));
        command.args(arguments).current_dir(self.path(directory));
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What `fire` says, as JSON, and its exit code.
    fn fire(&self, arguments: &[&str], input: &str) -> (Value, i32) {
        let output = self.run(&[&["fire", "--json"], arguments].concat(), input);
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = serde_json::from_slice(&output.stdout);
        (said.unwrap_or_else(|_| panic!("{arguments:?}: {shown}")), output.status.code().unwrap())
    }
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/hosts")
}

/// All recorded payloads: the host, the name of the event, the file, the text.
fn payloads() -> Vec<(&'static Host, String, String, String)> {
    let mut all = Vec::new();
    for folder in fs::read_dir(cases()).unwrap().flatten() {
        let name = folder.file_name().into_string().unwrap();
        let host = name.trim_end_matches("-claude-style").trim_end_matches("-shim");
        let Some(host) = tollgate_hosts::by_name(host) else { continue };
        for file in fs::read_dir(folder.path()).unwrap().flatten() {
            let file_name = file.file_name().into_string().unwrap();
            if file_name != "answers.json" {
                let event = file_name.split('.').next().unwrap().to_owned();
                let text = fs::read_to_string(file.path()).unwrap();
                all.push((host, event, format!("{name}/{file_name}"), text));
            }
        }
    }
    all.sort_by(|left, right| left.2.cmp(&right.2));
    all
}

/// The effect of an answer of `hook` on a host.
fn heard(host: &'static Host, event: &str, payload: &str, output: &Output) -> &'static str {
    let input: Value = serde_json::from_str(payload).unwrap();
    let Some(incoming) = host.read(Some(event), input).unwrap() else { return "silent" };
    let output = tollgate_hosts::Output {
        code: output.status.code().unwrap(),
        stdout: output.stdout.clone(),
        stderr: output.stderr.clone(),
    };
    let reply = host.wire.read_answer(incoming.event, &output).unwrap();
    match reply.verdict {
        Verdict::Silent => "silent",
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Refuse => "refuse",
        Verdict::Resume => "resume",
    }
}

/// For every payload that was recorded, `fire` says what `hook` answers: with the host named, and told from the payload.
#[test]
fn fire_and_hook_agree_about_every_recorded_payload() {
    let place = Place::new();
    let (mut count, mut seen) = (0, std::collections::BTreeSet::new());
    for (host, event, file, text) in payloads() {
        count += 1;
        let hook = place.run(&["hook", host.name, "--event", &event], &text);
        let wanted = heard(host, &event, &text, &hook);
        seen.insert(wanted);
        let named = ["--host", host.name, &event, "--payload", "-"];
        let told = [&event, "--payload", "-"];
        // In the form that it has taken over from Claude Code, Copilot cannot be told from others: `--host` says it.
        let is_told = !file.starts_with("copilot-claude-style/");
        for arguments in [&named[..], &told[..]].into_iter().take(1 + usize::from(is_told)) {
            let (said, code) = place.fire(arguments, &text);
            let verdict =
                said["host"]["verdict"].as_str().unwrap_or_else(|| panic!("{file}: {said}"));
            // An explicit allow is passed on only if a person wants that.
            let verdict = if verdict == "allow" { "silent" } else { verdict };
            assert_eq!(verdict, wanted, "{file} {arguments:?}: {said}");
            let exit = match wanted {
                "refuse" => 2,
                "ask" => 3,
                _ => 0,
            };
            assert_eq!(code, exit, "{file} {arguments:?}: {said}");
        }
    }
    assert!(count > 100, "{count}");
    for verdict in ["silent", "ask", "refuse"] {
        assert!(seen.contains(verdict), "some payload is answered with {verdict}: {seen:?}");
    }
}

/// A payload that names its event needs no other name of it.
#[test]
fn the_event_is_told_by_the_payload() {
    let place = Place::new();
    for (host, event, file, text) in payloads() {
        let input: Value = serde_json::from_str(&text).unwrap();
        let Some(named) = host.wire.event_of(input.as_object().unwrap()) else { continue };
        let (said, _) = place.fire(&["--payload", "-"], &text);
        let event = said["host"]["event"].as_str().unwrap_or(&event);
        assert!(event == named || host.other_events.contains(&named), "{file}: {said}");
        assert!(!said["host"].is_null(), "{file}: {said}");
    }
}

#[test]
fn events_are_taken_in_everyones_words() {
    let place = Place::new();
    let own = r#"{"name": "run_command", "args": {"CommandLine": "rm -r x"}}"#;
    let claude =
        r#"{"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -r x"}}"#;
    let antigravity = r#"{"toolCall": {"name": "run_command", "args": {"CommandLine": "rm -r x"}}, "stepIdx": 1, "conversationId": "c"}"#;
    let polytoken =
        r#"{"session_id": "s", "tool_name": "shell_exec", "input": {"command": "rm -r x"}}"#;
    for (event, payload) in [
        ("tool.pre", own),
        ("PreToolUse", own),
        ("pre_tool_use", own),
        ("pre_tool_call", own),
        ("preToolUse", own),
        ("BeforeTool", own),
        ("PreToolUse", claude),
        ("tool.pre", claude),
        ("PreToolUse", antigravity),
        ("tool.pre", antigravity),
        ("pre_tool_use", polytoken),
    ] {
        let (said, code) = place.fire(&[event, "--payload", payload], "");
        assert_eq!(
            (said["decision"].as_str(), code),
            (Some("deny"), 2),
            "{event} {payload}: {said}"
        );
        assert_eq!(said["reason"], "no rm here", "{event} {payload}");
    }
    let named =
        r#"{"event": "tool.pre", "name": "run_command", "args": {"CommandLine": "rm -r x"}}"#;
    assert_eq!(place.fire(&["--payload", named], "").1, 2);
    for (arguments, said) in [
        (&["tool.pree"][..], "did you mean `tool.pre`?"),
        (&["--payload", "{}"], "the payload does not name its event"),
        (
            &[
                "PostToolUse",
                "--payload",
                r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}}"#,
            ],
            "`PostToolUse` was asked for",
        ),
    ] {
        let output = place.run(&[&["fire"], arguments].concat(), "");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {shown}");
        assert!(shown.contains(said), "{arguments:?}: {shown}");
    }
}

#[test]
fn a_question_has_an_exit_code_of_its_own() {
    let place = Place::new();
    let call =
        |line: &str| json!({"name": "run_command", "args": {"CommandLine": line}}).to_string();
    for (line, code) in [("rm x", 2), ("echo x", 3), ("ls", 0)] {
        assert_eq!(place.fire(&["tool.pre", "--payload", &call(line)], "").1, code, "{line}");
    }
}

/// The built-in guard is asked, unless hook files are named, and then `fire` says so.
#[test]
fn the_built_in_guard_is_asked() {
    let place = Place::new();
    fs::write(place.path("project/none.star"), "policy.deny(\"x\", reason = \"x\")").unwrap();
    let line = "printf '' >> ~/.config/tollgate/policy.star";
    let call = json!({"name": "run_command", "args": {"CommandLine": line}}).to_string();
    assert_eq!(place.fire(&["tool.pre", "--payload", &call], "").1, 2);
    let (said, code) = place.fire(&["tool.pre", "--payload", &call, "--hooks", "none.star"], "");
    assert_eq!((code, &said["named_only"]), (0, &Value::Bool(true)));
    let shown = place.run(&["fire", "tool.pre", "--payload", &call, "--hooks", "none.star"], "");
    assert!(String::from_utf8_lossy(&shown.stderr).contains("without those in force"));
}

#[test]
fn a_command_runs_in_the_current_directory() {
    let place = Place::new();
    let call = r#"{"name": "run_command", "args": {"CommandLine": "ls"}}"#;
    let output =
        place.run_in("project/sub", &["fire", "tool.pre", "--json", "--payload", call], "");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["payload"]["args"]["Cwd"], json!(place.path("project/sub")));
    let (said, _) = place.fire(&["tool.pre", "--payload", call], "");
    assert_eq!(said["payload"]["args"], json!({"CommandLine": "ls"}));
}

#[test]
fn case_files_take_payloads_of_agents() {
    let place = Place::new();
    fs::write(place.path("project/p.star"), POLICY).unwrap();
    let cases = json!({"hooks": ["p.star"], "cases": [
        {"event": "PreToolUse", "decision": "deny", "reason": "no rm",
         "payload": {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm x"}}},
        {"decision": "ask",
         "payload": {"hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "run_shell_command",
                     "tool_input": {"command": "echo x"}}},
        {"event": "pre_tool_use", "host": "polytoken", "decision": "none",
         "payload": {"session_id": "s", "tool_name": "shell_exec", "input": {"command": "ls"}}},
        {"event": "tool.pre", "decision": "none",
         "payload": {"name": "run_command", "args": {"CommandLine": "ls"}}}
    ]});
    fs::write(place.path("project/p.cases.json"), cases.to_string()).unwrap();
    let output = place.run(&["test", "p.cases.json"], "");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("4 passed"), "{shown}");
}

#[test]
fn antigravity_is_a_dialect() {
    let place = Place::new();
    for arguments in [
        &["events", "--dialect", "antigravity"][..],
        &["schema", "antigravity"],
        &["init", "--dialect", "antigravity", "--dry-run"],
        &["check", "--dialect", "antigravity", "hooks.json"],
        &["fire", "session.start", "--hooks", "hooks.json", "--dialect", "antigravity"],
        &["convert", "antigravity", "claude", "hooks.json"],
    ] {
        fs::write(place.path("project/hooks.json"), "{}").unwrap();
        let output = place.run(arguments, "");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!shown.contains("invalid value"), "{arguments:?}: {shown}");
    }
}

#[test]
fn why_says_what_would_be_decided() {
    let place = Place::new();
    fs::write(place.path("project/build.sh"), "rm -r dist\n").unwrap();
    for (line, code, says) in [
        (
            "rm -r build",
            2,
            &[
                "denied",
                "no rm here",
                "does     delete ",
                "project/build and everything below it (rm)",
            ][..],
        ),
        ("echo x > out.txt", 3, &["a person has to decide", "write ", "out.txt"]),
        ("curl -O https://example.com/x.tgz", 0, &["goes on", "reach example.com"]),
        ("sh build.sh", 0, &["delete ", "`build.sh` says"]),
        ("$TOOL x", 0, &["unknown", "which program runs is only known when it runs"]),
    ] {
        let output = place.run(&["why", line], "");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {shown}");
        for part in says {
            assert!(shown.contains(part), "{line}: {part}: {shown}");
        }
    }
    let output = place.run(&["why", "git checkout main", "--json", "--cwd", "sub"], "");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["directory"], json!(place.path("project/sub")));
    assert!(said["effects"].as_array().unwrap().iter().any(|effect| effect["certainty"] == "may"));
    assert_eq!(place.run(&["why", "ls", "--cwd", "nowhere"], "").status.code(), Some(1));
}

#[test]
fn without_arguments_there_is_a_short_help() {
    let output = Place::new().run(&[], "");
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{shown}");
    assert!(shown.lines().count() < 12 && shown.contains("tollgate --help"), "{shown}");
}
