//! `sed`: its files, and what its scripts write and run.

use crate::effects::Kind;
use crate::effects::row::{A, INPLACE, PATTERN};
use crate::effects::run::Call;

pub(crate) fn sed(call: &mut Call<'_, '_>) {
    let mut operands = std::mem::take(&mut call.operands);
    // Where `-i` wants a suffix, the empty one is a word of its own.
    if call.has(INPLACE) && operands.first().is_some_and(|first| first.is_empty()) {
        operands.remove(0);
    }
    // Of a file in which every line is deleted, nothing is left.
    let mut empties = false;
    if !call.has(PATTERN) && !operands.is_empty() {
        let script = operands.remove(0).text();
        empties = matches!(&*script, "d" | "1,$d" | "1,$ d" | "Q" | "1Q");
        look_into(call, &script);
    }
    for script in call.values_of(A) {
        look_into(call, &script.text());
    }
    let in_place = call.has(INPLACE);
    for file in operands {
        call.path(Kind::Read, file, false);
        if in_place {
            let kind = if empties { Kind::Delete } else { Kind::Write };
            call.path(kind, file, false);
        }
    }
}

fn look_into(call: &mut Call<'_, '_>, script: &str) {
    // Nearly all scripts are one substitution.
    if !script.contains(['w', 'W', 'e', 'r', 'R']) {
        return;
    }
    let mut reader = Reader { rest: script };
    while !reader.rest.is_empty() {
        let before = reader.rest.len();
        reader.command(call);
        if reader.rest.len() == before {
            reader.take();
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next();
        self.rest = letters.as_str();
        letter
    }

    fn skip(&mut self, letters: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(letters);
    }

    /// Up to the delimiter, which is not inside of a set or behind a backslash.
    fn behind(&mut self, delimiter: char) {
        while let Some(letter) = self.take() {
            if letter == '\\' {
                self.take();
            } else if letter == delimiter {
                return;
            }
        }
    }

    fn line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line.trim()
    }

    fn command(&mut self, call: &mut Call<'_, '_>) {
        self.skip(|letter| letter.is_whitespace() || matches!(letter, ';' | '{' | '}'));
        self.address();
        self.skip(|letter| letter.is_whitespace() || matches!(letter, '!' | '{'));
        match self.take() {
            Some('s') => self.substitution(call),
            Some('y') => {
                if let Some(delimiter) = self.take() {
                    self.behind(delimiter);
                    self.behind(delimiter);
                }
            }
            Some('w' | 'W') => {
                let file = self.line();
                write(call, file);
            }
            Some('r' | 'R') => {
                let file = self.line();
                if !file.is_empty() && file != "/dev/stdin" {
                    call.path_text(Kind::Read, file, false);
                }
            }
            Some('e') => {
                let code = self.line();
                call.program(code.split_whitespace().next().unwrap_or("sh"));
            }
            Some('a' | 'i' | 'c' | '#') => {
                self.line();
            }
            Some('b' | 't' | 'T' | ':') => {
                self.skip(|letter| !matches!(letter, ';' | '\n' | '}'));
            }
            _ => {}
        }
    }

    fn address(&mut self) {
        loop {
            match self.rest.chars().next() {
                Some('/') => {
                    self.take();
                    self.behind('/');
                    self.skip(|letter| matches!(letter, 'I' | 'M'));
                }
                Some('\\') => {
                    self.take();
                    if let Some(delimiter) = self.take() {
                        self.behind(delimiter);
                    }
                }
                Some('0'..='9' | '$' | ',' | '~' | '+' | ' ') => {
                    self.take();
                }
                _ => return,
            }
        }
    }

    fn substitution(&mut self, call: &mut Call<'_, '_>) {
        let Some(delimiter) = self.take() else { return };
        self.behind(delimiter);
        self.behind(delimiter);
        loop {
            match self.rest.chars().next() {
                Some('w') => {
                    self.take();
                    let file = self.line();
                    write(call, file);
                    return;
                }
                Some('e') => {
                    self.take();
                    call.program("sh");
                }
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.take();
                }
                _ => return,
            }
        }
    }
}

fn write(call: &mut Call<'_, '_>, file: &str) {
    if !file.is_empty() {
        call.path_text(Kind::Write, file, false);
    }
}
