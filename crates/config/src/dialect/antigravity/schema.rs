//! The schema of `hooks.json`. The types are for that alone: what is read goes by functions, which can
//! say what is wrong and where.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::super::schema::without_null;

/// Antigravity's `hooks.json`: hooks by their names.
#[derive(JsonSchema)]
#[schemars(rename = "AntigravityHooks", transparent)]
#[allow(dead_code)]
struct File(BTreeMap<String, Hook>);

/// A named hook: its handlers, by event.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, non_snake_case)]
struct Hook {
    /// Whether it is in force. Default: true.
    enabled: Option<bool>,
    /// Before a tool runs: may allow, deny, ask, and set arguments.
    PreToolUse: Option<Vec<Group>>,
    /// After a tool has run or failed.
    PostToolUse: Option<Vec<Group>>,
    /// Before the model is called: may inject steps.
    PreInvocation: Option<Vec<Handler>>,
    /// After the tool calls of a model call: may inject steps, force the loop on or end it.
    PostInvocation: Option<Vec<Handler>>,
    /// When the agent would stop: may keep it going.
    Stop: Option<Vec<Handler>>,
    /// When a session begins. Newer than the documented format.
    SessionStart: Option<Vec<Handler>>,
}

/// Handlers for the tools that a matcher names.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct Group {
    /// A regular expression on the whole name of the tool; `""` and `"*"` mean all.
    matcher: Option<String>,
    /// The handlers.
    hooks: Vec<Handler>,
}

/// A command to run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct Handler {
    /// Only `command` is known. Default: `command`.
    #[schemars(extend("const" = "command"))]
    r#type: Option<String>,
    /// A command for `sh -c`, run in the directory of this file.
    #[schemars(length(min = 1))]
    command: String,
    /// How long it may take, in seconds. Default: 30.
    #[schemars(range(min = 1, max = 86400))]
    timeout: Option<u32>,
}

/// The JSON Schema of the file.
pub fn schema() -> schemars::Schema {
    without_null(schemars::schema_for!(File))
}
