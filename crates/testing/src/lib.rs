//! Test support for Tollgate.
//!
//! * [`conformance`] runs recorded cases of other engines against this one.
//! * [`clock`] has a runtime whose time moves only when told.
//! * [`mod@needs`] skips tests, by name, where a program they need is missing.
//! * [`scripted`] has hooks whose answers are given beforehand and that remember what they were
//!   asked.
//!
//! ```
//! use std::pin::pin;
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tollgate_core::prelude::*;
//! use tollgate_testing::clock::ManualRuntime;
//! use tollgate_testing::scripted::Scripted;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A hook that takes a minute, where it may take thirty seconds.
//! let slow = Scripted::<ToolPre>::new().then_after(Duration::from_secs(60), Answer::allow());
//! let clock = ManualRuntime::new();
//! let runner = Runner::builder()
//!     .runtime(Arc::new(clock.clone()))
//!     .register(slow.registration("slow"))
//!     .build()?;
//!
//! let operation = SessionContext::new(SessionInfo::default()).turn().operation();
//! let mut dispatch = pin!(runner.dispatch(&operation, ToolPre::from(ToolCall::new("build"))));
//! assert!(clock.run(dispatch.as_mut()).is_pending());
//!
//! clock.advance(Duration::from_secs(30));
//! let std::task::Poll::Ready(outcome) = clock.run(dispatch) else { panic!("still waiting") };
//! assert!(outcome.permit().is_refused());
//! assert_eq!(slow.asked().len(), 1);
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]

pub mod clock;
pub mod conformance;
pub mod needs;
pub mod scripted;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, and goes on with the data where another holder panicked: what is behind the locks of
/// this crate is valid after every single statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
