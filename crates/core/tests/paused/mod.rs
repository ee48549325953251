//! A runtime on tokio's paused clock: time passes only when everything waits, and then at once.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::hook::BoxFuture;
use tollgate_core::runtime::Runtime;

pub(crate) struct Paused;

impl Paused {
    pub(crate) fn runtime() -> Arc<dyn Runtime> {
        Arc::new(Self)
    }
}

impl Runtime for Paused {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
    fn spawn(&self, task: BoxFuture<'static, ()>) -> Result<(), String> {
        tokio::spawn(task);
        Ok(())
    }
}
