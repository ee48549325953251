//! Redirections.

use super::cursor::{Parsed, Parser};
use super::heredoc::Pending;
use super::words::Place;
use super::{Piece, Redirect, RedirectKind, Word};

/// What is written, and what it means. Longer ones come first.
const OPERATORS: [(&[u8], RedirectKind); 12] = [
    (b"<<<", RedirectKind::HereString),
    (b"<<-", RedirectKind::HereDocument),
    (b"<<", RedirectKind::HereDocument),
    (b"<&", RedirectKind::DuplicateIn),
    (b"<>", RedirectKind::ReadWrite),
    (b"<", RedirectKind::Read),
    (b">>", RedirectKind::Append),
    (b">&", RedirectKind::DuplicateOut),
    (b">|", RedirectKind::Write),
    (b">", RedirectKind::Write),
    (b"&>>", RedirectKind::BothAppend),
    (b"&>", RedirectKind::Both),
];

impl Parser<'_> {
    /// Takes a redirection, if there is one next.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> Parsed<bool> {
        let start = self.at;
        let end = self.descriptor_end();
        let descriptor = (end > start).then(|| self.joined(start, end));
        self.at = end;
        let direct = matches!(self.peek(), Some(b'<' | b'>'));
        if !direct && (descriptor.is_some() || self.peek() != Some(b'&'))
            || direct && self.second() == Some(b'(')
        {
            self.at = start;
            return Ok(false);
        }
        let at = self.at;
        let known = OPERATORS.iter().find(|(operator, _)| self.take(operator));
        let Some(&(operator, kind)) = known else {
            self.at = at;
            return self.unexpected();
        };
        self.blanks();
        let target = match kind {
            RedirectKind::HereDocument => self.here_document(operator.ends_with(b"-"))?,
            RedirectKind::DuplicateIn | RedirectKind::DuplicateOut if self.peek() == Some(b'-') => {
                self.at += 1;
                let pieces = vec![Piece::Text("-".to_owned())];
                Word { pieces, span: self.at - 1..self.at }
            }
            RedirectKind::DuplicateIn | RedirectKind::DuplicateOut => {
                if self.peek() == Some(b'{') {
                    self.no_descriptor()?;
                }
                self.word(Place::Argument)?
            }
            _ => {
                self.no_descriptor()?;
                self.word(Place::Argument)?
            }
        };
        redirects.push(Redirect { descriptor, kind, target });
        Ok(true)
    }

    /// Refuses a word that bash takes for the descriptor of a redirection, where none may be:
    /// `> 2>x` has no target.
    pub(super) fn no_descriptor(&self) -> Parsed<()> {
        let end = self.descriptor_end();
        let redirects = end > self.at
            && matches!(self.byte(end), Some(b'<' | b'>'))
            && self.byte(self.continued(end + 1)) != Some(b'(');
        if redirects { self.unexpected() } else { Ok(()) }
    }

    /// Where the number or the `{name}` that comes next ends; here where there is none.
    fn descriptor_end(&self) -> usize {
        let mut at = self.at;
        match self.byte(at) {
            Some(b'0'..=b'9') => {
                while let Some(b'0'..=b'9') = self.byte(at) {
                    at = self.continued(at + 1);
                }
                if self.joined(self.at, at).parse::<i32>().is_ok() { at } else { self.at }
            }
            Some(b'{') => {
                let end = self.name_end(at + 1);
                if end == at + 1 || self.byte(end) != Some(b'}') {
                    return self.at;
                }
                self.continued(end + 1)
            }
            _ => at,
        }
    }

    /// The word behind `<<`. What is given for it is where its text will be found.
    fn here_document(&mut self, strip: bool) -> Parsed<Word> {
        self.unclear |= self.counting;
        let word = self.word(Place::Argument)?;
        let mut delimiter = String::new();
        let mut quoted = false;
        let mut known = true;
        for piece in &word.pieces {
            match piece {
                Piece::Text(text) => delimiter.push_str(text),
                Piece::Quoted(text) => {
                    quoted = true;
                    delimiter.push_str(text);
                }
                Piece::Double(pieces) => {
                    quoted = true;
                    match pieces.as_slice() {
                        [Piece::Quoted(text)] => delimiter.push_str(text),
                        _ => known = false,
                    }
                }
                _ => known = false,
            }
        }
        if !known {
            // It is not expanded.
            let raw = self.joined(word.span.start, word.span.end);
            let plain = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Parameter(_));
            if raw.contains(['\'', '"', '\\', '`', '(']) || !word.pieces.iter().all(plain) {
                return self.fail("a here-document with an end that is not plain");
            }
            delimiter = raw;
        }
        if delimiter.contains('\n') {
            return self.fail("a here-document that cannot end");
        }
        let id = self.bodies.len();
        self.bodies.push(Word::default());
        self.pending.push(Pending { id, delimiter, strip, quoted });
        Ok(Word { pieces: Vec::new(), span: id..id })
    }
}
