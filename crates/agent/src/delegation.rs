//! A subagent at its task, from `subagent.start` to `subagent.stop`.
//!
//! However a task ends, hooks are told once that it has: with an answer, by an error or a limit, because somebody ended
//! the subagent, or because the turn of who waited for it was cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio::time::Instant;
use tollgate_core::event::{SubagentStart, SubagentStop};
use tollgate_core::runner::Outcome;
use tollgate_core::verdict::Pass;
use tollgate_core::{OperationContext, TurnContext};
use tollgate_model::Message;

use crate::session::{Actor, Session};
use crate::subagent::Queued;
use crate::turn::Ended;
use crate::update::Update;

/// A task that a subagent is at.
struct Task<'a> {
    session: &'a Arc<Session>,
    child: &'a Arc<Actor>,
    kind: &'a str,
    turn: &'a TurnContext,
    /// What hooks are told of its beginning and of its end belongs together.
    operation: OperationContext,
    /// Whether hooks were told that it began, and not yet that it is over.
    is_open: AtomicBool,
}

impl Session {
    /// Has a subagent do something once it has a place, until it is done or ended, and gives its answer once hooks let
    /// it through. Hooks are not told of one that never had a place.
    pub(crate) async fn delegate(
        self: &Arc<Self>,
        queued: Queued,
        child: &Arc<Actor>,
        kind: &str,
        turn: &TurnContext,
        prompt: String,
    ) -> Result<Value, String> {
        let place = tokio::select! {
            biased;
            () = child.end() => None,
            place = queued.place() => place,
        };
        // Longer than the task, which tells that it is over first.
        let _sits = child.seat.sit(place.ok_or_else(ended)?);
        let (operation, is_open) = (turn.operation(), AtomicBool::new(false));
        let task = Task { session: self, child, kind, turn, operation, is_open };
        task.run(prompt).await
    }

    fn has_stopped(&self, child: &Actor, kind: &str, result: Option<Value>) -> SubagentStop {
        SubagentStop {
            kind: kind.to_owned(),
            result,
            agent: child.who.clone(),
            model: Some(self.model.name().to_owned()),
        }
    }
}

impl Task<'_> {
    async fn run(&self, prompt: String) -> Result<Value, String> {
        let Self { session, child, kind, .. } = *self;
        if child.is_ended() {
            return Err(ended());
        }
        let limit = session.limits.turn_time;
        let deadline = Instant::now().checked_add(limit);
        self.is_open.store(true, Ordering::Relaxed);
        let start = SubagentStart {
            kind: kind.to_owned(),
            agent: child.who.clone(),
            model: Some(session.model.name().to_owned()),
        };
        drop(session.dispatch(&child.who, &self.operation, start).await);
        session.tell(&Update::SubagentStarted { agent: &child.who, kind, prompt: &prompt });
        child.conversation.complete();
        child.conversation.push(Message::User(prompt));
        let mut retries = 0;
        loop {
            let is_late = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            let worked = tokio::select! {
                biased;
                () = child.end() => Err(ended()),
                worked = self.work() => worked,
                () = is_late => Err(format!("it took more than {limit:?}")),
            };
            // Nothing cuts this off but the end of the turn: hooks are not asked a second time whether it may stop.
            let outcome = self.stopped(worked.as_ref().ok()).await;
            worked?;
            if child.is_ended() {
                return Err(ended());
            }
            let reason = match &outcome.verdict {
                Pass::Proceed => {
                    let result = outcome.into_parts().event.result.unwrap_or_default();
                    let response = result.as_str().map_or_else(|| result.to_string(), Into::into);
                    let agent = &child.who;
                    session.tell(&Update::SubagentFinished { agent, response: &response });
                    return Ok(result);
                }
                Pass::Deny { reason } => reason.clone(),
            };
            if retries >= session.limits.subagent_retries {
                return Err(format!("its answer was not accepted: {reason}"));
            }
            retries += 1;
            self.is_open.store(true, Ordering::Relaxed);
            session.tell(&Update::SentBack { agent: &child.who, reason: &reason });
            child.conversation.push(Message::System(reason));
        }
    }

    /// Has it work until it has an answer, or cannot go on.
    async fn work(&self) -> Result<String, String> {
        let Self { session, child, turn, .. } = *self;
        let mut said = String::new();
        let mut left = session.limits.steps;
        loop {
            match session.execution(child, turn, &mut said, &mut left).await {
                // What it was sent while the model said its last is not left for another time.
                Ended::ModelStop if !child.inbox.is_empty() => {}
                Ended::ModelStop | Ended::Terminated => return Ok(said),
                Ended::MaxSteps => {
                    return Err(format!("it was not done after {} steps", session.limits.steps));
                }
                Ended::Error(error) => return Err(error),
            }
        }
    }

    /// Tells hooks that it has stopped. Without an answer, there is nothing that they could send back.
    async fn stopped(&self, said: Option<&String>) -> Outcome<SubagentStop> {
        let Self { session, child, kind, .. } = *self;
        let result = said.map(|said| Value::from(said.as_str()));
        let stop = session.has_stopped(child, kind, result);
        self.is_open.store(false, Ordering::Relaxed);
        session.dispatch(&child.who, &self.operation, stop).await
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        let Self { session, child, kind, .. } = *self;
        session.subagents.rests(&child.who.id);
        // The turn was cancelled in the middle of it.
        if self.is_open.load(Ordering::Relaxed) {
            let operation = self.operation.clone();
            let stop = session.has_stopped(child, kind, None);
            let (session, who) = (Arc::clone(session), child.who.clone());
            self.session.subagents.spawn(async move {
                drop(session.dispatch(&who, &operation, stop).await);
            });
        }
    }
}

fn ended() -> String {
    "it was ended".to_owned()
}
