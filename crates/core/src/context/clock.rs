//! How long a session has lasted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicU64, Ordering};

/// Tells how long something has lasted.
#[derive(Debug, Clone)]
pub struct Clock(Hands);

#[derive(Debug, Clone)]
enum Hands {
    /// Of the machine, from this moment on, and so much before.
    Machine(Instant, Duration),
    /// In milliseconds.
    Ours(Arc<AtomicU64>),
}

impl Clock {
    /// One that starts now.
    pub fn start() -> Self {
        Self::started_before(Duration::ZERO)
    }

    /// One that goes on after so long: for a session that is taken up again.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::context::Clock;
    ///
    /// let clock = Clock::started_before(Duration::from_secs(3600));
    /// assert!(clock.elapsed() >= Duration::from_secs(3600));
    /// ```
    pub fn started_before(before: Duration) -> Self {
        Self(Hands::Machine(Instant::now(), before))
    }

    /// One that stands still until somebody turns it. Copies of it are the same clock.
    pub fn by_hand() -> Self {
        Self(Hands::Ours(Arc::default()))
    }

    /// Turns a clock that is turned by hand. Others take no notice.
    pub fn advance(&self, by: Duration) {
        if let Hands::Ours(time) = &self.0 {
            time.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    /// How long it has been.
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Hands::Machine(begun, before) => before.saturating_add(begun.elapsed()),
            Hands::Ours(time) => Duration::from_millis(time.load(Ordering::Relaxed)),
        }
    }
}
