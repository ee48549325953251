//! Gemini CLI.

use serde_json::{Value, json};
use tollgate_core::tools::Access;
use tollgate_core::verdict::Word;
use tollgate_hosts::{Choices, Output, Reply, Rewritten, Verdict};

use super::{check, host, pre, printed, read, replacing, rewriting, silence, write};

#[test]
fn tools() {
    check(
        "gemini",
        &[
            (
                "run_shell_command",
                json!({"command": "ls", "dir_path": "sub"}),
                &[("run_command", &[("/w/sub".to_owned(), Access::Execute)])],
            ),
            ("read_file", json!({"file_path": "a"}), &[("view_file", &[read("/w/a")])]),
            ("read_file", json!({"absolute_path": "/a"}), &[("view_file", &[read("/a")])]),
            (
                "read_many_files",
                json!({"include": ["a", "src/**/*.rs"]}),
                &[("view_file", &[read("/w/a")]), ("view_file", &[read("/w/src/**/*.rs")])],
            ),
            (
                "write_file",
                json!({"file_path": "~/x", "content": ""}),
                &[("write_to_file", &[write("~/x")])],
            ),
            (
                "replace",
                json!({"file_path": "./a", "old_string": "x", "new_string": "y"}),
                &[("replace_file_content", &[write("/w/a")])],
            ),
            ("list_directory", json!({"dir_path": "."}), &[("list_dir", &[read("/w")])]),
            ("glob", json!({"pattern": "*"}), &[("find_by_name", &[read("/w")])]),
            ("grep_search", json!({"pattern": "x"}), &[("grep_search", &[read("/w")])]),
            (
                "search_file_content",
                json!({"pattern": "x", "path": "/etc"}),
                &[("grep_search", &[read("/etc")])],
            ),
            ("google_web_search", json!({"query": "x"}), &[("search_web", &[])]),
            ("invoke_agent", json!({"prompt": "go"}), &[("invoke_subagent", &[])]),
        ],
    );
    let lines = json!({"file_path": "a", "start_line": 2, "end_line": 3});
    let lines = pre("gemini", "read_file", &lines);
    assert_eq!(lines.parts[0].call().unwrap().args["StartLine"], 2);
}

#[test]
fn fetches_what_its_prompt_names() {
    let urls = |input: Value| -> Vec<Value> {
        let fetch = pre("gemini", "web_fetch", &input);
        let url = |part: &tollgate_hosts::Part| part.call().unwrap().args.get("Url").cloned();
        fetch.parts.iter().map(|part| url(part).unwrap_or_default()).collect()
    };
    assert_eq!(
        urls(json!({"prompt": "sum up https://a.example/x\nand http://b.example"})),
        [json!("https://a.example/x"), json!("http://b.example")]
    );
    assert_eq!(urls(json!({"url": "https://a.example"})), [json!("https://a.example")]);
    assert_eq!(urls(json!({"prompt": "what is new?"})), [Value::Null]);
    assert_eq!(urls(json!({"prompt": "a://b ".repeat(1000)})).len(), 1000);
    assert_eq!(urls(json!({"prompt": "a://b ".repeat(1001)})), [Value::Null]);

    let fetch = json!({"prompt": "sum up http://a.example please"});
    let fetch = pre("gemini", "web_fetch", &fetch);
    let reply =
        rewriting(&fetch, 0, |args| drop(args.insert("Url".into(), "https://a.example".into())));
    let changed = json!({"prompt": "sum up https://a.example please"});
    assert_eq!(reply.rewrite, Some(Rewritten::Input(changed)));
}

#[test]
fn servers() {
    let call = |context: Value| {
        let payload = json!({
            "hook_event_name": "BeforeTool", "session_id": "1", "tool_name": "mcp_my_demo_greet",
            "tool_input": {}, "mcp_context": context,
        });
        host("gemini").read(None, payload).unwrap().unwrap().parts[0].call().unwrap().clone()
    };
    let told = call(json!({"server_name": "my demo", "tool_name": "greet"}));
    assert_eq!((told.server.as_deref(), &*told.name), (Some("my demo"), "greet"));
    // Where it is not told, it could be either.
    let untold = call(Value::Null);
    assert_eq!((untold.server.as_deref(), untold.readings.len()), (None, 2));
}

#[test]
fn rewrites() {
    let shell = json!({"command": "npm i", "directory": "/w/sub"});
    let shell = pre("gemini", "run_shell_command", &shell);
    let reply = rewriting(&shell, 0, |args| {
        args.insert("CommandLine".into(), "pnpm i".into());
        args.insert("Cwd".into(), "/tmp".into());
    });
    assert_eq!(
        printed(&shell.host.write(shell.event, &reply)),
        json!({"hookSpecificOutput": {
            "hookEventName": "BeforeTool",
            "tool_input": {"command": "pnpm i", "directory": "/tmp"},
        }})
    );
    let many = pre("gemini", "read_many_files", &json!({"include": ["a", "b"]}));
    let reply = rewriting(&many, 1, |args| drop(args.insert("AbsolutePath".into(), "/c".into())));
    assert_eq!(reply.rewrite, Some(Rewritten::Input(json!({"include": ["a", "/c"]}))));
}

#[test]
fn results() {
    let payload = json!({
        "hook_event_name": "AfterTool", "session_id": "1", "tool_name": "run_shell_command",
        "tool_input": {"command": "env"}, "tool_response": {"llmContent": "KEY=1"},
    });
    let incoming = host("gemini").read(None, payload).unwrap().unwrap();
    let output = incoming.host.write(incoming.event, &replacing(&incoming, "KEY=***"));
    assert_eq!(printed(&output), json!({"decision": "deny", "reason": "KEY=***"}));
    assert_eq!(output.code, 2);
}

/// Text is read by the exit code, wherever it stands.
#[test]
fn reads_text() {
    let gate = host("gemini").event("BeforeTool").unwrap();
    let read = |code, stdout: &str, stderr: &str| {
        let output = Output { code, stdout: stdout.into(), stderr: stderr.into() };
        host("gemini").wire.read_answer(gate, &output).map(|reply| reply.verdict)
    };
    assert_eq!(read(127, "", "not found"), Ok(Verdict::Refuse));
    assert_eq!(read(2, "no", ""), Ok(Verdict::Refuse));
    assert_eq!(read(0, "", r#"{"decision": "deny"}"#), Ok(Verdict::Refuse));
    assert_eq!(read(0, r#""{\"decision\": \"block\"}""#, ""), Ok(Verdict::Refuse));
    assert_eq!(read(2, r#""no""#, ""), Ok(Verdict::Refuse));
    assert_eq!(read(2, "", ""), Ok(Verdict::Silent));
    assert_eq!(read(2, "[]", "no"), Ok(Verdict::Silent));
    assert!(read(1, "no", "").is_err() && read(0, "", "no").is_err());
}

/// Without a terminal a question ends its run without a word, or hangs it.
#[test]
fn asks_at_a_terminal_only() {
    let call = pre("gemini", "run_shell_command", &json!({"command": "ls"}));
    let mut outcomes = silence(&call);
    outcomes[0].decision = Word::Ask;
    "Look at this.".clone_into(&mut outcomes[0].reason);
    let reply =
        |at_terminal| Reply::of(&call, &outcomes, Choices { at_terminal, ..Choices::default() });
    assert_eq!(reply(true).verdict, Verdict::Ask);
    let refused = reply(false);
    assert_eq!(refused.verdict, Verdict::Refuse);
    assert!(refused.reason.starts_with("Look at this. A person has to approve this"));
    let printed = printed(&host("gemini").write(call.event, &refused));
    assert_eq!(printed["decision"], "deny");
}
