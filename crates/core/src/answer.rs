//! What a hook answers.

use std::sync::Arc;

use serde_json::Value;

use crate::event::{Args, Event, Responses, ToolPre};
use crate::extra::{CanAddText, Injection, Overrides, Step};
use crate::ledger::Effects;
use crate::patch::ArgsPatch;
use crate::verdict::{CanDeny, Finish, Flow, Gate, Hold, Level, Recovery, Reply};

/// The answer of a hook that may rewrite: a verdict, what it adds, and a rewrite.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<E: Event> {
    /// What it decides.
    pub verdict: E::Verdict,
    /// What it adds.
    pub extra: E::Extra,
    /// What it rewrites.
    pub patch: Option<E::Patch>,
    /// More for the person, which the model is not told: a rule's name, what a program printed.
    pub detail: Option<Arc<str>>,
    /// What it wants written down, once the dispatch is done.
    pub effects: Effects,
    /// Whether the hook found that it does not apply: then it is as if it had not been asked, and
    /// nothing else of the answer counts.
    pub declined: bool,
    /// True if a person cannot except it: a failure is behind it, or the person has already been asked.
    pub without_exceptions: bool,
}

/// The answer of a hook that decides: a verdict and what it adds. There is no place in it for a
/// rewrite.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<E: Event> {
    /// What it decides.
    pub verdict: E::Verdict,
    /// What it adds.
    pub extra: E::Extra,
    /// More for the person, which the model is not told: a rule's name, what a program printed.
    pub detail: Option<Arc<str>>,
}

/// Builders that decisions and answers share; each is there only where the event knows the word.
macro_rules! builders {
    ($answer:ident { $($rest:tt)* }) => {
        impl<E: Event> $answer<E> {
            /// No opinion.
            pub fn none() -> Self {
                Self::from_verdict(E::Verdict::default())
            }

            /// This verdict.
            pub fn from_verdict(verdict: E::Verdict) -> Self {
                Self { verdict, extra: E::Extra::default(), detail: None $($rest)* }
            }

            /// Blocked, because of `reason`, which the model is told.
            pub fn deny(reason: impl Into<String>) -> Self
            where
                E::Verdict: CanDeny,
            {
                Self::from_verdict(E::Verdict::deny(reason))
            }

            /// Adds a detail for the person, which the model is not told.
            #[must_use]
            pub fn detail(mut self, detail: impl Into<Arc<str>>) -> Self {
                self.detail = Some(detail.into());
                self
            }

            /// Adds text for the model.
            #[must_use]
            pub fn context(mut self, text: impl Into<String>) -> Self
            where
                E::Extra: CanAddText,
            {
                self.extra.add_text(text.into());
                self
            }
        }

        impl<E: Event<Verdict = Gate>> $answer<E> {
            /// Allowed explicitly: this may skip the host's own prompt.
            pub fn allow() -> Self {
                Self::from_verdict(Gate::new(Level::Allow, ""))
            }

            /// A person is asked, unless they said "always" before.
            pub fn ask(reason: impl Into<String>) -> Self {
                Self::from_verdict(Gate::new(Level::Ask, reason))
            }

            /// A person is asked in any case.
            pub fn force_ask(reason: impl Into<String>) -> Self {
                Self::from_verdict(Gate::new(Level::ForceAsk, reason))
            }
        }

        impl<E: Event<Extra = Overrides>> $answer<E> {
            /// Lets this call use a resource beyond its tool's default.
            #[must_use]
            pub fn permit_resource(mut self, resource: impl Into<String>) -> Self {
                self.extra.0.push(resource.into());
                self
            }
        }

        impl<E: Event<Extra = Injection>> $answer<E> {
            /// Puts a step into the trajectory.
            #[must_use]
            pub fn inject(mut self, step: Step) -> Self {
                self.extra.steps.push(step);
                self
            }
        }

        impl<E: Event<Verdict = Finish>> $answer<E> {
            /// Not finished: the agent goes on, with `reason` as a message.
            pub fn go_on(reason: impl Into<String>) -> Self {
                Self::from_verdict(Finish::Continue { reason: reason.into() })
            }
        }

        impl<E: Event<Verdict = Flow>> $answer<E> {
            /// The loop goes on in any case.
            pub fn force_continue() -> Self {
                Self::from_verdict(Flow::ForceContinue { reason: String::new() })
            }

            /// The loop ends.
            pub fn terminate(reason: impl Into<String>) -> Self {
                Self::from_verdict(Flow::Terminate { reason: reason.into() })
            }
        }

        impl<E: Event<Verdict = Hold>> $answer<E> {
            /// The compaction is stopped.
            pub fn cancel(reason: impl Into<String>) -> Self {
                Self::from_verdict(Hold::Cancel { reason: reason.into() })
            }
        }

        impl<E: Event<Verdict = Recovery>> $answer<E> {
            /// The model gets `value` instead of the error.
            pub fn recover(value: impl Into<Value>) -> Self {
                Self::from_verdict(Recovery::Found { value: value.into() })
            }
        }

        impl<E: Event<Verdict = Reply>> $answer<E> {
            /// These are the answers.
            pub fn reply(responses: Responses) -> Self {
                Self::from_verdict(Reply::Found { value: responses })
            }
        }
    };
}

builders!(Answer { , patch: None, effects: Effects::new(), declined: false, without_exceptions: false });
builders!(Decision {});

impl<E: Event> Answer<E> {
    /// The hook does not apply, as it found out when it was asked.
    pub fn declined() -> Self {
        Self { declined: true, ..Self::none() }
    }

    /// Rewrites, with no opinion otherwise.
    pub fn rewrite(patch: E::Patch) -> Self {
        Self { patch: Some(patch), ..Self::none() }
    }

    /// Rewrites as well.
    #[must_use]
    pub fn and_rewrite(mut self, patch: E::Patch) -> Self {
        self.patch = Some(patch);
        self
    }
}

impl Answer<ToolPre> {
    /// Sets these arguments of the call; the others stay.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    /// use serde_json::json;
    ///
    /// let answer = Answer::<ToolPre>::set_args([("Cwd", json!("/work"))]);
    /// assert!(answer.patch.is_some());
    /// ```
    pub fn set_args<K: Into<String>>(args: impl IntoIterator<Item = (K, Value)>) -> Self {
        let args: Args = args.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self::rewrite(ArgsPatch::Set(args))
    }
}

impl<E: Event> From<Decision<E>> for Answer<E> {
    fn from(decision: Decision<E>) -> Self {
        let Decision { verdict, extra, detail } = decision;
        Self { extra, detail, ..Self::from_verdict(verdict) }
    }
}

impl<E: Event> From<()> for Answer<E> {
    fn from((): ()) -> Self {
        Self::none()
    }
}
