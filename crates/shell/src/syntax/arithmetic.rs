//! Arithmetic, and what else is read like it.

use super::cursor::{Parsed, Parser};
use super::words::{push, push_quoted, push_text};
use super::{DEEPEST, Piece, Word};

/// What ends an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// `))`
    Brackets,
    /// The `]` of `$[…]`.
    Square,
    /// The `]` of `name[…]=`.
    Subscript,
    /// The `]` of `${name[…]}`.
    Braced,
    /// `:` or `}`
    Slice,
}

/// Whether an expression has anything to do at a byte.
fn notable(stop: Stop, byte: u8) -> bool {
    match byte {
        b'(' | b')' | b'\\' | b'\'' | b'"' | b'`' | b'$' => true,
        b'<' | b'>' => matches!(stop, Stop::Subscript | Stop::Braced | Stop::Slice),
        b';' => stop == Stop::Brackets,
        b'[' | b']' => matches!(stop, Stop::Square | Stop::Subscript | Stop::Braced),
        b'}' => matches!(stop, Stop::Slice | Stop::Braced),
        b':' | b'?' => stop == Stop::Slice,
        _ => false,
    }
}

/// Whether square brackets in a substitution could be counted in several ways.
fn hides_brackets(text: &str) -> bool {
    let mut open = 0_usize;
    let mut found = false;
    for byte in text.bytes() {
        match byte {
            b'[' => open += 1,
            b']' if open == 0 => return true,
            b']' => open -= 1,
            _ => continue,
        }
        found = true;
    }
    open > 0 || found && text.contains(['\'', '"', '\\', '`', '('])
}

/// What an expression was.
#[derive(Debug, Clone, Copy)]
struct Ended {
    /// Whether it ended as it should; `(` `(` may be something else.
    well: bool,
    /// Whether there is `$'…'` in it that would be expanded once more.
    expands: bool,
    semicolons: usize,
}

impl Parser<'_> {
    /// From here on, bash only counts brackets at first.
    pub(super) fn start_counting(&mut self) -> (bool, bool) {
        let outer = (self.counting, self.unclear);
        self.counting = true;
        self.unclear = false;
        outer
    }

    /// The end of what [`start_counting`](Self::start_counting) began.
    pub(super) fn stop_counting(&mut self, outer: (bool, bool)) -> Parsed<()> {
        if self.unclear {
            return self.fail("brackets that can be counted in several ways");
        }
        (self.counting, self.unclear) = outer;
        Ok(())
    }

    /// Refuses too many open brackets.
    pub(super) fn check_open(&self, open: usize) -> Parsed<()> {
        if self.depth + open > DEEPEST { self.too_deep() } else { Ok(()) }
    }

    /// An expression that is one for sure.
    fn sure_expression(&mut self, pieces: &mut Vec<Piece>, stop: Stop) -> Parsed<()> {
        let ended = self.expression(pieces, stop)?;
        if ended.expands { self.fail("`$'…'` that bash would expand") } else { Ok(()) }
    }

    /// An expression, up to its end, which is taken, except for that of a slice.
    fn expression(&mut self, pieces: &mut Vec<Piece>, stop: Stop) -> Parsed<Ended> {
        let (mut round, mut square, mut questions) = (0_usize, 0_usize, 0_usize);
        let mut ended = Ended { well: true, expands: false, semicolons: 0 };
        loop {
            let start = self.at;
            while let Some(byte) = self.byte(self.at)
                && !notable(stop, byte)
            {
                self.at += 1;
            }
            if self.at > start {
                push_text(pieces, self.slice(start, self.at));
            }
            let Some(byte) = self.byte(self.at) else {
                return self.fail("an expression without its end");
            };
            match byte {
                b'\\' => {
                    self.escaped(pieces);
                    continue;
                }
                b'\'' => {
                    self.weakly_quoted(pieces)?;
                    continue;
                }
                b'"' => {
                    self.double_quoted(pieces)?;
                    continue;
                }
                b'`' => {
                    self.backticks(pieces, false)?;
                    continue;
                }
                b'$' if self.second() == Some(b'\'') => {
                    self.at = self.continued(self.at + 1);
                    let text = self.ansi_quoted()?;
                    ended.expands |= text.contains(['$', '`', '\\', '"', '\'']);
                    push_quoted(pieces, &text);
                    continue;
                }
                b'$' => {
                    let start = self.at;
                    self.dollar(pieces, true)?;
                    // There, bash does not look into substitutions for the end.
                    self.unclear |= stop == Stop::Square
                        && !matches!(pieces.last(), Some(Piece::Arithmetic(_)))
                        && hides_brackets(self.slice(start, self.at));
                    continue;
                }
                // A substitution to bash when it looks for the end, and text later.
                b'<' | b'>' if self.second() == Some(b'(') => {
                    return self.fail("brackets that can be counted in several ways");
                }
                b'<' | b'>' => {}
                b'(' => round += 1,
                b')' if round > 0 => round -= 1,
                b')' if stop == Stop::Brackets => {
                    self.at += 1;
                    ended.well = self.take(b")");
                    return Ok(ended);
                }
                b')' => self.unclear |= self.counting,
                b';' => ended.semicolons += 1,
                b'[' => square += 1,
                b']' if square > 0 => square -= 1,
                b']' => {
                    self.at += 1;
                    self.unclear |= self.counting && round > 0;
                    return Ok(ended);
                }
                b'}' if stop == Stop::Braced => return self.fail("a subscript without its end"),
                b'}' => {
                    self.unclear |= self.counting && round > 0;
                    return Ok(ended);
                }
                b'?' => questions += 1,
                b':' if round > 0 => {}
                b':' if questions > 0 => questions -= 1,
                _ => return Ok(ended),
            }
            self.check_open(round + square)?;
            push_text(pieces, self.slice(self.at, self.at + 1));
            self.at += 1;
        }
    }

    /// What is in `((…))`, from behind its first bracket; nothing where it is something else.
    pub(super) fn double_brackets(&mut self) -> Parsed<Option<(Word, usize)>> {
        self.enter()?;
        let outer = self.start_counting();
        let start = self.at;
        let mut pieces = Vec::new();
        let ended = self.expression(&mut pieces, Stop::Brackets)?;
        let end = self.at;
        self.stop_counting(outer)?;
        self.leave();
        if ended.well {
            if ended.expands {
                return self.fail("`$'…'` that bash would expand");
            }
            let span = start..end.saturating_sub(2).max(start);
            return Ok(Some((Word { pieces, span }, ended.semicolons)));
        }
        self.pay(end - start)?;
        Ok(None)
    }

    /// `$((…))` or `$((…) …)`, at its first bracket.
    pub(super) fn dollar_brackets(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let first = self.at + 1;
        self.at = self.continued(first) + 1;
        if let Some((word, _)) = self.double_brackets()? {
            push(pieces, Piece::Arithmetic(word.pieces));
            return Ok(());
        }
        self.at = first;
        let outer = self.start_counting();
        let script = self.substitution()?;
        self.stop_counting(outer)?;
        push(pieces, Piece::Command(script));
        Ok(())
    }

    /// `$[…]`, at its bracket.
    pub(super) fn dollar_square(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.enter()?;
        self.at += 1;
        let outer = self.start_counting();
        let mut inner = Vec::new();
        self.sure_expression(&mut inner, Stop::Square)?;
        self.stop_counting(outer)?;
        self.leave();
        push(pieces, Piece::Arithmetic(inner));
        Ok(())
    }

    /// The subscript of an array, from behind its first bracket to behind its last.
    pub(super) fn subscript(&mut self, braced: bool) -> Parsed<Word> {
        self.enter()?;
        let start = self.at;
        let mut pieces = Vec::new();
        let stop = if braced { Stop::Braced } else { Stop::Subscript };
        self.sure_expression(&mut pieces, stop)?;
        self.leave();
        Ok(Word { pieces, span: start..self.at - 1 })
    }

    /// One number of `${name:…:…}`.
    pub(super) fn slice_number(&mut self) -> Parsed<Word> {
        let start = self.at;
        let mut pieces = Vec::new();
        self.sure_expression(&mut pieces, Stop::Slice)?;
        Ok(Word { pieces, span: start..self.at })
    }
}
