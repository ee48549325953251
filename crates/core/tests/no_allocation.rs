//! Where nothing matches, a dispatch allocates nothing: hooks and rules for other tools are free.

// Clippy takes helpers of tests for code of the library.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::future::Future;
use std::pin::pin;
use std::task::{Context as Task, Poll, Waker};

use allocation_counter::measure;
use tollgate_core::policy::deny;
use tollgate_core::prelude::*;

/// The result of a future that is ready at once; an executor would allocate.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Task::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn operation() -> OperationContext {
    SessionContext::new(SessionInfo::default()).turn().operation()
}

fn own_tool() -> ToolPre {
    ToolCall::new("run_command").arg("CommandLine", "ls").id("c-1").into()
}

fn mcp_tool() -> ToolPre {
    ToolCall::new("search").server("docs").arg("q", "hooks").into()
}

fn quiet(name: String) -> Registration {
    decide(name, |_cx, _call: &ToolPre| Decision::none())
}

fn build(hooks: impl IntoIterator<Item = Registration>) -> Runner {
    hooks
        .into_iter()
        .fold(Runner::builder(), tollgate_core::runner::RunnerBuilder::register)
        .build()
        .unwrap()
}

/// How often a dispatch allocates, from handing over the event to dropping the outcome.
fn allocations(runner: &Runner, event: &ToolPre) -> u64 {
    let operation = operation();
    let dispatch = |event| drop(now(runner.dispatch(&operation, event)));
    // The first call fills caches that later ones use: those of the patterns, and the thread's own.
    dispatch(event.clone());
    let event = event.clone();
    let mut answers = None;
    let counted = measure(|| {
        let outcome = now(runner.dispatch(&operation, event));
        answers = Some(outcome.record.answers.len());
        drop(outcome);
    });
    assert_eq!(answers, Some(0), "a hook was asked that is about another tool");
    counted.count_total
}

#[test]
fn counting_counts() {
    // Were the counter not in place, every other test here would pass.
    assert_eq!(measure(|| drop(std::hint::black_box(Box::new(7)))).count_total, 1);
}

#[test]
fn without_hooks() {
    let runner = build([]);
    assert_eq!(allocations(&runner, &own_tool()), 0);
    assert_eq!(allocations(&runner, &mcp_tool()), 0);
}

#[test]
fn with_a_thousand_hooks_for_other_tools() {
    let own = (0..1000).map(|n| quiet(format!("own-{n}")).tool(&format!("tool_{n}")));
    let runner = build(own);
    assert_eq!(allocations(&runner, &own_tool()), 0);
    assert_eq!(allocations(&runner, &mcp_tool()), 0);

    let mcp = (0..1000).map(|n| quiet(format!("mcp-{n}")).tool(&format!("docs/tool_{n}")));
    let servers = (0..1000).map(|n| quiet(format!("server-{n}")).tool(&format!("server_{n}/*")));
    let runner = build(mcp.chain(servers));
    assert_eq!(allocations(&runner, &own_tool()), 0);
    assert_eq!(allocations(&runner, &mcp_tool()), 0);
}

#[test]
fn with_a_thousand_rules_that_miss() {
    let own = (0..1000).map(|n| deny(&format!("tool_{n}")));
    let policies = Policies::builder().rules(own).build().unwrap();
    let runner = Runner::builder().policies(policies.clone()).build().unwrap();
    assert_eq!(allocations(&runner, &own_tool()), 0);
    assert_eq!(allocations(&runner, &mcp_tool()), 0);

    // Alone, too.
    let call = own_tool().call;
    assert_eq!(measure(|| drop(now(policies.decide(&call)))).count_total, 0);

    let mcp = (0..500).map(|n| deny(&format!("docs/tool_{n}")));
    let servers = (0..500).map(|n| deny(&format!("server_{n}/*")));
    let policies = Policies::builder().rules(mcp.chain(servers)).servers([]).build().unwrap();
    let runner = Runner::builder().policies(policies).build().unwrap();
    assert_eq!(allocations(&runner, &own_tool()), 0);
    assert_eq!(allocations(&runner, &mcp_tool()), 0);
}

#[test]
fn with_patterns_that_do_not_match() {
    let regexes =
        (0..20).map(|n| quiet(format!("regex-{n}")).regex(&format!("(edit|write)_{n}.*")));
    let globs = (0..20).map(|n| quiet(format!("glob-{n}")).glob(&format!("file_{n}_*")));
    let runner = build(regexes.chain(globs));
    assert_eq!(allocations(&runner, &own_tool()), 0);
    // Names that no table has and no hook mentions are remembered.
    assert_eq!(allocations(&runner, &mcp_tool()), 0);
    assert_eq!(allocations(&runner, &ToolCall::new("another").into()), 0);
}

#[test]
fn with_more_names_than_are_remembered() {
    let globs = (0..20).map(|n| quiet(format!("glob-{n}")).glob(&format!("file_{n}_*")));
    let runner = build(globs.chain([quiet("regex".to_owned()).regex("[a-f]+_.*")]));
    for number in 0..1000 {
        let event = ToolPre::from(ToolCall::new(format!("name-{number}")));
        drop(now(runner.dispatch(&operation(), event)));
    }
    assert_eq!(allocations(&runner, &ToolCall::new("one more").into()), 0);
}
