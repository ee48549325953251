//! The way from triggers into the session, with room for so many messages of each.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many bytes a message may have. Of a longer one the beginning is kept.
const LONGEST: usize = 256 * 1024;

/// A message for the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// The trigger that it comes from.
    pub trigger: String,
    /// What it says.
    pub message: String,
    /// How many messages of this trigger found no room since the last one that did.
    pub missed: u64,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// It is on its way.
    Taken,
    /// There was no room, and it is lost. The next one says so.
    Dropped,
    /// Nobody listens any more.
    Closed,
}

/// Where a trigger puts its messages. Clones share their room.
#[derive(Clone)]
pub struct Push {
    trigger: Arc<str>,
    sender: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
    missed: Arc<AtomicU64>,
}

/// A message, and the room that it takes.
type Queued = (Fired, OwnedSemaphorePermit);

impl Push {
    /// Puts a message on its way. Does not wait.
    pub fn send(&self, message: impl Into<String>) -> Sent {
        if self.sender.is_closed() {
            return Sent::Closed;
        }
        let Ok(permit) = self.room.clone().try_acquire_owned() else {
            return self.dropped();
        };
        let fired = Fired {
            trigger: self.trigger.to_string(),
            message: cut(message.into()),
            missed: self.missed.swap(0, Ordering::Relaxed),
        };
        match self.sender.try_send((fired, permit)) {
            Ok(()) => Sent::Taken,
            Err(mpsc::error::TrySendError::Closed(_)) => Sent::Closed,
            Err(mpsc::error::TrySendError::Full((fired, _))) => {
                self.missed.fetch_add(fired.missed, Ordering::Relaxed);
                self.dropped()
            }
        }
    }

    /// Waits until nobody listens any more.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    fn dropped(&self) -> Sent {
        self.missed.fetch_add(1, Ordering::Relaxed);
        Sent::Dropped
    }
}

impl fmt::Debug for Push {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push").field("trigger", &self.trigger).finish_non_exhaustive()
    }
}

fn cut(mut message: String) -> String {
    if message.len() > LONGEST {
        let end = message.floor_char_boundary(LONGEST);
        let lost = message.len() - end;
        message.truncate(end);
        let _ = write!(message, "\n[{lost} bytes left out]");
    }
    message
}

/// Where the session gets its messages.
#[derive(Debug)]
pub struct Receiver {
    queue: mpsc::Receiver<Queued>,
}

impl Receiver {
    /// The next message; none when all triggers have ended. Can be dropped at any time without
    /// losing one.
    pub async fn recv(&mut self) -> Option<Fired> {
        self.queue.recv().await.map(|(fired, _)| fired)
    }

    /// The next message, if there is one already.
    pub fn try_recv(&mut self) -> Option<Fired> {
        self.queue.try_recv().ok().map(|(fired, _)| fired)
    }
}

/// The ways in for triggers of these names, each with this much room, and where they lead.
pub(crate) fn ways(names: &[&str], room: usize) -> (Vec<Push>, Receiver) {
    let room = room.clamp(1, 1024);
    let (sender, queue) = mpsc::channel(room.saturating_mul(names.len().max(1)));
    let way = |name: &&str| Push {
        trigger: Arc::from(*name),
        sender: sender.clone(),
        room: Arc::new(Semaphore::new(room)),
        missed: Arc::default(),
    };
    (names.iter().map(way).collect(), Receiver { queue })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_room_and_says_what_was_lost() {
        let (pushes, mut receiver) = ways(&["a", "b"], 2);
        for n in 0..5 {
            let sent = pushes[0].send(n.to_string());
            assert_eq!(sent, if n < 2 { Sent::Taken } else { Sent::Dropped });
        }
        assert_eq!(pushes[1].send("b"), Sent::Taken);
        let next = |receiver: &mut Receiver| {
            let fired = receiver.try_recv().unwrap();
            (fired.trigger, fired.message, fired.missed)
        };
        assert_eq!(next(&mut receiver), ("a".into(), "0".into(), 0));
        assert_eq!(pushes[0].send("5"), Sent::Taken);
        assert_eq!(pushes[0].send("6"), Sent::Dropped);
        assert_eq!(next(&mut receiver), ("a".into(), "1".into(), 0));
        assert_eq!(next(&mut receiver), ("b".into(), "b".into(), 0));
        assert_eq!(next(&mut receiver), ("a".into(), "5".into(), 3));
        assert_eq!(pushes[0].send("7"), Sent::Taken);
        assert_eq!(next(&mut receiver), ("a".into(), "7".into(), 1));
        assert_eq!(receiver.try_recv(), None);
        drop(receiver);
        assert_eq!(pushes[0].send("8"), Sent::Closed);
    }

    #[test]
    fn a_long_message_is_cut() {
        let (pushes, mut receiver) = ways(&["a"], 1);
        assert_eq!(pushes[0].send("ä".repeat(LONGEST)), Sent::Taken);
        let message = receiver.try_recv().unwrap().message;
        assert!(message.len() < LONGEST + 50 && message.ends_with("bytes left out]"));
        assert_eq!(cut("x".repeat(LONGEST)).len(), LONGEST);
    }
}
