//! The hosts one by one: what is particular to each.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cline;
mod copilot;
mod documents;
mod editors;
mod measured;
mod opencode;
mod unexpected;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::Value;
use tollgate_core::context::{SessionContext, SessionInfo};
use tollgate_core::event::{Args, ToolCall};
use tollgate_core::runner::AnyOutcome;
use tollgate_core::verdict::Word;
use tollgate_core::{AnyEvent, Runner, tools};
use tollgate_hosts::{Choices, Host, Incoming, Output, Part, Reply, by_name};

fn host(name: &str) -> &'static Host {
    by_name(name).unwrap_or_else(|| panic!("no host {name}"))
}

fn read(host: &'static Host, event: &str, input: Value) -> Incoming {
    let read = host.read(Some(event), input);
    read.unwrap_or_else(|error| panic!("{} {event}: {error}", host.name)).unwrap()
}

fn calls(incoming: &Incoming) -> Vec<&ToolCall> {
    incoming.parts.iter().filter_map(Part::call).collect()
}

/// Which tool of the table each call is, and the paths it touches.
fn touched(incoming: &Incoming) -> Vec<(String, Vec<String>)> {
    let of = |call: &&ToolCall| {
        let paths = tools::paths(call).unwrap_or_else(|error| panic!("{error}: {call:?}"));
        (call.name.clone(), paths.into_iter().map(|it| it.path.into_owned()).collect())
    };
    calls(incoming).iter().map(of).collect()
}

/// As a table of cases has it.
fn one(tool: &str, paths: &[&str]) -> (String, Vec<String>) {
    (tool.to_owned(), paths.iter().map(|path| (*path).to_owned()).collect())
}

/// What comes of an event that no hook is asked about; then as `change` has it.
fn outcome(event: &AnyEvent, change: impl Fn(&mut AnyOutcome)) -> AnyOutcome {
    let cx = SessionContext::new(SessionInfo::default()).turn().operation();
    let runner = Runner::default();
    let mut dispatch = pin!(runner.dispatch_any(&cx, event.clone()));
    let Poll::Ready(mut outcome) = dispatch.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("there is nobody to wait for");
    };
    change(&mut outcome);
    outcome
}

/// The answer where each part comes to this.
fn answered(incoming: &Incoming, change: impl Fn(&mut AnyOutcome)) -> (Reply, Output) {
    let outcomes: Vec<_> =
        incoming.parts.iter().map(|part| outcome(&part.event, &change)).collect();
    let reply = Reply::of(incoming, &outcomes, Choices::default());
    let output = incoming.host.write(incoming.event, &reply);
    (reply, output)
}

/// With other arguments.
fn rewriting(change: impl Fn(&mut Args)) -> impl Fn(&mut AnyOutcome) {
    move |outcome| {
        if let AnyEvent::ToolPre(event) = &mut outcome.event {
            change(&mut event.call.args);
        }
    }
}

fn deciding(word: Word, reason: &'static str) -> impl Fn(&mut AnyOutcome) {
    move |outcome| {
        outcome.decision = word.clone();
        reason.clone_into(&mut outcome.reason);
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}
