//! Putting an agent together.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tollgate_config::load::Setup;
use tollgate_core::Registration;
use tollgate_core::audit::AuditSink;
use tollgate_core::policy::{self, Policies, Rule};
use tollgate_mcp::ServerConfig;
use tollgate_model::Model;
use tollgate_tools::Tool;

use crate::agent::{Agent, Unstarted};
use crate::limits::Limits;
use crate::permission::Resource;
use crate::person::{Nobody, Person};
use crate::subagent::Kind as SubagentKind;
use crate::trigger::Trigger;
use crate::update::{Listener, Update};

/// What was said of an agent so far.
pub(crate) struct Config {
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) instructions: Option<String>,
    pub(crate) hooks: Vec<Registration>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) policies: Vec<Policies>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) built_in: tollgate_tools::Config,
    /// Each with whether the agent does not start without it.
    pub(crate) servers: Vec<(ServerConfig, bool)>,
    pub(crate) enabled: Option<Vec<String>>,
    pub(crate) disabled: Option<Vec<String>>,
    pub(crate) workspaces: Vec<PathBuf>,
    pub(crate) read_outside: bool,
    pub(crate) files: Option<Setup>,
    pub(crate) watch: bool,
    pub(crate) limits: Limits,
    pub(crate) person: Arc<dyn Person>,
    pub(crate) listener: Listener,
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) resume: Option<PathBuf>,
    pub(crate) grants: Vec<Resource>,
    pub(crate) subagents: HashMap<String, SubagentKind>,
    pub(crate) triggers: Vec<Arc<dyn Trigger>>,
    pub(crate) id: Option<String>,
}

/// Puts an agent together. See [`Agent::builder`].
#[must_use = "call `build`, and `start` what it gives"]
pub struct AgentBuilder {
    config: Config,
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder").finish_non_exhaustive()
    }
}

impl Default for AgentBuilder {
    fn default() -> Self {
        Self {
            config: Config {
                model: None,
                instructions: None,
                hooks: Vec::new(),
                rules: Vec::new(),
                policies: Vec::new(),
                tools: Vec::new(),
                built_in: tollgate_tools::Config::default(),
                servers: Vec::new(),
                enabled: None,
                disabled: None,
                workspaces: Vec::new(),
                read_outside: false,
                files: None,
                watch: false,
                limits: Limits::default(),
                person: Arc::new(Nobody),
                listener: Arc::new(|_: &Update<'_>| ()),
                audit: None,
                directory: None,
                resume: None,
                grants: Vec::new(),
                subagents: HashMap::new(),
                triggers: Vec::new(),
                id: None,
            },
        }
    }
}

impl AgentBuilder {
    /// The model.
    pub fn model(mut self, model: impl Model) -> Self {
        self.config.model = Some(Arc::new(model));
        self
    }

    /// What the model is told before everything else.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.config.instructions = Some(text.into());
        self
    }

    /// Adds a hook.
    pub fn hook(mut self, hook: Registration) -> Self {
        self.config.hooks.push(hook);
        self
    }

    /// Adds hooks.
    pub fn hooks(mut self, hooks: impl IntoIterator<Item = Registration>) -> Self {
        self.config.hooks.extend(hooks);
        self
    }

    /// Adds a rule. All rules are one policy, in which the most specific and the strictest count.
    pub fn policy(mut self, rule: Rule) -> Self {
        self.config.rules.push(rule);
        self
    }

    /// Adds rules.
    pub fn policies(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.config.rules.extend(rules);
        self
    }

    /// Adds a policy that was put together elsewhere.
    pub fn enforce(mut self, policies: Policies) -> Self {
        self.config.policies.push(policies);
        self
    }

    /// Lets the agent do whatever no hook and no other rule denies.
    pub fn allow_all(self) -> Self {
        self.policy(policy::allow_all())
    }

    /// Adds a tool: see [`tollgate_tools::function`].
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.config.tools.push(Arc::new(tool));
        self
    }

    /// How the built-in tools are set up.
    pub fn built_in_tools(mut self, config: tollgate_tools::Config) -> Self {
        self.config.built_in = config;
        self
    }

    /// Adds an MCP server. If it does not start, the agent starts without it, and a notification of the kind `mcp` says
    /// so.
    pub fn mcp_server(mut self, server: ServerConfig) -> Self {
        self.config.servers.push((server, false));
        self
    }

    /// Adds an MCP server without which the agent does not start.
    pub fn required_mcp_server(mut self, server: ServerConfig) -> Self {
        self.config.servers.push((server, true));
        self
    }

    /// These tools and no others are told to the model.
    pub fn enabled_tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.config.enabled = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// These tools are not told to the model.
    pub fn disabled_tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.config.disabled = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a directory that the agent works in. Without any, it has no tools for files and commands.
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config.workspaces.push(directory.into());
        self
    }

    /// Lets tools read outside the workspaces, where policies decide about it.
    pub fn read_outside(mut self) -> Self {
        self.config.read_outside = true;
        self
    }

    /// Loads hook files.
    pub fn hook_files(mut self, setup: Setup) -> Self {
        self.config.files = Some(setup);
        self
    }

    /// Loads hook files again when they change.
    pub fn watch_hook_files(mut self) -> Self {
        self.config.watch = true;
        self
    }

    /// Sets the bounds.
    pub fn limits(mut self, set: impl FnOnce(&mut Limits)) -> Self {
        set(&mut self.config.limits);
        self
    }

    /// Who approves calls and answers questions.
    pub fn person(mut self, person: impl Person) -> Self {
        self.config.person = Arc::new(person);
        self
    }

    /// Who is told what happens.
    pub fn on_update(mut self, listener: impl Fn(&Update<'_>) + Send + Sync + 'static) -> Self {
        self.config.listener = Arc::new(listener);
        self
    }

    /// Where the audit trail of all hooks goes.
    pub fn audit(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.config.audit = Some(sink);
        self
    }

    /// The directory of the session: its transcript and its artifacts.
    pub fn session_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config.directory = Some(directory.into());
        self
    }

    /// Goes on where the session of a transcript ended.
    pub fn resume(mut self, transcript: impl Into<PathBuf>) -> Self {
        self.config.resume = Some(transcript.into());
        self
    }

    /// Permits a resource from the start.
    pub fn grant(mut self, resource: Resource) -> Self {
        self.config.grants.push(resource);
        self
    }

    /// Defines a sort of subagent. It has these tools, as far as whoever starts it has them; nothing said, all of those.
    pub fn subagent(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        instructions: impl Into<String>,
        tools: Option<&[&str]>,
    ) -> Self {
        let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
        let (description, instructions) = (description.into(), instructions.into());
        let kind = SubagentKind { description, instructions, tools };
        self.config.subagents.insert(name.into(), kind);
        self
    }

    /// Adds something that pushes messages into the session.
    pub fn trigger(mut self, trigger: impl Trigger) -> Self {
        self.config.triggers.push(Arc::new(trigger));
        self
    }

    /// The id of the session. Without, one is made.
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.config.id = Some(id.into());
        self
    }

    /// The agent, not started yet.
    pub fn build(self) -> Agent<Unstarted> {
        Agent { state: Unstarted { config: self.config } }
    }
}
