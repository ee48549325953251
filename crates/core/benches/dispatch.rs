//! What a dispatch costs: without hooks, with one that has no opinion, among many that ask for
//! other tools, with policies; what a policy costs alone, and what a context costs.
//!
//! No future here ever waits, so each is polled once, without an executor. The payload goes
//! round: a dispatch takes it by value and gives it back in the outcome, so making it is not in
//! the figures.

// A bench that cannot be set up has nothing to measure.
#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc)]
// `criterion_group!` makes a public function without words.
#![allow(missing_docs)]

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Barrier;
use std::task::{Context as Task, Poll, Waker};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tollgate_core::policy::{Rule, deny};
use tollgate_core::prelude::*;

/// The result of a future that is ready at once. Inlined, so that the future is polled where it is
/// made, as with `.await`, and not moved first.
#[inline(always)]
#[allow(clippy::inline_always)] // moving a future is what must not be measured
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Task::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn operation() -> OperationContext {
    SessionContext::new(SessionInfo::default()).turn().operation()
}

fn call(name: &str) -> ToolCall {
    ToolCall::new(name).arg("CommandLine", "cargo test --workspace").arg("Cwd", "/work").id("c-17")
}

/// The tool that no hook and no rule asks for.
const OTHER: &str = "run_command";

fn tool(number: usize) -> String {
    format!("tool_{number:04}")
}

fn rules(count: usize) -> Vec<Rule> {
    (0..count).map(|number| deny(&tool(number))).collect()
}

fn policies(count: usize) -> Policies {
    Policies::builder().rules(rules(count)).build().unwrap()
}

fn quiet(name: String) -> Registration {
    decide(name, |_cx, _call: &ToolPre| Decision::none())
}

struct Quiet;

impl Hook for Quiet {
    async fn pre_tool_call(&self, _cx: &OperationContext, _call: &ToolPre) -> HookResult<ToolPre> {
        Ok(Answer::none())
    }
}

/// A runner with hooks that each ask for one tool.
fn with_other_hooks(count: usize) -> Runner {
    let hooks = (0..count).map(|number| quiet(format!("hook-{number}")).tool(&tool(number)));
    hooks.fold(Runner::builder(), tollgate_core::runner::RunnerBuilder::register).build().unwrap()
}

fn with_policies(count: usize) -> Runner {
    Runner::builder().policies(policies(count)).build().unwrap()
}

/// Dispatches the same payload again and again.
struct Loop<'a> {
    runner: &'a Runner,
    cx: OperationContext,
    event: Option<ToolPre>,
}

impl<'a> Loop<'a> {
    fn new(runner: &'a Runner, tool: &str) -> Self {
        Self { runner, cx: operation(), event: Some(ToolPre::from(call(tool))) }
    }

    fn once(&mut self) {
        let event = self.event.take().unwrap();
        let outcome = now(self.runner.dispatch(&self.cx, event));
        // By reference: the outcome is used where it is returned, so moving it is not measured.
        black_box(&outcome);
        self.event = Some(outcome.into_parts().event);
    }
}

fn hooks(c: &mut Criterion) {
    let mut group = c.benchmark_group("dispatch");
    let runners = [
        ("no_hooks", Runner::builder().build().unwrap()),
        (
            "one_quiet_closure",
            Runner::builder().register(quiet("quiet".to_owned())).build().unwrap(),
        ),
        (
            "one_quiet_hook",
            Runner::builder().register(Registration::hook("quiet", Quiet)).build().unwrap(),
        ),
        ("10_other_hooks", with_other_hooks(10)),
        ("1000_other_hooks", with_other_hooks(1000)),
    ];
    for (name, runner) in &runners {
        let mut dispatches = Loop::new(runner, OTHER);
        group.bench_function(*name, |b| b.iter(|| dispatches.once()));
    }
    group.finish();
}

fn policy(c: &mut Criterion) {
    let counts = [10, 100, 1000];
    let mut group = c.benchmark_group("policy_dispatch");
    for count in counts {
        let runner = with_policies(count);
        let mut miss = Loop::new(&runner, OTHER);
        group.bench_function(BenchmarkId::new("miss", count), |b| b.iter(|| miss.once()));
        let mut hit = Loop::new(&runner, &tool(count - 1));
        group.bench_function(BenchmarkId::new("last_rule_hits", count), |b| b.iter(|| hit.once()));
    }
    group.finish();

    let mut group = c.benchmark_group("policy_decide");
    for count in counts {
        let policies = policies(count);
        for (name, call) in [("miss", call(OTHER)), ("last_rule_hits", call(&tool(count - 1)))] {
            group.bench_function(BenchmarkId::new(name, count), |b| {
                b.iter(|| black_box(now(policies.decide(black_box(&call)))));
            });
        }
    }
    group.finish();
}

fn context(c: &mut Criterion) {
    let session = SessionContext::new(SessionInfo::default());
    session.set("calls", 4).unwrap();
    session.set("owner", "somebody").unwrap();
    let operation = session.turn().operation();
    operation.set("here", 4).unwrap();

    let mut group = c.benchmark_group("context");
    group.bench_function("get_here", |b| {
        b.iter(|| black_box(operation.get::<u64>(black_box("here")).unwrap()));
    });
    group.bench_function("get_two_above", |b| {
        b.iter(|| black_box(operation.get::<u64>(black_box("calls")).unwrap()));
    });
    group.bench_function("get_text_two_above", |b| {
        b.iter(|| black_box(operation.get::<String>(black_box("owner")).unwrap()));
    });
    group.bench_function("get_missing", |b| {
        b.iter(|| black_box(operation.get::<u64>(black_box("nothing")).unwrap()));
    });
    group.bench_function("set", |b| b.iter(|| operation.set(black_box("here"), 5).unwrap()));
    group.bench_function("update", |b| {
        b.iter(|| {
            let add = |number: Option<u64>| number.unwrap_or(0) + 1;
            black_box(operation.update(black_box("here"), add).unwrap())
        });
    });
    group.finish();
}

/// The time of `rounds` dispatches in each of `threads` threads at once, with contexts of their
/// own and one runner: from the first that begins to the last that is done, so that threads which
/// did not run at once look slow, never fast.
fn at_once(threads: usize, runner: &Runner, rounds: u64) -> Duration {
    let start = Barrier::new(threads);
    let work = || {
        let mut dispatches = Loop::new(runner, OTHER);
        start.wait();
        let begun = Instant::now();
        for _ in 0..rounds {
            dispatches.once();
        }
        (begun, Instant::now())
    };
    let spans: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let begun = spans.iter().map(|(begun, _)| *begun).min().unwrap();
    let done = spans.iter().map(|(_, done)| *done).max().unwrap();
    done - begun
}

/// Per dispatch and thread: where threads do not hinder each other, two take as long as one.
fn threads(c: &mut Criterion) {
    let mut group = c.benchmark_group("threads");
    let runners = [
        ("no_hooks", Runner::builder().build().unwrap()),
        (
            "one_quiet_closure",
            Runner::builder().register(quiet("quiet".to_owned())).build().unwrap(),
        ),
        ("1000_rules_miss", with_policies(1000)),
    ];
    for (name, runner) in &runners {
        for threads in [1, 2] {
            group.bench_function(BenchmarkId::new(*name, threads), |b| {
                b.iter_custom(|rounds| at_once(threads, runner, rounds));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, hooks, policy, context, threads);
criterion_main!(benches);
