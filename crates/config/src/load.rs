//! Loading: from the files of all layers to hooks that can be registered.
//!
//! A file with an error does not load in part. What then follows depends on whose it is: a file of
//! the system or the person, or one of the project that was trusted, closes the gates that its
//! dialect can close, with the problem as the reason. One that nobody has trusted yet is reported.

mod alone;
mod closed;
mod commands;
mod find;
mod missing;
mod negation;
mod protected;
mod review;
mod scripts;
mod shells;
mod trusted;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::dialect::Layer;
use tollgate_core::mask::Masker;
use tollgate_core::runner::RunnerBuilder;
use tollgate_core::{Dialect, Kind, Registration, Runner};
use tollgate_exec::{DEFAULT_AT_ONCE, Executor, Limits};

use crate::command::{GRACE, Surroundings};
use crate::diagnostic::{Code, Diagnostic, Report};
use crate::dialect::{Cwd, FileDialect, Shell};
use crate::guard::Guard;
use crate::layers::{Format, Place, Places};
use crate::script::{Listed, ScriptEngine, ScriptLoad};
use crate::settings;
use crate::source::SourceFile;
use crate::trust::Seal;

pub use alone::command_hook;
pub(crate) use closed::closed_for_all;
pub use trusted::survey;

use closed::closed;
use find::{Found, Parsed, Tests, find_all, find_named};
use negation::{check_negations, negated};
use protected::protected;
use shells::place_of;
use trusted::{Trust, settings_in_force};

/// What is loaded, and for whom.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Where to look.
    pub places: Places,
    /// Whether a person is there to answer questions.
    pub interactive: bool,
    /// What runs the commands.
    pub executor: Executor,
    /// What `config.toml` says, in all layers.
    pub settings: settings::Loaded,
    /// What runs scripts. Without it, files with scripts do not load.
    pub scripts: Option<Arc<dyn ScriptEngine>>,
    /// Which hook files are loaded.
    pub files: Files,
    /// The one event that will be fired, where there is only one: then hooks of others do not run,
    /// and a script is checked and compiled when it is asked. What is wrong with one that is not
    /// asked does not show.
    pub only: Option<Kind>,
    /// Systems whose own files are left out, because the agent runs what is in them itself. They are
    /// a part of what is trusted all the same.
    pub without: Vec<Dialect>,
}

/// Which hook files are loaded.
#[derive(Debug, Clone, Default)]
pub enum Files {
    /// Those that are found in the places; a project's as far as they are trusted.
    #[default]
    Trusted,
    /// Those that are found in the places, whether they are trusted or not: for looking at them.
    Found,
    /// These, which a person has named, and so trusts. Nothing else is looked for, and the hook that
    /// protects Tollgate's own files is not there.
    Named(Vec<Place>),
}

impl Setup {
    /// The usual one, with the settings of these places. Those of a project count once it is
    /// trusted.
    pub fn new(mut places: Places) -> Self {
        // What is trusted and what runs is to be the same, wherever a link leads later.
        places.project = places.project.map(|project| {
            let absolute = || std::path::absolute(&project).ok();
            project.canonicalize().ok().or_else(absolute).unwrap_or(project)
        });
        let settings = read_settings(&places);
        let at_once = usize::try_from(settings.settings.limits.commands).unwrap_or(usize::MAX);
        let executor = if at_once == DEFAULT_AT_ONCE {
            Executor::shared().clone()
        } else {
            Executor::new(at_once)
        };
        let files = Files::default();
        let (scripts, only, without) = (None, None, Vec::new());
        Self { places, interactive: false, executor, settings, scripts, files, only, without }
    }

    /// Without the files that systems have of their own: under an agent that runs what is in them
    /// itself. Those in Tollgate's folders count.
    #[must_use]
    pub fn without(mut self, systems: &[Dialect]) -> Self {
        self.without.extend_from_slice(systems);
        self
    }

    /// With these files and no others.
    #[must_use]
    pub fn named(mut self, files: Vec<Place>) -> Self {
        self.files = Files::Named(files);
        self
    }

    /// For one event only.
    #[must_use]
    pub fn only(mut self, event: Kind) -> Self {
        self.only = Some(event);
        self
    }

    /// With what runs scripts: Markdown hooks and policy files.
    #[must_use]
    pub fn scripts(mut self, engine: impl ScriptEngine + 'static) -> Self {
        self.scripts = Some(Arc::new(engine));
        self
    }

    /// The same, with the settings as they are now.
    #[must_use]
    pub(crate) fn again(&self) -> Self {
        Self { settings: read_settings(&self.places), ..self.clone() }
    }

    /// A runner as the settings want it for what was loaded, to which hooks of one's own can be
    /// added.
    ///
    /// How long a dispatch may take follows from the hooks where nobody has set it: a handler that
    /// may take ten minutes gets them.
    pub fn runner(&self, loaded: &Loaded) -> RunnerBuilder {
        let settings = &self.settings.settings;
        let mut limits = settings.runner_limits();
        if settings.origin("limits.dispatch").is_empty() {
            limits.dispatch = limits.dispatch.max(loaded.longest + 2 * GRACE);
        }
        Runner::builder()
            .limits(|own| *own = limits)
            .reask(settings.engine.reask)
            // Patterns are checked where the settings are read.
            .masker(settings.masker().unwrap_or_else(|_| Masker::everything()))
    }
}

fn read_settings(places: &Places) -> settings::Loaded {
    let mut files = places.settings();
    let is_there = files.project.as_ref().is_some_and(|file| file.symlink_metadata().is_ok());
    if is_there {
        // What the project sets itself says nothing about whether it counts.
        let above = settings::Loaded::read(&settings::Files { project: None, ..files.clone() });
        files.project = settings_in_force(places, above.settings.trust.changed);
    }
    settings::Loaded::read(&files)
}

/// What a load came to.
#[derive(Debug)]
#[must_use = "the hooks are in force once they are given to a runner"]
pub struct Loaded {
    /// The hooks, to be given to a runner.
    pub registrations: Vec<Registration>,
    /// The files that were found.
    pub files: Vec<LoadedFile>,
    /// The hooks of files that load, in the order in which they run; also those that are switched off.
    pub catalogue: Arc<[Listed]>,
    /// Everything that is to be said, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
    /// The longest time that any of the hooks has.
    pub longest: Duration,
    /// Whether all that takes part is as it should be. What is wrong with a project that nobody
    /// has trusted takes no part.
    pub is_sound: bool,
}

impl Loaded {
    /// Whether anything keeps a file from loading.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// A file that was found.
#[derive(Debug, Clone)]
pub struct LoadedFile {
    /// Where.
    pub path: PathBuf,
    /// Its format.
    pub dialect: Dialect,
    /// Whose it is.
    pub layer: Layer,
    /// What became of it.
    pub state: FileState,
    /// How many hooks it has.
    pub hooks: usize,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Its hooks are in force.
    InForce,
    /// It has errors. The gates its dialect can close are closed.
    Broken,
    /// Nobody has trusted it yet. Its hooks do not run.
    Untrusted,
    /// It is not what was trusted. The gates its dialect can close are closed.
    Changed,
    /// It says of itself that it is not in force.
    Off,
}

/// Finds, reads, checks and orders all files.
pub fn load(setup: &Setup) -> Loaded {
    let tests = if setup.only.is_some() { Tests::PassedOver } else { Tests::Read };
    let (mut found, said) = match &setup.files {
        Files::Trusted | Files::Found => find_all(&setup.places, tests),
        Files::Named(places) => find_named(places, tests),
    };
    let trust = match &setup.files {
        Files::Trusted => {
            Trust::of(&setup.places, &mut found, setup.settings.settings.trust.changed)
        }
        Files::Found | Files::Named(_) => Trust::Given,
    };
    // What named files switch off was not looked for.
    if !matches!(setup.files, Files::Named(_)) {
        check_negations(&mut found, &trust);
    }
    let stdout = setup.settings.settings.limits.stdout;
    let stdout = usize::try_from(stdout).unwrap_or(usize::MAX);
    let surroundings = Arc::new(Surroundings {
        executor: setup.executor.clone(),
        limits: Limits { stdout, ..Limits::default() },
        project: setup.places.project.clone(),
        interactive: setup.interactive,
    });
    let mut loader = Loader {
        setup,
        shells: [Shell::Sh, Shell::Bash].map(|shell| (shell, place_of(shell))),
        surroundings,
        loaded: Loaded {
            registrations: Vec::new(),
            files: Vec::new(),
            catalogue: Arc::default(),
            diagnostics: said,
            longest: Duration::ZERO,
            is_sound: true,
        },
        scripts: setup.scripts.as_ref().map(|engine| {
            let settings = &setup.settings.settings;
            if setup.only.is_some() { engine.load_lazily(settings) } else { engine.load(settings) }
        }),
        catalogue: Vec::new(),
    };
    loader.settings();
    if !matches!(setup.files, Files::Named(_)) {
        let protected = protected(&setup.places, &trust, &found);
        loader.loaded.registrations.push(Guard::registration_of(protected));
    }
    let negated = negated(&found, &trust);
    loader.reviewed(&trust);
    for found in found {
        loader.take(found, &trust, &negated);
    }
    loader.missing(&trust);
    loader.done()
}

/// Where a file's commands run.
fn cwd(dialect: &dyn FileDialect, file: &Path, project: Option<&Path>) -> PathBuf {
    let of_file = || file.parent().unwrap_or(Path::new("/")).to_owned();
    match dialect.cwd() {
        Cwd::OfTheFile => of_file(),
        Cwd::OfTheProject => project.map_or_else(of_file, Path::to_owned),
    }
}

struct Loader<'s> {
    setup: &'s Setup,
    /// Where each shell is.
    shells: [(Shell, PathBuf); 2],
    surroundings: Arc<Surroundings>,
    loaded: Loaded,
    /// What checks scripts.
    scripts: Option<Box<dyn ScriptLoad + 's>>,
    /// The hooks so far.
    catalogue: Vec<Listed>,
}

impl Loader<'_> {
    /// Whether hooks at these events are wanted.
    fn is_wanted(&self, events: &[Kind]) -> bool {
        self.setup.only.is_none_or(|only| events.contains(&only))
    }

    fn shell(&self, wanted: Shell) -> &Path {
        let mut shells = self.shells.iter();
        shells.find(|(shell, _)| *shell == wanted).map_or(Path::new("/bin/sh"), |(_, path)| path)
    }

    /// Where the settings of the machine or the person are broken, what they would have forbidden is
    /// not known.
    fn settings(&mut self) {
        let settings = &self.setup.settings;
        self.loaded.diagnostics.extend(settings.diagnostics.iter().cloned());
        self.loaded.is_sound &= settings.broken.is_empty();
        let broken = settings.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        if let (Some(diagnostic), false) = (broken, settings.broken.is_empty()) {
            self.loaded.registrations.extend(closed_for_all(&diagnostic.line()));
        }
    }

    fn take(&mut self, found: Found, trust: &Trust, negated: &[(Dialect, String)]) {
        let Found { place, source, file, diagnostics, .. } = found;
        let dialect = place.format.dialect();
        if self.setup.without.contains(&dialect) && !self.setup.places.is_tollgates(&place.path) {
            let (path, state) = (place.path, FileState::Off);
            let layer = place.layer;
            self.loaded.files.push(LoadedFile { path, dialect, layer, state, hooks: 0 });
            return;
        }
        let hooks = match &file {
            Some(Parsed::Commands(file)) => file.hooks.len(),
            Some(Parsed::Hook(_) | Parsed::Policy) => 1,
            None => 0,
        };
        let takes_part =
            place.layer != Layer::Project || !matches!(trust, Trust::Untrusted | Trust::NoProject);
        self.loaded.is_sound &= !takes_part || !diagnostics.iter().any(Diagnostic::is_error);
        let first_error = diagnostics.iter().find(|found| found.is_error()).map(Diagnostic::line);
        self.loaded.diagnostics.extend(diagnostics);
        if let Trust::Trusted(survey, _) = trust
            && place.layer == Layer::Project
            && let Some(Parsed::Commands(file)) = &file
        {
            self.unpinned(survey, place.format, &source, file);
        }
        let (seal, state) = self.standing(&place, &source, trust);
        let state = match (file, state) {
            (Some(Parsed::Commands(file)), FileState::InForce) => {
                let review = match trust {
                    Trust::Review(review) if place.layer == Layer::Project => Some(&**review),
                    _ => None,
                };
                self.commands(&place, &source, file, (seal, review), negated)
            }
            (Some(Parsed::Hook(artifact)), FileState::InForce) => {
                self.hook(&place, &artifact, seal.as_ref())
            }
            (Some(Parsed::Policy), FileState::InForce) => {
                self.policy(&place, &source, seal.as_ref())
            }
            (None, FileState::InForce) => {
                let why = first_error.unwrap_or_else(|| "the file does not load".to_owned());
                self.close(&place.path, &place, &why);
                FileState::Broken
            }
            (_, state) => state,
        };
        let path = place.path;
        self.loaded.files.push(LoadedFile { path, dialect, layer: place.layer, state, hooks });
    }

    /// Whether a file may be in force, and what has to hold for it to stay so. Where it may not,
    /// that is said.
    fn standing(
        &mut self,
        place: &Place,
        source: &Arc<SourceFile>,
        trust: &Trust,
    ) -> (Option<Arc<Seal>>, FileState) {
        match (place.layer, trust) {
            (Layer::Project, Trust::Trusted(survey, seal)) => {
                // What was read just now is what is pinned, and a program for one event is gone before a script could
                // be another one. What a command runs is read later.
                let is_command = matches!(place.format, Format::Commands(_));
                let needs_seal = is_command || self.setup.only.is_none();
                let seal = || seal.get_or_init(|| Arc::new(Seal::of(survey)));
                (needs_seal.then(|| Arc::clone(seal())), FileState::InForce)
            }
            (Layer::Project, Trust::Untrusted | Trust::NoProject) => {
                let mut report = Report::new(Arc::clone(source));
                report
                    .add(
                        Code::NotTrusted,
                        None,
                        "nobody has trusted the hooks of this project: they do not run",
                    )
                    .help("look at them, then trust them: `tollgate trust`");
                self.loaded.diagnostics.extend(report.into_diagnostics());
                (None, FileState::Untrusted)
            }
            (Layer::Project, Trust::Changed(changes)) => {
                // What has changed is said of the files that have: all gates of the project are closed.
                let said: Vec<_> = changes.iter().take(5).map(ToString::to_string).collect();
                self.loaded.is_sound = false;
                self.close(source.path(), place, &said.join("; "));
                (None, FileState::Changed)
            }
            // Said once for the project, whose gates are closed.
            (Layer::Project, Trust::Unknown(_)) => (None, FileState::Changed),
            _ => (None, FileState::InForce),
        }
    }

    /// Says why a file is not in force, and closes its gates.
    fn refuse(&mut self, source: &Arc<SourceFile>, place: &Place, code: Code, why: &str) {
        let mut report = Report::new(Arc::clone(source));
        report
            .add(code, None, why)
            .help("look at what has changed, then trust it again: `tollgate trust`");
        self.loaded.diagnostics.extend(report.into_diagnostics());
        self.loaded.is_sound = false;
        self.close(source.path(), place, why);
    }

    fn close(&mut self, path: &Path, place: &Place, why: &str) {
        let path = path.display().to_string();
        let registration = closed(place.format, place.layer, &path, why).source(path.clone(), None);
        self.loaded.registrations.push(registration);
    }
}
