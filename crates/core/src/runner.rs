//! The runner: one pipeline for every event, in five stages.
//!
//! 1. **Match.** Who asks for this event? Worked out when hooks are registered.
//! 2. **Order.** Priority, layer, place; hooks that are asked last, then policies ([`crate::registry`]).
//! 3. **Dispatch.** One after the other; the first final verdict ends the chain. If anything was
//!    rewritten, whoever has not seen the final payload is asked about it.
//! 4. **Compose.** The strictest wins ([`crate::verdict`]).
//! 5. **Record.** What was asked, answered, rewritten and decided ([`Record`](crate::Record)).

mod any;
mod builder;
mod call;
mod inspect;
mod outcome;
mod rehearsal;
mod run;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

pub use any::AnyOutcome;
pub use builder::{Limits, RunnerBuilder, Validator};
pub(crate) use call::{wants, within};
pub use outcome::{Approved, Outcome, Parts, Pending, Permit, Refusal};

use crate::audit::{AuditEntry, AuditSink};
use crate::context::Context;
use crate::event::{Event, Kind, to_value};
use crate::exception::Exceptions;
use crate::mask::Masker;
use crate::record::Inspection;
use crate::registry::{HookInfo, HookSet, RegisterError, Registration};
use crate::runtime::Runtime;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, Shared, keep, lock};
use inspect::{Inspections, Whose};
use run::Run;

/// Dispatches events to hooks. Cheap to clone; all clones share their hooks.
///
/// Dispatching from many tasks at once is safe: a dispatch works on the set of hooks that was in
/// force when it began, and no lock is held while a hook runs.
#[derive(Clone)]
pub struct Runner {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    hooks: Shared<HookSet>,
    registering: Mutex<()>,
    limits: Limits,
    reask: bool,
    runtime: Arc<dyn Runtime>,
    audit: Option<Audit>,
    validator: Arc<Validator>,
    exceptions: Option<Arc<dyn Exceptions>>,
    inspections: Arc<Inspections>,
    dispatches: AtomicU64,
}

/// A sink, and the mask before it.
#[derive(Clone)]
pub(crate) struct Audit {
    sink: Arc<dyn AuditSink>,
    masker: Arc<Masker>,
}

impl Runner {
    /// Starts to set up a runner.
    pub fn builder() -> RunnerBuilder {
        RunnerBuilder::new()
    }

    /// Dispatches an event to the hooks that ask for it.
    #[allow(clippy::manual_async_fn)] // an `async fn` would move the payload once more
    pub fn dispatch<'a, E: Event>(
        &'a self,
        cx: &'a E::Scope,
        event: E,
    ) -> impl Future<Output = Outcome<E>> + Send + 'a {
        async move {
            let inner = &*self.inner;
            let hooks = inner.hooks.peek();
            let no_tool = event.tool_call().filter(|_| E::KIND == Kind::ToolPre);
            let no_tool = no_tool.and_then(run::no_tool);
            let is_quiet = inner.is_quiet(E::KIND) && no_tool.is_none();
            if is_quiet && E::chain(&hooks.chains).entries().is_empty() {
                return Outcome::untouched(event, hooks.version, None);
            }
            let unfinished =
                inner.audit.as_ref().map(|audit| Unfinished::new(audit, inner, cx, E::KIND));
            let hooks = keep(hooks);
            let chain = E::chain(&hooks.chains);

            // 1. Match and 2. order: a look-up, whose result is in order.
            let matched = chain.matching(&event);
            if is_quiet && run::nobody(chain, &matched, &event) {
                drop(matched);
                return Outcome::untouched(event, hooks.version, Some(hooks));
            }

            // 3. Dispatch.
            let mut run = Run::new(inner, cx, chain, &hooks, &matched, event);
            if let Some(reason) = no_tool {
                run.refuse(reason);
            }
            for place in &matched.hooks {
                if !run.ended() {
                    run.ask(*place).await;
                }
            }
            run.freeze();
            if run.rewritten() {
                for place in &matched.hooks {
                    if !run.ended() && !run.has_seen_final(*place) {
                        run.ask_again(*place).await;
                    }
                }
            }
            for place in &matched.last {
                if !run.ended() {
                    run.ask(*place).await;
                }
            }

            // 4. Compose: `ask` joined each verdict to the ones before it; the budget is left.
            run.spend_budget();

            // Inspectors see what really happened.
            if E::KIND == Kind::SessionStart {
                for place in &matched.inspectors {
                    run.ask(*place).await;
                }
            } else if !matched.inspectors.is_empty() {
                run.inspect_later(&hooks, &matched.inspectors);
            }
            match (E::KIND, cx.current_turn()) {
                (Kind::TurnEnd, Some(turn)) => run.drain(Whose::Turn(turn.id())).await,
                (Kind::SessionEnd, _) => run.drain(Whose::Session(cx.session().id())).await,
                _ => {}
            }

            // 5. Record.
            run.finish();
            if let Some(unfinished) = unfinished {
                unfinished.finished(&run.outcome.parts);
            }
            run.outcome
        }
    }

    /// Adds a hook. Dispatches that are under way are not affected.
    pub fn register(&self, registration: Registration) -> Result<(), RegisterError> {
        let _one_at_a_time = lock(&self.inner.registering);
        let set = self.inner.hooks.get().with([registration])?;
        self.inner.hooks.replace(set);
        Ok(())
    }

    /// Replaces all hooks that came with the last `reload` by these, in one step, and returns the
    /// new [version](Self::version). Hooks that were registered otherwise stay, in their order.
    ///
    /// A dispatch has all of the old hooks or all of the new ones: those under way go on with the
    /// set they began with. Where one of the new hooks cannot be registered, nothing changes and
    /// the old ones stay in force.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    ///
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let say = |name: &str| inspect(name, |_cx, _call: &ToolPre| ());
    /// let runner = Runner::builder().register(say("in code")).build()?;
    /// let names = || -> Vec<_> { runner.hooks(Kind::ToolPre).map(|h| h.name.clone()).collect() };
    ///
    /// runner.reload([say("a"), say("b")])?;
    /// assert_eq!(names(), ["in code", "a", "b"]);
    /// runner.reload([say("c").tool("run_command")])?;
    /// assert_eq!(names(), ["in code", "c"]);
    /// assert!(runner.reload([say("d"), say("e").regex("(")]).is_err());
    /// assert_eq!(names(), ["in code", "c"]);
    /// # Ok(()) }
    /// ```
    pub fn reload(
        &self,
        registrations: impl IntoIterator<Item = Registration>,
    ) -> Result<u64, RegisterError> {
        // Whatever makes them does so before the lock is taken, as it may use this runner.
        let registrations: Vec<_> = registrations.into_iter().collect();
        let _one_at_a_time = lock(&self.inner.registering);
        let set = self.inner.hooks.get().reloaded(registrations)?;
        let version = set.version;
        self.inner.hooks.replace(set);
        Ok(version)
    }

    /// The hooks of an event, in the order they run.
    pub fn hooks(&self, kind: Kind) -> impl Iterator<Item = Arc<HookInfo>> {
        self.inner.hooks.get().chains.infos(kind).into_iter()
    }

    /// The hooks whose matcher asks for this event, in the order they run. Whether their conditions
    /// hold is only known when they are asked.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    ///
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let hook = |name: &str| inspect(name, |_cx, _call: &ToolPre| ());
    /// let runner = Runner::builder()
    ///     .register(hook("all"))
    ///     .register(hook("shell").tool("run_command"))
    ///     .build()?;
    /// let asked = runner.asked_about(&ToolPre::from(ToolCall::new("view_file")));
    /// assert_eq!(asked.iter().map(|hook| &*hook.name).collect::<Vec<_>>(), ["all"]);
    /// # Ok(()) }
    /// ```
    pub fn asked_about<E: Event>(&self, event: &E) -> Vec<Arc<HookInfo>> {
        let hooks = self.inner.hooks.get();
        let chain = E::chain(&hooks.chains);
        let matched = chain.matching(event);
        let mut places = matched.hooks.clone();
        places.extend_from_slice(&matched.last);
        places.extend_from_slice(&matched.inspectors);
        places.sort_unstable();
        let entries = places.iter().filter_map(|place| chain.entry(*place));
        entries.map(|entry| Arc::clone(&entry.info)).collect()
    }

    /// The version of the set of hooks; each registration and each reload makes a new one.
    pub fn version(&self) -> u64 {
        self.inner.hooks.get().version
    }

    /// Waits until all inspectors are done, `limit` at the most, and cuts off the rest. Returns
    /// the ones that were cut off. Happens by itself at the end of a turn and of a session, for
    /// what belongs to it.
    pub async fn drain(&self, limit: Duration) -> Vec<Inspection> {
        self.inner.drain(Whose::All, limit).await
    }

    /// As [`drain`](Self::drain), for the inspectors of one session or turn.
    pub async fn drain_of(&self, cx: &impl Context, limit: Duration) -> Vec<Inspection> {
        let whose = match cx.current_turn() {
            Some(turn) => Whose::Turn(turn.id()),
            None => Whose::Session(cx.session().id()),
        };
        self.inner.drain(whose, limit).await
    }

    /// How many dispatches have inspectors that are not done.
    pub fn inspections_under_way(&self) -> usize {
        self.inner.inspections.under_way()
    }
}

#[cfg(feature = "tokio")]
impl Runner {
    /// A runner without hooks, which may be registered later.
    pub fn new(limits: Limits) -> Self {
        Self::builder().limits(|own| *own = limits).without_hooks()
    }
}

#[cfg(feature = "tokio")]
impl Default for Runner {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Inner {
    async fn drain(&self, whose: Whose, limit: Duration) -> Vec<Inspection> {
        self.inspections.drain(&*self.runtime, whose, limit).await
    }

    fn next_dispatch(&self) -> u64 {
        self.dispatches.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether there is nothing to do about an event that no hook wants: nobody keeps a trail, and
    /// nothing has to be waited for.
    fn is_quiet(&self, kind: Kind) -> bool {
        self.audit.is_none() && !matches!(kind, Kind::TurnEnd | Kind::SessionEnd)
    }
}

/// Writes a dispatch into the trail: how it ended or, where whoever began it gave it up, that.
struct Unfinished<'a> {
    audit: &'a Audit,
    runtime: &'a dyn Runtime,
    session: &'a str,
    event: Kind,
    finished: bool,
}

impl<'a> Unfinished<'a> {
    fn new<S: Context>(audit: &'a Audit, inner: &'a Inner, cx: &'a S, event: Kind) -> Self {
        let session = &cx.session().info().id;
        Self { audit, runtime: &*inner.runtime, session, event, finished: false }
    }

    fn finished<E: Event>(mut self, parts: &Parts<E>) {
        self.finished = true;
        self.audit.write(self.runtime, || {
            serde_json::json!({
                "type": "dispatch",
                "session": self.session,
                "record": parts.record,
                "payload": to_value(&parts.event),
            })
        });
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let (session, event) = (self.session, self.event);
        self.audit.write(
            self.runtime,
            || serde_json::json!({"type": "given_up", "session": session, "event": event}),
        );
    }
}

impl Audit {
    /// Masks an entry, and hands it to the sink.
    pub(crate) fn write(&self, runtime: &dyn Runtime, entry: impl FnOnce() -> serde_json::Value) {
        let mut value = entry();
        self.masker.value(&mut value);
        let since = runtime.wall_clock().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
            fields.insert("at".to_owned(), at.into());
        }
        // A sink of somebody else's must not bring a dispatch down.
        let _ = catch_unwind(AssertUnwindSafe(|| self.sink.write(&AuditEntry::new(value))));
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner")
            .field("version", &self.version())
            .field("limits", &self.inner.limits)
            .finish_non_exhaustive()
    }
}
