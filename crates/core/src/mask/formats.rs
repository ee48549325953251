//! Forms of tokens that tell by themselves what they are. Lengths are lower bounds where a beginning is unmistakable:
//! issuers make their tokens longer from time to time.

pub(super) mod cloud;
pub(super) mod code;
pub(super) mod general;
pub(super) mod models;
pub(super) mod services;
pub(super) mod webhooks;

use super::kinds::{Kind, Rule};
use super::shape::{ALNUM, Body, Part, Set, Shape};

/// The parts of a UUID. Some issuers have all letters in theirs.
const UUID: &[Part] = &[
    ALNUM.exactly(8),
    Part::Is("-"),
    ALNUM.exactly(4),
    Part::Is("-"),
    ALNUM.exactly(4),
    Part::Is("-"),
    ALNUM.exactly(4),
    Part::Is("-"),
    ALNUM.exactly(12),
];

const fn shaped(
    name: &'static str,
    hints: &'static [&'static str],
    parts: &'static [Part],
    body: Body,
) -> Kind {
    let shape = Shape { before: None, parts, body, keep: false };
    Kind { name, hints, inside: false, rule: Rule::Shape(shape) }
}

/// A token whose beginning no other text has.
const fn token(name: &'static str, hints: &'static [&'static str], parts: &'static [Part]) -> Kind {
    shaped(name, hints, parts, Body::Any)
}

/// A token whose beginning names of programs may have.
const fn random(
    name: &'static str,
    hints: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    shaped(name, hints, parts, Body::Random)
}

/// A token with a short beginning that has digits and letters of both cases behind it.
const fn mixed(name: &'static str, hints: &'static [&'static str], parts: &'static [Part]) -> Kind {
    shaped(name, hints, parts, Body::Mixed)
}

/// A token whose beginning is an ordinary word.
const fn strong(
    name: &'static str,
    hints: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    shaped(name, hints, parts, Body::Strong)
}

/// A token with its mark in the middle, behind so many characters of a set.
const fn middle(
    name: &'static str,
    before: (Set, usize, usize),
    hints: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    let shape = Shape { before: Some(before), parts, body: Body::Any, keep: false };
    Kind { name, hints, inside: true, rule: Rule::Shape(shape) }
}

/// A token behind something that may be seen.
const fn behind(
    name: &'static str,
    hints: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    let shape = Shape { before: None, parts, body: Body::Any, keep: true };
    Kind { name, hints, inside: true, rule: Rule::Shape(shape) }
}
