//! `${…}`

use super::cursor::{Parsed, Parser, begins_name};
use super::words::{push, push_quoted, push_text};
use super::{Operator, Parameter, Piece, Word};

/// What a word in `${…}` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Of `:-` and the like: in double quotes, it is as quoted as everything there.
    Value,
    /// Quotes in it quote, whatever is around.
    Pattern,
    /// A pattern that ends at a slash.
    Replaced,
}

impl Parser<'_> {
    /// `${…}`, at its bracket.
    pub(super) fn braced(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Parsed<()> {
        self.enter()?;
        self.at += 1;
        if let Some(byte @ (b' ' | b'\t' | b'\n' | b'|')) = self.peek() {
            if byte == b'|' {
                self.at += 1;
            }
            let outer = std::mem::replace(&mut self.braced, true);
            let script = self.inner_script(false, |parser| {
                parser.blanks();
                if parser.after_word || !parser.take(b"}") {
                    return parser.unexpected();
                }
                Ok(())
            })?;
            self.braced = outer;
            push(pieces, Piece::Command(script));
        } else {
            let parameter = self.parameter(quoted)?;
            if self.peek() != Some(b'}') {
                return self.fail("a bad substitution");
            }
            self.at += 1;
            push(pieces, Piece::Parameter(parameter));
        }
        self.leave();
        Ok(())
    }

    fn parameter(&mut self, quoted: bool) -> Parsed<Box<Parameter>> {
        if self.peek() == Some(b'#')
            && let Some(parameter) = self.length()?
        {
            return Ok(parameter);
        }
        let indirect = self.peek() == Some(b'!') && self.is_indirect();
        if indirect {
            self.at += 1;
        }
        let (name, subscript) = self.subject()?;
        let mut parameter =
            Box::new(Parameter { name, subscript, indirect, operator: Operator::None });
        if indirect && self.names(&parameter) {
            parameter.operator = Operator::Names;
        } else {
            parameter.operator = self.operator(quoted)?;
        }
        Ok(parameter)
    }

    /// `#name`, where it is that and not the parameter `#`.
    fn length(&mut self) -> Parsed<Option<Box<Parameter>>> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(byte) if begins_name(byte) || byte.is_ascii_digit() => {}
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') if self.second() == Some(b'}') => {
            }
            _ => {
                self.at = start;
                return Ok(None);
            }
        }
        let (name, subscript) = self.subject()?;
        let operator = Operator::Length;
        Ok(Some(Box::new(Parameter { name, subscript, indirect: false, operator })))
    }

    /// Whether `!` is not the parameter of that name.
    fn is_indirect(&self) -> bool {
        match self.second() {
            Some(b'@' | b'*' | b'#' | b'$' | b'!') => {
                let second = self.continued(self.at + 1);
                self.byte(self.continued(second + 1)) == Some(b'}')
            }
            Some(byte) => begins_name(byte) || byte.is_ascii_digit(),
            None => false,
        }
    }

    /// A name with its subscript.
    fn subject(&mut self) -> Parsed<(String, Option<Word>)> {
        let start = self.at;
        match self.peek() {
            Some(byte) if begins_name(byte) => {
                self.at = self.name_end(start);
                let name = self.joined(start, self.at);
                let mut subscript = None;
                if self.peek() == Some(b'[') {
                    self.at += 1;
                    subscript = Some(self.subscript(true)?);
                }
                Ok((name, subscript))
            }
            Some(b'0'..=b'9') => {
                while let Some(b'0'..=b'9') = self.peek() {
                    self.at += 1;
                }
                Ok((self.joined(start, self.at), None))
            }
            Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.at += 1;
                Ok((char::from(byte).to_string(), None))
            }
            _ => self.fail("a bad substitution"),
        }
    }

    /// Whether `${!…}` is about names.
    fn names(&mut self, parameter: &Parameter) -> bool {
        match &parameter.subscript {
            Some(word) => {
                let [Piece::Text(text)] = word.pieces.as_slice() else { return false };
                matches!(text.as_str(), "@" | "*") && self.peek() == Some(b'}')
            }
            None if matches!(self.peek(), Some(b'*' | b'@')) && self.second() == Some(b'}') => {
                self.at += 1;
                true
            }
            None => false,
        }
    }

    fn operator(&mut self, quoted: bool) -> Parsed<Operator> {
        let Some(byte) = self.peek() else { return self.fail("`${` without its `}`") };
        if byte == b'}' {
            return Ok(Operator::None);
        }
        self.at += 1;
        match byte {
            b':' => {
                if let Some(byte @ (b'-' | b'=' | b'?' | b'+')) = self.peek() {
                    self.at += 1;
                    return self.value_operator(byte, quoted);
                }
                let offset = self.slice_number()?;
                let mut length = None;
                if self.peek() == Some(b':') {
                    self.at += 1;
                    length = Some(self.slice_number()?);
                }
                Ok(Operator::Slice { offset, length })
            }
            b'-' | b'=' | b'?' | b'+' => self.value_operator(byte, quoted),
            b'#' | b'%' => {
                let longest = self.peek() == Some(byte);
                if longest {
                    self.at += 1;
                }
                let pattern = self.parameter_word(quoted, Role::Pattern)?;
                Ok(if byte == b'#' {
                    Operator::Prefix { longest, pattern }
                } else {
                    Operator::Suffix { longest, pattern }
                })
            }
            b'/' => self.replacement(quoted),
            b'^' | b',' | b'~' => {
                let all = self.peek() == Some(byte);
                if all {
                    self.at += 1;
                }
                let pattern = self.parameter_word(quoted, Role::Pattern)?;
                if pattern.pieces.is_empty() {
                    return Ok(Operator::Case { to: char::from(byte), all });
                }
                let literal = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Quoted(_));
                if pattern.pieces.iter().all(literal) {
                    return Ok(Operator::Other);
                }
                self.fail("letters that are only known when it runs")
            }
            b'@' => match self.peek() {
                Some(byte) if b"QEPAaUuLKk".contains(&byte) => {
                    self.at += 1;
                    Ok(Operator::Transform(char::from(byte)))
                }
                _ => self.fail("a bad substitution"),
            },
            _ => self.fail("a bad substitution"),
        }
    }

    fn value_operator(&mut self, byte: u8, quoted: bool) -> Parsed<Operator> {
        let word = self.parameter_word(quoted, Role::Value)?;
        Ok(match byte {
            b'-' => Operator::Default(word),
            b'=' => Operator::Assign(word),
            b'?' => Operator::Error(word),
            _ => Operator::Alternative(word),
        })
    }

    fn replacement(&mut self, quoted: bool) -> Parsed<Operator> {
        let mode = match self.peek() {
            Some(byte @ (b'/' | b'#' | b'%')) => {
                self.at += 1;
                Some(char::from(byte))
            }
            _ => None,
        };
        let pattern = self.parameter_word(quoted, Role::Replaced)?;
        let mut with = Word { pieces: Vec::new(), span: self.at..self.at };
        if self.peek() == Some(b'/') {
            self.at += 1;
            with = self.parameter_word(quoted, Role::Pattern)?;
        }
        Ok(Operator::Replace { mode, pattern, with })
    }

    /// A word up to the `}`.
    fn parameter_word(&mut self, quoted: bool, role: Role) -> Parsed<Word> {
        let start = self.at;
        let mut pieces = Vec::new();
        let weak = quoted && role == Role::Value;
        loop {
            let run = self.at;
            while let Some(byte) = self.byte(self.at)
                && !matches!(byte, b'}' | b'\\' | b'\'' | b'"' | b'`' | b'$' | b'<' | b'>')
                && !(byte == b'/' && role == Role::Replaced)
            {
                self.unclear |= self.counting && matches!(byte, b'(' | b')');
                self.at += 1;
            }
            if self.at > run {
                push_literal(&mut pieces, self.slice(run, self.at), weak);
            }
            match self.byte(self.at) {
                None => return self.fail("`${` without its `}`"),
                Some(b'\\') if weak => self.escaped_in_quotes(&mut pieces, b"$`\"\\}"),
                Some(b'\\') => self.escaped(&mut pieces),
                Some(b'\'') if weak => self.weakly_quoted(&mut pieces)?,
                Some(b'\'') => self.single_quoted(&mut pieces)?,
                Some(b'"') => self.double_quoted(&mut pieces)?,
                Some(b'`') => self.backticks(&mut pieces, false)?,
                Some(b'$') if weak && self.second() == Some(b'\'') => {
                    self.at = self.continued(self.at + 1);
                    let text = self.ansi_quoted()?;
                    // Bash puts it there without quotes, and expands what it then finds.
                    if text.contains(['$', '`', '\\', '"', '\'', '}']) {
                        return self.fail("`$'…'` that bash would expand");
                    }
                    push_quoted(&mut pieces, &text);
                }
                Some(b'$') => self.dollar(&mut pieces, false)?,
                Some(b'<' | b'>') => {
                    if self.second() == Some(b'(') {
                        self.process(&mut pieces)?;
                    } else {
                        push_literal(&mut pieces, self.slice(self.at, self.at + 1), weak);
                        self.at += 1;
                    }
                }
                Some(_) => return Ok(Word { pieces, span: start..self.at }),
            }
        }
    }
}

fn push_literal(pieces: &mut Vec<Piece>, text: &str, quoted: bool) {
    if quoted {
        push_quoted(pieces, text);
    } else {
        push_text(pieces, text);
    }
}
