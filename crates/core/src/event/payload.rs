//! What each event tells its hooks.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::wire::ToolWire;
use crate::target::Reading;

/// The arguments of a tool call, by name.
pub type Args = Map<String, Value>;

/// Which agent an event comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// 0 for the main agent, 1 for an agent it started, and so on.
    #[serde(default)]
    pub depth: u32,
}

impl Default for Agent {
    fn default() -> Self {
        Self { id: "main".to_owned(), depth: 0 }
    }
}

impl Agent {
    fn is_main(&self) -> bool {
        self.depth == 0 && self.id == "main"
    }
}

/// A call of a tool, as the model wants it.
///
/// ```
/// use tollgate_core::event::ToolCall;
///
/// let call = ToolCall::new("search").server("docs").arg("q", "hooks");
/// assert_eq!(call.text("q"), Some("hooks"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The MCP server that offers it; none for the agent's own tools.
    pub server: Option<String>,
    /// Its arguments.
    pub args: Args,
    /// Where the host names an MCP tool by one fused word (`mcp__a__b__c`): every server and
    /// tool it could mean. Policies and matchers consider all of them.
    pub readings: Vec<Reading>,
    /// The path it touches, where the host knows it better than the arguments tell.
    pub canonical_path: Option<String>,
    /// The call's id.
    pub id: Option<String>,
    /// Its place in the trajectory, from 0.
    pub step: Option<u64>,
    /// Who calls.
    pub agent: Agent,
    /// The model that asked for it.
    pub model: Option<String>,
}

impl ToolCall {
    /// A call of the agent's own tool `name`, without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Makes it a call of an MCP server's tool.
    pub fn server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Sets an argument.
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.args.insert(name.into(), value.into());
        self
    }

    /// Sets the call's id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// An argument that is text.
    pub fn text(&self, arg: &str) -> Option<&str> {
        self.args.get(arg).and_then(Value::as_str)
    }

    /// The server, where one is named: an empty name is none.
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server.as_deref().filter(|server| !server.is_empty())
    }
}

/// `tool.pre`: a tool is about to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ToolWire", into = "ToolWire")]
pub struct ToolPre {
    /// The call.
    pub call: ToolCall,
}

impl From<ToolCall> for ToolPre {
    fn from(call: ToolCall) -> Self {
        Self { call }
    }
}

/// `tool.post`: a tool has run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ToolWire", into = "ToolWire")]
pub struct ToolPost {
    /// The call, as it was executed.
    pub call: ToolCall,
    /// What the model will be given.
    pub result: Value,
}

/// `tool.error`: a tool has failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ToolWire", into = "ToolWire")]
pub struct ToolError {
    /// The call, as it was executed.
    pub call: ToolCall,
    /// What went wrong.
    pub error: String,
}

impl Deref for ToolPre {
    type Target = ToolCall;
    fn deref(&self) -> &ToolCall {
        &self.call
    }
}

impl Deref for ToolPost {
    type Target = ToolCall;
    fn deref(&self) -> &ToolCall {
        &self.call
    }
}

impl Deref for ToolError {
    type Target = ToolCall;
    fn deref(&self) -> &ToolCall {
        &self.call
    }
}

/// `session.start`: a session begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionStart {
    /// Whose session it is.
    #[serde(skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `session.end`: a session is over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionEnd {
    /// Whose session it was.
    #[serde(skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `turn.start`: a prompt was submitted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnStart {
    /// The prompt.
    pub prompt: String,
    /// Who is prompted.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl TurnStart {
    /// A turn that begins with `prompt`.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }
}

/// `turn.end`: a turn is over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnEnd {
    /// What the agent answered.
    pub response: String,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl TurnEnd {
    /// A turn that ends with `response`.
    pub fn new(response: impl Into<String>) -> Self {
        Self { response: response.into(), ..Self::default() }
    }
}

/// `model.pre`: the model is about to be called.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPre {
    /// How many calls of the model there were before this one.
    pub invocation: u64,
    /// How many steps the trajectory has.
    pub steps: u64,
    /// Who calls the model.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `model.post`: the model has answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPost {
    /// The number of this call of the model.
    pub invocation: u64,
    /// How many steps the trajectory has.
    pub steps: u64,
    /// Who called the model.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `invocation.end`: the tool calls of a model call are done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvocationEnd {
    /// The number of the model call.
    pub invocation: u64,
    /// How many steps the trajectory has.
    pub steps: u64,
    /// Who called the model.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One question to the person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub question: String,
    /// What may be chosen.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub is_multi_select: bool,
}

/// One option of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Its id, which an answer names.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// The answer to one question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Response {
    /// The ids of the options chosen, if any were.
    pub selected_option_ids: Option<Vec<String>>,
    /// An answer in words.
    pub freeform_response: String,
    /// Whether the question was passed over.
    pub skipped: bool,
}

/// The answers to the questions of one `interaction`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Responses {
    /// One answer a question, in their order.
    pub responses: Vec<Response>,
    /// Whether the person broke it off.
    #[serde(default)]
    pub cancelled: bool,
}

/// `interaction`: the agent asks the person something.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interaction {
    /// The questions.
    pub questions: Vec<Question>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `stop`: the agent would hand back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The number of this attempt.
    pub execution: u64,
    /// Why it stops: `model_stop`, `max_steps_exceeded`, `error`, …
    pub reason: String,
    /// The error, where one was the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether nothing is running in the background any more.
    pub idle: bool,
    /// Who stops.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `compaction.pre`: the history is about to be compacted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompactionPre {
    /// Whose history.
    #[serde(skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `compaction.post`: the history was compacted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionPost {
    /// What stands for the history now.
    pub summary: String,
    /// Whose history.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `notification`: a notification would be raised.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text.
    pub message: String,
    /// Who raises it.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `facet.switch`: the agent's facet has changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FacetSwitch {
    /// The facet before.
    pub from: String,
    /// The facet now.
    pub to: String,
    /// Who switched.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `subagent.start`: a subagent has started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubagentStart {
    /// Which sort of subagent it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The subagent.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `subagent.stop`: a subagent has finished.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubagentStop {
    /// Which sort of subagent it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it hands back to the agent that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The subagent.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
