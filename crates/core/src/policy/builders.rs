//! The ways to write a rule.

use std::future::Future;

use super::rule::{AskHandler, AskRequest, Effect, Rule};
use super::{IntoYesNo, McpServer, Policies, PolicyError};
use crate::event::ToolCall;
use crate::target::Target;
use crate::tools::{self, Access};

/// Lets calls of a tool through: `tool`, `server/tool`, `server/*` or `*`.
pub fn allow(tool: &str) -> Rule {
    Rule::new(Target::parse(tool), Effect::Allow)
}

/// Blocks calls of a tool.
pub fn deny(tool: &str) -> Rule {
    Rule::new(Target::parse(tool), Effect::Deny)
}

/// Has a person decide about calls of a tool.
pub fn ask_user<R: IntoYesNo>(
    tool: &str,
    handler: impl Fn(&ToolCall) -> R + Send + Sync + 'static,
) -> Rule {
    Rule::new(Target::parse(tool), Effect::Ask)
        .handler(AskHandler::new(move |request| handler(request.call)))
}

/// As [`ask_user`], with a future.
///
/// ```
/// use tollgate_core::policy::ask_user_async;
///
/// let rule = ask_user_async("run_command", |request| {
///     let question = format!("May it run {:?}?", request.call.args);
///     async move { !question.is_empty() }
/// });
/// # drop(rule);
/// ```
pub fn ask_user_async<F, R>(
    tool: &str,
    handler: impl Fn(&AskRequest<'_>) -> F + Send + Sync + 'static,
) -> Rule
where
    F: Future<Output = R> + Send + 'static,
    R: IntoYesNo,
{
    Rule::new(Target::parse(tool), Effect::Ask).handler(AskHandler::new_async(handler))
}

/// Lets every call through that no other rule is about.
pub fn allow_all() -> Rule {
    Rule::new(Target::Any, Effect::Allow).named("allow_all")
}

/// Blocks every call that no other rule is about.
pub fn deny_all() -> Rule {
    Rule::new(Target::Any, Effect::Deny).named("deny_all")
}

/// Lets calls of a server's tools through; of all of them where none are named.
pub fn allow_mcp(server: &McpServer, tools: Option<&[&str]>) -> Vec<Rule> {
    mcp(server, tools, Effect::Allow, "allow")
}

/// Blocks calls of a server's tools; of all of them where none are named.
pub fn deny_mcp(server: &McpServer, tools: Option<&[&str]>) -> Vec<Rule> {
    mcp(server, tools, Effect::Deny, "deny")
}

/// Has a person decide about calls of a server's tools; of all of them where none are named.
pub fn ask_user_mcp(server: &McpServer, tools: Option<&[&str]>, handler: &AskHandler) -> Vec<Rule> {
    let rules = mcp(server, tools, Effect::Ask, "ask_user");
    rules.into_iter().map(|rule| rule.handler(handler.clone())).collect()
}

fn mcp(server: &McpServer, tools: Option<&[&str]>, effect: Effect, verb: &str) -> Vec<Rule> {
    let server = &server.name;
    match tools {
        None => {
            let rule = Rule::new(Target::Server(server.clone()), effect);
            vec![rule.named(format!("{verb}_{server}_all"))]
        }
        Some(tools) => tools
            .iter()
            .map(|tool| {
                let target = Target::Mcp { server: server.clone(), tool: (*tool).to_owned() };
                Rule::new(target, effect).named(format!("{verb}_{server}_{tool}"))
            })
            .collect(),
    }
}

/// Lets everything through but commands: those are asked about or, without a handler, denied.
pub fn confirm_run_command(handler: Option<AskHandler>) -> Vec<Rule> {
    let command = Target::Tool("run_command".to_owned());
    let command = match handler {
        Some(handler) => Rule::new(command, Effect::Ask).handler(handler),
        None => Rule::new(command, Effect::Deny),
    };
    [command, Rule::new(Target::Any, Effect::Allow)]
        .map(|rule| rule.named("confirm_run_command"))
        .to_vec()
}

/// Lets tools through that only read, and asks about all others.
///
/// What only reads is in the tool table, beside questions to the person themself. Reading from
/// the network is not among it: an address can carry data out.
pub fn safe_defaults(handler: AskHandler) -> Vec<Rule> {
    let harmless = |tool: &&tools::Tool| {
        tool.access == Access::Read || matches!(tool.name, "ask_question" | "list_permissions")
    };
    tools::TABLE
        .iter()
        .filter(harmless)
        .map(|tool| allow(tool.name))
        .chain([Rule::new(Target::Any, Effect::Ask).handler(handler)])
        .collect()
}

/// Checks rules and compiles them. `servers` are the registered MCP servers: without them a rule
/// about one is refused, as it could be bypassed in silence.
pub fn enforce(
    rules: impl IntoIterator<Item = Rule>,
    servers: Option<&[McpServer]>,
) -> Result<Policies, PolicyError> {
    let builder = Policies::builder().rules(rules);
    match servers {
        Some(servers) => builder.servers(servers.iter().cloned()).build(),
        None => builder.build(),
    }
}
