use serde_json::{Value, json};
use tollgate_core::verdict::Word;
use tollgate_hosts::{Output, Verdict};

use crate::{answered, calls, deciding, host, json, one, read, rewriting, touched};

fn call(tool: &str, input: impl Into<Value>) -> Value {
    let input: Value = input.into();
    json!({"hookName": "tool_call", "taskId": "1", "workspaceRoots": ["/w"],
        "tool_call": {"id": "c", "name": tool, "input": input},
        "preToolUse": {"toolName": tool, "parameters": {}}})
}

fn commands(input: Value) -> Vec<Value> {
    let incoming = read(host("cline"), "PreToolUse", call("run_commands", input));
    calls(&incoming).iter().map(|call| call.args["CommandLine"].clone()).collect()
}

#[test]
fn every_command_is_seen_in_whatever_form_it_comes() {
    for input in [
        json!({"commands": ["ls", "rm -r x"]}),
        json!(["ls", "rm -r x"]),
        json!({"commands": ["ls", {"command": "rm", "args": ["-r", "x"]}]}),
        json!([{"command": "ls"}, {"command": "rm", "args": ["-r", "x"]}]),
        json!({"commands": "ls", "cmd": "rm -r x"}),
        json!({"commands": ["ls"], "command": "rm -r x"}),
    ] {
        assert_eq!(commands(input.clone()), ["ls", "rm -r x"], "{input}");
    }
    for input in [
        json!("rm -r x"),
        json!({"command": "rm -r x"}),
        json!({"cmd": "rm -r x"}),
        json!({"commands": "rm -r x"}),
        json!({"commands": {"command": "rm", "args": ["-r", "x"]}}),
        json!({"command": "rm", "args": ["-r", "x"]}),
        json!({"commands": null, "command": "rm -r x"}),
    ] {
        assert_eq!(commands(input.clone()), ["rm -r x"], "{input}");
    }
    assert_eq!(
        commands(json!({"command": "echo", "args": ["it's", "$HOME", ""]})),
        [r"echo 'it'\''s' '$HOME' ''"]
    );
}

#[test]
fn each_tool_has_its_paths() {
    let patch = "*** Begin Patch\n*** Delete File: /w/a\n*** Update File: b\n*** Move to: c\n";
    let patched = vec![
        one("write_to_file", &["/w/a"]),
        one("replace_file_content", &["/w/b"]),
        one("write_to_file", &["/w/c"]),
    ];
    let two = vec![one("view_file", &["/a"]), one("view_file", &["/w/b"])];
    let cases = [
        (
            "read_files",
            json!({"files": [{"path": "/a", "start_line": 1}, {"path": "b"}]}),
            two.clone(),
        ),
        ("read_files", json!({"files": ["/a", {"filePath": "b"}]}), two.clone()),
        ("read_files", json!({"paths": ["/a"], "path": "b"}), two.clone()),
        ("read_files", json!(["/a", "b"]), two),
        ("read_files", json!({"file_path": "/a"}), vec![one("view_file", &["/a"])]),
        ("read_files", json!("/a"), vec![one("view_file", &["/a"])]),
        (
            "editor",
            json!({"path": "a", "new_text": "x"}),
            vec![one("replace_file_content", &["/w/a"])],
        ),
        ("apply_patch", json!({"input": patch}), patched.clone()),
        ("apply_patch", json!(patch), patched),
        ("search_codebase", json!({"queries": ["x"]}), vec![one("grep_search", &["/w"])]),
        (
            "fetch_web_content",
            json!({"requests": [{"url": "https://a", "prompt": "p"}, {"url": "https://b"}]}),
            vec![one("read_url_content", &[]), one("read_url_content", &[])],
        ),
        (
            "write_to_file",
            json!({"path": "a", "content": "x"}),
            vec![one("write_to_file", &["/w/a"])],
        ),
        (
            "replace_in_file",
            json!({"path": "a", "diff": "x"}),
            vec![one("replace_file_content", &["/w/a"])],
        ),
        ("list_files", json!({"path": "."}), vec![one("list_dir", &["/w"])]),
        ("search_files", json!({"path": "a", "regex": "x"}), vec![one("grep_search", &["/w/a"])]),
    ];
    for (tool, input, expected) in cases {
        let incoming = read(host("cline"), "PreToolUse", call(tool, input.clone()));
        assert_eq!(touched(&incoming), expected, "{tool} {input}");
    }
}

#[test]
fn the_older_form_is_read() {
    let input = json!({"hookName": "PreToolUse", "taskId": "1", "workspaceRoots": ["/w"],
        "preToolUse": {"toolName": "write_to_file", "parameters": {"path": "a", "content": "x"}}});
    let incoming = host("cline").read(None, input).unwrap().unwrap();
    assert_eq!(touched(&incoming), [one("write_to_file", &["/w/a"])]);
    let server = json!({"server_name": "demo", "tool_name": "greet", "arguments": "{}"});
    let input = json!({"hookName": "PreToolUse", "taskId": "1",
        "preToolUse": {"toolName": "use_mcp_tool", "parameters": server}});
    let incoming = read(host("cline"), "PreToolUse", input);
    let call = calls(&incoming)[0];
    assert_eq!((call.server.as_deref(), &*call.name), (Some("demo"), "greet"));
}

#[test]
fn rewrites_go_back_to_where_they_were() {
    let set = |name: &'static str, value: Value| {
        rewriting(move |args| drop(args.insert(name.to_owned(), value.clone())))
    };
    let cases = [
        (
            "run_commands",
            json!({"commands": ["ls", "ls"]}),
            set("CommandLine", json!("true")),
            json!({"commands": ["true", "true"]}),
        ),
        (
            "read_files",
            json!({"files": [{"path": "/a", "end_line": 3}]}),
            set("AbsolutePath", json!("/b")),
            json!({"files": [{"path": "/b", "end_line": 3}]}),
        ),
        (
            "editor",
            json!({"path": "/a", "old_text": null, "new_text": "x"}),
            set("ReplacementContent", json!("y")),
            json!({"path": "/a", "old_text": null, "new_text": "y"}),
        ),
    ];
    for (tool, input, change, after) in cases {
        let incoming = read(host("cline"), "PreToolUse", call(tool, input));
        let (_, output) = answered(&incoming, change);
        assert_eq!((output.code, json(&output)), (0, json!({"overrideInput": after})), "{tool}");
    }
}

#[test]
fn only_json_refuses_and_nothing_but_tools_can_be_refused() {
    let cline = host("cline");
    let incoming = read(cline, "PreToolUse", call("run_commands", json!("ls")));
    for word in [Word::Deny, Word::Ask] {
        let (reply, output) = answered(&incoming, deciding(word, "not here"));
        assert_eq!((reply.verdict, output.code), (Verdict::Refuse, 0));
        assert!(output.stderr.is_empty());
        assert_eq!(json(&output)["cancel"], true);
        assert!(json(&output)["errorMessage"].as_str().unwrap().starts_with("not here"));
    }
    let prompt =
        json!({"hookName": "prompt_submit", "taskId": "1", "userPromptSubmit": {"prompt": "x"}});
    let incoming = read(cline, "UserPromptSubmit", prompt);
    let (reply, output) = answered(&incoming, deciding(Word::Deny, "not this"));
    assert_eq!((output, reply.lost.len()), (Output::silent(), 1));
    // Where nothing could be read, too.
    assert_eq!(json(&cline.refusal(Some("PreToolUse"), "broken"))["cancel"], true);
    assert_eq!(cline.refusal(Some("TaskStart"), "broken"), Output::silent());
}

#[test]
fn servers_and_their_tools_are_read_out_of_one_word() {
    let incoming = read(host("cline"), "PreToolUse", call("demo__greet", json!({"who": "you"})));
    let call = calls(&incoming)[0];
    assert_eq!((&*call.readings[0].server, &*call.readings[0].tool), ("demo", "greet"));
}
