//! What compiled rules say about a call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::compile::{Compiled, Labelled, Otherwise, PoliciesBuilder};
use super::rule::{AskRequest, Effect, Rule};
use crate::answer::Answer;
use crate::dialect::{Dialect, Mode};
use crate::error::{BoxError, HookError};
use crate::event::{ToolCall, ToolPre};
use crate::hook::{Ask, BoxFuture, Handle, HookResult};
use crate::matcher::Matcher;
use crate::registry::Registration;
use crate::runner::within;
use crate::runtime::Runtime;
use crate::target::{Key, Names, Subject, Target, UNNAMED_SERVER, loose_server};
use crate::verdict::{Gate, Level};

/// Why a call was let through or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutcomeKind {
    /// No rule applied.
    NoRule,
    /// A rule allowed it.
    Allowed,
    /// A rule, or the closed default, denied it.
    Denied,
    /// A person allowed it.
    UserApproved,
    /// A person denied it.
    UserDenied,
    /// A condition or handler failed, so it is denied.
    EvaluationFailed,
    /// A rule wants the host to ask a person.
    HostAsks,
}

/// What the rules say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why.
    pub kind: OutcomeKind,
    /// What the model is told; empty where it is let through.
    pub message: String,
    /// The rule that decided.
    pub rule: Option<Arc<str>>,
}

impl Outcome {
    /// Whether the call may go on.
    pub const fn is_allowed(&self) -> bool {
        matches!(self.kind, OutcomeKind::NoRule | OutcomeKind::Allowed | OutcomeKind::UserApproved)
    }

    fn new(kind: OutcomeKind, rule: &Arc<str>, message: String) -> Self {
        Self { kind, message, rule: Some(Arc::clone(rule)) }
    }

    fn no_rule() -> Self {
        Self { kind: OutcomeKind::NoRule, message: String::new(), rule: None }
    }
}

/// Compiled rules.
#[derive(Clone)]
pub struct Policies {
    inner: Arc<Compiled>,
}

/// The terms of a question.
#[derive(Clone, Copy, Default)]
struct Terms<'a> {
    /// How long conditions may take. None where there is no clock.
    timing: Option<Timing<'a>>,
    /// Rules that have no opinion.
    without: &'a [Arc<str>],
}

impl Terms<'_> {
    fn leave_out(self, rule: &Arc<str>) -> bool {
        self.without.contains(rule)
    }
}

/// How long conditions and people may take.
#[derive(Clone, Copy)]
struct Timing<'a> {
    runtime: &'a dyn Runtime,
    condition: Duration,
}

/// What a rule that applies says, before a person was asked.
enum Said<'a> {
    Nothing,
    Allow(&'a Labelled),
    Ask(&'a Labelled),
    Refuse(Outcome),
}

impl Labelled {
    /// What the rule says where it applies.
    fn say(&self) -> Said<'_> {
        match self.rule.effect {
            Effect::Allow => Said::Allow(self),
            Effect::Ask => Said::Ask(self),
            Effect::Deny => {
                let message = match self.rule.reason_text() {
                    "" => format!("Denied by policy '{}'.", self.label),
                    reason => reason.to_owned(),
                };
                Said::Refuse(Outcome::new(OutcomeKind::Denied, &self.label, message))
            }
        }
    }
}

impl Compiled {
    /// The rules about a tool that a call may be of, in the order they are looked at.
    fn about<'a>(&'a self, key: Key<'_>, call: &ToolCall) -> impl Iterator<Item = &'a Labelled> {
        let server = key.server.filter(|_| !self.servers.is_empty());
        let server = server.and_then(|server| self.servers.get(&loose_server(server)));
        let server = server.map_or(&[][..], Vec::as_slice);
        let wider = server.iter().chain(&self.any);
        self.naming(key, call).chain(wider.filter_map(|place| self.rules.get(*place as usize)))
    }

    /// The rules that name a tool.
    fn naming<'a>(&'a self, key: Key<'_>, call: &ToolCall) -> impl Iterator<Item = &'a Labelled> {
        let places = self.exact.get(key).map_or(&[][..], Vec::as_slice);
        let rules = places.iter().filter_map(|place| self.rules.get(*place as usize));
        rules.filter(move |labelled| labelled.is_about(call))
    }

    /// Whether there is anything to say about a tool.
    fn concerns(&self, key: Key<'_>) -> bool {
        self.otherwise == Otherwise::Closed
            || !self.any.is_empty()
            || self.exact.get(key).is_some()
            || key.server.is_some_and(|server| {
                (!self.servers.is_empty() && self.servers.contains_key(&loose_server(server)))
                    || (!self.gates.is_empty() && self.gates.contains_key(&loose_server(server)))
            })
    }

    /// Whether the server of a call offers the tool at all.
    fn gate(&self, key: Key<'_>) -> Option<Outcome> {
        let server = key.server.filter(|_| !self.gates.is_empty())?;
        let gates = self.gates.get(&loose_server(server))?;
        // Of servers whose names are one to some hosts, the one that is named alike counts.
        let enabled = match gates.iter().find(|gate| gate.server == server) {
            Some(gate) => gate.lets(key.name),
            None => gates.iter().all(|gate| gate.lets(key.name)),
        };
        (!enabled).then(|| {
            let message = format!("Tool '{}' of MCP server '{server}' is not enabled.", key.name);
            Outcome::new(OutcomeKind::Denied, &format!("{server}/{}", key.name).into(), message)
        })
    }

    /// The tools there is anything to say about.
    fn matcher(&self) -> Matcher {
        if self.otherwise == Otherwise::Closed || !self.any.is_empty() {
            return Matcher::All;
        }
        let rules = self.rules.iter().map(|labelled| labelled.rule.target.clone());
        let gates = self.gates.values().flatten();
        let gates = gates.map(|gate| Target::Server(gate.server.clone()));
        // Which of the rules hold where the server is not known is looked up when such a call comes.
        let of_servers = |labelled: &Labelled| {
            let target = &labelled.rule.target;
            labelled.rule.effect != Effect::Allow
                && (target.whole_server(Names::OfTheTable).is_some()
                    || target.keys(Names::OfTheTable).iter().any(|key| key.server.is_some()))
        };
        let unnamed = self.rules.iter().any(of_servers);
        let unnamed = unnamed.then(|| Target::Server(UNNAMED_SERVER.to_owned()));
        Matcher::Targets(rules.chain(gates).chain(unnamed).collect())
    }

    /// What is said about a call where nothing has to be waited for: by far the most calls, and
    /// they need none of the state that waiting takes.
    fn at_once(&self, call: &ToolCall, without: &[Arc<str>]) -> Option<Outcome> {
        if !call.readings.is_empty() || !without.is_empty() {
            return None;
        }
        let own = Key { server: call.server_name(), name: &call.name };
        if let Some(refusal) = self.gate(own) {
            return Some(refusal);
        }
        let said = match self.about(own, call).next() {
            Some(labelled) if labelled.rule.condition.is_some() => return None,
            Some(labelled) => labelled.say(),
            None => Said::Nothing,
        };
        match self.or_default(said, call) {
            Said::Nothing => Some(Outcome::no_rule()),
            Said::Allow(rule) => {
                Some(Outcome::new(OutcomeKind::Allowed, &rule.label, String::new()))
            }
            Said::Ask(_) => None,
            Said::Refuse(outcome) => Some(outcome),
        }
    }

    /// What the first of `rules` that applies says.
    async fn say<'a>(
        &self,
        rules: impl Iterator<Item = &'a Labelled>,
        key: Key<'_>,
        call: &ToolCall,
        terms: Terms<'_>,
    ) -> Said<'a> {
        let is_left =
            |rule: &Option<Arc<str>>| !rule.as_ref().is_some_and(|it| terms.leave_out(it));
        if let Some(refusal) = self.gate(key).filter(|refusal| is_left(&refusal.rule)) {
            return Said::Refuse(refusal);
        }
        for labelled in rules.filter(|labelled| !terms.leave_out(&labelled.label)) {
            let Labelled { rule, label, .. } = labelled;
            if let Some(condition) = &rule.condition {
                match checked(condition.check(call), terms.timing).await {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(error) => return Said::Refuse(failed(label, &error)),
                }
            }
            return labelled.say();
        }
        Said::Nothing
    }

    /// What is said where no rule says anything.
    fn or_default<'a>(&self, said: Said<'a>, call: &ToolCall) -> Said<'a> {
        match (said, self.otherwise) {
            (Said::Nothing, Otherwise::Closed) => Said::Refuse(Outcome {
                kind: OutcomeKind::Denied,
                message: format!("No policy allows tool '{}'.", call.name),
                rule: None,
            }),
            (said, _) => said,
        }
    }

    async fn ask(&self, asking: &Labelled, call: &ToolCall) -> Outcome {
        let Labelled { rule, label, .. } = asking;
        let Some(handler) = &rule.handler else {
            return failed(
                label,
                &HookError::Failed { message: "nobody is there to ask".to_owned() },
            );
        };
        let reason = rule.reason_text();
        if handler.is_host() {
            let message = match reason {
                "" => format!("Policy '{label}' wants a person to confirm this."),
                reason => reason.to_owned(),
            };
            return Outcome::new(OutcomeKind::HostAsks, label, message);
        }
        let request = AskRequest { call, reason, rule: label };
        // The person's time is bounded by the runner, around all of this.
        match checked(handler.ask(request), None).await {
            Ok(true) => Outcome::new(OutcomeKind::UserApproved, label, String::new()),
            Ok(false) => {
                let message = match reason {
                    "" => format!("User denied tool '{}' (policy '{label}').", call.name),
                    reason => reason.to_owned(),
                };
                Outcome::new(OutcomeKind::UserDenied, label, message)
            }
            Err(error) => failed(label, &error),
        }
    }

    async fn decide(&self, call: &ToolCall, terms: Terms<'_>) -> Outcome {
        let subject = Subject::of_call(call);
        let own = Key { server: subject.server, name: subject.name };
        if call.readings.is_empty() {
            let said = self.say(self.about(own, call), own, call, terms).await;
            return match self.or_default(said, call) {
                Said::Nothing => Outcome::no_rule(),
                Said::Allow(rule) => Outcome::new(OutcomeKind::Allowed, &rule.label, String::new()),
                Said::Ask(rule) => self.ask(rule, call).await,
                Said::Refuse(outcome) => outcome,
            };
        }
        self.decide_fused(call, terms).await
    }

    /// One word for several servers and tools: any refusal counts, a question is put once, and an
    /// allow has to hold for every reading. The word itself is no server's tool, so that of the
    /// rules about it only those count that name it.
    async fn decide_fused(&self, call: &ToolCall, terms: Terms<'_>) -> Outcome {
        let subject = Subject::of_call(call);
        let own = Key { server: subject.server, name: subject.name };
        let mut asking = None;
        let mut allowing = None;
        // A word that comes with a server is also that server's tool.
        let about_own =
            self.about(own, call).take(if own.server.is_some() { usize::MAX } else { 0 });
        let rules = self.naming(own, call).chain(about_own);
        let named = match self.say(rules, own, call, terms).await {
            Said::Refuse(outcome) => return outcome,
            Said::Ask(rule) => {
                asking = Some(rule);
                true
            }
            Said::Allow(rule) => {
                allowing = Some(rule);
                true
            }
            Said::Nothing => false,
        };
        let mut all_allow = true;
        for key in subject.keys().skip(1) {
            let said = self.say(self.about(key, call), key, call, terms).await;
            // Whoever names the word has said what it means where its readings say nothing.
            let said = if named { said } else { self.or_default(said, call) };
            match said {
                Said::Refuse(outcome) => return outcome,
                Said::Ask(rule) => asking = asking.or(Some(rule)),
                Said::Allow(rule) => allowing = allowing.or(Some(rule)),
                Said::Nothing => all_allow = false,
            }
        }
        match (asking, allowing) {
            (Some(rule), _) => self.ask(rule, call).await,
            (None, Some(rule)) if named || all_allow => {
                Outcome::new(OutcomeKind::Allowed, &rule.label, String::new())
            }
            _ => Outcome::no_rule(),
        }
    }
}

fn failed(label: &Arc<str>, error: &HookError) -> Outcome {
    let message = format!("Policy evaluation failed for policy '{label}': {error}");
    Outcome::new(OutcomeKind::EvaluationFailed, label, message)
}

/// Runs a condition or handler, with its panics caught and, where there is a clock, its time
/// bounded.
async fn checked(
    check: BoxFuture<'_, Result<bool, BoxError>>,
    timing: Option<Timing<'_>>,
) -> Result<bool, HookError> {
    match timing {
        Some(Timing { runtime, condition }) => {
            let begun = runtime.now();
            let held = within(Some(runtime), condition, check).await;
            // What could not be kept from answering too late does not count.
            if runtime.now().saturating_duration_since(begun) > condition {
                return Err(HookError::TimedOut { limit: condition });
            }
            held
        }
        None => within(None, Duration::MAX, check).await,
    }
}

impl Policies {
    pub(super) fn new(compiled: Compiled) -> Self {
        Self { inner: Arc::new(compiled) }
    }

    /// Starts to put policies together.
    pub fn builder() -> PoliciesBuilder {
        PoliciesBuilder::default()
    }

    /// What they say about a call. Conditions and handlers have no time limit here; a runner
    /// holds them to its own.
    pub async fn decide(&self, call: &ToolCall) -> Outcome {
        match self.inner.at_once(call, &[]) {
            Some(outcome) => outcome,
            None => self.inner.decide(call, Terms::default()).await,
        }
    }

    /// The rules, in the order of their levels.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.inner.rules.iter().map(|labelled| &labelled.rule)
    }

    /// The hook that enforces them, for a runner.
    pub fn into_registration(self) -> Registration {
        let matcher = self.inner.matcher();
        let rules: Vec<_> =
            self.inner.rules.iter().map(|labelled| Arc::clone(&labelled.label)).collect();
        Registration::on::<ToolPre, _>("policy", self)
            .matching(matcher)
            .dialect(Dialect::Native)
            .mode(Mode::Decide)
            .into_policy(rules)
    }
}

impl Handle<ToolPre> for Policies {
    fn wants(&self, event: &ToolPre) -> Result<bool, BoxError> {
        Ok(Subject::of_call(&event.call).keys().any(|key| self.inner.concerns(key)))
    }

    fn handle<'a>(&'a self, ask: Ask<'a, ToolPre>) -> BoxFuture<'a, HookResult<ToolPre>> {
        if let Some(outcome) = self.inner.at_once(&ask.event.call, ask.without) {
            return Box::pin(std::future::ready(Ok(outcome.into())));
        }
        Box::pin(async move {
            let timing = Some(Timing { runtime: ask.runtime, condition: ask.limit });
            let terms = Terms { timing, without: ask.without };
            Ok(self.inner.decide(&ask.event.call, terms).await.into())
        })
    }
}

impl From<Outcome> for Answer<ToolPre> {
    fn from(outcome: Outcome) -> Self {
        let level = match outcome.kind {
            OutcomeKind::NoRule => Level::None,
            OutcomeKind::Allowed | OutcomeKind::UserApproved => Level::Allow,
            OutcomeKind::HostAsks => Level::Ask,
            OutcomeKind::Denied | OutcomeKind::UserDenied | OutcomeKind::EvaluationFailed => {
                Level::Deny
            }
        };
        let mut answer = Self::from_verdict(Gate::new(level, outcome.message));
        answer.detail = outcome.rule;
        answer.without_exceptions =
            matches!(outcome.kind, OutcomeKind::EvaluationFailed | OutcomeKind::UserDenied);
        answer
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules()).finish()
    }
}
