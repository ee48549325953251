//! What matching costs among many hooks as they come from a file: half of them by exact names, the
//! rest by beginnings of names, lists of names, and a few real regular expressions. And what it
//! costs to set up a runner with a thousand of them, beside parsing the text they would stand in.
//!
//! As in `dispatch.rs`, no future here ever waits, and the payload goes round.

// A bench that cannot be set up has nothing to measure.
#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc)]
// `criterion_group!` makes a public function without words.
#![allow(missing_docs)]

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context as Task, Poll, Waker};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tollgate_core::matcher::Matcher;
use tollgate_core::prelude::*;
use tollgate_core::runner::RunnerBuilder;

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

#[derive(Clone, Copy)]
enum Form {
    Name,
    Glob,
    Regex,
}

/// How many of a thousand hooks have a real regular expression, each another one.
const EXPRESSIONS: usize = 10;

/// The matcher of a hook, as it would be written.
fn written(number: usize, count: usize) -> (Form, String) {
    let expressions = EXPRESSIONS.min(count / 10);
    if number < expressions {
        return (Form::Regex, format!("browser{number}_.*|mcp_[a-z]+_x{number}"));
    }
    match number % 4 {
        0 | 1 => (Form::Name, format!("tool_{number:04}")),
        2 => (Form::Glob, format!("file_edit{number}_*")),
        _ => (Form::Regex, format!("run_it_{number}|view_it_{number}")),
    }
}

fn matcher(form: Form, text: &str) -> Matcher {
    match form {
        Form::Name => Matcher::tool(text),
        Form::Glob => Matcher::glob(text).unwrap(),
        Form::Regex => Matcher::regex(text).unwrap(),
    }
}

fn quiet(name: String) -> Registration {
    decide(name, |_cx, _call: &ToolPre| Decision::none())
}

fn registrations(count: usize) -> Vec<Registration> {
    (0..count)
        .map(|number| {
            let (form, text) = written(number, count);
            quiet(format!("hook-{number}")).matching(matcher(form, &text))
        })
        .collect()
}

fn runner(registrations: Vec<Registration>) -> Runner {
    let builder = Runner::builder();
    registrations.into_iter().fold(builder, RunnerBuilder::register).build().unwrap()
}

/// A file with these hooks, of the usual size.
fn file(count: usize) -> String {
    let hook = |number: usize| {
        let command = format!("/opt/hooks/bin/check --number {number} --format json");
        let handler = json!({"type": "command", "command": command, "timeout": 30});
        json!({
            "name": format!("hook-{number}"),
            "matcher": written(number, count).1,
            "description": "Looks at the call before it is made",
            "hooks": [handler],
        })
    };
    json!({"PreToolUse": (0..count).map(hook).collect::<Vec<_>>()}).to_string()
}

/// Dispatches the same payload again and again, to one hook that asks for it.
struct Loop<'a> {
    runner: &'a Runner,
    cx: OperationContext,
    event: Option<ToolPre>,
}

impl<'a> Loop<'a> {
    fn new(runner: &'a Runner, call: ToolCall) -> Self {
        let cx = SessionContext::new(SessionInfo::default()).turn().operation();
        let call = call.arg("CommandLine", "cargo test --workspace").id("c-17");
        let mut this = Self { runner, cx, event: Some(call.into()) };
        assert_eq!(this.once(), 1);
        this
    }

    fn once(&mut self) -> usize {
        let outcome = now(self.runner.dispatch(&self.cx, self.event.take().unwrap()));
        // By reference: the outcome is used where it is returned, so moving it is not measured.
        black_box(&outcome);
        let asked = outcome.record.answers.len();
        self.event = Some(outcome.into_parts().event);
        asked
    }
}

fn one_of_many(c: &mut Criterion) {
    let mut group = c.benchmark_group("one_of_many");
    for count in [10, 1000] {
        let runner = runner(registrations(count));
        let last = count - 10;
        for (name, call) in [
            ("exact", ToolCall::new(format!("tool_{:04}", last + 4 - last % 4))),
            ("list", ToolCall::new(format!("view_it_{}", last + 3 - last % 4))),
            ("prefix", ToolCall::new(format!("file_edit{}_now", last + 6 - last % 4))),
            ("expression", ToolCall::new("mcp_abc_x0")),
        ] {
            let mut dispatches = Loop::new(&runner, call);
            group.bench_function(BenchmarkId::new(name, count), |b| {
                b.iter(|| dispatches.once());
            });
        }
    }
    group.finish();
}

/// Names that never came before, of which no more are remembered.
fn new_names(c: &mut Criterion) {
    let mut group = c.benchmark_group("new_names");
    for count in [10, 1000] {
        let runner = runner(registrations(count));
        let cx = SessionContext::new(SessionInfo::default()).turn().operation();
        let (last, mut number) = (count - 10, 0);
        let prefix = format!("file_edit{}_", last + 6 - last % 4);
        group.bench_function(BenchmarkId::new("prefix", count), |b| {
            let next = || {
                number += 1;
                ToolPre::from(ToolCall::new(format!("{prefix}{number:08}")))
            };
            b.iter_batched(next, |event| now(runner.dispatch(&cx, event)), BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn setting_up(c: &mut Criterion) {
    let mut group = c.benchmark_group("setting_up_1000");
    let text = file(1000);
    group.bench_function(format!("parse_json_{}_kb", text.len() / 1000), |b| {
        b.iter(|| serde_json::from_str::<Value>(black_box(&text)).unwrap());
    });
    group.bench_function("matchers", |b| {
        let written: Vec<_> = (0..1000).map(|number| written(number, 1000)).collect();
        b.iter(|| written.iter().map(|(form, text)| matcher(*form, text)).collect::<Vec<_>>());
    });
    group.bench_function("build", |b| {
        b.iter_batched(|| registrations(1000), runner, BatchSize::LargeInput);
    });
    group.bench_function("matchers_and_build", |b| b.iter(|| runner(registrations(1000))));
    group.bench_function("reload", |b| {
        let runner = Runner::builder().build().unwrap();
        runner.reload(registrations(1000)).unwrap();
        b.iter(|| runner.reload(registrations(1000)).unwrap());
    });
    group.finish();
}

criterion_group!(benches, one_of_many, new_names, setting_up);
criterion_main!(benches);
