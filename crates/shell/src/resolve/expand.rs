//! Words, expanded: braces, tildes, parameters, commands, arithmetic, fields.

use std::borrow::Cow;

use super::brace;
use super::state::{Binding, home};
use super::walk::Walker;
use super::{Input, Why, arithmetic};
use crate::syntax::{Assignment, Direction, Piece, Word};
use crate::value::{Part, Value};

/// These stand for what is not known, and for the home, in text that is read as a script: whatever
/// quotes are around them. They are no characters of any writing; who has them in a command is
/// taken for somebody who hides something.
pub(super) const HOLE: char = '\u{F8FE}';
pub(super) const HOME: char = '\u{F8FF}';

/// The byte that both begin with.
const MARKED: u8 = 0xEF;

/// The fields that words become.
pub(super) struct Fields {
    done: Vec<Value>,
    current: Value,
    /// Whether there is a current one, if only an empty one.
    open: bool,
    /// Where unquoted expansions are split. None where they are not.
    separators: Option<Cow<'static, str>>,
}

impl Fields {
    fn one() -> Self {
        Self { done: Vec::new(), current: Value::default(), open: false, separators: None }
    }

    fn into_value(self) -> Value {
        self.current
    }

    pub(super) fn next(&mut self) {
        if self.open {
            self.done.push(std::mem::take(&mut self.current));
            self.open = false;
        }
    }

    /// Text that stays as it is.
    fn literal(&mut self, text: &str) {
        self.open = true;
        let mut rest = text;
        while let Some(at) = mark_in(rest) {
            let (before, mark) = rest.split_at(at);
            self.current.push_str(before);
            self.current.push(if mark.starts_with(HOLE) { Part::Unknown } else { Part::Home });
            rest = mark.get(HOLE.len_utf8()..).unwrap_or_default();
        }
        self.current.push_str(rest);
    }

    /// Text in which globs have their meaning.
    fn pattern(&mut self, text: &str) {
        self.open = true;
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'*' | b'?' | b'[')) {
            let (before, glob) = rest.split_at(at);
            self.literal(before);
            let length = glob_length(glob);
            let (glob, after) = glob.split_at(length);
            if glob == "[" {
                self.current.push_str(glob);
            } else {
                self.current.push(Part::Glob(glob.to_owned()));
            }
            rest = after;
        }
        self.literal(rest);
    }

    /// What an expansion gave.
    pub(super) fn value(&mut self, value: &Value, quoted: bool) {
        let separators = match &self.separators {
            Some(separators) if !quoted => separators.clone(),
            _ => {
                self.open |= quoted || !value.is_empty();
                self.current.append(value);
                return;
            }
        };
        for part in value.parts() {
            match part {
                Part::Text(text) => {
                    let mut pieces = text.split(|c| separators.contains(c));
                    if let Some(first) = pieces.next().filter(|first| !first.is_empty()) {
                        self.pattern(first);
                    }
                    for piece in pieces {
                        self.next();
                        if !piece.is_empty() {
                            self.pattern(piece);
                        }
                    }
                }
                other => {
                    self.open = true;
                    self.current.push(other.clone());
                }
            }
        }
    }
}

/// Where the first of the marks is that stand for something.
fn mark_in(text: &str) -> Option<usize> {
    // Both begin with this byte, which next to no text has.
    if !text.as_bytes().contains(&MARKED) {
        return None;
    }
    text.find([HOLE, HOME])
}

/// The field that a word becomes which stands for nothing but its text.
fn plain(word: &Word) -> Option<&str> {
    let means = |byte: u8| matches!(byte, b'*' | b'?' | b'[' | b'{' | b'~' | MARKED);
    match word.pieces.as_slice() {
        [Piece::Text(text)] => (!text.bytes().any(means)).then_some(text.as_str()),
        [Piece::Quoted(text)] => (!text.as_bytes().contains(&MARKED)).then_some(text.as_str()),
        _ => None,
    }
}

/// How much of a text, which begins with a glob, is that glob.
fn glob_length(text: &str) -> usize {
    if !text.starts_with('[') {
        return 1;
    }
    // A bracket right behind the first one, or behind its negation, is a member.
    let members = text.char_indices().skip(1).skip_while(|(at, c)| *at == 1 && "!^".contains(*c));
    let close = members.skip(1).find(|(_, c)| *c == ']' || *c == '/');
    match close {
        Some((at, ']')) => at + 1,
        _ => 1,
    }
}

impl Walker {
    /// The fields of several words.
    pub(super) fn fields(&mut self, words: &[Word]) -> Vec<Value> {
        let separators = if self.state.binding("IFS").is_none() {
            Cow::Borrowed(" \t\n")
        } else {
            match self.lookup("IFS") {
                value if value.has_unknown() => Cow::Borrowed(""),
                value => Cow::Owned(value.to_string()),
            }
        };
        let done = Vec::with_capacity(words.len());
        let mut fields = Fields { separators: Some(separators), done, ..Fields::one() };
        for word in words {
            if let Some(text) = plain(word) {
                fields.done.push(Value::text(text));
            } else if brace::has_braces(&word.pieces) {
                if let Ok(words) = brace::expand(&word.pieces) {
                    for pieces in words {
                        self.pieces(&pieces, &mut fields);
                        fields.next();
                    }
                } else {
                    self.unknown(Why::TooMuch, "braces that become very many words");
                    fields.value(&Value::unknown(), true);
                    fields.next();
                }
            } else {
                self.pieces(&word.pieces, &mut fields);
                fields.next();
            }
        }
        let copied: usize = fields.done.iter().map(|field| 1 + field.size() / 32).sum();
        self.charge(copied);
        fields.done
    }

    /// A word that becomes exactly one value: that of an assignment, or of a redirection.
    pub(super) fn one_value(&mut self, word: &Word) -> Value {
        let mut fields = Fields::one();
        self.pieces(&word.pieces, &mut fields);
        let value = fields.into_value();
        self.charge(value.size() / 32);
        value
    }

    fn pieces(&mut self, pieces: &[Piece], into: &mut Fields) {
        let mut rest = pieces;
        if let [Piece::Text(text), tail @ ..] = pieces
            && let Some(after) = text.strip_prefix('~')
        {
            let end = after.find('/').unwrap_or(after.len());
            let (name, path) = after.split_at(end);
            // `~"x"` is no home.
            let whole = !path.is_empty() || tail.is_empty();
            if let Some(home) = whole.then(|| self.home_of(name)).flatten() {
                into.value(&home, true);
                into.pattern(path);
                rest = tail;
            }
        }
        for piece in rest {
            self.piece(piece, false, into);
        }
    }

    fn home_of(&self, name: &str) -> Option<Value> {
        match name {
            "" => Some(home()),
            "+" => self.state.directories.first().cloned(),
            "-" => Some(self.state.previous().first().cloned().unwrap_or_else(Value::unknown)),
            "root" => Some(Value::text("/root")),
            name if name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) => {
                Some(Value::text(format!("/home/{name}")))
            }
            _ => None,
        }
    }

    pub(super) fn piece(&mut self, piece: &Piece, quoted: bool, into: &mut Fields) {
        match piece {
            Piece::Text(text) if quoted => into.literal(text),
            Piece::Text(text) => into.pattern(text),
            Piece::Quoted(text) => into.literal(text),
            Piece::Double(pieces) => {
                // `"$@"` alone is no field at all where there are no parameters.
                let only_list = matches!(pieces.as_slice(), [Piece::Parameter(p)] if p.is_list());
                into.open |= !only_list;
                for piece in pieces {
                    self.piece(piece, true, into);
                }
            }
            Piece::Parameter(parameter) => self.parameter(parameter, quoted, into),
            Piece::Command(script) => {
                let value = self.substitution(script);
                into.value(&value, quoted);
            }
            Piece::Process(direction, script) => {
                let path = self.process(*direction, script);
                into.literal(&path);
            }
            Piece::Arithmetic(pieces) => {
                let value = self.number(pieces);
                into.value(&value, true);
            }
            Piece::Array(words) => {
                for value in self.fields(words) {
                    into.value(&value, true);
                }
            }
        }
    }

    /// What a command prints, without the newlines at its end.
    fn substitution(&mut self, script: &crate::syntax::Script) -> Value {
        let output = self.apart(|walker| walker.script(script, &Input::Inherited));
        trim_newlines(&output)
    }

    /// The file through which a process is reached.
    fn process(&mut self, direction: Direction, script: &crate::syntax::Script) -> String {
        let path = format!("/dev/fd/{}", 63_usize.saturating_sub(self.state.files() % 32));
        let input = match direction {
            Direction::In => Input::Inherited,
            Direction::Out => Input::Pipe,
        };
        let output = self.apart(|walker| walker.script(script, &input));
        if direction == Direction::In {
            self.state.keep_file(&path, output);
        }
        path
    }

    pub(super) fn number(&mut self, pieces: &[Piece]) -> Value {
        let mut fields = Fields::one();
        for piece in pieces {
            self.piece(piece, true, &mut fields);
        }
        let value = fields.into_value();
        self.subscripts_in(&value);
        let result = value.known().and_then(|text| {
            let text = self.with_names(text);
            arithmetic::evaluate(&text)
        });
        result.map_or_else(Value::unknown, |number| Value::text(number.to_string()))
    }

    /// An expression in which the names of variables are replaced by their values.
    fn with_names(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end.max(c.len_utf8()));
            if c.is_alphabetic() || c == '_' {
                let value = self.lookup(word);
                self.subscripts_in(&value);
                match value.known() {
                    Some("") => out.push('0'),
                    Some(value) => out.push_str(value),
                    None => out.push('?'),
                }
            } else {
                out.push_str(word);
            }
            rest = after;
        }
        out
    }

    /// What is computed with is read again: a command in a subscript is run then.
    pub(super) fn subscripts_in(&mut self, value: &Value) {
        let hides = |text: &str| text.contains("$(") || text.contains('`') || text.contains("[$");
        if value.parts().iter().any(|part| hides(part.text())) {
            self.unknown(Why::Code, &value.to_string());
        }
    }

    /// A text that runs a command where it is taken for a variable's name or for a number.
    pub(super) fn hidden_subscript(&mut self, value: &Value) {
        let hides = |text: &str| {
            let behind = text.split("[$(").skip(1).chain(text.split("[`").skip(1));
            behind.into_iter().any(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '/'))
        };
        if value.parts().iter().any(|part| hides(part.text())) {
            self.unknown(Why::Code, &value.to_string());
        }
    }

    /// Sets a variable as an assignment says.
    pub(super) fn assign(&mut self, assignment: &Assignment) -> Value {
        if let [Piece::Array(words)] = assignment.value.pieces.as_slice() {
            let mut values = self.fields(words);
            if values.iter().any(|value| value.prefix().starts_with('[')) {
                values = vec![Value::unknown()];
            }
            if assignment.append
                && let Binding::Array(mut before) = self.state.get(&assignment.name)
            {
                self.charge(before.len());
                before.append(&mut values);
                values = before;
            }
            self.state.set(&assignment.name, Binding::Array(values));
            return Value::unknown();
        }
        let mut value = self.one_value(&assignment.value);
        if let Some(subscript) = &assignment.subscript {
            let at = self.one_value(subscript);
            if matches!(assignment.name.as_str(), "BASH_ALIASES" | "BASH_CMDS")
                && let (Some(name), Some(text)) = (at.known(), value.known())
            {
                self.state.set_alias(name, Some(text));
            }
            self.subscripts_in(&at);
            self.assign_element(&assignment.name, &at, value.clone());
            return value;
        }
        self.hidden_subscript(&value);
        if self.state.is_typed(&assignment.name) {
            value = Value::unknown();
        }
        if assignment.append {
            let mut whole = self.lookup(&assignment.name);
            whole.append(&value);
            value = whole;
        }
        self.state.set(&assignment.name, Binding::one(value.clone()));
        value
    }

    fn assign_element(&mut self, name: &str, at: &Value, value: Value) {
        let mut values = match self.state.get(name) {
            Binding::Array(values) => {
                self.charge(values.len());
                values
            }
            Binding::Values(_) => Vec::new(),
        };
        match at.known().and_then(|at| at.parse::<usize>().ok()) {
            Some(at) if at < 256 => {
                if values.len() <= at {
                    values.resize(at + 1, Value::default());
                }
                if let Some(slot) = values.get_mut(at) {
                    *slot = value;
                }
            }
            _ => values = vec![Value::unknown()],
        }
        self.state.set(name, Binding::Array(values));
    }
}

/// A value without the newlines at its end.
pub(super) fn trim_newlines(value: &Value) -> Value {
    let mut trimmed = Value::default();
    let last = value.parts().len().saturating_sub(1);
    for (at, part) in value.parts().iter().enumerate() {
        match part {
            Part::Text(text) if at == last => trimmed.push_str(text.trim_end_matches('\n')),
            part => trimmed.push(part.clone()),
        }
    }
    trimmed
}
