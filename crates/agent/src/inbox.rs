//! Messages that reach an agent from elsewhere: triggers, timers, other agents.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The most messages that wait. Who sends more is told that nobody reads them.
const MOST: usize = 256;

/// Something that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mail {
    /// Who sent it: a trigger's name, or an agent's id.
    pub(crate) from: String,
    pub(crate) text: String,
    /// Whether another agent sent it. Then it is read as soon as the model is called again.
    pub(crate) is_of_agent: bool,
}

impl Mail {
    /// As the model reads it in the middle of a turn.
    pub(crate) fn shown(&self) -> String {
        format!("Message from {}:\n{}", self.from, self.text)
    }
}

/// Messages that wait for an agent.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<VecDeque<Mail>>,
    arrived: Notify,
    taken: Notify,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Mail>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message in. Says whether there was room.
    pub(crate) fn put(&self, mail: Mail) -> bool {
        let mut waiting = self.lock();
        let has_room = waiting.len() < MOST;
        if has_room {
            waiting.push_back(mail);
            self.arrived.notify_one();
        }
        has_room
    }

    /// Waits until no message of a trigger waits. Those that come meanwhile take up the room of their triggers, and no
    /// other's.
    pub(crate) async fn room(&self) {
        loop {
            let taken = self.taken.notified();
            if self.lock().iter().all(|mail| mail.is_of_agent) {
                return;
            }
            taken.await;
        }
    }

    /// What other agents have sent.
    pub(crate) fn take_of_agents(&self) -> Vec<Mail> {
        let mut waiting = self.lock();
        let all = std::mem::take(&mut *waiting);
        let (of_agents, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|mail| mail.is_of_agent);
        *waiting = others.into();
        of_agents
    }

    /// Waits until there is a message.
    pub(crate) async fn waits(&self) {
        loop {
            let arrived = self.arrived.notified();
            if !self.lock().is_empty() {
                return;
            }
            arrived.await;
        }
    }

    /// The next message, when there is one.
    pub(crate) async fn next(&self) -> Mail {
        loop {
            let arrived = self.arrived.notified();
            if let Some(mail) = self.lock().pop_front() {
                self.taken.notify_one();
                return mail;
            }
            arrived.await;
        }
    }
}
