//! What each event tells its hooks.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::wire::ToolWire;
use crate::target::Reading;
use crate::tools;

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
    /// What the host itself calls it, where a host's tool was translated.
    pub native: Option<Arc<Native>>,
}

/// A call as the host has it, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Native {
    /// The host.
    pub host: String,
    /// What it calls the tool.
    pub name: String,
    /// What it passes to it.
    pub input: Value,
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

    /// Sets its place in the trajectory.
    pub fn step(mut self, step: u64) -> Self {
        self.step = Some(step);
        self
    }

    /// Sets who calls.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.agent = agent;
        self
    }

    /// True if it is a call of the agent's own tool `tool`, whatever name of it the host uses:
    /// `RUN_COMMAND` is `run_command`, and so is `Bash`. Of a host's name for a part of what a tool
    /// does (`Monitor`), only what the host itself calls so.
    ///
    /// ```
    /// use tollgate_core::event::ToolCall;
    ///
    /// assert!(ToolCall::new("RUN_COMMAND").is("run_command"));
    /// assert!(ToolCall::new("run_command").is("Bash"));
    /// assert!(!ToolCall::new("run_command").is("Monitor"));
    /// assert!(!ToolCall::new("run_command").server("docs").is("run_command"));
    /// ```
    pub fn is(&self, tool: &str) -> bool {
        if self.server_name().is_some() {
            return false;
        }
        if self.name == tool || self.native_name() == tool {
            return true;
        }
        !tools::is_part(tool) && tools::meant(tool).any(|known| known.is_called(&self.name))
    }

    /// An argument that is text.
    pub fn text(&self, arg: &str) -> Option<&str> {
        self.args.get(arg).and_then(Value::as_str)
    }

    /// What the host calls the tool.
    pub fn native_name(&self) -> &str {
        self.native.as_ref().map_or(&self.name, |native| &native.name)
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

impl ToolPost {
    /// A call that came to `result`.
    pub fn new(call: ToolCall, result: impl Into<Value>) -> Self {
        Self { call, result: result.into() }
    }
}

impl ToolError {
    /// A call that failed.
    pub fn new(call: ToolCall, error: impl Into<String>) -> Self {
        Self { call, error: error.into() }
    }
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

/// Defines the payloads that are not about a tool call: their own fields, and which agent and
/// model they come from.
macro_rules! payloads {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// The agent it is about.
            #[serde(default, skip_serializing_if = "Agent::is_main")]
            pub agent: Agent,
            /// The model in use.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub model: Option<String>,
        }
    )*};
}

payloads! {
    /// `session.start`: a session begins.
    SessionStart {}

    /// `session.end`: a session is over.
    SessionEnd {}

    /// `turn.start`: a prompt was submitted.
    TurnStart {
        /// The prompt.
        prompt: String,
    }

    /// `turn.end`: a turn is over.
    TurnEnd {
        /// What the agent answered.
        response: String,
    }

    /// `model.pre`: the model is about to be called.
    ModelPre {
        /// How many calls of the model there were before this one.
        invocation: u64,
        /// How many steps the trajectory has.
        steps: u64,
    }

    /// `model.post`: the model has answered.
    ModelPost {
        /// The number of this call of the model.
        invocation: u64,
        /// How many steps the trajectory has.
        steps: u64,
    }

    /// `invocation.end`: the tool calls of a model call are done.
    InvocationEnd {
        /// The number of the model call.
        invocation: u64,
        /// How many steps the trajectory has.
        steps: u64,
    }

    /// `interaction`: the agent asks the person something.
    Interaction {
        /// The questions.
        questions: Vec<Question>,
    }

    /// `stop`: the agent would hand back.
    Stop {
        /// The number of this attempt.
        execution: u64,
        /// Why it stops: `model_stop`, `max_steps_exceeded`, `error`, …
        reason: String,
        /// The error, where one was the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Whether nothing is running in the background any more.
        idle: bool,
    }

    /// `compaction.pre`: the history is about to be compacted.
    CompactionPre {}

    /// `compaction.post`: the history was compacted.
    CompactionPost {
        /// What stands for the history now.
        summary: String,
    }

    /// `notification`: a notification would be raised.
    Notification {
        /// Its type.
        #[serde(rename = "type")]
        kind: String,
        /// Its text.
        message: String,
    }

    /// `facet.switch`: the agent's facet has changed.
    FacetSwitch {
        /// The facet before.
        from: String,
        /// The facet now.
        to: String,
    }

    /// `subagent.start`: a subagent has started.
    SubagentStart {
        /// Which sort of subagent it is.
        #[serde(rename = "type")]
        kind: String,
    }

    /// `subagent.stop`: a subagent has finished.
    SubagentStop {
        /// Which sort of subagent it is.
        #[serde(rename = "type")]
        kind: String,
        /// What it hands back to the agent that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
    }

    /// `error`: something went wrong that no other event is about.
    Failure {
        /// What went wrong.
        error: String,
        /// Where: `model`, `agent`, `mcp`, …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    }
}

impl TurnStart {
    /// A turn that begins with `prompt`.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }
}

impl TurnEnd {
    /// A turn that ends with `response`.
    pub fn new(response: impl Into<String>) -> Self {
        Self { response: response.into(), ..Self::default() }
    }
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
