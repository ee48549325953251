//! JSON with the place of every value.

use hashbrown::HashMap;
use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use crate::diagnostic::{Code, Report};
use crate::names;
use crate::source::{SourceFile, Span};

/// JSON as its standard has it.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// With what people who know other formats add to it.
const LOOSE: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_single_quoted_strings: true,
    ..STRICT
};

/// Reads a text. Comments, commas too many and single quotes are reported where they stand, and
/// the rest is read all the same, so that everything is found in one go.
pub(crate) fn parse<'a>(file: &'a SourceFile, report: &mut Report) -> Option<Value<'a>> {
    let text = file.text();
    if text.starts_with('\u{feff}') {
        report
            .add(
                Code::ByteOrderMark,
                Span { start: 0, end: 3 },
                "the file begins with a byte order mark",
            )
            .help("save it as UTF-8 without a byte order mark");
        return None;
    }
    if text.trim().is_empty() {
        report
            .add(Code::Syntax, Span::at(0), "the file is empty")
            .help("delete the file, or write the empty form of its hooks: `{}` or `[]`");
        return None;
    }
    match parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(parsed) => {
            // The reader takes a little more than the standard has: what is only valid for it
            // would load here and nowhere else.
            if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
                let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
                let at = file.begin_of(line) + error.column().saturating_sub(1);
                syntax(report, Span::at(at.min(text.len())), &error.to_string());
                return None;
            }
            parsed.value
        }
        Err(error) => parse_loosely(text, &error, report),
    }
}

fn parse_loosely<'a>(text: &'a str, strict: &ParseError, report: &mut Report) -> Option<Value<'a>> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    let parsed = match parse_to_ast(text, &collect, &LOOSE) {
        Ok(parsed) => parsed,
        Err(error) => {
            say(&error, report);
            return None;
        }
    };
    let tokens = parsed.tokens.unwrap_or_default();
    let mut comma = None;
    let mut found = false;
    for token in &tokens {
        let span = Span::from(token.range);
        match &token.token {
            Token::CommentLine(_) | Token::CommentBlock(_) => {
                found = true;
                report.add(Code::Comment, span, "comments are not allowed in JSON").help(
                    "remove it; what a hook is for can stand in its name or beside its script",
                );
                continue;
            }
            Token::CloseBrace | Token::CloseBracket => {
                if let Some(comma) = comma {
                    found = true;
                    report
                        .add(Code::TrailingComma, comma, "nothing follows this comma")
                        .help("remove the comma: JSON allows none before `}` or `]`");
                }
            }
            Token::String(_)
                if text.get(span.start..).is_some_and(|rest| rest.starts_with('\'')) =>
            {
                found = true;
                syntax(report, span, "a string in single quotes");
            }
            _ => {}
        }
        comma = matches!(token.token, Token::Comma).then_some(span);
    }
    if !found {
        say(strict, report);
    }
    parsed.value
}

fn say(error: &ParseError, report: &mut Report) {
    let span = Span::from(error.range());
    if matches!(error.kind(), ParseErrorKind::NestingDepthExceeded) {
        report
            .add(Code::TooDeep, Span::at(span.start), "the file is nested deeper than 512 levels")
            .help("a hook file needs some five levels");
        return;
    }
    let help = match error.kind() {
        ParseErrorKind::String(_) => {
            "in a string, write a backslash as `\\\\`, a quote as `\\\"` and a line break as `\\n`"
        }
        ParseErrorKind::SingleQuotedStringsNotAllowed
        | ParseErrorKind::ExpectedStringObjectProperty
        | ParseErrorKind::UnexpectedWord => "names and texts stand in double quotes",
        _ => "look at what stands before: a comma, a bracket or a quote is missing or too many",
    };
    syntax(report, span, &error.kind().to_string()).help(help);
}

fn syntax<'r>(report: &'r mut Report, span: Span, what: &str) -> crate::diagnostic::Entry<'r> {
    // Ours to finish: the reader's own sentences begin with a capital and name a line.
    let what = what.split(" at line ").next().unwrap_or(what);
    let mut characters = what.chars();
    let what: String =
        characters.next().into_iter().flat_map(char::to_lowercase).chain(characters).collect();
    report
        .add(Code::Syntax, span, format!("not valid JSON: {what}"))
        .help("the file has to be plain JSON: strings in double quotes, no comments")
}

/// Where a value stands.
pub(crate) fn span(value: &Value<'_>) -> Span {
    Span::from(value.range())
}

/// Where the name of a field stands.
pub(crate) fn name_span(field: &ObjectProp<'_>) -> Span {
    Span::from(field.name.range())
}

/// What a value is, with its article.
pub(crate) fn describe(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a boolean",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    }
}

/// Says that a value is not what it should be.
pub(crate) fn wrong_type(report: &mut Report, value: &Value<'_>, what: &str, wanted: &str) {
    report.add(
        Code::WrongType,
        span(value),
        format!("{what} has to be {wanted}, not {}", describe(value)),
    );
}

pub(crate) fn as_array<'v, 'a>(
    value: &'v Value<'a>,
    what: &str,
    report: &mut Report,
) -> Option<&'v Array<'a>> {
    let array = value.as_array();
    if array.is_none() {
        wrong_type(report, value, what, "an array");
    }
    array
}

pub(crate) fn as_object<'v, 'a>(
    value: &'v Value<'a>,
    what: &str,
    report: &mut Report,
) -> Option<&'v Object<'a>> {
    let object = value.as_object();
    match object {
        Some(object) => no_duplicates(object, report),
        None => wrong_type(report, value, what, "an object"),
    }
    object
}

pub(crate) fn as_text<'v>(
    value: &'v Value<'_>,
    what: &str,
    report: &mut Report,
) -> Option<&'v str> {
    match value {
        Value::StringLit(text) => Some(&text.value),
        other => {
            wrong_type(report, other, what, "a string");
            None
        }
    }
}

pub(crate) fn as_bool(value: &Value<'_>, what: &str, report: &mut Report) -> Option<bool> {
    match value {
        Value::BooleanLit(literal) => Some(literal.value),
        other => {
            wrong_type(report, other, what, "true or false");
            None
        }
    }
}

/// Says which keys an object has twice: readers differ in which of the two counts.
pub(crate) fn no_duplicates(object: &Object<'_>, report: &mut Report) {
    let twice = |report: &mut Report, first: &ObjectProp<'_>, field: &ObjectProp<'_>| {
        let name = field.name.as_str();
        report
            .add(Code::DuplicateKey, name_span(field), format!("`{name}` is here twice"))
            .related(name_span(first), "the first one")
            .help("keep one of them; most readers silently take the last");
    };
    let fields = &object.properties;
    // Most objects have three fields, some files have a thousand hooks.
    if fields.len() <= 8 {
        for (place, field) in fields.iter().enumerate() {
            let name = field.name.as_str();
            if let Some(first) = fields.iter().take(place).find(|other| other.name.as_str() == name)
            {
                twice(report, first, field);
            }
        }
        return;
    }
    let mut seen = HashMap::with_capacity(fields.len());
    for field in fields {
        let first = *seen.entry(field.name.as_str()).or_insert(field);
        if !std::ptr::eq(first, field) {
            twice(report, first, field);
        }
    }
}

/// Says that a field is unknown, and which one may have been meant.
pub(crate) fn unknown_field<'r>(
    report: &'r mut Report,
    field: &ObjectProp<'_>,
    of: &str,
    known: &[&str],
) -> crate::diagnostic::Entry<'r> {
    let name = field.name.as_str();
    let help = match names::nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{of} has the fields {}", names::list(known)),
    };
    report
        .add(Code::UnknownField, name_span(field), format!("{of} has no field `{name}`"))
        .help(help)
}

/// Reads a text that may have comments and a comma behind the last of a list.
pub(crate) fn parse_with_comments<'a>(
    file: &'a SourceFile,
    report: &mut Report,
) -> Option<Value<'a>> {
    let options = ParseOptions { allow_comments: true, allow_trailing_commas: true, ..STRICT };
    match parse_to_ast(file.text(), &CollectOptions::default(), &options) {
        Ok(parsed) => parsed.value,
        Err(error) => {
            say(&error, report);
            None
        }
    }
}

/// Looks at a text that holds somebody else's settings and nothing for us: whether it can be read at
/// all, however loosely, and is an object. One in which nothing is written is right.
pub(crate) fn check_settings(file: &SourceFile, report: &mut Report) {
    let text = file.text();
    let options = ParseOptions { allow_comments: true, allow_trailing_commas: true, ..STRICT };
    let marked = text.strip_prefix('\u{feff}');
    match parse_to_ast(marked.unwrap_or(text), &CollectOptions::default(), &options) {
        Ok(parsed) => match parsed.value {
            None | Some(Value::Object(_)) => {}
            Some(other) if marked.is_none() => wrong_type(report, &other, "the file", "an object"),
            Some(_) => drop(report.add(Code::WrongType, None, "the file has to be an object")),
        },
        Err(error) if marked.is_none() => say(&error, report),
        Err(error) => drop(syntax(report, Span::at(0), &error.kind().to_string())),
    }
}

/// As [`no_duplicates`], for all that is in an object.
pub(crate) fn no_duplicates_below(object: &Object<'_>, report: &mut Report) {
    for field in &object.properties {
        no_duplicates_in(&field.value, report);
    }
}

fn no_duplicates_in(value: &Value<'_>, report: &mut Report) {
    match value {
        Value::Object(object) => {
            no_duplicates(object, report);
            no_duplicates_below(object, report);
        }
        Value::Array(array) => array.elements.iter().for_each(|it| no_duplicates_in(it, report)),
        _ => {}
    }
}

/// An object without its places.
pub(crate) fn map_of(object: &Object<'_>) -> serde_json::Map<String, serde_json::Value> {
    let fields = object.properties.iter();
    fields.map(|field| (field.name.as_str().to_owned(), value_of(&field.value))).collect()
}

/// A value without its places.
pub(crate) fn value_of(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(text) => text.value.as_ref().into(),
        // What this reader takes for a number, the other does too, but for those without end.
        Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_default(),
        Value::BooleanLit(literal) => literal.value.into(),
        Value::Object(object) => map_of(object).into(),
        Value::Array(array) => array.elements.iter().map(value_of).collect(),
        Value::NullKeyword(_) => serde_json::Value::Null,
    }
}
