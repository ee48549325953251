//! A response and the steps that led to it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolCall;

/// What the agent answers to a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatResponse {
    /// The answer.
    pub text: String,
    /// What the model thought on the way.
    pub thinking: String,
    /// The steps in between.
    pub steps: Vec<Step>,
    /// What it cost.
    pub usage_metadata: UsageMetadata,
}

/// Tokens used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_field_names)] // the names are the original's
pub struct UsageMetadata {
    /// In the prompt.
    pub prompt_token_count: i32,
    /// In the answer.
    pub candidates_token_count: i32,
    /// All of them.
    pub total_token_count: i32,
    /// Read from a cache.
    #[serde(default)]
    pub cached_content_token_count: i32,
    /// Used for thinking.
    #[serde(default)]
    pub thoughts_token_count: i32,
}

/// One step of a trajectory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its id.
    pub id: String,
    /// Its place in the trajectory.
    pub step_index: u32,
    /// What sort of step it is.
    pub r#type: StepType,
    /// Who made it.
    pub source: StepSource,
    /// Whom it is for.
    pub target: StepTarget,
    /// How far it is.
    pub status: StepStatus,
    /// Its text.
    pub content: String,
    /// What the text has beyond that of the step before.
    pub content_delta: String,
    /// What the model thought.
    pub thinking: String,
    /// What the thoughts have beyond those of the step before.
    pub thinking_delta: String,
    /// The tools it calls.
    pub tool_calls: Vec<ToolCall>,
    /// What went wrong; empty where nothing did.
    pub error: String,
    /// Whether it is the last part of the response.
    pub is_complete_response: Option<bool>,
    /// Output that follows a schema.
    pub structured_output: Option<Value>,
    /// What it cost.
    pub usage_metadata: Option<UsageMetadata>,
    /// The cascade of agents it belongs to.
    #[serde(default)]
    pub cascade_id: String,
    /// The trajectory it belongs to.
    #[serde(default)]
    pub trajectory_id: String,
    /// The status of an HTTP request, where it was one.
    #[serde(default)]
    pub http_code: u32,
}

/// The sort of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StepType {
    /// The model speaks.
    TextResponse,
    /// A tool is called.
    ToolCall,
    /// The system speaks.
    SystemMessage,
    /// The history is compacted.
    Compaction,
    /// The work is done.
    Finish,
    /// None of the others.
    #[default]
    Unknown,
}

/// Who made a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StepSource {
    /// The program around the model.
    System,
    /// The person.
    User,
    /// The model.
    Model,
    /// None of the others.
    #[default]
    Unknown,
}

/// Whom a step is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepTarget {
    /// The person.
    #[serde(rename = "TARGET_USER")]
    User,
    /// The place where tools run.
    #[serde(rename = "TARGET_ENVIRONMENT")]
    Environment,
    /// Not said.
    #[serde(rename = "TARGET_UNSPECIFIED")]
    Unspecified,
    /// None of the others.
    #[default]
    #[serde(rename = "UNKNOWN")]
    Unknown,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StepStatus {
    /// Under way.
    Active,
    /// Done.
    Done,
    /// Waits for the person.
    WaitingForUser,
    /// Failed.
    Error,
    /// Broken off.
    Canceled,
    /// Failed for good.
    TerminalError,
    /// None of the others.
    #[default]
    Unknown,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_are_written_as_the_original_writes_them() {
        let step = Step {
            r#type: StepType::TextResponse,
            source: StepSource::Model,
            target: StepTarget::User,
            status: StepStatus::WaitingForUser,
            ..Step::default()
        };
        let written = serde_json::to_value(&step).unwrap();
        assert_eq!(written["type"], json!("TEXT_RESPONSE"));
        assert_eq!(written["source"], json!("MODEL"));
        assert_eq!(written["target"], json!("TARGET_USER"));
        assert_eq!(written["status"], json!("WAITING_FOR_USER"));
        assert_eq!(serde_json::from_value::<Step>(written).unwrap(), step);
    }
}
