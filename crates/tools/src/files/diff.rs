//! What an edit has changed, in short.

use std::path::Path;
use std::time::Duration;

use similar::{Algorithm, TextDiff};

use crate::text;

/// After this long a diff becomes coarser. It stays right.
const TIME: Duration = Duration::from_millis(200);

/// How much of a diff a person is shown before the edit is made.
pub(super) const PREVIEW: usize = 256 * 1024;

/// A unified diff, no longer than so many bytes.
pub(super) fn unified(path: &Path, old: &str, new: &str, bytes: usize) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(TIME).diff_lines(old, new);
    let name = path.display().to_string();
    let whole = diff.unified_diff().context_radius(2).header(&name, &name).to_string();
    if whole.len() <= bytes {
        return whole;
    }
    let mut shown = text::head(&whole, bytes);
    if let Some(end) = shown.rfind('\n') {
        shown = text::head(shown, end + 1);
    }
    let left_out = whole.lines().count().saturating_sub(shown.lines().count());
    format!("{shown}({} of the diff left out)\n", text::count(left_out, "line", "lines"))
}
