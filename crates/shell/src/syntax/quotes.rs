//! Quotes of all kinds.

use super::Piece;
use super::cursor::{Parsed, Parser};
use super::words::{push, push_quoted};

impl Parser<'_> {
    /// `'…'`
    pub(super) fn single_quoted(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let Some(end) = self.quote_end() else { return self.fail("a quote without its end") };
        push_quoted(pieces, self.slice(self.at + 1, end));
        self.at = end + 1;
        Ok(())
    }

    /// Where the single quotes that begin here end.
    fn quote_end(&self) -> Option<usize> {
        let rest = self.bytes.get(self.at + 1..)?;
        Some(self.at + 1 + rest.iter().position(|&byte| byte == b'\'')?)
    }

    /// `'…'` where bash looks for the second quote first, but expands what is between them later:
    /// in arithmetic, and in `"${a:-'…'}"`.
    pub(super) fn weakly_quoted(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let Some(end) = self.quote_end() else { return self.fail("a quote without its end") };
        push_quoted(pieces, "'");
        let start = self.at + 1;
        let text = self.slice(0, end);
        self.enter()?;
        self.within(text, start, |inner| inner.here_text(pieces))?;
        self.leave();
        push_quoted(pieces, "'");
        self.at = end + 1;
        Ok(())
    }

    /// `"…"`
    pub(super) fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.enter()?;
        self.at += 1;
        let counting = std::mem::replace(&mut self.counting, false);
        let mut inner = Vec::new();
        loop {
            let start = self.at;
            while let Some(byte) = self.byte(self.at)
                && !matches!(byte, b'"' | b'\\' | b'$' | b'`')
            {
                self.at += 1;
            }
            if self.at > start {
                push_quoted(&mut inner, self.slice(start, self.at));
            }
            match self.byte(self.at) {
                Some(b'"') => break,
                Some(b'\\') => self.escaped_in_quotes(&mut inner, b"$`\"\\"),
                Some(b'$') => self.dollar(&mut inner, true)?,
                Some(_) => self.backticks(&mut inner, true)?,
                None => return self.fail("a quote without its end"),
            }
        }
        self.at += 1;
        self.counting = counting;
        self.leave();
        // An empty one makes a word of nothing, too.
        let piece =
            if inner.is_empty() { Piece::Quoted(String::new()) } else { Piece::Double(inner) };
        push(pieces, piece);
        Ok(())
    }

    /// A backslash in double quotes, which only quotes some characters.
    pub(super) fn escaped_in_quotes(&mut self, pieces: &mut Vec<Piece>, quotes: &[u8]) {
        match self.byte(self.at + 1) {
            Some(b'\n') => {}
            Some(byte) if quotes.contains(&byte) => {
                push_quoted(pieces, self.slice(self.at + 1, self.at + 2));
            }
            _ => {
                push_quoted(pieces, "\\");
                self.at += 1;
                return;
            }
        }
        self.at += 2;
    }

    /// `$'…'`, at its first quote.
    pub(super) fn ansi_quoted(&mut self) -> Parsed<String> {
        let start = self.at + 1;
        let mut at = start;
        let mut plain = true;
        loop {
            match self.byte(at) {
                None => return self.fail("a quote without its end"),
                Some(b'\'') => break,
                Some(b'\\') => {
                    plain = false;
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
        let text = self.slice(start, at);
        self.at = at + 1;
        Ok(if plain { text.to_owned() } else { decode(text) })
    }

    /// `` `…` ``. What is in there is a text of its own, once some backslashes are gone.
    pub(super) fn backticks(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Parsed<()> {
        let start = self.at + 1;
        let mut plain = true;
        let mut end = start;
        loop {
            match self.byte(end) {
                None => return self.fail("a backtick without its end"),
                Some(b'`') => break,
                Some(b'\\') => {
                    plain = false;
                    end += 2;
                }
                Some(_) => end += 1,
            }
        }
        self.enter()?;
        let script = if plain {
            let text = self.slice(0, end);
            self.whole_of(text, start)
        } else {
            let text = unescaped(self.slice(start, end), quoted);
            self.pay(text.len())?;
            self.whole_of(&text, 0).map_err(|mut error| {
                error.at = start;
                error
            })
        }?;
        self.leave();
        self.at = end + 1;
        push(pieces, Piece::Command(script));
        Ok(())
    }
}

/// The text between backticks, as the shell inside of them sees it.
fn unescaped(text: &str, quoted: bool) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        result.push_str(before);
        let mut chars = behind.chars();
        match chars.next() {
            // Gone even in single quotes: lines are joined before they are looked at.
            Some('\n') => {}
            Some(c @ ('`' | '\\' | '$')) => result.push(c),
            Some('"') if quoted => result.push('"'),
            Some(c) => {
                result.push('\\');
                result.push(c);
            }
            None => result.push('\\'),
        }
        rest = chars.as_str();
    }
    result.push_str(rest);
    result
}

/// Takes digits off the front of a text, and gives their value.
fn number(text: &mut &str, radix: u32, most: usize) -> Option<u32> {
    let digits = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    let (number, rest) = text.split_at_checked(digits)?;
    *text = rest;
    u32::from_str_radix(number, radix).ok()
}

/// What is between the quotes of `$'…'`, without its escapes.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let mut chars = behind.chars();
        let Some(c) = chars.next() else {
            rest = "\\";
            break;
        };
        rest = chars.as_str();
        match c {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            '\\' | '\'' | '"' | '?' => push_char(&mut bytes, c),
            '0'..='7' => {
                rest = behind;
                bytes.push(low_byte(number(&mut rest, 8, 3).unwrap_or(0)));
            }
            'x' => {
                if let Some(mut inside) = rest.strip_prefix('{') {
                    // As bash reads it: only the low byte of however many digits.
                    let mut value = 0;
                    while let Some(digit) = number(&mut inside, 16, 1) {
                        value = (value << 4 | digit) & 0xff;
                    }
                    bytes.push(low_byte(value));
                    rest = inside.strip_prefix('}').unwrap_or(inside);
                } else if let Some(value) = number(&mut rest, 16, 2) {
                    bytes.push(low_byte(value));
                } else {
                    bytes.extend_from_slice(b"\\x");
                }
            }
            'u' | 'U' => match number(&mut rest, 16, if c == 'u' { 4 } else { 8 }) {
                Some(0) => bytes.push(0),
                Some(value) => {
                    push_char(&mut bytes, char::from_u32(value).unwrap_or('\u{fffd}'));
                }
                None => {
                    bytes.push(b'\\');
                    push_char(&mut bytes, c);
                }
            },
            'c' => {
                let mut chars = rest.chars();
                match chars.next() {
                    None => bytes.extend_from_slice(b"\\c"),
                    Some(c) => {
                        rest = chars.as_str();
                        if c == '\\' {
                            rest = rest.strip_prefix('\\').unwrap_or(rest);
                        }
                        let control = u32::from(c.to_ascii_uppercase());
                        bytes.push(if c == '?' { 0x7f } else { low_byte(control) & 0x1f });
                    }
                }
            }
            c => {
                bytes.push(b'\\');
                push_char(&mut bytes, c);
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    // A NUL ends the string.
    if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
        bytes.truncate(end);
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn push_char(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn low_byte(value: u32) -> u8 {
    u8::try_from(value & 0xff).unwrap_or_default()
}
