//! Where hook files are looked for.
//!
//! Three layers: the machine's (`/etc/tollgate`), the person's, and the project's. In the first
//! two, each dialect has a folder of its own under Tollgate's, and the person's has the dialect's
//! own home as well. Markdown hooks are all the `*.md` of a directory, and a policy file is one
//! beside `config.toml`.

mod folder;
mod named;

use std::env;
use std::path::{Path, PathBuf};

use tollgate_core::Dialect;
use tollgate_core::dialect::Layer;

use crate::dialect::{self, FileDialect};
use crate::settings;

pub(crate) use folder::list;
pub use named::{NotNamed, named};

/// The directories that are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The machine's: `/etc/tollgate`.
    pub system: PathBuf,
    /// The person's: `$XDG_CONFIG_HOME/tollgate`. None where there is no home.
    pub user: Option<PathBuf>,
    /// Antigravity's own: `~/.gemini/config`.
    pub antigravity: Option<PathBuf>,
    /// Polytoken's own: `$XDG_CONFIG_HOME/polytoken`.
    pub polytoken: Option<PathBuf>,
    /// Claude Code's own: `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude: Option<PathBuf>,
    /// Codex's own: `$CODEX_HOME`, else `~/.codex`.
    pub codex: Option<PathBuf>,
    /// Gemini CLI's own: `~/.gemini`.
    pub gemini: Option<PathBuf>,
    /// Where it is kept what a person trusts: `$XDG_STATE_HOME/tollgate/trust.json`.
    pub trust: Option<PathBuf>,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The project.
    pub project: Option<PathBuf>,
}

/// A file to load, if it is there.
#[derive(Debug, Clone)]
pub struct Place {
    /// Whose it is.
    pub layer: Layer,
    /// Its format.
    pub format: Format,
    /// Where.
    pub path: PathBuf,
}

/// What a file holds.
#[derive(Debug, Clone, Copy)]
pub enum Format {
    /// Hooks that are commands.
    Commands(&'static dyn FileDialect),
    /// One hook: Markdown with a script.
    Markdown,
    /// Rules: a script.
    Policy,
}

impl Format {
    /// The system that its hooks are written for.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Commands(format) => format.dialect(),
            Self::Markdown => Dialect::Harness,
            Self::Policy => Dialect::Native,
        }
    }
}

/// A directory of Markdown hooks, if it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Whose it is.
    pub layer: Layer,
    /// Where.
    pub path: PathBuf,
}

/// The name of a policy file.
pub const POLICY: &str = "policy.star";

/// The directory of Markdown hooks, in Tollgate's own.
const HOOKS: &str = "hooks";

impl std::fmt::Debug for dyn FileDialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.dialect())
    }
}

impl Places {
    /// The usual ones, by the variables of this process. `POLYTOKEN_CONFIG_DIR` overrides where
    /// Polytoken's file is.
    pub fn of_this_process(project: Option<PathBuf>) -> Self {
        let variable = |name: &str| match (name, env::var_os(name).map(PathBuf::from)) {
            // Without the variable, the system knows.
            ("HOME", None) => env::home_dir(),
            ("HOME", Some(home)) if !home.is_absolute() => env::home_dir(),
            (_, value) => value,
        };
        Self::by(variable, project)
    }

    /// As [`of_this_process`](Self::of_this_process), by variables given.
    ///
    /// ```
    /// use std::path::{Path, PathBuf};
    /// use tollgate_config::layers::Places;
    ///
    /// let variable = |name: &str| (name == "HOME").then(|| PathBuf::from("/home/me"));
    /// let places = Places::by(variable, None);
    /// assert_eq!(places.user.as_deref(), Some(Path::new("/home/me/.config/tollgate")));
    /// ```
    pub fn by(variable: impl Fn(&str) -> Option<PathBuf>, project: Option<PathBuf>) -> Self {
        // A relative path in these variables is to be ignored, says their specification.
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let below = |name: &str, folder: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(folder)))
        };
        let config = below("XDG_CONFIG_HOME", ".config");
        let state = below("XDG_STATE_HOME", ".local/state");
        Self {
            system: PathBuf::from("/etc/tollgate"),
            user: config.as_ref().map(|config| config.join("tollgate")),
            antigravity: home.as_ref().map(|home| home.join(".gemini/config")),
            polytoken: absolute("POLYTOKEN_CONFIG_DIR")
                .or_else(|| config.as_ref().map(|config| config.join("polytoken"))),
            claude: below("CLAUDE_CONFIG_DIR", ".claude"),
            codex: below("CODEX_HOME", ".codex"),
            gemini: home.as_ref().map(|home| home.join(".gemini")),
            trust: state.map(|state| state.join("tollgate/trust.json")),
            home,
            project,
        }
    }

    /// Everything below one directory, as tests want it: `system`, `home` and `project` in it.
    pub fn below(root: &Path) -> Self {
        let home = root.join("home");
        let variable = |name: &str| (name == "HOME").then(|| home.clone());
        Self { system: root.join("system"), ..Self::by(variable, Some(root.join("project"))) }
    }

    /// The `config.toml` of each layer.
    pub fn settings(&self) -> settings::Files {
        const FILE: &str = "config.toml";
        settings::Files {
            system: Some(self.system.join(FILE)),
            user: self.user.as_ref().map(|user| user.join(FILE)),
            project: self.project.as_ref().map(|project| project.join(".tollgate").join(FILE)),
        }
    }

    /// The home that a dialect has of its own.
    fn own_home(&self, dialect: Dialect) -> Option<&PathBuf> {
        match dialect {
            Dialect::HooksJson => self.antigravity.as_ref(),
            Dialect::Polytoken => self.polytoken.as_ref(),
            Dialect::Claude => self.claude.as_ref(),
            Dialect::Codex => self.codex.as_ref(),
            Dialect::Gemini => self.gemini.as_ref(),
            Dialect::AntigravitySdk | Dialect::Harness | Dialect::Native => None,
        }
    }

    /// The files that have a fixed name, in the order of their layers.
    pub fn files(&self) -> Vec<Place> {
        let mut files = Vec::new();
        let mut add = |layer, format, path| files.push(Place { layer, format, path });
        for &dialect in dialect::ALL {
            let home = dialect.home();
            let format = Format::Commands(dialect);
            add(Layer::System, format, self.system.join(home.folder).join(home.file));
            if let Some(user) = &self.user {
                add(Layer::User, format, user.join(home.folder).join(home.file));
            }
            if let Some(own) = self.own_home(dialect.dialect()) {
                add(Layer::User, format, own.join(home.file));
            }
            if let Some(project) = &self.project {
                for file in std::iter::once(&home.file).chain(home.also_in_project) {
                    add(Layer::Project, format, project.join(home.in_project).join(file));
                }
            }
        }
        for (layer, directory) in self.own() {
            add(layer, Format::Policy, directory.join(POLICY));
        }
        files.sort_by_key(|file| file.layer);
        files
    }

    /// The directories whose `*.md` are hooks, in the order of their layers.
    pub fn folders(&self) -> Vec<Folder> {
        let of_harness = self.project.iter().map(|project| project.join(".harness"));
        let of_harness = of_harness.map(|directory| (Layer::Project, directory));
        let mut folders: Vec<Folder> = of_harness
            .chain(self.own())
            .map(|(layer, directory)| Folder { layer, path: directory.join(HOOKS) })
            .collect();
        folders.sort_by_key(|folder| folder.layer);
        folders
    }

    /// Whether a path is in a directory of the machine or the person that is Tollgate's own.
    pub(crate) fn is_tollgates(&self, path: &Path) -> bool {
        path.starts_with(&self.system)
            || self.user.as_ref().is_some_and(|user| path.starts_with(user))
    }

    /// Tollgate's own directory in each layer.
    fn own(&self) -> impl Iterator<Item = (Layer, PathBuf)> {
        let user = self.user.iter().map(|user| (Layer::User, user.clone()));
        let project = self.project.iter();
        let project = project.map(|project| (Layer::Project, project.join(".tollgate")));
        std::iter::once((Layer::System, self.system.clone())).chain(user).chain(project)
    }

    /// What a path is the place of, whether there is a file or not.
    pub(crate) fn place_of(&self, path: &Path) -> Option<Place> {
        if let Some(place) = self.files().into_iter().find(|place| place.path == path) {
            return Some(place);
        }
        let is_in = |folder: &Folder| path.parent() == Some(&folder.path);
        let folder = self.folders().into_iter().find(is_in)?;
        let path = path.to_owned();
        Some(Place { layer: folder.layer, format: Format::Markdown, path })
    }

    /// The project that a directory belongs to: the nearest one upwards with hooks in it, else the
    /// nearest under version control, else the directory itself. A repository inside of a project with
    /// hooks is a part of that: to make one is no way out of them.
    pub fn project_of(directory: &Path) -> PathBuf {
        const HOOKS: [&str; 4] = [".tollgate", ".agents", ".polytoken", ".harness"];
        const VERSIONS: [&str; 2] = [".git", ".jj"];
        let home = env::var_os("HOME").map(PathBuf::from);
        let has =
            |ancestor: &Path, signs: &[&str]| signs.iter().any(|sign| ancestor.join(sign).exists());
        let nearest = |is_it: &dyn Fn(&Path) -> bool| {
            directory
                .ancestors()
                // A person's home has such folders for other reasons.
                .take_while(|ancestor| Some(*ancestor) != home.as_deref())
                .find(|ancestor| is_it(ancestor))
        };
        // Folders of agents are there for other reasons as well: what is in their files counts.
        let has_hooks = |ancestor: &Path| {
            has(ancestor, &HOOKS) || dialect::HOSTS.iter().any(|host| host.has_hooks_in(ancestor))
        };
        let under_version = |ancestor: &Path| has(ancestor, &VERSIONS);
        nearest(&has_hooks).or_else(|| nearest(&under_version)).unwrap_or(directory).to_owned()
    }
}
