//! Native conditions against the real interpreter.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;
use tollgate_starlark::analysis::{self, CondError, Condition};

/// What Starlark makes of a condition: its truth, or that it raises.
fn starlark(text: &str, payload: &Value, globals: &Globals) -> Result<bool, String> {
    let ast = analysis::parse(text).unwrap();
    Module::with_temp_heap(|module| {
        module.set("payload", module.heap().alloc(payload));
        module.set("event", module.heap().alloc("tool.pre"));
        let mut evaluator = Evaluator::new(&module);
        let value = evaluator.eval_module(ast, globals);
        value.map(starlark::values::Value::to_bool).map_err(|error| error.to_string())
    })
}

/// Both agree, or there is no native form. Whether there is one.
fn agree(text: &str, payload: &Value, globals: &Globals) -> bool {
    let Some(condition) = Condition::compile(text) else { return false };
    let native = condition.eval("tool.pre", payload.as_object().unwrap());
    let real = starlark(text, payload, globals);
    match (&native, &real) {
        (Ok(native), Ok(real)) => assert_eq!(native, real, "{text} on {payload}"),
        (Err(error), Err(_)) => assert_ne!(*error, CondError::NotNative, "{text} on {payload}"),
        _ => panic!("{text} on {payload}: {native:?} here, {real:?} in Starlark"),
    }
    true
}

const KEYS: &[&str] = &["a", "b", "c", "ä"];
const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "ab",
    "abc",
    " ab ",
    "ba",
    "ß",
    "É",
    "é",
    "🦀",
    "aé🦀b",
    "b",
    "\u{a0}x\u{2003}",
    "İ",
    "ﬁ",
    "Σς",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        prop::sample::select(&[i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1, 2_147_483_648][..])
            .prop_map(Value::from),
        prop::sample::select(&[u64::MAX, 1 << 63][..]).prop_map(Value::from),
        prop::sample::select(&[0.0, -0.0, 1.0, 1.5, -2.0, 1e300, 9_007_199_254_740_992.0][..])
            .prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(KEYS), inner, 0..4).prop_map(|map| {
                Value::Object(map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

fn payload() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(KEYS), value(), 0..5).prop_map(|map| {
        Value::Object(
            map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>(),
        )
    })
}

fn literal() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
            Just("None".to_owned()),
            prop::sample::select(&["True", "False"][..]).prop_map(str::to_owned),
            prop::sample::select(
                &[
                    "0",
                    "1",
                    "2",
                    "-1",
                    "-2",
                    "9007199254740993",
                    "9223372036854775807",
                    "2147483648"
                ][..]
            )
            .prop_map(str::to_owned),
            prop::sample::select(&["0.0", "1.0", "1.5", "-2.0", "1e300", "9007199254740992.0"][..])
                .prop_map(str::to_owned),
            prop::sample::select(TEXTS).prop_map(|text| format!("{text:?}")
                .replace("\\u{a0}", "\u{a0}")
                .replace("\\u{2003}", "\u{2003}")),
            Just("{}".to_owned()),
            Just("{'a': 1, 'b': ['x']}".to_owned()),
        ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(inner, 0..4).prop_map(|items| {
                format!("({}{})", items.join(", "), if items.is_empty() { "" } else { "," })
            }),
        ]
    })
}

fn expression() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(&["\"a\"", "\"b\"", "\"ä\"", "0", "1", "-1", "-2", "5"][..]);
    let text_key = || prop::sample::select(&["\"a\"", "\"b\"", "\"c\"", "\"ä\""][..]);
    let leaf = prop_oneof![
        3 => Just("payload".to_owned()),
        1 => Just("event".to_owned()),
        3 => text_key().prop_map(|key| format!("payload.get({key})")),
        3 => text_key().prop_map(|key| format!("payload[{key}]")),
        3 => literal(),
    ];
    leaf.prop_recursive(4, 24, 3, move |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (inner.clone(), key()).prop_map(|(of, key)| format!("({of})[{key}]")),
            (inner.clone(), text_key()).prop_map(|(of, key)| format!("({of}).get({key})")),
            (inner.clone(), text_key(), inner.clone())
                .prop_map(|(of, key, default)| format!("({of}).get({key}, {default})")),
            (
                two.clone(),
                prop::sample::select(&["==", "!=", "<", "<=", ">", ">=", "in", "not in"][..])
            )
                .prop_map(|((one, two), op)| format!("({one}) {op} ({two})")),
            (two.clone(), prop::sample::select(&["and", "or"][..]))
                .prop_map(|((one, two), op)| format!("({one}) {op} ({two})")),
            inner.clone().prop_map(|of| format!("not ({of})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(one, two, three)| format!("({one}) if ({two}) else ({three})")),
            (
                inner.clone(),
                prop::sample::select(&["lower", "upper", "strip", "lstrip", "rstrip"][..])
            )
                .prop_map(|(of, method)| format!("({of}).{method}()")),
            (
                inner.clone(),
                prop::sample::select(&["startswith", "endswith"][..]),
                prop::sample::select(
                    &["\"a\"", "\"\"", "\"é\"", "(\"x\", \"b\")", "()", "(\"a\",)"][..]
                )
            )
                .prop_map(|(of, method, affix)| format!("({of}).{method}({affix})")),
            inner.clone().prop_map(|of| format!("len({of})")),
            inner.clone().prop_map(|of| format!("type({of})")),
            inner.prop_map(|of| format!("type({of}) == \"string\"")),
        ]
    })
}

#[test]
fn random_conditions_mean_what_starlark_makes_of_them() {
    let globals = Globals::standard();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: std::env::var("CONDITION_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let compiled = std::cell::Cell::new(0_u32);
    runner
        .run(&(expression(), payload()), |(text, payload)| {
            compiled.set(compiled.get() + u32::from(agree(&text, &payload, &globals)));
            Ok(())
        })
        .unwrap();
    // Otherwise it would test nothing.
    assert!(compiled.get() > 300, "{}", compiled.get());
}

/// Every operation on every pair of kinds of values.
#[test]
fn all_pairs_of_values_mean_the_same() {
    let globals = Globals::standard();
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.0),
        json!(0.5),
        json!(u64::MAX),
        json!(""),
        json!("a"),
        json!("ab"),
        json!("é"),
        json!([]),
        json!([1]),
        json!(["a"]),
        json!([1, "a"]),
        json!([null]),
        json!({}),
        json!({"a": 1}),
        json!({"a": 1.0}),
        json!({"b": []}),
    ];
    for one in &values {
        for two in &values {
            let payload = json!({"a": one, "b": two});
            for op in ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"] {
                assert!(agree(&format!("payload['a'] {op} payload['b']"), &payload, &globals));
            }
        }
        let payload = json!({"a": one});
        for test in [
            "payload['a']",
            "not payload['a']",
            "len(payload['a'])",
            "type(payload['a'])",
            "payload['a'][0]",
            "payload['a'][-1]",
            "payload['a'][5]",
            "payload['a']['a']",
            "payload['a'].get('a')",
            "payload['a'].get('x', 1)",
            "payload['a'].lower()",
            "payload['a'].startswith('a')",
            "payload['a'].endswith(('a', 'b'))",
            "payload['a'].strip()",
            "payload['a'] in payload",
            "payload['a'] in (1, 'a', None)",
            "(payload['a'] in {}) or True",
            "(1, 2) in payload",
            "([1], 2) in payload",
            "payload['a'] == (1,)",
            "payload['a'] < (1,)",
            "(1, 2) < (1, 3)",
            "[1] < [1, 'a']",
            "(1, []) == (1, [])",
            "-1 == payload['a']",
            "1 in [1.0]",
            "True == 1",
            "None < None",
            "{} == payload['a']",
            "[] < [1]",
        ] {
            assert!(agree(test, &payload, &globals), "{test}");
        }
    }
}

#[test]
fn what_is_not_covered_has_no_native_form() {
    for text in [
        "payload + 1",
        "x == 1",
        "len()",
        "len(payload, 1)",
        "payload.keys()",
        "payload.get()",
        "payload.get(event)",
        "payload.get('a', default=1)",
        "payload['a'].startswith(event)",
        "payload['a'].startswith('a', 1)",
        "payload['a'].strip('x')",
        "lambda: 1",
        "[x for x in payload]",
        "payload['a'][1:]",
        "f'{event}'",
        "1 + 1",
        "payload[event]",
        "payload[1.5]",
        "payload[99999999999]",
        "99999999999999999999 == 1",
        "b'a' == 'a'",
        "{1: 'a'}",
        "{'a': 1, 'a': 2}",
        "x = 1",
        "1\n2",
        "",
        "str(payload)",
        "payload.get('a', 1, 2)",
        "*payload",
        "payload['a', 'b']",
        "[event]",
    ] {
        assert!(Condition::compile(text).is_none(), "{text}");
    }
}

#[test]
fn a_deep_payload_is_left_to_starlark() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let condition = Condition::compile("payload['a'] == payload['b']").unwrap();
    let mut payload = json!({"a": deep(50), "b": deep(50)});
    assert_eq!(condition.eval("e", payload.as_object().unwrap()), Ok(true));
    payload["a"] = deep(500);
    payload["b"] = deep(500);
    assert_eq!(condition.eval("e", payload.as_object().unwrap()), Err(CondError::NotNative));
}
