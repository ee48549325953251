//! What hosts' tools are in Tollgate's words, which files they touch, and how a rewrite goes back.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod codex;
mod droid;
mod gemini;
mod kimi;
mod qwen;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use tollgate_core::event::Args;
use tollgate_core::prelude::*;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::tools::{self, Access};
use tollgate_hosts::{Choices, Host, Incoming, Output, Reply, by_name};

fn host(name: &str) -> &'static Host {
    by_name(name).unwrap()
}

/// The host's event of a tool that is about to run, in the directory `/w`.
fn pre(name: &str, tool: &str, input: &Value) -> Incoming {
    let gate = host(name).events.iter().find(|event| event.registered && event.gate).unwrap();
    let payload = json!({
        "hook_event_name": gate.name, "session_id": "1", "cwd": "/w",
        "tool_name": tool, "tool_input": input,
    });
    host(name).read(None, payload).unwrap().unwrap()
}

/// Each call: its name, and what it touches.
fn touched(incoming: &Incoming) -> Vec<(String, Vec<(String, Access)>)> {
    let of = |call: &ToolCall| {
        let paths = tools::paths(call).unwrap();
        let paths = paths.into_iter().map(|it| (it.path.into_owned(), it.access)).collect();
        (call.name.clone(), paths)
    };
    incoming.parts.iter().map(|part| of(part.call().unwrap())).collect()
}

/// What comes of hooks that have nothing to say.
fn silence(incoming: &Incoming) -> Vec<AnyOutcome> {
    let runner = Runner::builder().build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = |event: AnyEvent| {
        let mut asked = pin!(runner.dispatch_any(&operation, event));
        match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => panic!("nobody is asked, and nothing is waited for"),
        }
    };
    incoming.parts.iter().map(|part| outcome(part.event.clone())).collect()
}

/// The answer where a hook rewrites the arguments of one of the calls.
fn rewriting(incoming: &Incoming, place: usize, change: impl FnOnce(&mut Args)) -> Reply {
    let mut outcomes = silence(incoming);
    let AnyEvent::ToolPre(event) = &mut outcomes[place].event else { panic!("no call") };
    change(&mut event.call.args);
    Reply::of(incoming, &outcomes, Choices::default())
}

/// The answer where a hook rewrites what a tool came to.
fn replacing(incoming: &Incoming, result: &str) -> Reply {
    let mut outcomes = silence(incoming);
    let AnyEvent::ToolPost(event) = &mut outcomes[0].event else { panic!("no result") };
    event.result = result.into();
    Reply::of(incoming, &outcomes, Choices::default())
}

fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn write(path: &str) -> (String, Access) {
    (path.to_owned(), Access::Write)
}

fn read(path: &str) -> (String, Access) {
    (path.to_owned(), Access::Read)
}

/// What each call of a host's tool touches: the tool, its input, the calls.
type Row<'a> = (&'a str, Value, &'a [(&'a str, &'a [(String, Access)])]);

fn check(name: &str, rows: &[Row<'_>]) {
    for (tool, input, calls) in rows {
        let calls: Vec<_> =
            calls.iter().map(|(name, paths)| ((*name).to_owned(), paths.to_vec())).collect();
        assert_eq!(touched(&pre(name, tool, input)), calls, "{name} {tool} {input}");
    }
}

/// A payload may have less, more, and other types than were recorded.
#[test]
fn odd_payloads_are_read_or_refused() {
    for host in tollgate_hosts::ALL {
        for event in host.events {
            let odd = json!({
                "hook_event_name": event.name, "session_id": 12, "cwd": null, "prompt": 5,
                "transcript_path": null, "tool_name": "Unheard-of", "tool_input": null,
                "tool_response": {"deep": [null, 1]}, "error": {"message": 3}, "message": [],
                "agent_id": null, "model": {"id": "m"}, "stop_hook_active": "yes",
                "background_tasks": 7, "something": {"new": true}, "last_assistant_message": null,
            });
            if host.wire.event_of(odd.as_object().unwrap()) != Some(event.name) {
                continue;
            }
            let read = match host.read(None, odd) {
                // An event that is about commands and has none.
                Err(error) if event.name == "beforeShellExecution" => {
                    assert!(error.message.contains("not understood"), "{error}");
                    continue;
                }
                read => read.unwrap_or_else(|error| panic!("{host:?}: {error}")),
            };
            assert_eq!(read.unwrap().session.id, "12", "{host:?} {}", event.name);
        }
        for tool in host.tools {
            for input in [json!(null), json!([]), json!("*** x"), json!({"path": 7})] {
                let gate = host.events.iter().find(|event| event.gate).unwrap();
                let odd = json!({
                    "hook_event_name": gate.name, "session_id": "1",
                    "tool_name": tool.native, "tool_input": input,
                });
                if host.wire.event_of(odd.as_object().unwrap()) == Some(gate.name) {
                    match host.read(None, odd) {
                        Ok(read) => assert!(!read.unwrap().parts.is_empty()),
                        Err(error) => assert!(error.message.contains("not understood"), "{error}"),
                    }
                }
            }
        }
    }
}
