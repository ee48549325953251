//! The agent of Visual Studio Code, by its documents: it was not run.
//!
//! Its form is Claude Code's, but for a few answers; its tools are its own. It also reads what is
//! configured for Claude Code and for Copilot.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::form::{self, Rules};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::{Reply, Verdict};
use crate::tools::{HostTool, Shape};

/// Visual Studio Code.
pub static HOST: Host = Host {
    name: "vscode",
    title: "Visual Studio Code",
    events: EVENTS,
    other_events: &[],
    tools: TOOLS,
    mcp: McpNames { prefix: "mcp_", separator: "_" },
    project_variables: &[],
    patience: Duration::from_secs(30),
    wire: &VsCode,
};

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate(
        "PreToolUse",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Own,
            allow: Form::Own,
            rewrite: Form::Own,
            ..Forms::NONE
        },
    ),
    HostEvent::gate(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Own, rewrite: Form::Refused, ..Forms::NONE },
    ),
    HostEvent::gate(
        "UserPromptSubmit",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Refused, context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "SessionStart",
        Kind::SessionStart,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("Stop", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells("SubagentStart", Kind::SubagentStart, Forms::NONE),
    // A refusal sends it back with the reason.
    HostEvent::tells(
        "SubagentStop",
        Kind::SubagentStop,
        Forms { refuse: Form::Own, rewrite: Form::Refused, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PreCompact",
        Kind::CompactionPre,
        Forms { refuse: Form::Lost, context: Form::Lost, ..Forms::NONE },
    ),
];

const COMMAND: &[(&str, &str)] = &[("command", "CommandLine")];
const READ: &[(&str, &str)] = &[("filePath", "AbsolutePath"), ("path", "AbsolutePath")];
const WRITE: &[(&str, &str)] =
    &[("filePath", "TargetFile"), ("path", "TargetFile"), ("content", "CodeContent")];
const EDIT: &[(&str, &str)] = &[
    ("filePath", "TargetFile"),
    ("path", "TargetFile"),
    ("files", "TargetFile"),
    ("oldString", "TargetContent"),
    ("newString", "ReplacementContent"),
    ("newCode", "ReplacementContent"),
    ("code", "ReplacementContent"),
];
const LIST: &[(&str, &str)] = &[("path", "DirectoryPath")];
const FIND: &[(&str, &str)] = &[("path", "SearchDirectory"), ("query", "Pattern")];
const GREP: &[(&str, &str)] = &[("path", "SearchPath"), ("query", "Query")];
const FETCH: &[(&str, &str)] = &[("urls", "Url"), ("url", "Url")];

/// Its tools, under the names that models call them by and those that people do.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("run_in_terminal", "run_command", COMMAND),
    HostTool::new("runInTerminal", "run_command", COMMAND),
    HostTool::new("runTerminalCommand", "run_command", COMMAND),
    HostTool::new("send_to_terminal", "run_command", COMMAND),
    HostTool::new("read_file", "view_file", READ),
    HostTool::new("readFile", "view_file", READ),
    HostTool::new("view_image", "view_file", READ),
    HostTool::new("create_file", "write_to_file", WRITE),
    HostTool::new("createFile", "write_to_file", WRITE),
    HostTool::new("create_directory", "write_to_file", &[("dirPath", "TargetFile")]),
    HostTool::new("createDirectory", "write_to_file", &[("dirPath", "TargetFile")]),
    HostTool::new("replace_string_in_file", "replace_file_content", EDIT),
    HostTool::new("multi_replace_string_in_file", "replace_file_content", EDIT)
        .shape(Shape::Each("replacements")),
    HostTool::new("insert_edit_into_file", "replace_file_content", EDIT),
    HostTool::new("edit_notebook_file", "replace_file_content", EDIT),
    HostTool::new("editNotebook", "replace_file_content", EDIT),
    HostTool::new("editFiles", "replace_file_content", EDIT).shape(Shape::Each("files")),
    HostTool::new("apply_patch", "replace_file_content", &[]).shape(Shape::Patch("input")),
    HostTool::new("list_dir", "list_dir", LIST),
    HostTool::new("listDirectory", "list_dir", LIST),
    HostTool::new("file_search", "find_by_name", FIND),
    HostTool::new("fileSearch", "find_by_name", FIND),
    HostTool::new("grep_search", "grep_search", GREP),
    HostTool::new("textSearch", "grep_search", GREP),
    HostTool::new("fetch_webpage", "read_url_content", FETCH).shape(Shape::Each("urls")),
    HostTool::new("fetch", "read_url_content", FETCH).shape(Shape::Each("urls")),
    HostTool::new("runSubagent", "invoke_subagent", &[]),
    HostTool::new("vscode_askQuestions", "ask_question", &[]),
];

/// What it makes of an answer.
const RULES: Rules = Rules {
    reads_json_when_failing: false,
    block_refuses_tools: false,
    checks_event_name: false,
    ..Rules::CLAUDE
};

/// What Visual Studio Code says and is told.
struct VsCode;

impl Wire for VsCode {
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
        let goes_on = matches!(event.kind, Kind::Stop | Kind::SubagentStop)
            && matches!(reply.verdict, Verdict::Refuse | Verdict::Resume);
        if goes_on {
            // Documented inside for the one and outside for the other, and an exit code means
            // something else.
            let reason = reply.reason.as_str();
            return Output::json(&json!({
                "decision": "block",
                "reason": reason,
                "hookSpecificOutput":
                    {"hookEventName": event.name, "decision": "block", "reason": reason},
            }));
        }
        form::write(RULES, event, reply)
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        form::read(RULES, event, output)
    }
}
