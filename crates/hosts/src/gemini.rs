//! Gemini CLI. Its events have names of their own, and an answer is one `decision` beside what is
//! particular to the event.
//!
//! Text that is no JSON is a refusal or a remark, depending on the exit code; where nothing is on
//! standard output, standard error is read for it.

use std::time::Duration;

use serde_json::{Map, Value};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Form, Forms, Host, HostEvent, Incoming, Wire};
use crate::mcp::McpNames;
use crate::output::{Output, WireError, json_in};
use crate::reply::{Reply, Rewritten, Verdict};
use crate::tools::{HostTool, Shape};

/// Gemini CLI.
pub static HOST: Host = Host {
    name: "gemini",
    title: "Gemini CLI",
    events: EVENTS,
    other_events: &["BeforeToolSelection"],
    tools: TOOLS,
    mcp: McpNames::GEMINI,
    project_variables: &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    patience: Duration::from_mins(1),
    wire: &Gemini,
};

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    // An allow changes nothing about what it asks the person. A question ends a run that has no person
    // to ask, without a word, or hangs it where an MCP server is connected.
    HostEvent::gate(
        "BeforeTool",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Terminal,
            allow: Form::Lost,
            rewrite: Form::Own,
            ..Forms::NONE
        },
    ),
    // The reason of a refusal stands where the result was. It comes for tools that failed as well.
    HostEvent::gate(
        "AfterTool",
        Kind::ToolPost,
        Forms { refuse: Form::Own, rewrite: Form::Told, ..Forms::NONE },
    ),
    HostEvent::gate(
        "BeforeAgent",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Refused, context: Form::Own, ..Forms::NONE },
    ),
    // With all of the conversation. A refusal ends the turn.
    HostEvent::gate(
        "BeforeModel",
        Kind::ModelPre,
        Forms { refuse: Form::Own, resume: Form::Refused, context: Form::Lost, ..Forms::NONE },
    ),
    // For each piece of an answer, as it comes.
    HostEvent::tells("AfterModel", Kind::ModelPost, Forms::NONE).unregistered(),
    HostEvent::tells("AfterAgent", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells(
        "SessionStart",
        Kind::SessionStart,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("SessionEnd", Kind::SessionEnd, Forms::NONE),
    // Before every request to the model, whether anything is compacted or not.
    HostEvent::tells(
        "PreCompress",
        Kind::CompactionPre,
        Forms { refuse: Form::Lost, context: Form::Lost, ..Forms::NONE },
    )
    .unregistered(),
    HostEvent::tells(
        "Notification",
        Kind::Notification,
        Forms { refuse: Form::Lost, ..Forms::NONE },
    ),
];

/// Its tools, some of them under names of earlier versions as well.
pub const TOOLS: &[HostTool] = &[
    HostTool::new(
        "run_shell_command",
        "run_command",
        &[("command", "CommandLine"), ("dir_path", "Cwd"), ("directory", "Cwd")],
    ),
    HostTool::new(
        "read_file",
        "view_file",
        &[
            ("file_path", "AbsolutePath"),
            ("absolute_path", "AbsolutePath"),
            ("start_line", "StartLine"),
            ("end_line", "EndLine"),
        ],
    ),
    HostTool::new("read_many_files", "view_file", &[("include", "AbsolutePath")])
        .shape(Shape::Each("include")),
    HostTool::new(
        "write_file",
        "write_to_file",
        &[("file_path", "TargetFile"), ("content", "CodeContent")],
    ),
    HostTool::new(
        "replace",
        "replace_file_content",
        &[
            ("file_path", "TargetFile"),
            ("old_string", "TargetContent"),
            ("new_string", "ReplacementContent"),
            ("allow_multiple", "AllowMultiple"),
        ],
    ),
    HostTool::new(
        "list_directory",
        "list_dir",
        &[("dir_path", "DirectoryPath"), ("path", "DirectoryPath")],
    ),
    HostTool::new(
        "glob",
        "find_by_name",
        &[("dir_path", "SearchDirectory"), ("path", "SearchDirectory"), ("pattern", "Pattern")],
    ),
    HostTool::new("grep_search", "grep_search", GREP),
    HostTool::new("search_file_content", "grep_search", GREP),
    // It fetches what its prompt names.
    HostTool::new("web_fetch", "read_url_content", &[("url", "Url")]).shape(Shape::Urls("prompt")),
    HostTool::new("google_web_search", "search_web", &[]),
    HostTool::new("invoke_agent", "invoke_subagent", &[]),
    HostTool::new("ask_user", "ask_question", &[]),
];

const GREP: &[(&str, &str)] =
    &[("dir_path", "SearchPath"), ("path", "SearchPath"), ("pattern", "Query")];

/// What Gemini CLI says and is told.
struct Gemini;

impl Wire for Gemini {
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
        let mut own = Map::new();
        let mut outer = Map::new();
        let mut put = |name: &str, text: &str| drop(outer.insert(name.to_owned(), text.into()));
        let refused = matches!(reply.verdict, Verdict::Refuse | Verdict::Resume);
        if refused {
            put("decision", "deny");
            put("reason", &reply.reason);
        } else if reply.verdict == Verdict::Ask {
            put("decision", "ask");
            put("reason", &reply.reason);
            // What the person is shown beside the question.
            put("systemMessage", &reply.reason);
        }
        if let Some(Rewritten::Input(input)) = &reply.rewrite {
            own.insert("tool_input".to_owned(), input.clone());
        }
        if !reply.context.is_empty() {
            own.insert("additionalContext".to_owned(), reply.context.join("\n\n").into());
        }
        if !own.is_empty() {
            own.insert("hookEventName".to_owned(), event.name.into());
            outer.insert("hookSpecificOutput".to_owned(), Value::Object(own));
        }
        if outer.is_empty() {
            return Output::silent();
        }
        let output = Output::json(&Value::Object(outer));
        if refused { output.failing(2, &reply.reason) } else { output }
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let text = if stdout.trim().is_empty() { stderr.trim() } else { stdout.trim() };
        if text.is_empty() {
            return Ok(Reply::default());
        }
        match json_in(text) {
            Ok(Value::Object(fields)) => Ok(answer(event, fields)),
            Ok(_) => Ok(Reply::default()),
            Err(_) if matches!(output.code, 0 | 1) => Err(WireError::new(
                "it printed text, which is shown to the person and says no more",
            )),
            Err(_) => Ok(refusal(event, text.to_owned())),
        }
    }
}

/// What a refusal is at an event.
fn refusal(event: &HostEvent, reason: String) -> Reply {
    let verdict = match event.forms {
        Forms { refuse: Form::Own, .. } => Verdict::Refuse,
        Forms { resume: Form::Own, .. } => Verdict::Resume,
        _ => return Reply::default(),
    };
    Reply { verdict, reason, ..Reply::default() }
}

fn answer(event: &HostEvent, mut fields: Args) -> Reply {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let reason = text("reason");
    let mut reply = match (text("decision").as_str(), event.kind) {
        ("deny" | "block", _) => refusal(event, reason),
        ("ask", Kind::ToolPre) => Reply { verdict: Verdict::Ask, reason, ..Reply::default() },
        _ => Reply::default(),
    };
    let Some(Value::Object(mut own)) = fields.remove("hookSpecificOutput") else { return reply };
    if event.kind == Kind::ToolPre
        && let Some(input @ Value::Object(_)) = own.remove("tool_input")
    {
        reply.rewrite = Some(Rewritten::Input(input));
    }
    let takes_text = matches!(event.kind, Kind::TurnStart | Kind::SessionStart | Kind::ToolPost);
    if takes_text && let Some(Value::String(context)) = own.remove("additionalContext") {
        reply.context.push(context);
    }
    reply
}
