//! What subagents do while their parents go on, and how messages find who they are for.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::TurnContext;
use tollgate_core::event::{Agent as Who, ToolCall, ToolError, ToolPost};
use tollgate_core::verdict::Pass;

use crate::inbox::Mail;
use crate::session::{Actor, Session};
use crate::update::Update;

impl Session {
    /// Has a subagent do something while its parent goes on. Its answer comes as a message. `args` are those of the call
    /// that it answers. True if it has to wait for a place.
    pub(crate) fn in_background(
        self: &Arc<Self>,
        child: Arc<Actor>,
        kind: String,
        prompt: String,
        args: Map<String, Value>,
    ) -> bool {
        // Queued here, and not when the task is polled: those that are started one after the other begin in this order.
        let queued = self.queue(&child);
        let waits = queued.waits();
        let session = Arc::clone(self);
        self.subagents.spawn(async move {
            // A turn of its own: that of its parent may be over before.
            let turn = session.cx.turn();
            let answer = session.delegate(queued, &child, &kind, &turn, prompt).await;
            if !child.is_ended() {
                let parent = session.subagents.parent(&child.who);
                let text = session.heard(&parent, &turn, args, answer).await;
                session.deliver_answer(&parent, Mail::inside(&*child.who.id, text));
            }
            session.wake_idle();
        });
        waits
    }

    /// What a parent hears of an answer that it did not wait for: what hooks on the call make of it, as if it had waited.
    async fn heard(
        &self,
        parent: &Who,
        turn: &TurnContext,
        args: Map<String, Value>,
        answer: Result<Value, String>,
    ) -> String {
        let call = ToolCall {
            name: "invoke_subagent".to_owned(),
            args,
            agent: parent.clone(),
            model: Some(self.model.name().to_owned()),
            ..ToolCall::default()
        };
        let operation = turn.operation();
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        match answer {
            Ok(answer) => {
                let outcome = self.dispatch(parent, &operation, ToolPost::new(call, answer)).await;
                match &outcome.verdict {
                    Pass::Proceed => text(outcome.into_parts().event.result),
                    Pass::Deny { reason } if reason.is_empty() => {
                        "the result was withheld".to_owned()
                    }
                    Pass::Deny { reason } => reason.clone(),
                }
            }
            Err(error) => {
                let outcome = self.dispatch(parent, &operation, ToolError::new(call, error)).await;
                match outcome.recovered() {
                    Some(value) => text(value.clone()),
                    None => format!("It failed: {}", outcome.into_parts().event.error),
                }
            }
        }
    }

    /// Gives an answer to a parent that is at work; else to the session's own agent, which is always there.
    fn deliver_answer(&self, parent: &Who, mail: Mail) {
        match self.subagents.find_busy(&parent.id) {
            Some(parent) => self.put(&parent, mail),
            None => self.put_for_main(mail),
        }
    }

    /// Gives a message to an agent, and has a subagent read it that has nothing else to do.
    pub(crate) fn deliver(self: &Arc<Self>, to: &str, mail: Mail) {
        match self.subagents.find(to).filter(|actor| !actor.is_ended()) {
            Some(actor) => {
                self.put(&actor, mail);
                self.wake_idle();
            }
            None => self.put_for_main(mail),
        }
    }

    fn put(&self, actor: &Actor, mail: Mail) {
        let from = mail.from.clone();
        if !actor.inbox.put_answer(mail) {
            self.tell_lost(&actor.who.id, &from);
        }
    }

    fn put_for_main(&self, mail: Mail) {
        let from = mail.from.clone();
        if !self.inbox.put_answer(mail) {
            self.tell_lost(&Who::default().id, &from);
        }
    }

    /// Says that nobody reads a message.
    pub(crate) fn tell_lost(&self, to: &str, from: &str) {
        let message = format!("a message of {from} is lost: {to} does not read its messages");
        self.tell(&Update::Notice { kind: "message", message: &message });
    }

    /// Has subagents go on that have nothing to do and messages to read, once there is a place for them.
    pub(crate) fn wake_idle(self: &Arc<Self>) {
        while let Some((child, kind)) = self.subagents.take_idle() {
            let prompts: Vec<_> = child.inbox.take_inside().iter().map(Mail::shown).collect();
            let prompt = prompts.join("\n\n");
            let args = json!({"Name": kind, "Prompt": prompt, "Background": true});
            let args = args.as_object().cloned().unwrap_or_default();
            self.in_background(child, kind, prompt, args);
        }
    }
}
