//! `OpenCode`, which calls no commands.
//!
//! It loads JavaScript, so a plugin of Tollgate asks the command for it: with what Claude Code would
//! say, about `OpenCode`'s own tools, and goes by the answer. The plugin refuses where it gets none, so
//! that here, unlike elsewhere, a hook that is missing or breaks lets nothing pass.

use std::time::Duration;

use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::form::{self, Rules};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::Reply;
use crate::tools::{HostTool, Shape};

/// `OpenCode`.
pub static HOST: Host = Host {
    name: "opencode",
    title: "OpenCode",
    events: EVENTS,
    other_events: &[],
    tools: TOOLS,
    mcp: McpNames { prefix: "", separator: "_" },
    project_variables: &[],
    patience: Duration::from_mins(1),
    wire: &OpenCode,
};

const PLUGIN: &str = include_str!("opencode/plugin.js");
const REFUSES: &str = "const MISSING = \"refuse\"";
const WARNS: &str = "const MISSING = \"warn\"";
const COMMAND: &str = r#"["tollgate", "hook", "opencode"]"#;

/// Returns the plugin, with the command that it asks: the program and its arguments. With `warns`, a missing program
/// gives a warning, once, instead of refusals.
///
/// ```
/// let command = ["/opt/my tools/tollgate", "hook", "opencode"];
/// let plugin = tollgate_hosts::opencode::plugin(&command, false);
/// assert!(plugin.contains(r#"const COMMAND = ["/opt/my tools/tollgate","hook","opencode"]"#));
/// ```
pub fn plugin(command: &[&str], warns: bool) -> String {
    let plugin = PLUGIN.replacen(COMMAND, &Value::from(command).to_string(), 1);
    if warns { plugin.replacen(REFUSES, WARNS, 1) } else { plugin }
}

/// Its events, as the plugin tells them. It has all of them as soon as it is there.
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
        Forms { refuse: Form::Own, rewrite: Form::Own, ..Forms::NONE },
    ),
    HostEvent::gate(
        "UserPromptSubmit",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Own, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells(
        "SessionStart",
        Kind::SessionStart,
        Forms { context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells("SessionEnd", Kind::SessionEnd, Forms::NONE),
    HostEvent::tells("Stop", Kind::Stop, Forms { resume: Form::Lost, ..Forms::NONE }),
    HostEvent::tells("SubagentStart", Kind::SubagentStart, Forms::NONE),
    HostEvent::tells(
        "SubagentStop",
        Kind::SubagentStop,
        Forms { refuse: Form::Lost, rewrite: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PreCompact",
        Kind::CompactionPre,
        Forms { refuse: Form::Lost, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PostCompact",
        Kind::CompactionPost,
        Forms { context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells("StopFailure", Kind::Failure, Forms::NONE),
];

/// Its tools.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("bash", "run_command", &[("command", "CommandLine"), ("workdir", "Cwd")]),
    HostTool::new("read", "view_file", &[("filePath", "AbsolutePath")]),
    HostTool::new(
        "write",
        "write_to_file",
        &[("filePath", "TargetFile"), ("content", "CodeContent")],
    ),
    HostTool::new(
        "edit",
        "replace_file_content",
        &[
            ("filePath", "TargetFile"),
            ("oldString", "TargetContent"),
            ("newString", "ReplacementContent"),
            ("replaceAll", "AllowMultiple"),
        ],
    ),
    HostTool::new(
        "multiedit",
        "multi_replace_file_content",
        &[
            ("filePath", "TargetFile"),
            ("edits", "ReplacementChunks"),
            ("oldString", "TargetContent"),
            ("newString", "ReplacementContent"),
            ("replaceAll", "AllowMultiple"),
        ],
    )
    .shape(Shape::Edits("edits")),
    HostTool::new("apply_patch", "replace_file_content", &[]).shape(Shape::Patch("patchText")),
    HostTool::new("patch", "replace_file_content", &[]).shape(Shape::Patch("patchText")),
    HostTool::new("list", "list_dir", &[("path", "DirectoryPath")]),
    HostTool::new("glob", "find_by_name", &[("path", "SearchDirectory"), ("pattern", "Pattern")]),
    HostTool::new("grep", "grep_search", &[("path", "SearchPath"), ("pattern", "Query")]),
    HostTool::new("webfetch", "read_url_content", &[("url", "Url")]),
    HostTool::new("websearch", "search_web", &[]),
    HostTool::new("codesearch", "search_web", &[]),
    HostTool::new("task", "invoke_subagent", &[]),
    HostTool::new("question", "ask_question", &[]),
];

/// What the plugin makes of an answer.
const RULES: Rules = Rules { checks_event_name: false, asks: false, ..Rules::CLAUDE };

/// What the plugin says and is told.
struct OpenCode;

impl Wire for OpenCode {
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
        form::write(RULES, event, reply)
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        match form::read(RULES, event, output) {
            // What cannot be read is a refusal, and so is what it does not know.
            Err(error) if event.gate => Ok(Reply::refuse(&error.message)),
            read => read,
        }
    }
}
