//! The strings, names and signs of code, whatever its language.

use crate::resolve::expand::{HOLE, HOME};
use crate::value::{Part, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name with all before it: `os.path.join`, `File::unlink`, `$fh->print`.
    Name(String),
    Text(Value),
    /// Text that a shell gets: backticks, `qx{…}`, `%x(…)`.
    Shell(Value),
    Sign(char),
}

struct Lexer<'a> {
    rest: &'a str,
    tokens: Vec<Token>,
    /// Whether strings with `{…}` have code in them.
    backticks_run: bool,
    slashes_comment: bool,
    hash_comments: bool,
}

pub(super) fn tokens(text: &str, language: &str) -> Vec<Token> {
    let is_script = ["node", "bun", "deno", "ts"].iter().any(|name| language.starts_with(name));
    let mut lexer = Lexer {
        rest: text,
        tokens: Vec::new(),
        backticks_run: !is_script,
        slashes_comment: is_script,
        hash_comments: !is_script,
    };
    while lexer.step() {}
    lexer.tokens
}

impl Lexer<'_> {
    fn step(&mut self) -> bool {
        let Some(c) = self.rest.chars().next() else { return false };
        let after = self.rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\'' | '"' => self.string(c),
            '`' if self.backticks_run => {
                let (text, rest) = until(after, '`');
                self.rest = rest;
                self.tokens.push(Token::Shell(with_holes(&text, true)));
            }
            '`' => {
                let (text, rest) = until(after, '`');
                self.rest = rest;
                self.tokens.push(Token::Text(with_holes(&text, true)));
            }
            '#' if self.hash_comments && self.at_boundary() => self.line_comment(),
            '/' if self.slashes_comment && after.starts_with('/') && self.at_boundary() => {
                self.line_comment();
            }
            '%' if after.starts_with("x(")
                || after.starts_with("x{")
                || after.starts_with("x[") =>
            {
                self.delimited(after.get(1..).unwrap_or_default(), true);
            }
            c if c.is_alphabetic() || c == '_' || c == '$' => self.name(),
            ' ' | '\t' | '\r' => self.rest = after,
            c => {
                self.rest = after;
                // `||` is no pipe, and `>>` writes as `>` does.
                if matches!((c, self.tokens.last()), ('|' | '>', Some(Token::Sign(last))) if *last == c)
                {
                    self.tokens.pop();
                    self.tokens.push(Token::Sign(if c == '|' { '∨' } else { '>' }));
                } else {
                    self.tokens.push(Token::Sign(c));
                }
            }
        }
        true
    }

    fn at_boundary(&self) -> bool {
        matches!(
            self.tokens.last(),
            None | Some(Token::Sign('\n' | ';' | '{' | '}' | ')' | '(' | ',' | ':'))
        )
    }

    fn line_comment(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.rest = self.rest.get(end..).unwrap_or_default();
    }

    fn string(&mut self, quote: char) {
        let formatted = self.tokens.last().is_some_and(|token| {
            matches!(token, Token::Name(name) if matches!(name.as_str(), "f" | "F" | "rf" | "fr"))
        });
        let prefixed = self.tokens.last().is_some_and(|token| {
            matches!(token, Token::Name(name) if matches!(name.as_str(), "f" | "F" | "rf" | "fr" | "b" | "r" | "u" | "R" | "rb" | "br"))
        });
        if prefixed {
            self.tokens.pop();
        }
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        if let Some(after) = self.rest.strip_prefix(&triple) {
            let end = after.find(&triple).unwrap_or(after.len());
            let (text, rest) = after.split_at(end);
            self.rest = rest.get(3..).unwrap_or_default();
            self.tokens.push(Token::Text(with_holes(text, formatted)));
            return;
        }
        let (text, rest) = until(self.rest.get(1..).unwrap_or_default(), quote);
        self.rest = rest;
        // Most languages put variables into double quotes.
        let interpolated = formatted || (quote == '"' && self.backticks_run && text.contains("#{"));
        self.tokens.push(Token::Text(with_holes(&text, interpolated)));
    }

    fn name(&mut self) {
        let mut end = 0;
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let joins = match c {
                '.' => chars.peek().is_some_and(|(_, c)| c.is_alphabetic() || *c == '_'),
                ':' => {
                    self.rest.get(at..).is_some_and(|rest| rest.starts_with("::"))
                        || self.rest.get(..at).is_some_and(|before| before.ends_with(':'))
                }
                '-' => self.rest.get(at..).is_some_and(|rest| rest.starts_with("->")),
                '>' => self.rest.get(..at).is_some_and(|before| before.ends_with('-')),
                c => c.is_alphanumeric() || c == '_' || c == '$',
            };
            if !joins {
                break;
            }
            end = at + c.len_utf8();
        }
        let (name, rest) = self.rest.split_at(end.max(1));
        self.rest = rest;
        if matches!(name, "qx" | "q" | "qq") {
            let rest = self.rest.trim_start();
            if rest.starts_with(|c: char| c.is_ascii_punctuation() && !",;=)".contains(c)) {
                self.delimited(rest, name == "qx");
                return;
            }
        }
        self.tokens.push(Token::Name(name.to_owned()));
    }

    /// `{…}` and the like, from its first sign on.
    fn delimited(&mut self, rest: &str, runs: bool) {
        let Some(open) = rest.chars().next() else { return };
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            c => c,
        };
        let (text, tail) = until(rest.get(open.len_utf8()..).unwrap_or_default(), close);
        let skipped = self.rest.len() - tail.len();
        self.rest = self.rest.get(skipped..).unwrap_or_default();
        let value = with_holes(&text, true);
        self.tokens.push(if runs { Token::Shell(value) } else { Token::Text(value) });
    }
}

/// Text up to a sign that no backslash stands before, and what comes behind it.
fn until(text: &str, end: char) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == end {
            return (out, text.get(at + c.len_utf8()..).unwrap_or_default());
        }
        if c == '\\' {
            match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, escaped @ ('x' | 'u' | '0'..='7'))) => {
                    out.push('\\');
                    out.push(escaped);
                }
                Some((_, escaped)) => out.push(escaped),
                None => {}
            }
        } else {
            out.push(c);
        }
    }
    (crate::resolve::decode::unescape(&out), "")
}

/// Text in which `{…}`, `${…}`, `#{…}` may stand for something else.
fn with_holes(text: &str, holes: bool) -> Value {
    let text =
        if text.contains('\\') { crate::resolve::decode::unescape(text) } else { text.to_owned() };
    let mut value = Value::default();
    if !holes {
        push(&mut value, &text);
        return value;
    }
    let mut rest = text.as_str();
    while let Some(at) = rest.find('{') {
        let (before, hole) = rest.split_at(at);
        let Some(end) = hole.find('}') else { break };
        push(&mut value, before.trim_end_matches(['$', '#']));
        value.push(Part::Unknown);
        rest = hole.get(end + 1..).unwrap_or_default();
    }
    push(&mut value, rest);
    value
}

/// Adds text, in which marks stand for the home and for what is not known.
fn push(value: &mut Value, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find([HOLE, HOME]) {
        let (before, mark) = rest.split_at(at);
        value.push_str(before);
        value.push(if mark.starts_with(HOLE) { Part::Unknown } else { Part::Home });
        rest = mark.get(HOLE.len_utf8()..).unwrap_or_default();
    }
    value.push_str(rest);
}
