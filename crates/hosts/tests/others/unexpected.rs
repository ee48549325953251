//! Payloads that nobody has seen: whatever comes is read as far as it can be, or refused in words.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_core::Kind;
use tollgate_core::tools::{self, Access};
use tollgate_hosts::{ALL, HostTool, by_name};

/// Each recorded payload: its host, its event, and what it is.
fn recorded() -> Vec<(&'static str, String, Value)> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/hosts");
    let mut all = Vec::new();
    for folder in fs::read_dir(cases).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let name = name.trim_end_matches("-claude-style").trim_end_matches("-shim");
        let Some(host) = by_name(name) else { continue };
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let event = file.split('.').next().unwrap().to_owned();
            if file != "answers.json" {
                let text = fs::read_to_string(&path).unwrap();
                all.push((host.name, event, serde_json::from_str(&text).unwrap()));
            }
        }
    }
    all
}

/// Without these, nothing is known of what is about to happen.
const NEEDED: &[&str] = &[
    "tool_name",
    "toolName",
    "tool_call",
    "toolCall",
    "tool_result",
    "prompt",
    "userPromptSubmit",
];

const INPUT: &[&str] = &["tool_input", "toolInput", "toolArgs", "input"];

/// What no gate lets pass: a tool without a name, and one that runs or writes without saying what.
#[test]
fn a_call_that_is_not_understood_is_refused() {
    let inputs = [
        json!(["rm -rf x"]),
        json!({"cmd": "rm -rf x"}),
        json!({"command": ["rm", "x"], "path": 7}),
        json!(null),
        json!({}),
        json!(3),
    ];
    for host in ALL {
        let writes = |tool: &&HostTool| {
            let access = tools::lookup(tool.tool).map(|tool| tool.access);
            matches!(access, Some(Access::Execute | Access::Write))
        };
        for event in host.events.iter().filter(|event| event.kind == Kind::ToolPre) {
            for tool in host.tools.iter().filter(writes) {
                for input in &inputs {
                    let told = called(&json!(tool.native), input);
                    let read = host.read(Some(event.name), told);
                    let is_other = host.name == "windsurf" && !event.name.ends_with(tool.native)
                        || host.name == "cursor" && event.name != "preToolUse"
                        // It has lists of commands, and more than one form for each.
                        || host.name == "cline"
                            && tool.native == "run_commands"
                            && (input.is_array() || input.is_object());
                    match read {
                        Err(error) => assert!(error.message.contains("not understood"), "{error}"),
                        Ok(read) => assert!(is_other, "{host:?} {} {input}: {read:?}", tool.native),
                    }
                }
            }
            for name in [json!(5), json!(null), json!(""), json!(["Bash"])] {
                let read = host.read(Some(event.name), called(&name, &json!({"command": "ls"})));
                let is_named = host.name == "windsurf" && event.name == "pre_read_code"
                    || host.name == "cursor" && !event.name.ends_with("Use");
                assert!(read.is_err() || is_named, "{host:?} {} {name}", event.name);
            }
        }
    }
}

/// A call as any of them tells it.
fn called(tool: &Value, input: &Value) -> Value {
    json!({
        "session_id": "1", "cwd": "/w", "tool_name": tool, "toolName": tool,
        "tool_input": input, "toolArgs": input, "tool_call": {"name": tool, "input": input},
        "tool_info": input,
    })
}

#[test]
fn fields_that_are_missing_or_of_another_type_do_no_harm() {
    for (name, event, input) in recorded() {
        let host = by_name(name).unwrap();
        let fields: Vec<String> = input.as_object().unwrap().keys().cloned().collect();
        for field in fields.iter().filter(|field| !NEEDED.contains(&field.as_str())) {
            let values = [None, Some(Value::Null), Some(json!(3)), Some(json!({"x": [1]}))];
            for value in values {
                let mut input = input.clone();
                let object = input.as_object_mut().unwrap();
                match value.clone() {
                    Some(value) => drop(object.insert(field.clone(), value)),
                    None => drop(object.remove(field)),
                }
                object.insert("not_known".to_owned(), json!([{"a": null}]));
                let read = host.read(Some(&event), input);
                if let Err(error) = &read {
                    // Without its arguments nobody knows what a call is about to do.
                    let is_call = host.event(&event).unwrap().kind == Kind::ToolPre;
                    assert!(is_call && INPUT.contains(&field.as_str()), "{name} {event} {field}");
                    assert!(error.message.contains("not understood"), "{error}");
                }
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("*** Begin Patch\n*** Add File: a\n+x\n")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing that a tool is called with makes a host panic, and the call is never lost: it is read, or
    /// refused.
    #[test]
    fn any_input_of_any_tool_is_a_call(input in any_json()) {
        for host in ALL {
            for event in host.events.iter().filter(|event| event.registered && event.gate) {
                let names = host.tools.iter().map(|tool| tool.native).chain(["other", "mcp__a__b"]);
                for tool in names {
                    let told = json!({
                        "session_id": "1", "sessionId": "1", "cwd": "/w", "prompt": "p",
                        "tool_name": tool, "toolName": tool,
                        "tool_input": input, "toolArgs": input,
                        "tool_response": input, "toolResult": input,
                        "tool_call": {"name": tool, "input": input},
                        "toolCall": {"name": tool, "args": input}, "input": input,
                        "tool_result": {"name": tool, "input": input, "output": input},
                        "userPromptSubmit": {"prompt": "p"},
                        "tool_info": input,
                    });
                    let read = host.read(Some(event.name), told);
                    if let Ok(Some(incoming)) = read {
                        prop_assert!(!incoming.parts.is_empty());
                    } else if let Err(error) = &read {
                        prop_assert!(error.message.contains("not understood"), "{tool}: {error}");
                    } else {
                        prop_assert!(host.name == "windsurf", "{} {}: {read:?}", host.name, tool);
                    }
                }
            }
        }
    }

    /// Nor does anything else.
    #[test]
    fn any_payload_is_read_or_refused(input in any_json()) {
        for host in ALL {
            for event in host.events {
                let _ = host.read(Some(event.name), input.clone());
            }
            let _ = host.read(None, input.clone());
        }
    }
}
