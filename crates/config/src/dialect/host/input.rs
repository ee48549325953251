//! What handlers read.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{Args, Native, ToolCall, ToolError, ToolPost, ToolPre};
use tollgate_core::patch::Rewrite;
use tollgate_core::{AnyEvent, EventRef, Kind, tools};
use tollgate_hosts::{HostTool, Shape};

use super::super::{Codec as _, Decoded, WireError};
use super::HostDialect;

/// Writes an event as the agent would.
pub(super) fn encode(
    dialect: &HostDialect,
    event: EventRef<'_>,
    session: &SessionInfo,
) -> Option<Value> {
    dialect.name_of(event.kind())?;
    let adapted = adapted(dialect, event);
    let event = adapted.as_ref().map_or(event, AnyEvent::view);
    dialect.host.wire.write_event(dialect.host, event, session)
}

/// The event as the agent could have come to it: with a tool that it has, and with a result as its
/// tools have it.
fn adapted(dialect: &HostDialect, event: EventRef<'_>) -> Option<AnyEvent> {
    match event {
        EventRef::ToolPre(event) => {
            let call = instead(dialect, &event.call)?;
            Some(ToolPre { call }.into())
        }
        EventRef::ToolPost(event) => {
            let call = instead(dialect, &event.call);
            let result = event.result.as_str().map(|text| {
                let (name, _) = dialect.host.native(call.as_ref().unwrap_or(&event.call));
                (dialect.result)(&name, text)
            });
            if call.is_none() && result.is_none() {
                return None;
            }
            let call = call.unwrap_or_else(|| event.call.clone());
            let result = result.unwrap_or_else(|| event.result.clone());
            Some(ToolPost { call, result }.into())
        }
        EventRef::ToolError(event) => {
            let call = instead(dialect, &event.call);
            // Some tell of a tool that failed as of any other.
            if dialect.host_event(Kind::ToolError).is_some_and(|it| it.kind == Kind::ToolPost) {
                let call = call.unwrap_or_else(|| event.call.clone());
                let (name, _) = dialect.host.native(&call);
                let mut result = (dialect.result)(&name, &event.error);
                if let Value::Object(fields) = &mut result {
                    fields.insert("error".to_owned(), json!({"message": event.error}));
                }
                return Some(ToolPost { call, result }.into());
            }
            Some(ToolError { call: call?, error: event.error.clone() }.into())
        }
        _ => None,
    }
}

/// The call in the words of the agent, where none of its tools is simply the one that is called.
fn instead(dialect: &HostDialect, call: &ToolCall) -> Option<ToolCall> {
    let host = dialect.host.name;
    let is_own = call.native.as_ref().is_some_and(|native| native.host == host);
    if is_own || call.server.as_ref().is_some_and(|server| !server.is_empty()) {
        return None;
    }
    let (name, input) = (dialect.instead)(call)?;
    let native = Native { host: host.to_owned(), name: name.to_owned(), input };
    Some(ToolCall { native: Some(Arc::new(native)), ..call.clone() })
}

/// Reads an event as the agent writes it.
pub(super) fn decode(
    dialect: &HostDialect,
    event: &str,
    input: Value,
) -> Result<Decoded, WireError> {
    if dialect.events.iter().all(|known| known.name != event) {
        return Err(dialect.no_event(&format!("`{event}`")));
    }
    let Value::Object(mut fields) = input else {
        return Err(WireError::new(format!("{} hands over one JSON object", dialect.host.title)));
    };
    fields.insert("hook_event_name".to_owned(), event.into());
    let incoming = dialect.host.read(Some(event), Value::Object(fields))?;
    let Some(mut incoming) = incoming else { return Err(dialect.no_event(&format!("`{event}`"))) };
    if incoming.parts.len() > 1 {
        return Err(WireError::new(format!(
            "this is {} calls in one: a patch of several files, or a list of commands",
            incoming.parts.len()
        )));
    }
    let Some(part) = incoming.parts.pop() else { return Err(dialect.no_event("nothing")) };
    incoming.session.workspaces = incoming.cwd.into_iter().collect();
    Ok(Decoded { event: part.event, session: incoming.session })
}

/// A rewrite in Tollgate's words.
pub(super) fn unwrap_rewrite(
    dialect: &HostDialect,
    event: EventRef<'_>,
    rewrite: Rewrite,
) -> Result<Rewrite, WireError> {
    match (event, rewrite) {
        (EventRef::ToolPre(event), Rewrite::AllArgs(input) | Rewrite::Args(input)) => {
            if instead(dialect, &event.call).is_some() {
                return Err(WireError::new(format!(
                    "it rewrites the input of a tool that {} has, and `{}` was called instead: \
                     refuse the call, and say what to do",
                    dialect.host.title, event.call.name
                )));
            }
            Ok(Rewrite::AllArgs(args(dialect, &event.call, input)))
        }
        (EventRef::ToolPost(event), Rewrite::Result(result)) => {
            Ok(Rewrite::Result(seen(dialect, &event.call, result)))
        }
        (_, rewrite) => Ok(rewrite),
    }
}

/// The arguments of a call, of the input of the agent's own tool. What that tool has no name for stays
/// as it was: no hook of the agent could mean to drop it.
fn args(dialect: &HostDialect, call: &ToolCall, input: Args) -> Args {
    let (name, _) = dialect.host.native(call);
    let tool =
        dialect.host.tool(&name).filter(|_| call.server.as_ref().is_none_or(String::is_empty));
    let Some(tool) = tool else { return input };
    let theirs = |ours: &str| tool.args.iter().any(|(_, name)| *name == ours);
    let known = tools::lookup(&call.name).map(|known| known.args).unwrap_or_default();
    let is_ours_alone = |name: &str| !theirs(name) && known.iter().any(|arg| arg.name == name);
    let kept = call.args.iter().filter(|(name, _)| is_ours_alone(name));
    let mut args: Args = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, value) in input {
        let value = match tool.shape {
            Shape::Edits(list) if list == name => chunks(tool, value),
            _ => value,
        };
        args.insert(renamed(tool, &name).to_owned(), value);
    }
    args
}

fn renamed<'n>(tool: &HostTool, name: &'n str) -> &'n str {
    tool.args.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| *ours)
}

fn chunks(tool: &HostTool, edits: Value) -> Value {
    let chunk = |edit: Value| match edit {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields: Map<_, _> =
                fields.map(|(name, value)| (renamed(tool, &name).to_owned(), value)).collect();
            Value::Object(fields)
        }
        other => other,
    };
    match edits {
        Value::Array(edits) => edits.into_iter().map(chunk).collect(),
        other => other,
    }
}

/// What hooks see of a result that is in the form of the agent's own tool.
fn seen(dialect: &HostDialect, call: &ToolCall, result: Value) -> Value {
    let (name, _) = dialect.host.native(call);
    let event = dialect.host.events.iter().find(|it| it.kind == Kind::ToolPost);
    let Some(event) = event else { return result };
    let input = json!({
        "hook_event_name": event.name, "tool_name": name, "tool_input": {}, "tool_response": result,
    });
    match dialect.host.read(Some(event.name), input) {
        Ok(Some(incoming)) => match incoming.parts.into_iter().next().map(|part| part.event) {
            Some(AnyEvent::ToolPost(event)) => event.result,
            _ => result,
        },
        _ => result,
    }
}
