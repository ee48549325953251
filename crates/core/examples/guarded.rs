//! A tiny agent whose tool calls pass through Tollgate: `cargo run -p tollgate-core --example guarded`.
//!
//! The agent's "model" is a list of calls, so that the example needs no key and no network.

// The library has no file system; a program that uses it has.
#![allow(clippy::disallowed_methods)]

use std::error::Error;
use std::io::Write;

use serde_json::json;
use tollgate_core::patch::ResultPatch;
use tollgate_core::policy::{Policies, allow, deny, workspace_only};
use tollgate_core::prelude::*;

/// Holds commands to a time limit, by rewriting them.
struct TimeLimit;

impl Hook for TimeLimit {
    async fn pre_tool_call(&self, _cx: &OperationContext, call: &ToolPre) -> HookResult<ToolPre> {
        let Some(line) = call.text("CommandLine") else { return Ok(Answer::none()) };
        if line.starts_with("timeout ") {
            return Ok(Answer::none());
        }
        Ok(Answer::set_args([("CommandLine", json!(format!("timeout 60 {line}")))]))
    }
}

/// Sets up the hooks and policies.
pub fn runner() -> Result<Runner, Box<dyn Error>> {
    let policies = Policies::builder()
        .rules(workspace_only(["/workspace"], std::fs::read_link))
        .rules([
            deny("run_command")
                .when(|call| call.text("CommandLine").is_some_and(|line| line.contains("rm ")))
                .reason("Deleting files is not part of the job."),
            allow("run_command"),
            allow("view_file"),
        ])
        .build()?;
    let redact = transform("redact", |_cx, done: &ToolPost| match done.result.as_str() {
        Some(text) => Answer::rewrite(ResultPatch(text.replace("hunter2", "•••").into())),
        None => Answer::deny("Only text is passed on here."),
    });
    Ok(Runner::builder()
        .register(Registration::hook("time-limit", TimeLimit).tool("run_command"))
        .register(redact)
        .policies(policies)
        .build()?)
}

/// One tool call, from the model's wish to what the model gets.
pub async fn run(runner: &Runner, turn: &TurnContext, call: ToolCall) -> String {
    let operation = turn.operation();
    let approved = match runner.dispatch(&operation, ToolPre::from(call)).await.permit() {
        Permit::Granted(approved) => approved,
        Permit::Ask(pending) => return format!("a person is asked: {}", pending.reason()),
        Permit::Refused(refusal) => {
            return format!("refused: {}\n    for the person: {}", refusal.reason, refusal.detail);
        }
    };
    // Here an agent would run the tool. This one only says what it would run.
    let result =
        json!(format!("ran {} {} (password hunter2)", approved.name, json!(approved.args)));
    let done = ToolPost::new(approved.into_inner().call, result);
    // The result, too, is only what it is permitted to be.
    match runner.dispatch(&operation, done).await.permit() {
        Permit::Granted(done) => text_of(&done.result),
        Permit::Ask(_) => "its result is held back".to_owned(),
        Permit::Refused(refusal) => format!("its result is held back: {refusal}"),
    }
}

fn text_of(result: &serde_json::Value) -> String {
    result.as_str().map_or_else(|| result.to_string(), str::to_owned)
}

/// What the "model" wants to do.
pub fn wishes() -> Vec<ToolCall> {
    vec![
        ToolCall::new("view_file").arg("AbsolutePath", "/workspace/src/main.rs"),
        ToolCall::new("view_file").arg("AbsolutePath", "/workspace/../etc/passwd"),
        ToolCall::new("run_command").arg("CommandLine", "cargo test"),
        ToolCall::new("run_command").arg("CommandLine", "rm -rf target"),
    ]
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let runner = runner()?;
    let session = SessionContext::new(SessionInfo::default());
    let turn = session.turn();
    let mut out = std::io::stdout().lock();
    for call in wishes() {
        writeln!(out, "{} {}", call.name, json!(call.args))?;
        writeln!(out, "    {}", run(&runner, &turn, call).await)?;
    }
    Ok(())
}
