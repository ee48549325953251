//! Compound commands, functions and coprocesses.

use super::commands::Keyword;
use super::cursor::{Parsed, Parser, ends_word};
use super::words::Place;
use super::{CaseArm, Clause, Command, CommandKind, Piece, Script, Word};

/// Whether a compound command begins with a reserved word.
const fn begins_compound(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Open
            | Keyword::Case
            | Keyword::For
            | Keyword::If
            | Keyword::Select
            | Keyword::Until
            | Keyword::While
            | Keyword::Test
    )
}

impl Parser<'_> {
    /// Whether the second word of a coprocess is reserved, as the first may be a name.
    fn has_reserved_word(&self, command: &Command) -> bool {
        let CommandKind::Simple { assignments, words } = &command.kind else { return false };
        let [first, second, ..] = words.as_slice() else { return false };
        let [Piece::Text(text)] = second.pieces.as_slice() else { return false };
        let between = self.slice(first.span.end, second.span.start);
        assignments.is_empty()
            && between.trim_matches([' ', '\t', '\\', '\n']).is_empty()
            && Keyword::of(text.as_bytes()).is_some_and(|keyword| keyword != Keyword::Time)
    }

    /// A compound command: one that begins with the reserved word, or with `(`.
    pub(super) fn compound(
        &mut self,
        commands: &mut Vec<Command>,
        keyword: Option<(Keyword, usize)>,
    ) -> Parsed<()> {
        let start = self.at;
        self.enter()?;
        let kind = match keyword {
            None => self.brackets()?,
            Some((keyword, behind)) => {
                if !begins_compound(keyword) {
                    return self.unexpected();
                }
                self.at = behind;
                self.reserved(keyword)?
            }
        };
        self.leave();
        self.after_word = false;
        let mut end = self.at;
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b'&') if self.second() != Some(b'>') => break,
                Some(b'&' | b'<' | b'>' | b'0'..=b'9' | b'{')
                    if self.redirect(&mut redirects)? =>
                {
                    self.after_word = true;
                    end = self.at;
                }
                _ => break,
            }
        }
        commands.push(Command { kind, redirects, span: start..end });
        Ok(())
    }

    fn reserved(&mut self, keyword: Keyword) -> Parsed<CommandKind> {
        match keyword {
            Keyword::Open => {
                let script = self.filled_list()?;
                self.expect(Keyword::Close)?;
                Ok(CommandKind::Group(script))
            }
            Keyword::If => self.if_command(),
            Keyword::While | Keyword::Until => {
                let condition = self.filled_list()?;
                self.expect(Keyword::Do)?;
                let body = self.filled_list()?;
                self.expect(Keyword::Done)?;
                Ok(CommandKind::Loop(Clause { condition, body }))
            }
            Keyword::For => {
                self.blanks();
                if self.peek() == Some(b'(') { self.for_arithmetic() } else { self.for_command() }
            }
            Keyword::Select => self.for_command(),
            Keyword::Case => self.case_command(),
            _ => self.test(),
        }
    }

    /// `(…)`, `((…))`
    fn brackets(&mut self) -> Parsed<CommandKind> {
        let first = self.at + 1;
        if self.second() == Some(b'(') {
            self.at = self.continued(first) + 1;
            if let Some((word, _)) = self.double_brackets()? {
                return Ok(CommandKind::Arithmetic(word));
            }
        }
        self.at = first;
        let script = self.filled_list()?;
        if self.peek() != Some(b')') {
            return self.unexpected();
        }
        self.at += 1;
        Ok(CommandKind::Subshell(script))
    }

    fn if_command(&mut self) -> Parsed<CommandKind> {
        let mut clauses = Vec::with_capacity(1);
        let mut otherwise = None;
        loop {
            let condition = self.filled_list()?;
            self.expect(Keyword::Then)?;
            let body = self.filled_list()?;
            clauses.push(Clause { condition, body });
            if self.take_keyword(Keyword::Elif) {
                continue;
            }
            if self.take_keyword(Keyword::Else) {
                otherwise = Some(self.filled_list()?);
            }
            self.expect(Keyword::Fi)?;
            return Ok(CommandKind::If { clauses, otherwise });
        }
    }

    fn for_arithmetic(&mut self) -> Parsed<CommandKind> {
        if !self.take(b"((") {
            return self.unexpected();
        }
        let Some((expression, 2)) = self.double_brackets()? else {
            return self.fail("`for ((` takes three expressions");
        };
        self.blanks();
        if self.peek() == Some(b';') {
            self.at += 1;
        }
        self.newlines()?;
        let body = self.loop_body(true)?;
        Ok(CommandKind::ForArithmetic { expression, body })
    }

    fn for_command(&mut self) -> Parsed<CommandKind> {
        self.blanks();
        let variable = self.plain_name()?;
        self.blanks();
        let start = self.at;
        let mut items = None;
        let mut braces = true;
        self.after_word = false;
        if self.peek() == Some(b';') {
            self.at += 1;
            self.newlines()?;
        } else {
            self.newlines()?;
            // `for x {` is nothing.
            braces = self.slice(start, self.at).contains('\n');
            if self.take_keyword(Keyword::In) {
                braces = true;
                items = Some(self.items()?);
            }
        }
        let body = self.loop_body(braces)?;
        Ok(CommandKind::For { variable, items, body })
    }

    /// The words that a loop goes through, and the end of their line.
    fn items(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b';') => {
                    self.at += 1;
                    break;
                }
                None | Some(b'\n') => break,
                Some(_) => {
                    self.no_descriptor()?;
                    words.push(self.word(Place::Argument)?);
                }
            }
        }
        self.newlines()?;
        Ok(words)
    }

    fn loop_body(&mut self, braces: bool) -> Parsed<Script> {
        self.after_word = false;
        let end = if self.take_keyword(Keyword::Do) {
            Keyword::Done
        } else if braces && self.take_keyword(Keyword::Open) {
            Keyword::Close
        } else {
            return self.unexpected();
        };
        let body = self.filled_list()?;
        self.expect(end)?;
        Ok(body)
    }

    /// A word that is plain text.
    fn plain_name(&mut self) -> Parsed<String> {
        let at = self.at;
        let word = self.word(Place::First)?;
        match word.pieces.into_iter().next() {
            Some(Piece::Text(name)) => {
                let raw = self.joined(at, self.at);
                if raw == name { Ok(name) } else { self.fail("a name that is not plain") }
            }
            _ => self.fail("a name that is not plain"),
        }
    }

    fn case_command(&mut self) -> Parsed<CommandKind> {
        self.unclear |= self.counting;
        self.blanks();
        let subject = self.word(Place::Argument)?;
        self.newlines()?;
        self.after_word = false;
        self.expect(Keyword::In)?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            self.after_word = false;
            if self.take_keyword(Keyword::Esac) {
                break;
            }
            if self.peek() == Some(b'(') {
                self.at += 1;
            }
            let patterns = self.patterns()?;
            let body = self.list()?;
            arms.push(CaseArm { patterns, body });
            if !(self.take(b";;&") || self.take(b";;") || self.take(b";&")) {
                self.expect(Keyword::Esac)?;
                break;
            }
        }
        Ok(CommandKind::Case { subject, arms })
    }

    /// The patterns of an arm, up to their bracket.
    fn patterns(&mut self) -> Parsed<Vec<Word>> {
        let mut patterns = Vec::with_capacity(1);
        loop {
            self.blanks();
            self.no_descriptor()?;
            patterns.push(self.word(Place::Argument)?);
            self.blanks();
            match self.peek() {
                Some(b'|') if self.second() != Some(b'|') => self.at += 1,
                Some(b')') => {
                    self.at += 1;
                    return Ok(patterns);
                }
                _ => return self.unexpected(),
            }
        }
    }

    /// `function name …`, behind its first word.
    pub(super) fn function(&mut self, commands: &mut Vec<Command>) -> Parsed<()> {
        let start = self.at;
        self.blanks();
        let name = self.plain_name()?;
        self.blanks();
        if self.peek() == Some(b'(') {
            let open = self.at;
            self.at += 1;
            self.blanks();
            if self.peek() == Some(b')') {
                self.at += 1;
            } else {
                self.at = open;
            }
        }
        self.function_body(commands, name, start)
    }

    /// `name() …`, behind its name.
    pub(super) fn function_named(
        &mut self,
        commands: &mut Vec<Command>,
        name: String,
        start: usize,
    ) -> Parsed<()> {
        self.at += 1;
        self.blanks();
        if self.peek() != Some(b')') {
            return self.unexpected();
        }
        self.at += 1;
        self.function_body(commands, name, start)
    }

    fn function_body(
        &mut self,
        commands: &mut Vec<Command>,
        name: String,
        start: usize,
    ) -> Parsed<()> {
        self.newlines()?;
        let Some(body) = self.body_command()? else { return self.unexpected() };
        let kind = CommandKind::Function { name, body };
        commands.push(Command { kind, redirects: Vec::new(), span: start..self.at });
        Ok(())
    }

    /// A compound command, if one comes next.
    fn body_command(&mut self) -> Parsed<Option<Box<Command>>> {
        let mut commands = Vec::with_capacity(1);
        if self.peek() == Some(b'(') {
            self.compound(&mut commands, None)?;
        } else {
            match self.keyword() {
                Some((keyword, behind)) if begins_compound(keyword) => {
                    self.compound(&mut commands, Some((keyword, behind)))?;
                }
                _ => return Ok(None),
            }
        }
        Ok(commands.pop().map(Box::new))
    }

    /// `coproc …`, behind its first word.
    pub(super) fn coproc(&mut self, commands: &mut Vec<Command>) -> Parsed<()> {
        let start = self.at;
        self.blanks();
        let mut body = self.body_command()?;
        if body.is_none() {
            if self.keyword().is_some_and(|(keyword, _)| keyword != Keyword::Time) {
                return self.unexpected();
            }
            // A name may come before a compound command.
            let name = self.at;
            let rest = self.bytes.get(name..).unwrap_or_default();
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            self.at += rest.iter().take_while(|byte| plain(byte)).count();
            if self.at > name && self.byte(self.at).is_some_and(ends_word) {
                self.blanks();
                body = self.body_command()?;
            }
            if body.is_none() {
                self.at = name;
                let mut inner = Vec::with_capacity(1);
                self.plain(&mut inner)?;
                body = inner.pop().map(Box::new);
                if body.as_ref().is_some_and(|body| self.has_reserved_word(body)) {
                    return self.fail("a coprocess with a name that is not plain");
                }
            }
        }
        let Some(body) = body else { return self.unexpected() };
        let kind = CommandKind::Coproc(body);
        commands.push(Command { kind, redirects: Vec::new(), span: start..self.at });
        Ok(())
    }
}
