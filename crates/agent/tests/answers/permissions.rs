//! What is permitted without a person being asked again, and by whom.

use serde_json::json;
use tollgate_agent::person::Consent;
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Says, results};
use crate::support::{World, run};

/// Asks about each command, and about nothing else.
fn ask() -> Registration {
    decide("asks", |_, _: &ToolPre| Decision::ask("risky")).tool("run_command")
}

fn list() -> Line {
    Line::call("list_permissions", json!({}))
}

/// A model that runs this twice, then looks at what it may do.
fn twice(command: &str) -> World {
    World::new(vec![run(command), run(command), list(), Line::say("ok")])
}

#[tokio::test]
async fn what_a_person_permits_for_the_session_is_not_asked_again() {
    let world = twice("echo hi");
    let person = Says::new(Consent::ForSession);
    let agent = world.start(world.builder().person(person.clone()).hook(ask())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked(), ["echo hi: risky"]);
    let results = results(&world, 3);
    assert!(results[..2].iter().all(|result| result.contains("hi")), "{results:?}");
    let granted: serde_json::Value = serde_json::from_str(&results[2]).unwrap();
    assert_eq!(granted, json!([{"resource": "command(echo hi)", "by": "person"}]));
    agent.stop().await;
}

#[tokio::test]
async fn what_a_person_permits_once_is_asked_again() {
    let world = twice("echo hi");
    let person = Says::new(Consent::Once);
    let agent = world.start(world.builder().person(person.clone()).hook(ask())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked().len(), 2);
    assert_eq!(results(&world, 3)[2], "[]");
    agent.stop().await;
}

#[tokio::test]
async fn what_is_to_be_asked_each_time_is_satisfied_by_no_grant() {
    let world = twice("echo hi");
    let person = Says::new(Consent::ForSession);
    let hook = decide("asks", |_, _: &ToolPre| Decision::force_ask("risky")).tool("run_command");
    let builder = world.builder().person(person.clone()).hook(hook);
    let agent = world.start(builder.grant("command(echo hi)".parse().unwrap())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked().len(), 2);
    let granted = &results(&world, 3)[2];
    assert!(granted.contains("setup") && !granted.contains("person"), "{granted}");
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_that_allows_can_satisfy_what_another_asks() {
    let world = twice("echo hi");
    let permits =
        decide("permits", |_, _: &ToolPre| Decision::allow().permit_resource("command(echo hi)"));
    let builder = world.builder().hook(ask()).hook(permits.tool("run_command"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 3);
    assert!(results[..2].iter().all(|result| result.contains("hi")), "{results:?}");
    let granted: serde_json::Value = serde_json::from_str(&results[2]).unwrap();
    assert_eq!(granted, json!([{"resource": "command(echo hi)", "by": "hook"}]));
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_that_permits_something_else_satisfies_nobody() {
    let world = twice("echo hi");
    let permits = decide("permits", |_, _: &ToolPre| {
        Decision::allow().permit_resource("command(echo ho)").permit_resource("everything")
    });
    let agent = world.start(world.builder().hook(ask()).hook(permits.tool("run_command"))).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 3);
    assert!(results[..2].iter().all(|result| result.contains("nobody is there")), "{results:?}");
    assert_eq!(results[2], "[]");
    agent.stop().await;
}

/// A hook that asks, and permits what it asks about.
fn asks_and_permits() -> Registration {
    decide("asks", |_, _: &ToolPre| Decision::ask("risky").permit_resource("command(echo *)"))
        .tool("run_command")
}

#[tokio::test]
async fn a_hook_that_asks_permits_once_a_person_has_said_yes() {
    let world = World::new(vec![run("echo hi"), run("echo ho"), list(), Line::say("ok")]);
    let person = Says::new(Consent::Once);
    let builder = world.builder().person(person.clone()).hook(asks_and_permits());
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked(), ["echo hi: risky"]);
    assert!(world.was_told(2, "ho"));
    assert!(results(&world, 3)[2].contains("command(echo *)"));
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_that_asks_permits_nothing_when_a_person_has_said_no() {
    let world = twice("echo hi");
    let person = Says::no("never");
    let builder = world.builder().person(person.clone()).hook(asks_and_permits());
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked().len(), 2);
    assert_eq!(results(&world, 3), ["never", "never", "[]"]);
    agent.stop().await;
}

#[tokio::test]
async fn what_was_permitted_for_other_arguments_does_not_count() {
    let world = World::new(vec![run("echo hi"), list(), Line::say("ok")]);
    let permits = decide("permits", |_, call: &ToolPre| {
        if call.text("CommandLine") == Some("echo hi") {
            Decision::allow().permit_resource("command(echo *)")
        } else {
            Decision::none()
        }
    });
    let rewrites = transform("rewrites", |_, call: &ToolPre| match call.text("CommandLine") {
        Some("echo hi") => Answer::set_args([("CommandLine", json!("echo other"))]),
        _ => Answer::none(),
    });
    let builder = world
        .builder()
        .hook(permits.tool("run_command"))
        .hook(ask())
        .hook(rewrites.tool("run_command"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 2);
    assert!(results[0].contains("nobody is there to ask"), "{results:?}");
    assert_eq!(results[1], "[]");
    agent.stop().await;
}

#[tokio::test]
async fn a_grant_does_not_satisfy_a_deny() {
    let world = World::new(vec![run("echo hi"), Line::say("ok")]);
    let builder = world
        .builder()
        .grant("command(echo hi)".parse().unwrap())
        .policy(policy::deny("run_command").reason("no commands"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["no commands"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_model_can_ask_for_a_permission() {
    let request = || {
        Line::call(
            "ask_permission",
            json!({"Action": "command", "Target": "echo *", "Reason": "to speak"}),
        )
    };
    for (person, is_granted) in [(Says::new(Consent::Once), true), (Says::no("be silent"), false)] {
        let world = World::new(vec![request(), run("echo hi"), Line::say("ok")]);
        let agent = world.start(world.builder().person(person.clone()).hook(ask())).await;
        agent.chat("Go.").await.unwrap();
        assert_eq!(person.asked()[0], "command(echo *): to speak");
        let results = results(&world, 2);
        if is_granted {
            assert_eq!(results[0], "command(echo *) is granted for this session");
            assert!(results[1].contains("hi"), "{results:?}");
            assert_eq!(person.asked().len(), 1);
        } else {
            assert_eq!(results, ["command(echo *) is not granted: be silent", "be silent"]);
        }
        agent.stop().await;
    }
}
