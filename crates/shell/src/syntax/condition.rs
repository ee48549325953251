//! `[[ … ]]`

use super::commands::Keyword;
use super::cursor::{Parsed, Parser, ends_word};
use super::words::Place;
use super::{CommandKind, Piece, Word};

impl Parser<'_> {
    /// `[[ … ]]`, behind its first word.
    pub(super) fn test(&mut self) -> Parsed<CommandKind> {
        let mut words = Vec::new();
        let mut open = 0_usize;
        loop {
            self.newlines()?;
            if self.test_operator(&mut words, b"(") {
                open += 1;
                self.check_open(open)?;
                continue;
            }
            if let Some((Keyword::Bang, behind)) = self.keyword() {
                words.push(plain("!", self.at));
                self.at = behind;
                continue;
            }
            let lone = self.term(&mut words)?;
            // Behind a word alone, a newline is none of the things that may follow.
            if lone {
                self.blanks();
            } else {
                self.newlines()?;
            }
            while open > 0 && self.test_operator(&mut words, b")") {
                open -= 1;
                self.newlines()?;
            }
            if self.test_operator(&mut words, b"&&") || self.test_operator(&mut words, b"||") {
                continue;
            }
            return match self.keyword() {
                Some((Keyword::TestEnd, behind)) if open == 0 => {
                    self.at = behind;
                    Ok(CommandKind::Test(words))
                }
                _ => self.unexpected(),
            };
        }
    }

    /// Takes an operator where it is next.
    fn test_operator(&mut self, words: &mut Vec<Word>, operator: &[u8]) -> bool {
        self.peek();
        let at = self.at;
        if !self.take(operator) {
            return false;
        }
        let text = std::str::from_utf8(operator).unwrap_or_default();
        words.push(Word { pieces: plain(text, at).pieces, span: at..self.at });
        true
    }

    /// One test. Gives whether it is just a word.
    fn term(&mut self, words: &mut Vec<Word>) -> Parsed<bool> {
        let first = self.test_word(Place::Argument)?;
        let unary = is_unary(&first);
        words.push(first);
        self.blanks();
        if unary {
            words.push(self.test_word(Place::Argument)?);
            return Ok(false);
        }
        match self.peek() {
            Some(b'<' | b'>') if self.second() != Some(b'(') => {
                let less = self.peek() == Some(b'<');
                words.push(plain(if less { "<" } else { ">" }, self.at));
                self.at += 1;
                self.blanks();
                words.push(self.test_word(Place::Argument)?);
                return Ok(false);
            }
            Some(byte) if ends_word(byte) => return Ok(true),
            _ => {}
        }
        if let Some((Keyword::TestEnd, _)) = self.keyword() {
            return Ok(true);
        }
        let operator = self.test_word(Place::Argument)?;
        let place = match operator.pieces.as_slice() {
            [Piece::Text(text)] if text == "=~" => Place::Regex,
            [Piece::Text(text)] if is_binary(text) => Place::Argument,
            _ => return self.fail("no operator where `[[` needs one"),
        };
        words.push(operator);
        self.blanks();
        words.push(self.test_word(place)?);
        Ok(false)
    }

    fn test_word(&mut self, place: Place) -> Parsed<Word> {
        if let Some((Keyword::TestEnd, _)) = self.keyword() {
            return self.unexpected();
        }
        self.no_descriptor()?;
        self.word(place)
    }
}

fn plain(text: &str, at: usize) -> Word {
    Word { pieces: vec![Piece::Text(text.to_owned())], span: at..at + text.len() }
}

fn is_unary(word: &Word) -> bool {
    let [Piece::Text(text)] = word.pieces.as_slice() else { return false };
    let [b'-', letter] = text.as_bytes() else { return false };
    b"abcdefghknoprstuvwxzGLNORS".contains(letter)
}

fn is_binary(text: &str) -> bool {
    matches!(
        text,
        "=" | "==" | "!=" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-nt" | "-ot" | "-ef"
    )
}
