//! Windsurf, by its documents: it was not run.
//!
//! Each sort of tool has events of its own, and only the exit code counts: 2 before something refuses
//! it, with what is on standard error as the reason. Whatever else a hook says is lost.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::{Reply, Verdict};
use crate::tools::{HostTool, Shape};

/// Windsurf.
pub static HOST: Host = Host {
    name: "windsurf",
    title: "Windsurf",
    events: EVENTS,
    other_events: &["post_cascade_response_with_transcript", "post_setup_worktree"],
    tools: TOOLS,
    mcp: McpNames { prefix: "", separator: "/" },
    project_variables: &[],
    patience: Duration::from_mins(1),
    wire: &Windsurf,
};

const CALL: Forms = Forms {
    refuse: Form::Own,
    ask: Form::Refused,
    allow: Form::Lost,
    rewrite: Form::Refused,
    ..Forms::NONE
};
const RESULT: Forms = Forms { refuse: Form::Lost, rewrite: Form::Lost, ..Forms::NONE };

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate("pre_run_command", Kind::ToolPre, CALL),
    HostEvent::gate("pre_read_code", Kind::ToolPre, CALL),
    HostEvent::gate("pre_write_code", Kind::ToolPre, CALL),
    HostEvent::gate("pre_mcp_tool_use", Kind::ToolPre, CALL),
    HostEvent::gate(
        "pre_user_prompt",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Refused, context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells("post_run_command", Kind::ToolPost, RESULT),
    HostEvent::tells("post_read_code", Kind::ToolPost, RESULT),
    HostEvent::tells("post_write_code", Kind::ToolPost, RESULT),
    HostEvent::tells("post_mcp_tool_use", Kind::ToolPost, RESULT),
    HostEvent::tells("post_cascade_response", Kind::TurnEnd, RESULT),
];

const SERVERS: &str = "mcp_tool_use";

/// Its tools, which go by the names of their events.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("run_command", "run_command", &[("command_line", "CommandLine"), ("cwd", "Cwd")]),
    HostTool::new("read_code", "view_file", &[("file_path", "AbsolutePath")]),
    HostTool::new(
        "write_code",
        "multi_replace_file_content",
        &[
            ("file_path", "TargetFile"),
            ("edits", "ReplacementChunks"),
            ("old_string", "TargetContent"),
            ("new_string", "ReplacementContent"),
        ],
    )
    .shape(Shape::Edits("edits")),
];

/// What Windsurf says and is told.
struct Windsurf;

impl Wire for Windsurf {
    fn event_of<'a>(&self, input: &'a Args) -> Option<&'a str> {
        input.get("agent_action_name").and_then(Value::as_str)
    }

    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        Fields::new(host, &Names::SNAKE, flat(event, &input)).read(event)
    }

    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        nested(host, event.kind(), fields::write(host, &Names::SNAKE, event, session)?)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        match reply.verdict {
            Verdict::Refuse | Verdict::Resume if event.gate => {
                Output::silent().failing(2, &reply.reason)
            }
            _ => Output::silent(),
        }
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.code {
            0 => Ok(Reply::default()),
            2 if event.gate => Ok(Reply { verdict: Verdict::Refuse, reason, ..Reply::default() }),
            code => Err(WireError::new(format!("it exited with {code}, which says nothing"))),
        }
    }
}

/// The tool that an event is about.
fn tool_of(event: &str) -> &str {
    event.strip_prefix("pre_").or_else(|| event.strip_prefix("post_")).unwrap_or(event)
}

/// An event in the names that most hosts have.
fn flat(event: &HostEvent, input: &Args) -> Args {
    let mut flat = Map::new();
    let mut put = |name: &str, value: Option<&Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            flat.insert(name.to_owned(), value.clone());
        }
    };
    let info = input.get("tool_info");
    let told = |name: &str| info.and_then(|info| info.get(name));
    put("session_id", input.get("trajectory_id"));
    put("cwd", told("cwd"));
    put("model", input.get("model_name"));
    match event.kind {
        Kind::TurnStart => put("prompt", told("user_prompt")),
        Kind::TurnEnd => put("last_assistant_message", told("response")),
        _ if tool_of(event.name) == SERVERS => {
            let text = |name: &str| told(name).and_then(Value::as_str).unwrap_or_default();
            let (server, tool) = (text("mcp_server_name"), text("mcp_tool_name"));
            if !tool.is_empty() {
                put("tool_name", Some(&format!("{server}/{tool}").into()));
            }
            put("tool_input", told("mcp_tool_arguments"));
            put("tool_response", told("mcp_result"));
            if !server.is_empty() {
                put("mcp_context", Some(&json!({"server_name": server, "tool_name": tool})));
            }
        }
        _ => {
            put("tool_name", Some(&tool_of(event.name).into()));
            put("tool_input", info);
            put("tool_response", told("output"));
        }
    }
    flat
}

/// An event as Windsurf writes it.
fn nested(host: &Host, kind: Kind, flat: Value) -> Option<Value> {
    let Value::Object(mut flat) = flat else { return None };
    let mut take = |name: &str| flat.remove(name).unwrap_or_default();
    let when = if kind == Kind::ToolPre { "pre" } else { "post" };
    let (action, mut info) = match kind {
        Kind::TurnStart => ("pre_user_prompt".to_owned(), json!({"user_prompt": take("prompt")})),
        Kind::TurnEnd => {
            let response = take("last_assistant_message");
            ("post_cascade_response".to_owned(), json!({"response": response}))
        }
        Kind::ToolPre | Kind::ToolPost => {
            let (name, input) = (take("tool_name"), take("tool_input"));
            let name = name.as_str()?;
            if host.tool(name).is_some() {
                (format!("{when}_{name}"), input)
            } else {
                let (server, tool) = name.split_once('/').unwrap_or(("", name));
                let info = json!({"mcp_server_name": server, "mcp_tool_name": tool,
                    "mcp_tool_arguments": input});
                (format!("{when}_{SERVERS}"), info)
            }
        }
        _ => return None,
    };
    if let (Kind::ToolPost, Some(info)) = (kind, info.as_object_mut()) {
        let name = if action.ends_with(SERVERS) { "mcp_result" } else { "output" };
        info.insert(name.to_owned(), take("tool_response"));
    }
    Some(json!({
        "agent_action_name": action, "trajectory_id": take("session_id"), "tool_info": info,
    }))
}
