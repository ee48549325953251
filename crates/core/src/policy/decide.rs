//! Rules, compiled, and what they say about a call.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;

use super::McpServer;
use super::rule::{AskRequest, Effect, Rule};
use crate::answer::Answer;
use crate::dialect::{Dialect, Mode};
use crate::error::{BoxError, HookError};
use crate::event::{ToolCall, ToolPre};
use crate::hook::{Ask, BoxFuture, Handle, HookResult};
use crate::registry::Registration;
use crate::runner::within;
use crate::runtime::Runtime;
use crate::target::{Key, Names, Subject, Targets};
use crate::verdict::{Gate, Level};

/// What follows when no rule applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// No opinion: the call goes on as it would without policies.
    #[default]
    Open,
    /// The call is denied: what an agent wants that nobody watches.
    Closed,
}

/// Rules that cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A rule is about an MCP server, and no servers were given.
    #[error(
        "rule '{rule}' is about an MCP server, but no servers were given: name the registered servers, so that the rule cannot be bypassed in silence"
    )]
    ServersRequired {
        /// The rule.
        rule: String,
    },
    /// A rule asks, and nobody is there to ask.
    #[error("rule '{rule}' asks the user, but has no handler that asks")]
    MissingHandler {
        /// The rule.
        rule: String,
    },
    /// A server has both enabled and disabled tools.
    #[error("MCP server '{server}' has both enabled and disabled tools: give one of them")]
    EnabledAndDisabled {
        /// The server.
        server: String,
    },
    /// Two servers that differ have the same name.
    #[error("two different MCP servers are called '{server}'")]
    DuplicateServer {
        /// The name.
        server: String,
    },
    /// A server has no name.
    #[error("an MCP server has no name")]
    UnnamedServer,
}

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

struct Compiled {
    /// In the order of their levels.
    rules: Vec<Labelled>,
    exact: Targets<Vec<u32>>,
    servers: HashMap<String, Vec<u32>>,
    any: Vec<u32>,
    gates: HashMap<Box<str>, Tools>,
    otherwise: Otherwise,
}

/// A rule with its label, which is made once.
struct Labelled {
    rule: Rule,
    label: Arc<str>,
}

/// Which tools of a server may be called at all.
enum Tools {
    Only(HashSet<String>),
    AllBut(HashSet<String>),
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

/// Puts [`Policies`] together.
#[derive(Debug, Default)]
#[must_use = "call `build` to get the policies"]
pub struct PoliciesBuilder {
    rules: Vec<Rule>,
    servers: Option<Vec<McpServer>>,
    otherwise: Otherwise,
    names: Names,
}

impl PoliciesBuilder {
    /// Adds rules.
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Adds a rule.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds the registered MCP servers. Rules about servers need them; an empty list will do.
    pub fn servers(mut self, servers: impl IntoIterator<Item = McpServer>) -> Self {
        self.servers.get_or_insert_default().extend(servers);
        self
    }

    /// What follows when no rule applies. Default: open.
    pub fn otherwise(mut self, otherwise: Otherwise) -> Self {
        self.otherwise = otherwise;
        self
    }

    /// A rule is about the tool of exactly the name it has, as in the Antigravity SDK. Otherwise
    /// it is about that tool under all names that the tool table has for it, so that
    /// `deny("run_command")` stops `RUN_COMMAND` too.
    pub fn exact_names(mut self) -> Self {
        self.names = Names::AsWritten;
        self
    }

    /// Checks and compiles.
    pub fn build(self) -> Result<Policies, PolicyError> {
        let Self { mut rules, servers, otherwise, names } = self;
        rules.sort_by_key(Rule::level);
        if let (None, Some(rule)) = (&servers, rules.iter().find(|rule| rule.target.names_server()))
        {
            return Err(PolicyError::ServersRequired { rule: rule.label() });
        }
        if let Some(rule) =
            rules.iter().find(|rule| rule.effect == Effect::Ask && rule.handler.is_none())
        {
            return Err(PolicyError::MissingHandler { rule: rule.label() });
        }
        let mut compiled = Compiled {
            rules: Vec::with_capacity(rules.len()),
            exact: Targets::default(),
            servers: HashMap::new(),
            any: Vec::new(),
            gates: gates(servers.unwrap_or_default())?,
            otherwise,
        };
        for (rule, place) in rules.into_iter().zip(0u32..) {
            compiled.index(&rule, place, names);
            compiled.rules.push(Labelled { label: rule.label().into(), rule });
        }
        Ok(Policies { inner: Arc::new(compiled) })
    }
}

fn gates(servers: Vec<McpServer>) -> Result<HashMap<Box<str>, Tools>, PolicyError> {
    let mut seen: HashMap<String, McpServer> = HashMap::new();
    let mut gates = HashMap::new();
    for server in servers {
        let name = server.name.clone();
        if name.is_empty() {
            return Err(PolicyError::UnnamedServer);
        }
        if seen.get(&name).is_some_and(|other| *other != server) {
            return Err(PolicyError::DuplicateServer { server: name });
        }
        seen.insert(name.clone(), server.clone());
        let McpServer { enabled_tools, disabled_tools, .. } = server;
        let tools = match (enabled_tools, disabled_tools) {
            (Some(_), Some(_)) => return Err(PolicyError::EnabledAndDisabled { server: name }),
            (Some(enabled), None) => Tools::Only(enabled.into_iter().collect()),
            (None, Some(disabled)) => Tools::AllBut(disabled.into_iter().collect()),
            (None, None) => continue,
        };
        gates.insert(name.into(), tools);
    }
    Ok(gates)
}

impl Compiled {
    fn index(&mut self, rule: &Rule, place: u32, names: Names) {
        if rule.target == crate::target::Target::Any {
            self.any.push(place);
        }
        if let Some(server) = rule.target.whole_server() {
            self.servers.entry_ref(server).or_default().push(place);
        }
        for key in rule.target.keys(names) {
            self.exact.entry(key).push(place);
        }
    }

    /// The rules about a tool, in the order they are looked at.
    fn about(&self, key: Key<'_>) -> impl Iterator<Item = &Labelled> {
        let server = key.server.filter(|_| !self.servers.is_empty());
        let server = server.and_then(|server| self.servers.get(server));
        let server = server.map_or(&[][..], Vec::as_slice);
        let wider = server.iter().chain(&self.any);
        self.naming(key).chain(wider.filter_map(|place| self.rules.get(*place as usize)))
    }

    /// The rules that name a tool.
    fn naming(&self, key: Key<'_>) -> impl Iterator<Item = &Labelled> {
        let places = self.exact.get(key).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| self.rules.get(*place as usize))
    }

    /// Whether there is anything to say about a tool.
    fn concerns(&self, key: Key<'_>) -> bool {
        self.otherwise == Otherwise::Closed
            || !self.any.is_empty()
            || self.exact.get(key).is_some()
            || key.server.is_some_and(|server| {
                (!self.servers.is_empty() && self.servers.contains_key(server))
                    || (!self.gates.is_empty() && self.gates.contains_key(server))
            })
    }

    /// Whether the server of a call offers the tool at all.
    fn gate(&self, key: Key<'_>) -> Option<Outcome> {
        let server = key.server.filter(|_| !self.gates.is_empty())?;
        let enabled = match self.gates.get(server)? {
            Tools::Only(enabled) => enabled.contains(key.name),
            Tools::AllBut(disabled) => !disabled.contains(key.name),
        };
        (!enabled).then(|| {
            let message = format!("Tool '{}' of MCP server '{server}' is not enabled.", key.name);
            Outcome::new(OutcomeKind::Denied, &format!("{server}/{}", key.name).into(), message)
        })
    }

    /// What the first of `rules` that applies says.
    async fn say<'a>(
        &self,
        rules: impl Iterator<Item = &'a Labelled>,
        key: Key<'_>,
        call: &ToolCall,
        timing: Option<Timing<'_>>,
    ) -> Said<'a> {
        if let Some(refusal) = self.gate(key) {
            return Said::Refuse(refusal);
        }
        for labelled in rules {
            let Labelled { rule, label } = labelled;
            if let Some(condition) = &rule.condition {
                match checked(condition.check(call), timing).await {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(error) => return Said::Refuse(failed(label, &error)),
                }
            }
            return match rule.effect {
                Effect::Allow => Said::Allow(labelled),
                Effect::Ask => Said::Ask(labelled),
                Effect::Deny => {
                    let message = match rule.reason_text() {
                        "" => format!("Denied by policy '{label}'."),
                        reason => reason.to_owned(),
                    };
                    Said::Refuse(Outcome::new(OutcomeKind::Denied, label, message))
                }
            };
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
        let Labelled { rule, label } = asking;
        let Some(handler) = &rule.handler else {
            return failed(
                label,
                &HookError::Failed { message: "nobody is there to ask".to_owned() },
            );
        };
        let reason = rule.reason_text();
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

    async fn decide(&self, call: &ToolCall, timing: Option<Timing<'_>>) -> Outcome {
        let subject = Subject::of_call(call);
        let own = Key { server: subject.server, name: subject.name };
        if call.readings.is_empty() {
            let said = self.say(self.about(own), own, call, timing).await;
            return match self.or_default(said, call) {
                Said::Nothing => Outcome::no_rule(),
                Said::Allow(rule) => Outcome::new(OutcomeKind::Allowed, &rule.label, String::new()),
                Said::Ask(rule) => self.ask(rule, call).await,
                Said::Refuse(outcome) => outcome,
            };
        }
        self.decide_fused(call, timing).await
    }

    /// One word for several servers and tools: any refusal counts, a question is put once, and an
    /// allow has to hold for every reading. The word itself is no server's tool, so that of the
    /// rules about it only those count that name it.
    async fn decide_fused(&self, call: &ToolCall, timing: Option<Timing<'_>>) -> Outcome {
        let subject = Subject::of_call(call);
        let own = Key { server: subject.server, name: subject.name };
        let mut asking = None;
        let mut allowing = None;
        let named = match self.say(self.naming(own), own, call, timing).await {
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
            let said = self.say(self.about(key), key, call, timing).await;
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
        Some(Timing { runtime, condition }) => within(Some(runtime), condition, check).await,
        None => within(None, Duration::MAX, check).await,
    }
}

impl Policies {
    /// Starts to put policies together.
    pub fn builder() -> PoliciesBuilder {
        PoliciesBuilder::default()
    }

    /// What they say about a call. Conditions and handlers have no time limit here; a runner
    /// holds them to its own.
    pub async fn decide(&self, call: &ToolCall) -> Outcome {
        self.inner.decide(call, None).await
    }

    /// The rules, in the order of their levels.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.inner.rules.iter().map(|labelled| &labelled.rule)
    }

    /// The hook that enforces them, for a runner.
    pub fn into_registration(self) -> Registration {
        Registration::on::<ToolPre, _>("policy", self)
            .dialect(Dialect::Native)
            .mode(Mode::Decide)
            .into_policy()
    }
}

impl Handle<ToolPre> for Policies {
    fn wants(&self, event: &ToolPre) -> Result<bool, BoxError> {
        Ok(Subject::of_call(&event.call).keys().any(|key| self.inner.concerns(key)))
    }

    fn handle<'a>(&'a self, ask: Ask<'a, ToolPre>) -> BoxFuture<'a, HookResult<ToolPre>> {
        Box::pin(async move {
            let timing = Timing { runtime: ask.runtime, condition: ask.limit };
            let outcome = self.inner.decide(&ask.event.call, Some(timing)).await;
            let level = match outcome.kind {
                OutcomeKind::NoRule => Level::None,
                OutcomeKind::Allowed | OutcomeKind::UserApproved => Level::Allow,
                OutcomeKind::Denied | OutcomeKind::UserDenied | OutcomeKind::EvaluationFailed => {
                    Level::Deny
                }
            };
            let mut answer = Answer::from_verdict(Gate::new(level, outcome.message));
            // Made only for what a person may want explained: an allow costs nothing.
            answer.detail = match level {
                Level::Deny => outcome.rule.map(|rule| format!("rule `{rule}`").into()),
                _ => outcome.rule,
            };
            Ok(answer)
        })
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules()).finish()
    }
}
