//! Files that a guard looks out for: secrets, and what decides what runs and who gets in.
//!
//! One list for every guard and for every tool, in `watch/lists.rs`.

mod lists;

use crate::effects::Location;
use crate::effects::location::{ANYTHING, matches};

/// Why a file is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It holds a secret: to read it is to give it away.
    Secret,
    /// It decides what runs, or who gets in: to write it is to run code later.
    Runs,
    /// It records what happened, or turns such a record on and off.
    Record,
}

/// Where a watched path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// In the home of a person.
    Home,
    /// At the root of all files.
    Root,
    /// In any directory.
    Anywhere,
}

/// A watched file or directory.
#[derive(Debug)]
pub struct Spot {
    /// Why it is watched.
    pub reason: Reason,
    base: Base,
    /// Names from the base on. The last may be a pattern; `**` at the end stands for all below.
    names: &'static [&'static str],
    /// What it is, for people: `SSH private keys`.
    pub what: &'static str,
}

/// How a location meets a watched file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hit {
    /// The file is somewhere below it.
    Above,
    /// It is the hidden directory that the file is in: `~/.ssh`.
    Around,
    /// It is the file, or lies in the directory.
    At,
}

/// Finds the watched files that a location means.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// The homes of the person who runs it, absolute.
    pub homes: &'a [String],
}

impl Watch<'_> {
    /// The first spot of this reason that the location is at, or, if there is none, above.
    pub fn find(&self, location: &Location, reason: Reason) -> Option<(Hit, &'static Spot)> {
        let path = self.split(&location.text)?;
        let mut best: Option<(Hit, &'static Spot)> = None;
        for spot in lists::SPOTS.iter().filter(|spot| spot.reason == reason) {
            match spot.meets(&path) {
                Some(Hit::At) => return Some((Hit::At, spot)),
                Some(hit) if best.is_none_or(|(known, _)| known < hit) => best = Some((hit, spot)),
                _ => {}
            }
        }
        best
    }

    /// The parts of a path that can be compared. None where nothing of it is known.
    fn split<'t>(&self, text: &'t str) -> Option<Parts<'t>> {
        if text.starts_with(ANYTHING) {
            // Names behind it may still be told: `$DIR/.ssh/id_rsa`.
            let rest = text.split_once('/')?.1;
            return Some(Parts { base: None, names: names(rest) });
        }
        if let Some(rest) = text.strip_prefix('~') {
            let rest = rest.strip_prefix('/').or(if rest.is_empty() { Some("") } else { None });
            return rest.map(|rest| Parts { base: Some(Base::Home), names: names(rest) });
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Some(Parts { base: None, names: names(text) });
        };
        let own = self.homes.iter().find_map(|home| {
            let below = text.strip_prefix(home.as_str())?;
            if below.is_empty() { Some("") } else { below.strip_prefix('/') }
        });
        let below = own.or_else(|| other_home(rest));
        Some(match below {
            Some(below) => Parts { base: Some(Base::Home), names: names(below) },
            None => Parts { base: Some(Base::Root), names: names(rest) },
        })
    }
}

/// What is below the home of any person.
fn other_home(path: &str) -> Option<&str> {
    if path == "root" {
        return Some("");
    }
    if let Some(below) = path.strip_prefix("root/") {
        return Some(below);
    }
    let rest = path.strip_prefix("home/").or_else(|| path.strip_prefix("Users/"))?;
    (!rest.is_empty()).then(|| rest.split_once('/').map_or("", |(_, below)| below))
}

/// A path in parts.
struct Parts<'t> {
    /// None for a path that is relative to a directory that is not known.
    base: Option<Base>,
    names: Vec<&'t str>,
}

fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").collect()
}

impl Spot {
    /// True if it is a directory of programs.
    pub fn is_program(&self) -> bool {
        self.what == lists::ON_PATH || self.what == lists::OF_SYSTEM
    }

    /// True for what a build server runs: people have it changed every day, and look at it.
    pub fn is_build_server(&self) -> bool {
        self.what == lists::CI
    }

    /// True for settings of a project, which its own programs read.
    pub fn is_env_file(&self) -> bool {
        self.what == lists::ENV_FILE
    }

    /// The name that tells it wherever it is: of a file, or of a hidden directory.
    fn own_name(&self) -> Option<&'static str> {
        match self.names {
            [.., directory, "**"] => Some(*directory).filter(|name| name.starts_with('.')),
            [.., file] => Some(*file),
            [] => None,
        }
    }

    fn meets(&self, path: &Parts<'_>) -> Option<Hit> {
        match (self.base, path.base) {
            (Base::Anywhere, _) => {
                let starts = 0..path.names.len();
                starts.filter_map(|at| self.meets_at(path.names.get(at..)?, false)).max()
            }
            // The end of a path tells enough where the spot has a directory of its own.
            (Base::Home | Base::Root, None) => {
                let starts = 0..path.names.len();
                let own = self.names.len() > 1 && self.names.first()?.starts_with('.');
                let hit = starts.filter_map(|at| self.meets_at(path.names.get(at..)?, false)).max();
                hit.filter(|hit| own && *hit == Hit::At)
            }
            (mine, Some(theirs)) if mine == theirs => self.meets_at(&path.names, true),
            // All homes are below the root.
            (Base::Home, Some(Base::Root)) if path.names.is_empty() => Some(Hit::Above),
            (Base::Home, Some(Base::Root)) => {
                matches!(path.names.as_slice(), ["home" | "Users"] | ["home" | "Users" | "*", "*"])
                    .then_some(Hit::Above)
            }
            _ => None,
        }
    }

    /// Compares from a name of the path on. `is_whole` says that the path begins there.
    fn meets_at(&self, path: &[&str], is_whole: bool) -> Option<Hit> {
        let mut told = 0_usize;
        let mut path = path.iter();
        for (at, mine) in self.names.iter().enumerate() {
            let Some(theirs) = path.next() else {
                // Whatever is in a directory that is there for it belongs to it.
                let rest = self.names.get(at..)?;
                let is_own = rest == ["**"] && told > 0;
                let around =
                    told > 0 && self.names.first().is_some_and(|name| name.starts_with('.'));
                let above = if around { Hit::Around } else { Hit::Above };
                return if is_own { Some(Hit::At) } else { is_whole.then_some(above) };
            };
            if *mine == "**" {
                return Some(Hit::At);
            }
            if *theirs == "**" || theirs.contains(ANYTHING) {
                // Behind a directory of that name it may be any; elsewhere the last name tells.
                let last = path.next_back().unwrap_or(theirs);
                let is_named = |last: &str| {
                    last != "**"
                        && !last.contains(ANYTHING)
                        && last.bytes().any(|b| b.is_ascii_alphanumeric())
                        && self.own_name().is_some_and(|mine| same(mine, last))
                };
                return (told > 0 || is_named(last)).then_some(Hit::At);
            }
            if !same(mine, theirs) {
                return None;
            }
            told += usize::from(!matches!(*theirs, "*" | ".*"));
        }
        // A name of nothing but a star in the home means all that is not hidden.
        if told == 0 {
            return None;
        }
        // What is below a file is not there; what is below a directory counts by its own list.
        path.next().is_none().then_some(Hit::At)
    }
}

/// True if a name of the list and a name of a path can be the same. Either may be a pattern.
fn same(mine: &str, theirs: &str) -> bool {
    let is_pattern = |name: &str| name.contains(['*', '?', '[']);
    if let Some(kept) = mine.strip_prefix("!pub:") {
        return theirs.strip_suffix(".pub").is_none() && same(kept, theirs);
    }
    match (is_pattern(mine), is_pattern(theirs)) {
        (false, false) => mine == theirs,
        (true, false) => matches(mine, theirs),
        (false, true) => {
            // As in a shell: a dot at the beginning is only meant where it is written.
            !(mine.starts_with('.') && theirs.starts_with(['*', '?', '['])) && matches(theirs, mine)
        }
        (true, true) => {
            let open = ['*', '?', '[', ']'];
            let start = |name: &'_ str| name.split(open).next().unwrap_or_default().to_owned();
            let end = |name: &'_ str| name.rsplit(open).next().unwrap_or_default().to_owned();
            let (one, other) = (start(mine), start(theirs));
            let (last, other_last) = (end(mine), end(theirs));
            (one.starts_with(&other) || other.starts_with(&one))
                && (last.ends_with(&other_last) || other_last.ends_with(&last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, reason: Reason) -> Option<(Hit, &'static str)> {
        let homes = ["/srv/people/ann".to_owned()];
        let exact = !text.contains(['*', '?']);
        let location = Location { text: text.to_owned(), exact };
        Watch { homes: &homes }.find(&location, reason).map(|(hit, spot)| (hit, spot.what))
    }

    #[test]
    fn secrets_are_found_wherever_the_home_is() {
        for text in [
            "~/.ssh/id_rsa",
            "/srv/people/ann/.ssh/id_ed25519",
            "/home/dev/.ssh/id_rsa",
            "/root/.aws/credentials",
            "~/.ssh/*",
            "~/.ssh/$?",
            "~/.s?h/id_rsa",
            "~/.gnupg",
            "~/.gnupg/private-keys-v1.d/x.key",
            "$?/.ssh/id_rsa",
            ".ssh/id_rsa",
            "/etc/shadow",
            "/proc/1/environ",
            "~/**/id_rsa",
        ] {
            assert!(matches!(find(text, Reason::Secret), Some((Hit::At, _))), "{text}");
        }
        for text in ["~", "/", "/home", "/srv/people/ann", "~/.ssh"] {
            assert!(find(text, Reason::Secret).is_some(), "{text}");
        }
        for text in [
            "~/.ssh/id_rsa.pub",
            "~/.ssh/known_hosts",
            "~/.ssh/config",
            "~/project/src/main.rs",
            "/etc/passwd",
            "/etc/hosts",
            "$?",
            "$?/x",
            "*",
            "~/*",
            "src/*.rs",
            "/proc/cpuinfo",
        ] {
            assert!(!matches!(find(text, Reason::Secret), Some((Hit::At, _))), "{text}");
        }
    }

    #[test]
    fn what_runs_later_is_found() {
        for text in [
            "~/.bashrc",
            "/root/.bashrc",
            "/etc/cron.d/x",
            "/w/app/.git/hooks/pre-commit",
            ".git/hooks/pre-commit",
            "~/.config/systemd/user/x.service",
            "/etc/ld.so.preload",
            ".vscode/tasks.json",
        ] {
            assert!(matches!(find(text, Reason::Runs), Some((Hit::At, _))), "{text}");
        }
        for text in ["src/hooks/x", "/etc/nginx/nginx.conf", "~/notes", ".github/x", "~/.cache/x"] {
            assert!(!matches!(find(text, Reason::Runs), Some((Hit::At, _))), "{text}");
        }
    }
}
