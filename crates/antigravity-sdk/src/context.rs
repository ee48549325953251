//! The store that hooks share, in scopes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tollgate_core::{Context, OperationContext, SessionContext, TurnContext};

/// A key-value store with a parent. Reading looks up the chain of parents; writing stays here.
///
/// Clones share what they hold.
///
/// A hook gets at the context of the event it handles by [`current`](Self::current): the
/// session's for `on_session_start` and `on_session_end`, the turn's for `pre_turn` and
/// `post_turn`, the operation's for the rest. `pre_tool_call` and `post_tool_call` of one call
/// share theirs.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_antigravity_sdk::context::HookContext;
///
/// let session = Arc::new(HookContext::new());
/// session.set("user", "user-42");
/// let turn = HookContext::child(Arc::clone(&session));
/// turn.set("number", 1);
/// assert_eq!(turn.get::<String>("user").as_deref(), Some("user-42"));
/// assert_eq!(session.get::<u32>("number"), None);
/// ```
#[derive(Debug, Clone)]
pub struct HookContext {
    store: Store,
}

#[derive(Debug, Clone)]
enum Store {
    /// One of the program's own, as deep as it likes.
    Own {
        values: Arc<Mutex<HashMap<String, Value>>>,
        parent: Option<Arc<HookContext>>,
    },
    Session(SessionContext),
    Turn(TurnContext),
    Operation(OperationContext),
}

thread_local! {
    /// The context of the hook that is being polled on this thread.
    static CURRENT: RefCell<Option<HookContext>> = const { RefCell::new(None) };
}

impl HookContext {
    /// A context without a parent.
    pub fn new() -> Self {
        Self { store: Store::Own { values: Arc::default(), parent: None } }
    }

    /// A context below `parent`.
    pub fn child(parent: Arc<Self>) -> Self {
        Self { store: Store::Own { values: Arc::default(), parent: Some(parent) } }
    }

    /// The context of the event that is being handled; none outside of a hook.
    ///
    /// It is there wherever the hook's own future runs, but not in tasks that the hook spawns:
    /// take it along to those.
    ///
    /// ```
    /// use tollgate_antigravity_sdk::context::HookContext;
    /// use tollgate_antigravity_sdk::hooks::Hook;
    /// use tollgate_antigravity_sdk::types::{HookResult, ToolCall, ToolResult};
    ///
    /// /// Tells what each call was about when it is done.
    /// struct Told;
    ///
    /// impl Hook for Told {
    ///     async fn pre_tool_call(&self, call: &ToolCall) -> Result<HookResult, anyhow::Error> {
    ///         if let Some(context) = HookContext::current() {
    ///             context.set("args", &call.args);
    ///         }
    ///         Ok(HookResult { allow: true, message: String::new() })
    ///     }
    ///
    ///     async fn post_tool_call(&self, result: &ToolResult) -> Result<(), anyhow::Error> {
    ///         let args = HookContext::current().and_then(|context| context.get("args"));
    ///         let args: serde_json::Value = args.unwrap_or_default();
    ///         println!("{} with {args} is done", result.name);
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The value of `key` here or, where there is none, in the nearest context above. A value
    /// that is not a `T` is none.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        match &self.store {
            Store::Own { values, parent } => {
                let here = lock(values).get(key).cloned();
                match here {
                    Some(value) => serde_json::from_value(value).ok(),
                    None => parent.as_ref()?.get(key),
                }
            }
            Store::Session(context) => context.get(key).ok().flatten(),
            Store::Turn(context) => context.get(key).ok().flatten(),
            Store::Operation(context) => context.get(key).ok().flatten(),
        }
    }

    /// Sets `key` here; contexts above keep their value. A value that has no JSON form is not
    /// stored.
    pub fn set<T: Serialize>(&self, key: &str, value: T) {
        let Ok(value) = serde_json::to_value(value) else { return };
        // What is JSON already can be stored everywhere.
        match &self.store {
            Store::Own { values, .. } => {
                lock(values).insert(key.to_owned(), value);
            }
            Store::Session(context) => context.set(key, value).unwrap_or_default(),
            Store::Turn(context) => context.set(key, value).unwrap_or_default(),
            Store::Operation(context) => context.set(key, value).unwrap_or_default(),
        }
    }

    /// Whether there is a context above.
    pub fn has_parent(&self) -> bool {
        match &self.store {
            Store::Own { parent, .. } => parent.is_some(),
            Store::Session(context) => context.has_parent(),
            Store::Turn(context) => context.has_parent(),
            Store::Operation(context) => context.has_parent(),
        }
    }

    /// Runs a hook's future with this context as the current one.
    pub(crate) async fn scope<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|task| {
            let _entered = Entered::new(self.clone());
            future.as_mut().poll(task)
        })
        .await
    }
}

/// Makes a context the current one, and the one before it again when dropped: also where the
/// hook panics.
struct Entered {
    before: Option<HookContext>,
}

impl Entered {
    fn new(context: HookContext) -> Self {
        Self { before: CURRENT.replace(Some(context)) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

impl Default for HookContext {
    fn default() -> Self {
        Self::new()
    }
}

impl From<SessionContext> for HookContext {
    fn from(context: SessionContext) -> Self {
        Self { store: Store::Session(context) }
    }
}

impl From<TurnContext> for HookContext {
    fn from(context: TurnContext) -> Self {
        Self { store: Store::Turn(context) }
    }
}

impl From<OperationContext> for HookContext {
    fn from(context: OperationContext) -> Self {
        Self { store: Store::Operation(context) }
    }
}

/// A panic while the lock is held leaves a map that is still a map.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tollgate_core::SessionInfo;

    use super::*;

    #[test]
    fn a_value_of_another_type_is_none_and_hides_the_one_above() {
        let above = Arc::new(HookContext::new());
        above.set("n", 1);
        let below = HookContext::child(Arc::clone(&above));
        below.set("n", "one");
        assert_eq!(below.get::<u32>("n"), None);
        assert_eq!(above.get::<u32>("n"), Some(1));
    }

    #[test]
    fn contexts_of_the_engine_and_of_the_program_form_one_chain() {
        let session = SessionContext::new(SessionInfo::default());
        let turn = HookContext::from(session.turn());
        HookContext::from(session).set("who", "me");
        let below = HookContext::child(Arc::new(turn.clone()));
        assert_eq!(below.get::<String>("who").as_deref(), Some("me"));
        assert!(turn.has_parent() && below.has_parent() && !HookContext::new().has_parent());
    }

    #[test]
    fn clones_share_what_they_hold() {
        let context = HookContext::default();
        context.clone().set("k", 1);
        assert_eq!(context.get("k"), Some(1));
    }

    #[tokio::test]
    async fn the_current_context_ends_with_its_hook() {
        let context = HookContext::new();
        context.set("k", 1);
        let inner = context.clone().scope(async {
            tokio::task::yield_now().await;
            HookContext::current().and_then(|context| context.get::<u32>("k"))
        });
        assert_eq!(inner.await, Some(1));
        assert!(HookContext::current().is_none());
    }
}
