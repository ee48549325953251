//! The hooks of files, in force in a runner, and loaded again on request.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::Runner;
use tollgate_core::registry::RegisterError;
use tollgate_core::runner::RunnerBuilder;

use crate::diagnostic::{Code, Diagnostic};
use crate::load::{Loaded, LoadedFile, Setup, closed_for_all, load};
use crate::script::Listed;

/// The hooks of files, in force in a runner.
///
/// An edit of a file counts when the files are loaded again. What is then found replaces what was
/// in force in one step; where anything in it is wrong, what was in force stays.
///
/// ```
/// use tollgate_config::hooks::Hooks;
/// use tollgate_config::layers::Places;
/// use tollgate_config::load::Setup;
///
/// # let directory = tempfile::tempdir()?;
/// let places = Places::below(directory.path());
/// let hooks = Hooks::open(Setup::new(places))?;
/// for diagnostic in &hooks.in_force().diagnostics {
///     eprintln!("{}", diagnostic.line());
/// }
/// # assert!(hooks.in_force().diagnostics.is_empty());
/// // Later, when a person asks for it:
/// let reloaded = hooks.reload();
/// assert!(reloaded.is_in_force);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hooks {
    runner: Runner,
    setup: Setup,
    in_force: Mutex<Arc<InForce>>,
}

/// What was found in the files.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The version of the runner's set of hooks.
    pub version: u64,
    /// The files.
    pub files: Vec<LoadedFile>,
    /// The hooks of files, in the order in which they run; also those that are switched off.
    pub catalogue: Arc<[Listed]>,
    /// Everything that is to be said of them.
    pub diagnostics: Vec<Diagnostic>,
}

/// What came of loading the files again.
#[derive(Debug, Clone)]
#[must_use = "it may not be in force"]
pub struct Reloaded {
    /// Whether what was found is in force now; else what was before still is.
    pub is_in_force: bool,
    /// What was found.
    pub found: Arc<InForce>,
}

impl Hooks {
    /// Loads the files into a runner as the settings want it.
    pub fn open(setup: Setup) -> Result<Self, RegisterError> {
        Self::open_with(setup, |runner, _| runner)
    }

    /// As [`open`](Self::open), with a runner to which more was said: where its audit trail goes, or
    /// hooks of one's own.
    pub fn open_with(
        setup: Setup,
        more: impl FnOnce(RunnerBuilder, &Loaded) -> RunnerBuilder,
    ) -> Result<Self, RegisterError> {
        let loaded = load(&setup);
        let runner = more(setup.runner(&loaded), &loaded).build()?;
        Ok(Self::put(runner, setup, loaded))
    }

    /// Loads the files and puts their hooks into a runner. Hooks that are registered in it
    /// otherwise stay as they are.
    pub fn load(runner: Runner, setup: Setup) -> Self {
        let loaded = load(&setup);
        Self::put(runner, setup, loaded)
    }

    fn put(runner: Runner, setup: Setup, mut loaded: Loaded) -> Self {
        let version = match runner.reload(std::mem::take(&mut loaded.registrations)) {
            Ok(version) => version,
            Err(error) => {
                // Each is right for itself, and together they are too much. None is in force, so
                // nothing passes.
                loaded.diagnostics.push(not_registered(&loaded, &error));
                let closed = closed_for_all(&error.to_string());
                runner.reload(closed).unwrap_or_else(|_| runner.version())
            }
        };
        let in_force = Mutex::new(Arc::new(InForce::of(loaded, version)));
        Self { runner, setup, in_force }
    }

    /// The directories that hook files are in, or would be: what to watch.
    pub fn directories(&self) -> Vec<PathBuf> {
        let places = &self.setup.places;
        let files =
            places.files().into_iter().filter_map(|place| Some(place.path.parent()?.into()));
        let folders = places.folders().into_iter().map(|folder| folder.path);
        let mut all: Vec<PathBuf> = files.chain(folders).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Loads the files again. Where all of them load, their hooks replace what was in force, in
    /// one step; dispatches under way go on with what they began with.
    pub fn reload(&self) -> Reloaded {
        let mut in_force = self.lock();
        let mut loaded = load(&self.setup.again());
        if loaded.is_sound {
            match self.runner.reload(std::mem::take(&mut loaded.registrations)) {
                Ok(version) => {
                    let found = Arc::new(InForce::of(loaded, version));
                    *in_force = Arc::clone(&found);
                    return Reloaded { is_in_force: true, found };
                }
                Err(error) => loaded.diagnostics.push(not_registered(&loaded, &error)),
            }
        }
        let found = Arc::new(InForce::of(loaded, in_force.version));
        Reloaded { is_in_force: false, found }
    }

    /// The runner.
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// What was found when the hooks in force were loaded.
    pub fn in_force(&self) -> Arc<InForce> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<InForce>> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InForce {
    fn of(loaded: Loaded, version: u64) -> Self {
        let Loaded { files, catalogue, diagnostics, .. } = loaded;
        Self { version, files, catalogue, diagnostics }
    }
}

fn not_registered(loaded: &Loaded, error: &RegisterError) -> Diagnostic {
    let path = loaded.files.first().map(|file| file.path.clone()).unwrap_or_default();
    Diagnostic::of_file(path, Code::CannotRegister, error.to_string())
        .help("the patterns of all hooks together are too much: make them simpler, or fewer")
}
