//! Antigravity and Polytoken, as the documents of their hooks have them.

use serde_json::{Value, json};
use tollgate_core::verdict::Word;
use tollgate_core::{AnyEvent, Kind, tools};
use tollgate_hosts::{Choices, Output, Reply, Verdict, by_name};

use crate::{answered, calls, deciding, host, json, one, outcome, read, rewriting, touched};

fn antigravity(name: &str, args: &Value) -> Value {
    json!({"toolCall": {"name": name, "args": args}, "stepIdx": 3, "conversationId": "1",
        "workspacePaths": ["/w", "/x"], "transcriptPath": "/t", "artifactDirectoryPath": "/a"})
}

fn polytoken(event: &str, more: &Value) -> Value {
    let mut input = json!({"event": event, "matcher_subject": event});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

#[test]
fn tools_of_antigravity_are_those_of_the_table() {
    let ours: Vec<_> = host("antigravity").tools.iter().map(|tool| tool.native).collect();
    for tool in tools::TABLE {
        assert!(ours.contains(&tool.name), "{}", tool.name);
    }
    assert_eq!(ours.len(), tools::TABLE.len());
}

#[test]
fn calls_of_antigravity() {
    let gate =
        |name, args: Value| read(host("antigravity"), "PreToolUse", antigravity(name, &args));
    let incoming = gate("run_command", json!({"CommandLine": "ls"}));
    assert_eq!(touched(&incoming), [one("run_command", &["/w"])]);
    assert_eq!(incoming.session.workspaces, ["/w", "/x"]);
    assert_eq!(incoming.session.artifacts.as_deref(), Some("/a"));
    assert_eq!(calls(&incoming)[0].step, Some(3));
    // A server's tool, whatever else is in the wrapping.
    let args = json!({"ServerName": "git", "ToolName": "push", "Arguments": {"to": "x"}, "toolSummary": "s"});
    let incoming = gate("call_mcp_tool", args.clone());
    let call = calls(&incoming)[0];
    assert_eq!((call.server.as_deref(), &*call.name), (Some("git"), "push"));
    assert_eq!(json!(call.args), json!({"to": "x"}));
    assert_eq!(
        (call.native_name(), &call.native.as_ref().unwrap().input),
        ("call_mcp_tool", &args)
    );
    // A wrapping that is none keeps its name.
    let incoming = gate("call_mcp_tool", json!({"ServerName": "git"}));
    assert_eq!(calls(&incoming)[0].name, "call_mcp_tool");
    // What cannot be told is refused.
    for input in [json!({}), json!({"toolCall": 3}), json!({"toolCall": {"args": {}}})] {
        assert!(host("antigravity").read(Some("PreToolUse"), input).is_err());
    }
    assert!(host("antigravity").read(None, antigravity("run_command", &json!({}))).is_err());
    // One name is for both ends.
    let over = |error: &str| read(host("antigravity"), "PostToolUse", json!({"error": error}));
    assert_eq!(over("").event.kind, Kind::ToolPost);
    assert_eq!(over("exit status 1").event.kind, Kind::ToolError);
}

#[test]
fn answers_to_antigravity() {
    let input = antigravity("run_command", &json!({"CommandLine": "ls"}));
    let incoming = read(host("antigravity"), "PreToolUse", input);
    let (_, output) = answered(&incoming, deciding(Word::Deny, "not here"));
    assert_eq!(
        (output.code, json(&output)),
        (0, json!({"decision": "deny", "reason": "not here"}))
    );
    // Neither an answer without a decision nor an allow says nothing.
    let (_, output) = answered(&incoming, |_| {});
    assert_eq!(json(&output), json!({"decision": "ask"}));
    let (_, output) = answered(&incoming, deciding(Word::Allow, ""));
    assert_eq!(json(&output), json!({"decision": "ask"}));
    let allowed = [outcome(&incoming.parts[0].event, deciding(Word::Allow, ""))];
    let choices = Choices { pass_allow: true, ..Choices::default() };
    let reply = Reply::of(&incoming, &allowed, choices);
    let output = incoming.host.write(incoming.event, &reply);
    assert_eq!(json(&output)["decision"], "allow");
    for word in [Word::Ask, Word::ForceAsk] {
        let (_, output) = answered(&incoming, deciding(word, "sure?"));
        assert_eq!(json(&output), json!({"decision": "force_ask", "reason": "sure?"}));
    }
    let change = rewriting(|args| drop(args.insert("CommandLine".to_owned(), json!("true"))));
    let (_, output) = answered(&incoming, change);
    assert_eq!(json(&output)["decision"], "deny");
    assert!(json(&output)["reason"].as_str().unwrap().ends_with("Use this instead: true"));

    let end = read(host("antigravity"), "PostInvocation", json!({"invocationNum": 1}));
    let said = |word, reason| json(&answered(&end, deciding(word, reason)).1);
    assert_eq!(said(Word::Continue, ""), json!({"terminationBehavior": "force_continue"}));
    let ended = json!({"terminationBehavior": "terminate", "injectSteps": [{"ephemeralMessage": "enough"}]});
    assert_eq!(said(Word::Terminate, "enough"), ended);
    let stop = read(host("antigravity"), "Stop", json!({"fullyIdle": true}));
    let (_, output) = answered(&stop, deciding(Word::Continue, "the tests"));
    assert_eq!(json(&output), json!({"decision": "continue", "reason": "the tests"}));
    let (_, output) = answered(&stop, |_| {});
    assert_eq!(json(&output), json!({"decision": "stop"}));
}

/// What Antigravity makes of answers, as its documents say.
#[test]
fn rules_of_antigravity() {
    let gate = host("antigravity").event("PreToolUse").unwrap();
    let read = |code, stdout: &str| {
        let output = Output { code, stdout: stdout.into(), stderr: Vec::new() };
        host("antigravity").wire.read_answer(gate, &output).map(|reply| reply.verdict).ok()
    };
    assert_eq!(read(0, "{\"decision\": \"allow\"}"), Some(Verdict::Allow));
    assert_eq!(read(0, "{\"decision\": \"ask\"}"), Some(Verdict::Silent));
    assert_eq!(read(0, "{\"decision\": \"force_ask\"}"), Some(Verdict::Ask));
    for denied in
        ["{}", "{\"decision\": 1}", "{\"decision\": \"maybe\"}", "{\"decision\": \"deny\"}"]
    {
        assert_eq!(read(0, denied), Some(Verdict::Refuse), "{denied}");
    }
    // Nothing is known of these, so nothing may depend on them.
    for (code, unknown) in [(0, ""), (0, "no"), (2, ""), (1, "{\"decision\": \"deny\"}")] {
        assert_eq!(read(code, unknown), None, "{unknown}");
    }
}

#[test]
fn calls_of_polytoken() {
    let gate = |name: &str, input: Value| {
        let more = json!({"tool_name": name, "input": input, "cwd": "/w"});
        read(host("polytoken"), "pre_tool_use", polytoken("pre_tool_use", &more))
    };
    let cases = [
        ("shell_exec", json!({"command": "ls"}), one("run_command", &["/w"])),
        ("file_read", json!({"path": "a"}), one("view_file", &["/w/a"])),
        ("file_write", json!({"path": "a", "content": "x"}), one("write_to_file", &["/w/a"])),
        ("file_edit_search_replace", json!({"path": "a"}), one("replace_file_content", &["/w/a"])),
        ("file_edit_insert", json!({"path": "/a"}), one("replace_file_content", &["/a"])),
        ("web_fetch", json!({"url": "https://a"}), one("read_url_content", &[])),
        ("mcp__git__push", json!({}), one("push", &[])),
        ("file_glob", json!({}), one("file_glob", &[])),
    ];
    for (name, input, expected) in cases {
        let incoming = gate(name, input);
        assert_eq!(touched(&incoming), [expected], "{name}");
        assert_eq!(calls(&incoming)[0].native_name(), name);
    }
    // An edit of which nobody knows the file is one that nobody lets pass.
    let edit =
        json!({"event": "pre_tool_use", "tool_name": "file_edit_block", "input": {"where": "a"}});
    let refused = host("polytoken").read(None, edit).unwrap_err();
    assert!(refused.message.contains("not understood"), "{refused}");
    let nameless = json!({"event": "pre_tool_use", "input": {}});
    assert!(host("polytoken").read(None, nameless).is_err());
    let incoming = read(host("polytoken"), "stop", json!({"event": "stop"}));
    assert!(matches!(&incoming.parts[0].event, AnyEvent::Stop(stop) if stop.execution == 0));
    assert!(!host("polytoken").wire.tells_rounds());
}

#[test]
fn answers_to_polytoken() {
    let input = json!({"tool_name": "shell_exec", "input": {"command": "ls"}});
    let incoming = read(host("polytoken"), "pre_tool_use", input);
    let denied = |output: &Output| {
        assert_eq!((output.code, &json(output)["outcome"]), (0, &json!("deny")));
        json(output)["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(denied(&answered(&incoming, deciding(Word::Deny, "not here")).1), "not here");
    assert!(denied(&answered(&incoming, deciding(Word::Ask, "sure?")).1).starts_with("sure? "));
    let change = rewriting(|args| drop(args.insert("CommandLine".to_owned(), json!("true"))));
    assert!(denied(&answered(&incoming, change).1).ends_with("Use this instead: true"));
    assert_eq!(answered(&incoming, |_| {}).1, Output::silent());
    assert_eq!(answered(&incoming, deciding(Word::Allow, "")).1, Output::silent());
    let cases = [
        ("pre_user_prompt", Word::Deny, json!({"outcome": "reject", "reason": "why"})),
        ("pre_model_turn", Word::Retry, json!({"outcome": "retry", "reason": "why"})),
        ("pre_model_turn", Word::Deny, json!({"outcome": "error", "message": "why"})),
        ("stop", Word::Continue, json!({"outcome": "continue", "reason": "why"})),
        ("pre_compaction", Word::Cancel, json!({"outcome": "cancel", "reason": "why"})),
        ("pre_compaction", Word::Suppress, json!({"outcome": "cancel", "reason": "why"})),
        ("notification", Word::Suppress, json!({"outcome": "suppress", "reason": "why"})),
    ];
    for (event, word, expected) in cases {
        let incoming = read(host("polytoken"), event, json!({"prompt": "x"}));
        assert_eq!(json(&answered(&incoming, deciding(word, "why")).1), expected, "{event}");
    }
    for (event, field) in [
        ("pre_user_prompt", "additional_context"),
        ("pre_model_turn", "additional_context"),
        ("session_start", "additional_context"),
        ("pre_compaction", "prepend_to_prompt"),
        ("post_compaction", "append_to_output"),
    ] {
        let incoming = read(host("polytoken"), event, json!({"prompt": "x"}));
        let (_, output) = answered(&incoming, |it| it.additions.context.push("so".to_owned()));
        assert_eq!(json(&output)[field], "so", "{event}");
    }
}

/// What Polytoken makes of answers, as its documents say.
#[test]
fn rules_of_polytoken() {
    let polytoken = by_name("polytoken").unwrap();
    let read = |event: &str, code, stdout: &str| {
        let output = Output { code, stdout: stdout.into(), stderr: b"why".to_vec() };
        let reply = polytoken.wire.read_answer(polytoken.event(event).unwrap(), &output);
        reply.map(|reply| reply.verdict).ok()
    };
    let (silent, refuse, resume) =
        (Some(Verdict::Silent), Some(Verdict::Refuse), Some(Verdict::Resume));
    let cases = [
        ("pre_tool_use", 0, "", silent),
        ("pre_tool_use", 0, "{\"outcome\": \"allow\"}", silent),
        // A field too many is an error, and an error stops the call.
        ("pre_tool_use", 0, "{\"outcome\": \"allow\", \"reason\": \"fine\"}", refuse),
        ("pre_tool_use", 0, "{\"outcome\": \"accept\"}", refuse),
        ("pre_tool_use", 0, "fine", refuse),
        ("pre_tool_use", 2, "", refuse),
        ("pre_tool_use", 1, "", refuse),
        ("pre_user_prompt", 2, "", refuse),
        ("pre_user_prompt", 1, "", None),
        ("pre_user_prompt", 0, "{\"outcome\": \"deny\"}", None),
        ("pre_model_turn", 2, "", resume),
        ("pre_model_turn", 1, "", refuse),
        ("stop", 2, "", resume),
        ("stop", 0, "{\"outcome\": \"error\"}", resume),
        ("pre_compaction", 2, "", refuse),
        ("session_start", 2, "", None),
        ("post_compaction", 2, "", None),
        ("notification", 2, "", refuse),
        ("notification", 1, "", None),
        ("post_tool_use", 2, "no", silent),
    ];
    for (event, code, stdout, expected) in cases {
        assert_eq!(read(event, code, stdout), expected, "{event} {code} {stdout}");
    }
}

/// No host takes another error: the person is told, and the model sees the error as it is.
#[test]
fn an_error_that_a_hook_rewrote_is_told_to_be_lost() {
    let input = json!({"session_id": "s", "cwd": "/w", "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash", "tool_input": {"command": "psql"}, "error": "hunter22"});
    let incoming = read(host("claude"), "PostToolUseFailure", input);
    let (reply, _) = answered(&incoming, |outcome| {
        if let AnyEvent::ToolError(event) = &mut outcome.event {
            event.error = "[masked]".to_owned();
        }
    });
    assert_eq!((reply.verdict, reply.rewrite), (Verdict::Silent, None));
    assert_eq!(reply.lost, ["Claude Code cannot be told what a hook rewrote"]);
}
