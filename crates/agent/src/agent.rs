//! An agent: not started yet, or in the middle of its session.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{Stream, stream};
use tokio::sync::{Mutex as TurnLock, Notify, mpsc};
use tollgate_config::hooks::{Hooks, InForce, Reloaded};
use tollgate_core::event::{FacetSwitch, SessionEnd};
use tollgate_core::registry::RegisterError;
use tollgate_core::runner::Refusal;
use tollgate_core::{Registration, Runner, SessionInfo};
use tollgate_mcp::Server;
use tollgate_model::Usage;

use crate::builder::{AgentBuilder, Config};
use crate::conversation::Conversation;
use crate::error::AgentError;
use crate::permission::Grants;
use crate::pump::Pump;
use crate::session::{Actor, Session};
use crate::transcript::Entry;
use crate::trigger::Triggers;
use crate::turn::Prompt;
use crate::update::Update;

/// What came of a turn.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Response {
    /// What the agent answers.
    pub text: String,
    /// Why the turn did not begin, where hooks refused its prompt.
    pub refused: Option<Refusal>,
    /// What went wrong, where the turn ended with an error.
    pub error: Option<String>,
    /// What it cost.
    pub usage: Usage,
}

/// A part of a turn, as it happens.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Chunk {
    /// A piece of what the model says.
    Text(String),
    /// What was said since the last call of the model is void: it is called again.
    Void,
    /// The turn is over.
    Done(Response),
}

/// A turn whose pieces are taken as they come.
struct UnderWay<F> {
    pieces: mpsc::UnboundedReceiver<Chunk>,
    turn: Option<F>,
    /// What it came to, until all pieces before it are taken.
    done: Option<Result<Chunk, AgentError>>,
}

impl<F: Future<Output = Result<Chunk, AgentError>> + Unpin> UnderWay<F> {
    async fn next(&mut self) -> Option<Result<Chunk, AgentError>> {
        if let Some(turn) = &mut self.turn {
            tokio::select! {
                biased;
                Some(piece) = self.pieces.recv() => return Some(Ok(piece)),
                done = turn => self.done = Some(done),
            }
            self.turn = None;
        }
        self.pieces.try_recv().map(Ok).ok().or_else(|| self.done.take())
    }
}

/// Not started: hooks can still be registered.
pub struct Unstarted {
    pub(crate) config: Config,
}

/// Started: it can be talked to.
pub struct Started {
    pub(crate) session: Arc<Session>,
    pub(crate) actor: Arc<Actor>,
    pub(crate) hooks: Option<Arc<Hooks>>,
    pub(crate) servers: Vec<Arc<Server>>,
    pub(crate) triggers: Option<Triggers>,
    pub(crate) pump: Option<Pump>,
    pub(crate) watcher: Option<crate::watch::Watcher>,
    /// One turn at a time.
    pub(crate) turn: TurnLock<()>,
    pub(crate) turns: AtomicU64,
    pub(crate) cancelled: Notify,
    pub(crate) facet: Mutex<String>,
}

/// An agent. [`Agent::builder`] begins one.
pub struct Agent<S = Unstarted> {
    pub(crate) state: S,
}

impl Agent {
    /// Starts to put an agent together.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }
}

impl Agent<Unstarted> {
    /// Adds a hook, behind those that are there.
    pub fn register_hook(&mut self, hook: Registration) {
        self.state.config.hooks.push(hook);
    }

    /// Starts the session: loads hook files, connects to MCP servers, checks what the agent may do, and fires
    /// `session.start`.
    pub async fn start(self) -> Result<Agent<Started>, AgentError> {
        // On the heap: it holds all that is being put together.
        Box::pin(crate::start::start(self.state.config)).await
    }
}

impl Agent<Started> {
    /// Has the agent answer a prompt. Dropping the future cancels the turn: the model's call, the tools and the hooks
    /// that are under way end.
    pub async fn chat(&self, prompt: impl Into<String>) -> Result<Response, AgentError> {
        self.run(Prompt { text: prompt.into(), trigger: None }, None).await
    }

    /// As [`chat`](Self::chat), piece by piece. The last piece is the response.
    pub fn chat_stream(
        &self,
        prompt: impl Into<String>,
    ) -> impl Stream<Item = Result<Chunk, AgentError>> {
        let (sender, pieces) = mpsc::unbounded_channel();
        let prompt = Prompt { text: prompt.into(), trigger: None };
        let turn = Box::pin(async move { self.run(prompt, Some(sender)).await.map(Chunk::Done) });
        let under_way = UnderWay { pieces, turn: Some(turn), done: None };
        stream::unfold(under_way, |mut under_way| async move {
            let next = under_way.next().await?;
            Some((next, under_way))
        })
    }

    /// Waits until a message of a trigger, a timer or a subagent is there, and takes nothing: giving it up loses nothing.
    /// [`next_triggered`](Self::next_triggered) takes it.
    pub async fn message_waits(&self) {
        self.state.session.inbox.waits().await;
    }

    /// Waits for the next message of a trigger, a timer or a subagent, and has the agent answer it. Hooks see that turn
    /// as any other. Dropping the future cancels the turn, and the message is gone with it.
    pub async fn next_triggered(&self) -> Result<Response, AgentError> {
        let mail = self.state.session.inbox.next().await;
        let text = if mail.is_of_agent { mail.shown() } else { mail.text };
        self.run(Prompt { text, trigger: Some(mail.from) }, None).await
    }

    /// Runs a turn, once those before it are over. Its pieces go to `pieces`.
    async fn run(
        &self,
        prompt: Prompt,
        pieces: Option<mpsc::UnboundedSender<Chunk>>,
    ) -> Result<Response, AgentError> {
        let Started { session, actor, turn, turns, cancelled, .. } = &self.state;
        let _one_at_a_time = turn.lock().await;
        let _tap = pieces.map(|pieces| session.tap(pieces));
        let limits = &session.limits;
        if turns.fetch_add(1, Ordering::Relaxed) >= limits.turns {
            return Err(AgentError::TooManyTurns(limits.turns));
        }
        tokio::select! {
            biased;
            () = cancelled.notified() => Err(AgentError::Cancelled),
            answer = tokio::time::timeout(limits.turn_time, Box::pin(session.turn(actor, prompt))) => {
                answer.map_err(|_| AgentError::TooLong(limits.turn_time))
            }
        }
    }

    /// Cancels the turn under way, from another task.
    pub fn cancel(&self) {
        self.state.cancelled.notify_waiters();
    }

    /// What was said so far.
    pub fn conversation(&self) -> &Conversation {
        &self.state.actor.conversation
    }

    /// What may be used without a person being asked.
    pub fn grants(&self) -> &Grants {
        &self.state.session.grants
    }

    /// What is known of the session: its id, its directories.
    pub fn session(&self) -> &SessionInfo {
        self.state.session.cx.info()
    }

    /// What the session has cost so far.
    pub fn usage(&self) -> Usage {
        self.state.session.spent.usage()
    }

    /// The names of its tools, as the model knows them.
    pub fn tools(&self) -> Vec<String> {
        self.state.actor.toolbox.names().map(str::to_owned).collect()
    }

    /// What runs its hooks.
    pub fn runner(&self) -> &Runner {
        &self.state.session.runner
    }

    /// The hook files that are in force, where it has any.
    pub fn hook_files(&self) -> Option<Arc<InForce>> {
        self.state.hooks.as_ref().map(|hooks| hooks.in_force())
    }

    /// Loads the hook files again.
    pub fn reload_hook_files(&self) -> Option<Reloaded> {
        self.state.hooks.as_ref().map(|hooks| hooks.reload())
    }

    /// Adds a hook. What is under way is not affected.
    pub fn register_hook(&self, hook: Registration) -> Result<(), RegisterError> {
        self.state.session.runner.register(hook)
    }

    /// Tells hooks that the agent has another role from now on, and the model what that is.
    pub async fn switch_facet(&self, facet: impl Into<String>, instructions: Option<String>) {
        let to = facet.into();
        let from = {
            let mut facet = self.state.facet.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *facet, to.clone())
        };
        let Started { session, actor, .. } = &self.state;
        let event = FacetSwitch {
            from,
            to,
            agent: actor.who.clone(),
            model: Some(session.model.name().to_owned()),
        };
        drop(session.dispatch(&actor.who, &session.cx.turn(), event).await);
        if let Some(instructions) = instructions {
            actor.conversation.push(tollgate_model::Message::System(instructions));
        }
    }

    /// Ends the session: what runs in the background is ended, `session.end` is fired, and what still watches is
    /// waited for.
    pub async fn stop(self) {
        let Started { session, actor, servers, triggers, pump, watcher, cancelled, turn, .. } =
            self.state;
        cancelled.notify_waiters();
        let _no_turn = turn.lock().await;
        drop(watcher);
        session.schedules.end_all();
        session.subagents.shutdown().await;
        if let Some(triggers) = triggers {
            triggers.stop().await;
        }
        drop(pump);
        session.tools.tasks.shutdown().await;
        let end =
            SessionEnd { agent: actor.who.clone(), model: Some(session.model.name().to_owned()) };
        drop(session.dispatch(&actor.who, &session.cx, end).await);
        for server in servers {
            server.close().await;
        }
        if let Some(transcript) = &session.transcript {
            transcript.write(&actor.who, Entry::End);
            if let Some(problem) = transcript.problem() {
                session.tell(&Update::Notice { kind: "transcript", message: &problem });
            }
        }
    }
}

impl fmt::Debug for Unstarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unstarted").finish_non_exhaustive()
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("session", self.session.cx.info()).finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for Agent<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").finish_non_exhaustive()
    }
}
