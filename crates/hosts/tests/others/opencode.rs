use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tollgate_core::AnyEvent;
use tollgate_core::event::ToolCall;
use tollgate_core::verdict::Word;
use tollgate_hosts::opencode::plugin;

use crate::{answered, calls, deciding, host, json, one, read, rewriting, touched};

fn call(tool: &str, input: impl Into<Value>) -> Value {
    let input: Value = input.into();
    json!({"hook_event_name": "PreToolUse", "session_id": "1", "cwd": "/w", "tool_name": tool,
        "tool_input": input, "tool_use_id": "c"})
}

#[test]
fn each_tool_has_its_paths() {
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: /b\n+z\n";
    let cases = [
        ("bash", json!({"command": "ls", "workdir": "sub"}), vec![one("run_command", &["/w/sub"])]),
        ("read", json!({"filePath": "a", "offset": 1}), vec![one("view_file", &["/w/a"])]),
        ("write", json!({"filePath": "/a", "content": "x"}), vec![one("write_to_file", &["/a"])]),
        ("edit", json!({"filePath": "a"}), vec![one("replace_file_content", &["/w/a"])]),
        (
            "multiedit",
            json!({"filePath": "a", "edits": [{"oldString": "x", "newString": "y"}]}),
            vec![one("multi_replace_file_content", &["/w/a"])],
        ),
        (
            "apply_patch",
            json!({"patchText": patch}),
            vec![one("replace_file_content", &["/w/a"]), one("write_to_file", &["/b"])],
        ),
        ("glob", json!({"pattern": "*"}), vec![one("find_by_name", &["/w"])]),
        ("grep", json!({"pattern": "x", "path": null}), vec![one("grep_search", &["/w"])]),
        ("list", json!({"path": "/etc"}), vec![one("list_dir", &["/etc"])]),
        ("webfetch", json!({"url": "https://a"}), vec![one("read_url_content", &[])]),
    ];
    for (tool, input, expected) in cases {
        let incoming = read(host("opencode"), "PreToolUse", call(tool, input.clone()));
        assert_eq!(touched(&incoming), expected, "{tool} {input}");
    }
}

#[test]
fn servers_and_their_tools_are_read_out_of_one_word() {
    let incoming = read(host("opencode"), "PreToolUse", call("my_demo_greet", json!({})));
    let readings: Vec<_> =
        calls(&incoming)[0].readings.iter().map(|it| (&*it.server, &*it.tool)).collect();
    assert_eq!(readings, [("my", "demo_greet"), ("my_demo", "greet")]);
    let ours = ToolCall::new("greet").server("demo");
    assert_eq!(host("opencode").native(&ours).0, "demo_greet");
}

/// What the plugin does with each program in the place of Tollgate. None where there is no node.
fn drive_each(patience: &str, programs: &[&str], cases: &Value) -> Option<Vec<Value>> {
    let patience = format!("PATIENCE = {patience}");
    drive_changed(&[("PATIENCE = 60_000", &patience)], programs, cases)
}

/// With other bounds than it has.
fn drive_changed(changes: &[(&str, &str)], programs: &[&str], cases: &Value) -> Option<Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let run = |(place, program): (usize, &&str)| {
        let at = |kind: &str| folder.path().join(format!("{place}.{kind}"));
        let (script, module) = (at("sh"), at("mjs"));
        fs::write(&script, program).unwrap();
        let mut text = plugin(&["/bin/sh", script.to_str().unwrap()], false);
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        fs::write(&module, text).unwrap();
        json!({"plugin": module, "cases": cases})
    };
    let runs: Vec<_> = programs.iter().enumerate().map(run).collect();
    let file = folder.path().join("runs.json");
    fs::write(&file, Value::from(runs).to_string()).unwrap();
    let drive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/others/opencode/drive.mjs");
    let output = Command::new("node").arg(drive).arg(&file).current_dir(folder.path()).output();
    let output = output.ok()?;
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn drive(program: &str, cases: &Value) -> Option<Value> {
    drive_each("60_000", &[program], cases).map(|mut results| results.remove(0))
}

fn before() -> Value {
    json!({"hook": "tool.execute.before",
        "input": {"tool": "bash", "sessionID": "s", "callID": "c"},
        "output": {"args": {"command": "ls", "timeout": 1}}})
}

fn after() -> Value {
    json!({"hook": "tool.execute.after",
        "input": {"tool": "bash", "sessionID": "s", "callID": "c", "args": {"command": "env"}},
        "output": {"title": "t", "output": "key=1", "metadata": {"output": "key=1", "exit": 0}}})
}

fn prompt() -> Value {
    json!({"hook": "chat.message", "input": {"sessionID": "s"},
        "output": {"message": {}, "parts": [{"type": "text", "text": "hello"}]}})
}

/// A program that answers as it is told, with what it is to say in place of Tollgate.
fn saying(output: &tollgate_hosts::Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    format!(
        "cat >/dev/null\ncat <<'EOF'\n{}EOF\ncat >&2 <<'EOF'\n{}EOF\nexit {}\n",
        text(&output.stdout),
        text(&output.stderr),
        output.code
    )
}

#[test]
fn the_plugin_refuses_where_it_gets_no_answer() {
    tollgate_testing::needs!("node");
    let cases = json!([before(), after(), prompt()]);
    let programs = [
        ("exit 1", "exit code 1"),
        ("exit 3", "exit code 3"),
        ("exec /nonexistent/program", "exit code 127"),
        ("kill -9 $$", "SIGKILL"),
        ("echo certainly not json", "cannot be read"),
        ("echo '[]'", "cannot be read"),
        (r#"printf '{"hookSpecificOutput":{"permissionDecision":"al'"#, "cannot be read"),
        (r#"echo '{"hookSpecificOutput":{"permissionDecision":"forbid"}}'"#, "A hook refused"),
        ("exit 2", "A hook refused"),
        ("echo no >&2; exit 2", "no"),
        ("head -c 9000000 /dev/zero", "too much"),
    ];
    let Some(all) = drive_each("60_000", &programs.map(|(program, _)| program), &cases) else {
        return;
    };
    for ((program, why), results) in programs.into_iter().zip(all) {
        for result in results.as_array().unwrap() {
            let thrown = result["thrown"].as_str().unwrap_or_else(|| panic!("{program}: {result}"));
            assert!(thrown.contains(why), "{program}: {thrown}");
        }
    }
    let begun = Instant::now();
    let Some(results) = drive_each("200", &["exec sleep 60"], &json!([before()])) else { return };
    assert!(results[0][0]["thrown"].as_str().unwrap().contains("longer than"), "{results:?}");
    assert!(begun.elapsed().as_secs() < 30);
    // A command that is not there at all.
    let missing = plugin(&["/nonexistent/tollgate"], false);
    assert!(missing.contains(r#"const COMMAND = ["/nonexistent/tollgate"]"#));
}

/// Where a missing command is a warning, calls go on without it; one that is there and fails still refuses.
#[test]
fn a_missing_command_can_be_a_warning() {
    let cases = json!([before(), prompt()]);
    let missing = ("\"/bin/sh\"", "\"/nonexistent/tollgate\"");
    let warns = ("const MISSING = \"refuse\"", "const MISSING = \"warn\"");
    assert!(plugin(&["tollgate"], true).contains(warns.1));
    let Some(refused) = drive_changed(&[missing], &["exit 0"], &cases) else { return };
    let Some(passed) = drive_changed(&[missing, warns], &["exit 0"], &cases) else { return };
    let Some(failed) = drive_changed(&[warns], &["exit 1"], &cases) else { return };
    for at in 0..2 {
        assert!(refused[0][at]["thrown"].is_string(), "{refused:?}");
        assert_eq!(passed[0][at], json!({"output": cases[at]["output"]}), "{passed:?}");
        assert!(failed[0][at]["thrown"].is_string(), "{failed:?}");
    }
}

#[test]
fn the_plugin_has_no_opinion_of_its_own() {
    tollgate_testing::needs!("node");
    let cases = json!([before(), after(), prompt()]);
    let programs = ["cat >/dev/null", "echo '{}'", "sleep 2 & exit 0", "exec <&-; exit 0"];
    let Some(all) = drive_each("60_000", &programs, &cases) else { return };
    for (program, results) in programs.into_iter().zip(all) {
        for (result, case) in results.as_array().unwrap().iter().zip(cases.as_array().unwrap()) {
            assert_eq!(*result, json!({"output": case["output"]}), "{program}");
        }
    }
    // Nor does it stop what nobody asks about.
    let told = json!([{"hook": "event", "input": {"event": {"type": "session.created",
        "properties": {"info": {"id": "s"}}}}, "output": {}}]);
    let Some(results) = drive("exit 1", &told) else { return };
    assert_eq!(results, json!([{"output": {}}]));
}

#[test]
fn the_plugin_does_what_it_is_told() {
    tollgate_testing::needs!("node");
    let opencode = host("opencode");
    let incoming =
        read(opencode, "PreToolUse", call("bash", json!({"command": "ls", "timeout": 1})));
    let (_, output) = answered(&incoming, deciding(Word::Deny, "it's \"not\" here"));
    let Some(results) = drive(&saying(&output), &json!([before()])) else { return };
    assert_eq!(results[0]["thrown"], "it's \"not\" here");

    let change = rewriting(|args| drop(args.insert("CommandLine".to_owned(), json!("true"))));
    let (_, output) = answered(&incoming, change);
    let Some(results) = drive(&saying(&output), &json!([before()])) else { return };
    assert_eq!(results, json!([{"output": {"args": {"command": "true", "timeout": 1}}}]));

    let told = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "bash",
        "tool_input": {}, "tool_response": after()["output"]});
    let incoming = read(opencode, "PostToolUse", told);
    let (_, output) = answered(&incoming, |outcome| {
        if let AnyEvent::ToolPost(event) = &mut outcome.event {
            event.result = json!("key=*");
        }
    });
    assert_eq!(json(&output)["hookSpecificOutput"]["updatedToolOutput"]["output"], "key=*");
    let Some(results) = drive(&saying(&output), &json!([after()])) else { return };
    let masked =
        json!({"title": "t", "output": "key=*", "metadata": {"output": "key=*", "exit": 0}});
    assert_eq!(results, json!([{"output": masked}]));

    let told = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hello"});
    let incoming = read(opencode, "UserPromptSubmit", told);
    let (_, output) = answered(&incoming, |outcome| {
        if let AnyEvent::TurnStart(event) = &mut outcome.event {
            "goodbye".clone_into(&mut event.prompt);
        }
        outcome.additions.context.push("and so on".to_owned());
    });
    let Some(results) = drive(&saying(&output), &json!([prompt()])) else { return };
    assert_eq!(results[0]["output"]["parts"][0]["text"], "goodbye\n\nand so on");
}

#[test]
fn what_the_plugin_says_is_read() {
    tollgate_testing::needs!("node");
    let program = "cat > told.json; exit 0";
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let program = program.replace("told.json", told.to_str().unwrap());
    for (case, event) in
        [(before(), "PreToolUse"), (after(), "PostToolUse"), (prompt(), "UserPromptSubmit")]
    {
        if drive(&program, &json!([case])).is_none() {
            return;
        }
        let input: Value = serde_json::from_slice(&fs::read(&told).unwrap()).unwrap();
        let incoming = host("opencode").read(None, input).unwrap().unwrap();
        assert_eq!(incoming.event.name, event);
        assert_eq!(incoming.session.id, "s");
        assert!(incoming.cwd.is_some());
    }
}

/// A subagent's calls are told as those of the session that it works for.
#[test]
fn the_plugin_knows_subagents_up_to_a_bound() {
    tollgate_testing::needs!("node");
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    // What is told of an event says nothing here.
    let program = format!(
        "text=$(cat); case $text in *PreToolUse*) echo \"$text\" > '{}';; esac",
        told.display()
    );
    let born = |id: &str, parent: &str| {
        json!({"hook": "event", "output": {}, "input": {"event": {"type": "session.created",
            "properties": {"info": {"id": id, "parentID": parent, "title": "t"}}}}})
    };
    let said = |cases: Value, most: &str| {
        drive_changed(&[("MOST_SUBAGENTS = 10_000", most)], &[&program], &cases)?;
        let text = fs::read(&told).unwrap();
        Some(serde_json::from_slice::<Value>(&text).unwrap())
    };
    let inner = json!([born("t", "root"), born("s", "t"), before()]);
    let Some(input) = said(inner, "MOST_SUBAGENTS = 2") else { return };
    assert_eq!((&input["session_id"], &input["agent_id"]), (&json!("root"), &json!("s")));
    let older = json!([born("s", "root"), born("t", "root"), born("u", "root"), before()]);
    let Some(input) = said(older, "MOST_SUBAGENTS = 2") else { return };
    assert_eq!((&input["session_id"], &input["agent_id"]), (&json!("s"), &Value::Null));
}
