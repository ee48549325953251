//! Putting an agent together.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use tokio::sync::{Mutex as TurnLock, Notify, watch};
use tollgate_config::hooks::Hooks;
use tollgate_config::load::Setup;
use tollgate_core::audit::AuditSink;
use tollgate_core::event::{Agent as Who, SessionStart};
use tollgate_core::mask::Masker;
use tollgate_core::policy::{self, McpServer, Policies, Rule};
use tollgate_core::runner::RunnerBuilder;
use tollgate_core::tools::{self, Access};
use tollgate_core::{Kind, Mode, Registration, Runner, SessionContext, SessionInfo};
use tollgate_mcp::{Server, ServerConfig};
use tollgate_model::{Message, Model, ToolSpec};
use tollgate_tools::{Cx, Spec, TaskLimits, Tasks, Tool, Workspaces, built_in, control};

use crate::agent::{Agent, Started, Unstarted};
use crate::conversation::Conversation;
use crate::error::AgentError;
use crate::inbox::Inbox;
use crate::limits::Limits;
use crate::permission::{GrantedBy, Grants, Resource};
use crate::person::{Nobody, Person};
use crate::pump;
use crate::schedule::Schedules;
use crate::session::{Actor, Session, Spent};
use crate::subagent::{Kind as SubagentKind, Subagents};
use crate::toolbox::{Offer, Toolbox, mcp_name};
use crate::transcript::{self, Entry, Transcript};
use crate::trigger::Trigger;
use crate::update::{Listener, Update};
use crate::watch::Watcher;

/// What was said of an agent so far.
pub(crate) struct Config {
    model: Option<Arc<dyn Model>>,
    instructions: Option<String>,
    pub(crate) hooks: Vec<Registration>,
    rules: Vec<Rule>,
    policies: Vec<Policies>,
    tools: Vec<Arc<dyn Tool>>,
    built_in: tollgate_tools::Config,
    servers: Vec<ServerConfig>,
    enabled: Option<Vec<String>>,
    disabled: Option<Vec<String>>,
    workspaces: Vec<PathBuf>,
    read_outside: bool,
    files: Option<Setup>,
    watch: bool,
    limits: Limits,
    person: Arc<dyn Person>,
    listener: Listener,
    audit: Option<Arc<dyn AuditSink>>,
    directory: Option<PathBuf>,
    resume: Option<PathBuf>,
    grants: Vec<Resource>,
    subagents: HashMap<String, SubagentKind>,
    triggers: Vec<Arc<dyn Trigger>>,
    id: Option<String>,
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

    /// Adds an MCP server.
    pub fn mcp_server(mut self, server: ServerConfig) -> Self {
        self.config.servers.push(server);
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

/// Starts an agent.
pub(crate) async fn start(mut config: Config) -> Result<Agent<Started>, AgentError> {
    let model = config.model.take().ok_or(AgentError::NoModel)?;
    let who = Who::default();
    let info = session_info(&config)?;
    let transcript = open_transcript(&info)?;
    let (history, is_written) = resumed(&config, &info, &who)?;
    let mut servers = Vec::new();
    for server in std::mem::take(&mut config.servers) {
        servers.push(Arc::new(Server::connect(server).await?));
    }
    let toolbox = toolbox(&config, &servers)?;
    let (runner, hooks) = hooks(&mut config, &servers)?;
    check_governed(&toolbox, &servers, &runner)?;
    let workspaces = Workspaces::new(&config.workspaces).map_err(|error| {
        let path = config.workspaces.first().cloned().unwrap_or_default();
        AgentError::Workspace { path, why: error.to_string() }
    })?;
    let mut tools = Cx::new(workspaces, Tasks::new(TaskLimits::default()));
    tools.session = Arc::from(info.id.as_str());
    tools.artifacts = info.artifacts.as_ref().map(|path| Arc::from(Path::new(path)));
    tools.read_outside = config.read_outside;
    let grants = Grants::default();
    for resource in config.grants {
        grants.add(resource, GrantedBy::Setup);
    }
    let watcher = match &hooks {
        Some(hooks) if config.watch => Some(Watcher::start(hooks, &config.listener)?),
        _ => None,
    };
    if let Some(transcript) = &transcript {
        transcript.write(
            &who,
            Entry::Session {
                id: info.id.clone(),
                model: model.name().to_owned(),
                workspaces: info.workspaces.clone(),
            },
        );
        // Whoever goes on from here another time finds all of it.
        if !is_written {
            transcript.write(&who, Entry::Compacted { messages: history.clone() });
        }
    }
    let session = Arc::new(Session {
        runner,
        cx: SessionContext::new(info),
        model,
        tools,
        person: config.person,
        asking: tokio::sync::Mutex::new(()),
        grants,
        limits: config.limits,
        transcript: transcript.clone(),
        listener: config.listener,
        subagents: Subagents::with_kinds(config.subagents),
        schedules: Schedules::default(),
        spent: Spent::default(),
        inbox: Arc::default(),
        tap: Mutex::new(None),
        injected: AtomicU64::new(0),
    });
    let conversation = Conversation::new(who.clone(), history, transcript);
    let actor = Arc::new(Actor {
        who,
        instructions: config.instructions,
        toolbox,
        conversation,
        invocations: AtomicU64::new(0),
        inbox: Inbox::default(),
        ended: watch::Sender::new(false),
    });
    let start =
        SessionStart { agent: actor.who.clone(), model: Some(session.model.name().to_owned()) };
    let outcome = session.dispatch(&actor.who, &session.cx, start).await;
    for text in &outcome.extra.0 {
        actor.conversation.push(Message::System(text.clone()));
    }
    let (triggers, pump) = pump::start(config.triggers, &session);
    Ok(Agent {
        state: Started {
            session,
            actor,
            hooks,
            servers,
            triggers,
            pump,
            watcher,
            turn: TurnLock::new(()),
            turns: AtomicU64::new(0),
            cancelled: Notify::new(),
            facet: Mutex::new("default".to_owned()),
        },
    })
}

/// The history of the session that this one goes on with, and whether it stands in the transcript as it is.
fn resumed(
    config: &Config,
    info: &SessionInfo,
    who: &Who,
) -> Result<(Vec<Message>, bool), AgentError> {
    let Some(path) = &config.resume else { return Ok((Vec::new(), true)) };
    let lines = transcript::read(path)?.0;
    let history = transcript::history(&lines, &who.id);
    let is_same = info
        .transcript
        .as_ref()
        .is_some_and(|own| path.canonicalize().is_ok_and(|path| path.as_path() == Path::new(own)));
    let is_written = is_same && history.len() == transcript::said(&lines, &who.id).len();
    Ok((history, is_written))
}

fn session_info(config: &Config) -> Result<SessionInfo, AgentError> {
    let id = config.id.clone().unwrap_or_else(new_id);
    let absolute = |path: &PathBuf| {
        let unusable = |why: std::io::Error| AgentError::Workspace {
            path: path.clone(),
            why: why.to_string(),
        };
        let path = path.canonicalize().map_err(unusable)?;
        Ok(path.to_string_lossy().into_owned())
    };
    let workspaces = config.workspaces.iter().map(absolute).collect::<Result<_, AgentError>>()?;
    let mut info = SessionInfo { id, workspaces, ..SessionInfo::default() };
    if let Some(directory) = &config.directory {
        let artifacts = directory.join("artifacts");
        let failed = |source| AgentError::Directory { path: artifacts.clone(), source };
        std::fs::create_dir_all(&artifacts).map_err(failed)?;
        let directory = directory.canonicalize().map_err(failed)?;
        let shown = |name: &str| Some(directory.join(name).to_string_lossy().into_owned());
        info.transcript = shown("transcript.jsonl");
        info.artifacts = shown("artifacts");
    }
    Ok(info)
}

/// An id as hosts make them: random, in the shape of a UUID.
fn new_id() -> String {
    // The keys of a hasher are random, which is all the randomness that the standard library has.
    let random = || RandomState::new().build_hasher().finish();
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

fn open_transcript(info: &SessionInfo) -> Result<Option<Arc<Transcript>>, AgentError> {
    let Some(path) = &info.transcript else { return Ok(None) };
    let transcript = Transcript::open(Path::new(path), Masker::default())?;
    Ok(Some(Arc::new(transcript)))
}

/// All tools that the model is told of.
fn toolbox(config: &Config, servers: &[Arc<Server>]) -> Result<Toolbox, AgentError> {
    let spec = |spec: &Spec| ToolSpec {
        name: spec.name.clone(),
        description: spec.description.clone(),
        parameters: spec.parameters.clone(),
    };
    let mut all: Vec<(ToolSpec, Offer)> = Vec::new();
    let built_in = built_in(&config.built_in);
    for tool in config.tools.iter().cloned().chain(built_in) {
        let needs_workspace = tools::lookup(&tool.spec().name)
            .is_some_and(|known| known.args.iter().any(|arg| arg.is_path));
        if !(needs_workspace && config.workspaces.is_empty()) {
            all.push((spec(tool.spec()), Offer::Tool(tool)));
        }
    }
    for control in control::specs() {
        if let Some(known) = tools::lookup(&control.name) {
            all.push((spec(&control), Offer::Control(known.name)));
        }
    }
    for server in servers {
        for tool in &*server.tools() {
            let name = mcp_name(server.name(), &tool.name);
            let (description, parameters) = (tool.description.clone(), tool.parameters.clone());
            let offer = Offer::Mcp { server: Arc::clone(server), tool: tool.name.clone() };
            all.push((ToolSpec { name, description, parameters }, offer));
        }
    }
    let toolbox = Toolbox::new(all);
    let check = |names: &[String]| match names.iter().find(|name| toolbox.get(name).is_none()) {
        None => Ok(()),
        Some(name) => Err(AgentError::NoSuchTool {
            name: name.clone(),
            known: toolbox.names().collect::<Vec<_>>().join(", "),
        }),
    };
    match (&config.enabled, &config.disabled) {
        (None, None) => Ok(toolbox),
        (Some(_), Some(_)) => Err(AgentError::EnabledAndDisabled),
        (Some(enabled), None) => {
            check(enabled)?;
            Ok(toolbox.only(|name| enabled.iter().any(|wanted| wanted == name)))
        }
        (None, Some(disabled)) => {
            check(disabled)?;
            Ok(toolbox.only(|name| disabled.iter().all(|unwanted| unwanted != name)))
        }
    }
}

/// The hooks of code and files, in one runner.
fn hooks(
    config: &mut Config,
    servers: &[Arc<Server>],
) -> Result<(Runner, Option<Arc<Hooks>>), AgentError> {
    let mut policies = std::mem::take(&mut config.policies);
    if !config.rules.is_empty() {
        let known = servers.iter().map(|server| McpServer::new(server.name()));
        let rules = std::mem::take(&mut config.rules);
        let built = Policies::builder().rules(rules).servers(known).build();
        policies.push(built.map_err(AgentError::Policy)?);
    }
    let registrations = std::mem::take(&mut config.hooks);
    let audit = config.audit.take();
    let add = move |mut builder: RunnerBuilder| {
        for registration in registrations {
            builder = builder.register(registration);
        }
        for policies in policies {
            builder = builder.policies(policies);
        }
        match audit {
            Some(sink) => builder.audit(sink),
            None => builder,
        }
    };
    match config.files.take() {
        None => Ok((add(Runner::builder()).build()?, None)),
        Some(setup) => {
            let hooks = Hooks::open_with(setup, |builder, _| add(builder))?;
            let runner = hooks.runner().clone();
            Ok((runner, Some(Arc::new(hooks))))
        }
    }
}

/// An agent that could do harm needs somebody who decides about it.
fn check_governed(
    toolbox: &Toolbox,
    servers: &[Arc<Server>],
    runner: &Runner,
) -> Result<(), AgentError> {
    let decides = |hook: &Arc<tollgate_core::registry::HookInfo>| {
        hook.mode != Mode::Inspect && hook.name != tollgate_config::guard::NAME
    };
    if runner.hooks(Kind::ToolPre).any(|hook| decides(&hook)) {
        return Ok(());
    }
    let writes = |name: &&str| {
        let known = tools::lookup(name);
        known.is_some_and(|tool| matches!(tool.access, Access::Write | Access::Execute))
    };
    let writing: Vec<_> = toolbox.names().filter(writes).collect();
    if !writing.is_empty() {
        return Err(AgentError::Ungoverned { what: format!("use {}", writing.join(", ")) });
    }
    match servers.first() {
        Some(server) => {
            let what = format!("use the tools of the MCP server `{}`", server.name());
            Err(AgentError::Ungoverned { what })
        }
        None => Ok(()),
    }
}
