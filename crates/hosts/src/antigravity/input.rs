//! What Antigravity says.
//!
//! `tollgate-config` has the same as types, for hooks that were written for Antigravity and for the
//! schemas of what these read. There, a payload is Tollgate's own. Here it is another program's, so
//! what is missing or of another type is passed over wherever nothing depends on it.

use serde_json::{Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{
    Args, InvocationEnd, ModelPre, SessionStart, Stop, ToolCall, ToolError, ToolPost,
};
use tollgate_core::{AnyEvent, EventRef, Kind};

use crate::fields::{Fields, Names};
use crate::host::{Host, HostEvent, Incoming, Part};
use crate::output::WireError;
use crate::tools;

/// The one tool through which those of MCP servers are called, and its arguments.
pub(super) const MCP_TOOL: &str = "call_mcp_tool";
const MCP_SERVER: &str = "ServerName";
const MCP_NAME: &str = "ToolName";
const MCP_ARGS: &str = "Arguments";

fn text<'a>(input: &'a Args, name: &str) -> Option<&'a str> {
    input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn number(input: &Args, name: &str) -> u64 {
    input.get(name).and_then(Value::as_u64).unwrap_or_default()
}

pub(super) fn read(
    host: &'static Host,
    event: &'static HostEvent,
    input: &Args,
) -> Result<Incoming, WireError> {
    let error = text(input, "error");
    // One name is for both ends of a call.
    let failed = error.is_some() && event.kind == Kind::ToolPost;
    let mut rows = host.events.iter();
    let event = rows.find(|it| failed && it.kind == Kind::ToolError).unwrap_or(event);
    let own = |name| text(input, name).map(ToOwned::to_owned);
    let model = own("modelName");
    let (invocation, steps) = (number(input, "invocationNum"), number(input, "initialNumSteps"));
    let part = match event.kind {
        Kind::ToolPost | Kind::ToolError
            if !input.get("toolCall").is_some_and(Value::is_object) =>
        {
            // Older versions say of a call that is over no more than its place.
            let call = ToolCall { model, step: step(input), ..ToolCall::default() };
            match error {
                Some(error) => Part::of(ToolError::new(call, error)),
                None => Part::of(ToolPost::new(call, Value::Null)),
            }
        }
        Kind::ToolPre | Kind::ToolPost | Kind::ToolError => return call(host, event, input),
        Kind::ModelPre => Part::of(ModelPre { invocation, steps, model, ..ModelPre::default() }),
        Kind::InvocationEnd => {
            Part::of(InvocationEnd { invocation, steps, model, ..InvocationEnd::default() })
        }
        Kind::Stop => Part::of(Stop {
            execution: number(input, "executionNum"),
            reason: own("terminationReason").unwrap_or_default(),
            error: own("error"),
            idle: input.get("fullyIdle").and_then(Value::as_bool).unwrap_or_default(),
            model,
            ..Stop::default()
        }),
        Kind::SessionStart => Part::of(SessionStart { model, ..SessionStart::default() }),
        other => return Err(WireError::new(format!("{} does not tell {other}", host.title))),
    };
    let session = session(input);
    let cwd = session.workspaces.first().cloned();
    Ok(Incoming { host, event, session, cwd, parts: vec![part], result: None })
}

fn session(input: &Args) -> SessionInfo {
    let given = |name| text(input, name).map(ToOwned::to_owned);
    let paths = input.get("workspacePaths").and_then(Value::as_array).into_iter().flatten();
    SessionInfo {
        id: given("conversationId").unwrap_or_default(),
        workspaces: paths.filter_map(|path| path.as_str().map(ToOwned::to_owned)).collect(),
        transcript: given("transcriptPath"),
        artifacts: given("artifactDirectoryPath"),
    }
}

fn step(input: &Args) -> Option<u64> {
    input.get("stepIdx").and_then(Value::as_u64)
}

/// An event that tells its call.
fn call(
    host: &'static Host,
    event: &'static HostEvent,
    input: &Args,
) -> Result<Incoming, WireError> {
    let told = input.get("toolCall").and_then(Value::as_object);
    let Some((told, name)) = told.and_then(|told| Some((told, text(told, "name")?))) else {
        return Err(WireError::new(format!(
            "the payload is not understood: `{}` of {} came without `toolCall`",
            event.name, host.title
        )));
    };
    let session = session(input);
    let args = told.get("args").cloned().unwrap_or_else(|| json!({}));
    let mut flat = Args::new();
    let mut put = |name: &str, value: Value| drop(flat.insert(name.to_owned(), value));
    put("cwd", session.workspaces.first().cloned().into());
    put("model", text(input, "modelName").into());
    put("error", text(input, "error").into());
    put("tool_name", name.into());
    // A server's tool is taken out of its wrapping. What else is in that says nothing about it.
    let wrapped = args.as_object().filter(|_| name == MCP_TOOL);
    let server = wrapped.and_then(|args| Some((text(args, MCP_SERVER)?, text(args, MCP_NAME)?)));
    match server {
        Some((server, tool)) => {
            put("mcp_context", json!({"server_name": server, "tool_name": tool}));
            put("tool_input", args.get(MCP_ARGS).cloned().unwrap_or_else(|| json!({})));
        }
        None => put("tool_input", args.clone()),
    }
    let mut incoming = Fields::new(host, &Names::SNAKE, flat).read(event)?;
    incoming.session = session;
    for part in &mut incoming.parts {
        let call = match &mut part.event {
            AnyEvent::ToolPre(event) => &mut event.call,
            AnyEvent::ToolPost(event) => &mut event.call,
            AnyEvent::ToolError(event) => &mut event.call,
            _ => continue,
        };
        call.step = step(input);
        call.native = Some(tools::as_it_is(host, name, &args));
    }
    Ok(incoming)
}

/// A call as Antigravity writes it.
fn tool_call(call: &ToolCall) -> Value {
    let native = call.native.as_ref().filter(|native| native.host == super::HOST.name);
    if let Some(native) = native {
        return json!({"name": native.name, "args": native.input});
    }
    match call.server.as_deref().filter(|server| !server.is_empty()) {
        Some(server) => json!({"name": MCP_TOOL, "args": {
            MCP_SERVER: server, MCP_NAME: call.name, MCP_ARGS: call.args,
        }}),
        None => json!({"name": call.name, "args": call.args}),
    }
}

pub(super) fn write(event: EventRef<'_>, session: &SessionInfo) -> Option<Value> {
    let over = |call: &ToolCall, error: &str| {
        let mut told = json!({"stepIdx": call.step.unwrap_or_default(), "error": error});
        if let (false, Some(told)) = (call.name.is_empty(), told.as_object_mut()) {
            told.insert("toolCall".to_owned(), tool_call(call));
        }
        told
    };
    let (mut told, model) = match event {
        EventRef::ToolPre(event) => {
            let step = event.call.step.unwrap_or_default();
            let told = json!({"toolCall": tool_call(&event.call), "stepIdx": step});
            (told, &event.call.model)
        }
        EventRef::ToolPost(event) => (over(&event.call, ""), &event.call.model),
        EventRef::ToolError(event) => {
            // A failure without a message would read as a success.
            let error = if event.error.is_empty() { "failed" } else { &event.error };
            (over(&event.call, error), &event.call.model)
        }
        EventRef::ModelPre(ModelPre { invocation, steps, model, .. })
        | EventRef::InvocationEnd(InvocationEnd { invocation, steps, model, .. }) => {
            (json!({"invocationNum": invocation, "initialNumSteps": steps}), model)
        }
        EventRef::Stop(event) => {
            let told = json!({
                "executionNum": event.execution,
                "terminationReason": event.reason,
                "error": event.error.as_deref().unwrap_or_default(),
                "fullyIdle": event.idle,
            });
            (told, &event.model)
        }
        EventRef::SessionStart(event) => (json!({}), &event.model),
        _ => return None,
    };
    let fields = told.as_object_mut()?;
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("conversationId", session.id.as_str().into());
    put("workspacePaths", session.workspaces.clone().into());
    put("transcriptPath", session.transcript.as_deref().unwrap_or_default().into());
    put("artifactDirectoryPath", session.artifacts.as_deref().unwrap_or_default().into());
    if let Some(model) = model {
        put("modelName", model.as_str().into());
    }
    Some(told)
}
