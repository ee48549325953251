//! What can become of a request.

use std::time::Duration;

use crate::outcome::Status;

/// Why there is no answer of a worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// This program cannot be its own worker.
    #[error(
        "this program cannot run workers: call `worker::init` at the top of `main`, or name a \
         program that does"
    )]
    NotPossible,
    /// No worker could be started.
    #[error("the worker could not be started: {reason}")]
    NotStarted {
        /// Why not.
        reason: String,
        /// What it had printed to its standard error.
        stderr: Vec<u8>,
    },
    /// All workers were busy for too long.
    #[error("waited for a free worker for {limit:?}: all {most} were busy")]
    NoSlot {
        /// The time there was.
        limit: Duration,
        /// How many there may be.
        most: usize,
    },
    /// Requests within requests, too many.
    #[error("{depth} requests within each other are too many: at most {most}")]
    TooDeep {
        /// How many.
        depth: usize,
        /// How many there may be.
        most: usize,
    },
    /// It took too long, and was killed.
    #[error("did not answer within {limit:?} and was killed")]
    TimedOut {
        /// The time it had.
        limit: Duration,
    },
    /// It needed more memory than it may have, and is gone.
    #[error("needed more than {} MiB of memory and was ended", .limit / (1024 * 1024))]
    OutOfMemory {
        /// What it may have above its baseline.
        limit: u64,
        /// What it had printed to its standard error.
        stderr: Vec<u8>,
    },
    /// It is gone, for another reason.
    #[error("the worker {} without an answer", ended(*.status))]
    Died {
        /// How it ended, if nobody else has asked the system before us.
        status: Option<Status>,
        /// What it had printed to its standard error.
        stderr: Vec<u8>,
    },
    /// Its handler panicked. The worker is replaced.
    #[error("the worker panicked: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// Something is longer than a frame. If it is the host's, it was not sent.
    #[error("the {what} of {bytes} bytes is longer than the {limit} that are allowed")]
    TooLarge {
        /// What: request, reply, call or answer.
        what: &'static str,
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        limit: usize,
    },
    /// One of the two has not kept to the order of things.
    #[error("{reason}")]
    Protocol {
        /// How.
        reason: &'static str,
    },
    /// The pool was made before a fork, and its workers stayed with the other process.
    #[error("the workers were made by process {made_by}: a forked process needs some of its own")]
    Forked {
        /// The process with the workers.
        made_by: u32,
    },
}

impl WorkerError {
    /// What the worker had printed to its standard error by then; of too much, the beginning and
    /// the end.
    pub fn stderr(&self) -> &[u8] {
        match self {
            Self::NotStarted { stderr, .. }
            | Self::OutOfMemory { stderr, .. }
            | Self::Died { stderr, .. } => stderr,
            _ => &[],
        }
    }

    /// Whether time ran out, while it worked or before it could.
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::NoSlot { .. })
    }
}

fn ended(status: Option<Status>) -> String {
    status.map_or_else(|| "ended".into(), |status| status.to_string())
}
