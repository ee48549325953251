//! Qwen Code. Its events and answers are Claude Code's by name, its tools Gemini CLI's, and what it
//! makes of an answer is its own.
//!
//! With exit code 2 it reads standard error alone, as JSON where it is some: then that is the answer,
//! and else the text refuses. And where several hooks answer, an allow of any of them undoes what
//! another denies, but not that it is not to continue. So a refusal is all of these at once, in both
//! places. It does not end more than the call: the model is told the reason and goes on.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::form;
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError, json_in};
use crate::reply::{Reply, Verdict};
use crate::tools::{HostTool, Shape};

/// Qwen Code.
pub static HOST: Host = Host {
    name: "qwen",
    title: "Qwen Code",
    events: EVENTS,
    other_events: OTHER_EVENTS,
    tools: TOOLS,
    mcp: McpNames::CLAUDE,
    project_variables: &["QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    patience: Duration::from_mins(1),
    wire: &Qwen,
};

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    // An allow changes nothing about what it asks the person, and `updatedInput` nothing at all.
    HostEvent::gate(
        "PreToolUse",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Own,
            allow: Form::Lost,
            rewrite: Form::Refused,
            ..Forms::NONE
        },
    ),
    // After the one above has let the call pass.
    HostEvent::gate(
        "PermissionRequest",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Lost,
            allow: Form::Own,
            rewrite: Form::Refused,
            ..Forms::NONE
        },
    )
    .unregistered(),
    // The reason why it is not to continue stands where the result was.
    HostEvent::gate(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Own, rewrite: Form::Told, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PostToolUseFailure",
        Kind::ToolError,
        Forms { refuse: Form::Lost, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::gate(
        "UserPromptSubmit",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Refused, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells(
        "SessionStart",
        Kind::SessionStart,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("SessionEnd", Kind::SessionEnd, Forms::NONE),
    HostEvent::tells("Stop", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells("StopFailure", Kind::Failure, Forms::NONE),
    HostEvent::tells("SubagentStart", Kind::SubagentStart, Forms::NONE),
    // A refusal sends it back with the reason.
    HostEvent::tells(
        "SubagentStop",
        Kind::SubagentStop,
        Forms { refuse: Form::Own, rewrite: Form::Refused, ..Forms::NONE },
    ),
    // What is added goes to whoever writes the summary, and is not in it.
    HostEvent::tells(
        "PreCompact",
        Kind::CompactionPre,
        Forms { refuse: Form::Lost, context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PostCompact",
        Kind::CompactionPost,
        Forms { context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "Notification",
        Kind::Notification,
        Forms { refuse: Form::Lost, ..Forms::NONE },
    ),
];

/// Events of which no hook of Tollgate is told.
const OTHER_EVENTS: &[&str] = &[
    "PostToolBatch",
    "UserPromptExpansion",
    "SessionDelete",
    "MessageDisplay",
    "PermissionDenied",
    "TodoCreated",
    "TodoCompleted",
    "InstructionsLoaded",
];

/// Its tools. Those that it hands out only on request come under their own names as well.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("run_shell_command", "run_command", COMMAND),
    HostTool::new("monitor", "run_command", COMMAND),
    HostTool::new(
        "read_file",
        "view_file",
        &[("file_path", "AbsolutePath"), ("absolute_path", "AbsolutePath")],
    ),
    HostTool::new("zoom_image", "view_file", &[("file_path", "AbsolutePath")]),
    HostTool::new("read_many_files", "view_file", &[("paths", "AbsolutePath")])
        .shape(Shape::Each("paths")),
    HostTool::new(
        "write_file",
        "write_to_file",
        &[("file_path", "TargetFile"), ("content", "CodeContent")],
    ),
    HostTool::new(
        "edit",
        "replace_file_content",
        &[
            ("file_path", "TargetFile"),
            ("old_string", "TargetContent"),
            ("new_string", "ReplacementContent"),
            ("replace_all", "AllowMultiple"),
        ],
    ),
    HostTool::new(
        "notebook_edit",
        "replace_file_content",
        &[("notebook_path", "TargetFile"), ("new_source", "ReplacementContent")],
    ),
    HostTool::new("list_directory", "list_dir", &[("path", "DirectoryPath")]),
    HostTool::new("glob", "find_by_name", &[("path", "SearchDirectory"), ("pattern", "Pattern")]),
    HostTool::new("grep_search", "grep_search", &[("path", "SearchPath"), ("pattern", "Query")]),
    HostTool::new("web_fetch", "read_url_content", &[("url", "Url")]),
    HostTool::new("web_search", "search_web", &[]),
    HostTool::new("agent", "invoke_subagent", &[]),
    HostTool::new("task", "invoke_subagent", &[]),
    HostTool::new("list_agents", "manage_subagents", &[]),
    HostTool::new("send_message", "send_message", &[]),
    HostTool::new("task_stop", "manage_task", &[]),
    HostTool::new("cron_create", "schedule", &[]),
    HostTool::new("loop_wakeup", "schedule", &[]),
    HostTool::new("ask_user_question", "ask_question", &[]),
];

const COMMAND: &[(&str, &str)] = &[("command", "CommandLine"), ("directory", "Cwd")];

/// What Qwen Code says and is told.
struct Qwen;

impl Wire for Qwen {
    /// It tells a prompt once more for each round of tools, and then there is none.
    fn concerns(&self, event: &HostEvent, input: &Args) -> bool {
        event.kind != Kind::TurnStart || input.get("prompt").and_then(Value::as_str) != Some("")
    }

    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        Fields::new(host, &Names::SNAKE, input).read(event)
    }

    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        fields::write(host, &Names::SNAKE, event, session)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        if event.name == "PermissionRequest" {
            return form::permission(event, reply.verdict, &reply.reason);
        }
        let reason = &reply.reason;
        let answer = match (event.kind, reply.verdict) {
            (Kind::ToolPre, Verdict::Refuse | Verdict::Resume) => json!({
                "continue": false, "stopReason": reason, "decision": "block", "reason": reason,
                "hookSpecificOutput": {
                    "hookEventName": event.name, "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                },
            }),
            (Kind::ToolPost, Verdict::Refuse | Verdict::Resume) => {
                json!({"continue": false, "stopReason": reason})
            }
            (_, Verdict::Refuse | Verdict::Resume) => {
                json!({"decision": "block", "reason": reason})
            }
            (Kind::ToolPre, Verdict::Ask) => json!({"hookSpecificOutput": {
                "hookEventName": event.name, "permissionDecision": "ask",
                "permissionDecisionReason": reason,
            }}),
            _ if !reply.context.is_empty() => json!({"hookSpecificOutput": {
                "hookEventName": event.name, "additionalContext": reply.context.join("\n\n"),
            }}),
            _ => return Output::silent(),
        };
        let output = Output::json(&answer);
        let refused = matches!(reply.verdict, Verdict::Refuse | Verdict::Resume);
        if refused { output.failing(2, &answer.to_string()) } else { output }
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let from_stdout = output.code != 2 && !stdout.trim().is_empty();
        let text = if from_stdout { stdout.trim() } else { stderr.trim() };
        if text.is_empty() {
            return Ok(Reply::default());
        }
        match json_in(text) {
            Ok(Value::Object(fields)) => Ok(answer(event, &fields)),
            _ if output.code == 2 => {
                let fields = [("decision", "deny"), ("reason", text)];
                let fields = fields.map(|(name, text)| (name.to_owned(), Value::from(text)));
                Ok(answer(event, &Map::from_iter(fields)))
            }
            // Where text for the model is all there is to say, plain text is that.
            _ if from_stdout
                && output.code == 0
                && matches!(event.kind, Kind::SessionStart | Kind::TurnStart)
                && !text.starts_with('{') =>
            {
                Ok(Reply { context: vec![text.to_owned()], ..Reply::default() })
            }
            _ => Err(WireError::new("it printed something that is no JSON object")),
        }
    }
}

fn answer(event: &HostEvent, fields: &Args) -> Reply {
    let empty = Map::new();
    let own = fields.get("hookSpecificOutput").and_then(Value::as_object).unwrap_or(&empty);
    let text = |fields: &Args, name: &str| {
        let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(ToOwned::to_owned)
    };
    let stops = fields.get("continue").and_then(Value::as_bool) == Some(false);
    let decision = text(fields, "decision");
    let blocks = matches!(decision.as_deref(), Some("block" | "deny"));
    let reason = text(fields, "stopReason").or_else(|| text(fields, "reason")).unwrap_or_default();
    let (verdict, reason) = match event.kind {
        Kind::ToolPre => {
            if let Some(asked) = own.get("decision") {
                let said = |name: &str| asked.get(name).and_then(Value::as_str);
                let verdict = match said("behavior") {
                    Some("allow") => Verdict::Allow,
                    Some("deny") => Verdict::Refuse,
                    _ => Verdict::Silent,
                };
                (verdict, said("message").unwrap_or_default().to_owned())
            } else {
                let why = text(own, "permissionDecisionReason");
                let why = why.or_else(|| text(fields, "reason")).unwrap_or_else(|| reason.clone());
                let own = text(own, "permissionDecision");
                let own = own.filter(|it| matches!(it.as_str(), "allow" | "deny" | "ask"));
                match own.or(decision).as_deref() {
                    Some("deny" | "block") => (Verdict::Refuse, why),
                    Some("ask") => (Verdict::Ask, why),
                    _ if stops => (Verdict::Refuse, reason),
                    Some("allow" | "approve") => (Verdict::Allow, why),
                    _ => (Verdict::Silent, String::new()),
                }
            }
        }
        Kind::ToolPost if stops => (Verdict::Refuse, reason),
        Kind::TurnStart | Kind::SubagentStop if blocks || stops => (Verdict::Refuse, reason),
        Kind::Stop if blocks || stops => (Verdict::Resume, reason),
        _ => (Verdict::Silent, String::new()),
    };
    let takes_text = matches!(
        event.kind,
        Kind::TurnStart | Kind::SessionStart | Kind::ToolPost | Kind::ToolError
    );
    let context = text(own, "additionalContext").filter(|_| takes_text);
    Reply { verdict, reason, context: context.into_iter().collect(), ..Reply::default() }
}
