//! What is typed into a command in the background, and who decides about it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::json;
use support::World;
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

/// A call that leaves a command in the background.
fn leave(command: &str) -> Line {
    Line::call("run_command", json!({"CommandLine": command, "WaitMsBeforeAsync": 0}))
}

fn send(text: &str) -> Line {
    let args = json!({"Action": "send_input", "TaskId": "task-1", "Input": text});
    Line::call("manage_task", args)
}

fn wait() -> Line {
    let args = json!({"Action": "wait", "TaskId": "task-1", "WaitMs": 30_000});
    Line::call("manage_task", args)
}

fn no_deletions() -> policy::Rule {
    let deletes =
        |call: &ToolCall| call.text("CommandLine").is_some_and(|line| line.contains("rm -rf"));
    policy::deny("run_command").when(deletes).reason("nothing is deleted")
}

#[tokio::test]
async fn what_is_typed_into_a_shell_is_a_command_to_policies() {
    let world = World::new(vec![
        leave("bash"),
        send("rm -rf kept\n"),
        // In pieces, behind other lines.
        send("echo hi > said\nrm -r"),
        send("f kept\n"),
        send("\nexit\n"),
        wait(),
        Line::say("Done."),
    ]);
    std::fs::create_dir(world.path("kept")).unwrap();
    let agent = world.start(world.builder().policy(no_deletions())).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(2, "nothing is deleted"));
    assert!(!world.was_told(3, "f kept"), "what was begun is no deletion yet");
    let told = world.messages(4).pop().unwrap().1;
    assert_eq!(told, "nothing is deleted");
    agent.stop().await;
    assert!(std::path::Path::new(&world.path("kept")).exists());
    assert_eq!(std::fs::read_to_string(world.path("said")).unwrap(), "hi\n");
}

#[tokio::test]
async fn two_pieces_of_one_message_are_one_line() {
    let piece = |text: &str| json!({"Action": "send_input", "TaskId": "task-1", "Input": text});
    let world = World::new(vec![
        leave("bash"),
        Line::call("manage_task", piece("rm -r")).and_call("manage_task", piece("f kept\n")),
        send("\u{4}"),
        Line::say("Done."),
    ]);
    std::fs::create_dir(world.path("kept")).unwrap();
    let agent = world.start(world.builder().policy(no_deletions())).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(2, "nothing is deleted"), "{:?}", world.messages(2));
    agent.stop().await;
    assert!(std::path::Path::new(&world.path("kept")).exists());
}

#[tokio::test]
async fn what_is_typed_into_another_interpreter_is_its_code() {
    let world = World::new(vec![
        leave("cd . && python3"),
        send("import shutil; shutil.rmtree('kept')\n"),
        Line::say("Done."),
    ]);
    std::fs::create_dir(world.path("kept")).unwrap();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let lines = std::sync::Arc::clone(&seen);
    let hook = decide("sees", move |_cx: &OperationContext, call: &ToolPre| {
        let line = call.text("CommandLine").unwrap_or_default().to_owned();
        let is_typed = line.contains("rmtree");
        lines.lock().unwrap().push(line);
        if is_typed { Decision::deny("no code") } else { Decision::none() }
    });
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(2, "no code"));
    agent.stop().await;
    assert!(std::path::Path::new(&world.path("kept")).exists());
    let seen = seen.lock().unwrap().clone();
    let typed = "{ cd . && python3\n} <<'TYPED'\nimport shutil; shutil.rmtree('kept')\nTYPED\n";
    assert_eq!(seen.last().unwrap(), typed);
}

#[tokio::test]
async fn a_task_that_is_started_in_the_same_message_is_no_way_around() {
    let input = json!({"Action": "send_input", "TaskId": "task-1", "Input": "rm -rf kept\n"});
    let world = World::new(vec![leave("bash").and_call("manage_task", input), Line::say("Done.")]);
    std::fs::create_dir(world.path("kept")).unwrap();
    let agent = world.start(world.builder().policy(no_deletions())).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(1, "nothing is deleted"));
    agent.stop().await;
    assert!(std::path::Path::new(&world.path("kept")).exists());
}

#[tokio::test]
async fn what_a_hook_makes_another_command_of_is_not_typed() {
    let world = World::new(vec![leave("bash"), send("touch made\n"), Line::say("Done.")]);
    let hook = transform("other", |_cx: &OperationContext, call: &ToolPre| {
        if call.text("CommandLine") == Some("touch made\n") {
            Answer::set_args([("CommandLine", json!("true"))])
        } else {
            Answer::none()
        }
    });
    let agent = world.start(world.builder().hook(hook)).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(2, "use run_command"));
    agent.stop().await;
    assert!(!std::path::Path::new(&world.path("made")).exists());
}

#[test]
fn no_grant_covers_what_is_typed() {
    use tollgate_agent::permission::{GrantedBy, Grants};
    let grants = Grants::default();
    grants.add("tool(manage_task)".parse().unwrap(), GrantedBy::Person);
    let manage = || ToolCall::new("manage_task").arg("TaskId", "task-1");
    assert!(grants.cover(&manage().arg("Action", "status")));
    assert!(!grants.cover(&manage().arg("Action", "send_input").arg("Input", "y\n")));
}
