//! An event as a script sees it: the payload.
//!
//! | event | fields |
//! |---|---|
//! | all | `agent`, `model`, `session`, `turn` |
//! | `tool.pre` | `name`, `native_name`, `native_input`, `server`, `args`, `arguments` (the same), `call`, `step` |
//! | `tool.post` | as `tool.pre`, and `result`, `error` |
//! | `turn.start` | `prompt` |
//! | `turn.end` | `response`, `logs`, `metrics` |
//! | `completion.pre`, `completion.post` | `invocation`, `steps` |
//! | `agent.stop` | `execution`, `reason`, `error`, `idle` |
//! | `delegation.post_verify` | `type`, `result` |
//! | `error` | `error`, `origin` |
//!
//! A field that is not known is there and `None`, so that a condition that asks for it is false and
//! does not raise. A tool has the name that Tollgate's table gives it, whatever the host calls it
//! (that is `native_name`, and what it was called with `native_input`): a guard of `run_command` is not passed by as `RUN_COMMAND`.

mod fields;
mod glance;
mod measure;
mod value;

use std::sync::OnceLock;

use serde_json::{Map, Value};
use starlark::const_frozen_string;
use starlark::values::{Heap, Value as Starlark};
use tollgate_config::dialect::EventName;
use tollgate_core::context::{Context, SessionContext, SessionInfo, TurnContext};
use tollgate_core::event::{
    Failure, ModelPost, ModelPre, SessionEnd, SessionStart, Stop, SubagentStop, ToolError,
    ToolPost, ToolPre, TurnEnd, TurnStart,
};
use tollgate_core::{AnyEvent, EventRef, Kind};

use crate::analysis::{Payload, View};
use fields::{Field, Name, own_fields, surroundings};
pub(crate) use fields::{Wanted, without_second_name};
pub(crate) use glance::Glance;
pub(crate) use measure::Measure;
pub(crate) use value::{Local, on};

/// The arguments of a call, and their other name, under which scripts find the same value. It is not
/// kept twice.
pub(crate) const ARGS: &str = "args";
pub(crate) const ALIAS: &str = "arguments";

/// The fields of a payload as conditions look at them, with the other name of the arguments.
#[derive(Debug)]
pub(crate) struct Whole<'a>(pub(crate) &'a Map<String, Value>);

impl Payload for Whole<'_> {
    fn get(&self, key: &str) -> Option<View<'_>> {
        let key = if key == ALIAS { ARGS } else { key };
        Payload::get(self.0, key)
    }

    fn len(&self) -> usize {
        self.0.len() + usize::from(self.0.contains_key(ARGS))
    }

    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, View<'a>) -> bool) {
        let mut goes_on = true;
        Payload::each(self.0, &mut |key, value| {
            goes_on = visit(key, value);
            goes_on
        });
        if let (true, Some(args)) = (goes_on, Payload::get(self.0, ARGS)) {
            visit(ALIAS, args);
        }
    }
}

/// The name of an event as a value of the language. Those of Markdown hooks are made once and for
/// all.
pub(crate) fn event_value<'v>(event: &str, heap: Heap<'v>) -> Starlark<'v> {
    macro_rules! known {
        ($($name:literal)*) => {
            match event {
                $($name => const_frozen_string!($name).to_value(),)*
                other => heap.alloc(other),
            }
        };
    }
    known! {
        "session.start" "session.end" "turn.start" "turn.end" "completion.pre" "completion.post"
        "tool.pre" "tool.post" "agent.stop" "delegation.post_verify" "error"
    }
}

/// The payload of one dispatch as it is now, in the forms that are asked for.
#[derive(Debug)]
pub(crate) struct Projected {
    pub(crate) fields: Map<String, Value>,
    measure: Measure,
    text: OnceLock<String>,
}

impl Projected {
    pub(crate) fn of(event: EventRef<'_>, cx: &impl Context, elapsed: &Elapsed) -> Self {
        Self::new(all_fields(event, cx.session(), cx.current_turn(), elapsed))
    }

    pub(crate) fn new(fields: Map<String, Value>) -> Self {
        let mut measure = Measure::default();
        measure.fields(&fields, 1);
        Self { fields, measure, text: OnceLock::new() }
    }

    /// Fails where no script may be given it, wherever it runs: it is nested deeper than a worker
    /// would read, or has numbers that would take long to read.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.measure.check()
    }

    /// About how large it is, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.measure.size
    }

    /// As JSON.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| serde_json::to_string(&self.fields).unwrap_or_default())
    }
}

/// For how many seconds the session has lasted: for all hooks of a dispatch the same, and not looked
/// at where none wants to know.
#[derive(Debug, Default)]
pub(crate) struct Elapsed(OnceLock<u64>);

impl Elapsed {
    fn of(&self, session: &SessionContext) -> u64 {
        *self.0.get_or_init(|| session.elapsed().as_secs())
    }
}

/// All fields, as JSON.
fn all_fields(
    event: EventRef<'_>,
    session: &SessionContext,
    turn: Option<&TurnContext>,
    elapsed: &Elapsed,
) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: Name, field: Field<'_>| {
        fields.insert(name.text().to_owned(), field.into_json());
    };
    own_fields(event, &mut put);
    surroundings(event, session, turn, elapsed, Wanted::ALL, &mut put);
    fields
}

/// The payload of a test: what it says, and for all other fields what a new session has.
pub(crate) fn of_test(event: &EventName, said: &Value) -> Result<Map<String, Value>, String> {
    let Value::Object(said) = said else {
        return Err("the payload of a test is a JSON object".to_owned());
    };
    let is_error = said.get("error").is_some_and(|error| !error.is_null());
    let kind = match event.kinds {
        // A tool that failed is the second event of its name.
        [_, second, ..] if is_error => *second,
        [first, ..] => *first,
        [] => return Err("the event has no kind".to_owned()),
    };
    let session = SessionContext::new(SessionInfo::default());
    let turn = session.turn();
    let event_of = sample(kind);
    let mut fields = all_fields(event_of.view(), &session, Some(&turn), &Elapsed::default());
    for (name, value) in said {
        let name = if name == ALIAS { ARGS } else { name };
        if !fields.contains_key(name) {
            let known: Vec<_> = fields.keys().map(|key| format!("`{key}`")).collect();
            return Err(format!(
                "`{name}` is no field of {}; it has {}",
                event.name,
                known.join(", ")
            ));
        }
        match (fields.get_mut(name), value) {
            // What a test does not say of the session or the agent is as it is in a new one.
            (Some(Value::Object(known)), Value::Object(said)) if PARTS.contains(&name) => {
                known.extend(said.clone());
            }
            _ => {
                fields.insert(name.to_owned(), value.clone());
            }
        }
    }
    if let (Some(name), false) = (said.get("name"), said.contains_key("native_name")) {
        fields.insert("native_name".to_owned(), name.clone());
    }
    Ok(fields)
}

/// Fields of which a test may give a part.
const PARTS: &[&str] = &["agent", "session"];

/// An event of a kind, with nothing in it.
fn sample(kind: Kind) -> AnyEvent {
    match kind {
        Kind::ToolPre => ToolPre::default().into(),
        Kind::ToolPost => ToolPost::default().into(),
        Kind::ToolError => ToolError::default().into(),
        Kind::TurnStart => TurnStart::default().into(),
        Kind::TurnEnd => TurnEnd::default().into(),
        Kind::ModelPre => ModelPre::default().into(),
        Kind::ModelPost => ModelPost::default().into(),
        Kind::Stop => Stop::default().into(),
        Kind::SubagentStop => SubagentStop::default().into(),
        Kind::Failure => Failure::default().into(),
        Kind::SessionEnd => SessionEnd::default().into(),
        _ => SessionStart::default().into(),
    }
}
