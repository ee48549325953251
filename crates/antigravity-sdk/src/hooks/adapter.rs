//! An old hook as a hook of the engine.

use std::future::Future;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::event::{
    CompactionPost, Event, Interaction, SessionEnd, SessionStart, ToolError, ToolPost, ToolPre,
    TurnEnd, TurnStart,
};
use tollgate_core::hook::{Ask, Handle, HookResult as Answered};
use tollgate_core::verdict::CanDeny;
use tollgate_core::{
    Answer, BoxError, Context, Dialect, OperationContext, Registration, TurnContext,
};

use super::{BoxFuture, DynHook};
use crate::context::HookContext;
use crate::types::{AskQuestionEntry, ChatResponse, HookResult, ToolCall, ToolResult};

/// An old hook, to be registered with a [`Runner`](tollgate_core::Runner) of the engine.
///
/// It is asked about the nine events that the original knows, by the rules of its dialect. A
/// [`PolicyEnforcer`](crate::policy::PolicyEnforcer) becomes the engine's policies, which run
/// behind all hooks and are called `policy`.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_antigravity_sdk::hooks::{self, Hook};
/// use tollgate_core::prelude::Runner;
///
/// struct Old;
/// impl Hook for Old {}
///
/// let runner = Runner::builder().register(hooks::registration("old", Arc::new(Old))).build()?;
/// # Ok::<(), tollgate_core::registry::RegisterError>(())
/// ```
pub fn registration(name: impl Into<String>, hook: Arc<dyn DynHook>) -> Registration {
    if let Some(enforcer) = hook.enforcer() {
        return enforcer.policies().clone().into_registration();
    }
    let adapter = Arc::new(Adapter(hook));
    Registration::named(name)
        .dialect(Dialect::AntigravitySdk)
        .and_on::<SessionStart>(adapter.clone())
        .and_on::<SessionEnd>(adapter.clone())
        .and_on::<TurnStart>(adapter.clone())
        .and_on::<TurnEnd>(adapter.clone())
        .and_on::<ToolPre>(adapter.clone())
        .and_on::<ToolPost>(adapter.clone())
        .and_on::<ToolError>(adapter.clone())
        .and_on::<Interaction>(adapter.clone())
        .and_on::<CompactionPost>(adapter)
}

/// The event of a turn that ends with `response`.
///
/// The engine's event has the text of a response only. The rest is left in `turn`, where
/// `post_turn` of old hooks finds it: dispatch the event with the same context. Without it they
/// get a response with no steps and no usage.
///
/// ```
/// use tollgate_antigravity_sdk::{hooks, types::ChatResponse};
/// use tollgate_core::prelude::*;
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runner = Runner::builder().build()?;
/// let turn = SessionContext::new(SessionInfo::default()).turn();
/// let response = ChatResponse { text: "Done.".to_owned(), ..ChatResponse::default() };
/// let outcome = runner.dispatch(&turn, hooks::turn_end(&turn, &response)).await;
/// assert_eq!(outcome.event.response, "Done.");
/// # Ok(()) }
/// ```
pub fn turn_end(turn: &TurnContext, response: &ChatResponse) -> TurnEnd {
    leave(turn, RESPONSE, response);
    TurnEnd::new(&response.text)
}

/// The event of a call that came to `result`. The engine's event has no place for an error beside
/// it; that is left in `operation`.
pub(super) fn tool_post(operation: &OperationContext, result: &ToolResult) -> ToolPost {
    leave(operation, ERROR, &result.error);
    let call = ToolCall {
        id: result.id.clone().unwrap_or_default(),
        name: result.name.clone(),
        args: Value::Null,
        canonical_path: None,
    };
    ToolPost { call: (&call).into(), result: result.result.clone().unwrap_or_default() }
}

/// Forgets what was said at an earlier recovery.
pub(super) fn forget_recovery(operation: &OperationContext) {
    leave(operation, RECOVERY, String::new());
}

/// What the hook that recovered said about it.
pub(super) fn recovery_message(operation: &OperationContext) -> String {
    find(operation, RECOVERY).unwrap_or_default()
}

/// What the original's payloads have and the engine's have not travels in the context of the
/// event, under these keys.
const RESPONSE: &str = "antigravity_sdk.response";
const ERROR: &str = "antigravity_sdk.error";
const RECOVERY: &str = "antigravity_sdk.recovery";

fn leave(context: &impl Context, key: &str, value: impl Serialize) {
    // What is left here is data of ours, which has a JSON form.
    context.set(key, value).unwrap_or_default();
}

fn find<T: for<'de> Deserialize<'de>>(context: &impl Context, key: &str) -> Option<T> {
    context.get(key).ok().flatten()
}

/// An old hook as the handler of each event that it knows.
struct Adapter(Arc<dyn DynHook>);

/// The hook's answer, worked out with its context as the current one.
fn within<'a, E, F>(ask: Ask<'a, E>, answer: F) -> BoxFuture<'a, Answered<E>>
where
    E: Event,
    E::Scope: Into<HookContext>,
    F: Future<Output = Answered<E>> + Send + 'a,
{
    let context: HookContext = ask.cx.clone().into();
    Box::pin(context.scope(answer))
}

/// `allow: true` is no opinion: an explicit allow could skip a prompt of the host.
fn gate<E: Event>(result: HookResult) -> Answer<E>
where
    E::Verdict: CanDeny,
{
    if result.allow { Answer::none() } else { Answer::deny(result.message) }
}

impl Handle<SessionStart> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, SessionStart>) -> BoxFuture<'a, Answered<SessionStart>> {
        within(ask, async { Ok(self.0.on_session_start().await?.into()) })
    }
}

impl Handle<SessionEnd> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, SessionEnd>) -> BoxFuture<'a, Answered<SessionEnd>> {
        within(ask, async { Ok(self.0.on_session_end().await?.into()) })
    }
}

impl Handle<TurnStart> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, TurnStart>) -> BoxFuture<'a, Answered<TurnStart>> {
        within(ask, async { Ok(gate(self.0.pre_turn().await?)) })
    }
}

impl Handle<TurnEnd> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, TurnEnd>) -> BoxFuture<'a, Answered<TurnEnd>> {
        within(ask, async move {
            let left: ChatResponse = find(ask.cx, RESPONSE).unwrap_or_default();
            // The text is the event's: a hook may have rewritten it.
            let response = ChatResponse { text: ask.event.response.clone(), ..left };
            Ok(self.0.post_turn(&response).await?.into())
        })
    }
}

impl Handle<ToolPre> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, ToolPre>) -> BoxFuture<'a, Answered<ToolPre>> {
        within(ask, async move {
            let call = ToolCall::from(&ask.event.call);
            Ok(gate(self.0.pre_tool_call(&call).await?))
        })
    }
}

impl Handle<ToolPost> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, ToolPost>) -> BoxFuture<'a, Answered<ToolPost>> {
        within(ask, async move {
            let mut result = ToolResult::from(ask.event);
            result.error = find(ask.cx, ERROR).flatten();
            if result.error.is_some() {
                result.result = result.result.filter(|value| !value.is_null());
            }
            Ok(self.0.post_tool_call(&result).await?.into())
        })
    }
}

impl Handle<ToolError> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, ToolError>) -> BoxFuture<'a, Answered<ToolError>> {
        within(ask, async move {
            let error = anyhow::Error::msg(ask.event.error.clone());
            let (result, value) = self.0.on_tool_error(&error).await?;
            if !result.allow {
                return Ok(Answer::none());
            }
            leave(ask.cx, RECOVERY, result.message);
            Ok(Answer::recover(value.unwrap_or_default()))
        })
    }
}

impl Handle<Interaction> for Adapter {
    fn handle<'a>(&'a self, ask: Ask<'a, Interaction>) -> BoxFuture<'a, Answered<Interaction>> {
        within(ask, async move {
            let questions: Vec<AskQuestionEntry> =
                ask.event.questions.iter().map(Into::into).collect();
            let answered = self.0.on_interaction(&questions).await?;
            Ok(answered.map_or_else(Answer::none, |result| Answer::reply(result.into())))
        })
    }
}

impl Handle<CompactionPost> for Adapter {
    fn handle<'a>(
        &'a self,
        ask: Ask<'a, CompactionPost>,
    ) -> BoxFuture<'a, Result<Answer<CompactionPost>, BoxError>> {
        within(ask, async move { Ok(self.0.on_compaction(&ask.event.summary).await?.into()) })
    }
}
