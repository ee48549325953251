//! Patterns in parameter expansion: what a prefix, a suffix or a part of a text is.

/// Whether a pattern matches a whole text. Takes time in proportion to both lengths.
pub(super) fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last `*` stands, and how much of the text it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        let step = pattern.get(at).and_then(|c| match c {
            '*' => {
                star = Some((at, from));
                Some((1, 0))
            }
            '?' => Some((1, 1)),
            '[' => class(pattern.get(at..)?, *text.get(from)?),
            '\\' if at + 1 < pattern.len() => {
                (pattern.get(at + 1) == text.get(from)).then_some((2, 1))
            }
            c => (Some(c) == text.get(from)).then_some((1, 1)),
        });
        match (step, star) {
            (Some((pattern, text)), _) => (at, from) = (at + pattern, from + text),
            (None, Some((place, taken))) => {
                star = Some((place, taken + 1));
                (at, from) = (place + 1, taken + 1);
            }
            (None, None) => return false,
        }
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

/// A class at the beginning of a pattern: how long it is, if the character is in it.
fn class(pattern: &[char], c: char) -> Option<(usize, usize)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    let close = (first + 1..pattern.len()).find(|at| pattern.get(*at) == Some(&']'));
    let Some(close) = close else { return (c == '[').then_some((1, 1)) };
    let members = pattern.get(first..close)?;
    let mut found = false;
    let mut at = 0;
    while let Some(low) = members.get(at) {
        if let (Some('-'), Some(high)) = (members.get(at + 1), members.get(at + 2)) {
            found |= (*low..=*high).contains(&c);
            at += 3;
        } else {
            found |= *low == c;
            at += 1;
        }
    }
    (found != negated).then_some((close + 1, 1))
}
