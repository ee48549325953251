//! Replacing the hooks that were loaded, in one step, beside those that are registered in code.

// Clippy takes helpers of tests for code of the library.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_core::matcher::Matcher;
use tollgate_core::policy::deny;
use tollgate_core::prelude::*;
use tollgate_core::registry::RegisterError;

fn quiet(name: &str) -> Registration {
    decide(name, |_cx, _call: &ToolPre| Decision::none())
}

fn names(runner: &Runner, kind: Kind) -> Vec<String> {
    runner.hooks(kind).map(|hook| hook.name.clone()).collect()
}

fn operation() -> OperationContext {
    SessionContext::new(SessionInfo::default()).turn().operation()
}

async fn asked(runner: &Runner, tool: &str) -> Vec<String> {
    let outcome = runner.dispatch(&operation(), ToolPre::from(ToolCall::new(tool))).await;
    let record = &outcome.record;
    record.answers.iter().map(|answer| record.hook(answer).unwrap().name.clone()).collect()
}

#[tokio::test]
async fn what_was_loaded_is_replaced_and_the_rest_stays() {
    let runner = Runner::builder()
        .register(quiet("built"))
        .policies(Policies::builder().rules([deny("rm")]).build().unwrap())
        .build()
        .unwrap();
    let before = runner.version();
    let version = runner
        .reload([quiet("a").tool("t"), inspect("b", |_cx, _: &ToolPost| ()), quiet("c")])
        .unwrap();
    assert_eq!((version, runner.version()), (before + 1, before + 1));
    assert_eq!(names(&runner, Kind::ToolPre), ["built", "a", "c", "policy"]);
    assert_eq!(names(&runner, Kind::ToolPost), ["b"]);
    let loaded: Vec<_> = runner.hooks(Kind::ToolPre).map(|hook| hook.loaded).collect();
    assert_eq!(loaded, [false, true, true, false]);

    runner.register(quiet("registered")).unwrap();
    assert_eq!(asked(&runner, "t").await, ["built", "registered", "a", "c"]);

    assert_eq!(runner.reload([quiet("d").regex("t|u")]), Ok(before + 3));
    assert_eq!(names(&runner, Kind::ToolPre), ["built", "registered", "d", "policy"]);
    assert_eq!(names(&runner, Kind::ToolPost), [] as [&str; 0]);
    assert_eq!(asked(&runner, "u").await, ["built", "registered", "d"]);
    assert_eq!(asked(&runner, "v").await, ["built", "registered"]);

    assert_eq!(runner.reload([]), Ok(before + 4));
    assert_eq!(names(&runner, Kind::ToolPre), ["built", "registered", "policy"]);
    let rm = runner.dispatch(&operation(), ToolPre::from(ToolCall::new("rm"))).await;
    assert!(rm.permit().is_refused(), "policies in code stay in force");
}

#[tokio::test]
async fn loading_the_same_again_changes_no_order() {
    let runner = Runner::builder().register(quiet("built")).build().unwrap();
    let load = || {
        let user = quiet("user").layer(Layer::User);
        runner.reload([quiet("one"), quiet("two"), user, quiet("first").priority(-1)]).unwrap();
        names(&runner, Kind::ToolPre)
    };
    assert_eq!(load(), ["first", "user", "built", "one", "two"]);
    runner.register(quiet("later")).unwrap();
    let order = names(&runner, Kind::ToolPre);
    assert_eq!(order, ["first", "user", "built", "later", "one", "two"]);
    assert_eq!(load(), order);
}

#[tokio::test]
async fn where_one_is_wrong_the_old_ones_stay_in_force() {
    let runner = Runner::builder().register(quiet("built")).build().unwrap();
    runner.reload([quiet("old").tool("t")]).unwrap();
    let version = runner.version();
    let wrong = [
        quiet("bad").regex("("),
        quiet("bad").tool("run_*"),
        quiet(""),
        Registration::named("bad"),
        quiet("bad").matching(Matcher::one_of::<&str>([])),
    ];
    for wrong in wrong {
        runner.reload([quiet("new"), wrong, quiet("newer")]).unwrap_err();
        assert_eq!(runner.version(), version);
        assert_eq!(names(&runner, Kind::ToolPre), ["built", "old"]);
        assert_eq!(asked(&runner, "t").await, ["built", "old"]);
    }
    let none = runner.reload([quiet("bad").matching(Matcher::Targets(vec![]))]);
    assert_eq!(none, Err(RegisterError::NoTargets { hook: "bad".to_owned() }));
}

#[tokio::test]
async fn a_dispatch_under_way_keeps_the_hooks_it_began_with() {
    let runner = Runner::builder().build().unwrap();
    let reloaded = Arc::new(AtomicBool::new(false));
    let first = {
        let (runner, reloaded) = (runner.clone(), Arc::clone(&reloaded));
        decide("first", move |_cx, _call: &ToolPre| {
            runner.reload([quiet("new")]).unwrap();
            reloaded.store(true, Ordering::SeqCst);
            Decision::none()
        })
    };
    runner.reload([first, quiet("second")]).unwrap();
    assert_eq!(asked(&runner, "t").await, ["first", "second"]);
    assert!(reloaded.load(Ordering::SeqCst));
    assert_eq!(asked(&runner, "t").await, ["new"]);
}

#[tokio::test]
async fn what_makes_the_hooks_may_use_the_runner() {
    let runner = Runner::builder().build().unwrap();
    let made = ["a", "b"].into_iter().map(|name| {
        runner.register(quiet(&format!("beside {name}"))).unwrap();
        quiet(name)
    });
    runner.reload(made).unwrap();
    assert_eq!(names(&runner, Kind::ToolPre), ["beside a", "beside b", "a", "b"]);
}
