//! Triggers: what makes an agent begin to work by itself.
//!
//! A [`Trigger`] is a source that lives as long as the session and pushes messages into it: a
//! timer, files that change, a request from outside. [`Triggers::start`] runs them. One that fails
//! is reported and started again, later each time, and given up in the end. One that fires faster
//! than the session takes its messages loses those for which there is no room, and the next one
//! says how many. Each has room of its own, so that it takes none from the others.
//!
//! What a trigger says may come from anybody: the body of a request, the names of files. The
//! session is told which trigger it came from, and what the agent does about it goes through the
//! hooks as everything does.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tollgate_agent::trigger::{Options, Trigger, Triggers, every};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! let hourly: Arc<dyn Trigger> = Arc::new(every(Duration::from_hours(1), "look at the mail")?);
//! let (triggers, mut fired, _problems) = Triggers::start(vec![hourly], Options::default());
//! let first = fired.recv().await.unwrap();
//! assert_eq!((first.trigger.as_str(), first.message.as_str()), ("every 1h", "look at the mail"));
//! triggers.stop().await;
//! # Ok::<(), tollgate_agent::trigger::TriggerError>(())
//! # }).unwrap();
//! ```

mod files;
mod keep;
mod push;
mod timer;
mod webhook;

use std::time::Duration;

pub use files::{Files, files};
pub use futures_util::future::BoxFuture;
pub use keep::{Options, Problem, Triggers};
pub use push::{Fired, Push, Receiver, Sent};
pub use timer::{Cron, Every, Zone, cron, every};
pub use webhook::{Secret, Webhook, WebhookConfig, webhook};

/// A source of messages.
///
/// It ends when its future is dropped, and must leave nothing behind then: neither a thread nor a
/// port. It must not block its thread.
pub trait Trigger: Send + Sync + 'static {
    /// What it is called. The session is told.
    fn name(&self) -> &str;

    /// Runs until there is nothing more to say. An error has it started again.
    fn run(&self, push: Push) -> BoxFuture<'_, Result<(), TriggerError>>;
}

/// Why a trigger does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TriggerError {
    /// A period of no length.
    #[error("a period of {0:?} is none; the shortest is a millisecond")]
    Period(Duration),
    /// A time that cannot be told, or never comes.
    #[error("`{expression}` is no time for a trigger: {why}; `30 8 * * MON-FRI`, for example, is")]
    Cron {
        /// The expression.
        expression: String,
        /// What is wrong with it.
        why: String,
    },
    /// Files that cannot be watched.
    #[error("`{path}` cannot be watched: {why}")]
    Files {
        /// The path or pattern.
        path: String,
        /// Why.
        why: String,
    },
    /// A webhook that cannot be offered.
    #[error("the webhook cannot be offered: {0}")]
    Webhook(String),
    /// What a trigger of somebody's own has to say.
    #[error("{0}")]
    Failed(String),
    /// It panicked.
    #[error("it panicked: {0}")]
    Panicked(String),
}
