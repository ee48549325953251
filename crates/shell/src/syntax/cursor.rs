//! Where the parser stands, and small steps from there.

use super::heredoc::Pending;
use super::{DEEPEST, Script, SyntaxError, Word};

/// What a step of the parser gives. The error is boxed as it is rare, and results are many.
pub(super) type Parsed<T> = Result<T, Box<SyntaxError>>;

/// How often, at most, a text is read again: what is in backticks has to be copied first, and
/// `((` is only known to be no arithmetic at its end.
const AGAIN: usize = 4;

/// A parser of one text.
// They are what it knows about where it is, each on its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// The next byte.
    pub(super) at: usize,
    /// How many constructs are open.
    pub(super) depth: usize,
    /// How many bytes may be read again.
    pub(super) budget: usize,
    /// Here-documents whose text begins behind the next newline.
    pub(super) pending: Vec<Pending>,
    /// The texts of here-documents, until they are put in their places.
    pub(super) bodies: Vec<Word>,
    /// Whether a `)` ends what is being read: `$(…)`, `<(…)`.
    pub(super) substituted: bool,
    /// Whether a `}` ends what is being read, whatever follows it: `${ …; }`.
    pub(super) braced: bool,
    /// Where the first token of a `$(…)` is.
    pub(super) first: usize,
    /// Whether bash only counts brackets here at first.
    pub(super) counting: bool,
    /// Whether there was something that makes a difference where brackets are counted.
    pub(super) unclear: bool,
    /// Whether the last token was a word, so that no reserved word may follow.
    pub(super) after_word: bool,
}

/// Bytes that have a meaning in a word without quotes.
const fn special(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\n'
            | b';'
            | b'&'
            | b'|'
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'\\'
            | b'\''
            | b'"'
            | b'`'
            | b'$'
            | b'?'
            | b'*'
            | b'+'
            | b'@'
            | b'!'
    )
}

/// Which bytes have no meaning in a word without quotes.
static ORDINARY: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0_u8;
    loop {
        // In a constant, an index outside would not compile.
        #[allow(clippy::indexing_slicing)]
        {
            table[byte as usize] = !special(byte);
        }
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    table
};

/// Whether a byte has no meaning in a word without quotes.
#[inline]
pub(super) fn ordinary(byte: u8) -> bool {
    ORDINARY.get(usize::from(byte)).copied().unwrap_or(true)
}

/// Whether a byte ends a word.
pub(super) const fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Whether a name may begin with a byte.
pub(super) const fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// Whether a name may go on with a byte.
pub(super) const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            budget: text.len().saturating_mul(AGAIN).saturating_add(64),
            pending: Vec::new(),
            bodies: Vec::new(),
            substituted: false,
            braced: false,
            first: usize::MAX,
            counting: false,
            unclear: false,
            after_word: false,
        }
    }

    /// Reads another text, or this one up to an earlier end, with what is left of depth and budget.
    pub(super) fn within<T>(
        &mut self,
        text: &str,
        at: usize,
        read: impl FnOnce(&mut Parser<'_>) -> Parsed<T>,
    ) -> Parsed<T> {
        let mut inner = Parser { at, depth: self.depth, budget: self.budget, ..Parser::new(text) };
        let result = read(&mut inner);
        self.budget = inner.budget;
        result
    }

    /// A script that is a text of its own.
    pub(super) fn whole_of(&mut self, text: &str, at: usize) -> Parsed<Script> {
        self.within(text, at, |inner| {
            let script = inner.whole()?;
            Ok(script)
        })
    }

    /// A script up to the end of the text.
    pub(super) fn whole(&mut self) -> Parsed<Script> {
        let mut script = self.list()?;
        if self.at < self.bytes.len() {
            return self.unexpected();
        }
        // At the end of the text, a here-document has ended, too.
        self.gather()?;
        if !self.bodies.is_empty() {
            self.place(&mut script);
        }
        Ok(script)
    }

    #[cold]
    pub(super) fn fail<T>(&self, what: &str) -> Parsed<T> {
        Err(Box::new(SyntaxError { at: self.at, what: what.to_owned(), too_deep: false }))
    }

    #[cold]
    pub(super) fn unexpected<T>(&self) -> Parsed<T> {
        let next: String = self.slice(self.at, self.bytes.len()).chars().take(12).collect();
        if next.is_empty() {
            return self.fail("the text ends too early");
        }
        self.fail(&format!("unexpected {next:?}"))
    }

    #[cold]
    pub(super) fn too_deep<T>(&self) -> Parsed<T> {
        let what = "nested too deep".to_owned();
        Err(Box::new(SyntaxError { at: self.at, what, too_deep: true }))
    }

    /// Goes one construct deeper.
    pub(super) fn enter(&mut self) -> Parsed<()> {
        if self.depth >= DEEPEST {
            return self.too_deep();
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Pays for bytes that are read again.
    pub(super) fn pay(&mut self, bytes: usize) -> Parsed<()> {
        let Some(left) = self.budget.checked_sub(bytes) else { return self.too_deep() };
        self.budget = left;
        Ok(())
    }

    #[inline]
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The place behind any line continuations.
    #[inline]
    pub(super) fn continued(&self, mut at: usize) -> usize {
        while self.byte(at) == Some(b'\\') && self.byte(at + 1) == Some(b'\n') {
            at += 2;
        }
        at
    }

    /// The next byte; line continuations before it are gone.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let byte = self.byte(self.at)?;
        if byte != b'\\' {
            return Some(byte);
        }
        self.at = self.continued(self.at);
        self.byte(self.at)
    }

    /// The byte behind the next one.
    #[inline]
    pub(super) fn second(&self) -> Option<u8> {
        self.byte(self.continued(self.at + 1))
    }

    /// The place behind some bytes, where they come next.
    pub(super) fn behind(&self, bytes: &[u8]) -> Option<usize> {
        let mut at = self.at;
        for &byte in bytes {
            at = self.continued(at);
            if self.byte(at) != Some(byte) {
                return None;
            }
            at += 1;
        }
        Some(at)
    }

    /// Takes some bytes, where they come next.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let Some(at) = self.behind(bytes) else { return false };
        self.at = at;
        true
    }

    /// Goes to the next token: over blanks, line continuations, and a comment.
    #[inline]
    pub(super) fn blanks(&mut self) {
        loop {
            match self.byte(self.at) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte(self.at + 1) == Some(b'\n') => self.at += 2,
                Some(b'#') => {
                    self.unclear |= self.counting;
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let length = rest.iter().position(|&byte| byte == b'\n');
                    self.at += length.unwrap_or(rest.len());
                    return;
                }
                _ => return,
            }
        }
    }

    /// Takes a newline, and the here-documents behind it.
    pub(super) fn newline(&mut self) -> Parsed<()> {
        self.at += 1;
        self.after_word = false;
        if self.pending.is_empty() { Ok(()) } else { self.gather() }
    }

    /// Goes to the next token that is no newline.
    pub(super) fn newlines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if self.byte(self.at) != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Where the name that begins somewhere ends; the same place where there is none.
    pub(super) fn name_end(&self, from: usize) -> usize {
        let mut at = self.continued(from);
        if !self.byte(at).is_some_and(begins_name) {
            return from;
        }
        while self.byte(at).is_some_and(in_name) {
            at = self.continued(at + 1);
        }
        at
    }

    /// Some text without the line continuations in it.
    pub(super) fn joined(&self, from: usize, to: usize) -> String {
        let text = self.slice(from, to);
        if text.contains('\\') { text.replace("\\\n", "") } else { text.to_owned() }
    }
}
