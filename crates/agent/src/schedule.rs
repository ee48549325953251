//! Timers that the agent sets itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::task::AbortHandle;
use tollgate_tools::control::Schedule;

use crate::inbox::Mail;
use crate::session::Session;
use crate::trigger::{self, Options, Trigger, Triggers, Zone};

/// The most timers of a session.
const MOST: usize = 64;

/// The longest that a timer may take: a year.
const LONGEST: u64 = 365 * 24 * 3600;

/// The timers of a session.
#[derive(Debug, Default)]
pub(crate) struct Schedules {
    running: Mutex<Vec<AbortHandle>>,
}

impl Schedules {
    pub(crate) fn end_all(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.drain(..).for_each(|task| task.abort());
    }

    fn keep(&self, task: AbortHandle) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    fn has_room(&self) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|task| !task.is_finished());
        running.len() < MOST
    }
}

impl Session {
    /// `schedule`.
    pub(crate) fn schedule(self: &Arc<Self>, args: Schedule) -> Result<Value, String> {
        if !self.schedules.has_room() {
            return Err(format!("there are {MOST} timers already"));
        }
        let Schedule { duration_seconds, cron_expression, max_iterations, prompt } = args;
        // The session may be over before the timer goes off, and must not be kept for it.
        let session = Arc::downgrade(self);
        let put = move |text: String| {
            let mail = Mail { from: "schedule".to_owned(), text, is_of_agent: false };
            session.upgrade().is_some_and(|session| session.inbox.put(mail))
        };
        let (task, said) = match (duration_seconds, cron_expression) {
            (Some(seconds), None) if seconds <= LONGEST => {
                let task = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    put(prompt);
                });
                (task.abort_handle(), format!("set: it goes off in {seconds} seconds"))
            }
            (Some(_), None) => return Err("a timer may take a year at the most".to_owned()),
            (None, Some(expression)) => {
                let cron = trigger::cron(&expression, prompt).map_err(|error| error.to_string())?;
                let cron: Arc<dyn Trigger> = Arc::new(cron.zone(Zone::Local));
                let most = max_iterations.map_or(usize::MAX, |most| most as usize);
                let task = tokio::spawn(async move {
                    let (triggers, mut fired, _) = Triggers::start(vec![cron], Options::default());
                    let mut times = 0;
                    while times < most {
                        let Some(fired) = fired.recv().await else { break };
                        times += 1;
                        if !put(fired.message) {
                            break;
                        }
                    }
                    triggers.stop().await;
                });
                (task.abort_handle(), format!("set: it goes off at `{expression}`"))
            }
            _ => {
                return Err("give one of DurationSeconds and CronExpression".to_owned());
            }
        };
        self.schedules.keep(task);
        Ok(Value::from(said))
    }
}
