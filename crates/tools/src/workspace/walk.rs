//! The walk to a place.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::place::{Kind, Place, kind_of};
use super::{Root, outside, strip};
use crate::tool::ToolFailure;

/// What to do about a directory that is missing on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is an error.
    Leave,
    /// Make it.
    Make,
    /// Go on as if it had been made. What is found is a place to be shown, not one to write to.
    Suppose,
}

/// How many links are read, and directories made, on one walk. The system's own limit for links.
const LINKS: u32 = 40;

/// How many directories are made on one walk.
const MADE: u32 = 64;

/// How many components a path may have, with those of the links in it.
const STEPS: usize = 4096;

enum Step {
    Up,
    Down(OsString),
}

struct Walk<'a> {
    roots: &'a [Root],
    root: usize,
    /// The path as it was given, for errors.
    given: &'a Path,
    /// The directories that were walked through, beneath the root.
    way: Vec<(OsString, OwnedFd)>,
    /// What is left to walk, the next step last.
    steps: Vec<Step>,
}

/// Walks from a root along `rest`. The end of the walk is no link.
pub(super) fn walk(
    roots: &[Root],
    root: usize,
    given: &Path,
    rest: &Path,
    missing: Missing,
) -> Result<Place, ToolFailure> {
    let mut walk = Walk { roots, root, given, way: Vec::new(), steps: Vec::new() };
    walk.plan(rest)?;
    let (mut links, mut made) = (0, 0);
    // What would be there beneath the directory that was reached.
    let mut supposed: Vec<OsString> = Vec::new();
    while let Some(step) = walk.steps.pop() {
        let name = match step {
            Step::Up if supposed.pop().is_some() => continue,
            Step::Up => {
                walk.way.pop().ok_or_else(|| outside(roots, given))?;
                continue;
            }
            Step::Down(name) if !supposed.is_empty() => {
                supposed.push(name);
                continue;
            }
            Step::Down(name) => name,
        };
        let is_last = walk.steps.is_empty();
        let dir = walk.dir()?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match openat(dir, &name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) if is_last => return walk.end(name, None),
            Err(Errno::NOENT) if missing == Missing::Make => {
                made += 1;
                if made > MADE {
                    let problem = format!("has more than {MADE} directories that do not exist");
                    return Err(ToolFailure::path(given, problem));
                }
                match mkdirat(dir, &name, Mode::from_raw_mode(0o777)) {
                    // Somebody else was faster; what they made is looked at.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => {
                        let path = walk.so_far(&name);
                        return Err(ToolFailure::system("create the directory", path, error));
                    }
                }
                walk.steps.push(Step::Down(name));
                continue;
            }
            Err(Errno::NOENT) if missing == Missing::Suppose => {
                supposed.push(name);
                continue;
            }
            Err(Errno::NOENT) => {
                let problem =
                    format!("does not exist: there is no `{}`", walk.so_far(&name).display());
                return Err(ToolFailure::path(given, problem));
            }
            Err(error) => return Err(ToolFailure::system("open", walk.so_far(&name), error)),
        };
        let stat = fstat(&handle)
            .map_err(|error| ToolFailure::system("look at", walk.so_far(&name), error))?;
        match kind_of(&stat) {
            Kind::Link => {
                links += 1;
                if links > LINKS {
                    let problem = format!("leads through more than {LINKS} links");
                    return Err(ToolFailure::path(given, problem));
                }
                walk.follow(&handle, &name)?;
            }
            Kind::Directory => walk.way.push((name, handle)),
            _ if is_last => return walk.end(name, Some(stat)),
            _ => {
                let path = walk.so_far(&name);
                let problem = format!("leads through `{}`, which is no directory", path.display());
                return Err(ToolFailure::path(given, problem));
            }
        }
    }
    walk.supposed(&supposed)
}

impl Walk<'_> {
    fn dir(&self) -> Result<BorrowedFd<'_>, ToolFailure> {
        if let Some((_, handle)) = self.way.last() {
            return Ok(handle.as_fd());
        }
        let root = self.roots.get(self.root);
        root.map(|root| root.handle.as_fd()).ok_or_else(|| outside(self.roots, self.given))
    }

    /// Puts a path before what is left to walk.
    fn plan(&mut self, path: &Path) -> Result<(), ToolFailure> {
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.steps.push(Step::Down(name.to_owned())),
                Component::ParentDir => self.steps.push(Step::Up),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        if self.steps.len() > STEPS {
            return Err(ToolFailure::path(self.given, "is too long"));
        }
        Ok(())
    }

    fn follow(&mut self, link: &OwnedFd, name: &OsStr) -> Result<(), ToolFailure> {
        let target = readlinkat(link, c"", Vec::new())
            .map_err(|error| ToolFailure::system("read the link", self.so_far(name), error))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            let (root, rest) =
                strip(self.roots, &target).ok_or_else(|| outside(self.roots, self.given))?;
            self.root = root;
            self.way.clear();
            return self.plan(rest);
        }
        self.plan(&target)
    }

    /// The path of an entry of the directory that was reached.
    fn so_far(&self, name: &OsStr) -> PathBuf {
        let mut path = self.roots.get(self.root).map(|root| root.real.clone()).unwrap_or_default();
        path.extend(self.way.iter().map(|(name, _)| name));
        path.push(name);
        path
    }

    fn end(mut self, name: OsString, stat: Option<Stat>) -> Result<Place, ToolFailure> {
        let path = self.so_far(&name);
        let dir = match self.way.pop() {
            Some((_, handle)) => handle,
            None => self.root_handle()?,
        };
        Ok(Place { dir, name, path, stat })
    }

    /// The end of a walk that led through directories which do not exist.
    fn supposed(self, names: &[OsString]) -> Result<Place, ToolFailure> {
        let Some(first) = names.first().cloned() else { return self.end_at_directory() };
        let mut path = self.so_far(&first);
        path.extend(names.iter().skip(1));
        Ok(Place { path, ..self.end(first, None)? })
    }

    fn end_at_directory(mut self) -> Result<Place, ToolFailure> {
        if let Some((name, handle)) = self.way.pop() {
            let stat = fstat(&handle)
                .map_err(|error| ToolFailure::system("look at", self.so_far(&name), error))?;
            return self.end(name, Some(stat));
        }
        let dir = self.root_handle()?;
        let path = self.roots.get(self.root).map(|root| root.real.clone()).unwrap_or_default();
        let stat = statat(&dir, c"", AtFlags::EMPTY_PATH)
            .map_err(|error| ToolFailure::system("look at", &path, error))?;
        Ok(Place { dir, name: ".".into(), path, stat: Some(stat) })
    }

    fn root_handle(&self) -> Result<OwnedFd, ToolFailure> {
        let root = self.roots.get(self.root).ok_or_else(|| outside(self.roots, self.given))?;
        root.handle.try_clone().map_err(|error| ToolFailure::system("open", &root.real, error))
    }
}
