//! A session, driven through the hooks: a model that you bring, and its tools behind a gate.
//!
//! The original's agent starts a program of its own that talks to a model. This one has the same
//! life (build, start, chat, stop) and fires the same hooks, around a [`Model`] that you give it.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use tollgate_antigravity_sdk::agent::{Agent, Model, ToolGate};
//! use tollgate_antigravity_sdk::policy;
//! use tollgate_antigravity_sdk::types::{ChatResponse, ToolCall};
//!
//! /// Wants to delete everything, whatever it is asked.
//! struct Vandal;
//!
//! impl Model for Vandal {
//!     async fn respond(
//!         &self,
//!         _prompt: &str,
//!         tools: &ToolGate,
//!     ) -> Result<ChatResponse, anyhow::Error> {
//!         let call = ToolCall {
//!             id: "1".to_owned(),
//!             name: "run_command".to_owned(),
//!             args: json!({"CommandLine": "rm -rf /"}),
//!             canonical_path: None,
//!         };
//!         let done = tools.call(&call, |_call| async { Ok(json!("everything is gone")) }).await;
//!         let text = done.error.unwrap_or_else(|| "Done.".to_owned());
//!         Ok(ChatResponse { text, ..ChatResponse::default() })
//!     }
//! }
//!
//! # #[tokio::main] async fn main() -> Result<(), anyhow::Error> {
//! let agent = Agent::builder()
//!     .model(Vandal)
//!     .policies(vec![policy::deny("run_command"), policy::allow_all()])
//!     .build();
//! let agent = agent.start().await?;
//! assert_eq!(agent.chat("Hello!").await?.text, "Denied by policy 'run_command'.");
//! agent.stop().await?;
//! # Ok(()) }
//! ```

mod builder;
mod model;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{anyhow, bail};
use tollgate_core::event::{SessionEnd, SessionStart, TurnStart};
use tollgate_core::runner::Refusal;
use tollgate_core::verdict::Finish;
use tollgate_core::{SessionContext, SessionInfo};

use builder::Config;
pub use builder::{AgentBuilder, HasPolicies, NoPolicies};
pub use model::{Model, ToolGate};

use crate::hooks::{DynHook, HookRunner, permitted, turn_end};
use crate::policy::enforce;
use crate::types::ChatResponse;

/// The state an agent is in.
pub trait AgentLifecycle: Send + Sync + fmt::Debug {}

/// Not started: hooks can still be registered.
pub struct Unstarted {
    config: Config,
}

/// Started: it can be talked to.
pub struct Started {
    hooks: HookRunner,
    model: Arc<dyn model::DynModel>,
    session: SessionContext,
    /// What hooks want the model to know that it has not been told yet.
    untold: Mutex<Vec<String>>,
    stopped: AtomicBool,
}

impl AgentLifecycle for Unstarted {}
impl AgentLifecycle for Started {}

impl fmt::Debug for Unstarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unstarted").field("config", &self.config).finish()
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started")
            .field("hooks", &self.hooks)
            .field("session", &self.session)
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}

/// An agent. [`Agent::builder`] begins one.
#[derive(Debug)]
pub struct Agent<S: AgentLifecycle = Unstarted> {
    state: S,
}

impl Agent<Unstarted> {
    /// Starts to put an agent together.
    pub fn builder() -> AgentBuilder<NoPolicies> {
        AgentBuilder::new()
    }

    /// Adds a hook, behind those that are there.
    pub fn register_hook(&mut self, hook: Arc<dyn DynHook>) {
        self.state.config.hooks.push(hook);
    }

    /// Starts a session: checks the policies, registers the hooks and fires `on_session_start`.
    ///
    /// # Errors
    ///
    /// Where it has no model, or its policies are not valid ([`enforce`]).
    pub async fn start(self) -> Result<Agent<Started>, anyhow::Error> {
        let mut config = self.state.config;
        let Some(model) = config.model.take() else {
            bail!(
                "this agent has no model: give it one with `AgentBuilder::model`, as it does not \
                 bring one of its own"
            );
        };
        let enforcer = enforce(config.effective_policies(), Some(&config.mcp_servers))?;
        let hooks = config.runner.map_or_else(HookRunner::new, HookRunner::from);
        for hook in config.hooks {
            hooks.register(hook).await;
        }
        hooks.register(Arc::new(enforcer)).await;
        let info = SessionInfo {
            id: config.conversation_id.unwrap_or_default(),
            workspaces: config.workspaces.unwrap_or_default(),
            ..SessionInfo::default()
        };
        let session = SessionContext::new(info);
        let begun = hooks.decide(&session, SessionStart::default()).await.map_err(refused)?;
        let untold = Mutex::new(begun.into_parts().extra.0);
        let stopped = AtomicBool::new(false);
        Ok(Agent { state: Started { hooks, model, session, untold, stopped } })
    }
}

impl Agent<Started> {
    /// Has the model answer a prompt, with the hooks around it: `pre_turn` before, the tool hooks
    /// at each call through the [`ToolGate`], `post_turn` after.
    ///
    /// # Errors
    ///
    /// Where a hook does not allow the turn (the error is its message; `{:#}` has the hook, too),
    /// the model fails, or the agent was stopped.
    pub async fn chat(&self, prompt: &str) -> Result<ChatResponse, anyhow::Error> {
        let Started { hooks, model, session, untold, stopped } = &self.state;
        if stopped.load(Ordering::Acquire) {
            bail!("this agent was stopped");
        }
        let turn = session.turn();
        let outcome = hooks.decide(&turn, TurnStart::new(prompt)).await.map_err(refused)?;
        let added = outcome.extra.0.clone();
        let mut prompt = permitted(outcome).map_err(refused)?.into_inner().prompt;
        let mut texts = std::mem::take(&mut *untold.lock().unwrap_or_else(PoisonError::into_inner));
        texts.extend(added);
        for text in texts {
            prompt = format!("{prompt}\n\n{text}");
        }
        let tools = ToolGate::new(hooks.clone(), turn.clone());
        loop {
            let mut response = model.respond(&prompt, &tools).await?;
            let event = turn_end(&turn, &response);
            let outcome = hooks.decide(&turn, event).await.map_err(refused)?;
            let outcome = outcome.into_parts();
            match outcome.verdict {
                // A hook of the engine may send the agent round again; the engine counts.
                Finish::Continue { reason } => prompt = reason,
                Finish::Stop => {
                    response.text = outcome.event.response;
                    return Ok(response);
                }
            }
        }
    }

    /// The id of the conversation; empty where none was given.
    pub fn conversation_id(&self) -> String {
        self.state.session.info().id.clone()
    }

    /// Ends the session and fires `on_session_end`; the second time, nothing.
    ///
    /// # Errors
    ///
    /// Where the hooks could not be set up, and so not told.
    pub async fn stop(&self) -> Result<(), anyhow::Error> {
        let Started { hooks, session, stopped, .. } = &self.state;
        if !stopped.swap(true, Ordering::AcqRel) {
            drop(hooks.decide(session, SessionEnd::default()).await.map_err(refused)?);
        }
        Ok(())
    }
}

/// A refusal as an error: its message is what the model would be told, its cause the detail.
fn refused(refusal: Refusal) -> anyhow::Error {
    let Refusal { reason, detail } = refusal;
    match detail.as_str() {
        "" => anyhow!(reason),
        _ => anyhow!(detail).context(reason),
    }
}
