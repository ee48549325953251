//! Subagents that come to no answer: hooks are told once that each has stopped, whatever has stopped it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tollgate_core::prelude::*;
use tollgate_model::script::{Group, Line, Pattern, Script, Whom};

use crate::scene::{Events, LONG, results, say, until};
use crate::support::World;

fn group(task: &str, replies: Vec<Line>) -> Group {
    let first_user = Some(Pattern::new(&format!("^{task}")).unwrap());
    let whom = Whom { first_user, ..Whom::default() };
    Group { name: task.to_owned(), whom, replies }
}

fn world(main: Vec<Line>, groups: Vec<Group>) -> World {
    World::with_script(groups.into_iter().fold(Script::new(main), Script::with_group))
}

fn invoke(prompt: &str) -> Line {
    Line::call("invoke_subagent", json!({"Prompt": prompt}))
}

fn kill(id: &str) -> Value {
    json!({"Action": "kill", "SubagentId": id})
}

/// A hook that holds what it is asked by the models of subagents of this depth.
fn hold(depth: u32) -> Registration {
    decide_async("hold", move |_, pre: &ModelPre| {
        let holds = pre.agent.depth == depth;
        async move {
            if holds {
                std::future::pending::<()>().await;
            }
            Ok(Decision::none())
        }
    })
    .deadline(LONG * 10)
}

/// The subagents that began and those that stopped without an answer, by id. Asked once the session has ended.
fn told(events: &Events) -> (Vec<String>, Vec<String>) {
    let id = |event: &Value| event["agent"]["id"].as_str().unwrap().to_owned();
    let mut began: Vec<_> = events.of(Kind::SubagentStart).iter().map(id).collect();
    let stops = events.of(Kind::SubagentStop);
    assert!(stops.iter().all(|stop| stop.get("result").is_none()), "{stops:?}");
    let mut stopped: Vec<_> = stops.iter().map(id).collect();
    began.sort_unstable();
    stopped.sort_unstable();
    (began, stopped)
}

fn one() -> (Vec<String>, Vec<String>) {
    (vec!["agent-1".to_owned()], vec!["agent-1".to_owned()])
}

#[tokio::test]
async fn one_whose_model_fails_or_that_has_had_its_steps() {
    let fails = Line { status: Some(400), ..Line::error("no credit") };
    let works = Line { once: Some(false), ..Line::call("say", json!({"text": "x"})) };
    for (reply, why) in [(fails, "no credit"), (works, "2 steps")] {
        let main = vec![invoke("task one"), Line::say("ok")];
        let world = world(main, vec![group("task one", vec![reply])]);
        let events = Events::default();
        let builder = world.builder().tool(say()).hook(events.hook());
        let agent = world.start(builder.limits(|limits| limits.steps = 2)).await;
        agent.chat("Go.").await.unwrap();
        let told_main = results(&world, world.requests().len() - 1);
        assert!(told_main[0].contains(why), "{told_main:?}");
        agent.stop().await;
        assert_eq!(told(&events), one());
    }
}

#[tokio::test]
async fn one_that_has_had_its_time() {
    let world = world(vec![invoke("task one")], vec![]);
    let events = Events::default();
    let builder = world.builder().hook(events.hook()).hook(hold(1));
    let agent =
        world.start(builder.limits(|limits| limits.turn_time = Duration::from_secs(1))).await;
    // It is that of the turn, too, and which of them ends first is all the same.
    drop(agent.chat("Go.").await);
    agent.stop().await;
    let (began, stopped) = told(&events);
    assert_eq!(began, stopped);
}

#[tokio::test]
async fn one_whose_turn_is_cancelled() {
    let world = world(vec![invoke("task one"), Line::say("ok")], vec![]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook()).hook(hold(1))).await;
    tokio::select! {
        response = agent.chat("Go.") => panic!("it is over: {response:?}"),
        () = until("the subagent is at work", || events.count(Kind::ModelPre) == 2) => {}
    }
    agent.stop().await;
    assert_eq!(told(&events), one());
}

/// A hook that holds `manage_subagents` until this holds.
fn kill_when(holds: impl Fn() -> bool + Send + Sync + 'static) -> Registration {
    let holds = Arc::new(holds);
    decide_async("kill", move |_, _: &ToolPre| {
        let holds = Arc::clone(&holds);
        async move {
            until("it is time to kill", || holds()).await;
            Ok(Decision::none())
        }
    })
    .tool("manage_subagents")
    .deadline(LONG * 10)
}

#[tokio::test]
async fn one_that_waits_for_another_and_is_killed() {
    let main = vec![invoke("task one").and_call("manage_subagents", kill("agent-1"))];
    let world = world(main, vec![group("task one", vec![invoke("task two")])]);
    let events = Events::default();
    let seen = events.clone();
    let kill = kill_when(move || seen.count(Kind::ModelPre) == 3);
    let builder = world.builder().hook(events.hook()).hook(hold(2)).hook(kill);
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    agent.stop().await;
    let both = vec!["agent-1".to_owned(), "agent-2".to_owned()];
    assert_eq!(told(&events), (both.clone(), both));
}

#[tokio::test]
async fn one_that_is_killed_before_it_has_begun() {
    let args = json!({"Prompt": "task one", "Background": true});
    let first = Line::call("invoke_subagent", args).and_call("manage_subagents", kill("agent-1"));
    let world = world(vec![first, Line::say("ok")], vec![]);
    let events = Events::default();
    let agent = world.start(world.builder().hook(events.hook()).hook(hold(1))).await;
    agent.chat("Go.").await.unwrap();
    agent.stop().await;
    let (began, stopped) = told(&events);
    assert_eq!(began, stopped);
}

#[tokio::test]
async fn one_that_is_killed_while_hooks_look_at_its_answer_is_not_told_of_twice() {
    let main = vec![
        invoke("task one").and_call("manage_subagents", kill("agent-1")),
        Line::say("{{last_tool.content}}"),
    ];
    let world = world(main, vec![group("task one", vec![Line::say("The answer.")])]);
    let events = Events::default();
    let open = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&open);
    let look = decide_async("look", move |_, _: &SubagentStop| {
        let opened = Arc::clone(&opened);
        async move {
            drop(opened.acquire().await?);
            Ok(Decision::none())
        }
    });
    // Once it was killed, the hook that looks goes on.
    let killed = decide("killed", move |_, _: &ToolPost| {
        open.add_permits(1);
        Decision::none()
    });
    let seen = events.clone();
    let kill = kill_when(move || seen.count(Kind::SubagentStop) == 1);
    let hooks = [events.hook(), look.deadline(LONG * 10), killed.tool("manage_subagents"), kill];
    let agent = world.start(world.builder().hooks(hooks)).await;
    agent.chat("Go.").await.unwrap();
    agent.stop().await;
    assert_eq!(events.count(Kind::SubagentStop), 1);
    let told = results(&world, world.requests().len() - 1);
    assert!(told[0].contains("it was ended"), "{told:?}");
}
