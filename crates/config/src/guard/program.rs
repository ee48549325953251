//! Recognises Tollgate's own program by its file: under any name, by a link, or as a copy.

use std::fs::{self, File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tollgate_shell::Command;

use super::FOR_PEOPLE;
use super::command_line::{pattern, texts};
use super::kept::Kept;
use super::places::{Stars, is_hole, matches_part};
use crate::trust::words::HOLE;

/// Number of bytes that are compared at the beginning of two files, and before the end of the program.
const COMPARED: usize = 256 << 10;

/// Length below which a file is not compared, because no program is so short.
const SHORTEST: u64 = 64;

/// Maximum number of entries of a directory that a pattern is compared with.
const MOST_ENTRIES: usize = 1_000;

/// Maximum number of words before a subcommand that may be the program.
const MOST_WORDS: usize = 8;

/// Maximum number of words between the program and the subcommand in code.
const NEAR: usize = 4;

/// Returns the subcommand for people that a word is or may expand to.
pub(super) fn for_people(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let is_pattern = word.contains(['*', '?', '[', HOLE]);
    let is_it = |name: &&&str| {
        **name == word
            || (is_pattern && (is_hole(&word) || matches_part(&word, name, Stars::Shell)))
    };
    FOR_PEOPLE.iter().find(is_it).copied()
}

/// Returns the subcommand for people that a command calls, if its program is Tollgate's by its file.
pub(super) fn called(kept: &Kept<'_>, command: &Command) -> Option<String> {
    let words = texts(command);
    let (program, arguments) = words.split_first()?;
    let at = arguments.iter().position(|word| for_people(word).is_some());
    let by_words = at.and_then(|at| {
        let subcommand = for_people(arguments.get(at)?)?;
        // `/lib64/ld-linux.so.2 ./copy trust`
        let before = arguments.iter().take(at.min(MOST_WORDS)).filter(|word| word.contains('/'));
        let mut files = std::iter::once(program).chain(before);
        files.any(|word| is_own(kept, command, word)).then_some(subcommand)
    });
    let in_code = || arguments.iter().find_map(|word| called_in(kept, command, word));
    by_words.or_else(in_code).map(str::to_owned)
}

/// Returns the subcommand for people that code calls: it stands close behind the path of the program.
fn called_in(kept: &Kept<'_>, command: &Command, code: &str) -> Option<&'static str> {
    if !code.contains([' ', ',']) || !FOR_PEOPLE.iter().any(|name| code.contains(name)) {
        return None;
    }
    let is_of_word = |c: char| c.is_alphanumeric() || "-_./~".contains(c);
    let words: Vec<&str> = code.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let mut behind = words.iter().skip(at + 1).take(NEAR);
        let subcommand = behind.find_map(|word| FOR_PEOPLE.iter().find(|name| *name == word))?;
        (word.contains('/') && is_own(kept, command, word)).then_some(*subcommand)
    })
}

/// True if a word is a file that holds Tollgate's program, or if the line names too many files to tell.
pub(super) fn is_own(kept: &Kept<'_>, command: &Command, word: &str) -> bool {
    if word.contains(HOLE) || word.is_empty() {
        return false;
    }
    let own = kept.places.programs().iter().filter_map(|path| {
        let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some((path.clone(), metadata))
    });
    let own: Vec<(PathBuf, Metadata)> = own.collect();
    if own.is_empty() {
        return false;
    }
    let files = paths(kept, command, word);
    let left = kept.compared.get().saturating_sub(files.len());
    kept.compared.set(left);
    left == 0 || files.iter().any(|file| own.iter().any(|own| is_same(file, own)))
}

/// Returns the files that a word may be, by the working directory or by `PATH`.
fn paths(kept: &Kept<'_>, command: &Command, word: &str) -> Vec<PathBuf> {
    let expanded = |path: &str| PathBuf::from(kept.places.expanded(path));
    let known = command.directories.iter().map(pattern).filter(|path| !path.contains(HOLE));
    let from: Vec<PathBuf> = known.map(|path| expanded(&path)).chain(kept.bases.clone()).collect();
    let named: Vec<PathBuf> = if word.contains('/') {
        from.iter().map(|from| from.join(expanded(word))).collect()
    } else {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let given = command.variables.iter().filter(|(name, _)| name == "PATH");
        let given = given.flat_map(|(_, value)| {
            let value = pattern(value);
            value.split(':').map(expanded).collect::<Vec<_>>()
        });
        let directories = std::env::split_paths(&own).chain(given);
        let full = |directory: PathBuf| from.iter().map(move |from| from.join(&directory));
        let mut full: Vec<PathBuf> = directories.flat_map(full).collect();
        full.dedup();
        full.iter().map(|directory| directory.join(word)).collect()
    };
    named.into_iter().flat_map(|path| globbed(&path)).collect()
}

/// Expands a pattern in the last part of a path.
fn globbed(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.contains(['*', '?', '[']) {
        return vec![path.to_owned()];
    }
    let entries = path.parent().and_then(|parent| fs::read_dir(parent).ok());
    let entries = entries.into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_it = |entry: &fs::DirEntry| {
        matches_part(&name, &entry.file_name().to_string_lossy(), Stars::Shell)
    };
    entries.filter(is_it).map(|entry| entry.path()).collect()
}

/// True if a file is the program or begins with all of it, because bytes that are appended change nothing.
fn is_same(file: &Path, (own, known): &(PathBuf, Metadata)) -> bool {
    let Some(metadata) = fs::metadata(file).ok().filter(Metadata::is_file) else { return false };
    if (metadata.dev(), metadata.ino()) == (known.dev(), known.ino()) {
        return true;
    }
    let length = known.len();
    if length < SHORTEST || metadata.len() < length {
        return false;
    }
    let last = length.saturating_sub(COMPARED as u64);
    let piece = |path: &Path, from: u64| {
        let mut file = File::open(path).ok()?;
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut piece = Vec::new();
        file.take((length - from).min(COMPARED as u64)).read_to_end(&mut piece).ok()?;
        Some(piece)
    };
    [0, last].into_iter().all(|from| {
        let found = piece(file, from);
        found.is_some() && found == piece(own, from)
    })
}
