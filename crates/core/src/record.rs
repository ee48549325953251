//! What happened in a dispatch, and why.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::dialect::{Dialect, Mode};
use crate::error::HookError;
use crate::event::{Event, Kind};
use crate::exception::ExceptionId;
use crate::ledger::Effects;
use crate::registry::{HookInfo, HookSet, Source};
use crate::runner::wants;
use crate::verdict::Word;

/// The record of a dispatch. It is always made; where no hook asked for the event, making it
/// costs nothing.
#[derive(Debug, Clone)]
pub struct Record {
    /// The event.
    pub event: Kind,
    /// The version of the set of hooks that was in force.
    pub version: u64,
    /// The dispatch's number, by which the audit trail joins its inspections to it. 0 where it
    /// has none.
    pub id: u64,
    /// Each question that was put to a hook, in order.
    pub answers: Vec<Answered>,
    /// What was rewritten, in order.
    pub rewrites: Vec<Rewrite>,
    /// How many inspectors were sent to work in the background, or why none was.
    pub inspectors: Result<usize, HookError>,
    /// Inspections that were cut off because a turn or session ended with this event.
    pub cut_off: Vec<Inspection>,
    /// The decision.
    pub decision: Word,
    /// What the model is told.
    pub reason: String,
    /// Whether the decision would have sent the agent round again and the budget was spent.
    pub budget_spent: bool,
    /// How long it took; zero where no hook was asked.
    pub took: Duration,
    pub(crate) set: Option<Arc<HookSet>>,
}

/// A question to a hook and what came of it.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct Answered {
    pub(crate) place: u32,
    /// The answer in neutral words.
    pub word: Word,
    /// What the answer says to the model.
    pub reason: String,
    /// What it says to the person beyond that.
    pub detail: Option<Arc<str>>,
    /// What it added.
    pub extra: Option<Value>,
    /// What it wanted written down. Where a hook was asked again, what it said last counts.
    pub effects: Effects,
    /// How long it took.
    pub took: Duration,
    /// Why there was no usable answer.
    pub error: Option<HookError>,
    /// Whether it was asked again, about the final payload.
    pub reask: bool,
    /// Whether the payload was different afterwards.
    pub rewrote: bool,
    /// Whether it was an approval that a rewrite made void.
    pub withdrawn: bool,
    /// True if a person can except it.
    pub can_be_excepted: bool,
    /// The exception under which the answer does not count.
    pub excepted: Option<ExceptionId>,
}

/// A rewrite that took effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewrite {
    pub(crate) place: u32,
    /// What was set.
    pub patch: Value,
}

/// What came of one inspector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// The inspector.
    pub hook: String,
    /// The event it looked at.
    pub event: Kind,
    /// The dispatch it belongs to.
    pub dispatch: u64,
    /// How long it took.
    #[serde(rename = "micros", serialize_with = "as_micros")]
    pub took: Duration,
    /// Why it did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<HookError>,
}

impl Answered {
    /// The place of the hook in the order of the event's hooks, from 0.
    pub fn place(&self) -> usize {
        self.place as usize
    }

    /// True if the answer is a part of the decision.
    pub fn counts(&self) -> bool {
        !self.withdrawn && self.excepted.is_none()
    }

    /// Nothing yet, by the hook at `place`.
    pub(crate) fn by(place: u32) -> Self {
        Self {
            place,
            word: Word::None,
            reason: String::new(),
            detail: None,
            extra: None,
            effects: Effects::new(),
            took: Duration::ZERO,
            error: None,
            reask: false,
            rewrote: false,
            withdrawn: false,
            can_be_excepted: false,
            excepted: None,
        }
    }
}

impl Record {
    pub(crate) fn new(event: Kind) -> Self {
        Self {
            event,
            version: 0,
            id: 0,
            answers: Vec::new(),
            rewrites: Vec::new(),
            inspectors: Ok(0),
            cut_off: Vec::new(),
            decision: Word::None,
            reason: String::new(),
            budget_spent: false,
            took: Duration::ZERO,
            set: None,
        }
    }

    /// Returns the last answer of the hook at a place.
    pub(crate) fn last_of(&self, place: u32) -> Option<&Answered> {
        self.answers.iter().rev().find(|line| line.place == place)
    }

    pub(crate) fn info(&self, place: u32) -> Option<&HookInfo> {
        self.set.as_ref()?.chains.info(self.event, place)
    }

    /// The hook that an answer came from.
    pub fn hook(&self, answered: &Answered) -> Option<&HookInfo> {
        self.info(answered.place)
    }

    /// The answer that decided: the first one as strict as the decision. None where nobody had
    /// an opinion.
    pub fn decisive(&self) -> Option<&Answered> {
        if self.decision == Word::None {
            return None;
        }
        self.answers.iter().find(|line| line.counts() && line.word == self.decision)
    }

    /// For the person: which hook decided, where it stands, and what happened. Never told to the
    /// model.
    pub fn detail(&self) -> String {
        let mut text = String::new();
        if let Some(answered) = self.decisive() {
            let _ = write!(text, "{} by {}", self.decision, self.name_of(answered.place));
            if let Some(detail) = &answered.detail {
                let rule = self.info(answered.place).is_some_and(|info| info.is_policy);
                let _ = if rule {
                    write!(text, ", rule `{detail}`")
                } else {
                    write!(text, ", {detail}")
                };
            }
            if let Some(error) = &answered.error {
                let _ = write!(text, ", which could not decide: {error}");
            } else if !answered.reason.is_empty() {
                let _ = write!(text, ": {}", answered.reason);
            }
        }
        for answered in &self.answers {
            let decisive = self.decisive().is_some_and(|other| std::ptr::eq(other, answered));
            if let (Some(error), false) = (&answered.error, decisive) {
                let separator = if text.is_empty() { "" } else { "; " };
                let _ = write!(text, "{separator}{} failed: {error}", self.name_of(answered.place));
            }
        }
        for answered in &self.answers {
            if let Some(exception) = &answered.excepted {
                let separator = if text.is_empty() { "" } else { "; " };
                let (name, word) = (self.name_of(answered.place), &answered.word);
                let _ = write!(text, "{separator}{word} by {name} is excepted by {exception}");
            }
        }
        if self.budget_spent {
            let separator = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{separator}the continue budget is spent, so the loop stops");
        }
        text
    }

    fn name_of(&self, place: u32) -> String {
        match self.info(place) {
            Some(HookInfo { name, source: Some(source), .. }) => {
                format!("hook `{name}` ({source})")
            }
            Some(HookInfo { name, .. }) => format!("hook `{name}`"),
            None => "a hook".to_owned(),
        }
    }

    /// Tells of every hook of the event whether it was asked about `event`, and why not.
    ///
    /// `event` is the payload as it was in the end, which the outcome holds beside this record.
    pub fn explain<E: Event>(&self, event: &E) -> Vec<Explained> {
        let Some(set) = &self.set else { return Vec::new() };
        let chain = E::chain(&set.chains);
        let matched = chain.matching(event);
        let mut explained = Vec::with_capacity(chain.entries().len());
        for (entry, place) in chain.entries().iter().zip(0u32..) {
            let mut answers = self.answers.iter().filter(|answered| answered.place == place);
            let role = match answers.next_back() {
                Some(answered) => Asked::Yes { answer: answered.word.clone() },
                None if matched.inspectors.contains(&place) => Asked::InBackground,
                None if !matched.hooks.contains(&place) && !matched.last.contains(&place) => {
                    Asked::No { why: format!("it asks for {} only", entry.matcher()) }
                }
                None => match wants(&*entry.handler, event) {
                    Ok(false) => Asked::No { why: "its condition does not hold".to_owned() },
                    Ok(true) | Err(_) => Asked::TooLate,
                },
            };
            explained.push(Explained {
                hook: entry.info.name.clone(),
                dialect: entry.info.dialect,
                source: entry.info.source.clone(),
                mode: entry.mode,
                asked: role,
            });
        }
        explained
    }
}

/// What is to be said of one hook about one dispatch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The hook.
    pub hook: String,
    /// The system it is written for.
    pub dialect: Dialect,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The mode in force.
    pub mode: Mode,
    /// Whether it was asked.
    pub asked: Asked,
}

/// Whether a hook was asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// It was, and answered this.
    Yes {
        /// The answer.
        answer: Word,
    },
    /// It watches, in the background.
    InBackground,
    /// It asks for this, and the chain had ended before its turn came.
    TooLate,
    /// It was not.
    No {
        /// Why not.
        why: String,
    },
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hooks: Vec<_> =
            self.answers.iter().map(|answered| Line { record: self, answered }).collect();
        let rewrites: Vec<_> =
            self.rewrites.iter().map(|rewrite| RewriteLine { record: self, rewrite }).collect();
        let mut state = serializer.serialize_struct("Record", 12)?;
        state.serialize_field("event", &self.event)?;
        state.serialize_field("id", &self.id)?;
        state.serialize_field("version", &self.version)?;
        state.serialize_field("decision", &self.decision)?;
        state.serialize_field("reason", &self.reason)?;
        state.serialize_field("detail", &self.detail())?;
        state.serialize_field("hooks", &hooks)?;
        state.serialize_field("rewrites", &rewrites)?;
        match &self.inspectors {
            Ok(count) => state.serialize_field("inspectors", count)?,
            Err(error) => state.serialize_field("inspectors", &error)?,
        }
        state.serialize_field("cut_off", &self.cut_off)?;
        state.serialize_field("budget_spent", &self.budget_spent)?;
        state.serialize_field("micros", &micros(self.took))?;
        state.end()
    }
}

struct Line<'a> {
    record: &'a Record,
    answered: &'a Answered,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let answered = self.answered;
        let info = self.record.info(answered.place);
        let mut state = serializer.serialize_struct("Answered", 14)?;
        state.serialize_field("name", &info.map_or("", |info| &info.name))?;
        state.serialize_field("dialect", &info.map(|info| info.dialect))?;
        state.serialize_field("source", &info.and_then(|info| info.source.as_ref()))?;
        state.serialize_field("answer", &answered.word)?;
        state.serialize_field("reason", &answered.reason)?;
        state.serialize_field("detail", &answered.detail)?;
        state.serialize_field("extra", &answered.extra)?;
        state.serialize_field("effects", &answered.effects)?;
        state.serialize_field("error", &answered.error.as_ref().map(ToString::to_string))?;
        state.serialize_field("reask", &answered.reask)?;
        state.serialize_field("rewrote", &answered.rewrote)?;
        state.serialize_field("withdrawn", &answered.withdrawn)?;
        state.serialize_field("excepted", &answered.excepted)?;
        state.serialize_field("micros", &micros(answered.took))?;
        state.end()
    }
}

struct RewriteLine<'a> {
    record: &'a Record,
    rewrite: &'a Rewrite,
}

impl Serialize for RewriteLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut state = serializer.serialize_struct("Rewrite", 2)?;
        let info = self.record.info(self.rewrite.place);
        state.serialize_field("hook", &info.map_or("", |info| &info.name))?;
        state.serialize_field("set", &self.rewrite.patch)?;
        state.end()
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn as_micros<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(micros(*duration))
}
