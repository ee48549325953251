//! `tollgate hook` under what goes wrong: a gate is closed whatever happens, and standard output holds an answer or
//! nothing.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A project and a home, with a policy of the person that refuses `rm`.
struct Place {
    directory: TempDir,
}

const TOLLGATE: &str = env!("CARGO_BIN_EXE_tollgate");
const GAVE_UP: &str =
    "Tollgate could not decide about this, so it is refused. `tollgate doctor` tells more.";

const POLICY: &str = r#"policy.deny("run_command", when = lambda args: "rm" in args["CommandLine"], reason = "no rm here")"#;

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let place = Self { directory };
        fs::create_dir_all(place.path("project/.git")).unwrap();
        fs::create_dir_all(place.path("home/.config/tollgate")).unwrap();
        fs::write(place.path("home/.config/tollgate/policy.star"), POLICY).unwrap();
        // The codes of refusals are in tests/exceptions.rs.
        let forbidden = "[exceptions]\nallow = \"none\"\n";
        fs::write(place.path("home/.config/tollgate/config.toml"), forbidden).unwrap();
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn project(&self) -> String {
        self.path("project").display().to_string()
    }

    fn tollgate(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        self.surround(&mut command);
        command
    }

    fn surround(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .current_dir(self.path("project"));
    }

    /// A command of the person. This process is both the agent that asks and the person, so what is recorded of the
    /// agent is removed first.
    fn person(&self, arguments: &[&str]) -> Output {
        let records = fs::read_dir(self.path("home/.local/state/tollgate/hosts"));
        for entry in records.into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("agent-") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        run(self.tollgate().args(arguments), b"")
    }

    fn call(&self, name: &str, input: &Value) -> Vec<u8> {
        let event = if name.is_empty() { "SessionEnd" } else { "PreToolUse" };
        let call = json!({
            "session_id": "s", "cwd": self.project(), "hook_event_name": event,
            "tool_name": name, "tool_input": input,
        });
        call.to_string().into_bytes()
    }

    fn rm(&self) -> Vec<u8> {
        self.call("Bash", &json!({"command": "rm -r x"}))
    }

    fn ls(&self) -> Vec<u8> {
        self.call("Bash", &json!({"command": "ls"}))
    }
}

fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Who refuses what is too long does not read it to its end.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn claude(place: &Place, input: &[u8]) -> Output {
    run(place.tollgate().args(["hook", "claude"]), input)
}

/// That it is a refusal, whole and in Claude Code's form; with the reason.
fn refused(output: &Output) -> String {
    let shown = format!("{output:?}");
    assert_eq!(output.status.code(), Some(2), "{shown}");
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    let own = &answer["hookSpecificOutput"];
    assert_eq!(own["permissionDecision"], "deny", "{shown}");
    let reason = own["permissionDecisionReason"].as_str().unwrap().to_owned();
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), reason.trim(), "{shown}");
    assert!(!reason.is_empty(), "{shown}");
    reason
}

/// What the person is told.
fn told(output: &Output) -> String {
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["systemMessage"].as_str().unwrap().to_owned()
}

fn silent(output: &Output) {
    let shown = format!("{output:?}");
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{shown}");
}

#[test]
fn what_is_decided_is_told() {
    let place = Place::new();
    assert_eq!(refused(&claude(&place, &place.rm())), "no rm here");
    silent(&claude(&place, &place.ls()));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let place = Place::new();
    let rm = place.rm();
    for input in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", b"{}", b"{\"hook_event_name\": 7}"] {
        refused(&claude(&place, input));
    }
    for end in (1..rm.len()).step_by(17) {
        refused(&claude(&place, &rm[..end]));
    }
    let nested = "[".repeat(100_000);
    let deep = format!("{{\"hook_event_name\": \"PreToolUse\", \"tool_input\": {nested}");
    refused(&claude(&place, deep.as_bytes()));
    let unknown = json!({"hook_event_name": "BeforeTheFlood", "session_id": "s"});
    assert!(refused(&claude(&place, unknown.to_string().as_bytes())).contains("BeforeTheFlood"));
    let nameless = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/"});
    refused(&claude(&place, nameless.to_string().as_bytes()));
}

/// An agent and its hook may take different values of a key that is there twice.
#[test]
fn a_duplicate_key_is_refused() {
    let place = Place::new();
    let (head, tail) = ("{\"hook_event_name\": \"PreToolUse\", \"session_id\": \"s\"", "}");
    for (fields, key) in [
        (
            r#""tool_name": "Bash", "tool_input": {"command": "ls", "command": "rm -rf ~"}"#,
            "command",
        ),
        (
            r#""tool_name": "Bash", "tool_input": {"command": "rm", "\u0063ommand": "ls"}"#,
            "command",
        ),
        (
            r#""tool_name": "Read", "tool_name": "Bash", "tool_input": {"command": "ls"}"#,
            "tool_name",
        ),
        (r#""tool_name": "Other", "tool_input": {"a": [{"b": {"c": 1, "c": 2}}]}"#, "c"),
        (
            r#""hook_event_name": "SessionEnd", "tool_name": "Bash", "tool_input": {"command": "ls"}"#,
            "hook_event_name",
        ),
        // Some agents write their arguments as a text.
        (
            r#""tool_name": "Bash", "tool_input": "{\"command\": \"ls\", \"command\": \"rm\"}""#,
            "command",
        ),
    ] {
        let reason = refused(&claude(&place, format!("{head}, {fields}{tail}").as_bytes()));
        assert!(reason.contains(&format!("duplicate key `{key}`")), "{reason}");
    }
    let same =
        r#"{"command": "ls", "n": [1.0, -2, 3e400, {"command": 1}], "o": {"command": "rm"}}"#;
    let same = format!("{head}, \"tool_name\": \"Bash\", \"tool_input\": {same}{tail}");
    silent(&claude(&place, same.as_bytes()));
    let mut translate = place.tollgate();
    translate.args(["translate", "hooks-json", "claude", "--event", "PreToolUse", "--", "true"]);
    let input = br#"{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_name": "Read"}"#;
    assert!(refused(&run(&mut translate, input)).contains("duplicate key `tool_name`"));
    let mut fire = place.tollgate();
    let output =
        run(fire.args(["fire", "tool.pre", "--payload", "-"]), br#"{"name": "a", "name": "b"}"#);
    assert!(String::from_utf8_lossy(&output.stderr).contains("duplicate key `name`"), "{output:?}");
}

#[test]
fn what_is_too_long_is_refused() {
    let place = Place::new();
    let mut long = place.ls();
    long.resize((64 << 20) + 1, b' ');
    assert!(refused(&claude(&place, &long)).contains("64 MiB"));
}

#[test]
fn where_nothing_is_guarded_it_stays_silent() {
    let place = Place::new();
    let end = place.call("", &Value::Null);
    for fault in ["panic", "abort", "exit"] {
        silent(&run(place.tollgate().args(["hook", "claude"]).env("TOLLGATE_FAULT", fault), &end));
    }
    let other = json!({"hook_event_name": "WorktreeCreate", "session_id": "s"});
    silent(&claude(&place, other.to_string().as_bytes()));
}

#[test]
fn arguments_that_are_wrong_are_a_refusal() {
    let place = Place::new();
    refused(&run(place.tollgate().args(["hook", "claude", "--what"]), &place.ls()));
    refused(&run(place.tollgate().args(["hook", "claude", "--event", "Stop"]), &place.ls()));
    let nobody = run(place.tollgate().args(["hook", "nobody"]), &place.ls());
    assert_eq!(nobody.status.code(), Some(2));
    assert!(nobody.stdout.is_empty() && !nobody.stderr.is_empty());
}

#[test]
fn our_own_faults_close_the_gate() {
    let place = Place::new();
    for fault in ["panic", "abort", "stack", "exit", "memory"] {
        let mut command = place.tollgate();
        command.args(["hook", "claude"]).env("TOLLGATE_FAULT", fault);
        let reason = refused(&run(&mut command, &place.ls()));
        assert!(reason.contains("could not decide"), "{fault}: {reason}");
    }
    // What is printed on the way is not part of the answer.
    let mut command = place.tollgate();
    command.args(["hook", "claude"]).env("TOLLGATE_FAULT", "noise");
    silent(&run(&mut command, &place.ls()));
}

#[test]
fn a_deadline_closes_the_gate() {
    let place = Place::new();
    let begun = Instant::now();
    let mut command = place.tollgate();
    command.args(["hook", "claude", "--deadline", "1"]).env("TOLLGATE_FAULT", "loop");
    refused(&run(&mut command, &place.ls()));
    // A host that does not say what it wants.
    let mut command = place.tollgate();
    let mut child = command
        .args(["hook", "claude", "--deadline", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    assert!(refused(&output).contains("in time"));
    drop(stdin);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// With however little memory: what the policy refuses does not pass.
#[test]
fn with_little_memory_nothing_passes() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_tollgate");
    let mut refusals = 0;
    for kilobytes in [1_000, 4_000, 16_000, 64_000, 128_000, 256_000, 512_000, 1_000_000, 8_000_000]
    {
        let mut command = Command::new("/bin/sh");
        place.surround(&mut command);
        let script = format!("ulimit -v {kilobytes}; exec '{program}' hook claude");
        let output = run(command.args(["-c", &script]), &place.rm());
        // Killed, or not even started: what `install` writes makes a refusal of both.
        assert!(!output.status.success(), "with {kilobytes} KB: {output:?}");
        refusals += usize::from(output.status.code() == Some(2));
    }
    assert!(refusals > 0, "with enough, it answers");
}

#[test]
fn an_answer_that_cannot_be_printed_is_a_refusal() {
    let place = Place::new();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut child = place
        .tollgate()
        .args(["hook", "claude"])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&place.rm()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "no rm here");
}

/// Hook files that are broken or were changed close the gate; those that nobody has trusted are not in force, and the
/// person is told.
#[test]
fn hook_files_that_cannot_be_used() {
    let place = Place::new();
    let guard = place.path("project/.tollgate/hooks/guard.md");
    fs::create_dir_all(guard.parent().unwrap()).unwrap();
    let text = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return block(\"no\")\n---\nA guard.\n";
    fs::write(&guard, text).unwrap();
    silent(&claude(&place, &place.ls()));
    let start = json!({"session_id": "s", "cwd": place.project(), "hook_event_name": "SessionStart", "source": "startup"});
    let output = claude(&place, start.to_string().as_bytes());
    assert!(told(&output).contains("tollgate trust"), "{output:?}");
    assert_eq!(output.status.code(), Some(0));

    let trusted = place.person(&["trust", "--yes"]);
    assert!(trusted.status.success(), "{trusted:?}");
    assert_eq!(refused(&claude(&place, &place.ls())), "no");
    // It runs as it was approved; as a session begins, and only then, the person is told.
    fs::write(&guard, text.replace("block(\"no\")", "allow()")).unwrap();
    for is_there in [true, false] {
        if !is_there {
            fs::remove_file(&guard).unwrap();
        }
        let output = claude(&place, &place.ls());
        assert_eq!(refused(&output), "no");
        assert!(!told(&output).contains("tollgate trust"), "{output:?}");
        let output = claude(&place, start.to_string().as_bytes());
        assert!(told(&output).contains("as it was approved"), "{output:?}");
        assert!(told(&output).contains("tollgate trust"), "{output:?}");
        assert_eq!(output.status.code(), Some(0));
    }
    let config = place.path("home/.config/tollgate/config.toml");
    fs::write(&config, "[trust]\nchanged = \"closed\"\n").unwrap();
    let output = claude(&place, &place.ls());
    refused(&output);
    assert!(told(&output).contains("tollgate trust"), "{output:?}");
    // A store that is gone opens nothing.
    fs::remove_file(place.path("home/.local/state/tollgate/trust.json")).unwrap();
    let output = claude(&place, &place.ls());
    refused(&output);
    assert!(told(&output).contains("was trusted"), "{output:?}");
    let revoked = place.person(&["trust", "--revoke"]);
    assert!(revoked.status.success(), "{revoked:?}");

    fs::remove_dir_all(place.path("project/.tollgate")).unwrap();
    fs::write(place.path("home/.config/tollgate/policy.star"), "policy.deny(").unwrap();
    let output = claude(&place, &place.ls());
    refused(&output);
    assert!(told(&output).contains("policy.star"), "{output:?}");
    assert!(refused(&output).contains("tollgate check"), "{output:?}");
}

/// Whatever its umask, a machine on which a hook is called first can trust a project afterwards.
#[test]
fn a_fresh_machine_is_not_locked_out_by_its_umask() {
    for umask in ["000", "002", "022"] {
        let place = Place::new();
        let guard = place.path("project/.tollgate/hooks/guard.md");
        fs::create_dir_all(guard.parent().unwrap()).unwrap();
        let text = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return block(\"no\")\n---\n";
        fs::write(&guard, text).unwrap();
        let with_umask = |arguments: &[&str]| {
            let mut command = Command::new("/bin/sh");
            let program = place.tollgate();
            command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]);
            command.arg(program.get_program()).args(arguments);
            command.env_clear();
            for (name, value) in program.get_envs() {
                if let Some(value) = value {
                    command.env(name, value);
                }
            }
            command.current_dir(place.path("project"));
            command
        };
        let start = json!({"session_id": "s", "cwd": place.project(), "hook_event_name": "SessionStart", "source": "startup"});
        let output = run(&mut with_umask(&["hook", "claude"]), start.to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0), "{umask}: {output:?}");
        let trusted = place.person(&["trust", "--yes"]);
        assert!(trusted.status.success(), "{umask}: {trusted:?}");
        let output = run(&mut with_umask(&["hook", "claude"]), &place.ls());
        assert_eq!(refused(&output), "no", "{umask}");
    }
}

/// A hook that always wants the agent to go on does not keep it going for ever.
#[test]
fn an_agent_comes_to_an_end() {
    let place = Place::new();
    fs::remove_file(place.path("home/.config/tollgate/policy.star")).unwrap();
    let antigravity = place.path("home/.config/tollgate/antigravity");
    fs::create_dir_all(&antigravity).unwrap();
    fs::write(
        antigravity.join("hooks.json"),
        json!({"more": {"Stop": [{"command": "echo '{\"decision\": \"continue\", \"reason\": \"more\"}'"}]}}).to_string(),
    )
    .unwrap();
    let stop = |again: bool| {
        let stop = json!({"session_id": "s", "cwd": place.project(), "hook_event_name": "Stop", "stop_hook_active": again});
        claude(&place, stop.to_string().as_bytes())
    };
    let goes_on = |output: &Output| output.status.code() == Some(2);
    assert!(goes_on(&stop(false)), "{:?}", stop(false));
    let rounds = (0..20).take_while(|_| goes_on(&stop(true))).count();
    assert_eq!(rounds, 7, "eight in all");
    assert!(goes_on(&stop(false)), "another turn is another count");
    let folder = place.path("home/.local/state/tollgate/hosts");
    assert!(folder.is_dir());
}

/// An agent that goes elsewhere is still held to the hooks of the project it began in.
#[test]
fn to_go_elsewhere_is_no_way_out() {
    let place = Place::new();
    fs::remove_file(place.path("home/.config/tollgate/policy.star")).unwrap();
    fs::create_dir_all(place.path("project/.tollgate")).unwrap();
    fs::create_dir_all(place.path("elsewhere/.git")).unwrap();
    fs::write(place.path("project/.tollgate/policy.star"), POLICY).unwrap();
    let trusted = run(place.tollgate().args(["trust", "--yes"]), b"");
    assert!(trusted.status.success(), "{trusted:?}");
    let call = |event: &str, directory: &str| {
        let call = json!({
            "session_id": "s", "turn_id": "t", "hook_event_name": event, "cwd": place.path(directory),
            "tool_name": "Bash", "tool_input": {"command": "rm -r x"}, "source": "startup",
        });
        run(place.tollgate().args(["hook", "codex"]), call.to_string().as_bytes())
    };
    assert_eq!(call("SessionStart", "project").status.code(), Some(0));
    for directory in ["project", "elsewhere"] {
        assert_eq!(call("PreToolUse", directory).status.code(), Some(2), "in {directory}");
    }
    // Another session may begin elsewhere.
    assert_eq!(call("SessionEnd", "elsewhere").status.code(), Some(0));
    assert_eq!(call("PreToolUse", "elsewhere").status.code(), Some(0));
    // An agent that says where it was started is believed.
    let mut command = place.tollgate();
    command.args(["hook", "claude"]).env("CLAUDE_PROJECT_DIR", place.path("project"));
    let there = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": place.path("elsewhere"),
        "tool_name": "Bash", "tool_input": {"command": "rm -r x"},
    });
    assert_eq!(refused(&run(&mut command, there.to_string().as_bytes())), "no rm here");
}

fn antigravity(place: &Place, event: &str, call: &Value) -> Output {
    let mut input =
        json!({"conversationId": "s", "workspacePaths": [place.project()], "stepIdx": 1});
    input.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
    let mut command = place.tollgate();
    run(command.args(["hook", "antigravity", "--event", event]), input.to_string().as_bytes())
}

/// What was printed, by a program that succeeded and said nothing else.
fn printed(output: &Output) -> Value {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    if output.stdout.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Before a tool, Antigravity takes no silence: no opinion is a question, and whatever goes wrong a refusal.
#[test]
fn antigravity_is_always_answered() {
    let place = Place::new();
    let call = |command: &str| json!({"toolCall": {"name": "run_command", "args": {"CommandLine": command}}});
    let denied = printed(&antigravity(&place, "PreToolUse", &call("rm -r x")));
    assert_eq!(denied, json!({"decision": "deny", "reason": "no rm here"}));
    assert_eq!(
        printed(&antigravity(&place, "PreToolUse", &call("ls"))),
        json!({"decision": "ask"})
    );
    let stop = json!({"executionNum": 1, "terminationReason": "model_stop", "fullyIdle": true});
    assert_eq!(printed(&antigravity(&place, "Stop", &stop)), json!({"decision": "stop"}));
    assert_eq!(printed(&antigravity(&place, "PostToolUse", &json!({"error": "x"}))), json!({}));
    assert_eq!(
        printed(&antigravity(&place, "PreInvocation", &json!({"invocationNum": 1}))),
        json!({})
    );
    let raw = |arguments: &[&str], input: &[u8], fault: &str| {
        let mut command = place.tollgate();
        printed(&run(command.arg("hook").args(arguments).env("TOLLGATE_FAULT", fault), input))
    };
    let gate = ["antigravity", "--event", "PreToolUse"];
    for input in [&b""[..], b"{", b"[]", b"{}", b"\xff", b"{\"toolCall\": 3}"] {
        assert_eq!(raw(&gate, input, "")["decision"], "deny");
    }
    assert_eq!(raw(&["antigravity"], b"{}", "")["decision"], "deny", "the event is not known");
    assert_eq!(raw(&["antigravity", "--what"], b"{}", "")["decision"], "deny");
    for fault in ["panic", "abort", "exit"] {
        assert_eq!(raw(&gate, call("ls").to_string().as_bytes(), fault)["decision"], "deny");
        assert_eq!(raw(&["antigravity", "--event", "Stop"], b"{}", fault)["decision"], "stop");
    }
    fs::write(place.path("home/.config/tollgate/config.toml"), "[hosts]\npass_allow = true\n")
        .unwrap();
    let policy = "policy.allow(\"run_command\")\n";
    fs::write(place.path("home/.config/tollgate/policy.star"), policy).unwrap();
    let allowed = printed(&antigravity(&place, "PreToolUse", &call("ls")));
    assert_eq!(allowed["decision"], "allow", "{allowed}");
}

#[test]
fn polytoken_is_answered_to_the_letter() {
    let place = Place::new();
    let call = |command: &str| {
        let call = json!({"event": "pre_tool_use", "matcher_subject": "shell_exec",
            "tool_name": "shell_exec", "input": {"command": command}});
        call.to_string().into_bytes()
    };
    let hook = |input: &[u8], event: &str| {
        let mut command = place.tollgate();
        command.args(["hook", "polytoken"]).env("POLYTOKEN_PROJECT_DIR", place.project());
        if !event.is_empty() {
            command.env("POLYTOKEN_HOOK_EVENT", event);
        }
        printed(&run(&mut command, input))
    };
    let denied = json!({"outcome": "deny", "reason": "no rm here"});
    assert_eq!(hook(&call("rm -r x"), ""), denied);
    assert_eq!(hook(&call("ls"), ""), Value::Null);
    for input in [&b""[..], b"{", b"[]", b"\xff", b"{\"event\": \"pre_tool_use\"}"] {
        assert_eq!(hook(input, "")["outcome"], "deny");
    }
    // An error would let a prompt pass, and keep the agent from handing back.
    assert_eq!(hook(b"{", "pre_user_prompt")["outcome"], "reject");
    assert_eq!(hook(b"{", "pre_model_turn")["outcome"], "error");
    assert_eq!(hook(b"{", "stop"), Value::Null);
    // Paths are those of the project, which a variable tells.
    let policy = "policy.deny(\"write_to_file\", when = lambda args: args[\"TargetFile\"].startswith(\"/\") and args[\"TargetFile\"].endswith(\"/project/a\"), reason = \"not a\")";
    fs::write(place.path("home/.config/tollgate/policy.star"), policy).unwrap();
    let write = json!({"tool_name": "file_write", "input": {"path": "a", "content": "x"}});
    assert_eq!(hook(write.to_string().as_bytes(), "pre_tool_use")["reason"], "not a");
}

/// Neither says how often an agent was sent on.
#[test]
fn an_agent_comes_to_an_end_where_nobody_counts() {
    let place = Place::new();
    fs::remove_file(place.path("home/.config/tollgate/policy.star")).unwrap();
    let folder = place.path("home/.config/tollgate/antigravity");
    fs::create_dir_all(&folder).unwrap();
    let more = json!({"more": {"PostInvocation": [
        {"command": "echo '{\"terminationBehavior\": \"force_continue\"}'"}
    ], "Stop": [{"command": "echo '{\"decision\": \"continue\", \"reason\": \"more\"}'"}]}});
    fs::write(folder.join("hooks.json"), more.to_string()).unwrap();
    let told = |event: &str| {
        let input = json!({"event": event, "session_id": "s", "prompt": "x"});
        let mut command = place.tollgate();
        printed(&run(command.args(["hook", "polytoken"]), input.to_string().as_bytes()))
    };
    let goes_on = || told("stop")["outcome"] == "continue";
    assert_eq!((0..20).take_while(|_| goes_on()).count(), 8);
    assert!(goes_on(), "it has stopped since");
    assert_eq!(told("pre_user_prompt"), Value::Null);
    assert_eq!((0..20).take_while(|_| goes_on()).count(), 8, "another prompt is another count");
    // A loop that is forced on under Antigravity ends too.
    let end = || antigravity(&place, "PostInvocation", &json!({"invocationNum": 1}));
    let behaviour = || printed(&end())["terminationBehavior"].clone();
    assert_eq!((0..20).take_while(|_| behaviour() == "force_continue").count(), 8);
    assert_eq!(behaviour(), "force_continue", "another loop is another count");
}

/// A file in which Tollgate is the hook of another agent is nothing that Tollgate runs.
#[test]
fn tollgate_is_no_hook_of_itself() {
    for (host, file) in
        [("antigravity", ".agents/hooks.json"), ("polytoken", ".polytoken/hooks.json")]
    {
        let place = Place::new();
        let installed =
            run(place.tollgate().args(["install", host, "--project", "--program", TOLLGATE]), b"");
        assert!(installed.status.success() && place.path("project").join(file).is_file());
        silent(&claude(&place, &place.ls()));
        assert_eq!(refused(&claude(&place, &place.rm())), "no rm here");
        for command in ["list", "check"] {
            let output = run(place.tollgate().arg(command), b"");
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success() && !shown.contains(file), "{command}: {output:?}");
        }
        // Under the agent itself as well, and nobody has to trust it.
        let start = json!({"event": "session_start", "workspacePaths": [place.project()]});
        let event = if host == "antigravity" { "SessionStart" } else { "session_start" };
        let mut command = place.tollgate();
        command.args(["hook", host, "--event", event]);
        let output = run(&mut command, start.to_string().as_bytes());
        assert!(
            output.status.success() && !String::from_utf8_lossy(&output.stdout).contains("trust")
        );
        let doctor = run(place.tollgate().arg("doctor"), b"");
        let shown = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(doctor.status.success() && shown.contains("test call refused in"), "{shown}");
        assert_eq!(shown.contains("not asked about view_file"), host == "antigravity", "{shown}");
        let removed = place.person(&["uninstall", host, "--project"]);
        assert!(removed.status.success() && !place.path("project").join(file).exists());
    }
}

/// Hooks of a project that is not there would be none.
#[test]
fn a_project_that_is_not_there_is_refused() {
    let place = Place::new();
    let output =
        run(place.tollgate().args(["hook", "claude", "--project", "/nonexistent"]), &place.ls());
    assert!(refused(&output).contains("/nonexistent"), "{output:?}");
}

#[test]
fn what_is_not_understood_is_refused() {
    let place = Place::new();
    for input in [json!(["rm -r x"]), json!({"cmd": "rm -r x"}), Value::Null, json!({})] {
        let output = run(place.tollgate().args(["hook", "claude"]), &place.call("Bash", &input));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{input}: {said}");
        assert!(said.contains("the payload is not understood"), "{input}: {said}");
    }
    // What is not ours to know passes as before.
    let output = run(place.tollgate().args(["hook", "claude"]), &place.call("Other", &json!([1])));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_is_told_is_not_empty_and_not_said_twice() {
    let place = Place::new();
    let hooks = place.path("home/.config/tollgate/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let rewrites = "---\nevent: turn.start\nscript: |\n  def handle(event, payload):\n      \
                    return modify({\"prompt\": \"other\"})\n---\n";
    fs::write(hooks.join("rewrites.md"), rewrites).unwrap();
    let prompt = json!({
        "session_id": "s", "cwd": place.project(), "hook_event_name": "UserPromptSubmit",
        "prompt": "one",
    });
    for host in ["claude", "codex"] {
        let output = run(place.tollgate().args(["hook", host]), prompt.to_string().as_bytes());
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Use this instead: other"), "{said}");
        assert!(!said.contains("\"Tollgate: \""), "{said}");
    }
    let other = json!({"session_id": "s", "hook_event_name": "PreToolUses"});
    let output = run(place.tollgate().args(["hook", "claude"]), other.to_string().as_bytes());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`PreToolUses`") && !said.contains("Tollgate: Tollgate"), "{said}");
}

/// Scripts run in the process that answers, which has a refusal ready for whatever they do to it.
#[test]
fn scripts_that_want_too_much_close_the_gate() {
    let place = Place::new();
    let hooks = place.path("home/.config/tollgate/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let greedy = [
        "len(\"a\" * (1 << 34))",
        "len(\"a\" * 2000000000)",
        "len(\"a\" * 900000000)",
        "len([0] * 200000000)",
        "len(list(range(1 << 40)))",
        "[n for n in range(1 << 40) if n < 0]",
        "{}[\"nothing\"]",
    ];
    for script in greedy {
        let hook = format!(
            "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      {script}\n      return allow()\n---\n"
        );
        fs::write(hooks.join("greedy.md"), hook).unwrap();
        let output = claude(&place, &place.ls());
        assert_eq!(output.status.code(), Some(2), "{script}: {output:?}");
        if script.contains("00000000") {
            // The operation did not get its memory; it was not done and found to have taken too long.
            assert_eq!(refused(&output), GAVE_UP, "{script}");
        }
    }
    fs::remove_file(hooks.join("greedy.md")).unwrap();
    for condition in ["len(\"a\" * 900000000) < 0", "len([0] * 200000000) < 0"] {
        let policy = format!(
            "policy.deny(\"run_command\", when = lambda args: {condition}, reason = \"x\")"
        );
        fs::write(place.path("home/.config/tollgate/policy.star"), policy).unwrap();
        assert_eq!(refused(&claude(&place, &place.ls())), GAVE_UP, "{condition}");
    }
    // What is at the limit of what a hook may do passes.
    fs::remove_file(place.path("home/.config/tollgate/policy.star")).unwrap();
    let hook = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      len(\"a\" * 100000)\n      return allow()\n---\n";
    fs::write(hooks.join("greedy.md"), hook).unwrap();
    assert_eq!(claude(&place, &place.ls()).status.code(), Some(0));
}
