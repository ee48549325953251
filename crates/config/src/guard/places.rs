//! The places that are protected, and how a path stands to them.

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tollgate_core::policy::resolve;

use super::{Protected, Refusal, spots};
use crate::trust::words::HOLE;

/// Directories and files beside the trust store: records of agents and calls, exceptions, and what `setup --undo` goes by.
pub(super) const KEPT: &[&str] = &["hosts", "record", "approved", "setup.json"];

/// Directories that hold much else, so that to mention them means little.
const SHARED: &[&str] = &[
    ".github",
    ".opencode",
    ".copilot",
    ".clinerules",
    ".cline",
    ".codeium",
    ".windsurf",
    "opencode",
    "etc",
];

/// Names of places that are those of many other files as well.
const COMMON: &[&str] = &[
    "settings.json",
    "settings.local.json",
    "config.toml",
    "config.json",
    "opencode.json",
    "hooks",
    "plugin",
    "plugins",
];

/// How a path stands to a protected place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Relation {
    /// The place is somewhere in it, as in the project's directory.
    Above,
    /// It is the directory that is there for it, as `.agents`.
    Around,
    /// It is the place, or in it.
    Within,
}

/// A protected place, where it was found to be.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// Its path, in parts that can be compared.
    pub(super) parts: Vec<Arc<str>>,
    /// How many of them are the base's.
    pub(super) base: usize,
    pub(super) is_whole: bool,
    /// Whether it is Tollgate's own program, which may be run.
    pub(super) is_program: bool,
    /// As it is told.
    pub(super) shown: Cow<'static, str>,
    pub(super) path: PathBuf,
}

impl Spot {
    pub(super) fn refusal(&self) -> Refusal {
        Refusal::Write { place: self.shown.to_string() }
    }

    /// For one who removes the directory it is in.
    pub(super) fn refusal_with(&self, directory: &str) -> Refusal {
        Refusal::Delete { directory: directory.to_owned(), place: self.shown.to_string() }
    }

    /// True if there is something at its path.
    pub(super) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// True if there is something at the path of its first parts.
    pub(super) fn has_ancestor(&self, parts: usize) -> bool {
        let above = self.parts.len().saturating_sub(parts);
        let ancestor = self.path.ancestors().nth(above).unwrap_or(&self.path);
        fs::symlink_metadata(ancestor).is_ok()
    }

    /// How a path that may have holes stands to it.
    fn relation(&self, path: &[String]) -> Option<Relation> {
        let found = self.matches(path, 0, Stars::Shell)?;
        // `$dir/hooks.json` may be ours; `$dir/x` and `$dir/config.toml` are anything.
        let has_hole = path.iter().any(|part| part.contains(HOLE));
        (!has_hole || found.told > 2).then_some(found.relation)
    }

    /// Compares a pattern from a part of the place on.
    pub(super) fn matches(&self, pattern: &[String], at: usize, stars: Stars) -> Option<Match> {
        let Some((first, rest)) = pattern.split_first() else {
            return Some(Match {
                relation: self.relation_at(at),
                told: 0,
                parts: at,
                is_below: false,
            });
        };
        if is_hole(first) {
            let from = at..=self.parts.len();
            let found = from.filter_map(|from| self.matches(rest, from, Stars::Search));
            return found.max_by_key(|found| (found.relation, found.told));
        }
        if first == "**" {
            // At the end it stands for names like a single one.
            let least = at + usize::from(rest.is_empty());
            let passed = self.parts.iter().skip(at);
            let passed = passed.take_while(|part| stars == Stars::Search || !part.starts_with('.'));
            let from = least..=at + passed.count();
            let found = from.filter_map(|from| self.matches(rest, from, stars));
            return found.max_by_key(|found| (found.relation, found.told));
        }
        let Some(part) = self.parts.get(at) else {
            let below = Match { relation: Relation::Within, told: 0, parts: at, is_below: true };
            return self.is_whole.then_some(below);
        };
        if !matches_part(first, part, stars) {
            return None;
        }
        let told = if at >= self.base { telling(first) } else { 0 };
        let found = self.matches(rest, at + 1, stars)?;
        Some(Match { told: told + found.told, ..found })
    }

    /// How the directory of its first parts stands to it.
    fn relation_at(&self, parts: usize) -> Relation {
        if parts >= self.parts.len() {
            return Relation::Within;
        }
        let last = parts.checked_sub(1).and_then(|last| self.parts.get(last));
        let is_shared = last.is_none_or(|last| SHARED.contains(&last.as_ref()));
        if parts > self.base && !is_shared { Relation::Around } else { Relation::Above }
    }
}

/// What stars in a pattern stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stars {
    /// As in a shell: not for a name with a dot at its beginning, nor for what is in such a directory.
    Shell,
    /// As `find` goes through directories: a dot is a letter as any other.
    Search,
}

/// How a pattern matches a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) relation: Relation,
    /// How many letters of the place were written out, without names that are common elsewhere.
    pub(super) told: usize,
    /// How many parts of the place it is about.
    pub(super) parts: usize,
    /// True if it is about something in the place.
    pub(super) is_below: bool,
}

/// True if a part may stand for any number of parts.
fn is_any(part: &str) -> bool {
    part == "**" || is_hole(part)
}

/// True if nothing is known of a part.
pub(super) fn is_hole(part: &str) -> bool {
    part.chars().all(|c| c == HOLE)
}

pub(super) fn letters(part: &str) -> usize {
    part.chars().filter(|c| c.is_alphanumeric()).count()
}

/// How many letters of a name tell that it is ours. A pattern tells nothing.
fn telling(part: &str) -> usize {
    if COMMON.contains(&part) || part.contains(['*', '?', '[']) { 0 } else { letters(part) }
}

/// True if a part of a pattern matches a name. `[…]` is taken for any character.
pub(super) fn matches_part(pattern: &str, name: &str, stars: Stars) -> bool {
    if !pattern.contains(['*', '?', '[', HOLE]) {
        return pattern == name;
    }
    if stars == Stars::Shell && pattern.starts_with(['*', '?', '[']) && name.starts_with('.') {
        return false;
    }
    // For each place in the name: whether the pattern so far may end there.
    let name: Vec<char> = name.chars().collect();
    let mut ends = vec![false; name.len() + 1];
    if let Some(begin) = ends.first_mut() {
        *begin = true;
    }
    let mut pattern = pattern.chars();
    while let Some(c) = pattern.next() {
        if c == '*' || c == HOLE {
            let first = ends.iter().position(|end| *end).unwrap_or(ends.len());
            ends.iter_mut().skip(first).for_each(|end| *end = true);
            continue;
        }
        let is_class = c == '[' && pattern.clone().any(|c| c == ']');
        if is_class {
            pattern.by_ref().find(|c| *c == ']');
        }
        let before = std::iter::once(&false).chain(&ends);
        let step = |(is_end, here): (&bool, &char)| *is_end && (is_class || c == '?' || c == *here);
        ends = std::iter::once(false).chain(before.skip(1).zip(&name).map(step)).collect();
    }
    ends.last().copied().unwrap_or(false)
}

/// A name as it is compared: some file systems ignore capital letters, and some what is at its
/// end.
pub(super) fn folded(name: &str) -> Cow<'_, str> {
    // As nearly all are.
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if name.bytes().all(is_plain) && !name.ends_with('.') {
        return Cow::Borrowed(name);
    }
    let name = name.split("::").next().unwrap_or_default();
    let trimmed = name.trim_end_matches(['.', ' ']);
    Cow::Owned(if trimmed.is_empty() { name } else { trimmed }.to_lowercase())
}

/// The parts of a path that can be compared.
pub(super) fn parts_of<T: for<'a> From<Cow<'a, str>>>(path: &Path) -> impl Iterator<Item = T> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(T::from(folded(&name.to_string_lossy()))),
        _ => None,
    })
}

/// Where a path leads, links followed as far as it exists.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let links = |path: PathBuf| fs::read_link(path);
    resolve(&links, path).unwrap_or_else(|_| path.to_path_buf())
}

/// A path from the root, so that it says the same wherever this process goes.
fn absolute(path: &Path) -> PathBuf {
    let given = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(given).unwrap_or_else(|_| path.to_path_buf());
    // What `..` leads to is only known behind links.
    let goes_up = absolute.components().any(|c| c == Component::ParentDir);
    if goes_up { resolved(&absolute) } else { absolute }
}

/// What is protected, and where it was when the guard was made. The agent cannot change where a
/// place leads without a write that is denied, and a reload makes another guard, so that a call
/// need not look again.
#[derive(Debug, Clone)]
pub(super) struct Places {
    protected: Protected,
    spots: Vec<Spot>,
}

impl Places {
    pub(super) fn new(protected: Protected) -> Self {
        let all = |paths: Vec<PathBuf>| paths.iter().map(|path| absolute(path)).collect();
        let protected = Protected {
            project: absolute(&protected.project),
            home: protected.home.as_deref().map(absolute),
            config: all(protected.config),
            store: protected.store.as_deref().map(absolute),
            extra: protected.extra,
            programs: all(protected.programs),
        };
        let mut places = Self { protected, spots: Vec::new() };
        places.spots = spots::found(&places);
        places
    }

    /// All places.
    pub(super) fn spots(&self) -> &[Spot] {
        &self.spots
    }

    pub(super) fn project(&self) -> &Path {
        &self.protected.project
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.protected.home.as_deref()
    }

    pub(super) fn config(&self) -> &[PathBuf] {
        &self.protected.config
    }

    pub(super) fn store(&self) -> Option<&Path> {
        self.protected.store.as_deref()
    }

    pub(super) fn extra(&self) -> &[PathBuf] {
        &self.protected.extra
    }

    pub(super) fn programs(&self) -> &[PathBuf] {
        &self.protected.programs
    }

    /// The directory that is there for the trust store alone, if it is in one.
    pub(super) fn store_directory(&self) -> Option<&Path> {
        let directory = self.store()?.parent()?;
        (directory.file_name()? == "tollgate").then_some(directory)
    }

    /// A path with `~` and `file:` taken away, as some hosts do it.
    pub(super) fn expanded(&self, path: &str) -> String {
        let path = path.trim();
        let scheme = path.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://"));
        let path = match scheme {
            Some(_) => unescaped(path.get(7..).unwrap_or_default()),
            None => path.to_owned(),
        };
        if let Some(path) = through_process(&path) {
            return path;
        }
        for here in ["~+/", "~-/"] {
            if let Some(rest) = path.strip_prefix(here) {
                return format!("./{rest}");
            }
        }
        let Some(home) = self.home() else { return path };
        for prefix in ["~", "$HOME", "${HOME}"] {
            let rest = path.strip_prefix(prefix);
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                return format!("{}{rest}", home.display());
            }
        }
        path
    }

    /// How a path, which may have holes in it, stands to the protected places, and to which. Stars are
    /// letters here.
    pub(super) fn relation(&self, bases: &[PathBuf], path: &str) -> Option<(Relation, &Spot)> {
        /// No path is longer, and texts that are none often are.
        const LONGEST: usize = 4096;
        if path.is_empty() || path.len() > LONGEST || path.contains('\n') {
            return None;
        }
        let path = self.expanded(path);
        let mut best: Option<(Relation, &Spot)> = None;
        for base in bases {
            for pattern in patterns(base, &path) {
                for spot in &self.spots {
                    let found = spot.relation(&pattern).map(|relation| (relation, spot));
                    if found.map(|(r, _)| r) > best.map(|(r, _)| r) {
                        best = found;
                    }
                }
            }
        }
        best
    }

    /// A place of those that count which is in a directory, if there is something at it.
    pub(super) fn below(
        &self,
        bases: &[PathBuf],
        directory: &str,
        counts: impl Fn(&Spot) -> bool,
    ) -> Option<&Spot> {
        let directory = self.expanded(directory);
        let full: Vec<PathBuf> =
            bases.iter().map(|base| resolved(&base.join(&directory))).collect();
        let is_below = |spot: &&Spot| full.iter().any(|full| spot.path.starts_with(full));
        self.spots.iter().filter(|spot| counts(spot) && is_below(spot)).find(|spot| spot.is_there())
    }

    /// True if there is something at a path.
    pub(super) fn is_there(&self, bases: &[PathBuf], path: &str) -> bool {
        let path = self.expanded(path);
        bases.iter().any(|base| fs::symlink_metadata(base.join(&path)).is_ok())
    }

    /// True if a place is neither the project's own nor Tollgate's program. A project's own are the
    /// matter of trust: people unpack and put together things there all the time.
    pub(super) fn is_outside(&self, spot: &Spot) -> bool {
        !spot.is_program && !spot.path.starts_with(self.project())
    }

    /// What is protected of a file that is to be written, if it is.
    pub(super) fn written(&self, bases: &[PathBuf], path: &str) -> Option<String> {
        // A tool takes a name as it is: stars are not patterns here.
        let plain = path.replace(['*', '?', '['], "_");
        if let Some((Relation::Within, spot)) = self.relation(bases, &plain) {
            return Some(spot.shown.to_string());
        }
        self.linked(bases, path).map(|spot| spot.shown.to_string())
    }

    /// The protected file that a path is another name of.
    pub(super) fn linked(&self, bases: &[PathBuf], path: &str) -> Option<&Spot> {
        let path = self.expanded(path);
        bases.iter().find_map(|base| hard_linked(&self.spots, &base.join(&path)))
    }
}

fn hard_linked<'s>(spots: &'s [Spot], path: &Path) -> Option<&'s Spot> {
    let metadata = fs::metadata(path).ok().filter(|m| m.is_file() && m.nlink() > 1)?;
    let same = |spot: &&Spot| {
        fs::metadata(&spot.path)
            .is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()))
    };
    spots.iter().find(same)
}

/// The parts of a path as it is written and as links lead, with what is a pattern left as it is.
pub(super) fn patterns(base: &Path, path: &str) -> Vec<Vec<String>> {
    // Behind a pattern nothing can be resolved.
    let is_pattern = |part: &str| part.contains(['*', '?', '[', HOLE]);
    let mut fixed = if path.starts_with('/') { PathBuf::from("/") } else { base.to_path_buf() };
    let mut rest: Vec<String> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, rest.is_empty()) {
            ("..", false) => {
                rest.pop();
            }
            (part, true) if !is_pattern(part) => fixed.push(part),
            // Many that stand for anything are one.
            (part, false) if is_any(part) && rest.last().is_some_and(|last| last == part) => {}
            (part, _) => rest.push(folded(part).into_owned()),
        }
    }
    let with_rest = |path: &Path| parts_of(path).chain(rest.iter().cloned()).collect();
    let mut found: Vec<Vec<String>> =
        vec![with_rest(&resolved(&fixed)), with_rest(&plainly(&fixed))];
    if path.starts_with(HOLE) {
        // What is not known may begin at the root.
        let hole = rest.first().filter(|first| !is_hole(first)).map(|_| HOLE.to_string());
        found.push(hole.into_iter().chain(rest).collect());
    }
    // Directories on the way may differ from what is protected only by capital letters, which
    // where that matters are the same directory.
    found.dedup();
    found
}

/// A path without `..`, as far as its text tells.
pub(super) fn plainly(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, component| {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
        plain
    })
}

/// A path by way of a process's own directory or root. It leads elsewhere for the program that is
/// to use it than it would for this one.
fn through_process(path: &str) -> Option<String> {
    let is_part = |part: &&str| !part.is_empty() && *part != ".";
    let mut parts = path.strip_prefix('/')?.split('/').filter(is_part);
    parts.next().filter(|first| *first == "proc")?;
    let start = parts.find_map(|part| match part {
        "cwd" => Some("."),
        "root" => Some(""),
        _ => None,
    })?;
    Some(parts.fold(start.to_owned(), |path, part| path + "/" + part))
}

/// `%2e` as `.`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = escaped.filter(|_| *first == b'%') {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
