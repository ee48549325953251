//! `json`, `re`, `glob` and `path`.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names
)]

use std::cell::RefCell;
use std::rc::Rc;

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::list::AllocList;

use crate::convert::{to_json, to_starlark};
use crate::lexical;

#[starlark_module]
pub(super) fn json(builder: &mut GlobalsBuilder) {
    /// A value as JSON.
    fn encode<'v>(value: Value<'v>) -> anyhow::Result<String> {
        Ok(to_json(value).map_err(anyhow::Error::msg)?.to_string())
    }

    /// The value of a JSON text; the default, where one is given, for a text that is not JSON.
    fn decode<'v>(
        text: &str,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        match (serde_json::from_str::<Json>(text), default) {
            (Ok(value), _) => Ok(to_starlark(&value, eval.heap())),
            (Err(_), Some(default)) => Ok(default),
            (Err(error), None) => Err(anyhow::anyhow!("json.decode: {error}")),
        }
    }
}

#[starlark_module]
pub(super) fn re(builder: &mut GlobalsBuilder) {
    /// Whether the text begins with the pattern: the groups, the whole match first, or `None`.
    fn r#match<'v>(
        pattern: &str,
        text: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let pattern = REGEXES.with(|all| all.get(Kind::Match, pattern))?;
        groups(&pattern, text, eval)
    }

    /// Whether the pattern is anywhere in the text: the groups, the whole match first, or `None`.
    fn search<'v>(
        pattern: &str,
        text: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let pattern = REGEXES.with(|all| all.get(Kind::Search, pattern))?;
        groups(&pattern, text, eval)
    }

    /// The text with each match replaced: `\1` is the first group, `\0` the whole match.
    fn sub(pattern: &str, replacement: &str, text: &str) -> anyhow::Result<String> {
        match &*REGEXES.with(|all| all.get(Kind::Search, pattern))? {
            Pattern::Regex(regex) => substitute(regex, replacement, text),
            Pattern::Glob(_) => Ok(text.to_owned()),
        }
    }
}

/// How large a text may become.
pub(crate) const LARGEST_SUBSTITUTED: usize = 1024 * 1024;

fn substitute(regex: &Regex, replacement: &str, text: &str) -> anyhow::Result<String> {
    let pieces = pieces(replacement, regex.captures_len())?;
    let mut made = String::with_capacity(text.len());
    let mut from = 0;
    for groups in regex.captures_iter(text) {
        let Some(whole) = groups.get(0) else { continue };
        made.push_str(text.get(from..whole.start()).unwrap_or_default());
        for piece in &pieces {
            made.push_str(match piece {
                Piece::Text(text) => text,
                Piece::Group(group) => groups.get(*group).map_or("", |group| group.as_str()),
            });
        }
        from = whole.end();
        if made.len() > LARGEST_SUBSTITUTED {
            break;
        }
    }
    made.push_str(text.get(from..).unwrap_or_default());
    if made.len() > LARGEST_SUBSTITUTED {
        anyhow::bail!("re.sub may make {} KiB of a text; this is more", LARGEST_SUBSTITUTED / 1024);
    }
    Ok(made)
}

/// A part of what is put in the place of a match.
enum Piece<'a> {
    Text(&'a str),
    Group(usize),
}

fn pieces(replacement: &str, groups: usize) -> anyhow::Result<Vec<Piece<'_>>> {
    let mut parts = replacement.split('\\');
    let mut pieces = vec![Piece::Text(parts.next().unwrap_or_default())];
    while let Some(part) = parts.next() {
        let mut letters = part.chars();
        match letters.next().and_then(|letter| Some((letter, letter.to_digit(10)? as usize))) {
            Some((_, group)) if group < groups => pieces.push(Piece::Group(group)),
            Some((letter, _)) => anyhow::bail!(
                "the replacement has `\\{letter}`, and the pattern has {} groups",
                groups.saturating_sub(1)
            ),
            None if part.is_empty() => {
                // Two of them are one that means itself.
                let Some(rest) = parts.next() else {
                    anyhow::bail!("the replacement ends with a backslash: write two for one");
                };
                pieces.push(Piece::Text("\\"));
                pieces.push(Piece::Text(rest));
                continue;
            }
            None => anyhow::bail!(
                "the replacement has a backslash before `{}`: write two for one",
                part.chars().next().unwrap_or_default()
            ),
        }
        pieces.push(Piece::Text(letters.as_str()));
    }
    Ok(pieces)
}

fn groups<'v>(
    pattern: &Pattern,
    text: &str,
    eval: &Evaluator<'v, '_, '_>,
) -> anyhow::Result<Value<'v>> {
    let Pattern::Regex(regex) = pattern else { return Ok(Value::new_none()) };
    let heap = eval.heap();
    Ok(match regex.captures(text) {
        None => Value::new_none(),
        Some(groups) => heap.alloc(AllocList(groups.iter().map(|group| match group {
            Some(group) => heap.alloc(group.as_str()),
            None => Value::new_none(),
        }))),
    })
}

#[starlark_module]
pub(super) fn glob(builder: &mut GlobalsBuilder) {
    /// Whether the whole text fits the pattern. `*` stops at `/`, `**` does not.
    fn r#match(pattern: &str, text: &str) -> anyhow::Result<bool> {
        match &*REGEXES.with(|all| all.get(Kind::Glob, pattern))? {
            Pattern::Glob(glob) => Ok(glob.is_match(text)),
            Pattern::Regex(_) => Ok(false),
        }
    }
}

#[starlark_module]
pub(super) fn path(builder: &mut GlobalsBuilder) {
    /// The path without `.`, `..` and double slashes, as far as its text tells.
    fn normalize(path: &str) -> anyhow::Result<String> {
        Ok(lexical::normalize(path))
    }

    /// Whether the path is the folder or below it. A relative path counts from the folder.
    fn inside(path: &str, root: &str) -> anyhow::Result<bool> {
        Ok(lexical::is_inside(path, root))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Match,
    Search,
    Glob,
}

enum Pattern {
    Regex(Regex),
    Glob(GlobMatcher),
}

/// The patterns that were used last. Most scripts use the same few each time. Only small ones are
/// kept, as they take memory that the next script does not have; a worker has that much more.
struct Patterns(RefCell<Vec<(Kind, String, Rc<Pattern>)>>);

const KEPT: usize = 16;
/// How large a pattern may be, and become; and one that is kept.
const LONGEST: usize = 4096;
const LARGEST: usize = 1024 * 1024;
const LARGEST_KEPT: usize = 64 * 1024;

thread_local! {
    static REGEXES: Patterns = const { Patterns(RefCell::new(Vec::new())) };
}

impl Patterns {
    fn get(&self, kind: Kind, text: &str) -> anyhow::Result<Rc<Pattern>> {
        let mut kept = self.0.borrow_mut();
        if let Some(at) = kept.iter().position(|(of, known, _)| *of == kind && known == text) {
            let found = kept.remove(at);
            let pattern = Rc::clone(&found.2);
            kept.push(found);
            return Ok(pattern);
        }
        let Ok(pattern) = compile(kind, text, LARGEST_KEPT) else {
            return compile(kind, text, LARGEST).map(Rc::new);
        };
        let pattern = Rc::new(pattern);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((kind, text.to_owned(), Rc::clone(&pattern)));
        Ok(pattern)
    }
}

fn compile(kind: Kind, text: &str, largest: usize) -> anyhow::Result<Pattern> {
    if text.len() > LONGEST {
        anyhow::bail!("a pattern may have {LONGEST} bytes; this one has {}", text.len());
    }
    let regex = |text: &str| {
        let built = RegexBuilder::new(text).size_limit(largest).dfa_size_limit(largest).build();
        built.map_err(|error| anyhow::anyhow!("the pattern is not valid: {error}"))
    };
    Ok(match kind {
        Kind::Match => Pattern::Regex(regex(&format!(r"\A(?:{text})"))?),
        Kind::Search => Pattern::Regex(regex(text)?),
        Kind::Glob => {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            let glob =
                glob.map_err(|error| anyhow::anyhow!("the pattern is not valid: {error}"))?;
            Pattern::Glob(glob.compile_matcher())
        }
    })
}
