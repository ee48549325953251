//! The Tollgate engine: typed lifecycle events of an AI agent, hooks that watch, decide on or
//! rewrite them, the contexts hooks share, and declarative tool policies.
//!
//! An agent fires an event; the [`Runner`] matches the hooks that ask for it, runs them in one
//! documented order, composes their answers so that the strictest wins, and returns an
//! [`Outcome`] with a [`Record`] that explains it.
//!
//! ```
//! use tollgate_core::prelude::*;
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runner = Runner::builder()
//!     .register(decide("no-shell", |_cx, call: &ToolPre| {
//!         if call.is("run_command") {
//!             return Decision::deny("Shell commands are off limits here.");
//!         }
//!         Decision::none()
//!     }))
//!     .build()?;
//!
//! let session = SessionContext::new(SessionInfo::default());
//! let operation = session.turn().operation();
//! let call = ToolCall::new("run_command").arg("CommandLine", "rm -rf /");
//! let outcome = runner.dispatch(&operation, ToolPre::from(call)).await;
//!
//! assert!(outcome.permit().is_refused());
//! # Ok(()) }
//! ```
//!
//! The crate is pure: it opens no file, reads no environment variable and starts no process.
//! What it needs of the world (time, a background thread, the target of a symbolic link) is
//! handed to it.

#![forbid(unsafe_code)]

pub mod answer;
pub mod audit;
pub mod context;
pub mod dialect;
pub mod error;
pub mod event;
pub mod exception;
pub mod extra;
pub mod hook;
pub mod json;
pub mod ledger;
pub mod mask;
pub mod matcher;
pub mod memo;
pub mod neutral;
pub mod patch;
pub mod policy;
pub mod record;
pub mod registry;
pub mod runner;
pub mod runtime;
mod sync;
pub mod target;
pub mod tools;
pub mod verdict;

pub use answer::{Answer, Decision};
pub use context::{
    Context, OperationContext, SessionContext, SessionInfo, ToolContext, TurnContext,
};
pub use dialect::{Dialect, Mode};
pub use error::{BoxError, HookError};
pub use event::{AnyEvent, Event, EventRef, Kind};
pub use hook::{Handle, Hook, HookResult};
pub use record::Record;
pub use registry::Registration;
pub use runner::{Outcome, Runner};

/// What most programs that embed the engine use.
pub mod prelude {
    pub use crate::answer::{Answer, Decision};
    pub use crate::context::{
        Context, OperationContext, SessionContext, SessionInfo, ToolContext, TurnContext,
    };
    pub use crate::dialect::{Dialect, Layer, Mode};
    pub use crate::error::{BoxError, HookError};
    pub use crate::event::{
        AnyEvent, CompactionPost, CompactionPre, Event, FacetSwitch, Failure, Interaction,
        InvocationEnd, Kind, ModelPost, ModelPre, Notification, SessionEnd, SessionStart, Stop,
        SubagentStart, SubagentStop, ToolCall, ToolError, ToolPost, ToolPre, TurnEnd, TurnStart,
    };
    pub use crate::extra::{Injection, Step, Texts};
    pub use crate::hook::{
        Handle, Hook, HookResult, decide, decide_async, inspect, inspect_async, transform,
        transform_async,
    };
    pub use crate::patch::{ArgsPatch, ErrorPatch, PromptPatch, ResponsePatch, ResultPatch};
    pub use crate::policy::{self, McpServer, Policies};
    pub use crate::record::Record;
    pub use crate::registry::Registration;
    pub use crate::runner::{Approved, Limits, Outcome, Permit, Runner};
    pub use crate::verdict::{Gate, Level, Verdict, Word};
}

/// Runs the code of the documentation pages as tests.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../../docs/hooks-in-rust.md")]
    struct HooksInRust;
}
