//! JSON as hosts read it, with the place of everything.

use std::ops::Range;
use std::path::Path;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::InstallError;
use crate::splice::Items;
use crate::target::Syntax;

/// What to do about a file that cannot be read.
const HELP: &str = "put that right, or move the file away, and run the command again";

/// Reads a file that is one object, as its host would.
pub(crate) fn parse<'a>(
    path: &Path,
    text: &'a str,
    syntax: Syntax,
) -> Result<ast::Object<'a>, InstallError> {
    let failed = |at, problem: &str| InstallError::content(path, text, at, problem, HELP);
    match parse_any(path, text, syntax)? {
        Some(ast::Value::Object(object)) => Ok(object),
        Some(other) => Err(failed(other.start(), "one object is expected")),
        None => Err(failed(0, "the file is empty, where `{}` is expected")),
    }
}

/// Reads a file that is one list, as its host would.
pub(crate) fn parse_list<'a>(
    path: &Path,
    text: &'a str,
    syntax: Syntax,
) -> Result<ast::Array<'a>, InstallError> {
    let failed = |at, problem: &str| InstallError::content(path, text, at, problem, HELP);
    match parse_any(path, text, syntax)? {
        Some(ast::Value::Array(list)) => Ok(list),
        Some(other) => Err(failed(other.start(), "one list is expected")),
        None => Err(failed(0, "the file is empty, where `[]` is expected")),
    }
}

/// What is in a file; nothing where it is empty.
fn parse_any<'a>(
    path: &Path,
    text: &'a str,
    syntax: Syntax,
) -> Result<Option<ast::Value<'a>>, InstallError> {
    let failed = |at, problem: String| InstallError::content(path, text, at, problem, HELP);
    if text.starts_with('\u{feff}') {
        let problem = "the file begins with a byte order mark".to_owned();
        return Err(failed(0, problem));
    }
    let options = ParseOptions {
        allow_comments: syntax != Syntax::Strict,
        allow_trailing_commas: syntax == Syntax::Loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        let problem = lower(&error.kind().to_string());
        failed(error.range().start, problem)
    })?;
    if syntax == Syntax::Strict && parsed.value.is_some() {
        // The reader takes a little more than the standard has.
        serde_json::from_str::<Value>(text).map_err(|error| {
            let problem = error.to_string();
            let problem = problem.split(" at line ").next().unwrap_or_default();
            failed(byte_at(text, error.line(), error.column()), problem.to_owned())
        })?;
    }
    Ok(parsed.value)
}

/// The byte at a line and a column, in bytes from 1.
fn byte_at(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len);
    let mut at = (lines.sum::<usize>() + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// What is in an object.
pub(crate) fn properties(object: &ast::Object<'_>) -> Items {
    items(object.range(), object.properties.iter().map(Ranged::range))
}

/// What is in a list.
pub(crate) fn elements(array: &ast::Array<'_>) -> Items {
    items(array.range(), array.elements.iter().map(Ranged::range))
}

fn items(
    range: jsonc_parser::common::Range,
    items: impl Iterator<Item = jsonc_parser::common::Range>,
) -> Items {
    let each: Vec<Range<usize>> = items.map(|it| it.start..it.end).collect();
    Items { open: range.start + 1, close: range.end.saturating_sub(1), each }
}

/// The last value of a key, which is the one that counts, and where it stands among the others.
pub(crate) fn last<'a, 'b>(
    object: &'b ast::Object<'a>,
    key: &str,
) -> Option<(usize, &'b ast::Value<'a>)> {
    let found =
        object.properties.iter().enumerate().rev().find(|(_, it)| it.name.as_str() == key)?;
    Some((found.0, &found.1.value))
}

/// The plain value.
pub(crate) fn value(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => Value::String(text.value.to_string()),
        ast::Value::NumberLit(number) => {
            number.value.parse::<Number>().map_or(Value::Null, Value::Number)
        }
        ast::Value::BooleanLit(is) => Value::Bool(is.value),
        ast::Value::Object(object) => Value::Object(plain(object)),
        ast::Value::Array(array) => array.elements.iter().map(self::value).collect(),
        ast::Value::NullKeyword(_) => Value::Null,
    }
}

/// The plain value of an object.
pub(crate) fn plain(object: &ast::Object<'_>) -> Map<String, Value> {
    let pairs = object.properties.iter();
    pairs.map(|it| (it.name.as_str().to_owned(), value(&it.value))).collect()
}

/// A value that is to be written, in its order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// In one line.
    Plain(Value),
    /// Each on a line.
    Object(Vec<(String, Node)>),
    /// Each on a line.
    List(Vec<Node>),
}

impl Node {
    /// The same without the order.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Object(pairs) => {
                pairs.iter().map(|(key, node)| (key.clone(), node.value())).collect()
            }
            Self::List(nodes) => nodes.iter().map(Self::value).collect(),
        }
    }

    /// Written, with lines that begin like this.
    pub(crate) fn render(&self, indent: &str, unit: &str, newline: &str) -> String {
        let inner = format!("{indent}{unit}");
        let block = |open: char, lines: Vec<String>, close: char| {
            let lines = lines.join(&format!(",{newline}{inner}"));
            format!("{open}{newline}{inner}{lines}{newline}{indent}{close}")
        };
        match self {
            Self::Plain(Value::Array(values)) => {
                let values: Vec<_> = values.iter().map(Value::to_string).collect();
                format!("[{}]", values.join(", "))
            }
            Self::Plain(value) => value.to_string(),
            Self::Object(pairs) => {
                let pairs =
                    pairs.iter().map(|(key, node)| property(key, node, &inner, unit, newline));
                block('{', pairs.collect(), '}')
            }
            Self::List(nodes) => {
                let nodes = nodes.iter().map(|node| node.render(&inner, unit, newline));
                block('[', nodes.collect(), ']')
            }
        }
    }
}

/// A key and its value, written.
pub(crate) fn property(key: &str, node: &Node, indent: &str, unit: &str, newline: &str) -> String {
    let key = Value::String(key.to_owned());
    format!("{key}: {}", node.render(indent, unit, newline))
}
