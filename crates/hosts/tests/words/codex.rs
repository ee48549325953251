//! Codex.

use serde_json::json;
use tollgate_core::tools::{self, Access};
use tollgate_hosts::{Rewritten, Verdict};

use super::{check, host, pre, printed, read, replacing, rewriting, touched, write};

#[test]
fn tools() {
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
    // A patch that is applied by a command.
    let command = format!("apply_patch <<'EOF'\n{patch}EOF\n");
    let command = pre("codex", "Bash", &json!({"command": command}));
    assert_eq!(command.parts.len(), 1 + files.len());
    assert_eq!(
        touched(&command)[1..],
        files.map(|(name, paths)| (name.to_owned(), paths.to_vec()))
    );
    let reply = rewriting(&command, 0, |args| drop(args.insert("CommandLine".into(), "ls".into())));
    assert_eq!(reply.rewrite, Some(Rewritten::Input(json!({"command": "ls"}))));
    let reply = rewriting(&command, 1, |args| drop(args.insert("TargetFile".into(), "/b".into())));
    assert_eq!((reply.verdict, reply.rewrite), (Verdict::Refuse, None));
    // What cannot be read touches what nobody knows.
    let call = pre("codex", "apply_patch", &json!({"command": "rm"}));
    assert!(tools::paths(call.parts[0].call().unwrap()).is_err());
}

#[test]
fn servers() {
    let call = pre("codex", "mcp__demo__greet", &json!({"who": "you"}));
    let call = call.parts[0].call().unwrap();
    assert_eq!((call.server.as_deref(), &*call.name), (Some("demo"), "greet"));
}

#[test]
fn rewrites() {
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
fn results() {
    let payload = json!({
        "hook_event_name": "PostToolUse", "session_id": "1", "tool_name": "Bash",
        "tool_input": {"command": "env"}, "tool_response": "KEY=1\n",
    });
    let incoming = host("codex").read(None, payload).unwrap().unwrap();
    let output = incoming.host.write(incoming.event, &replacing(&incoming, "KEY=***\n"));
    assert_eq!(printed(&output), json!({"decision": "block", "reason": "KEY=***\n"}));
    assert_eq!((output.code, &*output.stderr), (2, &b"KEY=***\n\n"[..]));
}
