//! Cursor, by its documents: it was not run.
//!
//! One call of a tool is told twice, by `preToolUse` and by an event for the sort of tool; the first
//! is the one to register. Answers are flat. An empty one counts as a failure, which refuses where a
//! hook is registered with `failClosed`, so no opinion is `{}`: an allow would skip the question to
//! the person. Cursor does not say which server a tool of MCP is of: all are of
//! [`UNNAMED_SERVER`], for which rules that deny or ask hold by the tool alone.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::target::UNNAMED_SERVER;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::{Reply, Rewritten, Verdict};
use crate::tools::{HostTool, Shape};

/// Cursor.
pub static HOST: Host = Host {
    name: "cursor",
    title: "Cursor",
    events: EVENTS,
    other_events: &[
        "afterShellExecution",
        "afterMCPExecution",
        "afterFileEdit",
        "afterTabFileEdit",
        "afterAgentThought",
        "workspaceOpen",
    ],
    tools: TOOLS,
    mcp: McpNames { prefix: MCP, separator: ":" },
    project_variables: &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    patience: Duration::from_mins(1),
    wire: &Cursor,
};

const MCP: &str = "MCP:";

const CALL: Forms = Forms { refuse: Form::Own, allow: Form::Own, ..Forms::NONE };
const LOST: Forms =
    Forms { refuse: Form::Lost, rewrite: Form::Lost, context: Form::Lost, ..Forms::NONE };

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate(
        "preToolUse",
        Kind::ToolPre,
        Forms { ask: Form::Refused, rewrite: Form::Own, ..CALL },
    ),
    HostEvent::gate(
        "beforeShellExecution",
        Kind::ToolPre,
        Forms { ask: Form::Own, rewrite: Form::Refused, ..CALL },
    )
    .unregistered(),
    HostEvent::gate(
        "beforeMCPExecution",
        Kind::ToolPre,
        Forms { ask: Form::Own, rewrite: Form::Refused, ..CALL },
    )
    .unregistered(),
    HostEvent::gate(
        "beforeReadFile",
        Kind::ToolPre,
        Forms { ask: Form::Refused, rewrite: Form::Refused, ..CALL },
    )
    .unregistered(),
    HostEvent::gate(
        "beforeTabFileRead",
        Kind::ToolPre,
        Forms { ask: Form::Refused, rewrite: Form::Refused, ..CALL },
    )
    .unregistered(),
    HostEvent::tells("postToolUse", Kind::ToolPost, LOST),
    HostEvent::tells("postToolUseFailure", Kind::ToolError, LOST),
    HostEvent::gate(
        "beforeSubmitPrompt",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Refused, context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "sessionStart",
        Kind::SessionStart,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("sessionEnd", Kind::SessionEnd, Forms::NONE),
    HostEvent::tells("stop", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells("afterAgentResponse", Kind::TurnEnd, LOST),
    HostEvent::tells("subagentStart", Kind::SubagentStart, Forms::NONE),
    // A refusal sends it back with the reason.
    HostEvent::tells(
        "subagentStop",
        Kind::SubagentStop,
        Forms { refuse: Form::Own, rewrite: Form::Refused, ..Forms::NONE },
    ),
    HostEvent::tells("preCompact", Kind::CompactionPre, LOST),
];

const COMMAND: &[(&str, &str)] =
    &[("command", "CommandLine"), ("cwd", "Cwd"), ("working_directory", "Cwd")];
const READ: &[(&str, &str)] =
    &[("path", "AbsolutePath"), ("file_path", "AbsolutePath"), ("target_file", "AbsolutePath")];
const WRITE: &[(&str, &str)] = &[
    ("path", "TargetFile"),
    ("file_path", "TargetFile"),
    ("target_file", "TargetFile"),
    ("contents", "CodeContent"),
    ("content", "CodeContent"),
];
const EDIT: &[(&str, &str)] = &[
    ("path", "TargetFile"),
    ("file_path", "TargetFile"),
    ("target_file", "TargetFile"),
    ("target_notebook", "TargetFile"),
    ("edits", "ReplacementChunks"),
    ("old_string", "TargetContent"),
    ("new_string", "ReplacementContent"),
    ("replace_all", "AllowMultiple"),
];
const LIST: &[(&str, &str)] = &[("path", "DirectoryPath"), ("target_directory", "DirectoryPath")];

/// Its tools.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("Shell", "run_command", COMMAND),
    HostTool::new("Bash", "run_command", COMMAND),
    HostTool::new("Read", "view_file", READ),
    HostTool::new("ReadFile", "view_file", READ),
    HostTool::new("Write", "write_to_file", WRITE),
    HostTool::new("Delete", "write_to_file", WRITE),
    HostTool::new("StrReplace", "replace_file_content", EDIT),
    HostTool::new("Edit", "replace_file_content", EDIT),
    HostTool::new("EditNotebook", "replace_file_content", EDIT),
    HostTool::new("MultiEdit", "multi_replace_file_content", EDIT).shape(Shape::Edits("edits")),
    HostTool::new("ApplyPatch", "replace_file_content", &[]).shape(Shape::Patch("patch")),
    HostTool::new("LS", "list_dir", LIST),
    HostTool::new(
        "Glob",
        "find_by_name",
        &[
            ("target_directory", "SearchDirectory"),
            ("path", "SearchDirectory"),
            ("glob_pattern", "Pattern"),
            ("pattern", "Pattern"),
        ],
    ),
    HostTool::new("Grep", "grep_search", &[("path", "SearchPath"), ("pattern", "Query")]),
    HostTool::new("WebFetch", "read_url_content", &[("url", "Url")]),
    HostTool::new("WebSearch", "search_web", &[("search_term", "query")]),
    HostTool::new("Task", "invoke_subagent", &[]),
    HostTool::new("AskQuestion", "ask_question", &[]),
];

/// What Cursor says and is told.
struct Cursor;

impl Wire for Cursor {
    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        Fields::new(host, &Names::SNAKE, flat(event, input)).read(event)
    }

    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        let mut written = fields::write(host, &Names::SNAKE, event, session)?;
        let fields = written.as_object_mut()?;
        for (ours, theirs) in RENAMED {
            if let Some(value) = fields.remove(*ours) {
                fields.insert((*theirs).to_owned(), value);
            }
        }
        if let Some(cwd) = fields.get("cwd").cloned() {
            fields.insert("workspace_roots".to_owned(), json!([cwd]));
        }
        if let Some(result) = fields.get_mut("tool_output") {
            *result = result.to_string().into();
        }
        Some(written)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        let mut said = Map::new();
        let mut put = |name: &str, value: Value| drop(said.insert(name.to_owned(), value));
        let reason = reply.reason.as_str();
        match (event.kind, reply.verdict) {
            (_, Verdict::Silent) => {}
            (Kind::ToolPre, verdict) => {
                put("permission", word(verdict).into());
                if verdict != Verdict::Allow {
                    put("user_message", reason.into());
                    put("agent_message", reason.into());
                }
            }
            (Kind::TurnStart, Verdict::Refuse | Verdict::Resume) => {
                put("continue", false.into());
                put("user_message", reason.into());
            }
            (Kind::Stop | Kind::SubagentStop, Verdict::Refuse | Verdict::Resume) => {
                put("followup_message", reason.into());
            }
            _ => {}
        }
        if let Some(Rewritten::Input(input)) = &reply.rewrite {
            put("updated_input", input.clone());
        }
        if !reply.context.is_empty() {
            put("additional_context", reply.context.join("\n\n").into());
        }
        if said.is_empty() && !event.gate {
            return Output::silent();
        }
        // With another exit code the JSON would be shown as it is.
        Output::json(&Value::Object(said))
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let refused = |why: &str| Reply {
            verdict: Verdict::Refuse,
            reason: why.trim().to_owned(),
            ..Reply::default()
        };
        match (output.code, stdout.trim()) {
            (0, "") if event.gate => Err(WireError::new("it said nothing at all")),
            (0, "") => Ok(Reply::default()),
            (0, text) => match serde_json::from_str(text) {
                Ok(Value::Object(said)) => Ok(answer(event, &said)),
                _ if event.kind == Kind::ToolPre => Ok(refused("it printed no JSON object")),
                _ => Err(WireError::new("it printed something that is no JSON object")),
            },
            (2, text) if event.gate => {
                Ok(refused(if stderr.trim().is_empty() { text } else { &stderr }))
            }
            (code, _) => Err(WireError::new(format!("it exited with {code}, which says nothing"))),
        }
    }
}

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Silent | Verdict::Refuse | Verdict::Resume => "deny",
    }
}

/// Names that most hosts have, and Cursor's for the same.
const RENAMED: &[(&str, &str)] = &[
    ("session_id", "conversation_id"),
    ("tool_response", "tool_output"),
    ("error", "error_message"),
    ("last_assistant_message", "text"),
    ("agent_type", "subagent_type"),
    ("agent_id", "subagent_id"),
];

/// An event in the names that most hosts have.
fn flat(event: &HostEvent, mut input: Args) -> Args {
    for (ours, theirs) in RENAMED {
        match input.remove(*theirs) {
            Some(value) if !value.is_null() => drop(input.insert((*ours).to_owned(), value)),
            _ => {}
        }
    }
    for name in ["result", "summary"] {
        if let (Kind::SubagentStop, Some(result)) = (event.kind, input.remove(name)) {
            input.entry("last_assistant_message").or_insert(result);
        }
    }
    let place = |input: &Args| match input.get("cwd") {
        Some(Value::String(cwd)) if !cwd.is_empty() => Some(cwd.clone()),
        _ => input.get("workspace_roots")?.get(0)?.as_str().map(ToOwned::to_owned),
    };
    if let Some(cwd) = place(&input) {
        input.insert("cwd".to_owned(), cwd.into());
    }
    if input.get("loop_count").and_then(Value::as_u64) > Some(0) {
        input.insert("stop_hook_active".to_owned(), true.into());
    }
    // A result is JSON in a text.
    if let Some(Value::String(text)) = input.get("tool_response")
        && let Ok(value) = serde_json::from_str(text)
    {
        input.insert("tool_response".to_owned(), value);
    }
    let told = |input: &Args, names: &[&str]| -> Value {
        let of = |name: &&str| Some(((*name).to_owned(), input.get(*name)?.clone()));
        Value::Object(names.iter().filter_map(of).collect())
    };
    let (tool, args) = match event.name {
        "beforeShellExecution" => ("Shell".to_owned(), told(&input, &["command", "cwd"])),
        "beforeReadFile" | "beforeTabFileRead" => ("Read".to_owned(), told(&input, &["file_path"])),
        _ => {
            let name = input.get("tool_name").and_then(Value::as_str).unwrap_or_default();
            let name = match event.name {
                "beforeMCPExecution" if !name.is_empty() && !name.starts_with(MCP) => {
                    format!("{MCP}{name}")
                }
                _ => name.to_owned(),
            };
            (name, input.remove("tool_input").unwrap_or_default())
        }
    };
    if let Some(name) = tool.strip_prefix(MCP).filter(|name| !name.is_empty()) {
        let context = json!({"server_name": UNNAMED_SERVER, "tool_name": name});
        input.insert("mcp_context".to_owned(), context);
    }
    if !tool.is_empty() {
        input.insert("tool_name".to_owned(), tool.into());
        input.insert("tool_input".to_owned(), args);
    }
    input
}

/// What an answer says.
fn answer(event: &HostEvent, said: &Map<String, Value>) -> Reply {
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let message = text("user_message").or_else(|| text("agent_message"));
    let followup = text("followup_message").filter(|message| !message.is_empty());
    let (verdict, reason) = match event.kind {
        Kind::ToolPre => match text("permission") {
            Some("deny") => (Verdict::Refuse, message),
            Some("ask") => (Verdict::Ask, message),
            Some("allow") => (Verdict::Allow, message),
            _ => (Verdict::Silent, None),
        },
        Kind::TurnStart if said.get("continue") == Some(&json!(false)) => {
            (Verdict::Refuse, message)
        }
        Kind::Stop if followup.is_some() => (Verdict::Resume, followup),
        Kind::SubagentStop if followup.is_some() => (Verdict::Refuse, followup),
        _ => (Verdict::Silent, None),
    };
    let input = said.get("updated_input").filter(|_| event.name == "preToolUse");
    Reply {
        verdict,
        reason: reason.unwrap_or_default().to_owned(),
        rewrite: input.cloned().map(Rewritten::Input),
        context: text("additional_context").map(ToOwned::to_owned).into_iter().collect(),
        ..Reply::default()
    }
}
