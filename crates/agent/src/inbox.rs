//! Messages that reach an agent from elsewhere: triggers, timers, other agents, commands that have ended.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The most messages that wait. Who sends more is told that nobody reads them.
const MOST: usize = 256;

/// The most of those that nobody sends a second time: answers, and that something has ended.
const MOST_ANSWERS: usize = 4 * MOST;

/// Something that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mail {
    /// Who sent it: a trigger's name, an agent's id, a command's id.
    pub(crate) from: String,
    pub(crate) text: String,
    pub(crate) sort: Sort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Of another agent or a command. It is read as soon as the model is called again.
    Inside,
    /// Of a trigger or a timer, for the session's own agent: it begins a turn.
    Outside,
    /// Of a timer, for a subagent: it is read as those of other agents, as nothing else begins its turns.
    Timer,
}

impl Mail {
    /// A message from another agent, or about a command.
    pub(crate) fn inside(from: impl Into<String>, text: String) -> Self {
        Self { from: from.into(), text, sort: Sort::Inside }
    }

    /// As the model reads it.
    pub(crate) fn shown(&self) -> String {
        match self.sort {
            Sort::Inside => format!("Message from {}:\n{}", self.from, self.text),
            Sort::Outside | Sort::Timer => self.text.clone(),
        }
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

    fn put_below(&self, mail: Mail, most: usize) -> bool {
        let mut waiting = self.lock();
        let has_room = waiting.len() < most;
        if has_room {
            waiting.push_back(mail);
            self.arrived.notify_one();
        }
        has_room
    }

    /// Puts a message in. Says whether there was room.
    pub(crate) fn put(&self, mail: Mail) -> bool {
        self.put_below(mail, MOST)
    }

    /// Puts in a message that comes only once. Others cannot take its room.
    pub(crate) fn put_answer(&self, mail: Mail) -> bool {
        self.put_below(mail, MOST_ANSWERS)
    }

    /// Waits until no message of a trigger or a timer waits. Those that come meanwhile take up the room of where they
    /// come from, and no other's.
    pub(crate) async fn room(&self) {
        loop {
            let mut taken = pin!(self.taken.notified());
            // Before the look: what is taken after it counts.
            taken.as_mut().enable();
            if self.lock().iter().all(|mail| mail.sort == Sort::Inside) {
                return;
            }
            taken.await;
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// What is read in the middle of a turn.
    pub(crate) fn take_inside(&self) -> Vec<Mail> {
        let mut waiting = self.lock();
        let all = std::mem::take(&mut *waiting);
        let (now, later): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|mail| mail.sort != Sort::Outside);
        *waiting = later.into();
        drop(waiting);
        self.taken.notify_waiters();
        now
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
                self.taken.notify_waiters();
                return mail;
            }
            arrived.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(text: &str) -> Mail {
        Mail { from: "timer".to_owned(), text: text.to_owned(), sort: Sort::Outside }
    }

    #[tokio::test]
    async fn all_who_wait_for_room_get_it_one_after_the_other() {
        let inbox = Inbox::default();
        assert!(inbox.put(outside("first")));
        let send = async |text: &str| {
            inbox.room().await;
            inbox.put_answer(outside(text));
        };
        let read = async {
            for _ in 0..4 {
                inbox.next().await;
            }
        };
        let all = async { tokio::join!(send("a"), send("b"), send("c"), read) };
        tokio::time::timeout(std::time::Duration::from_secs(30), all).await.unwrap();
        assert!(inbox.is_empty());
    }

    #[test]
    fn answers_have_room_where_messages_have_none() {
        let inbox = Inbox::default();
        let mail = || Mail::inside("agent-1", "x".to_owned());
        while inbox.put(mail()) {}
        assert!(inbox.put_answer(mail()));
        while inbox.put_answer(mail()) {}
        assert_eq!(inbox.take_inside().len(), MOST_ANSWERS);
        assert!(inbox.put(mail()));
    }
}
