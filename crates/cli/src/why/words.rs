//! Effects of a command in words.

use serde::Serialize;
use tollgate_shell::effects::{Effect, Effects, Kind, Target};
use tollgate_shell::resolve::{Unknown, Why};

/// An effect, for people and for programs.
#[derive(Debug, Serialize)]
pub(super) struct Seen {
    /// `does` or `may`.
    pub(super) certainty: &'static str,
    /// What is done: the name of the kind of effect.
    pub(super) kind: &'static str,
    /// The same as a verb.
    pub(super) verb: &'static str,
    /// To what.
    pub(super) target: String,
    /// True if it is done to everything below the target.
    pub(super) tree: bool,
    /// True if what is lost cannot be recovered.
    pub(super) destroys: bool,
    /// The program or tool that does it.
    pub(super) by: String,
    /// The file that was read to tell this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) script: Option<String>,
}

/// Something about a command that could not be told.
#[derive(Debug, Serialize)]
pub(super) struct Unclear {
    /// The kind of thing.
    pub(super) why: &'static str,
    /// The same in words.
    pub(super) what: &'static str,
    /// The text it is about.
    pub(super) text: String,
}

/// Most effects that are told. A loop over a large directory has more than anybody reads.
const MOST: usize = 200;

pub(super) fn effects(found: &Effects) -> Vec<Seen> {
    let mut all: Vec<&Effect> = found.list.iter().collect();
    all.sort_by_key(|effect| !effect.sure);
    all.dedup();
    all.into_iter().take(MOST).map(seen).collect()
}

pub(super) fn unknowns(found: &Effects) -> Vec<Unclear> {
    let told = |unknown: &Unknown| Unclear {
        why: unknown.why.name(),
        what: what(unknown.why),
        text: unknown.text.clone(),
    };
    found.unknowns.iter().take(MOST).map(told).collect()
}

fn seen(effect: &Effect) -> Seen {
    let target = match &effect.target {
        Target::Path(location) if location.text == "$?" => "files that cannot be told".to_owned(),
        Target::Host(name) if name == "$?" => "a machine that cannot be told".to_owned(),
        Target::Path(location) => location.text.clone(),
        other => other.to_string(),
    };
    Seen {
        certainty: if effect.sure { "does" } else { "may" },
        kind: effect.kind.name(),
        verb: verb(effect),
        target,
        tree: effect.tree,
        destroys: effect.destroys,
        by: effect.by.clone(),
        script: effect.script.as_ref().map(|script| script.path.clone()),
    }
}

const fn verb(effect: &Effect) -> &'static str {
    match (effect.kind, &effect.target) {
        (Kind::List, _) => "list",
        (Kind::Read, _) => "read",
        (Kind::Write, _) if effect.fetches => "download to",
        (Kind::Write, _) => "write",
        (Kind::Delete, _) => "delete",
        (Kind::Execute, _) => "run",
        (Kind::Network, _) if effect.sends => "send data to",
        (Kind::Network, _) => "reach",
        (Kind::System, _) if effect.destroys => "destroy",
        (Kind::System, _) => "change",
    }
}

const fn what(why: Why) -> &'static str {
    match why {
        Why::Syntax => "the text is not a valid script",
        Why::Ambiguous => "shells differ in how they read this",
        Why::TooMuch => "it is longer or nested deeper than is analyzed",
        Why::Program => "which program runs is only known when it runs",
        Why::Code => "which code runs is only known when it runs",
        Why::Endless => "a function starts itself again and again",
        Why::Typed => "a program does what is typed into it later",
        Why::Opaque => "code of another language does something that its text does not tell",
        Why::Fetched => "code is fetched from another machine and run",
        Why::Remote => "a shell does what another machine says",
        _ => "something cannot be told",
    }
}

impl Seen {
    /// One line: `delete build and everything in it (rm)`.
    pub(super) fn line(&self) -> String {
        let tree = if self.tree { " and everything below it" } else { "" };
        let lost = if self.destroys { ", which cannot be undone" } else { "" };
        let script = self.script.as_ref().map(|path| format!(", as `{path}` says"));
        let script = script.unwrap_or_default();
        format!("{} {}{tree}{lost} ({}{script})", self.verb, self.target, self.by)
    }
}

impl Unclear {
    pub(super) fn line(&self) -> String {
        if self.text.is_empty() {
            return self.what.to_owned();
        }
        format!("{}: `{}`", self.what, self.text)
    }
}
