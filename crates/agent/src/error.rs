//! What goes wrong with an agent.

use std::path::PathBuf;
use std::time::Duration;

use tollgate_core::policy::PolicyError;
use tollgate_core::registry::RegisterError;
use tollgate_mcp::McpError;

use crate::transcript::TranscriptError;

/// Why an agent does not start, or has not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// It has no model.
    #[error("this agent has no model: give it one with `AgentBuilder::model`")]
    NoModel,
    /// It could do harm and nothing decides about it.
    #[error(
        "this agent may {what}, and neither a policy nor a deciding hook says what it may do: add one, or \
         `allow_all()` if that is what you want"
    )]
    Ungoverned {
        /// What it may do.
        what: String,
    },
    /// Tools were both chosen and left out.
    #[error("`enabled_tools` and `disabled_tools` exclude each other: give one of them")]
    EnabledAndDisabled,
    /// A tool was chosen or left out that is not there.
    #[error("there is no tool `{name}`; the tools are {known}")]
    NoSuchTool {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A directory to work in cannot be used.
    #[error("the workspace `{}` cannot be used: {why}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A directory for the session cannot be made.
    #[error("the directory `{}` of the session cannot be made: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The transcript cannot be used.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// A hook cannot be registered.
    #[error(transparent)]
    Hook(#[from] RegisterError),
    /// The policies are not valid.
    #[error(transparent)]
    Policy(PolicyError),
    /// Hook files cannot be watched.
    #[error("the hook files cannot be watched: {0}")]
    Watch(String),
    /// An MCP server does not start.
    #[error(transparent)]
    Mcp(#[from] McpError),
    /// The session has had its turns.
    #[error("this session has had its {0} turns")]
    TooManyTurns(u64),
    /// A turn took too long.
    #[error("the turn took more than {0:?} and was ended")]
    TooLong(Duration),
    /// Somebody cancelled the turn.
    #[error("the turn was cancelled")]
    Cancelled,
}
