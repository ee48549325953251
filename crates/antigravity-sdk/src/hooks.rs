//! Hooks: the trait, its object-safe form, and what runs them.

mod adapter;
mod runner;

use std::future::{Future, ready};

use serde_json::Value;
pub use tollgate_core::hook::BoxFuture;

use crate::policy::PolicyEnforcer;
use crate::types::{
    AskQuestionEntry, ChatResponse, HookResult, QuestionHookResult, ToolCall, ToolResult,
};

pub use adapter::{registration, turn_end};
pub use runner::HookRunner;
pub(crate) use runner::permitted;

fn allowed() -> HookResult {
    HookResult { allow: true, message: String::new() }
}

/// A hook: it watches, decides on or recovers what an agent does. Every method has a default
/// that changes nothing.
///
/// # When a method fails
///
/// An error, a panic and a passed deadline count the same. In `pre_turn` and `pre_tool_call` they
/// deny; in `on_interaction` the questions are refused; in `on_tool_error` there is no recovery.
/// Everywhere else the agent goes on and the failure is recorded.
pub trait Hook: Send + Sync {
    /// A session begins.
    fn on_session_start(&self) -> impl Future<Output = Result<(), anyhow::Error>> + Send {
        ready(Ok(()))
    }

    /// A prompt was submitted and the model has not seen it yet. `allow: false` ends the turn.
    fn pre_turn(&self) -> impl Future<Output = Result<HookResult, anyhow::Error>> + Send {
        ready(Ok(allowed()))
    }

    /// A tool is about to run. `allow: false` keeps it from running, and the model is told the
    /// message.
    fn pre_tool_call<'a>(
        &'a self,
        _tool_call: &'a ToolCall,
    ) -> impl Future<Output = Result<HookResult, anyhow::Error>> + Send {
        ready(Ok(allowed()))
    }

    /// A tool has run.
    fn post_tool_call<'a>(
        &'a self,
        _result: &'a ToolResult,
    ) -> impl Future<Output = Result<(), anyhow::Error>> + Send {
        ready(Ok(()))
    }

    /// A tool has failed. `allow: true` with a value has the model get the value instead; with no
    /// value, it gets `null`. The first hook that allows wins.
    ///
    /// The error's text, with the texts of its causes, is that of the tool's error; its type is
    /// not.
    fn on_tool_error<'a>(
        &'a self,
        error: &'a anyhow::Error,
    ) -> impl Future<Output = Result<(HookResult, Option<Value>), anyhow::Error>> + Send {
        ready(Ok((HookResult { allow: false, message: error.to_string() }, None)))
    }

    /// The agent asks the person something. The first hook with answers wins.
    fn on_interaction<'a>(
        &'a self,
        _questions: &'a [AskQuestionEntry],
    ) -> impl Future<Output = Result<Option<QuestionHookResult>, anyhow::Error>> + Send {
        ready(Ok(None))
    }

    /// A session is over.
    fn on_session_end(&self) -> impl Future<Output = Result<(), anyhow::Error>> + Send {
        ready(Ok(()))
    }

    /// A turn is over and its response is known.
    fn post_turn<'a>(
        &'a self,
        _response: &'a ChatResponse,
    ) -> impl Future<Output = Result<(), anyhow::Error>> + Send {
        ready(Ok(()))
    }

    /// The history was compacted.
    fn on_compaction<'a>(
        &'a self,
        _summary: &'a str,
    ) -> impl Future<Output = Result<(), anyhow::Error>> + Send {
        ready(Ok(()))
    }

    // The engine runs policies behind all hooks and gives the people they ask their own time, so
    // it has to know which hook is an enforcer.
    #[doc(hidden)]
    fn enforcer(&self) -> Option<&PolicyEnforcer> {
        None
    }
}

/// The object-safe form of [`Hook`], which every hook has. Implement [`Hook`]; this follows.
pub trait DynHook: Send + Sync {
    /// See [`Hook::on_session_start`].
    fn on_session_start(&self) -> BoxFuture<'_, Result<(), anyhow::Error>>;

    /// See [`Hook::pre_turn`].
    fn pre_turn(&self) -> BoxFuture<'_, Result<HookResult, anyhow::Error>>;

    /// See [`Hook::pre_tool_call`].
    fn pre_tool_call<'a>(
        &'a self,
        tool_call: &'a ToolCall,
    ) -> BoxFuture<'a, Result<HookResult, anyhow::Error>>;

    /// See [`Hook::post_tool_call`].
    fn post_tool_call<'a>(
        &'a self,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<(), anyhow::Error>>;

    /// See [`Hook::on_tool_error`].
    fn on_tool_error<'a>(
        &'a self,
        error: &'a anyhow::Error,
    ) -> BoxFuture<'a, Result<(HookResult, Option<Value>), anyhow::Error>>;

    /// See [`Hook::on_interaction`].
    fn on_interaction<'a>(
        &'a self,
        questions: &'a [AskQuestionEntry],
    ) -> BoxFuture<'a, Result<Option<QuestionHookResult>, anyhow::Error>>;

    /// See [`Hook::on_session_end`].
    fn on_session_end(&self) -> BoxFuture<'_, Result<(), anyhow::Error>>;

    /// See [`Hook::post_turn`].
    fn post_turn<'a>(
        &'a self,
        response: &'a ChatResponse,
    ) -> BoxFuture<'a, Result<(), anyhow::Error>>;

    /// See [`Hook::on_compaction`].
    fn on_compaction<'a>(&'a self, summary: &'a str) -> BoxFuture<'a, Result<(), anyhow::Error>>;

    #[doc(hidden)]
    fn enforcer(&self) -> Option<&PolicyEnforcer> {
        None
    }

    // What records call a hook that was registered without a name.
    #[doc(hidden)]
    fn type_name(&self) -> &'static str {
        "hook"
    }
}

impl<T: Hook + ?Sized> DynHook for T {
    fn on_session_start(&self) -> BoxFuture<'_, Result<(), anyhow::Error>> {
        Box::pin(Hook::on_session_start(self))
    }

    fn pre_turn(&self) -> BoxFuture<'_, Result<HookResult, anyhow::Error>> {
        Box::pin(Hook::pre_turn(self))
    }

    fn pre_tool_call<'a>(
        &'a self,
        tool_call: &'a ToolCall,
    ) -> BoxFuture<'a, Result<HookResult, anyhow::Error>> {
        Box::pin(Hook::pre_tool_call(self, tool_call))
    }

    fn post_tool_call<'a>(
        &'a self,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<(), anyhow::Error>> {
        Box::pin(Hook::post_tool_call(self, result))
    }

    fn on_tool_error<'a>(
        &'a self,
        error: &'a anyhow::Error,
    ) -> BoxFuture<'a, Result<(HookResult, Option<Value>), anyhow::Error>> {
        Box::pin(Hook::on_tool_error(self, error))
    }

    fn on_interaction<'a>(
        &'a self,
        questions: &'a [AskQuestionEntry],
    ) -> BoxFuture<'a, Result<Option<QuestionHookResult>, anyhow::Error>> {
        Box::pin(Hook::on_interaction(self, questions))
    }

    fn on_session_end(&self) -> BoxFuture<'_, Result<(), anyhow::Error>> {
        Box::pin(Hook::on_session_end(self))
    }

    fn post_turn<'a>(
        &'a self,
        response: &'a ChatResponse,
    ) -> BoxFuture<'a, Result<(), anyhow::Error>> {
        Box::pin(Hook::post_turn(self, response))
    }

    fn on_compaction<'a>(&'a self, summary: &'a str) -> BoxFuture<'a, Result<(), anyhow::Error>> {
        Box::pin(Hook::on_compaction(self, summary))
    }

    fn enforcer(&self) -> Option<&PolicyEnforcer> {
        Hook::enforcer(self)
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }
}
