//! Hooks and policies written for `antigravity-sdk-rust` 0.1.14, on the Tollgate engine.
//!
//! The modules, names and signatures are those of that crate, so code written for it compiles
//! against this one. Give it the old name in `Cargo.toml` and not even the `use` lines change:
//!
//! ```toml
//! antigravity-sdk-rust = { package = "tollgate-antigravity-sdk", version = "0.1" }
//! ```
//!
//! What runs the hooks is [`tollgate_core`]: a hook that fails closes the gate it guards, every
//! hook has a deadline, a panic stays in its hook, and each dispatch leaves a record.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_antigravity_sdk::hooks::{Hook, HookRunner};
//! use tollgate_antigravity_sdk::types::{HookResult, ToolCall};
//!
//! struct NoShell;
//!
//! impl Hook for NoShell {
//!     async fn pre_tool_call(&self, call: &ToolCall) -> Result<HookResult, anyhow::Error> {
//!         Ok(HookResult { allow: call.name != "run_command", message: "No shell.".to_owned() })
//!     }
//! }
//!
//! # #[tokio::main] async fn main() -> Result<(), anyhow::Error> {
//! let runner = HookRunner::new();
//! runner.register(Arc::new(NoShell)).await;
//! let call = ToolCall {
//!     id: "1".to_owned(),
//!     name: "run_command".to_owned(),
//!     args: serde_json::json!({"CommandLine": "ls"}),
//!     canonical_path: None,
//! };
//! assert!(!runner.dispatch_pre_tool_call(&call).await?.allow);
//! # Ok(()) }
//! ```
//!
//! * [`hooks`]: the trait, its object-safe form and the runner; and
//!   [`registration`](hooks::registration), which puts an old hook into a new
//!   [`Runner`](tollgate_core::Runner).
//! * [`policy`]: the rules, compiled to [`tollgate_core::policy`].
//! * [`context`]: the store that hooks share.
//! * [`agent`]: a session driver around a model that you bring.
//! * [`types`]: the data.
//!
//! What differs from the original on purpose is said where it differs, and in one place in
//! `docs/migrating-from-antigravity-sdk-rust.md`.

#![forbid(unsafe_code)]

pub mod agent;
pub mod context;
mod convert;
pub mod hooks;
pub mod policy;
pub mod types;

/// Compiles and runs the code of the migration guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/migrating-from-antigravity-sdk-rust.md")]
pub struct MigrationGuide;
