//! Laws of the codecs: reading what was written of what was read is reading.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tollgate_config::dialect::{ALL, Codec, HOSTS, Output};
use tollgate_core::AnyEvent;
use tollgate_core::Kind;
use tollgate_core::context::SessionInfo;

/// Any JSON, small.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z/{}\"é\\n ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::from("")), "[ -~é\\n]{0,20}".prop_map(Value::from)]
}

/// A step to inject, sometimes not one.
fn step() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(|text| json!({"userMessage": text})),
        text().prop_map(|text| json!({"ephemeralMessage": text})),
        text().prop_map(|text| json!({"systemMessage": text})),
        ("[a-z_]{1,8}", json_value())
            .prop_map(|(name, arg)| { json!({"toolCall": {"name": name, "args": {"a": arg}}}) }),
        json_value(),
    ]
}

/// Something a handler might print: known fields with known and other values.
fn answer() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "",
        "allow",
        "deny",
        "ask",
        "force_ask",
        "no_opinion",
        "continue",
        "stop",
        "accept",
        "reject",
        "proceed",
        "retry",
        "cancel",
        "suppress",
        "acknowledged",
        "error",
        "other",
        "force_continue",
        "terminate",
        "block",
        "approve",
    ]);
    let word = || word.clone().prop_map(Value::from);
    let field = prop_oneof![
        (Just("decision"), word()).prop_map(|(name, value)| (name.to_owned(), value)),
        (Just("outcome"), word()).prop_map(|(name, value)| (name.to_owned(), value)),
        (Just("terminationBehavior"), word()).prop_map(|(name, value)| (name.to_owned(), value)),
        (
            prop::sample::select(vec![
                "reason",
                "stdout",
                "stderr",
                "additional_context",
                "prepend_to_prompt",
                "append_to_output",
                "message",
            ]),
            text()
        )
            .prop_map(|(name, value)| (name.to_owned(), value)),
        prop::collection::vec(step(), 0..3)
            .prop_map(|steps| ("injectSteps".to_owned(), Value::from(steps))),
        prop::collection::vec("[a-z()/]{0,8}", 0..3)
            .prop_map(|list| ("permissionOverrides".to_owned(), Value::from(list))),
        prop::collection::btree_map("[A-Za-z]{1,6}", json_value(), 0..3)
            .prop_map(|map| ("overwrite".to_owned(), Value::Object(map.into_iter().collect()))),
        any::<bool>().prop_map(|value| ("continue".to_owned(), value.into())),
        (
            prop::sample::select(vec![
                "PreToolUse",
                "PostToolUse",
                "UserPromptSubmit",
                "SessionStart",
                "BeforeTool",
            ]),
            word(),
            text(),
            json_value(),
            text(),
        )
            .prop_map(|(event, word, reason, input, context)| {
                let own = json!({
                    "hookEventName": event, "permissionDecision": word,
                    "permissionDecisionReason": reason, "updatedInput": input,
                    "tool_input": input, "additionalContext": context,
                });
                ("hookSpecificOutput".to_owned(), own)
            }),
        ("[a-z]{1,5}", json_value()).prop_map(|(name, value)| (name, value)),
    ];
    prop::collection::vec(field, 0..5)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn kinds(codec: &dyn Codec) -> Vec<Kind> {
    codec.events().iter().flat_map(|event| event.kinds).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_that_was_read_is_read_again_the_same(
        printed in answer(), code in prop::sample::select(vec![0, 0, 0, 1, 2]), noise in "[ -~]{0,12}",
    ) {
        for format in ALL {
            for kind in kinds(*format) {
                let output = Output {
                    code,
                    stdout: printed.to_string().into_bytes(),
                    stderr: noise.clone().into_bytes(),
                };
                let Ok(mut first) = format.decode_answer(kind, &output) else { continue };
                let written = format.encode_answer(kind, &first).unwrap();
                let second = format.decode_answer(kind, &written).unwrap();
                // What was said to the person about fields that are not read is not said again.
                first.detail = None;
                prop_assert_eq!(&first, &second, "{} {}", format.dialect(), kind);
            }
        }
    }

    #[test]
    fn an_event_that_was_read_is_read_again_the_same(
        name in "[a-z_]{1,12}|mcp__[a-z_]{1,12}|call_mcp_tool",
        args in json_value(), result in json_value(), texts in prop::collection::vec("[ -~é]{0,10}", 4),
        number in any::<u64>(), flag in any::<bool>(),
    ) {
        let args = if args.is_object() { args } else { json!({"ServerName": "s", "ToolName": "t", "Arguments": {"x": args}}) };
        let input = json!({
            "conversationId": texts[0], "workspacePaths": [texts[1]], "transcriptPath": texts[2],
            "artifactDirectoryPath": "", "toolCall": {"name": name, "args": args}, "stepIdx": number,
            "error": texts[3], "invocationNum": number, "initialNumSteps": number,
            "executionNum": number, "terminationReason": texts[1], "fullyIdle": flag,
            "event": "x", "matcher_subject": "y", "session_id": texts[0], "tool_name": name,
            "input": args, "call_id": texts[2], "output": result, "prompt": texts[1],
            "invocation": number, "steps": number, "reason": texts[2], "execution": number,
            "idle": flag, "summary": texts[0], "notification_type": texts[1], "message": texts[2],
            "from": texts[0], "to": texts[1], "subagent_type": texts[2], "result": result,
        });
        for format in ALL {
            for event in format.events() {
                let first = format.decode_event(event.name, input.clone()).unwrap();
                prop_assert!(event.kinds.contains(&first.event.kind()));
                let written = format.encode_event(first.event.view(), &first.session).unwrap();
                let second = format.decode_event(event.name, written).unwrap();
                prop_assert_eq!(&first, &second, "{} {}", format.dialect(), event.name);
            }
        }
    }

    #[test]
    fn nothing_that_is_printed_breaks_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..64), code in -1..4) {
        for format in ALL {
            for kind in Kind::ALL {
                let output = Output { code, stdout: bytes.clone(), stderr: bytes.clone() };
                let _ = format.decode_answer(*kind, &output);
            }
        }
    }
}

#[test]
fn every_event_of_the_dialects_table_is_written_and_no_other() {
    let payload = |kind: Kind| -> AnyEvent {
        let fields = [
            ("name", json!("run_command")),
            ("args", json!({})),
            ("prompt", json!("p")),
            ("response", json!("r")),
            ("invocation", json!(1)),
            ("steps", json!(2)),
            ("questions", json!([])),
            ("execution", json!(1)),
            ("reason", json!("model_stop")),
            ("idle", json!(true)),
            ("summary", json!("s")),
            ("type", json!("t")),
            ("message", json!("m")),
            ("from", json!("a")),
            ("to", json!("b")),
            ("result", json!("x")),
            ("error", json!("e")),
        ];
        // The fields that this event has, found by leaving out what it refuses.
        let mut given: Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        loop {
            match AnyEvent::from_value(kind, given.clone().into()) {
                Ok(event) => return event,
                Err(error) => {
                    let refused = given
                        .keys()
                        .find(|name| error.message.contains(&format!("unknown field `{name}`")));
                    let refused = refused.unwrap_or_else(|| panic!("{error}")).clone();
                    given.remove(&refused);
                }
            }
        }
    };
    for format in ALL {
        for kind in Kind::ALL {
            let event = payload(*kind);
            let written = format.encode_event(event.view(), &SessionInfo::default());
            // Agents share a column of the table, and have not all of its events.
            let is_host = HOSTS.iter().any(|host| host.dialect() == format.dialect());
            let has_rule = kind.rule(format.dialect()).is_some();
            let known = has_rule && (!is_host || format.name_of(*kind).is_some());
            assert_eq!(written.is_some(), known, "{} {kind}", format.dialect());
            assert_eq!(format.name_of(*kind).is_some(), known, "{} {kind}", format.dialect());
        }
    }
}
