//! Work that blocks, away from the threads that must not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tool::ToolFailure;

/// Whether the work is still wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> Result<(), ToolFailure> {
        if self.is_cancelled() {
            return Err(ToolFailure::Failed("the call was cancelled".to_owned()));
        }
        Ok(())
    }
}

/// Cancels the work when the call is dropped.
struct Guard {
    cancel: Cancel,
    task: tokio::task::AbortHandle,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.cancel.0.store(true, Ordering::Relaxed);
        // Has an effect where it has not begun yet.
        self.task.abort();
    }
}

/// Does `work` on a thread for such work. Dropping the future tells it to stop.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Cancel) -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    let cancel = Cancel::default();
    let seen = cancel.clone();
    let task = tokio::task::spawn_blocking(move || work(&seen));
    let _guard = Guard { cancel, task: task.abort_handle() };
    task.await
        .unwrap_or_else(|_| Err(ToolFailure::Failed("the tool broke off: it has a bug".to_owned())))
}
