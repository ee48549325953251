//! What keeps Tollgate from being put somewhere.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::Layer;

/// Why nothing was planned or written.
#[derive(Debug, Error)]
pub enum InstallError {
    /// No host has this name.
    #[error("Tollgate cannot be installed into `{name}`: it knows {known}")]
    UnknownHost {
        /// As it was given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The host has no configuration of this layer.
    #[error("{title} has no hooks in a {layer} configuration; install into the other layer")]
    NoLayer {
        /// The host.
        title: &'static str,
        /// What was asked for.
        layer: Layer,
    },
    /// There is nothing to register.
    #[error("Tollgate knows no event of {title} that it could be registered for")]
    NoEvents {
        /// The host.
        title: &'static str,
    },
    /// The program cannot be named in a configuration.
    #[error(
        "`{}` cannot be written into a configuration: the program has to be a bare name, or a path that is \
         absolute, in UTF-8, and in one line",
        .0.display()
    )]
    Program(PathBuf),
    /// A file is not what its host can read.
    #[error("{}:{line}:{column}: {problem}; nothing was changed: {help}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, in characters from 1.
        column: usize,
        /// What is wrong.
        problem: String,
        /// What to do.
        help: String,
    },
    /// A file is not one to edit.
    #[error("{}: {problem}; nothing was changed", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        problem: String,
    },
    /// A file is not what it was when the plan was made.
    #[error("{} was changed by somebody else meanwhile; run the command again", .0.display())]
    Changed(PathBuf),
    /// The system said no.
    #[error("{} cannot be {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was done.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl InstallError {
    /// What is wrong, without what becomes of a change: for who only looks.
    ///
    /// ```
    /// use tollgate_install::InstallError;
    ///
    /// let path = "/a/settings.json".into();
    /// let error = InstallError::Refused { path, problem: "it is not a file".into() };
    /// assert_eq!(error.problem(), "/a/settings.json: it is not a file");
    /// ```
    pub fn problem(&self) -> String {
        match self {
            Self::Content { path, line, column, problem, .. } => {
                format!("{}:{line}:{column}: {problem}", path.display())
            }
            Self::Refused { path, problem } => format!("{}: {problem}", path.display()),
            other => other.to_string(),
        }
    }

    /// A place in a text that its host, or Tollgate, can do nothing with.
    pub(crate) fn content(
        path: &Path,
        text: &str,
        at: usize,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (line, column) = position(text, at);
        let (problem, help) = (problem.into(), help.into());
        Self::Content { path: path.to_path_buf(), line, column, problem, help }
    }

    pub(crate) fn refused(path: &Path, problem: impl Into<String>) -> Self {
        Self::Refused { path: path.to_path_buf(), problem: problem.into() }
    }

    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_path_buf(), action, source }
    }
}

/// Line and column of a byte, both from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
