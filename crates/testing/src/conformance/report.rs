//! What came of running cases.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

/// How many cases passed, and which did not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many passed.
    pub passed: usize,
    /// The others, in the order they were run.
    pub failures: Vec<Failure>,
}

/// A case that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The file it stands in.
    pub file: PathBuf,
    /// Its id; its place, where it has none.
    pub id: String,
    /// What was not as expected.
    pub differences: Vec<Difference>,
}

/// One thing that was not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What.
    pub what: String,
    /// How it was to be.
    pub expected: String,
    /// How it was.
    pub got: String,
}

impl Difference {
    pub(super) fn new(
        what: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), expected: expected.into(), got: got.into() }
    }
}

impl Report {
    /// Counts the cases of `other` as well.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
    }

    /// Whether no case failed.
    pub fn is_clean(&self) -> bool {
        self.failures.is_empty()
    }

    /// Counts one case. It passed where `failure` has no differences in it.
    pub(super) fn count(&mut self, failure: Failure) {
        if failure.differences.is_empty() {
            self.passed += 1;
        } else {
            self.failures.push(failure);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failures.len())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An id is somebody else's text: shown so that it stays on its line.
        writeln!(f, "FAILED {} ({})", self.id.escape_debug(), self.file.display())?;
        for Difference { what, expected, got } in &self.differences {
            writeln!(f, "  {what}")?;
            writeln!(f, "    expected: {}", on_one_line(expected))?;
            writeln!(f, "    got:      {}", on_one_line(got))?;
        }
        Ok(())
    }
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r")
}

/// Holds what came against what was expected, and keeps the differences.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) differences: Vec<Difference>,
}

impl Comparison {
    /// Both are to be the same.
    pub(super) fn same(&mut self, what: &str, expected: &Value, got: &Value) {
        if expected != got {
            self.differ(what, expected.to_string(), got.to_string());
        }
    }

    /// The text is to begin like this.
    pub(super) fn begins(&mut self, what: &str, expected: &str, got: &str) {
        if !got.starts_with(expected) {
            let got = Value::from(got).to_string();
            self.differ(what, format!("{} and more", Value::from(expected)), got);
        }
    }

    /// This is not as it is to be.
    pub(super) fn differ(
        &mut self,
        what: &str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) {
        self.differences.push(Difference::new(what, expected, got));
    }
}
