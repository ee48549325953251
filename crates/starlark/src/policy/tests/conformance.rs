//! The cases of the original, written as policy files.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::event::ToolCall;
use tollgate_core::policy::{Otherwise, Outcome, OutcomeKind};

use super::{BASE, How, Loaded, now};
use crate::policy::ConditionFor;
use crate::policy::build::builder;

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    policies: Vec<Policy>,
    call: Call,
    expect: Expect,
}

#[derive(Deserialize)]
struct Policy {
    tool: String,
    decision: String,
    name: String,
    reason: String,
    when: Option<When>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum When {
    Always,
    Never,
    Raise { message: String },
    Contains { arg: String, value: String },
    Equals { arg: String, value: Value },
    Has { arg: String },
}

#[derive(Deserialize)]
struct Call {
    name: String,
    server_name: Option<String>,
    args: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expect {
    Refusal {
        #[serde(rename = "enforce_error")]
        _error: Value,
    },
    Decision {
        allow: bool,
        message: String,
        kind: String,
        trace: Vec<Value>,
        message_prefix: Option<String>,
    },
}

/// A value as Starlark writes it.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

fn text(text: &str) -> String {
    literal(&json!(text))
}

impl When {
    fn written(&self) -> String {
        match self {
            Self::Always => "True".to_owned(),
            Self::Never => "False".to_owned(),
            Self::Raise { message } => format!("fail({})", text(message)),
            Self::Contains { arg, value } => {
                let (arg, value) = (text(arg), text(value));
                format!(
                    "type(args.get({arg}, \"\")) == \"string\" and {value} in args.get({arg}, \"\")"
                )
            }
            Self::Equals { arg, value } => format!("args.get({}) == {}", text(arg), literal(value)),
            Self::Has { arg } => format!("{} in args", text(arg)),
        }
    }
}

/// The original has one name that it gave up, and replaces it wherever it reads one.
fn current_name(name: &str) -> &str {
    if name == "start_subagent" { "invoke_subagent" } else { name }
}

impl Case {
    /// The rules that the original asks when it decides: those called `workspace_only` it leaves
    /// to its native harness.
    fn rules(&self) -> impl Iterator<Item = (usize, &Policy)> {
        self.policies.iter().enumerate().filter(|(_, policy)| policy.name != "workspace_only")
    }

    fn file(&self) -> String {
        let mut file = String::new();
        for (_, policy) in self.rules() {
            let builder = match policy.decision.as_str() {
                "approve" => "allow",
                "deny" => "deny",
                "ask_user" => "ask_user",
                other => panic!("{other}"),
            };
            let tool = text(current_name(&policy.tool));
            let (reason, name) = (text(&policy.reason), text(&policy.name));
            write!(file, "policy.{builder}({tool}, reason = {reason}, name = {name}").unwrap();
            if let Some(when) = &policy.when {
                write!(file, ", when = lambda args: {}", when.written()).unwrap();
            }
            file.push_str(")\n");
        }
        file
    }

    fn call(&self) -> ToolCall {
        let Call { name, server_name, args } = &self.call;
        let has_server = server_name.as_ref().is_some_and(|server| !server.is_empty());
        let mut call = ToolCall::new(if has_server { name } else { current_name(name) });
        call.server.clone_from(server_name);
        call.args = args.clone().unwrap_or_default();
        call
    }

    /// What is decided, and which rules' conditions were asked, in order.
    fn decided(&self, how: How) -> (Outcome, Vec<Value>) {
        let loaded = Loaded::new(&self.file()).unwrap_or_else(|e| panic!("{}: {e}", self.id));
        let conditional = self.rules().filter(|(_, policy)| policy.when.is_some());
        let rule_of: Vec<usize> = conditional.map(|(place, _)| place).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let condition = |place: usize| {
            let rule = rule_of[place];
            let asked = Arc::clone(&asked);
            let condition = loaded.condition(place, how);
            ConditionFor::Async(Arc::new(move |call: &ToolCall| {
                asked.lock().unwrap().push(json!({"predicate": rule}));
                let held = match &condition {
                    ConditionFor::Async(elsewhere) => now(elsewhere(call)),
                    ConditionFor::Native(native) | ConditionFor::NativeOr(native, _) => {
                        native.eval("tool.pre", &call.args).map_err(Into::into)
                    }
                };
                Box::pin(std::future::ready(held))
            }))
        };
        let base = Path::new(BASE);
        let base = super::Base { path: base.to_owned(), is_machine: false };
        let policies = builder(&loaded.specs, condition, &base, Otherwise::Open);
        let policies = policies.exact_names().build().unwrap();
        let outcome = now(policies.decide(&self.call()));
        let asked = asked.lock().unwrap().clone();
        (outcome, asked)
    }

    fn check(&self, how: How) -> bool {
        let Expect::Decision { allow, message, kind, trace, message_prefix } = &self.expect else {
            return false;
        };
        let id = &self.id;
        let (outcome, asked) = self.decided(how);
        let predicates: Vec<Value> =
            trace.iter().filter(|entry| entry.get("predicate").is_some()).cloned().collect();
        assert_eq!(asked, predicates, "{id}");
        // Where the original asks its handler, the host is to ask.
        let handler = trace.iter().find_map(|entry| entry.get("handler")).and_then(Value::as_u64);
        if let Some(rule) = handler {
            let policy = &self.policies[usize::try_from(rule).unwrap()];
            let tool = current_name(&policy.tool);
            let label = if policy.name.is_empty() { tool } else { &policy.name };
            assert_eq!(outcome.kind, OutcomeKind::HostAsks, "{id}");
            assert_eq!(outcome.rule.as_deref(), Some(label), "{id}");
            if !policy.reason.is_empty() {
                assert_eq!(outcome.message, policy.reason, "{id}");
            }
            return true;
        }
        let got = match outcome.kind {
            OutcomeKind::NoRule | OutcomeKind::Allowed => "allowed",
            OutcomeKind::Denied => "denied",
            OutcomeKind::EvaluationFailed => "evaluation_failed",
            _ => "another kind",
        };
        assert_eq!((outcome.is_allowed(), got), (*allow, kind.as_str()), "{id}");
        match message_prefix {
            Some(prefix) => assert!(outcome.message.starts_with(prefix), "{id}: {outcome:?}"),
            None => assert_eq!(outcome.message, *message, "{id}"),
        }
        true
    }
}

#[test]
fn the_cases_of_the_original() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/conformance/policy_cases.json");
    let cases: Cases = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let ran = cases
        .cases
        .iter()
        .filter(|case| case.check(How::InStarlark) & case.check(How::NativeWherePossible))
        .count();
    // Six are about rules that the original refuses: files have no handlers that could be
    // forgotten, and rules about servers always count.
    assert_eq!((ran, cases.cases.len()), (563, 569));
}
