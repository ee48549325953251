//! A hook that sees every event of a session, in order, and says nothing.

#![allow(dead_code, unreachable_pub)] // each test program uses a part of it

use std::sync::{Arc, Mutex};

use tollgate_core::EventRef;
use tollgate_core::hook::{Ask, BoxFuture};
use tollgate_core::prelude::*;

/// What it saw: a line for each event, with the event, the agent and what it is about.
#[derive(Debug, Clone, Default)]
pub struct Witness {
    seen: Arc<Mutex<Vec<String>>>,
}

impl Witness {
    /// The hook. It is asked before all others, so that it also sees what they deny.
    pub fn hook(&self) -> Registration {
        self.hook_on(|_| true)
    }

    /// The same without the events whose hooks only watch. Those run in threads of their own, for which a clock that is
    /// paused does not wait.
    pub fn asked(&self) -> Registration {
        self.hook_on(|kind| kind.rule(Dialect::Native).is_some_and(|it| it.mode != Mode::Inspect))
    }

    fn hook_on(&self, wanted: impl Fn(Kind) -> bool) -> Registration {
        let handler = Arc::new(self.clone());
        let hook = Registration::named("witness").priority(-1_000);
        let kinds = Kind::ALL.iter().filter(|kind| wanted(**kind));
        kinds.fold(hook, |hook, kind| hook.and_on_kind(*kind, Arc::clone(&handler)))
    }

    pub fn lines(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Those of one event.
    pub fn of(&self, kind: Kind) -> Vec<String> {
        let is_of = |line: &String| line.split(' ').next() == Some(kind.name());
        self.lines().into_iter().filter(is_of).collect()
    }
}

impl<E: Event> Handle<E> for Witness {
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        if !ask.reask {
            self.seen.lock().unwrap().push(line(ask.event.view()));
        }
        Box::pin(std::future::ready(Ok(Answer::none())))
    }
}

/// An event in a line: which it is, whose, and what it is about.
pub fn line(event: EventRef<'_>) -> String {
    let tool = |call: &ToolCall| match &call.server {
        Some(server) => format!("{server}/{}", call.name),
        None => call.name.clone(),
    };
    let (agent, about) = match event {
        EventRef::SessionStart(event) => (&event.agent, String::new()),
        EventRef::SessionEnd(event) => (&event.agent, String::new()),
        EventRef::TurnStart(event) => (&event.agent, short(&event.prompt)),
        EventRef::TurnEnd(event) => (&event.agent, short(&event.response)),
        EventRef::ModelPre(event) => (&event.agent, event.invocation.to_string()),
        EventRef::ModelPost(event) => (&event.agent, event.invocation.to_string()),
        EventRef::InvocationEnd(event) => (&event.agent, event.invocation.to_string()),
        EventRef::ToolPre(event) => (&event.call.agent, tool(&event.call)),
        EventRef::ToolPost(event) => (
            &event.call.agent,
            format!("{} = {}", tool(&event.call), short(&event.result.to_string())),
        ),
        EventRef::ToolError(event) => {
            (&event.call.agent, format!("{}: {}", tool(&event.call), short(&event.error)))
        }
        EventRef::Stop(event) => {
            (&event.agent, format!("execution {}: {}", event.execution, event.reason))
        }
        EventRef::CompactionPre(event) => (&event.agent, String::new()),
        EventRef::CompactionPost(event) => (&event.agent, short(&event.summary)),
        EventRef::Notification(event) => {
            (&event.agent, format!("{}: {}", event.kind, event.message))
        }
        EventRef::FacetSwitch(event) => (&event.agent, format!("{} to {}", event.from, event.to)),
        EventRef::SubagentStart(event) => (&event.agent, event.kind.clone()),
        EventRef::SubagentStop(event) => {
            let result = event.result.as_ref().map(ToString::to_string).unwrap_or_default();
            (&event.agent, format!("{} = {}", event.kind, short(&result)))
        }
        EventRef::Interaction(event) => {
            let questions = event.questions.iter().map(|it| it.question.as_str());
            (&event.agent, questions.collect::<Vec<_>>().join(" "))
        }
        EventRef::Failure(event) => (&event.agent, short(&event.error)),
        other => panic!("{other:?}"),
    };
    format!("{} {} {about}", event.kind(), agent.id).trim_end().to_owned()
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
