//! Parameters: what `${…}` gives.

use super::Why;
use super::expand::Fields;
use super::glob;
use super::state::Binding;
use super::walk::Walker;
use crate::syntax::{Operator, Parameter, Piece, Word};
use crate::value::{Part, Value};

/// How one simple command is gone through several times, once for each combination of what its
/// variables may hold.
#[derive(Debug, Default)]
pub(super) struct World {
    /// Of each variable that may hold several values: which of them it has now, of how many.
    choices: Vec<(String, usize, usize)>,
    /// Whether there are too many combinations, so that such variables are not known.
    vague: bool,
    rounds: usize,
}

/// The most combinations that are gone through.
const MOST_ROUNDS: usize = 16;

impl World {
    fn pick<'v>(&mut self, name: &str, values: &'v [Value]) -> Option<&'v Value> {
        if values.len() < 2 {
            return values.first();
        }
        if self.vague {
            return None;
        }
        let known = self.choices.iter().find(|(of, ..)| of == name).map(|(_, at, _)| *at);
        let at = known.unwrap_or_else(|| {
            self.choices.push((name.to_owned(), 0, values.len()));
            0
        });
        values.get(at)
    }

    /// Goes to the next combination, if there is one.
    pub(super) fn next(&mut self) -> bool {
        self.rounds += 1;
        if self.vague {
            return false;
        }
        if self.rounds == MOST_ROUNDS && !self.choices.is_empty() {
            self.vague = true;
            return true;
        }
        while let Some((_, at, of)) = self.choices.last_mut() {
            *at += 1;
            if at < of {
                return true;
            }
            self.choices.pop();
        }
        false
    }
}

impl Parameter {
    /// Whether it is a list: `$@`, `${a[@]}`, `$*`, `${a[*]}`.
    pub(super) fn is_list(&self) -> bool {
        let of_array = self.subscript.as_ref().is_some_and(|word| is(word, "@") || is(word, "*"));
        matches!(self.name.as_str(), "@" | "*") || of_array
    }

    fn is_joined(&self) -> bool {
        self.name == "*" || self.subscript.as_ref().is_some_and(|word| is(word, "*"))
    }
}

fn is(word: &Word, text: &str) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Text(only)] if only == text)
}

impl Walker {
    /// What a variable holds in this round.
    pub(super) fn lookup(&mut self, name: &str) -> Value {
        match self.state.get(name) {
            Binding::Values(values) => {
                self.world.pick(name, &values).cloned().unwrap_or_else(Value::unknown)
            }
            Binding::Array(values) => values.first().cloned().unwrap_or_default(),
        }
    }

    pub(super) fn parameter(&mut self, parameter: &Parameter, quoted: bool, into: &mut Fields) {
        if parameter.is_list() && !parameter.indirect && parameter.operator != Operator::Length {
            self.list(parameter, quoted, into);
            return;
        }
        let value = self.plain_value(parameter);
        let value = self.operate(parameter, value);
        into.value(&value, quoted);
    }

    fn list(&mut self, parameter: &Parameter, quoted: bool, into: &mut Fields) {
        let values = if matches!(parameter.name.as_str(), "@" | "*") {
            self.state.positional.clone()
        } else {
            match self.state.get(&parameter.name) {
                Binding::Array(values) => values,
                Binding::Values(_) => vec![self.lookup(&parameter.name)],
            }
        };
        let values = match &parameter.operator {
            Operator::Default(word) | Operator::Assign(word)
                if values.iter().all(Value::is_empty) =>
            {
                vec![self.one_value(word)]
            }
            Operator::None => values,
            Operator::Slice { offset, length } => {
                let offset = self.one_value(offset).known().and_then(|text| text.parse().ok());
                let count = length.as_ref().map(|word| self.one_value(word));
                let count = count.map(|value| value.known().and_then(|text| text.parse().ok()));
                match (offset, count) {
                    (Some(from), Some(Some(count))) => {
                        // The first positional parameter has the number one.
                        let skip: usize = from;
                        let skip = skip - usize::from(parameter.name == "@" && skip > 0);
                        values.into_iter().skip(skip).take(count).collect()
                    }
                    (Some(from), None) => {
                        let skip: usize = from;
                        let skip = skip - usize::from(parameter.name == "@" && skip > 0);
                        values.into_iter().skip(skip).collect()
                    }
                    _ => vec![Value::unknown()],
                }
            }
            _ => values.into_iter().map(|value| self.operate(parameter, value)).collect(),
        };
        let joined = parameter.is_joined() && quoted;
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                if joined {
                    into.value(&Value::text(" "), true);
                } else {
                    into.next();
                }
            }
            into.value(value, quoted);
        }
    }

    fn plain_value(&mut self, parameter: &Parameter) -> Value {
        let value = self.named(&parameter.name, parameter.subscript.as_ref());
        if !parameter.indirect {
            return value;
        }
        match value.known() {
            Some("") | None => Value::unknown(),
            Some(name) => {
                let name = name.to_owned();
                self.subscripts_in(&value);
                self.named(&name, None)
            }
        }
    }

    fn named(&mut self, name: &str, subscript: Option<&Word>) -> Value {
        if let Ok(number) = name.parse::<usize>() {
            if number == 0 {
                return self.state.script().cloned().unwrap_or_else(|| Value::text("bash"));
            }
            let split = self.state.positional.iter().any(Value::has_unknown);
            return match self.state.positional.get(number - 1) {
                Some(value) => value.clone(),
                None if split => Value::unknown(),
                None => Value::default(),
            };
        }
        match name {
            "#" => return Value::text(self.state.positional.len().to_string()),
            // Numbers of processes, and how the last command ended: any number does.
            "?" => return Value::text("0"),
            "$" | "!" => return Value::text("4321"),
            "-" | "_" => return Value::unknown(),
            _ => {}
        }
        let Some(subscript) = subscript else { return self.lookup(name) };
        let at = self.one_value(subscript);
        self.hidden_subscript(&at);
        match (self.state.get(name), at.known().and_then(|at| at.parse::<usize>().ok())) {
            (Binding::Array(values), Some(at)) => values.get(at).cloned().unwrap_or_default(),
            (Binding::Values(_), Some(0)) => self.lookup(name),
            _ => Value::unknown(),
        }
    }

    fn operate(&mut self, parameter: &Parameter, value: Value) -> Value {
        match &parameter.operator {
            Operator::Length => match value.known().filter(|_| !parameter.is_list()) {
                Some(text) => Value::text(text.chars().count().to_string()),
                None => Value::unknown(),
            },
            Operator::Default(word) if value.is_empty() => self.one_value(word),
            Operator::Assign(word) if value.is_empty() => {
                let value = self.one_value(word);
                self.state.set(&parameter.name, Binding::one(value.clone()));
                value
            }
            // It would end here, but says something first.
            Operator::Error(word) if value.is_empty() => {
                self.one_value(word);
                Value::unknown()
            }
            Operator::Alternative(word) if !value.is_empty() => self.one_value(word),
            Operator::None
            | Operator::Default(_)
            | Operator::Assign(_)
            | Operator::Error(_)
            | Operator::Alternative(_) => value,
            // `${p#/proc/}` of `/proc/[0-9]*`
            Operator::Prefix { pattern, .. } if value.known().is_none() => {
                let pattern = self.one_value(pattern);
                without_prefix(&value, &pattern).unwrap_or_else(Value::unknown)
            }
            Operator::Prefix { longest, pattern } => self.cut(&value, pattern, |pattern, text| {
                let fits = |at: &usize| glob::matches(pattern, text.get(..*at).unwrap_or(&[]));
                let mut ends = 0..=text.len();
                let end = if *longest { ends.rev().find(fits) } else { ends.find(fits) };
                text.get(end.unwrap_or(0)..).unwrap_or_default().iter().collect()
            }),
            Operator::Suffix { longest, pattern } => self.cut(&value, pattern, |pattern, text| {
                let fits = |at: &usize| glob::matches(pattern, text.get(*at..).unwrap_or(&[]));
                let mut begins = 0..=text.len();
                let begin = if *longest { begins.find(fits) } else { begins.rev().find(fits) };
                let end = begin.unwrap_or(text.len());
                text.get(..end).unwrap_or_default().iter().collect()
            }),
            Operator::Replace { mode, pattern, with } => {
                let with = self.one_value(with);
                let Some(with) = with.known().map(str::to_owned) else { return Value::unknown() };
                self.cut(&value, pattern, |pattern, text| replace(*mode, pattern, &with, text))
            }
            Operator::Slice { offset, length } => self.slice(&value, offset, length.as_ref()),
            Operator::Case { to, all } => cased(&value, *to, *all),
            Operator::Transform('U') => cased(&value, '^', true),
            Operator::Transform('u') => cased(&value, '^', false),
            Operator::Transform('L') => cased(&value, ',', true),
            // As a prompt: commands in it are run.
            Operator::Transform('P') => {
                if value.has_unknown() {
                    self.unknown(Why::Code, &value.to_string());
                }
                self.subscripts_in(&value);
                Value::unknown()
            }
            Operator::Transform(_) | Operator::Names | Operator::Other => Value::unknown(),
        }
    }

    /// Works on text that is known with a pattern that is known.
    fn cut(
        &mut self,
        value: &Value,
        pattern: &Word,
        work: impl FnOnce(&[char], &[char]) -> String,
    ) -> Value {
        // Patterns are tried at every place of the text, and for each at every length.
        const LONGEST: usize = 128;
        let pattern = self.one_value(pattern);
        if pattern.has_unknown() {
            return Value::unknown();
        }
        let Some(text) = value.known().filter(|text| text.len() <= LONGEST) else {
            return Value::unknown();
        };
        let mut chars = Vec::new();
        for part in pattern.parts() {
            match part {
                Part::Text(text) => {
                    for c in text.chars() {
                        if "*?[\\".contains(c) {
                            chars.push('\\');
                        }
                        chars.push(c);
                    }
                }
                other => chars.extend(other.text().chars()),
            }
        }
        if chars.len() > 32 {
            return Value::unknown();
        }
        let text: Vec<char> = text.chars().collect();
        Value::text(work(&chars, &text))
    }

    fn slice(&mut self, value: &Value, offset: &Word, length: Option<&Word>) -> Value {
        let offset = self.number(&offset.pieces);
        let length = length.map(|word| self.number(&word.pieces));
        let number = |value: &Value| value.known().and_then(|text| text.parse::<i64>().ok());
        let (Some(text), Some(offset)) = (value.known(), number(&offset)) else {
            return Value::unknown();
        };
        let chars: Vec<char> = text.chars().collect();
        let size = i64::try_from(chars.len()).unwrap_or(i64::MAX);
        let begin = if offset < 0 { size.saturating_add(offset) } else { offset };
        let end = match &length {
            None => size,
            Some(length) => match number(length) {
                Some(length) if length < 0 => size.saturating_add(length),
                Some(length) => begin.saturating_add(length).min(size),
                None => return Value::unknown(),
            },
        };
        let range = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
        let chars = range.and_then(|(begin, end)| chars.get(begin..end)).unwrap_or_default();
        Value::text(chars.iter().collect::<String>())
    }
}

/// What is behind known text that a value begins with.
fn without_prefix(value: &Value, prefix: &Value) -> Option<Value> {
    let (first, others) = value.parts().split_first()?;
    let Part::Text(text) = first else { return None };
    let mut rest = Value::text(text.strip_prefix(prefix.known()?)?);
    for part in others {
        rest.push(part.clone());
    }
    Some(rest)
}

fn cased(value: &Value, to: char, all: bool) -> Value {
    let Some(text) = value.known() else { return Value::unknown() };
    let mut first = true;
    let change = |c: char| {
        let turn = std::mem::replace(&mut first, false) || all;
        match to {
            '^' if turn => c.to_uppercase().collect::<String>(),
            ',' if turn => c.to_lowercase().collect(),
            '~' if turn && c.is_uppercase() => c.to_lowercase().collect(),
            '~' if turn => c.to_uppercase().collect(),
            _ => c.to_string(),
        }
    };
    Value::text(text.chars().map(change).collect::<String>())
}

/// The text with what a pattern matches replaced: once, everywhere, at the beginning or at the end.
fn replace(mode: Option<char>, pattern: &[char], with: &str, text: &[char]) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at <= text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let anchored = match mode {
            Some('#') => at == 0,
            _ => true,
        };
        let fits = |length: &usize| {
            let at_end = mode != Some('%') || *length == rest.len();
            at_end && glob::matches(pattern, rest.get(..*length).unwrap_or(&[]))
        };
        let found = if anchored { (1..=rest.len()).rev().find(fits) } else { None };
        if let Some(length) = found {
            out.push_str(with);
            at += length;
            if mode != Some('/') {
                out.extend(text.get(at..).unwrap_or_default());
                return out;
            }
        } else {
            out.extend(rest.first());
            at += 1;
        }
    }
    out
}
