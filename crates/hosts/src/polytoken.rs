//! Polytoken, by its documents: it was not run.
//!
//! An answer is one outcome with the fields that it has; a field too many makes an error of it, and so
//! does the outcome of another event. What an error does depends on the event: it stops a call, a turn
//! of the model and a compaction, keeps the agent from handing back, and lets a prompt pass. So outcomes
//! are written to the letter, and a prompt is refused in words. To proceed is silence. A turn of the model
//! has no refusal but the error: its outcome to stop is to try again, which a broken hook would do for ever.

pub mod outcomes;

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
use outcomes::{Field, Meaning, Outcome, Row};

/// Polytoken.
pub static HOST: Host = Host {
    name: "polytoken",
    title: "Polytoken",
    events: EVENTS,
    other_events: &[],
    tools: TOOLS,
    mcp: McpNames::CLAUDE,
    project_variables: &["POLYTOKEN_PROJECT_DIR", "POLYTOKEN_PROJECT_PATH"],
    // Its documents say no more than that it is short.
    patience: Duration::from_secs(10),
    wire: &Polytoken,
};

const UNHEARD: Forms =
    Forms { refuse: Form::Lost, rewrite: Form::Lost, context: Form::None, ..Forms::NONE };

/// Its events.
pub const EVENTS: &[HostEvent] = &[
    HostEvent::gate(
        "pre_tool_use",
        Kind::ToolPre,
        Forms {
            refuse: Form::Own,
            ask: Form::Refused,
            allow: Form::Lost,
            rewrite: Form::Refused,
            ..Forms::NONE
        },
    ),
    HostEvent::tells("post_tool_use", Kind::ToolPost, UNHEARD),
    HostEvent::tells(
        "post_tool_use_failure",
        Kind::ToolError,
        Forms { refuse: Form::Lost, context: Form::Lost, ..Forms::NONE },
    ),
    HostEvent::gate(
        "pre_user_prompt",
        Kind::TurnStart,
        Forms { refuse: Form::Own, rewrite: Form::Refused, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::gate(
        "pre_model_turn",
        Kind::ModelPre,
        Forms { refuse: Form::Own, context: Form::Own, resume: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("post_model_turn", Kind::ModelPost, Forms::NONE),
    HostEvent::tells(
        "session_start",
        Kind::SessionStart,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("stop", Kind::Stop, Forms { resume: Form::Own, ..Forms::NONE }),
    HostEvent::tells(
        "pre_compaction",
        Kind::CompactionPre,
        Forms { refuse: Form::Own, context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells(
        "post_compaction",
        Kind::CompactionPost,
        Forms { context: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells(
        "notification",
        Kind::Notification,
        Forms { refuse: Form::Own, ..Forms::NONE },
    ),
    HostEvent::tells("facet_switch", Kind::FacetSwitch, Forms::NONE),
    HostEvent::tells("subagent_start", Kind::SubagentStart, Forms::NONE),
    HostEvent::tells("subagent_stop", Kind::SubagentStop, UNHEARD),
];

const EDIT: &[(&str, &str)] = &[
    ("path", "TargetFile"),
    ("file_path", "TargetFile"),
    ("content", "CodeContent"),
    ("search", "TargetContent"),
    ("replace", "ReplacementContent"),
];

/// Its tools, as far as its documents and the hooks of people name them. A name that ends in `*` is for
/// all that begin like it: an edit that nobody has heard of is one all the same.
pub const TOOLS: &[HostTool] = &[
    HostTool::new("shell_exec", "run_command", &[("command", "CommandLine"), ("cwd", "Cwd")]),
    HostTool::new(
        "file_read",
        "view_file",
        &[("path", "AbsolutePath"), ("file_path", "AbsolutePath")],
    ),
    HostTool::new("file_write", "write_to_file", EDIT),
    HostTool::new("file_edit_search_replace", "replace_file_content", EDIT),
    HostTool::new("file_edit_*", "replace_file_content", EDIT),
    HostTool::new("web_fetch", "read_url_content", &[("url", "Url")]),
];

/// What Polytoken says and is told.
struct Polytoken;

impl Wire for Polytoken {
    fn event_of<'a>(&self, input: &'a Args) -> Option<&'a str> {
        input.get(input::EVENT).and_then(Value::as_str)
    }

    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        input::VARIABLES
    }

    fn tells_rounds(&self) -> bool {
        false
    }

    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        input::read(host, event, input)
    }

    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        input::write(host, event, session)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        let Some(row) = outcomes::row(event.kind).filter(|row| row.waits) else {
            return Output::silent();
        };
        let goes_on = matches!(reply.verdict, Verdict::Silent | Verdict::Allow);
        let Some(outcome) = outcome(row, reply.verdict) else {
            // What has happened already goes on, whatever is said.
            return if goes_on || !event.gate { Output::silent() } else { error(&reply.reason) };
        };
        let mut said = Map::new();
        for field in outcome.fields {
            let text = match field {
                Field::Reason => reply.reason.clone(),
                Field::Text(_) => reply.context.join("\n\n"),
                Field::Stdout | Field::Stderr => String::new(),
            };
            if !text.is_empty() {
                said.insert(field.name().to_owned(), text.into());
            }
        }
        if said.is_empty() && goes_on {
            return Output::silent();
        }
        said.insert("outcome".to_owned(), outcome.name.into());
        Output::json(&Value::Object(said))
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        let Some(row) = outcomes::row(event.kind).filter(|row| row.waits) else {
            return Ok(Reply::default());
        };
        match (answer(row, output), event.kind) {
            // On the principle that a hook which cannot decide lets nothing proceed.
            (Err(error), Kind::ToolPre | Kind::ModelPre | Kind::CompactionPre) => {
                Ok(of(Verdict::Refuse, error.message))
            }
            (Err(error), Kind::Stop) => Ok(of(Verdict::Resume, error.message)),
            (answer, _) => answer,
        }
    }
}

fn of(verdict: Verdict, reason: impl Into<String>) -> Reply {
    Reply { verdict, reason: reason.into(), ..Reply::default() }
}

/// To say that it could not decide, which stops what an error stops.
fn error(message: &str) -> Output {
    Output::json(&json!({"outcome": "error", "message": message}))
}

const fn verdict(means: Meaning) -> Verdict {
    match means {
        Meaning::Proceed => Verdict::Silent,
        Meaning::Deny | Meaning::Cancel | Meaning::Suppress => Verdict::Refuse,
        Meaning::Retry | Meaning::Continue => Verdict::Resume,
    }
}

/// The outcome that says it at an event.
fn outcome(row: &'static Row, said: Verdict) -> Option<&'static Outcome> {
    let of = |said| row.outcomes.iter().find(|outcome| verdict(outcome.means) == said);
    match said {
        Verdict::Silent | Verdict::Allow => of(Verdict::Silent),
        // Nobody can be asked.
        Verdict::Ask | Verdict::Refuse => of(Verdict::Refuse),
        Verdict::Resume => of(Verdict::Resume).or_else(|| of(Verdict::Refuse)),
    }
}

/// What an answer says. An error is one that Polytoken makes an error of.
fn answer(row: &'static Row, output: &Output) -> Result<Reply, WireError> {
    let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (stdout, stderr) = (printed(&output.stdout), printed(&output.stderr));
    match (output.code, row.stopping()) {
        (0, _) if stdout.is_empty() => Ok(Reply::default()),
        (0, _) => match serde_json::from_str(&stdout) {
            Ok(Value::Object(said)) => by_fields(row, said),
            _ => Err(WireError::new("it printed something that is no JSON object")),
        },
        (2, Some(stop)) => {
            let texts = [stdout, stderr].into_iter().filter(|text| !text.is_empty());
            Ok(of(verdict(stop.means), texts.collect::<Vec<_>>().join("\n")))
        }
        (code, _) => Err(WireError::new(format!("it exited with {code}: {stderr}"))),
    }
}

fn by_fields(row: &'static Row, said: Args) -> Result<Reply, WireError> {
    let word = said.get("outcome").and_then(Value::as_str);
    if word == Some("error") {
        let message = said.get("message").and_then(Value::as_str).unwrap_or_default();
        return Err(WireError::new(message));
    }
    let Some(outcome) = word.and_then(|word| row.named(word)) else {
        return Err(WireError::new(format!("its outcome is not one of {}", row.names())));
    };
    let mut reply = of(verdict(outcome.means), String::new());
    for (name, value) in said {
        let Some(field) = outcome.fields.iter().find(|field| field.name() == name) else {
            if name == "outcome" {
                continue;
            }
            return Err(WireError::new(format!("`{}` has no field `{name}`", outcome.name)));
        };
        match (field, value) {
            (Field::Text(_), Value::String(text)) => reply.context.push(text),
            (Field::Reason, Value::String(text)) => reply.reason = text,
            (_, Value::Null) | (Field::Stdout | Field::Stderr, Value::String(_)) => {}
            _ => return Err(WireError::new(format!("`{name}` is no text"))),
        }
    }
    Ok(reply)
}
