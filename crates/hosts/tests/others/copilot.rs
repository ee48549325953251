use serde_json::{Value, json};
use tollgate_core::AnyEvent;
use tollgate_core::verdict::Word;
use tollgate_hosts::Output;

use crate::{answered, calls, deciding, host, json, one, read, rewriting, touched};

fn call(tool: &str, args: impl Into<Value>) -> Value {
    let args: Value = args.into();
    json!({"sessionId": "1", "timestamp": 1, "cwd": "/w", "toolName": tool, "toolArgs": args})
}

#[test]
fn each_tool_has_its_paths() {
    let patch =
        "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: b\n+z\n*** End Patch";
    let patched = vec![one("replace_file_content", &["/w/a"]), one("write_to_file", &["/w/b"])];
    let cases = [
        ("bash", json!({"command": "ls"}), vec![one("run_command", &["/w"])]),
        ("write_bash", json!({"shellId": "1", "input": "ls"}), vec![one("run_command", &["/w"])]),
        ("view", json!({"path": "/w/a"}), vec![one("view_file", &["/w/a"])]),
        ("create", json!({"path": "a", "file_text": "x"}), vec![one("write_to_file", &["/w/a"])]),
        (
            "edit",
            json!({"path": "/w/a", "old_str": "x", "new_str": "y"}),
            vec![one("replace_file_content", &["/w/a"])],
        ),
        (
            "edit",
            json!({"file_path": "/b", "diff": ""}),
            vec![one("replace_file_content", &["/b"])],
        ),
        // What the host goes by counts, whatever else is there.
        (
            "edit",
            json!({"file_path": "/b", "path": "/a"}),
            vec![one("replace_file_content", &["/a"])],
        ),
        ("apply_patch", json!(patch), patched.clone()),
        ("apply_patch", json!({"input": patch}), patched),
        ("glob", json!({"pattern": "*"}), vec![one("find_by_name", &["/w"])]),
        ("grep", json!({"pattern": "x", "paths": "/a"}), vec![one("grep_search", &["/a"])]),
        (
            "grep",
            json!({"pattern": "x", "paths": ["/a", "b"]}),
            vec![one("grep_search", &["/a"]), one("grep_search", &["/w/b"])],
        ),
        ("web_fetch", json!({"url": "https://a"}), vec![one("read_url_content", &[])]),
        ("task", json!({"prompt": "x"}), vec![one("invoke_subagent", &[])]),
    ];
    for (tool, args, expected) in cases {
        let incoming = read(host("copilot"), "preToolUse", call(tool, args.clone()));
        assert_eq!(touched(&incoming), expected, "{tool} {args}");
    }
    // A hook in the other style is told other names, and the same arguments.
    let input = json!({"hook_event_name": "PreToolUse", "session_id": "1", "cwd": "/w",
        "tool_name": "Write", "tool_input": {"path": "a", "file_text": "x"}});
    let incoming = read(host("copilot"), "PreToolUse", input);
    assert_eq!(touched(&incoming), [one("write_to_file", &["/w/a"])]);
}

#[test]
fn a_patch_that_cannot_be_read_has_no_path_that_is_known() {
    let incoming = read(host("copilot"), "preToolUse", call("apply_patch", json!("rm")));
    assert!(tollgate_core::tools::paths(calls(&incoming)[0]).is_err());
}

#[test]
fn rewrites_go_back_into_its_arguments() {
    let set = |name: &'static str, value: Value| {
        rewriting(move |args| drop(args.insert(name.to_owned(), value.clone())))
    };
    let incoming = read(
        host("copilot"),
        "preToolUse",
        call("bash", json!({"command": "ls", "description": "list"})),
    );
    let (_, output) = answered(&incoming, set("CommandLine", json!("true")));
    assert_eq!(output.code, 0);
    assert_eq!(json(&output), json!({"modifiedArgs": {"command": "true", "description": "list"}}));
    let incoming = read(
        host("copilot"),
        "preToolUse",
        call("grep", json!({"pattern": "x", "paths": ["/a", "/b"]})),
    );
    let (_, output) = answered(&incoming, set("SearchPath", json!("/safe")));
    assert_eq!(json(&output)["modifiedArgs"]["paths"], json!(["/safe", "/safe"]));
}

#[test]
fn a_refusal_counts_wherever_it_looks() {
    let incoming = read(host("copilot"), "preToolUse", call("bash", json!({"command": "ls"})));
    let (_, output) = answered(&incoming, deciding(Word::Deny, "not here"));
    assert_eq!((output.code, &*output.stderr), (2, &b"not here\n"[..]));
    assert_eq!(
        json(&output),
        json!({"permissionDecision": "deny", "permissionDecisionReason": "not here"})
    );
    let incoming = read(host("copilot"), "userPromptSubmitted", json!({"prompt": "x"}));
    let (_, output) = answered(&incoming, deciding(Word::Deny, "not this"));
    assert_eq!(
        (output.code, json(&output)),
        (0, json!({"decision": "block", "reason": "not this"}))
    );
    let (_, output) = answered(&incoming, |_| {});
    assert_eq!(output, Output::silent());
}

#[test]
fn results_are_replaced_in_its_own_form() {
    let native = json!({"sessionId": "1", "toolName": "bash", "toolArgs": {"command": "env"},
        "toolResult": {"resultType": "success", "textResultForLlm": "key=1"}});
    let styled = json!({"hook_event_name": "PostToolUse", "session_id": "1", "tool_name": "Bash",
        "tool_input": {"command": "env"},
        "tool_result": {"result_type": "success", "text_result_for_llm": "key=1"}});
    for (event, input) in [("postToolUse", native), ("PostToolUse", styled)] {
        let incoming = read(host("copilot"), event, input);
        let (_, output) = answered(&incoming, |outcome| {
            if let AnyEvent::ToolPost(event) = &mut outcome.event {
                event.result = json!("key=*");
            }
        });
        let result = json!({"resultType": "success", "textResultForLlm": "key=*"});
        assert_eq!(json(&output), json!({"modifiedResult": result}), "{event}");
        let (_, output) = answered(&incoming, deciding(Word::Deny, "a secret"));
        assert_eq!(json(&output)["decision"], "block", "{event}");
        assert_eq!(json(&output)["modifiedResult"]["textResultForLlm"], "a secret", "{event}");
    }
}

#[test]
fn servers_and_their_tools_are_read_out_of_one_word() {
    let incoming = read(host("copilot"), "preToolUse", call("demo-greet", json!({"who": "you"})));
    let call = calls(&incoming)[0];
    assert_eq!(call.readings.len(), 1);
    assert_eq!((&*call.readings[0].server, &*call.readings[0].tool), ("demo", "greet"));
    let ours = tollgate_core::event::ToolCall::new("greet").server("demo");
    assert_eq!(host("copilot").native(&ours).0, "demo-greet");
}

#[test]
fn an_event_is_known_by_either_name() {
    let copilot = host("copilot");
    let note = json!({"sessionId": "1", "message": "m", "hook_event_name": "Notification"});
    assert!(copilot.read(Some("notification"), note.clone()).unwrap().is_some());
    assert!(copilot.read(None, note.clone()).unwrap().is_some());
    // Another one's is refused.
    assert!(copilot.read(Some("preToolUse"), note).is_err());
    assert!(copilot.read(None, json!({"sessionId": "1", "toolName": "bash"})).is_err());
}
