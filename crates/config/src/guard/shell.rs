//! What a command line would do to the protected places, as far as its text shows.

use std::cell::{Cell, OnceCell};
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

/// Programs that write what they are given.
const WRITERS: &[&str] =
    &["cp", "tee", "dd", "install", "ln", "truncate", "touch", "chmod", "patch"];

/// Further programs by which a text is known to be a command.
const OTHERS: &[&str] = &["tollgate", "sudo", "env", "git", "curl", "wget", "cd", "nohup", "cargo"];

/// Commands that set the variables they name.
const SETTERS: &[&str] = &[
    "for",
    "select",
    "read",
    "mapfile",
    "readarray",
    "printf",
    "getopts",
    "declare",
    "typeset",
    "local",
    "unset",
];

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
    /// The directories that its words may be relative to.
    bases: Vec<PathBuf>,
    needles: &'a Needles,
    /// The variables that are known.
    variables: BTreeMap<String, String>,
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
            let is_known = [FED, WRITERS, REMOVERS, OTHERS].iter().any(|l| l.contains(&program));
            is_known || command.words.iter().any(|word| word.redirect == Some(Redirect::Out))
        })
    }

    /// Why the line is denied, if it is.
    pub(super) fn refuses(mut self, text: &str) -> Option<Refusal> {
        text.clone_into(&mut self.whole);
        let refusal = self.text(text, 0);
        refusal.or_else(|| (self.left.get() == 0).then_some(Refusal::TooLong))
    }

    fn text(&mut self, text: &str, depth: usize) -> Option<Refusal> {
        let line = Line::parse(text);
        let plain: Vec<bool> = line.commands.iter().map(|c| is_plain(&line, c)).collect();
        let only_looks = plain.iter().all(|plain| *plain);
        let is_fed = line.commands.iter().zip(&plain).any(|(command, is_plain)| {
            let (_, own) = command.parts();
            // Of the programs that are told what to do, this one alone can be seen only to look.
            if *is_plain && own.first().is_some_and(|program| program.base_name() == "sed") {
                return false;
            }
            own.iter().any(|word| FED.contains(&word.base_name()))
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
        let about = OnceCell::new();
        for (command, is_plain) in line.commands.iter().zip(&plain) {
            let words = self.words_of(command);
            if self.is_unsure(command) {
                let about = about.get_or_init(|| self.about(&line));
                if about.is_some() {
                    return about.clone();
                }
            }
            let refusal = if *is_plain || self.copies_out(&line, command) {
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
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['=', '@', ':', ',']).filter(move |part| *part != text);
    let option = text.strip_prefix('-').filter(|option| !option.starts_with('-'));
    let value = option.and_then(|option| option.get(1..));
    let path = option.and_then(|option| option.get(option.find(['.', '/', '~'])?..));
    std::iter::once(text).chain(parts).chain(value).chain(path).filter(|part| !part.is_empty())
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
