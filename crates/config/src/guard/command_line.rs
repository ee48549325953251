//! Decides about a command line by the commands that a shell would run for it and by their effects.

use std::path::{Path, PathBuf};

use tollgate_shell::effects::{self, Effect, Effects, Kind, Target, Thing};
use tollgate_shell::{Analysis, Command, Part, Surroundings, Value, analyze};

use super::kept::Kept;
use super::mention::{Needles, normal};
use super::own;
use super::places::{Relation, Spot, Stars};
use super::programs::{FETCHERS, PLACERS, UNPACKERS};
use super::{Refusal, agents, copies, words};
use crate::trust::words::HOLE;

/// Maximum number of directories that a line is resolved in. Agents have one or two.
const MOST_BASES: usize = 4;

/// A line, resolved in one directory.
pub(super) struct Run {
    pub(super) analysis: Analysis,
    pub(super) effects: Effects,
}

impl Run {
    fn new(line: &str, directory: &Path) -> Self {
        let directory = Some(directory.to_string_lossy().into_owned());
        let analysis = analyze(line, &Surroundings { directory });
        let effects = effects::of_analysis(&analysis);
        Self { analysis, effects }
    }

    /// True if it changes files whose names are only known when it runs.
    fn is_open(&self) -> bool {
        self.effects.list.iter().any(|effect| is_change(effect) && is_open(effect))
    }
}

/// A command line and the places that it must not change.
pub(super) struct CommandLine<'a> {
    pub(super) kept: &'a Kept<'a>,
    pub(super) needles: &'a Needles,
    pub(super) text: &'a str,
    /// The meaning of `*` in it.
    pub(super) stars: Stars,
}

impl<'a> CommandLine<'a> {
    pub(super) fn new(kept: &'a Kept<'a>, needles: &'a Needles, text: &'a str) -> Self {
        // `shopt -s dotglob`, `setopt globdots`
        let with_dots = text.contains("dotglob") || text.to_lowercase().contains("globdots");
        let stars = if with_dots { Stars::Search } else { Stars::Shell };
        Self { kept, needles, text, stars }
    }

    /// Returns the reason to deny the line in one of these directories, if there is one.
    pub(super) fn refusal(&self, directories: &[PathBuf]) -> Option<Refusal> {
        let mut directories = directories.iter().take(MOST_BASES);
        directories.find_map(|directory| self.refusal_of(&Run::new(self.text, directory)))
    }

    fn refusal_of(&self, run: &Run) -> Option<Refusal> {
        let commands = &run.analysis.commands;
        if let Some(subcommand) = own::called(self.kept, commands) {
            return Some(Refusal::Tollgate { subcommand });
        }
        if let Some(switch) = agents::switched_off(self.kept.places, self.text, commands) {
            return Some(Refusal::Off { switch });
        }
        let changes = run.effects.list.iter().filter(|e| is_change(e) && !is_unset(run, e));
        let mut changes = changes.chain(run.effects.list.iter().filter(|e| covers(e)));
        let touched = changes.find_map(|effect| self.touched(effect));
        let copied = || {
            let mut copied =
                commands.iter().find_map(|command| copies::onto(self.kept, run, command));
            copied.take().map(Spot::refusal)
        };
        touched.or_else(copied).or_else(|| self.listed(run)).or_else(|| words::refusal(self, run))
    }

    /// Denies a line in which one command lists a protected file for another to change.
    fn listed(&self, run: &Run) -> Option<Refusal> {
        use tollgate_shell::Why;
        let open: Vec<&Effect> =
            run.effects.list.iter().filter(|e| is_change(e) && is_open(e)).collect();
        let runs_any = run.analysis.unknowns.iter().any(|unknown| unknown.why == Why::Code);
        if open.is_empty() && !runs_any {
            return None;
        }
        let whole = open.iter().any(|effect| effect.tree || effect.by == "mv");
        let mut commands = run.analysis.commands.iter();
        commands.find_map(|command| self.kept.listed_by(command, whole)).map(Spot::refusal)
    }

    /// Returns the reason to deny an effect, if there is one.
    fn touched(&self, effect: &Effect) -> Option<Refusal> {
        let text = match &effect.target {
            Target::Path(location) => location.text.replace("$?", &HOLE.to_string()),
            Target::Thing { name, .. } => name.clone(),
            _ => return None,
        };
        let by = effect.by.split(' ').next().unwrap_or_default();
        let deletes = effect.kind != Kind::Write;
        if let Some(directory) = text.strip_suffix(&format!("/{HOLE}")) {
            // The names of the files come from elsewhere, such as an archive.
            let is_known = !directory.contains(['*', '?', '[', HOLE]);
            return if is_known && !deletes {
                self.filled(by, directory, effect.tree)
            } else {
                None
            };
        }
        if text.starts_with(HOLE) && text.chars().all(|c| c == HOLE || c == '/') {
            return None;
        }
        // A pattern of sources matches files at the source; `copies` looks there.
        if !deletes && FETCHERS.contains(&by) && text.contains(['*', '?', '[']) {
            return None;
        }
        // `find` descends into hidden directories, and an unknown part may name one.
        let searches = by == "find" || text.contains(&format!("{HOLE}/"));
        let stars = if searches { Stars::Search } else { self.stars };
        let is_exact = !text.contains(['*', '?', '[', HOLE]);
        // A deletion is denied for a file that exists.
        let lost = |spot: &'a Spot| {
            let below = || self.kept.places.below(&self.kept.bases, &text, |_| true);
            let there = if is_exact { below() } else { Some(spot).filter(|spot| spot.is_there()) };
            there.map(|spot| spot.refusal_with(&self.shown(&text)))
        };
        match self.kept.relation(&text, stars) {
            Some((Relation::Within, spot)) => Some(spot.refusal()),
            Some((Relation::Around, spot)) if deletes => lost(spot).or_else(|| {
                // A missing directory for hooks may exist by the time the command runs.
                let is_there = || self.kept.places.is_there(&self.kept.bases, &text);
                (is_exact && !is_there()).then(|| Refusal::Write { place: self.shown(&text) })
            }),
            Some((Relation::Around, spot)) => (!PLACERS.contains(&by)).then(|| spot.refusal()),
            // Git changes only the files that it tracks, or does not track, in a directory.
            Some((Relation::Above, spot)) if deletes && effect.tree && by != "git" => lost(spot),
            _ if !deletes => self
                .beside(by, &text)
                .or_else(|| if effect.tree { self.filled(by, &text, true) } else { None }),
            _ => None,
        }
    }

    /// Denies a program that fills a directory with files whose names come from elsewhere.
    fn filled(&self, by: &str, directory: &str, is_tree: bool) -> Option<Refusal> {
        if let Some((Relation::Within | Relation::Around, spot)) =
            self.kept.relation(directory, self.stars)
        {
            return Some(spot.refusal());
        }
        let places = self.kept.places;
        let unpacks = is_tree && UNPACKERS.contains(&by);
        let outside = || places.below(&self.kept.bases, directory, |spot| places.is_outside(spot));
        if unpacks { outside().map(Spot::refusal) } else { None }
    }

    /// Denies a copy or download into the directory of a protected file.
    fn beside(&self, by: &str, path: &str) -> Option<Refusal> {
        let (directory, _) = path.rsplit_once('/')?;
        if !FETCHERS.contains(&by) || path.contains(['*', '?', '[', HOLE]) {
            return None;
        }
        match self.kept.relation(directory, self.stars) {
            Some((Relation::Within | Relation::Around, spot)) => Some(spot.refusal()),
            _ => None,
        }
    }

    /// Formats a path relative to the project or to `~`.
    fn shown(&self, path: &str) -> String {
        let path = path.replace(HOLE, "…");
        let below = |base: Option<&Path>| {
            let base = base.and_then(Path::to_str).filter(|base| base.len() > 1)?;
            path.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(rest) = below(Some(self.kept.places.project())).filter(|rest| rest.len() > 1) {
            return rest.trim_start_matches('/').to_owned();
        }
        below(self.kept.places.home()).map_or_else(|| path.clone(), |rest| format!("~{rest}"))
    }

    /// Denies a line that mentions a place and changes unknown files or runs unknown code.
    pub(super) fn about(&self, run: &Run) -> Option<Refusal> {
        if !run.is_open() && run.analysis.unknowns.is_empty() {
            return None;
        }
        self.needles.anywhere(self.text).map(|place| Refusal::Write { place: place.to_owned() })
    }
}

/// True if a text is about Tollgate or a place that it protects.
pub(super) fn is_about_us(needles: &Needles, text: &str) -> bool {
    let text = normal(text);
    needles.find_in_normal(&text).is_some() || text.contains("tollgate")
}

/// True if an effect changes or removes files. `rmdir` only removes empty directories.
fn is_change(effect: &Effect) -> bool {
    matches!(effect.kind, Kind::Write | Kind::Delete) && effect.by != "rmdir"
}

/// True if an effect mounts something over a directory.
fn covers(effect: &Effect) -> bool {
    let is_filesystem =
        matches!(&effect.target, Target::Thing { what, .. } if *what == Thing::Filesystem.name());
    effect.kind == Kind::System && is_filesystem
}

/// True if an effect only happens if the variable in `rm -r ./$x` or `rm -r $x/` is empty, which is seldom meant.
fn is_unset(run: &Run, effect: &Effect) -> bool {
    let Target::Path(location) = &effect.target else { return false };
    let directory = location.text.trim_end_matches('/');
    let open = if directory.is_empty() { "$?".to_owned() } else { format!("{directory}/$?") };
    run.effects.list.iter().any(|other| match &other.target {
        Target::Path(other_location) => {
            let is_same = other.kind == effect.kind && other.by == effect.by;
            is_same && other_location.text == open
        }
        _ => false,
    })
}

/// True if the target of an effect is only known when the command runs.
fn is_open(effect: &Effect) -> bool {
    match &effect.target {
        Target::Path(location) => location.text.ends_with("$?"),
        _ => false,
    }
}

/// Converts a value to a pattern with [`HOLE`] for each unknown part.
pub(super) fn pattern(value: &Value) -> String {
    let mut text = String::new();
    for part in value.parts() {
        match part {
            Part::Text(part) | Part::Glob(part) => text.push_str(part),
            Part::Home => text.push('~'),
            Part::Unknown => text.push(HOLE),
        }
    }
    text
}

/// Returns the words of a command as patterns.
pub(super) fn texts(command: &Command) -> Vec<String> {
    command.argv.iter().map(pattern).collect()
}
