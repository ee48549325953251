//! `config.toml`: what the machine, the person and the project set, and what is in force.
//!
//! Each of the three layers may have a file. A lower one may only narrow what a layer above has
//! set: shorter limits, fewer hosts, stricter answers, more masking. The person may set freely
//! what the machine leaves open; a project may not, for it is somebody else's: it may only narrow
//! what is in force, defaults as well.
//!
//! | key | default | what it is | narrower |
//! |---|---|---|---|
//! | `http.allow` | none | hosts that hooks may reach over HTTP: `example.org`, `*.example.org`, `example.org:8080`, `*` | fewer |
//! | `limits.hook` | `30s` | how long a hook may take that sets no deadline of its own | shorter |
//! | `limits.dispatch` | `1m` | how long all hooks of a dispatch may take together | shorter |
//! | `limits.person` | `10m` | how long a person may take to answer | shorter |
//! | `limits.drain` | `2s` | how long inspectors get at the end of a turn or session | shorter |
//! | `limits.stdout` | `1MiB` | how much a command may print | less |
//! | `limits.commands` | `64` | how many commands run at once | fewer |
//! | `limits.inspections` | `1024` | how many dispatches may have inspectors under way | fewer |
//! | `polytoken.deadline` | `10s` | how long a Polytoken hook may take that says nothing else | shorter |
//! | `policy.otherwise` | `"open"` | what happens to a call that no policy is about | `"closed"` |
//! | `trust.changed` | `"approved"` | whether what was trusted goes on running as it was approved while a change waits for review, or gates are closed | `"closed"` |
//! | `trust.untrusted` | `"open"` | whether a project that nobody has trusted is unguarded or closed | `"closed"` |
//! | `mask.fields` | none | further names of fields that are masked in records | more |
//! | `mask.patterns` | none | further regular expressions for what is masked | more |
//! | `engine.reask` | `true` | whether hooks are asked again about what was rewritten | `true` |
//! | `engine.rounds` | `8` | how often in a row hooks may send the agent round again | fewer |
//! | `hosts.refuse_unasked` | `true` | whether a call is refused about which another agent's hook cannot ask | `true` |
//! | `hosts.refuse_unwritten` | `true` | whether a call is refused that another agent's hook cannot rewrite | `true` |
//! | `hosts.pass_allow` | `false` | whether an explicit allow is passed on to another agent, which then does not ask | `false` |
//! | `exceptions.allow` | `"always"` | the longest exception that a person may make: `"none"`, `"once"`, `"for"` a time, `"always"` | shorter |
//! | `command.environment` | `"inherit"` | the variables that commands get: all, or those of a list | fewer |
//!
//! Durations are texts such as `"500ms"`, `"10s"`, `"2m"`, `"1h"`, or whole numbers of seconds;
//! sizes are numbers of bytes or texts such as `"64KiB"`.
//!
//! A file with a problem does not count in part. A broken one of a project is left out, with its
//! diagnostics. Without one of the machine or the person, what was meant is not known: then
//! nothing below may widen anything, and [`Loaded::broken`] tells, so that gates can be closed.
//!
//! ```
//! use std::time::Duration;
//! use tollgate_config::settings::Loaded;
//! use tollgate_config::source::SourceFile;
//! use tollgate_core::dialect::Layer;
//!
//! let user = SourceFile::new("~/.config/tollgate/config.toml", "[limits]\nhook = \"20s\"\n");
//! let project = SourceFile::new(".tollgate/config.toml", "[limits]\nhook = \"1m\"\n");
//! let loaded = Loaded::from_sources([(Layer::User, user.into()), (Layer::Project, project.into())]);
//! assert_eq!(loaded.settings.limits.hook, Duration::from_secs(20));
//! assert_eq!(
//!     loaded.diagnostics[0].line(),
//!     ".tollgate/config.toml:2:8: error TG065: `limits.hook` is 1m here, and at most 20s is \
//!      allowed by ~/.config/tollgate/config.toml:2",
//! );
//! ```

mod file;
mod host;
mod merge;
mod schema;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tollgate_core::dialect::Layer;
use tollgate_core::mask::Masker;
use tollgate_core::matcher::PatternError;
use tollgate_core::runner;

use crate::diagnostic::Diagnostic;
use crate::read;
use crate::source::SourceFile;

pub use host::{Host, NotAHost};
pub use schema::{ConfigFile, schema};
pub use value::{Bytes, Time};

/// The keys, as `table.key`.
pub const KEYS: &[&str] = file::KEYS;

/// What is in force.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Settings {
    /// `[http]`
    pub http: Http,
    /// `[limits]`
    pub limits: Limits,
    /// `[polytoken]`
    pub polytoken: Polytoken,
    /// `[policy]`
    pub policy: Policy,
    /// `[trust]`
    pub trust: Trust,
    /// `[mask]`
    pub mask: Mask,
    /// `[engine]`
    pub engine: Engine,
    /// `[hosts]`
    pub hosts: Hosts,
    /// `[exceptions]`
    pub exceptions: Exceptions,
    /// `[command]`
    pub command: Command,
    #[serde(skip)]
    origins: BTreeMap<&'static str, Vec<Origin>>,
}

/// What hooks may reach over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Http {
    /// The hosts.
    pub allow: Vec<Host>,
}

/// Bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// How long a hook may take that sets no deadline of its own.
    pub hook: Duration,
    /// How long all hooks of a dispatch may take together.
    pub dispatch: Duration,
    /// How long a person may take to answer.
    pub person: Duration,
    /// How long inspectors get at the end of a turn or session.
    pub drain: Duration,
    /// How many bytes a command may print.
    pub stdout: u64,
    /// How many commands run at once.
    pub commands: u64,
    /// How many dispatches may have inspectors under way.
    pub inspections: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let engine = runner::Limits::default();
        Self {
            hook: engine.hook,
            dispatch: engine.dispatch,
            person: engine.person,
            drain: engine.drain,
            stdout: 1024 * 1024,
            commands: 64,
            inspections: engine.inspections as u64,
        }
    }
}

/// Polytoken's hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Polytoken {
    /// How long one may take that says nothing else.
    pub deadline: Duration,
}

impl Default for Polytoken {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10) }
    }
}

/// Policies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Policy {
    /// What happens to a call that none is about.
    pub otherwise: Otherwise,
}

/// What happens to a call that no policy is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Otherwise {
    /// It goes on.
    #[default]
    Open,
    /// It is denied.
    Closed,
}

/// Projects and their trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Trust {
    /// The hooks that run while a change of a trusted project waits for review.
    pub changed: WhenChanged,
    /// The gates of a project that nobody has trusted.
    pub untrusted: WhenUntrusted,
}

/// The hooks that run while a change of a trusted project waits for review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenChanged {
    /// What was trusted goes on running as it was approved.
    #[default]
    Approved,
    /// Gates are closed.
    Closed,
}

/// The gates of a project that nobody has trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenUntrusted {
    /// Its hooks do not run, and nothing is closed.
    #[default]
    Open,
    /// Gates are closed if it has hook files or settings.
    Closed,
}

/// What is masked in records, besides the usual.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Mask {
    /// Names of fields.
    pub fields: Vec<String>,
    /// Regular expressions. Where one has a group, that part is masked.
    pub patterns: Vec<String>,
}

/// The engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Engine {
    /// Whether hooks are asked again about what was rewritten.
    pub reask: bool,
    /// How often in a row hooks may send the agent round again.
    pub rounds: u32,
}

impl Default for Engine {
    fn default() -> Self {
        Self { reask: true, rounds: runner::Limits::default().rounds }
    }
}

/// Other agents, which call Tollgate as their hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Hosts {
    /// Whether a call is refused about which a hook of the host cannot ask a person.
    pub refuse_unasked: bool,
    /// Whether a call is refused that a hook of the host cannot rewrite.
    pub refuse_unwritten: bool,
    /// Whether an explicit allow is passed on, so that the host does not ask.
    pub pass_allow: bool,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { refuse_unasked: true, refuse_unwritten: true, pass_allow: false }
    }
}

/// Exceptions that a person makes from what hooks say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Exceptions {
    /// The longest exception that is allowed.
    pub allow: Excepting,
}

/// The longest exception that a person may make. The order is from the narrowest to the widest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Excepting {
    /// None at all.
    None,
    /// One for a single call.
    Once,
    /// One that ends at a time.
    For,
    /// One that lasts until it is revoked.
    #[default]
    Always,
}

impl Excepting {
    /// All values, the narrowest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Once, Self::For, Self::Always];

    /// Returns the value as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Once => "once",
            Self::For => "for",
            Self::Always => "always",
        }
    }
}

/// Commands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Command {
    /// The variables they get of ours.
    pub environment: Environment,
}

/// The variables that commands get of ours.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// All of them.
    #[default]
    Inherit,
    /// Those with these names.
    Only(Vec<String>),
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: u32,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

impl Settings {
    /// Where the value of a key comes from: each file that had a part in it. None is the default.
    pub fn origin(&self, key: &str) -> &[Origin] {
        self.origins.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Every key with its value, as it would be written, and where it comes from.
    pub fn rows(&self) -> Vec<(&'static str, String, &[Origin])> {
        KEYS.iter().map(|key| (*key, merge::shown(self, key), self.origin(key))).collect()
    }

    /// The bounds of a runner.
    pub fn runner_limits(&self) -> runner::Limits {
        runner::Limits {
            hook: self.limits.hook,
            dispatch: self.limits.dispatch,
            person: self.limits.person,
            drain: self.limits.drain,
            inspections: usize::try_from(self.limits.inspections).unwrap_or(usize::MAX),
            rounds: self.engine.rounds,
        }
    }

    /// What masks by the names and patterns set here and the usual ones.
    pub fn masker(&self) -> Result<Masker, PatternError> {
        let masker = match self.mask.patterns.as_slice() {
            // The usual one is compiled once for all.
            [] => Masker::default(),
            patterns => Masker::with(patterns)?,
        };
        Ok(masker.and_fields(&self.mask.fields))
    }

    /// Whether hooks may reach a host over HTTP.
    pub fn allows_host(&self, host: &str, port: u16) -> bool {
        self.http.allow.iter().any(|allowed| allowed.allows(host, port))
    }
}

/// Where the files are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// The machine's.
    pub system: Option<PathBuf>,
    /// The person's.
    pub user: Option<PathBuf>,
    /// The project's.
    pub project: Option<PathBuf>,
}

impl Files {
    /// Where they usually are: in `/etc/tollgate`, in `$XDG_CONFIG_HOME/tollgate` or else
    /// `~/.config/tollgate`, and in the project's `.tollgate`.
    pub fn usual(config_home: Option<&Path>, home: Option<&Path>, project: Option<&Path>) -> Self {
        let absolute = |path: &&Path| path.is_absolute();
        let config = config_home.filter(absolute).map(Path::to_path_buf);
        let config = config.or_else(|| Some(home.filter(absolute)?.join(".config")));
        Self {
            system: Some(PathBuf::from("/etc/tollgate/config.toml")),
            user: config.map(|config| config.join("tollgate/config.toml")),
            project: project.map(|project| project.join(".tollgate/config.toml")),
        }
    }
}

/// The settings of all layers, and what is wrong with their files.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// What is in force.
    pub settings: Settings,
    /// What is wrong with the files.
    pub diagnostics: Vec<Diagnostic>,
    /// The layers whose files do not count, though they must: the machine's and the person's.
    /// What they would have narrowed is not known, so whoever runs hooks closes the gates.
    pub broken: Vec<Layer>,
}

impl Loaded {
    /// Reads the files. One that is not there sets nothing.
    pub fn read(files: &Files) -> Self {
        let mut loaded = Self::default();
        let mut directories = read::Directories::default();
        let layers = [
            (Layer::System, &files.system),
            (Layer::User, &files.user),
            (Layer::Project, &files.project),
        ];
        for (layer, path) in layers {
            match path.as_deref().map(|path| read::read_knowing(path, &mut directories)) {
                None | Some(Ok(None)) => {}
                Some(Ok(Some(file))) => loaded.add(layer, &file.source),
                Some(Err(diagnostic)) => loaded.leave_out(layer, vec![diagnostic]),
            }
        }
        loaded
    }

    /// As [`read`](Self::read), from texts. Layers are given from the top.
    pub fn from_sources(sources: impl IntoIterator<Item = (Layer, Arc<SourceFile>)>) -> Self {
        let mut loaded = Self::default();
        for (layer, source) in sources {
            loaded.add(layer, &source);
        }
        loaded
    }

    fn add(&mut self, layer: Layer, source: &Arc<SourceFile>) {
        let (written, mut report) = file::parse(source);
        let from = merge::From { layer, source, is_unsure: !self.broken.is_empty() };
        let merged = merge::merge(&self.settings, &written, &from, &mut report);
        if report.has_errors() {
            self.leave_out(layer, report.into_diagnostics());
        } else {
            self.settings = merged;
            self.diagnostics.extend(report.into_diagnostics());
        }
    }

    fn leave_out(&mut self, layer: Layer, mut diagnostics: Vec<Diagnostic>) {
        let consequence = match layer {
            Layer::System | Layer::User => {
                self.broken.push(layer);
                "until the file is repaired it counts for nothing, no other file may widen a \
                 default, and gates are closed"
            }
            Layer::Project | Layer::Code => "until then the whole file is left out",
        };
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.is_error()) {
            diagnostic.help = Some(match diagnostic.help.take() {
                Some(help) => format!("{help}; {consequence}"),
                None => consequence.to_owned(),
            });
        }
        self.diagnostics.extend(diagnostics);
    }
}
