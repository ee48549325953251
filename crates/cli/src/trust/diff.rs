//! Compares files with their approved copies, line by line.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use similar::TextDiff;
use tollgate_config::trust::{Change, ChangeKind, Hash, Store, Survey};

use crate::out::{Out, styles};
use crate::visible::visible;

/// The largest file that is compared.
const LARGEST: u64 = 1 << 20;

/// The most lines of a difference that are shown.
const MOST_LINES: usize = 500;

/// Time spent on the smallest diff. After that, a larger one is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// The differences in a file.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    path: String,
    /// A unified diff from what was approved to what is there; none if it cannot be told.
    diff: Option<String>,
    /// Why not.
    reason: Option<&'static str>,
}

/// The differences in the files that have changed.
pub(super) fn differences(store: &Store, survey: &Survey, changes: &[Change]) -> Vec<Difference> {
    let mut all: Vec<Difference> = Vec::new();
    for change in changes {
        // A file may be pinned for two reasons.
        if all.iter().all(|known| known.path != change.path) {
            all.push(difference(store, survey, change));
        }
    }
    all
}

fn difference(store: &Store, survey: &Survey, change: &Change) -> Difference {
    let told = || {
        let old = match change.what {
            ChangeKind::New => Vec::new(),
            _ => store
                .approved(survey.root(), change)
                .ok_or("no copy of what was approved is kept")?,
        };
        let new = match change.what {
            ChangeKind::Deleted => Vec::new(),
            _ => content(&survey.root().join(&change.path), change.new)
                .ok_or("it is too large, or changes while it is read")?,
        };
        let (Ok(old), Ok(new)) = (String::from_utf8(old), String::from_utf8(new)) else {
            return Err("it is not text");
        };
        Ok(unified(&change.path, &old, &new))
    };
    let (diff, reason) = match told() {
        Ok(diff) => (Some(diff), None),
        Err(reason) => (None, Some(reason)),
    };
    Difference { path: change.path.clone(), diff, reason }
}

/// The content of a file, if it has the hash that was surveyed.
fn content(path: &Path, hash: Option<Hash>) -> Option<Vec<u8>> {
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LARGEST && Some(Hash::of(&bytes)) == hash).then_some(bytes)
}

fn unified(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let (before, after) = (format!("approved/{path}"), format!("now/{path}"));
    diff.unified_diff().context_radius(3).header(&before, &after).to_string()
}

impl Difference {
    /// Prints it, with what hides in it made visible.
    pub(super) fn text(&self, out: &mut Out) {
        let quiet = styles::QUIET;
        let Some(diff) = &self.diff else {
            let reason = self.reason.unwrap_or_default();
            out.line(format!("\n  {}: {quiet}{reason}{quiet:#}", visible(&self.path)));
            return;
        };
        if diff.is_empty() {
            return;
        }
        out.line("");
        let mut lines = diff.split_terminator('\n');
        for line in lines.by_ref().take(MOST_LINES) {
            let style = match line.chars().next() {
                Some('+') => styles::GOOD,
                Some('-') => styles::ERROR,
                Some('@') => styles::QUIET,
                _ => anstyle::Style::new(),
            };
            out.line(format!("  {style}{}{style:#}", visible(line)));
        }
        let left = lines.count();
        if left > 0 {
            out.line(format!("  {quiet}… and {left} more lines{quiet:#}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_both_sides() {
        let shown = unified("a.sh", "one\ntwo\n", "one\nthree\n");
        assert_eq!(shown, "--- approved/a.sh\n+++ now/a.sh\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
        assert_eq!(unified("a.sh", "x\n", "x\n"), "");
    }
}
