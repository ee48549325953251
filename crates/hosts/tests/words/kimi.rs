//! Kimi Code.

use serde_json::json;
use tollgate_core::tools::Access;
use tollgate_hosts::Output;

use super::{check, host, pre, read, replacing, rewriting, write};

#[test]
fn tools() {
    check(
        "kimi",
        &[
            (
                "Bash",
                json!({"command": "ls", "cwd": "sub"}),
                &[("run_command", &[("/w/sub".to_owned(), Access::Execute)])],
            ),
            ("Read", json!({"path": "a"}), &[("view_file", &[read("/w/a")])]),
            ("ReadMediaFile", json!({"path": "/a.png"}), &[("view_file", &[read("/a.png")])]),
            ("Write", json!({"path": "a"}), &[("write_to_file", &[write("/w/a")])]),
            ("Edit", json!({"path": "/a"}), &[("replace_file_content", &[write("/a")])]),
            ("Glob", json!({"pattern": "*"}), &[("find_by_name", &[read("/w")])]),
            ("Grep", json!({"pattern": "x", "path": null}), &[("grep_search", &[read("/w")])]),
            ("FetchURL", json!({"url": "http://a"}), &[("read_url_content", &[])]),
            ("AgentSwarm", json!({}), &[("invoke_subagent", &[])]),
        ],
    );
}

#[test]
fn servers() {
    let call = pre("kimi", "mcp__demo__greet", &json!({}));
    let call = call.parts[0].call().unwrap();
    assert_eq!((call.server.as_deref(), &*call.name), (Some("demo"), "greet"));
}

/// It takes no rewrite, and nothing at all about a result.
#[test]
fn rewrites() {
    let shell = pre("kimi", "Bash", &json!({"command": "npm i"}));
    let reply =
        rewriting(&shell, 0, |args| drop(args.insert("CommandLine".into(), "pnpm i".into())));
    let output = shell.host.write(shell.event, &reply);
    assert_eq!(output.code, 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Use this instead: pnpm i"));

    let payload = json!({
        "hook_event_name": "PostToolUse", "session_id": "1", "tool_name": "Bash",
        "tool_input": {"command": "env"}, "tool_output": "KEY=1",
    });
    let incoming = host("kimi").read(None, payload).unwrap().unwrap();
    let reply = replacing(&incoming, "KEY=***");
    assert_eq!(reply.lost, ["Kimi Code cannot be told what a hook rewrote"]);
    assert_eq!(incoming.host.write(incoming.event, &reply), Output::silent());
}

/// What is printed beside a prompt is for the model, whatever it is.
#[test]
fn prompts() {
    let prompt = host("kimi").event("UserPromptSubmit").unwrap();
    let read = |text: &str| {
        let output = Output { stdout: text.into(), ..Output::default() };
        host("kimi").wire.read_answer(prompt, &output).unwrap().context
    };
    assert_eq!(read(r#"{"message": "one"}"#), ["one"]);
    assert_eq!(read(r#"{"decision": "block"}"#), [r#"{"decision": "block"}"#]);
    assert_eq!(read("[1]\n"), ["[1]"]);
    assert!(read(" \n").is_empty());
}
