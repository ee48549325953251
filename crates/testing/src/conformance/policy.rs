//! What policies decide.
//!
//! Each case is decided twice, by [`Policies::decide`] and by a runner that dispatches the call,
//! and both are held against the case.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value, json};
use tollgate_core::event::Args;
use tollgate_core::policy::{
    AskHandler, Effect, McpServer, Otherwise, OutcomeKind, PolicyError, Rule,
};
use tollgate_core::prelude::*;
use tollgate_core::target::Target;

use super::file::CaseFile;
use super::report::{Comparison, Difference, Report};
use crate::lock;

/// Runs the cases of a file.
pub async fn check(file: &CaseFile) -> Report {
    let mut report = Report::default();
    for place in 0..file.cases().len() {
        let differences = match file.read_case::<Expecting>(place) {
            Ok(Expecting { case, expect }) => differences(&case, &expect).await,
            Err(unreadable) => vec![unreadable],
        };
        report.count(file.failure(place, differences));
    }
    report
}

/// The rules, and the call they are about.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    policies: Vec<RuleForm>,
    #[serde(default)]
    mcp_servers: Option<Vec<String>>,
    call: CallForm,
}

#[derive(Debug, Deserialize)]
struct Expecting {
    #[serde(flatten)]
    case: Case,
    expect: Expect,
}

#[derive(Debug, Deserialize)]
struct RuleForm {
    tool: String,
    decision: DecisionForm,
    #[serde(default, deserialize_with = "null_is_empty")]
    name: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    reason: String,
    #[serde(default)]
    when: Option<When>,
    #[serde(default)]
    handler: Option<HandlerForm>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionForm {
    Approve,
    Deny,
    AskUser,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum When {
    Always,
    Never,
    Raise {
        #[serde(default)]
        message: String,
    },
    Contains {
        arg: String,
        value: String,
    },
    Equals {
        arg: String,
        #[serde(default)]
        value: Value,
    },
    Has {
        arg: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "HandlerFields")]
enum HandlerForm {
    Answer(bool),
    Raise(String),
}

#[derive(Deserialize)]
struct HandlerFields {
    answer: Option<bool>,
    raise: Option<String>,
}

impl TryFrom<HandlerFields> for HandlerForm {
    type Error = &'static str;
    fn try_from(fields: HandlerFields) -> Result<Self, Self::Error> {
        match (fields.answer, fields.raise) {
            (Some(answer), None) => Ok(Self::Answer(answer)),
            (None, Some(text)) => Ok(Self::Raise(text)),
            _ => Err("a handler has an `answer` or a `raise`"),
        }
    }
}

#[derive(Debug, Deserialize)]
struct CallForm {
    name: String,
    #[serde(default)]
    server_name: Option<String>,
    #[serde(default)]
    args: Option<Args>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
enum Expect {
    Refusal(EnforceError),
    Decision(DecisionExpected),
}

// By hand, because an untagged enum would not say what it misses.
impl TryFrom<Value> for Expect {
    type Error = String;
    fn try_from(expect: Value) -> Result<Self, String> {
        match expect.get("enforce_error") {
            Some(error) => EnforceError::deserialize(error).map(Self::Refusal),
            None => DecisionExpected::deserialize(expect).map(Self::Decision),
        }
        .map_err(|error| format!("expect: {error}"))
    }
}

#[derive(Debug, Deserialize)]
struct EnforceError {
    kind: String,
    message: String,
}

#[derive(Debug, Deserialize)]
struct DecisionExpected {
    allow: bool,
    message: String,
    kind: String,
    trace: Value,
    #[serde(default)]
    message_prefix: Option<String>,
}

fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Which of a case's rules are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// All of them.
    All,
    /// All but the ones called `workspace_only`. The Python engine passes over rules of that name
    /// when it decides, because it leaves them to its native harness. Here no rule is ever skipped
    /// for its name, so the comparison leaves them out.
    LessWorkspaceOnly,
}

/// The calls of conditions and handlers, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace(Arc<Mutex<Vec<Value>>>);

impl Trace {
    fn push(&self, entry: Value) {
        lock(&self.0).push(entry);
    }

    pub(super) fn value(&self) -> Value {
        Value::Array(lock(&self.0).clone())
    }
}

impl Case {
    /// The rules as policies, and the trace they will write.
    pub(super) fn policies(
        &self,
        rules: Rules,
        otherwise: Otherwise,
    ) -> Result<(Policies, Trace), PolicyError> {
        let trace = Trace::default();
        let skipped =
            |form: &RuleForm| rules == Rules::LessWorkspaceOnly && form.name == "workspace_only";
        let rules = self
            .policies
            .iter()
            .enumerate()
            .filter(|(_, form)| !skipped(form))
            .map(|(place, form)| form.rule(place, &trace));
        let mut builder = Policies::builder().rules(rules).otherwise(otherwise).exact_names();
        if let Some(servers) = &self.mcp_servers {
            builder = builder.servers(servers.iter().map(McpServer::new));
        }
        builder.build().map(|policies| (policies, trace))
    }

    /// The call.
    pub(super) fn call(&self) -> ToolCall {
        let CallForm { name, server_name, args } = &self.call;
        let has_server = server_name.as_ref().is_some_and(|server| !server.is_empty());
        let mut call = ToolCall::new(if has_server { name } else { current_name(name) });
        call.server.clone_from(server_name);
        call.args = args.clone().unwrap_or_default();
        call
    }
}

/// The original has one name that it gave up, and replaces it wherever it reads one.
fn current_name(name: &str) -> &str {
    if name == "start_subagent" { "invoke_subagent" } else { name }
}

impl RuleForm {
    fn rule(&self, place: usize, trace: &Trace) -> Rule {
        let effect = match self.decision {
            DecisionForm::Approve => Effect::Allow,
            DecisionForm::Deny => Effect::Deny,
            DecisionForm::AskUser => Effect::Ask,
        };
        let mut rule = Rule::new(Target::parse(current_name(&self.tool)), effect)
            .named(self.name.clone())
            .reason(self.reason.clone());
        if let Some(when) = self.when.clone() {
            let trace = trace.clone();
            rule = rule.when(move |call| {
                trace.push(json!({"predicate": place}));
                when.holds(&call.args)
            });
        }
        if let Some(handler) = self.handler.clone() {
            let trace = trace.clone();
            rule = rule.handler(AskHandler::new(move |request| {
                trace.push(json!({"handler": place, "reason": request.reason}));
                match handler.clone() {
                    HandlerForm::Answer(answer) => Ok(answer),
                    HandlerForm::Raise(message) => Err(message),
                }
            }));
        }
        rule
    }
}

impl When {
    fn holds(&self, args: &Args) -> Result<bool, String> {
        Ok(match self {
            Self::Always => true,
            Self::Never => false,
            Self::Raise { message } => return Err(message.clone()),
            Self::Contains { arg, value } => match args.get(arg) {
                Some(Value::String(text)) => text.contains(value.as_str()),
                Some(_) => false,
                None => value.is_empty(),
            },
            Self::Equals { arg, value } => {
                equal_in_python(args.get(arg).unwrap_or(&Value::Null), value)
            }
            Self::Has { arg } => args.contains_key(arg),
        })
    }
}

/// Whether Python, which made the cases, calls two values equal: `1`, `1.0` and `True` are.
fn equal_in_python(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| equal_in_python(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| {
                    other.get(key).is_some_and(|other| equal_in_python(value, other))
                })
        }
        _ => match (as_number(one), as_number(other)) {
            (Some(one), Some(other)) if one.is_f64() || other.is_f64() => {
                one.as_f64() == other.as_f64()
            }
            (Some(one), Some(other)) => one == other,
            _ => one == other,
        },
    }
}

fn as_number(value: &Value) -> Option<Number> {
    match value {
        Value::Bool(value) => Some(Number::from(u8::from(*value))),
        Value::Number(number) => Some(number.clone()),
        _ => None,
    }
}

async fn differences(case: &Case, expect: &Expect) -> Vec<Difference> {
    let mut comparison = Comparison::default();
    // What the Python engine passes over when it decides it still checks before.
    match (case.policies(Rules::All, Otherwise::Open), expect) {
        (Err(error), Expect::Refusal(refusal)) => {
            compare_refusal(case, refusal, &error, &mut comparison);
        }
        (Ok(_), Expect::Refusal(refusal)) => {
            let expected = format!("{}: {}", refusal.kind, refusal.message);
            comparison.differ("the rules", expected, "they are accepted");
        }
        (Err(error), Expect::Decision(_)) => {
            comparison.differ("the rules", "they are accepted", error.to_string());
        }
        (Ok(_), Expect::Decision(decision)) => {
            compare_decision(case, decision, &mut comparison).await;
        }
    }
    comparison.differences
}

fn compare_refusal(
    case: &Case,
    expected: &EnforceError,
    error: &PolicyError,
    comparison: &mut Comparison,
) {
    let (kind, rule) = match error {
        PolicyError::MissingHandler { rule } => ("missing_handler", rule.as_str()),
        PolicyError::ServersRequired { rule } => ("mcp_servers_required", rule.as_str()),
        other => return comparison.differ("the refusal", &expected.kind, other.to_string()),
    };
    comparison.same("the refusal", &json!(expected.kind), &json!(kind));
    let label = format!("'{rule}'");
    if !error.to_string().contains(&label) {
        comparison.differ("the refusal's message", format!("it names {label}"), error.to_string());
    }
    // The original names the rule where a handler is missing, and only there.
    let is_culprit = match error {
        PolicyError::MissingHandler { .. } => expected.message.contains(&label),
        _ => case
            .policies
            .iter()
            .any(|form| form.tool.contains('/') && form.rule(0, &Trace::default()).label() == rule),
    };
    if !is_culprit {
        comparison.differ("the rule that is refused", &expected.message, error.to_string());
    }
}

async fn compare_decision(case: &Case, expected: &DecisionExpected, comparison: &mut Comparison) {
    let built = || case.policies(Rules::LessWorkspaceOnly, Otherwise::Open);
    let ((policies, trace), (dispatched_policies, dispatched_trace)) = match (built(), built()) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(error), _) | (_, Err(error)) => {
            return comparison.differ("the rules", "they are accepted", error.to_string());
        }
    };

    let outcome = policies.decide(&case.call()).await;
    let kind = match outcome.kind {
        OutcomeKind::NoRule | OutcomeKind::Allowed => "allowed",
        OutcomeKind::Denied => "denied",
        OutcomeKind::UserApproved => "user_approved",
        OutcomeKind::UserDenied => "user_denied",
        OutcomeKind::EvaluationFailed => "evaluation_failed",
        _ => "a kind that the original does not have",
    };
    comparison.same("allow", &json!(expected.allow), &json!(outcome.is_allowed()));
    comparison.same("kind", &json!(expected.kind), &json!(kind));
    match &expected.message_prefix {
        Some(prefix) if expected.kind == "evaluation_failed" => {
            comparison.begins("message", prefix, &outcome.message);
        }
        _ => comparison.same("message", &json!(expected.message), &json!(outcome.message)),
    }
    comparison.same("trace", &expected.trace, &trace.value());

    match dispatch(dispatched_policies, case.call()).await {
        Ok((allow, message)) => {
            comparison.same("allow, dispatched", &json!(outcome.is_allowed()), &json!(allow));
            comparison.same("message, dispatched", &json!(outcome.message), &json!(message));
            let traces = (trace.value(), dispatched_trace.value());
            comparison.same("trace, dispatched", &traces.0, &traces.1);
        }
        Err(problem) => comparison.differ("dispatching", "a decision", problem),
    }
}

/// Whether a runner with these policies lets the call through, and what it says.
async fn dispatch(policies: Policies, call: ToolCall) -> Result<(bool, String), String> {
    let runner = Runner::builder().policies(policies).build().map_err(|error| error.to_string())?;
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = runner.dispatch(&operation, ToolPre::from(call)).await;
    let message = outcome.reason().to_owned();
    match outcome.permit() {
        Permit::Granted(_) => Ok((true, message)),
        Permit::Refused(_) => Ok((false, message)),
        Permit::Ask(_) => Err("the runner would ask a person again".to_owned()),
    }
}
