//! What Polytoken says: the event and its subject, and what it is about. Where it is and which session
//! it is stands in variables.

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{Args, FacetSwitch};
use tollgate_core::{AnyEvent, EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Host, HostEvent, Incoming, Part};
use crate::output::WireError;

pub(super) const EVENT: &str = "event";
const SUBJECT: &str = "matcher_subject";
const MODEL: &str = "model_name";

/// What stands in variables, under the name that it would have in the input. Handlers are run in the
/// project's directory.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("POLYTOKEN_HOOK_EVENT", EVENT),
    ("POLYTOKEN_SESSION_ID", "session_id"),
    ("POLYTOKEN_MODEL_NAME", MODEL),
    ("POLYTOKEN_PROJECT_DIR", "cwd"),
    ("POLYTOKEN_PROJECT_PATH", "cwd"),
    ("PWD", "cwd"),
];

const NAMES: Names = Names {
    event: EVENT,
    session: &["session_id"],
    transcript: &["transcript_path"],
    agent: &["agent_id"],
    agent_type: &["subagent_type", SUBJECT],
    tool: &["tool_name", SUBJECT],
    input: &["input", "tool_input"],
    result: &["output"],
    call: &["call_id"],
    response: &["result"],
    summary: &["summary"],
    notification: &["notification_type"],
};

fn number(input: &Args, name: &str) -> Option<u64> {
    input.get(name).and_then(Value::as_u64)
}

fn text(input: &Args, name: &str) -> Option<String> {
    input.get(name).and_then(Value::as_str).map(ToOwned::to_owned)
}

pub(super) fn read(
    host: &'static Host,
    event: &'static HostEvent,
    mut input: Args,
) -> Result<Incoming, WireError> {
    if let Some(model) = input.remove(MODEL) {
        input.insert("model".to_owned(), model);
    }
    // Handlers in use read the text of a notification as its summary.
    if let (Kind::Notification, None, Some(summary)) =
        (event.kind, text(&input, "message"), input.get("summary").cloned())
    {
        input.insert("message".to_owned(), summary);
    }
    if event.kind == Kind::FacetSwitch {
        let model = text(&input, "model");
        let (from, to) = (text(&input, "from"), text(&input, "to"));
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        let part = Part::of(FacetSwitch { from, to, model, ..FacetSwitch::default() });
        let id = text(&input, "session_id").unwrap_or_default();
        let session = SessionInfo { id, ..SessionInfo::default() };
        let cwd = text(&input, "cwd");
        return Ok(Incoming { host, event, session, cwd, parts: vec![part], result: None });
    }
    let told = input.clone();
    let mut incoming = Fields::new(host, &NAMES, input).read(event)?;
    for part in &mut incoming.parts {
        complete(&mut part.event, &told);
    }
    Ok(incoming)
}

/// What most hosts do not tell, where it is told.
fn complete(event: &mut AnyEvent, told: &Args) {
    let set = |value: &mut u64, name: &str| {
        if let Some(number) = number(told, name) {
            *value = number;
        }
    };
    match event {
        AnyEvent::ModelPre(event) => {
            set(&mut event.invocation, "invocation");
            set(&mut event.steps, "steps");
        }
        AnyEvent::ModelPost(event) => {
            set(&mut event.invocation, "invocation");
            set(&mut event.steps, "steps");
        }
        AnyEvent::Stop(event) => {
            set(&mut event.execution, "execution");
            if let Some(reason) = text(told, "reason") {
                event.reason = reason;
            }
            event.error = text(told, "error");
            if let Some(idle) = told.get("idle").and_then(Value::as_bool) {
                event.idle = idle;
            }
        }
        _ => {}
    }
}

pub(super) fn write(
    host: &'static Host,
    event: EventRef<'_>,
    session: &SessionInfo,
) -> Option<Value> {
    let mut told = match event {
        EventRef::FacetSwitch(event) => {
            let mut told = json!({EVENT: "facet_switch", "from": event.from, "to": event.to});
            let fields = told.as_object_mut()?;
            fields.insert("session_id".to_owned(), session.id.as_str().into());
            if let Some(model) = &event.model {
                fields.insert("model".to_owned(), model.as_str().into());
            }
            told
        }
        event => fields::write(host, &NAMES, event, session)?,
    };
    let fields = told.as_object_mut()?;
    // What other hosts tell.
    for name in ["cwd", "transcript_path", "source", "trigger", "stop_hook_active", "llm_request"] {
        fields.remove(name);
    }
    if let Some(model) = fields.remove("model") {
        fields.insert(MODEL.to_owned(), model);
    }
    if session.id.is_empty() {
        fields.remove("session_id");
    }
    let more = match event {
        EventRef::ModelPre(event) => json!({"invocation": event.invocation, "steps": event.steps}),
        EventRef::ModelPost(event) => json!({"invocation": event.invocation, "steps": event.steps}),
        EventRef::Stop(event) => {
            let mut more =
                json!({"reason": event.reason, "execution": event.execution, "idle": event.idle});
            if let (Some(error), Some(more)) = (&event.error, more.as_object_mut()) {
                more.insert("error".to_owned(), error.as_str().into());
            }
            more
        }
        EventRef::Notification(event) => json!({"summary": event.message}),
        _ => Value::Object(Map::new()),
    };
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    let subject = ["tool_name", "subagent_type", EVENT].iter().find_map(|name| fields.get(*name));
    let subject = subject.cloned()?;
    fields.insert(SUBJECT.to_owned(), subject);
    Some(told)
}
