//! A turn, piece by piece.

use futures_util::{Stream, StreamExt as _};
use serde_json::json;
use tollgate_agent::{AgentError, Chunk};
use tollgate_core::prelude::*;
use tollgate_model::script::Line;
use tollgate_model::server::Fault;

use crate::scene::say;
use crate::support::World;

/// The texts between what is void, and the response.
async fn taken(
    stream: impl Stream<Item = Result<Chunk, AgentError>>,
) -> (Vec<String>, usize, String) {
    let mut stream = std::pin::pin!(stream);
    let mut texts = vec![String::new()];
    let mut pieces = 0;
    while let Some(chunk) = stream.next().await {
        match chunk.unwrap() {
            Chunk::Text(text) => {
                pieces += 1;
                texts.last_mut().unwrap().push_str(&text);
            }
            Chunk::Void => texts.push(String::new()),
            Chunk::Done(response) => {
                assert!(stream.next().await.is_none(), "the response is last");
                return (texts, pieces, response.text);
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("there was no response")
}

#[tokio::test]
async fn the_pieces_come_and_then_the_response() {
    let lines =
        vec![Line::say("Let me see. ").and_call("say", json!({})), Line::say("It is done.")];
    let world = World::new(lines);
    let hook = transform("mask", |_, _: &TurnEnd| {
        Answer::rewrite(ResponsePatch("It is done!".to_owned()))
    });
    let agent = world.start(world.builder().tool(say()).hook(hook)).await;
    let (texts, pieces, response) = taken(agent.chat_stream("Go.")).await;
    assert_eq!(texts, ["Let me see. It is done."]);
    assert!(pieces > 2, "{pieces}");
    assert_eq!(response, "It is done!");
    agent.stop().await;
}

#[tokio::test]
async fn what_the_model_said_before_it_was_called_again_is_void() {
    let world = World::new(vec![Line::say("One two three four."), Line::say("Five.")]);
    world.server.fail(Fault::CutText);
    let agent = world.start(world.builder()).await;
    let (texts, _, response) = taken(agent.chat_stream("Go.")).await;
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert_eq!((texts[1].as_str(), response.as_str()), ("Five.", "Five."));
    agent.stop().await;
}

#[tokio::test]
async fn turns_that_are_asked_for_at_once_get_each_its_own_pieces() {
    let world = World::new(vec![Line::say("The first one."), Line::say("The second one.")]);
    let agent = world.start(world.builder()).await;
    let (first, second) =
        tokio::join!(taken(agent.chat_stream("One.")), taken(agent.chat_stream("Two.")));
    assert_eq!((first.0, first.2.as_str()), (vec!["The first one.".to_owned()], "The first one."));
    let second = (second.0, second.2);
    assert_eq!(second, (vec!["The second one.".to_owned()], "The second one.".to_owned()));
    agent.stop().await;
}

#[tokio::test]
async fn a_denied_prompt_has_no_pieces() {
    let world = World::new(vec![Line::say("one")]);
    let hook = decide("guard", |_, _: &TurnStart| Decision::deny("not here"));
    let agent = world.start(world.builder().hook(hook)).await;
    let (texts, pieces, response) = taken(agent.chat_stream("Go.")).await;
    assert_eq!((texts.concat().as_str(), pieces, response.as_str()), ("", 0, "not here"));
    assert!(world.requests().is_empty());
    agent.stop().await;
}
