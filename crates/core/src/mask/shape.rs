//! Shapes of tokens: which characters follow a beginning, and how many.

use std::ops::Range;

use super::text::Text;
use super::value::{is_hole, is_mixed, is_random, is_strong};

/// A set of ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Set(u128);

/// A part of a token.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// All characters of a set that stand here; their number is within these bounds.
    Run(Set, usize, usize),
    /// This text.
    Is(&'static str),
}

/// More than any token has.
const LONGEST: usize = usize::MAX;

/// How much of a token is looked at for what it is made of.
const ENOUGH: usize = 256;

pub(super) const LOWER: Set = Set::of(b'a', b'z');
pub(super) const UPPER: Set = Set::of(b'A', b'Z');
pub(super) const DIGIT: Set = Set::of(b'0', b'9');
/// Hexadecimal digits in lower case.
pub(super) const HEX: Set = DIGIT.or(Set::of(b'a', b'f'));
/// Hexadecimal digits in either case.
pub(super) const ANY_HEX: Set = HEX.or(Set::of(b'A', b'F'));
/// Lower case letters and digits.
pub(super) const LOWER_NUM: Set = LOWER.or(DIGIT);
/// Upper case letters and digits.
pub(super) const UPPER_NUM: Set = UPPER.or(DIGIT);
pub(super) const ALNUM: Set = LOWER.or(UPPER_NUM);
/// What names in programs are made of.
pub(super) const WORD: Set = ALNUM.and(b"_");
/// Base64 for addresses.
pub(super) const URL64: Set = WORD.and(b"-");
/// Base64 with its padding.
pub(super) const BASE64: Set = ALNUM.and(b"+/=");
/// Both kinds of Base64.
pub(super) const ANY64: Set = BASE64.and(b"_-");
pub(super) const DOTTED: Set = ANY64.and(b".");
/// What an address may have behind its host.
pub(super) const PATH: Set = ANY64.and(b".~@%");

impl Set {
    const fn of(first: u8, last: u8) -> Self {
        let (mut bits, mut byte) = (0, first);
        while byte <= last {
            bits |= 1 << byte;
            byte += 1;
        }
        Self(bits)
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn and(self, others: &[u8]) -> Self {
        let mut bits = self.0;
        let mut rest = others;
        while let [byte, others @ ..] = rest {
            bits |= 1 << *byte;
            rest = others;
        }
        Self(bits)
    }

    pub(super) const fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }

    /// So many, and no more.
    pub(super) const fn exactly(self, count: usize) -> Part {
        Part::Run(self, count, count)
    }

    /// So many or more.
    pub(super) const fn least(self, count: usize) -> Part {
        Part::Run(self, count, LONGEST)
    }

    pub(super) const fn within(self, least: usize, most: usize) -> Part {
        Part::Run(self, least, most)
    }

    /// Returns how many characters of the set begin the text.
    pub(super) fn run(self, text: &[u8]) -> usize {
        text.iter().take_while(|byte| self.has(**byte)).count()
    }

    /// Returns how many characters of the set end the text.
    pub(super) fn run_back(self, text: &[u8]) -> usize {
        text.iter().rev().take_while(|byte| self.has(**byte)).count()
    }
}

/// What has to hold for the characters of a token beside its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Its beginning tells enough: anything but `xxxx`, and no words joined by `-` or `_`.
    Any,
    /// Digits, or letters of both cases.
    Random,
    /// Digits and letters of both cases.
    Mixed,
    /// As many changes between digits and letters as in a random text: names of programs can begin
    /// like this one.
    Strong,
}

impl Body {
    fn fits(self, body: &str) -> bool {
        let body = body.get(..body.floor_char_boundary(ENOUGH)).unwrap_or(body);
        let joined = body.contains(['-', '_', '.', '/']);
        !is_hole(body)
            && match self {
                Self::Any => !joined || is_random(body),
                Self::Random => is_random(body),
                Self::Mixed => is_mixed(body),
                Self::Strong => is_strong(body),
            }
    }
}

/// The form of a token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// What stands before the hint, and belongs to the token.
    pub(super) before: Option<(Set, usize, usize)>,
    pub(super) parts: &'static [Part],
    pub(super) body: Body,
    /// True if the hint tells what it is and may be seen, as the host of an address.
    pub(super) keep: bool,
}

impl Shape {
    /// Returns where the token is whose hint stands at `hint`.
    pub(super) fn find(&self, text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
        let bytes = text.bytes();
        let start = match self.before {
            Some((set, least, most)) => {
                let run = set.run_back(bytes.get(hint.start.saturating_sub(most + 1)..hint.start)?);
                if run < least || run > most {
                    return None;
                }
                hint.start - run
            }
            None => hint.start,
        };
        if !is_boundary(bytes, start) && !self.keep {
            return None;
        }
        let (end, closed) = self.end(text, hint.end)?;
        // A shape of a fixed length ends where its word does.
        let next = bytes.get(end).copied();
        if closed && next.is_some_and(|byte| WORD.has(byte)) {
            return None;
        }
        if is_in_blob(bytes, &(start..end)) {
            return None;
        }
        let body = if self.before.is_some() { start } else { hint.end };
        let fits = self.parts.is_empty() || self.body.fits(text.all.get(body..end)?);
        fits.then_some(if self.keep { hint.end..end } else { start..end })
    }

    /// Returns where the parts end, and whether the last one has a fixed length.
    fn end(&self, text: &Text<'_>, from: usize) -> Option<(usize, bool)> {
        let bytes = text.bytes();
        let mut at = from;
        let mut closed = true;
        for part in self.parts {
            match *part {
                Part::Is(text) => {
                    if !bytes.get(at..)?.starts_with(text.as_bytes()) {
                        return None;
                    }
                    at += text.len();
                }
                Part::Run(set, least, most) => {
                    let mut end = text.run(set, at);
                    // The full stop of a sentence is no part of it.
                    while end > at && bytes.get(end - 1) == Some(&b'.') {
                        end -= 1;
                    }
                    if end - at < least || end - at > most {
                        return None;
                    }
                    closed = most < LONGEST;
                    at = end;
                }
            }
        }
        Some((at, closed))
    }
}

/// True if a range is a part of a long text in Base64, where every beginning occurs by chance.
fn is_in_blob(bytes: &[u8], range: &Range<usize>) -> bool {
    const LONG: usize = 64;
    let before = bytes.get(range.start.saturating_sub(LONG)..range.start).unwrap_or_default();
    let after = bytes.get(range.end..).unwrap_or_default();
    let after = after.get(..LONG).unwrap_or(after);
    BASE64.run_back(before) == LONG || BASE64.run(after) == LONG
}

/// True if a word may begin here: behind no other letter, or behind an escape.
pub(super) fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let word = |byte: Option<&u8>| byte.is_some_and(|byte| WORD.has(*byte));
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    !word(before) || !word(bytes.get(at)) || is_behind_escape(bytes, at)
}

/// True behind `\n`, `%3D` and a colour of a terminal, which end with a letter.
fn is_behind_escape(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at.saturating_sub(12)..at).unwrap_or_default() {
        [.., b'\\', b'n' | b't' | b'r'] => true,
        [.., b'%', high, low] => ANY_HEX.has(*high) && ANY_HEX.has(*low),
        [rest @ .., b'm'] => {
            let codes = DIGIT.and(b";").run_back(rest);
            rest.get(..rest.len() - codes).is_some_and(|rest| rest.ends_with(b"["))
        }
        _ => false,
    }
}
