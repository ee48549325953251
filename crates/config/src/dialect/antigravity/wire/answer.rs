//! What handlers answer.

use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Map, Value, json};
use tollgate_core::Kind;
use tollgate_core::extra::{Additions, Step};
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::verdict::Word;

use super::super::super::text::{self, excerpt, take_text};
use super::super::super::{Output, WireError};
use super::input::Tool;
use super::unknown_event;

/// The answer to `PreToolUse`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code)]
struct PreToolUseAnswer {
    /// What becomes of the call. `""` and `"no_opinion"` leave it to others; without a decision the
    /// call is denied.
    decision: GateDecision,
    /// Why, for the agent or the person.
    reason: Option<String>,
    /// Resources that the call may use, such as `command(npm test)`.
    permission_overrides: Option<Vec<String>>,
    /// Arguments to set; the others stay. Newer than the documented format.
    overwrite: Option<Map<String, Value>>,
}

/// A decision about a call.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code)]
enum GateDecision {
    /// It runs without asking.
    Allow,
    /// It does not run.
    Deny,
    /// The person is asked, unless they said "always".
    Ask,
    /// The person is asked in any case.
    ForceAsk,
    /// Left to others.
    NoOpinion,
    /// Left to others.
    #[schemars(rename = "")]
    Empty,
}

/// A step to inject: exactly one of its fields.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code, clippy::enum_variant_names)]
enum InjectedStep {
    /// A tool to call.
    ToolCall(Tool),
    /// A message of the user.
    UserMessage(String),
    /// A message of the system that only the next model call sees.
    EphemeralMessage(String),
    /// A message of the system. Newer than the documented format.
    SystemMessage(String),
}

/// The answer to `PreInvocation` and `SessionStart`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code)]
struct InjectAnswer {
    /// Steps to inject.
    inject_steps: Option<Vec<InjectedStep>>,
}

/// The answer to `PostInvocation`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[allow(dead_code)]
struct PostInvocationAnswer {
    /// Steps to inject.
    inject_steps: Option<Vec<InjectedStep>>,
    /// What the loop does then.
    termination_behavior: Option<TerminationBehavior>,
}

/// What the loop does after the tool calls.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code)]
enum TerminationBehavior {
    /// It goes on.
    ForceContinue,
    /// It ends.
    Terminate,
    /// What it would do anyway.
    #[schemars(rename = "")]
    Default,
}

/// The answer to `Stop`.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct StopAnswer {
    /// `continue` keeps the agent going; anything else lets it stop.
    decision: String,
    /// What the agent is told when it goes on.
    reason: Option<String>,
}

/// The answer to `PostToolUse`: nothing is read of it.
#[derive(JsonSchema)]
struct NoAnswer {}

/// The schema of what each handler answers.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("PreToolUse", schema_for!(PreToolUseAnswer)),
        ("PostToolUse", schema_for!(NoAnswer)),
        ("PreInvocation", schema_for!(InjectAnswer)),
        ("PostInvocation", schema_for!(PostInvocationAnswer)),
        ("Stop", schema_for!(StopAnswer)),
        ("SessionStart", schema_for!(InjectAnswer)),
    ]
}

/// Reads an answer.
pub(super) fn decode(event: Kind, output: &Output) -> Result<Neutral, WireError> {
    if output.code != 0 {
        return Err(exit_code(output));
    }
    // What a handler prints about a call that is over is not read, so it may print anything.
    if matches!(event, Kind::ToolPost | Kind::ToolError) {
        return Ok(Neutral::default());
    }
    let fields = text::answer(&output.stdout)?;
    if event == Kind::ToolPre && fields.is_none() {
        return Err(no_decision());
    }
    let mut fields = fields.unwrap_or_default();
    let mut answer = match event {
        Kind::ToolPre => gate(&mut fields)?,
        Kind::ModelPre => injection(&mut fields)?,
        Kind::InvocationEnd => flow(&mut fields)?,
        Kind::Stop => finish(&mut fields)?,
        Kind::SessionStart => session_start(&mut fields)?,
        other => return Err(unknown_event(other.name())),
    };
    if !fields.is_empty() {
        let names: Vec<_> = fields.keys().map(|name| format!("`{name}`")).collect();
        answer.detail =
            Some(format!("its answer has fields that are not read: {}", names.join(", ")).into());
    }
    Ok(answer)
}

/// Writes an answer.
pub(super) fn encode(event: Kind, answer: &Neutral) -> Result<Output, WireError> {
    let mut fields = Map::new();
    match event {
        Kind::ToolPre => {
            let decision = match answer.word {
                Word::None => "no_opinion",
                Word::Allow => "allow",
                Word::Ask => "ask",
                Word::ForceAsk => "force_ask",
                Word::Deny => "deny",
                ref other => return Err(no_word(event, other)),
            };
            fields.insert("decision".to_owned(), decision.into());
            put_text(&mut fields, "reason", &answer.reason);
            let overrides = &answer.additions.overrides;
            if !overrides.is_empty() {
                fields.insert("permissionOverrides".to_owned(), json!(overrides));
            }
            if let Some(Rewrite::Args(args)) = &answer.rewrite {
                fields.insert("overwrite".to_owned(), Value::Object(args.clone()));
            }
        }
        Kind::ToolPost | Kind::ToolError => {
            if answer.word != Word::None || answer.rewrite.is_some() {
                return Err(no_word(event, &answer.word));
            }
        }
        Kind::ModelPre | Kind::InvocationEnd | Kind::SessionStart => {
            let steps = steps_of(&answer.additions);
            if !steps.is_empty() {
                fields.insert("injectSteps".to_owned(), steps.into());
            }
            let behaviour = match (&answer.word, event) {
                (Word::None, _) => "",
                (Word::Continue, Kind::InvocationEnd) => "force_continue",
                (Word::Terminate, Kind::InvocationEnd) => "terminate",
                (other, _) => return Err(no_word(event, other)),
            };
            put_text(&mut fields, "terminationBehavior", behaviour);
        }
        Kind::Stop => {
            let decision = match &answer.word {
                Word::None => "stop",
                Word::Continue => "continue",
                other => return Err(no_word(event, other)),
            };
            fields.insert("decision".to_owned(), decision.into());
            put_text(&mut fields, "reason", &answer.reason);
        }
        other => return Err(unknown_event(other.name())),
    }
    Ok(Output::json(&Value::Object(fields)))
}

fn put_text(fields: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(name.to_owned(), text.into());
    }
}

fn no_word(event: Kind, word: &Word) -> WireError {
    WireError::new(format!("Antigravity cannot be told `{word}` at {event}"))
}

fn exit_code(output: &Output) -> WireError {
    let said = excerpt(&output.stderr);
    let said = if said.is_empty() { excerpt(&output.stdout) } else { said };
    let said =
        if said.is_empty() { "it said nothing".to_owned() } else { format!("it said: {said}") };
    WireError::new(format!(
        "it exited with code {}; a handler has to exit with 0 and print its decision; {said}",
        output.code
    ))
}

fn no_decision() -> WireError {
    WireError::new(
        "it gave no decision: print {\"decision\": \"allow\"}, \"deny\", \"ask\" or \"force_ask\"; \
         {\"decision\": \"no_opinion\"} leaves the call to others",
    )
}

fn gate(fields: &mut Map<String, Value>) -> Result<Neutral, WireError> {
    let word = match take_text(fields, "decision")?.as_deref() {
        None => return Err(no_decision()),
        Some("" | "no_opinion") => Word::None,
        Some("allow") => Word::Allow,
        Some("ask") => Word::Ask,
        Some("force_ask") => Word::ForceAsk,
        Some("deny") => Word::Deny,
        Some(other) => {
            return Err(WireError::new(format!(
                "`{}` is no decision: there are allow, deny, ask, force_ask and no_opinion",
                excerpt(other.as_bytes())
            )));
        }
    };
    let reason = take_text(fields, "reason")?.unwrap_or_default();
    let overrides = match fields.remove("permissionOverrides") {
        None | Some(Value::Null) => Vec::new(),
        Some(list) => serde_json::from_value(list)
            .map_err(|_| WireError::new("`permissionOverrides` is not a list of strings"))?,
    };
    let rewrite = match fields.remove("overwrite") {
        None | Some(Value::Null) => None,
        Some(Value::Object(args)) => Some(Rewrite::Args(args)),
        Some(other) => {
            return Err(WireError::new(format!(
                "`overwrite` is {}, not an object of arguments",
                text::kind(&other)
            )));
        }
    };
    let additions = Additions { overrides, ..Additions::default() };
    Ok(Neutral { word, reason, additions, rewrite, detail: None })
}

fn injection(fields: &mut Map<String, Value>) -> Result<Neutral, WireError> {
    let steps = match fields.remove("injectSteps") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(steps)) => {
            steps.into_iter().map(step).collect::<Result<Vec<_>, WireError>>()?
        }
        Some(other) => {
            return Err(WireError::new(format!(
                "`injectSteps` is {}, not a list",
                text::kind(&other)
            )));
        }
    };
    Ok(Neutral { additions: Additions { steps, ..Additions::default() }, ..Neutral::default() })
}

/// One step: an object with exactly one of four fields.
fn step(value: Value) -> Result<Step, WireError> {
    let wrong = || {
        WireError::new(
            "a step of `injectSteps` has exactly one field: toolCall, userMessage, \
             ephemeralMessage or systemMessage",
        )
    };
    let Value::Object(fields) = value else { return Err(wrong()) };
    let mut fields = fields.into_iter();
    let (Some((name, value)), None) = (fields.next(), fields.next()) else { return Err(wrong()) };
    let message = |value: Value| match value {
        Value::String(text) => Ok(text),
        other => Err(WireError::new(format!("`{name}` is {}, not a string", text::kind(&other)))),
    };
    match name.as_str() {
        "toolCall" => {
            let Tool { name, args } = serde_json::from_value(value)
                .map_err(|error| WireError::new(format!("`toolCall` is no call: {error}")))?;
            Ok(Step::ToolCall { name, args })
        }
        "userMessage" => message(value).map(Step::UserMessage),
        "ephemeralMessage" => message(value).map(Step::EphemeralMessage),
        "systemMessage" => message(value).map(Step::SystemMessage),
        _ => Err(wrong()),
    }
}

fn flow(fields: &mut Map<String, Value>) -> Result<Neutral, WireError> {
    let word = match take_text(fields, "terminationBehavior")?.as_deref() {
        None | Some("") => Word::None,
        Some("force_continue") => Word::Continue,
        Some("terminate") => Word::Terminate,
        Some(other) => {
            return Err(WireError::new(format!(
                "`{}` is no terminationBehavior: there are force_continue, terminate and \"\"",
                excerpt(other.as_bytes())
            )));
        }
    };
    Ok(Neutral { word, ..injection(fields)? })
}

fn finish(fields: &mut Map<String, Value>) -> Result<Neutral, WireError> {
    let word = match take_text(fields, "decision")?.as_deref() {
        Some("continue") => Word::Continue,
        _ => Word::None,
    };
    let reason = take_text(fields, "reason")?.unwrap_or_default();
    // A reason not to go on is told to nobody.
    let reason = if word == Word::None { String::new() } else { reason };
    Ok(Neutral::new(word, reason))
}

/// At the start of a session there is no model call yet: messages become its context.
fn session_start(fields: &mut Map<String, Value>) -> Result<Neutral, WireError> {
    let mut answer = injection(fields)?;
    for step in std::mem::take(&mut answer.additions.steps) {
        match step {
            Step::UserMessage(text) | Step::EphemeralMessage(text) | Step::SystemMessage(text) => {
                answer.additions.context.push(text);
            }
            _ => return Err(WireError::new("no tool can be called before a session has begun")),
        }
    }
    Ok(answer)
}

/// Steps as they are written; context goes as a message of the system.
fn steps_of(additions: &Additions) -> Vec<Value> {
    let context = additions.context.iter().map(|text| json!({"systemMessage": text}));
    let steps = additions.steps.iter().filter_map(|step| match step {
        Step::ToolCall { name, args } => Some(json!({"toolCall": {"name": name, "args": args}})),
        Step::UserMessage(text) => Some(json!({"userMessage": text})),
        Step::EphemeralMessage(text) => Some(json!({"ephemeralMessage": text})),
        Step::SystemMessage(text) => Some(json!({"systemMessage": text})),
        _ => None,
    });
    steps.chain(context).collect()
}
