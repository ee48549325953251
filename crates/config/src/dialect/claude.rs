//! Claude Code's `settings.json`: the hooks in it, `sh -c`, exact names or expressions.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::{Dialect, Kind};
use tollgate_hosts::claude;

use super::host::{Form, HostDialect};
use super::{Call, EventName, Home, Shell};

/// The dialect.
pub static CLAUDE: HostDialect = HostDialect {
    dialect: Dialect::Claude,
    host: &claude::HOST,
    events: EVENTS,
    home: Home {
        folder: "claude",
        in_project: ".claude",
        file: "settings.json",
        also_in_project: &["settings.local.json"],
        is_shared: true,
    },
    shell: Shell::Sh,
    time: Duration::from_mins(10),
    form: Form {
        comments: true,
        unit: Duration::from_secs(1),
        off: Some(("disableAllHooks", true)),
        beside: &[],
        group: &["matcher", "hooks"],
        handler: &[
            "type",
            "command",
            "args",
            "if",
            "shell",
            "timeout",
            "onFailure",
            "statusMessage",
            "once",
            "async",
            "asyncRewake",
        ],
        list: Some("_|, "),
        aliases: &[
            ("Agent", &["Task"]),
            ("Task", &["Agent"]),
            // Later versions have one tool for both.
            ("MultiEdit", &["Edit"]),
        ],
        subjects: &[
            (Kind::SessionStart, "source"),
            (Kind::SessionEnd, "reason"),
            (Kind::CompactionPre, "trigger"),
            (Kind::CompactionPost, "trigger"),
            (Kind::Notification, "notification_type"),
            (Kind::SubagentStart, "agent_type"),
            (Kind::SubagentStop, "agent_type"),
        ],
    },
    variables,
    instead: |_| None,
    result,
};

/// Its events that happen here.
static EVENTS: &[EventName] = &[
    EventName { name: "PreToolUse", kinds: &[Kind::ToolPre] },
    EventName { name: "PostToolUse", kinds: &[Kind::ToolPost] },
    EventName { name: "PostToolUseFailure", kinds: &[Kind::ToolError] },
    EventName { name: "UserPromptSubmit", kinds: &[Kind::TurnStart] },
    EventName { name: "SessionStart", kinds: &[Kind::SessionStart] },
    EventName { name: "SessionEnd", kinds: &[Kind::SessionEnd] },
    EventName { name: "Stop", kinds: &[Kind::Stop] },
    EventName { name: "StopFailure", kinds: &[Kind::Failure] },
    EventName { name: "SubagentStart", kinds: &[Kind::SubagentStart] },
    EventName { name: "SubagentStop", kinds: &[Kind::SubagentStop] },
    EventName { name: "PreCompact", kinds: &[Kind::CompactionPre] },
    EventName { name: "PostCompact", kinds: &[Kind::CompactionPost] },
    EventName { name: "Notification", kinds: &[Kind::Notification] },
];

fn variables(call: &Call<'_>) -> Vec<(&'static str, String)> {
    let mut variables =
        vec![("CLAUDECODE", "1".to_owned()), ("CLAUDE_CODE_SESSION_ID", call.session.id.clone())];
    if let Some(project) = call.project {
        variables.push(("CLAUDE_PROJECT_DIR", project.to_owned()));
    }
    variables
}

/// What a tool came to, as hooks read it. Those of MCP servers give parts, and most others a form of
/// their own, of which scripts read the output of commands.
fn result(tool: &str, text: &str) -> Value {
    match tool {
        "Bash" => json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false}),
        _ if tool.starts_with("mcp__") => json!([{"type": "text", "text": text}]),
        _ => text.into(),
    }
}
