//! Commands that list files: where they look, and for what.

use std::fs;
use std::path::Path;

use super::places::{Stars, matches_part};

/// The longest file that is searched for what `grep` would find.
const LONGEST: u64 = 256 * 1024;

/// What a command searches for, and where.
pub(super) struct Search<'a> {
    pub(super) starts: Vec<&'a str>,
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
    pub(super) deepest: usize,
}

impl<'a> Search<'a> {
    pub(super) fn of(program: &str, arguments: &'a [String]) -> Option<Self> {
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

    /// True if it may list a file, which is below where it begins.
    pub(super) fn finds(&self, below: &Path, path: &Path) -> bool {
        let is_hidden = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with('.');
        if !self.finds_hidden && below.iter().any(is_hidden) {
            return false;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_named = |pattern: &&str| {
            let pattern = pattern.rsplit('/').next().unwrap_or_default().to_lowercase();
            matches_part(&pattern, &name, Stars::Search)
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
