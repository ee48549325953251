//! An agent whose every step goes through hooks.
//!
//! [`Agent::builder`] puts one together: a model, tools, MCP servers, hooks and policies. Each prompt, each call of the
//! model, each call of a tool, each question and each stop is an event that hooks decide on; so is what subagents do,
//! however deep they are.
//!
//! ```
//! use tollgate_agent::Agent;
//! use tollgate_core::policy;
//! use serde_json::json;
//! use tollgate_model::script::{Line, Scripted};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! // A model that wants to delete everything, whatever it is asked.
//! let model = Scripted::new(vec![
//!     Line::call("run_command", json!({"CommandLine": "rm -rf /"})),
//!     Line::say("I was told: {{last_tool.content}}"),
//! ]);
//! let agent = Agent::builder()
//!     .model(model)
//!     .workspace(directory.path())
//!     .policy(policy::deny("run_command").reason("no commands here"))
//!     .build()
//!     .start()
//!     .await?;
//! let response = agent.chat("Clean up.").await?;
//! assert_eq!(response.text, "I was told: no commands here");
//! agent.stop().await;
//! # Ok(()) }
//! ```

mod agent;
mod builder;
mod call;
mod compaction;
mod control;
mod conversation;
mod delegation;
mod delivery;
mod error;
mod inbox;
mod limits;
pub mod permission;
pub mod person;
mod places;
mod pump;
mod schedule;
mod session;
mod start;
mod subagent;
mod toolbox;
pub mod transcript;
pub mod trigger;
mod turn;
mod typed;
pub mod update;
mod watch;

pub use agent::{Agent, Chunk, Response, Started, Unstarted};
pub use builder::AgentBuilder;
pub use conversation::Conversation;
pub use error::AgentError;
pub use limits::Limits;

/// Runs the code of the documentation page as a test.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../../docs/agent.md")]
    struct TheAgent;
}
