//! `interaction`: questions to the person.

use serde_json::{Value, json};
use tollgate_core::event::{Response, Responses};
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Events, Says, results};
use crate::support::World;

fn asks() -> World {
    let questions = json!([
        {"Question": "Which one?", "Options": ["left", "right"]},
        {"Question": "Why?", "Options": []},
        {"Question": "Sure?", "Options": ["yes"]},
    ]);
    World::new(vec![Line::call("ask_question", json!({"Questions": questions})), Line::say("ok")])
}

fn responses() -> Responses {
    let chosen =
        Response { selected_option_ids: Some(vec!["2".to_owned()]), ..Response::default() };
    let in_words = Response { freeform_response: "It is late.".to_owned(), ..Response::default() };
    let skipped = Response { skipped: true, ..Response::default() };
    Responses { responses: vec![chosen, in_words, skipped], cancelled: false }
}

fn told() -> Value {
    json!([
        {"question": "Which one?", "chosen": ["right"]},
        {"question": "Why?", "answer": "It is late."},
        {"question": "Sure?", "skipped": true},
    ])
}

fn answered(world: &World) -> Value {
    serde_json::from_str(&results(world, 1)[0]).unwrap()
}

#[tokio::test]
async fn the_first_hook_with_answers_answers_and_no_person_is_asked() {
    let world = asks();
    let person = Says::answering(Responses::default());
    let events = Events::default();
    let builder = world
        .builder()
        .person(person.clone())
        .hook(events.hook())
        .hook(decide("first", |_, _: &Interaction| Decision::reply(responses())))
        .hook(decide("second", |_, _: &Interaction| Decision::reply(Responses::default())));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(answered(&world), told());
    assert!(person.asked().is_empty());
    agent.stop().await;
    let fired = events.of(Kind::Interaction);
    assert_eq!(fired[0]["questions"][0]["options"][1], json!({"id": "2", "text": "right"}));
}

#[tokio::test]
async fn where_no_hook_has_answers_a_person_is_asked() {
    let world = asks();
    let person = Says::answering(responses());
    let builder = world.builder().person(person.clone());
    let agent =
        world.start(builder.hook(decide("silent", |_, _: &Interaction| Decision::none()))).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(answered(&world), told());
    assert_eq!(person.asked(), ["Which one?Why?Sure?"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_person_can_break_the_questions_off() {
    let world = asks();
    let person = Says::answering(Responses { cancelled: true, ..Responses::default() });
    let agent = world.start(world.builder().person(person)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["the user broke the questions off"]);
    agent.stop().await;
}

#[tokio::test]
async fn where_nobody_answers_the_questions_are_refused() {
    let world = asks();
    let agent = world.start(world.builder()).await;
    agent.chat("Go.").await.unwrap();
    let told = ["the questions were refused: nobody is there to answer"];
    assert_eq!(results(&world, 1), told);
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_can_refuse_questions_and_one_that_fails_does() {
    for refuses in [true, false] {
        let world = asks();
        let person = Says::answering(responses());
        let hook = decide("first", move |_, _: &Interaction| {
            if refuses { Ok(Decision::deny("decide yourself")) } else { Err("out of order") }
        });
        let agent = world.start(world.builder().person(person.clone()).hook(hook)).await;
        agent.chat("Go.").await.unwrap();
        let why = if refuses { "decide yourself" } else { "could not be completed" };
        let results = results(&world, 1);
        assert!(results[0].contains("refused") && results[0].contains(why), "{results:?}");
        assert!(person.asked().is_empty());
        agent.stop().await;
    }
}
