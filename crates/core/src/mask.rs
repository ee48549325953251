//! Secrets never reach a log: what is stored passes through here first.

mod formats;
mod kinds;
mod named;
mod plain;
mod scan;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod value;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use regex::Regex;
use serde_json::{Map, Value};

use crate::matcher::PatternError;
use kinds::NAMED;
use named::words_of;
use scan::kinds;
use value::is_value;

/// What stands for a secret.
pub const MASKED: &str = "[masked]";

/// Finds secrets by the names of fields and by the look of values.
#[derive(Debug, Clone)]
pub struct Masker {
    /// `None` masks everything.
    patterns: Option<Patterns>,
}

#[derive(Debug, Clone)]
struct Patterns {
    /// Names beside the usual ones, in words joined by `_`.
    named: Vec<String>,
    /// Patterns beside the usual ones.
    own: Vec<Regex>,
}

/// The places of the kinds that were found.
type Found = BTreeSet<usize>;

/// How often a text is looked through at most.
const MOST_PASSES: usize = 8;

/// Stands for all patterns beside the usual ones.
const OWN: usize = usize::MAX;

fn compile(pattern: &str) -> Result<Regex, PatternError> {
    Regex::new(pattern).map_err(|error| wrong(pattern, &error))
}

fn wrong(pattern: &str, error: &dyn std::fmt::Display) -> PatternError {
    PatternError {
        pattern: pattern.to_owned(),
        form: "regular expression",
        message: error.to_string(),
    }
}

impl Default for Masker {
    fn default() -> Self {
        Self { patterns: Some(Patterns { named: Vec::new(), own: Vec::new() }) }
    }
}

impl Masker {
    /// The usual patterns and these. Where a pattern has a group, that part is masked.
    pub fn with<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, PatternError> {
        let own = patterns.into_iter().map(|pattern| compile(pattern.as_ref()));
        let own = own.collect::<Result<_, _>>()?;
        Ok(Self { patterns: Some(Patterns { named: Vec::new(), own }) })
    }

    /// Hides what stands under these names as well, numbers included, however they are written:
    /// `userId` is `user_id`.
    ///
    /// ```
    /// use tollgate_core::mask::Masker;
    ///
    /// let mut value = serde_json::json!({"userId": 7, "city": "Turin"});
    /// Masker::default().and_fields(["user_id"]).value(&mut value);
    /// assert_eq!(value, serde_json::json!({"userId": "[masked]", "city": "Turin"}));
    /// ```
    #[must_use]
    pub fn and_fields<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        if let Some(patterns) = &mut self.patterns {
            patterns.named.extend(names.into_iter().map(|name| words_of(name.as_ref())));
        }
        self
    }

    /// Masks every text.
    pub const fn everything() -> Self {
        Self { patterns: None }
    }

    /// A text without its secrets.
    ///
    /// ```
    /// use tollgate_core::mask::Masker;
    ///
    /// let masker = Masker::default();
    /// assert_eq!(masker.text("curl -H 'Authorization: Bearer abcdef123456'"),
    ///            "curl -H 'Authorization: Bearer [masked]'");
    /// assert_eq!(masker.text("fn next(token: usize)"), "fn next(token: usize)");
    /// ```
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.scan(text, &mut Found::new())
    }

    /// The kinds of secrets in a value, each once.
    ///
    /// ```
    /// use serde_json::json;
    /// use tollgate_core::mask::Masker;
    ///
    /// let masker = Masker::default();
    /// let found = masker.find(&json!({"command": "git clone https://me:hunter22@host/x"}));
    /// assert_eq!(found, ["address with a password"]);
    /// assert!(masker.find(&json!(["curl -H \"Authorization: Bearer $TOKEN\""])).is_empty());
    /// ```
    pub fn find(&self, value: &Value) -> Vec<&'static str> {
        let mut found = Found::new();
        self.mask(&mut value.clone(), &mut found);
        let usual = kinds().enumerate().filter(|(place, _)| found.contains(place));
        let mut names: Vec<&str> = Vec::with_capacity(found.len());
        for (_, kind) in usual {
            if !names.contains(&kind.name) {
                names.push(kind.name);
            }
        }
        names.extend(found.contains(&OWN).then_some("custom pattern"));
        names
    }

    /// A text without its secrets, and which kinds they were.
    fn scan<'a>(&self, text: &'a str, found: &mut Found) -> Cow<'a, str> {
        let Some(patterns) = &self.patterns else {
            found.insert(OWN);
            return Cow::Owned(MASKED.to_owned());
        };
        let mut masked = Cow::Borrowed(text);
        // What is masked no longer stands beside the rest, which may be told by that.
        for _ in 0..MOST_PASSES {
            let spans = scan::secrets(&masked);
            if spans.is_empty() {
                break;
            }
            found.extend(spans.iter().map(|span| span.kind));
            masked = Cow::Owned(without(&masked, spans.into_iter().map(|span| span.range)));
        }
        for regex in &patterns.own {
            if let Some(replaced) = replace(regex, &masked) {
                masked = Cow::Owned(replaced);
                found.insert(OWN);
            }
        }
        masked
    }

    fn is_secret_field(&self, name: &str) -> bool {
        let Some(patterns) = &self.patterns else { return true };
        let words = words_of(name);
        named::is_secret(&words) || patterns.named.contains(&words)
    }

    /// Masks every text in a value, and all texts under a name that says they are secret. Numbers stay: `tokens: 1234`
    /// is a count.
    pub fn value(&self, value: &mut Value) {
        self.mask(value, &mut Found::new());
    }

    fn mask(&self, value: &mut Value, found: &mut Found) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.scan(text, found) {
                    *text = masked;
                }
            }
            Value::Array(items) => {
                // `["--password", "x"]`: what stands behind such a word is its value.
                let mut secret = false;
                for item in items {
                    let option = item.as_str().filter(|text| text.starts_with('-'));
                    let names_secret = option
                        .is_some_and(|text| self.is_secret_field(text.trim_start_matches('-')));
                    if secret && !names_secret {
                        self.hide(item, found);
                    } else {
                        self.mask(item, found);
                    }
                    secret = names_secret;
                }
            }
            Value::Object(fields) => self.fields(fields, found),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>, found: &mut Found) {
        // `{"name": "Authorization", "value": …}`: one field tells what the other holds.
        let told = ["name", "key", "header"]
            .iter()
            .filter_map(|field| fields.get(*field)?.as_str())
            .any(|name| self.is_secret_field(name));
        let is_web_key = fields.contains_key("kty");
        let mut odd_keys: Vec<(String, String)> = Vec::new();
        for key in fields.keys() {
            if let Cow::Owned(masked) = self.scan(key, found) {
                odd_keys.push((key.clone(), masked));
            }
        }
        for (name, field) in fields.iter_mut() {
            let is_private = is_web_key && WEB_KEY.contains(&name.as_str());
            if self.is_named(name) {
                replace_value(field, found);
            } else if self.is_secret_field(name) || (told && name == "value") || is_private {
                self.hide(field, found);
            } else {
                self.mask(field, found);
            }
        }
        for (key, masked) in odd_keys {
            if let Some(field) = fields.remove(&key) {
                fields.insert(masked, field);
            }
        }
    }

    /// Hides the texts in a value. What only stands for a secret stays, and so does a schema of one.
    fn hide(&self, value: &mut Value, found: &mut Found) {
        match value {
            Value::String(text) => {
                if self.patterns.is_none() || is_value(text) {
                    found.extend(kinds().position(|kind| kind.name == NAMED));
                    MASKED.clone_into(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide(item, found)),
            Value::Object(fields) if is_schema(fields) => self.fields(fields, found),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.hide(field, found));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// True if a person has named the field.
    fn is_named(&self, name: &str) -> bool {
        let is_one = |patterns: &Patterns| patterns.named.contains(&words_of(name));
        self.patterns
            .as_ref()
            .is_some_and(|patterns| !patterns.named.is_empty() && is_one(patterns))
    }
}

/// Hides a value whatever it is, but for what says nothing except that it is there.
fn replace_value(value: &mut Value, found: &mut Found) {
    if !matches!(value, Value::Null | Value::Bool(_)) {
        found.extend(kinds().position(|kind| kind.name == NAMED));
        *value = Value::String(MASKED.to_owned());
    }
}

/// The private parts of a JSON web key.
const WEB_KEY: &[&str] = &["d", "dp", "dq", "k", "p", "q", "qi"];

/// True for `{"type": "string", …}`: it says what a value looks like, and has none.
fn is_schema(fields: &Map<String, Value>) -> bool {
    let types = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let kind = fields.get("type").and_then(Value::as_str);
    fields.contains_key("$ref") || kind.is_some_and(|kind| types.contains(&kind))
}

/// A text with a mask in the place of each of these ranges.
fn without(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        masked.push_str(text.get(from..range.start).unwrap_or_default());
        masked.push_str(MASKED);
        from = range.end;
    }
    masked.push_str(text.get(from..).unwrap_or_default());
    masked
}

/// The text with what a pattern finds masked, where it finds anything.
fn replace(regex: &Regex, text: &str) -> Option<String> {
    let secrets =
        regex.captures_iter(text).filter_map(|found| found.get(1).or_else(|| found.get(0)));
    let ranges: Vec<_> = secrets.map(|secret| secret.range()).collect();
    (!ranges.is_empty()).then(|| without(text, ranges.into_iter()))
}
