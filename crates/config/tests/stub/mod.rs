//! A script engine for tests, of a language that has four words, and what tests of its hooks share.
//!
//! A script with `block` in it blocks, with the hook's name as the reason; one with `fail` fails;
//! one with `broken` does not load. A `when` of `False` is false, and one of `fail` fails.

#![allow(dead_code)] // each test uses a part of it

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_config::diagnostic::{self, Diagnostic, Report};
use tollgate_config::dialect::harness::{Artifact, Code};
use tollgate_config::layers::Places;
use tollgate_config::load::{Loaded, survey};
use tollgate_config::script::{Listed, Script, ScriptEngine, ScriptLoad};
use tollgate_config::settings::Settings;
use tollgate_config::trust::Store;
use tollgate_core::dialect::Layer;
use tollgate_core::error::BoxError;
use tollgate_core::hook::{Ask, BoxFuture, Handle, HookResult};
use tollgate_core::neutral::Neutral;
use tollgate_core::prelude::*;

/// The engine, and what it was told of each load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stub {
    pub(crate) catalogues: Arc<Mutex<Vec<Vec<Listed>>>>,
}

impl Stub {
    /// What there was at the last load.
    pub(crate) fn catalogue(&self) -> Vec<Listed> {
        self.catalogues.lock().unwrap().last().cloned().unwrap_or_default()
    }
}

impl ScriptEngine for Stub {
    fn load<'a>(&'a self, _settings: &Settings) -> Box<dyn ScriptLoad + 'a> {
        Box::new(self)
    }
}

impl ScriptLoad for &Stub {
    fn hook(&mut self, artifact: &Arc<Artifact>, report: &mut Report) -> Option<Script> {
        let text = artifact.script.text();
        if let Some(at) = text.find("broken") {
            let span = artifact.script.span(at..at + "broken".len());
            report
                .add(diagnostic::Code::ScriptSyntax, span, "the script is broken")
                .help("mend it");
        }
        let time = artifact.timeout.unwrap_or(Duration::from_secs(5));
        Some(Script { handler: Arc::new(Hook(Arc::clone(artifact))), time })
    }

    fn policy(&mut self, _layer: Layer, report: &mut Report) -> Option<Registration> {
        let file = Arc::clone(report.file());
        if file.text().contains("broken") {
            report.add(diagnostic::Code::BadPolicy, None, "the policy is broken");
            return None;
        }
        let blocks = file.text().contains("block");
        Some(decide(
            "policy",
            move |_cx, _call: &ToolPre| {
                if blocks { Decision::deny("by policy") } else { Decision::none() }
            },
        ))
    }

    fn done(self: Box<Self>, catalogue: &Arc<[Listed]>) {
        self.catalogues.lock().unwrap().push(catalogue.to_vec());
    }
}

struct Hook(Arc<Artifact>);

impl<E: Event> Handle<E> for Hook {
    fn wants(&self, _event: &E) -> Result<bool, BoxError> {
        match self.0.when.as_ref().map(Code::text) {
            Some("False") => Ok(false),
            Some("fail") => Err("its condition failed".into()),
            _ => Ok(true),
        }
    }

    fn handle<'a>(&'a self, _ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        let answer = match self.0.script.text() {
            text if text.contains("fail") => Err("the script failed".into()),
            text if text.contains("block") => {
                Neutral::new(Word::Deny, &*self.0.name).into_answer().map_err(BoxError::from)
            }
            _ => Ok(Answer::none()),
        };
        Box::pin(std::future::ready(answer))
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A hook with these further keys.
pub(crate) fn hook(keys: &str) -> String {
    let has = |key: &str| keys.lines().any(|line| line.starts_with(key));
    let event = if has("event:") { "" } else { "event: tool.pre\n" };
    let script = if has("script:") { "" } else { "script: allow\n" };
    format!("---\n{event}{script}{keys}\n---\n")
}

pub(crate) fn trust(places: &Places) {
    let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
    store.trust(&survey(places).unwrap()).unwrap();
}

pub(crate) fn runner(loaded: Loaded) -> Runner {
    let mut builder = Runner::builder();
    for registration in loaded.registrations {
        builder = builder.register(registration);
    }
    builder.build().unwrap()
}

pub(crate) async fn call(runner: &Runner) -> Outcome<ToolPre> {
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    runner.dispatch(&operation, ToolPre::from(ToolCall::new("view_file"))).await
}

pub(crate) fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics.iter().map(|it| it.code.id()).collect()
}
