//! What a long session keeps in memory: its history, and nothing beside it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;

use serde_json::json;
use tollgate_agent::{Agent, Started};
use tollgate_core::prelude::*;
use tollgate_model::Message;
use tollgate_model::script::{Line, Script, Scripted, When};
use tollgate_tools::function;

/// What a call returns: enough for a session that keeps each of them to show.
const RESULT: usize = 32 * 1024;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

async fn session(history_tokens: usize) -> Agent<Started> {
    let large = function("large", "Says much.", |_: Nothing, _: ToolContext| async {
        Ok::<_, String>("x".repeat(RESULT))
    });
    let last_tool = When { last_tool: Some("large".to_owned()), ..When::default() };
    let summarise =
        When { contains: Some("Summarise the conversation".to_owned()), ..When::default() };
    let script = Script::new(vec![
        Line::say("There was much, and it was x.").when(summarise),
        Line::say("That was much.").when(last_tool),
        Line { once: Some(false), ..Line::call("large", json!({})) },
    ]);
    // Hooks of all modes, so that what they keep counts as well.
    let decides = decide("decides", |_cx, _: &ToolPre| Decision::none());
    let rewrites = transform("rewrites", |_cx, done: &ToolPost| match done.result.as_str() {
        Some(text) => Answer::rewrite(ResultPatch(text.replace('x', "y").into())),
        None => Answer::none(),
    });
    let watches = inspect("watches", |_cx, _: &ModelPost| ());
    Agent::builder()
        .model(Scripted::from(script))
        .tool(large)
        .enabled_tools(["large"])
        .hooks([decides, rewrites, watches])
        .limits(|limits| limits.history_tokens = history_tokens)
        .build()
        .start()
        .await
        .unwrap()
}

/// What this process has in memory, in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

async fn turns(agent: &Agent<Started>, count: usize) {
    for _ in 0..count {
        assert_eq!(agent.chat("Go on.").await.unwrap().text, "That was much.");
    }
}

fn history(agent: &Agent<Started>) -> usize {
    let history = agent.conversation().history();
    history.iter().map(Message::text).map(str::len).sum()
}

/// One test, as memory is the process's.
#[tokio::test]
async fn a_session_of_a_thousand_turns_keeps_its_history_and_nothing_else() {
    const MEGABYTE: usize = 1 << 20;
    // With compaction it stays as it is.
    let agent = session(100_000).await;
    turns(&agent, 200).await;
    let before = resident();
    turns(&agent, 800).await;
    let grown = resident().saturating_sub(before);
    let kept = history(&agent);
    agent.stop().await;
    println!(
        "1,000 turns with compaction: {grown} bytes more at the end than after 200, history {kept}"
    );
    assert!(kept < MEGABYTE, "{kept}");
    // Had it kept what the calls returned, it would be 26 MB.
    assert!(grown < 6 * MEGABYTE, "{grown}");

    // Without, it grows with what it keeps.
    let agent = session(usize::MAX).await;
    turns(&agent, 20).await;
    let (before, kept) = (resident(), history(&agent));
    turns(&agent, 100).await;
    let (grown, kept) = (resident().saturating_sub(before), history(&agent) - kept);
    agent.stop().await;
    println!("100 turns without: {grown} bytes, history {kept}");
    assert!(kept >= 100 * RESULT, "{kept}");
    // Twice for a moment, as the model is shown a copy of it.
    assert!(grown < 3 * kept + 6 * MEGABYTE, "{grown} for {kept}");
}
