//! Calling one hook: its deadline, its panics.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
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
pub(super) async fn ask<E: Event>(
    handler: &dyn Handle<E>,
    ask: Ask<'_, E>,
    limit: Duration,
) -> Result<Answer<E>, HookError> {
    match catch_unwind(AssertUnwindSafe(|| handler.handle(ask))) {
        Ok(future) => within(Some(ask.runtime), limit, future).await,
        Err(panic) => Err(HookError::Panicked { message: panic_message(panic) }),
    }
}

/// Waits for `future`, `limit` at the most where there is a clock. A panic in it ends with it.
pub(crate) async fn within<T>(
    runtime: Option<&dyn Runtime>,
    limit: Duration,
    future: BoxFuture<'_, Result<T, BoxError>>,
) -> Result<T, HookError> {
    let mut future = Some(future);
    // Most hooks are done at the first poll. A timer is made for those that are not.
    let mut timer = None;
    let result = poll_fn(|task| {
        let Some(running) = future.as_mut() else { return Poll::Pending };
        let poll = || {
            // The texts of an error are somebody else's code as well.
            let told = |result: Result<T, BoxError>| result.map_err(|e| HookError::failed(&e));
            running.as_mut().poll(task).map(told)
        };
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Ready(result)) => Poll::Ready(result),
            Ok(Poll::Pending) => {
                let Some(runtime) = runtime else { return Poll::Pending };
                let timer = timer.get_or_insert_with(|| runtime.sleep(limit));
                timer.as_mut().poll(task).map(|()| Err(HookError::TimedOut { limit }))
            }
            Err(panic) => Poll::Ready(Err(HookError::Panicked { message: panic_message(panic) })),
        }
    })
    .await;
    // What the hook holds may panic when it is dropped; that is the hook's affair too.
    match catch_unwind(AssertUnwindSafe(|| drop(future.take()))) {
        Ok(()) => result,
        Err(panic) => Err(HookError::Panicked { message: panic_message(panic) }),
    }
}
