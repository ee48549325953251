//! What a running hook checks before each run.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tollgate_core::policy::resolve;

use super::hash::{Content, Hash, Stat, Unhashed};
use super::survey::{Found, LARGEST, Pin, Survey};

/// The pinned files of a trusted project, or some of them, as they were when they were hashed.
///
/// A check is a look at each file, and at each directory and link on the way to it, without
/// reading them; where nothing changed it allocates nothing. A file that looks different is
/// hashed again: the same content is remembered by its new look, another one breaks the seal,
/// and it stays broken until the project is trusted again.
///
/// Files of up to a megabyte are read and hashed at each check. Of larger ones a look at their
/// time stamps has to do, once these are old enough to tell of later changes.
///
/// A file that is replaced after the check and before its use is not noticed.
pub struct Seal {
    root: PathBuf,
    pins: Vec<Arc<Sealed>>,
    /// What lies on the way to the files. A replaced directory shows here even where the file
    /// behind it is the same.
    passed: Mutex<Vec<Passed>>,
}

struct Sealed {
    name: String,
    path: PathBuf,
    /// Where it was, links followed.
    real: PathBuf,
    hash: Hash,
    seen: Mutex<Seen>,
    broken: OnceLock<Tampered>,
}

#[derive(Clone, Copy)]
struct Seen {
    stat: Stat,
    is_settled: bool,
}

/// A directory or link on the way to a file.
struct Passed {
    path: PathBuf,
    stat: Option<Stat>,
}

/// A pinned file is not what was trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {what}, and is not run until a person trusts it again")]
pub struct Tampered {
    /// The file, relative to the project.
    pub path: String,
    /// What happened to it.
    pub what: Tampering,
}

/// What happened to a pinned file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tampering {
    /// It has other content.
    Changed {
        /// What was trusted.
        old: Hash,
        /// What is there.
        new: Hash,
    },
    /// It is gone, or no file any more.
    Deleted,
    /// It is at another place: a directory or a link on the way was replaced.
    Moved {
        /// Where it is now, where that can be told.
        to: Option<PathBuf>,
    },
    /// It cannot be looked at. Unlike the others, this may pass.
    Unreadable(String),
}

impl fmt::Display for Tampering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { old, new } => {
                write!(f, "was changed since it was trusted ({}, now {})", old.short(), new.short())
            }
            Self::Deleted => f.write_str("was deleted since it was trusted"),
            Self::Moved { to: Some(to) } => {
                write!(f, "leads to `{}` now, which is not what was trusted", to.display())
            }
            Self::Moved { to: None } => f.write_str("leads to another place than was trusted"),
            Self::Unreadable(why) => write!(f, "cannot be checked ({why})"),
        }
    }
}

/// A file that was to be sealed is not pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not among the pinned files", .0.display())]
pub struct NotSealed(pub PathBuf);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal")
            .field("root", &self.root)
            .field("pins", &self.pins)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.hash.short())
    }
}

impl Seal {
    /// The seal of everything in a survey that was found to be what was trusted.
    pub(crate) fn of(survey: &Survey) -> Self {
        Self::of_some(survey, |_| true)
    }

    /// The seal of some of the pins of a survey.
    pub(crate) fn of_some(survey: &Survey, is_wanted: impl Fn(&Pin) -> bool) -> Self {
        let found = survey.found().filter(|found| is_wanted(&found.pin));
        let pins = found.map(|found| Arc::new(Sealed::new(survey.root(), found)));
        Self::with(survey.root().to_path_buf(), pins.collect())
    }

    /// With a file outside of the project, which is to be as it is now.
    pub(crate) fn and_file(mut self, path: &Path) -> std::io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let content = Content::of(&path, LARGEST).map_err(io::Error::other)?;
        self.pins.push(Arc::new(Sealed {
            name: path.display().to_string(),
            real: path.clone(),
            path,
            hash: content.hash,
            seen: Mutex::new(Seen { stat: content.stat, is_settled: content.is_settled }),
            broken: OnceLock::new(),
        }));
        Ok(Self::with(self.root, self.pins))
    }

    fn with(root: PathBuf, pins: Vec<Arc<Sealed>>) -> Self {
        // Since the survey the way may have changed; then it is broken from the start.
        let passed = way_to(&pins);
        Self { root, pins, passed: Mutex::new(passed) }
    }

    /// A seal of only these files, relative to the project or absolute. What one of the two finds
    /// out, the other knows.
    ///
    /// A path that is not pinned is an error: a seal of nothing would hold whatever happens.
    pub fn for_files<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Self, NotSealed> {
        let mut pins: Vec<Arc<Sealed>> = Vec::new();
        for path in paths {
            let wanted = self.root.join(path.as_ref());
            let before = pins.len();
            pins.extend(self.pins.iter().filter(|pin| pin.path == wanted).cloned());
            if pins.len() == before {
                return Err(NotSealed(path.as_ref().to_path_buf()));
            }
        }
        Ok(Self::with(self.root.clone(), pins))
    }

    /// The files, relative to the project.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.pins.iter().map(|pin| pin.name.as_str())
    }

    /// Whether every file is what was trusted.
    pub fn check(&self) -> Result<(), Tampered> {
        for pin in &self.pins {
            if let Some(tampered) = pin.broken.get() {
                return Err(tampered.clone());
            }
        }
        self.check_way()?;
        self.pins.iter().try_for_each(|pin| pin.check())
    }

    /// Whether the files look as they did, which is enough for those that are in memory: nothing
    /// that is written to them later can run. A file that looks different, or was changed a moment
    /// ago, is read.
    pub fn look(&self) -> Result<(), Tampered> {
        self.pins.iter().try_for_each(|pin| pin.look())
    }

    /// Whether the way to the files is the one it was.
    fn check_way(&self) -> Result<(), Tampered> {
        let mut passed = lock(&self.passed);
        if passed.iter().all(Passed::is_unchanged) {
            return Ok(());
        }
        // Looked at before the way is walked, so that a change in between shows next time.
        let fresh = way_to(&self.pins);
        self.pins.iter().try_for_each(|pin| pin.check_place())?;
        *passed = fresh;
        Ok(())
    }
}

impl Passed {
    fn is_unchanged(&self) -> bool {
        let now = fs::symlink_metadata(&self.path).ok().map(|metadata| Stat::from(&metadata));
        match (self.stat, now) {
            (Some(before), Some(now)) if before.kind == LINK => before == now,
            // A directory's times change with each file in it; which directory it is does not.
            (Some(before), Some(now)) => {
                (before.device, before.inode, before.kind) == (now.device, now.inode, now.kind)
            }
            (None, None) => true,
            _ => false,
        }
    }
}

/// Up to this size a file is read at each check. Whoever has it mapped into memory can write to it
/// without any time stamp showing it; to read a script costs little beside running it.
const READ_ANYWAY: u64 = 1024 * 1024;

/// The kind of a symbolic link, in a mode.
const LINK: u32 = 0o120_000;

/// Every directory and link that the paths go through, without the files themselves. A file that the path does not lead
/// to any more is broken from now on.
fn way_to(pins: &[Arc<Sealed>]) -> Vec<Passed> {
    let passed = Mutex::new(BTreeMap::<PathBuf, Option<Stat>>::new());
    for pin in pins {
        let is_there = AtomicBool::new(false);
        let note = |path: PathBuf| {
            // Most files have most of their way in common.
            if let Some(Some(stat)) = lock(&passed).get(&path)
                && stat.kind != LINK
            {
                return Err(NO_LINK.into());
            }
            // Looked at before the link is read, so that a change in between shows next time.
            let looked = fs::symlink_metadata(&path);
            let stat = looked.as_ref().ok().map(Stat::from);
            let target = match looked {
                Ok(looked) if looked.is_symlink() => fs::read_link(&path),
                Ok(_) => Err(NO_LINK.into()),
                Err(error) => Err(error),
            };
            if path == pin.real {
                is_there.store(stat.is_some(), Ordering::Relaxed);
            } else {
                lock(&passed).insert(path, stat);
            }
            target
        };
        let leads_there = resolve(&note, &pin.path).is_ok_and(|real| real == pin.real);
        if !leads_there || !is_there.into_inner() {
            let _ = pin.check_place();
        }
    }
    let passed = passed.into_inner().unwrap_or_else(PoisonError::into_inner);
    passed.into_iter().map(|(path, stat)| Passed { path, stat }).collect()
}

/// What the system says where a link is to be read and something else is there.
const NO_LINK: io::ErrorKind = io::ErrorKind::InvalidInput;

impl Sealed {
    fn new(root: &Path, found: &Found) -> Self {
        let pin = &found.pin;
        Self {
            name: pin.path.clone(),
            path: root.join(&pin.path),
            real: root.join(pin.target.as_ref().unwrap_or(&pin.path)),
            hash: pin.hash,
            seen: Mutex::new(Seen {
                stat: found.content.stat,
                is_settled: found.content.is_settled,
            }),
            broken: OnceLock::new(),
        }
    }

    fn look(&self) -> Result<(), Tampered> {
        if let Some(tampered) = self.broken.get() {
            return Err(tampered.clone());
        }
        let seen = *lock(&self.seen);
        let now = fs::metadata(&self.path).map(|metadata| Stat::from(&metadata));
        match now {
            Ok(now) if seen.is_settled && seen.stat == now => Ok(()),
            _ => self.check(),
        }
    }

    fn check(&self) -> Result<(), Tampered> {
        let now = match fs::metadata(&self.path) {
            Ok(metadata) => Stat::from(&metadata),
            Err(error) => return self.fail(Unhashed::from(error)),
        };
        let seen = *lock(&self.seen);
        if seen.stat == now && seen.is_settled && now.size > READ_ANYWAY {
            return Ok(());
        }
        if seen.stat != now {
            self.check_place()?;
        }
        let content = match Content::of(&self.path, LARGEST) {
            Ok(content) => content,
            Err(error) => return self.fail(error),
        };
        if content.hash != self.hash {
            return self.breaks(Tampering::Changed { old: self.hash, new: content.hash });
        }
        *lock(&self.seen) = Seen { stat: content.stat, is_settled: content.is_settled };
        Ok(())
    }

    /// Whether the path still leads to where it led.
    fn check_place(&self) -> Result<(), Tampered> {
        match fs::canonicalize(&self.path) {
            Ok(real) if real == self.real => Ok(()),
            Ok(real) => self.breaks(Tampering::Moved { to: Some(real) }),
            Err(error) => self.fail(Unhashed::from(error)),
        }
    }

    fn fail(&self, error: Unhashed) -> Result<(), Tampered> {
        match error {
            Unhashed::Gone | Unhashed::NotAFile => self.breaks(Tampering::Deleted),
            Unhashed::Io(error) if is_loop(&error) => self.breaks(Tampering::Moved { to: None }),
            // Too many open files, or a disk that is away: it may pass, so it is not kept.
            error => Err(Tampered {
                path: self.name.clone(),
                what: Tampering::Unreadable(error.to_string()),
            }),
        }
    }

    fn breaks(&self, what: Tampering) -> Result<(), Tampered> {
        let tampered = Tampered { path: self.name.clone(), what };
        Err(self.broken.get_or_init(|| tampered).clone())
    }
}

fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// A lock whatever happened to those who held it: what they guard is whole at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
