//! Words and assignments.

use super::cursor::{Parsed, Parser, ends_word, ordinary};
use super::{Assignment, Direction, Piece, Word};

/// What a word is, which decides what some characters mean in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The program of a command.
    First,
    /// Any other word.
    Argument,
    /// An argument of `declare` and the like, which may be an array.
    Declared,
    /// An element of an array.
    Element,
    /// Behind `=~`.
    Regex,
}

/// Adds text to a word.
#[inline]
pub(super) fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if let Some(Piece::Text(last)) = pieces.last_mut() {
        last.push_str(text);
    } else {
        push(pieces, Piece::Text(text.to_owned()));
    }
}

/// Adds quoted text to a word.
#[inline]
pub(super) fn push_quoted(pieces: &mut Vec<Piece>, text: &str) {
    if let Some(Piece::Quoted(last)) = pieces.last_mut() {
        last.push_str(text);
    } else {
        push(pieces, Piece::Quoted(text.to_owned()));
    }
}

/// Most words have one piece.
#[inline]
pub(super) fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    if pieces.is_empty() {
        pieces.reserve_exact(1);
    }
    pieces.push(piece);
}

impl Parser<'_> {
    /// A word, which has to be next.
    pub(super) fn word(&mut self, place: Place) -> Parsed<Word> {
        let start = self.at;
        let mut pieces = Vec::new();
        match place {
            Place::Declared => self.declared(&mut pieces)?,
            Place::Element | Place::First => self.subscripted(&mut pieces, place)?,
            Place::Argument | Place::Regex => {}
        }
        self.pieces(&mut pieces, place)?;
        if self.at == start {
            return self.unexpected();
        }
        Ok(Word { pieces, span: start..self.at })
    }

    /// The pieces of a word, up to its end.
    fn pieces(&mut self, pieces: &mut Vec<Piece>, place: Place) -> Parsed<()> {
        loop {
            let start = self.at;
            while let Some(byte) = self.byte(self.at) {
                let plain = ordinary(byte)
                    || matches!(byte, b'?' | b'*' | b'+' | b'@' | b'!')
                        && !matches!(self.byte(self.at + 1), Some(b'(' | b'\\'));
                if !plain {
                    break;
                }
                self.at += 1;
            }
            if self.at > start {
                push_text(pieces, self.slice(start, self.at));
            }
            let Some(byte) = self.byte(self.at) else { return Ok(()) };
            match byte {
                b'\\' => self.escaped(pieces),
                b'\'' => self.single_quoted(pieces)?,
                b'"' => self.double_quoted(pieces)?,
                b'`' => self.backticks(pieces, false)?,
                b'$' => self.dollar(pieces, false)?,
                b'<' | b'>' if self.second() == Some(b'(') => self.process(pieces)?,
                b'?' | b'*' | b'+' | b'@' | b'!' => {
                    let next = self.continued(self.at + 1);
                    let group = self.byte(next) == Some(b'(');
                    if group && place == Place::First && self.is_function(next) {
                        push_text(pieces, self.slice(self.at, self.at + 1));
                        self.at = next;
                        return Ok(());
                    }
                    push_text(pieces, self.slice(self.at, self.at + 1));
                    self.at += 1;
                    if group {
                        self.at = next;
                        self.group(pieces)?;
                    }
                }
                b'(' if place == Place::Regex => self.group(pieces)?,
                b'|' if place == Place::Regex => {
                    push_text(pieces, "|");
                    self.at += 1;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Whether brackets are those of the definition of a function.
    fn is_function(&self, open: usize) -> bool {
        let mut at = open + 1;
        while let Some(b' ' | b'\t') = self.byte(at) {
            at += 1;
        }
        self.byte(at) == Some(b')')
    }

    /// A backslash and what it quotes.
    pub(super) fn escaped(&mut self, pieces: &mut Vec<Piece>) {
        match self.slice(self.at + 1, self.bytes.len()).chars().next() {
            None => {
                push_quoted(pieces, "\\");
                self.at += 1;
            }
            Some('\n') => self.at += 2,
            Some(c) => {
                let end = self.at + 1 + c.len_utf8();
                push_quoted(pieces, self.slice(self.at + 1, end));
                self.at = end;
            }
        }
    }

    /// `<(…)`, `>(…)`
    pub(super) fn process(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let direction = if self.peek() == Some(b'<') { Direction::In } else { Direction::Out };
        self.at = self.continued(self.at + 1) + 1;
        let counted = self.peek() == Some(b'(');
        let outer = (self.counting, self.unclear);
        if counted {
            self.start_counting();
        }
        let script = self.substitution()?;
        if counted {
            self.stop_counting(outer)?;
        }
        push(pieces, Piece::Process(direction, script));
        Ok(())
    }

    /// `(…)` of a pattern or a regular expression, from its first bracket to its last. Bash counts
    /// brackets here, and nothing else.
    fn group(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let outer = self.start_counting();
        let mut open = 0_usize;
        loop {
            let start = self.at;
            while let Some(byte) = self.byte(self.at)
                && !matches!(byte, b'(' | b')' | b'\\' | b'\'' | b'"' | b'`' | b'$')
            {
                self.at += 1;
            }
            if self.at > start {
                push_text(pieces, self.slice(start, self.at));
            }
            match self.byte(self.at) {
                None => return self.fail("a `(` without its `)`"),
                Some(b'\\') => self.escaped(pieces),
                Some(b'\'') => self.single_quoted(pieces)?,
                Some(b'"') => self.double_quoted(pieces)?,
                Some(b'`') => self.backticks(pieces, false)?,
                Some(b'$') => self.dollar(pieces, false)?,
                Some(byte) => {
                    push_text(pieces, if byte == b'(' { "(" } else { ")" });
                    self.at += 1;
                    if byte == b'(' {
                        open += 1;
                        self.check_open(open)?;
                        continue;
                    }
                    open = open.saturating_sub(1);
                    if open == 0 {
                        return self.stop_counting(outer);
                    }
                }
            }
        }
    }

    /// An assignment before a command, if there is one next.
    pub(super) fn assignment(&mut self) -> Parsed<Option<Assignment>> {
        let start = self.at;
        let end = self.name_end(start);
        if end == start {
            return Ok(None);
        }
        let subscript = match self.byte(end) {
            Some(b'[') => {
                self.at = end + 1;
                Some(self.subscript(false)?)
            }
            Some(b'=' | b'+') => {
                self.at = end;
                None
            }
            _ => return Ok(None),
        };
        let append = self.peek() == Some(b'+');
        if !self.take(if append { b"+=" } else { b"=" }) {
            // It is read again as a word.
            if subscript.is_some() {
                self.pay(self.at - start)?;
            }
            self.at = start;
            return Ok(None);
        }
        let name = self.joined(start, end);
        let from = self.at;
        let mut pieces = Vec::new();
        if self.peek() == Some(b'(') {
            self.array(&mut pieces)?;
        }
        self.pieces(&mut pieces, Place::Argument)?;
        let value = Word { pieces, span: from..self.at };
        Ok(Some(Assignment { name, subscript, append, value }))
    }

    /// `name=(…)` as an argument.
    fn declared(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let start = self.at;
        let mut end = self.name_end(start);
        if end == start {
            return Ok(());
        }
        if self.byte(end) == Some(b'[') {
            let rest = self.bytes.get(end..).unwrap_or_default();
            let plain = |&byte: &u8| super::cursor::in_name(byte) || byte == b'[';
            end += rest.iter().take_while(|byte| plain(byte)).count();
            if self.byte(end) != Some(b']') {
                return Ok(());
            }
            end = self.continued(end + 1);
        }
        if self.byte(end) == Some(b'+') {
            end = self.continued(end + 1);
        }
        if self.byte(end) != Some(b'=') || self.byte(self.continued(end + 1)) != Some(b'(') {
            return Ok(());
        }
        push_text(pieces, &self.joined(start, end + 1));
        self.at = self.continued(end + 1);
        self.array(pieces)
    }

    /// `name[…` as a program, `[…` as an element: brackets hold together what is in them.
    fn subscripted(&mut self, pieces: &mut Vec<Piece>, place: Place) -> Parsed<()> {
        let start = self.at;
        let end = self.name_end(start);
        if self.byte(end) != Some(b'[') || end == start && place == Place::First {
            return Ok(());
        }
        self.at = end + 1;
        let subscript = self.subscript(false)?;
        push_text(pieces, &self.joined(start, end));
        push_text(pieces, "[");
        pieces.extend(subscript.pieces);
        push_text(pieces, "]");
        Ok(())
    }

    /// `(a b c)`
    fn array(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.enter()?;
        self.at += 1;
        let mut words = Vec::new();
        loop {
            self.newlines()?;
            match self.peek() {
                Some(b')') => break,
                Some(b'<' | b'>') if self.second() == Some(b'(') => {}
                Some(byte) if !ends_word(byte) => {}
                _ => return self.unexpected(),
            }
            words.push(self.word(Place::Element)?);
        }
        self.at += 1;
        self.leave();
        push(pieces, Piece::Array(words));
        Ok(())
    }
}
