//! What hooks decide, change and write down, from file to outcome. The tables are in
//! `cases/starlark/hooks`; what their rows look like is in the `README.md` there.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{Bench, Isolation, Lazily};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_config::script::ScriptEngine;
use tollgate_core::context::Clock;
use tollgate_core::prelude::*;
use tollgate_core::runner::AnyOutcome;

/// What the model is told where a hook could not decide.
const CLOSED: &str = "A required check could not be completed, so this was not allowed.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    hooks: BTreeMap<String, HookRow>,
    #[serde(default)]
    settings: String,
    #[serde(default)]
    cache: Map<String, Value>,
    /// Those of the session.
    #[serde(default)]
    workspaces: Vec<String>,
    /// For how many seconds it has lasted.
    #[serde(default)]
    elapsed: f64,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookRow {
    #[serde(default = "tool_pre")]
    event: String,
    priority: Option<i32>,
    when: Option<String>,
    body: Lines,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(default = "tool_pre")]
    event: String,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    new_turn: bool,
    #[serde(default = "once")]
    times: u32,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    #[serde(default = "none")]
    decision: Value,
    #[serde(default)]
    reason: String,
    /// Fields of the payload, as it is in the end.
    #[serde(default)]
    payload: Map<String, Value>,
    extra: Option<Value>,
    /// The hooks in the record, in order; one that was asked again has a `+`.
    asked: Option<Vec<String>>,
    /// What is in the message of each hook that failed.
    #[serde(default)]
    errors: BTreeMap<String, String>,
    #[serde(default)]
    detail: String,
    logs: Option<Vec<Value>>,
    metrics: Option<Map<String, Value>>,
    #[serde(default)]
    cache: Map<String, Value>,
    #[serde(default)]
    budget_spent: bool,
}

fn tool_pre() -> String {
    "tool.pre".to_owned()
}

fn once() -> u32 {
    1
}

fn none() -> Value {
    "none".into()
}

impl HookRow {
    /// The file.
    fn text(&self) -> String {
        let mut text = format!("---\nevent: {}\n", self.event);
        if let Some(priority) = self.priority {
            let _ = writeln!(text, "priority: {priority}");
        }
        if let Some(when) = &self.when {
            let _ = writeln!(text, "when: {}", Value::from(when.as_str()));
        }
        // However busy the machine is.
        text.push_str("timeout: 10s\nscript: |\n  def handle(event, payload):\n");
        let lines = match &self.body {
            Lines::One(line) => std::slice::from_ref(line),
            Lines::Many(lines) => lines,
        };
        for line in lines {
            let _ = writeln!(text, "      {line}");
        }
        text + "---\n"
    }
}

fn rows(name: &str) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/starlark/hooks");
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

fn bench(engine: &Arc<dyn ScriptEngine>, row: &Row) -> Bench {
    let texts: Vec<_> =
        row.hooks.iter().map(|(name, hook)| (format!("{name}.md"), hook.text())).collect();
    let files: Vec<_> = texts.iter().map(|(name, text)| (&**name, &**text)).collect();
    let mut bench = Bench::of(Arc::clone(engine), &files, &row.settings);
    let info = SessionInfo { workspaces: row.workspaces.clone(), ..SessionInfo::default() };
    let clock = Clock::by_hand();
    clock.advance(Duration::from_secs_f64(row.elapsed));
    bench.session = SessionContext::with_clock(info, clock);
    bench.turn = bench.session.turn();
    // One that may end without a decision is warned of, and that is some of them.
    let wrong = bench.hooks.in_force().diagnostics.iter().find(|found| found.is_error()).cloned();
    assert!(wrong.is_none(), "{}: {:?}", row.name, wrong.map(|found| found.line()));
    for (key, value) in &row.cache {
        bench.session.ledger().cache_set(key, value.clone());
    }
    bench
}

/// What is different from what a step expects.
async fn check(bench: &Bench, turn: &TurnContext, step: &Step) -> Vec<String> {
    let event = AnyEvent::from_value(step.event.parse().unwrap(), step.payload.clone()).unwrap();
    let operation = turn.operation();
    let runner = bench.hooks.runner();
    let mut outcome = runner.dispatch_any(&operation, event.clone()).await;
    for _ in 1..step.times {
        outcome = runner.dispatch_any(&operation, event.clone()).await;
    }
    let cut_off = runner.drain(Duration::from_secs(20)).await;
    let mut different = Different::default();
    different.unless_same("cut off", &json!(cut_off), &json!([]));
    different.of_outcome(&outcome, &step.expect);
    different.of_ledger(bench, turn, &step.expect);
    if !different.0.is_empty() {
        different.0.push(serde_json::to_string_pretty(&outcome.record).unwrap());
    }
    different.0
}

#[derive(Default)]
struct Different(Vec<String>);

impl Different {
    fn unless_same(&mut self, what: &str, found: &Value, wanted: &Value) {
        if found != wanted {
            self.0.push(format!("{what}: {found}, not {wanted}"));
        }
    }

    fn unless_in(&mut self, text: &str, part: &str) {
        if !text.contains(part) {
            self.0.push(format!("`{part}` is not in `{text}`"));
        }
    }

    fn of_outcome(&mut self, outcome: &AnyOutcome, expect: &Expect) {
        let record = &outcome.record;
        self.unless_same("decision", &json!(outcome.decision), &expect.decision);
        let reason = if expect.reason == "closed" { CLOSED } else { &expect.reason };
        self.unless_same("reason", &json!(outcome.reason), &json!(reason));
        self.unless_same("extra", &json!(outcome.extra), &json!(expect.extra));
        self.unless_same("budget", &json!(record.budget_spent), &json!(expect.budget_spent));
        let payload = outcome.event.to_value();
        for (name, value) in &expect.payload {
            self.unless_same(name, payload.get(name).unwrap_or(&Value::Null), value);
        }
        let name_of = |line| record.hook(line).unwrap().name.clone();
        if let Some(asked) = &expect.asked {
            let lines = record.answers.iter();
            let mut lines: Vec<_> =
                lines.map(|line| name_of(line) + if line.reask { "+" } else { "" }).collect();
            // Which is always there.
            lines.retain(|name| !name.starts_with("tollgate-guard"));
            self.unless_same("asked", &json!(lines), &json!(asked));
        }
        let failed =
            record.answers.iter().filter_map(|line| Some((name_of(line), line.error.as_ref()?)));
        let failed: BTreeMap<_, _> = failed.collect();
        let names = |map: Vec<&String>| json!(map);
        self.unless_same(
            "failed",
            &names(failed.keys().collect()),
            &names(expect.errors.keys().collect()),
        );
        for (name, part) in &expect.errors {
            self.unless_in(&failed.get(name).map(ToString::to_string).unwrap_or_default(), part);
        }
        self.unless_in(&serde_json::to_string(record).unwrap(), &expect.detail);
    }

    fn of_ledger(&mut self, bench: &Bench, turn: &TurnContext, expect: &Expect) {
        let ledger = bench.session.ledger();
        if let Some(logs) = &expect.logs {
            self.unless_same("logs", &json!(turn.log().entries()), &json!(logs));
        }
        if let Some(metrics) = &expect.metrics {
            self.unless_same("metrics", &json!(ledger.metrics()), &json!(metrics));
        }
        for (key, value) in &expect.cache {
            self.unless_same(key, &json!(ledger.cache_get(key)), value);
        }
    }
}

/// Runs all rows of a table, wherever scripts can run.
async fn run(table: &str) {
    let rows = rows(table);
    let mut different = Vec::new();
    let lazily =
        Isolation::ALL.into_iter().flat_map(|isolation| [(isolation, false), (isolation, true)]);
    for (isolation, lazily) in lazily {
        // One for all: what one row left in a worker is to be of no concern to the next.
        let engine: Arc<dyn ScriptEngine> = match isolation.engine() {
            engine if lazily => Arc::new(Lazily(engine)),
            engine => Arc::new(engine),
        };
        for row in &rows {
            let bench = bench(&engine, row);
            let mut turn = bench.turn.clone();
            for (number, step) in row.steps.iter().enumerate() {
                if step.new_turn {
                    turn = bench.session.turn();
                }
                let said = check(&bench, &turn, step).await;
                if !said.is_empty() {
                    let at = format!(
                        "{table}: {}, step {number}, {isolation:?}, lazily: {lazily}",
                        row.name
                    );
                    different.push(format!("{at}:\n{}", said.join("\n")));
                }
            }
        }
    }
    assert!(different.is_empty(), "{} rows:\n{}", different.len(), different.join("\n\n"));
}

#[tokio::test]
async fn each_event_can_be_allowed_blocked_and_changed() {
    run("events.json").await;
}

#[tokio::test]
async fn a_hook_that_cannot_decide_closes_its_gate() {
    run("failures.json").await;
}

#[tokio::test]
async fn conditions_say_when_a_hook_applies() {
    run("when.json").await;
}

#[tokio::test]
async fn a_change_shows_at_once_and_everywhere() {
    run("modify.json").await;
}

#[tokio::test]
async fn hooks_run_in_order_and_the_first_block_wins() {
    run("order.json").await;
}

#[tokio::test]
async fn built_ins_do_what_they_say() {
    run("builtins.json").await;
}

#[tokio::test]
async fn commands_are_looked_into_and_people_are_asked() {
    run("shell.json").await;
}

/// Scripts whose answers hang on everything that a script can see.
const CURIOUS: &[&str] = &[
    "return block(json.encode(payload))",
    "return modify({\"args\": {k: str(v) for k, v in payload[\"args\"].items()}})",
    "for k in payload[\"args\"]:\n          metrics.incr(k)\n          log(k, v=payload[\"args\"][k])\n      return allow()",
    "cache.set(\"seen\", [cache.get(\"seen\"), payload[\"args\"]])\n      return block(str(cache.get(\"seen\")))",
    "return block(str(hash(json.encode(payload[\"args\"]))) + str(sorted(payload.keys())) + str(dir(payload)))",
    "return block(\"no\") if re.search(\"[a-f]+\", json.encode(payload[\"args\"])) else allow()",
];

/// What a hook says about a call, and what it wants written down.
fn told(outcome: &Outcome<ToolPre>) -> String {
    let lines: Vec<_> = outcome
        .record
        .answers
        .iter()
        .map(|line| (&line.word, &line.reason, &line.effects, &line.error, line.rewrote))
        .collect();
    format!("{:?} {:?} {lines:?}", outcome.verdict, outcome.event)
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z]{1,6}", value, 0..4).prop_map(|map| map.into_iter().collect())
}

/// The same hooks, wherever they can run.
fn curious() -> Vec<Vec<Bench>> {
    let bench = |body: &str, isolation: Isolation| {
        let text = format!(
            "---\nevent: tool.pre\ntimeout: 10s\nscript: |\n  def handle(event, payload):\n      {body}\n---\n"
        );
        Bench::new(isolation, &[("curious.md", &text)])
    };
    CURIOUS.iter().map(|body| Isolation::ALL.map(|at| bench(body, at)).into()).collect()
}

#[test]
fn the_same_question_gets_the_same_answer_everywhere() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let hooks = curious();
    let config =
        ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(args in arguments())| {
        for places in &hooks {
            let ask = |bench: &Bench| {
                // A session each: what was written down before is no part of the question.
                let turn = SessionContext::new(SessionInfo::default()).turn();
                let event = ToolPre::from(ToolCall { args: args.clone(), ..ToolCall::new("view_file") });
                let runner = bench.hooks.runner();
                told(&runtime.block_on(runner.dispatch(&turn.operation(), event)))
            };
            let first = ask(&places[0]);
            for bench in places {
                prop_assert_eq!(&ask(bench), &first);
            }
        }
    });
}

#[test]
fn a_hundred_times_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for places in curious() {
        let mut answers = std::collections::BTreeSet::new();
        for bench in &places {
            for _ in 0..100 {
                let turn = SessionContext::new(SessionInfo::default()).turn();
                let call = ToolCall::new("run_command").arg("command", "ls").arg("n", 1.5e9);
                let (runner, operation) = (bench.hooks.runner(), turn.operation());
                let outcome = runtime.block_on(runner.dispatch(&operation, ToolPre::from(call)));
                answers.insert(told(&outcome));
            }
        }
        assert_eq!(answers.len(), 1, "{answers:#?}");
    }
}
