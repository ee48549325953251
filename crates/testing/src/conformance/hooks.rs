//! What hooks come to, dispatched by a real runner.
//!
//! # The one deliberate difference
//!
//! In the original an error of a hook leaves the dispatcher, and so does an answer that is not
//! valid. Here either becomes the decision that the table of events has for a failure of an
//! Antigravity SDK hook ([`Kind::rule`]), and is recorded:
//!
//! * where it closes, the event is refused, and no later hook runs;
//! * where it ends the chain (`stop`), the agent stops, and no later hook runs;
//! * where hooks only watch, all later hooks run.
//!
//! So where a case says `propagates` or `hook_result_invalid`, this decision is expected, and a
//! trace that is the original's up to the failing hook.

mod dispatch;
mod script;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::dialect::OnFailure;
use tollgate_core::event::Args;
use tollgate_core::prelude::*;
use tollgate_core::verdict::Permission;

use self::dispatch::{Dispatched, dispatch};
use self::script::{Scope, Script, SdkEvent, entry};
use super::file::CaseFile;
use super::report::{Comparison, Difference, Report};

/// Runs the cases of a file.
pub async fn check(file: &CaseFile) -> Report {
    let mut report = Report::default();
    for place in 0..file.cases().len() {
        let differences = match file.read_case::<Case>(place) {
            Ok(case) => case.differences().await,
            Err(unreadable) => vec![unreadable],
        };
        report.count(file.failure(place, differences));
    }
    report
}

#[derive(Debug, Deserialize)]
struct Case {
    event: String,
    hooks: Vec<Script>,
    #[serde(default)]
    args: Option<Args>,
    expect: Map<String, Value>,
}

/// The contexts an event happens in, all new.
struct Contexts {
    session: SessionContext,
    turn: TurnContext,
    operation: OperationContext,
}

impl Contexts {
    fn new() -> Self {
        let session = SessionContext::new(SessionInfo::default());
        let turn = session.turn();
        let operation = turn.operation();
        Self { session, turn, operation }
    }
}

impl Case {
    async fn differences(&self) -> Vec<Difference> {
        let contexts = Contexts::new();
        let Contexts { session, turn, operation } = &contexts;
        let call = || {
            let mut call = ToolCall::new("tool");
            call.args = self.args.clone().unwrap_or_default();
            call
        };
        match self.event.as_str() {
            "session_start" => self.run(&contexts, session, SessionStart::default()).await,
            "session_end" => self.run(&contexts, session, SessionEnd::default()).await,
            "pre_turn" => self.run(&contexts, turn, TurnStart::new("prompt")).await,
            "post_turn" => self.run(&contexts, turn, TurnEnd::new("response")).await,
            "pre_tool_call" => self.run(&contexts, operation, ToolPre::from(call())).await,
            "post_tool_call" => {
                let event = ToolPost { call: call(), result: json!("result") };
                self.run(&contexts, operation, event).await
            }
            "tool_error" => {
                let event = ToolError { call: call(), error: "error".to_owned() };
                self.run(&contexts, operation, event).await
            }
            "interaction" => self.run(&contexts, operation, Interaction::default()).await,
            "compaction" => self.run(&contexts, operation, CompactionPost::default()).await,
            "stop" => self.run(&contexts, turn, Stop::default()).await,
            _ => {
                let got = Value::from(self.event.as_str()).to_string();
                vec![Difference::new("event", "an event of the Antigravity SDK", got)]
            }
        }
    }

    /// Dispatches the event, and holds what came against the case.
    async fn run<E: SdkEvent>(
        &self,
        contexts: &Contexts,
        cx: &E::Scope,
        event: E,
    ) -> Vec<Difference> {
        let mut comparison = Comparison::default();
        let dispatched = match dispatch(&self.hooks, cx, event).await {
            Ok(dispatched) => dispatched,
            Err(problem) => {
                comparison.differ("dispatching", "an outcome", problem);
                return comparison.differences;
            }
        };
        if let Some(text) = self.failure() {
            self.compare_failure(text, contexts, &dispatched, &mut comparison);
        } else {
            for (field, got) in E::result(&dispatched) {
                self.compare(field, &got, &mut comparison);
            }
            self.compare("trace", &Value::Array(dispatched.trace), &mut comparison);
            self.compare("session_state", &contexts.session.here().into(), &mut comparison);
            self.compare("turn_state", &contexts.turn.here().into(), &mut comparison);
        }
        comparison.differences
    }

    /// Holds a field against what is expected of it.
    fn compare(&self, field: &str, got: &Value, comparison: &mut Comparison) {
        match self.expect.get(field) {
            Some(expected) => comparison.same(field, expected, got),
            None => comparison.differ("expect", format!("a field `{field}`"), "there is none"),
        }
    }

    /// The text of the error that leaves the original's dispatcher, where it is known, if one
    /// does.
    #[allow(clippy::option_option)] // whether there is one, and whether its text is known
    fn failure(&self) -> Option<Option<&str>> {
        let propagates = self.expect.get("propagates").map(Value::as_str);
        propagates.or_else(|| self.expect.get("hook_result_invalid").map(|_| None))
    }

    fn compare_failure<E: SdkEvent>(
        &self,
        text: Option<&str>,
        contexts: &Contexts,
        dispatched: &Dispatched<E>,
        comparison: &mut Comparison,
    ) {
        let Some(rule) = E::KIND.rule(Dialect::AntigravitySdk) else {
            return comparison.differ("event", "one of the Antigravity SDK", E::KIND.name());
        };
        let Some(mut expected) = self.until_failure(text) else {
            let want = "a trace that ends with the hook that fails";
            return comparison.differ("expect", want, "there is none");
        };
        if rule.on_failure == OnFailure::Open {
            self.go_on::<E>(&mut expected);
        }
        let AfterFailure { trace, session, turn, errors } = expected;
        comparison.same("trace", &trace.into(), &Value::Array(dispatched.trace.clone()));
        comparison.same("session_state", &session.into(), &contexts.session.here().into());
        // The original makes the turn's context in `pre_turn`, and loses it with the error.
        if !(E::KIND == Kind::TurnStart && turn.is_empty()) {
            comparison.same("turn_state", &turn.into(), &contexts.turn.here().into());
        }
        let decision = match rule.on_failure {
            OnFailure::Close => Permission::Refused,
            OnFailure::Open | OnFailure::End => Permission::Granted,
        };
        let got = dispatched.outcome.verdict.permission();
        if got != decision {
            comparison.differ("the decision", format!("{decision:?}"), format!("{got:?}"));
        }
        dispatched.compare_errors(&errors, comparison);
    }

    /// How things stand in the original when the error leaves.
    fn until_failure<'a>(&self, text: Option<&'a str>) -> Option<AfterFailure<'a>> {
        let trace = self.expect.get("trace")?.as_array()?.clone();
        let failed = usize::try_from(trace.last()?.get("hook")?.as_u64()?).ok()?;
        let state = |field| self.expect.get(field)?.as_object().cloned();
        Some(AfterFailure {
            trace,
            session: state("session_state")?,
            turn: state("turn_state")?,
            errors: vec![(failed, text)],
        })
    }

    /// Adds what the hooks do that the original does not get to.
    fn go_on<'a, E: SdkEvent>(&'a self, expected: &mut AfterFailure<'a>) {
        let failed = expected.errors.first().map_or(0, |(failed, _)| *failed);
        let mut state = Args::new();
        for (place, script) in self.hooks.iter().enumerate() {
            if place > failed {
                let read = |key: &String| state.get(key).cloned().unwrap_or(Value::Null);
                expected.trace.push(entry(place, script.get.as_ref().map(read)));
                let error = script.raise.as_deref().map(|text| (place, Some(text)));
                expected.errors.extend(error);
                let written = script.set.clone().unwrap_or_default();
                match E::SCOPE {
                    Scope::Session => expected.session.extend(written),
                    Scope::Turn => expected.turn.extend(written),
                    // An operation's state is not looked at afterwards.
                    Scope::Operation => {}
                }
            }
            state.extend(script.set.clone().unwrap_or_default());
        }
    }
}

/// What is expected once a hook has failed.
struct AfterFailure<'a> {
    trace: Vec<Value>,
    session: Args,
    turn: Args,
    /// The places of the hooks that fail, with the texts where they are known.
    errors: Vec<(usize, Option<&'a str>)>,
}
