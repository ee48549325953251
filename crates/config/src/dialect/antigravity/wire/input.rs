//! What handlers read.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{
    Args, InvocationEnd, ModelPre, SessionStart, Stop, ToolCall, ToolError, ToolPost, ToolPre,
};
use tollgate_core::patch::Rewrite;
use tollgate_core::{AnyEvent, EventRef};

use super::super::super::text::{self, excerpt};
use super::super::super::{Decoded, WireError};
use super::unknown_event;

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
pub(super) struct Tool {
    /// The tool's name; `call_mcp_tool` for one of an MCP server, which its arguments name.
    pub(super) name: String,
    /// Its arguments.
    #[serde(default)]
    pub(super) args: Args,
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

/// The schema of what each handler reads.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("PreToolUse", schema_for!(PreToolUse)),
        ("PostToolUse", schema_for!(PostToolUse)),
        ("PreInvocation", schema_for!(Invocation)),
        ("PostInvocation", schema_for!(Invocation)),
        ("Stop", schema_for!(Stopping)),
        ("SessionStart", schema_for!(Session)),
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
pub(crate) const MCP_TOOL: &str = "call_mcp_tool";
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

/// Writes an event.
pub(super) fn encode(event: EventRef<'_>, session: &SessionInfo) -> Option<Value> {
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

/// Reads an event.
pub(super) fn decode(event: &str, input: Value) -> Result<Decoded, WireError> {
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
            let tool = tool_call.unwrap_or_else(|| Tool { name: String::new(), args: Args::new() });
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

/// The arguments of an MCP call out of their wrapping.
pub(super) fn unwrap_rewrite(event: EventRef<'_>, rewrite: Rewrite) -> Result<Rewrite, WireError> {
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
                    let left_out = event.call.args.keys().find(|name| !inner.contains_key(*name));
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

fn to_value<T: Serialize>(input: &T) -> Value {
    // Strings, numbers and JSON cannot fail to serialise.
    serde_json::to_value(input).unwrap_or_default()
}
