//! Calling one hook: its deadline, its panics.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::answer::Answer;
use crate::error::{BoxError, HookError, panic_message};
use crate::event::Event;
use crate::hook::{Ask, BoxFuture, Handle};
use crate::runtime::Runtime;

/// Whether the hook applies.
pub(crate) fn wants<E: Event>(handler: &dyn Handle<E>, event: &E) -> Result<bool, HookError> {
    // The texts of an error are somebody else's code as well.
    let wants = || handler.wants(event).map_err(|error| crate::error::chain(&*error));
    match catch_unwind(AssertUnwindSafe(wants)) {
        Ok(Ok(wants)) => Ok(wants),
        Ok(Err(message)) => Err(HookError::Condition { message }),
        Err(panic) => {
            let message = format!("panicked: {}", panic_message(panic));
            Err(HookError::Condition { message })
        }
    }
}

/// Asks the hook, and waits for its answer `limit` at the most.
pub(super) fn ask<'a, E: Event>(
    handler: &'a dyn Handle<E>,
    ask: Ask<'a, E>,
    limit: Duration,
) -> Within<'a, Answer<E>> {
    let work = match catch_unwind(AssertUnwindSafe(|| handler.handle(ask))) {
        Ok(future) => Work::Running(future),
        Err(panic) => Work::Failed(HookError::Panicked { message: panic_message(panic) }),
    };
    Within { runtime: Some(ask.runtime), limit, work, timer: None }
}

/// Waits for `future`, `limit` at the most where there is a clock. A panic in it ends with it.
pub(crate) fn within<'a, T>(
    runtime: Option<&'a dyn Runtime>,
    limit: Duration,
    future: BoxFuture<'a, Result<T, BoxError>>,
) -> Within<'a, T> {
    Within { runtime, limit, work: Work::Running(future), timer: None }
}

/// Somebody else's work, with a bound on its time and its panics caught.
///
/// Written out, not as an `async fn`, because its result is large and would be moved through one
/// state more on the way of every hook.
pub(crate) struct Within<'a, T> {
    runtime: Option<&'a dyn Runtime>,
    limit: Duration,
    work: Work<'a, T>,
    /// Most hooks are done at the first poll. A timer is made for those that are not.
    timer: Option<BoxFuture<'static, ()>>,
}

enum Work<'a, T> {
    Running(BoxFuture<'a, Result<T, BoxError>>),
    Failed(HookError),
    Done,
}

impl<T> Future for Within<'_, T> {
    type Output = Result<T, HookError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { runtime, limit, work, timer } = &mut *self;
        let running = match work {
            Work::Running(future) => future,
            Work::Failed(error) => return Poll::Ready(Err(error.clone())),
            Work::Done => return Poll::Pending,
        };
        let poll = || {
            // The texts of an error are somebody else's code as well.
            let told = |result: Result<T, BoxError>| result.map_err(|e| HookError::failed(&e));
            running.as_mut().poll(task).map(told)
        };
        let result = match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Ready(result)) => result,
            Ok(Poll::Pending) => {
                let Some(runtime) = runtime else { return Poll::Pending };
                let limit = *limit;
                let timer = timer.get_or_insert_with(|| runtime.sleep(limit));
                if timer.as_mut().poll(task).is_pending() {
                    return Poll::Pending;
                }
                Err(HookError::TimedOut { limit })
            }
            Err(panic) => Err(HookError::Panicked { message: panic_message(panic) }),
        };
        // What the hook holds may panic when it is dropped; that is the hook's affair too.
        match catch_unwind(AssertUnwindSafe(|| *work = Work::Done)) {
            Ok(()) => Poll::Ready(result),
            Err(panic) => Poll::Ready(Err(HookError::Panicked { message: panic_message(panic) })),
        }
    }
}
