//! Hosts that are known by their documents: what these say that they send, and understand.

use serde_json::{Value, json};
use tollgate_core::Kind;
use tollgate_core::verdict::Word;
use tollgate_hosts::{Host, Output, Verdict};

use crate::{answered, calls, deciding, host, json, one, read, rewriting, touched};

fn cursor(event: &str, more: &Value) -> Value {
    let mut input = json!({"conversation_id": "1", "generation_id": "2", "model": "m",
        "hook_event_name": event, "cursor_version": "3", "workspace_roots": ["/w"],
        "user_email": null, "transcript_path": null});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

fn windsurf(action: &str, info: &Value) -> Value {
    json!({"agent_action_name": action, "trajectory_id": "1", "execution_id": "2",
        "timestamp": "2026-01-01T00:00:00Z", "tool_info": info})
}

fn vscode(tool: &str, input: &Value) -> Value {
    json!({"timestamp": "2026-01-01T00:00:00Z", "cwd": "/w", "session_id": "1",
        "hook_event_name": "PreToolUse", "transcript_path": "/t", "tool_name": tool,
        "tool_input": input, "tool_use_id": "tool-123"})
}

/// It is read, and what is written of it is read as the same.
fn check(host: &'static Host, input: Value, expected: &[(String, Vec<String>)]) {
    let shown = input.to_string();
    let incoming = host.read(None, input).unwrap().unwrap();
    assert_eq!(touched(&incoming), expected, "{shown}");
    assert_eq!(incoming.session.id, "1", "{shown}");
    let mut session = incoming.session.clone();
    session.workspaces = incoming.cwd.clone().into_iter().collect();
    let event = &incoming.parts[0].event;
    let written = host.wire.write_event(host, event.view(), &session).unwrap();
    let again = host.read(None, written.clone()).unwrap().unwrap();
    assert_eq!(again.parts[0].event, *event, "{shown}: {written}");
}

#[test]
fn events_of_cursor() {
    let tool = |name: &str, input: Value| {
        cursor("preToolUse", &json!({"tool_name": name, "tool_input": input, "tool_use_id": "t"}))
    };
    let cases = [
        (tool("Shell", json!({"command": "ls", "cwd": "/x"})), one("run_command", &["/x"])),
        (tool("Shell", json!("{\"command\": \"ls\"}")), one("run_command", &["/w"])),
        (tool("Read", json!({"path": "a"})), one("view_file", &["/w/a"])),
        (tool("Write", json!({"path": "a", "contents": "x"})), one("write_to_file", &["/w/a"])),
        (tool("Delete", json!({"path": "/a"})), one("write_to_file", &["/a"])),
        (
            tool("StrReplace", json!({"path": "a", "old_string": "x", "new_string": "y"})),
            one("replace_file_content", &["/w/a"]),
        ),
        (tool("Grep", json!({"pattern": "x"})), one("grep_search", &["/w"])),
        (tool("MCP:greet", json!({"who": "you"})), one("greet", &[])),
        (
            cursor("beforeShellExecution", &json!({"command": "ls", "cwd": "", "sandbox": false})),
            one("run_command", &["/w"]),
        ),
        (
            cursor(
                "beforeReadFile",
                &json!({"file_path": "/a", "content": "x", "attachments": []}),
            ),
            one("view_file", &["/a"]),
        ),
        (
            cursor(
                "beforeMCPExecution",
                &json!({"tool_name": "greet", "tool_input": "{\"who\":1}"}),
            ),
            one("greet", &[]),
        ),
        (
            cursor(
                "postToolUse",
                &json!({"tool_name": "Shell", "tool_input": {"command": "ls"},
                    "tool_output": "{\"output\":\"x\",\"exitCode\":0}", "duration": 1}),
            ),
            one("run_command", &["/w"]),
        ),
    ];
    for (input, expected) in cases {
        check(host("cursor"), input, &[expected]);
    }
    let input = tool("MCP:read_file", json!({"path": "/etc/passwd"}));
    let incoming = read(host("cursor"), "preToolUse", input);
    assert_eq!(calls(&incoming)[0].server.as_deref(), Some("mcp"));
    let again = cursor("stop", &json!({"status": "completed", "loop_count": 1}));
    let incoming = read(host("cursor"), "stop", again);
    assert_eq!(incoming.parts[0].event.view().kind(), Kind::Stop);
}

#[test]
fn answers_to_cursor() {
    let call =
        cursor("preToolUse", &json!({"tool_name": "Shell", "tool_input": {"command": "ls"}}));
    let incoming = read(host("cursor"), "preToolUse", call);
    let (_, output) = answered(&incoming, deciding(Word::Deny, "not here"));
    let refused =
        json!({"permission": "deny", "user_message": "not here", "agent_message": "not here"});
    assert_eq!((output.code, json(&output)), (0, refused));
    // Nothing at all is a failure, and an allow is more than nothing.
    let (_, output) = answered(&incoming, |_| {});
    assert_eq!((output.code, json(&output)), (0, json!({})));
    let change = rewriting(|args| drop(args.insert("CommandLine".to_owned(), json!("true"))));
    let (_, output) = answered(&incoming, change);
    assert_eq!(json(&output), json!({"updated_input": {"command": "true"}}));
    // A question that is not put would let it pass.
    let (reply, _) = answered(&incoming, deciding(Word::Ask, "sure?"));
    assert_eq!(reply.verdict, Verdict::Refuse);
    let prompt = cursor("beforeSubmitPrompt", &json!({"prompt": "x", "attachments": []}));
    let incoming = read(host("cursor"), "beforeSubmitPrompt", prompt);
    let (_, output) = answered(&incoming, deciding(Word::Deny, "not this"));
    assert_eq!(json(&output), json!({"continue": false, "user_message": "not this"}));
}

#[test]
fn events_of_windsurf() {
    let edits = json!([{"old_string": "x", "new_string": "y"}]);
    let cases = [
        (
            windsurf("pre_run_command", &json!({"command_line": "ls", "cwd": "/w"})),
            one("run_command", &["/w"]),
        ),
        (windsurf("pre_read_code", &json!({"file_path": "/a"})), one("view_file", &["/a"])),
        (
            windsurf("pre_write_code", &json!({"file_path": "/a", "edits": edits})),
            one("multi_replace_file_content", &["/a"]),
        ),
        (
            windsurf(
                "pre_mcp_tool_use",
                &json!({"mcp_server_name": "demo", "mcp_tool_name": "greet",
                    "mcp_tool_arguments": {"who": "you"}}),
            ),
            one("greet", &[]),
        ),
        (
            windsurf(
                "post_mcp_tool_use",
                &json!({"mcp_server_name": "demo", "mcp_tool_name": "greet",
                    "mcp_tool_arguments": {"who": "you"}, "mcp_result": "hello"}),
            ),
            one("greet", &[]),
        ),
    ];
    for (input, expected) in cases {
        check(host("windsurf"), input, &[expected]);
    }
    check(host("windsurf"), windsurf("pre_user_prompt", &json!({"user_prompt": "x"})), &[]);
    check(host("windsurf"), windsurf("post_cascade_response", &json!({"response": "x"})), &[]);
}

#[test]
fn answers_to_windsurf() {
    let call = windsurf("pre_run_command", &json!({"command_line": "ls"}));
    let incoming = read(host("windsurf"), "pre_run_command", call);
    let refused = |reason: &str| Output::silent().failing(2, reason);
    let (_, output) = answered(&incoming, deciding(Word::Deny, "not here"));
    assert_eq!(output, refused("not here"));
    let change = rewriting(|args| drop(args.insert("CommandLine".to_owned(), json!("true"))));
    let (reply, output) = answered(&incoming, change);
    assert_eq!(output.code, 2);
    assert!(reply.reason.ends_with("Use this instead: true"), "{reply:?}");
    let (_, output) = answered(&incoming, |_| {});
    assert_eq!(output, Output::silent());
}

#[test]
fn events_and_answers_of_vscode() {
    let vs = host("vscode");
    let replacements = json!([{"filePath": "/a", "oldString": "x", "newString": "y"},
        {"filePath": "/b", "oldString": "x", "newString": "y"}]);
    let two = [one("replace_file_content", &["/a"]), one("replace_file_content", &["/b"])];
    let cases = [
        ("run_in_terminal", json!({"command": "ls"}), vec![one("run_command", &["/w"])]),
        ("create_file", json!({"filePath": "/a"}), vec![one("write_to_file", &["/a"])]),
        (
            "replace_string_in_file",
            json!({"filePath": "/a", "oldString": "x", "newString": "y"}),
            vec![one("replace_file_content", &["/a"])],
        ),
        ("multi_replace_string_in_file", json!({"replacements": replacements}), two.to_vec()),
        ("editFiles", json!({"files": ["/a", "/b"]}), two.to_vec()),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Update File: /a\n*** Update File: /b\n"}),
            two.to_vec(),
        ),
        ("read_file", json!({"filePath": "a", "startLine": 1}), vec![one("view_file", &["/w/a"])]),
        (
            "fetch_webpage",
            json!({"urls": ["https://a"], "query": "x"}),
            vec![one("read_url_content", &[])],
        ),
    ];
    for (tool, input, expected) in cases {
        check(vs, vscode(tool, &input), &expected);
    }
    let input = vscode("multi_replace_string_in_file", &json!({"replacements": replacements}));
    let incoming = read(vs, "PreToolUse", input);
    let change = rewriting(|args| drop(args.insert("TargetFile".to_owned(), json!("/c"))));
    let (_, output) = answered(&incoming, change);
    let after = &json(&output)["hookSpecificOutput"]["updatedInput"]["replacements"];
    assert_eq!((&after[0]["filePath"], &after[1]["filePath"]), (&json!("/c"), &json!("/c")));

    let (_, output) = answered(&incoming, deciding(Word::Deny, "not here"));
    assert_eq!((output.code, &*output.stderr), (2, &b"not here\n"[..]));
    let incoming =
        read(vs, "Stop", json!({"session_id": "1", "stop_hook_active": false, "cwd": null}));
    let (_, output) = answered(&incoming, deciding(Word::Continue, "the tests"));
    assert_eq!(output.code, 0);
    assert_eq!(json(&output)["hookSpecificOutput"]["decision"], "block");
    let incoming = read(vs, "PreToolUse", vscode("mcp_demo_greet", &json!({})));
    assert_eq!(calls(&incoming)[0].server.as_deref(), Some("demo"));
}
