//! Hooks and policies that are scripts.

use std::sync::Arc;

use tollgate_core::error::BoxError;
use tollgate_core::event::{
    Failure, ModelPost, ModelPre, SessionEnd, SessionStart, Stop, SubagentStop, ToolError,
    ToolPost, ToolPre, TurnEnd, TurnStart,
};
use tollgate_core::hook::{Ask, BoxFuture, Handle, HandleEvery, HookResult};
use tollgate_core::{Dialect, Event, Kind, Mode, Registration};

use super::{FileState, Loaded, Loader};
use crate::command::{Closed, GRACE};
use crate::diagnostic::{Code, Report};
use crate::dialect::FileHook;
use crate::dialect::harness::{Artifact, Code as Text};
use crate::layers::Place;
use crate::script::{Listed, Script, ScriptLoad};
use crate::source::SourceFile;
use crate::trust::Seal;

/// What has to hold for a file to stay in force; nothing for those that need no trust.
type Condition = Option<Arc<Seal>>;

impl Loader<'_> {
    /// Puts a Markdown hook in force, and says what became of it.
    pub(super) fn hook(
        &mut self,
        place: &Place,
        artifact: &Arc<Artifact>,
        seal: Option<&Arc<Seal>>,
    ) -> FileState {
        if !artifact.enabled {
            self.catalogue.push(Listed::script(place, artifact));
            return FileState::Off;
        }
        if !self.is_wanted(artifact.event.kinds) {
            self.catalogue.push(Listed::script(place, artifact));
            return FileState::InForce;
        }
        let Some(seal) = self.condition(place, &artifact.source, seal) else {
            return FileState::Changed;
        };
        let ask =
            |scripts: &mut dyn ScriptLoad, report: &mut Report| scripts.hook(artifact, report);
        let Some(Script { handler, time }) = self.ask(place, &artifact.source, ask) else {
            return FileState::Broken;
        };
        self.catalogue.push(Listed::script(place, artifact));
        self.loaded.longest = self.loaded.longest.max(time);
        let mut registration = Registration::named(artifact.name.as_str())
            .dialect(Dialect::Harness)
            .layer(place.layer)
            .source(place.path.display().to_string(), Some(artifact.line()))
            .priority(artifact.priority.unwrap_or(0).into())
            .deadline(time + GRACE);
        if !reaches_outside(artifact.script.text()) {
            registration = registration.repeatable();
        }
        for kind in artifact.event.kinds {
            registration = on_kind(registration, *kind, &handler, &seal);
        }
        self.loaded.registrations.push(registration);
        FileState::InForce
    }

    /// Puts a policy file in force, and says what became of it.
    pub(super) fn policy(
        &mut self,
        place: &Place,
        source: &Arc<SourceFile>,
        seal: Option<&Arc<Seal>>,
    ) -> FileState {
        if !self.is_wanted(&[Kind::ToolPre]) {
            return FileState::InForce;
        }
        let Some(seal) = self.condition(place, source, seal) else { return FileState::Changed };
        let ask =
            |scripts: &mut dyn ScriptLoad, report: &mut Report| scripts.policy(place.layer, report);
        let Some(rules) = self.ask(place, source, ask) else { return FileState::Broken };
        let path = place.path.display().to_string();
        if let Some(seal) = seal {
            // The rules are not ours to wrap, so who looks at their file stands before all others.
            let watch = Registration::on::<ToolPre, _>("policy-seal", Watch { seal })
                .mode(Mode::Decide)
                .dialect(Dialect::Native)
                .layer(place.layer)
                .priority(i64::MIN)
                .repeatable()
                .source(path.as_str(), None);
            self.loaded.registrations.push(watch);
        }
        self.loaded.registrations.push(rules.layer(place.layer));
        FileState::InForce
    }

    /// Has a script checked. Where it does not load, that is said, and its gates are closed.
    fn ask<T>(
        &mut self,
        place: &Place,
        source: &Arc<SourceFile>,
        ask: impl FnOnce(&mut dyn ScriptLoad, &mut Report) -> Option<T>,
    ) -> Option<T> {
        let mut report = Report::new(Arc::clone(source));
        let made = self.scripts.as_deref_mut().and_then(|scripts| ask(scripts, &mut report));
        if self.scripts.is_none() {
            report
                .add(
                    Code::NoScriptEngine,
                    None,
                    "this program cannot run Starlark: the file only closes its gates",
                )
                .help("remove the file, or use a program that is built with Starlark");
        }
        if made.is_none() && !report.has_errors() {
            report.add(Code::ScriptFails, None, "the script does not load");
        }
        let made = made.filter(|_| !report.has_errors());
        let said = report.into_diagnostics();
        if let Some(error) = said.iter().find(|said| said.is_error()) {
            self.loaded.is_sound = false;
            self.close(&place.path, place, &error.line());
        }
        self.loaded.diagnostics.extend(said);
        made
    }

    /// What has to hold for a file to stay in force. None where it does not hold even now.
    fn condition(
        &mut self,
        place: &Place,
        source: &Arc<SourceFile>,
        seal: Option<&Arc<Seal>>,
    ) -> Option<Condition> {
        let Some(seal) = seal else { return Some(None) };
        match seal.for_files([&place.path]) {
            Ok(seal) => Some(Some(Arc::new(seal))),
            Err(error) => {
                self.refuse(source, place, Code::ChangedSinceTrusted, &error.to_string());
                None
            }
        }
    }

    /// All files are taken.
    pub(super) fn done(self) -> Loaded {
        let Self { mut loaded, scripts, mut catalogue, .. } = self;
        // As they run. Those of one file are in their order already.
        catalogue.sort_by_key(|hook| (hook.priority.unwrap_or(0), hook.layer));
        loaded.catalogue = catalogue.into();
        if let Some(scripts) = scripts {
            scripts.done(&loaded.catalogue);
        }
        loaded
    }
}

/// Adds a handler at an event, with the condition before it.
fn on_kind(
    registration: Registration,
    kind: Kind,
    handler: &Arc<dyn HandleEvery>,
    seal: &Condition,
) -> Registration {
    macro_rules! at {
        ($($event:ident)*) => {
            match kind {
                $(Kind::$event => {
                    let handler: Arc<dyn Handle<$event>> = Arc::<dyn HandleEvery>::clone(handler);
                    add(registration, handler, seal)
                })*
                // Not one of AI Harness: to register it fails, and is said.
                other => registration.and_on_kind(other, Arc::new(Closed { why: String::new() })),
            }
        };
    }
    at!(SessionStart SessionEnd TurnStart TurnEnd ModelPre ModelPost ToolPre ToolPost ToolError Stop
        SubagentStop Failure)
}

fn add<E: Event>(
    registration: Registration,
    handler: Arc<dyn Handle<E>>,
    seal: &Condition,
) -> Registration {
    match seal {
        Some(seal) => {
            registration.and_on::<E>(Arc::new(Sealed { handler, seal: Arc::clone(seal) }))
        }
        None => registration.and_on::<E>(handler),
    }
}

/// A script of a project: it answers as long as its file is what was trusted.
struct Sealed<E: Event> {
    handler: Arc<dyn Handle<E>>,
    seal: Arc<Seal>,
}

impl<E: Event> Handle<E> for Sealed<E> {
    fn wants(&self, event: &E) -> Result<bool, BoxError> {
        self.seal.look()?;
        self.handler.wants(event)
    }

    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        match self.seal.look() {
            Ok(()) => self.handler.handle(ask),
            Err(tampered) => Box::pin(std::future::ready(Err(tampered.into()))),
        }
    }
}

/// Watches the file of a project's policy. As long as it is what was trusted, this is not asked.
struct Watch {
    seal: Arc<Seal>,
}

impl Handle<ToolPre> for Watch {
    fn wants(&self, _event: &ToolPre) -> Result<bool, BoxError> {
        self.seal.look()?;
        Ok(false)
    }

    fn handle<'a>(&'a self, _ask: Ask<'a, ToolPre>) -> BoxFuture<'a, HookResult<ToolPre>> {
        let looked = self.seal.look().map(|()| tollgate_core::Answer::none());
        Box::pin(std::future::ready(looked.map_err(BoxError::from)))
    }
}

impl Listed {
    fn script(place: &Place, artifact: &Artifact) -> Self {
        Self {
            name: artifact.name.clone(),
            dialect: Dialect::Harness,
            event: artifact.event.name,
            priority: artifact.priority,
            layer: place.layer,
            path: place.path.clone(),
            line: artifact.line(),
            command: None,
            when: artifact.when.as_ref().map(Text::text).map(str::to_owned),
            timeout: artifact.timeout,
            description: artifact.description.clone(),
            enabled: artifact.enabled,
            has_tests: artifact.has_tests,
        }
    }

    pub(super) fn command(dialect: Dialect, place: &Place, line: u32, hook: &FileHook) -> Self {
        Self {
            name: hook.name.clone(),
            dialect,
            event: hook.event.name,
            priority: None,
            layer: place.layer,
            path: place.path.clone(),
            line,
            command: Some(hook.command.clone()),
            when: hook.condition.as_ref().and_then(|it| it.shown()).map(str::to_owned),
            timeout: hook.time,
            description: hook.description.clone(),
            enabled: true,
            has_tests: false,
        }
    }
}

/// True if a script may make requests or call tools, which must not be done twice for one call.
fn reaches_outside(script: &str) -> bool {
    ["http.", "tools."].iter().any(|name| script.contains(name))
}
