//! Whose code is run: a project's hook files run once a person has trusted them, and as long as
//! they are what was trusted.
//!
//! * A [`Survey`] is what a project would have Tollgate run: its hook files, the scripts that
//!   their commands name and the files they declare, each with its hash; and what cannot be
//!   pinned, with the reason.
//! * The [`Store`] remembers which surveys were trusted, for each project. It says in which
//!   [state](TrustState) a project is.
//! * A [`Seal`] is what a running hook checks before each run: that the files are still the ones.
//!
//! # Limits
//!
//! A file that is replaced between the check and its use is used: only the operating system could
//! rule that out. What is not pinned ([`Survey::unpinned`]) is not watched. And whoever can write
//! the trust store as the same person, outside of any agent, can trust what they like.
//!
//! ```
//! use tollgate_config::trust::{Store, Survey, Surveyed, TrustState};
//!
//! # let place = tempfile::tempdir()?;
//! # let root = place.path().join("project");
//! # std::fs::create_dir(&root)?;
//! # std::fs::write(root.join("hooks.json"), "{}")?;
//! # let path = place.path().join("state/trust.json");
//! let hooks = Surveyed { file: root.join("hooks.json"), commands: vec![], declared: vec![] };
//! let mut store = Store::open(&path)?;
//! let survey = Survey::new(&root, &[hooks.clone()])?;
//! assert!(matches!(store.state(&survey), TrustState::Untrusted));
//!
//! store.trust(&survey)?;
//! let TrustState::Trusted(seal) = store.state(&survey) else { panic!("it was just trusted") };
//! seal.check()?;
//!
//! std::fs::write(root.join("hooks.json"), "{ }")?;
//! assert!(seal.check().is_err());
//! let TrustState::Changed(changes) = store.state(&Survey::new(&root, &[hooks])?) else { panic!() };
//! assert_eq!(changes[0].path, "hooks.json");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod beside;
mod copies;
mod declared;
mod digest;
mod executed;
mod hash;
mod place;
mod programs;
mod repository;
mod seal;
mod store;
mod survey;
mod uses;
mod whole;
pub(crate) mod words;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::diagnostic::Code;

pub(crate) use beside::needs_its_place;
pub(crate) use copies::{Copies, DIRECTORY as COPIES};
pub use digest::{Digest, NotADigest};
pub(crate) use hash::Content;
pub use hash::{Hash, NotAHash};
pub use place::private_directory;
pub use seal::{NotSealed, Seal, Tampered, Tampering};
pub(crate) use store::Glimpse;
pub use store::{Project, Store, StoreError};
pub(crate) use survey::AsRead;
pub use survey::{Pin, PinKind, Survey, SurveyError, Surveyed, SurveyedCommand, Unpinned};
pub(crate) use uses::{uses, with_words};

/// Whether a project's hooks may run.
#[derive(Debug, Clone)]
pub enum TrustState {
    /// Nobody has trusted it yet: its hooks do not run, and their absence closes nothing.
    Untrusted,
    /// It is what was trusted. The seal tells, before each run, whether it still is.
    Trusted(Arc<Seal>),
    /// It was trusted, and is something else now: its gates are closed until it is trusted again.
    Changed(Vec<Change>),
}

/// One difference between what was trusted and what is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What the file is.
    pub kind: PinKind,
    /// Where it is, relative to the project.
    pub path: String,
    /// What happened to it.
    pub what: ChangeKind,
    /// The hash that was trusted.
    pub old: Option<Hash>,
    /// The hash of what is there.
    pub new: Option<Hash>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It has other content.
    Changed,
    /// It is not there any more, or nothing refers to it any more.
    Deleted,
    /// It was not there, or nothing referred to it.
    New,
    /// Links lead to another place, whatever is there.
    Moved,
}

impl Change {
    /// The code it is reported under.
    pub const fn code(&self) -> Code {
        match self.what {
            ChangeKind::Deleted => Code::MissingSinceTrusted,
            ChangeKind::Changed | ChangeKind::New | ChangeKind::Moved => Code::ChangedSinceTrusted,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |hash: Option<Hash>| hash.map_or_else(|| "?".to_owned(), |hash| hash.short());
        let (kind, path) = (self.kind, &self.path);
        let (old, new) = (short(self.old), short(self.new));
        match self.what {
            ChangeKind::Changed => write!(f, "{kind} `{path}` was changed: {old}, now {new}"),
            ChangeKind::Deleted => write!(f, "{kind} `{path}` was deleted: {old}"),
            ChangeKind::New => write!(f, "{kind} `{path}` is new: {new}"),
            ChangeKind::Moved => {
                write!(f, "{kind} `{path}` leads to another place: {old}, now {new}")
            }
        }
    }
}
