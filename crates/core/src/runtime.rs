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

    /// Timers of tokio on a thread of their own, and four threads of the process for inspectors.
    ///
    /// Inspectors do not run on the caller's threads: on a single-threaded runtime one that blocks
    /// would stop the agent. Timers do not either, so that a deadline passes whatever the caller
    /// runs on, and whatever blocks. The threads are started when they are first needed.
    #[derive(Debug, Clone, Copy, Default)]
    pub struct TokioRuntime;

    type Started = OnceLock<Result<Tokio, String>>;

    /// A runtime that is there from its first use to the end of the process.
    fn started(
        cell: &'static Started,
        name: &str,
        threads: usize,
    ) -> Result<&'static Handle, String> {
        let runtime = cell.get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(threads)
                .thread_name(name)
                .enable_all()
                .build()
                .map_err(|error| format!("the `{name}` threads did not start: {error}"))
        });
        runtime.as_ref().map(Tokio::handle).map_err(Clone::clone)
    }

    fn background() -> Result<&'static Handle, String> {
        static INSPECTORS: Started = OnceLock::new();
        started(&INSPECTORS, "tollgate-inspect", 4)
    }

    /// Nothing but timers runs here, so nothing can hold them up.
    fn timers() -> Result<&'static Handle, String> {
        static TIMERS: Started = OnceLock::new();
        started(&TIMERS, "tollgate-timers", 1)
    }

    impl Runtime for TokioRuntime {
        fn now(&self) -> Instant {
            Instant::now()
        }

        fn wall_clock(&self) -> SystemTime {
            SystemTime::now()
        }

        fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
            match timers() {
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
