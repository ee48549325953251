//! Qwen Code.

use serde_json::{Value, json};
use tollgate_core::tools::Access;
use tollgate_hosts::{Output, Reply, Verdict};

use super::{check, host, pre, printed, read, replacing, rewriting, write};

#[test]
fn tools() {
    check(
        "qwen",
        &[
            (
                "run_shell_command",
                json!({"command": "ls", "directory": "/tmp"}),
                &[("run_command", &[("/tmp".to_owned(), Access::Execute)])],
            ),
            (
                "monitor",
                json!({"command": "tail -f x"}),
                &[("run_command", &[("/w".to_owned(), Access::Execute)])],
            ),
            ("read_file", json!({"file_path": "/w/a"}), &[("view_file", &[read("/w/a")])]),
            (
                "read_many_files",
                json!({"paths": ["/a", "b"]}),
                &[("view_file", &[read("/a")]), ("view_file", &[read("/w/b")])],
            ),
            ("write_file", json!({"file_path": "/w/a"}), &[("write_to_file", &[write("/w/a")])]),
            ("edit", json!({"file_path": "a"}), &[("replace_file_content", &[write("/w/a")])]),
            (
                "notebook_edit",
                json!({"notebook_path": "/w/n.ipynb", "new_source": "1"}),
                &[("replace_file_content", &[write("/w/n.ipynb")])],
            ),
            ("list_directory", json!({"path": "/etc"}), &[("list_dir", &[read("/etc")])]),
            ("glob", json!({"pattern": "*"}), &[("find_by_name", &[read("/w")])]),
            ("grep_search", json!({"pattern": "x"}), &[("grep_search", &[read("/w")])]),
            ("web_fetch", json!({"url": "http://a"}), &[("read_url_content", &[])]),
            ("agent", json!({"prompt": "go"}), &[("invoke_subagent", &[])]),
        ],
    );
}

#[test]
fn servers() {
    let call = pre("qwen", "mcp__demo__greet", &json!({}));
    let call = call.parts[0].call().unwrap();
    assert_eq!((call.server.as_deref(), &*call.name), (Some("demo"), "greet"));
}

/// It takes no rewrite, so the model is told what to do instead; a result is told in its place.
#[test]
fn rewrites() {
    let shell = pre("qwen", "run_shell_command", &json!({"command": "npm i"}));
    let reply =
        rewriting(&shell, 0, |args| drop(args.insert("CommandLine".into(), "pnpm i".into())));
    assert_eq!((reply.verdict, &reply.rewrite), (Verdict::Refuse, &None));
    assert!(reply.reason.ends_with("Use this instead: pnpm i"), "{}", reply.reason);

    let payload = json!({
        "hook_event_name": "PostToolUse", "session_id": "1", "tool_name": "run_shell_command",
        "tool_input": {"command": "env"}, "tool_response": {"llmContent": "KEY=1"},
    });
    let incoming = host("qwen").read(None, payload).unwrap().unwrap();
    let output = incoming.host.write(incoming.event, &replacing(&incoming, "KEY=***"));
    assert_eq!(printed(&output), json!({"continue": false, "stopReason": "KEY=***"}));
    assert_eq!(output.stderr, output.stdout);
}

/// A reason that looks like an answer is none, and an allow of another hook undoes nothing.
#[test]
fn refusals_hold() {
    let gate = host("qwen").event("PreToolUse").unwrap();
    for reason in ["no", r#"{"decision": "allow"}"#, r#""{}""#, "5"] {
        let output = host("qwen").write(gate, &Reply::refuse(reason));
        let read = host("qwen").wire.read_answer(gate, &output).unwrap();
        assert_eq!((read.verdict, &*read.reason), (Verdict::Refuse, reason));
        // As it stands after another hook's allow was merged in.
        let mut merged = printed(&output);
        merged["hookSpecificOutput"]["permissionDecision"] = "allow".into();
        let read = host("qwen").wire.read_answer(gate, &Output::json(&merged)).unwrap();
        assert_eq!(read.verdict, Verdict::Refuse);
    }
}

/// What it calls a prompt between two rounds of tools is none.
#[test]
fn prompts() {
    let prompt = |text: Value| {
        let input =
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "1", "prompt": text});
        host("qwen").read(None, input).map(|incoming| incoming.is_some())
    };
    assert_eq!(prompt("hi".into()), Ok(true));
    assert_eq!(prompt("".into()), Ok(false));
    assert!(prompt(Value::Null).is_err());
}
