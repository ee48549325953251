//! What a command line would do to the protected places, as far as its text shows.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Refusal;
use super::mention::{Needles, normal};
use super::places::{Places, Relation, Spot, plainly};
use super::readers::{is_plain, program_name};
use crate::trust::words::{Command, HOLE, Hole, Line, Redirect, Word};

/// Subcommands of Tollgate that are for people.
const SUBCOMMANDS: &[&str] = &["trust", "install", "uninstall"];

/// Programs that do what their input, or another command's words, say.
const FED: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "eval",
    "source",
    ".",
    "xargs",
    "parallel",
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "awk",
    "gawk",
    "sed",
    "ed",
    "ex",
    "vim",
    "vi",
    "read",
    "mapfile",
    "readarray",
    "for",
    "cpio",
    "tar",
    "rsync",
];

/// Programs that remove what they are given, with all that is in it.
const REMOVERS: &[&str] = &["rm", "rmdir", "shred", "unlink", "trash", "srm", "mv", "rsync"];

/// How deep a script in a script is followed.
const DEEPEST: usize = 4;

/// How many words a word with braces may stand for.
const MOST_BRACES: usize = 64;

/// How many paths a line may name, counted once for each directory they may be relative to.
const MOST_PATHS: usize = 2_000;

/// How many directories a line may go through.
const MOST_BASES: usize = 12;

/// The longest value of a variable that is kept. Values may double with each assignment.
const LONGEST_VALUE: usize = 4_096;

/// A look at one command line.
pub(super) struct Shell<'a> {
    places: &'a Places,
    spots: &'a [Spot],
    /// The directories that its words may be relative to.
    bases: Vec<PathBuf>,
    needles: Needles,
    /// The variables that are known.
    variables: BTreeMap<String, String>,
    /// The place that it changes its directory into, if it does.
    entered: Option<String>,
    /// How many paths may still be looked at.
    left: Cell<usize>,
}

impl<'a> Shell<'a> {
    pub(super) fn new(
        places: &'a Places,
        spots: &'a [Spot],
        bases: Vec<PathBuf>,
        cwd: Option<&str>,
    ) -> Self {
        let mut variables = BTreeMap::new();
        let mut set = |name: &str, path: Option<&Path>| {
            if let Some(path) = path.and_then(Path::to_str) {
                variables.insert(name.to_owned(), path.to_owned());
            }
        };
        set("HOME", places.home());
        set("XDG_CONFIG_HOME", places.config().first().map(PathBuf::as_path));
        set("XDG_STATE_HOME", places.store().and_then(Path::parent).and_then(Path::parent));
        set("PWD", bases.first().map(PathBuf::as_path));
        let needles = Needles::new(places);
        let mut shell = Self {
            places,
            spots,
            bases,
            needles,
            variables,
            entered: None,
            left: Cell::new(MOST_PATHS),
        };
        if let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) {
            shell.enter(cwd);
            let path = shell.bases.last().and_then(|base| base.to_str()).map(str::to_owned);
            shell.variables.extend(path.map(|path| ("PWD".to_owned(), path)));
        }
        shell
    }

    /// Why the line is denied, if it is.
    pub(super) fn refuses(mut self, text: &str) -> Option<Refusal> {
        let refusal = self.text(text, 0);
        refusal.or_else(|| (self.left.get() == 0).then_some(Refusal::TooLong))
    }

    fn text(&mut self, text: &str, depth: usize) -> Option<Refusal> {
        let line = Line::parse(text);
        let plain: Vec<bool> = line.commands.iter().map(|c| is_plain(&line, c)).collect();
        let only_looks = plain.iter().all(|plain| *plain);
        let is_fed = line.commands.iter().any(|command| {
            command.parts().1.iter().any(|word| FED.contains(&word.base_name()))
                || command.words.iter().any(|word| matches!(word.text.as_str(), "while" | "until"))
        });
        if !only_looks {
            if let Some(subcommand) = calls_in(&normal(text)).filter(|_| is_fed) {
                return Some(Refusal::Tollgate { subcommand });
            }
            if let Some(subcommand) = renamed_call(&line) {
                return Some(Refusal::Tollgate { subcommand });
            }
        }
        for (command, is_plain) in line.commands.iter().zip(&plain) {
            let words = self.words_of(command);
            let refusal = if *is_plain {
                self.looks(command, &words)
            } else {
                self.does(command, &words, depth)
            };
            if refusal.is_some() {
                return refusal;
            }
        }
        if only_looks {
            return None;
        }
        // What is said to a program that does as it is told counts as done.
        let said = if is_fed { Some(text) } else { None };
        let said = said.into_iter().chain(line.documents.iter().map(String::as_str));
        for said in said {
            // A document that is only written somewhere may speak of anything.
            let counts =
                is_fed || line.commands.iter().zip(&plain).any(|(c, p)| !p && reads_input(c));
            if let Some(place) = self.needles.find(said).filter(|_| counts) {
                return Some(Refusal::Write { place: place.to_owned() });
            }
        }
        self.entered.take().map(|place| Refusal::Write { place })
    }

    /// A command that only looks: what it redirects to, and where it goes.
    fn looks(
        &mut self,
        command: &Command,
        words: &[(String, Option<Redirect>)],
    ) -> Option<Refusal> {
        let (_, own) = command.parts();
        if own.first().is_some_and(|word| matches!(word.text.as_str(), "cd" | "pushd")) {
            for (text, _) in words.iter().skip(1) {
                self.enter(text);
            }
        }
        self.redirected(words)
    }

    fn redirected(&self, words: &[(String, Option<Redirect>)]) -> Option<Refusal> {
        let written = words.iter().filter(|(_, redirect)| *redirect == Some(Redirect::Out));
        for (text, _) in written {
            if let Some((Relation::Within, spot)) = self.relation(text) {
                return Some(spot.refusal());
            }
        }
        None
    }

    /// A command that may do anything with its words.
    fn does(
        &mut self,
        command: &Command,
        words: &[(String, Option<Redirect>)],
        depth: usize,
    ) -> Option<Refusal> {
        let texts: Vec<&str> = words.iter().map(|(text, _)| text.as_str()).collect();
        if let Some(subcommand) = calls(command, &texts) {
            return Some(Refusal::Tollgate { subcommand });
        }
        if let Some(refusal) = self.redirected(words) {
            return Some(refusal);
        }
        let programs: Vec<&str> =
            texts.iter().map(|text| text.rsplit('/').next().unwrap_or_default()).collect();
        let removes = programs.iter().any(|program| REMOVERS.contains(program));
        let moves = programs.contains(&"mv") && !texts.iter().any(|t| t.starts_with("-t"));
        let finds = programs.contains(&"find");
        // To run a script is not to change it.
        let program = command.parts().1.first().map(|word| self.filled(word));
        let program = texts.iter().position(|text| program.as_deref() == Some(*text));
        for (index, text) in texts.iter().enumerate().filter(|(index, _)| Some(*index) != program) {
            // A file that is moved into a directory does that directory no harm.
            let is_target = moves && index + 1 == texts.len();
            for candidate in candidates(text) {
                match self.relation(candidate) {
                    Some((Relation::Within | Relation::Around, spot)) => {
                        return Some(spot.refusal());
                    }
                    Some((Relation::Above, spot)) if removes && !is_target => {
                        return Some(spot.refusal());
                    }
                    Some((Relation::Above, _)) if finds => {
                        if let Some(spot) = self.found(&texts) {
                            return Some(spot.refusal());
                        }
                    }
                    _ => {}
                }
            }
            if self.left.get() == 0 {
                return Some(Refusal::TooLong);
            }
            // A word with spaces may be a script: `sh -c 'rm x'`.
            if depth < DEEPEST && text.contains([' ', '\n', ';', '\t']) {
                let script = text.replace(HOLE, "${_}");
                if let Some(refusal) = self.text(&script, depth + 1) {
                    return Some(refusal);
                }
            }
        }
        let said = texts.iter().enumerate().filter(|(index, _)| Some(*index) != program);
        let said: Vec<&str> = said.map(|(_, text)| *text).collect();
        let said = said.join(" ").replace(HOLE, "");
        self.needles.find(&said).map(|place| Refusal::Write { place: place.to_owned() })
    }

    /// The protected place that `find` could come upon, where it does more than look.
    fn found(&self, texts: &[&str]) -> Option<&'a Spot> {
        const FILTERS: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename", "-regex"];
        let pairs = texts.iter().zip(texts.iter().skip(1));
        let filters: Vec<&str> =
            pairs.filter(|(option, _)| FILTERS.contains(option)).map(|(_, value)| *value).collect();
        let reaches = |spot: &&Spot| {
            filters.is_empty()
                || filters.iter().any(|filter| {
                    let last = filter.to_lowercase();
                    let last = last.rsplit('/').next().unwrap_or_default().replace(['*', '?'], "");
                    last.is_empty() || spot.name().contains(&last)
                })
        };
        self.spots.iter().find(reaches)
    }

    fn relation(&self, text: &str) -> Option<(Relation, &'a Spot)> {
        let left = self.left.get().saturating_sub(self.bases.len());
        self.left.set(left);
        if left == 0 {
            return None;
        }
        let by_path = self.places.relation(self.spots, &self.bases, text);
        let by_link = || self.places.linked(self.spots, &self.bases, text);
        match by_path {
            Some((Relation::Within | Relation::Around, _)) => by_path,
            _ => by_link().map(|spot| (Relation::Within, spot)).or(by_path),
        }
    }

    /// Goes on as if in a directory too.
    fn enter(&mut self, directory: &str) {
        if let Some((Relation::Within | Relation::Around, spot)) = self.relation(directory) {
            let Refusal::Write { place } = spot.refusal() else { return };
            self.entered = Some(place);
        }
        let directory = self.places.expanded(directory);
        if directory.contains(HOLE) {
            return;
        }
        for base in self.bases.clone() {
            let further = plainly(&base.join(&directory));
            if self.bases.len() < MOST_BASES && !self.bases.contains(&further) {
                self.bases.push(further);
            }
        }
    }

    /// The words of a command, with what is known put into their holes, one for each brace.
    fn words_of(&mut self, command: &Command) -> Vec<(String, Option<Redirect>)> {
        let mut words = Vec::new();
        let (assignments, own) = command.parts();
        for word in &command.words {
            let text = self.filled(word);
            if let Some((name, value)) = word.assignment() {
                let is_set = own.is_empty() || assignments.iter().any(|a| std::ptr::eq(*a, word));
                if is_set || own.first().is_some_and(|program| program.text == "export") {
                    let value = text.split_once('=').map_or(value, |(_, value)| value);
                    if value.len() <= LONGEST_VALUE {
                        self.variables.insert(name.to_owned(), value.to_owned());
                    } else {
                        self.variables.remove(name);
                    }
                }
            }
            words.extend(braces(&text).into_iter().map(|text| (text, word.redirect)));
        }
        words
    }

    fn filled(&self, word: &Word) -> String {
        let mut holes = word.holes.iter();
        let mut filled = String::new();
        for c in word.text.chars() {
            if c != HOLE {
                filled.push(c);
                continue;
            }
            let known = match holes.next() {
                Some(Hole::Variable(name)) => self.variables.get(name).cloned(),
                Some(Hole::Output(text)) => output(text, &self.variables),
                None => None,
            };
            match known {
                Some(value) => filled.push_str(&value),
                None => filled.push(HOLE),
            }
        }
        filled
    }
}

/// What some commands are known to say.
fn output(text: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    let line = Line::parse(text);
    let [command] = line.commands.as_slice() else { return None };
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    match words.as_slice() {
        ["pwd"] => variables.get("PWD").cloned(),
        ["which" | "type", .., program] | ["command", "-v", program] => Some((*program).to_owned()),
        ["echo", said @ ..] if !said.iter().any(|s| s.contains(HOLE)) => Some(said.join(" ")),
        ["printf", said] if !said.contains(['%', '\\', HOLE]) => Some((*said).to_owned()),
        _ => None,
    }
}

/// What a word may name: all of it, and what is behind `=`, `@`, `:` and `,`.
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['=', '@', ':', ',']).filter(move |part| *part != text);
    std::iter::once(text).chain(parts).filter(|part| !part.is_empty())
}

/// The words that a word with braces stands for.
fn braces(text: &str) -> Vec<String> {
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

/// Whether a command does something with what it reads.
fn reads_input(command: &Command) -> bool {
    let (_, words) = command.parts();
    words.first().is_some_and(|program| {
        program_name(program).is_none_or(|name| !matches!(name, "tee" | "cp" | "mkdir" | "dd"))
    })
}

fn is_tollgate(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or_default().to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    matches!(name, "tollgate" | "tollgate-cli")
}

/// The subcommand for people that a command calls, by its words.
fn calls(command: &Command, texts: &[&str]) -> Option<String> {
    let wanted = |text: &str| SUBCOMMANDS.iter().find(|name| text.eq_ignore_ascii_case(name));
    for (index, text) in texts.iter().enumerate() {
        if !is_tollgate(text) {
            continue;
        }
        let rest = texts.get(index + 1..).unwrap_or_default();
        let mut had_option = false;
        for word in rest {
            if let Some(name) = wanted(word) {
                return Some((*name).to_owned());
            }
            // A subcommand that is not known before it runs may be any.
            if word.contains(HOLE) {
                return Some("trust".to_owned());
            }
            let is_option = word.starts_with('-');
            had_option |= is_option;
            // Behind an option may be its value, and the subcommand behind that.
            if !is_option && !had_option {
                break;
            }
        }
        let feeds = |word: &Word| matches!(word.base_name(), "xargs" | "parallel");
        if rest.is_empty() && command.words.iter().any(feeds) {
            return Some("trust".to_owned());
        }
    }
    // `$TOLLGATE trust`, whatever it holds; `$PM install` is something else.
    match texts {
        [program, "trust", ..] if program.contains(HOLE) => Some("trust".to_owned()),
        _ => None,
    }
}

/// The subcommand for people that a text calls, anywhere in it.
fn calls_in(normal: &str) -> Option<String> {
    let clean: String = normal
        .chars()
        .map(|c| if matches!(c, ',' | '(' | ')' | '[' | ']' | ';' | '|' | '&') { ' ' } else { c })
        .collect();
    let mut words = clean.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let found = words.peek().and_then(|next| SUBCOMMANDS.iter().find(|name| *name == next));
        if let Some(name) = found.filter(|_| is_tollgate(word)) {
            return Some((*name).to_owned());
        }
    }
    None
}

/// A call of `tollgate trust` by another name that the same line gave it.
fn renamed_call(line: &Line) -> Option<String> {
    let says_it = |hole: &Hole| match hole {
        Hole::Output(text) => text.split_whitespace().any(is_tollgate),
        Hole::Variable(_) => false,
    };
    let names_it =
        |word: &Word| candidates(&word.text).any(is_tollgate) || word.holes.iter().any(says_it);
    let is_named = line.commands.iter().any(|command| {
        let renames = ["alias", "ln", "cp", "mv", "install", "hash"];
        let (_, words) = command.parts();
        words.first().is_none_or(|program| renames.contains(&program.base_name()))
            && command.words.iter().any(names_it)
    });
    let calls = |command: &Command| {
        let (_, words) = command.parts();
        let first = words.get(1).map(|word| word.text.to_lowercase())?;
        SUBCOMMANDS.contains(&first.as_str()).then_some(first)
    };
    if is_named { line.commands.iter().find_map(calls) } else { None }
}
