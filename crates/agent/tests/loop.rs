//! The loop, seen from the model's side.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::json;
use support::{World, run, write};
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

#[tokio::test]
async fn a_turn_with_calls_goes_round_until_the_model_is_done() {
    let world = World::new(vec![
        Line::say("First a file.").and_call("list_dir", json!({"DirectoryPath": "."})),
        Line::say("Done."),
    ]);
    std::fs::write(world.path("notes.txt"), "x").unwrap();
    let agent = world.start(world.builder()).await;
    let response = agent.chat("What is here?").await.unwrap();
    assert_eq!(response.text, "Done.");
    assert!(world.was_told(1, "notes.txt"), "{:?}", world.messages(1));
    agent.stop().await;
}

#[tokio::test]
async fn a_denied_call_is_not_made_and_the_model_is_told_why() {
    let world = World::new(vec![run("touch made"), Line::say("Sorry.")]);
    let builder = world.builder().policy(policy::deny("run_command").reason("no commands"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(1, "no commands"));
    assert!(!std::path::Path::new(&world.path("made")).exists());
    agent.stop().await;
}

#[tokio::test]
async fn an_agent_that_can_write_does_not_start_without_somebody_who_decides() {
    let world = World::new(vec![]);
    let directory = tempfile::tempdir().unwrap();
    let model = tollgate_model::Scripted::new(vec![]);
    let builder = tollgate_agent::Agent::builder().model(model).workspace(directory.path());
    let error = builder.build().start().await.unwrap_err().to_string();
    assert!(error.contains("write_to_file") && error.contains("allow_all()"), "{error}");
    drop(world);
}

#[tokio::test]
async fn arguments_are_what_hooks_made_of_them() {
    let world = World::new(vec![run("echo one"), Line::say("ok")]);
    let hook = transform("two", |_cx: &OperationContext, call: &ToolPre| {
        if call.is("run_command") {
            Answer::set_args([("CommandLine", json!("echo two"))])
        } else {
            Answer::none()
        }
    });
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(1, "two"), "{:?}", world.messages(1));
    assert!(!world.was_told(1, "one"));
    agent.stop().await;
    let _ = write;
}
