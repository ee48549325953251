//! What is wrong with a file, where, and what to do about it.
//!
//! Each sort of problem has a [`Code`] that never changes its meaning, and a page under
//! `docs/diagnostics` that explains it.

mod code;
mod render;

use std::path::PathBuf;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

pub use code::{Code, Severity, UnknownCode};
pub use render::{Colours, render, render_as};

use crate::source::{SourceFile, Span};

/// One problem in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which sort of problem.
    pub code: Code,
    /// How bad it is here.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The file, as it was read.
    pub file: Arc<SourceFile>,
    /// Where in it; none where it is about the file as a whole.
    pub span: Option<Span>,
    /// Other places that belong to it, and what is to be said of them.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// A problem of a file as a whole.
    pub fn of_file(path: impl Into<PathBuf>, code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: message.into(),
            help: None,
            file: Arc::new(SourceFile::new(path, "")),
            span: None,
            related: Vec::new(),
        }
    }

    /// With what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// In one line: the place, the code and what is wrong.
    pub fn line(&self) -> String {
        let path = self.file.path().display();
        let Self { code, severity, message, .. } = self;
        match self.span {
            Some(span) => {
                let place = self.file.position(span.start);
                format!("{path}:{place}: {severity} {code}: {message}")
            }
            None => format!("{path}: {severity} {code}: {message}"),
        }
    }

    /// Whether the file does not load because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let positions =
            self.span.map(|span| (self.file.position(span.start), self.file.position(span.end)));
        let related: Vec<_> = self
            .related
            .iter()
            .map(|(span, message)| Related { at: self.file.position(span.start), message })
            .collect();
        let mut state = serializer.serialize_struct("Diagnostic", 9)?;
        state.serialize_field("code", &self.code)?;
        state.serialize_field("severity", &self.severity)?;
        state.serialize_field("title", self.code.title())?;
        state.serialize_field("message", &self.message)?;
        state.serialize_field("help", &self.help)?;
        state.serialize_field("file", &self.file.path().to_string_lossy())?;
        state.serialize_field("start", &positions.map(|(start, _)| start))?;
        state.serialize_field("end", &positions.map(|(_, end)| end))?;
        state.serialize_field("related", &related)?;
        state.end()
    }
}

#[derive(Serialize)]
struct Related<'a> {
    #[serde(flatten)]
    at: crate::source::Position,
    message: &'a str,
}

/// Collects the problems of one file.
#[derive(Debug)]
pub struct Report {
    file: Arc<SourceFile>,
    found: Vec<Diagnostic>,
}

/// The most problems that are kept of a file: nobody reads more, and a hostile file has millions.
const MOST: usize = 200;

impl Report {
    /// Nothing yet.
    pub fn new(file: Arc<SourceFile>) -> Self {
        Self { file, found: Vec::new() }
    }

    /// The file it is about.
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// Adds a problem of the code's usual severity.
    pub fn add(
        &mut self,
        code: Code,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> Entry<'_> {
        let diagnostic = Diagnostic {
            code,
            severity: code.severity(),
            message: message.into(),
            help: None,
            file: Arc::clone(&self.file),
            span: span.into().map(|span| self.file.whole(span)),
            related: Vec::new(),
        };
        // One that is past the bound makes room for the next, so that there is always a last one to
        // write on. It is never an error as long as there is anything else: an error that nobody
        // is told would let the file load.
        if self.found.len() > MOST {
            let last = self.found.len() - 1;
            let place = self.found.iter().rposition(|found| !found.is_error()).unwrap_or(last);
            self.found.remove(place);
        }
        self.found.push(diagnostic);
        Entry(self.found.last_mut())
    }

    /// Whether any of them keeps the file from loading.
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(Diagnostic::is_error)
    }

    /// The problems, in the order of their places.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|diagnostic| diagnostic.span);
        self.found
    }
}

/// A problem that was just added, to say more about.
#[derive(Debug)]
pub struct Entry<'a>(Option<&'a mut Diagnostic>);

impl Entry<'_> {
    /// What to do about it.
    #[allow(clippy::return_self_not_must_use)]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(diagnostic) = &mut self.0 {
            diagnostic.help = Some(help.into());
        }
        self
    }

    /// Another place that belongs to it.
    pub fn related(mut self, span: Span, message: impl Into<String>) -> Self {
        if let Some(diagnostic) = &mut self.0 {
            let span = diagnostic.file.whole(span);
            diagnostic.related.push((span, message.into()));
        }
        self
    }

    /// Another severity than the usual one.
    pub fn severity(mut self, severity: Severity) -> Self {
        if let Some(diagnostic) = &mut self.0 {
            diagnostic.severity = severity;
        }
        self
    }
}
