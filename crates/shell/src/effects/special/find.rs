//! `find`: where it looks, what it deletes, what it writes.

use crate::effects::Kind;
use crate::effects::arg::Arg;
use crate::effects::run::Call;
use crate::value::Value;

/// What the tests of an expression leave over.
#[derive(Default)]
struct Chosen<'a> {
    /// Patterns of names that are looked for.
    names: Vec<&'a str>,
    /// The same of whole paths.
    paths: Vec<&'a str>,
    /// Whether there are alternatives that could bypass the names.
    open: bool,
    /// Only what is empty.
    empty: bool,
    depth: usize,
    /// How many alternatives there were in the brackets.
    alternatives: usize,
    /// How many names the alternative has that is looked at.
    named: usize,
    deletes: bool,
}

pub(crate) fn find(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let mut index = 0;
    let mut starts = Vec::new();
    while let Some(&word) = words.get(index) {
        match word.prefix() {
            "-L" | "-H" | "-P" | "-E" | "-X" | "-d" | "-s" | "-x" => {}
            "-D" | "-f" => index += 1,
            prefix if prefix.starts_with("-O") => {}
            prefix if prefix.starts_with(['-', '(', '!', ',']) => break,
            _ => starts.push(word),
        }
        index += 1;
    }
    if starts.is_empty() {
        call.path_text(Kind::List, ".", true);
    }
    for &start in &starts {
        call.path(Kind::List, start, true);
    }
    let here = Value::text(".");
    if starts.is_empty() {
        starts.push(Arg::new(&here));
    }
    let mut chosen = Chosen::default();
    while let Some(&word) = words.get(index) {
        let next = words.get(index + 1).copied();
        index += 1;
        match word.prefix() {
            "-delete" => chosen.deletes = true,
            "-fprint" | "-fprint0" | "-fls" => {
                index += 1;
                write(call, next);
            }
            "-fprintf" => {
                index += 2;
                write(call, next);
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => index = behind_command(&words, index),
            // What is on either side has its own tests and its own deletion.
            "-o" | "-or" | "," if chosen.depth == 0 => {
                delete(call, &starts, &chosen);
                chosen = Chosen::default();
            }
            other => index += test(other, next, words.get(index.wrapping_sub(2)), &mut chosen),
        }
    }
    delete(call, &starts, &chosen);
}

/// Deletes what was chosen below where the search began.
fn delete(call: &mut Call<'_, '_>, starts: &[Arg<'_>], chosen: &Chosen<'_>) {
    if !chosen.deletes {
        return;
    }
    for &start in starts {
        if chosen.empty && !chosen.open {
            // Nothing is lost but names, of which none is the place it began at.
            call.pattern_in(Kind::Delete, start, "**/[!/]*", false);
            continue;
        }
        if chosen.is_open() {
            call.path(Kind::Delete, start, true);
            continue;
        }
        for name in &chosen.names {
            call.pattern_in(Kind::Delete, start, &format!("**/{name}"), false);
        }
        for path in &chosen.paths {
            // A pattern of paths has where the search began in it, or a star for it.
            let pattern = path.trim_start_matches(['*', '/']);
            if path.starts_with('*') {
                call.pattern_in(Kind::Delete, start, &format!("**/{pattern}"), false);
            } else {
                let anchor = Value::text(if path.starts_with('/') { "/" } else { "." });
                call.pattern_in(Kind::Delete, Arg::new(&anchor), pattern, false);
            }
        }
    }
}

impl Chosen<'_> {
    fn is_open(&self) -> bool {
        let none = self.names.is_empty() && self.paths.is_empty();
        let all =
            |pattern: &&str| pattern.chars().all(|letter| matches!(letter, '*' | '?' | '/' | '.'));
        self.open || none || self.names.iter().any(all) || self.paths.iter().any(all)
    }
}

fn write<'a>(call: &mut Call<'a, '_>, file: Option<Arg<'a>>) {
    if let Some(file) = file {
        call.path(Kind::Write, file, false);
    }
}

/// Looks at one test. Tells how many words more it has.
fn test<'a>(
    word: &'a str,
    next: Option<Arg<'a>>,
    before: Option<&Arg<'a>>,
    chosen: &mut Chosen<'a>,
) -> usize {
    let negated = before.is_some_and(|before| matches!(before.prefix(), "!" | "-not"));
    match word {
        "-name" | "-iname" => {
            match next.and_then(Arg::known) {
                Some(name) if !negated => {
                    chosen.names.push(name);
                    chosen.named += 1;
                }
                Some(_) => {}
                None => chosen.open = true,
            }
            1
        }
        "-path" | "-ipath" | "-wholename" | "-iwholename" => {
            match next.and_then(Arg::known) {
                Some(path) if !negated => {
                    chosen.paths.push(path);
                    chosen.named += 1;
                }
                Some(_) => {}
                None => chosen.open = true,
            }
            1
        }
        "-empty" => {
            // Among alternatives it is one of them.
            if chosen.depth == 0 {
                chosen.empty = !negated;
            }
            0
        }
        "(" => {
            chosen.depth += 1;
            chosen.open |= negated;
            chosen.alternatives = 0;
            chosen.named = 0;
            0
        }
        ")" => {
            chosen.depth = chosen.depth.saturating_sub(1);
            chosen.open |= chosen.alternatives > 0 && chosen.named == 0;
            chosen.alternatives = 0;
            0
        }
        "-o" | "-or" | "," => {
            // Names in brackets are alternatives to one another. One that has none may be all.
            chosen.open |= chosen.named == 0;
            chosen.alternatives += 1;
            chosen.named = 0;
            0
        }
        "-type" | "-mtime" | "-mmin" | "-ctime" | "-cmin" | "-atime" | "-amin" | "-size"
        | "-user" | "-group" | "-perm" | "-newer" | "-maxdepth" | "-mindepth" | "-regex"
        | "-iregex" | "-regextype" | "-printf" | "-uid" | "-gid" | "-links" | "-inum"
        | "-samefile" | "-lname" | "-ilname" | "-fstype" | "-xtype" | "-anewer" | "-cnewer"
        | "-newermt" | "-used" | "-context" | "-files0-from" => 1,
        _ => 0,
    }
}

/// Where the words of a command end: behind `;` or `{} +`.
fn behind_command(words: &[Arg<'_>], from: usize) -> usize {
    let mut index = from;
    while let Some(word) = words.get(index) {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        index += 1;
        if word.is(";") || (word.is("+") && before.is_some_and(|before| before.is("{}"))) {
            break;
        }
    }
    index
}
