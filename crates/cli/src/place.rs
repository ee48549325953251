//! Where hooks are looked for, and how paths are shown.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use tollgate_config::layers::{Place, Places, named};
use tollgate_core::{Dialect, Kind};

use crate::problem::Problem;

/// The project that a command is about.
#[derive(Debug, clap::Args)]
pub(crate) struct Project {
    /// The project's directory [default: the one around the current directory]
    #[arg(long = "project", value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Project {
    /// The directory, if one was named.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Where its hooks are, and those of the person and the machine.
    pub(crate) fn places(&self) -> Result<Places, Problem> {
        Ok(Places::of_this_process(Some(self.directory()?)))
    }

    pub(crate) fn directory(&self) -> Result<PathBuf, Problem> {
        match &self.directory {
            Some(directory) if directory.is_dir() => Ok(directory.clone()),
            Some(directory) => {
                let shown = directory.display();
                Err(Problem::new(format!("`{shown}` is no directory"))
                    .help("name the directory of a project, or leave `--project` out"))
            }
            None => {
                let here = env::current_dir().map_err(|error| {
                    Problem::new(format!("the current directory cannot be told: {error}"))
                        .help("name the project: `--project DIR`")
                })?;
                Ok(Places::project_of(&here))
            }
        }
    }
}

/// The hook files that paths name.
pub(crate) fn named_files<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
    dialect: Option<Dialect>,
) -> Result<Vec<Place>, Problem> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(named(path, dialect)?);
    }
    Ok(files)
}

/// Returns a dialect's name as a value of an argument, with what else people call it.
pub(crate) fn dialect_value(dialect: Dialect) -> PossibleValue {
    let value = PossibleValue::new(dialect.name());
    if dialect == Dialect::HooksJson { value.alias("antigravity") } else { value }
}

/// Reads a dialect's name.
pub(crate) fn dialect_parser() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(dialect_value))
        .try_map(|name| Dialect::named(&name).ok_or("there is no such dialect"))
}

/// Reads an event's name.
pub(crate) fn event_parser() -> impl clap::builder::TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.iter().map(|kind| kind.name()))
        .try_map(|name| name.parse::<Kind>())
}

/// A path as a person would write it here: below the current directory, below home, or in full.
pub(crate) fn shown(path: &Path) -> String {
    static HERE: OnceLock<Option<PathBuf>> = OnceLock::new();
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let here = HERE.get_or_init(|| env::current_dir().ok());
    let here = here.as_deref().filter(|here| *here != Path::new("/"));
    if let Some(below) = here.and_then(|here| below(path, here)) {
        let below = written(below);
        return if below.is_empty() { ".".to_owned() } else { below };
    }
    let home = || env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    match HOME.get_or_init(home).as_deref().and_then(|home| below(path, home)) {
        Some(below) => ["~/", &written(below)].concat(),
        None => written(path),
    }
}

/// A path as text. Nearly all are text already.
fn written(path: &Path) -> String {
    path.to_str().map_or_else(|| path.display().to_string(), str::to_owned)
}

/// What is behind a directory in a path, by the letters of both: a list of hooks has many paths, and they are written
/// alike.
fn below<'p>(path: &'p Path, directory: &Path) -> Option<&'p Path> {
    let directory = directory.as_os_str().as_bytes();
    let rest = path.as_os_str().as_bytes().strip_prefix(directory)?;
    match rest {
        [] => Some(Path::new("")),
        [b'/', below @ ..] => Some(Path::new(OsStr::from_bytes(below))),
        below if directory.ends_with(b"/") => Some(Path::new(OsStr::from_bytes(below))),
        _ => None,
    }
}

/// A project, in a sentence.
pub(crate) fn project_shown(path: &Path) -> String {
    match shown(path).as_str() {
        "." => "this project".to_owned(),
        other => format!("`{other}`"),
    }
}

/// A hook by its name. A file that does not load is called by its path.
pub(crate) fn hook_shown(name: &str) -> String {
    let path = Path::new(name);
    if path.is_absolute() { shown(path) } else { name.to_owned() }
}
