//! An event as a script sees it: the payload.
//!
//! | event | fields |
//! |---|---|
//! | all | `agent`, `model`, `session`, `turn` |
//! | `tool.pre` | `name`, `native_name`, `server`, `args`, `arguments` (the same), `call`, `step` |
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
//! (that is `native_name`): a guard of `run_command` is not passed by as `RUN_COMMAND`.

use std::cell::Cell;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use starlark::values::Heap;
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use tollgate_config::dialect::EventName;
use tollgate_core::context::{Context, SessionContext, SessionInfo, TurnContext};
use tollgate_core::event::{
    Agent, Failure, ModelPost, ModelPre, SessionEnd, SessionStart, Stop, SubagentStop, ToolCall,
    ToolError, ToolPost, ToolPre, TurnEnd, TurnStart,
};
use tollgate_core::{AnyEvent, EventRef, Kind, tools};

use crate::analysis::{CondError, Condition, Payload, View};
use crate::convert::to_starlark;

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

    fn each(&self, visit: &mut dyn FnMut(&str, View<'_>) -> bool) {
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

/// The payload of one dispatch as it is now, in the forms that are asked for.
#[derive(Debug)]
pub(crate) struct Projected {
    pub(crate) fields: Map<String, Value>,
    measure: Measure,
    text: OnceLock<String>,
}

impl Projected {
    pub(crate) fn of(event: EventRef<'_>, cx: &impl Context) -> Self {
        Self::new(all_fields(event, cx.session(), cx.current_turn()))
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

/// How deep a payload may be: what JSON is read to.
const DEEPEST: usize = 127;

/// How long a number may be. To read one takes time that grows with the square of its length.
const LONGEST_NUMBER: usize = 1024;

/// About how large a value is.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    /// In bytes of JSON.
    pub(crate) size: usize,
    depth: usize,
    /// Those of its longest number.
    digits: usize,
}

impl Measure {
    pub(crate) fn of(value: &Value) -> Self {
        let mut measure = Self::default();
        measure.add(value, 1);
        measure
    }

    /// Of the payload of an event, where that takes nothing but a look: those about tools, and
    /// prompts.
    pub(crate) fn of_event(event: EventRef<'_>, cx: &impl Context) -> Option<Self> {
        let mut measure = Self { size: 256, ..Self::default() };
        let call = match event {
            EventRef::ToolPre(event) => Some(&event.call),
            EventRef::ToolPost(event) => {
                measure.add(&event.result, 2);
                Some(&event.call)
            }
            EventRef::ToolError(event) => {
                measure.size += event.error.len();
                Some(&event.call)
            }
            EventRef::TurnStart(event) => {
                measure.size += event.prompt.len();
                None
            }
            _ => return None,
        };
        if let Some(call) = call {
            measure.fields(&call.args, 2);
            measure.size += 2 * call.name.len();
        }
        let info = cx.session().info();
        measure.size += info.id.len() + info.workspaces.iter().map(String::len).sum::<usize>();
        Some(measure)
    }

    /// Fails where no script may be given it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.depth > DEEPEST {
            return Err(format!("the payload is nested more than {DEEPEST} deep"));
        }
        if self.digits > LONGEST_NUMBER {
            return Err(format!("a number in the payload has more than {LONGEST_NUMBER} digits"));
        }
        Ok(())
    }

    fn add(&mut self, value: &Value, depth: usize) {
        self.size += 8;
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) if number.as_i64().is_some() => {}
            Value::Number(number) => {
                let digits = number.to_string().len();
                self.size += digits;
                self.digits = self.digits.max(digits);
            }
            Value::String(text) => self.size += text.len(),
            Value::Array(items) => {
                self.depth = self.depth.max(depth);
                for item in items {
                    self.add(item, depth + 1);
                }
            }
            Value::Object(fields) => self.fields(fields, depth),
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, depth: usize) {
        self.depth = self.depth.max(depth);
        for (name, value) in fields {
            self.size += name.len();
            self.add(value, depth + 1);
        }
    }
}

/// A field of a payload, as the event has it.
enum Field<'a> {
    None,
    Bool(bool),
    Number(u64),
    Text(&'a str),
    Json(&'a Value),
    /// The arguments of a call, and which of them has a second name.
    Args(&'a ToolCall),
    Agent(&'a Agent),
    Session(&'a SessionInfo),
    Made(Value),
}

impl<'a> Field<'a> {
    fn text(text: Option<&'a String>) -> Self {
        text.map_or(Self::None, |text| Self::Text(text))
    }

    fn number(number: Option<u64>) -> Self {
        number.map_or(Self::None, Self::Number)
    }

    fn into_json(self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Number(number) => number.into(),
            Self::Text(text) => text.into(),
            Self::Json(value) => value.clone(),
            Self::Args(call) => {
                let mut args = call.args.clone();
                if let Some((ours, theirs)) = second_name(call)
                    && let Some(value) = args.get(ours).cloned()
                {
                    args.insert(theirs.to_owned(), value);
                }
                args.into()
            }
            Self::Agent(agent) => json(Some(agent)),
            Self::Session(session) => json(Some(session)),
            Self::Made(value) => value,
        }
    }

    /// As [`into_json`](Self::into_json) and then a value of the language, without the first.
    fn on_heap<'v>(&self, heap: Heap<'v>) -> starlark::values::Value<'v> {
        use starlark::values::Value as Star;
        match self {
            Self::None => Star::new_none(),
            Self::Bool(value) => Star::new_bool(*value),
            Self::Number(number) => heap.alloc(*number),
            Self::Text(text) => heap.alloc(*text),
            Self::Json(value) => to_starlark(value, heap),
            Self::Args(call) => {
                let mut args: Vec<_> = call
                    .args
                    .iter()
                    .map(|(name, value)| (name.as_str(), to_starlark(value, heap)))
                    .collect();
                if let Some((ours, theirs)) = second_name(call)
                    && let Some((_, value)) = args.iter().find(|(name, _)| *name == ours)
                {
                    args.push((theirs, *value));
                    args.sort_by_key(|(name, _)| *name);
                }
                heap.alloc(AllocDict(args))
            }
            Self::Agent(agent) => {
                let (depth, id) = (heap.alloc(agent.depth), heap.alloc(agent.id.as_str()));
                heap.alloc(AllocDict([("depth", depth), ("id", id)]))
            }
            Self::Session(session) => {
                let optional = |name: &'static str, text: &Option<String>| {
                    text.as_ref().map(|text| (name, heap.alloc(text.as_str())))
                };
                let workspaces = session.workspaces.iter().map(String::as_str);
                let fields = [
                    optional("artifacts", &session.artifacts),
                    Some(("id", heap.alloc(session.id.as_str()))),
                    optional("transcript", &session.transcript),
                    Some(("workspaces", heap.alloc(AllocList(workspaces)))),
                ];
                heap.alloc(AllocDict(fields.into_iter().flatten()))
            }
            Self::Made(value) => to_starlark(value, heap),
        }
    }
}

/// What the event itself says.
fn own_fields<'a>(event: EventRef<'a>, put: &mut impl FnMut(&'static str, Field<'a>)) {
    match event {
        EventRef::ToolPre(event) => tool_call(&event.call, put),
        EventRef::ToolPost(event) => {
            tool_call(&event.call, put);
            put("result", Field::Json(&event.result));
            put("error", Field::None);
        }
        EventRef::ToolError(event) => {
            tool_call(&event.call, put);
            put("result", Field::None);
            put("error", Field::Text(&event.error));
        }
        EventRef::TurnStart(event) => put("prompt", Field::Text(&event.prompt)),
        EventRef::TurnEnd(event) => put("response", Field::Text(&event.response)),
        EventRef::ModelPre(event) => {
            put("invocation", Field::Number(event.invocation));
            put("steps", Field::Number(event.steps));
        }
        EventRef::ModelPost(event) => {
            put("invocation", Field::Number(event.invocation));
            put("steps", Field::Number(event.steps));
        }
        EventRef::Stop(event) => {
            put("execution", Field::Number(event.execution));
            put("reason", Field::Text(&event.reason));
            put("error", Field::text(event.error.as_ref()));
            put("idle", Field::Bool(event.idle));
        }
        EventRef::SubagentStop(event) => {
            put("type", Field::Text(&event.kind));
            put("result", event.result.as_ref().map_or(Field::None, Field::Json));
        }
        EventRef::Failure(event) => {
            put("error", Field::Text(&event.error));
            put("origin", Field::text(event.origin.as_ref()));
        }
        // The others have no fields of their own, or are no events of Markdown hooks.
        _ => {}
    }
}

fn tool_call<'a>(call: &'a ToolCall, put: &mut impl FnMut(&'static str, Field<'a>)) {
    put("name", Field::Text(name_of(call)));
    put("native_name", Field::Text(&call.name));
    put("server", Field::text(call.server.as_ref()));
    put(ARGS, Field::Args(call));
    put("call", Field::text(call.id.as_ref()));
    put("step", Field::number(call.step));
}

/// Arguments that AI Harness has another name for: of which tool, our name, theirs. A guard that was
/// written there reads theirs, and would let everything pass.
const SECOND_NAMES: &[(&str, &str, &str)] = &[("run_command", "CommandLine", "command")];

/// The argument of a call that scripts find under a second name, and that name.
fn second_name(call: &ToolCall) -> Option<(&'static str, &'static str)> {
    let tool = name_of(call);
    let of_tool = SECOND_NAMES.iter().find(|(of, ..)| *of == tool);
    let &(_, ours, theirs) = of_tool?;
    (call.args.contains_key(ours) && !call.args.contains_key(theirs)).then_some((ours, theirs))
}

/// Takes the second name out of arguments that a script has made. What it changed under that name
/// alone is changed.
pub(crate) fn without_second_name(event: EventRef<'_>, args: &mut Map<String, Value>) {
    let EventRef::ToolPre(event) = event else { return };
    let Some((ours, theirs)) = second_name(&event.call) else { return };
    let before = event.call.args.get(ours);
    if let Some(value) = args.remove(theirs) {
        let named_alone = !args.contains_key(ours);
        if named_alone || Some(&value) != before && args.get(ours) == before {
            args.insert(ours.to_owned(), value);
        }
    }
}

/// The tool's name in Tollgate's table, where the agent's own tool is in it.
fn name_of(call: &ToolCall) -> &str {
    let own = call.server.as_deref().is_none_or(str::is_empty);
    let known = own.then(|| tools::lookup(&call.name)).flatten();
    known.map_or(&call.name, |tool| tool.name)
}

/// Who the event is about.
fn agent_and_model(event: EventRef<'_>) -> (Option<&Agent>, Option<&String>) {
    macro_rules! of {
        ($event:ident) => {
            (Some(&$event.agent), $event.model.as_ref())
        };
    }
    match event {
        EventRef::ToolPre(event) => of!(event),
        EventRef::ToolPost(event) => of!(event),
        EventRef::ToolError(event) => of!(event),
        EventRef::TurnStart(event) => of!(event),
        EventRef::TurnEnd(event) => of!(event),
        EventRef::ModelPre(event) => of!(event),
        EventRef::ModelPost(event) => of!(event),
        EventRef::Stop(event) => of!(event),
        EventRef::SubagentStop(event) => of!(event),
        EventRef::Failure(event) => of!(event),
        EventRef::SessionStart(event) => of!(event),
        EventRef::SessionEnd(event) => of!(event),
        _ => (None, None),
    }
}

/// What is known beside the event: the agent, the model, the session, the turn.
fn surroundings<'a>(
    event: EventRef<'a>,
    session: &'a SessionContext,
    turn: Option<&TurnContext>,
    put: &mut impl FnMut(&'static str, Field<'a>),
) {
    let (agent, model) = agent_and_model(event);
    put("agent", agent.map_or(Field::None, Field::Agent));
    put("model", Field::text(model));
    put("turn", Field::number(turn.map(TurnContext::number)));
    put("session", Field::Session(session.info()));
    if matches!(event, EventRef::TurnEnd(_)) {
        put("logs", Field::Made(json(turn.map(|turn| turn.log().entries()))));
        put("metrics", Field::Made(session.ledger().metrics().into()));
    }
}

/// All fields, as JSON.
fn all_fields(
    event: EventRef<'_>,
    session: &SessionContext,
    turn: Option<&TurnContext>,
) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &'static str, field: Field<'_>| {
        fields.insert(name.to_owned(), field.into_json());
    };
    own_fields(event, &mut put);
    surroundings(event, session, turn, &mut put);
    fields
}

/// The payload as a value of the language: the same as by way of JSON, in less time.
pub(crate) fn on_heap<'v>(
    event: EventRef<'_>,
    cx: &impl Context,
    heap: Heap<'v>,
) -> starlark::values::Value<'v> {
    let mut fields = Vec::with_capacity(16);
    let mut put = |name: &'static str, field: Field<'_>| fields.push((name, field.on_heap(heap)));
    own_fields(event, &mut put);
    surroundings(event, cx.session(), cx.current_turn(), &mut put);
    fields.sort_by_key(|(name, _)| *name);
    let args = fields.iter().find(|(name, _)| *name == ARGS).map(|(_, args)| *args);
    fields.extend(args.map(|args| (ALIAS, args)));
    heap.alloc(AllocDict(fields))
}

fn json(value: Option<impl serde::Serialize>) -> Value {
    value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_default()
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
    let mut fields = all_fields(event_of.view(), &session, Some(&turn));
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
        fields.insert(name.to_owned(), value.clone());
    }
    if let (Some(name), false) = (said.get("name"), said.contains_key("native_name")) {
        fields.insert("native_name".to_owned(), name.clone());
    }
    Ok(fields)
}

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

/// An event as the conditions of hooks look at it, without making anything of it first.
#[derive(Debug)]
pub(crate) struct Glance<'a> {
    event: EventRef<'a>,
    /// Whether something was asked for that the event alone does not tell.
    beyond: Cell<bool>,
}

impl<'a> Glance<'a> {
    pub(crate) fn at(event: EventRef<'a>) -> Self {
        Self { event, beyond: Cell::new(false) }
    }

    /// Whether a condition holds, where the event alone can tell.
    pub(crate) fn holds(
        &self,
        condition: &Condition,
        event: &str,
    ) -> Option<Result<bool, CondError>> {
        let held = condition.eval(event, self);
        let is_open = self.beyond.get() || held == Err(CondError::NotNative);
        (!is_open).then_some(held)
    }

    fn field(&self, key: &str) -> Option<View<'_>> {
        let text = |text: &'a str| View::Str(text.into());
        let optional = |value: Option<&'a String>| value.map_or(View::None, |value| text(value));
        let call = match self.event {
            EventRef::ToolPre(event) => Some(&event.call),
            EventRef::ToolPost(event) => Some(&event.call),
            EventRef::ToolError(event) => Some(&event.call),
            _ => None,
        };
        if key == "model" {
            return Some(optional(agent_and_model(self.event).1));
        }
        match (self.event, call, key) {
            (_, Some(call), "name") => Some(text(name_of(call))),
            (_, Some(call), "native_name") => Some(text(&call.name)),
            (_, Some(call), "server") => Some(optional(call.server.as_ref())),
            (_, Some(call), ARGS | ALIAS) if second_name(call).is_some() => None,
            (_, Some(call), ARGS | ALIAS) => Some(View::Dict(&call.args)),
            (EventRef::TurnStart(event), _, "prompt") => Some(text(&event.prompt)),
            (EventRef::TurnEnd(event), _, "response") => Some(text(&event.response)),
            (EventRef::Stop(event), _, "reason") => Some(text(&event.reason)),
            (EventRef::SubagentStop(event), _, "type") => Some(text(&event.kind)),
            _ => None,
        }
    }
}

impl Payload for Glance<'_> {
    fn get(&self, key: &str) -> Option<View<'_>> {
        let found = self.field(key);
        // Whether there is no such field at all is the whole payload's to tell.
        self.beyond.set(self.beyond.get() || found.is_none());
        found
    }

    fn len(&self) -> usize {
        self.beyond.set(true);
        0
    }

    fn each(&self, _visit: &mut dyn FnMut(&str, View<'_>) -> bool) {
        self.beyond.set(true);
    }
}
