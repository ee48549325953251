//! What the words of a command stand for.

use super::programs::SETTERS;
use super::shell::Shell;
use crate::trust::words::{Command, HOLE, Hole, Line, Redirect, Word};

/// How many words a word with braces may stand for.
const MOST_BRACES: usize = 64;

/// The longest value of a variable that is kept. Values may double with each assignment.
const LONGEST_VALUE: usize = 4_096;

impl Shell<'_> {
    /// The words of a command, with what is known put into their holes, one for each brace.
    pub(super) fn words_of(&mut self, command: &Command) -> Vec<(String, Option<Redirect>)> {
        let mut words = Vec::new();
        let (assignments, own) = command.parts();
        for word in &command.words {
            let text = self.filled(word);
            if let Some((name, value)) = word.assignment() {
                let is_set = own.is_empty() || assignments.iter().any(|a| std::ptr::eq(*a, word));
                if is_set || own.first().is_some_and(|program| program.text == "export") {
                    let value = text.split_once('=').map_or(value, |(_, value)| value);
                    // Nothing behind `=` may be the beginning of a list: `a=(x)`.
                    if !value.is_empty() && value.len() <= LONGEST_VALUE {
                        self.variables.insert(name.to_owned(), value.to_owned());
                    } else {
                        self.variables.remove(name);
                    }
                }
            }
            if own.first().is_some_and(|program| SETTERS.contains(&program.text.as_str())) {
                self.variables.remove(&word.text);
            }
            words.extend(braces(&text).into_iter().map(|text| (text, word.redirect)));
        }
        words
    }

    pub(super) fn filled(&self, word: &Word) -> String {
        let mut holes = word.holes.iter();
        let mut filled = String::new();
        for c in word.text.chars() {
            if c != HOLE {
                filled.push(c);
                continue;
            }
            let known = match holes.next() {
                Some(Hole::Variable(name)) => self.variables.get(name).cloned(),
                Some(Hole::Output(text)) => self.output(text),
                None => None,
            };
            match known {
                Some(value) => filled.push_str(&value),
                None => filled.push(HOLE),
            }
        }
        filled
    }

    /// What some commands are known to say.
    fn output(&self, text: &str) -> Option<String> {
        let line = Line::parse(text);
        let [command] = line.commands.as_slice() else { return None };
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        match words.as_slice() {
            ["pwd"] => self.variables.get("PWD").cloned(),
            ["git", "rev-parse", "--show-toplevel"] => {
                self.places.project().to_str().map(str::to_owned)
            }
            ["which" | "type", .., program] | ["command", "-v", program] => {
                Some((*program).to_owned())
            }
            ["echo", said @ ..] if !said.iter().any(|s| s.contains(HOLE)) => Some(said.join(" ")),
            ["printf", said] if !said.contains(['%', '\\', HOLE]) => Some((*said).to_owned()),
            _ => None,
        }
    }
}

/// What a word may name: all of it, what is behind `=`, `@`, `:` and `,`, and what is attached to
/// an option: `-ofile`, `-xC./dir`.
pub(super) fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['=', '@', ':', ',']).filter(move |part| *part != text);
    let option = text.strip_prefix('-').filter(|option| !option.starts_with('-'));
    let value = option.and_then(|option| option.get(1..));
    let path = option.and_then(|option| option.get(option.find(['.', '/', '~'])?..));
    std::iter::once(text).chain(parts).chain(value).chain(path).filter(|part| !part.is_empty())
}

/// The words that a word with braces stands for.
pub(super) fn braces(text: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut ahead = vec![text.to_owned()];
    // No path is longer.
    if text.len() > LONGEST_VALUE {
        return ahead;
    }
    while let Some(word) = ahead.pop() {
        let close = word.find('}');
        let open = close.and_then(|close| word.get(..close)?.rfind('{'));
        let inner = open.zip(close).and_then(|(open, close)| {
            let inner = word.get(open + 1..close).filter(|inner| inner.contains(','))?;
            Some((word.get(..open)?, inner, word.get(close + 1..)?))
        });
        match inner {
            Some((before, inner, after)) if done.len() + ahead.len() < MOST_BRACES => {
                let words = inner.split(',').rev().map(|part| format!("{before}{part}{after}"));
                ahead.extend(words);
            }
            _ => done.push(word),
        }
    }
    done
}
