//! Evaluating the native form.
//!
//! Each node is visited at most once, and each operation looks at a part of the payload at most once for each element
//! of the list that it is compared with. Texts are searched in linear time. Values that nest deeper than [`DEEPEST`] are
//! left to Starlark.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::CondError;
use super::compile::{Key, Node, Order, TextOp};
use super::view::{Elements, Payload, View};
use crate::analysis::native::{self, Frame};

/// How deep values are compared.
const DEEPEST: u32 = 100;

pub(in crate::analysis) type Outcome<T> = Result<T, CondError>;

/// What an expression is evaluated on.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct Given<'a, 'l> {
    pub(in crate::analysis) event: &'a str,
    pub(in crate::analysis) payload: &'a dyn Payload,
    /// What the function of a script has, where it stands in one.
    pub(in crate::analysis) frame: Option<&'l Frame<'a, 'l>>,
}

pub(super) fn holds(root: &Node, event: &str, payload: &dyn Payload) -> Outcome<bool> {
    eval(root, Given { event, payload, frame: None }).and_then(|value| truth(&value))
}

pub(in crate::analysis) fn eval<'a>(node: &'a Node, given: Given<'a, '_>) -> Outcome<View<'a>> {
    Ok(match node {
        Node::Constant(constant) => constant.view(),
        Node::Payload => View::Dict(given.payload),
        Node::Event => View::Str(Cow::Borrowed(given.event)),
        // What is not assigned raises, in words that are the language's.
        Node::Local(place) => {
            given.frame.and_then(|frame| frame.local(*place)).ok_or(CondError::NotNative)?
        }
        Node::Script(node) => native::eval(node, given)?,
        Node::Index(of, key) => index(eval(of, given)?, key)?,
        Node::Get(of, key, default) => {
            let of = eval(of, given)?;
            // Arguments are evaluated whether or not they are needed, and can raise.
            let default = default.as_ref().map(|default| eval(default, given)).transpose()?;
            match of {
                View::Dict(of) => of.get(key).or(default).unwrap_or(View::None),
                other => return Err(wrong(".get", &other)),
            }
        }
        Node::In { item, of, not } => {
            let item = eval(item, given)?;
            View::Bool(contains(&item, &eval(of, given)?)? != *not)
        }
        Node::Equal { left, right, not } => {
            let left = eval(left, given)?;
            View::Bool(equal(&left, &eval(right, given)?, 0)? != *not)
        }
        Node::Compare(left, order, right) => {
            let left = eval(left, given)?;
            let ordering = compare(&left, &eval(right, given)?, 0)?;
            View::Bool(match order {
                Order::Less => ordering == Ordering::Less,
                Order::LessOrEqual => ordering != Ordering::Greater,
                Order::Greater => ordering == Ordering::Greater,
                Order::GreaterOrEqual => ordering != Ordering::Less,
            })
        }
        Node::And(left, right) => {
            let left = eval(left, given)?;
            if truth(&left)? { eval(right, given)? } else { left }
        }
        Node::Or(left, right) => {
            let left = eval(left, given)?;
            if truth(&left)? { left } else { eval(right, given)? }
        }
        Node::Not(of) => View::Bool(!truth(&eval(of, given)?)?),
        Node::If(parts) => {
            let [condition, then, otherwise] = parts.as_ref();
            if truth(&eval(condition, given)?)? {
                eval(then, given)?
            } else {
                eval(otherwise, given)?
            }
        }
        Node::Affix { of, any_of, end } => {
            let what = if *end { ".endswith" } else { ".startswith" };
            let text = text(eval(of, given)?, what)?;
            View::Bool(any_of.iter().any(|affix| {
                if *end { text.ends_with(&**affix) } else { text.starts_with(&**affix) }
            }))
        }
        Node::Text(of, op) => View::Str(apply(*op, eval(of, given)?)?),
        Node::Len(of) => {
            let of = eval(of, given)?;
            let length = match &of {
                View::Str(text) => text.chars().count(),
                View::List(items) | View::Tuple(items) => items.len(),
                View::Dict(of) => of.len(),
                other => return Err(wrong("len", other)),
            };
            View::Int(i128::try_from(length).unwrap_or(i128::MAX))
        }
        Node::Type(of) => match eval(of, given)? {
            View::Other => return Err(CondError::NotNative),
            value => View::Str(Cow::Borrowed(type_of(&value))),
        },
    })
}

fn type_of(value: &View<'_>) -> &'static str {
    match value {
        View::None => "NoneType",
        View::Bool(_) => "bool",
        View::Int(_) => "int",
        View::Float(_) => "float",
        View::Str(_) => "string",
        View::List(_) => "list",
        View::Tuple(_) => "tuple",
        View::Dict(_) => "dict",
        View::Record(_) => "struct",
        View::Other => "value",
    }
}

pub(in crate::analysis) fn wrong(what: &'static str, with: &View<'_>) -> CondError {
    match with {
        View::Other => CondError::NotNative,
        _ => CondError::WrongType { what, with: format!("`{}`", type_of(with)) },
    }
}

fn wrong_pair(what: &'static str, left: &View<'_>, right: &View<'_>) -> CondError {
    if matches!(left, View::Other) || matches!(right, View::Other) {
        return CondError::NotNative;
    }
    let with = format!("`{}` and `{}`", type_of(left), type_of(right));
    CondError::WrongType { what, with }
}

pub(in crate::analysis) fn truth(value: &View<'_>) -> Outcome<bool> {
    Ok(match value {
        View::None => false,
        View::Bool(it) => *it,
        View::Int(it) => *it != 0,
        View::Float(it) => *it != 0.0,
        View::Str(it) => !it.is_empty(),
        View::List(it) | View::Tuple(it) => !it.is_empty(),
        View::Dict(it) => !it.is_empty(),
        View::Record(_) => true,
        View::Other => return Err(CondError::NotNative),
    })
}

fn text<'a>(value: View<'a>, what: &'static str) -> Outcome<Cow<'a, str>> {
    match value {
        View::Str(text) => Ok(text),
        other => Err(wrong(what, &other)),
    }
}

fn apply(op: TextOp, value: View<'_>) -> Outcome<Cow<'_, str>> {
    let trimmed = |text: Cow<'_, str>, trim: fn(&str) -> &str| trim(&text).to_owned();
    Ok(match op {
        TextOp::Lower => Cow::Owned(text(value, ".lower")?.to_lowercase()),
        TextOp::Upper => Cow::Owned(text(value, ".upper")?.to_uppercase()),
        TextOp::Strip | TextOp::StripStart | TextOp::StripEnd => {
            let (what, trim): (_, fn(&str) -> &str) = match op {
                TextOp::StripStart => (".lstrip", str::trim_start),
                TextOp::StripEnd => (".rstrip", str::trim_end),
                _ => (".strip", str::trim),
            };
            match text(value, what)? {
                Cow::Borrowed(text) => Cow::Borrowed(trim(text)),
                owned @ Cow::Owned(_) => Cow::Owned(trimmed(owned, trim)),
            }
        }
    })
}

pub(in crate::analysis) fn index<'a>(of: View<'a>, key: &Key) -> Outcome<View<'a>> {
    match (of, key) {
        (View::Dict(of), Key::Str(key)) => {
            of.get(key).ok_or_else(|| CondError::NoKey(key.as_ref().to_owned()))
        }
        (View::Dict(_), Key::Int(key)) => Err(CondError::NoKey(key.to_string())),
        (View::List(items) | View::Tuple(items), Key::Int(index)) => place(*index, items.len())
            .and_then(|at| items.at(at))
            .ok_or(CondError::OutOfRange(*index)),
        (View::Str(text), Key::Int(index)) => {
            let found = if *index >= 0 {
                usize::try_from(*index).ok().and_then(|at| text.chars().nth(at))
            } else {
                usize::try_from(index.unsigned_abs() - 1)
                    .ok()
                    .and_then(|at| text.chars().rev().nth(at))
            };
            let found = found.ok_or(CondError::OutOfRange(*index))?;
            Ok(View::Str(Cow::Owned(found.to_string())))
        }
        (other, _) => Err(wrong("[…]", &other)),
    }
}

/// An index as a place from 0; negative ones count from the end.
fn place(index: i32, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let index = i64::from(index);
    let place = if index < 0 { length + index } else { index };
    usize::try_from(place).ok().filter(|_| place < length)
}

fn contains(item: &View<'_>, of: &View<'_>) -> Outcome<bool> {
    match of {
        View::List(items) | View::Tuple(items) => {
            for element in items.iter() {
                if equal(&element, item, 0)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        View::Dict(of) => match item {
            View::Str(key) => match of.get(key) {
                // What is there may only look so.
                Some(View::Other) => Err(CondError::NotNative),
                found => Ok(found.is_some()),
            },
            // All keys are texts; but what cannot be a key raises.
            _ => hashable(item).map(|()| false),
        },
        View::Str(text) => match item {
            View::Str(part) => Ok(text.contains(&**part)),
            other => Err(wrong_pair("in", other, of)),
        },
        _ => Err(wrong_pair("in", item, of)),
    }
}

fn hashable(value: &View<'_>) -> Outcome<()> {
    match value {
        View::Record(_) => Err(CondError::NotNative),
        View::List(_) | View::Dict(_) | View::Other => Err(wrong("in", value)),
        View::Tuple(items) => items.iter().try_for_each(|item| hashable(&item)),
        _ => Ok(()),
    }
}

fn equal(left: &View<'_>, right: &View<'_>, depth: u32) -> Outcome<bool> {
    if depth > DEEPEST {
        return Err(CondError::NotNative);
    }
    Ok(match (left, right) {
        (View::Other | View::Record(_), _) | (_, View::Other | View::Record(_)) => {
            return Err(CondError::NotNative);
        }
        (View::None, View::None) => true,
        (View::Bool(left), View::Bool(right)) => left == right,
        (View::Int(_) | View::Float(_), View::Int(_) | View::Float(_)) => {
            numbers(left, right) == Some(Ordering::Equal)
        }
        (View::Str(left), View::Str(right)) => left == right,
        (View::List(left), View::List(right)) | (View::Tuple(left), View::Tuple(right)) => {
            items_equal(left, right, depth + 1)?
        }
        (View::Dict(left), View::Dict(right)) => dicts_equal(*left, *right, depth + 1)?,
        _ => false,
    })
}

fn items_equal(left: &Elements<'_>, right: &Elements<'_>, depth: u32) -> Outcome<bool> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for at in 0..left.len() {
        let same = match (left.at(at), right.at(at)) {
            (Some(left), Some(right)) => equal(&left, &right, depth)?,
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn dicts_equal(left: &dyn Payload, right: &dyn Payload, depth: u32) -> Outcome<bool> {
    if left.len() != right.len() {
        return Ok(false);
    }
    let mut same = Ok(true);
    left.each(&mut |key, value| {
        same = match right.get(key) {
            Some(other) => equal(&value, &other, depth),
            None => Ok(false),
        };
        same == Ok(true)
    });
    same
}

/// How two numbers compare. A whole number and another are compared as floating-point numbers.
fn numbers(left: &View<'_>, right: &View<'_>) -> Option<Ordering> {
    if let (View::Int(left), View::Int(right)) = (left, right) {
        return Some(left.cmp(right));
    }
    #[allow(clippy::cast_precision_loss)]
    let float = |value: &View<'_>| match value {
        View::Int(it) => Some(*it as f64),
        View::Float(it) => Some(*it),
        _ => None,
    };
    let (left, right) = (float(left)?, float(right)?);
    // What is not a number is equal to itself and greater than all others.
    Some(left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan())))
}

fn compare(left: &View<'_>, right: &View<'_>, depth: u32) -> Outcome<Ordering> {
    if depth > DEEPEST {
        return Err(CondError::NotNative);
    }
    match (left, right) {
        (View::Bool(left), View::Bool(right)) => Ok(left.cmp(right)),
        (View::Str(left), View::Str(right)) => Ok(left.cmp(right)),
        (View::List(ours), View::List(theirs)) | (View::Tuple(ours), View::Tuple(theirs)) => {
            for at in 0..ours.len().min(theirs.len()) {
                if let (Some(left), Some(right)) = (ours.at(at), theirs.at(at)) {
                    let ordering = compare(&left, &right, depth + 1)?;
                    if ordering != Ordering::Equal {
                        return Ok(ordering);
                    }
                }
            }
            Ok(ours.len().cmp(&theirs.len()))
        }
        _ => numbers(left, right).ok_or_else(|| wrong_pair("<", left, right)),
    }
}
