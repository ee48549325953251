//! What is known of the machine beyond the text of a command.
//!
//! A program that decides about real calls says once, at its start, where it runs ([`enter`]).
//! Without that, homes are told by how they look and no file is read, so that tests of hooks mean
//! the same everywhere.

use std::fmt;
use std::sync::OnceLock;

/// The machine that commands run on.
#[derive(Debug, Default)]
pub struct World {
    /// The homes of the person who runs the agent, absolute: of `HOME`, and of the account.
    pub homes: Vec<String>,
    /// The files that commands run.
    pub files: Option<Box<dyn Files>>,
}

/// Looks at files for the analysis of a command. Every answer has to be bounded.
pub trait Files: fmt::Debug + Send + Sync {
    /// Looks at the file at an absolute path. None if there is none, or if it is no ordinary file.
    fn look(&self, path: &str) -> Option<Found>;

    /// Returns where an absolute path leads, if that is somewhere else.
    fn leads_to(&self, path: &str) -> Option<String>;

    /// True if a tool of the session was to write this file. It may not be there.
    fn was_written(&self, path: &str) -> bool;

    /// Returns the names in a directory, the first few.
    fn names(&self, directory: &str) -> Vec<String>;
}

/// A file that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What is in it. None if it is no text, or too large.
    pub text: Option<String>,
    /// Who made it.
    pub origin: Origin,
}

/// Who made a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It was there before the session began.
    Settled,
    /// It was written or changed since.
    Session,
    /// A command of the session fetched it from another machine.
    Fetched,
}

static HERE: OnceLock<World> = OnceLock::new();

/// Says where this process runs, once. Returns false if it was said before.
pub fn enter(world: World) -> bool {
    HERE.set(world).is_ok()
}

/// Returns the machine that commands run on, as far as it is known.
pub fn here() -> &'static World {
    static NOWHERE: World = World { homes: Vec::new(), files: None };
    HERE.get().unwrap_or(&NOWHERE)
}
