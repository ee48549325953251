//! The peer: `antigravity-sdk-rust`.

use std::hint::black_box;
use std::sync::Arc;

use antigravity_sdk_rust::hooks::{DynHook, Hook, HookRunner};
use antigravity_sdk_rust::policy::{Policy, allow, deny, enforce};
use antigravity_sdk_rust::types::{HookResult, ToolCall};
use serde_json::json;

use crate::timing::{Work, now, repeat};

pub fn call(name: &str) -> ToolCall {
    ToolCall {
        id: "c-17".to_owned(),
        name: name.to_owned(),
        args: json!({ "CommandLine": "cargo test --workspace", "Cwd": "/work" }),
        canonical_path: None,
    }
}

/// Rules that deny, about these tools. They come as the hook that its runner stores.
pub fn denying(tools: &[String]) -> Arc<dyn DynHook> {
    enforcer(tools.iter().map(|tool| deny(tool)).collect())
}

/// As [`denying`], with rules that allow.
pub fn allowing(tools: &[String]) -> Arc<dyn DynHook> {
    enforcer(tools.iter().map(|tool| allow(tool)).collect())
}

fn enforcer(policies: Vec<Policy>) -> Arc<dyn DynHook> {
    Arc::new(enforce(policies, None).expect("the rules are valid"))
}

struct Quiet;

impl Hook for Quiet {
    async fn pre_tool_call(&self, _call: &ToolCall) -> Result<HookResult, anyhow::Error> {
        Ok(HookResult { allow: true, message: String::new() })
    }
}

/// A hook that has nothing against any call.
pub fn quiet() -> Arc<dyn DynHook> {
    Arc::new(Quiet)
}

pub fn runner(hooks: impl IntoIterator<Item = Arc<dyn DynHook>>) -> HookRunner {
    let runner = HookRunner::new();
    for hook in hooks {
        now(runner.register(hook));
    }
    runner
}

/// The policies alone, as the peer's runner calls them: the boxed future of a `dyn DynHook`.
pub fn policy(enforcer: Arc<dyn DynHook>, tool: &str, allowed: bool) -> Work {
    let call = call(tool);
    let decide = move || now(enforcer.pre_tool_call(black_box(&call)));
    assert_eq!(decide().expect("it decides").allow, allowed);
    Box::new(move |times| repeat(times, &decide))
}

/// A whole dispatch.
pub fn dispatch(runner: &HookRunner, tool: &str, allowed: bool) -> Work {
    let runner = runner.clone();
    let call = call(tool);
    let dispatch = move || now(runner.dispatch_pre_tool_call(black_box(&call)));
    assert_eq!(dispatch().expect("it decides").allow, allowed);
    Box::new(move |times| repeat(times, &dispatch))
}
