//! What happens in a session, as it happens: for whoever shows it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tollgate_core::Kind;
use tollgate_core::event::{Agent, Event, ToolCall};
use tollgate_core::runner::Outcome;
use tollgate_core::verdict::Verdict;

/// Something that happened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Update<'a> {
    /// A turn began.
    TurnStarted {
        /// What the model is asked.
        prompt: &'a str,
        /// The trigger that began it, if it was one.
        trigger: Option<&'a str>,
    },
    /// The model says something, piece by piece.
    Text {
        /// Whose model.
        agent: &'a Agent,
        /// A piece of it.
        text: &'a str,
    },
    /// The model thinks aloud, piece by piece.
    Thought {
        /// Whose model.
        agent: &'a Agent,
        /// A piece of it.
        text: &'a str,
    },
    /// The model is asked again: what it said so far is void.
    Again {
        /// Whose model.
        agent: &'a Agent,
        /// Why.
        why: &'a str,
        /// In how long.
        wait: Duration,
    },
    /// Hooks were asked.
    Decided {
        /// The agent it is about.
        agent: &'a Agent,
        /// What they came to.
        decided: &'a Decided,
    },
    /// A call is made.
    CallStarted {
        /// The call, as it is made.
        call: &'a ToolCall,
    },
    /// A call is not made.
    CallRefused {
        /// The call.
        call: &'a ToolCall,
        /// What the model is told.
        reason: &'a str,
        /// What a person is told.
        detail: &'a str,
    },
    /// A call is over.
    CallFinished {
        /// The call.
        call: &'a ToolCall,
        /// What the model gets.
        result: &'a Value,
        /// Whether it failed.
        is_error: bool,
        /// How long it took.
        took: Duration,
    },
    /// A hook sent the agent back.
    SentBack {
        /// The agent.
        agent: &'a Agent,
        /// Why.
        reason: &'a str,
    },
    /// The history was compacted.
    Compacted {
        /// The agent.
        agent: &'a Agent,
        /// How many messages one summary stands for.
        messages: usize,
    },
    /// A subagent started.
    SubagentStarted {
        /// The subagent.
        agent: &'a Agent,
        /// Which sort it is.
        kind: &'a str,
        /// What it is to do.
        prompt: &'a str,
    },
    /// A subagent has finished.
    SubagentFinished {
        /// The subagent.
        agent: &'a Agent,
        /// Its answer.
        response: &'a str,
    },
    /// Something that a person may want to know.
    Notice {
        /// Of what sort.
        kind: &'a str,
        /// What.
        message: &'a str,
    },
}

/// What hooks came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Decided {
    /// The event.
    pub event: Kind,
    /// What it was about: a tool's name.
    pub subject: Option<String>,
    /// The decision, in one word.
    pub decision: &'static str,
    /// What the model is told.
    pub reason: String,
    /// What a person is told: which hook, where it stands, what happened.
    pub detail: String,
    /// The hooks that were asked.
    pub hooks: Vec<String>,
    /// Whether they rewrote anything.
    pub rewritten: bool,
    /// How long they took.
    pub took: Duration,
}

impl Decided {
    pub(crate) fn of<E: Event>(outcome: &Outcome<E>, subject: Option<String>) -> Self {
        let record = &outcome.record;
        let asked = record.answers.iter().filter(|answered| !answered.reask);
        let hooks = asked
            .clone()
            .filter_map(|answered| record.hook(answered))
            .map(|hook| hook.name.clone())
            .collect();
        Self {
            event: E::KIND,
            subject,
            decision: outcome.verdict.word().name(),
            reason: outcome.reason().to_owned(),
            detail: record.detail(),
            hooks,
            rewritten: outcome.rewritten(),
            took: record.answers.iter().map(|answered| answered.took).sum(),
        }
    }
}

/// Who is told what happens. Called from the task that it happens in, so it should not wait.
pub(crate) type Listener = Arc<dyn Fn(&Update<'_>) + Send + Sync>;
