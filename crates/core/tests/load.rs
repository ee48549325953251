//! Many calls with slow inspectors: bounded memory, nothing dropped unrecorded, no call delayed.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod paused;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use paused::Paused;
use serde_json::json;
use tollgate_core::audit::MemorySink;
use tollgate_core::prelude::*;

const CALLS: usize = 1_000;
const INSPECTORS: usize = 10;

fn call(number: usize) -> ToolPost {
    ToolPost { call: ToolCall::new("t").arg("n", number), result: json!("x") }
}

/// A runner with ten inspectors that take a second each.
fn slow(capacity: usize, done: &Arc<AtomicUsize>, sink: &Arc<MemorySink>) -> Runner {
    let mut builder = Runner::builder().runtime(Paused::runtime()).audit(sink.clone());
    for place in 0..INSPECTORS {
        let done = Arc::clone(done);
        let name = format!("slow {place}");
        builder = builder.register(inspect_async(name, move |_cx, _: &ToolPost| {
            let done = Arc::clone(&done);
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }));
    }
    builder.limits(|limits| limits.inspections = capacity).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_call_is_delayed_and_every_inspector_runs() {
    let (done, sink) = (Arc::default(), Arc::new(MemorySink::new(10 * CALLS)));
    let runner = slow(1_024, &done, &sink);
    let turn = SessionContext::new(SessionInfo::default()).turn();
    let began = tokio::time::Instant::now();
    for number in 0..CALLS {
        let outcome = runner.dispatch(&turn.operation(), call(number)).await;
        assert_eq!(outcome.record.inspectors, Ok(INSPECTORS));
        assert!(outcome.permit().is_granted());
    }
    assert_eq!(began.elapsed(), Duration::ZERO, "no call waited for an inspector");
    assert_eq!(runner.inspections_under_way(), CALLS);
    assert!(runner.drain(Duration::from_mins(1)).await.is_empty());
    assert_eq!(began.elapsed(), Duration::from_secs(INSPECTORS as u64), "side by side");
    assert_eq!(done.load(Ordering::Relaxed), CALLS * INSPECTORS);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_refused_and_recorded() {
    const CAPACITY: usize = 100;
    let (done, sink) = (Arc::default(), Arc::new(MemorySink::new(10 * CALLS)));
    let runner = slow(CAPACITY, &done, &sink);
    let turn = SessionContext::new(SessionInfo::default()).turn();
    let mut refused = 0;
    for number in 0..CALLS {
        let outcome = runner.dispatch(&turn.operation(), call(number)).await;
        assert!(runner.inspections_under_way() <= CAPACITY, "memory is bounded");
        if let Err(error) = &outcome.record.inspectors {
            refused += 1;
            assert!(error.to_string().contains("queue is full"), "{error}");
        }
        assert!(outcome.permit().is_granted(), "an inspector holds nothing up");
    }
    runner.drain(Duration::from_mins(1)).await;
    let ran = done.load(Ordering::Relaxed) / INSPECTORS;
    assert_eq!((ran, refused), (CAPACITY, CALLS - CAPACITY), "each ran or is recorded");

    let entries = sink.entries();
    let dispatches = entries.iter().filter(|entry| entry.value()["type"] == "dispatch");
    let dropped = dispatches
        .clone()
        .filter(|entry| entry.value()["record"]["inspectors"]["kind"] == "queue_full");
    assert_eq!((dispatches.count(), dropped.count()), (CALLS, CALLS - CAPACITY));
    let inspections = entries.iter().filter(|entry| entry.value()["type"] == "inspection");
    assert_eq!(inspections.count(), CAPACITY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dispatching_from_many_tasks_while_hooks_are_registered() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = |name: String| {
        let asked = Arc::clone(&asked);
        decide(name, move |_cx, _: &ToolPre| {
            asked.fetch_add(1, Ordering::Relaxed);
            Decision::none()
        })
    };
    let runner = Runner::builder().register(count("first".to_owned())).build().unwrap();
    let session = SessionContext::new(SessionInfo::default());
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (runner, session) = (runner.clone(), session.clone());
            tokio::spawn(async move {
                for number in 0..200 {
                    let operation = session.turn().operation();
                    let event = ToolPre::from(ToolCall::new("t"));
                    let outcome = runner.dispatch(&operation, event).await;
                    assert_eq!(outcome.record.answers.len() as u64, outcome.record.version);
                    session.update("calls", |n: Option<u64>| n.unwrap_or(0) + 1).unwrap();
                    if task == 0 && number % 20 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for place in 0..10 {
        runner.register(count(format!("later {place}"))).unwrap();
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(session.get("calls").unwrap(), Some(1_600));
    assert!(asked.load(Ordering::Relaxed) >= 1_600);
}
