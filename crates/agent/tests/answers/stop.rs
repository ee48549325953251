//! `stop`: the agent would hand back.

use serde_json::{Value, json};
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Events, say, was_sent};
use crate::support::{World, run};

/// A hook that sends the agent back the first two times.
fn twice() -> Registration {
    decide("twice", |_, stop: &Stop| match stop.execution {
        1 => Decision::go_on("Go on."),
        2 => Decision::go_on("And on."),
        _ => Decision::none(),
    })
}

fn told(events: &Events) -> Vec<(u64, String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let stops = events.of(Kind::Stop).into_iter();
    stops
        .map(|stop| {
            (
                stop["execution"].as_u64().unwrap(),
                text(&stop["reason"]).unwrap(),
                text(&stop["error"]),
            )
        })
        .collect()
}

fn expected(reason: &str) -> Vec<(u64, String, Option<String>)> {
    (1..=3).map(|execution| (execution, reason.to_owned(), None)).collect()
}

#[tokio::test]
async fn a_model_that_is_done_is_sent_back_with_the_reason() {
    let world = World::new(vec![Line::say("1"), Line::say("2"), Line::say("3")]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook()).hook(twice())).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.text, "3");
    assert!(was_sent(&world, 1, "system", "Go on."));
    assert!(was_sent(&world, 2, "system", "Go on.") && was_sent(&world, 2, "system", "And on."));
    agent.stop().await;
    assert_eq!(told(&events), expected("model_stop"));
    // The turn is one.
    assert_eq!((events.count(Kind::TurnStart), events.count(Kind::TurnEnd)), (1, 1));
}

#[tokio::test]
async fn a_model_that_has_had_its_steps_is_sent_back_with_the_reason() {
    let call = || Line::call("say", json!({"text": "x"}));
    let world = World::new((0..10).map(|_| call()).collect());
    let events = Events::default();
    let builder = world.builder().tool(say()).limits(|limits| limits.steps = 2);
    let agent = world.start(builder.hook(events.hook()).hook(twice())).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.error, None);
    // Three executions of two steps.
    assert_eq!(world.requests().len(), 6);
    assert!(!world.was_told(1, "Go on."));
    assert!(was_sent(&world, 2, "system", "Go on.") && was_sent(&world, 4, "system", "And on."));
    agent.stop().await;
    assert_eq!(told(&events), expected("max_steps_exceeded"));
}

#[tokio::test]
async fn a_model_that_failed_is_called_again_with_the_reason() {
    let world = World::new(vec![Line::error("fire"), Line::error("flood"), Line::say("3")]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook()).hook(twice())).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!((response.text.as_str(), response.error), ("3", None));
    assert!(was_sent(&world, 1, "system", "Go on.") && was_sent(&world, 2, "system", "And on."));
    agent.stop().await;
    let told = told(&events);
    let reasons: Vec<_> = told.iter().map(|(_, reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["error", "error", "model_stop"]);
    let errors: Vec<_> = told.iter().filter_map(|(_, _, error)| error.as_deref()).collect();
    assert!(errors[0].contains("fire") && errors[1].contains("flood"), "{errors:?}");
}

#[tokio::test]
async fn an_agent_is_sent_back_until_the_budget_is_spent() {
    let world = World::new((0..20).map(|_| Line::say("Done.")).collect());
    let events = Events::default();
    let hook = decide("never", |_, _: &Stop| Decision::go_on("More."));
    let agent = world.start(world.builder().hook(events.hook()).hook(hook)).await;
    for turn in 1..=2 {
        let response = agent.chat("Go.").await.unwrap();
        assert_eq!(response.text, "Done.");
        // Each turn has a budget of its own.
        assert_eq!(world.requests().len(), 9 * turn);
    }
    agent.stop().await;
    assert_eq!(events.count(Kind::Stop), 18);
}

#[tokio::test]
async fn a_hook_of_stop_that_fails_sends_back_until_the_budget_is_spent() {
    let world = World::new((0..20).map(|_| Line::say("Done.")).collect());
    let hook = decide("broken", |_, _: &Stop| Err::<Decision<Stop>, _>("out of order"));
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(1, "could not be completed"));
    assert_eq!(world.requests().len(), 9);
    agent.stop().await;
}

#[tokio::test]
async fn what_still_runs_in_the_background_is_told() {
    let background =
        Line::call("run_command", json!({"CommandLine": "sleep 60", "WaitMsBeforeAsync": 0}));
    for (line, idle) in [(run("true"), true), (background, false)] {
        let world = World::new(vec![line, Line::say("Done.")]);
        let events = Events::default();
        let agent = world.start(world.builder().hook(events.hook())).await;
        agent.chat("Go.").await.unwrap();
        agent.stop().await;
        assert_eq!(events.of(Kind::Stop)[0]["idle"], idle);
    }
}
