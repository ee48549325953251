//! The places that are protected, and how a path stands to them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use tollgate_core::policy::resolve;

use super::{Protected, Refusal};
use crate::trust::words::HOLE;

/// What a place is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// The project.
    Project,
    /// The person's home.
    Home,
    /// A directory of configuration.
    Config,
    /// The root of the file system.
    Root,
}

/// A protected place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) base: Base,
    pub(super) path: &'static str,
    /// Whether everything in it is protected as well.
    pub(super) is_whole: bool,
}

macro_rules! places {
    ($($base:ident $path:literal $($whole:ident)?;)*) => {
        &[$(Place { base: Base::$base, path: $path, is_whole: places!(@ $($whole)?) },)*]
    };
    (@ whole) => { true };
    (@) => { false };
}

/// Where hooks are kept: ours, those of the systems we run, those of the agents we run under.
pub(super) const PLACES: &[Place] = places! {
    Project ".agents/hooks.json";
    Project ".polytoken/hooks.json";
    Project ".harness/hooks" whole;
    Project ".tollgate" whole;
    Project ".claude/settings.json";
    Project ".claude/settings.local.json";
    Project ".codex/hooks.json";
    Project ".codex/config.toml";
    Project ".cursor/hooks.json";
    Project ".gemini/settings.json";
    Project ".qwen/settings.json";
    Project ".factory/settings.json";
    Project ".factory/settings.local.json";
    Project ".factory/hooks.json";
    Project ".github/hooks" whole;
    Project ".opencode/plugin" whole;
    Project ".opencode/plugins" whole;
    Project "opencode.json";
    Project ".github/copilot/settings.json";
    Project ".clinerules/hooks" whole;
    Project ".windsurf/hooks.json";
    Project ".kimi/config.toml";
    Home ".gemini/config/hooks.json";
    Home ".gemini/settings.json";
    Home ".claude/settings.json";
    Home ".claude/settings.local.json";
    Home ".claude.json";
    Home ".codex" whole;
    Home ".cursor/hooks.json";
    Home ".qwen/settings.json";
    Home ".factory/settings.json";
    Home ".factory/hooks.json";
    Home ".copilot/hooks" whole;
    Home ".kimi/config.toml";
    Home ".kimi-code/config.toml";
    Home ".cline/hooks" whole;
    Home ".codeium/windsurf/hooks.json";
    Config "polytoken/hooks.json";
    Config "tollgate" whole;
    Config "opencode/plugin" whole;
    Config "opencode/plugins" whole;
    Config "opencode/opencode.json";
    Root "etc/tollgate" whole;
    Root "etc/claude-code" whole;
    Root "etc/codex" whole;
    Root "etc/gemini-cli" whole;
    Root "etc/cursor" whole;
    Root "etc/windsurf" whole;
};

/// Directories beside the trust store.
pub(super) const KEPT: &[&str] = &["sessions", "rounds"];

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
    parts: Vec<String>,
    /// How many of them are the base's.
    base: usize,
    is_whole: bool,
    /// As it is told.
    shown: String,
    path: PathBuf,
}

impl Spot {
    pub(super) fn refusal(&self) -> Refusal {
        Refusal::Write { place: self.shown.clone() }
    }

    /// The directory it is in.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// Its last part.
    pub(super) fn name(&self) -> &str {
        self.parts.last().map(String::as_str).unwrap_or_default()
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
    fn matches(&self, pattern: &[String], at: usize) -> Option<(Relation, usize)> {
        let Some((first, rest)) = pattern.split_first() else {
            if at >= self.parts.len() {
                return Some((Relation::Within, 0));
            }
            let last = at.checked_sub(1).and_then(|last| self.parts.get(last));
            let is_shared = last.is_none_or(|last| SHARED.contains(&last.as_str()));
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
fn is_any(part: &str) -> bool {
    part == "**" || part.chars().all(|c| c == HOLE)
}

fn letters(part: &str) -> usize {
    part.chars().filter(|c| c.is_alphanumeric()).count()
}

/// Whether a part of a pattern matches a name. `[…]` is taken for any character.
fn matches_part(pattern: &str, name: &str) -> bool {
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

/// A name as it is compared: some file systems ignore capital letters, and some what is at its
/// end.
fn folded(name: &str) -> String {
    // As nearly all are.
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if name.bytes().all(is_plain) && !name.ends_with('.') {
        return name.to_owned();
    }
    let name = name.split("::").next().unwrap_or_default();
    let trimmed = name.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { name } else { trimmed }.to_lowercase()
}

fn parts_of(path: &Path) -> Vec<String> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(folded(&name.to_string_lossy())),
        _ => None,
    };
    path.components().filter_map(part).collect()
}

/// Where a path leads, links followed as far as it exists.
fn resolved(path: &Path) -> PathBuf {
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
        };
        let mut places = Self { protected, spots: Vec::new() };
        places.spots = places.found();
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

    /// All places, each where it is written to be and where links lead now.
    fn found(&self) -> Vec<Spot> {
        let mut spots = Spots::default();
        for place in PLACES {
            let (bases, before): (&[PathBuf], _) = match place.base {
                Base::Project => (std::slice::from_ref(&self.protected.project), ""),
                Base::Home => (self.protected.home.as_slice(), "~/"),
                Base::Config => (self.config(), "~/.config/"),
                Base::Root => (&[], "/"),
            };
            let shown = [before, place.path].concat();
            let root = (place.base == Base::Root).then_some(Path::new("/"));
            for base in bases.iter().map(PathBuf::as_path).chain(root) {
                spots.add((base, Path::new(place.path)), place.is_whole, &shown);
            }
        }
        for path in self.extra().iter().map(|path| self.project().join(path)) {
            let shown = path.strip_prefix(self.project()).unwrap_or(&path).display().to_string();
            if let Some((base, name)) = path.parent().zip(path.file_name()) {
                spots.add((base, Path::new(name)), true, &shown);
            }
        }
        self.add_store(&mut spots);
        spots.found
    }

    /// The directory that is there for the trust store alone, if it is in one.
    pub(super) fn store_directory(&self) -> Option<&Path> {
        let directory = self.store()?.parent()?;
        (directory.file_name()? == "tollgate").then_some(directory)
    }

    fn add_store(&self, spots: &mut Spots) {
        let Some(store) = self.store() else { return };
        let shown = store.display().to_string();
        let directory = store.parent().unwrap_or(Path::new("/"));
        let base = self.store_directory().and_then(Path::parent).unwrap_or(directory);
        // What is written beside it is the store's as well.
        for ending in ["", ".lock", ".new"] {
            let mut name = store.file_name().unwrap_or_default().to_os_string();
            name.push(ending);
            let path = directory.join(name);
            let path = (base, path.strip_prefix(base).unwrap_or(&path));
            spots.add(path, false, &shown);
        }
        // What is kept of sessions of other agents says which hooks hold for them.
        for kept in KEPT {
            let path = directory.join(kept);
            let path = (base, path.strip_prefix(base).unwrap_or(&path));
            spots.add(path, true, &shown);
        }
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

    /// What is protected of a file that is to be written, if it is.
    pub(super) fn written(&self, bases: &[PathBuf], path: &str) -> Option<String> {
        // A tool takes a name as it is: stars are not patterns here.
        let plain = path.replace(['*', '?', '['], "_");
        if let Some((Relation::Within, spot)) = self.relation(bases, &plain) {
            return Some(spot.shown.clone());
        }
        self.linked(bases, path).map(|spot| spot.shown.clone())
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

/// Places, as they are found.
#[derive(Default)]
struct Spots {
    found: Vec<Spot>,
    /// What places are below, each looked at once.
    bases: Vec<Below>,
}

/// What places are below.
#[derive(Clone)]
struct Below {
    path: PathBuf,
    /// Where it leads.
    real: PathBuf,
}

impl Spots {
    /// Adds a place, which is a path below a base.
    fn add(&mut self, (base, path): (&Path, &Path), is_whole: bool, shown: &str) {
        let written = base.join(path);
        self.push(base, written.clone(), is_whole, shown);
        // Both the way to the directory and the place itself may be links.
        let real_base = self.real(base);
        // As nearly everywhere, there is no link on the way.
        if real_base.as_os_str() == base.as_os_str() && !has_link(base, path) {
            return;
        }
        let real = resolved(&real_base.join(path));
        self.push(&real_base, real_base.join(path), is_whole, shown);
        let parent = real.parent().unwrap_or(Path::new("/"));
        let base = if real.starts_with(&real_base) { &real_base } else { parent };
        self.push(base, real.clone(), is_whole, shown);
    }

    fn real(&mut self, base: &Path) -> PathBuf {
        if let Some(known) = self.bases.iter().find(|known| known.path == base) {
            return known.real.clone();
        }
        let real = resolved(base);
        self.bases.push(Below { path: base.to_path_buf(), real: real.clone() });
        real
    }

    fn push(&mut self, base: &Path, path: PathBuf, is_whole: bool, shown: &str) {
        let parts = parts_of(&path);
        let is_known = |spot: &Spot| spot.is_whole == is_whole && spot.parts == parts;
        if !self.found.iter().any(is_known) {
            let base = parts_of(base).len().min(parts.len());
            self.found.push(Spot { parts, base, is_whole, shown: shown.to_owned(), path });
        }
    }
}

/// Whether there may be a link between a directory and what is below it.
fn has_link(directory: &Path, below: &Path) -> bool {
    let mut path = directory.to_path_buf();
    for part in below.components() {
        path.push(part);
        match (part, fs::read_link(&path)) {
            (Component::Normal(_), Err(error)) => match error.kind() {
                // In a directory that is not there is nothing.
                ErrorKind::NotFound => return false,
                ErrorKind::InvalidInput => {}
                _ => return true,
            },
            _ => return true,
        }
    }
    false
}

/// The parts of a path as it is written and as links lead, with what is a pattern left as it is.
fn patterns(base: &Path, path: &str) -> Vec<Vec<String>> {
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
            (part, _) => rest.push(folded(part)),
        }
    }
    let with_rest = |path: &Path| parts_of(path).into_iter().chain(rest.iter().cloned()).collect();
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
