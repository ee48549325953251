//! What runs scripts is plugged in: this crate reads the files that hold them, and knows nothing of
//! the language.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::dialect::Layer;
use tollgate_core::hook::HandleEvery;
use tollgate_core::{Dialect, Registration};

use crate::diagnostic::Report;
use crate::dialect::harness::Artifact;
use crate::settings::Settings;

/// What runs scripts.
///
/// It is asked once for each load of the files; what a load makes lives as long as the hooks that
/// came of it.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_config::diagnostic::{Code, Report};
/// use tollgate_config::dialect::harness::Artifact;
/// use tollgate_config::layers::Places;
/// use tollgate_config::load::{Setup, load};
/// use tollgate_config::script::{Listed, Script, ScriptEngine, ScriptLoad};
/// use tollgate_config::settings::Settings;
/// use tollgate_core::prelude::*;
///
/// /// Runs nothing, and says so of each file.
/// #[derive(Debug)]
/// struct Refuses;
///
/// impl ScriptEngine for Refuses {
///     fn load<'a>(&'a self, _settings: &Settings) -> Box<dyn ScriptLoad + 'a> {
///         Box::new(Refuses)
///     }
/// }
///
/// impl ScriptLoad for Refuses {
///     fn hook(&mut self, hook: &Arc<Artifact>, report: &mut Report) -> Option<Script> {
///         report.add(Code::NotAllowedInScript, hook.script.span(0..1), "no scripts today");
///         None
///     }
///
///     fn policy(&mut self, _layer: Layer, _report: &mut Report) -> Option<Registration> {
///         None
///     }
///
///     fn done(self: Box<Self>, _catalogue: &Arc<[Listed]>) {}
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let folder = directory.path().join("system/hooks");
/// # std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("guard.md"), "---\nevent: tool.pre\nscript: allow()\n---\n")?;
/// let loaded = load(&Setup::new(Places::below(directory.path())).scripts(Refuses));
/// assert!(loaded.diagnostics[0].line().ends_with("guard.md:3:9: error TG086: no scripts today"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ScriptEngine: fmt::Debug + Send + Sync {
    /// Begins a load. The settings are those in force.
    fn load<'a>(&'a self, settings: &Settings) -> Box<dyn ScriptLoad + 'a>;

    /// As [`load`](Self::load), for a program that fires one event and ends: a hook is checked when
    /// it is asked, and one with a problem then fails.
    fn load_lazily<'a>(&'a self, settings: &Settings) -> Box<dyn ScriptLoad + 'a> {
        self.load(settings)
    }
}

/// One load of all files.
pub trait ScriptLoad {
    /// Checks a hook's code and makes what runs it. Problems go into the report, which is of the
    /// artifact's file; where one is an error, there is nothing to run.
    fn hook(&mut self, artifact: &Arc<Artifact>, report: &mut Report) -> Option<Script>;

    /// Checks a policy file, whose text is the report's file, and makes its rules.
    fn policy(&mut self, layer: Layer, report: &mut Report) -> Option<Registration>;

    /// All is loaded: what there is, for scripts that govern other hooks. In the order in which
    /// the hooks run: by priority, then by layer, then by file. Hooks of all dialects that are in
    /// force are there, and Markdown hooks that are switched off; not those of files that do not
    /// load or are not trusted.
    fn done(self: Box<Self>, catalogue: &Arc<[Listed]>);
}

/// What runs a hook's script.
#[derive(Clone)]
pub struct Script {
    /// Answers, at the events of the artifact.
    pub handler: Arc<dyn HandleEvery>,
    /// How long it may take.
    pub time: Duration,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("time", &self.time).finish_non_exhaustive()
    }
}

/// A hook of a file, as `hooks.list()` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The system it is written for.
    pub dialect: Dialect,
    /// The event, in the words of that system.
    pub event: &'static str,
    /// Its priority, where it says so.
    pub priority: Option<i32>,
    /// Whose it is.
    pub layer: Layer,
    /// Its file.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: u32,
    /// The command it runs, where it runs one.
    pub command: Option<String>,
    /// Its condition, where it has one.
    pub when: Option<String>,
    /// How long it may take, where it says so.
    pub timeout: Option<Duration>,
    /// What it is for, where it says so.
    pub description: Option<String>,
    /// Whether it is in force.
    pub enabled: bool,
    /// Whether its file has tests of it.
    pub has_tests: bool,
}
