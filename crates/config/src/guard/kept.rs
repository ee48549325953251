//! The files that are there to be protected, for commands that name files by patterns.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_shell::Command;

use super::places::{Places, Relation, Spot, found_as, parts_of, patterns, resolved};
use super::told::pattern;
use crate::trust::words::HOLE;

/// How many files of a place are looked for. Some agents keep their records beside their hooks.
const MOST_FILES: usize = 2_000;

/// How deep they are looked for below a place.
const DEEPEST: usize = 4;

/// The longest file that is searched for what `grep` would find.
const LONGEST: u64 = 256 * 1024;

/// The protected files, those of each place looked for when they are first asked for.
pub(super) struct Kept<'s> {
    files: Vec<(&'s Spot, OnceCell<Vec<Spot>>)>,
    places: &'s Places,
}

impl<'s> Kept<'s> {
    pub(super) fn new(places: &'s Places) -> Self {
        let files = places.spots().iter().map(|spot| (spot, OnceCell::new())).collect();
        Self { files, places }
    }

    /// The first of the places that may have such a file, and has one.
    fn find(
        &self,
        may_have: impl Fn(&Spot) -> bool,
        is_it: impl Fn(&Spot) -> bool,
    ) -> Option<&'s Spot> {
        let mut places = self.files.iter().filter(|(spot, _)| may_have(spot));
        let found = places.find(|(spot, files)| {
            let files = files.get_or_init(|| {
                let mut files = Vec::new();
                collect(spot, &spot.path, DEEPEST, &mut files);
                files
            });
            files.iter().any(&is_it)
        });
        found.map(|(spot, _)| *spot)
    }

    /// The place of a file that a pattern stands for, or that is in a directory it stands for.
    pub(super) fn matching(
        &self,
        bases: &[PathBuf],
        pattern: &str,
        with_directories: bool,
    ) -> Option<&'s Spot> {
        let pattern = self.places.expanded(pattern);
        let patterns: Vec<Vec<String>> =
            bases.iter().flat_map(|base| patterns(base, &pattern)).collect();
        let may_have = |spot: &Spot| patterns.iter().any(|p| spot.matches(p, 0).is_some());
        let is_meant = |file: &Spot| {
            patterns.iter().any(|pattern| match file.matches(pattern, 0) {
                Some((Relation::Within, _)) => true,
                Some(_) => with_directories,
                None => false,
            })
        };
        self.find(may_have, is_meant)
    }

    /// The place of a file that a command lists for another one to change.
    pub(super) fn listed_by(
        &self,
        bases: &[PathBuf],
        command: &Command,
        with_directories: bool,
    ) -> Option<&'s Spot> {
        let words: Vec<String> = command.argv.iter().map(pattern).collect();
        let (program, arguments) = words.split_first()?;
        let name = program.rsplit('/').next().unwrap_or_default();
        let search = Search::of(name, arguments)?;
        let directories: Vec<String> = command.directories.iter().map(pattern).collect();
        let starts = search.starts.iter().filter(|start| !start.contains(HOLE));
        let starts: Vec<PathBuf> = starts
            .flat_map(|start| {
                let start = self.places.expanded(start);
                let known = directories.iter().map(|directory| self.places.expanded(directory));
                let from = bases.iter().cloned().chain(known.map(PathBuf::from));
                from.map(|from| resolved(&from.join(&start))).collect::<Vec<_>>()
            })
            .collect();
        // Links among them lead to places of their own.
        let may_have = |spot: &Spot| {
            starts.iter().any(|start| spot.path.starts_with(start) || start.starts_with(&spot.path))
        };
        let is_listed = |file: &Spot| {
            let real = resolved(&file.path);
            starts.iter().any(|start| {
                let below = real.strip_prefix(start).ok();
                below.is_some_and(|below| {
                    let is_near = with_directories || below.iter().count() <= search.deepest;
                    is_near && search.finds(below, &real)
                })
            })
        };
        self.find(may_have, is_listed)
    }
}

fn collect(spot: &Spot, path: &Path, depth: usize, files: &mut Vec<Spot>) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if metadata.is_file() {
        let parts: Vec<Arc<str>> = parts_of(path).collect();
        let (base, path) = (parts.len(), path.to_path_buf());
        files.push(Spot { parts, base, path, is_whole: false, ..spot.clone() });
        return;
    }
    if !spot.is_whole || depth == 0 {
        return;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let (further, near): (Vec<_>, Vec<_>) =
        entries.partition(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    // Hooks are at the top, and what there is much of is further down.
    for entry in near.into_iter().chain(further) {
        if files.len() >= MOST_FILES {
            return;
        }
        collect(spot, &entry.path(), depth - 1, files);
    }
}

/// What a command searches for, and where.
struct Search<'a> {
    starts: Vec<&'a str>,
    /// Patterns of names, of which one has to match, if there are any.
    names: Vec<&'a str>,
    /// What a name has to have in it.
    part: Option<&'a str>,
    /// What has to be in a file.
    text: Option<&'a str>,
    ignores_case: bool,
    finds_hidden: bool,
    /// How far below its start a file is named. What is further down is only touched together with
    /// the directory it is in.
    deepest: usize,
}

impl<'a> Search<'a> {
    fn of(program: &str, arguments: &'a [String]) -> Option<Self> {
        match program {
            "find" => Some(Self::find(arguments)),
            "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => {
                Some(Self::grep(program, arguments))
            }
            "fd" | "fdfind" => Some(Self::fd(arguments)),
            "locate" | "plocate" | "mlocate" => {
                Some(Self { starts: vec!["/"], finds_hidden: true, ..Self::fd(arguments) })
            }
            "ls" | "tree" => Some(Self::ls(arguments)),
            _ => None,
        }
    }

    fn find(arguments: &'a [String]) -> Self {
        let arguments = arguments.iter().map(String::as_str);
        let is_option = |word: &&str| word.starts_with('-') || matches!(*word, "(" | "!");
        let starts: Vec<&str> = arguments.clone().take_while(|word| !is_option(word)).collect();
        let mut names = Vec::new();
        let mut before = "";
        let mut rest = arguments.peekable();
        while let Some(word) = rest.next() {
            let is_negated = matches!(before, "!" | "-not");
            match word {
                "-name" | "-iname" if !is_negated => names.extend(rest.next()),
                // Another branch may have no name at all.
                "-o" | "-or" => {
                    let more: Vec<&str> =
                        rest.clone().take_while(|w| !matches!(*w, "-o")).collect();
                    if !more.iter().any(|word| matches!(*word, "-name" | "-iname")) {
                        names.push("*");
                    }
                }
                _ => {}
            }
            before = word;
        }
        let starts = if starts.is_empty() { vec!["."] } else { starts };
        Self {
            starts,
            names,
            part: None,
            text: None,
            ignores_case: true,
            finds_hidden: true,
            deepest: usize::MAX,
        }
    }

    fn fd(arguments: &'a [String]) -> Self {
        let mut search = Self {
            starts: Vec::new(),
            names: Vec::new(),
            part: None,
            text: None,
            ignores_case: true,
            finds_hidden: false,
            deepest: usize::MAX,
        };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match word {
                "-e" | "--extension" => search.part = rest.next(),
                "-H" | "--hidden" | "-u" | "-uu" => search.finds_hidden = true,
                word if word.starts_with('-') => {}
                word if search.part.is_none() => search.part = Some(word),
                word => search.starts.push(word),
            }
        }
        if search.starts.is_empty() {
            search.starts.push(".");
        }
        search
    }

    fn ls(arguments: &'a [String]) -> Self {
        let (options, starts): (Vec<&str>, Vec<&str>) =
            arguments.iter().map(String::as_str).partition(|word| word.starts_with('-'));
        let starts = if starts.is_empty() { vec!["."] } else { starts };
        let is_all = |option: &&str| option.contains(['a', 'A']) && !option.starts_with("--");
        let finds_hidden = options.iter().any(is_all);
        let goes_down = options.iter().any(|option| option.contains('R'));
        Self {
            starts,
            names: Vec::new(),
            part: None,
            text: None,
            ignores_case: true,
            finds_hidden,
            deepest: if goes_down { usize::MAX } else { 1 },
        }
    }

    fn grep(program: &str, arguments: &'a [String]) -> Self {
        let mut search = Self {
            starts: Vec::new(),
            names: Vec::new(),
            part: None,
            text: None,
            ignores_case: false,
            finds_hidden: program.ends_with("grep"),
            deepest: usize::MAX,
        };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            if let Some(name) = word.strip_prefix("--include=") {
                search.names.push(name);
            } else if matches!(word, "--include" | "-g" | "--glob") {
                search.names.extend(rest.next().filter(|name| !name.starts_with('!')));
            } else if matches!(word, "-e" | "--regexp") {
                search.text = rest.next();
            } else if matches!(word, "-t" | "--type" | "-A" | "-B" | "-C" | "-m") {
                rest.next();
            } else if let Some(option) = word.strip_prefix('-') {
                search.ignores_case |= !option.starts_with('-') && option.contains(['i', 'S']);
                search.finds_hidden |= matches!(word, "--hidden" | "-uu" | "-uuu" | "-." | "-a");
            } else if search.text.is_none() {
                search.text = Some(word);
            } else {
                search.starts.push(word);
            }
        }
        if search.starts.is_empty() {
            search.starts.push(".");
        }
        search
    }

    fn finds(&self, below: &Path, path: &Path) -> bool {
        let is_hidden = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with('.');
        if !self.finds_hidden && below.iter().any(is_hidden) {
            return false;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_named = |pattern: &&str| {
            let pattern = pattern.rsplit('/').next().unwrap_or_default().to_lowercase();
            found_as(&pattern, &name)
        };
        if !self.names.is_empty() && !self.names.iter().any(is_named) {
            return false;
        }
        if self.part.is_some_and(|part| !name.contains(needed(&part.to_lowercase()))) {
            return false;
        }
        self.text.is_none_or(|text| self.is_in(text, path))
    }

    /// Whether `grep` may find something in a file, by the letters that it must have.
    fn is_in(&self, text: &str, path: &Path) -> bool {
        if fs::metadata(path).is_ok_and(|metadata| metadata.len() > LONGEST) {
            return true;
        }
        let Ok(content) = fs::read(path) else { return true };
        let content = String::from_utf8_lossy(&content);
        let content = if self.ignores_case { content.to_lowercase().into() } else { content };
        text.split('|').any(|choice| {
            let choice = if self.ignores_case { choice.to_lowercase() } else { choice.to_owned() };
            content.contains(needed(&choice))
        })
    }
}

/// The longest piece of a regular expression that is in every text it matches.
fn needed(expression: &str) -> &str {
    let is_letter = |c: char| c.is_alphanumeric() || "_ -/:='\"#<>@,;%&~!".contains(c);
    let pieces = expression.split(|c: char| !is_letter(c));
    let mut longest = "";
    let mut at = 0;
    for piece in pieces {
        let (begin, end) = (at, at + piece.len());
        let after = expression.get(end..).unwrap_or_default();
        at = end + after.chars().next().map_or(0, char::len_utf8);
        // The last letter may be there any number of times, also none.
        let piece = if after.starts_with(['*', '?', '{', '\\']) {
            let mut letters = piece.chars();
            letters.next_back();
            letters.as_str()
        } else {
            piece
        };
        // `\w`, `[a-z]`: letters that mean something else.
        let before = expression.get(..begin).unwrap_or_default();
        if before.ends_with('\\') || before.rfind('[') > before.rfind(']') {
            continue;
        }
        if piece.len() > longest.len() {
            longest = piece;
        }
    }
    longest
}
