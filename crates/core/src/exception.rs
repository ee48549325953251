//! Exceptions: a person lets one call pass that a hook objects to.
//!
//! A hook that denies a call, or asks about it, *objects* to it. Before an objection counts, the runner shows it to
//! its [`Exceptions`]. If one covers it, the hook has no opinion about this call; every other hook decides as before.
//! A policy is then asked again without the rule that objected, so that its other rules still count.
//! A hook that fails does not object, so its failure cannot be excepted, and neither can what a hook says that was
//! registered [without exceptions](crate::registry::Registration::without_exceptions).
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_core::exception::{ExceptionId, Exceptions, Objection};
//! use tollgate_core::prelude::*;
//!
//! struct Once;
//!
//! impl Exceptions for Once {
//!     fn covering(&self, objection: &Objection<'_>) -> Option<ExceptionId> {
//!         let is_it = objection.hook.name == "no-push" && objection.call.text("CommandLine") == Some("git push");
//!         is_it.then(|| "7KQ2MX".into())
//!     }
//! }
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runner = Runner::builder()
//!     .register(decide("no-push", |_cx, _call: &ToolPre| Decision::deny("Nothing is pushed.")))
//!     .exceptions(Arc::new(Once))
//!     .build()?;
//! let operation = SessionContext::new(SessionInfo::default()).turn().operation();
//! let push = |line: &str| ToolPre::from(ToolCall::new("run_command").arg("CommandLine", line));
//!
//! let outcome = runner.dispatch(&operation, push("git push")).await;
//! assert_eq!(outcome.record.decision, Word::None);
//! assert_eq!(outcome.record.answers[0].excepted.as_deref(), Some("7KQ2MX"));
//! let outcome = runner.dispatch(&operation, push("git push --force")).await;
//! assert_eq!(outcome.record.decision, Word::Deny);
//! # Ok(()) }
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::event::ToolCall;
use crate::registry::HookInfo;
use crate::verdict::Word;

/// Names an exception in records.
pub type ExceptionId = Arc<str>;

/// A hook's objection to a call.
#[derive(Debug)]
pub struct Objection<'a> {
    /// The hook.
    pub hook: &'a HookInfo,
    /// The rule, if the hook is a policy.
    pub rule: Option<&'a str>,
    /// The call as the hook saw it.
    pub call: &'a ToolCall,
    /// `deny`, `ask` or `force_ask`.
    pub word: &'a Word,
}

/// The exceptions that a person has made. Asked on the path, and only about objections.
pub trait Exceptions: Send + Sync + 'static {
    /// Returns the exception that covers an objection.
    fn covering(&self, objection: &Objection<'_>) -> Option<ExceptionId>;
}

/// Returns the exception that covers an objection. One that cannot be looked up covers nothing.
pub(crate) fn covering(
    exceptions: &dyn Exceptions,
    objection: &Objection<'_>,
) -> Option<ExceptionId> {
    catch_unwind(AssertUnwindSafe(|| exceptions.covering(objection))).ok().flatten()
}

/// True if a hook that answers this objects to the call.
pub(crate) const fn is_objection(word: &Word) -> bool {
    matches!(word, Word::Deny | Word::Ask | Word::ForceAsk)
}
