//! Methods of texts and dicts.

use std::borrow::Cow;

use crate::analysis::condition::eval::Outcome;
use crate::analysis::condition::{CondError, Elements, Payload, View};

/// A method that a native form has.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum Method {
    EndsWith,
    Get,
    Items,
    Join,
    Keys,
    RemovePrefix,
    RemoveSuffix,
    Replace,
    Split,
    SplitLines,
    StartsWith,
    Values,
}

impl Method {
    pub(super) fn of(name: &str, arguments: usize) -> Option<Self> {
        Some(match (name, arguments) {
            ("endswith", 1) => Self::EndsWith,
            ("get", 1 | 2) => Self::Get,
            ("items", 0) => Self::Items,
            ("join", 1) => Self::Join,
            ("keys", 0) => Self::Keys,
            ("removeprefix", 1) => Self::RemovePrefix,
            ("removesuffix", 1) => Self::RemoveSuffix,
            ("replace", 2) => Self::Replace,
            ("split", 0 | 1) => Self::Split,
            ("splitlines", 0) => Self::SplitLines,
            ("startswith", 1) => Self::StartsWith,
            ("values", 0) => Self::Values,
            _ => return None,
        })
    }
}

/// The keys of a dict, in its order.
pub(super) fn keys(of: &dyn Payload) -> Vec<View<'_>> {
    let mut keys = Vec::with_capacity(of.len());
    of.each(&mut |key, _| {
        keys.push(View::text(key));
        true
    });
    keys
}

pub(super) fn call<'a>(
    method: Method,
    of: View<'a>,
    arguments: Vec<View<'a>>,
) -> Outcome<View<'a>> {
    let mut arguments = arguments.into_iter();
    match of {
        View::Str(text) => of_text(method, &text, arguments.next(), arguments.next()),
        View::Dict(of) => of_dict(method, of, arguments.next(), arguments.next()),
        _ => Err(CondError::NotNative),
    }
}

fn of_dict<'a>(
    method: Method,
    of: &'a dyn Payload,
    first: Option<View<'a>>,
    second: Option<View<'a>>,
) -> Outcome<View<'a>> {
    match (method, first) {
        (Method::Get, Some(View::Str(key))) => Ok(of.get(&key).or(second).unwrap_or(View::None)),
        (Method::Keys, None) => Ok(View::list(keys(of))),
        (Method::Values, None) => {
            let mut values = Vec::with_capacity(of.len());
            of.each(&mut |_, value| {
                values.push(value);
                true
            });
            Ok(View::list(values))
        }
        (Method::Items, None) => {
            let mut items = Vec::with_capacity(of.len());
            of.each(&mut |key, value| {
                let pair = [View::text(key), value];
                items.push(View::Tuple(Elements::made(pair)));
                true
            });
            Ok(View::list(items))
        }
        _ => Err(CondError::NotNative),
    }
}

fn of_text<'a>(
    method: Method,
    text: &Cow<'a, str>,
    first: Option<View<'a>>,
    second: Option<View<'a>>,
) -> Outcome<View<'a>> {
    // What is made of a text is a part of it, where that is there for long enough.
    let part = |range: &str| View::text(range.to_owned());
    let parts = |parts: &mut dyn Iterator<Item = &str>| View::list(parts.map(part));
    Ok(match (method, first, second) {
        (Method::StartsWith, Some(View::Str(start)), None) => View::Bool(text.starts_with(&*start)),
        (Method::EndsWith, Some(View::Str(end)), None) => View::Bool(text.ends_with(&*end)),
        (Method::RemovePrefix, Some(View::Str(start)), None) => {
            part(text.strip_prefix(&*start).unwrap_or(text))
        }
        (Method::RemoveSuffix, Some(View::Str(end)), None) => {
            part(text.strip_suffix(&*end).unwrap_or(text))
        }
        (Method::Split, None, None) => parts(&mut text.split_whitespace()),
        (Method::Split, Some(View::Str(by)), None) if !by.is_empty() => {
            parts(&mut text.split(&*by))
        }
        (Method::SplitLines, None, None) => View::list(lines(text).into_iter().map(part)),
        (Method::Replace, Some(View::Str(old)), Some(View::Str(new))) if !old.is_empty() => {
            View::text(text.replace(&*old, &new))
        }
        (Method::Join, Some(View::List(items) | View::Tuple(items)), None) => {
            let mut joined = String::new();
            for (place, item) in items.iter().enumerate() {
                let View::Str(item) = item else { return Err(CondError::NotNative) };
                if place > 0 {
                    joined.push_str(text);
                }
                joined.push_str(&item);
            }
            View::text(joined)
        }
        _ => return Err(CondError::NotNative),
    })
}

/// The lines of a text, each without its end: `\n`, `\r` or both.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r']) {
        let (line, behind) = rest.split_at(end);
        lines.push(line);
        rest = behind.strip_prefix("\r\n").or_else(|| behind.get(1..)).unwrap_or_default();
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}
