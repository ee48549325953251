//! Factory Droid. Its events and answers are Claude Code's, with tools of its own.
//!
//! Of several hooks the first with a decision counts, so that an allow which stands before a denial
//! undoes it; exit code 2 holds in any order, and every refusal has it. An allow is never said beside
//! a rewrite: it would spare the person's approval.
//!
//! `UserPromptSubmit`, `SubagentStop`, `PreCompact` and `Notification` are as its program reads them;
//! none of them came in a run without a person.

use std::time::Duration;

use tollgate_core::Kind;

use crate::form::{ClaudeLike, Rules};
use crate::host::{Form, Forms, Host, HostEvent};
use crate::mcp::McpNames;
use crate::tools::{HostTool, Shape};

/// Factory Droid.
pub static HOST: Host = Host {
    name: "droid",
    title: "Factory Droid",
    events: EVENTS,
    other_events: &[],
    tools: TOOLS,
    mcp: McpNames::DROID,
    project_variables: &["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    patience: Duration::from_mins(1),
    wire: &ClaudeLike(RULES),
};

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    // It has a word for a question, and goes on without one.
    HostEvent::gate(
        "PreToolUse",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Refused,
            allow: Form::Own,
            rewrite: Form::Own,
            ..Forms::NONE
        },
    ),
    HostEvent::tells(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Beside, rewrite: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::gate(
        "UserPromptSubmit",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Own, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells(
        "SessionStart",
        Kind::SessionStart,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("SessionEnd", Kind::SessionEnd, Forms::NONE),
    HostEvent::tells("Stop", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells(
        "SubagentStop",
        Kind::SubagentStop,
        Forms { refuse: Form::Lost, rewrite: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PreCompact",
        Kind::CompactionPre,
        Forms { refuse: Form::Own, context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "Notification",
        Kind::Notification,
        Forms { refuse: Form::Lost, ..Forms::NONE },
    ),
];

/// Its tools.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("Execute", "run_command", &[("command", "CommandLine")]),
    HostTool::new("Read", "view_file", &[("file_path", "AbsolutePath")]),
    HostTool::new(
        "Create",
        "write_to_file",
        &[("file_path", "TargetFile"), ("content", "CodeContent")],
    ),
    HostTool::new("Edit", "replace_file_content", EDIT),
    HostTool::new("MultiEdit", "multi_replace_file_content", EDIT).shape(Shape::Edits("changes")),
    HostTool::new("ApplyPatch", "write_to_file", &[]).shape(Shape::Patch("input")),
    HostTool::new("LS", "list_dir", &[("directory_path", "DirectoryPath")]),
    HostTool::new("Glob", "find_by_name", &[("folder", "SearchDirectory")]),
    HostTool::new("Grep", "grep_search", &[("path", "SearchPath"), ("pattern", "Query")]),
    HostTool::new("FetchUrl", "read_url_content", &[("url", "Url")]),
    HostTool::new("WebSearch", "search_web", &[]),
    HostTool::new("Task", "invoke_subagent", &[]),
    HostTool::new("TaskOutput", "manage_task", &[]),
    HostTool::new("TaskStop", "manage_task", &[]),
    HostTool::new("AskUser", "ask_question", &[]),
];

const EDIT: &[(&str, &str)] = &[
    ("file_path", "TargetFile"),
    ("changes", "ReplacementChunks"),
    ("old_str", "TargetContent"),
    ("new_str", "ReplacementContent"),
    ("change_all", "AllowMultiple"),
];

/// What it makes of an answer.
const RULES: Rules = Rules {
    block_refuses_tools: false,
    checks_event_name: false,
    asks: false,
    rewrites_prompts: true,
    rewrites_results: false,
    block_only_resumes: true,
    text_resumes: false,
    three_ends: true,
    ..Rules::CLAUDE
};
