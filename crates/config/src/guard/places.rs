//! The places that are protected, and how a path stands to them.

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tollgate_core::policy::resolve;

use super::{Protected, Refusal, spots};
use crate::trust::words::HOLE;

/// Directories beside the trust store.
pub(super) const KEPT: &[&str] = &["hosts"];

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

    /// The directory it is in.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// Its last part.
    pub(super) fn name(&self) -> &str {
        self.parts.last().map(AsRef::as_ref).unwrap_or_default()
    }

    /// The parts that are not the base's.
    pub(super) fn own_parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().skip(self.base).map(AsRef::as_ref)
    }

    /// How a path, which may be a pattern, stands to it.
    fn relation(&self, pattern: &[String]) -> Option<Relation> {
        let (relation, told) = self.matches(pattern, 0)?;
        // `$dir/hooks.json` may be ours; `$dir/x` is anything.
        let has_hole = pattern.iter().any(|part| part.contains(HOLE));
        if has_hole && told < 3 {
            return None;
        }
        // A shell's pattern stands only for what is there.
        let is_pattern = |part: &String| part.contains(['*', '?', '[']) && part != "**";
        let reached = self.parts.len().saturating_sub(pattern.len());
        let reached = self.path.ancestors().nth(reached).unwrap_or(&self.path);
        let is_there = || fs::symlink_metadata(reached).is_ok();
        (has_hole || !pattern.iter().any(is_pattern) || is_there()).then_some(relation)
    }

    /// Compares from a part of the place on. Counts the letters that were written out of the parts
    /// that are not the base's: a pattern of nothing but holes is about nothing.
    pub(super) fn matches(&self, pattern: &[String], at: usize) -> Option<(Relation, usize)> {
        let Some((first, rest)) = pattern.split_first() else {
            if at >= self.parts.len() {
                return Some((Relation::Within, 0));
            }
            let last = at.checked_sub(1).and_then(|last| self.parts.get(last));
            let is_shared = last.is_none_or(|last| SHARED.contains(&last.as_ref()));
            let is_own = at > self.base && !is_shared;
            return Some((if is_own { Relation::Around } else { Relation::Above }, 0));
        };
        let Some(part) = self.parts.get(at) else {
            return self.is_whole.then_some((Relation::Within, 0));
        };
        // Either may stand for any number of parts.
        if is_any(first) {
            let from = at..=self.parts.len();
            return from.filter_map(|from| self.matches(rest, from)).max();
        }
        if !matches_part(first, part) {
            return None;
        }
        let told = if at >= self.base { letters(first) } else { 0 };
        self.matches(rest, at + 1).map(|(relation, more)| (relation, told + more))
    }
}

/// Whether a part of a pattern may stand for any number of parts.
pub(super) fn is_any(part: &str) -> bool {
    part == "**" || part.chars().all(|c| c == HOLE)
}

pub(super) fn letters(part: &str) -> usize {
    part.chars().filter(|c| c.is_alphanumeric()).count()
}

/// Whether a part of a pattern matches a name. `[…]` is taken for any character.
pub(super) fn matches_part(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?', '[', HOLE]) {
        return pattern == name;
    }
    // As in a shell: a name with a dot at its beginning is only meant where that is written.
    if pattern.starts_with(['*', '?']) && name.starts_with('.') {
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

/// The same for `find`, to which a dot at the beginning is a letter as any other.
pub(super) fn found_as(pattern: &str, name: &str) -> bool {
    matches_part(&format!("x{pattern}"), &format!("x{name}"))
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

    /// How a path, which may be a pattern, stands to the protected places, and to which.
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

    /// A place in a directory that is not the project's own, nor Tollgate's program.
    pub(super) fn outside_project(&self, bases: &[PathBuf], directory: &str) -> Option<&Spot> {
        let directory = self.expanded(directory);
        let full: Vec<PathBuf> =
            bases.iter().map(|base| resolved(&base.join(&directory))).collect();
        let project = self.project();
        let mut others = self.spots.iter().filter(|spot| !spot.is_program);
        others.find(|spot| {
            !spot.path.starts_with(project) && full.iter().any(|full| spot.path.starts_with(full))
        })
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
            (part, false) if is_any(part) && rest.last().is_some_and(|last| is_any(last)) => {}
            (part, _) => rest.push(folded(part).into_owned()),
        }
    }
    let with_rest = |path: &Path| parts_of(path).chain(rest.iter().cloned()).collect();
    let mut found: Vec<Vec<String>> =
        vec![with_rest(&resolved(&fixed)), with_rest(&plainly(&fixed))];
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
