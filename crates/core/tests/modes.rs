//! What the modes promise, enforced: an inspector changes and delays nothing, a decider does not
//! modify, a transformer that fails closes.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod paused;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use paused::Paused;
use serde_json::json;
use tollgate_core::audit::MemorySink;
use tollgate_core::patch::{ArgsPatch, ResultPatch};
use tollgate_core::prelude::*;
use tollgate_core::verdict::Level;

fn operation() -> OperationContext {
    SessionContext::new(SessionInfo::default()).turn().operation()
}

fn call() -> ToolPre {
    ToolPre::from(ToolCall::new("t").arg("a", 1))
}

fn set_a() -> ArgsPatch {
    ArgsPatch::Set([("a".to_owned(), json!(2))].into_iter().collect())
}

/// A hook that tries everything it is not always allowed to.
struct Greedy;

impl Hook for Greedy {
    async fn pre_tool_call(&self, _cx: &OperationContext, _: &ToolPre) -> HookResult<ToolPre> {
        Ok(Answer::rewrite(set_a()))
    }
    async fn post_tool_call(&self, _cx: &OperationContext, _: &ToolPost) -> HookResult<ToolPost> {
        Ok(Answer::deny("no").and_rewrite(ResultPatch(json!("changed"))))
    }
}

#[tokio::test]
async fn a_decider_that_modifies_closes_its_gate() {
    let registration = Registration::hook("greedy", Greedy).mode(Mode::Decide);
    let runner = Runner::builder().register(registration).build().unwrap();
    let outcome = runner.dispatch(&operation(), call()).await;
    assert_eq!(outcome.verdict.level, Level::Deny);
    assert_eq!(outcome.event, call(), "nothing was rewritten");
    let detail = outcome.record.detail();
    assert!(detail.contains("`greedy`") && detail.contains("may not rewrite"), "{detail}");
}

#[tokio::test]
async fn a_mode_can_only_be_lowered() {
    let registration = decide("decider", |_cx, _: &ToolPre| Decision::none()).mode(Mode::Transform);
    let runner = Runner::builder().register(registration).build().unwrap();
    assert_eq!(runner.hooks(Kind::ToolPre).next().unwrap().mode, Mode::Decide);
}

#[tokio::test]
async fn an_inspector_changes_nothing() {
    let sink = Arc::new(MemorySink::new(10));
    let runner = Runner::builder()
        .register(Registration::hook("greedy", Greedy).mode(Mode::Inspect))
        .audit(sink.clone())
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call()).await;
    assert_eq!((outcome.verdict.level, &outcome.event), (Level::None, &call()));
    let done = ToolPost { call: ToolCall::new("t"), result: json!("as it is") };
    let outcome = runner.dispatch(&operation(), done).await;
    assert_eq!(outcome.event.result, json!("as it is"));
    assert!(outcome.permit().is_granted());
    assert!(runner.drain(Duration::from_secs(5)).await.is_empty());
}

#[tokio::test]
async fn an_inspector_that_blocks_its_thread_delays_nothing() {
    // On a runtime of one thread: if the inspector ran on it, the test would never end.
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let (began, has_begun) = tokio::sync::oneshot::channel();
    let began = Mutex::new(Some(began));
    let runner = Runner::builder()
        .register(inspect("blocks", move |_cx, _: &ToolPre| {
            began.lock().unwrap().take().unwrap().send(()).unwrap();
            let _ = blocked.lock().unwrap().recv();
        }))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call()).await;
    assert!(outcome.permit().is_granted());
    has_begun.await.unwrap();
    assert_eq!(runner.inspections_under_way(), 1);
    drop(release);
    assert!(runner.drain(Duration::from_secs(30)).await.is_empty());
}

#[tokio::test]
async fn inspectors_see_what_really_happened_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watch = |name: &'static str| {
        let seen = Arc::clone(&seen);
        inspect(name, move |_cx, call: &ToolPre| {
            seen.lock().unwrap().push(format!("{name} {}", call.args["a"]));
        })
    };
    let runner = Runner::builder()
        .register(watch("first"))
        .register(Registration::hook("greedy", Greedy))
        .register(watch("second"))
        .register(watch("zeroth").priority(-1))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call()).await;
    assert_eq!(outcome.record.inspectors, Ok(3));
    runner.drain(Duration::from_secs(5)).await;
    assert_eq!(*seen.lock().unwrap(), ["zeroth 2", "first 2", "second 2"]);
}

#[tokio::test]
async fn inspectors_of_a_session_s_start_are_awaited() {
    let done = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&done);
    let runner = Runner::builder()
        .register(inspect("start", move |_cx, _: &SessionStart| {
            noted.fetch_add(1, Ordering::Relaxed);
        }))
        .build()
        .unwrap();
    let session = SessionContext::new(SessionInfo::default());
    let _ = runner.dispatch(&session, SessionStart::default()).await;
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn what_runs_at_the_end_of_a_turn_is_drained_then_cut_off() {
    let sink = Arc::new(MemorySink::new(10));
    let done = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&done);
    let runner = Runner::builder()
        .runtime(Paused::runtime())
        .register(inspect_async("quick", move |_cx, _: &ToolPost| {
            let count = Arc::clone(&count);
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                count.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }))
        .register(inspect_async("stuck", |_cx, _: &ToolPost| std::future::pending()))
        .register(inspect("behind it", |_cx, _: &ToolPost| ()))
        .audit(sink.clone())
        .build()
        .unwrap();
    let session = SessionContext::new(SessionInfo::default());
    let (turn, other) = (session.turn(), session.turn());
    let post = || ToolPost { call: ToolCall::new("t"), result: json!(1) };
    let _ = runner.dispatch(&turn.operation(), post()).await;
    let _ = runner.dispatch(&other.operation(), post()).await;

    let began = tokio::time::Instant::now();
    let outcome = runner.dispatch(&turn, TurnEnd::new("bye")).await;
    assert_eq!(began.elapsed(), Duration::from_secs(2), "the bound of the drain");
    assert_eq!(done.load(Ordering::Relaxed), 2, "the quick ones were waited for");
    let cut: Vec<_> = outcome.record.cut_off.iter().map(|i| i.hook.as_str()).collect();
    assert_eq!(cut, ["stuck", "behind it"]);
    assert!(outcome.record.cut_off[0].error.as_ref().unwrap().to_string().starts_with("cut off"));
    assert!(outcome.record.cut_off[1].error.as_ref().unwrap().to_string().starts_with("not run"));
    assert_eq!(runner.inspections_under_way(), 1, "the other turn's are left alone");

    let outcome = runner.dispatch(&session, SessionEnd::default()).await;
    assert_eq!(outcome.record.cut_off.len(), 2, "the session's end takes the rest");
    assert_eq!(runner.inspections_under_way(), 0);
    let trail: Vec<_> = sink.entries().iter().map(|e| e.value()["type"].clone()).collect();
    assert_eq!(trail.iter().filter(|kind| **kind == "inspection").count(), 2);
}

#[tokio::test]
async fn an_answer_to_another_event_does_not_compile_but_its_word_is_refused() {
    use tollgate_core::verdict::{Finish, Verdict};
    assert_eq!(Gate::from_word(Word::Retry, String::new()), Err(Word::Retry));
    assert_eq!(Finish::from_word(Word::Deny, String::new()), Err(Word::Deny));
}

#[tokio::test]
async fn a_transformer_that_fails_closes_after_others_rewrote() {
    let runner = Runner::builder()
        .register(Registration::hook("greedy", Greedy))
        .register(transform("broken", |_cx, _: &ToolPre| Err::<Answer<ToolPre>, _>("boom")))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call()).await;
    assert!(outcome.record.detail().contains("`broken`, which could not decide: boom"));
    assert!(outcome.permit().is_refused());
}
