//! The original's runner, as a front of the engine's.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tollgate_core::event::{
    self, CompactionPost, Event, Interaction, SessionEnd, SessionStart, ToolError, ToolPre,
    TurnStart,
};
use tollgate_core::registry::RegisterError;
use tollgate_core::runner::{Approved, Limits, Permit, Refusal};
use tollgate_core::verdict::Reply;
use tollgate_core::{OperationContext, Outcome, Runner, SessionContext, SessionInfo, TurnContext};

use super::{DynHook, adapter, allowed, registration};
use crate::convert;
use crate::types::{
    AskQuestionEntry, ChatResponse, HookResult, QuestionHookResult, QuestionResponse, ToolCall,
    ToolResult,
};

/// How long a dispatch waits for hooks that only watch.
const WATCHERS: Duration = Duration::from_mins(1);

/// How many calls are remembered whose result has not come, so that what comes before and after a
/// call can share its context.
const OPEN_CALLS: usize = 256;

/// What the model is told where nobody can be asked.
const NOBODY_TO_ASK: &str = "A person has to approve this, and there is nobody to ask.";

/// What the model is told where the hooks could not be set up.
const NOT_SET_UP: &str = "A required check could not be set up, so this was not allowed.";

/// Runs hooks, by the engine. Cheap to clone; all clones share their hooks.
///
/// The methods are the original's. They differ in two ways:
///
/// * A hook that fails does not fail the dispatch. At a gate the result is the refusal that the
///   failure means: `allow: false` from `dispatch_pre_turn` and `dispatch_pre_tool_call`, cancelled
///   answers from `dispatch_interaction`, no recovery from `dispatch_on_tool_error`. The other
///   methods return `Ok(())`. Which hook failed and how is in the audit trail of the
///   [runner](Self::runner).
/// * A [`PolicyEnforcer`](crate::policy::PolicyEnforcer) runs behind all other hooks, wherever it
///   was registered, and the people it asks have ten minutes.
///
/// Hooks that only watch (`post_tool_call`, `post_turn`, `on_session_end`, `on_compaction`) run on
/// the engine's own threads. A dispatch waits for them, up to a minute, and cuts off the rest.
///
/// For other limits and an audit trail, make it [from a runner](Self#impl-From<Runner>-for-HookRunner):
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use tollgate_antigravity_sdk::hooks::HookRunner;
/// use tollgate_core::{Runner, audit::MemorySink};
///
/// let audit = Arc::new(MemorySink::new(1_000));
/// let runner = Runner::builder()
///     .audit(audit.clone())
///     .limits(|limits| limits.hook = Duration::from_secs(5))
///     .build()?;
/// let hooks = HookRunner::from(runner);
/// # Ok::<(), tollgate_core::registry::RegisterError>(())
/// ```
#[derive(Clone)]
pub struct HookRunner {
    shared: Arc<Shared>,
}

struct Shared {
    runner: Runner,
    /// A hook that is not there guards nothing: where one could not be registered, gates close.
    unregistered: OnceLock<RegisterError>,
    /// The MCP servers that enforcers were told of.
    servers: Mutex<Vec<String>>,
    scopes: Mutex<Scopes>,
}

/// Where dispatches that name no context take place.
struct Scopes {
    session: SessionContext,
    turn: TurnContext,
    open_calls: VecDeque<(String, OperationContext)>,
}

impl Scopes {
    fn new(info: SessionInfo) -> Self {
        let session = SessionContext::new(info);
        Self { turn: session.turn(), session, open_calls: VecDeque::new() }
    }

    fn next_turn(&mut self) -> TurnContext {
        self.turn = self.session.turn();
        self.open_calls.clear();
        self.turn.clone()
    }

    fn open_call(&mut self, id: &str) -> OperationContext {
        let operation = self.turn.operation();
        if !id.is_empty() {
            self.open_calls.push_back((id.to_owned(), operation.clone()));
            if self.open_calls.len() > OPEN_CALLS {
                self.open_calls.pop_front();
            }
        }
        operation
    }

    fn close_call(&mut self, id: Option<&str>) -> OperationContext {
        let at = self.open_calls.iter().rposition(|(open, _)| Some(open.as_str()) == id);
        match at.and_then(|at| self.open_calls.remove(at)) {
            Some((_, operation)) => operation,
            None => self.turn.operation(),
        }
    }
}

impl HookRunner {
    /// A runner without hooks.
    pub fn new() -> Self {
        // A hook has its own deadline; at the end of a turn, none that keeps it is cut off.
        Self::from(Runner::new(Limits { drain: WATCHERS, ..Limits::default() }))
    }

    /// The engine's runner that it stands in front of. Hooks of the engine that are registered
    /// with it take part in every dispatch.
    pub fn runner(&self) -> &Runner {
        &self.shared.runner
    }

    /// Adds a hook, behind those that are there.
    #[allow(clippy::unused_async)] // the signature is the original's
    pub async fn register(&self, hook: Arc<dyn DynHook>) {
        if let Some(enforcer) = hook.enforcer() {
            lock(&self.shared.servers).extend_from_slice(enforcer.servers());
        }
        let registered = self.shared.runner.register(registration(hook.type_name(), hook));
        if let Err(problem) = registered {
            self.shared.unregistered.get_or_init(|| problem);
        }
    }

    /// A session begins.
    pub async fn dispatch_session_start(&self) -> Result<(), anyhow::Error> {
        let session = {
            let mut scopes = lock(&self.shared.scopes);
            *scopes = Scopes::new(SessionInfo::default());
            scopes.session.clone()
        };
        self.tell(&session, SessionStart::default()).await;
        Ok(())
    }

    /// A session is over.
    pub async fn dispatch_session_end(&self) -> Result<(), anyhow::Error> {
        let session = lock(&self.shared.scopes).session.clone();
        self.tell(&session, SessionEnd::default()).await;
        Ok(())
    }

    /// A prompt was submitted. The first hook that does not allow it ends the chain.
    pub async fn dispatch_pre_turn(&self) -> Result<HookResult, anyhow::Error> {
        let turn = lock(&self.shared.scopes).next_turn();
        Ok(result(self.permit(&turn, TurnStart::default()).await))
    }

    /// A turn is over.
    pub async fn dispatch_post_turn(&self, response: &ChatResponse) -> Result<(), anyhow::Error> {
        let turn = lock(&self.shared.scopes).turn.clone();
        self.tell(&turn, adapter::turn_end(&turn, response)).await;
        Ok(())
    }

    /// A tool is about to run. The first hook that does not allow it ends the chain.
    pub async fn dispatch_pre_tool_call(
        &self,
        tool_call: &ToolCall,
    ) -> Result<HookResult, anyhow::Error> {
        let operation = lock(&self.shared.scopes).open_call(&tool_call.id);
        let permitted = self.permit(&operation, self.tool_pre(tool_call)).await;
        if permitted.is_err() {
            // A call that does not run has no result.
            lock(&self.shared.scopes).close_call(Some(&tool_call.id));
        }
        Ok(result(permitted))
    }

    /// A tool has run.
    pub async fn dispatch_post_tool_call(&self, result: &ToolResult) -> Result<(), anyhow::Error> {
        let operation = lock(&self.shared.scopes).close_call(result.id.as_deref());
        let event = adapter::tool_post(&operation, result);
        self.tell(&operation, event).await;
        self.wait_for_watchers(&operation).await;
        Ok(())
    }

    /// A tool has failed. The first hook that allows it recovers; where none does, the result has
    /// the error's text and no value.
    pub async fn dispatch_on_tool_error(
        &self,
        error: &anyhow::Error,
    ) -> Result<(HookResult, Option<Value>), anyhow::Error> {
        let operation = lock(&self.shared.scopes).turn.operation();
        Ok(match self.recover(&operation, event::ToolCall::default(), error).await {
            Some((message, value)) => (HookResult { allow: true, message }, Some(value)),
            None => (HookResult { allow: false, message: error.to_string() }, None),
        })
    }

    /// The agent asks the person something. The first hook with answers ends the chain; none where
    /// no hook has any.
    pub async fn dispatch_interaction(
        &self,
        questions: &[AskQuestionEntry],
    ) -> Result<Option<QuestionHookResult>, anyhow::Error> {
        let operation = lock(&self.shared.scopes).turn.operation();
        Ok(self.interact(&operation, questions).await)
    }

    /// The history was compacted.
    pub async fn dispatch_on_compaction(&self, summary: &str) -> Result<(), anyhow::Error> {
        let operation = lock(&self.shared.scopes).turn.operation();
        self.compacted(&operation, summary).await;
        self.wait_for_watchers(&operation).await;
        Ok(())
    }

    fn engine(&self) -> Result<&Runner, &RegisterError> {
        match self.shared.unregistered.get() {
            Some(problem) => Err(problem),
            None => Ok(self.runner()),
        }
    }

    /// The call as the engine has it, read with the servers that are known.
    pub(crate) fn tool_pre(&self, call: &ToolCall) -> ToolPre {
        convert::call_with_servers(call, &lock(&self.shared.servers)).into()
    }

    /// Dispatches an event that something hangs on.
    pub(crate) async fn decide<E: Event>(
        &self,
        cx: &E::Scope,
        event: E,
    ) -> Result<Outcome<E>, Refusal> {
        match self.engine() {
            Ok(runner) => Ok(runner.dispatch(cx, event).await),
            Err(problem) => {
                Err(Refusal { reason: NOT_SET_UP.to_owned(), detail: problem.to_string() })
            }
        }
    }

    /// Dispatches an event to those who want to know.
    async fn tell<E: Event>(&self, cx: &E::Scope, event: E) {
        // Nothing hangs on the outcome: what failed is in the audit trail.
        drop(self.decide(cx, event).await);
    }

    async fn permit<E: Event>(&self, cx: &E::Scope, event: E) -> Result<Approved<E>, Refusal> {
        permitted(self.decide(cx, event).await?)
    }

    /// Waits for the hooks that watch this turn. Whoever is cut off is in the audit trail.
    async fn wait_for_watchers(&self, operation: &OperationContext) {
        drop(self.shared.runner.drain_of(operation, WATCHERS).await);
    }

    /// What is used instead of the error, and what is said about it.
    pub(crate) async fn recover(
        &self,
        operation: &OperationContext,
        call: event::ToolCall,
        error: &anyhow::Error,
    ) -> Option<(String, Value)> {
        adapter::forget_recovery(operation);
        let event = ToolError { call, error: format!("{error:#}") };
        let outcome = self.decide(operation, event).await.ok()?;
        let value = outcome.recovered()?.clone();
        Some((adapter::recovery_message(operation), value))
    }

    pub(crate) async fn interact(
        &self,
        operation: &OperationContext,
        questions: &[AskQuestionEntry],
    ) -> Option<QuestionHookResult> {
        let event = Interaction {
            questions: questions.iter().map(Into::into).collect(),
            ..Interaction::default()
        };
        match self.decide(operation, event).await.map(|outcome| outcome.into_parts().verdict) {
            Ok(Reply::Found { value }) => Some(value.into()),
            Ok(Reply::Nothing) => None,
            Ok(Reply::Refused { .. }) | Err(_) => Some(refused(questions.len())),
        }
    }

    pub(crate) async fn compacted(&self, operation: &OperationContext, summary: &str) {
        let event = CompactionPost { summary: summary.to_owned(), ..CompactionPost::default() };
        self.tell(operation, event).await;
    }
}

/// What may be done; a question that nobody can be asked is a refusal.
pub(crate) fn permitted<E: Event>(outcome: Outcome<E>) -> Result<Approved<E>, Refusal> {
    match outcome.permit() {
        Permit::Granted(approved) => Ok(approved),
        Permit::Refused(refusal) => Err(refusal),
        Permit::Ask(pending) => {
            let reason = match pending.reason() {
                "" => NOBODY_TO_ASK.to_owned(),
                reason => format!("{NOBODY_TO_ASK} {reason}"),
            };
            Err(pending.refuse(reason))
        }
    }
}

fn result<E: Event>(permitted: Result<Approved<E>, Refusal>) -> HookResult {
    match permitted {
        Ok(_) => allowed(),
        Err(refusal) => HookResult { allow: false, message: refusal.reason },
    }
}

/// Every question passed over, and the interaction broken off.
fn refused(questions: usize) -> QuestionHookResult {
    let skipped = QuestionResponse {
        selected_option_ids: None,
        freeform_response: String::new(),
        skipped: true,
    };
    QuestionHookResult { responses: vec![skipped; questions], cancelled: true }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for HookRunner {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Runner> for HookRunner {
    fn from(runner: Runner) -> Self {
        Self {
            shared: Arc::new(Shared {
                runner,
                unregistered: OnceLock::new(),
                servers: Mutex::default(),
                scopes: Mutex::new(Scopes::new(SessionInfo::default())),
            }),
        }
    }
}

impl fmt::Debug for HookRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookRunner").field("runner", &self.shared.runner).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_and_after_a_call_share_its_context() {
        use tollgate_core::Context;
        let mut scopes = Scopes::new(SessionInfo::default());
        scopes.open_call("a").set("k", 1).unwrap();
        scopes.open_call("b").set("k", 2).unwrap();
        assert_eq!(scopes.close_call(Some("a")).get("k"), Ok(Some(1)));
        assert_eq!(scopes.close_call(Some("a")).get::<u32>("k"), Ok(None));
        assert_eq!(scopes.close_call(None).get::<u32>("k"), Ok(None));
    }

    #[test]
    fn calls_that_never_end_are_forgotten_in_time() {
        let mut scopes = Scopes::new(SessionInfo::default());
        for call in 0..1_000 {
            scopes.open_call(&call.to_string());
        }
        assert_eq!(scopes.open_calls.len(), OPEN_CALLS);
    }

    #[tokio::test]
    async fn where_a_hook_is_missing_gates_are_closed() {
        let hooks = HookRunner::new();
        hooks.shared.unregistered.get_or_init(|| RegisterError::NoName);
        let (result, value) =
            hooks.dispatch_on_tool_error(&anyhow::anyhow!("broken")).await.unwrap();
        assert_eq!((result.message.as_str(), value), ("broken", None));
        assert_eq!(hooks.dispatch_pre_turn().await.unwrap().message, NOT_SET_UP);
        assert!(hooks.dispatch_interaction(&[]).await.unwrap().unwrap().cancelled);
    }
}
