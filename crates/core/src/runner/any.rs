//! Dispatching an event whose kind is only known when the program runs.

use serde_json::Value;

use super::{Outcome, Parts, Runner};
use crate::context::{Context, OperationContext};
use crate::event::{AnyEvent, Event, for_each_event};
use crate::extra::{self, Additions, Extra as _};
use crate::record::{Explained, Record};
use crate::verdict::{Permission, Verdict, Word};

/// The outcome of a dispatch, in neutral words.
#[derive(Debug, Clone)]
#[must_use = "an outcome that is not looked at lets everything through"]
pub struct AnyOutcome {
    /// What was decided.
    pub decision: Word,
    /// Whether the action may go on.
    pub permission: Permission,
    /// What the model is told; empty where nothing is said.
    pub reason: String,
    /// What hooks added, if anything.
    pub extra: Option<Value>,
    /// The same, in its neutral form.
    pub additions: Additions,
    /// The payload as it is in the end.
    pub event: AnyEvent,
    /// What happened, and why.
    pub record: Record,
}

impl<E: Event + Into<AnyEvent>> From<Outcome<E>> for AnyOutcome {
    fn from(outcome: Outcome<E>) -> Self {
        let Parts { verdict, extra, event, record } = outcome.into_parts();
        Self {
            decision: verdict.word(),
            permission: verdict.permission(),
            reason: verdict.reason().to_owned(),
            extra: extra::to_value(&extra),
            additions: extra.additions(),
            event: event.into(),
            record,
        }
    }
}

macro_rules! define_dispatch_any {
    ($(
        $(#[$doc:meta])*
        $event:ident = $name:literal { $($rest:tt)* }
    )*) => {
        impl Runner {
            /// As [`dispatch`](Runner::dispatch), for an event of any kind. An event of a wider
            /// scope gets the turn or session that `cx` belongs to.
            ///
            /// ```
            /// use tollgate_core::prelude::*;
            ///
            /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
            /// let runner = Runner::builder().build()?;
            /// let operation = SessionContext::new(SessionInfo::default()).turn().operation();
            /// let event = AnyEvent::from_json("turn.start".parse()?, r#"{"prompt": "hi"}"#)?;
            /// let outcome = runner.dispatch_any(&operation, event).await;
            /// assert_eq!(outcome.decision, Word::None);
            /// # Ok(()) }
            /// ```
            pub async fn dispatch_any(&self, cx: &OperationContext, event: AnyEvent) -> AnyOutcome {
                match event {
                    $(AnyEvent::$event(event) => {
                        self.dispatch(Context::of_operation(cx), event).await.into()
                    })*
                }
            }
        }
    };
}

for_each_event!(define_dispatch_any);

macro_rules! define_explain {
    ($(
        $(#[$doc:meta])*
        $event:ident = $name:literal { $($rest:tt)* }
    )*) => {
        impl AnyOutcome {
            /// Tells of every hook of the event whether it was asked, and why not.
            pub fn explain(&self) -> Vec<Explained> {
                match &self.event {
                    $(AnyEvent::$event(event) => self.record.explain(event),)*
                }
            }
        }
    };
}

for_each_event!(define_explain);
