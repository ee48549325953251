//! What commands and calls of tools do to the world.

mod arg;
mod call;
mod fetched;
pub mod hosts;
pub(crate) mod location;
mod of;
pub mod packages;
mod parse;
mod place;
mod row;
mod run;
mod shape;
mod special;
mod sql;
mod stray;
mod table;
mod verdicts;

use std::fmt;
use std::sync::Arc;

use crate::resolve::Unknown;

pub use call::of_call;
pub use of::{of_analysis, of_command};
pub use place::Place;
pub use table::{is_known, is_reader, names};

/// All that a call does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    /// In the order of the commands.
    pub list: Vec<Effect>,
    /// What could not be told. Where there is anything, there may be other effects.
    pub unknowns: Vec<Unknown>,
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Effect {
    /// What is done.
    pub kind: Kind,
    /// To what.
    pub target: Target,
    /// Whether to everything below it, too.
    pub tree: bool,
    /// Whether what is lost cannot be had again by ordinary means, for things other than files
    /// (of files, their place tells): a dropped database, a force push, a formatted disk.
    pub destroys: bool,
    /// True if data of this machine is sent there, and not only fetched. Only of [`Kind::Network`].
    pub sends: bool,
    /// True if what is written comes from another machine. Only of [`Kind::Write`].
    pub fetches: bool,
    /// True if the command does this, and not only may do it: `git checkout` may write any file of
    /// its work tree, and an archive any file of the directory it is unpacked in.
    pub sure: bool,
    /// The program or tool that does it, as a person knows it: `rm`, `git push`, `redirection`.
    pub by: String,
    /// The file that says so, where it is not the command line itself.
    pub script: Option<Arc<Source>>,
}

/// A file that a command runs and that was read to tell what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path, as the command names it.
    pub path: String,
    /// True if it was there before the session began, and is not part of what the agent made.
    pub is_settled: bool,
}

impl Effect {
    /// Returns an effect that is certain, on a single target.
    pub fn new(kind: Kind, target: Target, by: impl Into<String>) -> Self {
        Self {
            kind,
            target,
            tree: false,
            destroys: false,
            sends: false,
            fetches: false,
            sure: true,
            by: by.into(),
            script: None,
        }
    }
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Names, sizes and dates of files are read, and not what is in them.
    List,
    /// Files are read.
    Read,
    /// Files are made, changed, or given other permissions.
    Write,
    /// Files are deleted or moved away.
    Delete,
    /// A program that is a file, or code on the command line, is run.
    Execute,
    /// Something is sent to or fetched from another machine.
    Network,
    /// Something else of the system is changed: processes, services, accounts, packages.
    System,
}

/// What it is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file or directory.
    Path(Location),
    /// Another machine: its name, or `$?`.
    Host(String),
    /// A program that runs: its name or path.
    Program(String),
    /// Something that is no file.
    Thing {
        /// What kind of thing: one of [`Thing::ALL`] by its name.
        what: &'static str,
        /// Which one, where it is named.
        name: String,
    },
}

/// A path, or a pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Without `.` and `..`, where that can be told: absolute, or under `~`, or relative to a
    /// directory that is not known. Where it is a pattern, globs are in it as written, what is
    /// not known as `$?`, and a backslash stands before `*`, `?`, `[` and `\` that mean
    /// themselves.
    pub text: String,
    /// Whether it is one path, and not a pattern.
    pub exact: bool,
}

/// The kinds of things that are no files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Thing {
    /// The machine is turned off, restarted or put to sleep.
    Power,
    /// Processes that run.
    Process,
    /// Services and their units.
    Service,
    /// Installed software.
    Package,
    /// People, groups, passwords.
    Account,
    /// Who may do what, other than the permissions of files.
    Permission,
    /// Tasks that run later.
    Schedule,
    /// Rules of the packet filter.
    Firewall,
    /// Interfaces, addresses, routes.
    Network,
    /// Modules and parameters of the kernel.
    Kernel,
    /// File systems, volumes, snapshots, mounts.
    Filesystem,
    /// Disks and partitions.
    Device,
    /// Containers, images, volumes.
    Container,
    /// Clusters of machines and what runs on them.
    Cluster,
    /// Resources at a provider.
    Cloud,
    /// Databases and what is in them.
    Database,
    /// Work in a local repository: changes, stashes, branches.
    Repository,
    /// Published or rewritten history of a repository.
    History,
    /// Records of what happened.
    Log,
    /// Keys and passwords that are kept.
    Secret,
    /// Keys and passwords that are handed out.
    Credentials,
    /// The variables that programs are given.
    Environment,
    /// Settings of a person or the system.
    Setting,
}

impl Kind {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Execute => "execute",
            Self::Network => "network",
            Self::System => "system",
        }
    }
}

impl Thing {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Power,
        Self::Process,
        Self::Service,
        Self::Package,
        Self::Account,
        Self::Permission,
        Self::Schedule,
        Self::Firewall,
        Self::Network,
        Self::Kernel,
        Self::Filesystem,
        Self::Device,
        Self::Container,
        Self::Cluster,
        Self::Cloud,
        Self::Database,
        Self::Repository,
        Self::History,
        Self::Log,
        Self::Secret,
        Self::Credentials,
        Self::Environment,
        Self::Setting,
    ];

    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Process => "process",
            Self::Service => "service",
            Self::Package => "package",
            Self::Account => "account",
            Self::Permission => "permission",
            Self::Schedule => "schedule",
            Self::Firewall => "firewall",
            Self::Network => "network",
            Self::Kernel => "kernel",
            Self::Filesystem => "filesystem",
            Self::Device => "device",
            Self::Container => "container",
            Self::Cluster => "cluster",
            Self::Cloud => "cloud",
            Self::Database => "database",
            Self::Repository => "repository",
            Self::History => "history",
            Self::Log => "log",
            Self::Secret => "secret",
            Self::Credentials => "credentials",
            Self::Environment => "environment",
            Self::Setting => "setting",
        }
    }
}

/// An answer to whether a call does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// It does not.
    No,
    /// It may: a command that writes files which it does not name works in that directory.
    May,
    /// It cannot be told.
    Unknown,
    /// It does.
    Yes,
}

impl Answer {
    /// True if the call does it.
    pub fn is_yes(self) -> bool {
        self == Self::Yes
    }
}

impl Effects {
    /// Tells whether anything at or below `dir` is written or deleted.
    pub fn writes_under(&self, dir: &str) -> Answer {
        self.any_under(dir, |kind| matches!(kind, Kind::Write | Kind::Delete))
    }

    /// Tells whether anything at or below `dir` is read.
    pub fn reads_under(&self, dir: &str) -> Answer {
        self.any_under(dir, |kind| kind == Kind::Read)
    }

    /// Tells whether anything at or below `dir` is deleted or moved away.
    pub fn deletes_under(&self, dir: &str) -> Answer {
        self.any_under(dir, |kind| kind == Kind::Delete)
    }

    /// Tells whether another machine is reached.
    pub fn reaches_network(&self) -> Answer {
        let reaches = |effect: &Effect| match effect.kind {
            Kind::Network if effect.sure => Answer::Yes,
            Kind::Network => Answer::May,
            _ => Answer::No,
        };
        self.worst(self.list.iter().map(reaches))
    }

    fn any_under(&self, dir: &str, wanted: impl Fn(Kind) -> bool) -> Answer {
        let wanted = self.list.iter().filter(|effect| wanted(effect.kind));
        self.worst(wanted.map(|effect| effect.touches(dir)))
    }

    fn worst(&self, answers: impl Iterator<Item = Answer>) -> Answer {
        let open = if self.unknowns.is_empty() { Answer::No } else { Answer::Unknown };
        answers.fold(open, Answer::max)
    }
}

impl Effect {
    /// Tells whether something at or below `dir` is touched by it.
    pub fn touches(&self, dir: &str) -> Answer {
        let Target::Path(location) = &self.target else { return Answer::No };
        match location.touches(dir, self.tree) {
            Answer::Yes if !self.sure => Answer::May,
            answer => answer,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(location) => f.write_str(&location.text),
            Self::Host(name) | Self::Program(name) => f.write_str(name),
            Self::Thing { what, name } if name.is_empty() => f.write_str(what),
            Self::Thing { what, name } => write!(f, "{what} {name}"),
        }
    }
}

/// `delete-tree /etc by rm`, `may write-tree src by git checkout`, `destroy database shop by dropdb`.
impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let may = if self.sure { "" } else { "may " };
        let kind = match self.kind {
            _ if self.destroys => "destroy",
            Kind::Network if self.sends => "send",
            kind => kind.name(),
        };
        let tree = if self.tree { "-tree" } else { "" };
        write!(f, "{may}{kind}{tree} {} by {}", self.target, self.by)
    }
}
