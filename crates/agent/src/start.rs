//! Starting an agent: from what was said of it to a session.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::{Mutex as TurnLock, Notify, watch};
use tollgate_config::hooks::Hooks;
use tollgate_config::load::{FileState, Loaded};
use tollgate_config::settings;
use tollgate_core::event::{Agent as Who, SessionStart};
use tollgate_core::mask::Masker;
use tollgate_core::policy::{McpServer, Otherwise, Policies};
use tollgate_core::runner::RunnerBuilder;
use tollgate_core::tools::{self, Access};
use tollgate_core::{Dialect, Kind, Mode, Runner, SessionContext, SessionInfo};
use tollgate_mcp::{McpError, Server, ServerConfig};
use tollgate_model::{Message, ToolSpec};
use tollgate_tools::{Cx, Spec, TaskLimits, Tasks, Workspaces, built_in, control};

use crate::agent::{Agent, EndOnDrop, Started};
use crate::builder::Config;
use crate::conversation::Conversation;
use crate::error::AgentError;
use crate::inbox::Inbox;
use crate::permission::{GrantedBy, Grants};
use crate::places::Seat;
use crate::pump;
use crate::schedule::Schedules;
use crate::session::{Actor, Session, Spent};
use crate::subagent::Subagents;
use crate::toolbox::{Offer, Toolbox, mcp_name};
use crate::transcript::{self, Entry, Transcript, TranscriptError};
use crate::watch::Watcher;

/// Starts an agent.
pub(crate) async fn start(mut config: Config) -> Result<Agent<Started>, AgentError> {
    let model = config.model.take().ok_or(AgentError::NoModel)?;
    let who = Who::default();
    let info = session_info(&config)?;
    let transcript = open_transcript(&info, masker(&config))?;
    let (history, is_written) = resumed(&config, &info, &who)?;
    let (servers, missing) = connect(std::mem::take(&mut config.servers)).await?;
    let toolbox = toolbox(&config, &servers, &missing)?;
    let (runner, hooks) = hooks(&mut config, &servers, &missing)?;
    check_governed(&toolbox, &servers, &runner)?;
    let workspaces = Workspaces::new(&config.workspaces).map_err(|error| {
        AgentError::Workspace { path: error.path, why: error.source.to_string() }
    })?;
    let mut tools = Cx::new(workspaces, Tasks::new(TaskLimits::default()));
    tools.session = Arc::from(info.id.as_str());
    tools.artifacts = info.artifacts.as_ref().map(|path| Arc::from(Path::new(path)));
    tools.read_outside = config.read_outside;
    let grants = info.workspaces.first().map_or_else(Grants::default, Grants::below);
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
        typing: tokio::sync::Mutex::new(()),
        grants,
        subagents: Subagents::new(config.subagents, config.limits.parallel_subagents),
        limits: config.limits,
        transcript: transcript.clone(),
        listener: config.listener,
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
        toolbox: RwLock::new(toolbox),
        conversation,
        compact_from: AtomicUsize::new(0),
        invocations: AtomicU64::new(0),
        inbox: Inbox::default(),
        ended: watch::Sender::new(false),
        seat: Seat::default(),
    });
    let start =
        SessionStart { agent: actor.who.clone(), model: Some(session.model.name().to_owned()) };
    let outcome = session.dispatch(&actor.who, &session.cx, start).await;
    for text in &outcome.extra.0 {
        actor.conversation.push(Message::System(text.clone()));
    }
    for Missing { name, error } in &missing {
        let message = format!("the MCP server `{name}` is left out: {error}");
        session.notify(&actor.who, &session.cx.turn(), "mcp", &message).await;
    }
    let (triggers, pump) = pump::start(config.triggers, &session);
    let tasks = pump::tell_of_tasks(&session);
    let end = EndOnDrop(Arc::clone(&session));
    Ok(Agent {
        state: Started {
            session,
            actor,
            hooks,
            servers,
            triggers,
            pump,
            tasks,
            _end: end,
            watcher,
            turn: TurnLock::new(()),
            turns: AtomicU64::new(0),
            cancelled: Notify::new(),
            facet: Mutex::new("default".to_owned()),
        },
    })
}

/// A server that did not start.
struct Missing {
    name: String,
    error: McpError,
}

/// Connects to all servers at once. One that does not start is left out, unless the agent is nothing without it.
async fn connect(
    wanted: Vec<(ServerConfig, bool)>,
) -> Result<(Vec<Arc<Server>>, Vec<Missing>), AgentError> {
    let connected = wanted.into_iter().map(|(config, is_required)| async move {
        let name = config.name.clone();
        (name, is_required, Server::connect(config).await)
    });
    let (mut servers, mut missing) = (Vec::new(), Vec::new());
    for (name, is_required, connected) in futures_util::future::join_all(connected).await {
        match connected {
            Ok(server) => servers.push(Arc::new(server)),
            Err(error) if is_required => return Err(error.into()),
            Err(error) => missing.push(Missing { name, error }),
        }
    }
    Ok((servers, missing))
}

/// The history of the session that this one goes on with, and whether it stands in the transcript as it is.
fn resumed(
    config: &Config,
    info: &SessionInfo,
    who: &Who,
) -> Result<(Vec<Message>, bool), AgentError> {
    let Some(path) = &config.resume else { return Ok((Vec::new(), true)) };
    let (lines, unread) = transcript::read(path)?;
    // Whoever wants to go on and has named another file must not begin anew without a word.
    if lines.is_empty() && !unread.is_empty() {
        return Err(TranscriptError::none(path).into());
    }
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

/// What is masked in the transcript: what is masked in the audit trail, with all that the settings add.
fn masker(config: &Config) -> Masker {
    let settings = config.files.as_ref().map(|setup| setup.settings.settings.masker());
    // Patterns are checked where the settings are read.
    settings.map_or_else(Masker::default, |masker| masker.unwrap_or_else(|_| Masker::everything()))
}

fn open_transcript(
    info: &SessionInfo,
    masker: Masker,
) -> Result<Option<Arc<Transcript>>, AgentError> {
    let Some(path) = &info.transcript else { return Ok(None) };
    let transcript = Transcript::open(Path::new(path), masker)?;
    Ok(Some(Arc::new(transcript)))
}

/// All tools that the model is told of.
fn toolbox(
    config: &Config,
    servers: &[Arc<Server>],
    missing: &[Missing],
) -> Result<Toolbox, AgentError> {
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
    let toolbox = Toolbox::new(all, servers);
    // Which tools a server would have had that did not start is not known.
    let may_be_missing =
        |name: &str| missing.iter().any(|server| name.starts_with(&mcp_name(&server.name, "")));
    let unknown = |name: &&String| toolbox.get(name).is_none() && !may_be_missing(name);
    let check = |names: &[String]| match names.iter().find(unknown) {
        None => Ok(()),
        Some(name) => Err(AgentError::NoSuchTool {
            name: name.clone(),
            known: toolbox.names().collect::<Vec<_>>().join(", "),
        }),
    };
    for kind in config.subagents.values() {
        check(kind.tools.as_deref().unwrap_or_default())?;
    }
    match (&config.enabled, &config.disabled) {
        (None, None) => Ok(toolbox),
        (Some(_), Some(_)) => Err(AgentError::EnabledAndDisabled),
        (Some(enabled), None) => {
            check(enabled)?;
            let enabled = enabled.clone();
            Ok(toolbox.only(move |name| enabled.iter().any(|wanted| wanted == name)))
        }
        (None, Some(disabled)) => {
            check(disabled)?;
            let disabled = disabled.clone();
            Ok(toolbox.only(move |name| disabled.iter().all(|unwanted| unwanted != name)))
        }
    }
}

/// The hooks of code and files, in one runner.
fn hooks(
    config: &mut Config,
    servers: &[Arc<Server>],
    missing: &[Missing],
) -> Result<(Runner, Option<Arc<Hooks>>), AgentError> {
    let mut policies = std::mem::take(&mut config.policies);
    let rules = std::mem::take(&mut config.rules);
    let otherwise = otherwise(config);
    // Rules about one that did not start are no mistake.
    let names = servers.iter().map(|server| server.name());
    let names = names.chain(missing.iter().map(|server| server.name.as_str()));
    let known = names.map(McpServer::new);
    let (has_rules, has_others) = (!rules.is_empty(), !policies.is_empty());
    let own = Policies::builder().rules(rules).servers(known).otherwise(otherwise).build();
    let own = own.map_err(AgentError::Policy)?;
    // Where there is no policy at all, none is about any call: what is closed then is closed for all.
    let mut closed = None;
    if has_rules {
        policies.push(own);
    } else if !has_others && otherwise == Otherwise::Closed {
        closed = Some(own);
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
            let hooks = Hooks::open_with(setup, |builder, loaded| match closed {
                Some(closed) if !has_policy(loaded) => add(builder).policies(closed),
                _ => add(builder),
            })?;
            let runner = hooks.runner().clone();
            Ok((runner, Some(Arc::new(hooks))))
        }
    }
}

/// What the settings say of calls that no policy is about.
fn otherwise(config: &Config) -> Otherwise {
    let settings = config.files.as_ref().map(|setup| setup.settings.settings.policy.otherwise);
    match settings {
        Some(settings::Otherwise::Closed) => Otherwise::Closed,
        Some(settings::Otherwise::Open) | None => Otherwise::Open,
    }
}

/// Whether a policy file takes part. It is closed by itself, where that is wanted.
fn has_policy(loaded: &Loaded) -> bool {
    loaded.files.iter().any(|file| {
        file.dialect == Dialect::Native
            && matches!(file.state, FileState::InForce | FileState::Broken | FileState::Changed)
    })
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
