//! What all agents of a session share: hooks, the model, permissions, limits. A subagent has nothing of its own but its
//! history, so that nothing it does goes past the hooks of the session.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tollgate_core::EventRef;
use tollgate_core::event::{Agent as Who, Event, Failure, Notification};
use tollgate_core::runner::Outcome;
use tollgate_core::verdict::Notice;
use tollgate_core::{Runner, SessionContext, TurnContext};
use tollgate_model::{Model, Usage};
use tollgate_tools::Cx;

use crate::agent::Chunk;
use crate::conversation::Conversation;
use crate::inbox::Inbox;
use crate::limits::Limits;
use crate::permission::Grants;
use crate::person::Person;
use crate::places::Seat;
use crate::schedule::Schedules;
use crate::subagent::Subagents;
use crate::toolbox::Toolbox;
use crate::transcript::Transcript;
use crate::update::{Decided, Listener, Update};

pub(crate) struct Session {
    pub(crate) runner: Runner,
    pub(crate) cx: SessionContext,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: Cx,
    pub(crate) person: Arc<dyn Person>,
    /// Held while the person is asked: they are asked one thing at a time.
    pub(crate) asking: tokio::sync::Mutex<()>,
    /// Held while something is typed into a command: it is decided about with what was typed before.
    pub(crate) typing: tokio::sync::Mutex<()>,
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    pub(crate) transcript: Option<Arc<Transcript>>,
    pub(crate) listener: Listener,
    pub(crate) subagents: Subagents,
    pub(crate) schedules: Schedules,
    pub(crate) spent: Spent,
    /// What others have sent to the session's own agent.
    pub(crate) inbox: Arc<Inbox>,
    /// Who takes what the model says, piece by piece.
    pub(crate) tap: Mutex<Option<UnboundedSender<Chunk>>>,
    /// A number for each call that hooks put in.
    pub(crate) injected: AtomicU64,
}

/// Who takes part in a session: its own agent, or a subagent.
pub(crate) struct Actor {
    pub(crate) who: Who,
    /// What its model is told before everything else.
    pub(crate) instructions: Option<String>,
    /// Renewed before the model is called.
    pub(crate) toolbox: RwLock<Toolbox>,
    pub(crate) conversation: Conversation,
    /// From how many tokens on the history is compacted, where that has failed before.
    pub(crate) compact_from: AtomicUsize,
    /// How often the model was called.
    pub(crate) invocations: AtomicU64,
    /// What others have sent to a subagent. What is sent to the session's own agent is in the session's inbox.
    pub(crate) inbox: Inbox,
    /// Whether somebody has ended it.
    pub(crate) ended: watch::Sender<bool>,
    /// Its place among those that run.
    pub(crate) seat: Seat,
}

impl Actor {
    /// The tools that its model knows of.
    pub(crate) fn toolbox(&self) -> Toolbox {
        self.toolbox.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same, with what has become of them on servers.
    pub(crate) fn renewed_toolbox(&self) -> Toolbox {
        let toolbox = self.toolbox();
        let Some(renewed) = toolbox.renewed() else { return toolbox };
        let mut kept = self.toolbox.write().unwrap_or_else(PoisonError::into_inner);
        kept.clone_from(&renewed);
        renewed
    }

    pub(crate) fn is_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Waits until somebody ends it.
    pub(crate) async fn end(&self) {
        // The sender is here, so that this does not fail.
        let _ = self.ended.subscribe().wait_for(|is_ended| *is_ended).await;
    }
}

impl std::fmt::Debug for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Actor").field("who", &self.who).finish_non_exhaustive()
    }
}

struct Tapped<'a>(&'a Session);

impl Drop for Tapped<'_> {
    fn drop(&mut self) {
        *self.0.tap.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What the session has cost so far.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    input: AtomicU64,
    output: AtomicU64,
}

impl Spent {
    pub(crate) fn add(&self, usage: Usage) {
        // What a server says it has cost may be anything.
        let add = |to: &AtomicU64, tokens: u64| {
            let sum = |sum: u64| Some(sum.saturating_add(tokens));
            let _ = to.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        };
        add(&self.input, usage.input);
        add(&self.output, usage.output);
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage {
            input: self.input.load(Ordering::Relaxed),
            output: self.output.load(Ordering::Relaxed),
        }
    }
}

impl Session {
    pub(crate) fn tell(&self, update: &Update<'_>) {
        let piece = match update {
            Update::Text { agent, text } if agent.depth == 0 => {
                Some(Chunk::Text((*text).to_owned()))
            }
            Update::Again { agent, .. } if agent.depth == 0 => Some(Chunk::Void),
            _ => None,
        };
        if let Some(piece) = piece
            && let Some(tap) = &*self.tap.lock().unwrap_or_else(PoisonError::into_inner)
        {
            // Whoever took the pieces may have gone.
            let _ = tap.send(piece);
        }
        (self.listener)(update);
    }

    /// Has what the model says sent there, until what is returned is dropped.
    pub(crate) fn tap(&self, sender: UnboundedSender<Chunk>) -> impl Drop + '_ {
        *self.tap.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        Tapped(self)
    }

    /// Asks the hooks about an event, and tells what they came to.
    pub(crate) async fn dispatch<E: Event>(
        &self,
        who: &Who,
        cx: &E::Scope,
        event: E,
    ) -> Outcome<E> {
        let outcome = self.runner.dispatch(cx, event).await;
        if !outcome.record.answers.is_empty() {
            let subject = match outcome.event.view() {
                EventRef::ToolPre(event) => Some(event.call.name.clone()),
                EventRef::ToolPost(event) => Some(event.call.name.clone()),
                EventRef::ToolError(event) => Some(event.call.name.clone()),
                EventRef::SubagentStop(event) => Some(event.kind.clone()),
                _ => None,
            };
            let decided = Decided::of(&outcome, subject);
            self.tell(&Update::Decided { agent: who, decided: &decided });
        }
        outcome
    }

    /// Something went wrong that is told to hooks and to whoever listens.
    pub(crate) async fn failed(&self, who: &Who, turn: &TurnContext, origin: &str, error: &str) {
        let event = Failure {
            error: error.to_owned(),
            origin: Some(origin.to_owned()),
            agent: who.clone(),
            model: Some(self.model.name().to_owned()),
        };
        drop(self.dispatch(who, turn, event).await);
        self.tell(&Update::Notice { kind: "error", message: error });
    }

    /// Raises a notification, unless a hook holds it back.
    pub(crate) async fn notify(&self, who: &Who, turn: &TurnContext, kind: &str, message: &str) {
        let event = Notification {
            kind: kind.to_owned(),
            message: message.to_owned(),
            agent: who.clone(),
            model: None,
        };
        let outcome = self.dispatch(who, turn, event).await;
        if matches!(outcome.verdict, Notice::Raise) {
            self.tell(&Update::Notice { kind, message });
        }
    }

    /// Whether more tokens were used than may be.
    pub(crate) fn is_spent(&self) -> bool {
        let usage = self.spent.usage();
        self.limits.tokens.is_some_and(|limit| usage.input.saturating_add(usage.output) >= limit)
    }
}
