//! Files that are read, written and deleted.

use super::{Class, Judge, Level, sentence};
use crate::effects::hosts::{Reach, reach};
use crate::effects::location::ANYTHING;
use crate::effects::{Effect, Kind, Location, Place, Target};
use crate::watch::{Hit, Reason};

impl Judge<'_> {
    pub(super) fn read(&mut self, effect: &Effect, location: &Location) {
        let Some((hit, spot)) = self.situation.watch().find(location, Reason::Secret) else {
            return;
        };
        let hit = if hit == Hit::Around && effect.tree { Hit::At } else { hit };
        match hit {
            // The project's own programs read its settings; what is sent on is another matter.
            Hit::At if spot.is_env_file() && self.is_inside(location) => {
                if self.sends_anywhere() {
                    let sentence = sentence::sends_settings(&self.situation.shown(&location.text));
                    self.note(effect, Class::Send, Level::Deny, sentence);
                }
            }
            Hit::At => {
                let level = if effect.sure { Level::Deny } else { Level::Ask };
                let sentence =
                    sentence::reads_secret(&self.situation.shown(&location.text), spot.what);
                self.note(effect, Class::Secret, level, sentence);
            }
            Hit::Above if effect.tree && is_whole(self.situation.place(location)) => {
                let sentence =
                    sentence::reads_all(&self.situation.shown(&location.text), &effect.by);
                let sends = self.effects.list.iter().any(|other| other.sends);
                let level = if sends { Level::Deny } else { Level::Ask };
                self.note(effect, Class::Secret, level, sentence);
            }
            Hit::Above | Hit::Around => {}
        }
    }

    /// True for all files of a language, at any depth of the project.
    fn is_sources(&self, location: &Location) -> bool {
        const SOURCES: &[&str] = &[
            "py", "js", "ts", "tsx", "jsx", "rs", "go", "c", "h", "cc", "cpp", "hpp", "java", "kt",
            "rb", "php", "swift", "cs", "scala", "ex", "hs", "ml", "vue", "svelte", "sql", "md",
        ];
        let Some((directory, name)) = location.text.rsplit_once('/').filter(|_| !location.exact)
        else {
            return false;
        };
        let is_deep = directory.ends_with("/**") || directory.ends_with(ANYTHING);
        let ending = name.strip_prefix("*.").unwrap_or_default();
        let root =
            directory.trim_end_matches("/**").trim_end_matches(ANYTHING).trim_end_matches('/');
        let is_root = root == "."
            || root.is_empty()
            || self.situation.workspaces.iter().any(|workspace| workspace == root);
        is_deep && is_root && SOURCES.contains(&ending)
    }

    fn is_inside(&self, location: &Location) -> bool {
        matches!(
            self.situation.place(location),
            Place::Inside | Place::Workspace | Place::Unknown | Place::Temporary
        )
    }

    /// True if the call sends something to another machine.
    fn sends_anywhere(&self) -> bool {
        self.effects.list.iter().any(|effect| match &effect.target {
            Target::Host(host) => {
                effect.sends && !matches!(reach(host), Reach::Local | Reach::Configured)
            }
            _ => false,
        })
    }

    pub(super) fn write(&mut self, effect: &Effect, location: &Location) {
        let shown = self.situation.shown(&location.text);
        let place = self.situation.place(location);
        if let Some((Hit::At, spot)) = self.situation.watch().find(location, Reason::Record) {
            let level = if effect.sure { Level::Deny } else { Level::Ask };
            return self.note(
                effect,
                Class::Tamper,
                level,
                sentence::changes_record(&shown, spot.what),
            );
        }
        if let Some((Hit::At, spot)) = self.situation.watch().find(location, Reason::Runs) {
            if self.is_harmless(effect) {
                return;
            }
            // What git, an archive or a container may write in its own directory is not this file.
            if effect.sure || !effect.tree && effect.by != "git config" {
                let level =
                    if effect.sure && !spot.is_build_server() { Level::Deny } else { Level::Ask };
                let sentence = if spot.is_build_server() {
                    sentence::changes_build(&shown)
                } else {
                    sentence::writes_startup(&shown, spot.what)
                };
                return self.note(effect, Class::Startup, level, sentence);
            }
            return;
        }
        if !effect.sure {
            // A container gets all of a directory that is mounted into it.
            let mounts = ["docker", "podman", "nerdctl"].iter().any(|by| effect.by.starts_with(by));
            if mounts && effect.tree && is_whole(place) {
                let sentence = sentence::mounts(&shown, &effect.by);
                self.note(effect, Class::Destroy, Level::Deny, sentence);
            }
            return;
        }
        match place {
            Place::Device => {
                self.note(
                    effect,
                    Class::Destroy,
                    Level::Deny,
                    sentence::overwrites_device(&shown, &effect.by),
                );
            }
            Place::System
                if matches!(effect.by.as_str(), "truncate" | "shred")
                    && is_settings(&location.text) =>
            {
                let sentence = sentence::empties(&shown, &effect.by);
                self.note(effect, Class::Destroy, Level::Deny, sentence);
            }
            Place::Root | Place::System | Place::Home | Place::Above if effect.tree => {
                self.note(
                    effect,
                    Class::Destroy,
                    Level::Deny,
                    sentence::rewrites_all(&shown, place, &effect.by),
                );
            }
            _ => {}
        }
        // What is written over a name that is not known may be any file.
        let empties = matches!(effect.by.as_str(), "truncate" | "shred")
            || place == Place::Workspace && matches!(effect.by.as_str(), "tee" | "cp" | "dd");
        if !location.exact && empties {
            self.note(effect, Class::Destroy, Level::Ask, sentence::may_empty(&effect.by));
        }
        self.downloads(effect, place, &location.text);
    }

    /// True if a file keeps what it says: it is given stricter permissions, or a key is made.
    fn is_harmless(&self, effect: &Effect) -> bool {
        let stricter = [" 600 ", " 400 ", " 700 ", " 644 ", " go-"];
        match effect.by.as_str() {
            "chmod" => stricter.iter().any(|mode| self.situation.text.contains(mode)),
            "ssh-keygen" => true,
            _ => false,
        }
    }

    /// A program that is fetched right into the system's directories.
    fn downloads(&mut self, effect: &Effect, place: Place, path: &str) {
        let fetches = self
            .effects
            .list
            .iter()
            .any(|other| other.kind == Kind::Network && other.by == effect.by);
        if place == Place::System && fetches && !is_data(path) {
            let shown = self.situation.shown(path).into_owned();
            self.note(
                effect,
                Class::Code,
                Level::Ask,
                sentence::downloads_into_system(&shown, &effect.by),
            );
        }
    }

    pub(super) fn delete(&mut self, effect: &Effect, location: &Location) {
        let shown = self.situation.shown(&location.text);
        let place = self.situation.place(location);
        let tree = effect.tree;
        if effect.destroys {
            return self.note(
                effect,
                Class::Destroy,
                Level::Deny,
                sentence::deletes(&shown, place, tree, &effect.by, self.situation.text),
            );
        }
        if let Some((Hit::At, spot)) = self.situation.watch().find(location, Reason::Record) {
            return self.note(
                effect,
                Class::Tamper,
                Level::Deny,
                sentence::changes_record(&shown, spot.what),
            );
        }
        let in_kept = match place {
            Place::Root
            | Place::Device
            | Place::System
            | Place::Home
            | Place::Above
            | Place::Repository => true,
            // The files of an unknown name in the project are some of them; `*` is all of them.
            Place::Workspace => !location.text.ends_with(ANYTHING),
            _ => false,
        };
        if in_kept && (effect.sure || place != Place::Workspace) {
            return self.note(
                effect,
                Class::Destroy,
                Level::Deny,
                sentence::deletes(&shown, place, tree, &effect.by, self.situation.text),
            );
        }
        if let Some((hit, spot)) = self.situation.watch().find(location, Reason::Secret)
            && (hit == Hit::At || hit == Hit::Around && tree)
            && !matches!(place, Place::Inside | Place::Workspace)
        {
            return self.note(
                effect,
                Class::Destroy,
                Level::Deny,
                sentence::deletes_secret(&shown, spot.what),
            );
        }
        if let Some((Hit::At, spot)) = self.situation.watch().find(location, Reason::Runs)
            && !matches!(place, Place::Inside | Place::Workspace)
        {
            return self.note(
                effect,
                Class::Startup,
                Level::Deny,
                sentence::writes_startup(&shown, spot.what),
            );
        }
        if self.is_sources(location) {
            let sentence = sentence::deletes_sources(&shown);
            return self.note(effect, Class::Destroy, Level::Deny, sentence);
        }
        match place {
            Place::Unknown if tree => {
                let sentence = sentence::deletes_unknown(self.situation.text, &effect.by);
                self.note(effect, Class::Destroy, Level::Ask, sentence);
            }
            Place::Personal => {
                let level = if tree && is_of_person(&shown) { Level::Deny } else { Level::Ask };
                self.note(
                    effect,
                    Class::Destroy,
                    level,
                    sentence::deletes(&shown, place, tree, &effect.by, self.situation.text),
                );
            }
            Place::Elsewhere if tree => {
                self.note(
                    effect,
                    Class::Destroy,
                    Level::Ask,
                    sentence::deletes(&shown, place, tree, &effect.by, self.situation.text),
                );
            }
            _ => {}
        }
    }

    /// True if the call reads files that are not the project's, or a list of names that is not known.
    pub(super) fn reads_outside(&self) -> Option<String> {
        self.effects.list.iter().find_map(|effect| {
            let Target::Path(location) = &effect.target else { return None };
            if effect.kind != Kind::Read {
                return None;
            }
            let outside = matches!(
                self.situation.place(location),
                Place::Root
                    | Place::System
                    | Place::Home
                    | Place::Personal
                    | Place::Elsewhere
                    | Place::Above
            );
            outside.then(|| self.situation.shown(&location.text).into_owned())
        })
    }
}

/// True if a place is so large that its files cannot all be meant.
fn is_whole(place: Place) -> bool {
    matches!(place, Place::Root | Place::Home | Place::Above | Place::System)
}

/// True for directories of the system in which people keep data.
fn is_data(path: &str) -> bool {
    [
        "/usr/local/",
        "/opt/",
        "/srv/",
        "/var/www/",
        "/var/lib/",
        "/etc/",
        "/usr/share/",
        "/var/cache/",
    ]
    .iter()
    .any(|start| path.starts_with(start))
}

/// True for files of the system that are not data.
fn is_settings(path: &str) -> bool {
    ["/etc/", "/usr/", "/boot/", "/bin/", "/sbin/", "/lib"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// True for directories in which people keep what only they have.
fn is_of_person(shown: &str) -> bool {
    let Some(rest) = shown.strip_prefix("~/") else { return true };
    let first = rest.split('/').next().unwrap_or(rest);
    [
        "Documents",
        "Desktop",
        "Pictures",
        "Music",
        "Videos",
        "Downloads",
        "Dropbox",
        "Library",
        "Movies",
    ]
    .contains(&first)
        || !first.starts_with('.')
}
