//! Where this process runs, for the analysis of commands: homes, and files that commands run.
//!
//! Everything that the analysis reads of the file system is noted, because an exception binds it ([`seen`]).

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tollgate_record::exceptions::{Look, Seen, digest, digest_of_file};
use tollgate_shell::world::{Files, Found, Origin, World, enter};

/// The largest `/etc/passwd` that is read. Larger ones belong to machines with a directory service.
const LARGEST_ACCOUNTS: u64 = 1 << 20;

/// The largest file that is read before it is run.
const LARGEST: u64 = 256 * 1024;

/// How many names of a directory are told.
const MOST_NAMES: usize = 256;

/// How many bytes of what a session has fetched are read.
const LARGEST_LIST: u64 = 256 * 1024;

/// Maximum number of looks that are noted. A decision that takes more cannot be excepted.
const MOST_SEEN: usize = 256;

static SEEN: Mutex<BTreeMap<(Look, String), Option<String>>> = Mutex::new(BTreeMap::new());

/// Notes what was seen at a path.
fn note(what: Look, path: &str, digest: Option<String>) {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() <= MOST_SEEN {
        seen.insert((what, path.to_owned()), digest);
    }
}

/// Returns everything that the analysis of commands has read so far. None if that was too much to be noted.
pub(crate) fn seen() -> Option<Vec<Seen>> {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let all = seen.iter().map(|((what, path), digest)| Seen {
        what: *what,
        path: path.clone(),
        digest: digest.clone(),
    });
    (seen.len() <= MOST_SEEN).then(|| all.collect())
}

/// True if a path still is what it was when it was seen.
pub(crate) fn is_unchanged(seen: &Seen) -> bool {
    let path = seen.path.as_str();
    let now = match seen.what {
        Look::Content => digest_of_file(Path::new(path)),
        Look::Names => Some(digest_of_names(&names(path))),
        Look::Target => leads_to(path).map(|target| digest(target.as_bytes())),
    };
    now == seen.digest
}

fn digest_of_names(names: &[String]) -> String {
    digest(names.join("\0").as_bytes())
}

/// Returns the names in a directory, in order.
fn names(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(MOST_NAMES);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Returns where a path leads, if that is somewhere else.
fn leads_to(path: &str) -> Option<String> {
    // A file that is not there yet is in a directory that may be a link.
    let in_parent = || {
        let (parent, name) = (Path::new(path).parent()?, Path::new(path).file_name()?);
        Some(fs::canonicalize(parent).ok()?.join(name))
    };
    let real = fs::canonicalize(path).ok().or_else(in_parent)?;
    let real = real.to_str()?;
    (real != path).then(|| real.to_owned())
}

/// What a session of an agent has done so far, as far as it matters for files.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// When it began.
    pub(crate) began: Option<SystemTime>,
    /// The list of files that it has fetched from other machines, one path a line.
    pub(crate) fetched: Option<PathBuf>,
    /// The list of files that its tools were to write.
    pub(crate) written: Option<PathBuf>,
}

/// Lets the analysis of commands know the machine. Tests of hooks go without, so that they mean the
/// same everywhere.
pub(crate) fn known(session: Session) {
    let mut homes: Vec<String> = Vec::new();
    let home = env::var("HOME").ok().filter(|home| home.starts_with('/') && home.len() > 1);
    for home in home.into_iter().chain(account()) {
        let home = home.trim_end_matches('/').to_owned();
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    enter(World { homes, files: Some(Box::new(Disk { session })) });
}

/// The home of the account, whatever `HOME` says.
fn account() -> Option<String> {
    let id = rustix::process::getuid().as_raw();
    if id == 0 {
        return Some("/root".to_owned());
    }
    let accounts = text(Path::new("/etc/passwd"), LARGEST_ACCOUNTS)?;
    let line = accounts.lines().find(|line| line.split(':').nth(2) == Some(&id.to_string()))?;
    line.split(':').nth(5).filter(|home| home.starts_with('/') && home.len() > 1).map(str::to_owned)
}

/// The files of this machine.
#[derive(Debug)]
struct Disk {
    session: Session,
}

impl Files for Disk {
    fn look(&self, path: &str) -> Option<Found> {
        let name = path;
        let path = Path::new(path);
        let Some(about) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else {
            note(Look::Content, name, None);
            return None;
        };
        let is_new = self.session.began.is_some_and(|began| changed(&about) > began);
        let origin = if self.was_fetched(path) {
            Origin::Fetched
        } else if is_new {
            Origin::Session
        } else {
            Origin::Settled
        };
        let text = text(path, LARGEST);
        let digest = match &text {
            Some(text) => Some(digest(text.as_bytes())),
            None => digest_of_file(path),
        };
        note(Look::Content, name, digest);
        Some(Found { text, origin })
    }

    fn leads_to(&self, path: &str) -> Option<String> {
        let target = leads_to(path);
        note(Look::Target, path, target.as_ref().map(|target| digest(target.as_bytes())));
        target
    }

    fn was_written(&self, path: &str) -> bool {
        let list = self.session.written.as_deref().and_then(|list| text(list, LARGEST_LIST));
        list.is_some_and(|list| list.lines().any(|line| line == path))
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let names = names(directory);
        note(Look::Names, directory, Some(digest_of_names(&names)));
        names
    }
}

impl Disk {
    fn was_fetched(&self, path: &Path) -> bool {
        let Some(list) = self.session.fetched.as_deref().and_then(|list| text(list, LARGEST_LIST))
        else {
            return false;
        };
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        list.lines().any(|line| Path::new(line) == path || Path::new(line) == real)
    }
}

/// When a file was last changed in any way. Unlike the time of its content, an agent cannot set this.
fn changed(about: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(about.ctime()).unwrap_or(0);
    let nanos = u32::try_from(about.ctime_nsec()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos)
}

/// The text of a file, if it is one and not too large.
fn text(path: &Path, largest: u64) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(largest + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > largest || bytes.contains(&0) {
        return None;
    }
    String::from_utf8(bytes).ok()
}
