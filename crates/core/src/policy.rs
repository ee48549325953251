//! Declarative policies for tool calls.
//!
//! A rule names a tool and a decision; nine levels say which rule counts:
//!
//! | | deny | ask | allow |
//! |---|---|---|---|
//! | an exact tool | 1 | 2 | 3 |
//! | all tools of a server, `server/*` | 4 | 5 | 6 |
//! | all tools, `*` | 7 | 8 | 9 |
//!
//! The lowest level with a rule that applies decides; inside a level the first rule does. A rule
//! whose condition is false does not apply. A rule whose condition or handler fails denies, even
//! one that would allow.
//!
//! ```
//! use tollgate_core::prelude::*;
//! use tollgate_core::policy::{allow, ask_user, deny};
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policies = Policies::builder()
//!     .rules([
//!         deny("*"),
//!         allow("view_file"),
//!         deny("run_command")
//!             .when(|call| call.text("CommandLine").is_some_and(|line| line.contains("rm")))
//!             .reason("Deleting is not part of the job."),
//!         ask_user("run_command", |call| {
//!             println!("May it run {:?}?", call.text("CommandLine"));
//!             true
//!         }),
//!     ])
//!     .build()?;
//!
//! let call = ToolCall::new("run_command").arg("CommandLine", "rm -rf /");
//! assert_eq!(policies.decide(&call).await.message, "Deleting is not part of the job.");
//! # Ok(()) }
//! ```
//!
//! Deciding takes the same time however many rules there are that cannot match.

mod builders;
mod compile;
mod decide;
mod rule;
mod workspace;

pub use builders::{
    allow, allow_all, allow_mcp, ask_user, ask_user_async, ask_user_mcp, confirm_run_command, deny,
    deny_all, deny_mcp, enforce, safe_defaults,
};
pub use compile::{Otherwise, PoliciesBuilder, PolicyError};
pub use decide::{Outcome, OutcomeKind, Policies};
pub use rule::{AskHandler, AskRequest, Effect, Rule};
pub use workspace::{ReadLink, ResolveError, WorkspaceOnly, resolve, workspace_only};

use crate::error::BoxError;

/// An MCP server whose tools are governed.
///
/// ```
/// use tollgate_core::policy::McpServer;
///
/// let docs = McpServer::new("docs").disabled_tools(["delete"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Where given, its other tools are denied. Excludes `disabled_tools`.
    pub enabled_tools: Option<Vec<String>>,
    /// Where given, these are denied. Excludes `enabled_tools`.
    pub disabled_tools: Option<Vec<String>>,
}

impl McpServer {
    /// A server, all of whose tools are enabled.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Only these tools are enabled.
    pub fn enabled_tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.enabled_tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// These tools are disabled.
    pub fn disabled_tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.disabled_tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }
}

/// What a condition or a handler may return: yes or no, or a result with it.
pub trait IntoYesNo {
    /// Yes, no, or an error.
    fn into_yes_no(self) -> Result<bool, BoxError>;
}

impl IntoYesNo for bool {
    fn into_yes_no(self) -> Result<bool, BoxError> {
        Ok(self)
    }
}

impl<X: Into<BoxError>> IntoYesNo for Result<bool, X> {
    fn into_yes_no(self) -> Result<bool, BoxError> {
        self.map_err(Into::into)
    }
}
