//! What is copied into a directory, seen from what is there to be copied.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate_shell::Command;
use tollgate_shell::effects::{Kind, Target};

use super::command_line::{Run, pattern};
use super::kept::Kept;
use super::places::{Relation, Spot, Stars, matches_part, resolved};
use crate::trust::words::HOLE;

/// Programs that copy, move or link files into a directory.
const COPIERS: &[&str] = &["cp", "gcp", "mv", "ln", "install"];

/// How many entries of a directory a pattern is compared with.
const MOST_ENTRIES: usize = 1_000;

/// A copy that a command makes.
struct Copy {
    sources: Vec<String>,
    target: String,
    /// Whether the target is the copy itself, and not the directory it is put in.
    is_exact: bool,
    with_directories: bool,
    /// Whether a source keeps the directories it is named with.
    with_parents: bool,
}

impl Copy {
    fn of(command: &Command) -> Option<Self> {
        let words: Vec<String> = command.argv.iter().map(pattern).collect();
        let (program, arguments) = words.split_first()?;
        let name = program.rsplit('/').next().unwrap_or_default();
        if !COPIERS.contains(&name) {
            return None;
        }
        let mut given = None;
        let (mut operands, mut is_exact, mut with_parents) = (Vec::new(), false, false);
        let mut with_directories = name == "mv";
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if let Some(directory) = word.strip_prefix("--target-directory=") {
                given = Some(directory.to_owned());
            } else if word == "-t" {
                given = rest.next().cloned();
            } else if let Some(option) = word.strip_prefix("--") {
                with_directories |= matches!(option, "recursive" | "archive");
                is_exact |= option == "no-target-directory";
                with_parents |= option == "parents";
            } else if let Some(flags) = word.strip_prefix('-') {
                with_directories |= name.ends_with("cp") && flags.contains(['r', 'R', 'a']);
                is_exact |= flags.contains('T');
                // The mode, the owner and the group that `install` gives.
                if name == "install" && matches!(flags, "m" | "o" | "g") {
                    rest.next();
                }
            } else {
                operands.push(word.clone());
            }
        }
        let target = given.or_else(|| operands.pop())?;
        Some(Self { sources: operands, target, is_exact, with_directories, with_parents })
    }
}

/// The protected place that a command copies something onto.
pub(super) fn onto<'s>(kept: &Kept<'s>, run: &Run, command: &Command) -> Option<&'s Spot> {
    let copy = Copy::of(command)?;
    let places = kept.places;
    let known = command.directories.iter().map(pattern).filter(|path| !path.contains(HOLE));
    let mut from: Vec<PathBuf> = known.map(|path| PathBuf::from(places.expanded(&path))).collect();
    if from.is_empty() {
        from.clone_from(&kept.bases);
    }
    from.iter().find_map(|from| {
        let full = |path: &str| from.join(places.expanded(path));
        let target = full(&copy.target);
        if copy.target.contains(HOLE) || !(copy.target.ends_with('/') || target.is_dir()) {
            return None;
        }
        copy.sources.iter().find_map(|source| {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let names = names_of(&full(source), name);
            let lands = |name: &str| {
                let lands = target.join(if copy.with_parents { source } else { name });
                let lands = lands.to_str().map(str::to_owned);
                lands.filter(|_| !copy.is_exact && !matches!(name, "." | ".."))
            };
            let relation = |name: &String| places.relation(&kept.bases, &lands(name)?);
            let onto = names.iter().filter_map(relation).find(|(it, _)| *it == Relation::Within);
            if let Some((_, spot)) = onto {
                return Some(spot);
            }
            if !copy.with_directories {
                return None;
            }
            let target = resolved(&target);
            let mut below = places.spots().iter().filter(|spot| spot.path.starts_with(&target));
            below.find(|spot| {
                let path = spot.path.strip_prefix(&target).unwrap_or(&spot.path);
                match brings(run, &full(source), name, path, copy.is_exact) {
                    Brings::Yes => true,
                    Brings::Perhaps => !spot.path.starts_with(places.project()),
                    Brings::No => false,
                }
            })
        })
    })
}

/// The names of what a source stands for: a pattern stands for what is there.
fn names_of(source: &Path, name: &str) -> Vec<String> {
    if !name.contains(['*', '?', '[', HOLE]) {
        return vec![name.to_owned()];
    }
    let entries = source.parent().and_then(|directory| fs::read_dir(directory).ok());
    let entries = entries.into_iter().flatten().flatten().take(MOST_ENTRIES);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|found| matches_part(name, found, Stars::Shell)).collect()
}

/// Whether a source has something that would land on a place.
enum Brings {
    Yes,
    /// What is not there yet, or is filled by the same line, may hold anything.
    Perhaps,
    No,
}

/// Whether a source has something at a path below the target.
fn brings(run: &Run, source: &Path, name: &str, path: &Path, is_exact: bool) -> Brings {
    let in_it = if is_exact || matches!(name, "." | "..") {
        source.join(path)
    } else if name.contains(['*', '?', '[', HOLE]) {
        // All that is in its directory, which may be more than it stands for.
        source.parent().unwrap_or(Path::new("/")).join(path)
    } else {
        // One directory, by its name.
        let mut parts = path.iter();
        if parts.next() != Some(name.as_ref()) {
            return Brings::No;
        }
        source.join(parts.as_path())
    };
    let is_pattern = name.contains(['*', '?', '[', HOLE]);
    let directory = if is_pattern { source.parent().unwrap_or(source) } else { source };
    let is_filled = run.effects.list.iter().any(|effect| match &effect.target {
        Target::Path(location) => {
            effect.kind == Kind::Write
                && Path::new(&location.text).starts_with(super::places::plainly(directory))
        }
        _ => false,
    });
    if fs::symlink_metadata(in_it).is_ok() {
        Brings::Yes
    } else if is_filled || !directory.exists() {
        Brings::Perhaps
    } else {
        Brings::No
    }
}
