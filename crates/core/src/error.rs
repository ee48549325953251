//! What can go wrong with a hook.

use std::error::Error;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::Serialize;

use crate::dialect::Mode;
use crate::event::Kind;
use crate::verdict::Word;

/// Any error a hook returns: `?` works on every error type, and `"text".into()` makes one.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// Why a hook gave no usable answer. What follows from it is in the failure table of the hook's
/// dialect ([`crate::dialect`]): on a gate, the action is blocked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookError {
    /// The hook returned an error.
    #[error("{message}")]
    Failed {
        /// The error with all its causes.
        message: String,
    },
    /// The hook panicked.
    #[error("panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The hook's own deadline passed.
    #[error("no answer within {}", millis(*limit))]
    TimedOut {
        /// The deadline that was set for it.
        #[serde(serialize_with = "as_millis")]
        limit: Duration,
    },
    /// The deadline of the whole dispatch passed before this hook could answer.
    #[error("the whole dispatch took longer than {}", millis(*limit))]
    DispatchTimedOut {
        /// The deadline of the dispatch.
        #[serde(serialize_with = "as_millis")]
        limit: Duration,
    },
    /// The condition that says whether the hook applies failed.
    #[error("its condition failed: {message}")]
    Condition {
        /// The error of the condition.
        message: String,
    },
    /// The hook wanted more than its mode permits.
    #[error("a hook in {mode} mode may not {wanted}")]
    BeyondMode {
        /// The mode in force for the hook at this event.
        mode: Mode,
        /// What it tried.
        wanted: &'static str,
    },
    /// The hook's answer is not one this event knows.
    #[error("`{word}` is no answer to {event}")]
    UnknownWord {
        /// The event that was asked about.
        event: Kind,
        /// What was answered.
        word: Word,
    },
    /// A payload as rewritten does not fit the tool.
    #[error("the rewritten arguments are not valid: {message}")]
    InvalidRewrite {
        /// What does not fit.
        message: String,
    },
    /// Asked again about the final payload, the hook wanted yet another rewrite.
    #[error("asked about the final payload, it wanted to rewrite it again")]
    RewroteAgain,
    /// The background queue was full, so the inspector did not run.
    #[error("not run: the inspection queue is full ({capacity} dispatches waiting)")]
    QueueFull {
        /// How many dispatches may wait.
        capacity: usize,
    },
    /// The inspector was still running when its time to finish was over.
    #[error("cut off: still running when the {} to finish were over", millis(*limit))]
    CutOff {
        /// How long it was given to finish.
        #[serde(serialize_with = "as_millis")]
        limit: Duration,
    },
    /// The inspector had not been started when its time to finish was over.
    #[error("not run: the {} to finish were over before its turn came", millis(*limit))]
    NotReached {
        /// How long the queue was given to finish.
        #[serde(serialize_with = "as_millis")]
        limit: Duration,
    },
    /// Nothing is there to run inspectors on.
    #[error("not run: {message}")]
    NoBackground {
        /// Why not.
        message: String,
    },
}

impl HookError {
    /// Takes an error as the hook returned it, with its causes.
    pub fn failed(error: &BoxError) -> Self {
        Self::Failed { message: chain(&**error) }
    }
}

/// An error's text with the texts of its causes, each once.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    // A chain of causes can be a cycle or a flood when somebody else built it.
    for _ in 0..16 {
        let Some(cause) = source else { break };
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            let _ = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// The message of a caught panic. Whatever the payload does when it is dropped ends here, too.
pub(crate) fn panic_message(payload: Box<dyn std::any::Any + Send>) -> String {
    let message = message_of(&*payload);
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
    message
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "no message".to_owned()
    }
}

fn millis(duration: Duration) -> String {
    if duration >= Duration::from_secs(1) {
        format!("{} s", duration.as_secs_f64())
    } else {
        format!("{} ms", duration.as_secs_f64() * 1000.0)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn as_millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::io::Error);
        let error: BoxError = Box::new(Outer(std::io::Error::other("inner")));
        assert_eq!(HookError::failed(&error).to_string(), "outer: inner");
    }

    #[test]
    fn durations_read_as_people_write_them() {
        let text = |limit| HookError::TimedOut { limit }.to_string();
        assert_eq!(text(Duration::from_secs(30)), "no answer within 30 s");
        assert_eq!(text(Duration::from_millis(250)), "no answer within 250 ms");
    }
}
