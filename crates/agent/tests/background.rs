//! What goes on in the background: who is told of it, what hooks see of it, and that nothing of it is left over.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;
mod witness;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::World;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tollgate_agent::{Agent, AgentBuilder, AgentError, Started};
use tollgate_core::patch::ResultPatch;
use tollgate_core::prelude::*;
use tollgate_model::script::{Group, Line, Pattern, Script, Whom};
use witness::Witness;

const LONG: Duration = Duration::from_secs(30);

fn group(task: &str, replies: Vec<Line>) -> Group {
    let first_user = Some(Pattern::new(&format!("^{task}")).unwrap());
    let whom = Whom { first_user, ..Whom::default() };
    Group { name: task.to_owned(), whom, replies }
}

fn echo() -> Line {
    Line { once: Some(false), ..Line::say("I heard: {{last_user}}") }
}

fn in_background(prompt: &str) -> Line {
    Line::call("invoke_subagent", json!({"Prompt": prompt, "Background": true}))
}

async fn session(
    main: Vec<Line>,
    groups: Vec<Group>,
    set: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> (World, Agent<Started>) {
    let world = World::with_script(groups.into_iter().fold(Script::new(main), Script::with_group));
    let agent = world.start(set(world.builder())).await;
    (world, agent)
}

async fn triggered(agent: &Agent<Started>) -> String {
    timeout(LONG, agent.next_triggered()).await.unwrap().unwrap().text
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: never");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A hook that holds the calls of subagents' models until it is let go.
fn hold(open: &Arc<Semaphore>) -> Registration {
    let open = Arc::clone(open);
    decide_async("hold", move |_cx: &OperationContext, pre: &ModelPre| {
        let open = Arc::clone(&open);
        let waits = pre.agent.depth > 0;
        async move {
            if waits {
                open.acquire().await?.forget();
            }
            Ok(Decision::none())
        }
    })
}

/// A command that writes down its number and waits for a file.
fn waits(world: &str) -> Value {
    let line = format!("echo $$ > {world}.pid; until test -e {world}.go; do sleep 0.01; done");
    json!({"CommandLine": line, "WaitMsBeforeAsync": 0})
}

#[tokio::test]
async fn an_agent_is_told_when_a_command_ends_in_the_background() {
    let lines = vec![Line::call("run_command", waits("a")), Line::say("I wait."), echo()];
    let (world, agent) = session(lines, vec![], |builder| builder).await;
    agent.chat("Go.").await.unwrap();
    assert!(world.was_told(1, "You will be told"));
    std::fs::write(world.path("a.go"), "").unwrap();
    let heard = triggered(&agent).await;
    assert!(heard.starts_with("I heard: Message from task-1:\n`echo $$"), "{heard}");
    assert!(heard.contains("exited with"), "{heard}");
    agent.stop().await;
}

#[tokio::test]
async fn a_subagent_is_told_of_its_own_commands() {
    let replies = vec![Line::call("run_command", waits("a")), Line::say("I wait."), echo()];
    let lines = vec![
        Line::call("invoke_subagent", json!({"Prompt": "task one"})),
        Line::say("It waits."),
        echo(),
    ];
    let (world, agent) = session(lines, vec![group("task one", replies)], |builder| builder).await;
    agent.chat("Go.").await.unwrap();
    std::fs::write(world.path("a.go"), "").unwrap();
    let heard = triggered(&agent).await;
    assert!(
        heard.starts_with("I heard: Message from agent-1:\nI heard: Message from task-1:"),
        "{heard}"
    );
    agent.stop().await;
}

#[tokio::test]
async fn nothing_outlives_an_agent_that_is_dropped() {
    let open = Arc::new(Semaphore::new(0));
    let timer = json!({"DurationSeconds": 3600, "Prompt": "later"});
    let lines = vec![
        in_background("task one"),
        Line::call("run_command", waits("a")).and_call("schedule", timer),
        Line::say("Bye."),
    ];
    let replies = vec![Line::call("run_command", json!({"CommandLine": "touch made"}))];
    let (world, agent) =
        session(lines, vec![group("task one", replies)], |builder| builder.hook(hold(&open))).await;
    agent.chat("Go.").await.unwrap();
    let pid = || std::fs::read_to_string(world.path("a.pid")).unwrap_or_default();
    until("the command runs", || pid().ends_with('\n')).await;
    drop(agent);
    let process = format!("/proc/{}", pid().trim());
    until("the command is gone", || !Path::new(&process).exists()).await;
    // Nobody waits for the hook any more.
    open.add_permits(10);
    until("the subagent is gone", || open.available_permits() == 10).await;
    assert_eq!(world.requests().len(), 3);
}

#[tokio::test]
async fn a_timer_goes_off_for_the_subagent_that_has_set_it() {
    let timer = json!({"DurationSeconds": 0, "Prompt": "wake up"});
    let replies = vec![Line::call("schedule", timer), Line::say("Set."), echo()];
    let lines = vec![in_background("task one"), Line::say("It is set."), echo()];
    let (_world, agent) = session(lines, vec![group("task one", replies)], |builder| builder).await;
    agent.chat("Go.").await.unwrap();
    // It may go off before the subagent has said that it is set.
    let mut heard = triggered(&agent).await;
    if heard.ends_with("Set.") {
        heard = triggered(&agent).await;
    }
    assert_eq!(heard, "I heard: Message from agent-1:\nI heard: wake up");
    agent.stop().await;
}

#[tokio::test]
async fn an_answer_has_room_where_others_have_taken_all_of_it() {
    let message = || json!({"Recipient": "main", "Message": "noise"});
    let many = || {
        (0..63).fold(Line::call("send_message", message()), |line, _| {
            line.and_call("send_message", message())
        })
    };
    let mut replies: Vec<_> = (0..5).map(|_| many()).collect();
    replies.push(Line::say("The answer."));
    let lines = vec![in_background("task one"), Line::say("I wait."), echo()];
    let witness = Witness::default();
    let (world, agent) =
        session(lines, vec![group("task one", replies)], |builder| builder.hook(witness.hook()))
            .await;
    agent.chat("Go.").await.unwrap();
    until("the subagent is done", || !witness.of(Kind::SubagentStop).is_empty()).await;
    let mut told = String::new();
    while !told.contains("The answer.") {
        told = triggered(&agent).await;
        let last = world.messages(world.requests().len() - 1);
        told.extend(last.iter().map(|message| message.1.as_str()));
    }
    agent.stop().await;
}

#[tokio::test]
async fn hooks_see_an_answer_that_nobody_waited_for() {
    let lines = vec![in_background("task one"), Line::say("I wait."), echo()];
    let redact =
        transform("redact", |_cx: &OperationContext, done: &ToolPost| match done.result.as_str() {
            Some(text) if done.call.name == "invoke_subagent" => {
                Answer::rewrite(ResultPatch(text.replace("hunter2", "•••").into()))
            }
            _ => Answer::none(),
        });
    let replies = vec![Line::say("It is hunter2."), Line::say("Still hunter2.")];
    let (world, agent) =
        session(lines, vec![group("task one", replies)], |builder| builder.hook(redact)).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(triggered(&agent).await, "I heard: Message from agent-1:\nIt is •••.");
    agent.stop().await;
    drop(world);
}

#[tokio::test]
async fn a_failure_that_nobody_waited_for_is_told_and_can_be_recovered() {
    let lines = vec![in_background("task one"), Line::say("I wait."), echo()];
    let fails = || Line { status: Some(400), ..Line::error("no credit") };
    let witness = Witness::default();
    let (_world, agent) = session(lines, vec![group("task one", vec![fails()])], |builder| {
        builder.hook(witness.hook())
    })
    .await;
    agent.chat("Go.").await.unwrap();
    let heard = triggered(&agent).await;
    assert!(heard.contains("Message from agent-1:\nIt failed: "), "{heard}");
    agent.stop().await;
    // It has stopped, though without an answer.
    assert_eq!(witness.of(Kind::SubagentStop), ["subagent.stop agent-1 self ="]);
}

#[tokio::test]
async fn what_a_subagent_is_sent_while_it_says_its_last_is_part_of_its_answer() {
    let open = Arc::new(Semaphore::new(0));
    let send = json!({"Recipient": "agent-1", "Message": "More."});
    let lines = vec![
        in_background("task one"),
        Line::say("It is at work."),
        Line::call("send_message", send),
        Line::say("I wait."),
        echo(),
    ];
    let replies = vec![Line::say("Done."), echo()];
    let witness = Witness::default();
    let hooks = [witness.hook(), hold(&open)];
    let groups = vec![group("task one", replies)];
    let (_world, agent) = session(lines, groups, |builder| builder.hooks(hooks)).await;
    agent.chat("Go.").await.unwrap();
    // It is held before the model is called, and behind the look into its messages.
    let is_held = || witness.of(Kind::ModelPre).iter().any(|line| line.contains("agent-1"));
    until("the subagent is held", is_held).await;
    agent.chat("Tell it more.").await.unwrap();
    open.add_permits(10);
    let heard = triggered(&agent).await;
    assert_eq!(heard, "I heard: Message from agent-1:\nI heard: Message from main:\nMore.");
    agent.stop().await;
}

#[tokio::test]
async fn a_subagent_may_take_longer_than_a_call() {
    let slow = Line { delay_ms: 300, ..Line::say("Done.") };
    let lines = vec![
        Line::call("invoke_subagent", json!({"Prompt": "task one"})),
        Line::say("{{last_tool.content}}"),
    ];
    let (_world, agent) = session(lines, vec![group("task one", vec![slow])], |builder| {
        builder.limits(|limits| limits.call_time = Duration::from_millis(20))
    })
    .await;
    assert_eq!(agent.chat("Go.").await.unwrap().text, "Done.");
    agent.stop().await;
}

#[tokio::test]
async fn what_the_program_has_defined_stays_what_it_is() {
    let define = json!({"Name": "reviewer", "Description": "", "SystemPrompt": "Say yes."});
    let lines = vec![Line::call("define_subagent", define), Line::say("{{last_tool.content}}")];
    let (world, agent) = session(lines, vec![], |builder| {
        builder.subagent("reviewer", "Reviews.", "Be strict.", Some(&["view_file"]))
    })
    .await;
    let said = agent.chat("Go.").await.unwrap().text;
    assert_eq!(said, "`reviewer` is defined already, and stays what it is");
    agent.stop().await;
    let builder = world.builder().subagent("a", "", "", Some(&["veiw_file"]));
    let error = builder.build().start().await.unwrap_err();
    assert!(
        matches!(&error, AgentError::NoSuchTool { name, .. } if name == "veiw_file"),
        "{error}"
    );
}

#[tokio::test]
async fn the_workspace_that_cannot_be_used_is_named() {
    let world = World::new(vec![]);
    std::fs::write(world.path("file"), "").unwrap();
    let builder = world.builder().workspace(world.path("file"));
    let error = builder.build().start().await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("the workspace `{}` cannot", world.path("file"))),
        "{error}"
    );
    assert_eq!(error.matches("cannot be used").count(), 1, "{error}");
}
