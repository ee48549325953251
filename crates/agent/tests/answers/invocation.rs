//! `invocation.end`.

use serde_json::{Map, json};
use tollgate_core::prelude::*;
use tollgate_core::verdict::Flow;
use tollgate_model::script::Line;

use crate::scene::{Events, results, say, was_sent};
use crate::support::World;

fn speak() -> Line {
    Line::call("say", json!({"text": "spoken"}))
}

/// A hook that answers this after the first call of the model.
fn once(answer: Decision<InvocationEnd>) -> Registration {
    decide("once", move |_, end: &InvocationEnd| match end.invocation {
        0 => answer.clone(),
        _ => Decision::none(),
    })
}

#[tokio::test]
async fn what_is_injected_behind_the_calls_is_in_the_next_request() {
    let world = World::new(vec![speak(), speak(), Line::say("Done.")]);
    let args = Map::from_iter([("text".to_owned(), json!("injected"))]);
    let answer = Decision::none()
        .inject(Step::UserMessage("From a user.".to_owned()))
        .inject(Step::SystemMessage("From the system.".to_owned()))
        .inject(Step::EphemeralMessage("Psst.".to_owned()))
        .inject(Step::ToolCall { name: "say".to_owned(), args })
        .context("It is noon.");
    let agent = world.start(world.builder().tool(say()).hook(once(answer))).await;
    agent.chat("Go.").await.unwrap();
    for request in [1, 2] {
        assert!(was_sent(&world, request, "user", "From a user."));
        assert!(was_sent(&world, request, "system", "From the system."));
        assert!(was_sent(&world, request, "system", "It is noon."));
        assert_eq!(was_sent(&world, request, "system", "Psst."), request == 1);
    }
    assert_eq!(results(&world, 1), ["spoken", "injected"]);
    agent.stop().await;
}

#[tokio::test]
async fn the_loop_can_be_made_to_go_on() {
    let world = World::new(vec![Line::say("Done."), Line::say("Really.")]);
    let reason = "You are not.".to_owned();
    let hook = once(Decision::from_verdict(Flow::ForceContinue { reason }));
    let agent = world.start(world.builder().hook(hook)).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.text, "Really.");
    assert!(was_sent(&world, 1, "system", "You are not."));
    agent.stop().await;
}

#[tokio::test]
async fn going_on_has_a_budget() {
    let world = World::new((0..20).map(|_| Line::say("Done.")).collect());
    let hook = decide("never", |_, _: &InvocationEnd| Decision::force_continue());
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(world.requests().len(), 9);
    agent.stop().await;
}

#[tokio::test]
async fn a_terminated_loop_calls_no_model_and_asks_no_stop_hook() {
    let world =
        World::new(vec![Line::say("First.").and_call("say", json!({})), Line::say("Done.")]);
    let events = Events::default();
    let builder = world
        .builder()
        .tool(say())
        .hook(events.hook())
        .hook(once(Decision::terminate("Enough.")))
        .hook(decide("more", |_, _: &Stop| Decision::go_on("More.")));
    let agent = world.start(builder).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!((response.text.as_str(), response.error), ("First.", None));
    assert_eq!(world.requests().len(), 1);
    // The next turn is as any other, and the history is one that a model takes.
    agent.chat("On.").await.unwrap();
    assert_eq!(world.server.seen()[1].status, 200);
    agent.stop().await;
    assert_eq!(events.count(Kind::TurnEnd), 2);
    assert_eq!(events.of(Kind::ToolPost).len(), 1);
}

#[tokio::test]
async fn a_hook_of_invocation_end_that_fails_changes_nothing() {
    let world = World::new(vec![speak(), Line::say("Done.")]);
    let hook =
        decide("broken", |_, _: &InvocationEnd| Err::<Decision<InvocationEnd>, _>("out of order"));
    let agent = world.start(world.builder().tool(say()).hook(hook)).await;
    assert_eq!(agent.chat("Go.").await.unwrap().text, "Done.");
    assert_eq!(world.requests().len(), 2);
    agent.stop().await;
}
