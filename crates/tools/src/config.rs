//! What there is to configure.

use std::time::Duration;

use tollgate_fetch::Client;

use crate::command::Variables;
use crate::network::{Images, WebSearch};

/// Which tools there are, and how much they may do. By default all that need no network.
///
/// ```
/// use tollgate_tools::{Config, built_in};
///
/// let names: Vec<_> =
///     built_in(&Config::default()).iter().map(|tool| tool.spec().name.clone()).collect();
/// assert!(names.contains(&"view_file".to_owned()));
/// assert!(!names.contains(&"read_url_content".to_owned()), "no client was configured");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// How much the tools may do.
    pub limits: Limits,
    /// What `run_command` passes on of the environment.
    pub variables: Variables,
    /// Whom `read_url_content` asks. Without one there is no such tool.
    pub fetch: Option<Client>,
    /// Whom `search_web` asks. Without one there is no such tool.
    pub search: Option<WebSearch>,
    /// Whom `generate_image` asks. Without one there is no such tool.
    pub images: Option<Images>,
}

/// How much the tools may do. What commands may do is a matter of
/// [`TaskLimits`](crate::TaskLimits).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many lines `view_file` shows at once.
    pub view_lines: usize,
    /// How many bytes `view_file` and `read_url_content` show at once.
    pub view_bytes: usize,
    /// How many bytes of a file `view_file` goes through to find and count lines.
    pub scan_bytes: u64,
    /// How large a file may be that is edited or written.
    pub edit_bytes: usize,
    /// How many bytes of a diff are shown.
    pub diff_bytes: usize,
    /// How many entries of a directory are listed.
    pub entries: usize,
    /// How many results of a search are shown.
    pub results: usize,
    /// How many bytes of a line that was found are shown.
    pub line_bytes: usize,
    /// How large a file may be that is searched.
    pub search_bytes: u64,
    /// How long a search may take.
    pub search_time: Duration,
    /// How long a request may take that reads a page or asks a search engine.
    pub fetch_time: Duration,
    /// How long the making of an image may take.
    pub image_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            view_lines: 800,
            view_bytes: 64 * 1024,
            scan_bytes: 64 * 1024 * 1024,
            edit_bytes: 8 * 1024 * 1024,
            diff_bytes: 4 * 1024,
            entries: 1000,
            results: 100,
            line_bytes: 400,
            search_bytes: 16 * 1024 * 1024,
            search_time: Duration::from_secs(20),
            fetch_time: Duration::from_secs(30),
            image_time: Duration::from_mins(3),
        }
    }
}
