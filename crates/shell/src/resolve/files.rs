//! Files that a command runs: read first, and followed as if their text stood on the command line.

use std::sync::Arc;

use super::walk::Walker;
use super::{Input, Why};
use crate::effects::Source;
use crate::value::{Part, Value};
use crate::world::{self, Found, Origin};

/// How many files are read for one command line.
const MOST_FILES: u8 = 24;

/// A file that is about to be run.
pub(super) struct Opened {
    /// What is in it, as far as that is known.
    pub(super) content: Value,
    /// Set if it was read from the disk, and not written by the same command line.
    pub(super) script: Option<Arc<Source>>,
}

impl Walker {
    /// Returns the file that a command runs: one that the same line has written, or one that is
    /// there.
    pub(super) fn run_file(&mut self, path: &str) -> Option<Opened> {
        if let Some(content) = self.state.file(path).cloned() {
            return Some(Opened { content, script: None });
        }
        let found = self.look(path)?;
        let script = Source { path: path.to_owned(), is_settled: found.origin == Origin::Settled };
        if found.origin == Origin::Fetched {
            self.unknown(Why::Fetched, &format!("`{path}`"));
        }
        let content = match found.text {
            Some(text) => Value::text(text),
            // A program that the project built, or that was installed.
            None if found.origin != Origin::Session => return None,
            None => {
                self.unknown(Why::Code, &format!("`{path}`, which was written in this session"));
                return None;
            }
        };
        Some(Opened { content, script: Some(Arc::new(script)) })
    }

    /// Returns the text of a file that the agent has made, for programs that do as it says.
    pub(super) fn own_file(&mut self, path: &str) -> Option<Value> {
        if let Some(content) = self.state.file(path) {
            return Some(content.clone());
        }
        let found = self.look(path).filter(|found| found.origin != Origin::Settled)?;
        found.text.map(Value::text)
    }

    /// Follows the commands in a file.
    pub(super) fn within(
        &mut self,
        script: Option<Arc<Source>>,
        work: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        // One that is run by a settled one is as it was when that was looked at.
        let outer = self.script.clone();
        let is_settled = script.as_ref().is_some_and(|script| script.is_settled);
        if script.is_some() {
            self.script = script;
        }
        let spent = self.spent();
        let output = work(self);
        self.script = outer;
        // A long file of the project is looked at as far as that goes; what stands behind its call
        // on the command line is looked at all the same.
        if is_settled {
            self.refill(spent);
        }
        output
    }

    /// Reads a file of a known name in the directory that the next command runs in.
    pub(super) fn project_file(&mut self, name: &str) -> Option<Opened> {
        self.run_file(name)
    }

    /// True if a file is not there yet, or if nothing is known about the disk.
    pub(super) fn is_absent(&self, path: &str) -> bool {
        let Some(files) = world::here().files.as_deref() else { return true };
        self.host.is_none() && self.absolute(path).is_some_and(|path| files.look(&path).is_none())
    }

    fn look(&mut self, path: &str) -> Option<Found> {
        let files = world::here().files.as_deref()?;
        if self.files_read >= MOST_FILES || self.host.is_some() {
            return None;
        }
        let absolute = self.absolute(path)?;
        self.files_read += 1;
        let found = files.look(&absolute);
        if found.is_none() && files.was_written(&absolute) {
            self.unknown(
                Why::Code,
                &format!("`{path}`, which was written in this session and cannot be read"),
            );
        }
        found
    }

    /// The names in a directory.
    pub(super) fn names_in(&self, directory: &str) -> Vec<String> {
        let Some(files) = world::here().files.as_deref().filter(|_| self.host.is_none()) else {
            return Vec::new();
        };
        self.absolute(directory).map(|path| files.names(&path)).unwrap_or_default()
    }

    /// Returns an absolute path, in the directory that the next command most likely runs in.
    fn absolute(&self, path: &str) -> Option<String> {
        let home = || world::here().homes.first().cloned();
        if let Some(rest) = path.strip_prefix("~/") {
            return Some(format!("{}/{rest}", home()?));
        }
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        let directory = match self.state.directories.first()?.parts() {
            [Part::Text(directory)] if directory.starts_with('/') => directory.clone(),
            [Part::Home] => home()?,
            [Part::Home, Part::Text(rest)] => format!("{}{rest}", home()?),
            _ => return None,
        };
        Some(format!("{directory}/{path}"))
    }
}

/// A text without what it cannot be told from: for programs whose input is a file of the agent's.
pub(super) fn input_of(walker: &mut Walker, path: &str) -> Option<Input> {
    walker.own_file(path).map(Input::Text)
}
