//! The model, and the gate that its tool calls go through.

use std::fmt;
use std::future::Future;

use serde_json::Value;
use tollgate_core::TurnContext;
use tollgate_core::event::ToolPost;

use crate::hooks::{BoxFuture, HookRunner, permitted};
use crate::types::{AskQuestionEntry, ChatResponse, QuestionHookResult, ToolCall, ToolResult};

/// What answers prompts: a call of a provider's API, a process, a script in a test.
///
/// Tools that it wants to use it runs through `tools`; what it runs otherwise no hook sees.
pub trait Model: Send + Sync {
    /// Answers a prompt.
    fn respond(
        &self,
        prompt: &str,
        tools: &ToolGate,
    ) -> impl Future<Output = Result<ChatResponse, anyhow::Error>> + Send;
}

/// The object-safe form of [`Model`].
pub(super) trait DynModel: Send + Sync {
    fn respond<'a>(
        &'a self,
        prompt: &'a str,
        tools: &'a ToolGate,
    ) -> BoxFuture<'a, Result<ChatResponse, anyhow::Error>>;
}

impl<M: Model> DynModel for M {
    fn respond<'a>(
        &'a self,
        prompt: &'a str,
        tools: &'a ToolGate,
    ) -> BoxFuture<'a, Result<ChatResponse, anyhow::Error>> {
        Box::pin(Model::respond(self, prompt, tools))
    }
}

/// The way to the tools, for one turn: what goes through here goes through the hooks.
#[derive(Clone)]
pub struct ToolGate {
    hooks: HookRunner,
    turn: TurnContext,
}

impl ToolGate {
    pub(super) fn new(hooks: HookRunner, turn: TurnContext) -> Self {
        Self { hooks, turn }
    }

    /// Runs a tool, if hooks and policies let it.
    ///
    /// `run` is given the call as it was approved. What it returns goes to `post_tool_call`; an
    /// error goes to `on_tool_error`, where a hook may have a value to use instead. A call that is
    /// denied is not run and fires neither; its result is an error with the reason.
    pub async fn call<F, R>(&self, call: &ToolCall, run: F) -> ToolResult
    where
        F: FnOnce(ToolCall) -> R,
        R: Future<Output = Result<Value, anyhow::Error>>,
    {
        let operation = self.turn.operation();
        let came_to = |outcome: Result<Value, String>| {
            let id = Some(call.id.clone()).filter(|id| !id.is_empty());
            let (result, error) = match outcome {
                Ok(value) => (Some(value), None),
                Err(reason) => (None, Some(reason)),
            };
            ToolResult { name: call.name.clone(), id, result, error }
        };
        let decided = self.hooks.decide(&operation, self.hooks.tool_pre(call)).await;
        let approved = match decided.and_then(permitted) {
            Ok(approved) => approved.into_inner().call,
            Err(refusal) => return came_to(Err(refusal.reason)),
        };
        let result = match run(ToolCall::from(&approved)).await {
            Ok(result) => result,
            Err(error) => {
                let recovered = self.hooks.recover(&operation, approved, &error).await;
                return came_to(recovered.map(|(_, value)| value).ok_or(format!("{error:#}")));
            }
        };
        let done = self.hooks.decide(&operation, ToolPost { call: approved, result }).await;
        came_to(match done.and_then(permitted) {
            Ok(approved) => Ok(approved.into_inner().result),
            Err(refusal) => Err(refusal.reason),
        })
    }

    /// Asks the person something, through `on_interaction`; none where no hook answers.
    pub async fn ask(&self, questions: &[AskQuestionEntry]) -> Option<QuestionHookResult> {
        self.hooks.interact(&self.turn.operation(), questions).await
    }

    /// Says that the history was compacted, to `on_compaction`.
    pub async fn compacted(&self, summary: &str) {
        self.hooks.compacted(&self.turn.operation(), summary).await;
    }
}

impl fmt::Debug for ToolGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolGate").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}
