//! Here-documents.

use super::cursor::{Parsed, Parser};
use super::words::push_quoted;
use super::{Command, CommandKind, Piece, RedirectKind, Script, Word};

/// A here-document whose text comes later.
#[derive(Debug)]
pub(super) struct Pending {
    /// Its place among the texts.
    pub(super) id: usize,
    pub(super) delimiter: String,
    /// Whether tabs at the beginnings of lines go.
    pub(super) strip: bool,
    /// Whether nothing in it is expanded.
    pub(super) quoted: bool,
}

impl Parser<'_> {
    /// Reads the texts of all here-documents that wait for it.
    pub(super) fn gather(&mut self) -> Parsed<()> {
        for pending in std::mem::take(&mut self.pending) {
            let word = self.body(&pending)?;
            if let Some(body) = self.bodies.get_mut(pending.id) {
                *body = word;
            }
        }
        Ok(())
    }

    /// The text of one.
    fn body(&mut self, pending: &Pending) -> Parsed<Word> {
        let start = self.at;
        // What it is without tabs and line continuations, where it has any.
        let mut changed: Option<String> = None;
        let mut end = start;
        while self.at < self.bytes.len() {
            end = self.at;
            let mut from = self.at;
            while pending.strip && self.byte(from) == Some(b'\t') {
                from += 1;
            }
            let (to, continued) = self.line_end(from, !pending.quoted);
            self.at = (to + 1).min(self.bytes.len());
            let joined =
                if continued { without_continuations(self.slice(from, to)) } else { String::new() };
            let line = if continued {
                joined.trim_start_matches(if pending.strip { '\t' } else { '\n' })
            } else {
                self.slice(from, to)
            };
            if line == pending.delimiter {
                return self.finished(pending, start, end, changed);
            }
            // Bash lets it end so, too.
            if self.substituted
                && let Some(rest) = line.strip_prefix(pending.delimiter.as_str())
                && rest.contains(')')
            {
                if continued {
                    return self.fail("a here-document that ends in the middle of a line");
                }
                self.at = from + pending.delimiter.len();
                return self.finished(pending, start, end, changed);
            }
            if changed.is_none() && (continued || from > end) {
                changed = Some(self.slice(start, end).to_owned());
            }
            if let Some(changed) = &mut changed {
                changed.push_str(line);
                changed.push_str(self.slice(to, self.at));
            }
            end = self.at;
        }
        self.finished(pending, start, end, changed)
    }

    /// Where a line ends, and whether there are line continuations in it.
    fn line_end(&self, from: usize, joins: bool) -> (usize, bool) {
        let mut at = from;
        let mut continued = false;
        loop {
            match self.byte(at) {
                None => return (self.bytes.len(), continued),
                Some(b'\n') => return (at, continued),
                Some(b'\\') if joins => {
                    continued |= self.byte(at + 1) == Some(b'\n');
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
    }

    fn finished(
        &mut self,
        pending: &Pending,
        start: usize,
        end: usize,
        changed: Option<String>,
    ) -> Parsed<Word> {
        let span = start..end;
        if pending.quoted {
            let text = changed.unwrap_or_else(|| self.slice(start, end).to_owned());
            return Ok(Word { pieces: vec![Piece::Quoted(text)], span });
        }
        let mut pieces = Vec::new();
        self.enter()?;
        if let Some(text) = changed {
            self.pay(text.len())?;
            self.within(&text, 0, |inner| inner.here_text(&mut pieces)).map_err(|mut error| {
                error.at = start;
                error
            })?;
        } else {
            let text = self.slice(0, end);
            self.within(text, start, |inner| inner.here_text(&mut pieces))?;
        }
        self.leave();
        Ok(Word { pieces, span })
    }

    /// Text up to its end, in which only `$`, backticks and backslashes have a meaning.
    pub(super) fn here_text(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        loop {
            let start = self.at;
            while let Some(byte) = self.byte(self.at)
                && !matches!(byte, b'\\' | b'$' | b'`')
            {
                self.at += 1;
            }
            if self.at > start {
                push_quoted(pieces, self.slice(start, self.at));
            }
            match self.byte(self.at) {
                None => return Ok(()),
                Some(b'\\') => self.escaped_in_quotes(pieces, b"$`\\"),
                Some(b'$') => self.dollar(pieces, true)?,
                Some(_) => self.backticks(pieces, false)?,
            }
        }
    }

    /// Puts the texts of here-documents where they belong.
    pub(super) fn place(&mut self, script: &mut Script) {
        for statement in &mut script.statements {
            let rest = statement.rest.iter_mut().map(|(_, pipeline)| pipeline);
            for pipeline in std::iter::once(&mut statement.first).chain(rest) {
                for command in &mut pipeline.commands {
                    self.place_in(command);
                }
            }
        }
    }

    fn place_in(&mut self, command: &mut Command) {
        for redirect in &mut command.redirects {
            if redirect.kind == RedirectKind::HereDocument
                && let Some(body) = self.bodies.get_mut(redirect.target.span.start)
            {
                redirect.target = std::mem::take(body);
            }
        }
        match &mut command.kind {
            CommandKind::Subshell(script)
            | CommandKind::Group(script)
            | CommandKind::For { body: script, .. }
            | CommandKind::ForArithmetic { body: script, .. } => self.place(script),
            CommandKind::If { clauses, otherwise } => {
                for clause in clauses {
                    self.place(&mut clause.condition);
                    self.place(&mut clause.body);
                }
                if let Some(script) = otherwise {
                    self.place(script);
                }
            }
            CommandKind::Loop(clause) => {
                self.place(&mut clause.condition);
                self.place(&mut clause.body);
            }
            CommandKind::Case { arms, .. } => {
                for arm in arms {
                    self.place(&mut arm.body);
                }
            }
            CommandKind::Function { body, .. } | CommandKind::Coproc(body) => {
                self.place_in(body);
            }
            CommandKind::Simple { .. }
            | CommandKind::Arithmetic(_)
            | CommandKind::Test(_)
            | CommandKind::Empty => {}
        }
    }
}

/// A line of several lines.
fn without_continuations(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        result.push_str(before);
        let mut chars = behind.chars();
        match chars.next() {
            Some('\n') => {}
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
