//! Cline.
//!
//! A hook is a file that is named after its event, and what it is told has other names for the same
//! events. Only JSON counts, whatever the exit code is; and only what is said about a tool: to all
//! other events Cline does not listen, it does not even wait for the hook. A refusal ends the whole
//! run, and its reason is for the person.

mod input;

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::{Reply, Rewritten, Verdict};
use crate::tools::{HostTool, Shape};

/// Cline.
pub static HOST: Host = Host {
    name: "cline",
    title: "Cline",
    events: EVENTS,
    other_events: &["TaskCancel"],
    tools: TOOLS,
    mcp: McpNames { prefix: "", separator: "__" },
    project_variables: &[],
    patience: Duration::from_mins(2),
    wire: &Cline,
};

/// What is said to an event that it does not wait for.
const UNHEARD: Forms =
    Forms { refuse: Form::Lost, rewrite: Form::Lost, context: Form::Lost, ..Forms::NONE };

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate(
        "PreToolUse",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Refused,
            allow: Form::Lost,
            rewrite: Form::Own,
            ..Forms::NONE
        },
    ),
    HostEvent::gate(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Own, rewrite: Form::Refused, ..Forms::NONE },
    ),
    HostEvent::tells("UserPromptSubmit", Kind::TurnStart, UNHEARD),
    HostEvent::tells("TaskStart", Kind::SessionStart, Forms { context: Form::Lost, ..Forms::NONE }),
    HostEvent::tells(
        "TaskResume",
        Kind::SessionStart,
        Forms { context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells("TaskComplete", Kind::TurnEnd, UNHEARD),
    HostEvent::tells("TaskError", Kind::Failure, Forms::NONE),
    HostEvent::tells("PreCompact", Kind::CompactionPre, UNHEARD),
    HostEvent::tells("SessionShutdown", Kind::SessionEnd, Forms::NONE),
];

/// What its input calls each event.
const HOOK_NAMES: &[(&str, &str)] = &[
    ("tool_call", "PreToolUse"),
    ("tool_result", "PostToolUse"),
    ("prompt_submit", "UserPromptSubmit"),
    ("agent_start", "TaskStart"),
    ("agent_resume", "TaskResume"),
    ("agent_end", "TaskComplete"),
    ("agent_abort", "TaskCancel"),
    ("agent_error", "TaskError"),
    ("pre_compact", "PreCompact"),
    ("session_shutdown", "SessionShutdown"),
];

const PATH: &[(&str, &str)] = &[("path", "TargetFile"), ("content", "CodeContent")];

/// Its tools: those of the command, then those of the editor's extension.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("run_commands", "run_command", &[("commands", "CommandLine")])
        .shape(Shape::Each("commands")),
    HostTool::new(
        "read_files",
        "view_file",
        &[("path", "AbsolutePath"), ("start_line", "StartLine"), ("end_line", "EndLine")],
    )
    .shape(Shape::Each("files")),
    HostTool::new("search_codebase", "grep_search", &[("queries", "Query")])
        .shape(Shape::Each("queries")),
    HostTool::new("fetch_web_content", "read_url_content", &[("url", "Url")])
        .shape(Shape::Each("requests")),
    HostTool::new(
        "editor",
        "replace_file_content",
        &[
            ("path", "TargetFile"),
            ("old_text", "TargetContent"),
            ("new_text", "ReplacementContent"),
        ],
    ),
    HostTool::new("apply_patch", "replace_file_content", &[]).shape(Shape::Patch("input")),
    HostTool::new("spawn_agent", "invoke_subagent", &[]),
    HostTool::new("ask_question", "ask_question", &[]),
    HostTool::new("team_send_message", "send_message", &[]),
    HostTool::new("execute_command", "run_command", &[("command", "CommandLine")]),
    HostTool::new("read_file", "view_file", &[("path", "AbsolutePath")]),
    HostTool::new("write_to_file", "write_to_file", PATH),
    HostTool::new("new_rule", "write_to_file", PATH),
    HostTool::new(
        "replace_in_file",
        "replace_file_content",
        &[("path", "TargetFile"), ("diff", "ReplacementContent")],
    ),
    HostTool::new("list_files", "list_dir", &[("path", "DirectoryPath")]),
    HostTool::new("list_code_definition_names", "list_dir", &[("path", "DirectoryPath")]),
    HostTool::new("search_files", "grep_search", &[("path", "SearchPath"), ("regex", "Query")]),
    HostTool::new("web_fetch", "read_url_content", &[("url", "Url")]),
    HostTool::new("browser_action", "read_url_content", &[("url", "Url")]),
    HostTool::new("web_search", "search_web", &[]),
    HostTool::new("ask_followup_question", "ask_question", &[]),
    HostTool::new("use_subagents", "invoke_subagent", &[]),
];

/// What Cline says and is told.
struct Cline;

impl Wire for Cline {
    fn event_of<'a>(&self, input: &'a Args) -> Option<&'a str> {
        let name = input.get("hookName")?.as_str()?;
        let known = HOOK_NAMES.iter().find(|(theirs, _)| *theirs == name);
        Some(known.map_or(name, |(_, event)| event))
    }

    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        Fields::new(host, &Names::SNAKE, input::flat(&input)).read(event)
    }

    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        let name = |event: &str| {
            let known = HOOK_NAMES.iter().find(|(_, ours)| *ours == event);
            known.map(|(theirs, _)| *theirs)
        };
        input::nested(fields::write(host, &Names::SNAKE, event, session)?, name)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        let mut said = Map::new();
        if matches!(event.kind, Kind::ToolPre | Kind::ToolPost) {
            if matches!(reply.verdict, Verdict::Refuse | Verdict::Resume) {
                said.insert("cancel".to_owned(), true.into());
                said.insert("errorMessage".to_owned(), reply.reason.as_str().into());
            }
            if let Some(Rewritten::Input(input)) = &reply.rewrite {
                said.insert("overrideInput".to_owned(), input.clone());
            }
            if !reply.context.is_empty() {
                let text = reply.context.join("\n\n");
                said.insert("contextModification".to_owned(), text.into());
            }
        }
        if said.is_empty() { Output::silent() } else { Output::json(&Value::Object(said)) }
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        if !matches!(event.kind, Kind::ToolPre | Kind::ToolPost) {
            return Ok(Reply::default());
        }
        let stdout = String::from_utf8_lossy(&output.stdout);
        if stdout.trim().is_empty() {
            return Ok(Reply::default());
        }
        let said: Value = serde_json::from_str(&stdout)
            .map_err(|_| WireError::new("it printed something that is no JSON"))?;
        let text = |name: &str| said.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let context = text("context").or_else(|| text("contextModification"));
        let message = text("errorMessage").filter(|message| !message.trim().is_empty());
        let mut reply = Reply::default();
        if said.get("cancel") == Some(&json!(true)) {
            reply.verdict = Verdict::Refuse;
            reply.reason = message.or(context).unwrap_or_default();
        } else {
            reply.context = context.or(message).into_iter().collect();
        }
        if event.kind == Kind::ToolPre {
            reply.rewrite = said.get("overrideInput").cloned().map(Rewritten::Input);
        }
        Ok(reply)
    }
}
