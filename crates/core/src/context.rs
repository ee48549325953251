//! The state that hooks share: a session's, a turn's in it, an operation's in that.
//!
//! ```text
//! SessionContext ⊃ TurnContext ⊃ OperationContext
//! ```
//!
//! Reading looks up the chain; writing stays where it is. [`ToolContext`] is the tools' own store
//! and shares nothing with these.

mod clock;
mod store;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use clock::Clock;
pub use store::{ContextError, Scoped};

use crate::ledger::{Ledger, TurnLog};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::verdict::Word;
use store::{Store, read, write};

/// A key-value store with a parent.
pub trait Context: sealed::Node + Clone + Send + Sync + 'static {
    /// The value of `key` here or, where there is none, in the nearest context above.
    fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ContextError> {
        self.node().find(key).map(|value| read(key, value)).transpose()
    }

    /// Sets `key` here. Contexts above are not touched: their value is hidden, not changed.
    fn set<T: Serialize>(&self, key: &str, value: T) -> Result<(), ContextError> {
        self.node().store.put(key, write(key, value)?);
        Ok(())
    }

    /// Reads `key` up the chain, and sets what `change` makes of it here, atomically.
    ///
    /// No lock is held while `change` runs, so it may use the context; it may run more than once.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    ///
    /// let session = SessionContext::new(SessionInfo::default());
    /// session.set("calls", 4)?;
    /// let turn = session.turn();
    /// assert_eq!(turn.update("calls", |calls: Option<u32>| calls.unwrap_or(0) + 1)?, 5);
    /// assert_eq!(session.get("calls")?, Some(4));
    /// # Ok::<(), tollgate_core::context::ContextError>(())
    /// ```
    fn update<T, F>(&self, key: &str, mut change: F) -> Result<T, ContextError>
    where
        T: Serialize + DeserializeOwned,
        F: FnMut(Option<T>) -> T,
    {
        let node = self.node();
        loop {
            let (stamp, here) = node.store.stamped(key);
            let current = here.or_else(|| node.parent.as_ref()?.find(key));
            let current = current.map(|value| read(key, value)).transpose()?;
            let changed = change(current);
            if node.store.put_if(key, write(key, &changed)?, stamp) {
                return Ok(changed);
            }
        }
    }

    /// Whether there is a context above.
    fn has_parent(&self) -> bool {
        self.node().parent.is_some()
    }

    /// What is set here, without what is above.
    fn here(&self) -> serde_json::Map<String, Value> {
        self.node().store.all()
    }

    /// Whether the hook is asked again, because the payload was rewritten after it saw it. A hook
    /// that counts should not count such a question.
    fn is_reask(&self) -> bool {
        self.marks().reask
    }

    /// For an inspector: what was decided about the event. Others are asked before that.
    fn decided(&self) -> Option<&Word> {
        self.marks().decided.as_deref()
    }

    /// The context of this scope that an operation is in.
    fn of_operation(operation: &OperationContext) -> &Self;

    /// The session it belongs to.
    fn session(&self) -> &SessionContext;

    /// The turn it belongs to; none for a session.
    fn current_turn(&self) -> Option<&TurnContext>;
}

pub(crate) mod sealed {
    pub trait Node {
        fn node(&self) -> &super::Scoped;
        fn marks(&self) -> &super::Marks;
        /// The same context, for a question of this kind.
        #[must_use]
        fn marked(&self, marks: super::Marks) -> Self;
    }
}

/// What is to be known about one question to a hook.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    pub(crate) reask: bool,
    pub(crate) decided: Option<Arc<Word>>,
}

/// What is known of a session from its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// The directories the agent works in.
    pub workspaces: Vec<String>,
    /// The file its transcript is written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The directory for what it makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<String>,
}

/// The context of a session.
#[derive(Debug, Clone)]
pub struct SessionContext {
    scope: Arc<Scoped>,
    info: Arc<SessionInfo>,
    clock: Clock,
    ledger: Arc<Ledger>,
    turns: Arc<AtomicU64>,
    id: u64,
    marks: Marks,
}

/// The context of a turn: from a prompt to the end of the response to it, re-prompts included.
#[derive(Debug, Clone)]
pub struct TurnContext {
    scope: Arc<Scoped>,
    session: SessionContext,
    rounds: Arc<AtomicU32>,
    log: Arc<TurnLog>,
    number: u64,
    id: u64,
    marks: Marks,
}

/// The context of one operation: a model call, a tool call. What comes before and after one
/// operation shares it.
#[derive(Debug, Clone)]
pub struct OperationContext {
    scope: Arc<Scoped>,
    turn: TurnContext,
    marks: Marks,
}

/// Tells sessions and turns apart, so that the inspections of one can be waited for.
fn next_id() -> u64 {
    #[cfg(not(shuttle))]
    static NEXT: AtomicU64 = AtomicU64::new(1);
    #[cfg(shuttle)]
    shuttle::lazy_static! {
        static ref NEXT: AtomicU64 = AtomicU64::new(1);
    }
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl SessionContext {
    /// A new session.
    pub fn new(info: SessionInfo) -> Self {
        Self::with_clock(info, Clock::start())
    }

    /// A new session that has another idea of how long it lasts: one that is taken up again, or a
    /// test.
    pub fn with_clock(info: SessionInfo, clock: Clock) -> Self {
        Self {
            scope: Arc::default(),
            info: Arc::new(info),
            clock,
            ledger: Arc::default(),
            turns: Arc::default(),
            id: next_id(),
            marks: Marks::default(),
        }
    }

    /// What is known of the session.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// How long the session has lasted.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::context::Clock;
    /// use tollgate_core::prelude::*;
    ///
    /// let clock = Clock::by_hand();
    /// let session = SessionContext::with_clock(SessionInfo::default(), clock.clone());
    /// clock.advance(Duration::from_secs(70));
    /// assert_eq!(session.elapsed(), Duration::from_secs(70));
    /// ```
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// A new turn in it.
    pub fn turn(&self) -> TurnContext {
        TurnContext {
            scope: Scoped::below(&self.scope),
            session: self.clone(),
            rounds: Arc::default(),
            log: Arc::default(),
            number: self.turns.fetch_add(1, Ordering::Relaxed) + 1,
            id: next_id(),
            marks: Marks::default(),
        }
    }

    /// The counters and the cache that its hooks, and its tools, share.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl TurnContext {
    /// A new operation in it.
    pub fn operation(&self) -> OperationContext {
        OperationContext {
            scope: Scoped::below(&self.scope),
            turn: self.clone(),
            marks: Marks::default(),
        }
    }

    /// Its place among the turns of its session, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What its hooks have logged.
    pub fn log(&self) -> &TurnLog {
        &self.log
    }

    /// How often hooks have sent the agent round again in this turn.
    pub fn rounds(&self) -> u32 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Takes one from the budget of rounds, if any is left.
    pub(crate) fn take_round(&self, budget: u32) -> bool {
        self.rounds
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |rounds| {
                (rounds < budget).then_some(rounds + 1)
            })
            .is_ok()
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl OperationContext {
    /// The turn it belongs to.
    pub fn turn(&self) -> &TurnContext {
        &self.turn
    }
}

impl sealed::Node for SessionContext {
    fn node(&self) -> &Scoped {
        &self.scope
    }
    fn marks(&self) -> &Marks {
        &self.marks
    }
    fn marked(&self, marks: Marks) -> Self {
        Self { marks, ..self.clone() }
    }
}

impl sealed::Node for TurnContext {
    fn node(&self) -> &Scoped {
        &self.scope
    }
    fn marks(&self) -> &Marks {
        &self.marks
    }
    fn marked(&self, marks: Marks) -> Self {
        Self { marks, ..self.clone() }
    }
}

impl sealed::Node for OperationContext {
    fn node(&self) -> &Scoped {
        &self.scope
    }
    fn marks(&self) -> &Marks {
        &self.marks
    }
    fn marked(&self, marks: Marks) -> Self {
        Self { marks, ..self.clone() }
    }
}

impl Context for SessionContext {
    fn of_operation(operation: &OperationContext) -> &Self {
        &operation.turn.session
    }
    fn session(&self) -> &SessionContext {
        self
    }
    fn current_turn(&self) -> Option<&TurnContext> {
        None
    }
}

impl Context for TurnContext {
    fn of_operation(operation: &OperationContext) -> &Self {
        &operation.turn
    }
    fn session(&self) -> &SessionContext {
        &self.session
    }
    fn current_turn(&self) -> Option<&TurnContext> {
        Some(self)
    }
}

impl Context for OperationContext {
    fn of_operation(operation: &OperationContext) -> &Self {
        operation
    }
    fn session(&self) -> &SessionContext {
        &self.turn.session
    }
    fn current_turn(&self) -> Option<&TurnContext> {
        Some(&self.turn)
    }
}

/// The store of a session's tools: flat, and separate from the hooks' contexts on purpose. A
/// tool cannot read what a hook wrote, nor the other way round.
///
/// ```
/// use tollgate_core::prelude::*;
///
/// let tools = ToolContext::new();
/// tools.set("next_page", "token-7")?;
/// assert_eq!(tools.get::<String>("next_page")?.as_deref(), Some("token-7"));
/// # Ok::<(), tollgate_core::context::ContextError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolContext {
    store: Arc<Store>,
}

impl ToolContext {
    /// An empty one, for a new session.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `key`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ContextError> {
        self.store.value(key).map(|value| read(key, value)).transpose()
    }

    /// Sets `key`.
    pub fn set<T: Serialize>(&self, key: &str, value: T) -> Result<(), ContextError> {
        self.store.put(key, write(key, value)?);
        Ok(())
    }

    /// Sets `key` to what `change` makes of it, atomically. `change` may run more than once.
    pub fn update<T, F>(&self, key: &str, mut change: F) -> Result<T, ContextError>
    where
        T: Serialize + DeserializeOwned,
        F: FnMut(Option<T>) -> T,
    {
        loop {
            let (stamp, current) = self.store.stamped(key);
            let changed = change(current.map(|value| read(key, value)).transpose()?);
            if self.store.put_if(key, write(key, &changed)?, stamp) {
                return Ok(changed);
            }
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext").field("keys", &self.store.keys()).finish()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn session() -> SessionContext {
        SessionContext::new(SessionInfo::default())
    }

    #[test]
    fn reading_looks_up_and_writing_stays() {
        let session = session();
        let turn = session.turn();
        let operation = turn.operation();
        session.set("who", "user-42").unwrap();
        assert_eq!(operation.get::<String>("who").unwrap().as_deref(), Some("user-42"));
        operation.set("who", "override").unwrap();
        assert_eq!(operation.get::<String>("who").unwrap().as_deref(), Some("override"));
        assert_eq!(turn.get::<String>("who").unwrap().as_deref(), Some("user-42"));
        assert_eq!(turn.operation().get::<String>("who").unwrap().as_deref(), Some("user-42"));
        assert_eq!(
            (session.has_parent(), turn.has_parent(), operation.has_parent()),
            (false, true, true)
        );
    }

    #[test]
    fn a_value_of_another_type_is_an_error_that_names_it() {
        let session = session();
        session.set("count", "three").unwrap();
        let error = session.turn().get::<u32>("count").unwrap_err().to_string();
        assert!(error.starts_with("`count` is a string, not a `u32`"), "{error}");
        let error = session.update("count", |n: Option<u32>| n.unwrap_or(0)).unwrap_err();
        assert!(matches!(error, ContextError::OtherType { .. }), "{error}");
        assert_eq!(session.get::<String>("count").unwrap().as_deref(), Some("three"));
    }

    #[test]
    fn an_update_may_use_the_context_it_updates() {
        let session = session();
        session.set("a", 1).unwrap();
        let sum = session.update("b", |_: Option<i32>| {
            session.set("c", 1).unwrap();
            session.get::<i32>("a").unwrap().unwrap_or(0) + 1
        });
        assert_eq!(sum, Ok(2));
    }

    #[test]
    fn tools_and_hooks_share_nothing() {
        let (session, tools) = (session(), ToolContext::new());
        session.set("key", "hook").unwrap();
        session.turn().operation().set("key", "hook").unwrap();
        assert_eq!(tools.get::<String>("key").unwrap(), None);
        tools.set("token", "tool").unwrap();
        assert_eq!(session.get::<String>("token").unwrap(), None);
        assert_eq!(session.turn().operation().get::<String>("token").unwrap(), None);
        tools.set("key", "tool").unwrap();
        assert_eq!(session.get::<String>("key").unwrap().as_deref(), Some("hook"));
    }

    #[test]
    fn a_debug_print_shows_no_values() {
        let session = session();
        session.set("token", "s3cret").unwrap();
        assert!(!format!("{session:?}").contains("s3cret"));
    }

    #[test]
    fn the_budget_of_rounds_is_taken_exactly() {
        let turn = session().turn();
        assert_eq!((0..10).filter(|_| turn.take_round(8)).count(), 8);
        assert_eq!(turn.rounds(), 8);
    }
}
