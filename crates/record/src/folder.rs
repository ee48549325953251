//! The directory that the record is in: its owner and mode, its lock, and whole files in it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two attempts to take a lock.
const PAUSE: Duration = Duration::from_millis(2);

/// The error for a record or a store that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The system reports an error.
    #[error("`{}` cannot be {action}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// Another user could have written it.
    #[error("`{}` is not used: {reason}", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The content is not what Tollgate writes.
    #[error("`{}` cannot be read: {message}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The cause.
        message: String,
    },
    /// Another process holds the lock for too long.
    #[error("another process holds `{}`", .0.display())]
    Busy(PathBuf),
    /// The entry is larger than a frame may be.
    #[error("the entry has {0} bytes, and a frame has room for {most}", most = crate::frame::LONGEST_BODY)]
    TooLarge(usize),
    /// The store is full.
    #[error("there are {0} exceptions already: revoke one first")]
    Full(usize),
}

pub(crate) fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> RecordError {
    move |source| RecordError::Io { path: path.to_path_buf(), action, source }
}

/// Returns a random number.
pub(crate) fn random() -> Result<u64, RecordError> {
    let mut bytes = [0; 8];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match read {
        Ok(8) => Ok(u64::from_le_bytes(bytes)),
        Ok(_) => Err(failed(Path::new("getrandom"), "read")(io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(failed(Path::new("getrandom"), "read")(error.into())),
    }
}

/// A private directory.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// A lock on a directory. It is released when this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Refuses what another user could have written.
fn check(path: &Path, metadata: &Metadata) -> Result<(), RecordError> {
    const OTHERS: u32 = 0o022;
    let refused = |reason: String| Err(RecordError::Refused { path: path.to_path_buf(), reason });
    let us = rustix::process::geteuid().as_raw();
    if metadata.uid() != us {
        return refused(format!("it belongs to user {}, not to user {us}", metadata.uid()));
    }
    if metadata.mode() & OTHERS != 0 {
        let mode = metadata.mode() & 0o7777;
        return refused(format!("other users may write it (mode {mode:o}): `chmod go-w` it"));
    }
    Ok(())
}

/// Options for a file that is neither followed as a link nor waited for as a pipe.
fn options() -> OpenOptions {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    options
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes the directory if it is missing, and refuses one that is not private.
    pub(crate) fn make(&self) -> Result<(), RecordError> {
        if self.exists()? {
            return Ok(());
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(failed(&self.path, "made"))?;
        if self.exists()? {
            return Ok(());
        }
        Err(failed(&self.path, "found")(io::ErrorKind::NotFound.into()))
    }

    /// Returns false if there is no directory, and refuses one that is not private.
    pub(crate) fn exists(&self) -> Result<bool, RecordError> {
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_dir() => check(&self.path, &metadata).map(|()| true),
            Ok(_) => {
                let reason = "it is not a directory".to_owned();
                Err(RecordError::Refused { path: self.path.clone(), reason })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(&self.path, "looked at")(error)),
        }
    }

    /// Takes a lock. None if another process holds it for longer than `patience`.
    pub(crate) fn lock(&self, name: &str, patience: Duration) -> Result<Option<Lock>, RecordError> {
        let path = self.file(name);
        let opened = options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(failed(&path, "opened"))?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Lock { _file: file })),
                Err(TryLockError::WouldBlock) if begin.elapsed() < patience => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(&path, "locked")(error)),
            }
        }
    }

    /// Opens a file and refuses one that another user could have written. None if it is missing.
    pub(crate) fn open(&self, name: &str, append: bool) -> Result<Option<File>, RecordError> {
        let path = self.file(name);
        let file = match options().read(true).append(append).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, "opened")(error)),
        };
        let metadata = file.metadata().map_err(failed(&path, "looked at"))?;
        if !metadata.is_file() {
            return Err(RecordError::Refused {
                path,
                reason: "it is not a regular file".to_owned(),
            });
        }
        check(&path, &metadata)?;
        Ok(Some(file))
    }

    /// Reads a file of at most `most` bytes. None if it is missing.
    pub(crate) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, RecordError> {
        let Some(file) = self.open(name, false)? else { return Ok(None) };
        let path = self.file(name);
        let mut content = Vec::new();
        file.take(most + 1).read_to_end(&mut content).map_err(failed(&path, "read"))?;
        if content.len() as u64 > most {
            let message = format!("it is larger than {most} bytes");
            return Err(RecordError::Broken { path, message });
        }
        Ok(Some(content))
    }

    /// Creates a file that must not exist yet, for appending.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        options().read(true).append(true).create_new(true).open(self.file(name))
    }

    /// Replaces a file as a whole. The caller holds a lock.
    pub(crate) fn replace(&self, name: &str, content: &[u8]) -> Result<(), RecordError> {
        let (path, new) = (self.file(name), self.file(&format!("{name}.new")));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&new, "removed")(error));
            }
            _ => {}
        }
        let write = || {
            let mut file = options().write(true).create_new(true).open(&new)?;
            file.write_all(content)?;
            file.sync_all()
        };
        write().map_err(failed(&new, "written"))?;
        fs::rename(&new, &path).map_err(failed(&path, "replaced"))?;
        let synced = File::open(&self.path).and_then(|directory| directory.sync_all());
        synced.map_err(failed(&self.path, "synchronised"))
    }

    /// Returns the names in the directory that a function accepts, in order, at most `most`.
    pub(crate) fn names<T: Ord>(
        &self,
        most: usize,
        accept: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, RecordError> {
        if !self.exists()? {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&self.path).map_err(failed(&self.path, "read"))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut accepted: Vec<T> = names.take(most).filter_map(|name| accept(&name)).collect();
        accepted.sort();
        Ok(accepted)
    }
}
