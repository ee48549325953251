//! Tools that search: for names, and for text.

mod names;
mod text;
mod tree;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::blocking::blocking;
use crate::built_in::tool;
use crate::config::Limits;
use crate::tool::{Output, Tool, ToolFailure};

/// How much longer than its time a search is waited for.
const GRACE: Duration = Duration::from_secs(5);

/// Arguments of `find_by_name`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct FindByName {
    /// Absolute path of the directory to search.
    search_directory: String,
    /// Glob for the name (`*.rs`) or, with a slash in it, for the path below `SearchDirectory`
    /// (`src/**/*.rs`). Default: everything.
    pattern: Option<String>,
    /// What to look for. Default: any.
    r#type: Option<Sort>,
    /// How many directories deep to look; 1 is `SearchDirectory` itself. Default: no limit.
    max_depth: Option<usize>,
    /// Only files with one of these extensions, such as `rs`.
    extensions: Option<Vec<String>>,
    /// Globs for what to leave out, with all that is below.
    excludes: Option<Vec<String>>,
}

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Sort {
    File,
    Directory,
    Any,
}

/// Arguments of `grep_search`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct GrepSearch {
    /// Absolute path of the directory or file to search.
    search_path: String,
    /// What to look for: plain text, or a regular expression if `IsRegex` is true.
    query: String,
    /// Whether `Query` is a regular expression (Rust syntax). Default: false.
    #[serde(default)]
    is_regex: bool,
    /// Whether upper and lower case are the same. Default: false.
    #[serde(default)]
    case_insensitive: bool,
    /// Globs for the files to search, such as `*.rs`; with `!` in front, not to search.
    includes: Option<Vec<String>>,
    /// Show each line that matches. Default: true; false shows the names of the files only.
    match_per_line: Option<bool>,
}

/// A search looks at its clock between files. A file system that does not answer is not waited for
/// much longer.
async fn in_time(
    time: Duration,
    search: impl Future<Output = Result<String, ToolFailure>>,
) -> Result<Output, ToolFailure> {
    let late = || ToolFailure::Failed(format!("the search did not end within {time:?}"));
    let found = tokio::time::timeout(time.saturating_add(GRACE), search).await;
    found.unwrap_or_else(|_| Err(late())).map(Output::new)
}

pub(crate) fn tools(limits: &Arc<Limits>) -> Vec<Arc<dyn Tool>> {
    let (names, texts) = (Arc::clone(limits), Arc::clone(limits));
    vec![
        tool(
            "find_by_name",
            "Finds files and directories by name. What .gitignore names is left out, and links \
             are not followed.",
            move |cx, args: FindByName| {
                let limits = Arc::clone(&names);
                let time = limits.search_time;
                in_time(time, blocking(move |cancel| names::find(&cx, &args, &limits, cancel)))
            },
        ),
        tool(
            "grep_search",
            "Finds text in files. Binary files and what .gitignore names are left out, and links \
             are not followed.",
            move |cx, args: GrepSearch| {
                let limits = Arc::clone(&texts);
                let time = limits.search_time;
                in_time(time, blocking(move |cancel| text::grep(&cx, &args, &limits, cancel)))
            },
        ),
    ]
}
