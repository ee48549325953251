//! The files that a glob of a hook file matches.

use std::fs;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

/// The most files that a glob may match.
const MOST_FILES: usize = 2_000;

/// The most bytes that they may have together.
pub(super) const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The most entries that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// The deepest directory that is looked at, below the project.
const DEEPEST: usize = 32;

/// The files of a project that match, in the order of their paths, or why they cannot be told.
/// Directories behind links are not entered, nor is `.git`, unless the glob names them.
pub(super) fn files(root: &Path, glob: &str) -> Result<Vec<PathBuf>, String> {
    let pattern = glob.strip_prefix("./").unwrap_or(glob);
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
        return Err("it leads out of the project".to_owned());
    }
    let matcher = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| format!("it is no glob: {}", error.kind()))?
        .compile_matcher();
    // The part before the first pattern is where to look, and where the glob says so, links on
    // the way are followed.
    let fixed: Vec<&str> =
        pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).collect();
    let start = root.join(fixed.join("/"));
    if start.is_file() {
        return Ok(vec![start]);
    }
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut ahead = vec![start];
    while let Some(directory) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            looked_at += 1;
            if looked_at > MOST_ENTRIES {
                return Err(format!("more than {MOST_ENTRIES} files would have to be looked at"));
            }
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            let relative = path.strip_prefix(root).unwrap_or(&path);
            if kind.is_dir() {
                if entry.file_name() != ".git" && relative.components().count() < DEEPEST {
                    ahead.push(path);
                }
            } else if matcher.is_match(relative) && path.is_file() {
                found.push(path);
            }
            if found.len() > MOST_FILES {
                return Err(format!("it matches more than {MOST_FILES} files"));
            }
        }
    }
    found.sort();
    Ok(found)
}
