//! One turn: from a prompt to the answer to it.
//!
//! ```text
//! turn.start → ( model.pre → model → model.post → calls → invocation.end )* → stop → turn.end
//! ```
//!
//! `stop` may send the agent back into the loop, and so may `turn.end`. A subagent goes through the same loop; its turn
//! begins and ends with `subagent.start` and `subagent.stop` instead.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt as _, stream};
use tollgate_core::event::{InvocationEnd, ModelPost, ModelPre, Stop, TurnEnd, TurnStart};
use tollgate_core::extra::{Injection, Step};
use tollgate_core::runner::{Permit, Refusal};
use tollgate_core::verdict::{Attempt, Finish, Flow};
use tollgate_core::{OperationContext, TurnContext};
use tollgate_model::{Args, Call, Message, ModelError, Part, Reply, Request};

use crate::agent::Response;
use crate::conversation::Conversation;
use crate::session::{Actor, Session};
use crate::transcript::Entry;
use crate::update::Update;

/// Where a prompt comes from.
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// The trigger that pushed it, if it was one.
    pub(crate) trigger: Option<String>,
}

/// Why a run of the loop ended.
pub(crate) enum Ended {
    /// The model has nothing more to do.
    ModelStop,
    /// It was called as often as it may be.
    MaxSteps,
    /// A hook ended it.
    Terminated,
    /// It cannot go on.
    Error(String),
}

impl Session {
    /// Runs a turn of the session's own agent.
    pub(crate) async fn turn(self: &Arc<Self>, actor: &Actor, prompt: Prompt) -> Response {
        let turn = self.cx.turn();
        let trigger = prompt.trigger.as_deref();
        if let Some(transcript) = &self.transcript {
            let (number, trigger) = (turn.number(), prompt.trigger.clone());
            transcript.write(&actor.who, Entry::Turn { number, trigger });
        }
        self.tell(&Update::TurnStarted { prompt: &prompt.text, trigger });
        actor.conversation.complete();
        let start = TurnStart {
            prompt: prompt.text,
            agent: actor.who.clone(),
            model: Some(self.model.name().to_owned()),
        };
        let outcome = self.dispatch(&actor.who, &turn, start).await;
        let context = outcome.extra.0.clone();
        let start = match outcome.permit() {
            Permit::Granted(start) => start.into_inner(),
            Permit::Ask(pending) => return self.refused(pending.refuse("nobody approved it")),
            Permit::Refused(refusal) => return self.refused(refusal),
        };
        actor.conversation.push(Message::User(start.prompt));
        for text in context {
            actor.conversation.push(Message::System(text));
        }
        let before = self.spent.usage();
        let (mut text, mut error) = self.run(actor, &turn).await;
        let response = loop {
            let end = TurnEnd {
                response: text,
                agent: actor.who.clone(),
                model: Some(self.model.name().to_owned()),
            };
            let outcome = self.dispatch(&actor.who, &turn, end).await;
            let sent_back = match &outcome.verdict {
                Finish::Continue { reason } => Some(reason.clone()),
                Finish::Stop => None,
            };
            let Some(reason) = sent_back else { break outcome.into_parts().event.response };
            self.tell(&Update::SentBack { agent: &actor.who, reason: &reason });
            actor.conversation.push(Message::System(reason));
            (text, error) = self.run(actor, &turn).await;
        };
        let after = self.spent.usage();
        let usage = tollgate_model::Usage {
            input: after.input.saturating_sub(before.input),
            output: after.output.saturating_sub(before.output),
        };
        Response { text: response, refused: None, error, usage }
    }

    fn refused(&self, refusal: Refusal) -> Response {
        self.tell(&Update::Notice { kind: "refused", message: &refusal.detail });
        Response { text: refusal.reason.clone(), refused: Some(refusal), ..Response::default() }
    }

    /// Runs the loop until it may stop. Gives what the model said last, and what went wrong, if anything did.
    async fn run(self: &Arc<Self>, actor: &Actor, turn: &TurnContext) -> (String, Option<String>) {
        let mut said = String::new();
        let mut execution = 0;
        loop {
            execution += 1;
            let mut left = self.limits.steps;
            let ended = self.execution(actor, turn, &mut said, &mut left).await;
            let (reason, error) = match &ended {
                Ended::Terminated => return (said, None),
                Ended::ModelStop => ("model_stop", None),
                Ended::MaxSteps => ("max_steps_exceeded", None),
                Ended::Error(error) => ("error", Some(error.clone())),
            };
            let stop = Stop {
                execution,
                reason: reason.to_owned(),
                error: error.clone(),
                idle: self.tools.tasks.idle() && self.subagents.idle(),
                agent: actor.who.clone(),
                model: Some(self.model.name().to_owned()),
            };
            let outcome = self.dispatch(&actor.who, turn, stop).await;
            let Finish::Continue { reason } = &outcome.verdict else { return (said, error) };
            self.tell(&Update::SentBack { agent: &actor.who, reason });
            actor.conversation.push(Message::System(reason.clone()));
        }
    }

    /// Calls the model and makes its calls until it has none, or no steps are left.
    pub(crate) async fn execution(
        self: &Arc<Self>,
        actor: &Actor,
        turn: &TurnContext,
        said: &mut String,
        left: &mut u64,
    ) -> Ended {
        while let Some(fewer) = left.checked_sub(1) {
            *left = fewer;
            if self.is_spent() {
                let limit = self.limits.tokens.unwrap_or_default();
                return Ended::Error(format!("the session has used its {limit} tokens"));
            }
            let inbox = if actor.who.depth == 0 { &*self.inbox } else { &actor.inbox };
            for mail in inbox.take_inside() {
                actor.conversation.push(Message::User(mail.shown()));
            }
            let operation = turn.operation();
            let reply = match self.invocation(actor, &operation).await {
                Ok(reply) => reply,
                Err(Uncalled::Denied(reason)) => return Ended::Error(reason),
                Err(Uncalled::Failed(error)) => {
                    self.failed(&actor.who, turn, "model", &error.to_string()).await;
                    return Ended::Error(error.to_string());
                }
            };
            let invocation = actor.invocations.load(Ordering::Relaxed).saturating_sub(1);
            let steps = actor.conversation.steps();
            let model = Some(self.model.name().to_owned());
            let post =
                ModelPost { invocation, steps, agent: actor.who.clone(), model: model.clone() };
            drop(self.dispatch(&actor.who, &operation, post).await);
            let has_calls = !reply.calls.is_empty();
            if !reply.text.is_empty() || !has_calls {
                said.clone_from(&reply.text);
            }
            self.calls(actor, turn, reply.calls).await;
            let steps = actor.conversation.steps();
            let end = InvocationEnd { invocation, steps, agent: actor.who.clone(), model };
            let outcome = self.dispatch(&actor.who, &operation, end).await;
            let flow = outcome.verdict.clone();
            self.inject(actor, turn, outcome.extra.clone()).await;
            match flow {
                Flow::Terminate { .. } => return Ended::Terminated,
                Flow::ForceContinue { reason } => {
                    if !reason.is_empty() {
                        actor.conversation.push(Message::System(reason));
                    }
                }
                Flow::Default if has_calls => {}
                Flow::Default => return Ended::ModelStop,
            }
        }
        Ended::MaxSteps
    }

    /// Calls the model, if hooks let it.
    async fn invocation(
        self: &Arc<Self>,
        actor: &Actor,
        operation: &OperationContext,
    ) -> Result<Reply, Uncalled> {
        loop {
            let pre = ModelPre {
                invocation: actor.invocations.load(Ordering::Relaxed),
                steps: actor.conversation.steps(),
                agent: actor.who.clone(),
                model: Some(self.model.name().to_owned()),
            };
            let outcome = self.dispatch(&actor.who, operation, pre).await;
            let verdict = outcome.verdict.clone();
            // Nothing is put before a model that is not called.
            if let Attempt::Deny { reason } = verdict {
                return Err(Uncalled::Denied(reason));
            }
            self.compact_if_needed(actor, operation.turn()).await;
            self.inject(actor, operation.turn(), outcome.extra.clone()).await;
            match verdict {
                Attempt::Retry { reason } => actor.conversation.push(Message::System(reason)),
                _ => break,
            }
        }
        actor.invocations.fetch_add(1, Ordering::Relaxed);
        let request = Request {
            system: actor.instructions.clone(),
            messages: actor.conversation.for_the_model(),
            tools: actor.renewed_toolbox().specs(),
            max_tokens: None,
        };
        let heard = |part: Part<'_>| self.hear(actor, part);
        let reply = self.model.respond(&request, &heard).await.map_err(Uncalled::Failed)?;
        self.spent.add(reply.usage);
        let (text, calls) = (reply.text.clone(), reply.calls.clone());
        actor.conversation.push(Message::Assistant { text, calls });
        Ok(reply)
    }

    fn hear(&self, actor: &Actor, part: Part<'_>) {
        let agent = &actor.who;
        match part {
            Part::Text(text) => self.tell(&Update::Text { agent, text }),
            Part::Thought(text) => self.tell(&Update::Thought { agent, text }),
            Part::Again { why, wait, .. } => {
                self.tell(&Update::Again { agent, why: &why.to_string(), wait });
            }
            _ => {}
        }
    }

    /// Makes the calls of one message, together. Each passes the pipeline; what came of them is told in their order.
    async fn calls(self: &Arc<Self>, actor: &Actor, turn: &TurnContext, calls: Vec<Call>) {
        let first = actor.conversation.steps();
        let most = self.limits.calls;
        let answers = Answers::new(&actor.conversation, &calls);
        let answers = &answers;
        let made = calls.into_iter().enumerate().map(|(number, call)| async move {
            let answer = if number < most {
                let step = first + number as u64;
                self.call(actor, turn, &call, step).await
            } else {
                crate::call::Answer::error(format!(
                    "this call was not made: a message may have {most} calls"
                ))
            };
            let answer = Message::Tool {
                call: call.id,
                name: call.name,
                content: answer.content,
                is_error: answer.is_error,
            };
            answers.put(number, answer);
        });
        let at_once = self.limits.parallel_calls.max(1);
        let mut made = stream::iter(made).buffer_unordered(at_once);
        while made.next().await.is_some() {}
    }

    /// Puts what hooks have added into the conversation. A call among it passes the pipeline as any other.
    async fn inject(self: &Arc<Self>, actor: &Actor, turn: &TurnContext, injection: Injection) {
        let Injection { steps, context } = injection;
        for text in context {
            actor.conversation.push(Message::System(text));
        }
        for step in steps {
            match step {
                Step::UserMessage(text) => actor.conversation.push(Message::User(text)),
                Step::SystemMessage(text) => actor.conversation.push(Message::System(text)),
                Step::EphemeralMessage(text) => actor.conversation.whisper(text),
                Step::ToolCall { name, args } => {
                    let number = self.injected.fetch_add(1, Ordering::Relaxed) + 1;
                    let id = format!("injected-{number}");
                    let call = Call { id, name, args: Args::Object(args), signature: None };
                    let calls = vec![call.clone()];
                    let text = String::new();
                    actor.conversation.push(Message::Assistant { text, calls: calls.clone() });
                    self.calls(actor, turn, calls).await;
                }
                _ => {}
            }
        }
    }
}

/// What came of the calls of one message. It is written down as it comes, and told to the model in the order of the
/// calls. Where the turn is cancelled before all are over, what did come of some is told, and that the others were cut off.
struct Answers<'a> {
    conversation: &'a Conversation,
    waiting: Mutex<VecDeque<Slot>>,
}

/// A call, and the answer to it.
struct Slot {
    number: usize,
    call: String,
    name: String,
    answer: Option<Message>,
}

impl<'a> Answers<'a> {
    fn new(conversation: &'a Conversation, calls: &[Call]) -> Self {
        let slot = |(number, call): (usize, &Call)| {
            let (call, name) = (call.id.clone(), call.name.clone());
            Slot { number, call, name, answer: None }
        };
        Self { conversation, waiting: Mutex::new(calls.iter().enumerate().map(slot).collect()) }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Slot>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, number: usize, answer: Message) {
        self.conversation.note(&answer);
        let mut waiting = self.lock();
        if let Some(slot) = waiting.iter_mut().find(|slot| slot.number == number) {
            slot.answer = Some(answer);
        }
        while let Some(answer) = waiting.front_mut().and_then(|slot| slot.answer.take()) {
            self.conversation.keep(answer);
            waiting.pop_front();
        }
    }
}

impl Drop for Answers<'_> {
    fn drop(&mut self) {
        for Slot { call, name, answer, .. } in std::mem::take(&mut *self.lock()) {
            match answer {
                Some(answer) => self.conversation.keep(answer),
                None => self.conversation.cut_off(call, name),
            }
        }
    }
}

/// Why the model was not called, or did not answer.
enum Uncalled {
    Denied(String),
    Failed(ModelError),
}
