//! `tool.pre`: what may be done, and with what.

use serde_json::json;
use tollgate_agent::person::Consent;
use tollgate_core::prelude::*;
use tollgate_model::script::Line;
use tollgate_model::server::Fault;

use crate::scene::{Events, Says, exists, results, say};
use crate::support::{World, run};

fn gate(answer: Decision<ToolPre>) -> Registration {
    decide("gate", move |_, _: &ToolPre| answer.clone())
}

/// A world whose model makes one call, which leaves a file.
fn one_call() -> World {
    World::new(vec![run("touch made; echo done"), Line::say("ok")])
}

#[tokio::test]
async fn what_is_allowed_or_of_no_concern_is_done() {
    for answer in [Decision::allow(), Decision::none()] {
        let world = one_call();
        let person = Says::no("never");
        let builder = world.builder().person(person.clone()).hook(gate(answer));
        let agent = world.start(builder).await;
        agent.chat("Go.").await.unwrap();
        assert!(world.was_told(1, "done"), "{:?}", world.messages(1));
        assert!(person.asked().is_empty());
        agent.stop().await;
    }
}

#[tokio::test]
async fn what_is_denied_is_not_done_and_fires_no_hook_of_what_came_of_it() {
    let world = one_call();
    let events = Events::default();
    let builder = world.builder().hook(events.hook()).hook(gate(Decision::deny("not here")));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["not here"]);
    assert!(!exists(&world.path("made")));
    agent.stop().await;
    assert_eq!(events.count(Kind::ToolPre), 1);
    assert_eq!((events.count(Kind::ToolPost), events.count(Kind::ToolError)), (0, 0));
}

#[tokio::test]
async fn a_call_that_is_asked_about_is_done_when_a_person_says_yes() {
    for answer in [Decision::ask("risky"), Decision::force_ask("risky")] {
        let world = one_call();
        let person = Says::new(Consent::Once);
        let builder = world.builder().person(person.clone()).hook(gate(answer));
        let agent = world.start(builder).await;
        agent.chat("Go.").await.unwrap();
        assert!(world.was_told(1, "done"), "{:?}", world.messages(1));
        assert_eq!(person.asked(), ["touch made; echo done: risky"]);
        agent.stop().await;
    }
}

#[tokio::test]
async fn a_call_that_is_asked_about_is_not_done_when_a_person_says_no() {
    for answer in [Decision::ask("risky"), Decision::force_ask("risky")] {
        let world = one_call();
        let events = Events::default();
        let builder = world.builder().person(Says::no("I'd rather not")).hook(events.hook());
        let agent = world.start(builder.hook(gate(answer))).await;
        agent.chat("Go.").await.unwrap();
        assert_eq!(results(&world, 1), ["I'd rather not"]);
        assert!(!exists(&world.path("made")));
        agent.stop().await;
        assert_eq!((events.count(Kind::ToolPost), events.count(Kind::ToolError)), (0, 0));
    }
}

#[tokio::test]
async fn where_nobody_is_there_what_would_have_to_be_asked_is_refused() {
    for answer in [Decision::ask("risky"), Decision::force_ask("risky")] {
        let world = one_call();
        let agent = world.start(world.builder().hook(gate(answer))).await;
        agent.chat("Go.").await.unwrap();
        assert!(world.was_told(1, "nobody is there to ask"), "{:?}", world.messages(1));
        assert!(!exists(&world.path("made")));
        agent.stop().await;
    }
}

#[tokio::test]
async fn arguments_are_rewritten_in_part_or_all() {
    for (patch, told) in [
        (
            ArgsPatch::Set([("b".to_owned(), json!(3))].into_iter().collect()),
            json!({"a": 1, "b": 3}),
        ),
        (ArgsPatch::Replace([("b".to_owned(), json!(3))].into_iter().collect()), json!({"b": 3})),
    ] {
        let world = World::new(vec![Line::call("say", json!({"a": 1, "b": 2})), Line::say("ok")]);
        let events = Events::default();
        let hook = transform("rewrites", move |_, _: &ToolPre| Answer::rewrite(patch.clone()));
        let agent = world.start(world.builder().tool(say()).hook(events.hook()).hook(hook)).await;
        agent.chat("Go.").await.unwrap();
        assert_eq!(results(&world, 1), ["null"]);
        agent.stop().await;
        assert_eq!(events.of(Kind::ToolPre)[0]["args"], json!({"a": 1, "b": 2}));
        assert_eq!(events.of(Kind::ToolPost)[0]["args"], told);
    }
}

#[tokio::test]
async fn a_person_is_asked_about_the_call_as_it_would_be_made() {
    let world = one_call();
    let person = Says::new(Consent::Once);
    let builder =
        world
            .builder()
            .person(person.clone())
            .hook(gate(Decision::ask("risky")))
            .hook(transform("tame", |_, _: &ToolPre| {
                Answer::set_args([("CommandLine", json!("echo tame"))])
            }));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked(), ["echo tame: risky"]);
    assert!(world.was_told(1, "tame"));
    assert!(!exists(&world.path("made")));
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_of_tool_pre_that_fails_closes_the_gate() {
    for panics in [true, false] {
        let world = one_call();
        let hook = decide("broken", move |_, _: &ToolPre| {
            assert!(!panics, "broken");
            Err::<Decision<ToolPre>, _>("out of order")
        });
        let builder = world.builder().person(Says::new(Consent::Once)).hook(hook);
        let agent = world.start(builder.hook(gate(Decision::allow()))).await;
        agent.chat("Go.").await.unwrap();
        assert!(world.was_told(1, "could not be completed"), "{:?}", world.messages(1));
        assert!(!world.was_told(1, "out of order"));
        assert!(!exists(&world.path("made")));
        agent.stop().await;
    }
}

#[tokio::test]
async fn a_notification_can_be_held_back_and_the_person_is_asked_all_the_same() {
    for is_held_back in [false, true] {
        let world = one_call();
        let person = Says::new(Consent::Once);
        let events = Events::default();
        let hook = decide("quiet", move |_, _: &Notification| {
            if !is_held_back {
                return Decision::none();
            }
            let reason = "at night".to_owned();
            Decision::from_verdict(tollgate_core::verdict::Notice::Suppress { reason })
        });
        let builder = world.builder().person(person.clone()).hook(events.hook()).hook(hook);
        let agent = world.start(builder.hook(gate(Decision::ask("risky")))).await;
        agent.chat("Go.").await.unwrap();
        let told = world.notices.lock().unwrap().clone();
        let said = "approval: `run_command` waits for your approval".to_owned();
        assert_eq!(told.contains(&said), !is_held_back, "{told:?}");
        assert_eq!(person.asked().len(), 1);
        assert!(world.was_told(1, "done"));
        agent.stop().await;
        let fired = events.of(Kind::Notification);
        assert_eq!((fired.len(), &fired[0]["type"]), (1, &json!("approval")));
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_and_arguments_that_are_none_fire_no_hook() {
    let world = World::new(vec![
        Line::call("no_such_tool", json!({})),
        Line::call("say", json!("{\"text\": ")),
        Line::call("say", json!({"text": "never"})),
        Line::say("ok"),
    ]);
    let events = Events::default();
    let agent = world.start(world.builder().tool(say()).hook(events.hook())).await;
    // The third call comes cut off.
    let third = async {
        world.server.fail(Fault::Dribble);
        world.server.fail(Fault::Dribble);
        world.server.fail(Fault::MalformedArguments);
        agent.chat("Go.").await.unwrap()
    };
    assert_eq!(third.await.text, "ok");
    let results = results(&world, 3);
    assert!(results[0].contains("there is no tool `no_such_tool`"), "{results:?}");
    assert!(results[0].contains("say, "), "{results:?}");
    for result in &results[1..] {
        assert!(result.contains("the arguments are not a JSON object"), "{results:?}");
    }
    agent.stop().await;
    for kind in [Kind::ToolPre, Kind::ToolPost, Kind::ToolError] {
        assert_eq!(events.count(kind), 0, "{kind}");
    }
}
