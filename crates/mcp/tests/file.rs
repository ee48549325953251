//! The configuration file: what is read, and what is wrong where.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use tollgate_mcp::{Limits, Tools, Transport, from_json};

#[test]
fn a_file_is_read_in_its_order() {
    let text = r#"{
        "mcpServers": {
            "web": {
                "type": "http", "url": "https://example.org/mcp",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
                "disabledTools": ["delete"]
            },
            "files": {
                "command": "mcp-files", "args": ["--root", "/srv"], "env": {"LEVEL": "1"},
                "cwd": "/srv", "enabledTools": ["read", "list"], "startTimeoutMs": 5000,
                "callTimeoutMs": 1500, "maxOutputBytes": 1000
            },
            "plain": {"command": "x"}
        }
    }"#;
    let servers = from_json(text).unwrap();
    let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["web", "files", "plain"]);

    let Transport::Http { url, headers } = &servers[0].transport else { panic!("{servers:?}") };
    assert_eq!(url, "https://example.org/mcp");
    assert_eq!(headers["Authorization"].variables().collect::<Vec<_>>(), ["TOKEN"]);
    assert_eq!(servers[0].tools, Tools::except(["delete"]));
    assert_eq!(servers[0].limits, Limits::default());

    let Transport::Stdio { command, args, env, cwd } = &servers[1].transport else {
        panic!("{servers:?}")
    };
    assert_eq!((command.as_str(), args.len(), env.len()), ("mcp-files", 2, 1));
    assert_eq!(*cwd, Some(PathBuf::from("/srv")));
    assert_eq!(servers[1].tools, Tools::only(["list", "read"]));
    let limits = &servers[1].limits;
    assert_eq!(limits.start, Duration::from_secs(5));
    assert_eq!((limits.call, limits.output), (Duration::from_millis(1500), 1000));
    assert!(from_json(r#"{"mcpServers": {}}"#).unwrap().is_empty());
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let cases = [
        ("", "line 1: .: EOF"),
        ("[]", "line 1: .: "),
        ("{}", "line 1: .: missing field `mcpServers`"),
        (r#"{"mcpServers": {}} x"#, "line 1: .: trailing"),
        (r#"{"mcpServers": []}"#, "line 1: mcpServers: invalid type: sequence, expected an object"),
        (r#"{"mcpservers": {}}"#, "line 1: mcpservers: unknown field `mcpservers`"),
        (
            "{\"mcpServers\": {\n\"a\": {\"command\": \"x\",\n\"comand\": 1}}}",
            "line 3: mcpServers.a.comand: unknown field `comand`, expected one of",
        ),
        (
            "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}",
            "line 3: mcpServers: `a` is there twice",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "1", "A": "2"}}}}"#,
            "line 1: mcpServers.a.env: `A` is there twice",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "env": {"A": 1}}}}"#,
            "line 1: mcpServers.a.env.A: invalid type: integer `1`, expected a string",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "${B"}}}}"#,
            "line 1: mcpServers.a.env.A: `${` must be followed by",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "args": ["a", 2]}}}"#,
            "line 1: mcpServers.a.args[1]: invalid type",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "type": "sse"}}}"#,
            "line 1: mcpServers.a.type: unknown variant `sse`",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "callTimeoutMs": -1}}}"#,
            "line 1: mcpServers.a.callTimeoutMs: invalid value",
        ),
        (r#"{"mcpServers": {"a": {}}}"#, "mcpServers.a: needs a `command` or a `url`"),
        (
            r#"{"mcpServers": {"a": {"command": "x", "url": "http://h/"}}}"#,
            "mcpServers.a: has a `command` and a `url`; which is meant?",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "headers": {}}}}"#,
            "mcpServers.a.headers: are for servers with a `url`",
        ),
        (
            r#"{"mcpServers": {"a": {"url": "http://h/", "args": []}}}"#,
            "mcpServers.a: has `args`, `env` or `cwd`, which are for a `command`",
        ),
        (
            r#"{"mcpServers": {"a": {"url": "http://h/", "type": "stdio"}}}"#,
            "mcpServers.a.type: is one of a `command`, but there is a `url`",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "enabledTools": [], "disabledTools": []}}}"#,
            "mcpServers.a: has `enabledTools` and `disabledTools`; which is meant?",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "args": ["${HOME}"]}}}"#,
            "mcpServers.a.args: variables are put into `env` and `headers` only",
        ),
        (
            r#"{"mcpServers": {"a": {"url": "http://${HOST}/"}}}"#,
            "mcpServers.a.url: variables are put into `env` and `headers` only",
        ),
        (r#"{"mcpServers": {"a": {"url": "h"}}}"#, "mcpServers.a.url: must begin with https://"),
        (r#"{"mcpServers": {"": {"command": "x"}}}"#, "mcpServers..name: is empty"),
    ];
    for (text, expected) in cases {
        let error = from_json(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}\n{error}\n{expected}");
    }
}

#[test]
fn a_file_without_end_is_not_read() {
    let text = format!("{{\"mcpServers\": {{}}{}}}", " ".repeat(1024 * 1024));
    let error = from_json(&text).unwrap_err().to_string();
    assert_eq!(error, ".: has more than 1048576 bytes, which is the limit");
    let deep = "[".repeat(100_000);
    assert!(from_json(&deep).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(
        text in r#"(\{"mcpServers":\{"a":)?[\{\}\[\]":,a-z0-9$ ]{0,60}(\}\})?"#,
    ) {
        if let Ok(servers) = from_json(&text) {
            prop_assert!(servers.iter().all(|server| server.check().is_ok()));
        }
    }
}
