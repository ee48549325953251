//! A turn that is given up: nothing of it goes on, and the next one works.

use std::sync::Arc;
use std::time::Duration;

use tollgate_agent::{Agent, AgentError, Started};
use tollgate_core::prelude::*;
use tollgate_model::script::Line;
use tollgate_model::server::Fault;

use crate::scene::{LONG, results, until};
use crate::support::{World, run};

/// Begins a turn, and drops it when this holds.
async fn drop_when(agent: &Agent<Started>, what: &str, holds: impl Fn() -> bool) {
    tokio::select! {
        response = agent.chat("Go.") => panic!("it is over: {response:?}"),
        () = until(what, holds) => {}
    }
}

#[tokio::test]
async fn a_dropped_turn_hangs_up_on_the_model() {
    for fault in [Fault::Silence, Fault::Stall] {
        let world = World::new(vec![Line::say("one"), Line::say("two")]);
        let agent = world.start(world.builder()).await;
        world.server.fail(fault);
        drop_when(&agent, "the model is asked", || !world.requests().is_empty()).await;
        let deadline = std::time::Instant::now() + LONG;
        // The connection is closed by a task of this thread.
        while !world.server.wait_for_hang_ups(1, Duration::ZERO) {
            assert!(std::time::Instant::now() < deadline, "{fault:?}: never");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let response = agent.chat("On.").await.unwrap();
        assert_eq!(response.error, None);
        assert_eq!(world.server.seen()[1].status, 200);
        agent.stop().await;
    }
}

#[tokio::test]
async fn a_dropped_turn_ends_its_command() {
    let world = World::new(vec![run("echo $$ > pid; exec sleep 600"), Line::say("ok")]);
    let agent = world.start(world.builder()).await;
    let path = world.path("pid");
    let pid = || std::fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
    drop_when(&agent, "the command runs", || !pid().is_empty()).await;
    let process = format!("/proc/{}", pid());
    until("the command is gone", || !crate::scene::exists(&process)).await;
    let response = agent.chat("On.").await.unwrap();
    assert_eq!((response.text.as_str(), response.error), ("ok", None));
    assert_eq!(results(&world, 1), ["the turn was cancelled before this call was over"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_dropped_turn_does_not_wait_for_its_hooks() {
    let world = World::new(vec![run("touch made"), Line::say("ok")]);
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let hook = decide_async("slow", move |_, _: &ToolPre| {
        let is_first = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        async move {
            if is_first {
                std::future::pending::<()>().await;
            }
            Ok(Decision::none())
        }
    });
    let agent = world.start(world.builder().hook(hook)).await;
    let is_asked = || asked.load(std::sync::atomic::Ordering::SeqCst) == 1;
    drop_when(&agent, "the hook is asked", is_asked).await;
    assert_eq!(agent.chat("On.").await.unwrap().text, "ok");
    assert!(!crate::scene::exists(&world.path("made")));
    agent.stop().await;
}

#[tokio::test]
async fn a_turn_can_be_cancelled_from_elsewhere() {
    let world = World::new(vec![Line::say("one"), Line::say("two")]);
    let agent = world.start(world.builder()).await;
    world.server.fail(Fault::Silence);
    let cancel = async {
        until("the model is asked", || !world.requests().is_empty()).await;
        agent.cancel();
    };
    let (response, ()) = tokio::join!(agent.chat("Go."), cancel);
    assert!(matches!(response, Err(AgentError::Cancelled)), "{response:?}");
    assert_eq!(agent.chat("On.").await.unwrap().error, None);
    agent.stop().await;
}

/// A slow call, and one behind it that is over when hooks have seen what came of it.
async fn slow_and_quick(world: &World) -> (Agent<Started>, crate::scene::Events) {
    let events = crate::scene::Events::default();
    let builder = world.builder().tool(crate::scene::say()).hook(events.hook());
    (world.start(builder).await, events)
}

fn slow_and_quick_lines() -> Vec<Line> {
    let quick = serde_json::json!({"text": "quick"});
    vec![run("exec sleep 600").and_call("say", quick), Line::say("ok")]
}

const CUT_OFF: &str = "the turn was cancelled before this call was over";

#[tokio::test]
async fn what_was_done_behind_a_slower_call_is_told_after_all() {
    let world = World::new(slow_and_quick_lines());
    let (agent, events) = slow_and_quick(&world).await;
    drop_when(&agent, "one call is over", || events.count(Kind::ToolPost) == 1).await;
    // Not only when somebody goes on: whoever looks at the history sees what happened.
    let history = agent.conversation().history();
    let told: Vec<_> = history.iter().skip(2).map(tollgate_model::Message::text).collect();
    assert_eq!(told, [CUT_OFF, "quick"]);
    agent.chat("On.").await.unwrap();
    assert_eq!(results(&world, 1), [CUT_OFF, "quick"]);
    agent.stop().await;
}

#[tokio::test]
async fn what_was_done_behind_a_slower_call_is_written_down_at_once() {
    let world = World::new(slow_and_quick_lines());
    let (agent, events) = slow_and_quick(&world).await;
    let path = std::path::PathBuf::from(world.path("session/transcript.jsonl"));
    let written = || {
        let lines = tollgate_agent::transcript::read(&path).unwrap().0;
        let history = tollgate_agent::transcript::history(&lines, "main");
        history.iter().skip(2).map(|message| message.text().to_owned()).collect::<Vec<_>>()
    };
    // As if the process had been killed now.
    let is_written = || {
        events.count(Kind::ToolPost) == 1
            && written() == ["the session ended before this call did", "quick"]
    };
    drop_when(&agent, "it is written down", is_written).await;
    assert_eq!(written(), [CUT_OFF, "quick"]);
    agent.stop().await;
}
