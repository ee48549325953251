//! Scripts that want all time and all memory. Each ends within its limits, with the failure decision
//! of its event, and the next hook is asked as if nothing had been.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
// And tells how long each took.
#![allow(clippy::print_stdout)]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::{Bench, Isolation};
use serde_json::{Value, json};
use tollgate_config::diagnostic::{Code, Diagnostic};
use tollgate_core::prelude::*;
use tollgate_starlark::Starlark;

/// What follows a script that has no end in 100 ms: 400 ms until the runner itself gives up, and a
/// busy machine.
const LONGEST: Duration = Duration::from_millis(1500);

/// How a script that was stopped is spoken of.
const STOPPED: &[&str] = &[
    "it took longer than it may",
    "it took more steps than a hook may",
    "it used more memory than a hook may",
    "no answer within",
];

/// Bodies of `handle` that never come to their end.
const ENDLESS: &[(&str, &str)] = &[
    ("a loop", "for i in range(2000000000):\n    pass"),
    ("loops in loops", "for i in range(100000):\n    for j in range(100000):\n        x = i"),
    ("a comprehension", "x = [0 for i in range(40000) for j in range(40000) if i < 0]"),
    ("calls that fan out", "def f(n):\n    return 0 if n == 0 else f(n - 1) + f(n - 1)\nx = f(40)"),
    (
        "a sort with a key that loops",
        "def f(n):\n    for i in range(100000000):\n        pass\nx = sorted([2, 1], key = f)",
    ),
    ("a string doubled", "s = payload[\"name\"]\nfor i in range(60):\n    s = s + s"),
    ("a string repeated", "s = \"a\" * (len(payload) << 26)"),
    ("list(range)", "x = list(range(len(payload) * 10000000))"),
    ("a list repeated", "x = [0] * (len(payload) << 26)"),
    ("a tuple repeated", "x = (0,) * (len(payload) << 26)"),
    ("a list that grows", "l = [0]\nfor i in range(60):\n    l = l + l"),
    ("a list that is extended", "l = [0]\nfor i in range(60):\n    l.extend(list(l))"),
    ("a dict", "x = {i: str(i) for i in range(100000000)}"),
    ("numbers multiplied", "x = 3\nfor i in range(64):\n    x = x * x"),
    (
        "numbers multiplied, and written out",
        "x = 3\nfor i in range(23):\n    x = x * x\ns = str(x)\nfor i in range(100):\n    s = str(x + i)",
    ),
    ("percent", "s = payload[\"name\"]\nfor i in range(60):\n    s = \"%s%s\" % (s, s)"),
    ("format", "s = payload[\"name\"]\nfor i in range(60):\n    s = \"{0}{0}\".format(s)"),
    ("replace", "s = payload[\"name\"]\nfor i in range(30):\n    s = s.replace(\"a\", \"aaaa\")"),
    ("join", "s = payload[\"name\"]\nfor i in range(10):\n    s = s.join([s] * 100)"),
    ("elements of a string", "x = [c for c in (\"ab\" * (len(payload) << 20)).elems()]"),
    (
        "a list in a list in a list, shown",
        "l = [0]\nfor i in range(60):\n    l = [l, l]\ns = str(l)",
    ),
    (
        "the same, compared",
        "l = [0]\nm = [0]\nfor i in range(60):\n    l = [l, l]\n    m = [m, m]\nx = l == m",
    ),
    ("the same, as JSON", "l = [0]\nfor i in range(60):\n    l = [l, l]\ns = json.encode(l)"),
    (
        "the same, handed out",
        "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn modify({\"args\": {\"l\": l}})",
    ),
    ("the same, logged", "l = [0]\nfor i in range(60):\n    l = [l, l]\nlog(\"x\", l = l)"),
    (
        "a JSON text that is large when it is read",
        "x = json.decode(\"[\" + \"{},\" * (len(payload) << 18) + \"0]\")",
    ),
    (
        "patterns without end",
        "for i in range(100000):\n    x = re.search(\"(a|b|c){1,100}\" + str(i), payload[\"name\"])",
    ),
    (
        "texts to search without end",
        "t = \"ab\" * (len(payload) << 16)\nfor i in range(1000):\n    x = re.search(\"a[^c]*c\", t)",
    ),
];

/// Bodies that go wrong in a way of their own, and what is said of each.
const WRONG: &[(&str, &str, &str)] = &[
    ("recursion", "def f(n):\n    return f(n + 1)\nx = f(0)", "overflow"),
    (
        "recursion by two",
        "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nx = f(0)",
        "overflow",
    ),
    ("recursion in a key", "def f(n):\n    return f(n)\nx = sorted([2, 1], key = f)", "overflow"),
    ("a number shifted", "x = 1 << 100000000", ""),
    ("a list that is deep, shown", "l = []\nfor i in range(50000):\n    l = [l]\ns = str(l)", ""),
    (
        "a list that is deep, as JSON",
        "l = []\nfor i in range(101):\n    l = [l]\ns = json.encode(l)",
        "nested more than 100 deep",
    ),
    (
        "a list that is deep, handed out",
        "l = []\nfor i in range(101):\n    l = [l]\nreturn modify({\"args\": {\"l\": l}})",
        "nested more than 100 deep",
    ),
    ("a reason that is too long", "return block(\"a\" * (len(payload) << 20))", ""),
    (
        "a change that is too large",
        "return modify({\"args\": {\"a\": \"a\" * (len(payload) << 20)}})",
        "",
    ),
];

/// Bodies that only look bad.
const HARMLESS: &[(&str, &str)] = &[
    ("a pattern that others backtrack in", "x = re.match(\"(a+)+$\", \"a\" * 20000 + \"b\")"),
    ("one more", "x = re.search(\"(x+x+)+y\", \"x\" * 20000)"),
    ("a glob with many stars", "x = glob.match(\"*a*a*a*a*a*a*a*a*a*a*a*b\", \"a\" * 5000)"),
];

/// A hook of a body, for the call of the tool of this name.
fn hook(tool: &str, body: &str) -> (String, String) {
    let mut text = format!(
        "---\nevent: tool.pre\nwhen: payload[\"name\"] == \"{tool}\"\nscript: |\n  def handle(event, payload):\n"
    );
    for line in body.lines() {
        let _ = writeln!(text, "      {line}");
    }
    (format!("{tool}.md"), text + "      return allow()\n---\n")
}

/// An ordinary hook, which waits for a new worker however busy the machine is.
fn fine() -> (String, String) {
    // Nothing tells that it does not grow, so it runs in a worker.
    let (name, text) =
        hook("fine", "s = \"\"\nfor x in payload:\n    s = s + s\nreturn block(\"fine\" + s)");
    (name, text.replace("event: tool.pre", "event: tool.pre\ntimeout: 20s"))
}

fn bench(isolation: Isolation, bodies: &[&str]) -> Bench {
    let mut files: Vec<_> =
        bodies.iter().enumerate().map(|(n, body)| hook(&format!("case{n}"), body)).collect();
    files.push(fine());
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let bench = Bench::unchecked(isolation.engine(), &files, "");
    let errors: Vec<_> = bench.hooks.in_force().diagnostics.clone();
    let errors: Vec<_> = errors.iter().filter(|it| it.is_error()).map(Diagnostic::line).collect();
    assert!(errors.is_empty(), "{isolation:?}: {errors:#?}");
    bench
}

async fn call(bench: &Bench, tool: &str) -> Outcome<ToolPre> {
    bench.dispatch(ToolPre::from(ToolCall::new(tool).arg("text", "aaaa"))).await
}

/// What the hook could not decide for.
fn error(outcome: &Outcome<ToolPre>) -> String {
    let errors = outcome.record.answers.iter().find_map(|line| line.error.as_ref());
    errors.map(ToString::to_string).unwrap_or_default()
}

/// Asks a hook that does not come to its end, then an ordinary one.
async fn refused(bench: &Bench, at: &str, number: usize, said: &[&str]) {
    ends(bench, at, number, said).await;
    still_works(bench, at).await;
}

/// Asks a hook that does not come to its end.
async fn ends(bench: &Bench, at: &str, number: usize, said: &[&str]) {
    let begun = Instant::now();
    let outcome = call(bench, &format!("case{number}")).await;
    let took = begun.elapsed();
    let why = error(&outcome);
    println!("{took:>7.0?} {at}: {why}");
    assert_eq!(outcome.record.decision, Word::Deny, "{at}: {:?}", outcome.record);
    assert!(said.iter().any(|said| why.contains(said)), "{at}: {why}");
    assert!(took < LONGEST, "{at} took {took:?}");
}

async fn still_works(bench: &Bench, at: &str) {
    let outcome = call(bench, "fine").await;
    assert_eq!(outcome.record.reason, "fine", "after {at}: {:?}", outcome.record);
}

/// A figure of `/proc/self/status`, in KiB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The states of all processes that this one has started.
fn children() -> Vec<char> {
    let own = std::process::id().to_string();
    let mut states = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name of a process may have anything in it; behind it is its state, and its parent.
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let mut words = rest.split(' ');
        if let (Some(state), Some(parent)) = (words.next(), words.next())
            && parent == own
        {
            states.extend(state.chars());
        }
    }
    states
}

/// Held by the tests that look at the memory of this process, or take much of it.
static MEMORY: Mutex<()> = Mutex::new(());

/// Runs a test while no other one that minds looks at the memory.
fn alone(test: impl Future<Output = ()>) {
    let _alone = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn what_never_ends_is_ended() {
    alone(never_ends());
}

async fn never_ends() {
    let bodies: Vec<_> = ENDLESS.iter().map(|(_, body)| *body).collect();
    let bench = bench(Isolation::Mixed, &bodies);
    still_works(&bench, "nothing").await;
    // From here on, the peak.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    for (number, (name, _)) in ENDLESS.iter().enumerate() {
        refused(&bench, name, number, STOPPED).await;
    }
    let grown = memory("VmHWM:").saturating_sub(before);
    println!("{grown} KiB more");
    // Other tests of this program load a few hooks at the same time.
    assert!(grown < 12 * 1024, "{grown} KiB");
    let most = tollgate_exec::worker::default_most();
    let deadline = Instant::now() + Duration::from_secs(10);
    while children().contains(&'Z') {
        assert!(Instant::now() < deadline, "zombies: {:?}", children());
        std::thread::yield_now();
    }
    // The other tests of this program have workers of their own, three engines at the most.
    assert!(children().len() <= 4 * most, "{:?}", children());
}

#[tokio::test]
async fn what_goes_wrong_is_said() {
    let bodies: Vec<_> = WRONG.iter().map(|(_, body, _)| *body).collect();
    for isolation in [Isolation::Workers, Isolation::Mixed] {
        let bench = bench(isolation, &bodies);
        for (number, (name, _, said)) in WRONG.iter().enumerate() {
            refused(&bench, &format!("{name}, {isolation:?}"), number, &[said]).await;
        }
    }
}

#[test]
fn what_only_looks_bad_is_no_problem() {
    alone(looks_bad());
}

async fn looks_bad() {
    for isolation in Isolation::ALL {
        // In a debug build the time for patterns is another.
        let files: Vec<_> = HARMLESS
            .iter()
            .enumerate()
            .map(|(n, (_, body))| hook(&format!("case{n}"), body))
            .map(|(name, text)| {
                (name, text.replace("event: tool.pre", "event: tool.pre\ntimeout: 20s"))
            })
            .collect();
        let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
        let bench = Bench::new(isolation, &files);
        for (number, (name, _)) in HARMLESS.iter().enumerate() {
            let outcome = call(&bench, &format!("case{number}")).await;
            assert_eq!(outcome.record.decision, Word::None, "{name}: {:?}", outcome.record);
        }
    }
}

#[test]
fn in_this_process_loops_and_recursion_end_as_well() {
    alone(in_this_process());
}

async fn in_this_process() {
    let bodies: Vec<_> = ENDLESS[..5].iter().map(|(_, body)| *body).collect();
    let bench = bench(Isolation::InProcess, &bodies);
    for (number, (name, _)) in ENDLESS[..5].iter().enumerate() {
        refused(&bench, name, number, STOPPED).await;
    }
    let bodies: Vec<_> = WRONG[..3].iter().map(|(_, body, _)| *body).collect();
    let bench = self::bench(Isolation::InProcess, &bodies);
    for (number, (name, _, said)) in WRONG[..3].iter().enumerate() {
        refused(&bench, name, number, &[said]).await;
    }
}

#[tokio::test]
async fn conditions_are_held_to_the_same() {
    const CONDITIONS: &[&str] = &[
        "len([0 for i in range(40000) for j in range(40000) if i < 0]) == 0",
        "len(\"a\" * (len(payload) << 26)) > 0",
        "len(list(range(len(payload) * 10000000))) > 0",
        "len([0] * (len(payload) << 26)) > 0",
    ];
    let (name, text) = fine();
    for isolation in [Isolation::Workers, Isolation::Mixed] {
        let engine = isolation.engine();
        let others = Bench::with(engine.clone(), &[(&name, &text)], "");
        still_works(&others, "nothing").await;
        for when in CONDITIONS {
            let (name, text) = hook("case0", "pass");
            let text = text.replace("payload[\"name\"] == \"case0\"", when);
            let bench = Bench::with(engine.clone(), &[(&name, &text)], "");
            let at = format!("{when}, {isolation:?}");
            ends(&bench, &at, 0, STOPPED).await;
            still_works(&others, &at).await;
        }
    }
}

#[tokio::test]
async fn what_a_script_does_when_it_is_loaded_is_held_to_limits_too() {
    const TOP: &[&str] = &[
        "def f():\n    for i in range(2000000000):\n        pass\nX = f()",
        "X = \"a\" * (1 << 29)",
        "X = [0] * 1000000000",
        "X = list(range(100000000))",
        // Which the compiler works out before anybody has called it.
        "def f():\n    return \"a\" * (1 << 29)",
        "X = [i for i in range(100000000)]",
        "def f(n):\n    return f(n + 1)\nX = f(0)",
    ];
    let engine = Isolation::Mixed.engine();
    for top in TOP {
        let mut text = String::from("---\nevent: tool.pre\nscript: |\n");
        for line in top.lines().chain(["def handle(event, payload):", "    return allow()"]) {
            let _ = writeln!(text, "  {line}");
        }
        text.push_str("---\n");
        let begun = Instant::now();
        let (name, fine) = fine();
        let bench = Bench::unchecked(engine.clone(), &[("bad.md", &text), (&name, &fine)], "");
        let took = begun.elapsed();
        let found = bench.hooks.in_force();
        let codes: Vec<_> = found.diagnostics.iter().map(|found| found.code).collect();
        println!("{took:>7.0?} {top:?}: {:?}", found.diagnostics[0].line());
        assert_eq!(codes, [Code::ScriptFails], "{top}: {:?}", found.diagnostics);
        let said = &found.diagnostics[0].message;
        let known = STOPPED.iter().chain(&["overflow"]).any(|known| said.contains(known));
        assert!(known, "{top}: {said}");
        assert!(took < 2 * LONGEST, "{top}: {took:?}");
        let outcome = call(&bench, "view_file").await;
        assert_eq!(outcome.record.decision, Word::Deny, "{top}");
        assert!(outcome.record.detail().contains("bad.md"), "{}", outcome.record.detail());
    }
}

#[test]
fn a_payload_of_ten_megabytes_closes_the_gate_and_nothing_else() {
    alone(ten_megabytes());
}

async fn ten_megabytes() {
    let (name, text) = fine();
    let text = text.replace(" == \"fine\"", " in [\"large\", \"fine\"]");
    for isolation in [Isolation::Workers, Isolation::Mixed] {
        let bench = Bench::new(isolation, &[(&name, &text)]);
        let large = ToolCall::new("large").arg("text", "a".repeat(10 << 20));
        let outcome = bench.dispatch(ToolPre::from(large)).await;
        assert_eq!(outcome.record.decision, Word::Deny, "{isolation:?}");
        let why = error(&outcome);
        println!("{isolation:?}: {why}");
        assert!(why.contains("larger than a hook may get"), "{why}");
        still_works(&bench, "a large payload").await;
        // One that is large and fits is looked at.
        let fits = ToolCall::new("large").arg("text", "a".repeat(1 << 20));
        let outcome = bench.dispatch(ToolPre::from(fits)).await;
        assert!(outcome.record.reason.contains("fine"), "{:?}", error(&outcome));
    }
}

#[tokio::test]
async fn a_payload_may_be_as_deep_as_json_is_read() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    for isolation in Isolation::ALL {
        let text = fine().1.replace("when: payload[\"name\"] == \"fine\"\n", "");
        let bench = Bench::new(isolation, &[("fine.md", &text)]);
        // The payload and its arguments are two more.
        for (levels, fits) in [(125, true), (126, false), (1000, false)] {
            let call = ToolCall::new("x").arg("deep", deep(levels));
            let outcome = bench.dispatch(ToolPre::from(call)).await;
            if fits {
                assert_eq!(outcome.reason(), "fine", "{isolation:?}: {}", error(&outcome));
            } else {
                assert_eq!(
                    error(&outcome),
                    "the payload is nested more than 127 deep",
                    "{isolation:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn without_a_worker_only_what_is_known_to_be_cheap_loads() {
    let (name, dear) = fine();
    let (_, cheap) = hook("cheap", "return block(\"cheap\")");
    // This program has not called `worker::init`.
    let bench = Bench::unchecked(Starlark::new(), &[("cheap.md", &cheap), (&name, &dear)], "");
    let codes: Vec<_> = bench.hooks.in_force().diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, [Code::NoScriptEngine]);
    assert_eq!(call(&bench, "other").await.record.decision, Word::Deny);

    let bench = Bench::with(Starlark::new(), &[("cheap.md", &cheap)], "");
    assert_eq!(call(&bench, "cheap").await.reason(), "cheap");
    let large = ToolCall::new("cheap").arg("text", "a".repeat(70_000));
    let outcome = bench.dispatch(ToolPre::from(large)).await;
    assert_eq!(outcome.record.decision, Word::Deny);
    assert!(error(&outcome).contains("more than 64 KiB"), "{}", error(&outcome));
}
