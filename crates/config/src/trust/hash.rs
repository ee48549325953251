//! Fingerprints of files.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The BLAKE3 hash of a file's content.
///
/// ```
/// use tollgate_config::trust::Hash;
///
/// let hash = Hash::of(b"echo hello\n");
/// assert_eq!(hash.to_string().parse(), Ok(hash));
/// assert!(hash.to_string().starts_with(&hash.short()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Its first twelve digits, to show.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.short())
    }
}

/// A text that is no hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no hash")]
pub struct NotAHash(String);

impl FromStr for Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| NotAHash(text.chars().take(80).collect()))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a look at a file tells without reading it. As long as it stays the same, so does the
/// content, unless somebody writes to it through memory that is mapped to it, or as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) kind: u32,
    pub(super) size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Self {
        /// The part of a mode that says whether it is a file, a directory, a link, …
        const KIND: u32 = 0o170_000;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            kind: metadata.mode() & KIND,
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// How old a change must be before a look at the file is enough. File systems count time in
/// steps: two changes in one step leave the same trace, and some steps are two seconds.
const SETTLING: Duration = Duration::from_secs(2);

impl Stat {
    /// Whether the last change is so long ago that any later one will show.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, _) = self.changed.max(self.modified);
        u64::try_from(seconds).is_ok_and(|changed| {
            changed.saturating_add(SETTLING.as_secs() + 1) <= since_epoch.as_secs()
        })
    }
}

/// A file that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    pub(super) hash: Hash,
    pub(super) stat: Stat,
    /// Whether the stat alone will tell of later changes.
    pub(super) is_settled: bool,
    pub(super) size: u64,
}

/// Why a file has no hash.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unhashed {
    #[error("it is not there")]
    Gone,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is larger than {} MiB", .0 / (1024 * 1024))]
    TooLarge(u64),
    #[error("it keeps changing while it is read")]
    Unsteady,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for Unhashed {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Gone,
            _ => Self::Io(error),
        }
    }
}

impl Content {
    /// What somebody else has read of a file, and how it looked before, at that time.
    pub(crate) fn as_read(bytes: &[u8], before: &Metadata, at: SystemTime) -> Self {
        let stat = Stat::from(before);
        let size = bytes.len() as u64;
        Self { hash: Hash::of(bytes), stat, is_settled: stat.is_settled(at), size }
    }

    /// What is in a copy; none if it cannot be read.
    pub(crate) fn of_copy(path: &Path) -> Option<Self> {
        Self::of(path, super::copies::LARGEST).ok()
    }

    /// Reads and hashes a file of at most `limit` bytes.
    pub(super) fn of(path: &Path, limit: u64) -> Result<Self, Unhashed> {
        const ATTEMPTS: usize = 3;
        for _ in 0..ATTEMPTS {
            let now = SystemTime::now();
            let mut file = open(path)?;
            let before = file.metadata()?;
            if !before.is_file() {
                return Err(Unhashed::NotAFile);
            }
            if before.len() > limit {
                return Err(Unhashed::TooLarge(limit));
            }
            let (hash, size) = hash_of(&mut file, limit)?;
            let stat = Stat::from(&before);
            if Stat::from(&file.metadata()?) == stat && size == before.len() {
                return Ok(Self { hash, stat, is_settled: stat.is_settled(now), size });
            }
        }
        Err(Unhashed::Unsteady)
    }
}

/// Opens a file to read. A pipe in its place must not make us wait for a writer.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn hash_of(file: &mut File, limit: u64) -> Result<(Hash, u64), Unhashed> {
    let mut hasher = blake3::Hasher::new();
    let mut limited = file.take(limit.saturating_add(1));
    let size = io::copy(&mut limited, &mut hasher)?;
    if size > limit {
        return Err(Unhashed::TooLarge(limit));
    }
    Ok((Hash(*hasher.finalize().as_bytes()), size))
}
