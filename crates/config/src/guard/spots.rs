//! Where the protected places are.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_core::policy::{ReadLink, resolve};

use super::places::{KEPT, Places, Spot, parts_of};

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
    /// What a text has in it that is about it.
    pub(super) mentioned: &'static str,
    /// As it is told.
    pub(super) shown: &'static str,
    /// Whether everything in it is protected as well.
    pub(super) is_whole: bool,
}

macro_rules! places {
    ($($base:ident $path:literal $($whole:ident)?;)*) => {
        &[$(Place {
            base: Base::$base,
            path: $path,
            mentioned: places!(@mentioned $base $path),
            shown: places!(@shown $base $path),
            is_whole: places!(@whole $($whole)?),
        },)*]
    };
    (@mentioned Config $path:literal) => { concat!(".config/", $path) };
    (@mentioned Root $path:literal) => { concat!("/", $path) };
    (@mentioned $base:ident $path:literal) => { $path };
    (@shown Home $path:literal) => { concat!("~/", $path) };
    (@shown Config $path:literal) => { concat!("~/.config/", $path) };
    (@shown Root $path:literal) => { concat!("/", $path) };
    (@shown Project $path:literal) => { $path };
    (@whole whole) => { true };
    (@whole) => { false };
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
    Home ".copilot/settings.json";
    Home ".copilot/config.json";
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

/// All places, each where it is written to be and where links lead now.
pub(super) fn found(places: &Places) -> Vec<Spot> {
    let mut found = Vec::with_capacity(PLACES.len() + 8);
    let links = &Links::default();
    let mut project = Below::new(places.project(), links);
    let mut home = places.home().map(|home| Below::new(home, links));
    let mut config: Vec<_> = places.config().iter().map(|path| Below::new(path, links)).collect();
    let mut root = Below::new(Path::new("/"), links);
    let is_usual = has_usual_config(places);
    for place in PLACES {
        let mut add = |below: &mut Below<'_>| {
            // Where the configuration is elsewhere, so is the place.
            let shown = if place.base == Base::Config && !is_usual {
                below.path.join(place.path).display().to_string().into()
            } else {
                place.shown.into()
            };
            below.add(Path::new(place.path), place.is_whole, shown, &mut found);
        };
        match place.base {
            Base::Project => add(&mut project),
            Base::Home => home.iter_mut().for_each(add),
            Base::Config => config.iter_mut().for_each(add),
            Base::Root => add(&mut root),
        }
    }
    for path in places.extra().iter().map(|path| places.project().join(path)) {
        let shown = path.strip_prefix(places.project()).unwrap_or(&path).display().to_string();
        if let Some((base, name)) = path.parent().zip(path.file_name()) {
            Below::new(base, links).add(Path::new(name), true, shown.into(), &mut found);
        }
    }
    add_store(places, links, &mut found);
    let others = found.len();
    for path in places.programs() {
        if let Some((base, name)) = path.parent().zip(path.file_name()) {
            let shown = path.display().to_string();
            Below::new(base, links).add(Path::new(name), false, shown.into(), &mut found);
        }
    }
    found.iter_mut().skip(others).for_each(|spot| spot.is_program = true);
    found
}

/// Whether the configuration is where it is if no one says otherwise.
pub(super) fn has_usual_config(places: &Places) -> bool {
    let usual = places.home().map(|home| home.join(".config"));
    places.config().iter().all(|path| Some(path) == usual.as_ref())
}

fn add_store(places: &Places, links: &Links, found: &mut Vec<Spot>) {
    let Some(store) = places.store() else { return };
    let shown = store.display().to_string();
    let directory = store.parent().unwrap_or(Path::new("/"));
    let base = places.store_directory().and_then(Path::parent).unwrap_or(directory);
    let within = directory.strip_prefix(base).unwrap_or(Path::new(""));
    let mut base = Below::new(base, links);
    // What is written beside it is the store's as well.
    for ending in ["", ".lock", ".new"] {
        let mut name = store.file_name().unwrap_or_default().to_os_string();
        name.push(ending);
        base.add(&within.join(name), false, shown.clone().into(), found);
    }
    // What is kept of sessions of other agents says which hooks hold for them.
    for kept in KEPT {
        base.add(&within.join(kept), true, shown.clone().into(), found);
    }
}

/// Links as they are while places are looked for: the ways to them begin the same, and each part is looked at once.
#[derive(Debug, Default)]
struct Links {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// What is there and is no link.
    plain: Vec<PathBuf>,
    /// What is not there, and so is nothing below it.
    absent: Vec<PathBuf>,
}

impl Links {
    fn resolved(&self, path: &Path) -> PathBuf {
        resolve(self, path).unwrap_or_else(|_| path.to_path_buf())
    }
}

impl ReadLink for Links {
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_among = |all: &[PathBuf], path: &Path| {
            all.iter().any(|known| known.as_os_str() == path.as_os_str())
        };
        if is_among(&known.plain, path) {
            return Err(ErrorKind::InvalidInput.into());
        }
        if path.ancestors().any(|part| is_among(&known.absent, part)) {
            return Err(ErrorKind::NotFound.into());
        }
        let read = fs::read_link(path);
        match read.as_ref().map_err(io::Error::kind) {
            Err(ErrorKind::InvalidInput) => known.plain.push(path.to_path_buf()),
            Err(ErrorKind::NotFound) => known.absent.push(path.to_path_buf()),
            _ => {}
        }
        read
    }
}

/// A directory that places are below.
struct Below<'l> {
    links: &'l Links,
    path: PathBuf,
    parts: Vec<Arc<str>>,
    /// Where it leads.
    real: PathBuf,
    /// What is known of what is in it: many places have the first part of their path in common.
    known: Vec<(OsString, Step)>,
}

/// What is found at a path.
#[derive(Clone, Copy)]
enum Step {
    /// Nothing, so nothing is below it either.
    Absent,
    /// Something that is no link.
    Plain,
    /// A link, or what cannot be looked at.
    Link,
}

impl Step {
    fn of(links: &Links, path: &Path) -> Self {
        match links.read_link(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Self::Absent,
            Err(error) if error.kind() == ErrorKind::InvalidInput => Self::Plain,
            _ => Self::Link,
        }
    }
}

impl<'l> Below<'l> {
    fn new(path: &Path, links: &'l Links) -> Self {
        let (parts, real) = (parts_of(path).collect(), links.resolved(path));
        Self { links, path: path.to_path_buf(), parts, real, known: Vec::new() }
    }

    /// Adds a place, which is a path below this.
    fn add(
        &mut self,
        path: &Path,
        is_whole: bool,
        shown: Cow<'static, str>,
        found: &mut Vec<Spot>,
    ) {
        let parts = self.parts.iter().cloned().chain(parts_of(path)).collect();
        let base = self.parts.len();
        let written = self.path.join(path);
        // Both the way to the directory and the place itself may be links; nearly nowhere are they.
        if self.real.as_os_str() == self.path.as_os_str() && !self.has_link(path) {
            push(found, Spot { parts, base, is_whole, is_program: false, shown, path: written });
            return;
        }
        push(
            found,
            Spot { parts, base, is_whole, is_program: false, shown: shown.clone(), path: written },
        );
        let real = self.links.resolved(&self.real.join(path));
        let parent = real.parent().unwrap_or(Path::new("/"));
        let real_base = if real.starts_with(&self.real) { &self.real } else { parent };
        for (base, path) in [(self.real.as_path(), self.real.join(path)), (real_base, real.clone())]
        {
            let parts: Vec<Arc<str>> = parts_of(&path).collect();
            let base = parts_of::<Arc<str>>(base).count().min(parts.len());
            push(
                found,
                Spot { parts, base, is_whole, is_program: false, shown: shown.clone(), path },
            );
        }
    }

    /// Whether there may be a link between this and what is below it.
    fn has_link(&mut self, below: &Path) -> bool {
        let mut parts = below.components();
        let Some(Component::Normal(first)) = parts.next() else { return true };
        match self.first(first) {
            Step::Absent => return false,
            Step::Plain => {}
            Step::Link => return true,
        }
        let mut path = self.path.join(first);
        for part in parts {
            let Component::Normal(name) = part else { return true };
            path.push(name);
            match Step::of(self.links, &path) {
                Step::Absent => return false,
                Step::Plain => {}
                Step::Link => return true,
            }
        }
        false
    }

    fn first(&mut self, name: &OsStr) -> Step {
        if let Some((_, step)) = self.known.iter().find(|(known, _)| known == name) {
            return *step;
        }
        let step = Step::of(self.links, &self.path.join(name));
        self.known.push((name.to_owned(), step));
        step
    }
}

/// Adds a place, unless it is there. Paths differ at their ends, if they do.
fn push(found: &mut Vec<Spot>, spot: Spot) {
    let is_same = |known: &Spot| {
        known.is_whole == spot.is_whole && known.parts.iter().rev().eq(spot.parts.iter().rev())
    };
    if !found.iter().any(is_same) {
        found.push(spot);
    }
}
