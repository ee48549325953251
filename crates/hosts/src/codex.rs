//! Codex. Its form is Claude Code's, and it is strict about it: an answer with anything in it that it
//! does not know counts for nothing, and the tool runs.
//!
//! What it does not tell anyone: the text that the model types into a command that is already running
//! (`write_stdin`). Where that is a shell, a hook has seen no more than its start.

use std::time::Duration;

use tollgate_core::Kind;

use crate::form::{ClaudeLike, Rules};
use crate::host::{Form, Forms, Host, HostEvent};
use crate::mcp::McpNames;
use crate::tools::{HostTool, Shape};

/// Codex.
pub static HOST: Host = Host {
    name: "codex",
    title: "Codex",
    events: EVENTS,
    other_events: OTHER_EVENTS,
    tools: TOOLS,
    mcp: McpNames::CLAUDE,
    // It sets none; where a command has a directory of its own, that is the `cwd` of its event.
    project_variables: &[],
    patience: Duration::from_mins(10),
    wire: &ClaudeLike(RULES),
};

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    // It has an allow, but only to go with a rewrite.
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
    // The reason of a refusal stands where the result was.
    HostEvent::gate(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Own, rewrite: Form::Told, ..Forms::NONE },
    ),
    // Also for what a subagent is told to do.
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
    // All there is against it is `"continue": false`, which ends the whole turn.
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
];

/// Events of which no hook of Tollgate is told.
const OTHER_EVENTS: &[&str] = &["Interrupt", "PreModelRequest", "PostModelRequest"];

/// Its tools. Those of a group have the group's name before their own.
pub const TOOLS: &[HostTool] = &[
    // `apply_patch` in a command is the tool of that name, and is told as a command.
    HostTool::new("Bash", "run_command", &[("command", "CommandLine")])
        .shape(Shape::Command("command")),
    HostTool::new("apply_patch", "write_to_file", &[]).shape(Shape::Patch("command")),
    HostTool::new("view_image", "view_file", &[("path", "AbsolutePath")]),
    HostTool::new("webrun", "search_web", &[]),
    HostTool::new(
        "image_genimagegen",
        "generate_image",
        &[("prompt", "Prompt"), ("referenced_image_paths", "ImagePaths")],
    ),
    HostTool::new("spawn_agent", "invoke_subagent", &[]),
    HostTool::new("collaborationspawn_agent", "invoke_subagent", &[]),
    HostTool::new("multi_agent_v1send_input", "send_message", &[]),
    HostTool::new("collaborationsend_message", "send_message", &[]),
    HostTool::new("collaborationfollowup_task", "send_message", &[]),
    HostTool::new("multi_agent_v1resume_agent", "manage_subagents", &[]),
    HostTool::new("multi_agent_v1wait_agent", "manage_subagents", &[]),
    HostTool::new("multi_agent_v1close_agent", "manage_subagents", &[]),
    HostTool::new("collaborationwait_agent", "manage_subagents", &[]),
    HostTool::new("collaborationlist_agents", "manage_subagents", &[]),
    HostTool::new("collaborationinterrupt_agent", "manage_subagents", &[]),
    HostTool::new("request_user_input", "ask_question", &[]),
    HostTool::new("request_permissions", "ask_permission", &[]),
];

/// What it makes of an answer.
const RULES: Rules = Rules {
    strict: true,
    reads_json_when_failing: false,
    refusal_needs_stderr: true,
    checks_event_name: false,
    asks: false,
    rewrite_needs_allow: true,
    rewrites_results: false,
    text_resumes: false,
    ..Rules::CLAUDE
};
