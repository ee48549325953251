//! Adds items to objects and lists of a text, and takes them out again, so that what is left is what was
//! there before, to the byte.
//!
//! Whoever takes an item out does not know the text from before. What they need to know is in how the item
//! was put in:
//! - Beside others it comes last, on a line of its own, and behind what stands on the line of the one
//!   before it. It has a comma behind it exactly where the one before had one.
//! - Where nothing was, it stands right behind the bracket, and what was between the brackets behind it.
//! - A bracket that came with it has a new line behind it. So who takes out the only item knows by what
//!   is before it whether the brackets were there.

use std::ops::Range;

/// What is between two brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Items {
    /// Behind the bracket that opens.
    pub(crate) open: usize,
    /// Before the bracket that closes.
    pub(crate) close: usize,
    /// Each item.
    pub(crate) items: Vec<Range<usize>>,
}

/// How lines end and begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) newline: &'static str,
    /// One step to the right.
    pub(crate) unit: String,
}

impl Layout {
    /// As a text has it; `items` are those at its top.
    pub(crate) fn of(text: &str, items: &Items) -> Self {
        let crlf =
            text.find('\n').is_some_and(|at| text.get(..at).is_some_and(|s| s.ends_with('\r')));
        let first = items.items.first().and_then(|item| own_line(text, item.start));
        let unit = first.filter(|blanks| !blanks.is_empty()).unwrap_or("  ").to_owned();
        Self { newline: if crlf { "\r\n" } else { "\n" }, unit }
    }

    /// What a line with an item of these begins with.
    pub(crate) fn indent(&self, text: &str, items: &Items) -> String {
        let beside = items.items.last().and_then(|item| own_line(text, item.start));
        match beside {
            Some(blanks) => blanks.to_owned(),
            None => format!("{}{}", leading(text, items.open), self.unit),
        }
    }
}

/// The blanks that the line of a byte begins with.
fn leading(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let rest = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - rest.len()).unwrap_or_default()
}

/// The same, where nothing else is before the byte.
fn own_line(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let (_, line) = before.rsplit_once('\n')?;
    line.trim_matches([' ', '\t']).is_empty().then_some(line)
}

/// A piece of what stands between the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    Blank,
    Newline,
    Line,
    Block,
}

/// The pieces from a byte on, each with its end, up to the first byte of something else.
fn between(text: &str, from: usize) -> impl Iterator<Item = (Between, usize)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let (kind, length) = if rest.starts_with("\r\n") {
            (Between::Newline, 2)
        } else if rest.starts_with('\n') {
            (Between::Newline, 1)
        } else if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let line = rest.get(..end).unwrap_or_default();
            (Between::Line, line.strip_suffix('\r').unwrap_or(line).len())
        } else if rest.starts_with("/*") {
            (Between::Block, rest.get(2..)?.find("*/")? + 4)
        } else {
            let c = rest.chars().next().filter(|c| c.is_whitespace() || *c == '\u{feff}')?;
            (Between::Blank, c.len_utf8())
        };
        at += length;
        Some((kind, at))
    })
}

/// The first byte from here on that is of something.
fn next(text: &str, from: usize) -> usize {
    between(text, from).last().map_or(from, |(_, end)| end)
}

/// Behind the last comment that begins on the line of a byte.
fn end_of_line(text: &str, from: usize) -> usize {
    let here = between(text, from).take_while(|(kind, _)| *kind != Between::Newline);
    let comments = here.filter(|(kind, _)| *kind != Between::Blank);
    comments.last().map_or(from, |(_, end)| end)
}

fn is_comma(text: &str, at: usize) -> bool {
    text.as_bytes().get(at) == Some(&b',')
}

/// Adds an item. Its first line is not to be indented, and its others are.
pub(crate) fn add(text: &str, items: &Items, indent: &str, layout: &Layout, item: &str) -> String {
    let Some(last) = items.items.last() else {
        return with(text, &[(items.open..items.open, item)]);
    };
    let line = format!("{}{indent}{item}", layout.newline);
    let comma = next(text, last.end);
    if is_comma(text, comma) {
        let at = end_of_line(text, comma + 1);
        with(text, &[(at..at, &format!("{line},"))])
    } else {
        let at = end_of_line(text, last.end);
        with(text, &[(last.end..last.end, ","), (at..at, &line)])
    }
}

/// Takes an item out.
pub(crate) fn remove(text: &str, items: &Items, index: usize) -> String {
    let Some(item) = items.items.get(index) else { return text.to_owned() };
    let before = index.checked_sub(1).and_then(|index| items.items.get(index));
    // Behind a comma, where there is one: what is before that belongs to the item before.
    let after_before = before.map_or(items.open, |before| {
        let comma = next(text, before.end);
        if is_comma(text, comma) { comma + 1 } else { before.end }
    });
    let start = begin(text, after_before, item);
    let comma = next(text, item.end);
    if comma < items.close && is_comma(text, comma) {
        return with(text, &[(start..item.end, ""), (comma..comma + 1, "")]);
    }
    match before {
        Some(before) => {
            let comma = next(text, before.end);
            let end = if is_comma(text, comma) { comma + 1 } else { comma };
            with(text, &[(comma..end, ""), (start..item.end, "")])
        }
        None => with(text, &[(start..item.end, "")]),
    }
}

/// Where that begins which came with an item: the new line before it, and the blanks of its own.
fn begin(text: &str, from: usize, item: &Range<usize>) -> usize {
    let mut begin = item.start;
    let pieces: Vec<_> = between(text, from).take_while(|(_, end)| *end <= item.start).collect();
    let starts = std::iter::once(from).chain(pieces.iter().map(|(_, end)| *end));
    let pieces: Vec<_> = starts.zip(&pieces).map(|(start, (kind, _))| (start, *kind)).collect();
    let mut pieces = pieces.into_iter().rev().peekable();
    while let Some((start, _)) = pieces.next_if(|(_, kind)| *kind == Between::Blank) {
        begin = start;
    }
    let Some((start, _)) = pieces.next_if(|(_, kind)| *kind == Between::Newline) else {
        return begin;
    };
    // The end of a comment, unless another new line comes behind the item.
    let ends_comment = pieces.peek().is_some_and(|(_, kind)| *kind == Between::Line);
    let another =
        between(text, next_comma(text, item.end)).find(|(kind, _)| *kind != Between::Blank);
    if ends_comment && !another.is_some_and(|(kind, _)| kind == Between::Newline) {
        return begin;
    }
    start
}

fn next_comma(text: &str, from: usize) -> usize {
    if is_comma(text, from) { from + 1 } else { from }
}

/// Whether brackets came with the only item that is in them.
pub(crate) fn came_with(text: &str, items: &Items) -> bool {
    let [item] = items.items.as_slice() else { return false };
    let only_blanks =
        |range: Range<usize>| text.get(range).is_some_and(|text| text.trim().is_empty());
    item.start != items.open
        && only_blanks(items.open..item.start)
        && only_blanks(item.end..items.close)
}

/// The text with parts of it replaced. They come in their order.
fn with(text: &str, parts: &[(Range<usize>, &str)]) -> String {
    let mut out =
        String::with_capacity(text.len() + parts.iter().map(|(_, s)| s.len()).sum::<usize>());
    let mut at = 0;
    for (range, new) in parts {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(new);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
