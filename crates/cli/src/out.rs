//! What a command prints.
//!
//! All of it is collected and written once, at the end: so a closed pipe cannot cut a command short,
//! and the exit code is what the command came to. Styles are written always and taken away where
//! there is no terminal, or where `NO_COLOR` says so.

use std::fmt::{self, Write as _};
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use anstream::adapter::strip_str;
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use serde::Serialize;

use crate::exit::Exit;

/// How things look.
pub(crate) mod styles {
    use anstyle::{AnsiColor, Color, Style};

    const fn coloured(color: AnsiColor) -> Style {
        Style::new().fg_color(Some(Color::Ansi(color)))
    }

    pub(crate) const HEADING: Style = Style::new().bold();
    pub(crate) const QUIET: Style = Style::new().dimmed();
    pub(crate) const GOOD: Style = coloured(AnsiColor::Green).bold();
    pub(crate) const WARNING: Style = coloured(AnsiColor::Yellow).bold();
    pub(crate) const ERROR: Style = coloured(AnsiColor::Red).bold();
    pub(crate) const HELP: Style = coloured(AnsiColor::Cyan).bold();
}

/// The two streams of a command.
#[derive(Debug, Default)]
pub(crate) struct Out {
    stdout: String,
    stderr: String,
    hints: String,
}

impl Out {
    /// A line of the result.
    pub(crate) fn line(&mut self, line: impl fmt::Display) {
        let _ = writeln!(self.stdout, "{line}");
    }

    /// A style as it is for the result: none where it would be taken away.
    pub(crate) fn style(style: Style) -> Style {
        match AutoStream::choice(&io::stdout()) {
            ColorChoice::Never => Style::new(),
            _ => style,
        }
    }

    /// A line of the result in a style, from its parts.
    pub(crate) fn styled(&mut self, style: Style, parts: &[&str]) {
        let is_plain = style == Style::new();
        if !is_plain {
            let _ = write!(self.stdout, "{style}");
        }
        for part in parts {
            self.stdout.push_str(part);
        }
        if !is_plain {
            let _ = write!(self.stdout, "{style:#}");
        }
        self.stdout.push('\n');
    }

    /// The rows of a table.
    pub(crate) fn lines(&mut self, table: &Table) {
        for line in table.fitted(width()) {
            self.line(line);
        }
    }

    /// The result as it is, without a line's end.
    pub(crate) fn text(&mut self, text: &str) {
        self.stdout.push_str(text);
    }

    /// A line behind the result: what to do next.
    pub(crate) fn hint(&mut self, line: impl fmt::Display) {
        let _ = writeln!(self.hints, "{line}");
    }

    /// Whether there is a result so far.
    pub(crate) fn has_result(&self) -> bool {
        !self.stdout.is_empty()
    }

    /// A line before the result: what is wrong.
    pub(crate) fn note(&mut self, line: impl fmt::Display) {
        let _ = writeln!(self.stderr, "{line}");
    }

    /// The result as JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        // What is printed holds strings, numbers and JSON itself, none of which can fail.
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        self.line(text);
    }

    /// Writes what there is so far: before a person is asked, or what is beside it goes its own way.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        beside(&std::mem::take(&mut self.stderr));
        let stdout = std::mem::take(&mut self.stdout);
        let written = if stdout.is_empty() { Ok(()) } else { write(io::stdout().lock(), &stdout) };
        beside(&std::mem::take(&mut self.hints));
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Writes it all. Whoever reads only the beginning of it (`| head -1`) has had enough.
    pub(crate) fn finish(mut self, exit: Exit) -> Exit {
        match self.flush() {
            Ok(()) => exit,
            Err(error) => {
                let _ = writeln!(io::stderr(), "error: the result cannot be written: {error}");
                // A denial is told by the exit code, too.
                if exit == Exit::Denied { exit } else { Exit::Problem }
            }
        }
    }
}

/// Says something beside the result. Where nobody hears it, there is still the result.
fn beside(text: &str) {
    if !text.is_empty() {
        let _ = write(io::stderr().lock(), text);
    }
}

/// Writes a text in one go, without its styles where they are of no use.
fn write(mut stream: impl RawStream, text: &str) -> io::Result<()> {
    match AutoStream::choice(&stream) {
        ColorChoice::Never if has_controls(text) => {
            stream.write_all(strip_str(text).to_string().as_bytes())?;
        }
        _ => stream.write_all(text.as_bytes())?,
    }
    stream.flush()
}

/// Whether there is anything in a text that is no text: styles, or what somebody has put into a reason.
fn has_controls(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Without an early end, so that many bytes are looked at together.
    let control = |byte: u8| u8::from((byte < b' ' && byte != b'\n') || byte == 0x7f);
    bytes.iter().fold(0, |found, byte| found | control(*byte)) != 0
        // Those that are beyond ASCII: two bytes, the first of which is this one.
        || bytes.split(|byte| *byte == 0xc2).skip(1).any(|rest| matches!(rest, [0x80..=0x9f, ..]))
}

/// How many columns there are to write in: 80 where no terminal says otherwise.
pub(crate) fn width() -> usize {
    const USUAL: usize = 80;
    const LEAST: usize = 40;
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten();
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { USUAL } else { columns.max(LEAST) }
}

/// A text in lines of this width. A word that is longer has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Rows of cells, padded to columns; the last one is as it is.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The rows as lines, one for each, however long.
    pub(crate) fn lines(&self) -> Vec<String> {
        let widths = self.widths();
        self.rows.iter().map(|row| line(row, &widths, GAP)).collect()
    }

    /// The rows as lines of this width, as far as that goes: the last column is wrapped, or the columns
    /// stand closer.
    fn fitted(&self, width: usize) -> Vec<String> {
        /// What a column has to have to be wrapped.
        const LEAST: usize = 20;
        let widths = self.widths();
        let (Some(last), Some(before)) = (widths.last(), widths.split_last().map(|it| it.1)) else {
            return Vec::new();
        };
        let begin = |gap: usize| before.iter().map(|width| width + gap).sum::<usize>();
        if begin(GAP) + last <= width {
            return self.lines();
        }
        let gap = if begin(GAP) + LEAST.min(*last) <= width { GAP } else { 1 };
        let room = width.saturating_sub(begin(gap)).max(LEAST.min(*last));
        let mut lines = Vec::new();
        for row in &self.rows {
            let (Some(cell), true) = (row.last(), row.len() == widths.len()) else {
                lines.push(line(row, &widths, gap));
                continue;
            };
            let mut parts = wrapped(cell, room).into_iter();
            let first: Vec<String> =
                row.iter().take(before.len()).cloned().chain(parts.next()).collect();
            lines.push(line(&first, &widths, gap));
            lines.extend(parts.map(|part| format!("{:1$}{part}", "", begin(gap))));
        }
        lines
    }

    /// How wide the columns are.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }
}

/// What is between two columns.
const GAP: usize = 2;

/// What fills a column.
const SPACES: &str = "                                ";

fn line(row: &[String], widths: &[usize], gap: usize) -> String {
    let mut line = String::with_capacity(widths.iter().sum::<usize>() + gap * widths.len());
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(cell);
        let mut missing = (width + gap).saturating_sub(cell.chars().count());
        while missing > 0 {
            let some = SPACES.get(..missing).unwrap_or(SPACES);
            line.push_str(some);
            missing -= some.len();
        }
    }
    line.truncate(line.trim_end_matches(' ').len());
    line
}

/// `1 hook`, `2 hooks`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// A time, for people.
#[allow(clippy::cast_precision_loss)] // a time for people
pub(crate) fn micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_to_its_width() {
        let mut table = Table::default();
        table.row(["NAME", "WHAT IT IS"]);
        table.row(["one", "a few words that have no place in one line, however it is looked at"]);
        for line in table.fitted(40) {
            assert!(line.chars().count() <= 40, "{line}");
        }
        assert_eq!(table.fitted(40).len(), 3);
        assert_eq!(table.fitted(100), table.lines());
        assert_eq!(table.fitted(40)[2], "      one line, however it is looked at");
    }
}
