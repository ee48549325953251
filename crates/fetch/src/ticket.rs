//! A request under way: who waits for it, and how it is ended from outside.

use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::error::{FetchError, Stage};
use crate::request::Response;

const YEAR: Duration = Duration::from_hours(365 * 24);

pub(crate) type Outcome = Result<Response, FetchError>;

/// A request under way. Whoever ends it first decides its outcome: the thread that has it, the
/// clock, or the one who no longer wants it.
#[derive(Debug)]
pub(crate) struct Ticket {
    time: Duration,
    deadline: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    is_over: bool,
    outcome: Option<Outcome>,
    waker: Option<Waker>,
    socket: Option<TcpStream>,
}

impl Ticket {
    pub(crate) fn new(time: Duration) -> Arc<Self> {
        let now = Instant::now();
        let state = State {
            stage: Stage::Waiting,
            is_over: false,
            outcome: None,
            waker: None,
            socket: None,
        };
        Arc::new(Self {
            time,
            // No clock reaches some times.
            deadline: now.checked_add(time).or_else(|| now.checked_add(YEAR)).unwrap_or(now),
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The time that is left, or the error that none is.
    pub(crate) fn left(&self) -> Result<Duration, FetchError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || self.is_over() { Err(self.late()) } else { Ok(left) }
    }

    /// The error that the time is over.
    pub(crate) fn late(&self) -> FetchError {
        FetchError::Deadline { time: self.time, stage: self.lock().stage }
    }

    pub(crate) fn enter(&self, stage: Stage) {
        self.lock().stage = stage;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Keeps a hold on a connection, to cut it off when the request ends early.
    pub(crate) fn hold(&self, socket: TcpStream) {
        let mut state = self.lock();
        if state.is_over {
            // It does not matter if it is closed already.
            let _ = socket.shutdown(Shutdown::Both);
        } else {
            state.socket = Some(socket);
        }
    }

    /// Ends it, if it is not over yet.
    pub(crate) fn finish(&self, outcome: Outcome) {
        let waker = self.end(|state| state.outcome = Some(outcome));
        self.changed.notify_all();
        if let Some(waker) = waker {
            // It is somebody else's code on a thread of ours.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    /// Ends it because its time is over.
    pub(crate) fn expire(&self) {
        self.finish(Err(self.late()));
    }

    /// Ends it because nobody wants it any more.
    fn abandon(&self) {
        self.end(|_| {});
    }

    fn end(&self, how: impl FnOnce(&mut State)) -> Option<Waker> {
        let mut state = self.lock();
        if state.is_over {
            return None;
        }
        state.is_over = true;
        how(&mut state);
        if let Some(socket) = state.socket.take() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        state.waker.take()
    }

    /// Waits for the outcome, and no longer than there is time.
    pub(crate) fn wait(&self) -> Outcome {
        let mut state = self.lock();
        loop {
            if let Some(outcome) = state.outcome.take() {
                return outcome;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                self.expire();
                state = self.lock();
                let late = FetchError::Deadline { time: self.time, stage: state.stage };
                return state.outcome.take().unwrap_or(Err(late));
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A request under way. It runs whether it is polled or not; dropping it abandons the request.
///
/// It needs no runtime: it is woken from a thread of the client's own, at its deadline at the
/// latest.
#[derive(Debug)]
#[must_use = "dropping it abandons the request"]
pub struct Sending {
    pub(crate) ticket: Arc<Ticket>,
}

impl Future for Sending {
    type Output = Result<Response, FetchError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.ticket.lock();
        if let Some(outcome) = state.outcome.take() {
            return Poll::Ready(outcome);
        }
        if state.is_over {
            let why = "its response was taken already".to_owned();
            return Poll::Ready(Err(FetchError::Internal { why }));
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.ticket.abandon();
    }
}
