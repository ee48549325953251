//! Frontmatter as nearly everybody writes it, read without a parser of YAML.
//!
//! Lines `key: value`, and a block behind `key: |`: that is most of it. A program that is started for one event and has
//! a hundred files to look at spends most of its time on what else YAML could mean. What is recognised here means what
//! the parser would have made of it, to the byte; tests hold the two against each other. Everything else, and whatever
//! is wrong, is left to the parser.

use granit_parser::ScalarStyle;

use super::{Entry, Scalar, Value};
use crate::source::Span;

/// The keys and values of a text that begins at `offset` of its file, where they are written plainly.
pub(super) fn entries(text: &str, offset: usize) -> Option<Vec<Entry<'_>>> {
    // Other line ends, tabs and what is beyond ASCII have rules of their own.
    // Without an early end, so that many bytes are looked at together.
    let is_odd = |byte: u8| u8::from(!matches!(byte, b'\n' | b' '..=b'~'));
    if !text.ends_with('\n') || text.bytes().fold(0, |odd, byte| odd | is_odd(byte)) != 0 {
        return None;
    }
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(line) = line_at(text, at) {
        let start = offset + at;
        let (key, value) = line.split_once(':')?;
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        if key.is_empty() || !key.bytes().all(is_word) {
            return None;
        }
        let value = value.strip_prefix(' ')?;
        let value_at = start + key.len() + 2;
        at += line.len() + 1;
        let value = if value == "|" {
            let Block { text: block, indent, length } = block(text.get(at..)?)?;
            let span = Span { start: offset + at + indent, end: offset + at + length };
            at += length;
            Scalar { text: block.into(), style: ScalarStyle::Literal, span }
        } else {
            if !is_plain(value) || line_at(text, at).is_some_and(|next| next.starts_with(' ')) {
                return None;
            }
            let span = Span { start: value_at, end: value_at + value.len() };
            Scalar { text: value.into(), style: ScalarStyle::Plain, span }
        };
        let span = Span { start, end: start + key.len() };
        let key = Scalar { text: key.into(), style: ScalarStyle::Plain, span };
        entries.push(Entry { key, value: Value::Scalar(value) });
    }
    (!entries.is_empty()).then_some(entries)
}

/// The line that begins at a place, without its end.
fn line_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    rest.get(..rest.find('\n')?)
}

/// Whether a value on one line is itself and nothing else: it begins with a letter or a number, and nothing in it
/// begins a comment or another value.
fn is_plain(value: &str) -> bool {
    let bytes = value.as_bytes();
    let begins = match bytes {
        [b'-', next, ..] => next.is_ascii_digit(),
        [first, ..] => first.is_ascii_alphanumeric(),
        [] => false,
    };
    begins
        && !value.contains(": ")
        && !value.contains(" #")
        && !bytes.ends_with(b":")
        && !bytes.ends_with(b" ")
}

/// A block behind `|`.
struct Block {
    text: String,
    indent: usize,
    /// How many bytes it takes.
    length: usize,
}

/// How many spaces a line begins with.
fn spaces_of(line: &str) -> usize {
    line.bytes().position(|byte| byte != b' ').unwrap_or(line.len())
}

/// The block that a text begins with. Its first line says how far it is indented.
fn block(rest: &str) -> Option<Block> {
    let first = line_at(rest, 0)?;
    let indent = spaces_of(first);
    if indent == 0 || first.len() == indent {
        return None;
    }
    let mut text = String::with_capacity(rest.len().min(4096));
    let mut taken = 0;
    let mut empty = 0;
    while let Some(line) = line_at(rest, taken) {
        if line.is_empty() {
            empty += 1;
        } else {
            let spaces = spaces_of(line);
            if spaces == line.len() || (spaces > 0 && spaces < indent) {
                // A line of spaces alone, or one that is indented less.
                return None;
            }
            if spaces == 0 {
                break;
            }
            for _ in 0..empty {
                text.push('\n');
            }
            empty = 0;
            text.push_str(line.get(indent..)?);
            text.push('\n');
        }
        taken += line.len() + 1;
    }
    // Empty lines at its end are seldom, and where they belong to is the parser's to say.
    (empty == 0).then_some(Block { text, indent, length: taken })
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::{parsed, parts};
    use super::*;
    use crate::diagnostic::Report;
    use crate::source::SourceFile;

    /// Whether it is recognised; then it is what the parser makes of it.
    fn agrees(text: &str) -> bool {
        let file = Arc::new(SourceFile::new("hook.md", text));
        let mut report = Report::new(Arc::clone(&file));
        let Some(parts) = parts(&file, &mut report) else { return false };
        let span = parts.frontmatter;
        let within = text.get(span.start..span.end).unwrap();
        let Some(plain) = entries(within, span.start) else { return false };
        let by_parser = parsed(&file, span, &mut report);
        assert!(!report.has_errors(), "{text}: {:?}", report.into_diagnostics());
        assert_eq!(format!("{plain:?}"), format!("{:?}", by_parser.unwrap()), "{text}");
        true
    }

    #[test]
    fn our_own_hooks_are_written_plainly() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hooks");
        let mut recognised = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            recognised += usize::from(agrees(&fs::read_to_string(path).unwrap()));
        }
        assert!(recognised > 0);
    }

    #[test]
    fn what_is_plain_is_recognised() {
        for text in [
            "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nbody\n",
            "---\npriority: -50\nevent: tool.pre\nwhen: payload[\"name\"] == \"x\"\nscript: |\n    a\n\n    b\ntimeout: 2s\n---\n",
            "---\nscript: |\n a: b # c\n---\n",
        ] {
            assert!(agrees(text), "{text}");
        }
    }

    #[test]
    fn the_rest_is_left_to_the_parser() {
        for text in [
            "---\n---\n",
            "---\nevent: \"tool.pre\"\n---\n",
            "---\nevent: tool.pre # why\n---\n",
            "---\nevent: a: b\n---\n",
            "---\nevent: tool.pre\n  more\n---\n",
            "---\n# comment\nevent: tool.pre\n---\n",
            "---\nevent: [a]\n---\n",
            "---\nscript: |-\n  a\n---\n",
            "---\nscript: |\n\n  a\n---\n",
            "---\nscript: |\n  a\n b\n---\n",
            "---\nscript: |\n  a\n\n---\n",
            "---\nscript: |\n  ä\n---\n",
            "---\nscript: |\n\ta\n---\n",
            "---\r\nevent: tool.pre\r\n---\r\n",
            "---\nevent:tool.pre\n---\n",
        ] {
            assert!(!agrees(text), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_recognised_is_the_same(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "event: tool.pre", "priority: 1", "priority: -1", "when: payload[\"a\"] == 'b'", "script: |",
                    "  a", "  b: c", "    d", " e", "", "   ", "timeout: 2s", "description: it's \"so\", - [x] {y}",
                    "description: a: b", "description: a #b", "description: a#b", "x: y:", "x: 'q'", "x: -", "x: - y",
                    "x: ?y", "x: 1:2", "x: yes", "x: null", "x: &a", "x: a&b*c!d", "x: |2", "x: >", "- a", "x", "x :y",
                    "x:  y", "x: y ", "x: ~", "x: 0x1f", "  - f", "  # g", "  |", "x: a\\n", "x: `a", "x: a`", "x: %a",
                    "x: @a", "...",
                ]),
                0..7,
            ),
        ) {
            agrees(&format!("---\n{}\n---\n", lines.join("\n")));
        }
    }
}
