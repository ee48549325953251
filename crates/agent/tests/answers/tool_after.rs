//! `tool.post` and `tool.error`.

use serde_json::{Value, json};
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Events, results, say};
use crate::support::{World, run};

fn speaks() -> World {
    World::new(vec![Line::call("say", json!({"text": "the key is hunter2"})), Line::say("ok")])
}

fn fails() -> World {
    World::new(vec![Line::call("say", json!({"fail": "no voice"})), Line::say("ok")])
}

#[tokio::test]
async fn the_model_gets_the_result_that_hooks_made_of_it() {
    let world = speaks();
    let hook = transform("redact", |_, post: &ToolPost| {
        let text = post.result.as_str().unwrap_or_default();
        Answer::rewrite(ResultPatch(text.replace("hunter2", "•••").into()))
    });
    let agent = world.start(world.builder().tool(say()).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["the key is •••"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_blocked_result_does_not_reach_the_model() {
    for (reason, told) in
        [("withheld by the house", "withheld by the house"), ("", "the result was withheld")]
    {
        let world = speaks();
        let hook = decide("block", move |_, _: &ToolPost| Decision::deny(reason));
        let agent = world.start(world.builder().tool(say()).hook(hook)).await;
        agent.chat("Go.").await.unwrap();
        assert_eq!(results(&world, 1), [told]);
        agent.stop().await;
    }
}

#[tokio::test]
async fn a_hook_of_tool_post_that_fails_withholds_the_result() {
    for panics in [true, false] {
        let world = speaks();
        let hook = decide("broken", move |_, _: &ToolPost| {
            assert!(!panics, "broken");
            Err::<Decision<ToolPost>, _>("out of order")
        });
        let agent = world.start(world.builder().tool(say()).hook(hook)).await;
        agent.chat("Go.").await.unwrap();
        assert!(!world.was_told(1, "hunter2"));
        assert!(world.was_told(1, "could not be completed"), "{:?}", world.messages(1));
        agent.stop().await;
    }
}

#[tokio::test]
async fn what_a_command_printed_before_it_failed_passes_tool_post() {
    let world = World::new(vec![run("echo hunter2; exit 3"), Line::say("ok")]);
    let events = Events::default();
    let hook = decide("block", |_, post: &ToolPost| {
        let leaks = post.result.to_string().contains("hunter2");
        if leaks { Decision::deny("it had a secret in it") } else { Decision::none() }
    });
    let agent = world.start(world.builder().hook(events.hook()).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["it had a secret in it"]);
    agent.stop().await;
    assert_eq!((events.count(Kind::ToolPost), events.count(Kind::ToolError)), (1, 0));
}

#[tokio::test]
async fn a_failure_that_nobody_recovers_is_told_as_it_is() {
    let world = fails();
    let events = Events::default();
    let agent = world.start(world.builder().tool(say()).hook(events.hook())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["no voice"]);
    agent.stop().await;
    let errors = events.of(Kind::ToolError);
    assert_eq!((&errors[0]["error"], &errors[0]["name"]), (&json!("no voice"), &json!("say")));
    assert_eq!((errors.len(), events.count(Kind::ToolPost)), (1, 0));
}

#[tokio::test]
async fn the_model_gets_the_value_of_the_first_hook_that_recovers() {
    for (value, told) in [
        (json!("spoken for"), "spoken for"),
        (json!(""), ""),
        (json!(false), "false"),
        (Value::Null, "null"),
        (json!({"a": [1]}), "{\"a\":[1]}"),
    ] {
        let world = fails();
        let builder = world
            .builder()
            .tool(say())
            .hook(decide("silent", |_, _: &ToolError| Decision::none()))
            .hook(decide("first", move |_, _: &ToolError| Decision::recover(value.clone())))
            .hook(decide("second", |_, _: &ToolError| Decision::recover("too late")));
        let agent = world.start(builder).await;
        agent.chat("Go.").await.unwrap();
        assert_eq!(results(&world, 1), [told]);
        agent.stop().await;
    }
}

#[tokio::test]
async fn an_error_is_rewritten_and_stays_one() {
    let world = fails();
    let hook = transform("redacts", |_, failed: &ToolError| {
        Answer::rewrite(ErrorPatch(failed.error.replace("voice", "•••")))
    });
    let agent = world.start(world.builder().tool(say()).hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["no •••"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_of_tool_error_that_refuses_or_fails_leaves_the_error() {
    for refuses in [true, false] {
        let world = fails();
        let hook = decide("first", move |_, _: &ToolError| {
            if refuses { Ok(Decision::deny("leave it")) } else { Err("out of order") }
        });
        let second = decide("second", |_, _: &ToolError| Decision::recover("spoken for"));
        let agent = world.start(world.builder().tool(say()).hook(hook).hook(second)).await;
        agent.chat("Go.").await.unwrap();
        assert_eq!(results(&world, 1), ["no voice"]);
        agent.stop().await;
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_the_tool_are_a_failure_of_it() {
    let world = World::new(vec![Line::call("view_file", json!({"Nope": 1})), Line::say("ok")]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook())).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(1, "AbsolutePath"), "{:?}", world.messages(1));
    agent.stop().await;
    assert_eq!((events.count(Kind::ToolPre), events.count(Kind::ToolError)), (1, 1));
}
