//! Hooks in a file of TOML: tables of `[[hooks]]`, each with an event and a command.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use crate::InstallError;
use crate::command::{self, Call, CommandLine};
use crate::settings::Hook;
use crate::target::{Switch, Target};

/// A file of hooks.
pub(crate) struct Tables<'a> {
    pub(crate) target: &'a Target,
    pub(crate) path: &'a Path,
}

/// One table.
struct Table {
    hook: Hook,
    /// From its header to the end of its last value.
    range: Range<usize>,
}

impl Tables<'_> {
    /// All hooks of a text.
    pub(crate) fn hooks(&self, text: &str) -> Result<Vec<Hook>, InstallError> {
        Ok(self.tables(text)?.into_iter().map(|table| table.hook).collect())
    }

    /// A hook for a call, as a value.
    pub(crate) fn value(call: &Call) -> Value {
        json!({
            "event": call.registration.event,
            "command": call.line(),
            "timeout": call.timeout,
        })
    }

    /// The text with hooks for these calls behind it. Each has an empty line before it, and the last one
    /// ends the way the text did: with a new line or without.
    pub(crate) fn with(&self, text: &str, calls: &[Call]) -> Result<String, InstallError> {
        if self.tables(text)?.is_empty()
            && let Some((_, hooks)) =
                self.parse(text)?.iter().find(|(key, _)| key.get_ref() == "hooks")
        {
            let help = "remove that line, which says nothing, and run the command again";
            let problem = "`hooks = []` leaves no room for `[[hooks]]`";
            return Err(InstallError::content(self.path, text, hooks.span().start, problem, help));
        }
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut out = text.to_owned();
        let is_open = !text.is_empty() && !text.ends_with('\n');
        if is_open {
            out.push_str(newline);
        }
        for call in calls {
            let lines = [
                String::new(),
                "[[hooks]]".to_owned(),
                format!("event = {}", string(call.registration.event)),
                format!("command = {}", string(&call.line())),
                format!("timeout = {}", call.timeout),
                String::new(),
            ];
            out.push_str(&lines.join(newline));
        }
        if is_open {
            out.truncate(out.len() - newline.len());
        }
        Ok(out)
    }

    /// The text without ours.
    pub(crate) fn without(&self, text: &str) -> Result<String, InstallError> {
        let mut tables = self.tables(text)?;
        // What came last goes first.
        tables.sort_by_key(|table| std::cmp::Reverse(table.range.start));
        let mut text = text.to_owned();
        for table in tables.into_iter().filter(|table| table.hook.ours) {
            text.replace_range(lines_of(&text, &table.range), "");
        }
        Ok(text)
    }

    /// What of a text turns hooks off.
    pub(crate) fn switched_off(&self, text: &str) -> Result<Vec<&'static str>, InstallError> {
        let root = DeValue::Table(self.parse(text)?);
        let is_off = |switch: &&Switch| {
            let mut keys = switch.at.split('/').skip(1);
            let found = keys.try_fold(&root, |value, name| match value {
                DeValue::Table(table) => {
                    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
                    Some(value.get_ref())
                }
                _ => None,
            });
            found.is_some_and(|value| switch.is_off(&plain(value)))
        };
        Ok(self.target.switches.iter().filter(is_off).map(|switch| switch.at).collect())
    }

    fn failed(&self, text: &str, at: usize, problem: &str) -> InstallError {
        let help = "put that right, or move the file away, and run the command again";
        InstallError::content(self.path, text, at, problem, help)
    }

    fn parse<'t>(&self, text: &'t str) -> Result<DeTable<'t>, InstallError> {
        let parsed = DeTable::parse(text).map_err(|error| {
            let problem = error.message().lines().next().unwrap_or_default();
            self.failed(text, error.span().map_or(0, |span| span.start), problem)
        });
        parsed.map(toml::Spanned::into_inner)
    }

    fn tables(&self, text: &str) -> Result<Vec<Table>, InstallError> {
        let root = self.parse(text)?;
        let Some((_, hooks)) = root.iter().find(|(key, _)| key.get_ref() == "hooks") else {
            return Ok(Vec::new());
        };
        let other =
            || self.failed(text, hooks.span().start, "`hooks` is not written as `[[hooks]]`");
        let DeValue::Array(elements) = hooks.get_ref() else { return Err(other()) };
        let mut tables = Vec::new();
        for element in elements {
            let header = element.span();
            let DeValue::Table(table) = element.get_ref() else { return Err(other()) };
            if !text.get(header.clone()).is_some_and(|it| it.starts_with("[[")) {
                return Err(other());
            }
            let end = end(element.get_ref()).unwrap_or(header.end).max(header.end);
            tables.push(Table { hook: self.hook(tables.len(), table), range: header.start..end });
        }
        Ok(tables)
    }

    fn hook(&self, index: usize, table: &DeTable<'_>) -> Hook {
        let whole = plain_table(table);
        let word = |key: &str| whole.get(key).and_then(Value::as_str);
        let line = word("command");
        let entry = whole.as_object().cloned().unwrap_or_default();
        Hook {
            entry,
            group: None,
            index: (index, 0),
            event: word("event").unwrap_or_default().to_owned(),
            command: line.map(|line| CommandLine::line(self.target.start, line)),
            ours: line.is_some_and(|line| command::is_ours(self.target.name, line)),
            matcher: None,
            whole,
        }
    }
}

/// A plain value, of those that Tollgate writes or looks at.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => number.as_str().parse::<i64>().map_or(Value::Null, Into::into),
        DeValue::Boolean(is) => json!(is),
        DeValue::Table(table) => plain_table(table),
        DeValue::Array(array) => array.iter().map(|value| plain(value.get_ref())).collect(),
        _ => Value::Null,
    }
}

fn plain_table(table: &DeTable<'_>) -> Value {
    let pairs = table.iter();
    pairs.map(|(key, value)| (key.get_ref().to_string(), plain(value.get_ref()))).collect()
}

/// A text as a value; nothing where it is not TOML.
pub(crate) fn values(text: &str) -> Value {
    DeTable::parse(text).map_or(Value::Null, |table| plain_table(table.get_ref()))
}

/// The end of the last value in a value.
fn end(value: &DeValue<'_>) -> Option<usize> {
    let of = |value: &toml::Spanned<DeValue<'_>>| {
        end(value.get_ref()).unwrap_or_default().max(value.span().end)
    };
    match value {
        DeValue::Table(table) => table.iter().map(|(_, value)| of(value)).max(),
        DeValue::Array(array) => array.iter().map(of).max(),
        _ => None,
    }
}

/// The lines of a table, with the empty one before them.
fn lines_of(text: &str, range: &Range<usize>) -> Range<usize> {
    let before = text.get(..range.start).unwrap_or_default();
    let mut start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = text.get(range.end..).unwrap_or_default();
    let end = rest.find('\n').map(|at| range.end + at + 1);
    let newline = |start: usize| {
        let before = text.get(..start).unwrap_or_default();
        if before.ends_with("\r\n") { 2 } else { usize::from(before.ends_with('\n')) }
    };
    let above = newline(start);
    let is_empty = |at: usize| at == 0 || text.get(..at).is_some_and(|text| text.ends_with('\n'));
    if above > 0 && is_empty(start - above) {
        start -= above;
    }
    // A text that did not end with a new line got one before ours.
    let end = end.unwrap_or_else(|| {
        start -= newline(start);
        text.len()
    });
    start..end
}

/// A string, as TOML has it.
fn string(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}
