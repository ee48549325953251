//! Which instances of an event a hook asks for, by the event's subject.

use std::fmt;

use globset::GlobBuilder;
use regex::bytes::{RegexSet, RegexSetBuilder};
use regex::{Regex, RegexBuilder};

use crate::target::{Subject, Target};

/// The most a compiled pattern may take, so that a hook file cannot exhaust memory.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;
/// The most all patterns of an event may take together.
const SET_SIZE_LIMIT: usize = 64 << 20;

/// Which subjects a hook asks for. Compiled when it is registered, never when it is asked.
#[derive(Debug, Clone, Default)]
pub enum Matcher {
    /// Every one.
    #[default]
    All,
    /// Exactly these.
    Targets(Vec<Target>),
    /// What a pattern matches.
    Pattern(Pattern),
}

impl Matcher {
    /// One tool, as [`Target::parse`] reads it.
    pub fn tool(target: &str) -> Self {
        match Target::parse(target) {
            Target::Any => Self::All,
            target => Self::Targets(vec![target]),
        }
    }

    /// Whatever this regular expression matches from end to end.
    pub fn regex(pattern: &str) -> Result<Self, PatternError> {
        Pattern::regex(pattern).map(Self::Pattern)
    }

    /// Whatever this glob matches: `*` within a segment, `**` across segments, `?`, `[a-z]`.
    pub fn glob(pattern: &str) -> Result<Self, PatternError> {
        Pattern::glob(pattern).map(Self::Pattern)
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Targets(targets) => {
                const SHOWN: usize = 5;
                for (place, target) in targets.iter().take(SHOWN).enumerate() {
                    let separator = if place > 0 { ", " } else { "" };
                    write!(f, "{separator}{target}")?;
                }
                match targets.len().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::Pattern(pattern) => f.write_str(&pattern.text),
        }
    }
}

/// A pattern that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a valid {form}: {message}")]
pub struct PatternError {
    /// As it was written.
    pub pattern: String,
    /// What it should have been.
    pub form: &'static str,
    /// What is wrong with it.
    pub message: String,
}

/// A compiled pattern. It matches a subject from end to end; an MCP tool is matched as
/// `server/tool`.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    source: String,
    regex: Regex,
}

impl Pattern {
    /// A regular expression.
    pub fn regex(text: &str) -> Result<Self, PatternError> {
        let error = |error: regex::Error| PatternError {
            pattern: text.to_owned(),
            form: "regular expression",
            message: last_line(&error.to_string()),
        };
        // Alone first: what is only valid inside the group below is not valid.
        RegexBuilder::new(text).size_limit(PATTERN_SIZE_LIMIT).build().map_err(error)?;
        Self::compile(text, format!("^(?:{text})$")).map_err(error)
    }

    /// A glob.
    pub fn glob(text: &str) -> Result<Self, PatternError> {
        let error = |message: String| PatternError {
            pattern: text.to_owned(),
            form: "glob",
            message: last_line(&message),
        };
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|problem| error(problem.kind().to_string()))?;
        Self::compile(text, as_text_expression(glob.regex()))
            .map_err(|problem| error(problem.to_string()))
    }

    fn compile(text: &str, source: String) -> Result<Self, regex::Error> {
        let regex = RegexBuilder::new(&source)
            .dot_matches_new_line(true)
            .size_limit(PATTERN_SIZE_LIMIT)
            .build()?;
        Ok(Self { text: text.to_owned(), source, regex })
    }

    /// Whether it matches.
    pub fn matches(&self, subject: Subject<'_>) -> bool {
        subject.keys().any(|key| match key.server {
            None => self.regex.is_match(key.name),
            Some(server) => self.regex.is_match(&format!("{server}/{}", key.name)),
        })
    }
}

/// Globs become expressions on bytes, in which `é` is `\xC3\xA9` and `?` is one byte. Ours match
/// text: this writes the characters back.
fn as_text_expression(bytes: &str) -> String {
    let source = bytes.replace("(?-u)", "");
    let mut text = String::with_capacity(source.len());
    let mut escaped = Vec::new();
    let mut rest = source.as_str();
    loop {
        let byte = rest.strip_prefix("\\x").and_then(|hex| hex.get(..2));
        if let Some(byte) = byte.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            escaped.push(byte);
            rest = rest.get(4..).unwrap_or_default();
            continue;
        }
        if !escaped.is_empty() {
            text.push_str(&regex::escape(&String::from_utf8_lossy(&escaped)));
            escaped.clear();
        }
        // An escaped backslash is not the beginning of an escaped byte.
        if rest.starts_with("\\\\") {
            text.push_str("\\\\");
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        let Some(next) = rest.chars().next() else { return text };
        text.push(next);
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
}

fn last_line(message: &str) -> String {
    let line = message.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(message);
    line.trim().trim_start_matches("error: ").to_owned()
}

/// Many patterns, matched in one pass.
///
/// On bytes, which for text that is matched from end to end is the same: a set on text panics in
/// `is_match` where several patterns can match nothing at all (regex-automata 0.4.18).
#[derive(Debug, Clone)]
pub(crate) struct PatternSet {
    set: RegexSet,
    places: Vec<u32>,
}

impl PatternSet {
    /// Compiles the patterns with the place that each stands for.
    pub(crate) fn new(patterns: Vec<(u32, &Pattern)>) -> Result<Self, PatternError> {
        let sources = patterns.iter().map(|(_, pattern)| &pattern.source);
        let set = RegexSetBuilder::new(sources)
            .dot_matches_new_line(true)
            .size_limit(SET_SIZE_LIMIT)
            .build()
            .map_err(|error| PatternError {
                pattern: format!("{} patterns of one event", patterns.len()),
                form: "set",
                message: last_line(&error.to_string()),
            })?;
        Ok(Self { set, places: patterns.into_iter().map(|(place, _)| place).collect() })
    }

    /// The places of the patterns that match, in their order.
    pub(crate) fn matching(&self, subject: Subject<'_>, mut found: impl FnMut(u32)) {
        for key in subject.keys() {
            let text = match key.server {
                None => std::borrow::Cow::Borrowed(key.name),
                Some(server) => std::borrow::Cow::Owned(format!("{server}/{}", key.name)),
            };
            // Asking whether any matches allocates nothing, and mostly none does.
            let text = text.as_bytes();
            if self.set.is_match(text) {
                for pattern in self.set.matches(text) {
                    if let Some(place) = self.places.get(pattern) {
                        found(*place);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &Pattern, name: &str) -> bool {
        pattern.matches(Subject::named(name))
    }

    #[test]
    fn a_regex_matches_the_whole_name() {
        let pattern = Pattern::regex("run_command|view_.*").unwrap();
        assert!(matches(&pattern, "run_command"));
        assert!(matches(&pattern, "view_file"));
        assert!(!matches(&pattern, "run_command_now"));
        assert!(!matches(&pattern, "review_file"));
    }

    #[test]
    fn a_glob_knows_segments() {
        let pattern = Pattern::glob("file_edit_*").unwrap();
        assert!(matches(&pattern, "file_edit_search_replace"));
        assert!(!matches(&pattern, "file_read"));
        let pattern = Pattern::glob("docs/*").unwrap();
        let subject = |server, name| Subject { server: Some(server), name, readings: &[] };
        assert!(pattern.matches(subject("docs", "search")));
        assert!(!pattern.matches(subject("docs", "a/b")));
        assert!(Pattern::glob("docs/**").unwrap().matches(subject("docs", "a/b")));
        assert!(matches(&Pattern::glob("[a-c]?é*").unwrap(), "bxéü"));
    }

    #[test]
    fn a_name_cannot_hide_behind_a_line_break() {
        for pattern in [Pattern::regex(".*"), Pattern::glob("**"), Pattern::glob("a*")] {
            assert!(matches(&pattern.unwrap(), "a\nb"));
        }
        assert!(!matches(&Pattern::regex("a").unwrap(), "a\n"));
        assert!(!matches(&Pattern::regex("(?m)a").unwrap(), "a\nb"));
        assert!(matches(&Pattern::glob(r"a\\x41").unwrap(), r"a\x41"));
    }

    #[test]
    fn a_set_of_patterns_that_match_nothing_at_all_is_matched() {
        let patterns = [Pattern::regex("é").unwrap(), Pattern::regex(r"\b|x*").unwrap()];
        let set = PatternSet::new((0u32..).zip(&patterns).collect()).unwrap();
        for (name, places) in [("", vec![1]), ("é", vec![0]), ("xx", vec![1]), ("y", vec![])] {
            let mut found = Vec::new();
            set.matching(Subject::named(name), |place| found.push(place));
            assert_eq!(found, places, "{name}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_said() {
        for (result, form) in [
            (Pattern::regex("*"), "regular expression"),
            (Pattern::regex("a)|(b"), "regular expression"),
            (Pattern::glob("[a"), "glob"),
            (Pattern::regex("(a{1000}){1000}"), "regular expression"),
        ] {
            let error = result.unwrap_err();
            assert_eq!(error.form, form);
            assert!(!error.message.is_empty());
        }
    }
}
