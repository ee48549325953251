//! `grep_search`.

use std::fmt::Write as _;
use std::fs::File;
use std::io;

use globset::GlobSet;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::GrepSearch;
use super::tree::{Clock, globs, walk};
use crate::blocking::Cancel;
use crate::config::Limits;
use crate::text::{count, line};
use crate::tool::{Cx, ToolFailure};
use crate::workspace::open_beneath;

/// How much memory an expression and one line may take.
const MEMORY: usize = 8 * 1024 * 1024;

pub(super) fn grep(
    cx: &Cx,
    args: &GrepSearch,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<String, ToolFailure> {
    let place = cx.workspaces.to_read(&args.search_path, cx.read_outside)?;
    let mut search = Search::new(args, limits, cancel)?;
    if place.is_directory() {
        let dir = place.open_directory()?;
        let includes = Includes::new(args.includes.as_deref().unwrap_or_default())?;
        for entry in walk(&place, None, GlobSet::empty(), cancel) {
            cancel.check()?;
            if search.is_over() {
                break;
            }
            // What cannot be read is not found.
            let Ok(entry) = entry else { continue };
            let Ok(path) = entry.path().strip_prefix(&place.path) else { continue };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) || !includes.has(path) {
                continue;
            }
            // From the handle, so that whatever became a link since is not read.
            let Some((file, stat)) = open_beneath(&dir, path) else { continue };
            if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > limits.search_bytes {
                search.too_large += 1;
                continue;
            }
            search.file(&path.display().to_string(), &file);
        }
    } else {
        let (file, stat) = place.open_file()?;
        if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > limits.search_bytes {
            let problem =
                format!("has more than {} bytes, which is the limit", limits.search_bytes);
            return Err(ToolFailure::path(&place.path, problem));
        }
        search.file(&place.path.display().to_string(), &file);
    }
    cancel.check()?;
    Ok(search.report(&place.path.display().to_string()))
}

/// Which files are searched.
struct Includes {
    with: Option<GlobSet>,
    without: GlobSet,
}

impl Includes {
    fn new(list: &[String]) -> Result<Self, ToolFailure> {
        let (without, with): (Vec<_>, Vec<_>) =
            list.iter().map(String::as_str).partition(|glob| glob.starts_with('!'));
        let some = !with.is_empty();
        let with = globs("Includes", with)?;
        let without =
            globs("Includes", without.into_iter().map(|glob| glob.trim_start_matches('!')))?;
        Ok(Self { with: some.then_some(with), without })
    }

    fn has(&self, path: &std::path::Path) -> bool {
        let is_in = self.with.as_ref().is_none_or(|with| with.is_match(path));
        is_in && !self.without.is_match(path)
    }
}

struct Search<'a> {
    limits: &'a Limits,
    cancel: &'a Cancel,
    clock: Clock,
    matcher: RegexMatcher,
    searcher: Searcher,
    per_line: bool,
    /// The file that is searched.
    name: String,
    found: String,
    shown: usize,
    files: usize,
    has_more: bool,
    is_late: bool,
    too_large: usize,
}

impl<'a> Search<'a> {
    fn new(args: &GrepSearch, limits: &'a Limits, cancel: &'a Cancel) -> Result<Self, ToolFailure> {
        if args.query.is_empty() {
            return Err(ToolFailure::Failed("Query is empty, which is everywhere".to_owned()));
        }
        let matcher = RegexMatcherBuilder::new()
            .fixed_strings(!args.is_regex)
            .case_insensitive(args.case_insensitive)
            .size_limit(MEMORY)
            .dfa_size_limit(MEMORY)
            .line_terminator(Some(b'\n'))
            .build(&args.query)
            .map_err(|error| {
                let hint = if args.is_regex { "; set IsRegex to false for plain text" } else { "" };
                ToolFailure::Failed(format!("Query cannot be searched for: {error}{hint}"))
            })?;
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .heap_limit(Some(MEMORY))
            // A file that is cut off while it is mapped would end this process.
            .memory_map(MmapChoice::never())
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Ok(Self {
            limits,
            cancel,
            clock: Clock::start(limits.search_time),
            matcher,
            searcher,
            per_line: args.match_per_line.unwrap_or(true),
            name: String::new(),
            found: String::new(),
            shown: 0,
            files: 0,
            has_more: false,
            is_late: false,
            too_large: 0,
        })
    }

    fn is_over(&mut self) -> bool {
        self.is_late = self.is_late || self.clock.is_over();
        self.is_late || self.has_more
    }

    fn file(&mut self, name: &str, file: &File) {
        name.clone_into(&mut self.name);
        let (shown, length) = (self.shown, self.found.len());
        let matcher = self.matcher.clone();
        let mut searcher = self.searcher.clone();
        let mut hits = Hits { search: self, is_binary: false };
        // A file that cannot be read to its end is found as far as it can.
        let _ = searcher.search_file(&matcher, file, &mut hits);
        if hits.is_binary {
            self.found.truncate(length);
            self.shown = shown;
        }
        self.files += usize::from(self.shown > shown);
    }

    fn report(self, path: &str) -> String {
        let mut text = if self.shown == 0 {
            format!("Nothing found in {path}.\n")
        } else if self.per_line {
            let lines = count(self.shown, "line", "lines");
            let files = count(self.files, "file", "files");
            format!("Found {lines} in {files} in {path}:\n{}", self.found)
        } else {
            format!("Found in {} in {path}:\n{}", count(self.files, "file", "files"), self.found)
        };
        if self.has_more {
            text.push_str("(there are more; make Query, Includes or SearchPath narrower)\n");
        }
        if self.is_late {
            text.push_str(&self.clock.note());
        }
        if self.too_large > 0 {
            let files = count(self.too_large, "file", "files");
            let limit = self.limits.search_bytes;
            let _ = writeln!(text, "({files} of more than {limit} bytes not searched)");
        }
        text
    }
}

/// Takes the lines that match, as long as there is room.
struct Hits<'s, 'a> {
    search: &'s mut Search<'a>,
    is_binary: bool,
}

impl Sink for Hits<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let search = &mut *self.search;
        if search.shown == search.limits.results {
            search.has_more = true;
            return Ok(false);
        }
        search.shown += 1;
        if !search.per_line {
            search.found.push_str(&search.name);
            search.found.push('\n');
            return Ok(false);
        }
        let text = String::from_utf8_lossy(found.bytes());
        let text = line(text.trim_end_matches(['\n', '\r']), search.limits.line_bytes);
        let number = found.line_number().unwrap_or_default();
        let _ = writeln!(search.found, "{}:{number}: {text}", search.name);
        Ok(!search.cancel.is_cancelled() && !search.clock.is_over())
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}
