//! What there is to test.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate_config::layers::{Format, NotNamed, Place, Places, named};
use tollgate_config::load::{FileState, Setup, load};
use tollgate_core::dialect::Layer;

use crate::place::Project;
use crate::problem::Problem;

/// A file with tests.
#[derive(Debug)]
pub(super) enum Suite {
    /// A Markdown hook.
    Markdown(Place),
    Cases(CaseFile),
}

/// A file with cases.
#[derive(Debug)]
pub(super) struct CaseFile {
    pub(super) path: PathBuf,
    /// The project it belongs to.
    pub(super) project: PathBuf,
    /// Whether hooks that are commands may run: they were named, or the project is trusted.
    pub(super) may_run: bool,
}

/// The ending of a case file's name.
const ENDING: &str = ".cases.json";

/// How deep directories are looked into, and how many entries there may be.
const DEEPEST: usize = 8;
const MOST: usize = 20_000;

pub(super) fn all(paths: &[PathBuf], project: &Project) -> Result<Vec<Suite>, Problem> {
    if paths.is_empty() {
        return of_project(&project.directory()?);
    }
    let mut suites = Vec::new();
    for path in paths {
        let unreadable = |error| {
            Problem::new(format!("`{}` cannot be read: {error}", path.display()))
                .help("name a hook file, a case file, or a directory of them")
        };
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            match named(path, None) {
                Ok(places) => suites.extend(markdown(places)),
                // There may be case files all the same.
                Err(NotNamed::NothingIn(_)) => {}
                Err(error) => return Err(error.into()),
            }
            let mut found = Vec::new();
            look(path, 0, &mut 0, &mut found);
            suites.extend(found.into_iter().map(|path| case_file(path, true)));
        } else if is_cases(path) {
            suites.push(case_file(path.clone(), true));
        } else {
            let places = named(path, None)?;
            if places.iter().any(|place| !matches!(place.format, Format::Markdown)) {
                return Err(Problem::new(format!("`{}` holds no tests", path.display())).help(
                    "tests of such hooks are cases in a file beside it, whose name ends in \
                     `.cases.json`",
                ));
            }
            suites.extend(markdown(places));
        }
    }
    Ok(suites)
}

fn markdown(places: Vec<Place>) -> impl Iterator<Item = Suite> {
    let hooks = places.into_iter().filter(|place| matches!(place.format, Format::Markdown));
    hooks.map(Suite::Markdown)
}

fn of_project(directory: &Path) -> Result<Vec<Suite>, Problem> {
    let mut suites: Vec<Suite> = match named(directory, None) {
        Ok(places) => markdown(places).collect(),
        Err(NotNamed::NothingIn(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for folder in [".tollgate", ".harness", ".agents", ".polytoken", ".claude", ".codex", ".gemini"]
    {
        look(&directory.join(folder), 0, &mut 0, &mut found);
    }
    let may_run = !found.is_empty() && is_trusted(directory);
    suites.extend(found.into_iter().map(|path| case_file(path, may_run)));
    Ok(suites)
}

/// Whether the project's hooks run as they are.
fn is_trusted(directory: &Path) -> bool {
    let setup = Setup::new(Places::of_this_process(Some(directory.to_owned())));
    let loaded = load(&setup);
    let mut files = loaded.files.iter().filter(|file| file.layer == Layer::Project);
    files.all(|file| !matches!(file.state, FileState::Untrusted | FileState::Changed))
}

fn case_file(path: PathBuf, may_run: bool) -> Suite {
    let path = std::path::absolute(&path).unwrap_or(path);
    let project = Places::project_of(path.parent().unwrap_or(Path::new("/")));
    Suite::Cases(CaseFile { path, project, may_run })
}

fn is_cases(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING))
}

/// Case files of a directory and those in it. Links to directories are not followed.
fn look(directory: &Path, depth: usize, seen: &mut usize, found: &mut Vec<PathBuf>) {
    const NEVER: [&str; 4] = [".git", ".jj", "node_modules", "target"];
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut paths: Vec<(PathBuf, bool)> = entries
        .flatten()
        .map(|entry| (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir())))
        .collect();
    paths.sort();
    for (path, is_directory) in paths {
        *seen += 1;
        if *seen > MOST {
            return;
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if is_directory && depth < DEEPEST && !NEVER.contains(&name.as_str()) {
            look(&path, depth + 1, seen, found);
        } else if !is_directory && is_cases(&path) {
            found.push(path);
        }
    }
}
