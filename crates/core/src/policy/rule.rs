//! One rule.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::IntoYesNo;
use crate::error::BoxError;
use crate::event::ToolCall;
use crate::hook::BoxFuture;
use crate::target::{Names, Scope, Target};

/// What a rule does when it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Blocks the call.
    Deny,
    /// Asks a person.
    Ask,
    /// Lets it through.
    Allow,
}

/// A question to a person.
#[derive(Debug, Clone, Copy)]
pub struct AskRequest<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// Why the rule asks; may be empty.
    pub reason: &'a str,
    /// The rule's name.
    pub rule: &'a str,
}

type Asked = Result<bool, BoxError>;
type SyncCheck = dyn Fn(&ToolCall) -> Asked + Send + Sync;
type AsyncCheck = dyn Fn(&ToolCall) -> BoxFuture<'static, Asked> + Send + Sync;
type SyncAsk = dyn Fn(&AskRequest<'_>) -> Asked + Send + Sync;
type AsyncAsk = dyn Fn(&AskRequest<'_>) -> BoxFuture<'static, Asked> + Send + Sync;

/// A condition on a call.
#[derive(Clone)]
pub(super) enum Condition {
    Sync(Arc<SyncCheck>),
    Async(Arc<AsyncCheck>),
}

impl Condition {
    pub(super) fn check<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Asked> {
        Box::pin(async move {
            match self {
                Self::Sync(check) => check(call),
                Self::Async(check) => check(call).await,
            }
        })
    }
}

/// Asks a person, and says what they answered.
#[derive(Clone)]
pub struct AskHandler(Handler);

#[derive(Clone)]
enum Handler {
    /// Nobody here: the question is the host's.
    Host,
    Sync(Arc<SyncAsk>),
    Async(Arc<AsyncAsk>),
}

impl AskHandler {
    /// The host asks, in its own way: the decision is `ask`, and whoever dispatched the call has to
    /// get an answer before it runs.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    /// use tollgate_core::policy::AskHandler;
    ///
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let rule = policy::ask_user("run_command", |_| false).handler(AskHandler::host());
    /// let runner = Runner::builder()
    ///     .register(Policies::builder().rule(rule).build()?.into_registration())
    ///     .build()?;
    /// let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    /// let call = ToolPre::from(ToolCall::new("run_command"));
    /// assert_eq!(runner.dispatch(&operation, call).await.record.decision, Word::Ask);
    /// # Ok(()) }
    /// ```
    pub fn host() -> Self {
        Self(Handler::Host)
    }

    pub(super) fn is_host(&self) -> bool {
        matches!(self.0, Handler::Host)
    }

    /// A function that asks and returns the answer. It runs on the task that dispatches: where
    /// asking blocks for long, prefer [`new_async`](Self::new_async).
    pub fn new<R: IntoYesNo>(ask: impl Fn(&AskRequest<'_>) -> R + Send + Sync + 'static) -> Self {
        Self(Handler::Sync(Arc::new(move |request| ask(request).into_yes_no())))
    }

    /// A function that returns a future of the answer.
    pub fn new_async<F, R>(ask: impl Fn(&AskRequest<'_>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoYesNo,
    {
        Self(Handler::Async(Arc::new(move |request| {
            let asked = ask(request);
            Box::pin(async move { asked.await.into_yes_no() })
        })))
    }

    pub(super) fn ask<'a>(&'a self, request: AskRequest<'a>) -> BoxFuture<'a, Asked> {
        Box::pin(async move {
            match &self.0 {
                Handler::Host => Err("the host was to be asked".into()),
                Handler::Sync(ask) => ask(&request),
                Handler::Async(ask) => ask(&request).await,
            }
        })
    }
}

impl fmt::Debug for AskHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskHandler").finish_non_exhaustive()
    }
}

/// A rule: which tool, under which condition, what follows.
#[derive(Clone)]
#[must_use = "a rule does nothing until it is given to `Policies`"]
pub struct Rule {
    pub(super) target: Target,
    pub(super) effect: Effect,
    pub(super) condition: Option<Condition>,
    pub(super) handler: Option<AskHandler>,
    /// Whether it holds under all names of its tool even where names are exact.
    pub(super) all_names: bool,
    name: String,
    reason: String,
}

impl Rule {
    /// A rule without a condition.
    pub fn new(target: Target, effect: Effect) -> Self {
        Self {
            target,
            effect,
            condition: None,
            handler: None,
            all_names: false,
            name: String::new(),
            reason: String::new(),
        }
    }

    /// Applies only where `condition` holds. It may return `bool` or a `Result<bool, _>`; an
    /// error, or a panic, denies.
    pub fn when<R: IntoYesNo>(
        mut self,
        condition: impl Fn(&ToolCall) -> R + Send + Sync + 'static,
    ) -> Self {
        self.condition = Some(Condition::Sync(Arc::new(move |call| condition(call).into_yes_no())));
        self
    }

    /// As [`when`](Self::when), with a future.
    pub fn when_async<F, R>(
        mut self,
        condition: impl Fn(&ToolCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoYesNo,
    {
        self.condition = Some(Condition::Async(Arc::new(move |call| {
            let checked = condition(call);
            Box::pin(async move { checked.await.into_yes_no() })
        })));
        self
    }

    /// Who asks the person; only for rules that ask.
    pub fn handler(mut self, handler: AskHandler) -> Self {
        self.handler = Some(handler);
        self
    }

    /// What the model is told when the rule denies, and the person when it asks.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Its name, by which messages call it.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    pub(super) fn under_all_names(mut self, all_names: bool) -> Self {
        self.all_names = all_names;
        self
    }

    /// The rule's name or, where it has none, the tool it is about.
    pub fn label(&self) -> String {
        if self.name.is_empty() { self.target.to_string() } else { self.name.clone() }
    }

    /// What is said about it; empty where nothing is.
    pub fn reason_text(&self) -> &str {
        &self.reason
    }

    /// What it is about.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What it does.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Its level: which rules are looked at first.
    pub(super) fn level(&self, names: Names) -> (Scope, Effect) {
        let names = if self.all_names { Names::OfTheTable } else { names };
        (self.target.scope(names), self.effect)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("target", &self.target)
            .field("effect", &self.effect)
            .field("name", &self.name)
            .field("reason", &self.reason)
            .field("conditional", &self.condition.is_some())
            .finish_non_exhaustive()
    }
}
