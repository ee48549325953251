//! What handlers read and answer, in both directions.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{
    Args, InvocationEnd, ModelPre, SessionStart, Stop, ToolCall, ToolError, ToolPost, ToolPre,
};
use tollgate_core::extra::{Additions, Step};
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::verdict::Word;
use tollgate_core::{AnyEvent, Dialect, EventRef, Kind};

use super::super::text::{self, excerpt, take_text};
use super::super::{Call, Codec, Decoded, EventName, Output, WireError};
use super::{Antigravity, EVENTS};

/// What every handler is told.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Common {
    /// The id of the conversation.
    conversation_id: String,
    /// The directories the agent works in.
    workspace_paths: Vec<String>,
    /// The file of the transcript.
    transcript_path: String,
    /// The directory for what the agent makes.
    artifact_directory_path: String,
    /// The model in use. Newer than the documented format.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
}

/// A tool call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Tool {
    /// The tool's name; `call_mcp_tool` for one of an MCP server, which its arguments name.
    name: String,
    /// Its arguments.
    #[serde(default)]
    args: Args,
}

/// The input of `PreToolUse`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PreToolUse {
    /// The call that is about to be made.
    tool_call: Tool,
    /// Its place in the trajectory, from 0.
    #[serde(default)]
    step_idx: u64,
    #[serde(flatten)]
    common: Common,
}

/// The input of `PostToolUse`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PostToolUse {
    /// The call that was made. Newer than the documented format.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<Tool>,
    /// Its place in the trajectory, from 0.
    #[serde(default)]
    step_idx: u64,
    /// What went wrong; empty where nothing did.
    #[serde(default)]
    error: String,
    #[serde(flatten)]
    common: Common,
}

/// The input of `PreInvocation` and `PostInvocation`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // the names are Antigravity's
struct Invocation {
    /// The number of the model call.
    #[serde(default)]
    invocation_num: u64,
    /// How many steps the trajectory has.
    #[serde(default)]
    initial_num_steps: u64,
    #[serde(flatten)]
    common: Common,
}

/// The input of `Stop`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Stopping {
    /// The number of the attempt.
    #[serde(default)]
    execution_num: u64,
    /// Why the agent stops: `model_stop`, `max_steps_exceeded`, `error`, …
    #[serde(default)]
    termination_reason: String,
    /// The error, where one was the reason; else empty.
    #[serde(default)]
    error: String,
    /// Whether nothing runs in the background any more.
    fully_idle: bool,
    #[serde(flatten)]
    common: Common,
}

/// The input of `SessionStart`. Newer than the documented format.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Session {
    #[serde(flatten)]
    common: Common,
}

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

/// The schema of what each handler reads.
pub fn input_schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("PreToolUse", schema_for!(PreToolUse)),
        ("PostToolUse", schema_for!(PostToolUse)),
        ("PreInvocation", schema_for!(Invocation)),
        ("PostInvocation", schema_for!(Invocation)),
        ("Stop", schema_for!(Stopping)),
        ("SessionStart", schema_for!(Session)),
    ]
}

/// The schema of what each handler answers.
pub fn answer_schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("PreToolUse", schema_for!(PreToolUseAnswer)),
        ("PostToolUse", schema_for!(NoAnswer)),
        ("PreInvocation", schema_for!(InjectAnswer)),
        ("PostInvocation", schema_for!(PostInvocationAnswer)),
        ("Stop", schema_for!(StopAnswer)),
        ("SessionStart", schema_for!(InjectAnswer)),
    ]
}

impl Common {
    fn of(session: &SessionInfo, model: Option<&String>) -> Self {
        Self {
            conversation_id: session.id.clone(),
            workspace_paths: session.workspaces.clone(),
            transcript_path: session.transcript.clone().unwrap_or_default(),
            artifact_directory_path: session.artifacts.clone().unwrap_or_default(),
            model_name: model.cloned(),
        }
    }

    fn split(self) -> (SessionInfo, Option<String>) {
        let given = |text: String| (!text.is_empty()).then_some(text);
        let session = SessionInfo {
            id: self.conversation_id,
            workspaces: self.workspace_paths,
            transcript: given(self.transcript_path),
            artifacts: given(self.artifact_directory_path),
        };
        (session, self.model_name)
    }
}

/// The one tool through which Antigravity calls those of MCP servers, and its arguments.
pub(super) const MCP_TOOL: &str = "call_mcp_tool";
const MCP_SERVER: &str = "ServerName";
const MCP_NAME: &str = "ToolName";
const MCP_ARGS: &str = "Arguments";

impl Tool {
    fn of(call: &ToolCall) -> Self {
        match &call.server {
            Some(server) if !server.is_empty() => {
                let mut args = Args::new();
                args.insert(MCP_SERVER.to_owned(), server.as_str().into());
                args.insert(MCP_NAME.to_owned(), call.name.as_str().into());
                args.insert(MCP_ARGS.to_owned(), call.args.clone().into());
                Self { name: MCP_TOOL.to_owned(), args }
            }
            _ => Self { name: call.name.clone(), args: call.args.clone() },
        }
    }

    /// The call. One of a server's tool is taken out of its wrapping; a wrapping that is not as
    /// it should be stays, and is matched by its own name.
    fn into_call(self, step: u64, model: Option<String>) -> ToolCall {
        let base = ToolCall { step: Some(step), model, ..ToolCall::default() };
        let wrapped = || {
            let [server, name] = [MCP_SERVER, MCP_NAME].map(|field| self.args.get(field)?.as_str());
            let args = self
                .args
                .get(MCP_ARGS)
                .map_or(Some(Args::new()), |args| args.as_object().cloned())?;
            let others = self
                .args
                .keys()
                .any(|key| ![MCP_SERVER, MCP_NAME, MCP_ARGS].contains(&key.as_str()));
            let (server, name) =
                (server.filter(|s| !s.is_empty())?, name.filter(|n| !n.is_empty())?);
            (self.name == MCP_TOOL && !others).then(|| (server.to_owned(), name.to_owned(), args))
        };
        match wrapped() {
            Some((server, name, args)) => ToolCall { name, server: Some(server), args, ..base },
            None => ToolCall { name: self.name, args: self.args, ..base },
        }
    }
}

impl Codec for Antigravity {
    fn dialect(&self) -> Dialect {
        Dialect::HooksJson
    }

    fn events(&self) -> &'static [EventName] {
        EVENTS
    }

    fn encode_event(&self, event: EventRef<'_>, session: &SessionInfo) -> Option<Value> {
        let post = |call: &ToolCall, error: &str| PostToolUse {
            tool_call: (!call.name.is_empty()).then(|| Tool::of(call)),
            step_idx: call.step.unwrap_or_default(),
            error: error.to_owned(),
            common: Common::of(session, call.model.as_ref()),
        };
        let invocation = |number: u64, steps: u64, model: Option<&String>| Invocation {
            invocation_num: number,
            initial_num_steps: steps,
            common: Common::of(session, model),
        };
        let value = match event {
            EventRef::ToolPre(event) => to_value(&PreToolUse {
                tool_call: Tool::of(&event.call),
                step_idx: event.call.step.unwrap_or_default(),
                common: Common::of(session, event.call.model.as_ref()),
            }),
            EventRef::ToolPost(event) => to_value(&post(&event.call, "")),
            EventRef::ToolError(event) => {
                // A failure without a message would read as a success.
                let error = if event.error.is_empty() { "failed" } else { &event.error };
                to_value(&post(&event.call, error))
            }
            EventRef::ModelPre(event) => {
                to_value(&invocation(event.invocation, event.steps, event.model.as_ref()))
            }
            EventRef::InvocationEnd(event) => {
                to_value(&invocation(event.invocation, event.steps, event.model.as_ref()))
            }
            EventRef::Stop(event) => to_value(&Stopping {
                execution_num: event.execution,
                termination_reason: event.reason.clone(),
                error: event.error.clone().unwrap_or_default(),
                fully_idle: event.idle,
                common: Common::of(session, event.model.as_ref()),
            }),
            EventRef::SessionStart(event) => {
                to_value(&Session { common: Common::of(session, event.model.as_ref()) })
            }
            _ => return None,
        };
        Some(value)
    }

    fn environment(&self, _event: EventRef<'_>, _call: &Call<'_>) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn decode_event(&self, event: &str, input: Value) -> Result<Decoded, WireError> {
        fn read<T: for<'de> Deserialize<'de>>(event: &str, input: Value) -> Result<T, WireError> {
            serde_json::from_value(input)
                .map_err(|error| WireError::new(format!("not an input of {event}: {error}")))
        }
        let (session, event): (SessionInfo, AnyEvent) = match event {
            "PreToolUse" => {
                let PreToolUse { tool_call, step_idx, common } = read(event, input)?;
                let (session, model) = common.split();
                (session, ToolPre::from(tool_call.into_call(step_idx, model)).into())
            }
            "PostToolUse" => {
                let PostToolUse { tool_call, step_idx, error, common } = read(event, input)?;
                let (session, model) = common.split();
                let tool =
                    tool_call.unwrap_or_else(|| Tool { name: String::new(), args: Args::new() });
                let call = tool.into_call(step_idx, model);
                let event = if error.is_empty() {
                    AnyEvent::from(ToolPost::new(call, Value::Null))
                } else {
                    ToolError::new(call, error).into()
                };
                (session, event)
            }
            "PreInvocation" | "PostInvocation" => {
                let Invocation { invocation_num: invocation, initial_num_steps: steps, common } =
                    read(event, input)?;
                let (session, model) = common.split();
                let event = if event == "PreInvocation" {
                    ModelPre { invocation, steps, model, ..ModelPre::default() }.into()
                } else {
                    InvocationEnd { invocation, steps, model, ..InvocationEnd::default() }.into()
                };
                (session, event)
            }
            "Stop" => {
                let Stopping { execution_num, termination_reason, error, fully_idle, common } =
                    read(event, input)?;
                let (session, model) = common.split();
                let event = Stop {
                    execution: execution_num,
                    reason: termination_reason,
                    error: (!error.is_empty()).then_some(error),
                    idle: fully_idle,
                    model,
                    ..Stop::default()
                };
                (session, event.into())
            }
            "SessionStart" => {
                let Session { common } = read(event, input)?;
                let (session, model) = common.split();
                (session, SessionStart { model, ..SessionStart::default() }.into())
            }
            _ => return Err(unknown_event(event)),
        };
        Ok(Decoded { event, session })
    }

    fn decode_answer(&self, event: Kind, output: &Output) -> Result<Neutral, WireError> {
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
            answer.detail = Some(
                format!("its answer has fields that are not read: {}", names.join(", ")).into(),
            );
        }
        Ok(answer)
    }

    fn unwrap_rewrite(&self, event: EventRef<'_>, rewrite: Rewrite) -> Result<Rewrite, WireError> {
        match (event, rewrite) {
            (EventRef::ToolPre(event), Rewrite::Args(mut args))
                if event.call.server.as_deref().is_some_and(|server| !server.is_empty()) =>
            {
                let inner = args.remove(MCP_ARGS);
                if let Some(other) = args.keys().next() {
                    return Err(WireError::new(format!(
                        "`overwrite` of {MCP_TOOL} can set `{MCP_ARGS}` only, not `{}`",
                        excerpt(other.as_bytes())
                    )));
                }
                match inner {
                    None => Ok(Rewrite::Args(Args::new())),
                    Some(Value::Object(inner)) => {
                        // It stands for all arguments, and to take one away is not in our power.
                        let left_out =
                            event.call.args.keys().find(|name| !inner.contains_key(*name));
                        match left_out {
                            None => Ok(Rewrite::Args(inner)),
                            Some(name) => Err(WireError::new(format!(
                                "`{MCP_ARGS}` in `overwrite` leaves out `{}`: arguments can be set, \
                                 not taken away",
                                excerpt(name.as_bytes())
                            ))),
                        }
                    }
                    Some(other) => Err(WireError::new(format!(
                        "`{MCP_ARGS}` in `overwrite` is {}, not an object",
                        text::kind(&other)
                    ))),
                }
            }
            (_, rewrite) => Ok(rewrite),
        }
    }

    fn encode_answer(&self, event: Kind, answer: &Neutral) -> Result<Output, WireError> {
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
            Kind::ToolPost | Kind::ToolError => {}
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
}

fn to_value<T: Serialize>(input: &T) -> Value {
    // Strings, numbers and JSON cannot fail to serialise.
    serde_json::to_value(input).unwrap_or_default()
}

fn put_text(fields: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(name.to_owned(), text.into());
    }
}

fn unknown_event(name: &str) -> WireError {
    let known: Vec<_> = EVENTS.iter().map(|event| event.name).collect();
    WireError::new(format!("Antigravity has no event `{name}`: it has {}", known.join(", ")))
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
