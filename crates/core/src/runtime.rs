//! What the engine needs of the world: time, and a place for work off the path.

use std::time::{Duration, Instant, SystemTime};

use crate::hook::BoxFuture;

/// Time, and a place to run inspectors. [`TokioRuntime`] is the usual one; tests use a clock they
/// turn by hand.
pub trait Runtime: Send + Sync + 'static {
    /// The time, for measuring.
    fn now(&self) -> Instant;

    /// The time of day, for the audit trail.
    fn wall_clock(&self) -> SystemTime;

    /// Waits.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Runs a task where it cannot delay the caller, whatever the task does: not even one that
    /// blocks its thread. Where that cannot be done, says why.
    fn spawn(&self, task: BoxFuture<'static, ()>) -> Result<(), String>;
}

#[cfg(feature = "tokio")]
pub use on_tokio::TokioRuntime;

#[cfg(feature = "tokio")]
mod on_tokio {
    use std::sync::OnceLock;
    use std::time::{Duration, Instant, SystemTime};

    use tokio::runtime::{Builder, Handle, Runtime as Tokio};

    use super::Runtime;
    use crate::hook::BoxFuture;

    /// Timers of tokio, and two threads of the process for inspectors.
    ///
    /// Inspectors do not run on the caller's threads: on a single-threaded runtime one that blocks
    /// would stop the agent. The threads are started with the first inspector.
    #[derive(Debug, Clone, Copy, Default)]
    pub struct TokioRuntime;

    fn background() -> Result<&'static Handle, &'static str> {
        static BACKGROUND: OnceLock<Result<Tokio, String>> = OnceLock::new();
        let runtime = BACKGROUND.get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(2)
                .thread_name("tollgate-inspect")
                .enable_all()
                .build()
                .map_err(|error| format!("the inspector threads did not start: {error}"))
        });
        runtime.as_ref().map(Tokio::handle).map_err(String::as_str)
    }

    impl Runtime for TokioRuntime {
        fn now(&self) -> Instant {
            Instant::now()
        }

        fn wall_clock(&self) -> SystemTime {
            SystemTime::now()
        }

        fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
            // The caller may run on another executor than tokio; then the background one keeps
            // its time.
            if Handle::try_current().is_ok() {
                return Box::pin(tokio::time::sleep(duration));
            }
            match background() {
                Ok(handle) => {
                    let _entered = handle.enter();
                    Box::pin(tokio::time::sleep(duration))
                }
                // No timer can be had. A deadline that passes at once fails closed.
                Err(_) => Box::pin(std::future::ready(())),
            }
        }

        fn spawn(&self, task: BoxFuture<'static, ()>) -> Result<(), String> {
            background()?.spawn(task);
            Ok(())
        }
    }
}
