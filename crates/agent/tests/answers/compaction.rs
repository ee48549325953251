//! `compaction.pre` and `compaction.post`.

use serde_json::{Value, json};
use tollgate_agent::{Agent, Started};
use tollgate_core::prelude::*;
use tollgate_core::verdict::Hold;
use tollgate_model::script::{Line, When};

use crate::scene::{Events, say};
use crate::support::World;

/// Four bytes are a token: these are some more than 250.
fn long() -> String {
    "word ".repeat(200)
}

/// A model that summarises when it is asked to, and answers otherwise.
fn world() -> World {
    let summary = When { contains: Some("Summarise".to_owned()), ..When::default() };
    let mut lines = vec![Line::say("It was long.").when(summary)];
    lines.extend((1..=4).map(|number| Line::say(format!("answer {number}"))));
    World::new(lines)
}

async fn start(world: &World, hooks: Vec<Registration>) -> Agent<Started> {
    let builder = world.builder().limits(|limits| limits.history_tokens = 200);
    world.start(builder.hooks(hooks)).await
}

fn said(world: &World, request: usize) -> Vec<(String, String)> {
    world.messages(request)
}

fn message(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test]
async fn a_summary_with_text_before_and_behind_it_is_what_the_model_gets() {
    let world = world();
    let events = Events::default();
    let hooks = vec![
        events.hook(),
        decide("before", |_, _: &CompactionPre| Decision::none().context("Before.")),
        decide("behind", |_, _: &CompactionPost| Decision::none().context("Behind.")),
    ];
    let agent = start(&world, hooks).await;
    agent.chat(long()).await.unwrap();
    agent.chat("Short.").await.unwrap();
    // The first, the summary, and what comes of it.
    assert_eq!(world.requests().len(), 3);
    assert!(world.was_told(1, "Summarise"));
    let summary = "Before.\n\nSummary of the conversation so far:\nIt was long.\n\nBehind.";
    assert_eq!(said(&world, 2), [message("system", summary), message("user", "Short.")]);
    agent.chat("More.").await.unwrap();
    assert_eq!(said(&world, 3)[0], message("system", summary));
    agent.stop().await;
    assert_eq!(events.count(Kind::CompactionPre), 1);
    assert_eq!(events.of(Kind::CompactionPost)[0]["summary"], "It was long.");
}

#[tokio::test]
async fn a_compaction_can_be_kept_from_happening_quietly_or_not() {
    let reason = || "not now".to_owned();
    for (hold, is_told) in
        [(Hold::Suppress { reason: reason() }, false), (Hold::Cancel { reason: reason() }, true)]
    {
        let world = world();
        let events = Events::default();
        let hook = decide("hold", move |_, _: &CompactionPre| Decision::from_verdict(hold.clone()));
        let agent = start(&world, vec![events.hook(), hook]).await;
        agent.chat(long()).await.unwrap();
        agent.chat("Short.").await.unwrap();
        assert_eq!(world.requests().len(), 2);
        let all =
            [message("user", &long()), message("assistant", "answer 1"), message("user", "Short.")];
        assert_eq!(said(&world, 1), all);
        let notices = world.notices.lock().unwrap().clone();
        let told = notices.iter().any(|notice| notice.contains("not now"));
        assert_eq!(told, is_told, "{notices:?}");
        agent.stop().await;
        assert_eq!(events.count(Kind::CompactionPost), 0);
    }
}

#[tokio::test]
async fn a_hook_of_compaction_pre_that_fails_cancels_it() {
    let world = world();
    let hook =
        decide("broken", |_, _: &CompactionPre| Err::<Decision<CompactionPre>, _>("out of order"));
    let agent = start(&world, vec![hook]).await;
    agent.chat(long()).await.unwrap();
    agent.chat("Short.").await.unwrap();
    assert_eq!(said(&world, 1).len(), 3);
    agent.stop().await;
}

#[tokio::test]
async fn a_model_that_does_not_summarise_keeps_its_history() {
    let fails = When { contains: Some("Summarise".to_owned()), ..When::default() };
    let world = World::new(vec![
        Line::error("no summary").when(fails),
        Line::say("answer 1"),
        Line::say("answer 2"),
    ]);
    let events = Events::default();
    let agent = start(&world, vec![events.hook()]).await;
    agent.chat(long()).await.unwrap();
    let response = agent.chat("Short.").await.unwrap();
    assert_eq!((response.text.as_str(), response.error), ("answer 2", None));
    assert_eq!(said(&world, 2).len(), 3);
    agent.stop().await;
    assert_eq!(events.of(Kind::Failure)[0]["origin"], "compaction");
}

/// The roles of a request, and how many calls each message makes.
fn shape(request: &Value) -> Vec<(String, usize)> {
    let messages = request["messages"].as_array().unwrap().iter();
    let calls = |message: &Value| message["tool_calls"].as_array().map_or(0, Vec::len);
    messages.map(|message| (message["role"].as_str().unwrap().to_owned(), calls(message))).collect()
}

#[tokio::test]
async fn a_call_and_what_came_of_it_stay_together() {
    let summary = When { contains: Some("Summarise".to_owned()), ..When::default() };
    let call = |text: &str| Line::call("say", json!({"text": text}));
    let world = World::new(vec![
        Line::say("It was long.").when(summary),
        call("a").and_call("say", json!({"text": "b"})),
        Line::say("answer 1"),
        call(&"x".repeat(100)),
        Line::say("answer 2"),
    ]);
    let builder = world.builder().tool(say()).limits(|limits| limits.history_tokens = 350);
    let agent = world.start(builder).await;
    agent.chat(long()).await.unwrap();
    // In the middle of this turn, the history becomes too long.
    let response = agent.chat("Short.").await.unwrap();
    assert_eq!((response.text.as_str(), response.error), ("answer 2", None));
    let requests = world.requests();
    let whole = ["system", "user", "assistant", "tool"].map(str::to_owned);
    let last = shape(&requests[requests.len() - 1]);
    assert_eq!(last, whole.into_iter().zip([0, 0, 1, 0]).collect::<Vec<_>>());
    assert_eq!(requests.len(), 5);
    agent.stop().await;
}

#[tokio::test]
async fn a_turn_that_is_too_long_by_itself_is_summarised_whole() {
    let summary = When { contains: Some("Summarise".to_owned()), ..When::default() };
    let world = World::new(vec![
        Line::say("It was long.").when(summary),
        Line::call("say", json!({"text": long()})),
        Line::say("Done."),
    ]);
    let builder = world.builder().tool(say()).limits(|limits| limits.history_tokens = 200);
    let agent = world.start(builder).await;
    let response = agent.chat("Short.").await.unwrap();
    assert_eq!((response.text.as_str(), response.error), ("Done.", None));
    let last = said(&world, 2);
    assert_eq!(last.len(), 1, "{last:?}");
    assert!(last[0].1.contains("It was long."), "{last:?}");
    agent.stop().await;
}

#[tokio::test]
async fn who_denies_the_call_of_the_model_denies_that_of_the_summary() {
    let world = world();
    let deny = decide("night", |_, pre: &ModelPre| {
        if pre.invocation == 0 { Decision::none() } else { Decision::deny("not at night") }
    });
    let agent = start(&world, vec![deny]).await;
    agent.chat(long()).await.unwrap();
    let response = agent.chat("Short.").await.unwrap();
    assert_eq!(response.error.as_deref(), Some("not at night"));
    assert_eq!(world.requests().len(), 1);
    agent.stop().await;
}

#[tokio::test]
async fn a_compaction_that_fails_is_not_tried_before_each_step() {
    let fails = When { contains: Some("Summarise".to_owned()), ..When::default() };
    let mut lines = vec![Line::error("no summary").when(fails), Line::say("answer 1")];
    lines.extend((0..4).map(|_| Line::call("say", json!({"text": "x"}))));
    lines.push(Line::say("answer 2"));
    let world = World::new(lines);
    let builder = world.builder().tool(say()).limits(|limits| limits.history_tokens = 2_000);
    let agent = world.start(builder).await;
    agent.chat("word ".repeat(2_000)).await.unwrap();
    assert_eq!(agent.chat("Short.").await.unwrap().text, "answer 2");
    let tried = (0..world.requests().len()).filter(|number| world.was_told(*number, "Summarise"));
    assert_eq!(tried.count(), 1);
    agent.stop().await;
}

#[tokio::test]
async fn what_is_added_while_a_summary_is_written_stays() {
    let world = world();
    let (begun, open) = (
        std::sync::Arc::new(tokio::sync::Semaphore::new(0)),
        std::sync::Arc::new(tokio::sync::Semaphore::new(0)),
    );
    let (there, go) = (std::sync::Arc::clone(&begun), std::sync::Arc::clone(&open));
    let hold = decide_async("hold", move |_: &OperationContext, _: &CompactionPre| {
        let (there, go) = (std::sync::Arc::clone(&there), std::sync::Arc::clone(&go));
        async move {
            there.add_permits(1);
            go.acquire().await?.forget();
            Ok(Decision::none())
        }
    });
    let agent = start(&world, vec![hold]).await;
    agent.chat(long()).await.unwrap();
    let switch = async {
        begun.acquire().await.unwrap().forget();
        agent.switch_facet("night", Some("Whisper.".to_owned())).await;
        open.add_permits(1);
    };
    let (response, ()) = tokio::join!(agent.chat("Short."), switch);
    assert_eq!(response.unwrap().error, None);
    let last = said(&world, 2);
    assert_eq!(last.len(), 3, "{last:?}");
    assert_eq!(last[1..], [message("user", "Short."), message("system", "Whisper.")]);
    agent.stop().await;
}
