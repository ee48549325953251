//! What carries the messages of triggers to the agent.

use std::fmt::Write as _;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tollgate_core::event::Agent as Who;

use crate::inbox::Mail;
use crate::session::Session;
use crate::trigger::{Fired, Options, Trigger, Triggers};

/// Carries the messages of triggers to the agent, as long as it lives.
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
                    inbox.put(mail_of(fired));
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
    Mail { from: trigger, text: message, is_of_agent: false }
}
