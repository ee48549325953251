//! What an agent can do: the built-in tools, and functions of the host as tools.
//!
//! A tool knows nothing of hooks. Whoever calls it has put the call through them first, and hands
//! over what was approved. What a tool guarantees is about the tool: writes are whole and stay in
//! the workspaces, commands leave nothing behind, everything has a bound.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tollgate_tools::{Config, Cx, TaskLimits, Tasks, Workspaces, built_in};
//!
//! let dir = tempfile::tempdir()?;
//! let cx = Cx::new(Workspaces::new([dir.path()])?, Tasks::new(TaskLimits::default()));
//! let tools = built_in(&Config::default());
//! let write = tools.iter().find(|tool| tool.spec().name == "write_to_file").unwrap();
//!
//! let args = serde_json::json!({"TargetFile": "notes/a.txt", "CodeContent": "hello\n"});
//! let output = write.call(&cx, args.as_object().unwrap()).await?;
//! assert!(output.text().starts_with("Created "));
//!
//! let args = serde_json::json!({"TargetFile": "../b.txt", "CodeContent": "out"});
//! let refused = write.call(&cx, args.as_object().unwrap()).await.unwrap_err();
//! assert!(refused.to_string().contains("outside the workspaces"));
//! # Ok(())
//! # }
//! ```
//!
//! Calls are to be polled on a tokio runtime. Dropping one cancels it.

mod args;
mod atomic;
mod blocking;
mod built_in;
mod command;
mod config;
pub mod control;
mod files;
mod function;
mod network;
mod schema;
mod search;
mod tasks;
mod text;
mod tool;
mod workspace;

pub use args::{ArgsError, read_args};
pub use built_in::built_in;
pub use command::Variables;
pub use config::{Config, Limits};
pub use function::function;
pub use network::{EndpointError, Images, WebSearch};
pub use tasks::{Ended, TaskEnd, TaskLimits, Tasks, Typing};
pub use tool::{Cx, Output, Spec, Tool, ToolFailure};
pub use workspace::{WorkspaceError, Workspaces};
