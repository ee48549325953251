//! Tollgate.

use std::hint::black_box;

use tollgate_core::policy::{Rule, allow, deny};
use tollgate_core::prelude::*;

use crate::timing::{Work, now, repeat};

pub fn call(name: &str) -> ToolCall {
    ToolCall::new(name).arg("CommandLine", "cargo test --workspace").arg("Cwd", "/work").id("c-17")
}

/// Rules that deny, about these tools.
pub fn denying(tools: &[String]) -> Policies {
    policies(tools.iter().map(|tool| deny(tool)).collect())
}

/// As [`denying`], with rules that allow.
pub fn allowing(tools: &[String]) -> Policies {
    policies(tools.iter().map(|tool| allow(tool)).collect())
}

fn policies(rules: Vec<Rule>) -> Policies {
    Policies::builder().rules(rules).build().expect("the rules are valid")
}

struct Quiet;

impl Hook for Quiet {
    async fn pre_tool_call(&self, _cx: &OperationContext, _call: &ToolPre) -> HookResult<ToolPre> {
        Ok(Answer::none())
    }
}

/// A hook that has nothing against any call.
pub fn quiet() -> Registration {
    Registration::hook("quiet", Quiet)
}

pub fn runner(hooks: impl IntoIterator<Item = Registration>) -> Runner {
    let builder = Runner::builder();
    let builder = hooks.into_iter().fold(builder, tollgate_core::runner::RunnerBuilder::register);
    builder.build().expect("the hooks are valid")
}

/// The policies alone.
pub fn policy(policies: Policies, tool: &str, allowed: bool) -> Work {
    let call = call(tool);
    let decide = move || now(policies.decide(black_box(&call)));
    assert_eq!(decide().is_allowed(), allowed);
    Box::new(move |times| repeat(times, &decide))
}

/// A whole dispatch, with its record. It takes the payload by value and gives it back in the
/// outcome, so one payload goes round.
pub fn dispatch(runner: &Runner, tool: &str, allowed: bool) -> Work {
    let runner = runner.clone();
    let cx = SessionContext::new(SessionInfo::default()).turn().operation();
    let event = ToolPre::from(call(tool));
    let outcome = now(runner.dispatch(&cx, event.clone()));
    assert_eq!(!outcome.permit().is_refused(), allowed);
    let mut event = Some(event);
    Box::new(move |times| {
        for _ in 0..times {
            let given = event.take().expect("each dispatch gives it back");
            let outcome = now(runner.dispatch(&cx, given));
            black_box(&outcome);
            event = Some(outcome.into_parts().event);
        }
    })
}
