//! Antigravity, by its documents: it was not run.
//!
//! Its `hooks.json` has no silence before a tool: an answer without a decision refuses the call. An
//! allow would skip the question to the person, so no opinion is `ask`, with which Antigravity asks as
//! it does without hooks of its own accord: not where the person has said "always". What a hook wants to
//! be asked is `force_ask`, which such a word does not answer. The input does not tell the event.
//!
//! Newer versions take `overwrite`, which an older one passes over, with the call as it was: what hooks
//! rewrite is refused, with what to do instead.

mod input;

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::{Reply, Verdict};
use crate::tools::HostTool;

/// Antigravity.
pub static HOST: Host = Host {
    name: "antigravity",
    title: "Antigravity",
    events: EVENTS,
    other_events: &[],
    tools: TOOLS,
    mcp: McpNames { prefix: "", separator: "/" },
    project_variables: &[],
    patience: Duration::from_secs(30),
    wire: &Antigravity,
};

/// Its events. One name is for both ends of a call: a failure has an `error`.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate(
        "PreToolUse",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Own,
            allow: Form::Own,
            rewrite: Form::Refused,
            ..Forms::NONE
        },
    ),
    HostEvent::tells(
        "PostToolUse",
        Kind::ToolPost,
        Forms { refuse: Form::Lost, rewrite: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::tells(
        "PostToolUse",
        Kind::ToolError,
        Forms { refuse: Form::Lost, context: Form::Lost, ..Forms::NONE },
    )
    .unregistered(),
    // The model is called whatever a hook says.
    HostEvent::tells(
        "PreInvocation",
        Kind::ModelPre,
        Forms { refuse: Form::Lost, context: Form::Own, resume: Form::Lost, ..Forms::NONE },
    ),
    // A refusal ends the loop.
    HostEvent::tells(
        "PostInvocation",
        Kind::InvocationEnd,
        Forms { refuse: Form::Own, context: Form::Own, resume: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("Stop", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells(
        "SessionStart",
        Kind::SessionStart,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
];

macro_rules! same {
    ($($name:literal)*) => { &[$(HostTool::new($name, $name, &[])),*] };
}

/// Its tools, which are those of the table.
pub const TOOLS: &[HostTool] = same! {
    "view_file" "write_to_file" "replace_file_content" "multi_replace_file_content" "list_dir"
    "find_by_name" "grep_search" "run_command" "search_web" "read_url_content" "generate_image"
    "manage_task" "schedule" "ask_question" "list_permissions" "ask_permission" "invoke_subagent"
    "define_subagent" "send_message" "manage_subagents"
};

/// What Antigravity says and is told.
struct Antigravity;

impl Wire for Antigravity {
    fn event_of<'a>(&self, _input: &'a Args) -> Option<&'a str> {
        None
    }

    fn mcp_tool(&self) -> Option<&'static str> {
        Some(input::MCP_TOOL)
    }

    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        input::read(host, event, &input)
    }

    fn write_event(
        &self,
        _host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        input::write(event, session)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        let mut said = Map::new();
        let mut put = |name: &str, value: Value| drop(said.insert(name.to_owned(), value));
        let reason = reply.reason.as_str();
        match event.kind {
            Kind::ToolPre => {
                put("decision", word(reply.verdict).into());
                if !reason.is_empty() {
                    put("reason", reason.into());
                }
            }
            Kind::Stop if matches!(reply.verdict, Verdict::Refuse | Verdict::Resume) => {
                put("decision", CONTINUE.into());
                put("reason", reason.into());
            }
            Kind::Stop => put("decision", "stop".into()),
            Kind::ModelPre | Kind::InvocationEnd | Kind::SessionStart => {
                let mut texts: Vec<_> = reply.context.iter().map(String::as_str).collect();
                let behaviour = match (event.kind, reply.verdict) {
                    (Kind::InvocationEnd, Verdict::Refuse) => TERMINATE,
                    (Kind::InvocationEnd, Verdict::Resume) => FORCE_CONTINUE,
                    _ => "",
                };
                if !behaviour.is_empty() {
                    put("terminationBehavior", behaviour.into());
                    // There is no field for it.
                    texts.extend((!reason.is_empty()).then_some(reason));
                }
                // What is told as a session begins is not for one call of the model alone. Versions
                // that have this event have such messages too.
                let of = if event.kind == Kind::SessionStart { SYSTEM } else { EPHEMERAL };
                if !texts.is_empty() {
                    put(STEPS, texts.iter().map(|text| json!({of: text})).collect());
                }
            }
            _ => {}
        }
        // It goes by what is printed; what it makes of an exit code its documents do not say.
        Output::json(&Value::Object(said))
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        if output.code != 0 {
            return Err(WireError::new(format!("it exited with {}", output.code)));
        }
        let said = match serde_json::from_slice(&output.stdout) {
            Ok(Value::Object(said)) => said,
            _ if event.kind == Kind::ToolPost || event.kind == Kind::ToolError => Map::new(),
            _ => return Err(WireError::new("it printed something that is no JSON object")),
        };
        Ok(answer(event.kind, &said))
    }
}

const CONTINUE: &str = "continue";
const FORCE_CONTINUE: &str = "force_continue";
const TERMINATE: &str = "terminate";
const STEPS: &str = "injectSteps";
const EPHEMERAL: &str = "ephemeralMessage";
const SYSTEM: &str = "systemMessage";

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Silent => "ask",
        Verdict::Allow => "allow",
        Verdict::Ask => "force_ask",
        Verdict::Refuse | Verdict::Resume => "deny",
    }
}

/// What an answer says.
fn answer(event: Kind, said: &Args) -> Reply {
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let reason = text("reason").unwrap_or_default().to_owned();
    let of = |verdict, reason| Reply { verdict, reason, ..Reply::default() };
    match event {
        Kind::ToolPre => match text("decision") {
            Some("allow") => of(Verdict::Allow, reason),
            Some("ask") => of(Verdict::Silent, reason),
            Some("force_ask") => of(Verdict::Ask, reason),
            Some("deny") => of(Verdict::Refuse, reason),
            _ => of(Verdict::Refuse, "it gave no decision".to_owned()),
        },
        Kind::Stop if text("decision") == Some(CONTINUE) => of(Verdict::Resume, reason),
        Kind::ModelPre | Kind::InvocationEnd | Kind::SessionStart => {
            let mut context = steps(said);
            let verdict = match text("terminationBehavior").filter(|_| event == Kind::InvocationEnd)
            {
                Some(FORCE_CONTINUE) => Verdict::Resume,
                Some(TERMINATE) => Verdict::Refuse,
                _ => return Reply { context, ..Reply::default() },
            };
            let reason = context.pop().unwrap_or_default();
            Reply { context, ..of(verdict, reason) }
        }
        _ => Reply::default(),
    }
}

/// The texts of the steps that an answer injects.
fn steps(said: &Args) -> Vec<String> {
    let steps = said.get(STEPS).and_then(Value::as_array).into_iter().flatten();
    let text = |step: &Value| {
        let names = [EPHEMERAL, "userMessage", SYSTEM];
        names.iter().find_map(|name| step.get(*name)?.as_str()).map(ToOwned::to_owned)
    };
    steps.filter_map(text).collect()
}
