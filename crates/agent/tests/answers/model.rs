//! `model.pre` and `model.post`.

use serde_json::{Value, json};
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Events, results, say, was_sent};
use crate::support::World;

/// A hook that injects a step before the first call of the model.
fn inject_once(step: Step) -> Registration {
    decide("injects", move |_, pre: &ModelPre| match pre.invocation {
        0 => Decision::none().inject(step.clone()),
        _ => Decision::none(),
    })
}

fn call(name: &str, args: Value) -> Step {
    let Value::Object(args) = args else { panic!("{args}") };
    Step::ToolCall { name: name.to_owned(), args }
}

/// A turn of three calls of the model.
fn three() -> Vec<Line> {
    let again = || Line::call("say", json!({"text": "again"}));
    vec![again(), again(), Line::say("Done.")]
}

#[tokio::test]
async fn injected_messages_are_in_all_later_requests() {
    for (step, role) in [
        (Step::UserMessage("Remember.".to_owned()), "user"),
        (Step::SystemMessage("Remember.".to_owned()), "system"),
    ] {
        let world = World::new(three());
        let agent = world.start(world.builder().tool(say()).hook(inject_once(step))).await;
        agent.chat("Go.").await.unwrap();
        for request in 0..3 {
            let sent = world.messages(request);
            let found = sent.iter().filter(|(_, text)| text == "Remember.").count();
            assert_eq!(found, 1, "{sent:?}");
            assert!(was_sent(&world, request, role, "Remember."), "{sent:?}");
        }
        agent.stop().await;
    }
}

#[tokio::test]
async fn an_ephemeral_message_is_in_the_next_request_only() {
    let world = World::new(three());
    let hook = inject_once(Step::EphemeralMessage("Psst.".to_owned()));
    let agent = world.start(world.builder().tool(say()).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(was_sent(&world, 0, "system", "Psst."));
    assert!(!world.was_told(1, "Psst.") && !world.was_told(2, "Psst."));
    agent.stop().await;
}

#[tokio::test]
async fn an_injected_call_passes_the_pipeline_and_the_model_sees_what_came_of_it() {
    let world = World::new(vec![Line::say("Done.")]);
    let events = Events::default();
    let builder = world
        .builder()
        .tool(say())
        .hook(events.hook())
        .hook(inject_once(call("say", json!({"text": "one"}))))
        .hook(transform("two", |_, pre: &ToolPre| {
            assert_eq!(pre.name, "say");
            Answer::set_args([("text", json!("two"))])
        }))
        .hook(transform("three", |_, post: &ToolPost| {
            Answer::rewrite(ResultPatch(json!(format!("{} three", post.result.as_str().unwrap()))))
        }));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 0), ["two three"]);
    let sent = &world.requests()[0]["messages"];
    let called = sent.as_array().unwrap().iter().find(|sent| sent["role"] == "assistant").unwrap();
    assert_eq!(called["tool_calls"][0]["function"]["name"], "say");
    agent.stop().await;
    assert_eq!((events.count(Kind::ToolPre), events.count(Kind::ToolPost)), (1, 1));
}

#[tokio::test]
async fn an_injected_call_can_be_denied_and_can_fail() {
    let world = World::new(vec![Line::say("Done.")]);
    let builder = world
        .builder()
        .tool(say())
        .policy(policy::deny("run_command").reason("no commands"))
        .hook(inject_once(call("run_command", json!({"CommandLine": "touch made"}))))
        .hook(inject_once(call("say", json!({"fail": "no voice"}))))
        .hook(inject_once(call("no_such_tool", json!({}))));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 0);
    assert_eq!(results[..2], ["no commands", "no voice"]);
    assert!(results[2].contains("there is no tool `no_such_tool`"), "{results:?}");
    assert!(!crate::scene::exists(&world.path("made")));
    agent.stop().await;
}

#[tokio::test]
async fn context_of_model_pre_is_in_the_request() {
    let world = World::new(vec![Line::say("Done.")]);
    let hook = decide("clock", |_, _: &ModelPre| Decision::none().context("It is noon."));
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(was_sent(&world, 0, "system", "It is noon."));
    agent.stop().await;
}

fn retry(reason: &str) -> Decision<ModelPre> {
    let reason = reason.to_owned();
    Decision::from_verdict(tollgate_core::verdict::Attempt::Retry { reason })
}

#[tokio::test]
async fn a_retry_asks_again_with_the_reason_before_the_model_is_called() {
    let world = World::new(vec![Line::say("Done.")]);
    let events = Events::default();
    let hook =
        decide(
            "wait",
            |cx: &OperationContext, _: &ModelPre| {
                if cx.turn().rounds() < 2 { retry("Not yet.") } else { Decision::none() }
            },
        );
    let agent = world.start(world.builder().hook(events.hook()).hook(hook)).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.text, "Done.");
    assert_eq!(world.requests().len(), 1);
    let told = world.messages(0).into_iter().filter(|(_, text)| text == "Not yet.").count();
    assert_eq!(told, 2);
    agent.stop().await;
    // The number of the call does not grow by calls that were not made.
    let asked = events.of(Kind::ModelPre);
    assert_eq!(asked.iter().map(|pre| &pre["invocation"]).collect::<Vec<_>>(), [0, 0, 0]);
}

#[tokio::test]
async fn retries_have_a_budget() {
    let world = World::new(vec![Line::say("Done.")]);
    let events = Events::default();
    let builder = world.builder().hook(events.hook());
    let agent =
        world.start(builder.hook(decide("wait", |_, _: &ModelPre| retry("Not yet.")))).await;
    let response = agent.chat("Go.").await.unwrap();
    assert!(response.error.unwrap().contains("too many times"));
    assert!(world.requests().is_empty());
    agent.stop().await;
    assert_eq!(events.count(Kind::ModelPre), 9);
}

#[tokio::test]
async fn a_denied_call_of_the_model_is_not_made() {
    let world = World::new(vec![Line::say("Done.")]);
    let events = Events::default();
    let hook = decide("budget", |_, _: &ModelPre| Decision::deny("The money is gone."));
    let agent = world.start(world.builder().hook(events.hook()).hook(hook)).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.error.unwrap(), "The money is gone.");
    assert!(world.requests().is_empty());
    agent.stop().await;
    let stops = events.of(Kind::Stop);
    assert_eq!(
        (&stops[0]["reason"], &stops[0]["error"]),
        (&json!("error"), &json!("The money is gone."))
    );
    assert_eq!(events.count(Kind::ModelPost), 0);
}

#[tokio::test]
async fn a_hook_of_model_pre_that_fails_keeps_the_model_from_being_called() {
    for panics in [true, false] {
        let world = World::new(vec![Line::say("Done.")]);
        let hook = decide("broken", move |_, _: &ModelPre| {
            assert!(!panics, "broken");
            Err::<Decision<ModelPre>, _>("out of order")
        });
        let agent = world.start(world.builder().hook(hook)).await;
        let response = agent.chat("Go.").await.unwrap();
        assert!(response.error.unwrap().contains("could not be completed"));
        assert!(world.requests().is_empty());
        agent.stop().await;
    }
}

#[tokio::test]
async fn model_post_is_fired_for_each_call_of_the_model() {
    let world = World::new(three());
    let events = Events::default();
    let agent = world.start(world.builder().tool(say()).hook(events.hook())).await;
    agent.chat("Go.").await.unwrap();
    agent.stop().await;
    let mut posts = events.of(Kind::ModelPost);
    posts.sort_by_key(|post| post["invocation"].as_u64());
    let told: Vec<_> = posts.iter().map(|post| (&post["invocation"], &post["steps"])).collect();
    // The prompt, what the model said, what came of its call, …
    let (zero, one, two) = (json!(0), json!(1), json!(2));
    let (second, fourth, sixth) = (json!(2), json!(4), json!(6));
    assert_eq!(told, [(&zero, &second), (&one, &fourth), (&two, &sixth)]);
    assert_eq!(world.requests().len(), 3);
}
