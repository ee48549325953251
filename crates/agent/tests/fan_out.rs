//! More subagents than may run at once: they wait for their turn, and nothing waits for ever.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::World;
use tokio::sync::Semaphore;
use tollgate_agent::{Agent, AgentBuilder, Limits, Started};
use tollgate_core::prelude::*;
use tollgate_model::script::{Group, Line, Pattern, Script, Whom};

const LONG: Duration = Duration::from_mins(1);

fn group(task: &str, replies: Vec<Line>) -> Group {
    let first_user = Some(Pattern::new(&format!("^{task}")).unwrap());
    let whom = Whom { first_user, ..Whom::default() };
    Group { name: task.to_owned(), whom, replies }
}

fn args(prompt: &str) -> Value {
    json!({"Prompt": prompt})
}

/// One message with this many calls of `invoke_subagent`.
fn invoke(prompt: &str, times: usize) -> Line {
    let first = Line::call("invoke_subagent", args(prompt));
    (1..times).fold(first, |line, _| line.and_call("invoke_subagent", args(prompt)))
}

async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LONG, future).await.unwrap()
}

/// The events of subagents that hooks see.
#[derive(Default)]
struct Seen {
    /// The ids, as they began.
    began: Mutex<Vec<String>>,
    stopped: AtomicUsize,
    /// Calls of their models that are under way, and the most there ever were.
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Seen {
    fn began(&self) -> Vec<String> {
        self.began.lock().unwrap().clone()
    }

    fn hooks(self: &Arc<Self>, open: &Arc<Semaphore>) -> Vec<Registration> {
        let (start, stop, pre) = (Arc::clone(self), Arc::clone(self), Arc::clone(self));
        let open = Arc::clone(open);
        let starts = inspect("starts", move |_: &OperationContext, event: &SubagentStart| {
            start.began.lock().unwrap().push(event.agent.id.clone());
        });
        let stops = inspect("stops", move |_: &OperationContext, _: &SubagentStop| {
            stop.stopped.fetch_add(1, Ordering::SeqCst);
        });
        let holds = decide_async("holds", move |_: &OperationContext, event: &ModelPre| {
            let (seen, open, is_one) = (Arc::clone(&pre), Arc::clone(&open), event.agent.depth > 0);
            async move {
                if is_one {
                    let now = seen.now.fetch_add(1, Ordering::SeqCst) + 1;
                    seen.most.fetch_max(now, Ordering::SeqCst);
                    open.acquire().await?.forget();
                    seen.now.fetch_sub(1, Ordering::SeqCst);
                }
                Ok(Decision::none())
            }
        })
        .deadline(LONG * 10);
        vec![starts, stops, holds]
    }
}

async fn session(
    main: Vec<Line>,
    groups: Vec<Group>,
    open: usize,
    set: impl FnOnce(&mut Limits),
) -> (World, Agent<Started>, Arc<Seen>, Arc<Semaphore>) {
    let world = World::with_script(groups.into_iter().fold(Script::new(main), Script::with_group));
    let (seen, open) = (Arc::new(Seen::default()), Arc::new(Semaphore::new(open)));
    let builder = seen.hooks(&open).into_iter().fold(world.builder(), AgentBuilder::hook);
    let agent = world.start(builder.limits(set)).await;
    (world, agent, seen, open)
}

#[tokio::test]
async fn fifty_subagents_wait_for_their_turn_and_all_run() {
    let replies = (0..50).map(|_| Line::say("Done.")).collect();
    let (world, agent, seen, _) = session(
        vec![invoke("task", 50), Line::say("All: {{last_tool.content}}")],
        vec![group("task", replies)],
        1000,
        |limits| {
            limits.parallel_subagents = 3;
            limits.parallel_calls = 50;
        },
    )
    .await;
    let answer = within(agent.chat("Go.")).await.unwrap().text;
    assert_eq!(answer, "All: Done.");
    let done = world.messages(51).iter().filter(|(_, text)| text == "Done.").count();
    assert_eq!(done, 50, "{:?}", world.messages(51));
    assert!((1..=3).contains(&seen.most.load(Ordering::SeqCst)), "{:?}", seen.most);
    let ids: Vec<_> = (1..=50).map(|number| format!("agent-{number}")).collect();
    agent.stop().await;
    // Those that run at the same time may be seen to begin in any order.
    let mut began = seen.began();
    began.sort_by_key(|id| (id.len(), id.clone()));
    assert_eq!(began, ids);
    assert_eq!(seen.stopped.load(Ordering::SeqCst), 50);
}

/// With one place, each of them could only run if those above it, which wait for it, had none.
#[tokio::test]
async fn subagents_that_wait_for_theirs_do_not_take_their_places() {
    let (world, agent, seen, _) = session(
        vec![invoke("task one", 2), Line::say("{{last_tool.content}}")],
        vec![
            group(
                "task one",
                vec![invoke("task two", 2), invoke("task two", 2), Line::say("1"), Line::say("1")],
            ),
            group(
                "task two",
                (0..4)
                    .map(|_| invoke("task three", 2))
                    .chain((0..4).map(|_| Line::say("2")))
                    .collect(),
            ),
            group("task three", (0..8).map(|_| Line::say("3")).collect()),
        ],
        1000,
        |limits| limits.parallel_subagents = 1,
    )
    .await;
    within(agent.chat("Go.")).await.unwrap();
    within(agent.stop()).await;
    assert_eq!(seen.most.load(Ordering::SeqCst), 1);
    assert_eq!(seen.began().len(), seen.stopped.load(Ordering::SeqCst));
    assert!(seen.began().len() >= 6, "{:?}", seen.began());
    drop(world);
}

#[tokio::test]
async fn a_turn_that_is_cancelled_takes_those_that_wait_with_it() {
    let (world, agent, seen, open) = session(
        vec![
            invoke("task", 5),
            Line::call("manage_subagents", json!({"Action": "list"})),
            Line::say("Bye."),
        ],
        vec![group("task", vec![])],
        0,
        |limits| limits.parallel_subagents = 2,
    )
    .await;
    let turn = agent.chat("Go.");
    let both_run = async {
        while seen.now.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(async {
        tokio::select! {
            _ = turn => panic!("it waits for its subagents"),
            () = both_run => {}
        }
    })
    .await;
    // The places are free again, and nobody takes them.
    open.add_permits(100);
    within(agent.chat("Who is there?")).await.unwrap();
    let last = world.requests().len() - 1;
    let ended = world
        .messages(last)
        .iter()
        .map(|(_, text)| text.matches(r#""status":"ended""#).count())
        .sum::<usize>();
    assert_eq!(ended, 3, "{:?}", world.messages(last));
    within(agent.stop()).await;
    assert_eq!(seen.began(), ["agent-1", "agent-2"]);
    assert_eq!(seen.stopped.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn one_that_waits_in_the_background_can_be_ended_and_is_not_begun() {
    let back = json!({"Prompt": "task", "Background": true});
    let kill = json!({"Action": "kill", "SubagentId": "agent-2"});
    let (_world, agent, seen, open) = session(
        vec![
            Line::call("invoke_subagent", back.clone()),
            Line::call("invoke_subagent", back.clone()),
            Line::call("invoke_subagent", back),
            Line::call("manage_subagents", kill),
            Line::say("{{last_tool.content}}"),
            Line::say("{{last_user}}"),
            Line::say("{{last_user}}"),
        ],
        vec![group("task", vec![Line::say("first"), Line::say("third")])],
        0,
        |limits| limits.parallel_subagents = 1,
    )
    .await;
    assert_eq!(within(agent.chat("Go.")).await.unwrap().text, "`agent-2` has ended");
    open.add_permits(2);
    for answer in ["Message from agent-1:\nfirst", "Message from agent-3:\nthird"] {
        assert_eq!(within(agent.next_triggered()).await.unwrap().text, answer);
    }
    within(agent.stop()).await;
    assert_eq!(seen.began(), ["agent-1", "agent-3"]);
}
