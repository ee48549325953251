//! What an installation depends on, of the machine and of the person.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variables that say where hosts have their configuration, and where programs are.
const VARIABLES: &[&str] = &[
    "PATH",
    "CLAUDE_CONFIG_DIR",
    "CLINE_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "KIMI_CODE_HOME",
    "POLYTOKEN_CONFIG_DIR",
    "QWEN_HOME",
    "XDG_CONFIG_HOME",
];

/// Where everything is.
///
/// ```
/// use tollgate_install::Surroundings;
///
/// let here = Surroundings::new("/home/ann", "/work/shop", "/usr/bin/tollgate")
///     .with_variable("CODEX_HOME", "/home/ann/codex");
/// assert_eq!(here.project.to_str(), Some("/work/shop"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The person's home.
    pub home: PathBuf,
    /// The project that the agent works in.
    pub project: PathBuf,
    /// Tollgate's program: by its whole path, or by a bare name that whoever runs it has on their path.
    pub program: PathBuf,
    variables: BTreeMap<String, OsString>,
}

impl Surroundings {
    /// With no variables set.
    pub fn new(
        home: impl Into<PathBuf>,
        project: impl Into<PathBuf>,
        program: impl Into<PathBuf>,
    ) -> Self {
        Self {
            home: home.into(),
            project: project.into(),
            program: program.into(),
            variables: BTreeMap::new(),
        }
    }

    /// With a variable of the environment.
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// With the variables that this process has, as far as a host or the search for one goes by them.
    pub fn with_environment(mut self) -> Self {
        for name in VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                self.variables.insert((*name).to_owned(), value);
            }
        }
        self
    }

    /// A variable that is set, and not to nothing.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Whether a program is there that can be run: one of that path, or of that name on the path.
    pub(crate) fn has_program(&self, program: &str) -> bool {
        // A shell has its own idea of the home.
        let path = match program.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => PathBuf::from(program),
        };
        if program.contains('/') {
            is_executable(&path)
        } else {
            self.program_on_path(&[program]).is_some()
        }
    }

    /// The first program of one of these names on the path.
    pub(crate) fn program_on_path(&self, names: &[&str]) -> Option<PathBuf> {
        let path = self.variable("PATH")?;
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
            .find(|file| is_executable(file))
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
