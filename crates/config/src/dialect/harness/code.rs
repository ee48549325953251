//! Code inside a file, and where it stands there.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::source::{SourceFile, Span};

/// Starlark text inside a Markdown file, and where each part of it stands in the file.
///
/// A value that is written as it is meant (plain on one line, or a block behind `|`) is known byte
/// by byte, and one in quotes on one line as well. Of any other, such as a folded one, only the
/// whole is known.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_config::dialect::harness::read_artifact;
/// use tollgate_config::source::SourceFile;
///
/// let text = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n    return allow()\n---\n";
/// let file = Arc::new(SourceFile::new("guard.md", text));
/// let (artifact, diagnostics) = read_artifact(&file);
/// assert!(diagnostics.is_empty());
/// let script = artifact.ok_or("it has no error")?.script;
/// let at = script.text().find("allow").unwrap_or_default();
/// let span = script.span(at..at + 5);
/// assert_eq!(&text[span.start..span.end], "allow");
/// assert_eq!(script.line_in_file(2), 5);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone)]
pub struct Code {
    text: String,
    file: Arc<SourceFile>,
    shape: Shape,
    /// The value in the file, as it was found there.
    found: Span,
    /// Worked out when somebody asks: of most scripts nobody does.
    places: OnceLock<Places>,
}

/// How a text stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// A block behind `|`.
    Block,
    /// On one line, quotes and all.
    InLine,
    /// In a way of which only the whole is known.
    Folded,
    /// Put together from runs of the file.
    Parts(Vec<Run>),
}

/// Where the parts of a text stand in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Places {
    /// The value in the file, as it is written there.
    whole: Span,
    /// The line in the file of each line of the text.
    lines: Vec<u32>,
    /// Where a run of bytes that are the same in both begins: in the text, and in the file. Empty
    /// where that is not known.
    runs: Vec<Run>,
}

/// A run of bytes that are the same in the text and in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    text: usize,
    file: usize,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.places() == other.places()
    }
}

impl Eq for Code {}

impl Code {
    /// The text that is run.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a part of the text stands in the file. All of it, where it is not known better.
    pub fn span(&self, range: Range<usize>) -> Span {
        self.places().span(self.text.len(), range)
    }

    /// Where all of it stands in the file.
    pub fn whole(&self) -> Span {
        self.places().whole
    }

    /// The line in the file of a line of the text, both from 1.
    pub fn line_in_file(&self, line: u32) -> u32 {
        let lines = &self.places().lines;
        let index = (line as usize).saturating_sub(1);
        lines.get(index).or(lines.last()).copied().unwrap_or(1)
    }

    /// A text that is a file of its own, such as a policy.
    pub fn of_file(file: &Arc<SourceFile>) -> Self {
        let text = file.text().to_owned();
        let whole = Span { start: 0, end: text.len() };
        Self::new(file, text, whole, Shape::Parts(vec![Run { text: 0, file: 0 }]))
    }

    /// A value of which only the whole is known.
    pub(super) fn folded(file: &Arc<SourceFile>, text: String, whole: Span) -> Self {
        Self::new(file, text, whole, Shape::Folded)
    }

    /// A value without line breaks, as it stands in the file, quotes and all.
    pub(super) fn in_line(file: &Arc<SourceFile>, text: String, whole: Span) -> Self {
        Self::new(file, text, whole, Shape::InLine)
    }

    /// A block behind `|`, which begins at its first line that is not empty, behind its
    /// indentation.
    pub(super) fn block(file: &Arc<SourceFile>, text: String, whole: Span) -> Self {
        Self::new(file, text, whole, Shape::Block)
    }

    /// A text that is put together from parts of the file, each with its place.
    pub(super) fn of_parts<'p>(
        file: &Arc<SourceFile>,
        parts: impl Iterator<Item = (&'p str, usize)>,
        whole: Span,
    ) -> Self {
        let mut text = String::new();
        let mut runs = Vec::new();
        for (part, place) in parts {
            runs.push(Run { text: text.len(), file: place });
            text.push_str(part);
        }
        Self::new(file, text, whole, Shape::Parts(runs))
    }

    fn new(file: &Arc<SourceFile>, text: String, found: Span, shape: Shape) -> Self {
        Self { text, file: Arc::clone(file), shape, found, places: OnceLock::new() }
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let runs = match &self.shape {
                Shape::Block => runs_of_block(&self.file, &self.text, self.found.start),
                Shape::InLine => {
                    let written = self.file.text().get(self.found.start..self.found.end);
                    runs_in_line(written.unwrap_or_default(), &self.text, self.found.start)
                }
                Shape::Folded => None,
                Shape::Parts(runs) => Some(runs.clone()),
            };
            Places::new(&self.file, &self.text, self.found, runs.unwrap_or_default())
        })
    }
}

impl Places {
    fn new(file: &SourceFile, text: &str, found: Span, runs: Vec<Run>) -> Self {
        let start = runs.first().map_or(found.start, |run| run.file.min(found.start));
        let mut places = Self { whole: Span { start, end: found.end }, lines: Vec::new(), runs };
        let begins = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        places.lines = begins.map(|at| file.line(places.span(text.len(), at..at).start)).collect();
        places
    }

    /// Where a part of a text of so many bytes stands.
    fn span(&self, length: usize, range: Range<usize>) -> Span {
        if self.runs.is_empty() || range.start > length {
            return self.whole;
        }
        let end = range.end.clamp(range.start, length);
        let start =
            self.place(self.runs.partition_point(|run| run.text <= range.start), range.start);
        // An end belongs to what is before it, not to the indentation of the next line.
        let end = if end > range.start {
            self.place(self.runs.partition_point(|run| run.text < end), end)
        } else {
            start
        };
        Span { start, end: end.max(start) }
    }

    /// The place in the file of a byte of the text, by the last of so many runs.
    fn place(&self, runs: usize, at: usize) -> usize {
        let run = runs.checked_sub(1).and_then(|last| self.runs.get(last));
        let place = run.map_or(self.whole.start, |run| run.file + at.saturating_sub(run.text));
        // A text may end in a line break that the file has not.
        place.min(self.whole.end.max(self.whole.start))
    }
}

/// The runs of a value on one line of the file: plain, or in quotes.
fn runs_in_line(written: &str, text: &str, begin: usize) -> Option<Vec<Run>> {
    if written == text {
        return Some(vec![Run { text: 0, file: begin }]);
    }
    let quote = written.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inside = written.get(1..)?.strip_suffix(quote)?;
    if inside.contains(['\n', '\r']) {
        return None;
    }
    let mut place = begin + 1;
    let mut runs = vec![Run { text: 0, file: place }];
    let mut rest = inside;
    for (at, c) in text.char_indices() {
        let length = match (quote, rest.as_bytes()) {
            ('"', [b'\\', b'x', ..]) => 4,
            ('"', [b'\\', b'u', ..]) => 6,
            ('"', [b'\\', b'U', ..]) => 10,
            ('"', [b'\\', ..]) | ('\'', [b'\'', b'\'', ..]) => 2,
            _ if rest.starts_with(c) => c.len_utf8(),
            _ => return None,
        };
        rest = rest.get(length..)?;
        place += length;
        if length != c.len_utf8() {
            runs.push(Run { text: at + c.len_utf8(), file: place });
        }
    }
    rest.is_empty().then_some(runs)
}

/// The runs of a block: each line of the text is the end of a line of the file.
fn runs_of_block(file: &SourceFile, text: &str, at: usize) -> Option<Vec<Run>> {
    // Empty lines before the first one with anything on it are a part of the text.
    let empty = text.bytes().take_while(|byte| *byte == b'\n').count();
    let line = file.line(at).checked_sub(u32::try_from(empty).ok()?)?;
    let mut rest = file.text().get(file.begin_of(line)..)?;
    let mut place = file.begin_of(line);
    let mut runs = Vec::new();
    let mut begin = 0;
    let content = text.strip_suffix('\n').unwrap_or(text);
    for wanted in content.split('\n') {
        let end = rest.find('\n');
        let written = rest.get(..end.unwrap_or(rest.len()))?;
        let written = written.strip_suffix('\r').unwrap_or(written);
        let indentation = written.strip_suffix(wanted)?;
        if indentation.contains(|c| c != ' ') {
            return None;
        }
        runs.push(Run { text: begin, file: place + indentation.len() });
        begin += wanted.len() + 1;
        let next = end.map_or(rest.len(), |end| end + 1);
        rest = rest.get(next..)?;
        place += next;
    }
    Some(runs)
}
