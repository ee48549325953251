//! Ways that a call could slip through, or the engine be brought down. Each was one once.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod paused;

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use paused::Paused;
use serde_json::json;
use tollgate_core::audit::MemorySink;
use tollgate_core::policy::{OutcomeKind, PolicyError, allow_all, deny, enforce, workspace_only};
use tollgate_core::prelude::*;
use tollgate_core::target::Reading;

fn operation() -> OperationContext {
    SessionContext::new(SessionInfo::default()).turn().operation()
}

fn pre(name: &str) -> ToolPre {
    ToolPre::from(ToolCall::new(name))
}

fn no_links(_path: std::path::PathBuf) -> std::io::Result<std::path::PathBuf> {
    Err(std::io::ErrorKind::InvalidInput.into())
}

#[tokio::test]
async fn a_path_the_host_worked_out_does_not_outlive_a_rewrite() {
    for as_in_the_sdk in [false, true] {
        let mut workspace = workspace_only(["/ws"], no_links);
        if as_in_the_sdk {
            workspace = workspace.as_in_the_sdk();
        }
        let policies = Policies::builder().rules(workspace).rule(allow_all()).build().unwrap();
        let runner = Runner::builder()
            .policies(policies)
            .register(transform("strays", |_cx, call: &ToolPre| {
                let arg = if call.is("view_file") { "AbsolutePath" } else { "TargetFile" };
                Answer::set_args([(arg, json!("/etc/shadow"))])
            }))
            .build()
            .unwrap();
        for tool in ["view_file", "create_file"] {
            let mut event = pre(tool);
            event.call.canonical_path = Some("/ws/a".to_owned());
            let outcome = runner.dispatch(&operation(), event).await;
            assert!(outcome.permit().is_refused(), "{tool}, as in the SDK: {as_in_the_sdk}");
        }
    }
}

#[tokio::test]
async fn workspace_only_holds_under_all_names_even_where_names_are_exact() {
    let policies = Policies::builder()
        .rules(workspace_only(["/ws"], no_links))
        .rule(allow_all())
        .exact_names()
        .build()
        .unwrap();
    let call = ToolCall::new("create_file").arg("TargetFile", "/etc/x");
    assert!(!policies.decide(&call).await.is_allowed());
}

#[tokio::test]
async fn a_fused_name_that_comes_with_a_server_is_that_server_s_tool_too() {
    let policies = enforce([deny("evil/*")], Some(&[])).unwrap();
    let mut call = ToolCall::new("run").server("evil");
    call.readings = Reading::all_of("good__run", "__");
    assert_eq!(policies.decide(&call).await.kind, OutcomeKind::Denied);
}

#[test]
fn a_long_fused_name_takes_little_memory() {
    let info = allocation_counter::measure(|| {
        assert_eq!(Reading::all_of(&"_".repeat(100_000), "_"), []);
        assert!(Reading::all_of(&"a_".repeat(200), "_").len() > 100);
    });
    assert!(info.bytes_max < 1 << 20, "{info:?}");
}

#[tokio::test]
async fn a_hook_of_one_tool_still_guards_prompts() {
    struct Guard;
    impl Hook for Guard {
        async fn pre_turn(&self, _: &TurnContext, _: &TurnStart) -> HookResult<TurnStart> {
            Ok(Answer::deny("no"))
        }
    }
    let runner = Runner::builder()
        .register(Registration::hook("guard", Guard).tool("run_command"))
        .build()
        .unwrap();
    let turn = SessionContext::new(SessionInfo::default()).turn();
    assert!(runner.dispatch(&turn, TurnStart::new("x")).await.permit().is_refused());
}

struct Nowhere;

impl Hook for Nowhere {
    fn events(&self) -> &'static [Kind] {
        &[Kind::FacetSwitch]
    }
}

#[test]
fn what_would_never_match_is_refused() {
    for tool in ["run_*", "", "*/delete", "/*", "/x", "x/"] {
        let error = enforce([deny(tool)], Some(&[])).unwrap_err();
        assert!(matches!(error, PolicyError::NeverMatches { .. }), "{tool}: {error}");
        let hook = decide("hook", |_cx, _: &ToolPre| Decision::none()).tool(tool);
        let error = Runner::builder().register(hook).build().unwrap_err().to_string();
        assert!(error.contains("`hook`") && error.contains(&format!("`{tool}`")), "{error}");
    }
    let two = decide("two", |_cx, _: &ToolPre| Decision::none()).regex("run_.*").tool("x");
    let error = Runner::builder().register(two).build().unwrap_err().to_string();
    assert!(error.contains("more than one matcher"), "{error}");
    let nowhere = Registration::hook("nowhere", Nowhere).dialect(Dialect::Harness);
    let error = Runner::builder().register(nowhere).build().unwrap_err().to_string();
    assert!(error.contains("handles no event"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_answers_too_late_does_not_count() {
    // Time passes inside one poll: the condition could not be interrupted.
    let late = deny("t").when_async(|_| async {
        tokio::time::advance(Duration::from_secs(31)).await;
        false
    });
    let runner = Runner::builder()
        .runtime(Paused::runtime())
        .policies(enforce([late], None).unwrap())
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), pre("t")).await;
    assert!(outcome.reason().contains("no answer within 30 s"), "{}", outcome.reason());
    assert!(outcome.permit().is_refused());
}

#[tokio::test]
async fn an_approval_that_comes_with_a_rewrite_is_asked_for_again() {
    let runner = Runner::builder()
        .register(transform("signs once", |cx, _: &ToolPre| {
            if cx.is_reask() {
                return Answer::none();
            }
            Answer::allow()
                .permit_resource("command(x)")
                .and_rewrite(ArgsPatch::Set([("a".to_owned(), json!(1))].into_iter().collect()))
        }))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), pre("t")).await;
    assert_eq!(outcome.verdict.level, Level::None);
    assert!(outcome.extra.0.is_empty());
    assert!(outcome.record.answers[0].withdrawn);
    assert!(outcome.record.decisive().is_none());
}

#[tokio::test]
async fn a_hook_that_counts_can_tell_a_question_it_had_before() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let runner = Runner::builder()
        .register(decide("counts", move |cx, _: &ToolPre| {
            if !cx.is_reask() {
                count.fetch_add(1, Ordering::Relaxed);
            }
            Decision::none()
        }))
        .register(transform("sets", |_cx, _: &ToolPre| Answer::set_args([("a", json!(1))])))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), pre("t")).await;
    assert_eq!(outcome.record.answers.len(), 4, "both were asked again");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_inspector_is_told_what_was_decided() {
    let seen = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&seen);
    let runner = Runner::builder()
        .register(decide("denies", |_cx, _: &ToolPre| Decision::deny("no")))
        .register(inspect("watches", move |cx, _: &ToolPre| {
            *noted.lock().unwrap() = cx.decided().cloned();
        }))
        .build()
        .unwrap();
    let _ = runner.dispatch(&operation(), pre("t")).await;
    runner.drain(Duration::from_secs(5)).await;
    assert_eq!(*seen.lock().unwrap(), Some(Word::Deny));
}

/// Wakes a thread that waits for a future.
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, without tokio.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
            return value;
        }
        std::thread::park_timeout(Duration::from_secs(10));
    }
}

fn never() -> Registration {
    decide_async("never", |_cx, _: &ToolPre| std::future::pending())
        .deadline(Duration::from_millis(20))
}

#[test]
fn a_deadline_passes_whatever_the_caller_runs_on() {
    let runner = Runner::builder().register(never()).build().unwrap();
    assert!(block_on(runner.dispatch(&operation(), pre("t"))).permit().is_refused());
    let bare = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(bare.block_on(runner.dispatch(&operation(), pre("t"))).permit().is_refused());
}

#[test]
fn a_deadline_passes_while_inspectors_block_every_thread_they_have() {
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let runner = Runner::builder()
        .register(inspect("blocks", move |_cx, _: &ToolPost| {
            let _ = blocked.lock().unwrap().recv();
        }))
        .register(never())
        .build()
        .unwrap();
    for _ in 0..16 {
        let _ = block_on(runner.dispatch(&operation(), ToolPost::new(ToolCall::new("t"), 1)));
    }
    let began = Instant::now();
    assert!(block_on(runner.dispatch(&operation(), pre("t"))).permit().is_refused());
    assert!(began.elapsed() < Duration::from_secs(5));
    drop(release);
    assert!(block_on(runner.drain(Duration::from_secs(30))).is_empty());
}

#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("in the text of an error");
    }
}

impl std::error::Error for Unspeakable {}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("in the drop of a panic");
    }
}

#[tokio::test]
async fn no_panic_of_somebody_else_s_leaves_a_dispatch() {
    let error = decide_async("error", |_cx, _: &ToolPre| async {
        Err::<Decision<ToolPre>, BoxError>(Box::new(Unspeakable))
    });
    let payload = decide("payload", |_cx, _: &ToolPre| -> Decision<ToolPre> {
        std::panic::panic_any(PanicsWhenDropped)
    });
    for hook in [error, payload] {
        let runner = Runner::builder().register(hook).build().unwrap();
        assert!(runner.dispatch(&operation(), pre("t")).await.permit().is_refused());
    }
    let runner = Runner::builder()
        .validator(|_| panic!("in the validator"))
        .register(transform("sets", |_cx, _: &ToolPre| Answer::set_args([("a", json!(1))])))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), pre("t")).await;
    assert!(outcome.record.detail().contains("the check panicked"));
    assert!(outcome.permit().is_refused());
}

#[tokio::test]
async fn a_dispatch_that_is_given_up_leaves_a_trace() {
    let sink = Arc::new(MemorySink::new(10));
    let runner = Runner::builder()
        .audit(sink.clone())
        .register(decide_async("never", |_cx, _: &ToolPre| std::future::pending()))
        .build()
        .unwrap();
    let operation = operation();
    {
        let mut dispatch = pin!(runner.dispatch(&operation, pre("t")));
        assert!(dispatch.as_mut().poll(&mut Task::from_waker(Waker::noop())).is_pending());
    }
    let entries = sink.entries();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].value()["type"], "given_up");
    assert_eq!(entries[0].value()["event"], "tool.pre");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_inspectors_that_somebody_else_cut_off_is_woken() {
    let runner = Runner::builder()
        .runtime(Paused::runtime())
        .register(inspect_async("stuck", |_cx, _: &ToolPre| std::future::pending()))
        .build()
        .unwrap();
    let _ = runner.dispatch(&operation(), pre("t")).await;
    let began = tokio::time::Instant::now();
    let (quick, slow) =
        tokio::join!(runner.drain(Duration::from_secs(1)), runner.drain(Duration::from_secs(20)),);
    assert_eq!((quick.len(), slow.len()), (1, 0));
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn a_rewrite_is_checked_even_where_nobody_is_asked_again() {
    let runner = Runner::builder()
        .reask(false)
        .register(transform("breaks it", |_cx, _: &ToolPre| {
            Answer::set_args([("CommandLine", json!(1))])
        }))
        .build()
        .unwrap();
    assert!(runner.dispatch(&operation(), pre("run_command")).await.permit().is_refused());
}
