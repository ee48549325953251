//! Gemini CLI's `settings.json`: events of its own, milliseconds, `bash -c`, expressions.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::event::ToolCall;
use tollgate_core::{Dialect, Kind, tools};
use tollgate_hosts::gemini;

use super::host::{Form, HostDialect};
use super::{Call, EventName, Home, Shell};

/// The dialect.
pub static GEMINI: HostDialect = HostDialect {
    dialect: Dialect::Gemini,
    host: &gemini::HOST,
    events: EVENTS,
    home: Home {
        folder: "gemini",
        in_project: ".gemini",
        file: "settings.json",
        also_in_project: &[],
        is_shared: true,
    },
    shell: Shell::Bash,
    time: Duration::from_mins(1),
    form: Form {
        comments: true,
        unit: Duration::from_millis(1),
        off: Some(("hooksConfig.enabled", false)),
        beside: &["enabled", "disabled", "notifications"],
        group: &["matcher", "sequential", "hooks"],
        handler: &["type", "command", "name", "timeout", "description", "env"],
        list: None,
        aliases: &[
            ("grep_search", &["search_file_content"]),
            ("search_file_content", &["grep_search"]),
        ],
        subjects: &[
            (Kind::SessionStart, "source"),
            (Kind::SessionEnd, "reason"),
            (Kind::CompactionPre, "trigger"),
            (Kind::Notification, "notification_type"),
        ],
    },
    variables,
    instead,
    result,
};

/// Its events that happen here. It tells of a tool that failed as of any other.
static EVENTS: &[EventName] = &[
    EventName { name: "BeforeTool", kinds: &[Kind::ToolPre] },
    EventName { name: "AfterTool", kinds: &[Kind::ToolPost, Kind::ToolError] },
    EventName { name: "BeforeAgent", kinds: &[Kind::TurnStart] },
    EventName { name: "AfterAgent", kinds: &[Kind::Stop] },
    EventName { name: "BeforeModel", kinds: &[Kind::ModelPre] },
    EventName { name: "AfterModel", kinds: &[Kind::ModelPost] },
    EventName { name: "SessionStart", kinds: &[Kind::SessionStart] },
    EventName { name: "SessionEnd", kinds: &[Kind::SessionEnd] },
    EventName { name: "PreCompress", kinds: &[Kind::CompactionPre] },
    EventName { name: "Notification", kinds: &[Kind::Notification] },
];

fn variables(call: &Call<'_>) -> Vec<(&'static str, String)> {
    let mut variables = vec![("GEMINI_SESSION_ID", call.session.id.clone())];
    if let Some(project) = call.project {
        let cwd = call.session.workspaces.first().map_or(project, String::as_str);
        variables.push(("GEMINI_CWD", cwd.to_owned()));
        let of_project = ["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];
        variables.extend(of_project.map(|name| (name, project.to_owned())));
    }
    variables
}

/// It edits one place at a time, and fetches what a prompt names.
fn instead(call: &ToolCall) -> Option<(&'static str, Value)> {
    match tools::lookup(&call.name).map(|tool| tool.name)? {
        "multi_replace_file_content" => {
            let chunks = call.args.get("ReplacementChunks").and_then(Value::as_array);
            let all = |name: &str| {
                let chunks = chunks.into_iter().flatten();
                let texts = chunks.filter_map(|chunk| chunk.get(name).and_then(Value::as_str));
                texts.collect::<Vec<_>>().join("\n")
            };
            let input = json!({
                "file_path": call.args.get("TargetFile"),
                "old_string": all("TargetContent"),
                "new_string": all("ReplacementContent"),
            });
            Some(("replace", input))
        }
        "read_url_content" => Some(("web_fetch", json!({"prompt": call.args.get("Url")}))),
        _ => None,
    }
}

/// What a tool came to, as hooks read it.
fn result(tool: &str, text: &str) -> Value {
    if tool.starts_with("mcp_") {
        return json!({"llmContent": [{"text": text}], "returnDisplay": text});
    }
    json!({"llmContent": text, "returnDisplay": ""})
}
