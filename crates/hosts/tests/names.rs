//! Names of tools, host by host: that rules have a word for each, that a rule about a server holds under every
//! host, and that no host's own name is refused.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use tollgate_core::event::ToolCall;
use tollgate_core::policy::{Policies, deny};
use tollgate_core::{Kind, tools};
use tollgate_hosts::{ALL, Host, HostEvent, Part, Shape, by_name};

/// Whether a rule denies a call.
fn denies(rule: &str, call: &ToolCall) -> bool {
    let policies = Policies::builder().rule(deny(rule)).servers([]).build().unwrap();
    let mut decided = pin!(policies.decide(call));
    match decided.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => !outcome.is_allowed(),
        Poll::Pending => panic!("there is nobody to wait for"),
    }
}

fn gate(host: &'static Host) -> &'static HostEvent {
    host.events.iter().find(|event| event.kind == Kind::ToolPre).unwrap()
}

#[test]
fn every_name_of_a_tool_means_that_tool_in_rules() {
    for host in ALL {
        for tool in host.tools {
            let name = tool.native.replace('*', "some");
            let meant: Vec<_> = tools::meant(&name).map(|meant| meant.name).collect();
            assert!(meant.contains(&tool.tool), "{}: {name} means {meant:?}", host.name);
            if let Shape::Patch(_) = tool.shape {
                for written in ["write_to_file", "replace_file_content"] {
                    assert!(meant.contains(&written), "{}: {name}", host.name);
                }
            }
            assert_eq!(host.lookalike(&name), None, "{}: {name}", host.name);
            assert_eq!(tools::lookalike(&name), None, "{}: {name}", host.name);
        }
    }
}

/// A rule about a host's name holds for what the host calls so.
#[test]
fn a_rule_about_a_name_of_a_host_holds_for_its_calls() {
    for host in ALL {
        for tool in host.tools {
            let name = tool.native.replace('*', "some");
            let native = tollgate_core::event::Native { name: name.clone(), ..Default::default() };
            let call =
                ToolCall { native: Some(std::sync::Arc::new(native)), ..ToolCall::new(tool.tool) };
            assert!(denies(&name, &call), "{}: {name}", host.name);
            assert!(denies(tool.tool, &call), "{}: {name}", host.name);
        }
    }
}

/// The tool `do-it` of the server `my-server` as each host tells it.
fn served(host: &str) -> Value {
    let named = |name: &str| json!({"tool_name": name, "tool_input": {}, "hook_event_name": ""});
    let with = |name: &str, field: &str, value: Value| {
        let mut told = named(name);
        told[field] = value;
        told
    };
    let context = json!({"server_name": "my-server", "tool_name": "do-it"});
    match host {
        "claude" => with("mcp__my-server__do-it", "mcp_server", json!({"name": "my-server"})),
        "codex" => named("mcp__my_server__do_it"),
        "gemini" => with("mcp_my-server_do-it", "mcp_context", context),
        "qwen" | "kimi" | "polytoken" => named("mcp__my-server__do-it"),
        "copilot" => json!({"toolName": "my-server-do-it", "toolArgs": {}}),
        "droid" => named("my-server___do-it"),
        "opencode" => named("my-server_do-it"),
        "vscode" => named("mcp_my-server_do-it"),
        "cline" => json!({"hookName": "tool_call", "tool_call": {"name": "use_mcp_tool", "input":
            {"server_name": "my-server", "tool_name": "do-it", "arguments": {}}}}),
        "windsurf" => json!({"agent_action_name": "pre_mcp_tool_use", "tool_info":
            {"mcp_server_name": "my-server", "mcp_tool_name": "do-it", "mcp_tool_arguments": {}}}),
        "antigravity" => json!({"toolCall": {"name": "call_mcp_tool", "args":
            {"ServerName": "my-server", "ToolName": "do-it", "Arguments": {}}}}),
        "cursor" => named("MCP:do-it"),
        other => panic!("no row for {other}"),
    }
}

#[test]
fn a_rule_about_a_server_holds_under_every_host() {
    for host in ALL {
        let mut told = served(host.name);
        let event = match host.name {
            "windsurf" => "pre_mcp_tool_use",
            _ => gate(host).name,
        };
        if told.get("hook_event_name").is_some() {
            told["hook_event_name"] = json!(event);
        }
        let read = host.read(Some(event), told);
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", host.name)).unwrap();
        let call = read.parts.iter().find_map(Part::call).unwrap();
        for rule in [
            "my-server/do-it",
            "my-server/*",
            "mcp__my-server__do-it",
            "mcp__my_server__do_it",
            "mcp__my-server",
            "mcp__my-server__*",
        ] {
            assert!(denies(rule, call), "{}: {rule}: {call:?}", host.name);
        }
        for rule in ["my-server/other", "run_command"] {
            assert!(!denies(rule, call), "{}: {rule}: {call:?}", host.name);
        }
        // Cursor does not say which server it is: it may be any.
        for rule in ["other-server/do-it", "mcp__other"] {
            let expected = host.name == "cursor";
            assert_eq!(denies(rule, call), expected, "{}: {rule}: {call:?}", host.name);
        }
    }
}

#[test]
fn the_server_that_a_host_tells_counts_whatever_the_word_is() {
    let claude = by_name("claude").unwrap();
    for (name, server, tool) in [
        ("mcp__my-server__do-it", "my-server", "do-it"),
        ("mcp__my_server__do_it", "my.server", "do_it"),
        ("mcp__plugin_a_b__x", "plugin:a:b", "x"),
        ("mcp__a__b__c", "a__b", "c"),
        // Shortened, or another word than is known.
        ("mcp__a_very_long__x", "a very long name", "mcp__a_very_long__x"),
        ("other_word", "docs", "other_word"),
    ] {
        let told = json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": {},
            "mcp_server": {"name": server}});
        let read = claude.read(None, told).unwrap().unwrap();
        let call = read.parts[0].call().unwrap();
        assert_eq!((call.server.as_deref(), &*call.name), (Some(server), tool), "{name}");
        assert!(denies(&format!("{server}/*"), call), "{name}");
    }
}

/// A name that a host may take for one of its tools, and rules would not.
#[test]
fn a_name_that_looks_like_a_hosts_own_is_refused() {
    let told = |name: &str| {
        json!({
            "tool_name": name, "toolName": name, "tool_input": {}, "toolArgs": {},
            "tool_call": {"name": name, "input": {}}, "toolCall": {"name": name, "args": {}},
        })
    };
    for host in ALL.iter().filter(|host| host.name != "windsurf") {
        let event = gate(host);
        for tool in host.tools {
            let own = tool.native.replace('*', "some");
            let capitals = own.to_uppercase();
            for name in [format!("{own}\u{200b}"), format!(" {own}"), format!("{own}\n"), capitals]
            {
                if host.tool(&name).is_some() {
                    continue;
                }
                let read = host.read(Some(event.name), told(&name));
                let said = read.map(|_| ()).unwrap_err().to_string();
                assert!(said.contains("by its exact name"), "{} {name:?}: {said}", host.name);
            }
        }
        for name in ["another_tool", "Skill", "mcp__git__push", "git-push"] {
            assert!(host.read(Some(event.name), told(name)).is_ok(), "{} {name}", host.name);
        }
    }
}
