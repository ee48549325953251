//! Hook files that a person names, instead of those that are looked for.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use tollgate_core::Dialect;
use tollgate_core::dialect::Layer;

use super::{Folder, Format, HOOKS, POLICY, Place, Places, list};
use crate::diagnostic::Diagnostic;
use crate::dialect;
use crate::read::Directories;

/// What a person named is no hook file, or has none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotNamed {
    /// There is nothing of that name, or it cannot be looked at.
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// What was named.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Its name does not tell what it is.
    #[error(
        "`{}` is of no known format: Markdown hooks end in `.md`, policies in `.star`, hook files \
         of Antigravity and Polytoken in `.json`; else name the dialect",
        .0.display()
    )]
    UnknownFormat(PathBuf),
    /// The directory has no hook files.
    #[error("`{}` has no hook files: no `*.md` with frontmatter, no `hooks.json`, no `{POLICY}`", .0.display())]
    NothingIn(PathBuf),
    /// The directory cannot be taken as one of hooks.
    #[error("{}", .0.line())]
    Folder(Box<Diagnostic>),
    /// Hooks of that system are not in files.
    #[error(
        "hooks of {0} are code and not in files: name one of hooks-json, harness, polytoken, native"
    )]
    NoFiles(Dialect),
}

/// The hook files that a path names: itself, those of a project, or those in a directory.
///
/// Which system a file is written for follows from where it is and what it looks like, unless it is
/// given.
///
/// ```
/// use tollgate_config::layers::named;
/// use tollgate_core::Dialect;
///
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("hooks.json");
/// std::fs::write(&path, "[]")?;
/// let files = named(&path, None)?;
/// assert_eq!(files[0].format.dialect(), Dialect::Polytoken);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn named(path: &Path, dialect: Option<Dialect>) -> Result<Vec<Place>, NotNamed> {
    let unreadable = |source| NotNamed::Unreadable { path: path.to_owned(), source };
    let wanted = dialect.map(format_of).transpose()?;
    let path = std::path::absolute(path).map_err(unreadable)?;
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if !metadata.is_dir() {
        let format = match wanted {
            Some(format) => format,
            None => match guess(&path).map_err(unreadable)? {
                Some(format) => format,
                None => return Err(NotNamed::UnknownFormat(path)),
            },
        };
        return Ok(vec![Place { layer: Layer::Project, format, path }]);
    }
    let mut places = of_project(&path)?;
    if places.is_empty() {
        places = in_directory(&path)?;
    }
    if let Some(dialect) = dialect {
        places.retain(|place| place.format.dialect() == dialect);
    }
    if places.is_empty() { Err(NotNamed::NothingIn(path)) } else { Ok(places) }
}

fn format_of(dialect: Dialect) -> Result<Format, NotNamed> {
    match dialect {
        Dialect::Harness => Ok(Format::Markdown),
        Dialect::Native => Ok(Format::Policy),
        other => dialect::of(other).map(Format::Commands).ok_or(NotNamed::NoFiles(other)),
    }
}

/// The format of a file, by its name, its place and what it begins with.
fn guess(path: &Path) -> io::Result<Option<Format>> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(match ending {
        "md" => Some(Format::Markdown),
        "star" => Some(Format::Policy),
        "json" | "jsonc" => {
            let dialect = match by_place(path) {
                Some(dialect) => dialect,
                None if first_byte(path)? == Some(b'[') => Dialect::Polytoken,
                None => Dialect::HooksJson,
            };
            dialect::of(dialect).map(Format::Commands)
        }
        _ => None,
    })
}

/// Whose folder a file is in.
fn by_place(path: &Path) -> Option<Dialect> {
    let folder = path.parent()?.components().next_back()?;
    let Component::Normal(folder) = folder else { return None };
    dialect::ALL.iter().find_map(|format| {
        let home = format.home();
        let is_its = folder == home.folder || folder == home.in_project;
        is_its.then(|| format.dialect())
    })
}

/// The first byte of a file that is no space. What is no file is not waited for.
fn first_byte(path: &Path) -> io::Result<Option<u8>> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut start = [0; 256];
    let length = file.read(&mut start)?;
    let mut start = start.into_iter().take(length);
    Ok(start.find(|byte| !byte.is_ascii_whitespace()))
}

/// The hook files of a project.
fn of_project(directory: &Path) -> Result<Vec<Place>, NotNamed> {
    let places = Places::by(|_| None, Some(directory.to_owned()));
    let is_its = |layer: Layer| layer == Layer::Project;
    let (policies, mut found): (Vec<Place>, Vec<Place>) = places
        .files()
        .into_iter()
        .filter(|place| is_its(place.layer) && place.path.symlink_metadata().is_ok())
        .partition(|place| matches!(place.format, Format::Policy));
    for folder in places.folders().into_iter().filter(|folder| is_its(folder.layer)) {
        found.extend(hooks_in(folder.path)?);
    }
    found.extend(policies);
    Ok(found)
}

/// A project's Markdown hooks of a directory.
fn hooks_in(path: PathBuf) -> Result<Vec<Place>, NotNamed> {
    let folder = Folder { layer: Layer::Project, path };
    let listing = list(&folder, &mut Directories::default()).map_err(NotNamed::Folder)?;
    let place = |path| Place { layer: Layer::Project, format: Format::Markdown, path };
    Ok(listing.files.into_iter().map(place).collect())
}

/// Whether a directory is one where projects have their hooks, and nothing else.
fn is_for_hooks(directory: &Path) -> bool {
    [".tollgate", ".harness"].iter().any(|home| directory.ends_with(Path::new(home).join(HOOKS)))
}

/// The hook files of any directory. Markdown that has no frontmatter is something else there.
fn in_directory(directory: &Path) -> Result<Vec<Place>, NotNamed> {
    let unreadable = |source| NotNamed::Unreadable { path: directory.to_owned(), source };
    let mut places = Vec::new();
    let file = directory.join("hooks.json");
    if file.is_file()
        && let Some(format) = guess(&file).map_err(unreadable)?
    {
        places.push(Place { layer: Layer::Project, format, path: file });
    }
    // `.tollgate` itself has its hooks one level down.
    let inner = directory.join(HOOKS);
    if directory.ends_with(".tollgate") && inner.is_dir() {
        places.extend(hooks_in(inner)?);
    } else if is_for_hooks(directory) {
        places.extend(hooks_in(directory.to_owned())?);
    } else {
        let hooks = hooks_in(directory.to_owned())?.into_iter();
        // What cannot be told is kept: that it is no hook is said when it is read.
        let is_other =
            |place: &Place| matches!(first_byte(&place.path), Ok(Some(first)) if first != b'-');
        places.extend(hooks.filter(|place| !is_other(place)));
    }
    let policy = directory.join(POLICY);
    if policy.is_file() {
        places.push(Place { layer: Layer::Project, format: Format::Policy, path: policy });
    }
    Ok(places)
}
