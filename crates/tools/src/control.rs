//! The tools that direct the agent itself: what a model is told about them, and their arguments.
//! What they do is the agent's.
//!
//! ```
//! use tollgate_tools::{control, read_args};
//!
//! let spec = control::specs().into_iter().find(|spec| spec.name == "send_message").unwrap();
//! let args = serde_json::json!({"Recipient": "agent-2", "Message": "Done."});
//! let args: control::SendMessage = read_args(&spec, args.as_object().unwrap())?;
//! assert_eq!(args.recipient, "agent-2");
//! # Ok::<(), tollgate_tools::ArgsError>(())
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::Spec;

/// Arguments of `schedule`: one of `DurationSeconds` and `CronExpression`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Schedule {
    /// For a timer that goes off once: in how many seconds.
    pub duration_seconds: Option<u64>,
    /// For a timer that goes off again and again: minute, hour, day of month, month, day of week.
    pub cron_expression: Option<String>,
    /// How often a repeated timer goes off at the most. Default: until the session ends.
    pub max_iterations: Option<u32>,
    /// What you are told when it goes off.
    pub prompt: String,
}

/// Arguments of `ask_question`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct AskQuestion {
    /// The questions, asked together.
    pub questions: Vec<Question>,
}

/// A question with answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Question {
    /// The question.
    pub question: String,
    /// The answers to choose from. The user can always answer in other words.
    pub options: Vec<String>,
    /// Whether more than one may be chosen. Default: false.
    #[serde(default)]
    pub is_multi_select: bool,
}

/// Arguments of `list_permissions`: none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListPermissions {}

/// Arguments of `ask_permission`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct AskPermission {
    /// What is asked for.
    pub action: PermissionAction,
    /// For what. A file; a directory, which stands for all below it; a path with `*` or `**`. A command line to the
    /// letter, or `npm *` for a command with any plain arguments. An address, or `https://host/*`.
    pub target: String,
    /// Why it is needed. Shown to the user.
    pub reason: String,
}

/// What a permission is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAction {
    /// Reading a file, or all below a directory.
    ReadFile,
    /// Writing a file, or all below a directory.
    WriteFile,
    /// Running a command line.
    Command,
    /// Reading an address.
    ReadUrl,
}

/// Arguments of `invoke_subagent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct InvokeSubagent {
    /// Which subagent: one that was defined, or a built-in one. Default: one like yourself.
    pub name: Option<String>,
    /// What it is to do. It knows nothing but this.
    pub prompt: String,
    /// What to call it in lists and messages. Default: a number.
    pub role: Option<String>,
    /// Whether to go on at once; its answer comes as a message. Default: false, wait for it.
    #[serde(default)]
    pub background: bool,
}

/// Arguments of `define_subagent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct DefineSubagent {
    /// Its name, for `invoke_subagent`.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// What it is told before its task.
    pub system_prompt: String,
    /// The tools it has. Default: those you have; it never has others.
    pub tools: Option<Vec<String>>,
}

/// Arguments of `send_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct SendMessage {
    /// The id of the agent.
    pub recipient: String,
    /// What it is told.
    pub message: String,
}

/// Arguments of `manage_subagents`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct ManageSubagents {
    /// What to do. `list`: all subagents; `kill`: end one; `kill_all`: end all.
    pub action: SubagentAction,
    /// The id of the subagent, for `kill`.
    pub subagent_id: Option<String>,
}

/// What to do with subagents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubagentAction {
    /// List all.
    List,
    /// End one.
    Kill,
    /// End all.
    KillAll,
}

/// What a model is told about all of them.
pub fn specs() -> Vec<Spec> {
    vec![
        Spec::of::<Schedule>(
            "schedule",
            "Sets a timer, once or repeatedly. You are sent Prompt when it goes off, and can stop \
             meanwhile.",
        ),
        Spec::of::<AskQuestion>(
            "ask_question",
            "Asks the user questions with answers to choose from. Only for what you cannot find \
             out yourself.",
        ),
        Spec::of::<ListPermissions>("list_permissions", "Lists what you are permitted to do."),
        Spec::of::<AskPermission>(
            "ask_permission",
            "Asks the user for a permission that you do not have.",
        ),
        Spec::of::<InvokeSubagent>(
            "invoke_subagent",
            "Gives a task to another agent and returns its answer.",
        ),
        Spec::of::<DefineSubagent>(
            "define_subagent",
            "Defines a kind of subagent for this session.",
        ),
        Spec::of::<SendMessage>("send_message", "Sends a message to another agent."),
        Spec::of::<ManageSubagents>("manage_subagents", "Lists subagents, or ends them."),
    ]
}
