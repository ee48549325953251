//! Keeps a copy of each approved file beside the trust store.
//!
//! A copy is at `approved/HASH/NAME`, so that a program that goes by the name of its script finds
//! the name it had. It is read as what its hash says or not at all. A line in `approved/projects`
//! remembers that a project was trusted, should the store itself be gone.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::hash::{self, Hash};
use super::place::private_directory;
use super::store::StoreError;
use super::survey::{Pin, Survey};

/// The largest file of which a copy is kept.
pub(crate) const LARGEST: u64 = 1 << 20;

/// The most bytes that are kept of a project.
const MOST: u64 = 16 << 20;

/// Where the copies are, beside the store.
pub(crate) const DIRECTORY: &str = "approved";

/// Where it is remembered which projects were trusted.
const PROJECTS: &str = "projects";

/// The copies of what was approved, of all projects.
#[derive(Debug, Clone)]
pub(crate) struct Copies {
    directory: PathBuf,
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { path: path.to_path_buf(), action, source }
}

impl Copies {
    /// The copies beside a store.
    pub(crate) fn beside(store: &Path) -> Self {
        Self { directory: store.parent().unwrap_or(Path::new("/")).join(DIRECTORY) }
    }

    /// Where the copy of a pinned file is, if one is kept.
    fn path(&self, pin: &Pin) -> Option<PathBuf> {
        let name = Path::new(&pin.path).file_name()?;
        Some(self.directory.join(pin.hash.to_string()).join(name))
    }

    /// The content that was approved. None if no copy is kept, or if it is not what it should be.
    pub(crate) fn read(&self, pin: &Pin) -> Option<Vec<u8>> {
        bounded(&self.path(pin)?).ok().filter(|bytes| Hash::of(bytes) == pin.hash)
    }

    /// The path of a copy that is what was approved.
    pub(crate) fn file(&self, pin: &Pin) -> Option<PathBuf> {
        self.read(pin)?;
        self.path(pin)
    }

    /// Keeps a copy of each pinned file, as far as the limits go. A file that is not what was
    /// surveyed is an error.
    pub(super) fn keep(&self, survey: &Survey) -> Result<(), StoreError> {
        let mut left = MOST;
        for found in survey.found() {
            let pin = &found.pin;
            let size = found.content.size;
            let Some(rest) = left.checked_sub(size).filter(|_| size <= LARGEST) else { continue };
            let Some(path) = self.path(pin) else { continue };
            left = rest;
            let source = survey.root().join(pin.target.as_ref().unwrap_or(&pin.path));
            let bytes = bounded(&source).map_err(failed(&source, "copied"))?;
            if Hash::of(&bytes) != pin.hash {
                let changed = io::Error::other("it was changed while it was being trusted");
                return Err(failed(&source, "copied")(changed));
            }
            let is_program =
                fs::metadata(&source).is_ok_and(|it| it.permissions().mode() & 0o100 != 0);
            self.write(&path, &bytes, if is_program { 0o700 } else { 0o600 })?;
        }
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.directory);
        for directory in [&self.directory, folder] {
            private_directory(directory).map_err(failed(directory, "made"))?;
        }
        // Only one writes at a time: whoever has locked the store.
        let new = folder.join(".new");
        let write = || {
            match fs::remove_file(&new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
            file.set_permissions(Permissions::from_mode(mode))?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&new, path)
        };
        write().map_err(failed(path, "written"))
    }

    /// Removes the copies of what no project has pinned.
    pub(super) fn sweep(&self, kept: &BTreeSet<Hash>) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let hash = name.to_str().and_then(|name| name.parse::<Hash>().ok());
            if hash.is_some_and(|hash| !kept.contains(&hash)) {
                // What stays is removed the next time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Where it is remembered that a project was trusted.
    fn mark_of(&self, root: &str) -> PathBuf {
        self.directory.join(PROJECTS).join(Hash::of(root.as_bytes()).to_string())
    }

    /// Remembers that a project was trusted.
    pub(super) fn mark(&self, root: &str) -> Result<(), StoreError> {
        let path = self.mark_of(root);
        if path.exists() {
            return Ok(());
        }
        self.write(&path, format!("{root}\n").as_bytes(), 0o600)
    }

    /// Forgets that a project was trusted. Says whether it was.
    pub(super) fn unmark(&self, root: &str) -> Result<bool, StoreError> {
        let path = self.mark_of(root);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(&path, "removed")(error)),
        }
    }

    /// True if a project was trusted and not revoked, whatever the store says.
    pub(crate) fn is_marked(&self, root: &str) -> bool {
        self.mark_of(root).symlink_metadata().is_ok()
    }
}

/// The content of a file that may be copied.
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = hash::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("it is too large to be copied"));
    }
    Ok(bytes)
}
