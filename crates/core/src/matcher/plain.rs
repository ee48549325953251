//! Patterns that need no regular expression: names, beginnings and ends of names, and lists of
//! them. Most patterns that people write are of this kind; each is a hash instead of an automaton.
//!
//! What is recognised here must mean exactly what the expression means, so whatever is not
//! certain is left to the expression. `tests` below hold one against the other.

/// Longer patterns are left to the expression, whose compilation says whether they are too large.
/// A `.` takes a kilobyte when it is compiled, so patterns with one are long sooner; what is
/// recognised here would always have been small enough.
const LONGEST: usize = 8 << 10;
const LONGEST_WITH_WILDCARDS: usize = 1 << 10;
/// The most that the alternatives of a glob may be when they are written out.
const LONGEST_WRITTEN_OUT: usize = 8 << 10;
/// Groups in groups; the expression has a limit of its own, which this one stays below.
const DEEPEST: usize = 4;

/// One thing that a plain pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Every text.
    Everything,
    /// This text.
    Name(String),
    /// Texts that begin so, and how they go on.
    Prefix(String, Rest),
    /// Texts that end so, and what is before.
    Suffix(String, Rest),
}

impl Piece {
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Name(name) => name == text,
            Self::Prefix(prefix, rest) => {
                text.strip_prefix(prefix.as_str()).is_some_and(|text| rest.allows(text))
            }
            Self::Suffix(suffix, rest) => {
                text.strip_suffix(suffix.as_str()).is_some_and(|text| rest.allows(text))
            }
        }
    }
}

/// What a wildcard stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// `.*`: anything.
    Any,
    /// `.+`: anything but nothing.
    Some,
    /// `*` of a glob: anything within a segment.
    Segment,
}

impl Rest {
    pub(crate) fn allows(self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Some => !text.is_empty(),
            Self::Segment => !text.contains('/'),
        }
    }

    fn after(self, prefix: String) -> Piece {
        if self == Self::Any && prefix.is_empty() {
            Piece::Everything
        } else {
            Piece::Prefix(prefix, self)
        }
    }
}

fn is_short(text: &str) -> bool {
    text.len() <= if text.contains(['.', '*']) { LONGEST_WITH_WILDCARDS } else { LONGEST }
}

/// What a regular expression that has to match from end to end matches, where it is plain.
pub(super) fn of_regex(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::with_capacity(1);
    (is_short(text) && alternatives(text, 0, &mut pieces)).then_some(pieces)
}

/// Adds what each alternative matches; false where one is not plain.
fn alternatives(text: &str, depth: usize, pieces: &mut Vec<Piece>) -> bool {
    let (mut open, mut from) = (0_usize, 0);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'(' => open += 1,
            b')' => match open.checked_sub(1) {
                Some(fewer) => open = fewer,
                None => return false,
            },
            b'|' if open == 0 => {
                if !text.get(from..at).is_some_and(|text| alternative(text, depth, pieces)) {
                    return false;
                }
                from = at + 1;
            }
            _ => {}
        }
    }
    open == 0 && text.get(from..).is_some_and(|text| alternative(text, depth, pieces))
}

fn alternative(text: &str, depth: usize, pieces: &mut Vec<Piece>) -> bool {
    // Everything is matched from end to end, so saying so adds nothing.
    let text = text.strip_prefix('^').unwrap_or(text);
    let text = match text.strip_suffix('$') {
        Some(before) if !ends_escaped(before) => before,
        _ => text,
    };
    if let Some(group) = text.strip_prefix('(') {
        // Parentheses are balanced here, so where the first one closes in the middle, what is
        // between the outer ones is not.
        let Some(inner) = group.strip_suffix(')').filter(|_| depth < DEEPEST) else { return false };
        let inner = match inner.strip_prefix("?:") {
            Some(inner) => inner,
            None if inner.starts_with('?') => return false,
            None => inner,
        };
        return alternatives(inner, depth + 1, pieces);
    }
    let Some(piece) = piece(text) else { return false };
    pieces.push(piece);
    true
}

/// Whether the character behind this text is escaped by its end.
fn ends_escaped(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn is_meta(c: char) -> bool {
    matches!(c, '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$')
}

/// An alternative without groups.
fn piece(text: &str) -> Option<Piece> {
    let any_or_some = |repeated: Option<char>| match repeated {
        Some('*') => Some(Rest::Any),
        Some('+') => Some(Rest::Some),
        _ => None,
    };
    let (head, body) = match text.strip_prefix('.') {
        Some(rest) => (Some(any_or_some(rest.chars().next())?), rest.get(1..)?),
        None => (None, text),
    };
    let mut literal = String::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => literal.push(chars.next().filter(|c| is_meta(*c) || matches!(c, '-' | '/'))?),
            '.' => {
                let rest = any_or_some(chars.next())?;
                let is_last = chars.next().is_none();
                return (is_last && head.is_none()).then(|| rest.after(literal));
            }
            meta if is_meta(meta) => return None,
            plain => literal.push(plain),
        }
    }
    Some(match head {
        None => Piece::Name(literal),
        Some(rest) if literal.is_empty() => rest.after(literal),
        Some(rest) => Piece::Suffix(literal, rest),
    })
}

/// What a glob matches, where it is plain.
pub(super) fn of_glob(text: &str) -> Option<Vec<Piece>> {
    if !is_short(text) {
        return None;
    }
    let Some((before, group)) = text.split_once('{') else {
        return match text.strip_suffix("**") {
            Some("") => Some(vec![Piece::Everything]),
            Some(prefix) if prefix.ends_with('/') => {
                is_literal(prefix).then(|| vec![Rest::Any.after(prefix.to_owned())])
            }
            _ => Some(vec![segments(text)?]),
        };
    };
    let (inside, after) = group.split_once('}')?;
    let mut written_out = 0;
    let pieces = inside.split(',').map(|alternative| {
        let text = format!("{before}{alternative}{after}");
        written_out += text.len();
        // What globs make of an empty alternative is theirs to say.
        (!alternative.is_empty() && written_out <= LONGEST_WRITTEN_OUT)
            .then(|| segments(&text))
            .flatten()
    });
    pieces.collect()
}

/// A glob with no more than one `*`, at its beginning or end.
fn segments(text: &str) -> Option<Piece> {
    let piece = if let Some(prefix) = text.strip_suffix('*') {
        (prefix, Piece::Prefix(prefix.to_owned(), Rest::Segment))
    } else if let Some(suffix) = text.strip_prefix('*') {
        (suffix, Piece::Suffix(suffix.to_owned(), Rest::Segment))
    } else {
        (text, Piece::Name(text.to_owned()))
    };
    is_literal(piece.0).then_some(piece.1)
}

/// Whether no character of a glob is special.
fn is_literal(glob: &str) -> bool {
    !glob.contains(['\\', '*', '?', '[', ']', '{', '}'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::expression::Expression;
    use super::*;

    fn name(text: &str) -> Piece {
        Piece::Name(text.to_owned())
    }

    #[test]
    fn plain_expressions_are_recognised() {
        let prefix = |text: &str, rest| Piece::Prefix(text.to_owned(), rest);
        let suffix = |text: &str, rest| Piece::Suffix(text.to_owned(), rest);
        for (text, pieces) in [
            ("run_command", vec![name("run_command")]),
            ("^run_command$", vec![name("run_command")]),
            ("a|b|é c", vec![name("a"), name("b"), name("é c")]),
            ("(a|b)", vec![name("a"), name("b")]),
            ("^(?:a|(b))$|c", vec![name("a"), name("b"), name("c")]),
            ("", vec![name("")]),
            ("a|", vec![name("a"), name("")]),
            (r"a\.b\-c\$\/d\\", vec![name(r"a.b-c$/d\")]),
            (".*", vec![Piece::Everything]),
            (".+", vec![prefix("", Rest::Some)]),
            ("a|view_.*", vec![name("a"), prefix("view_", Rest::Any)]),
            ("view_.+", vec![prefix("view_", Rest::Some)]),
            (".*_file", vec![suffix("_file", Rest::Any)]),
            ("docs/.*", vec![prefix("docs/", Rest::Any)]),
        ] {
            assert_eq!(of_regex(text), Some(pieces), "{text}");
        }
        for text in [
            "a.b",
            "a?",
            "[a]",
            "a.*b",
            ".*a.*",
            "a.*?",
            "(?i)a",
            "(?i:a)",
            "(a)(b)",
            "(a",
            "a)",
            "a)|(b",
            "a{2}",
            r"\d",
            r"a\",
            "^^a",
            "a$$",
            "a^",
            "((((((a))))))",
            "(?P<n>a)",
            "*",
            ".",
            "(a|b)c",
            "a(b)",
            "(a)*",
            "{",
            "]",
        ] {
            assert_eq!(of_regex(text), None, "{text}");
        }
    }

    #[test]
    fn plain_globs_are_recognised() {
        let prefix = |text: &str, rest| Piece::Prefix(text.to_owned(), rest);
        for (text, pieces) in [
            ("file_read", vec![name("file_read")]),
            ("a.b(c)|d", vec![name("a.b(c)|d")]),
            ("file_edit_*", vec![prefix("file_edit_", Rest::Segment)]),
            ("*", vec![prefix("", Rest::Segment)]),
            ("**", vec![Piece::Everything]),
            ("docs/**", vec![prefix("docs/", Rest::Any)]),
            ("*_é", vec![Piece::Suffix("_é".to_owned(), Rest::Segment)]),
            ("{a,b}", vec![name("a"), name("b")]),
            ("file_{read,edit_*}", vec![name("file_read"), prefix("file_edit_", Rest::Segment)]),
        ] {
            assert_eq!(of_glob(text), Some(pieces), "{text}");
        }
        for text in [
            "a**",
            "**a",
            "***",
            "**/a",
            "a*b",
            "*a*",
            "a?",
            "[a]",
            r"a\*",
            "{a",
            "a}",
            "{a,}",
            "{,a}",
            "{}",
            "{{a},b}",
            "{a}{b}",
            "{docs/*,x}*",
            "a/**/b",
        ] {
            assert_eq!(of_glob(text), None, "{text}");
        }
    }

    /// What is recognised at its longest would have compiled, so no error is lost by it.
    #[test]
    fn what_is_recognised_is_small_enough() {
        for unit in ["a.*|", "a.+|", ".*|", ".*a|", "a|", "é|", "(a)|"] {
            let limit = if unit.contains('.') { LONGEST_WITH_WILDCARDS } else { LONGEST };
            let longest = unit.repeat(limit / unit.len());
            assert!(of_regex(&longest).is_some());
            assert!(Expression::of_regex(&longest).is_ok(), "{unit}");
            assert_eq!(of_regex(&longest.repeat(2)), None);
        }
        let names = format!("{{{}}}", vec!["a*"; 340].join(","));
        assert!(of_glob(&names).is_some());
        assert!(Expression::of_glob(&names).is_ok());
        let written_out = format!("{}{{{}}}", "x".repeat(200), vec!["a"; 200].join(","));
        assert_eq!(of_glob(&written_out), None);
    }

    /// Texts that are near to being plain patterns, in parts that are easily mistaken.
    fn patterns() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec![
            "a",
            "b",
            "ab",
            "é",
            "/",
            "_",
            ".",
            ".*",
            ".+",
            "*",
            "**",
            "?",
            "|",
            "(",
            ")",
            "(?:",
            "(?i)",
            "(?s)",
            "(?-s)",
            "(?x)",
            "(?m)",
            "[ab]",
            "[^/]",
            "[",
            "]",
            "{",
            "}",
            "{a,b}",
            "{2}",
            ",",
            "^",
            "$",
            r"\",
            r"\.",
            r"\\",
            r"\/",
            r"\-",
            r"\n",
            r"\b",
            "\n",
            " ",
            "#",
            "-",
            "&",
            "~",
            "<",
            "a|b",
            "(a|b)",
            "^a$",
            "run_command",
        ]);
        prop::collection::vec(parts, 0..7).prop_map(|parts| parts.concat())
    }

    fn texts() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec![
            "a",
            "b",
            "ab",
            "é",
            "/",
            "_",
            ".",
            "*",
            "|",
            "(",
            ")",
            "\n",
            " ",
            "#",
            "\\",
            "-",
            "$",
            "^",
            "A",
            ",",
            "{",
            "}",
            "run_command",
        ]);
        prop::collection::vec(parts, 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn a_plain_pattern_means_what_the_expression_means(
            pattern in patterns(),
            texts in prop::collection::vec(texts(), 1..12),
        ) {
            for (pieces, expression) in [
                (of_regex(&pattern), Expression::of_regex(&pattern)),
                (of_glob(&pattern), Expression::of_glob(&pattern)),
            ] {
                let Some(pieces) = pieces else { continue };
                let expression = expression.unwrap();
                let own = std::iter::once(&pattern);
                for text in texts.iter().chain(own) {
                    let plain = pieces.iter().any(|piece| piece.matches(text));
                    prop_assert_eq!(plain, expression.matches(text), "{:?} {:?}", pattern, text);
                }
            }
        }

        #[test]
        fn what_is_taken_to_be_valid_unseen_is(pattern in patterns()) {
            let alone = regex::Regex::new(&pattern);
            let whole = regex::Regex::new(&format!("^(?:{pattern})$"));
            let expected = alone.is_ok() && whole.is_ok();
            prop_assert_eq!(Expression::of_regex(&pattern).is_ok(), expected);
        }
    }
}
