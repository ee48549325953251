//! What a dispatch comes to.

use std::ops::Deref;
use std::sync::Arc;

use crate::event::{Event, ToolError};
use crate::record::Record;
use crate::registry::HookSet;
use crate::verdict::{Permission, Recovery, Verdict};

/// The outcome of a dispatch. Its parts can be read as fields, and not be changed: what is
/// permitted is what was decided.
#[derive(Debug, Clone)]
#[must_use = "an outcome that is not looked at lets everything through"]
pub struct Outcome<E: Event> {
    pub(super) parts: Parts<E>,
}

/// The parts of an [`Outcome`].
#[derive(Debug, Clone)]
pub struct Parts<E: Event> {
    /// What was decided.
    pub verdict: E::Verdict,
    /// What hooks added, in the order they ran.
    pub extra: E::Extra,
    /// The payload as it is in the end.
    pub event: E,
    /// What happened, and why.
    pub record: Record,
}

impl<E: Event> Deref for Outcome<E> {
    type Target = Parts<E>;
    fn deref(&self) -> &Parts<E> {
        &self.parts
    }
}

impl<E: Event> Outcome<E> {
    /// What comes of a dispatch in which nobody was asked yet.
    #[inline]
    pub(super) fn untouched(event: E, version: u64, set: Option<Arc<HookSet>>) -> Self {
        let record = Record { version, set, ..Record::new(E::KIND) };
        Self {
            parts: Parts {
                verdict: E::Verdict::default(),
                extra: E::Extra::default(),
                event,
                record,
            },
        }
    }

    /// The parts, to keep. There is no way back from them to a permit.
    pub fn into_parts(self) -> Parts<E> {
        self.parts
    }

    /// What may be done now. This is the way to the payload that is to be executed: an
    /// [`Approved`] one comes from nowhere else.
    pub fn permit(self) -> Permit<E> {
        match self.verdict.permission() {
            Permission::Granted => Permit::Granted(Approved(self.parts.event)),
            Permission::Ask => Permit::Ask(Pending { outcome: self }),
            Permission::Refused => Permit::Refused(Refusal {
                reason: self.verdict.reason().to_owned(),
                detail: self.record.detail(),
            }),
        }
    }

    /// Whether hooks rewrote the payload.
    pub fn rewritten(&self) -> bool {
        !self.record.rewrites.is_empty()
    }

    /// What the model is told; empty where nothing is said.
    pub fn reason(&self) -> &str {
        self.verdict.reason()
    }
}

impl Outcome<ToolError> {
    /// The value to use instead of the error, if a hook had one.
    pub fn recovered(&self) -> Option<&serde_json::Value> {
        match &self.verdict {
            Recovery::Found { value } => Some(value),
            Recovery::Nothing | Recovery::Refused { .. } => None,
        }
    }
}

/// What may be done with an event.
#[derive(Debug, Clone)]
#[must_use = "a permit that is not looked at lets everything through"]
pub enum Permit<E: Event> {
    /// It may go on, with this payload.
    Granted(Approved<E>),
    /// A person has to be asked first.
    Ask(Pending<E>),
    /// It may not go on.
    Refused(Refusal),
}

impl<E: Event> Permit<E> {
    /// Whether it may go on.
    pub const fn is_granted(&self) -> bool {
        matches!(self, Self::Granted(_))
    }

    /// Whether a person has to be asked first.
    pub const fn is_ask(&self) -> bool {
        matches!(self, Self::Ask(_))
    }

    /// Whether it may not go on.
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// A payload that was approved. Only a dispatch makes one, so what takes an `Approved<ToolPre>`
/// cannot be called with anything that was not.
///
/// ```
/// use tollgate_core::prelude::*;
/// use tollgate_core::runner::Approved;
///
/// fn execute(call: &Approved<ToolPre>) -> String {
///     format!("running {}", call.name)
/// }
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runner = Runner::builder().build()?;
/// let operation = SessionContext::new(SessionInfo::default()).turn().operation();
/// let outcome = runner.dispatch(&operation, ToolPre::from(ToolCall::new("view_file"))).await;
/// match outcome.permit() {
///     Permit::Granted(call) => assert_eq!(execute(&call), "running view_file"),
///     Permit::Ask(pending) => println!("ask a person: {}", pending.reason()),
///     Permit::Refused(refusal) => println!("tell the model: {}", refusal.reason),
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Approved<E: Event>(E);

impl<E: Event> Approved<E> {
    /// The payload.
    pub fn into_inner(self) -> E {
        self.0
    }
}

impl<E: Event> Deref for Approved<E> {
    type Target = E;
    fn deref(&self) -> &E {
        &self.0
    }
}

/// A payload that waits for a person's word.
#[derive(Debug, Clone)]
pub struct Pending<E: Event> {
    outcome: Outcome<E>,
}

impl<E: Event> Pending<E> {
    /// What the person is to decide about.
    pub fn event(&self) -> &E {
        &self.outcome.event
    }

    /// Why they are asked.
    pub fn reason(&self) -> &str {
        self.outcome.verdict.reason()
    }

    /// What was decided: whether a remembered "always allow" counts is in it.
    pub fn verdict(&self) -> &E::Verdict {
        &self.outcome.verdict
    }

    /// What happened, and why.
    pub fn record(&self) -> &Record {
        &self.outcome.record
    }

    /// The person said yes.
    pub fn approve(self) -> Approved<E> {
        Approved(self.outcome.parts.event)
    }

    /// The person said no.
    pub fn refuse(self, reason: impl Into<String>) -> Refusal {
        Refusal { reason: reason.into(), detail: self.outcome.record.detail() }
    }
}

/// A refusal, in its two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the model is told. Never names a hook.
    pub reason: String,
    /// What the person is told: which hook, where it stands, what happened.
    pub detail: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}
