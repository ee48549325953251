//! One call of a tool, through the pipeline.
//!
//! ```text
//! tool.pre → a person, where hooks want that → the tool → tool.post or tool.error
//! ```
//!
//! What came before and after one call shares its operation. A tool that is not there fires no hook.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tollgate_core::event::{ToolCall, ToolError, ToolPost, ToolPre};
use tollgate_core::runner::{Approved, Pending, Permit, Refusal};
use tollgate_core::verdict::{Level, Pass, Word};
use tollgate_core::{OperationContext, TurnContext};
use tollgate_model::{Args, Call};
use tollgate_tools::Output;

use crate::permission::{GrantedBy, Resource};
use crate::person::{Approval, Consent};
use crate::session::{Actor, Session};
use crate::toolbox::Offer;
use crate::update::Update;

/// What the model is told of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) content: String,
    pub(crate) is_error: bool,
}

impl Answer {
    pub(crate) fn error(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true }
    }

    fn of(value: &Value, is_error: bool) -> Self {
        let content = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { content, is_error }
    }
}

impl Session {
    /// Makes a call, if it may be made.
    pub(crate) async fn call(
        self: &Arc<Self>,
        actor: &Actor,
        turn: &TurnContext,
        call: &Call,
        step: u64,
    ) -> Answer {
        let toolbox = actor.toolbox();
        let Some(offer) = toolbox.get(&call.name) else {
            let names: Vec<_> = toolbox.names().collect();
            return Answer::error(format!(
                "there is no tool `{}`; the tools are {}",
                call.name.chars().take(100).collect::<String>(),
                names.join(", ")
            ));
        };
        let args = match &call.args {
            Args::Object(args) => args.clone(),
            Args::Malformed { error, .. } => {
                return Answer::error(format!(
                    "the arguments are not a JSON object ({error}): write the call again"
                ));
            }
        };
        let (name, server) = match offer {
            Offer::Mcp { server, tool } => (tool.clone(), Some(server.name().to_owned())),
            Offer::Tool(_) | Offer::Control(_) => (call.name.clone(), None),
        };
        let wanted = ToolCall {
            name,
            server,
            args,
            id: Some(call.id.clone()),
            step: Some(step),
            agent: actor.who.clone(),
            model: Some(self.model.name().to_owned()),
            ..ToolCall::default()
        };
        let operation = turn.operation();
        let approved = match self.approve(actor, turn, &operation, wanted.clone()).await {
            Ok(approved) => approved,
            Err(refusal) => return self.refuse(&wanted, &refusal),
        };
        // Until it is typed: what is typed next belongs to it.
        let _typing = match self.may_type(actor, turn, &approved).await {
            Ok(typing) => typing,
            Err(refusal) => return self.refuse(&wanted, &refusal),
        };
        self.execute(actor, &operation, offer, approved).await
    }

    /// Asks hooks about a call, and a person where they want that.
    pub(crate) async fn approve(
        &self,
        actor: &Actor,
        turn: &TurnContext,
        operation: &OperationContext,
        wanted: ToolCall,
    ) -> Result<Approved<ToolPre>, Refusal> {
        let outcome = self.dispatch(&actor.who, operation, ToolPre::from(wanted)).await;
        let overrides = Overrides::of(&outcome);
        let approved = match outcome.permit() {
            Permit::Granted(approved) => approved,
            Permit::Ask(pending) => self.ask_person(actor, turn, pending, &overrides).await?,
            Permit::Refused(refusal) => return Err(refusal),
        };
        let used = self.grants.resources(&approved.call).unwrap_or_default();
        for resource in overrides.all {
            // A hook that permits what the call uses, word for word, has written no pattern.
            if used.contains(&resource) {
                self.grants.add_exactly(resource, GrantedBy::Hook);
            } else {
                self.grants.add(resource, GrantedBy::Hook);
            }
        }
        Ok(approved)
    }

    fn refuse(&self, call: &ToolCall, refusal: &Refusal) -> Answer {
        let Refusal { reason, detail } = refusal;
        self.tell(&Update::CallRefused { call, reason, detail });
        let reason = if reason.is_empty() { "the call was denied" } else { reason };
        Answer::error(reason)
    }

    /// Asks whoever is there, unless it is granted already.
    async fn ask_person(
        &self,
        actor: &Actor,
        turn: &TurnContext,
        pending: Pending<ToolPre>,
        overrides: &Overrides,
    ) -> Result<Approved<ToolPre>, Refusal> {
        let call = pending.event().call.clone();
        let is_forced = pending.verdict().level == Level::ForceAsk;
        // What they say to a call of the same message may be the answer to this one.
        let _one_at_a_time = self.asking.lock().await;
        if !is_forced && self.grants.cover_with(&call, &overrides.at_once) {
            return Ok(pending.approve());
        }
        let (reason, detail) = (pending.reason().to_owned(), pending.record().detail());
        let message = format!("`{}` waits for your approval", call.name);
        self.notify(&actor.who, turn, "approval", &message).await;
        // What they are shown is what they grant, whatever becomes of it while they look.
        let grants = self.grants.for_used(&call, GrantedBy::Person);
        let used: Vec<_> = grants.iter().map(|grant| grant.resource.clone()).collect();
        // Servers have tools of any name.
        let toolbox = actor.toolbox();
        let preview = match toolbox.get(&call.name).filter(|_| call.server.is_none()) {
            Some(Offer::Tool(tool)) => tool.preview(&self.tools, &call.args).await,
            _ => None,
        };
        let (diff, fails) = match preview {
            None => (None, None),
            Some(Ok(diff)) => (Some(diff), None),
            Some(Err(failure)) => (None, Some(failure.to_string())),
        };
        let approval = Approval {
            call: &call,
            reason: &reason,
            detail: &detail,
            resources: &used,
            diff: diff.as_deref(),
            fails: fails.as_deref(),
            may_remember: !is_forced && !used.is_empty(),
        };
        let asked = tokio::time::timeout(self.limits.person, self.person.approve(&approval)).await;
        match asked {
            Ok(Consent::Once) => Ok(pending.approve()),
            Ok(Consent::ForSession) => {
                // What is asked about each time is not remembered, whatever a person says.
                if approval.may_remember {
                    for grant in grants {
                        self.grants.put(grant);
                    }
                }
                Ok(pending.approve())
            }
            Ok(Consent::No { reason }) => Err(pending.refuse(reason)),
            Err(_) => Err(pending.refuse("nobody answered in time whether this may be done")),
        }
    }

    /// Makes a call that was approved, and no other.
    async fn execute(
        self: &Arc<Self>,
        actor: &Actor,
        operation: &OperationContext,
        offer: &Offer,
        approved: Approved<ToolPre>,
    ) -> Answer {
        let call = approved.into_inner().call;
        self.tell(&Update::CallStarted { call: &call });
        let began = Instant::now();
        let limit = self.limits.call_time;
        let made = self.made(actor, operation, offer, &call);
        let made = match offer {
            // A person, a subagent: those have bounds of their own.
            Offer::Control(_) => made.await,
            _ => tokio::time::timeout(limit, made)
                .await
                .unwrap_or_else(|_| Err(format!("it took more than {limit:?}"))),
        };
        let (value, is_error) = match made {
            // A command that exits with 1 has done what it could: hooks see what it printed, and may redact it.
            Ok(output) => {
                let is_error = output.error.is_some();
                self.after(actor, operation, &call, output.value, is_error).await
            }
            Err(error) => self.after_error(actor, operation, &call, error).await,
        };
        let took = began.elapsed();
        self.tell(&Update::CallFinished { call: &call, result: &value, is_error, took });
        Answer::of(&value, is_error)
    }

    async fn made(
        self: &Arc<Self>,
        actor: &Actor,
        operation: &OperationContext,
        offer: &Offer,
        call: &ToolCall,
    ) -> Result<Output, String> {
        match offer {
            Offer::Tool(tool) => {
                let mut cx = self.tools.clone();
                cx.agent = Arc::from(actor.who.id.as_str());
                tool.call(&cx, &call.args).await.map_err(|failure| failure.to_string())
            }
            Offer::Mcp { server, tool } => {
                let made = server.call(tool, call.args.clone()).await;
                made.map(Output::new).map_err(|error| error.to_string())
            }
            Offer::Control(name) => self.control(actor, operation, name, &call.args).await,
        }
    }

    /// What the model gets of a result.
    async fn after(
        &self,
        actor: &Actor,
        operation: &OperationContext,
        call: &ToolCall,
        result: Value,
        is_error: bool,
    ) -> (Value, bool) {
        let post = ToolPost::new(call.clone(), result);
        let outcome = self.dispatch(&actor.who, operation, post).await;
        match &outcome.verdict {
            Pass::Proceed => (outcome.into_parts().event.result, is_error),
            Pass::Deny { reason } => {
                let reason = if reason.is_empty() { "the result was withheld" } else { reason };
                (Value::from(reason), true)
            }
        }
    }

    /// What the model gets of a failure.
    async fn after_error(
        &self,
        actor: &Actor,
        operation: &OperationContext,
        call: &ToolCall,
        error: String,
    ) -> (Value, bool) {
        let event = ToolError::new(call.clone(), error);
        let outcome = self.dispatch(&actor.who, operation, event).await;
        match outcome.recovered() {
            Some(value) => (value.clone(), false),
            None => (Value::from(outcome.into_parts().event.error), true),
        }
    }
}

/// What hooks permit beside a call.
#[derive(Debug, Default)]
struct Overrides {
    /// By hooks that had nothing against the call: these count at once.
    at_once: Vec<Resource>,
    /// By all. Those of a hook that wants a person to be asked count once the person has said yes.
    all: Vec<Resource>,
}

impl Overrides {
    fn of(outcome: &tollgate_core::runner::Outcome<ToolPre>) -> Self {
        let mut overrides = Self::default();
        // What a rewrite has made void is not in the outcome any more.
        let valid = &outcome.extra.0;
        for answered in outcome.record.answers.iter().filter(|answered| answered.counts()) {
            let given = answered.extra.as_ref().and_then(Value::as_array);
            let given = given.into_iter().flatten().filter_map(Value::as_str);
            for text in given.filter(|text| valid.iter().any(|valid| valid == text)) {
                let Ok(resource) = text.parse::<Resource>() else { continue };
                if matches!(answered.word, Word::None | Word::Allow) {
                    overrides.at_once.push(resource.clone());
                }
                overrides.all.push(resource);
            }
        }
        overrides
    }
}
