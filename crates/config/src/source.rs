//! The text of a file, and places in it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Serialize;

/// A part of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

impl Span {
    /// The place before a byte, without any text.
    pub const fn at(place: usize) -> Self {
        Self { start: place, end: place }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

impl From<jsonc_parser::common::Range> for Span {
    fn from(range: jsonc_parser::common::Range) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// A line and a column, both from 1. Columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A file as it was read.
#[derive(Clone)]
pub struct SourceFile {
    path: PathBuf,
    text: String,
    /// Where each line begins; worked out when somebody asks.
    lines: OnceLock<Vec<usize>>,
}

impl PartialEq for SourceFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for SourceFile {}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceFile({}, {} bytes)", self.path.display(), self.text.len())
    }
}

impl SourceFile {
    /// A text, and the path it is known by.
    ///
    /// ```
    /// use tollgate_config::source::SourceFile;
    ///
    /// let file = SourceFile::new("hooks.json", "{\n  \"a\": 1\n}");
    /// assert_eq!(file.position(4).to_string(), "2:3");
    /// ```
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), lines: OnceLock::new() }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let breaks = self.text.match_indices('\n').map(|(at, _)| at + 1);
            std::iter::once(0).chain(breaks).collect()
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of a byte, from 1.
    pub fn line(&self, at: usize) -> u32 {
        // Most hooks are asked for one place, and that is near the beginning.
        const NEAR: usize = 512;
        if at < NEAR && self.lines.get().is_none() {
            let breaks = self.text.match_indices('\n').take_while(|(place, _)| *place < at).count();
            return u32::try_from(breaks + 1).unwrap_or(u32::MAX);
        }
        u32::try_from(self.lines().partition_point(|begin| *begin <= at)).unwrap_or(u32::MAX)
    }

    /// The line and column of a byte.
    pub fn position(&self, at: usize) -> Position {
        let line = self.line(at);
        let begin = self.begin_of(line);
        let before = self.text.get(begin..at).unwrap_or_default();
        let column = u32::try_from(before.chars().count()).unwrap_or(u32::MAX).saturating_add(1);
        Position { line, column }
    }

    /// A place that begins and ends between two characters of the text and has all that was meant.
    /// Parsers count bytes, and some of them end a problem in the middle of a character.
    pub(crate) fn whole(&self, span: Span) -> Span {
        let length = self.text.len();
        let between = |at: &usize| self.text.is_char_boundary(*at);
        let start = (0..=span.start.min(length)).rev().find(between).unwrap_or(0);
        let end = (span.end.clamp(start, length)..=length).find(between).unwrap_or(length);
        Span { start, end }
    }

    /// Where a line begins.
    pub(crate) fn begin_of(&self, line: u32) -> usize {
        let index = (line as usize).saturating_sub(1);
        self.lines().get(index).copied().unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_between_characters() {
        let file = SourceFile::new("f", "aЩb");
        let whole = |start, end| {
            let Span { start, end } = file.whole(Span { start, end });
            (start, end)
        };
        assert_eq!(whole(0, 2), (0, 3));
        assert_eq!(whole(2, 3), (1, 3));
        assert_eq!(whole(2, 2), (1, 3));
        assert_eq!(whole(1, 1), (1, 1));
        assert_eq!(whole(3, 99), (3, 4));
        assert_eq!(whole(99, 3), (4, 4));
    }
}
