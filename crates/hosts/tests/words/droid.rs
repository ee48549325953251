//! Factory Droid.

use serde_json::json;
use tollgate_core::AnyEvent;
use tollgate_core::tools::Access;
use tollgate_hosts::{Choices, Reply, Verdict};

use super::{check, host, pre, printed, read, rewriting, silence, write};

#[test]
fn tools() {
    let patch =
        "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: /b\n+1\n*** End Patch";
    let files =
        &[("replace_file_content", &[write("/w/a")] as &[_]), ("write_to_file", &[write("/b")])];
    check(
        "droid",
        &[
            (
                "Execute",
                json!({"command": "ls", "riskLevel": "low"}),
                &[("run_command", &[("/w".to_owned(), Access::Execute)])],
            ),
            ("Read", json!({"file_path": "a"}), &[("view_file", &[read("/w/a")])]),
            ("Create", json!({"file_path": "/a"}), &[("write_to_file", &[write("/a")])]),
            ("Edit", json!({"file_path": "a"}), &[("replace_file_content", &[write("/w/a")])]),
            (
                "MultiEdit",
                json!({"file_path": "a", "changes": [{"old_str": "x", "new_str": "y"}]}),
                &[("multi_replace_file_content", &[write("/w/a")])],
            ),
            ("ApplyPatch", json!({"input": patch}), files),
            ("LS", json!({"directory_path": "/w"}), &[("list_dir", &[read("/w")])]),
            ("Glob", json!({"patterns": ["*"]}), &[("find_by_name", &[read("/w")])]),
            ("Grep", json!({"pattern": "x", "path": "/etc"}), &[("grep_search", &[read("/etc")])]),
            ("FetchUrl", json!({"url": "http://a"}), &[("read_url_content", &[])]),
            ("Task", json!({"prompt": "go"}), &[("invoke_subagent", &[])]),
        ],
    );
}

#[test]
fn servers() {
    let call = |name: &str| pre("droid", name, &json!({})).parts[0].call().unwrap().clone();
    let greet = call("my_demo___greet");
    let readings: Vec<_> = greet.readings.iter().map(|it| (&*it.server, &*it.tool)).collect();
    assert_eq!(readings, [("my_demo", "greet")]);
    assert!(call("Skill").readings.is_empty());
}

#[test]
fn rewrites() {
    let edits = json!({"file_path": "a", "changes": [{"old_str": "x", "new_str": "y"}]});
    let edits = pre("droid", "MultiEdit", &edits);
    let reply = rewriting(&edits, 0, |args| {
        args["ReplacementChunks"][0]["ReplacementContent"] = "z".into();
    });
    assert_eq!(
        printed(&edits.host.write(edits.event, &reply)),
        json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {"file_path": "a", "changes": [{"old_str": "x", "new_str": "z"}]},
        }})
    );
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": "1", "prompt": "hi"});
    let prompt = host("droid").read(None, prompt).unwrap().unwrap();
    let mut outcomes = silence(&prompt);
    let AnyEvent::TurnStart(event) = &mut outcomes[0].event else { panic!("no prompt") };
    event.prompt = "hello".to_owned();
    let reply = Reply::of(&prompt, &outcomes, Choices::default());
    assert_eq!(
        printed(&prompt.host.write(prompt.event, &reply))["hookSpecificOutput"]["updatedInput"],
        json!({"prompt": "hello"})
    );
}

/// The model has the result already; it is told why it should not have.
#[test]
fn results() {
    let payload = json!({
        "hook_event_name": "PostToolUse", "session_id": "1", "tool_name": "Execute",
        "tool_input": {"command": "env"}, "tool_response": "KEY=1",
    });
    let incoming = host("droid").read(None, payload).unwrap().unwrap();
    let mut outcomes = silence(&incoming);
    outcomes[0].decision = tollgate_core::verdict::Word::Deny;
    outcomes[0].reason = "a key".to_owned();
    let reply = Reply::of(&incoming, &outcomes, Choices::default());
    assert_eq!((reply.verdict, reply.lost.len()), (Verdict::Refuse, 1));
    let output = incoming.host.write(incoming.event, &reply);
    assert_eq!((output.code, &*output.stderr), (2, &b"a key\n"[..]));
}
