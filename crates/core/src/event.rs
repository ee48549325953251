//! The events of an agent's life, each with its payload and the answers it allows.
//!
//! The list is closed and stands in one table; a system's own names are translated to these at
//! the edge and nothing else knows them.

mod answers;
mod payload;
mod table;
mod wire;

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use answers::Answers;
pub use payload::{
    Agent, Args, Choice, CompactionPost, CompactionPre, FacetSwitch, Failure, Interaction,
    InvocationEnd, ModelPost, ModelPre, Native, Notification, Question, Response, Responses,
    SessionEnd, SessionStart, Stop, SubagentStart, SubagentStop, ToolCall, ToolError, ToolPost,
    ToolPre, TurnEnd, TurnStart,
};
pub(crate) use table::for_each_event;

use crate::context::{Context, OperationContext, SessionContext, TurnContext};
use crate::dialect::{Dialect, Mode, OnFailure, Rule};
use crate::extra::{Extra, Injection, Overrides, Texts};
use crate::patch::{ArgsPatch, ErrorPatch, Never, Patch, PromptPatch, ResponsePatch, ResultPatch};
use crate::registry::{Chain, Chains};
use crate::target::Subject;
use crate::verdict::{
    Attempt, Finish, Flow, Gate, Hold, Notice, Observe, Pass, Recovery, Reply, Verdict,
};

/// A point in an agent's life: its payload, and what an answer to it can be.
///
/// The trait is implemented by the payload types of this module and by nothing else.
pub trait Event:
    Clone + PartialEq + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + sealed::InTable
{
    /// Which event it is.
    const KIND: Kind;
    /// What a hook can decide about it.
    type Verdict: Verdict;
    /// What a hook can add beside its verdict.
    type Extra: Extra;
    /// What a hook can rewrite.
    type Patch: Patch<Self>;
    /// The context its hooks get.
    type Scope: Context;

    /// What matchers look at: the tool, the type of a subagent, else the event's name.
    fn subject(&self) -> Subject<'_>;

    /// The event as one of all, for code that tells them apart when the program runs.
    fn view(&self) -> EventRef<'_>;
}

pub(crate) mod sealed {
    use super::{Chain, Chains, Event, ToolCall};

    /// Where the hooks of an event are kept.
    pub trait InTable: Sized + 'static {
        fn chain(chains: &Chains) -> &Chain<Self>
        where
            Self: Event;
        fn chain_mut(chains: &mut Chains) -> &mut Chain<Self>
        where
            Self: Event;
        /// The tool call, for the events about one.
        fn tool_call(&self) -> Option<&ToolCall>;
    }
}

/// The cell of the table for one system.
macro_rules! cell {
    (_) => {
        None
    };
    (($mode:ident $failure:ident)) => {
        Some(Rule { mode: Mode::$mode, on_failure: OnFailure::$failure })
    };
}

/// What the matchers of an event look at.
macro_rules! subject {
    ($event:expr, event) => {
        Subject::named(Self::KIND.name())
    };
    ($event:expr, call) => {
        Subject::of_call(&$event.call)
    };
    ($event:expr, $field:ident) => {
        Subject::named(&$event.$field)
    };
}

/// The tool call of an event, where that is its subject.
macro_rules! tool_call {
    ($event:expr, call) => {
        Some(&$event.call)
    };
    ($event:expr, $other:ident) => {
        None
    };
}

/// Whether the subject of an event is a tool call.
macro_rules! is_call {
    (call) => {
        true
    };
    ($other:ident) => {
        false
    };
}

macro_rules! define_events {
    ($(
        $(#[$doc:meta])*
        $event:ident = $name:literal {
            hook: $hook:ident, scope: $scope:ident, subject: $subject:tt,
            verdict: $verdict:ty, extra: $extra:ty, patch: $patch:ty, reask: $reask:literal,
            rules: [sdk $sdk:tt, hooks_json $hooks_json:tt, harness $harness:tt,
                    polytoken $polytoken:tt, hosts $hosts:tt, native $native:tt],
        }
    )*) => {
        /// Which event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $event,)*
        }

        impl Kind {
            /// All events, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$event),*];

            /// The event's dotted name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }

            /// What a hook of `dialect` may do at this event and what its failure does; `None`
            /// where that system has no such event.
            pub const fn rule(self, dialect: Dialect) -> Option<Rule> {
                match (self, dialect) {
                    $(
                        (Self::$event, Dialect::AntigravitySdk) => cell!($sdk),
                        (Self::$event, Dialect::HooksJson) => cell!($hooks_json),
                        (Self::$event, Dialect::Harness) => cell!($harness),
                        (Self::$event, Dialect::Polytoken) => cell!($polytoken),
                        (Self::$event, Dialect::Claude | Dialect::Codex | Dialect::Gemini) => {
                            cell!($hosts)
                        }
                        (Self::$event, Dialect::Native) => cell!($native),
                    )*
                }
            }

            /// Whether its subject is a tool.
            pub const fn is_about_tool(self) -> bool {
                match self { $(Self::$event => is_call!($subject),)* }
            }

            /// Whether hooks are asked again when the payload was rewritten after they saw it.
            pub const fn reasks(self) -> bool {
                match self { $(Self::$event => $reask,)* }
            }
        }

        $(
            impl Event for $event {
                const KIND: Kind = Kind::$event;
                type Verdict = $verdict;
                type Extra = $extra;
                type Patch = $patch;
                type Scope = $scope;

                fn subject(&self) -> Subject<'_> {
                    subject!(self, $subject)
                }

                fn view(&self) -> EventRef<'_> {
                    EventRef::$event(self)
                }
            }

            impl sealed::InTable for $event {
                fn chain(chains: &Chains) -> &Chain<Self> {
                    &chains.$hook
                }
                fn chain_mut(chains: &mut Chains) -> &mut Chain<Self> {
                    &mut chains.$hook
                }
                fn tool_call(&self) -> Option<&ToolCall> {
                    tool_call!(self, $subject)
                }
            }
        )*

        /// An event of any kind, as it comes from or goes to JSON.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum AnyEvent {
            $($(#[$doc])* $event($event),)*
        }

        /// An event of any kind, borrowed.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum EventRef<'a> {
            $($(#[$doc])* $event(&'a $event),)*
        }

        impl EventRef<'_> {
            /// Which event it is.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$event(_) => Kind::$event,)* }
            }
        }

        impl<'a> EventRef<'a> {
            /// What matchers look at.
            pub fn subject(self) -> Subject<'a> {
                match self { $(Self::$event(event) => event.subject(),)* }
            }
        }

        impl AnyEvent {
            /// Which event it is.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$event(_) => Kind::$event,)* }
            }

            /// The event, borrowed.
            pub const fn view(&self) -> EventRef<'_> {
                match self { $(Self::$event(event) => EventRef::$event(event),)* }
            }

            /// Reads the payload of an event of `kind`.
            pub fn from_value(kind: Kind, payload: Value) -> Result<Self, EventError> {
                match kind {
                    $(Kind::$event => read(kind, payload).map(Self::$event),)*
                }
            }

            /// The payload as JSON.
            pub fn to_value(&self) -> Value {
                match self { $(Self::$event(event) => to_value(event),)* }
            }
        }

        $(
            impl From<$event> for AnyEvent {
                fn from(event: $event) -> Self {
                    Self::$event(event)
                }
            }
        )*
    };
}

for_each_event!(define_events);

impl AnyEvent {
    /// Reads the payload of an event of `kind` from JSON text.
    ///
    /// ```
    /// use tollgate_core::{AnyEvent, Kind};
    ///
    /// let event = AnyEvent::from_json(Kind::TurnStart, r#"{"prompt": "hello"}"#)?;
    /// assert_eq!(event.to_value(), serde_json::json!({"prompt": "hello"}));
    ///
    /// let error = AnyEvent::from_json(Kind::TurnStart, r#"{"promt": "hello"}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("turn.start: "));
    /// # Ok::<(), tollgate_core::event::EventError>(())
    /// ```
    pub fn from_json(kind: Kind, payload: &str) -> Result<Self, EventError> {
        let payload = crate::json::from_str(payload).map_err(|error| EventError {
            event: kind,
            at: None,
            message: error.to_string(),
        })?;
        Self::from_value(kind, payload)
    }
}

/// A payload that is not one of its event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event}: {}{message}", at.as_ref().map(|at| format!("at `{at}`: ")).unwrap_or_default())]
pub struct EventError {
    /// The event it was read as.
    pub event: Kind,
    /// Where in the payload, as a path of keys.
    pub at: Option<String>,
    /// What is wrong.
    pub message: String,
}

fn read<E: Event>(kind: Kind, payload: Value) -> Result<E, EventError> {
    if !payload.is_object() {
        let message = "the payload is not a JSON object".to_owned();
        return Err(EventError { event: kind, at: None, message });
    }
    serde_path_to_error::deserialize(payload).map_err(|error| {
        let at = error.path().to_string();
        let at = (at != ".").then_some(at);
        EventError { event: kind, at, message: error.into_inner().to_string() }
    })
}

/// The JSON form of a payload. Payloads hold strings, numbers and JSON itself, none of which can
/// fail to serialise.
pub(crate) fn to_value<E: Serialize>(event: &E) -> Value {
    serde_json::to_value(event).unwrap_or(Value::Null)
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No event has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown event `{name}`; the events are {}", Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownEvent {
    /// The name that was given.
    pub name: String,
}

impl FromStr for Kind {
    type Err = UnknownEvent;
    fn from_str(name: &str) -> Result<Self, UnknownEvent> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownEvent { name: name.to_owned() })
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}
