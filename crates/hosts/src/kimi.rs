//! Kimi Code. Its events are Claude Code's; of an answer it takes a refusal of a tool, a prompt or a
//! stop, text beside a prompt, and nothing else. It waits for an answer to these alone.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::{Reply, Verdict};
use crate::tools::HostTool;

/// Kimi Code.
pub static HOST: Host = Host {
    name: "kimi",
    title: "Kimi Code",
    events: EVENTS,
    other_events: OTHER_EVENTS,
    tools: TOOLS,
    mcp: McpNames::CLAUDE,
    project_variables: &[],
    patience: Duration::from_secs(30),
    wire: &Kimi,
};

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate(
        "PreToolUse",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Refused,
            allow: Form::Lost,
            rewrite: Form::Refused,
            ..Forms::NONE
        },
    ),
    // No more than the first 2000 characters of a result, and no answer is waited for.
    HostEvent::tells(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Lost, rewrite: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PostToolUseFailure",
        Kind::ToolError,
        Forms { refuse: Form::Lost, context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::gate(
        "UserPromptSubmit",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Refused, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells(
        "SessionStart",
        Kind::SessionStart,
        Forms { context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells("SessionEnd", Kind::SessionEnd, Forms::NONE),
    // Once a turn.
    HostEvent::tells("Stop", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells("StopFailure", Kind::Failure, Forms::NONE),
    HostEvent::tells("SubagentStart", Kind::SubagentStart, Forms::NONE),
    HostEvent::tells(
        "SubagentStop",
        Kind::SubagentStop,
        Forms { refuse: Form::Lost, rewrite: Form::Lost, ..Forms::NONE },
    ),
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
    "PermissionRequest",
    "PermissionResult",
    "UserPromptQueued",
    "TurnStarted",
    "Interrupt",
    "SessionHeartbeat",
    "TaskStarted",
];

/// Its tools.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("Bash", "run_command", &[("command", "CommandLine"), ("cwd", "Cwd")]),
    HostTool::new("Read", "view_file", &[("path", "AbsolutePath")]),
    HostTool::new("ReadMediaFile", "view_file", &[("path", "AbsolutePath")]),
    HostTool::new("Write", "write_to_file", &[("path", "TargetFile"), ("content", "CodeContent")]),
    HostTool::new(
        "Edit",
        "replace_file_content",
        &[
            ("path", "TargetFile"),
            ("old_string", "TargetContent"),
            ("new_string", "ReplacementContent"),
            ("replace_all", "AllowMultiple"),
        ],
    ),
    HostTool::new("Glob", "find_by_name", &[("path", "SearchDirectory"), ("pattern", "Pattern")]),
    HostTool::new("Grep", "grep_search", &[("path", "SearchPath"), ("pattern", "Query")]),
    HostTool::new("FetchURL", "read_url_content", &[("url", "Url")]),
    HostTool::new("WebSearch", "search_web", &[]),
    HostTool::new("Agent", "invoke_subagent", &[]),
    HostTool::new("AgentSwarm", "invoke_subagent", &[]),
    HostTool::new("AskUserQuestion", "ask_question", &[]),
    HostTool::new("TaskList", "manage_task", &[]),
    HostTool::new("TaskOutput", "manage_task", &[]),
    HostTool::new("TaskStop", "manage_task", &[]),
    HostTool::new("CronCreate", "schedule", &[]),
    HostTool::new("CronDelete", "schedule", &[]),
    HostTool::new("CronList", "schedule", &[]),
];

/// What Kimi Code says and is told.
struct Kimi;

impl Wire for Kimi {
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
        let reason = &reply.reason;
        match reply.verdict {
            Verdict::Refuse | Verdict::Resume => {
                let denied = json!({"hookSpecificOutput": {
                    "hookEventName": event.name, "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                }});
                Output::json(&denied).failing(2, reason)
            }
            _ if !reply.context.is_empty() => {
                Output::json(&json!({"message": reply.context.join("\n\n")}))
            }
            _ => Output::silent(),
        }
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        let verdict = match event.kind {
            Kind::ToolPre | Kind::TurnStart => Verdict::Refuse,
            Kind::Stop => Verdict::Resume,
            _ => return Ok(Reply::default()),
        };
        let refused =
            |reason: &str| Reply { verdict, reason: reason.to_owned(), ..Reply::default() };
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stdout = stdout.trim();
        match output.code {
            0 => {}
            2 => return Ok(refused(String::from_utf8_lossy(&output.stderr).trim())),
            other => {
                return Err(WireError::new(format!("it exited with {other}, which says nothing")));
            }
        }
        let said: Value = serde_json::from_str(stdout).unwrap_or_default();
        let own = said.get("hookSpecificOutput");
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(ToOwned::to_owned);
        let of_own = |name: &str| own.and_then(|own| own.get(name));
        if text(of_own("permissionDecision")).as_deref() == Some("deny") {
            return Ok(refused(&text(of_own("permissionDecisionReason")).unwrap_or_default()));
        }
        if event.kind != Kind::TurnStart {
            return match said {
                Value::Object(_) => Ok(Reply::default()),
                _ if stdout.is_empty() => Ok(Reply::default()),
                _ => Err(WireError::new("it printed something that is no JSON object")),
            };
        }
        // Whatever is printed beside a prompt is for the model.
        let message = text(said.get("message")).or_else(|| text(of_own("message")));
        let context = message.unwrap_or_else(|| stdout.to_owned());
        let context = Some(context).filter(|text| !text.is_empty());
        Ok(Reply { context: context.into_iter().collect(), ..Reply::default() })
    }
}
