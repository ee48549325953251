//! A hook file, read.

use std::sync::Arc;
use std::time::Duration;

use super::{Code, TestBlock, blocks, file};
use crate::diagnostic::{Diagnostic, Report};
use crate::dialect::EventName;
use crate::source::{SourceFile, Span};

/// A hook as its file has it.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The file's name without `.md`.
    pub name: String,
    /// The file.
    pub source: Arc<SourceFile>,
    /// When it runs.
    pub event: &'static EventName,
    /// Where that is said.
    pub event_span: Span,
    /// Its priority, where it says so. Without, it counts as 0.
    pub priority: Option<i32>,
    /// Its condition: one expression.
    pub when: Option<Code>,
    /// What it runs.
    pub script: Code,
    /// Whether it is in force at all.
    pub enabled: bool,
    /// How long it may take, where it says so.
    pub timeout: Option<Duration>,
    /// What it is for.
    pub description: Option<String>,
    /// The Markdown behind the frontmatter.
    pub body: Span,
    /// The tests in the body, where they were read.
    pub tests: Vec<TestBlock>,
    /// Whether there are any.
    pub has_tests: bool,
    /// The keys of the frontmatter, in their order.
    pub keys: Vec<Key>,
}

/// A key of the frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// Where it stands.
    pub span: Span,
}

impl Artifact {
    /// The line at which the hook is shown: that of its event.
    pub fn line(&self) -> u32 {
        self.source.line(self.event_span.start)
    }
}

/// Reads and checks one file, all but what its script means. A file with an error gives nothing.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_config::dialect::harness::read_artifact;
/// use tollgate_config::source::SourceFile;
///
/// let text = "---\nevent: tool_pre\nscript: |\n  def handle(event, payload):\n    return allow()\n---\n";
/// let (artifact, diagnostics) = read_artifact(&Arc::new(SourceFile::new("guard.md", text)));
/// assert!(artifact.is_none());
/// assert_eq!(diagnostics[0].line(), "guard.md:2:8: error TG023: there is no event `tool_pre`");
/// assert_eq!(diagnostics[0].help.as_deref(), Some("did you mean `tool.pre`?"));
/// ```
pub fn read_artifact(file: &Arc<SourceFile>) -> (Option<Artifact>, Vec<Diagnostic>) {
    let mut report = Report::new(Arc::clone(file));
    let artifact = file::parse(&mut report, blocks::read);
    (artifact, report.into_diagnostics())
}

/// As [`read_artifact`], for who wants to run it: its tests are passed over.
pub(crate) fn read_hook(file: &Arc<SourceFile>) -> (Option<Artifact>, Vec<Diagnostic>) {
    let mut report = Report::new(Arc::clone(file));
    let artifact = file::parse(&mut report, |_, _, _| Vec::new());
    (artifact, report.into_diagnostics())
}
