//! One pass over a text: where a hint stands, its kind says whether there is a secret.
//!
//! The hints of all kinds are in one table, by their first two characters, that is made when this is compiled: a program
//! that is started for one event waits for nothing, and most texts have none of them.

use std::cmp::Reverse;
use std::ops::Range;

use super::kinds::{GROUPS, Kind, PLAIN, Rule};
use super::shape::{Part, Shape, is_boundary};
use super::text::Text;

/// Where a secret is, and of which kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    /// Its place among [`kinds`].
    pub(super) kind: usize,
}

/// All kinds, in order.
pub(super) fn kinds() -> impl Iterator<Item = &'static Kind> {
    GROUPS.iter().copied().flatten()
}

/// A hint, and the place of its kind.
#[derive(Debug, Clone, Copy)]
struct Hint {
    text: &'static str,
    kind: &'static Kind,
    place: usize,
    /// Its third character, in lower case: most places that have the first two do not have this.
    third: Option<u8>,
}

/// Hints by their first two characters.
struct Index<const HINTS: usize> {
    /// For each pair where its hints begin, and how many there are.
    pairs: [(u16, u16); PAIRS],
    hints: [Hint; HINTS],
    /// Has a bit for the first three characters of each hint.
    triples: [u64; TRIPLES / 64],
}

const PAIRS: usize = 1 << 12;
const TRIPLES: usize = 1 << 15;

/// All hints.
static ALL: Index<{ count(false) }> = Index::new(false);

/// Those that may stand in the middle of a word: most of a text is there, and most hints cannot be.
static INSIDE: Index<{ count(true) }> = Index::new(true);

/// A number below 64 for a byte, the same in either case: the bit that tells capitals from small letters is left out.
const fn code(byte: u8) -> u32 {
    (byte >> 1 & 0x20 | byte & 0x1f) as u32
}

/// The codes of the last three bytes, six bits each, once another one comes.
const fn with(last: u32, byte: u8) -> u32 {
    (last << 6 | code(byte)) & 0x3_ffff
}

/// The bit for three bytes in [`Index::triples`]. Others may have the same.
const fn triple(last: u32) -> usize {
    (last ^ last >> 9) as usize & (TRIPLES - 1)
}

const fn count(inside: bool) -> usize {
    let (mut groups, mut count) = (GROUPS, 0);
    while let [kinds, others @ ..] = groups {
        let mut rest = *kinds;
        while let [kind, others @ ..] = rest {
            if kind.inside || !inside {
                count += kind.hints.len();
            }
            rest = others;
        }
        groups = others;
    }
    count
}

impl<const HINTS: usize> Index<HINTS> {
    // An index that is out of range fails the build.
    #[allow(clippy::indexing_slicing)]
    const fn new(inside: bool) -> Self {
        let nothing = Hint { text: "", kind: &GROUPS[0][0], place: 0, third: None };
        let mut pairs = [(0, 0); PAIRS];
        let mut hints = [nothing; HINTS];
        let mut triples = [0; TRIPLES / 64];
        // First how many each pair has, then where they go.
        let mut filling = false;
        loop {
            let (mut groups, mut place) = (GROUPS, 0);
            while let [kinds, others @ ..] = groups {
                let mut rest = *kinds;
                while let [kind, others @ ..] = rest {
                    let mut texts = if kind.inside || !inside { kind.hints } else { &[] };
                    while let [text, others @ ..] = texts {
                        let letters = text.as_bytes();
                        let pair = with(code(letters[0]), letters[1]);
                        let (begin, count) = &mut pairs[pair as usize];
                        if filling {
                            let third = if letters.len() > 2 {
                                Some(letters[2].to_ascii_lowercase())
                            } else {
                                None
                            };
                            hints[(*begin + *count) as usize] = Hint { text, kind, place, third };
                            let mut byte = 0;
                            while byte < 128 {
                                if third_may_be(text, kind, byte) {
                                    let triple = triple(with(pair, byte));
                                    triples[triple / 64] |= 1 << (triple % 64);
                                }
                                byte += 1;
                            }
                        }
                        *count += 1;
                        texts = others;
                    }
                    rest = others;
                    place += 1;
                }
                groups = others;
            }
            if filling {
                return Self { pairs, hints, triples };
            }
            let (mut at, mut begin) = (0, 0);
            while at < PAIRS {
                let count = pairs[at].1;
                pairs[at] = (begin, 0);
                begin += count;
                at += 1;
            }
            filling = true;
        }
    }

    /// True if a hint may begin with three bytes.
    fn may_have(&self, last: u32) -> bool {
        let triple = triple(last);
        self.triples.get(triple / 64).is_some_and(|bits| bits >> (triple % 64) & 1 == 1)
    }

    /// Returns the hints that begin with the first two of three bytes.
    fn at(&self, last: u32) -> &[Hint] {
        let pair = self.pairs.get(last as usize >> 6);
        let (begin, count) = pair.copied().unwrap_or_default();
        let begin = usize::from(begin);
        self.hints.get(begin..begin + usize::from(count)).unwrap_or_default()
    }
}

/// True if the third character where a hint stands may be this one: its own, or for a hint of two what follows it.
#[allow(clippy::indexing_slicing)] // the length is looked at
const fn third_may_be(hint: &str, kind: &Kind, byte: u8) -> bool {
    let letters = hint.as_bytes();
    if letters.len() > 2 {
        return letters[2].eq_ignore_ascii_case(&byte);
    }
    match kind.rule {
        Rule::Shape(Shape { parts: [Part::Run(set, 1.., _), ..], .. }) => set.has(byte),
        _ => true,
    }
}

impl Hint {
    /// Finds the secret that it hints at, where it stands at a place.
    fn find(&self, text: &Text<'_>, at: usize) -> Option<Range<usize>> {
        let range = at..at + self.text.len();
        let here = text.bytes().get(range.clone())?;
        match &self.kind.rule {
            Rule::Shape(shape) if here == self.text.as_bytes() => shape.find(text, range),
            Rule::Find(find) if here.eq_ignore_ascii_case(self.text.as_bytes()) => {
                find(text, range)
            }
            _ => None,
        }
    }
}

/// Finds all secrets in a text, in order. Those that overlap are one.
pub(super) fn secrets(text: &str) -> Vec<Span> {
    let cx = Text::new(text);
    let mut found: Vec<Span> = Vec::new();
    let bytes = text.as_bytes();
    let (mut last, mut end) = (0, 0);
    let mut rest = bytes.iter();
    while let Some(skipped) = rest.position(|byte| {
        last = with(last, *byte);
        ALL.may_have(last)
    }) {
        end += skipped + 1;
        let Some(at) = end.checked_sub(3) else { continue };
        let hints = if is_boundary(bytes, at) {
            ALL.at(last)
        } else if INSIDE.may_have(last) {
            INSIDE.at(last)
        } else {
            continue;
        };
        let third = bytes.get(at + 2).map(u8::to_ascii_lowercase);
        for hint in hints {
            if hint.third.is_some() && hint.third != third {
                continue;
            }
            if let Some(range) = hint.find(&cx, at) {
                found.push(Span { range, kind: hint.place });
            }
        }
    }
    found.sort_by_key(|span| (span.range.start, span.range.end));
    found.dedup_by(|next, span| {
        let overlap = next.range.start < span.range.end;
        if overlap {
            span.kind = better(span, next);
            span.range.end = span.range.end.max(next.range.end);
        }
        overlap
    });
    found
}

/// Returns the kind of two spans that overlap: a form says more than what stands around it, and a longer one more than a
/// part of it.
fn better(one: &Span, other: &Span) -> usize {
    let plain = kinds().count() - PLAIN.len();
    let rank = |span: &Span| (span.kind >= plain, Reverse(span.range.len()), span.kind);
    rank(one).min(rank(other)).2
}
