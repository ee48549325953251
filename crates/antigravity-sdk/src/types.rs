//! The data that hooks and policies are given and give back, field by field as in the original.

mod chat;
mod mcp;

pub use chat::{ChatResponse, Step, StepSource, StepStatus, StepTarget, StepType, UsageMetadata};
pub use mcp::McpServerConfig;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a deciding hook answers.
///
/// The default denies, as it does in the original: `allow` is `false`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookResult {
    /// Whether it may go on. `true` is no opinion: a later hook may still deny.
    pub allow: bool,
    /// What is said about it; the model is told where it is denied.
    #[serde(default)]
    pub message: String,
}

/// A call of a tool, as the model wants it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that ties the call to its result; may be empty.
    pub id: String,
    /// The tool. An MCP server's tool is written `mcp_<server>_<tool>`.
    pub name: String,
    /// The arguments; as a rule an object.
    pub args: Value,
    /// The path the call touches, where the host has worked it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_path: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The tool.
    pub name: String,
    /// The id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the tool returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One question to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskQuestionEntry {
    /// The question.
    pub question: String,
    /// What may be chosen.
    pub options: Vec<AskQuestionOption>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub is_multi_select: bool,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskQuestionOption {
    /// Its id, which an answer names.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// The answers to the questions of one interaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionHookResult {
    /// One answer a question, in their order.
    pub responses: Vec<QuestionResponse>,
    /// Whether the interaction was broken off.
    #[serde(default)]
    pub cancelled: bool,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionResponse {
    /// The ids of the options chosen, if any were.
    pub selected_option_ids: Option<Vec<String>>,
    /// An answer in words.
    #[serde(default)]
    pub freeform_response: String,
    /// Whether the question was passed over.
    #[serde(default)]
    pub skipped: bool,
}

/// The tools the original's agent has of its own.
///
/// Their names are aliases in Tollgate's tool table: a rule about `run_command` and one about
/// `RUN_COMMAND` are about the same tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BuiltinTools {
    /// Makes a file.
    CreateFile,
    /// Changes a file.
    EditFile,
    /// Finds files by name.
    FindFile,
    /// Lists a directory.
    ListDir,
    /// Runs a shell command.
    RunCommand,
    /// Searches in files.
    SearchDir,
    /// Reads a file.
    ViewFile,
    /// Starts a subagent.
    StartSubagent,
    /// Makes an image.
    GenerateImage,
    /// Says that the work is done.
    Finish,
}

impl BuiltinTools {
    /// The tool's name.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::CreateFile => "CREATE_FILE",
            Self::EditFile => "EDIT_FILE",
            Self::FindFile => "FIND_FILE",
            Self::ListDir => "LIST_DIR",
            Self::RunCommand => "RUN_COMMAND",
            Self::SearchDir => "SEARCH_DIR",
            Self::ViewFile => "VIEW_FILE",
            Self::StartSubagent => "START_SUBAGENT",
            Self::GenerateImage => "GENERATE_IMAGE",
            Self::Finish => "FINISH",
        }
    }

    /// The tools that change nothing.
    pub fn read_only() -> Vec<Self> {
        vec![Self::FindFile, Self::ListDir, Self::ViewFile, Self::SearchDir]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_written_as_they_are_called() {
        for tool in [
            BuiltinTools::CreateFile,
            BuiltinTools::EditFile,
            BuiltinTools::FindFile,
            BuiltinTools::ListDir,
            BuiltinTools::RunCommand,
            BuiltinTools::SearchDir,
            BuiltinTools::ViewFile,
            BuiltinTools::StartSubagent,
            BuiltinTools::GenerateImage,
            BuiltinTools::Finish,
        ] {
            assert_eq!(serde_json::to_value(tool).unwrap(), json!(tool.as_str()));
        }
    }

    #[test]
    fn a_call_without_a_path_is_written_without_one() {
        let text = r#"{"id":"1","name":"t","args":{"a":1}}"#;
        let call: ToolCall = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&call).unwrap(), text);
    }
}
