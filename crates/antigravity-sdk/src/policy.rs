//! Declarative policies for tool calls, compiled to the engine's ([`tollgate_core::policy`]).
//!
//! The lowest of nine levels with a rule that applies decides; inside a level the first rule does:
//!
//! | | deny | ask | allow |
//! |---|---|---|---|
//! | an exact tool | 1 | 2 | 3 |
//! | all tools of a server, `server/*` | 4 | 5 | 6 |
//! | all tools, `*` | 7 | 8 | 9 |
//!
//! Where none applies the call is let through. A condition or handler that panics denies.
//!
//! A tool has one meaning under all its names: a rule about `run_command` holds for a call of
//! `RUN_COMMAND`.
//!
//! ```
//! use tollgate_antigravity_sdk::hooks::Hook;
//! use tollgate_antigravity_sdk::policy;
//! use tollgate_antigravity_sdk::types::ToolCall;
//!
//! # #[tokio::main] async fn main() -> Result<(), anyhow::Error> {
//! let enforcer = policy::enforce(vec![policy::deny("run_command"), policy::allow_all()], None)?;
//! let call = ToolCall {
//!     id: String::new(),
//!     name: "RUN_COMMAND".to_owned(),
//!     args: serde_json::json!({"CommandLine": "ls"}),
//!     canonical_path: None,
//! };
//! let result = enforcer.pre_tool_call(&call).await?;
//! assert_eq!(result.message, "Denied by policy 'run_command'.");
//! # Ok(()) }
//! ```

mod builders;
mod enforcer;

use std::fmt;
use std::sync::Arc;

pub use builders::{
    allow, allow_all, allow_mcp, ask_user, ask_user_mcp, confirm_run_command, deny, deny_all,
    deny_mcp, workspace_only,
};
pub use enforcer::{PolicyEnforcer, enforce};

use crate::types::ToolCall;

/// A question about a call: whether a condition holds, or what a person says.
pub type Question = dyn Fn(&ToolCall) -> bool + Send + Sync;

/// What a policy does where it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Lets the call through.
    Approve,
    /// Blocks it.
    Deny,
    /// Has a person decide.
    AskUser,
}

/// A policy: which tool, under which condition, what follows.
#[derive(Clone)]
pub struct Policy {
    /// A tool's name, `server/tool`, `server/*` or `*`.
    pub tool: String,
    /// What follows.
    pub decision: Decision,
    /// Where given, it applies only to calls that this holds for.
    pub when: Option<Arc<Question>>,
    /// Asks the person, and says what they answered. It runs where the dispatch does and may block
    /// it.
    pub ask_user: Option<Arc<Question>>,
    /// What messages call it; where empty, they name the tool.
    pub name: String,
}

impl Policy {
    /// A policy of these parts.
    pub fn new(
        tool: String,
        decision: Decision,
        when: Option<Arc<Question>>,
        ask_user: Option<Arc<Question>>,
        name: String,
    ) -> Self {
        Self { tool, decision, when, ask_user, name }
    }

    /// Applies only to calls that `when_fn` holds for.
    pub fn when(mut self, when_fn: impl Fn(&ToolCall) -> bool + Send + Sync + 'static) -> Self {
        self.when = Some(Arc::new(when_fn));
        self
    }

    /// Names it.
    pub fn with_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// What messages call it.
    fn label(&self) -> &str {
        if self.name.is_empty() { &self.tool } else { &self.name }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("tool", &self.tool)
            .field("decision", &self.decision)
            .field("conditional", &self.when.is_some())
            .field("asks", &self.ask_user.is_some())
            .field("name", &self.name)
            .finish()
    }
}
