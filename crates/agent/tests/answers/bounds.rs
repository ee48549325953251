//! How far an agent may go, and with which tools.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Barrier;
use tollgate_agent::AgentError;
use tollgate_core::prelude::*;
use tollgate_model::Usage;
use tollgate_model::script::Line;
use tollgate_tools::{Tool, function};

use crate::scene::{Events, LONG, results, say};
use crate::support::World;

/// A tool that is done when as many calls are under way as `barrier` waits for.
fn meet(name: &str, barrier: Arc<Barrier>) -> impl Tool + use<> {
    let name = name.to_owned();
    let met = name.clone();
    function(name, "Meets.", move |_: BTreeMap<String, Value>, _: ToolContext| {
        let (barrier, met) = (Arc::clone(&barrier), met.clone());
        async move {
            let all = tokio::time::timeout(LONG, barrier.wait()).await;
            all.map(|_| met).map_err(|_| "nobody came")
        }
    })
}

#[tokio::test]
async fn calls_of_one_message_run_together_and_each_passes_the_pipeline() {
    let both = Line::call("left", json!({}))
        .and_call("right", json!({}))
        .and_call("say", json!({"text": "denied"}));
    let world = World::new(vec![both, Line::say("ok")]);
    let barrier = Arc::new(Barrier::new(2));
    let events = Events::default();
    let builder = world
        .builder()
        .tool(meet("left", Arc::clone(&barrier)))
        .tool(meet("right", barrier))
        .tool(say())
        .hook(events.hook())
        .policy(policy::deny("say").reason("say nothing"))
        .hook(transform("mark", |_, post: &ToolPost| {
            Answer::rewrite(ResultPatch(json!(format!("{} met", post.name))))
        }));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    // In the order of the calls.
    assert_eq!(results(&world, 1), ["left met", "right met", "say nothing"]);
    agent.stop().await;
    assert_eq!((events.count(Kind::ToolPre), events.count(Kind::ToolPost)), (3, 2));
    let places: Vec<_> = events.of(Kind::ToolPre).iter().map(|pre| pre["step"].clone()).collect();
    assert_eq!(places, [2, 3, 4]);
}

#[tokio::test]
async fn calls_beyond_the_limit_of_a_message_are_not_made() {
    let mut line = Line::default();
    for number in 1..=5 {
        line = line.and_call("say", json!({"text": number.to_string()}));
    }
    let world = World::new(vec![line, Line::say("ok")]);
    let events = Events::default();
    let builder = world.builder().tool(say()).hook(events.hook());
    let agent = world.start(builder.limits(|limits| limits.calls = 3)).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 1);
    assert_eq!(results[..3], ["1", "2", "3"]);
    let told = "this call was not made: a message may have 3 calls";
    assert_eq!(results[3..], [told, told]);
    agent.stop().await;
    assert_eq!(events.count(Kind::ToolPre), 3);
}

#[tokio::test]
async fn steps_have_an_end() {
    let world = World::new((0..9).map(|_| Line::call("say", json!({}))).collect());
    let builder = world.builder().tool(say()).limits(|limits| limits.steps = 3);
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(world.requests().len(), 3);
    agent.stop().await;
}

#[tokio::test]
async fn tokens_have_an_end() {
    let usage = Usage { input: 30, output: 20 };
    let call = || Line { usage, ..Line::call("say", json!({})) };
    let world = World::new((0..9).map(|_| call()).collect());
    let events = Events::default();
    let builder = world.builder().tool(say()).hook(events.hook());
    let agent = world.start(builder.limits(|limits| limits.tokens = Some(100))).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!(response.error.unwrap(), "the session has used its 100 tokens");
    assert_eq!((response.usage.input, response.usage.output), (60, 40));
    // Nor is there another call later.
    assert!(agent.chat("On.").await.unwrap().error.is_some());
    assert_eq!(world.requests().len(), 2);
    agent.stop().await;
    assert_eq!(events.of(Kind::Stop)[0]["reason"], "error");
}

#[tokio::test]
async fn turns_have_an_end() {
    let world = World::new((0..9).map(|_| Line::say("ok")).collect());
    let events = Events::default();
    let builder = world.builder().hook(events.hook()).limits(|limits| limits.turns = 2);
    let agent = world.start(builder).await;
    agent.chat("One.").await.unwrap();
    agent.chat("Two.").await.unwrap();
    let error = agent.chat("Three.").await.unwrap_err();
    assert!(matches!(error, AgentError::TooManyTurns(2)), "{error}");
    assert_eq!(world.requests().len(), 2);
    agent.stop().await;
    assert_eq!(events.count(Kind::TurnStart), 2);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_ended() {
    let world = World::new(vec![Line::call("alone", json!({})), Line::say("ok")]);
    let events = Events::default();
    let builder =
        world.builder().hook(events.hook()).tool(meet("alone", Arc::new(Barrier::new(2))));
    let short = Duration::from_millis(20);
    let agent = world.start(builder.limits(|limits| limits.call_time = short)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["it took more than 20ms"]);
    agent.stop().await;
    assert_eq!(events.count(Kind::ToolError), 1);
}

#[tokio::test]
async fn a_turn_that_takes_too_long_is_ended() {
    let world = World::new(vec![Line::call("alone", json!({})), Line::say("ok")]);
    let builder = world.builder().tool(meet("alone", Arc::new(Barrier::new(2))));
    let short = Duration::from_millis(100);
    let agent = world.start(builder.limits(|limits| limits.turn_time = short)).await;
    let error = agent.chat("Go.").await.unwrap_err();
    assert!(matches!(error, AgentError::TooLong(_)), "{error}");
    agent.stop().await;
    assert!(world.requests().len() <= 1);
}

/// The tools that the model was told of.
fn offered(world: &World) -> Vec<String> {
    let tools = world.requests()[0]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn tools_that_are_left_out_are_not_told_to_the_model() {
    let run = || Line::call("run_command", json!({"CommandLine": "touch made"}));
    let world = World::new(vec![run(), Line::say("ok")]);
    let agent = world.start(world.builder().disabled_tools(["run_command"])).await;
    agent.chat("Go.").await.unwrap();
    let tools = offered(&world);
    assert!(tools.contains(&"view_file".to_owned()) && !tools.contains(&"run_command".to_owned()));
    // Nor can it call them.
    assert!(results(&world, 1)[0].contains("there is no tool `run_command`"));
    assert!(!crate::scene::exists(&world.path("made")));
    agent.stop().await;
}

#[tokio::test]
async fn only_tools_that_are_chosen_are_told_to_the_model() {
    let world = World::new(vec![Line::say("ok")]);
    let agent = world.start(world.builder().enabled_tools(["view_file", "list_dir"])).await;
    agent.chat("Go.").await.unwrap();
    let mut tools = offered(&world);
    tools.sort();
    assert_eq!(tools, ["list_dir", "view_file"]);
    agent.stop().await;
}

#[tokio::test]
async fn tools_cannot_be_chosen_and_left_out_nor_be_some_that_are_not_there() {
    let world = World::new(vec![]);
    let both = world.builder().enabled_tools(["view_file"]).disabled_tools(["run_command"]);
    let error = both.build().start().await.unwrap_err();
    assert!(matches!(error, AgentError::EnabledAndDisabled), "{error}");
    for builder in [
        world.builder().enabled_tools(["no_such_tool"]),
        world.builder().disabled_tools(["no_such_tool"]),
    ] {
        let error = builder.build().start().await.unwrap_err();
        assert!(matches!(error, AgentError::NoSuchTool { .. }), "{error}");
        assert!(error.to_string().contains("view_file"), "{error}");
    }
}

#[tokio::test]
async fn tokens_are_counted_whatever_a_server_says_of_them() {
    let usage = Usage { input: u64::MAX, output: u64::MAX };
    let call = || Line { usage, ..Line::call("say", json!({})) };
    let world = World::new((0..3).map(|_| call()).collect());
    let builder = world.builder().tool(say());
    let agent = world.start(builder.limits(|limits| limits.tokens = Some(u64::MAX))).await;
    let response = agent.chat("Go.").await.unwrap();
    assert!(response.error.unwrap().contains("has used its"));
    assert!(agent.chat("On.").await.unwrap().error.is_some());
    assert_eq!(world.requests().len(), 1);
    assert_eq!(agent.usage().input, u64::MAX);
    agent.stop().await;
}
