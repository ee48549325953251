//! `session.start`, `session.end`, `facet.switch`, `error`.

use serde_json::json;
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Events, was_sent};
use crate::support::World;

#[tokio::test]
async fn context_of_session_start_is_in_every_request() {
    let world = World::new(vec![Line::say("one"), Line::say("two")]);
    let hook = decide("house", |_, _: &SessionStart| Decision::none().context("Be brief."));
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    agent.chat("On.").await.unwrap();
    for request in 0..2 {
        assert_eq!(world.messages(request)[0], ("system".to_owned(), "Be brief.".to_owned()));
    }
    agent.stop().await;
}

#[tokio::test]
async fn a_session_begins_though_a_hook_of_its_start_fails() {
    let world = World::new(vec![Line::say("one")]);
    let builder = world
        .builder()
        .hook(decide("panics", |_, _: &SessionStart| -> Decision<SessionStart> { panic!("no") }))
        .hook(decide("speaks", |_, _: &SessionStart| Decision::none().context("Be brief.")));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert!(was_sent(&world, 0, "system", "Be brief."));
    agent.stop().await;
}

#[tokio::test]
async fn the_end_of_a_session_is_told_once() {
    let world = World::new(vec![]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook())).await;
    assert_eq!(events.count(Kind::SessionEnd), 0);
    agent.stop().await;
    assert_eq!(events.of(Kind::SessionStart), [json!({"model": "openai/test"})]);
    assert_eq!(events.of(Kind::SessionEnd), [json!({"model": "openai/test"})]);
    assert!(world.requests().is_empty());
}

#[tokio::test]
async fn a_switch_of_facet_is_told_and_the_model_gets_its_instructions() {
    let world = World::new(vec![Line::say("one")]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook())).await;
    agent.switch_facet("reviewer", Some("You review now.".to_owned())).await;
    agent.switch_facet("writer", None).await;
    agent.chat("Go.").await.unwrap();
    assert!(was_sent(&world, 0, "system", "You review now."));
    agent.stop().await;
    let model = "openai/test";
    let mut switches = events.of(Kind::FacetSwitch);
    switches.sort_by_key(|switch| switch["to"].to_string());
    assert_eq!(
        switches,
        [
            json!({"from": "default", "to": "reviewer", "model": model}),
            json!({"from": "reviewer", "to": "writer", "model": model}),
        ]
    );
}

#[tokio::test]
async fn a_model_that_fails_is_told_as_an_error() {
    let world = World::new(vec![Line::error("the machine burns")]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook())).await;
    let response = agent.chat("Go.").await.unwrap();
    assert!(response.error.unwrap().contains("the machine burns"));
    agent.stop().await;
    let errors = events.of(Kind::Failure);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(
        (&errors[0]["origin"], &errors[0]["model"]),
        (&json!("model"), &json!("openai/test"))
    );
    assert!(errors[0]["error"].as_str().unwrap().contains("the machine burns"), "{errors:?}");
}
