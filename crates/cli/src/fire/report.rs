//! What `fire` tells of a dispatch.

use serde::Serialize;
use serde_json::Value;
use tollgate_core::extra::Step;
use tollgate_core::prelude::Word;
use tollgate_core::record::{Asked, Explained};
use tollgate_core::registry::Source;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::verdict::Permission;
use tollgate_core::{Dialect, Kind};
use tollgate_hosts::{Incoming, Part, Reply, Verdict};

use crate::dispatch::Fired;
use crate::exit::Exit;

/// One dispatch, in the words of its event.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) event: Kind,
    pub(crate) decision: &'static str,
    /// What the model is told.
    pub(crate) reason: String,
    /// What the person is told: which hook, where it stands, what happened.
    pub(crate) detail: String,
    /// The payload as it is in the end.
    pub(crate) payload: Value,
    pub(crate) context: Vec<String>,
    pub(crate) inject: Vec<Step>,
    pub(crate) overrides: Vec<String>,
    /// What the loop is to do.
    pub(crate) termination: Option<&'static str>,
    /// What is used instead of an error, or as the answer to questions.
    pub(crate) value: Option<Value>,
    pub(crate) hooks: Vec<HookLine>,
    /// What the agent is told, if the payload is an agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<Told>,
    /// True if only the files of `--hooks` were asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) named_only: bool,
}

/// The answer of `tollgate hook` to an agent.
#[derive(Debug, Serialize)]
pub(crate) struct Told {
    pub(crate) name: &'static str,
    #[serde(skip)]
    pub(crate) title: &'static str,
    /// What the agent calls the event.
    pub(crate) event: &'static str,
    /// What becomes of the action: `silent`, `allow`, `ask`, `refuse` or `resume`.
    pub(crate) verdict: &'static str,
    pub(crate) reason: String,
    /// What was decided that the agent cannot be told.
    pub(crate) lost: Vec<String>,
}

const fn told(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Silent => "silent",
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Refuse => "refuse",
        Verdict::Resume => "resume",
    }
}

/// Returns the part of a host's event that decides about all of it, the first of the strictest, and what came of it.
pub(crate) fn decisive(incoming: &Incoming, fired: Vec<Fired>) -> Option<(&Part, Fired)> {
    let rank = |fired: &Fired| match decision(&fired.outcome) {
        "deny" | "cancel" | "suppress" => 0,
        "continue" | "retry" => 1,
        "ask" | "force_ask" => 2,
        _ => 3,
    };
    incoming.parts.iter().zip(fired).min_by_key(|(_, fired)| rank(fired))
}

/// One hook of the event.
#[derive(Debug, Serialize)]
pub(crate) struct HookLine {
    pub(crate) name: String,
    pub(crate) dialect: Dialect,
    pub(crate) source: Option<Source>,
    /// Whether it asks for this event as it is.
    pub(crate) matched: bool,
    /// What it answered; nothing where it was not asked, or only watches.
    pub(crate) answer: Option<&'static str>,
    pub(crate) error: Option<String>,
    pub(crate) micros: u64,
    /// Why it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// The decision in the words of its event.
fn decision(outcome: &AnyOutcome) -> &'static str {
    let kind = outcome.event.kind();
    match (&outcome.decision, kind) {
        (Word::None, Kind::ToolPre) => "none",
        (Word::None, Kind::Stop) => "stop",
        // Where nobody answers, the questions are refused.
        (Word::None, Kind::Interaction) if outcome.permission == Permission::Refused => "deny",
        // What becomes of the loop, and what is used instead, have fields of their own.
        (Word::Continue | Word::Terminate, Kind::InvocationEnd)
        | (Word::None | Word::Recover(_) | Word::Reply(_), _) => "proceed",
        (word, _) => word.name(),
    }
}

const fn termination(word: &Word, kind: Kind) -> Option<&'static str> {
    match (word, kind) {
        (Word::Continue, Kind::InvocationEnd) => Some("force_continue"),
        (Word::Terminate, _) => Some("terminate"),
        _ => None,
    }
}

impl Report {
    pub(crate) fn of(fired: &Fired) -> Self {
        let outcome = &fired.outcome;
        let kind = outcome.event.kind();
        let value = match &outcome.decision {
            Word::Recover(value) => Some(value.clone()),
            Word::Reply(responses) => serde_json::to_value(responses).ok(),
            _ => None,
        };
        let lines = outcome.explain().into_iter().enumerate();
        Self {
            event: kind,
            decision: decision(outcome),
            reason: outcome.reason.clone(),
            detail: outcome.record.detail(),
            payload: outcome.event.to_value(),
            context: outcome.additions.context.clone(),
            inject: outcome.additions.steps.clone(),
            overrides: outcome.additions.overrides.clone(),
            termination: termination(&outcome.decision, kind),
            value,
            hooks: lines.map(|(place, explained)| line(fired, place, explained)).collect(),
            host: None,
            named_only: false,
        }
    }

    /// Adds what the agent is told.
    pub(crate) fn answered(&mut self, incoming: &Incoming, reply: &Reply) {
        self.host = Some(Told {
            name: incoming.host.name,
            title: incoming.host.title,
            event: incoming.event.name,
            verdict: told(reply.verdict),
            reason: reply.reason.clone(),
            lost: reply.lost.clone(),
        });
    }

    /// Whether a person is to be asked.
    pub(crate) fn is_question(&self) -> bool {
        matches!(self.decision, "ask" | "force_ask")
    }

    /// What a person is asked.
    pub(crate) fn question(&self) -> &str {
        if self.reason.is_empty() { "A hook wants you to decide." } else { &self.reason }
    }

    /// What a person has said.
    pub(crate) fn settle(&mut self, yes: bool) {
        self.host = None;
        if yes {
            self.decision = "allow";
        } else {
            self.decision = "deny";
            self.reason = String::from("the person who was asked said no");
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.host.as_ref().map(|host| host.verdict) {
            Some("refuse") => Exit::Denied,
            Some("ask") => Exit::Asked,
            None if matches!(self.decision, "deny" | "cancel") => Exit::Denied,
            None if self.is_question() => Exit::Asked,
            _ => Exit::Fine,
        }
    }
}

fn line(fired: &Fired, place: usize, explained: Explained) -> HookLine {
    let record = &fired.outcome.record;
    let Explained { hook, dialect, source, asked, .. } = explained;
    let answers = || record.answers.iter().filter(|answered| answered.place() == place);
    let took: u128 = answers().map(|answered| answered.took.as_micros()).sum();
    let mut line = HookLine {
        matched: !matches!(asked, Asked::No { .. }),
        answer: None,
        error: answers().find_map(|answered| answered.error.as_ref()).map(ToString::to_string),
        micros: u64::try_from(took).unwrap_or(u64::MAX),
        why: None,
        name: hook,
        dialect,
        source,
    };
    match asked {
        Asked::Yes { answer } => line.answer = Some(answer.name()),
        Asked::InBackground => {
            let done = fired.inspections.iter().find(|inspected| inspected.hook == line.name);
            if let Some(done) = done {
                line.error.clone_from(&done.error);
                line.micros = done.micros;
            }
        }
        Asked::TooLate => line.why = Some("the chain had ended before its turn".to_owned()),
        Asked::No { why } => line.why = Some(why),
    }
    line
}
