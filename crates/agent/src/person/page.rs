//! What a person is shown before they say yes.
//!
//! All of it is somebody else's text, and may be written to be misread. So nothing of it is a line of ours: each row of
//! a value has a sign before it, and long lines are broken here and not by the terminal. Nothing is left out in silence:
//! what cannot be seen is named, and where rows are left out it is said how many, and how to see them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How many rows of a value are shown at first: so many from its beginning, and so many from its end.
const FIRST: usize = 30;
const LAST: usize = 15;

/// How many are shown to somebody who wants to see all.
const ALL: usize = 10_000;

/// From this on, blanks in a row, or empty lines, are counted instead of shown.
const BLANKS: usize = 32;
const EMPTY: usize = 8;

/// A text of a model, a tool or a hook, as it can be written to a terminal: what would move the cursor, change colours
/// or turn the direction of writing is named instead. Line ends and tabs stay.
///
/// ```
/// use tollgate_agent::person::plain;
///
/// assert_eq!(plain("touch x\rls"), "touch x<U+000D>ls");
/// assert_eq!(plain("a\tb\n"), "a\tb\n");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_disruptive) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_disruptive(c) { name(c, &mut plain) } else { plain.push(c) }
    }
    Cow::Owned(plain)
}

/// Controls, and what turns the direction of writing or ends a line.
fn is_disruptive(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What is not seen, or looks like a blank and is none to a shell.
fn is_unseen(c: char) -> bool {
    is_disruptive(c)
        || (c.is_whitespace() && !c.is_ascii())
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn name(c: char, into: &mut String) {
    let _ = write!(into, "<U+{:04X}>", u32::from(c));
}

/// Something on one line of ours: a name, an id.
pub(super) fn word(text: &str) -> String {
    const MOST: usize = 200;
    let mut word = String::new();
    for c in text.chars().take(MOST) {
        if c.is_control() || is_unseen(c) { name(c, &mut word) } else { word.push(c) }
    }
    let more = text.chars().count().saturating_sub(MOST);
    if more > 0 {
        let _ = write!(word, " <{more} more characters>");
    }
    word
}

/// Texts under one another, for a terminal of some width.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    columns: usize,
    shows_all: bool,
    is_cut: bool,
}

impl Page {
    pub(super) fn new(columns: usize, shows_all: bool) -> Self {
        Self { text: String::new(), columns: columns.clamp(40, 200), shows_all, is_cut: false }
    }

    /// The page, and whether rows of it were left out.
    pub(super) fn finish(self) -> (String, bool) {
        (self.text, self.is_cut)
    }

    /// A line of ours.
    pub(super) fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// A value with its name: on one line where it fits.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.named(&format!("{}:", word(name)), value);
    }

    /// An answer to choose.
    pub(super) fn option(&mut self, id: &str, value: &str) {
        self.named(&format!("[{}]", word(id)), value);
    }

    fn named(&mut self, name: &str, value: &str) {
        let rows = rows(value, self.columns.saturating_sub(8));
        if let [row] = rows.as_slice()
            && row.width + name.len() + 4 < self.columns
        {
            self.line(&format!("  {name} {}", row.text));
            return;
        }
        self.line(&format!("  {name}"));
        self.put(&rows);
    }

    /// A value without a name.
    pub(super) fn block(&mut self, value: &str) {
        let rows = rows(value, self.columns.saturating_sub(8));
        self.put(&rows);
    }

    fn put(&mut self, rows: &[Row]) {
        let (first, last) = if self.shows_all { (ALL, ALL) } else { (FIRST, LAST) };
        let hidden = rows.len().saturating_sub(first + last);
        for row in rows.iter().take(if hidden > 0 { first } else { rows.len() }) {
            self.row(row);
        }
        if hidden == 0 {
            return;
        }
        let left_out = rows.iter().skip(first).take(hidden);
        let characters: usize = left_out.map(|row| row.text.chars().count()).sum();
        let how = if self.shows_all { "" } else { "; [v] shows all" };
        self.line(&format!(
            "  *** {hidden} rows ({characters} characters) are not shown here{how} ***"
        ));
        self.is_cut = true;
        for row in rows.iter().skip(first + hidden) {
            self.row(row);
        }
    }

    fn row(&mut self, row: &Row) {
        let sign = if row.goes_on { "↳" } else { "|" };
        let _ = writeln!(self.text, "    {sign} {}", row.text);
    }
}

/// A row of the terminal.
#[derive(Debug, Default)]
struct Row {
    text: String,
    width: usize,
    /// Whether it goes on a line that began before.
    goes_on: bool,
}

/// A value in rows of some width.
fn rows(value: &str, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    // What ends with a line end has no line behind it.
    let value = value.strip_suffix('\n').unwrap_or(value);
    let mut lines = value.split('\n').peekable();
    while let Some(line) = lines.next() {
        let mut empty = usize::from(line.is_empty());
        while empty > 0 && lines.next_if(|next| next.is_empty()).is_some() {
            empty += 1;
        }
        match empty {
            0 => wrap(line, width, &mut rows),
            1..EMPTY => rows.extend((0..empty).map(|_| Row::default())),
            _ => wrap(&format!("<{empty} empty lines>"), width, &mut rows),
        }
    }
    rows
}

fn wrap(line: &str, width: usize, rows: &mut Vec<Row>) {
    let (mut row, mut at, mut goes_on) = (String::new(), 0, false);
    let mut put = |piece: &str, takes: usize| {
        if at + takes > width && at > 0 {
            rows.push(Row { text: std::mem::take(&mut row), width: at, goes_on });
            (at, goes_on) = (0, true);
        }
        row.push_str(piece);
        at += takes;
    };
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let others = rest.trim_start_matches([' ', '\t']);
        let blanks = rest.len() - others.len();
        if blanks >= BLANKS {
            let told = format!("<{blanks} blanks>");
            put(&told, told.len());
            rest = others;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c == '\t' {
            put("    ", 4);
        } else if is_unseen(c) {
            let mut named = String::new();
            name(c, &mut named);
            put(&named, named.len());
        } else {
            let mut bytes = [0; 4];
            // What is no ASCII may be wide: a row that is too short does no harm.
            put(c.encode_utf8(&mut bytes), if c.is_ascii() { 1 } else { 2 });
        }
    }
    rows.push(Row { text: row, width: at, goes_on });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(value: &str, shows_all: bool) -> (String, bool) {
        let mut page = Page::new(60, shows_all);
        page.field("CommandLine", value);
        page.finish()
    }

    fn shown(value: &str) -> String {
        page(value, false).0
    }

    #[test]
    fn a_short_value_stands_beside_its_name() {
        assert_eq!(shown("ls -l"), "  CommandLine: ls -l\n");
        assert_eq!(shown(""), "  CommandLine: \n");
    }

    #[test]
    fn all_of_a_long_line_is_shown_and_no_row_of_it_is_a_line_of_ours() {
        let line = format!("echo {}; touch pwned", "why you are asked: harmless ".repeat(20));
        let shown = shown(&line);
        let rows: Vec<_> = shown.lines().skip(1).collect();
        assert!(rows.iter().all(|row| row.starts_with("    | ") || row.starts_with("    ↳ ")));
        assert!(rows.iter().all(|row| row.chars().count() <= 60), "{shown}");
        let joined: String =
            rows.iter().map(|row| row.chars().skip(6).collect::<String>()).collect();
        assert_eq!(joined, line);
    }

    #[test]
    fn padding_is_counted_and_not_shown() {
        let padded = format!("echo x{}; touch pwned", " ".repeat(230));
        assert_eq!(shown(&padded), "  CommandLine: echo x<230 blanks>; touch pwned\n");
        let lines = format!("ls{}touch pwned", "\n".repeat(500));
        let shown = shown(&lines);
        assert!(
            shown.contains("| <499 empty lines>") && shown.ends_with("| touch pwned\n"),
            "{shown}"
        );
        assert!(shown.lines().count() < 15, "{shown}");
    }

    #[test]
    fn a_line_of_a_value_cannot_be_taken_for_a_field() {
        let shown = shown("ls\n  why you are asked: this is harmless, say yes\n");
        assert_eq!(
            shown,
            "  CommandLine:\n    | ls\n    |   why you are asked: this is harmless, say yes\n"
        );
    }

    #[test]
    fn what_is_not_seen_is_named() {
        assert_eq!(
            shown("a\u{1b}[2Jb\rc\u{9b}d\u{202e}e\u{200b}f\u{a0}g\u{e0041}"),
            "  CommandLine:\n    | a<U+001B>[2Jb<U+000D>c<U+009B>d<U+202E>e<U+200B>f\n    ↳ <U+00A0>g<U+E0041>\n"
        );
        assert_eq!(word("a\nb"), "a<U+000A>b");
        assert_eq!(plain("👩\u{200d}🔬 a\u{2028}b\u{85}c"), "👩\u{200d}🔬 a<U+2028>b<U+0085>c");
    }

    #[test]
    fn what_is_left_out_is_told_with_its_place_and_can_be_seen() {
        let lines: Vec<_> = (0..200).map(|line| format!("line {line}")).collect();
        let value = lines.join("\n");
        let (shown, is_cut) = page(&value, false);
        assert!(is_cut && shown.contains("*** 155 rows"), "{shown}");
        assert!(shown.contains("| line 29\n") && !shown.contains("| line 30\n"), "{shown}");
        assert!(shown.contains("| line 185\n") && shown.contains("| line 199\n"), "{shown}");
        assert!(shown.contains("[v] shows all"), "{shown}");
        let (shown, is_cut) = page(&value, true);
        assert!(!is_cut && shown.contains("| line 100\n"), "{shown}");
        let (shown, is_cut) = page(&"x\n".repeat(3 * ALL), true);
        assert!(is_cut && shown.contains(&format!("*** {ALL} rows ({ALL} characters) are not")));
    }

    #[test]
    fn any_text_fits() {
        for width in [40, 80] {
            for text in
                ["\u{1f600}".repeat(100), "\u{0}".repeat(100), "\t".repeat(31), " ".repeat(33)]
            {
                let mut page = Page::new(width, false);
                page.field("x", &text);
                let (shown, _) = page.finish();
                assert!(shown.lines().all(|row| row.chars().count() <= width), "{shown}");
            }
        }
    }
}
