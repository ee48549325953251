//! How a hook is written in Rust: the [`Hook`] trait, handlers of one event, closures.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::answer::{Answer, Decision};
use crate::context::{OperationContext, SessionContext, TurnContext};
use crate::dialect::Mode;
use crate::error::BoxError;
use crate::event::{
    CompactionPost, CompactionPre, Event, FacetSwitch, Failure, Interaction, InvocationEnd, Kind,
    ModelPost, ModelPre, Notification, SessionEnd, SessionStart, Stop, SubagentStart, SubagentStop,
    ToolError, ToolPost, ToolPre, TurnEnd, TurnStart, for_each_event,
};
use crate::memo::Memo;
use crate::registry::Registration;
use crate::runtime::Runtime;

/// A future that can be stored and sent.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a hook returns. Any error type converts with `?`; `"text".into()` makes an error.
pub type HookResult<E> = Result<Answer<E>, BoxError>;

/// One question to one hook.
pub struct Ask<'a, E: Event> {
    /// The context of the event's scope.
    pub cx: &'a E::Scope,
    /// The payload.
    pub event: &'a E,
    /// Whether the payload was rewritten after the hook last saw it, and is final now. Only the
    /// verdict of the answer counts.
    pub reask: bool,
    /// Time.
    pub runtime: &'a dyn Runtime,
    /// What hooks have worked out of the payload as it is now.
    pub memo: &'a Memo,
    /// Rules of a policy that have no opinion, because a person has excepted the call from them.
    pub without: &'a [Arc<str>],
    /// How long the hook may take. The runner holds it to that; a handler that has to end
    /// something in good order first, such as a process, must be done before.
    pub limit: Duration,
}

impl<E: Event> std::fmt::Debug for Ask<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask")
            .field("event", &self.event)
            .field("reask", &self.reask)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

// Derived, both would ask for more than references need.
impl<E: Event> Copy for Ask<'_, E> {}
#[allow(clippy::expl_impl_clone_on_copy)]
impl<E: Event> Clone for Ask<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

/// Handles one kind of event. This is what the runner stores and calls; a handler of files
/// implements it for every event at once (`impl<E: Event> Handle<E> for …`).
///
/// # Contract
///
/// * `handle` is polled on the task that dispatches. It must not block its thread: a deadline
///   can only end a future that yields. An answer that comes after the deadline does not count,
///   even where the future could not be interrupted.
/// * A future that is dropped before it is done must leave nothing behind.
/// * What is returned beyond the mode in force for the hook counts as its failure.
pub trait Handle<E: Event>: Send + Sync {
    /// Whether the hook applies to this payload. Called before each question, on the payload it
    /// would be asked about; must be cheap. An error counts as an error of the hook.
    fn wants(&self, event: &E) -> Result<bool, BoxError> {
        let _ = event;
        Ok(true)
    }

    /// Answers.
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>>;
}

macro_rules! define_hook {
    ($(
        $(#[$doc:meta])*
        $event:ident = $name:literal {
            hook: $hook:ident, scope: $scope:ident, $($rest:tt)*
        }
    )*) => {
        /// A hook: one type that handles any events it likes. Every method has a default that
        /// has no opinion.
        ///
        /// Each method gets the context of its scope and the payload. What it may answer is
        /// typed: `Answer::<ToolPre>::deny("…")` exists, `Answer::<SessionEnd>::deny("…")` does
        /// not.
        ///
        /// ```
        /// use tollgate_core::prelude::*;
        ///
        /// struct Guard;
        ///
        /// impl Hook for Guard {
        ///     async fn pre_tool_call(
        ///         &self,
        ///         _cx: &OperationContext,
        ///         call: &ToolPre,
        ///     ) -> HookResult<ToolPre> {
        ///         if call.text("CommandLine").is_some_and(|line| line.contains("mkfs")) {
        ///             return Ok(Answer::deny("Formatting disks is not part of the job."));
        ///         }
        ///         Ok(Answer::none())
        ///     }
        /// }
        /// # let _ = Runner::builder().register(Registration::hook("guard", Guard)).build();
        /// ```
        ///
        /// # Modes
        ///
        /// The mode of a registration is a ceiling ([`Mode`]). A hook that only watches should
        /// say so, by [`Hook::mode`] or [`Registration::mode`]: then all its methods run in the
        /// background, on what really happened, and can delay nothing.
        pub trait Hook: Send + Sync {
            /// The most it will ever do.
            fn mode(&self) -> Mode {
                Mode::Transform
            }

            /// The events it handles. The others never cost anything.
            fn events(&self) -> &'static [Kind] {
                Kind::ALL
            }

            $(
                $(#[$doc])*
                fn $hook(
                    &self,
                    cx: &$scope,
                    event: &$event,
                ) -> impl Future<Output = HookResult<$event>> + Send {
                    let _ = (cx, event);
                    std::future::ready(Ok(Answer::none()))
                }
            )*
        }

        /// The object-safe form of [`Hook`], which every hook has.
        pub trait DynHook: Send + Sync {
            /// See [`Hook::mode`].
            fn mode(&self) -> Mode;
            /// See [`Hook::events`].
            fn events(&self) -> &'static [Kind];
            $(
                $(#[$doc])*
                fn $hook<'a>(
                    &'a self,
                    cx: &'a $scope,
                    event: &'a $event,
                ) -> BoxFuture<'a, HookResult<$event>>;
            )*
        }

        impl<T: Hook + ?Sized> DynHook for T {
            fn mode(&self) -> Mode {
                Hook::mode(self)
            }
            fn events(&self) -> &'static [Kind] {
                Hook::events(self)
            }
            $(
                fn $hook<'a>(
                    &'a self,
                    cx: &'a $scope,
                    event: &'a $event,
                ) -> BoxFuture<'a, HookResult<$event>> {
                    Box::pin(Hook::$hook(self, cx, event))
                }
            )*
        }

        /// Handles every kind of event. Whatever is a [`Handle`] of each of them is one:
        /// `impl<E: Event> Handle<E> for …` will do.
        pub trait HandleEvery: $(Handle<$event> +)* Send + Sync {}

        impl<H: $(Handle<$event> +)* Send + Sync> HandleEvery for H {}

        $(
            impl Handle<$event> for ByMethod {
                fn handle<'a>(
                    &'a self,
                    ask: Ask<'a, $event>,
                ) -> BoxFuture<'a, HookResult<$event>> {
                    self.0.$hook(ask.cx, ask.event)
                }
            }
        )*
    };
}

/// A [`Hook`] as the handler of each event, by its methods.
pub(crate) struct ByMethod(pub(crate) std::sync::Arc<dyn DynHook>);

for_each_event!(define_hook);

/// What a synchronous closure may return: an answer, or a result with one.
pub trait IntoAnswer<A> {
    /// The answer.
    fn into_answer(self) -> Result<A, BoxError>;
}

impl<A> IntoAnswer<A> for A {
    fn into_answer(self) -> Result<A, BoxError> {
        Ok(self)
    }
}

impl<A, X: Into<BoxError>> IntoAnswer<A> for Result<A, X> {
    fn into_answer(self) -> Result<A, BoxError> {
        self.map_err(Into::into)
    }
}

/// A closure as the handler of an event, which returns an answer `A` as `R`.
struct Closure<E, F, R, A> {
    call: F,
    types: Types<E, R, A>,
}

/// As [`Closure`], where `R` is a future.
struct AsyncClosure<E, F, R, A> {
    call: F,
    types: Types<E, R, A>,
}

/// What a closure is about, without holding any of it.
type Types<E, R, A> = PhantomData<fn(&E) -> (R, A)>;

impl<E, F, R, A> Handle<E> for Closure<E, F, R, A>
where
    E: Event,
    F: Fn(&E::Scope, &E) -> R + Send + Sync,
    R: IntoAnswer<A>,
    A: Into<Answer<E>>,
{
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        // The closure runs when the future is polled, so that its panic is caught and its time
        // counts like everybody's.
        Box::pin(async move { (self.call)(ask.cx, ask.event).into_answer().map(Into::into) })
    }
}

impl<E, F, R, A> Handle<E> for AsyncClosure<E, F, R, A>
where
    E: Event,
    F: Fn(&E::Scope, &E) -> R + Send + Sync,
    R: Future<Output = Result<A, BoxError>> + Send,
    A: Into<Answer<E>>,
{
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        Box::pin(async move { (self.call)(ask.cx, ask.event).await.map(Into::into) })
    }
}

/// Defines the two forms of a closure hook, for a mode and what the closure returns in it.
macro_rules! closure_hooks {
    ($(#[$doc:meta])* $sync:ident, $(#[$async_doc:meta])* $async:ident, $mode:ident, $answer:ty) => {
        $(#[$doc])*
        pub fn $sync<E, F, R>(name: impl Into<String>, hook: F) -> Registration
        where
            E: Event,
            F: Fn(&E::Scope, &E) -> R + Send + Sync + 'static,
            R: IntoAnswer<$answer> + 'static,
        {
            let handler = Closure::<E, F, R, $answer> { call: hook, types: PhantomData };
            Registration::on::<E, _>(name, handler).mode(Mode::$mode)
        }

        $(#[$async_doc])*
        pub fn $async<E, F, R>(name: impl Into<String>, hook: F) -> Registration
        where
            E: Event,
            F: Fn(&E::Scope, &E) -> R + Send + Sync + 'static,
            R: Future<Output = Result<$answer, BoxError>> + Send + 'static,
        {
            let handler = AsyncClosure::<E, F, R, $answer> { call: hook, types: PhantomData };
            Registration::on::<E, _>(name, handler).mode(Mode::$mode)
        }
    };
}

closure_hooks! {
    /// A closure that watches. It returns nothing, so it can change nothing; it runs in the
    /// background, so it can delay nothing.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    ///
    /// let log = inspect("log", |_cx, call: &ToolPost| println!("{} is done", call.name));
    /// # let _ = Runner::builder().register(log).build();
    /// ```
    inspect,
    /// As [`inspect`], with a future.
    inspect_async, Inspect, ()
}

closure_hooks! {
    /// A closure that decides. What it returns has no place for a rewrite.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    ///
    /// let guard = decide("no-empty-prompts", |_cx, turn: &TurnStart| {
    ///     if turn.prompt.trim().is_empty() {
    ///         Decision::deny("There is nothing to do.")
    ///     } else {
    ///         Decision::none()
    ///     }
    /// });
    /// # let _ = Runner::builder().register(guard).build();
    /// ```
    decide,
    /// As [`decide`], with a future.
    decide_async, Decide, Decision<E>
}

closure_hooks! {
    /// A closure that may rewrite.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    /// use tollgate_core::patch::ResultPatch;
    ///
    /// let redact = transform("redact", |_cx, done: &ToolPost| match done.result.as_str() {
    ///     Some(text) => Answer::rewrite(ResultPatch(text.replace("hunter2", "•••").into())),
    ///     None => Answer::deny("Only text is passed on here."),
    /// });
    /// # let _ = Runner::builder().register(redact).build();
    /// ```
    transform,
    /// As [`transform`], with a future.
    transform_async, Transform, Answer<E>
}

/// A handler with a condition before it.
pub struct When<H, W> {
    handler: H,
    condition: W,
}

impl<H: std::fmt::Debug, W> std::fmt::Debug for When<H, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("When").field("handler", &self.handler).finish_non_exhaustive()
    }
}

/// Puts a condition before a handler: it is asked only where `condition` holds.
pub fn when<E, H, W>(condition: W, handler: H) -> When<H, W>
where
    E: Event,
    H: Handle<E>,
    W: Fn(&E) -> Result<bool, BoxError> + Send + Sync,
{
    When { handler, condition }
}

impl<E, H, W> Handle<E> for When<H, W>
where
    E: Event,
    H: Handle<E>,
    W: Fn(&E) -> Result<bool, BoxError> + Send + Sync,
{
    fn wants(&self, event: &E) -> Result<bool, BoxError> {
        Ok((self.condition)(event)? && self.handler.wants(event)?)
    }

    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        self.handler.handle(ask)
    }
}
