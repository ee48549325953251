//! What kind of place a path is in.

use std::borrow::Cow;

use super::Location;
use super::location::{ANYTHING, matches, normal};

/// What kind of place a path is in. Later ones are more harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The root of all files, or all that is in it.
    Root,
    /// A disk or another device.
    Device,
    /// What belongs to the system, and directories that many share.
    System,
    /// The home of a person, or all that is in it.
    Home,
    /// Above a workspace, or above the working directory.
    Above,
    /// The records of a repository in a workspace.
    Repository,
    /// A workspace itself, or all that is in it.
    Workspace,
    /// In the home of a person, outside of the workspaces.
    Personal,
    /// It cannot be told.
    Unknown,
    /// Anywhere else.
    Elsewhere,
    /// In the home of a person, what programs make again when it is missed. It may still be
    /// code that they trust: deleting it costs nothing, changing it may.
    Cache,
    /// In a workspace.
    Inside,
    /// Among the temporary files, or what the system makes again when it is missed.
    Temporary,
    /// Where nothing is kept: `/dev/null`, the terminal, open files.
    Null,
}

/// Directories of the system, right below the root.
const SYSTEM: &[&str] = &[
    "etc",
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "boot",
    "sys",
    "proc",
    "var",
    "opt",
    "srv",
    "root",
    "run",
    "snap",
    "nix",
    "gnu",
    "home",
    "tmp",
    "dev",
    "lost+found",
    "efi",
    "Users",
    "System",
    "Library",
    "Applications",
    "private",
    "cores",
    "Volumes",
    "mnt",
    "media",
];

impl Place {
    /// Returns where a location is. Of all that a pattern may mean, the strictest counts. Where no
    /// home is known, it is told by how the workspaces look.
    pub fn of(
        location: &Location,
        workspaces: &[String],
        directory: Option<&str>,
        homes: &[String],
    ) -> Self {
        let known = homes.iter().map(String::as_str);
        let inside = |home: &&str| below(&location.text, home).is_some();
        let home = known.clone().find(inside).or_else(|| known.clone().next());
        let home = home
            .or_else(|| workspaces.iter().map(String::as_str).chain(directory).find_map(home_of));
        let world = World {
            workspaces: workspaces.iter().map(|path| tilde(&normal(path), home)).collect(),
            directory: directory.map(|path| tilde(&normal(path), home)),
            root_is_home: home == Some("/root"),
        };
        if location.exact {
            let text = normal(&location.text);
            return world.classify(&world.absolute(tilde(&text, home)));
        }
        if location.text.starts_with(ANYTHING) {
            return Self::Unknown;
        }
        let text = normal(&location.text);
        world.classify_pattern(&world.absolute(tilde(&text, home)), home)
    }

    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Device => "device",
            Self::System => "system",
            Self::Home => "home",
            Self::Above => "above",
            Self::Repository => "repository",
            Self::Workspace => "workspace",
            Self::Personal => "personal",
            Self::Unknown => "unknown",
            Self::Elsewhere => "elsewhere",
            Self::Cache => "cache",
            Self::Inside => "inside",
            Self::Temporary => "temporary",
            Self::Null => "null",
        }
    }
}

/// What is known around a path; homes are written `~` throughout.
struct World {
    workspaces: Vec<String>,
    directory: Option<String>,
    root_is_home: bool,
}

impl World {
    fn absolute(&self, path: String) -> String {
        if path.starts_with('/') || path == "~" || path.starts_with("~/") {
            return path;
        }
        match &self.directory {
            Some(directory) => normal(&format!("{directory}/{path}")).into_owned(),
            None => path,
        }
    }

    fn classify(&self, path: &str) -> Place {
        if path == "/" {
            return Place::Root;
        }
        let Some(general) = general(path, self.root_is_home) else { return relative(path) };
        if matches!(general, Place::Null | Place::Device) {
            return general;
        }
        let mut place = general;
        for workspace in &self.workspaces {
            match below(path, workspace) {
                Some("") => return Place::Workspace,
                Some(rest) => {
                    let directory = self.directory.as_deref().unwrap_or("");
                    if rest.split('/').any(|name| name == ".git") {
                        return Place::Repository;
                    }
                    let above = below(directory, path).is_some_and(|rest| !rest.is_empty());
                    return if above { Place::Above } else { Place::Inside };
                }
                None if below(workspace, path).is_some() => place = place.min(Place::Above),
                None => {}
            }
        }
        let directory = self.directory.as_deref().unwrap_or("");
        if below(directory, path).is_some_and(|rest| !rest.is_empty()) {
            place = place.min(Place::Above);
        }
        place
    }

    fn classify_pattern(&self, path: &str, home: Option<&str>) -> Place {
        // All that is in a directory is as good as the directory.
        let mut whole = path;
        while let Some((directory, name)) = whole.rsplit_once('/') {
            if !is_everything(name) {
                break;
            }
            // Temporary files of a name that is not known are still temporary files.
            if name == ANYTHING && matches!(directory, "/tmp" | "/var/tmp" | "/dev/shm") {
                return Place::Temporary;
            }
            whole = if directory.is_empty() { "/" } else { directory };
            if whole == "/" {
                return Place::Root;
            }
        }
        if is_everything(whole) {
            whole = ".";
        }
        if !has_pattern(whole) {
            return self.classify(&plain(whole));
        }
        let pattern = Location { text: whole.to_owned(), exact: false };
        let mut strictest = self.classify(&example(whole));
        let mut consider = |path: &str| {
            if pattern.covers(path, false) {
                strictest = strictest.min(self.classify(path));
            }
        };
        for name in SYSTEM {
            consider(&format!("/{name}"));
        }
        for path in ["~", "/home/x", "/root", "/Users/x", "/dev/sda", "/dev/nvme0n1"] {
            consider(path);
        }
        if let Some(home) = home {
            consider(home);
        }
        for workspace in &self.workspaces {
            consider(workspace);
            consider(&format!("{workspace}/.git"));
            let mut above = workspace.as_str();
            while let Some((directory, _)) = above.rsplit_once('/') {
                if !directory.is_empty() {
                    consider(directory);
                }
                above = directory;
            }
        }
        // Below something that a pattern in the middle may mean.
        below_pattern(whole, strictest)
    }
}

/// Stricter where a pattern in the first name may mean a directory of the system.
fn below_pattern(path: &str, strictest: Place) -> Place {
    let Some(first) = path.strip_prefix('/').and_then(|rest| rest.split('/').next()) else {
        return strictest;
    };
    if has_pattern(first) && SYSTEM.iter().any(|name| matches(first, name)) {
        return strictest.min(Place::System);
    }
    strictest
}

/// Where a path is that is relative to a directory that is not known.
fn relative(path: &str) -> Place {
    let mut names = path.split('/');
    if path.starts_with("..") && names.all(|name| name == "..") {
        return Place::Above;
    }
    if path.split('/').any(|name| name == ".git") { Place::Repository } else { Place::Unknown }
}

/// Where a path is that has nothing to do with workspaces. Nothing for one that is relative.
fn general(path: &str, root_is_home: bool) -> Option<Place> {
    if path == "~" {
        return Some(Place::Home);
    }
    if let Some(rest) = path.strip_prefix("~/") {
        return Some(match rest {
            _ if rest.starts_with("..") => Place::System,
            _ if is_cache(rest) => Place::Cache,
            _ => Place::Personal,
        });
    }
    let rest = path.strip_prefix('/')?;
    let mut names = rest.split('/');
    let first = names.next().unwrap_or("");
    let second = names.next();
    let deeper = names.next().is_some();
    Some(match (first, second) {
        ("dev", Some(name)) => device(name, deeper),
        ("proc", Some("self")) if rest.starts_with("proc/self/fd/") => Place::Null,
        ("home" | "Users", Some(_)) => {
            if deeper {
                Place::Personal
            } else {
                Place::Home
            }
        }
        ("root", None) => Place::Home,
        ("root", Some(_)) if root_is_home => Place::Personal,
        ("tmp", Some(_)) => Place::Temporary,
        _ if is_temporary(rest) || is_kept_copy(rest) => Place::Temporary,
        ("mnt" | "media" | "Volumes", Some(_)) if deeper => Place::Elsewhere,
        _ if SYSTEM.contains(&first) => Place::System,
        _ => Place::Elsewhere,
    })
}

fn is_temporary(path: &str) -> bool {
    ["var/tmp/", "private/tmp/", "var/folders/", "private/var/folders/"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// Below a home: copies that programs make again when they need them.
fn is_cache(path: &str) -> bool {
    let below = [".cache/", "Library/Caches/", ".npm/_", ".gradle/caches/", ".cargo/registry/"];
    let whole = ["Library/Developer/Xcode/DerivedData", ".npm/_cacache", ".gradle/caches"];
    below.iter().any(|start| path.strip_prefix(start).is_some_and(|rest| !rest.is_empty()))
        || whole.iter().any(|place| self::below(path, place).is_some())
}

/// The same for the system's, and the numbers of processes that were.
fn is_kept_copy(path: &str) -> bool {
    let lists =
        ["var/lib/apt/lists", "var/cache/apt", "var/cache/apk", "var/cache/dnf", "var/cache/yum"];
    let number = (path.starts_with("run/") || path.starts_with("var/run/"))
        && path.strip_suffix(".pid").is_some();
    let name = path.rsplit('/').next().unwrap_or(path);
    let lock =
        (path.starts_with("var/lib/") || path.starts_with("run/") || path.starts_with("var/lock/"))
            && (name.starts_with("lock") || name.strip_suffix(".lock").is_some());
    number || lock || lists.iter().any(|place| below(path, place).is_some())
}

fn device(name: &str, deeper: bool) -> Place {
    match name {
        "null" | "zero" | "full" | "random" | "urandom" | "stdin" | "stdout" | "stderr" | "tty"
        | "fd" | "ptmx" | "pts" => Place::Null,
        "shm" if deeper => Place::Temporary,
        "shm" => Place::System,
        _ => Place::Device,
    }
}

/// What is left of `path` below `directory`; empty where they are the same.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    if directory == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// The home that a path is in.
fn home_of(path: &str) -> Option<&str> {
    if path == "/root" || path.starts_with("/root/") {
        return Some("/root");
    }
    let start = ["/home/", "/Users/"].into_iter().find(|start| path.starts_with(start))?;
    let name = path.get(start.len()..)?.split('/').next().filter(|name| !name.is_empty())?;
    path.get(..start.len() + name.len())
}

/// With `~` for the home.
fn tilde(path: &str, home: Option<&str>) -> String {
    match home.and_then(|home| below(path, home)) {
        Some("") => "~".to_owned(),
        Some(rest) => format!("~/{rest}"),
        None => path.to_owned(),
    }
}

fn has_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '('])
}

/// Whether a name in a pattern stands for all, or nearly all, that is in a directory.
fn is_everything(name: &str) -> bool {
    let bare = name.strip_prefix('.').unwrap_or(name);
    let stars = bare.contains('*') && bare.chars().all(|letter| matches!(letter, '*' | '?'));
    stars
        || name == ANYTHING
        || matches!(name, ".[!.]*" | ".[^.]*" | "[!.]*" | "[^.]*" | ".??*" | "[a-z]*")
}

/// Without backslashes: what is left of a pattern that is none.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\\') { Cow::Owned(text.replace('\\', "")) } else { Cow::Borrowed(text) }
}

/// One path that a pattern may mean.
fn example(pattern: &str) -> String {
    let mut path = String::with_capacity(pattern.len() + 8);
    for (index, name) in pattern.split('/').enumerate() {
        if index > 0 {
            path.push('/');
        }
        // What is fixed at the beginning of a name tells what it is: `lock*`.
        let fixed = name.find(['*', '?', '[', '(']).and_then(|at| name.get(..at));
        path.push_str(fixed.unwrap_or(name));
        if fixed.is_some() {
            path.push_str("example");
        }
    }
    path
}
