//! `subagent.start` and `subagent.stop`, and that hooks see what subagents do.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::prelude::*;
use tollgate_model::script::{Group, Line, Pattern, Script, Whom};

use crate::scene::{Events, results, say, was_sent};
use crate::support::World;

/// A world whose model gives a task to a subagent, which says these lines.
fn world(of_subagent: Vec<Line>) -> World {
    let delegate = Line::call("invoke_subagent", json!({"Name": "helper", "Prompt": "The task."}));
    let first_user = Some(Pattern::new("^The task").unwrap());
    World::with_script(Script::new(vec![delegate, Line::say("ok")]).with_group(Group {
        name: "helper".to_owned(),
        whom: Whom { first_user, ..Whom::default() },
        replies: of_subagent,
    }))
}

fn builder(world: &World) -> tollgate_agent::AgentBuilder {
    world.builder().tool(say()).subagent("helper", "Helps.", "You help.", Some(&["say"]))
}

#[tokio::test]
async fn a_subagent_is_told_of_and_its_answer_reaches_who_started_it() {
    let world = world(vec![Line::call("say", json!({"text": "x"})), Line::say("The answer.")]);
    let events = Events::default();
    let agent = world.start(builder(&world).hook(events.hook())).await;
    agent.chat("Go.").await.unwrap();
    // It knows its task and nothing else.
    let begin = world.messages(1);
    assert_eq!(begin[0], ("system".to_owned(), "You help.".to_owned()));
    assert_eq!(begin[1..], [("user".to_owned(), "The task.".to_owned())]);
    assert_eq!(results(&world, 3), ["The answer."]);
    agent.stop().await;
    let who = json!({"id": "agent-1", "depth": 1});
    let started = json!({"type": "helper", "agent": who, "model": "openai/test"});
    assert_eq!(events.of(Kind::SubagentStart), [started]);
    let stops = events.of(Kind::SubagentStop);
    assert_eq!(
        (stops.len(), &stops[0]["type"], &stops[0]["result"], &stops[0]["agent"]),
        (1, &json!("helper"), &json!("The answer."), &who,)
    );
    let calls = events.of(Kind::ToolPre);
    let by: Vec<_> = calls.iter().map(|call| (&call["name"], &call["agent"])).collect();
    assert_eq!(by, [(&json!("invoke_subagent"), &json!(null)), (&json!("say"), &who)]);
    // Its turn is that of who started it.
    assert_eq!((events.count(Kind::TurnStart), events.count(Kind::Stop)), (1, 1));
}

#[tokio::test]
async fn an_answer_that_is_blocked_is_sent_back_with_the_reason() {
    let world = world(vec![Line::say("Bad."), Line::say("Good.")]);
    let hook = decide("strict", |_, stop: &SubagentStop| {
        if stop.result == Some(json!("Good.")) {
            Decision::none()
        } else {
            Decision::deny("Try again.")
        }
    });
    let agent = world.start(builder(&world).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(
        was_sent(&world, 2, "assistant", "Bad.") && was_sent(&world, 2, "system", "Try again.")
    );
    assert_eq!(results(&world, 3), ["Good."]);
    agent.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_blocked_again_and_again_is_an_error() {
    let world = world((0..9).map(|_| Line::say("Bad.")).collect());
    let events = Events::default();
    let hook = decide("strict", |_, _: &SubagentStop| Decision::deny("Try again."));
    let agent = world.start(builder(&world).hook(events.hook()).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    // The first, three of the subagent, and the last.
    assert_eq!(world.requests().len(), 5);
    assert_eq!(results(&world, 4), ["its answer was not accepted: Try again."]);
    agent.stop().await;
    assert_eq!((events.count(Kind::SubagentStop), events.count(Kind::ToolError)), (3, 1));
}

#[tokio::test]
async fn how_often_it_is_sent_back_can_be_set() {
    let world = world((0..9).map(|_| Line::say("Bad.")).collect());
    let hook = decide("strict", |_, _: &SubagentStop| Decision::deny("Try again."));
    let limited = builder(&world).limits(|limits| limits.subagent_retries = 0);
    let agent = world.start(limited.hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(world.requests().len(), 3);
    assert_eq!(results(&world, 2), ["its answer was not accepted: Try again."]);
    agent.stop().await;
}

#[tokio::test]
async fn who_started_it_gets_the_answer_that_hooks_made_of_it() {
    let world = world(vec![Line::say("The key is hunter2.")]);
    let hook = transform("mask", |_, stop: &SubagentStop| {
        let text = stop.result.as_ref().and_then(|result| result.as_str()).unwrap_or_default();
        Answer::rewrite(ResultPatch(text.replace("hunter2", "•••").into()))
    });
    let agent = world.start(builder(&world).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 2), ["The key is •••."]);
    assert!(!world.was_told(2, "hunter2"));
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_of_subagent_stop_that_fails_lets_no_answer_through() {
    let world = world((0..9).map(|_| Line::say("The answer.")).collect());
    let hook =
        decide("broken", |_, _: &SubagentStop| Err::<Decision<SubagentStop>, _>("out of order"));
    let agent = world.start(builder(&world).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    let told = results(&world, 4);
    assert!(told[0].contains("not accepted") && !told[0].contains("The answer."), "{told:?}");
    agent.stop().await;
}

#[tokio::test]
async fn what_a_subagent_does_passes_the_hooks_of_the_session() {
    let world = world(vec![
        Line::call("say", json!({"text": "x"})),
        Line::call("run_command", json!({"CommandLine": "touch made"})),
        Line::say("{{last_tool.content}}"),
    ]);
    let hook = decide("deny", |_, _: &ToolPre| Decision::deny("say nothing")).tool("say");
    let agent = world.start(builder(&world).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 2), ["say nothing"]);
    // It has the tools that it was given, and no others.
    assert!(results(&world, 3)[1].contains("there is no tool `run_command`; the tools are say"));
    assert!(!crate::scene::exists(&world.path("made")));
    agent.stop().await;
}

#[tokio::test]
async fn an_answer_from_the_background_comes_as_a_message() {
    let first_user = Some(Pattern::new("^The task").unwrap());
    let args = json!({"Name": "helper", "Prompt": "The task.", "Background": true});
    let lines = vec![Line::call("invoke_subagent", args), Line::say("ok"), Line::say("thanks")];
    let world = World::with_script(Script::new(lines).with_group(Group {
        name: "helper".to_owned(),
        whom: Whom { first_user, ..Whom::default() },
        replies: vec![Line::say("The answer.")],
    }));
    // It is still at work when the turn ends.
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let hold = decide_async("hold", move |_, _: &SubagentStop| {
        let opened = Arc::clone(&opened);
        async move {
            drop(opened.acquire().await?);
            Ok(Decision::none())
        }
    });
    let agent = world.start(builder(&world).hook(hold)).await;
    agent.chat("Go.").await.unwrap();
    gate.add_permits(1);
    let response = agent.next_triggered().await.unwrap();
    assert_eq!(response.text, "thanks");
    let last = world.requests().len() - 1;
    assert!(was_sent(&world, last, "user", "Message from agent-1:\nThe answer."));
    agent.stop().await;
}
