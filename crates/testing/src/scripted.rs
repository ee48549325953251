//! Hooks whose answers are given beforehand, and that remember what they were asked.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_core::event::Event;
use tollgate_core::hook::{Ask, BoxFuture, Handle, HookResult};
use tollgate_core::{Answer, Registration};

use crate::lock;

/// A hook that does one prepared thing a question, in order, and has no opinion when there is
/// nothing left. Clones are the same hook, so a test keeps one and registers another.
///
/// ```
/// use tollgate_core::prelude::*;
/// use tollgate_testing::scripted::Scripted;
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let guard = Scripted::<ToolPre>::new().then(Answer::deny("not today")).then_fail("no idea");
/// let runner = Runner::builder().register(guard.registration("guard")).build()?;
///
/// let operation = SessionContext::new(SessionInfo::default()).turn().operation();
/// let first = runner.dispatch(&operation, ToolPre::from(ToolCall::new("first"))).await;
/// assert_eq!(first.reason(), "not today");
/// let second = runner.dispatch(&operation, ToolPre::from(ToolCall::new("second"))).await;
/// assert!(second.permit().is_refused(), "a failure blocks");
/// let third = runner.dispatch(&operation, ToolPre::from(ToolCall::new("third"))).await;
/// assert!(third.permit().is_granted());
///
/// let names: Vec<_> = guard.asked().into_iter().map(|asked| asked.event.call.name).collect();
/// assert_eq!(names, ["first", "second", "third"]);
/// # Ok(()) }
/// ```
pub struct Scripted<E: Event> {
    script: Arc<Mutex<Script<E>>>,
}

struct Script<E: Event> {
    ahead: VecDeque<Step<E>>,
    asked: Vec<Asked<E>>,
}

struct Step<E: Event> {
    first_wait: Option<Duration>,
    then: Deed<E>,
}

enum Deed<E: Event> {
    Answer(Answer<E>),
    Fail(String),
    Panic(String),
    Hang,
}

/// A question that was put to a [`Scripted`] hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked<E: Event> {
    /// The payload it was asked about.
    pub event: E,
    /// Whether it was asked again, about the final payload.
    pub reask: bool,
}

impl<E: Event> Scripted<E> {
    /// A hook without any opinion.
    pub fn new() -> Self {
        let script = Script { ahead: VecDeque::new(), asked: Vec::new() };
        Self { script: Arc::new(Mutex::new(script)) }
    }

    fn and_then(self, first_wait: Option<Duration>, then: Deed<E>) -> Self {
        lock(&self.script).ahead.push_back(Step { first_wait, then });
        self
    }

    /// Gives this answer next.
    #[must_use]
    pub fn then(self, answer: Answer<E>) -> Self {
        self.and_then(None, Deed::Answer(answer))
    }

    /// Gives this answer next, after a while of the runner's time.
    #[must_use]
    pub fn then_after(self, wait: Duration, answer: Answer<E>) -> Self {
        self.and_then(Some(wait), Deed::Answer(answer))
    }

    /// Fails next.
    #[must_use]
    pub fn then_fail(self, message: impl Into<String>) -> Self {
        self.and_then(None, Deed::Fail(message.into()))
    }

    /// Panics next.
    #[must_use]
    pub fn then_panic(self, message: impl Into<String>) -> Self {
        self.and_then(None, Deed::Panic(message.into()))
    }

    /// Never answers the next question.
    #[must_use]
    pub fn then_hang(self) -> Self {
        self.and_then(None, Deed::Hang)
    }

    /// What it was asked so far, in order.
    pub fn asked(&self) -> Vec<Asked<E>> {
        lock(&self.script).asked.clone()
    }

    /// How much of what was prepared is still ahead.
    pub fn ahead(&self) -> usize {
        lock(&self.script).ahead.len()
    }

    /// The hook, for a runner.
    pub fn registration(&self, name: impl Into<String>) -> Registration {
        Registration::on::<E, _>(name, self.clone())
    }
}

impl<E: Event> Default for Scripted<E> {
    fn default() -> Self {
        Self::new()
    }
}

// Derived, it would ask for more of the event than sharing needs.
impl<E: Event> Clone for Scripted<E> {
    fn clone(&self) -> Self {
        Self { script: Arc::clone(&self.script) }
    }
}

impl<E: Event> Handle<E> for Scripted<E> {
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        Box::pin(async move {
            let step = {
                let mut script = lock(&self.script);
                script.asked.push(Asked { event: ask.event.clone(), reask: ask.reask });
                script.ahead.pop_front()
            };
            let Some(Step { first_wait, then }) = step else { return Ok(Answer::none()) };
            if let Some(wait) = first_wait {
                ask.runtime.sleep(wait).await;
            }
            match then {
                Deed::Answer(answer) => Ok(answer),
                Deed::Fail(message) => Err(message.into()),
                // Without the panic hook, which would print what is expected here.
                Deed::Panic(message) => std::panic::resume_unwind(Box::new(message)),
                Deed::Hang => std::future::pending().await,
            }
        })
    }
}

impl<E: Event> fmt::Debug for Scripted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = lock(&self.script);
        f.debug_struct("Scripted")
            .field("ahead", &script.ahead.len())
            .field("asked", &script.asked)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tollgate_core::error::HookError;
    use tollgate_core::prelude::*;

    use super::*;

    async fn ask(runner: &Runner, prompt: &str) -> Outcome<TurnStart> {
        let turn = SessionContext::new(SessionInfo::default()).turn();
        runner.dispatch(&turn, TurnStart::new(prompt)).await
    }

    #[tokio::test]
    async fn it_does_what_was_prepared_in_order() {
        let hook = Scripted::<TurnStart>::new()
            .then(Answer::deny("no"))
            .then_fail("boom")
            .then_panic("bang")
            .then_after(Duration::ZERO, Answer::deny("late"));
        let runner = Runner::builder().register(hook.registration("hook")).build().unwrap();
        assert_eq!(hook.ahead(), 4);
        assert_eq!(ask(&runner, "1").await.reason(), "no");
        let error = |outcome: &Outcome<TurnStart>| outcome.record.answers[0].error.clone();
        let failed = HookError::Failed { message: "boom".to_owned() };
        assert_eq!(error(&ask(&runner, "2").await), Some(failed));
        let panicked = HookError::Panicked { message: "bang".to_owned() };
        assert_eq!(error(&ask(&runner, "3").await), Some(panicked));
        assert_eq!(ask(&runner, "4").await.reason(), "late");
        assert!(ask(&runner, "5").await.permit().is_granted());
        assert_eq!(hook.ahead(), 0);
        let prompts: Vec<_> = hook.asked().into_iter().map(|asked| asked.event.prompt).collect();
        assert_eq!(prompts, ["1", "2", "3", "4", "5"]);
    }

    #[tokio::test]
    async fn it_remembers_that_it_was_asked_again() {
        let first = Scripted::<ToolPre>::new();
        let second = Scripted::new().then(Answer::set_args([("path", json!("/b"))]));
        let runner = Runner::builder()
            .register(first.registration("first"))
            .register(second.registration("second"))
            .build()
            .unwrap();
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        let call = ToolCall::new("open").arg("path", "/a");
        let outcome = runner.dispatch(&operation, ToolPre::from(call)).await;
        assert!(outcome.rewritten());
        let seen =
            |asked: &Asked<ToolPre>| (asked.event.text("path").map(str::to_owned), asked.reask);
        let seen: Vec<_> = first.asked().iter().map(seen).collect();
        assert_eq!(seen, [(Some("/a".to_owned()), false), (Some("/b".to_owned()), true)]);
    }
}
