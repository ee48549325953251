//! What hosts' tools are in Tollgate's words, which files they touch, and how a rewrite goes back.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use tollgate_core::event::Args;
use tollgate_core::prelude::*;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::tools::{self, Access};
use tollgate_hosts::{Choices, Host, Incoming, Output, Reply, Rewritten, Verdict, by_name};

fn host(name: &str) -> &'static Host {
    by_name(name).unwrap()
}

/// The host's event of a tool that is about to run, in the directory `/w`.
fn pre(name: &str, tool: &str, input: &Value) -> Incoming {
    let gate = host(name).events.iter().find(|event| event.registered && event.gate).unwrap();
    let payload = json!({
        "hook_event_name": gate.name, "session_id": "1", "cwd": "/w",
        "tool_name": tool, "tool_input": input,
    });
    host(name).read(None, payload).unwrap().unwrap()
}

/// Each call: its name, and what it touches.
fn touched(incoming: &Incoming) -> Vec<(String, Vec<(String, Access)>)> {
    let of = |call: &ToolCall| {
        let paths = tools::paths(call).unwrap();
        let paths = paths.into_iter().map(|it| (it.path.into_owned(), it.access)).collect();
        (call.name.clone(), paths)
    };
    incoming.parts.iter().map(|part| of(part.call().unwrap())).collect()
}

/// What comes of hooks that have nothing to say.
fn silence(incoming: &Incoming) -> Vec<AnyOutcome> {
    let runner = Runner::builder().build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = |event: AnyEvent| {
        let mut asked = pin!(runner.dispatch_any(&operation, event));
        match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => panic!("nobody is asked, and nothing is waited for"),
        }
    };
    incoming.parts.iter().map(|part| outcome(part.event.clone())).collect()
}

/// The answer where a hook rewrites the arguments of one of the calls.
fn rewriting(incoming: &Incoming, place: usize, change: impl FnOnce(&mut Args)) -> Reply {
    let mut outcomes = silence(incoming);
    let AnyEvent::ToolPre(event) = &mut outcomes[place].event else { panic!("no call") };
    change(&mut event.call.args);
    Reply::of(incoming, &outcomes, Choices::default())
}

/// The answer where a hook rewrites what a tool came to.
fn replacing(incoming: &Incoming, result: &str) -> Reply {
    let mut outcomes = silence(incoming);
    let AnyEvent::ToolPost(event) = &mut outcomes[0].event else { panic!("no result") };
    event.result = result.into();
    Reply::of(incoming, &outcomes, Choices::default())
}

fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn write(path: &str) -> (String, Access) {
    (path.to_owned(), Access::Write)
}

fn read(path: &str) -> (String, Access) {
    (path.to_owned(), Access::Read)
}

/// What each call of a host's tool touches: the tool, its input, the calls.
type Row<'a> = (&'a str, Value, &'a [(&'a str, &'a [(String, Access)])]);

fn check(name: &str, rows: &[Row<'_>]) {
    for (tool, input, calls) in rows {
        let calls: Vec<_> =
            calls.iter().map(|(name, paths)| ((*name).to_owned(), paths.to_vec())).collect();
        assert_eq!(touched(&pre(name, tool, input)), calls, "{name} {tool} {input}");
    }
}

/// A payload may have less, more, and other types than were recorded.
#[test]
fn odd_payloads_are_read() {
    for host in tollgate_hosts::ALL {
        for event in host.events {
            let odd = json!({
                "hook_event_name": event.name, "session_id": 12, "cwd": null, "prompt": 5,
                "transcript_path": null, "tool_name": "Unheard-of", "tool_input": null,
                "tool_response": {"deep": [null, 1]}, "error": {"message": 3}, "message": [],
                "agent_id": null, "model": {"id": "m"}, "stop_hook_active": "yes",
                "background_tasks": 7, "something": {"new": true}, "last_assistant_message": null,
            });
            if host.wire.event_of(odd.as_object().unwrap()) != Some(event.name) {
                continue;
            }
            let read = host.read(None, odd).unwrap_or_else(|error| panic!("{host:?}: {error}"));
            assert_eq!(read.unwrap().session.id, "12", "{host:?} {}", event.name);
        }
        for tool in host.tools {
            for input in [json!(null), json!([]), json!("*** x"), json!({"path": 7})] {
                let gate = host.events.iter().find(|event| event.gate).unwrap();
                let odd = json!({
                    "hook_event_name": gate.name, "session_id": "1",
                    "tool_name": tool.native, "tool_input": input,
                });
                if host.wire.event_of(odd.as_object().unwrap()) == Some(gate.name) {
                    assert!(!host.read(None, odd).unwrap().unwrap().parts.is_empty());
                }
            }
        }
    }
}

#[test]
fn codex_tools() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** Update File: /w/a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** Delete File: ../c\n*** End Patch\n";
    let files = &[
        ("write_to_file", &[write("/w/new.txt")] as &[_]),
        ("replace_file_content", &[write("/w/a.txt")]),
        ("write_to_file", &[write("/w/b.txt")]),
        ("write_to_file", &[write("/w/../c")]),
    ];
    check(
        "codex",
        &[
            (
                "Bash",
                json!({"command": "ls"}),
                &[("run_command", &[("/w".to_owned(), Access::Execute)])],
            ),
            ("apply_patch", json!({"command": patch}), files),
            ("apply_patch", json!(patch), files),
            ("view_image", json!({"path": "a.png"}), &[("view_file", &[read("/w/a.png")])]),
            (
                "image_genimagegen",
                json!({"prompt": "a cat", "referenced_image_paths": ["/a", "b"]}),
                &[("generate_image", &[read("/a"), read("/w/b")])],
            ),
            ("spawn_agent", json!({"message": "go"}), &[("invoke_subagent", &[])]),
        ],
    );
    // What cannot be read touches what nobody knows.
    let call = pre("codex", "apply_patch", &json!({"command": "rm"}));
    assert!(tools::paths(call.parts[0].call().unwrap()).is_err());
}

#[test]
fn codex_servers() {
    let call = pre("codex", "mcp__demo__greet", &json!({"who": "you"}));
    let call = call.parts[0].call().unwrap();
    assert_eq!((call.server.as_deref(), &*call.name), (Some("demo"), "greet"));
}

#[test]
fn codex_rewrites() {
    let bash = pre("codex", "Bash", &json!({"command": "npm i"}));
    let reply =
        rewriting(&bash, 0, |args| drop(args.insert("CommandLine".into(), "pnpm i".into())));
    assert_eq!(reply.rewrite, Some(Rewritten::Input(json!({"command": "pnpm i"}))));
    assert_eq!(
        printed(&bash.host.write(bash.event, &reply)),
        json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "allow",
            "updatedInput": {"command": "pnpm i"},
        }})
    );
    // A server's tool takes what it is given.
    let mcp = pre("codex", "mcp__demo__greet", &json!({"who": "you"}));
    let reply = rewriting(&mcp, 0, |args| drop(args.insert("who".into(), "me".into())));
    assert_eq!(reply.rewrite, Some(Rewritten::Input(json!({"who": "me"}))));
    // Part of a patch cannot be put back, nor another directory for a command.
    let patch = json!({"command": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"});
    let patch = pre("codex", "apply_patch", &patch);
    let reply = rewriting(&patch, 0, |args| drop(args.insert("TargetFile".into(), "/w/b".into())));
    assert_eq!((reply.verdict, reply.rewrite), (Verdict::Refuse, None));
    let reply = rewriting(&bash, 0, |args| drop(args.insert("Cwd".into(), "/tmp".into())));
    assert_eq!((reply.verdict, reply.rewrite), (Verdict::Refuse, None));
}

#[test]
fn codex_results() {
    let payload = json!({
        "hook_event_name": "PostToolUse", "session_id": "1", "tool_name": "Bash",
        "tool_input": {"command": "env"}, "tool_response": "KEY=1\n",
    });
    let incoming = host("codex").read(None, payload).unwrap().unwrap();
    let output = incoming.host.write(incoming.event, &replacing(&incoming, "KEY=***\n"));
    assert_eq!(printed(&output), json!({"decision": "block", "reason": "KEY=***\n"}));
    assert_eq!((output.code, &*output.stderr), (2, &b"KEY=***\n\n"[..]));
}

#[test]
fn gemini_tools() {
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
fn gemini_fetches_what_its_prompt_names() {
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
fn gemini_servers() {
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
fn gemini_rewrites() {
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
fn gemini_results() {
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
fn gemini_reads_text() {
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
