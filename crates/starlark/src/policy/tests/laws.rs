//! A native condition means what Starlark makes of it, whatever its parameter is called.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{LIMITS, Loaded};
use crate::analysis::CondError;

/// The parameter's name in the templates below.
const PARAMETER: &str = "§";

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("§".to_owned()),
        Just("§.get(\"a\")".to_owned()),
        Just("§.get(\"a\", \"\")".to_owned()),
        Just("§[\"b\"]".to_owned()),
        Just("§.get(\"c\", {}).get(\"§\", 1)".to_owned()),
        Just("\"rm\"".to_owned()),
        Just("\"args payload event §\"".to_owned()),
        Just("1".to_owned()),
        Just("None".to_owned()),
        Just("True".to_owned()),
        Just("[1, \"a\"]".to_owned()),
        Just("payload".to_owned()),
        Just("other".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} in {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} == {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} and\n  {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} or {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} < {b})")),
            inner.clone().prop_map(|a| format!("not {a}")),
            inner.clone().prop_map(|a| format!("len({a})")),
            inner.clone().prop_map(|a| format!("(type({a}) == \"string\")")),
            inner.clone().prop_map(|a| format!("str({a})")),
            inner.prop_map(|a| format!("[§ for § in [{a}]]")),
        ]
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("rm -rf")),
        Just(json!("")),
        Just(json!(null)),
        Just(json!(1)),
        Just(json!(1.0)),
        Just(json!([1, "a"])),
        Just(json!({"args": "rm", "x": 0})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn native_and_starlark_agree(
        body in expression(),
        parameter in prop::sample::select(vec!["args", "a", "payload", "event", "len", "b", "other"]),
        form in 0..4u8,
        args in prop::collection::btree_map("[abc]", value(), 0..3),
    ) {
        let body = body.replace(PARAMETER, parameter);
        let rule = match form {
            0 => format!("policy.deny(\"x\", when = lambda {parameter}: {body})\n"),
            1 => format!("policy.deny(\"x\", lambda {parameter}: {body}, \"why\")\n"),
            2 => format!("is_bad = lambda {parameter}: ({body})\npolicy.deny(\"x\", when = is_bad)\n"),
            _ => format!("def is_bad({parameter}):\n    return ({body})\npolicy.deny(\"x\", when = is_bad)\n"),
        };
        // Some of the names mean something else here.
        let text = format!("payload = {{\"a\": \"rm\"}}\nother = \"rm\"\n{rule}");
        // The whole may stand on several lines only in brackets.
        if let Ok(loaded) = Loaded::new(&text) {
            let args: Map<String, Value> = args.into_iter().collect();
            let spec = &loaded.specs[0];
            let in_starlark = loaded.rules.holds(0, &args, LIMITS);
            if let Some(native) = loaded.natives.condition(spec) {
                match native.eval("tool.pre", &args) {
                    Err(CondError::NotNative) => {}
                    Err(error) => prop_assert!(in_starlark.is_err(), "{}: {}", text, error),
                    Ok(held) => prop_assert_eq!(Ok(held), in_starlark, "{}", text),
                }
            }
        }
    }
}
