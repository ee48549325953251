//! Denies commands that name a protected place and may do anything with it.
//!
//! The effects of most programs are known for each of their arguments. For other programs, for arguments that no
//! effect mentions, and for code in other languages, naming a place is enough.

use std::cell::Cell;
use std::path::Path;

use tollgate_shell::effects::{self, Effect, Kind, Target};
use tollgate_shell::resolve::{Access, Input};
use tollgate_shell::{Command, Why};

use super::command_line::{CommandLine, Run, pattern, texts};
use super::places::{Relation, Spot, plainly};
use super::programs::{BUILTINS, LANGUAGES, REMOVERS, TAKERS};
use super::readers::{is_message, is_plain, passes_on};
use super::{Refusal, agents, code};
use crate::trust::words::HOLE;

/// Maximum number of words of a line that are compared with the places.
const MOST_WORDS: usize = 2_000;

/// Returns the reason to deny a line for one of its words, if there is one.
pub(super) fn refusal(line: &CommandLine<'_>, run: &Run) -> Option<Refusal> {
    let commands = &run.analysis.commands;
    let left = Cell::new(MOST_WORDS);
    let looks = |command: &Command| {
        let words = texts(command);
        let is_redirected = command.redirections.iter().any(|it| it.access != Access::Read);
        !is_redirected && (is_plain(&words, &command.variables) || is_message(&words))
    };
    let found = commands.iter().enumerate().find_map(|(at, command)| {
        linked(line, commands, command).or_else(|| {
            // The commands that it starts follow it, with their own arguments.
            let next = commands.get(at + 1);
            let starts_other = next.is_some_and(|next| next.via.len() > command.via.len());
            let given = Given { line, command, starts_other, left: &left };
            if looks(command) { None } else { given.refusal() }
        })
    });
    if found.is_some() {
        return found;
    }
    // The rest of the line was not resolved, so it may name a place in any spelling.
    let is_too_much = run.analysis.unknowns.iter().any(|unknown| unknown.why == Why::TooMuch);
    if left.get() == 0 || is_too_much {
        return Some(Refusal::TooLong);
    }
    if commands.iter().all(looks) && run.analysis.unknowns.is_empty() {
        return None;
    }
    line.about(run)
}

/// Denies links to protected files, and links that lead the rest of the line into a directory with some.
fn linked(line: &CommandLine<'_>, commands: &[Command], command: &Command) -> Option<Refusal> {
    let words = texts(command);
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or_default();
    let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--");
    let links = matches!(name, "ln" | "gln" | "link")
        || (name == "cp"
            && arguments
                .iter()
                .any(|word| word == "--link" || (is_short(word) && word.contains('l'))));
    if !links {
        return None;
    }
    let operands: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let sources = operands.split_last().map_or(&[][..], |(_, sources)| sources);
    sources.iter().find_map(|source| match line.kept.relation(source, line.stars) {
        Some((Relation::Within | Relation::Around, spot)) => Some(spot.refusal()),
        Some((Relation::Above, _)) if commands.len() > 1 => {
            let places = line.kept.places;
            let below = places.below(&line.kept.bases, source, |spot| places.is_outside(spot));
            below.map(Spot::refusal)
        }
        _ => None,
    })
}

/// The arguments of a command.
struct Given<'a> {
    line: &'a CommandLine<'a>,
    command: &'a Command,
    /// True if it starts another command of the line.
    starts_other: bool,
    left: &'a Cell<usize>,
}

impl Given<'_> {
    fn refusal(&self) -> Option<Refusal> {
        let words = texts(self.command);
        let program = words.first().map(String::as_str).unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or_default();
        // A prompt is prose, and the other agent has the same hooks.
        if agents::is_agent(name) {
            return None;
        }
        let effects = effects::of_command(self.command);
        let is_language = LANGUAGES.contains(&name);
        if is_language && let Some(spot) = code::changed(self.line, self.command) {
            return Some(spot.refusal());
        }
        let targets = self.command.redirections.iter().map(|it| pattern(&it.target));
        let by_detour = || words.iter().cloned().chain(targets).find_map(|word| self.detour(&word));
        // The analysis drops `x/..` without looking whether `x` is a link.
        if effects.iter().any(|effect| matches!(effect.kind, Kind::Write | Kind::Delete))
            && let Some(refusal) = by_detour()
        {
            return Some(refusal);
        }
        let in_container = matches!(name, "docker" | "podman" | "nerdctl");
        let runs = effects.iter().any(|effect| effect.kind == Kind::Execute);
        let is_known = effects::is_known(name) && !runs && self.command.variables.is_empty();
        let looks = is_plain(&words, &self.command.variables) || is_message(&words);
        if looks || program.is_empty() {
            return None;
        }
        if is_known && !is_language && !in_container && !TAKERS.contains(&name) {
            return if self.starts_other { None } else { self.unknown_use(&words, &effects) };
        }
        if words.len() == 1 && self.is_pager() {
            let mentioned = self.line.needles.anywhere(self.line.text);
            return mentioned.map(|place| Refusal::Write { place: place.to_owned() });
        }
        let run: Vec<&str> = effects
            .iter()
            .filter(|effect| effect.kind == Kind::Execute)
            .filter_map(|effect| match &effect.target {
                Target::Path(location) => Some(location.text.as_str()),
                _ => None,
            })
            .collect();
        let values = self.command.variables.iter().map(|(_, value)| pattern(value));
        let given: Vec<String> = words.iter().skip(1).cloned().chain(values).collect();
        let by_word = given.iter().find_map(|word| self.word(word, name, &run));
        by_word.or_else(|| self.inside()).or_else(|| self.input(name)).or_else(|| {
            // Inside of a container, a mounted directory has another path.
            let text = given.join(" ").replace(HOLE, "");
            let mentioned = in_container.then(|| self.line.needles.find(&text)).flatten();
            mentioned.map(|place| Refusal::Write { place: place.to_owned() })
        })
    }

    /// Denies a protected argument of a known program that no effect of the program mentions.
    fn unknown_use(&self, words: &[String], effects: &[Effect]) -> Option<Refusal> {
        let name = words.first().map(String::as_str).unwrap_or_default();
        if BUILTINS.contains(&name) {
            return None;
        }
        let paths: Vec<&Path> = effects
            .iter()
            .filter_map(|effect| match &effect.target {
                Target::Path(location) => Some(Path::new(&location.text)),
                _ => None,
            })
            .collect();
        let is_used = |word: &str| {
            let full = self.full(word).into_iter().map(|path| plainly(Path::new(&path)));
            full.into_iter().any(|full| paths.iter().any(|path| full.starts_with(path)))
        };
        words.iter().skip(1).filter(|word| !is_text(word)).find_map(|word| {
            let mut named = candidates(word).filter(|name| !name.contains(['*', '?', '[', HOLE]));
            named.find_map(|name| match self.relation(name)? {
                (Relation::Above, _) => None,
                (_, spot) if is_used(name) || spot.is_program => None,
                (_, spot) => Some(spot.refusal()),
            })
        })
    }

    /// True if another program starts it on its own files: a pager, an editor, a filter.
    fn is_pager(&self) -> bool {
        self.command.via.last().is_some_and(|by| {
            let is_variable = by.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            is_variable || matches!(by.as_str(), "git" | "man" | "less" | "rg" | "editor")
        })
    }

    /// Returns a word as an absolute path, for each directory that the command may run in.
    fn full(&self, word: &str) -> Vec<String> {
        let is_relative = !word.starts_with(['/', '~', HOLE]);
        let directories = self.command.directories.iter().filter(|_| is_relative);
        let mut full: Vec<String> =
            directories.map(|directory| format!("{}/{word}", pattern(directory))).collect();
        full.push(word.to_owned());
        full
    }

    fn relation(&self, word: &str) -> Option<(Relation, &Spot)> {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        if left == 0 {
            return None;
        }
        let found = self.full(word).into_iter();
        let found = found.filter_map(|path| self.line.kept.relation(&path, self.line.stars));
        found.max_by_key(|(relation, _)| *relation)
    }

    /// Denies a word with `..` that leads to a place by way of a link.
    fn detour(&self, word: &str) -> Option<Refusal> {
        if !word.contains("/..") {
            return None;
        }
        match self.relation(word) {
            Some((Relation::Within | Relation::Around, spot)) => Some(spot.refusal()),
            _ => None,
        }
    }

    fn word(&self, word: &str, program: &str, run: &[&str]) -> Option<Refusal> {
        // Code and prose are searched for names of places.
        if is_text(word) {
            let place = self.line.needles.find(&word.replace(HOLE, ""))?;
            return Some(Refusal::Write { place: place.to_owned() });
        }
        // Many programs expand braces and stars themselves.
        let words = braces(word);
        let mut named = words.iter().flat_map(|word| candidates(word));
        named.find_map(|name| match self.relation(name)? {
            // Running a protected file does not change it.
            (Relation::Within, spot) if spot.is_program || self.is_run(word, run) => None,
            (Relation::Within | Relation::Around, spot) => Some(spot.refusal()),
            (Relation::Above, _) if REMOVERS.contains(&program) => {
                let kept = self.line.kept;
                let below = kept.places.below(&kept.bases, name, |_| true)?;
                Some(below.refusal_with(name))
            }
            (Relation::Above, _) => None,
        })
    }

    /// True if a word is one of the files that the command runs.
    fn is_run(&self, word: &str, run: &[&str]) -> bool {
        let full = self.full(word).into_iter().map(|path| plainly(Path::new(&path)));
        full.into_iter().any(|path| run.iter().any(|run| Path::new(run) == path))
    }

    /// Denies a program that runs in the directory of a place, where any name may mean it.
    fn inside(&self) -> Option<Refusal> {
        let mut directories = self.command.directories.iter().map(pattern);
        directories.find_map(|directory| {
            match self.line.kept.relation(&directory, self.line.stars) {
                Some((Relation::Within | Relation::Around, spot)) => Some(spot.refusal()),
                _ => None,
            }
        })
    }

    /// Denies a program that reads the name of a place, unless it only passes its input on.
    fn input(&self, program: &str) -> Option<Refusal> {
        let Input::Text(text) = &self.command.input else { return None };
        if passes_on(program) {
            return None;
        }
        let place = self.line.needles.find(&pattern(text).replace(HOLE, ""))?;
        Some(Refusal::Write { place: place.to_owned() })
    }
}

/// True if a word is code or prose, and not a path.
fn is_text(word: &str) -> bool {
    word.contains([' ', '\n', '\t', '"', '\'', '(', ';'])
}

/// Returns what a word may name: all of it, the parts behind `=`, `@`, `:` and `,`, and the value attached to
/// an option: `-ofile`, `-xC./dir`. A shell expands a pattern only as a whole word.
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['=', '@', ':', ',']).filter(move |part| *part != text);
    let option = text.strip_prefix('-').filter(|option| !option.starts_with('-'));
    let value = option.and_then(|option| option.get(1..));
    let path = option.and_then(|option| option.get(option.find(['.', '/', '~'])?..));
    let parts = parts.chain(value).chain(path).filter(|part| !part.contains(['*', '?', '[']));
    std::iter::once(text).chain(parts).filter(|part| !part.is_empty())
}

/// Expands the braces of a word.
fn braces(text: &str) -> Vec<String> {
    /// Bounds of the number of words and of their length.
    const MOST: usize = 64;
    const LONGEST: usize = 4_096;
    let (mut done, mut ahead) = (Vec::new(), vec![text.to_owned()]);
    while let Some(word) = ahead.pop() {
        let close = word.find('}').filter(|_| word.len() <= LONGEST);
        let open = close.and_then(|close| word.get(..close)?.rfind('{'));
        let inner = open.zip(close).and_then(|(open, close)| {
            let inner = word.get(open + 1..close).filter(|inner| inner.contains(','))?;
            Some((word.get(..open)?, inner, word.get(close + 1..)?))
        });
        match inner {
            Some((before, inner, after)) if done.len() + ahead.len() < MOST => {
                ahead.extend(inner.split(',').rev().map(|part| format!("{before}{part}{after}")));
            }
            _ => done.push(word),
        }
    }
    done
}
