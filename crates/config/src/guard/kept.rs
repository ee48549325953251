//! The protected files that exist, for commands that name files by patterns.

use std::cell::{Cell, OnceCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_shell::Command;

use super::command_line::pattern;
use super::places::{Match, Places, Relation, Spot, Stars, parts_of, patterns, resolved};
use super::search::Search;
use crate::trust::words::HOLE;

/// Maximum number of files of a place that are looked at. Some agents keep their records beside their hooks.
const MOST_FILES: usize = 2_000;

/// Maximum depth of these files below a place.
const DEEPEST: usize = 4;

/// The places and their files, which are read when first needed, once a call.
pub(super) struct Kept<'s> {
    files: Vec<(&'s Spot, OnceCell<Vec<Spot>>)>,
    pub(super) places: &'s Places,
    /// Directories that a path may be relative to.
    pub(super) bases: Vec<PathBuf>,
    /// Number of files that may still be compared with Tollgate's program.
    pub(super) compared: Cell<usize>,
}

/// Maximum number of files of a line that are compared with Tollgate's program.
const MOST_COMPARED: usize = 4_000;

impl<'s> Kept<'s> {
    pub(super) fn new(places: &'s Places, bases: Vec<PathBuf>) -> Self {
        let files = places.spots().iter().map(|spot| (spot, OnceCell::new())).collect();
        Self { files, places, bases, compared: Cell::new(MOST_COMPARED) }
    }

    /// Returns how a word stands to the protected places, and to which. A pattern matches only existing files.
    pub(super) fn relation(&self, word: &str, stars: Stars) -> Option<(Relation, &'s Spot)> {
        let is_pattern = |part: &str| part.contains(['*', '?', '[']);
        if !is_pattern(word) {
            let by_path = self.places.relation(&self.bases, word);
            if matches!(by_path, Some((Relation::Within | Relation::Around, _))) {
                return by_path;
            }
            let link = || self.places.linked(&self.bases, word);
            let found = self.searched(word).or_else(link);
            return found.map(|spot| (Relation::Within, spot)).or(by_path);
        }
        let word = self.places.expanded(word);
        // A literal directory that is protected is enough, whatever is in it.
        let fixed: Vec<&str> = word.split('/').take_while(|part| !is_pattern(part)).collect();
        let by_directory = self.places.relation(&self.bases, &fixed.join("/"));
        if let Some((Relation::Within, _)) = by_directory {
            return by_directory;
        }
        // Prefer a place that exists, because the reason names it.
        let mut best: Option<((Relation, bool), &'s Spot)> = None;
        for pattern in self.bases.iter().flat_map(|base| patterns(base, &word)) {
            for (spot, files) in &self.files {
                let Some(found) = spot.matches(&pattern, 0, stars) else { continue };
                // `$dir/*.json` may be anything.
                if (word.starts_with(HOLE) && found.told < 3)
                    || !Self::is_there(spot, files, &pattern, found, stars)
                {
                    continue;
                }
                let rank = (found.relation, spot.is_there());
                if best.is_none_or(|(best, _)| rank > best) {
                    best = Some((rank, spot));
                }
            }
        }
        best.map(|((relation, _), spot)| (relation, spot))
    }

    /// Returns the place of an existing file that a search may have found by this name.
    fn searched(&self, word: &str) -> Option<&'s Spot> {
        if !word.contains(&format!("/{HOLE}/")) {
            return None;
        }
        let word = self.places.expanded(word);
        let patterns: Vec<_> = self.bases.iter().flat_map(|base| patterns(base, &word)).collect();
        let matches = |spot: &Spot| {
            let found = patterns.iter().find_map(|path| spot.matches(path, 0, Stars::Search));
            found.is_some_and(|found| found.relation == Relation::Within)
        };
        self.find(matches, matches)
    }

    /// True if a file that a pattern matches exists.
    fn is_there(
        spot: &Spot,
        files: &OnceCell<Vec<Spot>>,
        pattern: &[String],
        found: Match,
        stars: Stars,
    ) -> bool {
        match found.relation {
            // A directory above matters for the place in it.
            Relation::Above => spot.is_there(),
            _ if found.is_below => {
                let mut files = files_of(spot, files).iter();
                files.any(|file| {
                    let found = file.matches(pattern, 0, stars);
                    found.is_some_and(|found| found.parts > spot.parts.len())
                })
            }
            _ => spot.has_ancestor(found.parts),
        }
    }

    /// Returns the first place that may have such a file and has one.
    fn find(
        &self,
        may_have: impl Fn(&Spot) -> bool,
        is_it: impl Fn(&Spot) -> bool,
    ) -> Option<&'s Spot> {
        let mut places = self.files.iter().filter(|(spot, _)| may_have(spot));
        let found = places.find(|(spot, files)| files_of(spot, files).iter().any(&is_it));
        found.map(|(spot, _)| *spot)
    }

    /// Returns the place of a file that a command lists for another one to change.
    pub(super) fn listed_by(&self, command: &Command, with_directories: bool) -> Option<&'s Spot> {
        let words: Vec<String> = command.argv.iter().map(pattern).collect();
        let (program, arguments) = words.split_first()?;
        let name = program.rsplit('/').next().unwrap_or_default();
        let search = Search::of(name, arguments)?;
        let directories: Vec<String> = command.directories.iter().map(pattern).collect();
        let starts = search.starts.iter().filter(|start| !start.contains(HOLE));
        // A search that begins in a place is enough, whatever it finds.
        let inside = starts.clone().find_map(|start| match self.relation(start, Stars::Shell) {
            Some((Relation::Within | Relation::Around, spot)) => Some(spot),
            _ => None,
        });
        if inside.is_some() {
            return inside;
        }
        let starts: Vec<PathBuf> = starts
            .flat_map(|start| {
                let start = self.places.expanded(start);
                let known = directories.iter().map(|directory| self.places.expanded(directory));
                let from = self.bases.iter().cloned().chain(known.map(PathBuf::from));
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

fn files_of<'k>(spot: &Spot, files: &'k OnceCell<Vec<Spot>>) -> &'k [Spot] {
    files.get_or_init(|| {
        let mut files = Vec::new();
        collect(spot, &spot.path, DEEPEST, &mut files);
        files
    })
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
