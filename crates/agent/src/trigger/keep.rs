//! Runs triggers: starts those again that fail, and ends all when it is told to.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::push::{Push, Receiver, ways};
use super::{Trigger, TriggerError};

/// How many reports wait to be read. Further ones are lost; they say much the same.
const PROBLEMS: usize = 64;

/// How triggers are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How many messages of each trigger may wait for the session; 1024 at the most.
    pub room: usize,
    /// How long a trigger that failed is left alone the first time. Each further time in a row it
    /// is twice as long.
    pub backoff: Duration,
    /// How long it is left alone at the most. One that ran for longer than this has not failed in
    /// a row.
    pub longest_backoff: Duration,
    /// How many times in a row it is started again.
    pub restarts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            room: 16,
            backoff: Duration::from_secs(1),
            longest_backoff: Duration::from_mins(5),
            restarts: 20,
        }
    }
}

/// A trigger that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which one.
    pub trigger: String,
    /// Why.
    pub error: TriggerError,
    /// When it is started again. If it is not said, it never is.
    pub restarts_in: Option<Duration>,
}

/// Triggers that run. They end when this is dropped; [`stop`](Self::stop) waits until they have.
#[derive(Debug)]
pub struct Triggers {
    tasks: JoinSet<()>,
}

impl Triggers {
    /// Starts triggers, on the runtime that this is called on.
    pub fn start(
        triggers: Vec<Arc<dyn Trigger>>,
        options: Options,
    ) -> (Self, Receiver, mpsc::Receiver<Problem>) {
        let names: Vec<&str> = triggers.iter().map(|trigger| trigger.name()).collect();
        let (pushes, receiver) = ways(&names, options.room);
        let (report, problems) = mpsc::channel(PROBLEMS);
        let options = Arc::new(options);
        let mut tasks = JoinSet::new();
        for (trigger, push) in triggers.into_iter().zip(pushes) {
            tasks.spawn(keep(trigger, push, report.clone(), options.clone()));
        }
        (Self { tasks }, receiver, problems)
    }

    /// Ends all of them, and waits until they have ended.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn keep(
    trigger: Arc<dyn Trigger>,
    push: Push,
    report: mpsc::Sender<Problem>,
    options: Arc<Options>,
) {
    let mut failures: u32 = 0;
    loop {
        let began = Instant::now();
        let run = async { trigger.run(push.clone()).await };
        let error = match AssertUnwindSafe(run).catch_unwind().await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => TriggerError::Panicked(text(panic.as_ref())),
        };
        if began.elapsed() > options.longest_backoff {
            failures = 0;
        }
        failures = failures.saturating_add(1);
        let is_over = failures > options.restarts;
        let wait = wait_after(failures, &options);
        let restarts_in = (!is_over).then_some(wait);
        // A full list of problems has enough of them.
        let _ = report.try_send(Problem { trigger: trigger.name().to_owned(), error, restarts_in });
        if is_over {
            return;
        }
        sleep(wait).await;
    }
}

fn wait_after(failures: u32, options: &Options) -> Duration {
    let factor = 2u32.saturating_pow(failures.saturating_sub(1));
    options.backoff.saturating_mul(factor).min(options.longest_backoff)
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word").chars().take(500).collect()
}
