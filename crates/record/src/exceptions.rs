//! The exceptions that a person has made.
//!
//! An exception lets one call pass that hooks object to. It is made from a recorded refusal, and binds what stood
//! there: the hooks that objected and their rules, the bytes of the call, the working directory, and everything that
//! the decision read of the file system ([`Binding`]). If any of that is different, it is another call.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::FOLDER;
use crate::code::Code;
use crate::folder::{Folder, Lock, RecordError};

/// The version of the file that is written and read.
const VERSION: u32 = 1;

/// Number of exceptions that may be in force.
const MOST: usize = 256;

/// The largest store that is read.
const LARGEST: u64 = 32 << 20;

/// Maximum wait for another process that changes the store.
const PATIENCE: Duration = Duration::from_secs(1);

const FILE: &str = "exceptions.json";
const LOCK: &str = "exceptions.lock";

/// The hooks, the call and the files that an exception is limited to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The hooks that objected to the call, in the order in which they are asked.
    pub hooks: Vec<Objector>,
    /// The digest of the call: the tool, its server and all arguments.
    pub call: String,
    /// The digest of the call without its command line, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// The working directory.
    pub directory: String,
    /// What the decision read of the file system.
    pub reads: Vec<Seen>,
}

/// A hook that objected to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objector {
    /// Its name.
    pub hook: String,
    /// Its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The rule, if it is a policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Its reason, without secrets.
    pub reason: String,
}

/// A path as it was when the decision was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// What was asked about the path.
    pub what: Look,
    /// The path.
    pub path: String,
    /// The digest of the answer. None if nothing was there.
    pub digest: Option<String>,
}

/// A question about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// The content of the file.
    Content,
    /// The names in the directory.
    Names,
    /// Where the path leads.
    Target,
}

/// The duration of an exception, from the narrowest to the widest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lasting {
    /// For one call.
    Once,
    /// For a time.
    For,
    /// Until it is revoked.
    Always,
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The code of the refusal.
    pub id: Code,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// How long it lasts.
    pub lasting: Lasting,
    /// When it ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// What it binds.
    pub binding: Binding,
    /// The pattern of command lines that it covers instead of the one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The call as it was shown to the person, without secrets.
    pub shown: String,
    /// Why the person made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Returns the digest of what was read.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Returns the digest of a file. One of a file above 64 MiB covers its size and the times of its changes instead of its
/// content. None if there is no such file, or if it cannot be read.
pub fn digest_of_file(path: &Path) -> Option<String> {
    const LARGEST: u64 = 64 << 20;
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if about.len() > LARGEST {
        let (inode, changed) = ((about.dev(), about.ino()), (about.ctime(), about.ctime_nsec()));
        return Some(digest(format!("large {} {inode:?} {changed:?}", about.len()).as_bytes()));
    }
    let mut hasher = blake3::Hasher::new();
    let mut file = File::open(path).ok()?.take(LARGEST);
    io::copy(&mut file, &mut hasher).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

/// Returns the time in seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Exception {
    /// True if it has ended.
    pub fn is_over(&self) -> bool {
        // A clock that was set back does not make it last longer than it was made for.
        let now = now();
        self.until.is_some_and(|until| now >= until || now.saturating_add(60) < self.made)
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    exceptions: Vec<Exception>,
}

/// The exceptions of one user of the machine.
///
/// The file is replaced as a whole, under a lock.
#[derive(Debug, Clone)]
pub struct Store {
    folder: Folder,
}

impl Store {
    /// Returns the store in Tollgate's state directory.
    pub fn new(state: &Path) -> Self {
        Self { folder: Folder::new(state.join(FOLDER)) }
    }

    /// Returns the exceptions that are in force, the oldest first.
    pub fn list(&self) -> Result<Vec<Exception>, RecordError> {
        if !self.folder.exists()? {
            return Ok(Vec::new());
        }
        let Some(bytes) = self.folder.read(FILE, LARGEST)? else { return Ok(Vec::new()) };
        let broken =
            |message: String| RecordError::Broken { path: self.folder.file(FILE), message };
        let content: Content =
            serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if content.version != VERSION {
            let message = format!("it has version {}, not {VERSION}", content.version);
            return Err(broken(message));
        }
        Ok(content.exceptions.into_iter().filter(|exception| !exception.is_over()).collect())
    }

    /// Adds an exception. One with the same id is replaced.
    pub fn add(&self, exception: Exception) -> Result<(), RecordError> {
        let _lock = self.lock()?;
        let mut exceptions = self.list()?;
        exceptions.retain(|other| other.id != exception.id);
        if exceptions.len() >= MOST {
            return Err(RecordError::Full(exceptions.len()));
        }
        exceptions.push(exception);
        self.write(exceptions)
    }

    /// Removes an exception. Returns false if there is none with this id.
    pub fn revoke(&self, id: &Code) -> Result<bool, RecordError> {
        let _lock = self.lock()?;
        let mut exceptions = self.list()?;
        let before = exceptions.len();
        exceptions.retain(|exception| exception.id != *id);
        if exceptions.len() == before {
            return Ok(false);
        }
        self.write(exceptions).map(|()| true)
    }

    /// Uses exceptions: those for one call are spent with this. Returns false, and spends none, if one of them is not
    /// in force any more. Of two processes that use the same one, only one succeeds.
    pub fn spend(&self, ids: &BTreeSet<Code>) -> Result<bool, RecordError> {
        let _lock = self.lock()?;
        let mut exceptions = self.list()?;
        let in_force = |id: &Code| exceptions.iter().any(|exception| exception.id == *id);
        if !ids.iter().all(in_force) {
            return Ok(false);
        }
        let before = exceptions.len();
        let is_spent = |exception: &Exception| {
            exception.lasting == Lasting::Once && ids.contains(&exception.id)
        };
        exceptions.retain(|exception| !is_spent(exception));
        if exceptions.len() < before {
            self.write(exceptions)?;
        }
        Ok(true)
    }

    fn lock(&self) -> Result<Lock, RecordError> {
        self.folder.make()?;
        let lock = self.folder.lock(LOCK, PATIENCE)?;
        lock.ok_or_else(|| RecordError::Busy(self.folder.file(LOCK)))
    }

    fn write(&self, exceptions: Vec<Exception>) -> Result<(), RecordError> {
        let content = Content { version: VERSION, exceptions };
        let text = serde_json::to_vec_pretty(&content).map_err(|error| RecordError::Io {
            path: self.folder.file(FILE),
            action: "written",
            source: error.into(),
        })?;
        self.folder.replace(FILE, &text)
    }
}
