//! Code inside a file, and where it stands there.

use std::ops::Range;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    text: String,
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

impl Code {
    /// The text that is run.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a part of the text stands in the file. All of it, where it is not known better.
    pub fn span(&self, range: Range<usize>) -> Span {
        if self.runs.is_empty() || range.start > self.text.len() {
            return self.whole;
        }
        let end = range.end.clamp(range.start, self.text.len());
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

    /// Where all of it stands in the file.
    pub fn whole(&self) -> Span {
        self.whole
    }

    /// The line in the file of a line of the text, both from 1.
    pub fn line_in_file(&self, line: u32) -> u32 {
        let index = (line as usize).saturating_sub(1);
        self.lines.get(index).or(self.lines.last()).copied().unwrap_or(1)
    }

    /// A text that is a file of its own, such as a policy.
    pub fn of_file(file: &SourceFile) -> Self {
        let text = file.text().to_owned();
        let whole = Span { start: 0, end: text.len() };
        Self::new(file, text, whole, vec![Run { text: 0, file: 0 }])
    }

    /// A value of which only the whole is known.
    pub(super) fn folded(file: &SourceFile, text: String, whole: Span) -> Self {
        Self::new(file, text, whole, Vec::new())
    }

    fn new(file: &SourceFile, text: String, whole: Span, runs: Vec<Run>) -> Self {
        let mut code = Self { text, whole, lines: Vec::new(), runs };
        let begins = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', code.text.as_bytes()).map(|at| at + 1));
        code.lines = begins.map(|at| file.line(code.span(at..at).start)).collect();
        code
    }

    /// A value without line breaks, as it stands in the file, quotes and all.
    pub(super) fn in_line(file: &SourceFile, text: String, whole: Span) -> Self {
        let written = file.text().get(whole.start..whole.end).unwrap_or_default();
        match runs_in_line(written, &text) {
            Some(mut runs) => {
                for run in &mut runs {
                    run.file += whole.start;
                }
                Self::new(file, text, whole, runs)
            }
            None => Self::folded(file, text, whole),
        }
    }

    /// A block behind `|`, which begins at its first line that is not empty, behind its
    /// indentation.
    pub(super) fn block(file: &SourceFile, text: String, whole: Span) -> Self {
        match runs_of_block(file, &text, whole.start) {
            Some(runs) => {
                let start = runs.first().map_or(whole.start, |run| run.file.min(whole.start));
                Self::new(file, text, Span { start, end: whole.end }, runs)
            }
            None => Self::folded(file, text, whole),
        }
    }

    /// A text that is put together from parts of the file, each with its place.
    pub(super) fn of_parts<'p>(
        file: &SourceFile,
        parts: impl Iterator<Item = (&'p str, usize)>,
        whole: Span,
    ) -> Self {
        let mut text = String::new();
        let mut runs = Vec::new();
        for (part, place) in parts {
            runs.push(Run { text: text.len(), file: place });
            text.push_str(part);
        }
        Self::new(file, text, whole, runs)
    }
}

/// The runs of a value on one line: plain, or in quotes.
fn runs_in_line(written: &str, text: &str) -> Option<Vec<Run>> {
    if written == text {
        return Some(vec![Run { text: 0, file: 0 }]);
    }
    let quote = written.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inside = written.get(1..)?.strip_suffix(quote)?;
    if inside.contains(['\n', '\r']) {
        return None;
    }
    let mut runs = vec![Run { text: 0, file: 1 }];
    let mut place = 1;
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
