//! A hook as a case describes it, and its answers in the terms of each event.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::event::{Args, Response, Responses};
use tollgate_core::hook::{Ask, BoxFuture, Handle};
use tollgate_core::patch::ArgsPatch;
use tollgate_core::prelude::*;
use tollgate_core::verdict::{Finish, Gate, Level, Permission, Recovery, Reply};

use super::dispatch::{Dispatched, Log};

/// What a hook does: reads state, writes state, raises or answers, in this order.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Script {
    pub(super) get: Option<String>,
    pub(super) set: Option<Args>,
    pub(super) raise: Option<String>,
    allow: Option<bool>,
    message: Option<String>,
    modified_args: Option<Args>,
    #[serde(rename = "return")]
    returned: Option<Value>,
}

/// The entry of the trace for the hook at `place`. Where it reads state, with what it `got`; null
/// where nothing was there.
pub(super) fn entry(place: usize, got: Option<Value>) -> Value {
    let mut entry = Map::new();
    entry.insert("hook".to_owned(), place.into());
    if let Some(got) = got {
        entry.insert("got".to_owned(), got);
    }
    Value::Object(entry)
}

impl Script {
    /// Whether it lets the event through, as the original's result has it when nothing is said.
    fn allows(&self) -> bool {
        self.allow.unwrap_or(true)
    }

    fn message(&self) -> String {
        self.message.clone().unwrap_or_default()
    }
}

/// A scripted hook, registered.
pub(super) struct ScriptHook {
    pub(super) place: usize,
    pub(super) script: Script,
    pub(super) log: Log,
}

impl<E: SdkEvent> Handle<E> for ScriptHook {
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        Box::pin(async move {
            let script = &self.script;
            let got = match &script.get {
                Some(key) => Some(ask.cx.get(key)?.unwrap_or(Value::Null)),
                None => None,
            };
            let mut entry = entry(self.place, got);
            if let (Some(entry), Some(args)) = (entry.as_object_mut(), ask.event.args_seen()) {
                entry.insert("args_seen".to_owned(), args.clone().into());
            }
            self.log.push(entry);
            for (key, value) in script.set.iter().flatten() {
                ask.cx.set(key, value)?;
            }
            match &script.raise {
                Some(text) => Err(text.clone().into()),
                None => E::answer(script),
            }
        })
    }
}

/// Whose state the hooks of an event share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Session,
    Turn,
    Operation,
}

/// The fields of a result, by name.
pub(super) type Fields = Vec<(&'static str, Value)>;

/// An event of the Antigravity SDK.
pub(super) trait SdkEvent: Event {
    const SCOPE: Scope;

    /// What a script says, as an answer.
    fn answer(script: &Script) -> HookResult<Self>;

    /// The fields of the original's result, from ours.
    fn result(dispatched: &Dispatched<Self>) -> Fields;

    /// The arguments a hook sees, where there are any.
    fn args_seen(&self) -> Option<&Args> {
        None
    }
}

/// Events whose hooks only watch.
macro_rules! watched {
    ($($event:ident in $scope:ident),*) => {$(
        impl SdkEvent for $event {
            const SCOPE: Scope = Scope::$scope;

            fn answer(_script: &Script) -> HookResult<Self> {
                Ok(Answer::none())
            }

            fn result(dispatched: &Dispatched<Self>) -> Fields {
                vec![("ok", dispatched.errors.is_empty().into())]
            }
        }
    )*};
}

watched!(
    SessionStart in Session,
    SessionEnd in Session,
    TurnEnd in Turn,
    ToolPost in Operation,
    CompactionPost in Operation
);

impl SdkEvent for TurnStart {
    const SCOPE: Scope = Scope::Turn;

    fn answer(script: &Script) -> HookResult<Self> {
        Ok(if script.allows() { Answer::none() } else { Answer::deny(script.message()) })
    }

    fn result(dispatched: &Dispatched<Self>) -> Fields {
        let outcome = &dispatched.outcome;
        let allow = outcome.verdict.permission() == Permission::Granted;
        vec![("allow", allow.into()), ("message", outcome.reason().into())]
    }
}

impl SdkEvent for ToolPre {
    const SCOPE: Scope = Scope::Operation;

    fn answer(script: &Script) -> HookResult<Self> {
        // The original's "allow" is no opinion here: it skips no prompt of the host.
        let level = if script.allows() { Level::None } else { Level::Deny };
        let mut answer = Answer::from_verdict(Gate::new(level, script.message()));
        answer.patch = script.modified_args.clone().map(ArgsPatch::Set);
        Ok(answer)
    }

    fn result(dispatched: &Dispatched<Self>) -> Fields {
        let outcome = &dispatched.outcome;
        let allow = outcome.verdict.permission() == Permission::Granted;
        let args = Value::from(outcome.event.call.args.clone());
        // The original gives back the last hook's own message, also where it lets pass.
        let message = outcome.record.answers.last().map(|answered| answered.reason.as_str());
        // Likewise it gives back the arguments: all of them where any hook that let pass gave
        // some, though they were the same; of a hook that blocks, what that one would have set.
        let given = |script: &Script| script.modified_args.clone();
        let mut ran = dispatched.scripts_that_ran();
        let modified = if allow {
            if ran.any(|script| script.modified_args.is_some()) {
                args.clone()
            } else {
                Value::Null
            }
        } else {
            ran.last().and_then(given).map_or(Value::Null, Value::from)
        };
        vec![
            ("allow", allow.into()),
            ("message", message.unwrap_or_default().into()),
            ("modified_args", modified),
            ("final_args", args),
        ]
    }

    fn args_seen(&self) -> Option<&Args> {
        Some(&self.call.args)
    }
}

impl SdkEvent for ToolError {
    const SCOPE: Scope = Scope::Operation;

    fn answer(script: &Script) -> HookResult<Self> {
        Ok(script.returned.clone().map_or_else(Answer::none, Answer::recover))
    }

    fn result(dispatched: &Dispatched<Self>) -> Fields {
        let (allow, value) = match &dispatched.outcome.verdict {
            Recovery::Found { value } => (true, value.clone()),
            Recovery::Nothing | Recovery::Refused { .. } => (false, Value::Null),
        };
        // The original tells the model what went wrong in the hook; here that is for the person,
        // so it is in the record.
        let error = dispatched.errors.first();
        let message = error.map(|(_, error)| format!("Error recovery failed: {error}"));
        vec![
            ("allow", allow.into()),
            ("message", message.unwrap_or_default().into()),
            ("value", value),
        ]
    }
}

impl SdkEvent for Interaction {
    const SCOPE: Scope = Scope::Operation;

    fn answer(script: &Script) -> HookResult<Self> {
        let Some(returned) = &script.returned else { return Ok(Answer::none()) };
        Ok(Answer::reply(ReturnedReply::deserialize(returned)?.into()))
    }

    fn result(dispatched: &Dispatched<Self>) -> Fields {
        let outcome = &dispatched.outcome;
        let (allow, value) = match &outcome.verdict {
            Reply::Found { value } => (true, json!(value)),
            Reply::Nothing | Reply::Refused { .. } => (false, Value::Null),
        };
        vec![("allow", allow.into()), ("message", outcome.reason().into()), ("value", value)]
    }
}

impl SdkEvent for Stop {
    const SCOPE: Scope = Scope::Turn;

    fn answer(script: &Script) -> HookResult<Self> {
        let Some(returned) = &script.returned else { return Ok(Answer::none()) };
        let ReturnedStop { decision, reason } = ReturnedStop::deserialize(returned)?;
        match decision {
            StopDecision::AllowStop => Ok(Answer::none()),
            StopDecision::Continue if reason.trim().is_empty() => {
                Err("an answer that goes on needs a reason".into())
            }
            StopDecision::Continue => Ok(Answer::go_on(reason)),
        }
    }

    fn result(dispatched: &Dispatched<Self>) -> Fields {
        let outcome = &dispatched.outcome;
        let decision = match &outcome.verdict {
            Finish::Stop => "ALLOW_STOP",
            Finish::Continue { .. } => "CONTINUE",
        };
        vec![("decision", decision.into()), ("reason", outcome.reason().into())]
    }
}

/// What a hook returns at `stop`.
#[derive(Deserialize)]
#[serde(default)]
struct ReturnedStop {
    decision: StopDecision,
    reason: String,
}

impl Default for ReturnedStop {
    fn default() -> Self {
        Self { decision: StopDecision::AllowStop, reason: String::new() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum StopDecision {
    AllowStop,
    Continue,
}

/// What a hook returns at `interaction`. Unlike ours, the original's form ignores fields it does
/// not know.
#[derive(Deserialize)]
struct ReturnedReply {
    responses: Vec<ReturnedResponse>,
    #[serde(default)]
    cancelled: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReturnedResponse {
    selected_option_ids: Option<Vec<String>>,
    freeform_response: String,
    skipped: bool,
}

impl From<ReturnedReply> for Responses {
    fn from(reply: ReturnedReply) -> Self {
        let response = |response: ReturnedResponse| Response {
            selected_option_ids: response.selected_option_ids,
            freeform_response: response.freeform_response,
            skipped: response.skipped,
        };
        Self {
            responses: reply.responses.into_iter().map(response).collect(),
            cancelled: reply.cancelled,
        }
    }
}
