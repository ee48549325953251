//! Firing events at hooks of files, as `fire` and the case files of `test` do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tollgate_config::hooks::{Hooks, InForce};
use tollgate_config::load::Setup;
use tollgate_core::audit::MemorySink;
use tollgate_core::context::{OperationContext, SessionContext, SessionInfo};
use tollgate_core::dialect::Mode;
use tollgate_core::event::ToolPre;
use tollgate_core::exception::Exceptions;
use tollgate_core::record::Record;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::{AnyEvent, Kind};

use crate::problem::Problem;

/// An event to be fired, and the session it happens in.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) event: AnyEvent,
    pub(crate) session: SessionInfo,
}

impl Input {
    /// Reads what a payload has: the event's own fields, and what is optional in all of them.
    pub(crate) fn from_value(kind: Kind, payload: Value) -> Result<Self, Problem> {
        let Value::Object(mut fields) = payload else {
            return Err(Problem::new("the payload is not a JSON object").help(fields_of(kind)));
        };
        let session = match fields.remove("session") {
            None => SessionInfo::default(),
            Some(session) => serde_json::from_value(session)
                .map_err(|error| Problem::new(format!("{kind}: at `session`: {error}")))?,
        };
        if !kind.is_about_tool() {
            // Which call and step it belongs to is told to hooks of tools alone.
            take(&mut fields, kind, "call", "a text", Value::is_string)?;
            take(&mut fields, kind, "step", "a whole number", Value::is_u64)?;
        }
        let event = AnyEvent::from_value(kind, Value::Object(fields))
            .map_err(|error| Problem::new(error).help(fields_of(kind)))?;
        Ok(Self { event, session })
    }
}

fn take(
    fields: &mut Map<String, Value>,
    kind: Kind,
    name: &str,
    what: &str,
    is: fn(&Value) -> bool,
) -> Result<(), Problem> {
    match fields.remove(name) {
        Some(value) if !is(&value) => {
            Err(Problem::new(format!("{kind}: `{name}` has to be {what}, not {value}")))
        }
        _ => Ok(()),
    }
}

/// What the payload of an event has, for who got it wrong.
fn fields_of(kind: Kind) -> String {
    let own = match kind {
        Kind::ToolPre => "name, args, server?",
        Kind::ToolPost => "name, args, server?, result",
        Kind::ToolError => "name, args, server?, error",
        Kind::TurnStart => "prompt",
        Kind::TurnEnd => "response",
        Kind::ModelPre | Kind::ModelPost | Kind::InvocationEnd => "invocation, steps",
        Kind::Stop => "execution, reason, error?, idle",
        Kind::CompactionPost => "summary",
        Kind::Notification => "type, message",
        Kind::FacetSwitch => "from, to",
        Kind::SubagentStart => "type",
        Kind::SubagentStop => "type, result?",
        Kind::Interaction => "questions",
        Kind::Failure => "error, origin?",
        Kind::SessionStart | Kind::SessionEnd | Kind::CompactionPre => "nothing",
    };
    format!(
        "{kind} has {own}; and where you like, session {{id, workspaces, transcript, artifacts}}, \
         call, step, agent {{id, depth}}, model"
    )
}

/// Hooks, loaded and ready.
#[derive(Debug)]
pub(crate) struct Ready {
    hooks: Hooks,
    /// What inspectors came to, where there are any.
    sink: Option<Arc<MemorySink>>,
    in_force: Arc<InForce>,
    project: Option<String>,
    drain: Duration,
}

/// What came of an event.
#[derive(Debug)]
pub(crate) struct Fired {
    pub(crate) outcome: AnyOutcome,
    pub(crate) took: Duration,
    /// What inspectors came to.
    pub(crate) inspections: Vec<Inspected>,
}

/// What one inspector came to.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) hook: String,
    pub(crate) error: Option<String>,
    pub(crate) micros: u64,
}

impl Ready {
    pub(crate) fn new(setup: Setup) -> Result<Self, Problem> {
        Self::excepting(setup, None)
    }

    /// As [`new`](Self::new), with the exceptions that a person has made.
    pub(crate) fn excepting(
        setup: Setup,
        exceptions: Option<Arc<dyn Exceptions>>,
    ) -> Result<Self, Problem> {
        let project = setup.places.project.as_ref();
        let project = project.map(|project| project.to_string_lossy().into_owned());
        let drain = setup.settings.settings.limits.drain;
        let events = setup.only.map_or(Kind::ALL.to_vec(), |only| vec![only]);
        let mut sink = None;
        let hooks = Hooks::open_with(setup, |mut runner, loaded| {
            if let Some(exceptions) = exceptions {
                runner = runner.exceptions(exceptions);
            }
            let watches = |kind: &Kind, dialect| {
                kind.rule(dialect).is_some_and(|rule| rule.mode == Mode::Inspect)
            };
            let mut dialects = loaded.catalogue.iter().map(|hook| hook.dialect);
            // What is written down costs time, and is only read for those that answer nobody.
            if !dialects.any(|dialect| events.iter().any(|kind| watches(kind, dialect))) {
                return runner;
            }
            let memory = Arc::new(MemorySink::new(16));
            sink = Some(Arc::clone(&memory));
            runner.audit(memory)
        })?;
        let in_force = hooks.in_force();
        Ok(Self { hooks, sink, in_force, project, drain })
    }

    pub(crate) fn in_force(&self) -> &InForce {
        &self.in_force
    }

    /// The project whose hooks they are.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref().map(Path::new)
    }

    /// The rules of policies, each with its file.
    pub(crate) fn rules(&self) -> Vec<(PathBuf, String)> {
        let mut rules = Vec::new();
        for info in self.hooks.runner().hooks(Kind::ToolPre) {
            let file = info.source.as_ref().map(|source| PathBuf::from(&*source.file));
            let named = info.rules.iter().map(ToString::to_string);
            rules.extend(
                file.into_iter()
                    .flat_map(|file| named.clone().map(move |rule| (file.clone(), rule))),
            );
        }
        rules
    }

    fn operation(&self, mut session: SessionInfo) -> OperationContext {
        if session.workspaces.is_empty() {
            session.workspaces.extend(self.project.clone());
        }
        SessionContext::new(session).turn().operation()
    }

    /// Asks about a refused call again, to find out what else objects to it (`Runner::rehearse`).
    pub(crate) fn rehearse(
        &self,
        call: ToolPre,
        session: SessionInfo,
        before: &Record,
        until: Instant,
    ) -> Option<AnyOutcome> {
        let operation = self.operation(session);
        let rehearsal = self.hooks.runner().rehearse(&operation, call, before, until);
        pollster::block_on(rehearsal).map(AnyOutcome::from)
    }

    pub(crate) fn fire(&self, input: Input) -> Fired {
        let Input { event, session } = input;
        let runner = self.hooks.runner();
        let operation = self.operation(session);
        let begun = Instant::now();
        let outcome = pollster::block_on(runner.dispatch_any(&operation, event));
        let took = begun.elapsed();
        let mut inspections = Vec::new();
        if let (Some(sink), Ok(1..)) = (&self.sink, &outcome.record.inspectors) {
            pollster::block_on(runner.drain(self.drain));
            let id = outcome.record.id;
            for entry in sink.entries() {
                let value = entry.value();
                if value.get("dispatch").and_then(Value::as_u64) == Some(id) {
                    let all = value.get("inspections").and_then(Value::as_array);
                    inspections.extend(all.into_iter().flatten().map(inspected));
                }
            }
        }
        Fired { outcome, took, inspections }
    }
}

fn inspected(entry: &Value) -> Inspected {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(ToOwned::to_owned);
    let error = entry.get("error").filter(|error| !error.is_null());
    Inspected {
        hook: text(entry.get("hook")).unwrap_or_default(),
        error: error.map(|error| text(error.get("message")).unwrap_or_else(|| error.to_string())),
        micros: entry.get("micros").and_then(Value::as_u64).unwrap_or(0),
    }
}
