//! What handlers read and answer, in both directions.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{
    Args, CompactionPost, CompactionPre, FacetSwitch, ModelPost, ModelPre, Notification,
    SessionStart, Stop, SubagentStart, SubagentStop, ToolCall, TurnStart,
};
use tollgate_core::neutral::Neutral;
use tollgate_core::{AnyEvent, Dialect, EventRef, Kind, tools};
use tollgate_hosts::polytoken::HOST;

use super::super::{Call, Codec, Decoded, EventName, Output, WireError};
use super::{EVENTS, Polytoken, outcomes};

/// What every handler is told.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Common {
    /// The event.
    event: String,
    /// What a matcher is held against.
    matcher_subject: String,
    /// The session, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The model in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
}

/// Defines the inputs: their own fields, and the common ones.
macro_rules! inputs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
        #[allow(clippy::struct_field_names)] // the names are Polytoken's
        struct $name {
            #[serde(flatten)]
            common: Common,
            $($(#[$field_doc])* $field: $type,)*
        }
    )*};
}

inputs! {
    /// The input of an event that tells nothing of its own.
    Plain {}

    /// The input of `pre_user_prompt`.
    Prompt {
        /// The prompt.
        prompt: String,
    }

    /// The input of `pre_model_turn` and `post_model_turn`.
    ModelTurn {
        /// The number of the model call.
        #[serde(default)]
        invocation: u64,
        /// How many steps the trajectory has.
        #[serde(default)]
        steps: u64,
    }

    /// The input of the three tool events.
    Tool {
        /// The tool; `mcp__server__tool` for one of an MCP server.
        tool_name: String,
        /// Its arguments.
        #[serde(default)]
        input: Args,
        /// The id of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// What it came to (`post_tool_use`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// What went wrong (`post_tool_use_failure`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    }

    /// The input of `stop`.
    Stopping {
        /// Why the agent stops.
        #[serde(default)]
        reason: String,
        /// The error, where one was the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The number of the attempt.
        #[serde(default)]
        execution: u64,
        /// Whether nothing runs in the background any more.
        #[serde(default)]
        idle: bool,
    }

    /// The input of `post_compaction`.
    Compacted {
        /// What stands for the history now.
        #[serde(default)]
        summary: String,
    }

    /// The input of `notification`.
    Notice {
        /// Its type.
        #[serde(default)]
        notification_type: String,
        /// Its text.
        #[serde(default)]
        message: String,
        /// Its text again, under the name that handlers in use read.
        #[serde(default)]
        summary: String,
    }

    /// The input of `facet_switch`.
    Facets {
        /// The facet before.
        #[serde(default)]
        from: String,
        /// The facet now.
        #[serde(default)]
        to: String,
    }

    /// The input of `subagent_start` and `subagent_stop`.
    Subagent {
        /// Which sort of subagent it is.
        subagent_type: String,
        /// What it hands back (`subagent_stop`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
    }
}

/// The schema of what each handler reads.
pub fn input_schemas() -> Vec<(&'static str, Schema)> {
    EVENTS
        .iter()
        .map(|event| {
            let schema = match event.name {
                "pre_user_prompt" => schema_for!(Prompt),
                "pre_model_turn" | "post_model_turn" => schema_for!(ModelTurn),
                "pre_tool_use" | "post_tool_use" | "post_tool_use_failure" => schema_for!(Tool),
                "stop" => schema_for!(Stopping),
                "post_compaction" => schema_for!(Compacted),
                "notification" => schema_for!(Notice),
                "facet_switch" => schema_for!(Facets),
                "subagent_start" | "subagent_stop" => schema_for!(Subagent),
                _ => schema_for!(Plain),
            };
            (event.name, schema)
        })
        .collect()
}

/// The tool's name, as Polytoken has it.
fn tool_name(call: &ToolCall) -> String {
    native(call).0
}

/// A call in Polytoken's words: its handlers know its own tools and their arguments, whatever agent the call is of.
pub(super) fn native(call: &ToolCall) -> (String, Value) {
    // One edit or several: it has one tool for both.
    let several = "multi_replace_file_content";
    let is_several = call.server.is_none() && tools::same(&call.name, several);
    if is_several {
        let call = ToolCall { name: "replace_file_content".to_owned(), ..call.clone() };
        return HOST.native(&call);
    }
    HOST.native(call)
}

/// The subject of an event, as Polytoken has it.
fn subject(event: EventRef<'_>, name: &str) -> String {
    match event {
        EventRef::ToolPre(event) => tool_name(&event.call),
        EventRef::ToolPost(event) => tool_name(&event.call),
        EventRef::ToolError(event) => tool_name(&event.call),
        EventRef::SubagentStart(event) => event.kind.clone(),
        EventRef::SubagentStop(event) => event.kind.clone(),
        _ => name.to_owned(),
    }
}

/// The model that an event names.
fn model(event: EventRef<'_>) -> Option<&String> {
    match event {
        EventRef::ToolPre(event) => event.call.model.as_ref(),
        EventRef::ToolPost(event) => event.call.model.as_ref(),
        EventRef::ToolError(event) => event.call.model.as_ref(),
        EventRef::SessionStart(event) => event.model.as_ref(),
        EventRef::TurnStart(event) => event.model.as_ref(),
        EventRef::ModelPre(event) => event.model.as_ref(),
        EventRef::ModelPost(event) => event.model.as_ref(),
        EventRef::Stop(event) => event.model.as_ref(),
        EventRef::CompactionPre(event) => event.model.as_ref(),
        EventRef::CompactionPost(event) => event.model.as_ref(),
        EventRef::Notification(event) => event.model.as_ref(),
        EventRef::FacetSwitch(event) => event.model.as_ref(),
        EventRef::SubagentStart(event) => event.model.as_ref(),
        EventRef::SubagentStop(event) => event.model.as_ref(),
        _ => None,
    }
}

impl Codec for Polytoken {
    fn dialect(&self) -> Dialect {
        Dialect::Polytoken
    }

    fn events(&self) -> &'static [EventName] {
        EVENTS
    }

    fn encode_event(&self, event: EventRef<'_>, session: &SessionInfo) -> Option<Value> {
        let name = self.name_of(event.kind())?;
        let common = Common {
            event: name.to_owned(),
            matcher_subject: subject(event, name),
            session_id: (!session.id.is_empty()).then(|| session.id.clone()),
            model_name: model(event).cloned(),
        };
        let tool =
            |common: Common, call: &ToolCall, output: Option<&Value>, error: Option<&str>| {
                let (name, input) = native(call);
                let input = match input {
                    Value::Object(input) => input,
                    _ => Args::new(),
                };
                to_value(&Tool {
                    common,
                    tool_name: name,
                    input,
                    call_id: call.id.clone(),
                    output: output.cloned(),
                    error: error.map(str::to_owned),
                })
            };
        let value = match event {
            EventRef::SessionStart(_) | EventRef::CompactionPre(_) => to_value(&Plain { common }),
            EventRef::TurnStart(event) => {
                to_value(&Prompt { common, prompt: event.prompt.clone() })
            }
            EventRef::ModelPre(ModelPre { invocation, steps, .. })
            | EventRef::ModelPost(ModelPost { invocation, steps, .. }) => {
                to_value(&ModelTurn { common, invocation: *invocation, steps: *steps })
            }
            EventRef::ToolPre(event) => tool(common, &event.call, None, None),
            EventRef::ToolPost(event) => tool(common, &event.call, Some(&event.result), None),
            EventRef::ToolError(event) => tool(common, &event.call, None, Some(&event.error)),
            EventRef::Stop(event) => to_value(&Stopping {
                common,
                reason: event.reason.clone(),
                error: event.error.clone(),
                execution: event.execution,
                idle: event.idle,
            }),
            EventRef::CompactionPost(event) => {
                to_value(&Compacted { common, summary: event.summary.clone() })
            }
            EventRef::Notification(event) => to_value(&Notice {
                common,
                notification_type: event.kind.clone(),
                message: event.message.clone(),
                summary: event.message.clone(),
            }),
            EventRef::FacetSwitch(event) => {
                to_value(&Facets { common, from: event.from.clone(), to: event.to.clone() })
            }
            EventRef::SubagentStart(event) => {
                to_value(&Subagent { common, subagent_type: event.kind.clone(), result: None })
            }
            EventRef::SubagentStop(event) => to_value(&Subagent {
                common,
                subagent_type: event.kind.clone(),
                result: event.result.clone(),
            }),
            _ => return None,
        };
        Some(value)
    }

    fn environment(&self, event: EventRef<'_>, call: &Call<'_>) -> Vec<(&'static str, String)> {
        let name = self.name_of(event.kind()).unwrap_or_default();
        let mut variables = vec![
            ("POLYTOKEN_HOOK_EVENT", name.to_owned()),
            ("POLYTOKEN_HANDLER_NAME", call.hook.to_owned()),
            ("POLYTOKEN_HOOK_MATCHER_SUBJECT", subject(event, name)),
            (
                "POLYTOKEN_NON_INTERACTIVE",
                if call.interactive { "false" } else { "true" }.to_owned(),
            ),
            // Goals are Polytoken's own: under another agent none is active.
            ("POLYTOKEN_GOAL_ACTIVE", "false".to_owned()),
        ];
        if !call.session.id.is_empty() {
            variables.push(("POLYTOKEN_SESSION_ID", call.session.id.clone()));
        }
        if let Some(project) = call.project {
            variables.push(("POLYTOKEN_PROJECT_DIR", project.to_owned()));
            variables.push(("POLYTOKEN_PROJECT_PATH", project.to_owned()));
        }
        if let Some(model) = model(event) {
            variables.push(("POLYTOKEN_MODEL_NAME", model.clone()));
        }
        if let EventRef::FacetSwitch(event) = event {
            variables.push(("POLYTOKEN_FACET_NAME", event.to.clone()));
        }
        variables
    }

    fn decode_event(&self, event: &str, input: Value) -> Result<Decoded, WireError> {
        fn read<T: for<'de> Deserialize<'de>>(event: &str, input: Value) -> Result<T, WireError> {
            serde_json::from_value(input)
                .map_err(|error| WireError::new(format!("not an input of {event}: {error}")))
        }
        let (common, event): (Common, AnyEvent) = match event {
            "session_start" => {
                let Plain { common } = read(event, input)?;
                let model = common.model_name.clone();
                (common, SessionStart { model, ..SessionStart::default() }.into())
            }
            "pre_compaction" => {
                let Plain { common } = read(event, input)?;
                let model = common.model_name.clone();
                (common, CompactionPre { model, ..CompactionPre::default() }.into())
            }
            "pre_user_prompt" => {
                let Prompt { common, prompt } = read(event, input)?;
                let model = common.model_name.clone();
                (common, TurnStart { prompt, model, ..TurnStart::default() }.into())
            }
            "pre_model_turn" | "post_model_turn" => {
                let ModelTurn { common, invocation, steps } = read(event, input)?;
                let model = common.model_name.clone();
                let event = if event == "pre_model_turn" {
                    ModelPre { invocation, steps, model, ..ModelPre::default() }.into()
                } else {
                    ModelPost { invocation, steps, model, ..ModelPost::default() }.into()
                };
                (common, event)
            }
            "pre_tool_use" | "post_tool_use" | "post_tool_use_failure" => {
                let Tool { common, .. } = read(event, input.clone())?;
                let told = HOST.read(Some(event), input)?;
                let part = told.and_then(|told| told.parts.into_iter().next());
                let Some(part) = part else {
                    return Err(WireError::new(format!("not an input of {event}")));
                };
                (common, part.event)
            }
            "stop" => {
                let Stopping { common, reason, error, execution, idle } = read(event, input)?;
                let model = common.model_name.clone();
                (common, Stop { reason, error, execution, idle, model, ..Stop::default() }.into())
            }
            "post_compaction" => {
                let Compacted { common, summary } = read(event, input)?;
                let model = common.model_name.clone();
                (common, CompactionPost { summary, model, ..CompactionPost::default() }.into())
            }
            "notification" => {
                let Notice { common, notification_type, message, summary } = read(event, input)?;
                let message = if message.is_empty() { summary } else { message };
                let model = common.model_name.clone();
                let event = Notification {
                    kind: notification_type,
                    message,
                    model,
                    ..Notification::default()
                };
                (common, event.into())
            }
            "facet_switch" => {
                let Facets { common, from, to } = read(event, input)?;
                let model = common.model_name.clone();
                (common, FacetSwitch { from, to, model, ..FacetSwitch::default() }.into())
            }
            "subagent_start" => {
                let Subagent { common, subagent_type: kind, .. } = read(event, input)?;
                let model = common.model_name.clone();
                (common, SubagentStart { kind, model, ..SubagentStart::default() }.into())
            }
            "subagent_stop" => {
                let Subagent { common, subagent_type: kind, result } = read(event, input)?;
                let model = common.model_name.clone();
                (common, SubagentStop { kind, result, model, ..SubagentStop::default() }.into())
            }
            _ => {
                let known: Vec<_> = EVENTS.iter().map(|event| event.name).collect();
                return Err(WireError::new(format!(
                    "Polytoken has no event `{event}`: it has {}",
                    known.join(", ")
                )));
            }
        };
        let session =
            SessionInfo { id: common.session_id.unwrap_or_default(), ..SessionInfo::default() };
        Ok(Decoded { event, session })
    }

    fn decode_answer(&self, event: Kind, output: &Output) -> Result<Neutral, WireError> {
        outcomes::decode(event, output)
    }

    fn encode_answer(&self, event: Kind, answer: &Neutral) -> Result<Output, WireError> {
        outcomes::encode(event, answer)
    }
}

fn to_value<T: Serialize>(input: &T) -> Value {
    // Strings, numbers and JSON cannot fail to serialise.
    serde_json::to_value(input).unwrap_or_default()
}
