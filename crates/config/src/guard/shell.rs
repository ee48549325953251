//! What a command line would do to the protected places, as far as its text shows.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Refusal;
use super::code;
use super::mention::Needles;
use super::own::calls;
use super::places::{Places, Relation, Spot, found_as, plainly};
use super::programs::{EDITORS, FED, LANGUAGES, OTHERS, REMOVERS, WRITERS};
use super::readers::{is_plain, program_name};
use super::said::{is_message, said_call, switched_off, tells_all};
use super::words::candidates;
use crate::trust::words::{Command, HOLE, Hole, Line, Redirect, Word};

/// How deep a script in a script is followed.
const DEEPEST: usize = 4;

/// How many paths a line may name, counted once for each directory they may be relative to.
const MOST_PATHS: usize = 2_000;

/// How many directories a line may go through.
const MOST_BASES: usize = 12;

/// What was seen of a line.
pub(super) struct Look {
    /// Why it is denied, if it is.
    pub(super) refusal: Option<Refusal>,
    /// Whether its text tells all that it does.
    pub(super) is_told: bool,
}

/// A look at one command line.
pub(super) struct Shell<'a> {
    pub(super) places: &'a Places,
    /// The directories that its words may be relative to.
    bases: Vec<PathBuf>,
    needles: &'a Needles,
    /// The variables that are known.
    pub(super) variables: BTreeMap<String, String>,
    /// The place that it changes its directory into, if it does.
    entered: Option<String>,
    /// All of its text.
    whole: String,
    /// How many paths may still be looked at.
    left: Cell<usize>,
}

impl<'a> Shell<'a> {
    pub(super) fn new(
        places: &'a Places,
        needles: &'a Needles,
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
        let mut shell = Self {
            places,
            bases,
            needles,
            variables,
            entered: None,
            whole: String::new(),
            left: Cell::new(MOST_PATHS),
        };
        if let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) {
            shell.enter(cwd);
            let path = shell.bases.last().and_then(|base| base.to_str()).map(str::to_owned);
            shell.variables.extend(path.map(|path| ("PWD".to_owned(), path)));
        }
        shell
    }

    /// Whether a text that may be prose has the form of a command that writes or runs something.
    pub(super) fn is_command(text: &str) -> bool {
        Line::parse(text).commands.iter().any(|command| {
            let (_, own) = command.parts();
            let program = own.first().map(|word| word.base_name()).unwrap_or_default();
            let is_known =
                [FED, LANGUAGES, WRITERS, REMOVERS, OTHERS].iter().any(|l| l.contains(&program));
            is_known || command.words.iter().any(|word| word.redirect == Some(Redirect::Out))
        })
    }

    /// Looks at the line.
    pub(super) fn look(mut self, text: &str) -> Look {
        text.clone_into(&mut self.whole);
        let line = Line::parse(text);
        let plain: Vec<bool> = line.commands.iter().map(|c| is_plain(&line, c)).collect();
        let is_told = tells_all(text, &line, &plain);
        let refusal = self.line(text, &line, &plain, 0);
        let refusal = refusal.or_else(|| (self.left.get() == 0).then_some(Refusal::TooLong));
        Look { refusal, is_told }
    }

    fn text(&mut self, text: &str, depth: usize) -> Option<Refusal> {
        let line = Line::parse(text);
        let plain: Vec<bool> = line.commands.iter().map(|c| is_plain(&line, c)).collect();
        self.line(text, &line, &plain, depth)
    }

    fn line(&mut self, text: &str, line: &Line, plain: &[bool], depth: usize) -> Option<Refusal> {
        let only_looks = plain.iter().all(|plain| *plain);
        let is_fed = line.commands.iter().zip(plain).any(|(command, is_plain)| {
            let (_, own) = command.parts();
            // Of the programs that are told what to do, this one alone can be seen only to look.
            if *is_plain && own.first().is_some_and(|program| program.base_name() == "sed") {
                return false;
            }
            own.iter().any(|word| [FED, LANGUAGES].iter().any(|l| l.contains(&word.base_name())))
                || command.words.iter().any(|word| matches!(word.text.as_str(), "while" | "until"))
        });
        if !only_looks {
            if let Some(subcommand) = said_call(text, line, plain, is_fed) {
                return Some(Refusal::Tollgate { subcommand });
            }
            if let Some(switch) = switched_off(line) {
                return Some(Refusal::Off { switch });
            }
            if let Some(spot) = code::changed(self.places, &self.bases, text, line) {
                return Some(spot.refusal());
            }
        }
        let about = OnceCell::new();
        for (command, is_plain) in line.commands.iter().zip(plain) {
            let words = self.words_of(command);
            if self.is_unsure(command) {
                let about = about.get_or_init(|| self.about(line));
                if about.is_some() {
                    return about.clone();
                }
            }
            let refusal = if *is_plain || self.copies_out(line, command) {
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
                is_fed || line.commands.iter().zip(plain).any(|(c, p)| !p && reads_input(c));
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

    /// Whether a command writes to what the text does not tell. It may be anything that the line
    /// is about: `for f in .agents/*; do echo > $f; done`.
    fn is_unsure(&self, command: &Command) -> bool {
        let (_, own) = command.parts();
        let writes = own.iter().any(|word| {
            WRITERS.contains(&word.base_name()) || REMOVERS.contains(&word.base_name())
        });
        let is_written = |word: &&Word| match word.redirect {
            Some(redirect) => redirect == Redirect::Out,
            None => writes && !self.filled(word).starts_with(['/', '-']),
        };
        let is_open = |word: &Word| {
            let by_operator = |hole: &Hole| match hole {
                // `${f:-x}` is not what `f` holds.
                Hole::Variable(name) => {
                    let begin = format!("${{{name}");
                    let mut places = self.whole.match_indices(&begin);
                    places.any(|(at, _)| {
                        let after = self.whole.get(at + begin.len()..).unwrap_or_default();
                        !after.starts_with(|c: char| c == '}' || c == '_' || c.is_alphanumeric())
                    })
                }
                Hole::Output(_) => false,
            };
            self.filled(word).contains(HOLE) || word.holes.iter().any(by_operator)
        };
        let mut written = command.words.iter().filter(|word| !word.holes.is_empty());
        written.any(|word| is_written(&word) && is_open(word))
    }

    /// What protected place a line is about, if it is.
    fn about(&self, line: &Line) -> Option<Refusal> {
        if let Some(place) = self.needles.anywhere(&self.whole) {
            return Some(Refusal::Write { place: place.to_owned() });
        }
        let words = line.commands.iter().flat_map(|command| &command.words);
        words.filter(|word| word.text.contains(['*', '?', '['])).find_map(|word| {
            match self.relation(&self.filled(word)) {
                Some((Relation::Within | Relation::Around, spot)) => Some(spot.refusal()),
                _ => None,
            }
        })
    }

    /// Whether a command only copies one file to where nothing is protected.
    fn copies_out(&self, line: &Line, command: &Command) -> bool {
        let (assignments, own) = command.parts();
        let Some((program, arguments)) = own.split_first() else { return false };
        if line.defines_function || !assignments.is_empty() || program_name(program) != Some("cp") {
            return false;
        }
        // Other options make links or copy directories, or say otherwise what is the target.
        let is_flag =
            |word: &&&Word| matches!(word.text.as_str(), "-v" | "-p" | "-f" | "-n" | "-i");
        let operands: Vec<&str> =
            arguments.iter().filter(|word| !is_flag(word)).map(|word| word.text.as_str()).collect();
        let [from, to] = operands.as_slice() else { return false };
        let is_simple =
            |text: &str| !text.starts_with('-') && !text.contains(['*', '?', '[', '{', HOLE]);
        let is_free = |path: &str| {
            self.needles.anywhere(path).is_none()
                && !matches!(self.relation(path), Some((Relation::Within | Relation::Around, _)))
        };
        let name = from.rsplit('/').next().unwrap_or_default();
        is_simple(from) && is_simple(to) && is_free(to) && is_free(&format!("{to}/{name}"))
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
        let is_message = is_message(command);
        let programs: Vec<&str> =
            texts.iter().map(|text| text.rsplit('/').next().unwrap_or_default()).collect();
        let removes = programs.iter().any(|program| REMOVERS.contains(program));
        let moves = programs.contains(&"mv") && !texts.iter().any(|t| t.starts_with("-t"));
        let finds = programs.contains(&"find");
        let links = programs.contains(&"ln") && self.whole.contains([';', '&', '\n']);
        let is_changing =
            |program: &&str| [WRITERS, REMOVERS, EDITORS].iter().any(|list| list.contains(program));
        let changes = programs.iter().any(is_changing);
        // To run a script is not to change it.
        let program = command.parts().1.first().map(|word| self.filled(word));
        let program = texts.iter().position(|text| program.as_deref() == Some(*text));
        for (index, text) in texts.iter().enumerate().filter(|(index, _)| Some(*index) != program) {
            // A file that is moved into a directory does that directory no harm.
            let is_target = moves && index + 1 == texts.len();
            for candidate in candidates(text) {
                match self.relation(candidate) {
                    // To run Tollgate, by way of whatever program, is not to change it.
                    Some((Relation::Within, spot)) if spot.is_program && !changes => {}
                    Some((Relation::Within | Relation::Around, spot)) => {
                        return Some(spot.refusal());
                    }
                    Some((Relation::Above, spot)) if removes && !is_target => {
                        return Some(spot.refusal());
                    }
                    // By another name of the directory the rest of the line may reach into it.
                    Some((Relation::Above, _)) if links && index + 1 < texts.len() => {
                        if let Some(spot) = self.places.outside_project(&self.bases, candidate) {
                            return Some(spot.refusal());
                        }
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
            if depth < DEEPEST && !is_message && text.contains([' ', '\n', ';', '\t']) {
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
        const NAMES: &[&str] = &["-name", "-iname"];
        const FILTERS: &[&str] = &["-path", "-ipath", "-wholename", "-regex"];
        let pairs: Vec<(&str, &str)> =
            texts.iter().copied().zip(texts.iter().copied().skip(1)).collect();
        let has_filter = pairs.iter().any(|(o, _)| NAMES.contains(o) || FILTERS.contains(o));
        let reaches = |spot: &&Spot| {
            !has_filter
                || pairs.iter().any(|(option, filter)| {
                    let filter = filter.to_lowercase();
                    if NAMES.contains(option) {
                        return spot.own_parts().any(|part| found_as(&filter, part));
                    }
                    let last =
                        filter.rsplit('/').next().unwrap_or_default().replace(['*', '?'], "");
                    FILTERS.contains(option) && (last.is_empty() || spot.name().contains(&last))
                })
        };
        self.places.spots().iter().find(reaches)
    }

    fn relation(&self, text: &str) -> Option<(Relation, &'a Spot)> {
        let left = self.left.get().saturating_sub(self.bases.len());
        self.left.set(left);
        if left == 0 {
            return None;
        }
        let by_path = self.places.relation(&self.bases, text);
        let by_link = || self.places.linked(&self.bases, text);
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
            // Which directory of that name it is cannot be told: it is taken for the protected one.
            let known = spot.directory().filter(|_| directory.contains(HOLE));
            if let Some(known) = known.filter(|_| self.bases.len() < MOST_BASES) {
                self.bases.push(known.to_path_buf());
            }
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
}

/// Whether a command does something with what it reads.
fn reads_input(command: &Command) -> bool {
    let (_, words) = command.parts();
    words.first().is_some_and(|program| {
        program_name(program).is_none_or(|name| !matches!(name, "tee" | "cp" | "mkdir" | "dd"))
    })
}
