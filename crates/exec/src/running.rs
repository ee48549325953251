//! A call under way, seen from the caller.

use std::fmt;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::executor::Pool;
use crate::outcome::{ExecError, Finished};

/// A command that is running or waits to be run. Resolves when it has ended, and all it started.
///
/// Needs no particular async runtime, and none at all with [`wait`](Self::wait). Dropping it kills
/// the command and all it started, in the background. Once resolved, it stays pending for ever.
#[must_use = "dropping it kills the command"]
pub struct Running {
    call: Arc<Call>,
    pool: Arc<Pool>,
}

impl Running {
    pub(crate) fn new(call: Arc<Call>, pool: Arc<Pool>) -> Self {
        Self { call, pool }
    }

    /// Waits for the end, blocking this thread.
    pub fn wait(self) -> Result<Finished, ExecError> {
        block_on(self)
    }
}

impl Future for Running {
    type Output = Result<Finished, ExecError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.call.lock();
        if let Some(result) = state.result.take() {
            return Poll::Ready(result);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.call.abandon() {
            self.pool.forget(&self.call);
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finished = self.call.lock().finished;
        f.debug_struct("Running").field("finished", &finished).finish_non_exhaustive()
    }
}

/// Waits for a future, blocking this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    // Often there is nothing to wait for.
    if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
        return output;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        thread::park();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What the caller and the thread that runs the command share.
#[derive(Default)]
pub(crate) struct Call {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    result: Option<Result<Finished, ExecError>>,
    finished: bool,
    waker: Option<Waker>,
    /// Nobody waits for the result any more.
    abandoned: bool,
    /// How to wake the thread that runs the command.
    bell: Option<Arc<OwnedFd>>,
}

impl Call {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread begins to run the command, unless nobody wants it any more.
    pub(crate) fn begin(&self, bell: &Arc<OwnedFd>) -> bool {
        let mut state = self.lock();
        if !state.abandoned {
            state.bell = Some(Arc::clone(bell));
        }
        !state.abandoned
    }

    /// The thread is about to be done with it: the bell is not rung from now on. Returns whether
    /// it was.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.lock();
        state.bell = None;
        state.abandoned
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// The first result counts.
    pub(crate) fn finish(&self, result: Result<Finished, ExecError>) {
        let waker = {
            let mut state = self.lock();
            if state.finished {
                return;
            }
            state.finished = true;
            state.result = Some(result);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns whether it may still wait in the queue.
    fn abandon(&self) -> bool {
        let mut state = self.lock();
        if state.finished {
            return false;
        }
        state.abandoned = true;
        if let Some(bell) = &state.bell {
            let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
            return false;
        }
        true
    }
}
