//! The failure table, cell by cell: `cases/failures/table.json`.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod paused;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use paused::Paused;
use serde::Deserialize;
use serde_json::json;
use tollgate_core::hook::{Ask, BoxFuture};
use tollgate_core::prelude::*;
use tollgate_core::verdict::Permission;

#[derive(Deserialize)]
struct Row {
    dialect: Dialect,
    event: Kind,
    mode: Option<Mode>,
    decision: Option<String>,
    later_hooks_run: Option<bool>,
}

fn table() -> Vec<Row> {
    serde_json::from_str(include_str!("../../../cases/failures/table.json")).unwrap()
}

/// The ways to fail.
#[derive(Debug, Clone, Copy)]
enum Way {
    Error,
    Panic,
    PanicBeforeTheFuture,
    Never,
    Late,
    Condition,
    ConditionPanics,
}

const WAYS: [Way; 7] = [
    Way::Error,
    Way::Panic,
    Way::PanicBeforeTheFuture,
    Way::Never,
    Way::Late,
    Way::Condition,
    Way::ConditionPanics,
];

struct Failing(Way);

impl<E: Event> Handle<E> for Failing {
    fn wants(&self, _event: &E) -> Result<bool, BoxError> {
        match self.0 {
            Way::Condition => Err("no such field".into()),
            Way::ConditionPanics => panic!("in the condition"),
            _ => Ok(true),
        }
    }

    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        assert!(!matches!(self.0, Way::PanicBeforeTheFuture), "before the future");
        Box::pin(async move {
            match self.0 {
                Way::Panic => panic!("in the hook"),
                Way::Never => std::future::pending().await,
                Way::Late => {
                    // Blocks its thread, as far as the runner can tell: time passes in one poll.
                    tokio::time::advance(ask.limit + Duration::from_millis(1)).await;
                    Ok(Answer::none())
                }
                _ => Err("boom".into()),
            }
        })
    }
}

struct Counting(AtomicUsize);

impl<E: Event> Handle<E> for Counting {
    fn handle<'a>(&'a self, _ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(Answer::none()) })
    }
}

fn event_of(kind: Kind) -> AnyEvent {
    let payload = match kind {
        Kind::TurnStart => json!({"prompt": "p"}),
        Kind::ModelPre | Kind::ModelPost | Kind::InvocationEnd => {
            json!({"invocation": 0, "steps": 0})
        }
        Kind::ToolPre => json!({"name": "t"}),
        Kind::ToolPost => json!({"name": "t", "result": 1}),
        Kind::ToolError => json!({"name": "t", "error": "e"}),
        Kind::Interaction => json!({"questions": []}),
        Kind::Stop => json!({"execution": 0, "reason": "model_stop", "idle": true}),
        Kind::TurnEnd => json!({"response": "r"}),
        Kind::Failure => json!({"error": "e"}),
        Kind::CompactionPost => json!({"summary": "s"}),
        Kind::Notification => json!({"type": "t", "message": "m"}),
        Kind::FacetSwitch => json!({"from": "a", "to": "b"}),
        Kind::SubagentStart | Kind::SubagentStop => json!({"type": "t"}),
        Kind::SessionStart | Kind::SessionEnd | Kind::CompactionPre => json!({}),
    };
    AnyEvent::from_value(kind, payload).unwrap()
}

#[test]
fn the_table_has_every_cell() {
    let rows = table();
    assert_eq!(rows.len(), Dialect::ALL.len() * Kind::ALL.len());
    for row in &rows {
        let mode = row.event.rule(row.dialect).map(|rule| rule.mode);
        assert_eq!(mode, row.mode, "{} at {}", row.dialect, row.event);
    }
}

#[test]
fn a_transformer_of_ours_that_fails_closes() {
    for row in table().iter().filter(|row| row.dialect == Dialect::Native) {
        if row.mode == Some(Mode::Transform) {
            assert_ne!(row.decision.as_deref(), Some("none"), "{}", row.event);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_cell_fails_as_the_table_says() {
    for row in table() {
        let Some(decision) = &row.decision else {
            let refused = Runner::builder()
                .register(
                    Registration::named("stray")
                        .dialect(row.dialect)
                        .and_on_kind(row.event, Arc::new(Failing(Way::Error))),
                )
                .build();
            assert!(refused.is_err(), "{} has no {}", row.dialect, row.event);
            continue;
        };
        for way in WAYS {
            let cell = format!("{} at {}, {way:?}", row.dialect, row.event);
            let later = Arc::new(Counting(AtomicUsize::new(0)));
            let runner = Runner::builder()
                .runtime(Paused::runtime())
                // So that the end of a session does not cut off what fails by never answering.
                .limits(|limits| limits.drain = Duration::from_mins(2))
                .register(
                    Registration::named("failing")
                        .dialect(row.dialect)
                        .source("hooks/failing.md", Some(3))
                        .and_on_kind(row.event, Arc::new(Failing(way))),
                )
                .register(
                    Registration::named("later")
                        .dialect(row.dialect)
                        .and_on_kind(row.event, Arc::clone(&later)),
                )
                .build()
                .unwrap();
            let operation = SessionContext::new(SessionInfo::default()).turn().operation();
            let outcome = runner.dispatch_any(&operation, event_of(row.event)).await;
            let cut_off = runner.drain(Duration::from_mins(2)).await;
            assert!(cut_off.is_empty(), "{cell}: {cut_off:?}");
            assert_eq!(outcome.decision.to_string(), *decision, "{cell}");
            let ran = later.0.load(Ordering::Relaxed) == 1;
            assert_eq!(Some(ran), row.later_hooks_run, "{cell}: later hooks");
            if decision != "none" {
                assert_eq!(outcome.permission, Permission::Refused, "{cell}");
                assert!(!outcome.reason.contains("failing"), "the model is told no hook's name");
                let detail = outcome.record.detail();
                assert!(detail.contains("hook `failing` (hooks/failing.md:3)"), "{cell}: {detail}");
            } else if row.mode != Some(Mode::Inspect) {
                assert!(outcome.record.detail().contains("`failing`"), "{cell}: recorded");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dispatch_has_a_deadline_of_its_own() {
    let slow = |name: &str| {
        decide_async(name, |_cx, _: &ToolPre| async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok(Decision::none())
        })
    };
    let build = |hooks: usize| {
        let mut builder = Runner::builder().runtime(Paused::runtime());
        for place in 0..hooks {
            builder = builder.register(slow(&format!("slow {place}")));
        }
        builder.limits(|limits| limits.dispatch = Duration::from_secs(50)).build().unwrap()
    };
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = || ToolPre::from(ToolCall::new("t"));
    assert!(build(2).dispatch(&operation, call()).await.permit().is_granted());

    let began = tokio::time::Instant::now();
    let outcome = build(5).dispatch(&operation, call()).await;
    assert_eq!(began.elapsed(), Duration::from_secs(50));
    let detail = outcome.record.detail();
    assert!(detail.contains("`slow 2`") && detail.contains("longer than 50 s"), "{detail}");
    assert!(outcome.permit().is_refused());
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_have_a_deadline_of_its_own() {
    let runner = Runner::builder()
        .runtime(Paused::runtime())
        .register(
            decide_async("slow", |_cx, _: &ToolPre| async {
                tokio::time::sleep(Duration::from_secs(2)).await;
                Ok(Decision::none())
            })
            .deadline(Duration::from_millis(250)),
        )
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = runner.dispatch(&operation, ToolPre::from(ToolCall::new("t"))).await;
    assert!(outcome.record.detail().contains("no answer within 250 ms"));
    assert!(outcome.permit().is_refused());
}
