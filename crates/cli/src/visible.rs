//! Text of others, shown so that nothing in it hides or reorders what is read.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that show nothing, or that change how others are shown.
const HIDDEN: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\t' || HIDDEN.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// A line with its control, bidirectional and invisible characters written out: `\u{202e}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            let _ = write!(shown, "{}", c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// A command in one line: its line ends are shown as `⏎`, and spaces in a row as one.
pub(crate) fn in_one_line(command: &str) -> String {
    let words = |line: &str| {
        let parts = line.split([' ', '\t']).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = command.trim().split_terminator('\n').map(words).collect();
    visible(&lines.join(" ⏎ ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_shown() {
        for (text, expected) in [
            ("plain, ü, 漢字\tx", "plain, ü, 漢字\tx"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("\u{1b}[2K\rok\u{8}", "\\u{1b}[2K\\u{d}ok\\u{8}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{e0061}\u{9b}", "\\u{e0061}\\u{9b}"),
        ] {
            assert_eq!(visible(text), expected);
        }
        assert_eq!(in_one_line("  a   b \n\tc\u{202e}\n"), "a b ⏎ c\\u{202e}");
        assert_eq!(in_one_line("a\u{2028}b\u{a0}c"), "a\\u{2028}b\u{a0}c");
    }
}
