//! What carries messages to the agent: those of triggers, and that a command has ended in the background.

use std::fmt::Write as _;
use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tollgate_core::event::Agent as Who;

use crate::inbox::{Mail, Sort};
use crate::session::Session;
use crate::trigger::{Fired, Options, Trigger, Triggers};

/// Carries messages to the agent, as long as it lives.
#[derive(Debug)]
pub(crate) struct Pump(JoinHandle<()>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts the triggers, and what carries their messages to the agent.
pub(crate) fn start(
    triggers: Vec<Arc<dyn Trigger>>,
    session: &Arc<Session>,
) -> (Option<Triggers>, Option<Pump>) {
    if triggers.is_empty() {
        return (None, None);
    }
    let (triggers, mut fired, mut problems) = Triggers::start(triggers, Options::default());
    let inbox = Arc::clone(&session.inbox);
    let session = Arc::downgrade(session);
    let pump = tokio::spawn(async move {
        loop {
            let message = async {
                inbox.room().await;
                fired.recv().await
            };
            let problem = tokio::select! {
                Some(fired) = message => {
                    let from = fired.trigger.clone();
                    if !inbox.put_answer(mail_of(fired))
                        && let Some(session) = session.upgrade()
                    {
                        session.tell_lost(&Who::default().id, &from);
                    }
                    continue;
                }
                Some(problem) = problems.recv() => problem,
                else => break,
            };
            let Some(session) = session.upgrade() else { break };
            let again = match problem.restarts_in {
                Some(wait) => format!("it is started again in {wait:?}"),
                None => "it is not started again".to_owned(),
            };
            let message = format!("{}: {}; {again}", problem.trigger, problem.error);
            let (who, turn) = (Who::default(), session.cx.turn());
            session.notify(&who, &turn, "trigger", &message).await;
        }
    });
    (Some(triggers), Some(Pump(pump)))
}

fn mail_of(fired: Fired) -> Mail {
    let Fired { trigger, mut message, missed } = fired;
    if missed > 0 {
        let _ = write!(message, "\n[{missed} messages before this one are lost]");
    }
    Mail { from: trigger, text: message, sort: Sort::Outside }
}

/// Tells agents when commands end that they have left in the background.
pub(crate) fn tell_of_tasks(session: &Arc<Session>) -> Pump {
    let mut ended = session.tools.tasks.subscribe();
    let session = Arc::downgrade(session);
    Pump(tokio::spawn(async move {
        loop {
            let (to, from, text) = match ended.recv().await {
                // Its output passes hooks when it is asked for.
                Ok(task) => {
                    let command: String = task.command.chars().take(200).collect();
                    let text = format!("`{command}` {}; manage_task has its output.", task.end);
                    (task.agent, task.id, text)
                }
                Err(RecvError::Lagged(lost)) => {
                    let text = format!("{lost} commands have ended; manage_task lists them.");
                    (Who::default().id, "manage_task".to_owned(), text)
                }
                Err(RecvError::Closed) => break,
            };
            let Some(session) = session.upgrade() else { break };
            session.deliver(&to, Mail::inside(from, text));
        }
    }))
}
