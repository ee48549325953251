//! What can go wrong when a model is asked.

use std::fmt;
use std::time::Duration;

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No provider would take the request. It was not sent.
    #[error("the request cannot be sent: {place}: {why}")]
    Request {
        /// Where, as `messages[3]`.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// Nobody is there.
    #[error("{model}: no answer from `{host}`: {why}")]
    Connect {
        /// The model.
        model: String,
        /// The host and port.
        host: String,
        /// Why.
        why: String,
    },
    /// The time is over.
    #[error("{model}: {stage} took more than {time:?}")]
    Deadline {
        /// The model.
        model: String,
        /// What took too long.
        stage: Stage,
        /// How long it could have taken.
        time: Duration,
    },
    /// The provider says that something is wrong.
    #[error("{model}: {failure}")]
    Provider {
        /// The model.
        model: String,
        /// What it says.
        failure: Failure,
    },
    /// The answer ended before it was complete.
    #[error("{model}: the answer ended before it was complete, after {bytes} bytes: {why}")]
    Cut {
        /// The model.
        model: String,
        /// How much of it came.
        bytes: usize,
        /// How it ended.
        why: String,
    },
    /// The answer is not what the provider's documents say.
    #[error("{model}: the answer cannot be read: {why}")]
    Unreadable {
        /// The model.
        model: String,
        /// What is wrong with it.
        why: String,
    },
    /// Too much.
    #[error("{model}: {what} exceeds the limit of {limit}")]
    TooLarge {
        /// The model.
        model: String,
        /// What is too large.
        what: &'static str,
        /// How large it may be.
        limit: usize,
    },
    /// The provider could not read a call that its model wrote, and did not pass it on.
    #[error("{model}: the model wrote a call that its provider could not read: {text}")]
    BadCall {
        /// The model.
        model: String,
        /// What the provider says of it.
        text: String,
    },
    /// A scripted model has nothing to say, or cannot say it.
    #[error("{script}: {why}")]
    Script {
        /// The script.
        script: String,
        /// What is wrong.
        why: String,
    },
}

impl ModelError {
    /// Whether the same call may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Cut { .. } | Self::BadCall { .. } => true,
            Self::Deadline { stage, .. } => *stage != Stage::Whole,
            Self::Provider { failure, .. } => failure.is_transient(),
            Self::Request { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::Script { .. } => false,
        }
    }

    /// How long the provider asks to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Provider { failure, .. } => failure.retry_after,
            _ => None,
        }
    }
}

/// What a provider says when it does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// The HTTP status, or the one that what came in the stream amounts to.
    pub status: Option<u16>,
    /// The provider's own word for it, as `overloaded_error`.
    pub kind: String,
    /// What it says, or the beginning of that.
    pub message: String,
    /// How long it asks to be left alone.
    pub retry_after: Option<Duration>,
    /// What to do about it.
    pub hint: String,
}

impl Failure {
    fn is_transient(&self) -> bool {
        // The wallet is empty, which OpenAI says with the status of "too fast".
        if matches!(self.kind.as_str(), "insufficient_quota" | "billing_hard_limit_reached") {
            return false;
        }
        match self.status {
            Some(status) => matches!(status, 408 | 409 | 425 | 429 | 500..=599),
            // It came in the middle of an answer, so the request itself was fine.
            None => {
                !matches!(self.kind.as_str(), "invalid_request_error" | "context_length_exceeded")
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.kind.as_str()) {
            (Some(status), "") => write!(f, "the provider answered {status}")?,
            (Some(status), kind) => write!(f, "the provider answered {status} ({kind})")?,
            (None, "") => f.write_str("the provider failed")?,
            (None, kind) => write!(f, "the provider failed ({kind})")?,
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(wait) = self.retry_after {
            write!(f, "; it asks to wait {wait:?}")?;
        }
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

/// A part of a call that has a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The name is resolved, the connection is made, and made safe.
    Connect,
    /// The request is sent, and nothing has come back.
    FirstByte,
    /// Something came, and then nothing more.
    Idle,
    /// All of it.
    Whole,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::FirstByte => "the beginning of the answer",
            Self::Idle => "the next part of the answer",
            Self::Whole => "the whole call",
        })
    }
}
