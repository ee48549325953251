//! What a shell would make of a line: the commands behind variables, patterns, decoders and other
//! programs, and what they would do to the protected places.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tollgate_shell::effects::{self, Effect, Effects, Kind, Target};
use tollgate_shell::resolve::Input;
use tollgate_shell::{Analysis, Command, Part, Surroundings, Value, Why, analyze};

use super::copies;
use super::kept::Kept;
use super::mention::normal;
use super::own::{calls_in, is_tollgate};
use super::places::{Places, Relation, Spot, is_any, letters, matches_part};
use super::programs::UNPACKERS;
use super::readers::passes_on;
use super::{FOR_PEOPLE, Refusal};
use crate::trust::words::HOLE;

/// How many directories a line is told for. Agents have one or two.
const MOST_BASES: usize = 4;

/// A line in one directory.
pub(super) struct Run {
    pub(super) analysis: Analysis,
    pub(super) effects: Effects,
}

/// A line in each directory that it may run in, told when it is first asked for.
pub(super) struct Told<'a> {
    bases: &'a [PathBuf],
    directory: Option<&'a str>,
    line: &'a str,
    runs: OnceCell<Vec<Run>>,
}

impl<'a> Told<'a> {
    pub(super) fn new(bases: &'a [PathBuf], directory: Option<&'a str>, line: &'a str) -> Self {
        Self { bases, directory, line, runs: OnceCell::new() }
    }

    pub(super) fn runs(&self) -> &[Run] {
        self.runs.get_or_init(|| {
            let run = |base: &PathBuf| {
                let given = self.directory.map(Path::new);
                let directory = given.map_or_else(|| base.clone(), |given| base.join(given));
                let directory = directory.to_string_lossy().into_owned();
                let analysis = analyze(self.line, &Surroundings { directory: Some(directory) });
                let effects = effects::of_analysis(&analysis);
                Run { analysis, effects }
            };
            self.bases.iter().take(MOST_BASES).map(run).collect()
        })
    }

    /// Why the line is denied, if it is.
    pub(super) fn refuses(&self, places: &Places, bases: &[PathBuf]) -> Option<Refusal> {
        let kept = Kept::new(places);
        self.runs().iter().find_map(|run| {
            let commands = &run.analysis.commands;
            let call = commands.iter().find_map(|command| calls(command).or_else(|| fed(command)));
            if let Some(subcommand) = call {
                return Some(Refusal::Tollgate { subcommand });
            }
            let mut changes = run.effects.list.iter().filter(|e| is_change(e) && !is_unset(run, e));
            let touched = changes.find_map(|effect| touched(places, bases, &kept, effect));
            let copied = || commands.iter().find_map(|c| copies::onto(places, bases, run, c));
            let listed = || {
                let open = run.effects.list.iter().filter(|e| is_change(e) && is_open(e));
                let open: Vec<&Effect> = open.collect();
                let runs_any = run.analysis.unknowns.iter().any(|u| u.why == Why::Code);
                if open.is_empty() && !runs_any {
                    return None;
                }
                let whole = open.iter().any(|effect| effect.tree || effect.by == "mv");
                commands.iter().find_map(|command| kept.listed_by(bases, command, whole))
            };
            touched.or_else(copied).or_else(listed).map(Spot::refusal)
        })
    }
}

fn is_change(effect: &Effect) -> bool {
    matches!(effect.kind, Kind::Write | Kind::Delete)
}

/// Whether it is what `rm -r ./$x` would do if the variable were empty. It seldom is, and then the
/// agent did not mean it.
fn is_unset(run: &Run, effect: &Effect) -> bool {
    let Target::Path(location) = &effect.target else { return false };
    let open = format!("{}/$?", location.text.trim_end_matches('/'));
    run.effects.list.iter().any(|other| match &other.target {
        Target::Path(other_location) => {
            let is_same = other.kind == effect.kind && other.by == effect.by;
            is_same && (other_location.text == open || other_location.text == "$?")
        }
        _ => false,
    })
}

/// Whether it may be anything that another command lists.
fn is_open(effect: &Effect) -> bool {
    match &effect.target {
        Target::Path(location) => location.text.ends_with("$?"),
        _ => false,
    }
}

/// The protected place that an effect changes.
fn touched<'s>(
    places: &'s Places,
    bases: &[PathBuf],
    kept: &Kept<'s>,
    effect: &Effect,
) -> Option<&'s Spot> {
    let Target::Path(location) = &effect.target else { return None };
    let deletes = effect.kind == Kind::Delete;
    if location.exact {
        let spot = match places.relation(bases, &location.text) {
            Some((Relation::Within, spot)) => Some(spot),
            Some((Relation::Around, spot)) if deletes => Some(spot),
            Some((Relation::Above, spot)) if deletes && effect.tree => Some(spot),
            _ => None,
        };
        let written =
            || if effect.tree { unpacked(places, bases, effect, &location.text) } else { None };
        return spot.or_else(|| places.linked(bases, &location.text)).or_else(written);
    }
    if let Some(directory) = location.text.strip_suffix("/$?") {
        let is_plain = !directory.contains(['*', '?', '[']);
        return if is_plain { unpacked(places, bases, effect, directory) } else { None };
    }
    if location.text.starts_with("$?") {
        return None;
    }
    kept.matching(bases, &location.text.replace("$?", &HOLE.to_string()), effect.tree && deletes)
}

/// The protected place that is in a directory to which a program writes as it is told elsewhere.
/// A project's own are the matter of trust: people unpack things there all the time.
fn unpacked<'s>(
    places: &'s Places,
    bases: &[PathBuf],
    effect: &Effect,
    directory: &str,
) -> Option<&'s Spot> {
    let by = effect.by.split(' ').next().unwrap_or_default();
    if effect.kind != Kind::Write || !effect.tree || !UNPACKERS.contains(&by) {
        return None;
    }
    places.outside_project(bases, directory)
}

/// A value as a pattern, with a hole for what is not known.
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

/// The subcommand for people that a command calls, or may.
fn calls(command: &Command) -> Option<String> {
    let (program, arguments) = command.argv.split_first()?;
    let program = pattern(program);
    let name = program.rsplit('/').next().unwrap_or_default().to_lowercase();
    let is_pattern = |text: &str| text.contains(['*', '?', '[', HOLE]);
    let is_certain = if is_pattern(&name) {
        let may_be = is_any(&name) || matches_part(&name, "tollgate");
        if !may_be {
            return None;
        }
        letters(&name) > 2
    } else {
        if !is_tollgate(&name) {
            return None;
        }
        true
    };
    let mut had_option = false;
    for argument in arguments {
        let argument = pattern(argument).to_lowercase();
        // What may be any program is not taken for this one, but by what this one alone is told.
        let told = |name: &&&str| **name == argument && (is_certain || argument == "trust");
        if let Some(name) = FOR_PEOPLE.iter().find(told) {
            return Some((*name).to_owned());
        }
        if is_certain && is_pattern(&argument) {
            let may_be = |name: &&&str| is_any(&argument) || matches_part(&argument, name);
            if let Some(name) = FOR_PEOPLE.iter().find(may_be) {
                return Some((*name).to_owned());
            }
        }
        let is_option = argument.starts_with('-');
        had_option |= is_option;
        if !is_option && !had_option {
            break;
        }
    }
    None
}

/// The subcommand in what a command reads, where it may do as that says.
fn fed(command: &Command) -> Option<String> {
    let Input::Text(text) = &command.input else { return None };
    let name = command.argv.first().map(pattern).unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    if command.argv.is_empty() || passes_on(name) {
        return None;
    }
    let text = normal(&pattern(text));
    if text.contains("tollgate") { calls_in(&text) } else { None }
}
