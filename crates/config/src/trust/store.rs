//! Which projects were trusted, and as what.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::copies::Copies;
use super::digest::Digest;
use super::hash;
use super::place::Place;
use super::repository::other_places;
use super::seal::Seal;
use super::survey::{LARGEST, Pin, PinKind, Survey};
use super::{Change, ChangeKind, TrustState};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{SourceFile, Span};

/// The version of the file that is written and read.
const VERSION: u32 = 1;

/// Why the store cannot be used. It is never taken for an empty one: then every project would be
/// untrusted, and its gates open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system does not let us.
    #[error("`{}` cannot be {action}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was to be done with it.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// Others could have written it.
    #[error("the trust store `{}` is not used: {reason}", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// It is not what we write.
    #[error("the trust store `{}` cannot be read: {message}", file.path().display())]
    Broken {
        /// The file as it was read.
        file: Arc<SourceFile>,
        /// What is wrong.
        message: String,
        /// Where.
        span: Option<Span>,
    },
    /// Somebody else is writing it and does not come to an end.
    #[error("another process holds `{}`", .0.display())]
    Busy(PathBuf),
    /// What is there is not what was to be trusted.
    #[error(
        "the project is not what was to be trusted: its digest is {found}, the one given is {given}"
    )]
    WrongDigest {
        /// The digest that was given.
        given: Digest,
        /// The digest of what is there.
        found: Digest,
    },
}

impl StoreError {
    /// The problem as it is reported: TG064.
    pub fn diagnostic(&self) -> Diagnostic {
        let (file, span) = match self {
            Self::Broken { file, span, .. } => (Arc::clone(file), *span),
            Self::Io { path, .. } | Self::Refused { path, .. } | Self::Busy(path) => {
                (Arc::new(SourceFile::new(path, "")), None)
            }
            Self::WrongDigest { .. } => (Arc::new(SourceFile::new("", "")), None),
        };
        let help = match self {
            Self::Broken { .. } => {
                "restore it, or move it away and trust your projects again, one by one"
            }
            Self::WrongDigest { .. } => "look at the project again, and at what has changed in it",
            _ => "until then, no project counts as trusted, and gates of projects are closed",
        };
        Diagnostic {
            code: Code::BrokenTrustStore,
            severity: Code::BrokenTrustStore.severity(),
            message: self.to_string(),
            help: Some(help.to_owned()),
            file,
            span,
            related: Vec::new(),
        }
    }
}

/// The file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    projects: BTreeMap<String, Project>,
}

/// A project that was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// When, in seconds since 1970.
    pub trusted_at: u64,
    /// The digest of the survey that was trusted.
    pub digest: Digest,
    /// The files that were pinned.
    pub pins: Vec<Pin>,
}

impl Project {
    /// When it was trusted.
    pub fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.trusted_at)
    }
}

/// The projects that a person trusts.
///
/// The file is replaced as a whole, under a lock: a writer that is killed leaves the old store or
/// the new one, and of two that write at once neither loses what the other wrote.
#[derive(Debug, Clone)]
pub struct Store {
    place: Place,
    content: Content,
}

impl Store {
    /// Where the store usually is: in `$XDG_STATE_HOME/tollgate`, else in
    /// `~/.local/state/tollgate`. None where neither is known.
    ///
    /// ```
    /// use std::path::{Path, PathBuf};
    /// use tollgate_config::trust::Store;
    ///
    /// let path = Store::usual_path(None, Some(Path::new("/home/me")));
    /// assert_eq!(path, Some(PathBuf::from("/home/me/.local/state/tollgate/trust.json")));
    /// ```
    pub fn usual_path(state_home: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
        // A relative path there is to be ignored, says the standard.
        let absolute = |path: &&Path| path.is_absolute();
        let state = state_home.filter(absolute).map(Path::to_path_buf);
        let state = state.or_else(|| Some(home.filter(absolute)?.join(".local/state")))?;
        Some(state.join("tollgate/trust.json"))
    }

    /// Reads the store. One that is not there is empty; one that is broken, or that others could
    /// have written, is an error.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::read(path.as_ref())?.open()
    }

    /// Reads the store without looking into it.
    pub(crate) fn read(path: &Path) -> Result<Unopened, StoreError> {
        let place = Place::find(path)?;
        let bytes = place.read()?;
        Ok(Unopened { place, bytes })
    }

    /// Where it is, links followed.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// The projects, by their directories.
    pub fn projects(&self) -> impl Iterator<Item = (&Path, &Project)> {
        self.content.projects.iter().map(|(root, project)| (Path::new(root), project))
    }

    /// Trusts a project as it was surveyed, and keeps a copy of each file that is pinned, so that it
    /// can go on running as it was approved.
    pub fn trust(&mut self, survey: &Survey) -> Result<(), StoreError> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let project = Project {
            trusted_at: since_epoch.as_secs(),
            digest: survey.digest(),
            pins: survey.pins().cloned().collect(),
        };
        let root = key(survey.root());
        let copies = self.copies();
        self.change(
            || copies.keep(survey),
            |projects| {
                projects.insert(root.clone(), project);
            },
            || copies.mark(&root),
        )
    }

    /// The content that was approved of a file that has changed, if a copy of it is kept.
    pub fn approved(&self, root: &Path, change: &Change) -> Option<Vec<u8>> {
        let pins = &self.project(root)?.pins;
        let pin = pins.iter().find(|pin| pin.kind == change.kind && pin.path == change.path)?;
        self.copies().read(pin)
    }

    /// The copies of what was approved.
    pub(crate) fn copies(&self) -> Copies {
        Copies::beside(self.path())
    }

    /// What was trusted of a project, here or in another working tree of its repository.
    pub(crate) fn project(&self, root: &Path) -> Option<&Project> {
        let projects = &self.content.projects;
        projects
            .get(&key(root))
            .or_else(|| other_places(root).iter().find_map(|place| projects.get(&key(place))))
    }

    /// Trusts a project only if it is what a person has looked at elsewhere, by its digest.
    pub fn trust_if(&mut self, survey: &Survey, digest: &Digest) -> Result<(), StoreError> {
        let found = survey.digest();
        if found != *digest {
            return Err(StoreError::WrongDigest { given: digest.clone(), found });
        }
        self.trust(survey)
    }

    /// Trusts a project no longer. Says whether it was trusted.
    pub fn revoke(&mut self, root: &Path) -> Result<bool, StoreError> {
        // The directory may be gone by now; then its path is all there is.
        let canonical = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        let root = key(&canonical);
        let copies = self.copies();
        let mut was_marked = false;
        let mut was_trusted = false;
        self.change(
            || {
                was_marked = copies.unmark(&root)?;
                Ok(())
            },
            |projects| was_trusted = projects.remove(&root).is_some(),
            || Ok(()),
        )?;
        Ok(was_trusted || was_marked)
    }

    /// In which state a project is.
    pub fn state(&self, survey: &Survey) -> TrustState {
        match self.changes(survey) {
            None => TrustState::Untrusted,
            Some(changes) if changes.is_empty() => TrustState::Trusted(Arc::new(Seal::of(survey))),
            Some(changes) => TrustState::Changed(changes),
        }
    }

    /// What is different from what was trusted; none where nothing was.
    pub(crate) fn changes(&self, survey: &Survey) -> Option<Vec<Change>> {
        match self.project(survey.root()) {
            Some(project) => Some(changes(&project.pins, survey)),
            None => self.has_content_of(survey).then(Vec::new),
        }
    }

    /// True if a project elsewhere was trusted that is the same and would run the same: one that was
    /// moved here, or cloned.
    fn has_content_of(&self, survey: &Survey) -> bool {
        let digest = survey.digest();
        let mut projects = self.content.projects.values();
        projects.any(|project| project.digest == digest) && survey.is_whole()
    }

    /// True if a project was trusted, and the store does not know of it.
    pub(crate) fn has_lost(&self, root: &Path) -> bool {
        self.project(root).is_none() && self.copies().is_marked(&key(root))
    }

    /// Changes what is stored, with what has to be done before and after, while nobody else writes.
    fn change(
        &mut self,
        before: impl FnOnce() -> Result<(), StoreError>,
        change: impl FnOnce(&mut BTreeMap<String, Project>),
        after: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let place = self.place.clone();
        let locked = place.lock()?;
        // What others have written since it was opened stays.
        let mut content = content_of(&place, place.read()?)?;
        before()?;
        change(&mut content.projects);
        let text = serde_json::to_vec_pretty(&content).map_err(|error| StoreError::Io {
            path: place.path().to_path_buf(),
            action: "written",
            source: error.into(),
        })?;
        locked.replace(&text)?;
        self.content = content;
        after()?;
        let pins = self.content.projects.values().flat_map(|project| &project.pins);
        self.copies().sweep(&pins.map(|pin| pin.hash).collect::<BTreeSet<_>>());
        Ok(())
    }
}

/// The name of a project in the store. A survey has only paths that are UTF-8.
fn key(root: &Path) -> String {
    root.to_string_lossy().into_owned()
}

/// What a glance at a store tells of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Glimpse {
    /// It is trusted, just as it is.
    Trusted,
    /// Nobody has trusted it.
    Unknown,
}

/// A store that was read and not looked into.
#[derive(Debug)]
pub(crate) struct Unopened {
    place: Place,
    bytes: Option<Vec<u8>>,
}

impl Unopened {
    /// What can be told of a project at a glance: that it is trusted just as it is, or that nobody has trusted it. For
    /// everything else the store is to be opened.
    pub(crate) fn glance(&self, survey: &Survey) -> Option<Glimpse> {
        #[derive(Deserialize)]
        struct Glance<'a> {
            version: u32,
            #[serde(borrow)]
            projects: BTreeMap<Cow<'a, str>, Trusted>,
        }
        #[derive(Deserialize)]
        struct Trusted {
            digest: Digest,
        }
        let root = key(survey.root());
        let is_marked = || Copies::beside(self.place.path()).is_marked(&root);
        let Some(bytes) = &self.bytes else {
            return (!is_marked()).then_some(Glimpse::Unknown);
        };
        let glance: Glance<'_> = serde_json::from_slice(bytes).ok()?;
        if glance.version != VERSION {
            return None;
        }
        let digest = survey.digest();
        let Some(known) = glance.projects.get(root.as_str()) else {
            let is_elsewhere = glance.projects.values().any(|known| known.digest == digest)
                || other_places(survey.root())
                    .iter()
                    .any(|place| glance.projects.contains_key(key(place).as_str()));
            return (!is_elsewhere && !is_marked()).then_some(Glimpse::Unknown);
        };
        (known.digest == digest).then_some(Glimpse::Trusted)
    }

    pub(crate) fn open(self) -> Result<Store, StoreError> {
        let content = content_of(&self.place, self.bytes)?;
        Ok(Store { place: self.place, content })
    }
}

/// As much of the file as every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

fn content_of(place: &Place, bytes: Option<Vec<u8>>) -> Result<Content, StoreError> {
    let Some(bytes) = bytes else {
        return Ok(Content { version: VERSION, projects: BTreeMap::new() });
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let file = Arc::new(SourceFile::new(place.path(), text));
    let broken = |message: String, span: Option<Span>| StoreError::Broken {
        file: Arc::clone(&file),
        message,
        span,
    };
    if std::str::from_utf8(&bytes).is_err() {
        return Err(broken("it is not UTF-8".to_owned(), None));
    }
    let at = |error: &serde_json::Error| {
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
        Span::at(file.begin_of(line).saturating_add(error.column().saturating_sub(1)))
    };
    let invalid = |error: serde_json::Error| broken(error.to_string(), Some(at(&error)));
    // The version comes first: another one may look different in every other respect.
    let Versioned { version } = serde_json::from_str(file.text()).map_err(invalid)?;
    if version != VERSION {
        let message = format!("it has version {version}, and this Tollgate knows {VERSION}");
        return Err(broken(message, None));
    }
    serde_json::from_str(file.text()).map_err(invalid)
}

/// What differs between what was trusted and what is there.
fn changes(trusted: &[Pin], survey: &Survey) -> Vec<Change> {
    let mut before: BTreeMap<(PinKind, &str), &Pin> =
        trusted.iter().map(|pin| ((pin.kind, pin.path.as_str()), pin)).collect();
    let hook_files = |pin: &&Pin| pin.kind == PinKind::HookFile;
    let same_hook_files = trusted.iter().filter(hook_files).eq(survey.pins().filter(hook_files));
    let mut changes = Vec::new();
    let mut add = |pin: &Pin, what, old, new| {
        changes.push(Change { kind: pin.kind, path: pin.path.clone(), what, old, new });
    };
    for pin in survey.pins() {
        match before.remove(&(pin.kind, pin.path.as_str())) {
            None => add(pin, ChangeKind::New, None, Some(pin.hash)),
            Some(old) if old.hash != pin.hash => {
                add(pin, ChangeKind::Changed, Some(old.hash), Some(pin.hash));
            }
            Some(old) if old.target != pin.target => {
                add(pin, ChangeKind::Moved, Some(old.hash), Some(pin.hash));
            }
            Some(_) => {}
        }
    }
    for pin in before.into_values() {
        // Earlier versions pinned words that are not executed. Such a file is there, and is not
        // what the same hook files run.
        let is_data = pin.kind == PinKind::Script
            && same_hook_files
            && hash::Content::of(&survey.root().join(&pin.path), LARGEST).is_ok();
        if !is_data {
            add(pin, ChangeKind::Deleted, Some(pin.hash), None);
        }
    }
    changes
}
