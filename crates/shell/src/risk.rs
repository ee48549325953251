//! Judges what a call does: which of its effects a guard has to stop, how, and in which words.
//!
//! The rules are the same for every tool and every guard; a guard chooses the classes it is for.
//!
//! ```
//! use tollgate_core::event::ToolCall;
//! use tollgate_shell::effects::of_call;
//! use tollgate_shell::risk::{Class, Level, Situation, risks};
//!
//! let call = ToolCall::new("run_command").arg("CommandLine", "cd && rm -rf .");
//! let found = risks(&of_call(&call, &[]), &Situation::default());
//! assert_eq!(found[0].class, Class::Destroy);
//! assert_eq!(found[0].level, Level::Deny);
//! assert!(found[0].sentence.starts_with("This would delete your whole home directory."));
//! ```

mod files;
mod network;
mod sentence;
mod things;
mod unknown;

pub(crate) use things::is_protector;

use std::borrow::Cow;

use crate::effects::{Effect, Effects, Kind, Location, Place, Target};
use crate::watch::Watch;
use crate::world;

/// What kind of harm it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Something is lost that cannot be had again.
    Destroy,
    /// A secret is read.
    Secret,
    /// Data leaves the machine.
    Send,
    /// What decides what runs, or who gets in, is changed.
    Startup,
    /// Records, alarms or protections of the machine are turned off.
    Tamper,
    /// Code runs that cannot be looked at.
    Code,
}

/// What a guard should do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Ask a person: it may be meant, or cannot be told.
    Ask,
    /// Refuse.
    Deny,
}

/// Something that a guard has to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// What kind of harm it is.
    pub class: Class,
    /// What a guard should do about it.
    pub level: Level,
    /// What would happen, why that is a problem, and what to do instead.
    pub sentence: String,
}

/// Where a call happens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Situation<'a> {
    /// The homes of the person, absolute. Where there are none, they are told by how they look.
    pub homes: &'a [String],
    /// The directories that the agent works in.
    pub workspaces: &'a [String],
    /// The directory that the call runs in.
    pub directory: Option<&'a str>,
    /// The command line, if the call is one: it tells which variable is not known.
    pub text: &'a str,
}

impl Class {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Destroy => "destroy",
            Self::Secret => "secret",
            Self::Send => "send",
            Self::Startup => "startup",
            Self::Tamper => "tamper",
            Self::Code => "code",
        }
    }
}

impl Level {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Situation<'_> {
    fn watch(&self) -> Watch<'_> {
        Watch { homes: self.homes }
    }

    fn place(&self, location: &Location) -> Place {
        Place::of(location, self.workspaces, self.directory, self.homes)
    }

    /// A path as a person would write it: below the project, or below `~`.
    fn shown<'t>(&self, path: &'t str) -> Cow<'t, str> {
        for workspace in self.workspaces {
            if let Some(rest) =
                path.strip_prefix(workspace.as_str()).and_then(|rest| rest.strip_prefix('/'))
            {
                return Cow::Borrowed(rest);
            }
        }
        for home in self.homes {
            match path.strip_prefix(home.as_str()) {
                Some("") => return Cow::Borrowed("~"),
                Some(rest) if rest.starts_with('/') => return Cow::Owned(format!("~{rest}")),
                _ => {}
            }
        }
        Cow::Borrowed(path)
    }
}

/// Returns what has to be stopped of a call, the worst first.
pub fn risks(effects: &Effects, situation: &Situation<'_>) -> Vec<Risk> {
    let mut judge = Judge { effects, situation, found: Vec::new() };
    for effect in &effects.list {
        judge.effect(effect);
    }
    judge.unknowns();
    let mut found = judge.found;
    // Stable, so that of two that are as bad the first of the command is told.
    found.sort_by(|one, other| other.level.cmp(&one.level).then(one.class.cmp(&other.class)));
    found
}

/// Where a path leads by way of links, if that is somewhere else.
fn leads_to(location: &Location) -> Option<String> {
    let files = world::here().files.as_deref()?;
    let is_plain = location.exact && location.text.starts_with('/');
    is_plain.then(|| files.leads_to(&location.text)).flatten()
}

/// One look at what a call does.
struct Judge<'a> {
    effects: &'a Effects,
    situation: &'a Situation<'a>,
    found: Vec<Risk>,
}

impl Judge<'_> {
    fn effect(&mut self, effect: &Effect) {
        if let (Target::Path(location), true) = (&effect.target, effect.kind != Kind::Execute)
            && let Some(real) = leads_to(location)
        {
            let target = Target::Path(Location { text: real, exact: true });
            self.judge(&Effect { target, ..effect.clone() });
        }
        self.judge(effect);
    }

    fn judge(&mut self, effect: &Effect) {
        match (&effect.target, effect.kind) {
            (Target::Path(location), Kind::Read) => self.read(effect, location),
            (Target::Path(location), Kind::Write) => self.write(effect, location),
            (Target::Path(location), Kind::Delete) => self.delete(effect, location),
            (Target::Path(_) | Target::Program(_), _) => {}
            (Target::Host(host), _) => self.network(effect, host),
            (Target::Thing { what, name }, _) => self.thing(effect, what, name),
        }
    }

    /// Notes a risk. What a settled script of the project may do is not asked about: people run it
    /// every day, and what it does for sure is told by its other effects.
    fn note(&mut self, effect: &Effect, class: Class, level: Level, sentence: String) {
        let settled = effect.script.as_ref().is_some_and(|script| script.is_settled);
        if settled && level == Level::Ask {
            return;
        }
        let sentence = match &effect.script {
            Some(script) => sentence::in_script(&script.path, &sentence),
            None => sentence,
        };
        let risk = Risk { class, level, sentence };
        if !self.found.contains(&risk) {
            self.found.push(risk);
        }
    }
}
