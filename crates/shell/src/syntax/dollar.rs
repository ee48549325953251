//! What begins with a dollar.

use super::cursor::{Parsed, Parser, begins_name};
use super::words::{push, push_quoted, push_text};
use super::{Operator, Parameter, Piece, Script};

impl Parser<'_> {
    /// A `$` and what belongs to it. In quotes, `$'` and `$"` mean nothing.
    pub(super) fn dollar(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Parsed<()> {
        self.at += 1;
        let Some(byte) = self.peek() else {
            push_dollar(pieces, quoted);
            return Ok(());
        };
        match byte {
            b'(' if self.second() == Some(b'(') => self.dollar_brackets(pieces)?,
            b'(' => {
                self.at += 1;
                let script = self.substitution()?;
                push(pieces, Piece::Command(script));
            }
            b'{' => self.braced(pieces, quoted)?,
            b'[' => self.dollar_square(pieces)?,
            b'\'' if !quoted => {
                let text = self.ansi_quoted()?;
                push_quoted(pieces, &text);
            }
            b'"' if !quoted => self.double_quoted(pieces)?,
            _ if begins_name(byte) => {
                let start = self.at;
                self.at = self.name_end(start);
                let name = self.joined(start, self.at);
                push(pieces, plain(name));
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.at += 1;
                push(pieces, plain(char::from(byte).to_string()));
            }
            _ => push_dollar(pieces, quoted),
        }
        Ok(())
    }

    /// What is in `$(…)` or `<(…)`, from behind its first bracket to behind its last.
    pub(super) fn substitution(&mut self) -> Parsed<Script> {
        let script = self.inner_script(true, |parser| {
            if parser.peek() != Some(b')') {
                return parser.unexpected();
            }
            parser.at += 1;
            Ok(())
        })?;
        Ok(script)
    }

    /// A script inside of a word.
    pub(super) fn inner_script(
        &mut self,
        substituted: bool,
        end: impl FnOnce(&mut Self) -> Parsed<()>,
    ) -> Parsed<Script> {
        self.enter()?;
        let pending = std::mem::take(&mut self.pending);
        let outer = std::mem::replace(&mut self.substituted, substituted);
        let braced = self.braced && !substituted;
        let braced = std::mem::replace(&mut self.braced, braced);
        let after_word = self.after_word;
        let bodies = self.bodies.len();
        self.blanks();
        if substituted {
            self.first = self.at;
        }
        let mut script = self.list()?;
        end(self)?;
        if !self.pending.is_empty() {
            return self.fail("a here-document that does not end where it began");
        }
        if self.bodies.len() > bodies {
            self.place(&mut script);
        }
        self.pending = pending;
        self.substituted = outer;
        self.braced = braced;
        self.after_word = after_word;
        self.leave();
        Ok(script)
    }
}

/// A parameter that nothing is done with.
fn plain(name: String) -> Piece {
    Piece::Parameter(Box::new(Parameter {
        name,
        subscript: None,
        indirect: false,
        operator: Operator::None,
    }))
}

fn push_dollar(pieces: &mut Vec<Piece>, quoted: bool) {
    if quoted {
        push_quoted(pieces, "$");
    } else {
        push_text(pieces, "$");
    }
}
