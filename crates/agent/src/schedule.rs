//! Timers that an agent sets itself. They go off for who has set them.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::task::AbortHandle;
use tollgate_tools::control::Schedule;

use crate::inbox::{Inbox, Mail, Sort};
use crate::session::{Actor, Session};
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

/// For whom a timer goes off. The session may be over before it does, and must not be kept for it.
enum Owner {
    Main(Arc<Inbox>),
    Subagent(Arc<Actor>, Weak<Session>),
}

impl Owner {
    /// Tells the owner, as soon as what a timer said before was read. Says whether they are still there.
    async fn tell(&self, text: String) -> bool {
        let mail = |sort| Mail { from: "schedule".to_owned(), text, sort };
        match self {
            Self::Main(inbox) => {
                inbox.room().await;
                inbox.put_answer(mail(Sort::Outside));
                true
            }
            Self::Subagent(actor, session) => {
                tokio::select! {
                    biased;
                    () = actor.end() => return false,
                    () = actor.inbox.room() => {}
                }
                actor.inbox.put_answer(mail(Sort::Timer));
                // It may have nothing else to do.
                session.upgrade().map(|session| session.wake_idle()).is_some()
            }
        }
    }
}

impl Session {
    /// `schedule`.
    pub(crate) fn schedule(
        self: &Arc<Self>,
        actor: &Actor,
        args: Schedule,
    ) -> Result<Value, String> {
        if !self.schedules.has_room() {
            return Err(format!("there are {MOST} timers already"));
        }
        let Schedule { duration_seconds, cron_expression, max_iterations, prompt } = args;
        let owner = match self.subagents.find(&actor.who.id) {
            Some(subagent) => Owner::Subagent(subagent, Arc::downgrade(self)),
            None => Owner::Main(Arc::clone(&self.inbox)),
        };
        let (task, said) = match (duration_seconds, cron_expression) {
            (Some(seconds), None) if seconds <= LONGEST => {
                let task = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    owner.tell(prompt).await;
                });
                (task.abort_handle(), format!("set: it goes off in {seconds} seconds"))
            }
            (Some(_), None) => return Err("a timer may take a year at the most".to_owned()),
            (None, Some(expression)) => {
                let cron = trigger::cron(&expression, prompt).map_err(|error| error.to_string())?;
                let cron: Arc<dyn Trigger> = Arc::new(cron.zone(Zone::Local));
                let most = max_iterations.map_or(usize::MAX, |most| most as usize);
                let task = tokio::spawn(async move {
                    // Times that pass while nobody reads are one.
                    let options = Options { room: 1, ..Options::default() };
                    let (triggers, mut fired, _) = Triggers::start(vec![cron], options);
                    let mut times = 0;
                    while times < most {
                        let Some(fired) = fired.recv().await else { break };
                        times += 1;
                        if !owner.tell(fired.message).await {
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
