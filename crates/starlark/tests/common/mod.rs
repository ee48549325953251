//! Hooks of a project, loaded and in force.
#![allow(dead_code)] // each test uses what it needs

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_config::script::{ScriptEngine, ScriptLoad};
use tollgate_config::settings::Settings;
use tollgate_core::prelude::*;
use tollgate_starlark::Starlark;

/// Where scripts run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// All in workers.
    Workers,
    /// Those known to be cheap here.
    Mixed,
    /// All here.
    InProcess,
}

impl Isolation {
    pub(crate) const ALL: [Self; 3] = [Self::Workers, Self::Mixed, Self::InProcess];

    pub(crate) fn engine(self) -> Starlark {
        let with_worker = || Starlark::with_worker(env!("CARGO_BIN_EXE_tollgate-worker"));
        match self {
            Self::Workers => with_worker().isolate_all(),
            Self::Mixed => with_worker(),
            Self::InProcess => Starlark::in_process(),
        }
    }
}

/// Compiles scripts when they are asked, as a program that is started for one event does.
#[derive(Debug)]
pub(crate) struct Lazily(pub(crate) Starlark);

impl ScriptEngine for Lazily {
    fn load<'a>(&'a self, settings: &Settings) -> Box<dyn ScriptLoad + 'a> {
        self.0.load_lazily(settings)
    }
}

/// A person's hooks in force, and a session to dispatch in.
pub(crate) struct Bench {
    pub(crate) directory: TempDir,
    pub(crate) hooks: Hooks,
    pub(crate) session: SessionContext,
    pub(crate) turn: TurnContext,
}

impl Bench {
    /// The hooks of these files.
    pub(crate) fn new(isolation: Isolation, files: &[(&str, &str)]) -> Self {
        Self::with(isolation.engine(), files, "")
    }

    /// With this engine, and these settings.
    pub(crate) fn with(engine: Starlark, files: &[(&str, &str)], settings: &str) -> Self {
        let bench = Self::unchecked(engine, files, settings);
        let problems: Vec<_> =
            bench.hooks.in_force().diagnostics.iter().map(Diagnostic::line).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        bench
    }

    /// Whatever is wrong with the files.
    pub(crate) fn unchecked(engine: Starlark, files: &[(&str, &str)], settings: &str) -> Self {
        Self::of(Arc::new(engine), files, settings)
    }

    /// The same, with any engine.
    pub(crate) fn of(
        engine: Arc<dyn ScriptEngine>,
        files: &[(&str, &str)],
        settings: &str,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let places = Places::below(directory.path());
        let user = places.user.clone().unwrap();
        fs::create_dir_all(user.join("hooks")).unwrap();
        for (name, text) in files {
            let is_hook = Path::new(name).extension().is_some_and(|extension| extension == "md");
            let path = if is_hook { user.join("hooks") } else { user.clone() };
            fs::write(path.join(name), text).unwrap();
        }
        if !settings.is_empty() {
            fs::write(user.join("config.toml"), settings).unwrap();
        }
        let setup = Setup { scripts: Some(engine), ..Setup::new(places) };
        let hooks = Hooks::open(setup).unwrap();
        let session = SessionContext::new(SessionInfo::default());
        let turn = session.turn();
        Self { directory, hooks, session, turn }
    }

    /// Dispatches what belongs to an operation.
    pub(crate) async fn dispatch<E: Event<Scope = OperationContext>>(
        &self,
        event: E,
    ) -> Outcome<E> {
        self.hooks.runner().dispatch(&self.turn.operation(), event).await
    }
}
