//! The names in `cases/names`: what rules and matchers mean by them, and which calls are refused.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use tollgate_core::event::Native;
use tollgate_core::matcher::Matcher;
use tollgate_core::policy::{PolicyError, allow, deny};
use tollgate_core::prelude::*;
use tollgate_core::target::Reading;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    means: Vec<String>,
    not: Vec<String>,
    only: Option<String>,
}

fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("../../../cases/names/rules.json")).unwrap()
}

/// A call as a row has it.
fn call(text: &str) -> ToolCall {
    if let Some((native, name)) = text.split_once(" > ") {
        let native = Native { name: native.to_owned(), ..Native::default() };
        return ToolCall { native: Some(Arc::new(native)), ..ToolCall::new(name) };
    }
    if let Some((word, separator)) = text.split_once(" ? ") {
        let readings = Reading::all_of(word.strip_prefix("mcp__").unwrap(), separator);
        return ToolCall { readings, ..ToolCall::new(word) };
    }
    match text.split_once('/') {
        Some((server, tool)) => ToolCall::new(tool).server(server),
        None => ToolCall::new(text),
    }
}

fn decides(rule: tollgate_core::policy::Rule, call: &ToolCall) -> bool {
    let policies = Policies::builder().rule(rule).servers([]).build().unwrap();
    let outcome = futures_of(policies.decide(call));
    outcome.rule.is_some()
}

fn futures_of<T>(future: impl std::future::Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Whether a hook of a matcher is asked about a call.
fn is_asked(matcher: &Matcher, call: &ToolCall) -> bool {
    let hook = decide("guard", |_cx, _call: &ToolPre| Decision::<ToolPre>::deny("no"));
    let runner = Runner::builder().register(hook.matching(matcher.clone())).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = futures_of(runner.dispatch(&operation, ToolPre::from(call.clone())));
    !outcome.record.answers.is_empty()
}

#[test]
fn a_name_in_a_rule_means_these_calls() {
    for Row { name, means, not, .. } in rows() {
        let expected = means.iter().map(|text| (text, true));
        for (text, expected) in expected.chain(not.iter().map(|text| (text, false))) {
            let call = call(text);
            assert_eq!(decides(deny(&name), &call), expected, "deny {name}: {text}");
            assert_eq!(decides(allow(&name), &call), expected, "allow {name}: {text}");
        }
    }
}

#[test]
fn a_name_in_a_matcher_means_these_calls() {
    let escaped = |name: &str| name.replace('-', r"\-").replace('.', r"\.");
    for Row { name, means, not, only } in rows() {
        let patterns = match only.as_deref() {
            Some("policies") => Vec::new(),
            None => vec![
                Matcher::regex(&escaped(&name)).unwrap(),
                Matcher::regex(&format!("^(?:nothing|{})$", escaped(&name))).unwrap(),
                Matcher::glob(&name).unwrap(),
            ],
            Some(other) => panic!("{other}"),
        };
        for matcher in patterns.into_iter().chain([Matcher::tool(&name)]) {
            let expected = means.iter().map(|text| (text, true));
            for (text, expected) in expected.chain(not.iter().map(|text| (text, false))) {
                assert_eq!(is_asked(&matcher, &call(text)), expected, "{matcher:?}: {text}");
            }
        }
    }
}

#[test]
fn a_pattern_means_a_server_in_every_spelling() {
    let regex = |text: &str| Matcher::regex(text).unwrap();
    let glob = |text: &str| Matcher::glob(text).unwrap();
    for (matcher, means, not) in [
        (regex("my-server/.*"), &["my-server/x", "my_server/x"][..], &["my/x", "run_command"][..]),
        (regex("my_server/(x|y)"), &["my-server/x", "my.server/y"], &["my-server/z"]),
        (regex("mcp__my-server__.*"), &["my-server/x", "my_server/x"], &["my/x", "run_command"]),
        (regex("mcp__git__(push|pull)"), &["git/push"], &["git/log", "docs/push"]),
        (regex("mcp_git_.*"), &["git/push"], &["docs/push"]),
        (regex("mcp__.*"), &["git/push", "mcp__git__push ? __"], &["run_command"]),
        (glob("mcp__my-server__*"), &["my-server/x", "my_server/x"], &["my/x"]),
        (glob("my.server/*"), &["my-server/x", "my_server/x"], &["my/x"]),
        // What is said of a server says nothing of the agent's own tools.
        (regex("docs/.*|run-.*"), &["docs/x", "run-now"], &["run_command"]),
        (regex("[a-z_]+"), &["run_command"], &["git/push"]),
        (regex("view_.*|Monitor"), &["view_file", "Monitor > run_command"], &["run_command"]),
        (regex("run_.*|Monitor"), &["run_command", "RUN_COMMAND"], &["view_file"]),
    ] {
        let expected = means.iter().map(|text| (text, true));
        for (text, expected) in expected.chain(not.iter().map(|text| (text, false))) {
            assert_eq!(is_asked(&matcher, &call(text)), expected, "{matcher:?}: {text}");
        }
    }
}

#[test]
fn a_servers_gate_holds_in_every_spelling() {
    let servers = [
        McpServer::new("my-server").disabled_tools(["do-it"]),
        McpServer::new("a-b").enabled_tools(["x"]),
        McpServer::new("a_b"),
    ];
    let policies = Policies::builder().servers(servers).build().unwrap();
    for (text, lets) in [
        ("my-server/do-it", false),
        ("my_server/do_it", false),
        ("my_server/other", true),
        ("a-b/x", true),
        ("a-b/y", false),
        // Another server of the same spelling has no gate.
        ("a_b/y", true),
        ("a.b/y", false),
    ] {
        let outcome = futures_of(policies.decide(&call(text)));
        assert_eq!(outcome.is_allowed(), lets, "{text}");
    }
}

/// Where a host does not say which server it is, what must not pass does not.
#[test]
fn a_server_that_is_not_named_may_be_any() {
    for (text, strict) in [("mcp/push", true), ("mcp/pull", false), ("mcp/anything", false)] {
        assert_eq!(decides(deny("git/push"), &call(text)), strict, "{text}");
        assert_eq!(decides(deny("mcp__git__push"), &call(text)), strict, "{text}");
        assert!(decides(deny("git/*"), &call(text)), "{text}");
        assert!(!decides(allow("git/push"), &call(text)), "{text}");
        assert!(!decides(allow("git/*"), &call(text)), "{text}");
    }
    let policies = Policies::builder().rule(deny("git/push")).servers([]).build().unwrap();
    let runner = Runner::builder().policies(policies).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = futures_of(runner.dispatch(&operation, ToolPre::from(call("mcp/push"))));
    assert_eq!(outcome.record.decision, Word::Deny);
}

#[test]
fn what_cannot_be_a_name_is_refused() {
    for (name, part) in [
        ("Bash(rm -rf)", "name the tool alone"),
        ("run_command|view_file", "a rule for each"),
        ("run_command, view_file", "a rule for each"),
        ("^run_command$", "without a pattern"),
        ("run command", "without a pattern"),
        ("run_command\n", "without a pattern"),
        ("run_comman[d]", "without a pattern"),
    ] {
        let built = Policies::builder().rule(deny(name)).build();
        let said = built.map(drop).unwrap_err();
        assert!(matches!(said, PolicyError::NotAName { .. }), "{name}: {said}");
        assert!(said.to_string().contains(part), "{name}: {said}");
        assert!(Policies::builder().rule(deny(name)).exact_names().build().is_ok(), "{name}");
    }
}

#[derive(Deserialize)]
struct Lookalikes {
    refused: BTreeMap<String, String>,
    passed: Vec<String>,
}

#[test]
fn a_call_that_looks_like_another_tools_is_refused() {
    let rows: Lookalikes =
        serde_json::from_str(include_str!("../../../cases/names/lookalikes.json")).unwrap();
    let open = decide("open", |_cx, _call: &ToolPre| Decision::<ToolPre>::allow());
    let runners = [
        Runner::builder().build().unwrap(),
        Runner::builder().register(open).build().unwrap(),
        Runner::builder()
            .policies(Policies::builder().rule(allow("*")).build().unwrap())
            .build()
            .unwrap(),
    ];
    for runner in &runners {
        let dispatched = |call: ToolCall| {
            let operation = SessionContext::new(SessionInfo::default()).turn().operation();
            futures_of(runner.dispatch(&operation, ToolPre::from(call)))
        };
        for (name, like) in &rows.refused {
            let outcome = dispatched(ToolCall::new(name));
            assert_eq!(outcome.record.decision, Word::Deny, "{name:?}");
            assert!(outcome.record.answers.is_empty(), "{name:?}");
            assert!(outcome.reason().contains(&format!("`{like}`")), "{}", outcome.reason());
            assert!(!outcome.reason().contains(['\u{200b}', '\0']), "{:?}", outcome.reason());
            // It is the server's name to give.
            let served = dispatched(ToolCall::new(name).server("docs"));
            assert_ne!(served.record.decision, Word::Deny, "{name:?}");
        }
        for name in &rows.passed {
            let outcome = dispatched(ToolCall::new(name));
            assert_ne!(outcome.record.decision, Word::Deny, "{name:?}");
        }
    }
}
