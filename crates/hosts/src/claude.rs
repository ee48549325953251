//! Claude Code. Its form is the one that most others have taken over, so it is the one that the
//! others are described by.

use std::time::Duration;

use tollgate_core::Kind;

use crate::form::{ClaudeLike, Rules};
use crate::host::{Form, Forms, Host, HostEvent};
use crate::mcp::McpNames;
use crate::tools::{HostTool, Shape};

/// Claude Code.
pub static HOST: Host = Host {
    name: "claude",
    title: "Claude Code",
    events: EVENTS,
    other_events: OTHER_EVENTS,
    tools: TOOLS,
    mcp: McpNames::CLAUDE,
    project_variables: &["CLAUDE_PROJECT_DIR"],
    patience: Duration::from_mins(10),
    wire: &ClaudeLike(Rules::CLAUDE),
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
    HostEvent::gate(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Own, rewrite: Form::Own, ..Forms::NONE },
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
        Forms { refuse: Form::Own, context: Form::Lost, ..Forms::NONE },
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
    HostEvent::tells("StopFailure", Kind::Failure, Forms::NONE),
];

/// Events of which no hook of Tollgate is told. `WorktreeCreate` is the one to stay away from: whoever
/// answers it has to make the worktree.
const OTHER_EVENTS: &[&str] = &[
    "PostToolBatch",
    "UserPromptExpansion",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// Its tools.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("Bash", "run_command", &[("command", "CommandLine")]),
    HostTool::new("PowerShell", "run_command", &[("command", "CommandLine")]),
    HostTool::new("Monitor", "run_command", &[("command", "CommandLine")]),
    HostTool::new("Read", "view_file", &[("file_path", "AbsolutePath")]),
    HostTool::new(
        "Write",
        "write_to_file",
        &[("file_path", "TargetFile"), ("content", "CodeContent")],
    ),
    HostTool::new(
        "Edit",
        "replace_file_content",
        &[
            ("file_path", "TargetFile"),
            ("old_string", "TargetContent"),
            ("new_string", "ReplacementContent"),
            ("replace_all", "AllowMultiple"),
        ],
    ),
    HostTool::new(
        "MultiEdit",
        "multi_replace_file_content",
        &[
            ("file_path", "TargetFile"),
            ("edits", "ReplacementChunks"),
            ("old_string", "TargetContent"),
            ("new_string", "ReplacementContent"),
            ("replace_all", "AllowMultiple"),
        ],
    )
    .shape(Shape::Edits("edits")),
    HostTool::new(
        "NotebookEdit",
        "replace_file_content",
        &[("notebook_path", "TargetFile"), ("new_source", "ReplacementContent")],
    ),
    HostTool::new("NotebookRead", "view_file", &[("notebook_path", "AbsolutePath")]),
    HostTool::new("LS", "list_dir", &[("path", "DirectoryPath")]),
    HostTool::new("Glob", "find_by_name", &[("path", "SearchDirectory"), ("pattern", "Pattern")]),
    HostTool::new("Grep", "grep_search", &[("path", "SearchPath"), ("pattern", "Query")]),
    HostTool::new("WebFetch", "read_url_content", &[("url", "Url")]),
    HostTool::new("WebSearch", "search_web", &[]),
    HostTool::new("Agent", "invoke_subagent", &[]),
    HostTool::new("Task", "invoke_subagent", &[]),
    HostTool::new("AskUserQuestion", "ask_question", &[]),
    HostTool::new("SendMessage", "send_message", &[]),
];
