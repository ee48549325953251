//! One worker, seen from the host.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Instant;

use rustix::process::{Signal, pidfd_send_signal};

use crate::outcome::Status;
use crate::raw::{self, End as RawEnd, Waited};
use crate::worker::board::Board;
use crate::worker::error::WorkerError;

/// A worker that was started. Shared by whoever has the lease and the thread that attends it.
pub(crate) struct Worker {
    pub(crate) id: u64,
    pub(crate) board: Board,
    /// Rung by the worker when its host has stopped looking.
    pub(crate) bell: OwnedFd,
    /// Becomes readable when it ends.
    pub(crate) handle: OwnedFd,
    /// Our own process: in a fork of it the worker is somebody else's.
    pub(crate) process: u32,
    /// What it may have above its baseline.
    pub(crate) memory: u64,
    pub(crate) watch: Mutex<Watch>,
    pub(crate) killed: AtomicBool,
    pub(crate) end: OnceLock<End>,
}

/// What the attending thread is asked to look after.
#[derive(Default)]
pub(crate) struct Watch {
    waker: Option<Waker>,
    deadline: Option<Instant>,
    timed_out: bool,
}

/// How it ended.
pub(crate) struct End {
    /// Nothing: somebody else has asked the system before us.
    pub(crate) status: Option<Status>,
    pub(crate) stderr: Vec<u8>,
}

impl Worker {
    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks to be woken when there is something to see, or when the time is up.
    pub(crate) fn register(&self, waker: &Waker, deadline: Option<Instant>) {
        let mut watch = self.watch();
        watch.deadline = deadline;
        match &mut watch.waker {
            Some(old) => old.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Needs no attention any more. Returns whether its time had run out before.
    pub(crate) fn unregister(&self) -> bool {
        let (_waker, timed_out) = {
            let mut watch = self.watch();
            watch.deadline = None;
            (watch.waker.take(), watch.timed_out)
        };
        timed_out
    }

    pub(crate) fn timed_out(&self) -> bool {
        self.watch().timed_out
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.watch().deadline
    }

    /// Kills it if its time is up.
    pub(crate) fn expire(&self, now: Instant) {
        let waker = {
            let mut watch = self.watch();
            if watch.deadline.is_none_or(|deadline| now < deadline) {
                return;
            }
            watch.deadline = None;
            watch.timed_out = true;
            self.kill();
            watch.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn wake(&self) {
        let waker = self.watch().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn kill(&self) {
        if self.process == std::process::id() {
            self.killed.store(true, Ordering::Release);
            let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        }
    }

    /// Reaps it, once it has ended.
    pub(crate) fn reap(&self) -> Option<Status> {
        match raw::wait(libc::P_PIDFD, self.handle.as_raw_fd(), 0) {
            Waited::Ended(_, RawEnd::Exited(code)) => Some(Status::Exited(code)),
            Waited::Ended(_, RawEnd::Signaled(signal)) => Some(Status::Signaled(signal)),
            Waited::Alive | Waited::Nobody => None,
        }
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.get().is_some()
    }

    /// What its end means to somebody who waits for its answer. Nothing: it has not ended.
    pub(crate) fn why_ended(&self) -> Option<WorkerError> {
        let End { status, stderr } = self.end.get()?;
        let (status, stderr) = (*status, stderr.clone());
        Some(if is_out_of_memory(status, &stderr) {
            WorkerError::OutOfMemory { limit: self.memory, stderr }
        } else {
            WorkerError::Died { status, stderr }
        })
    }
}

/// What the standard library says before it aborts, at the end of what was printed.
fn is_out_of_memory(status: Option<Status>, stderr: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stderr);
    let said = text.lines().rev().take(4).any(|line| {
        line.strip_prefix("memory allocation of ")
            .and_then(|rest| rest.strip_suffix(" bytes failed"))
            .is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    });
    said && status.is_none_or(|status| matches!(status, Status::Signaled(libc::SIGABRT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_memory_is_told_by_its_words() {
        let aborted = Some(Status::Signaled(libc::SIGABRT));
        let cases: [(Option<Status>, &str, bool); 7] = [
            (aborted, "memory allocation of 4294967296 bytes failed\n", true),
            (aborted, "noise\nmemory allocation of 24 bytes failed\nnote: more\n", true),
            (None, "memory allocation of 24 bytes failed\n", true),
            (aborted, "memory allocation of x bytes failed\n", false),
            (aborted, "it says memory allocation of 24 bytes failed\n", false),
            (Some(Status::Exited(0)), "memory allocation of 24 bytes failed\n", false),
            (aborted, "thread 'worker' has overflowed its stack\n", false),
        ];
        for (status, stderr, expected) in cases {
            assert_eq!(is_out_of_memory(status, stderr.as_bytes()), expected, "{stderr}");
        }
    }
}
