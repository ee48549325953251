//! Scripts that are called bounded are.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
// The macro wants results.
#![allow(clippy::unnecessary_wraps)]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use starlark::environment::{Globals, GlobalsBuilder, Module};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use tollgate_starlark::analysis::bounded::{ALLOCATION, HEAP, PAYLOAD, TICKS};
use tollgate_starlark::analysis::{SCRIPT, bounded, parse};

// The built-ins that scripts below use, without what they would do.
#[starlark_module]
fn built_ins(builder: &mut GlobalsBuilder) {
    fn allow() -> starlark::Result<NoneType> {
        Ok(NoneType)
    }
    fn block(
        #[starlark(args)] _args: UnpackTuple<starlark::values::Value<'_>>,
    ) -> starlark::Result<NoneType> {
        Ok(NoneType)
    }
    fn log(
        #[starlark(args)] _args: UnpackTuple<starlark::values::Value<'_>>,
    ) -> starlark::Result<NoneType> {
        Ok(NoneType)
    }
}

fn globals() -> Globals {
    GlobalsBuilder::standard().with(built_ins).build()
}

/// Payloads of almost the largest size, of several shapes.
fn payloads() -> Vec<Value> {
    let room = usize::try_from(PAYLOAD).unwrap() - 200;
    let text = json!({"t": "a".repeat(room), "s": "a", "n": 1, "l": ["a"], "d": {"k": "v"}});
    let half = "a b,".repeat(room / 8);
    let texts = json!({"t": half, "s": half, "n": 1, "l": ["a", "b"], "d": {"k": "v"}});
    let list = json!({"t": "x", "s": "y", "n": 1, "l": vec!["a"; room / 4], "d": {"k": "v"}});
    let nested =
        json!({"t": "x", "s": "y", "n": 1, "l": vec![json!([]); room / 3], "d": {"k": "v"}});
    let entries: serde_json::Map<String, Value> =
        (0..room / 10).map(|at| (format!("{at:05}"), json!(1))).collect();
    let dict = json!({"t": "x", "s": "y", "n": 1, "l": ["a"], "d": entries});
    vec![text, texts, list, nested, dict]
}

/// The memory of this process. Dicts keep their contents where the heap does not count them.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4096
}

/// The most bytes that a script takes above what its payload does, the time, and how it ended.
fn cost(script: &str, payload: &Value, globals: &Globals) -> (usize, Duration, String) {
    let ast = parse(script).unwrap();
    Module::with_temp_heap(|module| {
        let handle = {
            let mut evaluator = Evaluator::new(&module);
            if let Err(error) = evaluator.eval_module(ast, globals) {
                return (0, Duration::ZERO, error.to_string());
            }
            module.get("handle").unwrap()
        };
        let payload = module.heap().alloc(payload);
        let before = module.heap().allocated_bytes();
        let resident_before = resident();
        let start = Instant::now();
        let mut evaluator = Evaluator::new(&module);
        evaluator.set_max_tick_count(TICKS).unwrap();
        evaluator.set_max_heap_size(before + usize::try_from(HEAP).unwrap()).unwrap();
        let event = module.heap().alloc("tool.pre");
        let ended = match evaluator.eval_function(handle, &[event, payload], &[]) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        let peak = module.heap().peak_allocated_bytes().max(module.heap().allocated_bytes());
        let bytes = peak.saturating_sub(before).max(resident().saturating_sub(resident_before));
        (bytes, start.elapsed(), ended)
    })
}

fn atom() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(&[
            "payload['t']", "payload['s']", "payload['l']", "payload['d']", "payload['n']", "payload", "event",
            "payload['l'][0]", "payload.get('x', '')",
        ][..]).prop_map(str::to_owned),
        3 => prop::sample::select(&["x", "y", "z", "i", "C"][..]).prop_map(str::to_owned),
        2 => prop::sample::select(&["'a'", "'%s,%s'", "', '", "''", "1", "3", "1000", "[]", "{}", "['a', 'bb']", "None"][..]).prop_map(str::to_owned),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    atom().prop_recursive(3, 12, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            5 => two.clone().prop_map(|(one, two)| format!("({one} + {two})")),
            1 => two.clone().prop_map(|(one, two)| format!("({one} * {two})")),
            2 => two.clone().prop_map(|(one, two)| format!("({one} in {two})")),
            1 => two.clone().prop_map(|(one, two)| format!("({one} or {two})")),
            1 => two.clone().prop_map(|(one, two)| format!("('%s-%s' % ({one}, {two}))")),
            1 => two.clone().prop_map(|(one, two)| format!("'{{}}{{}}{{0}}'.format({one}, {two})").replace("{0}", "{}")),
            2 => two.clone().prop_map(|(one, two)| format!("{one}.join({two})")),
            2 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("{a}.replace({b}, {c})")),
            2 => two.clone().prop_map(|(one, two)| format!("{one}.split({two})")),
            1 => inner.clone().prop_map(|one| format!("{one}.upper()")),
            2 => inner.clone().prop_map(|one| format!("str({one})")),
            1 => inner.clone().prop_map(|one| format!("list({one})")),
            1 => inner.clone().prop_map(|one| format!("sorted({one})")),
            1 => inner.clone().prop_map(|one| format!("len({one})")),
            1 => inner.clone().prop_map(|one| format!("list(range(len({one})))")),
            1 => inner.clone().prop_map(|one| format!("list(range({one}))")),
            1 => inner.clone().prop_map(|one| format!("{one}.items()")),
            1 => inner.clone().prop_map(|one| format!("{one}[1:]")),
            1 => inner.clone().prop_map(|one| format!("f'{{{one}}}x'").replace("f'{'", "f\"{'").replace("'}x'", "'}x\"")),
            1 => two.clone().prop_map(|(one, two)| format!("[{one}, {two}]")),
            1 => two.clone().prop_map(|(one, two)| format!("{{'k': {one}, 'm': {two}}}")),
            2 => two.clone().prop_map(|(one, two)| format!("[{one} for i in {two}]")),
            1 => two.prop_map(|(one, two)| format!("helper({one}, {two})")),
            1 => inner.prop_map(|one| format!("enumerate({one})")),
        ]
    })
}

fn body() -> impl Strategy<Value = Vec<String>> {
    let name = || prop::sample::select(&["x", "y", "z"][..]);
    let statement = prop_oneof![
        4 => (name(), expression()).prop_map(|(name, value)| vec![format!("{name} = {value}")]),
        2 => (name(), expression()).prop_map(|(name, value)| vec![format!("{name} += {value}")]),
        2 => (name(), expression()).prop_map(|(name, value)| vec![format!("{name}.append({value})")]),
        1 => (name(), expression()).prop_map(|(name, value)| vec![format!("{name}.extend({value})")]),
        1 => (name(), expression()).prop_map(|(name, value)| vec![format!("{name}[{value}] = {value}")]),
        1 => expression().prop_map(|value| vec![format!("log({value})")]),
        1 => expression().prop_map(|value| vec![format!("if {value}: return block({value})")]),
    ];
    statement.prop_recursive(3, 10, 3, |inner| {
        let iterable = prop_oneof![
            Just("['a', 'b', 'c']".to_owned()),
            Just("range(1000)".to_owned()),
            Just("range(5000)".to_owned()),
            Just("payload['l']".to_owned()),
            Just("payload['t'].split(' ')".to_owned()),
            Just("x".to_owned()),
            expression(),
        ];
        (iterable, prop::collection::vec(inner, 1..3), prop::sample::select(&["i", "i", "x"][..]))
            .prop_map(|(iterable, statements, name)| {
                let mut lines = vec![format!("for {name} in {iterable}:")];
                lines.extend(statements.concat().into_iter().map(|line| format!("  {line}")));
                lines
            })
    })
}

fn script() -> impl Strategy<Value = String> {
    let first = prop_oneof![3 => expression(), 2 => Just("[]".to_owned()), 2 => Just("''".to_owned()), 1 => Just("{}".to_owned())];
    (first, prop::collection::vec(body(), 1..3), expression()).prop_map(|(first, statements, helped)| {
        let helped = helped.replace("helper", "str").replace("payload", "a");
        let statements: String =
            statements.concat().into_iter().map(|line| "  ".to_owned() + &line + "\n").collect();
        format!(
            "C = ['a', 'b']\ndef helper(a, b):\n  x = a\n  y = b\n  z = a\n  i = b\n  event = a\n  return {helped}\n\
             def handle(event, payload):\n  i = 1\n  x = {first}\n  y = []\n  z = ''\n{statements}  return allow()\n"
        )
    })
}

#[test]
fn random_scripts_that_are_called_bounded_are() {
    let globals = globals();
    let payloads = payloads();
    let cases = std::env::var("BOUNDED_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    });
    let yes = std::cell::Cell::new(0_u32);
    let greatest = std::cell::Cell::new((0, Duration::ZERO));
    let bound = usize::try_from(HEAP + ALLOCATION).unwrap();
    runner
        .run(&script(), |script| {
            let Ok(ast) = parse(&script) else { return Ok(()) };
            if !bounded(&ast, &SCRIPT).is_yes() {
                return Ok(());
            }
            yes.set(yes.get() + 1);
            for payload in &payloads {
                let (bytes, time, _) = cost(&script, payload, &globals);
                greatest.set((greatest.get().0.max(bytes), greatest.get().1.max(time)));
                prop_assert!(bytes <= bound, "{bytes} bytes:\n{script}");
                // Nothing is optimised here, and other things run too.
                prop_assert!(time < Duration::from_secs(20), "{time:?}:\n{script}");
            }
            Ok(())
        })
        .unwrap();
    println!("{} of {cases} bounded; at most {:?}", yes.get(), greatest.get());
    assert!(yes.get() > cases / 30, "only {} of {cases} were called bounded", yes.get());
}

/// Lines that each build on those before, up to well past what is bounded.
#[test]
fn chains_of_lines_that_are_called_bounded_are() {
    const OPERATIONS: &[&str] = &["A + B", "A + A", "', '.join([A, B])", "'%s%s' % (A, B)"];
    let globals = globals();
    let payloads = payloads();
    let bound = usize::try_from(HEAP + ALLOCATION).unwrap();
    let line = (prop::sample::select(OPERATIONS), 0..2_usize, 0..3_usize);
    let chain = prop::collection::vec(line, 1..12);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        max_shrink_iters: 100,
        ..ProptestConfig::default()
    });
    let yes = std::cell::Cell::new(0_u32);
    runner
        .run(
            &(
                chain,
                prop::sample::select(&["", "for i in range(50):", "for i in range(2000):"][..]),
            ),
            |(chain, head)| {
                let indent = if head.is_empty() { "  " } else { "    " };
                let mut script =
                    format!("def handle(event, payload):\n  v0 = payload['t']\n  {head}\n");
                for (at, (operation, one, two)) in chain.iter().enumerate() {
                    let name = |back: &usize| format!("v{}", at.saturating_sub(*back));
                    let value = operation.replace('A', &name(one)).replace('B', &name(two));
                    script = script + indent + &format!("v{} = {value}\n", at + 1);
                }
                script += "  return allow()\n";
                if bounded(&parse(&script).unwrap(), &SCRIPT).is_yes() {
                    yes.set(yes.get() + 1);
                    let (bytes, _, _) = cost(&script, &payloads[0], &globals);
                    prop_assert!(bytes <= bound, "{bytes} bytes:\n{script}");
                }
                Ok(())
            },
        )
        .unwrap();
    assert!(yes.get() >= 5, "{}", yes.get());
    println!("{} of 200 bounded", yes.get());
}

/// Scripts that come close to the bounds on purpose.
#[test]
fn scripts_at_the_bound_keep_it() {
    let globals = globals();
    let payloads = payloads();
    let bound = usize::try_from(HEAP + ALLOCATION).unwrap();
    let mut asked = 0;
    for body in [
        "x = payload['t'] + payload['s']\n  y = x + x\n  z = y + y\n  return block(z)",
        "x = []\n  for i in range(100000):\n    x.append(i)\n  return allow()",
        "x = []\n  for i in range(100000):\n    x += [1]\n  return allow()",
        "x = {}\n  for i in range(100000):\n    x[i] = 1\n  return allow()",
        "for i in range(100000):\n    x = [i, i]\n  return allow()",
        "for i in range(100000):\n    x = 'a' + 'b'\n  return allow()",
        "for i in range(600):\n    x = payload['t'] + 'b'\n  return allow()",
        "x = [[i, j] for i in range(100) for j in range(100)]\n  return allow()",
        "x = payload['t'].split('a')\n  return allow()",
        "for i in payload['l']:\n    x = i + 'a'\n    y = i.upper()\n  return allow()",
        "x = payload['t'].replace('a', 'bbbbbbbbbb')\n  return allow()",
        "x = '%s %s' % (payload, payload)\n  return allow()",
        "for i in range(100000):\n    for j in payload['l']:\n      if 'ab' in j:\n        return block(j + j)\n  return allow()",
        "x = list(range(200000))\n  return allow()",
        "x = sorted(payload['l'])\n  y = enumerate(x)\n  return allow()",
        "x = payload['d'].items()\n  y = [k + 'a' for k, v in x]\n  return allow()",
    ] {
        let script = format!("def handle(event, payload):\n  {body}\n");
        if !bounded(&parse(&script).unwrap(), &SCRIPT).is_yes() {
            continue;
        }
        asked += 1;
        // Those that go on until they are stopped do so with any payload.
        let payloads = if body.contains("100000") { &payloads[2..3] } else { &payloads[..] };
        for payload in payloads {
            let (bytes, time, _) = cost(&script, payload, &globals);
            assert!(
                bytes <= bound && time < Duration::from_secs(20),
                "{bytes} bytes, {time:?}:\n{script}"
            );
        }
    }
    assert!(asked >= 8, "{asked}");
}
