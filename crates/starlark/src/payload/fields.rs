//! What payloads consist of.

use serde_json::{Map, Value};
use starlark::const_frozen_string;
use starlark::values::list::AllocList;
use starlark::values::none::NoneType;
use starlark::values::{FrozenStringValue, FrozenValue};
use tollgate_core::context::{SessionContext, SessionInfo, TurnContext};
use tollgate_core::event::{Agent, ToolCall};
use tollgate_core::{EventRef, tools};

use super::{ALIAS, Elapsed};
use crate::analysis::Reads;
use crate::convert::{Ground, to_starlark};

macro_rules! names {
    ($($name:ident $text:literal)*) => {
        /// The name of a field. Fields are in the order of their names, and so are these.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names)] // one is called so
        pub(super) enum Name {
            $($name),*
        }

        impl Name {
            pub(super) const ALL: &[Self] = &[$(Self::$name),*];

            pub(super) const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text),*
                }
            }

            /// As a value of the language, which is made and hashed once and for all.
            pub(super) fn value(self) -> FrozenValue {
                let text: FrozenStringValue = match self {
                    $(Self::$name => const_frozen_string!($text)),*
                };
                text.to_frozen_value()
            }
        }
    };
}

names! {
    Agent "agent"
    Args "args"
    Call "call"
    Error "error"
    Execution "execution"
    Idle "idle"
    Invocation "invocation"
    Logs "logs"
    Metrics "metrics"
    Model "model"
    Name "name"
    NativeInput "native_input"
    NativeName "native_name"
    Origin "origin"
    Prompt "prompt"
    Reason "reason"
    Response "response"
    Result "result"
    Server "server"
    Session "session"
    Step "step"
    Steps "steps"
    Turn "turn"
    Type "type"
}

/// Which fields of a payload are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted(u32);

impl Wanted {
    pub(crate) const ALL: Self = Self(u32::MAX);

    /// The other name of the arguments, behind the names of all fields.
    const ALIAS: u32 = {
        assert!(Name::ALL.len() < 32, "there is a bit for each name, and one more");
        1 << 31
    };

    /// What takes long to make where the event has much of it.
    const LARGE: Self = Self(
        Self::ALIAS
            | Self::bit(Name::Args)
            | Self::bit(Name::Error)
            | Self::bit(Name::Logs)
            | Self::bit(Name::Metrics)
            | Self::bit(Name::NativeInput)
            | Self::bit(Name::Prompt)
            | Self::bit(Name::Reason)
            | Self::bit(Name::Response)
            | Self::bit(Name::Result),
    );

    /// Those that a script looks at.
    pub(crate) fn by(reads: &Reads) -> Self {
        let Reads::Only(fields) = reads else { return Self::ALL };
        let bit = |field: &String| match Name::ALL.iter().find(|name| name.text() == field) {
            Some(name) => Self::bit(*name),
            None if field == ALIAS => Self::ALIAS,
            // There is none of that name.
            None => 0,
        };
        Self(fields.iter().map(bit).fold(0, |all, bit| all | bit))
    }

    const fn bit(name: Name) -> u32 {
        1 << name as u32
    }

    pub(super) const fn has(self, name: Name) -> bool {
        self.0 & Self::bit(name) != 0
    }

    pub(super) const fn has_alias(self) -> bool {
        self.0 & Self::ALIAS != 0
    }

    pub(super) const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Whether it is made in no time.
    pub(super) const fn is_small(self) -> bool {
        self.0 & Self::LARGE.0 == 0
    }
}

/// A field of a payload, as the event has it.
pub(super) enum Field<'a> {
    None,
    Bool(bool),
    Number(u64),
    Text(&'a str),
    Json(&'a Value),
    /// The arguments of a call, and which of them has a second name.
    Args(&'a ToolCall),
    Agent(&'a Agent),
    /// And for how many seconds it has lasted.
    Session(&'a SessionInfo, u64),
    Made(Value),
}

impl<'a> Field<'a> {
    fn text(text: Option<&'a String>) -> Self {
        text.map_or(Self::None, |text| Self::Text(text))
    }

    fn number(number: Option<u64>) -> Self {
        number.map_or(Self::None, Self::Number)
    }

    pub(super) fn into_json(self) -> Value {
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
            Self::Session(session, elapsed) => {
                let mut session = json(Some(session));
                if let Value::Object(fields) = &mut session {
                    fields.insert("elapsed".to_owned(), elapsed.into());
                }
                session
            }
            Self::Made(value) => value,
        }
    }

    /// As [`into_json`](Self::into_json) and then a value of the language, without the first.
    pub(super) fn on<G: Ground>(&self, ground: G) -> G::Value {
        let key = |text: FrozenStringValue| ground.put(text.to_frozen_value());
        match self {
            Self::None => ground.put(NoneType),
            Self::Bool(value) => ground.put(*value),
            Self::Number(number) => ground.put(*number),
            Self::Text(text) => ground.put(*text),
            Self::Json(value) => to_starlark(value, ground),
            Self::Args(call) => args_on(call, ground),
            Self::Agent(agent) => ground.dict([
                (key(const_frozen_string!("depth")), ground.put(agent.depth)),
                (key(const_frozen_string!("id")), ground.put(agent.id.as_str())),
            ]),
            Self::Session(session, elapsed) => {
                let text = |text: &String| ground.put(text.as_str());
                let (artifacts, transcript) = (&session.artifacts, &session.transcript);
                let workspaces = session.workspaces.iter().map(String::as_str);
                let fields = [
                    (const_frozen_string!("artifacts"), artifacts.as_ref().map(text)),
                    (const_frozen_string!("elapsed"), Some(ground.put(*elapsed))),
                    (const_frozen_string!("id"), Some(text(&session.id))),
                    (const_frozen_string!("transcript"), transcript.as_ref().map(text)),
                    (const_frozen_string!("workspaces"), Some(ground.put(AllocList(workspaces)))),
                ];
                let fields =
                    fields.into_iter().filter_map(|(name, value)| Some((key(name), value?)));
                ground.dict(fields)
            }
            Self::Made(value) => to_starlark(value, ground),
        }
    }
}

/// The arguments of a call, in the order of their names.
fn args_on<G: Ground>(call: &ToolCall, ground: G) -> G::Value {
    let mut args = Vec::with_capacity(call.args.len() + 1);
    for (name, value) in &call.args {
        args.push((ground.put(name.as_str()), to_starlark(value, ground)));
    }
    if let Some((ours, theirs)) = second_name(call) {
        let place = |of: &str| call.args.keys().take_while(|name| name.as_str() < of).count();
        if let Some((_, value)) = args.get(place(ours)).copied() {
            args.insert(place(theirs), (ground.put(theirs), value));
        }
    }
    ground.dict(args)
}

/// What the event itself says.
pub(super) fn own_fields<'a>(event: EventRef<'a>, put: &mut impl FnMut(Name, Field<'a>)) {
    match event {
        EventRef::ToolPre(event) => tool_call(&event.call, put),
        EventRef::ToolPost(event) => {
            tool_call(&event.call, put);
            put(Name::Result, Field::Json(&event.result));
            put(Name::Error, Field::None);
        }
        EventRef::ToolError(event) => {
            tool_call(&event.call, put);
            put(Name::Result, Field::None);
            put(Name::Error, Field::Text(&event.error));
        }
        EventRef::TurnStart(event) => put(Name::Prompt, Field::Text(&event.prompt)),
        EventRef::TurnEnd(event) => put(Name::Response, Field::Text(&event.response)),
        EventRef::ModelPre(event) => {
            put(Name::Invocation, Field::Number(event.invocation));
            put(Name::Steps, Field::Number(event.steps));
        }
        EventRef::ModelPost(event) => {
            put(Name::Invocation, Field::Number(event.invocation));
            put(Name::Steps, Field::Number(event.steps));
        }
        EventRef::Stop(event) => {
            put(Name::Execution, Field::Number(event.execution));
            put(Name::Reason, Field::Text(&event.reason));
            put(Name::Error, Field::text(event.error.as_ref()));
            put(Name::Idle, Field::Bool(event.idle));
        }
        EventRef::SubagentStop(event) => {
            put(Name::Type, Field::Text(&event.kind));
            put(Name::Result, event.result.as_ref().map_or(Field::None, Field::Json));
        }
        EventRef::Failure(event) => {
            put(Name::Error, Field::Text(&event.error));
            put(Name::Origin, Field::text(event.origin.as_ref()));
        }
        // The others have no fields of their own, or are no events of Markdown hooks.
        _ => {}
    }
}

fn tool_call<'a>(call: &'a ToolCall, put: &mut impl FnMut(Name, Field<'a>)) {
    put(Name::Name, Field::Text(name_of(call)));
    let native = call.native.as_ref();
    put(Name::NativeInput, native.map_or(Field::None, |native| Field::Json(&native.input)));
    put(Name::NativeName, Field::Text(call.native_name()));
    put(Name::Server, Field::text(call.server.as_ref()));
    put(Name::Args, Field::Args(call));
    put(Name::Call, Field::text(call.id.as_ref()));
    put(Name::Step, Field::number(call.step));
}

/// Arguments that AI Harness has another name for: of which tool, our name, theirs. A guard that was
/// written there reads theirs, and would let everything pass.
const SECOND_NAMES: &[(&str, &str, &str)] = &[("run_command", "CommandLine", "command")];

/// The argument of a call that scripts find under a second name, and that name.
pub(super) fn second_name(call: &ToolCall) -> Option<(&'static str, &'static str)> {
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
pub(super) fn name_of(call: &ToolCall) -> &str {
    let own = call.server.as_deref().is_none_or(str::is_empty);
    let known = own.then(|| tools::lookup(&call.name)).flatten();
    known.map_or(&call.name, |tool| tool.name)
}

/// Who the event is about.
pub(super) fn agent_and_model(event: EventRef<'_>) -> (Option<&Agent>, Option<&String>) {
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

/// What is known beside the event: the agent, the model, the session, the turn. What takes longer
/// than a look is only given where it is wanted.
pub(super) fn surroundings<'a>(
    event: EventRef<'a>,
    session: &'a SessionContext,
    turn: Option<&TurnContext>,
    elapsed: &Elapsed,
    wanted: Wanted,
    put: &mut impl FnMut(Name, Field<'a>),
) {
    let (agent, model) = agent_and_model(event);
    put(Name::Agent, agent.map_or(Field::None, Field::Agent));
    put(Name::Model, Field::text(model));
    put(Name::Turn, Field::number(turn.map(TurnContext::number)));
    if wanted.has(Name::Session) {
        put(Name::Session, Field::Session(session.info(), elapsed.of(session)));
    }
    if matches!(event, EventRef::TurnEnd(_)) {
        if wanted.has(Name::Logs) {
            put(Name::Logs, Field::Made(json(turn.map(|turn| turn.log().entries()))));
        }
        if wanted.has(Name::Metrics) {
            put(Name::Metrics, Field::Made(session.ledger().metrics().into()));
        }
    }
}

fn json(value: Option<impl serde::Serialize>) -> Value {
    value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn names_are_in_order() {
        let texts: Vec<_> = Name::ALL.iter().map(|name| name.text()).collect();
        assert!(texts.is_sorted(), "{texts:?}");
        for (place, name) in Name::ALL.iter().enumerate() {
            assert_eq!(
                (*name as usize, name.value().to_value().unpack_str()),
                (place, Some(name.text()))
            );
        }
    }
}
