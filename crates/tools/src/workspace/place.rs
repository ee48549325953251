//! A place in a workspace, held by the directory it is in.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2};
use rustix::io::Errno;

use crate::tool::ToolFailure;

/// An entry of a directory, which may not exist yet. It was no link when it was looked at.
pub(crate) struct Place {
    /// The directory it is in.
    pub(crate) dir: OwnedFd,
    /// Its name there; `.` for a workspace itself.
    pub(crate) name: OsString,
    /// Its path, without links, to be shown.
    pub(crate) path: PathBuf,
    /// What is there.
    pub(crate) stat: Option<Stat>,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    Device,
    Unknown,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a link",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "of an unknown kind",
        }
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
}

pub(crate) fn kind_of(stat: &Stat) -> Kind {
    FileType::from_raw_mode(stat.st_mode).into()
}

impl Place {
    /// Opens the file that is there, for reading.
    pub(crate) fn open_file(&self) -> Result<(File, Stat), ToolFailure> {
        let failed = |error: Errno| ToolFailure::system("read", &self.path, error);
        if let Some(stat) = &self.stat {
            let kind = kind_of(stat);
            if kind != Kind::File {
                return Err(self.no_file(kind));
            }
        }
        let handle = openat(&self.dir, &self.name, reading(), Mode::empty()).map_err(failed)?;
        let stat = fstat(&handle).map_err(failed)?;
        match kind_of(&stat) {
            Kind::File => Ok((File::from(handle), stat)),
            kind => Err(self.no_file(kind)),
        }
    }

    /// Opens the directory that is there, for listing and as the beginning of a search.
    pub(crate) fn open_directory(&self) -> Result<OwnedFd, ToolFailure> {
        let flags = reading() | OFlags::DIRECTORY;
        openat(&self.dir, &self.name, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR => ToolFailure::path(&self.path, "is no directory"),
            error => ToolFailure::system("read the directory", &self.path, error),
        })
    }

    /// The contents of the file that is there, if it is not larger than the limit.
    pub(crate) fn read(&self, limit: usize) -> Result<(Vec<u8>, Stat), ToolFailure> {
        let (file, stat) = self.open_file()?;
        let mut contents = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most)
            .read_to_end(&mut contents)
            .map_err(|source| ToolFailure::system("read", &self.path, source))?;
        if contents.len() > limit {
            let problem = format!("has more than {limit} bytes, which is the limit of this tool");
            return Err(ToolFailure::path(&self.path, problem));
        }
        Ok((contents, stat))
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.stat.as_ref().is_some_and(|stat| kind_of(stat) == Kind::Directory)
    }

    pub(crate) fn no_file(&self, kind: Kind) -> ToolFailure {
        ToolFailure::path(&self.path, format!("is {}, not a file", kind.name()))
    }
}

/// To open without following a link, waiting for the other end of a pipe, or becoming the
/// terminal's process.
fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

/// Opens a regular file beneath a directory, through no link at all. Nothing: there is none.
pub(crate) fn open_beneath(dir: &OwnedFd, path: &Path) -> Option<(File, Stat)> {
    let handle = handle_beneath(dir, path, reading())?;
    let stat = fstat(&handle).ok()?;
    (kind_of(&stat) == Kind::File).then(|| (File::from(handle), stat))
}

/// Looks at an entry beneath a directory, through no link. Nothing: there is none.
pub(crate) fn stat_beneath(dir: &OwnedFd, path: &Path) -> Option<Stat> {
    fstat(handle_beneath(dir, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?).ok()
}

fn handle_beneath(dir: &OwnedFd, path: &Path, flags: OFlags) -> Option<OwnedFd> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(dir, path, flags, Mode::empty(), how) {
        // Not there in old kernels, and refused by some sandboxes.
        Err(Errno::NOSYS | Errno::PERM) => step_beneath(dir, path, flags),
        opened => opened.ok(),
    }
}

fn step_beneath(dir: &OwnedFd, path: &Path, last: OFlags) -> Option<OwnedFd> {
    let mut at = dir.try_clone().ok()?;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else { return None };
        let flags = if components.peek().is_some() {
            OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
        } else {
            last
        };
        at = openat(&at, name, flags, Mode::empty()).ok()?;
    }
    Some(at)
}
