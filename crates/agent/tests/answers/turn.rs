//! `turn.start` and `turn.end`.

use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Events, was_sent};
use crate::support::World;

#[tokio::test]
async fn a_denied_prompt_reaches_no_model_and_the_response_says_why() {
    let world = World::new(vec![Line::say("one")]);
    let events = Events::default();
    let hook = decide("guard", |_, turn: &TurnStart| match turn.prompt.as_str() {
        "Steal." => Decision::deny("not here"),
        _ => Decision::none(),
    });
    let agent = world.start(world.builder().hook(events.hook()).hook(hook)).await;
    let response = agent.chat("Steal.").await.unwrap();
    assert_eq!(response.text, "not here");
    assert!(response.refused.unwrap().detail.contains("guard"));
    assert!(world.requests().is_empty());
    // Nor does the model learn of it later.
    agent.chat("Go.").await.unwrap();
    assert!(!world.was_told(0, "Steal.") && !world.was_told(0, "not here"));
    agent.stop().await;
    assert_eq!((events.count(Kind::TurnStart), events.count(Kind::TurnEnd)), (2, 1));
}

#[tokio::test]
async fn context_of_turn_start_comes_with_the_prompt() {
    let world = World::new(vec![Line::say("one")]);
    let hook = decide("clock", |_, _: &TurnStart| Decision::none().context("It is noon."));
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(was_sent(&world, 0, "user", "Go."));
    assert!(was_sent(&world, 0, "system", "It is noon."));
    agent.stop().await;
}

#[tokio::test]
async fn the_model_gets_the_prompt_that_hooks_made_of_it() {
    let world = World::new(vec![Line::say("one")]);
    let hook = transform("mask", |_, turn: &TurnStart| {
        Answer::rewrite(PromptPatch(turn.prompt.replace("hunter2", "•••")))
    });
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Use hunter2.").await.unwrap();
    assert!(was_sent(&world, 0, "user", "Use •••."));
    assert!(!world.was_told(0, "hunter2"));
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_of_turn_start_that_fails_refuses_the_prompt() {
    for panics in [true, false] {
        let world = World::new(vec![Line::say("one")]);
        let hook = decide("broken", move |_, _: &TurnStart| {
            assert!(!panics, "broken");
            Err::<Decision<TurnStart>, _>("out of order")
        });
        let agent = world.start(world.builder().hook(hook)).await;
        let response = agent.chat("Go.").await.unwrap();
        assert!(response.text.contains("could not be completed"), "{}", response.text);
        assert!(response.refused.is_some());
        assert!(world.requests().is_empty());
        agent.stop().await;
    }
}

#[tokio::test]
async fn turn_end_sends_back_with_its_reason() {
    let world = World::new(vec![Line::say("Done."), Line::say("Done, with tests.")]);
    let hook = decide("tests", |_, turn: &TurnEnd| {
        if turn.response.contains("tests") {
            Decision::none()
        } else {
            Decision::go_on("Where are the tests?")
        }
    });
    let agent = world.start(world.builder().hook(hook)).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.text, "Done, with tests.");
    assert_eq!(world.requests().len(), 2);
    assert!(was_sent(&world, 1, "assistant", "Done."));
    assert!(was_sent(&world, 1, "system", "Where are the tests?"));
    agent.stop().await;
}

#[tokio::test]
async fn turn_end_sends_back_until_the_budget_is_spent() {
    let world = World::new((0..20).map(|_| Line::say("Done.")).collect());
    let hook = decide("never", |_, _: &TurnEnd| Decision::go_on("More."));
    let agent = world.start(world.builder().hook(hook)).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.text, "Done.");
    // Once, and eight times again.
    assert_eq!(world.requests().len(), 9);
    agent.stop().await;
}

#[tokio::test]
async fn an_error_is_not_told_of_a_turn_that_was_sent_back_and_went_well() {
    let world = World::new(vec![Line::error("hiccup"), Line::say("Done.")]);
    let hook = decide("again", |_, turn: &TurnEnd| {
        if turn.response.is_empty() { Decision::go_on("Again.") } else { Decision::none() }
    });
    let agent = world.start(world.builder().hook(hook)).await;
    let response = agent.chat("Go.").await.unwrap();
    assert!(was_sent(&world, 1, "system", "Again."));
    assert_eq!((response.text.as_str(), response.error), ("Done.", None));
    agent.stop().await;
}

#[tokio::test]
async fn the_response_is_what_turn_end_made_of_it() {
    let world = World::new(vec![Line::say("The key is hunter2.")]);
    let hook = transform("mask", |_, turn: &TurnEnd| {
        Answer::rewrite(ResponsePatch(turn.response.replace("hunter2", "•••")))
    });
    let agent = world.start(world.builder().hook(hook)).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.text, "The key is •••.");
    assert_eq!(world.requests().len(), 1);
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_of_turn_end_that_fails_sends_back() {
    let world = World::new((0..20).map(|_| Line::say("Done.")).collect());
    let hook = decide("broken", |_, _: &TurnEnd| Err::<Decision<TurnEnd>, _>("out of order"));
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(1, "could not be completed"));
    assert_eq!(world.requests().len(), 9);
    agent.stop().await;
}
