//! The ways to write a policy.

use std::sync::Arc;

use tollgate_core::policy as engine;

use super::{Decision, Policy, Question};
use crate::types::{McpServerConfig, ToolCall};

/// Lets calls of a tool through.
pub fn allow(tool: &str) -> Policy {
    Policy::new(tool.to_owned(), Decision::Approve, None, None, String::new())
}

/// Blocks calls of a tool.
pub fn deny(tool: &str) -> Policy {
    Policy::new(tool.to_owned(), Decision::Deny, None, None, String::new())
}

/// Has a person decide about calls of a tool: `handler` asks, and returns whether they agree.
pub fn ask_user(tool: &str, handler: impl Fn(&ToolCall) -> bool + Send + Sync + 'static) -> Policy {
    let handler = Arc::new(handler);
    Policy::new(tool.to_owned(), Decision::AskUser, None, Some(handler), String::new())
}

/// Lets every call through that no other policy is about.
pub fn allow_all() -> Policy {
    allow("*").with_name("allow_all")
}

/// Blocks every call that no other policy is about.
pub fn deny_all() -> Policy {
    deny("*").with_name("deny_all")
}

/// Lets everything through but shell commands: those are asked about or, without a handler,
/// denied.
pub fn confirm_run_command(handler: Option<Arc<Question>>) -> Vec<Policy> {
    let decision = if handler.is_some() { Decision::AskUser } else { Decision::Deny };
    let name = "confirm_run_command".to_owned();
    vec![Policy::new("run_command".to_owned(), decision, None, handler, name), allow_all()]
}

/// Denies calls that touch a path outside all of `workspaces`.
///
/// Every tool of the engine's table that has a path is covered, by the path the host worked out
/// and by the paths in the arguments. Symbolic links and `..` are followed, on these and on the
/// workspaces. A call whose path cannot be told is denied: none given, a relative one, `~`.
pub fn workspace_only(workspaces: Vec<String>) -> Vec<Policy> {
    let workspace = engine::workspace_only(workspaces, std::fs::read_link);
    let tools: Vec<String> =
        workspace.clone().into_iter().map(|rule| rule.target().to_string()).collect();
    let is_outside: Arc<Question> =
        Arc::new(move |call| workspace.is_outside(&call.into()).unwrap_or(true));
    let policy = |tool| {
        let name = "workspace_only".to_owned();
        Policy::new(tool, Decision::Deny, Some(Arc::clone(&is_outside)), None, name)
    };
    tools.into_iter().map(policy).collect()
}

/// Lets calls of a server's tools through; of all of them where none are named.
pub fn allow_mcp(server: &McpServerConfig, tools: Option<&[&str]>) -> Vec<Policy> {
    mcp(server, tools, &allow, "allow")
}

/// Blocks calls of a server's tools; of all of them where none are named.
pub fn deny_mcp(server: &McpServerConfig, tools: Option<&[&str]>) -> Vec<Policy> {
    mcp(server, tools, &deny, "deny")
}

/// Has a person decide about calls of a server's tools; of all of them where none are named.
pub fn ask_user_mcp(
    server: &McpServerConfig,
    tools: Option<&[&str]>,
    handler: impl Fn(&ToolCall) -> bool + Send + Sync + 'static + Clone,
) -> Vec<Policy> {
    mcp(server, tools, &|tool| ask_user(tool, handler.clone()), "ask_user")
}

fn mcp(
    server: &McpServerConfig,
    tools: Option<&[&str]>,
    policy: &dyn Fn(&str) -> Policy,
    verb: &str,
) -> Vec<Policy> {
    let server = server.name();
    let one = |tool: &str, name: &str| {
        policy(&format!("{server}/{tool}")).with_name(&format!("{verb}_{server}_{name}"))
    };
    match tools {
        None => vec![one("*", "all")],
        Some(tools) => tools.iter().map(|tool| one(tool, tool)).collect(),
    }
}
