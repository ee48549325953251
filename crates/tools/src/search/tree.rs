//! A walk through a tree of files.

use std::path::Path;
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use crate::blocking::Cancel;
use crate::tool::ToolFailure;
use crate::workspace::Place;

/// How deep any search goes. Deeper trees are made to hurt.
const DEPTH: usize = 200;

/// How many globs one call may have, and how long each may be.
const GLOBS: usize = 64;
const GLOB: usize = 1024;

/// How large a `.gitignore` may be. Patterns take far more memory than their text.
const RULES: u64 = 256 * 1024;

/// A walk through the tree below a place, in order of names: without what git ignores, without
/// `.git` and what is excluded, and through no link. A directory whose rules cannot be read is left
/// out; where those are above or at the place itself, no rules count.
pub(super) fn walk(
    place: &Place,
    max_depth: Option<usize>,
    excluded: GlobSet,
    cancel: &Cancel,
) -> ignore::Walk {
    let (cancel, base) = (cancel.clone(), place.path.clone());
    let above = place.path.ancestors().all(has_fit_rules);
    let is_wanted = move |entry: &ignore::DirEntry| {
        let below = entry.path().strip_prefix(&base).unwrap_or(entry.path());
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        !cancel.is_cancelled()
            && entry.file_name() != ".git"
            && !excluded.is_match(below)
            && (!is_directory || has_fit_rules(entry.path()))
    };
    WalkBuilder::new(&place.path)
        .hidden(false)
        .require_git(false)
        // Only what is said to be respected is read.
        .git_ignore(above)
        .parents(above)
        .ignore(false)
        .git_global(false)
        .git_exclude(false)
        .follow_links(false)
        .max_depth(Some(max_depth.unwrap_or(DEPTH).min(DEPTH)))
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(is_wanted)
        .build()
}

/// Whether the rules of a directory can be read without harm. A `.gitignore` that is a pipe would
/// never end, and one of a gigabyte would take all memory.
fn has_fit_rules(dir: &Path) -> bool {
    match std::fs::metadata(dir.join(".gitignore")) {
        Ok(rules) => rules.is_file() && rules.len() <= RULES,
        Err(_) => true,
    }
}

/// A set of globs from a call.
pub(super) fn globs<'a>(
    arg: &str,
    globs: impl IntoIterator<Item = &'a str>,
) -> Result<GlobSet, ToolFailure> {
    let unfit = |problem: String| ToolFailure::Failed(format!("{arg}: {problem}"));
    let mut set = GlobSetBuilder::new();
    for (number, glob) in globs.into_iter().enumerate() {
        if number >= GLOBS || glob.len() > GLOB {
            return Err(unfit(format!("at most {GLOBS} globs of {GLOB} bytes each can be used")));
        }
        // A star does not go beyond a directory; two do. Without a slash it is about the name.
        let rooted = if glob.contains('/') {
            glob.trim_start_matches("./").trim_start_matches('/').to_owned()
        } else {
            format!("**/{glob}")
        };
        let glob = GlobBuilder::new(&rooted).literal_separator(true).build();
        set.add(glob.map_err(|error| unfit(error.to_string()))?);
    }
    set.build().map_err(|error| unfit(error.to_string()))
}

/// The time that a search has.
pub(super) struct Clock {
    until: Option<Instant>,
    limit: Duration,
}

impl Clock {
    pub(super) fn start(limit: Duration) -> Self {
        Self { until: Instant::now().checked_add(limit), limit }
    }

    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    pub(super) fn note(&self) -> String {
        format!(
            "(the search was ended after {:?}, so there may be more; search a smaller directory)\n",
            self.limit
        )
    }
}
