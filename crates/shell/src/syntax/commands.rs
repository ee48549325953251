//! Lists, pipelines and simple commands.

use super::cursor::{Parsed, Parser};
use super::words::Place;
use super::{
    Command, CommandKind, Connective, Piece, Pipeline, Redirect, RedirectKind, Script, Statement,
    Word,
};

/// A reserved word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Bang,
    Open,
    Close,
    Case,
    Coproc,
    Do,
    Done,
    Elif,
    Else,
    Esac,
    Fi,
    For,
    Function,
    If,
    In,
    Select,
    Then,
    Time,
    Until,
    While,
    Test,
    TestEnd,
}

impl Keyword {
    /// The one that is spelt so.
    pub(super) fn of(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"!" => Self::Bang,
            b"{" => Self::Open,
            b"}" => Self::Close,
            b"case" => Self::Case,
            b"coproc" => Self::Coproc,
            b"do" => Self::Do,
            b"done" => Self::Done,
            b"elif" => Self::Elif,
            b"else" => Self::Else,
            b"esac" => Self::Esac,
            b"fi" => Self::Fi,
            b"for" => Self::For,
            b"function" => Self::Function,
            b"if" => Self::If,
            b"in" => Self::In,
            b"select" => Self::Select,
            b"then" => Self::Then,
            b"time" => Self::Time,
            b"until" => Self::Until,
            b"while" => Self::While,
            b"[[" => Self::Test,
            b"]]" => Self::TestEnd,
            _ => return None,
        })
    }

    /// Whether a list ends before it.
    const fn closes(self) -> bool {
        matches!(
            self,
            Self::Close
                | Self::Do
                | Self::Done
                | Self::Elif
                | Self::Else
                | Self::Esac
                | Self::Fi
                | Self::Then
        )
    }
}

impl Parser<'_> {
    /// The reserved word that comes next, and the place behind it.
    pub(super) fn keyword(&self) -> Option<(Keyword, usize)> {
        const LONGEST: usize = 8;
        let mut at = self.continued(self.at);
        match self.byte(at)? {
            b'c'..=b'f' | b'i' | b's'..=b'u' | b'w' | b'!' | b'{' | b'}' | b'[' | b']' => {}
            _ => return None,
        }
        let mut word = [0_u8; LONGEST];
        let mut length = 0;
        while let Some(byte @ (b'a'..=b'z' | b'!' | b'{' | b'}' | b'[' | b']')) = self.byte(at) {
            *word.get_mut(length)? = byte;
            length += 1;
            at = self.continued(at + 1);
        }
        let keyword = Keyword::of(word.get(..length)?)?;
        match self.byte(at) {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')') => {}
            // A process substitution would be part of the word.
            Some(b'<' | b'>') if self.byte(self.continued(at + 1)) != Some(b'(') => {}
            Some(_) => return None,
        }
        Some((keyword, at))
    }

    /// Takes a reserved word, which has to be next.
    pub(super) fn expect(&mut self, wanted: Keyword) -> Parsed<()> {
        if self.take_keyword(wanted) { Ok(()) } else { self.unexpected() }
    }

    /// Takes a reserved word where it is next.
    pub(super) fn take_keyword(&mut self, wanted: Keyword) -> bool {
        self.blanks();
        match self.keyword() {
            Some((keyword, behind)) if keyword == wanted && !self.after_word => {
                self.at = behind;
                true
            }
            _ => false,
        }
    }

    /// A list that is not empty.
    pub(super) fn filled_list(&mut self) -> Parsed<Script> {
        let script = self.list()?;
        if script.statements.is_empty() {
            return self.unexpected();
        }
        Ok(script)
    }

    /// A list, up to anything that is no part of one.
    pub(super) fn list(&mut self) -> Parsed<Script> {
        let mut statements = Vec::new();
        self.after_word = false;
        self.newlines()?;
        while !self.list_ends() {
            self.statement(&mut statements)?;
            self.blanks();
            match self.peek() {
                Some(b';') => {
                    if matches!(self.second(), Some(b';' | b'&')) {
                        break;
                    }
                    self.at += 1;
                }
                Some(b'&') => {
                    self.at += 1;
                    if let Some(last) = statements.last_mut() {
                        last.background = true;
                    }
                }
                Some(b'\n') => {}
                _ => break,
            }
            self.after_word = false;
            self.newlines()?;
        }
        Ok(Script { statements })
    }

    fn list_ends(&mut self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.second(), Some(b';' | b'&')),
            Some(b'}') if self.braced => true,
            _ => self.keyword().is_some_and(|(keyword, _)| keyword.closes()),
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Parsed<()> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let connective = if self.take(b"&&") {
                Connective::And
            } else if self.take(b"||") {
                Connective::Or
            } else {
                break;
            };
            self.newlines()?;
            rest.push((connective, self.pipeline()?));
        }
        statements.push(Statement { first, rest, background: false });
        Ok(())
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut negated = false;
        let mut prefixed = false;
        let mut commands = Vec::with_capacity(1);
        self.after_word = false;
        while let Some((keyword @ (Keyword::Bang | Keyword::Time), behind)) = self.keyword() {
            // At the very beginning of a substitution, `time` is a program to bash.
            if keyword == Keyword::Time && self.at == self.first {
                break;
            }
            self.at = behind;
            prefixed = true;
            if keyword == Keyword::Bang {
                negated = !negated;
            } else {
                self.time_options();
            }
            self.blanks();
        }
        if prefixed && self.pipeline_is_empty() {
            let span = self.at..self.at;
            commands.push(Command { kind: CommandKind::Empty, redirects: Vec::new(), span });
            return Ok(Pipeline { negated, commands });
        }
        loop {
            match self.keyword() {
                // Only at the beginning of a pipeline is it reserved.
                Some((Keyword::Time, _)) => self.plain(&mut commands)?,
                _ => self.command(&mut commands)?,
            }
            self.blanks();
            if self.peek() != Some(b'|') || self.second() == Some(b'|') {
                return Ok(Pipeline { negated, commands });
            }
            let at = self.at;
            if self.take(b"|&") {
                if let Some(command) = commands.last_mut() {
                    command.redirects.push(both_outputs(at));
                }
            } else {
                self.at += 1;
            }
            self.after_word = false;
            self.newlines()?;
        }
    }

    /// `time` and `!` may stand alone.
    fn pipeline_is_empty(&mut self) -> bool {
        match self.peek() {
            None | Some(b'\n') => true,
            Some(b';') => !matches!(self.second(), Some(b';' | b'&')),
            _ => false,
        }
    }

    /// `-p` and `--`.
    fn time_options(&mut self) {
        for option in [b"-p", b"--"] {
            self.blanks();
            if let Some(behind) = self.behind(option)
                && self.byte(behind).is_none_or(super::cursor::ends_word)
            {
                self.at = behind;
            }
        }
    }

    /// One command of a pipeline.
    pub(super) fn command(&mut self, commands: &mut Vec<Command>) -> Parsed<()> {
        if self.peek() == Some(b'(') {
            return self.compound(commands, None);
        }
        match self.keyword() {
            None => {
                let start = self.at;
                // Its body is not read from in there, to be sparing with the stack.
                match self.simple(commands)? {
                    Some(name) => self.function_named(commands, name, start),
                    None => Ok(()),
                }
            }
            Some((Keyword::Coproc, behind)) => {
                self.at = behind;
                self.coproc(commands)
            }
            Some((Keyword::Function, behind)) => {
                self.at = behind;
                self.function(commands)
            }
            Some(keyword) => self.compound(commands, Some(keyword)),
        }
    }

    /// A simple command where no function can be defined.
    pub(super) fn plain(&mut self, commands: &mut Vec<Command>) -> Parsed<()> {
        if self.simple(commands)?.is_some() { self.unexpected() } else { Ok(()) }
    }

    /// A simple command. Gives the name of a function where its brackets are next.
    fn simple(&mut self, commands: &mut Vec<Command>) -> Parsed<Option<String>> {
        let start = self.at;
        let mut end = start;
        let mut assignments = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        let mut redirects = Vec::new();
        let mut place = Place::First;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'(') => {
                    let alone = assignments.is_empty() && redirects.is_empty();
                    match words.as_slice() {
                        [Word { pieces, .. }] if alone => {
                            let [Piece::Text(name)] = pieces.as_slice() else {
                                return self.fail("a function without a plain name");
                            };
                            return Ok(Some(name.clone()));
                        }
                        _ => return self.unexpected(),
                    }
                }
                Some(b'&') if self.second() != Some(b'>') => break,
                Some(b'&' | b'<' | b'>' | b'0'..=b'9' | b'{')
                    if self.redirect(&mut redirects)? => {}
                Some(_) if place == Place::First => {
                    if let Some(assignment) = self.assignment()? {
                        assignments.push(assignment);
                    } else {
                        let word = self.word(place)?;
                        place = if declares(&word) { Place::Declared } else { Place::Argument };
                        let alone = matches!(self.byte(self.at), None | Some(b';' | b'\n' | b')'));
                        words.reserve_exact(if alone { 1 } else { 4 });
                        words.push(word);
                    }
                }
                Some(_) => words.push(self.word(place)?),
            }
            end = self.at;
        }
        if words.is_empty() && assignments.is_empty() && redirects.is_empty() {
            return self.unexpected();
        }
        self.after_word = true;
        let kind = CommandKind::Simple { assignments, words };
        commands.push(Command { kind, redirects, span: start..end });
        Ok(None)
    }
}

/// Whether arguments of a command may be arrays.
fn declares(word: &Word) -> bool {
    let [Piece::Text(name)] = word.pieces.as_slice() else { return false };
    matches!(
        name.as_str(),
        "alias" | "declare" | "eval" | "export" | "let" | "local" | "readonly" | "typeset"
    )
}

/// What `|&` adds to the command before it.
fn both_outputs(at: usize) -> Redirect {
    Redirect {
        descriptor: Some("2".to_owned()),
        kind: RedirectKind::DuplicateOut,
        target: Word { pieces: vec![Piece::Text("1".to_owned())], span: at..at },
    }
}
