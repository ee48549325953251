//! A lease to come, seen from whoever wants it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::running::block_on;
use crate::worker::error::WorkerError;
use crate::worker::lease::Lease;
use crate::worker::pool::Pool;
use crate::worker::queue::Waiter;

/// A lease to come. Resolves when there is a worker, or when the time is up.
///
/// Needs no particular async runtime, and none at all with [`wait`](Self::wait). Once resolved, it
/// stays pending for ever.
#[must_use = "dropping it gives up the place in the queue"]
pub struct Leasing<T> {
    stage: Stage<T>,
}

enum Stage<T> {
    // Boxed, as it would be many times the size of the others.
    Done(Box<Result<Lease<T>, WorkerError>>),
    Waiting(Arc<Waiter<T>>, Arc<Pool<T>>),
    Over,
}

impl<T> Leasing<T> {
    pub(crate) fn done(result: Result<Lease<T>, WorkerError>) -> Self {
        Self { stage: Stage::Done(Box::new(result)) }
    }

    pub(crate) fn waiting(waiter: Arc<Waiter<T>>, pool: Arc<Pool<T>>) -> Self {
        Self { stage: Stage::Waiting(waiter, pool) }
    }

    /// Waits for it, blocking this thread.
    pub fn wait(self) -> Result<Lease<T>, WorkerError> {
        block_on(self)
    }
}

// Nothing in it is pinned.
impl<T> Unpin for Leasing<T> {}

impl<T> Future for Leasing<T> {
    type Output = Result<Lease<T>, WorkerError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Stage::Waiting(waiter, _) = &self.stage {
            let polled = waiter.poll(cx);
            if polled.is_ready() {
                self.stage = Stage::Over;
            }
            return polled;
        }
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Done(result) => Poll::Ready(*result),
            Stage::Waiting(..) | Stage::Over => Poll::Pending,
        }
    }
}

impl<T> Drop for Leasing<T> {
    fn drop(&mut self) {
        if let Stage::Waiting(waiter, pool) = &self.stage {
            drop(waiter.abandon());
            pool.forget(waiter);
        }
    }
}

impl<T> fmt::Debug for Leasing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leasing").finish_non_exhaustive()
    }
}
