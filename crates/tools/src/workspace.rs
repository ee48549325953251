//! The directories an agent works in, and the ways through them.
//!
//! A path of a call is never handed to the system as a whole. It is walked, one component after
//! the other, from a handle of the workspace: links are read and not followed, `..` goes back to
//! the handle that was walked through. So whatever the path says, and whatever is swapped under
//! way, the end of the walk is beneath the workspace, and is used by its handle.
//!
//! `openat2` could do most of this in one call. It is not enough: it refuses every absolute link,
//! also one that stays inside, and it does not create what is missing on the way.

mod place;
mod walk;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, openat};

pub(crate) use place::{Kind, Place, kind_of, open_beneath, stat_beneath};
pub(crate) use walk::Missing;

use crate::tool::ToolFailure;

/// The directories an agent works in. The first is where relative paths begin. Cheap to clone.
///
/// They are held open: a workspace that is moved stays the workspace.
#[derive(Clone)]
pub struct Workspaces {
    roots: Arc<[Root]>,
}

/// A workspace cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the workspace `{}` cannot be used: {source}", path.display())]
pub struct WorkspaceError {
    /// Which one.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// A directory beneath which everything is.
pub(crate) struct Root {
    /// Without links.
    real: PathBuf,
    /// As it was given, absolute.
    given: PathBuf,
    handle: Arc<OwnedFd>,
}

impl Root {
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let failed = |source| WorkspaceError { path: path.to_owned(), source };
        let given = std::path::absolute(path).map_err(failed)?;
        let real = given.canonicalize().map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, &real, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        Ok(Self { real, given, handle: Arc::new(handle) })
    }

    /// What is left of an absolute path beneath this root.
    fn strip<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.real).or_else(|_| path.strip_prefix(&self.given)).ok()
    }
}

impl Workspaces {
    /// These directories. They have to exist.
    pub fn new<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, WorkspaceError> {
        let roots: Result<Vec<_>, _> =
            paths.into_iter().map(|path| Root::open(path.as_ref())).collect();
        Ok(Self { roots: roots?.into() })
    }

    /// Their paths, without links.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.real.as_path())
    }

    /// The place of a path in the workspaces, for reading, and outside of them too where that is
    /// permitted.
    pub(crate) fn to_read(&self, path: &str, outside: bool) -> Result<Place, ToolFailure> {
        let place = self.find(path, outside, Missing::Leave)?;
        if place.stat.is_some() {
            return Ok(place);
        }
        Err(ToolFailure::path(path, "does not exist"))
    }

    /// The place of a path in the workspaces, for writing. Directories on the way may be missing.
    pub(crate) fn to_write(&self, path: &str, missing: Missing) -> Result<Place, ToolFailure> {
        self.find(path, false, missing)
    }

    fn find(&self, path: &str, outside: bool, missing: Missing) -> Result<Place, ToolFailure> {
        if path.is_empty() || path.contains('\0') {
            return Err(ToolFailure::Failed("a path is empty, or has a NUL byte in it".to_owned()));
        }
        let given = Path::new(path);
        if outside {
            // The whole tree is a workspace then, for reading.
            let root = Root::open(Path::new("/"))
                .map_err(|error| ToolFailure::system("open", "/", error.source))?;
            let absolute = match self.roots.first() {
                Some(first) => first.real.join(given),
                None => Path::new("/").join(given),
            };
            let rest = absolute.strip_prefix("/").unwrap_or(&absolute);
            return walk::walk(&[root], 0, given, rest, missing);
        }
        let (root, rest) = self.start(given).ok_or_else(|| self.outside(given))?;
        walk::walk(&self.roots, root, given, rest, missing)
    }

    /// The root at which a path begins, and the rest of it.
    fn start<'a>(&self, path: &'a Path) -> Option<(usize, &'a Path)> {
        if path.is_absolute() {
            return strip(&self.roots, path);
        }
        (!self.roots.is_empty()).then_some((0, path))
    }

    fn outside(&self, path: &Path) -> ToolFailure {
        outside(&self.roots, path)
    }
}

impl fmt::Debug for Workspaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.paths()).finish()
    }
}

/// The innermost root that an absolute path is beneath.
fn strip<'a>(roots: &[Root], path: &'a Path) -> Option<(usize, &'a Path)> {
    let depth = |path: &Path| path.components().filter(|c| *c != Component::CurDir).count();
    let beneath = roots.iter().enumerate().filter_map(|(at, root)| Some((at, root.strip(path)?)));
    beneath.min_by_key(|(_, rest)| depth(rest))
}

fn outside(roots: &[Root], path: &Path) -> ToolFailure {
    let names: Vec<_> = roots.iter().map(|root| root.real.display().to_string()).collect();
    let workspaces = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
    ToolFailure::Outside { path: path.to_owned(), workspaces }
}

/// A directory of our own, with all that is missing on the way to it.
pub(crate) fn own_directory(path: &Path) -> Result<Workspaces, ToolFailure> {
    std::fs::create_dir_all(path)
        .map_err(|source| ToolFailure::system("create the directory", path, source))?;
    Workspaces::new([path]).map_err(|error| ToolFailure::Failed(error.to_string()))
}
