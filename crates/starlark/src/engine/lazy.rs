//! Loading for one event: a hook is checked and compiled when it is asked.
//!
//! A program that is started for one event looks at many hooks and asks few. To parse and compile them all would take
//! longer than all the rest.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tollgate_config::diagnostic::{Diagnostic, Report};
use tollgate_config::dialect::harness::{Artifact, Code};
use tollgate_config::script::{Listed, Script, ScriptLoad};
use tollgate_core::dialect::Layer;
use tollgate_core::error::BoxError;
use tollgate_core::hook::{Ask, BoxFuture, Handle, HookResult};
use tollgate_core::{Event, Kind, Registration};

use super::load::Load;
use super::{DEFAULT_TIME, DEFAULT_TIME_OUTSIDE, Generation, Isolation, Shared};
use crate::analysis::{CondError, Condition, Native, native_alone};
use crate::hook::{ScriptHook, native_answer};
use crate::payload::Glance;

pub(super) struct LazyLoad<'e>(Load<'e>);

impl<'e> LazyLoad<'e> {
    pub(super) const fn new(load: Load<'e>) -> Self {
        Self(load)
    }
}

impl ScriptLoad for LazyLoad<'_> {
    fn hook(&mut self, artifact: &Arc<Artifact>, _report: &mut Report) -> Option<Script> {
        let condition = match artifact.when.as_ref().map(Code::text) {
            None => When::Always,
            Some(when) => Condition::recognise(when).map_or(When::AskScript, When::Native),
        };
        let (shared, generation) = self.0.parts();
        let hook = LazyHook {
            artifact: Arc::clone(artifact),
            shared: Arc::clone(shared),
            generation: Arc::clone(generation),
            condition,
            native: OnceLock::new(),
            made: OnceLock::new(),
        };
        Some(Script { handler: Arc::new(hook), time: longest(artifact) + COMPILING })
    }

    fn policy(&mut self, layer: Layer, report: &mut Report) -> Option<Registration> {
        self.0.policy(layer, report)
    }

    fn done(self: Box<Self>, catalogue: &Arc<[Listed]>) {
        Box::new(self.0).done(catalogue);
    }
}

/// How long it may take to compile a hook that is asked, on a machine that is busy.
const COMPILING: Duration = Duration::from_secs(2);

/// The longest that a hook may take, before it is known what it does.
fn longest(artifact: &Artifact) -> Duration {
    let text = artifact.script.text();
    let asks_outside = text.contains("http") || text.contains("tools");
    match artifact.timeout {
        Some(time) => time,
        None if asks_outside => DEFAULT_TIME_OUTSIDE,
        None => DEFAULT_TIME,
    }
}

/// When a hook is to be asked, as far as its text tells at once.
enum When {
    Always,
    Native(Condition),
    AskScript,
}

/// A hook that is made when it is asked.
struct LazyHook {
    artifact: Arc<Artifact>,
    shared: Arc<Shared>,
    generation: Arc<Generation>,
    condition: When,
    /// Its native form, where that may run here.
    native: OnceLock<Option<Native>>,
    made: OnceLock<Result<ScriptHook, String>>,
}

impl LazyHook {
    /// What it answers without the language. What is wrong with it, and what else there is to know about it, is left to
    /// [`made`](Self::made), which takes longer.
    fn natively<E: Event>(&self, ask: Ask<'_, E>) -> Option<HookResult<E>> {
        let condition = match &self.condition {
            When::Always => None,
            When::Native(condition) => Some(condition),
            When::AskScript => return None,
        };
        let native = self.native.get_or_init(|| {
            let may_run_here = matches!(self.shared.isolation, Isolation::InProcess);
            let (native, asks) =
                may_run_here.then(|| native_alone(self.artifact.script.text())).flatten()?;
            (!asks || self.artifact.event.kinds == [Kind::ToolPre]).then_some(native)
        });
        native_answer(native.as_ref()?, condition, self.artifact.event.name, ask)
    }

    /// The hook, or what is wrong with it.
    fn made(&self) -> Result<&ScriptHook, BoxError> {
        let made = self.made.get_or_init(|| {
            let mut report = Report::new(Arc::clone(&self.artifact.source));
            let load = Load::of(&self.shared, &self.generation);
            if let Some((hook, _)) = load.make(&self.artifact, &mut report, true) {
                return Ok(hook);
            }
            let problems = report.into_diagnostics();
            let first = problems.iter().find(|problem| problem.is_error());
            Err(first.map_or_else(|| "it does not load".to_owned(), Diagnostic::line))
        });
        made.as_ref().map_err(|why| BoxError::from(why.clone()))
    }
}

impl<E: Event> Handle<E> for LazyHook {
    fn wants(&self, event: &E) -> Result<bool, BoxError> {
        match &self.condition {
            When::Always => Ok(true),
            When::Native(condition) => {
                match Glance::at(event.view()).holds(condition, self.artifact.event.name) {
                    Some(Ok(held)) => Ok(held),
                    // With the words that it has for what the condition has raised.
                    Some(Err(CondError::NotNative)) | None => Ok(true),
                    Some(Err(_)) => self.made()?.wants(event),
                }
            }
            // Where it does not load, that is told when it is asked.
            When::AskScript => self.made().map_or(Ok(true), |hook| hook.wants(event)),
        }
    }

    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        if let Some(answer) = self.natively(ask) {
            return Box::pin(std::future::ready(answer));
        }
        match self.made() {
            Ok(hook) => hook.handle(ask),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
