//! Putting an agent together.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use tollgate_core::Runner;

use super::model::{DynModel, Model};
use super::{Agent, Unstarted};
use crate::hooks::DynHook;
use crate::policy::{self, Decision, Policy};
use crate::types::{BuiltinTools, McpServerConfig};

/// What an agent is made of.
#[derive(Default)]
pub(super) struct Config {
    pub(super) model: Option<Arc<dyn DynModel>>,
    pub(super) runner: Option<Runner>,
    pub(super) hooks: Vec<Arc<dyn DynHook>>,
    pub(super) policies: Option<Vec<Policy>>,
    pub(super) mcp_servers: Vec<McpServerConfig>,
    pub(super) workspaces: Option<Vec<String>>,
    pub(super) conversation_id: Option<String>,
}

impl Config {
    /// The policies, with those that the original adds: shell commands are denied where nothing
    /// else was said, and files stay in the workspaces unless everything was allowed by name.
    pub(super) fn effective_policies(&mut self) -> Vec<Policy> {
        let given = self.policies.take().unwrap_or_else(|| policy::confirm_run_command(None));
        let allows_all = given.iter().any(|policy| {
            policy.tool == "*" && policy.decision == Decision::Approve && policy.name == "allow_all"
        });
        if allows_all {
            return given;
        }
        let workspaces = self.workspaces.get_or_insert_with(|| {
            let here = std::env::current_dir().map(|here| here.to_string_lossy().into_owned());
            here.into_iter().collect()
        });
        let mut policies = policy::workspace_only(workspaces.clone());
        policies.extend(given);
        policies
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("model", &self.model.is_some())
            .field("hooks", &self.hooks.len())
            .field("policies", &self.policies)
            .field("mcp_servers", &self.mcp_servers)
            .field("workspaces", &self.workspaces)
            .field("conversation_id", &self.conversation_id)
            .finish_non_exhaustive()
    }
}

/// Marks a builder that was given no policies.
#[derive(Debug, Clone, Copy)]
pub struct NoPolicies;

/// Marks a builder that was given policies.
#[derive(Debug, Clone, Copy)]
pub struct HasPolicies;

/// Puts an [`Agent`] together. It is built once it was said what its tools may do.
#[derive(Debug)]
#[must_use = "call `build` to get the agent"]
pub struct AgentBuilder<P = NoPolicies> {
    config: Config,
    policies: PhantomData<P>,
}

impl AgentBuilder<NoPolicies> {
    /// An agent of nothing yet.
    pub fn new() -> Self {
        Self { config: Config::default(), policies: PhantomData }
    }
}

impl Default for AgentBuilder<NoPolicies> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> AgentBuilder<P> {
    /// What answers the prompts.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.config.model = Some(Arc::new(model));
        self
    }

    /// The engine's runner to use: for its limits, its audit trail and hooks of the engine. Without
    /// one, the agent has its own.
    pub fn runner(mut self, runner: Runner) -> Self {
        self.config.runner = Some(runner);
        self
    }

    /// Adds a hook, behind those that are there.
    pub fn hook(mut self, hook: Arc<dyn DynHook>) -> Self {
        self.config.hooks.push(hook);
        self
    }

    /// Sets the hooks.
    pub fn hooks(mut self, hooks: Vec<Arc<dyn DynHook>>) -> Self {
        self.config.hooks = hooks;
        self
    }

    /// Adds an MCP server whose tools are called.
    pub fn mcp_server(mut self, server: McpServerConfig) -> Self {
        self.config.mcp_servers.push(server);
        self
    }

    /// Sets the MCP servers whose tools are called.
    pub fn mcp_servers(mut self, servers: Vec<McpServerConfig>) -> Self {
        self.config.mcp_servers = servers;
        self
    }

    /// The directories it works in. Unless everything is [allowed](Self::allow_all), file tools
    /// stay in these or, where none are given, in the current one.
    pub fn workspaces(mut self, workspaces: Vec<String>) -> Self {
        self.config.workspaces = Some(workspaces);
        self
    }

    /// The id of the conversation.
    pub fn conversation_id(mut self, conversation_id: impl Into<String>) -> Self {
        self.config.conversation_id = Some(conversation_id.into());
        self
    }

    /// Adds a policy.
    pub fn policy(mut self, policy: Policy) -> AgentBuilder<HasPolicies> {
        let mut policies = self.config.policies.take().unwrap_or_default();
        policies.push(policy);
        self.policies(policies)
    }

    /// Sets the policies.
    pub fn policies(mut self, policies: Vec<Policy>) -> AgentBuilder<HasPolicies> {
        self.config.policies = Some(policies);
        AgentBuilder { config: self.config, policies: PhantomData }
    }

    /// Lets every tool run that no hook denies.
    pub fn allow_all(self) -> AgentBuilder<HasPolicies> {
        self.policies(vec![policy::allow_all()])
    }

    /// Lets only tools run that change nothing.
    pub fn read_only(self) -> AgentBuilder<HasPolicies> {
        let harmless = BuiltinTools::read_only();
        let allowed = harmless.iter().map(|tool| policy::allow(tool.as_str()));
        self.policies([policy::deny_all()].into_iter().chain(allowed).collect())
    }

    /// The agent, also where no policies were given: then shell commands are denied.
    pub fn build_unchecked(self) -> Agent<Unstarted> {
        Agent { state: Unstarted { config: self.config } }
    }
}

impl AgentBuilder<HasPolicies> {
    /// The agent.
    pub fn build(self) -> Agent<Unstarted> {
        self.build_unchecked()
    }
}
