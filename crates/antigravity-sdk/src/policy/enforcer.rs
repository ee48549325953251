//! Policies, checked and compiled.

use tollgate_core::policy::{AskHandler, Effect, McpServer, Policies, PolicyError, Rule};
use tollgate_core::target::{Reading, Target};

use super::{Decision, Policy};
use crate::convert;
use crate::hooks::Hook;
use crate::types::{HookResult, McpServerConfig, ToolCall};

/// Checks policies and compiles them.
///
/// # Errors
///
/// Where a policy is about an MCP server (its tool has a `/`) and no servers are given, as it
/// could be passed by in silence; where a policy asks and has no handler; where a server has both
/// enabled and disabled tools, no name, or the name of another.
///
/// The error is a [`PolicyError`].
#[allow(clippy::needless_pass_by_value)] // the signature is the original's
pub fn enforce(
    policies: Vec<Policy>,
    mcp_servers: Option<&[McpServerConfig]>,
) -> Result<PolicyEnforcer, anyhow::Error> {
    let servers: Vec<McpServer> = mcp_servers.unwrap_or_default().iter().map(Into::into).collect();
    if servers.is_empty()
        && let Some(policy) = policies.iter().find(|policy| policy.tool.contains('/'))
    {
        return Err(PolicyError::ServersRequired { rule: policy.label().to_owned() }.into());
    }
    let names = servers.iter().map(|server| server.name.clone()).collect();
    let rules = policies.iter().flat_map(rules);
    let policies = Policies::builder().rules(rules).servers(servers).build()?;
    Ok(PolicyEnforcer { policies, servers: names })
}

/// A policy as the engine's rules.
fn rules(policy: &Policy) -> Vec<Rule> {
    let mut targets = vec![Target::parse(&policy.tool)];
    // A policy about `mcp_math_add` names the tool as calls do. Those are matched by server and
    // tool, so it has to be, too.
    let mcp = |Reading { server, tool }| Target::Mcp { server, tool };
    targets.extend(convert::readings(&policy.tool).into_iter().map(mcp));
    targets.into_iter().map(|target| rule(policy, target)).collect()
}

fn rule(policy: &Policy, target: Target) -> Rule {
    let effect = match policy.decision {
        Decision::Approve => Effect::Allow,
        Decision::Deny => Effect::Deny,
        Decision::AskUser => Effect::Ask,
    };
    let mut rule = Rule::new(target, effect).named(policy.label());
    if let Some(when) = policy.when.clone() {
        rule = rule.when(move |call| when(&call.into()));
    }
    if let Some(ask) = policy.ask_user.clone() {
        rule = rule.handler(AskHandler::new(move |request| ask(&request.call.into())));
    }
    rule
}

/// Compiled policies, as a hook.
///
/// In a [`HookRunner`](crate::hooks::HookRunner) and in [`registration`](crate::hooks::registration)
/// they become the engine's policies, which run behind all other hooks.
///
/// The name of an MCP call, `mcp_<server>_<tool>`, is read with the servers given to [`enforce`].
/// Where it could mean more than one of them, any deny wins and an allow has to hold for all. A
/// tool that its server has disabled, or not enabled, is denied.
#[derive(Debug, Clone)]
pub struct PolicyEnforcer {
    policies: Policies,
    servers: Vec<String>,
}

impl PolicyEnforcer {
    /// The policies in the engine's form.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The policies in the engine's form, for its [runner](tollgate_core::Runner).
    ///
    /// ```
    /// use tollgate_antigravity_sdk::policy;
    /// use tollgate_core::Runner;
    ///
    /// # fn main() -> Result<(), anyhow::Error> {
    /// let enforcer = policy::enforce(vec![policy::deny("run_command")], None)?;
    /// let runner = Runner::builder().policies(enforcer.into_policies()).build()?;
    /// # Ok(()) }
    /// ```
    pub fn into_policies(self) -> Policies {
        self.policies
    }

    /// The names of the servers given to [`enforce`].
    pub fn servers(&self) -> &[String] {
        &self.servers
    }
}

impl Hook for PolicyEnforcer {
    async fn pre_tool_call(&self, tool_call: &ToolCall) -> Result<HookResult, anyhow::Error> {
        let call = convert::call_with_servers(tool_call, &self.servers);
        let outcome = self.policies.decide(&call).await;
        Ok(HookResult { allow: outcome.is_allowed(), message: outcome.message })
    }

    fn enforcer(&self) -> Option<&PolicyEnforcer> {
        Some(self)
    }
}
