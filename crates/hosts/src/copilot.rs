//! GitHub Copilot CLI.
//!
//! It has two sets of names: its own (`preToolUse`), under which it does not say which event it is,
//! and those of Claude Code (`PreToolUse`), for hooks that are configured in that style. Its answers
//! are flat, and understood in that form under both.

use std::time::Duration;

use serde_json::{Map, Value};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::{Reply, Rewritten, Verdict};
use crate::tools::{HostTool, Shape};

/// GitHub Copilot CLI.
pub static HOST: Host = Host {
    name: "copilot",
    title: "GitHub Copilot CLI",
    events: EVENTS,
    other_events: &["userPromptTransformed", "UserPromptTransformed", "preMcpToolCall"],
    tools: TOOLS,
    mcp: McpNames { prefix: "", separator: "-" },
    project_variables: &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    patience: Duration::from_secs(30),
    wire: &Copilot,
};

const CALL: Forms = Forms {
    refuse: Form::Own,
    ask: Form::Own,
    allow: Form::Own,
    rewrite: Form::Own,
    ..Forms::NONE
};
/// After the one above has let the call pass.
const PERMISSION: Forms = Forms {
    refuse: Form::Own,
    ask: Form::Lost,
    allow: Form::Own,
    rewrite: Form::Refused,
    ..Forms::NONE
};
const RESULT: Forms = Forms { refuse: Form::Own, rewrite: Form::Own, ..Forms::NONE };
const FAILED: Forms = Forms { refuse: Form::Lost, context: Form::Own, ..Forms::NONE };
const PROMPT: Forms =
    Forms { refuse: Form::Own, rewrite: Form::Own, context: Form::Own, ..Forms::NONE };
const START: Forms = Forms { context: Form::Own, ..Forms::NONE };
const STOP: Forms = Forms { resume: Form::Own, ..Forms::NONE };
/// A refusal sends it back with the reason.
const SUBAGENT: Forms = Forms { refuse: Form::Own, rewrite: Form::Own, ..Forms::NONE };
const COMPACT: Forms = Forms { refuse: Form::Lost, context: Form::Lost, ..Forms::NONE };
const NOTE: Forms = Forms { refuse: Form::Lost, ..Forms::NONE };

/// Its events, under both sets of names. Its own are the ones to register: a hook of each is called
/// once, and its tools have one name.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate("preToolUse", Kind::ToolPre, CALL),
    HostEvent::gate("permissionRequest", Kind::ToolPre, PERMISSION).unregistered(),
    HostEvent::gate("postToolUse", Kind::ToolPost, RESULT),
    HostEvent::tells("postToolUseFailure", Kind::ToolError, FAILED),
    HostEvent::gate("userPromptSubmitted", Kind::TurnStart, PROMPT),
    HostEvent::tells("sessionStart", Kind::SessionStart, START),
    HostEvent::tells("sessionEnd", Kind::SessionEnd, Forms::NONE),
    HostEvent::tells("agentStop", Kind::Stop, STOP),
    HostEvent::tells("subagentStart", Kind::SubagentStart, Forms::NONE),
    HostEvent::tells("subagentStop", Kind::SubagentStop, SUBAGENT),
    HostEvent::tells("preCompact", Kind::CompactionPre, COMPACT),
    HostEvent::tells("errorOccurred", Kind::Failure, Forms::NONE),
    HostEvent::tells("notification", Kind::Notification, NOTE),
    HostEvent::gate("PreToolUse", Kind::ToolPre, CALL).unregistered(),
    HostEvent::gate("PermissionRequest", Kind::ToolPre, PERMISSION).unregistered(),
    HostEvent::gate("PostToolUse", Kind::ToolPost, RESULT).unregistered(),
    HostEvent::tells("PostToolUseFailure", Kind::ToolError, FAILED).unregistered(),
    HostEvent::gate("UserPromptSubmit", Kind::TurnStart, PROMPT).unregistered(),
    HostEvent::tells("SessionStart", Kind::SessionStart, START).unregistered(),
    HostEvent::tells("SessionEnd", Kind::SessionEnd, Forms::NONE).unregistered(),
    HostEvent::tells("Stop", Kind::Stop, STOP).unregistered(),
    HostEvent::tells("SubagentStart", Kind::SubagentStart, Forms::NONE).unregistered(),
    HostEvent::tells("SubagentStop", Kind::SubagentStop, SUBAGENT).unregistered(),
    HostEvent::tells("PreCompact", Kind::CompactionPre, COMPACT).unregistered(),
    HostEvent::tells("ErrorOccurred", Kind::Failure, Forms::NONE).unregistered(),
    HostEvent::tells("Notification", Kind::Notification, NOTE).unregistered(),
];

const COMMAND: &[(&str, &str)] = &[("command", "CommandLine")];
/// What goes to a shell that runs already is run as well.
const TYPED: &[(&str, &str)] = &[("input", "CommandLine")];
const READ: &[(&str, &str)] = &[("path", "AbsolutePath"), ("file_path", "AbsolutePath")];
const WRITE: &[(&str, &str)] =
    &[("path", "TargetFile"), ("file_path", "TargetFile"), ("file_text", "CodeContent")];
const EDIT: &[(&str, &str)] = &[
    ("path", "TargetFile"),
    ("file_path", "TargetFile"),
    ("old_str", "TargetContent"),
    ("new_str", "ReplacementContent"),
];
const GLOB: &[(&str, &str)] =
    &[("paths", "SearchDirectory"), ("path", "SearchDirectory"), ("pattern", "Pattern")];
const GREP: &[(&str, &str)] =
    &[("paths", "SearchPath"), ("path", "SearchPath"), ("pattern", "Query")];

/// Its tools, under its own names and under those that a hook in the other style is told. The
/// arguments are its own under both.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("bash", "run_command", COMMAND),
    HostTool::new("powershell", "run_command", COMMAND),
    HostTool::new("local_shell", "run_command", COMMAND),
    HostTool::new("write_bash", "run_command", TYPED),
    HostTool::new("write_powershell", "run_command", TYPED),
    HostTool::new("view", "view_file", READ),
    HostTool::new("create", "write_to_file", WRITE),
    HostTool::new("edit", "replace_file_content", EDIT),
    HostTool::new("str_replace_editor", "replace_file_content", EDIT),
    HostTool::new("apply_patch", "replace_file_content", &[]).shape(Shape::Patch("input")),
    HostTool::new("glob", "find_by_name", GLOB).shape(Shape::Each("paths")),
    HostTool::new("grep", "grep_search", GREP).shape(Shape::Each("paths")),
    HostTool::new("rg", "grep_search", GREP).shape(Shape::Each("paths")),
    HostTool::new("web_fetch", "read_url_content", &[("url", "Url")]),
    HostTool::new("web_search", "search_web", &[]),
    HostTool::new("task", "invoke_subagent", &[]),
    HostTool::new("write_agent", "send_message", &[]),
    HostTool::new("ask_user", "ask_question", &[]),
    HostTool::new("Bash", "run_command", COMMAND),
    HostTool::new("PowerShell", "run_command", COMMAND),
    HostTool::new("Read", "view_file", READ),
    HostTool::new("Write", "write_to_file", WRITE),
    HostTool::new("Edit", "replace_file_content", EDIT),
    HostTool::new("Glob", "find_by_name", GLOB).shape(Shape::Each("paths")),
    HostTool::new("Grep", "grep_search", GREP).shape(Shape::Each("paths")),
    HostTool::new("WebFetch", "read_url_content", &[("url", "Url")]),
    HostTool::new("WebSearch", "search_web", &[]),
    HostTool::new("Agent", "invoke_subagent", &[]),
    HostTool::new("Task", "invoke_subagent", &[]),
    HostTool::new("AskUserQuestion", "ask_question", &[]),
];

/// Its own names first, then the others: some of its events have the one in the style of the other.
const NAMES: Names = Names {
    event: "",
    session: &["sessionId", "session_id"],
    transcript: &["transcriptPath", "transcript_path"],
    agent: &["agentId", "agent_id"],
    agent_type: &["agentType", "agent_type", "agentName", "agent_name"],
    tool: &["toolName", "tool_name"],
    input: &["toolArgs", "tool_input", "toolInput"],
    result: &["toolResult", "tool_result"],
    call: &["toolCallId", "tool_use_id"],
    response: &["response", "last_assistant_message"],
    summary: &["summary"],
    notification: &["notification_type", "notificationType"],
};

/// What Copilot says and is told.
struct Copilot;

impl Wire for Copilot {
    fn event_of<'a>(&self, input: &'a Args) -> Option<&'a str> {
        ["hook_event_name", "hookName"].iter().find_map(|name| input.get(*name)?.as_str())
    }

    fn is_same(&self, given: &str, named: &str) -> bool {
        // `Notification` is what it says to a hook of `notification`.
        given.eq_ignore_ascii_case(named)
    }

    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        Fields::new(host, &NAMES, input).read(event)
    }

    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        fields::write(host, &NAMES, event, session)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        let mut said = Map::new();
        let mut put = |name: &str, value: Value| drop(said.insert(name.to_owned(), value));
        let reason = reply.reason.as_str();
        let permission = is_permission(event);
        let refuses = matches!(reply.verdict, Verdict::Refuse | Verdict::Resume);
        match (event.kind, reply.verdict) {
            (_, Verdict::Silent) => {}
            (Kind::ToolPre, verdict) if permission => match verdict {
                Verdict::Allow => put("behavior", "allow".into()),
                Verdict::Silent | Verdict::Ask => {}
                Verdict::Refuse | Verdict::Resume => {
                    put("behavior", "deny".into());
                    put("message", reason.into());
                }
            },
            (Kind::ToolPre, Verdict::Allow) => put("permissionDecision", "allow".into()),
            (Kind::ToolPre, verdict) => {
                let word = if verdict == Verdict::Ask { "ask" } else { "deny" };
                put("permissionDecision", word.into());
                put("permissionDecisionReason", reason.into());
            }
            (_, Verdict::Allow | Verdict::Ask) => {}
            (_, Verdict::Refuse | Verdict::Resume) => {
                put("decision", "block".into());
                put("reason", reason.into());
            }
        }
        match &reply.rewrite {
            Some(Rewritten::Input(input)) => put("modifiedArgs", input.clone()),
            Some(Rewritten::Prompt(prompt)) => put("modifiedPrompt", prompt.as_str().into()),
            Some(Rewritten::Result(result)) if event.kind == Kind::SubagentStop => {
                let text = result.as_str().map_or_else(|| result.to_string(), ToOwned::to_owned);
                put("modifiedResponse", text.into());
            }
            Some(Rewritten::Result(result)) => put("modifiedResult", own_result(result)),
            None => {}
        }
        if !reply.context.is_empty() {
            put("additionalContext", reply.context.join("\n\n").into());
        }
        if said.is_empty() {
            return Output::silent();
        }
        let output = Output::json(&Value::Object(said));
        // Before a tool any other code than 0 refuses as well; elsewhere it adds nothing but a
        // complaint about the hook.
        if refuses && event.kind == Kind::ToolPre && !permission {
            output.failing(2, reason)
        } else {
            output
        }
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let said = match serde_json::from_str(&stdout) {
            Ok(Value::Object(said)) if matches!(output.code, 0 | 2) => Some(said),
            _ => None,
        };
        let reply = said.map(|said| answer(event, said));
        let closed = event.kind == Kind::ToolPre && !is_permission(event);
        match (output.code, reply) {
            (0, Some(reply)) => Ok(reply),
            (0, None) if stdout.trim().is_empty() => Ok(Reply::default()),
            (0, None) => Err(WireError::new("it printed something that is no JSON object")),
            (_, Some(reply)) if reply.verdict == Verdict::Refuse || !closed => Ok(reply),
            (_, _) if closed => Ok(Reply { verdict: Verdict::Refuse, ..Reply::default() }),
            (code, _) => Err(WireError::new(format!("it exited with {code}, which says nothing"))),
        }
    }
}

fn is_permission(event: &HostEvent) -> bool {
    event.name.eq_ignore_ascii_case("permissionRequest")
}

/// A result as it is understood: under its own names also where it was told under the others.
fn own_result(result: &Value) -> Value {
    let Value::Object(fields) = result else { return result.clone() };
    let own = |(name, value): (&String, &Value)| {
        let name = match name.as_str() {
            "result_type" => "resultType",
            "text_result_for_llm" => "textResultForLlm",
            name => name,
        };
        (name.to_owned(), value.clone())
    };
    Value::Object(fields.iter().map(own).collect())
}

/// What an answer says.
fn answer(event: &HostEvent, mut said: Map<String, Value>) -> Reply {
    let is_claude_style = event.name.starts_with(|first: char| first.is_ascii_uppercase());
    let own = said.remove("hookSpecificOutput").filter(|_| is_claude_style);
    if let (Some(Value::Object(own)), Kind::ToolPre) = (own, event.kind) {
        for (name, value) in own {
            let name = if name == "updatedInput" { "modifiedArgs".to_owned() } else { name };
            said.entry(name).or_insert(value);
        }
    }
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let (word, why) = match event.kind {
        Kind::ToolPre if is_permission(event) => (text("behavior"), text("message")),
        Kind::ToolPre => (text("permissionDecision"), text("permissionDecisionReason")),
        _ => (text("decision"), text("reason")),
    };
    let verdict = match (event.kind, word) {
        (Kind::ToolPre, Some("ask")) => Verdict::Ask,
        (Kind::ToolPre, Some("allow")) => Verdict::Allow,
        (Kind::Stop, Some("block")) => Verdict::Resume,
        (Kind::ToolPre, Some("deny"))
        | (Kind::ToolPost | Kind::TurnStart | Kind::SubagentStop, Some("block")) => Verdict::Refuse,
        _ => Verdict::Silent,
    };
    let rewrite = match event.kind {
        Kind::ToolPre => said.get("modifiedArgs").cloned().map(Rewritten::Input),
        Kind::TurnStart => text("modifiedPrompt").map(|text| Rewritten::Prompt(text.to_owned())),
        Kind::ToolPost => said.get("modifiedResult").cloned().map(Rewritten::Result),
        Kind::SubagentStop => text("modifiedResponse").map(|text| Rewritten::Result(text.into())),
        _ => None,
    };
    Reply {
        verdict,
        reason: why.unwrap_or_default().to_owned(),
        rewrite,
        context: text("additionalContext").map(ToOwned::to_owned).into_iter().collect(),
        ..Reply::default()
    }
}
