//! Anthropic's side of messages.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::frame::{Frame, Kind, Refusal, halves, list, pieces, refuse, text, tools, unmarked};
use super::openai::written;
use crate::message::{Args, Call, Message, Request};
use crate::model::{Finish, Reply};

pub(super) fn read(body: &Value) -> Result<Request, Refusal> {
    text(body, "model")?;
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|max| max == 0) {
        return refuse("max_tokens: Field required");
    }
    let mut request = Request::default();
    if let Some(blocks) = body.get("system").and_then(Value::as_array) {
        let texts: Vec<&str> = blocks.iter().map(full_text).collect::<Result<_, _>>()?;
        request.system = Some(texts.join("\n\n"));
    }
    let mut ids = HashSet::new();
    // The calls of the last message, with their names.
    let mut open: HashMap<&str, &str> = HashMap::new();
    let mut expected = "user";
    for (index, message) in list(body, "messages")?.iter().enumerate() {
        let (role, content) = (text(message, "role")?, list(message, "content")?);
        if !matches!(role, "user" | "assistant") {
            return refuse(format!("messages.{index}.role: Input should be 'user' or 'assistant'"));
        }
        if role != expected {
            return refuse(
                "messages: roles must alternate between \"user\" and \"assistant\", \"user\" first",
            );
        }
        if role == "user" {
            expected = "assistant";
            answer(index, content, &mut open, &mut request)?;
        } else {
            expected = "user";
            speak(index, content, &mut open, &mut ids, &mut request)?;
        }
    }
    if !open.is_empty() {
        return refuse(without_result("the last message", &open));
    }
    if let Some(declared) = body.get("tools").and_then(Value::as_array) {
        tools(&declared.iter().collect::<Vec<_>>(), "input_schema", &mut request)?;
    }
    Ok(request)
}

/// A message of the model.
fn speak<'a>(
    index: usize,
    content: &'a [Value],
    open: &mut HashMap<&'a str, &'a str>,
    ids: &mut HashSet<&'a str>,
    request: &mut Request,
) -> Result<(), Refusal> {
    let (mut said, mut calls) = (String::new(), Vec::new());
    for block in content {
        match text(block, "type")? {
            "text" => said.push_str(full_text(block)?),
            "tool_use" => {
                let (id, name) = (text(block, "id")?, text(block, "name")?);
                let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                if !id.chars().all(is_allowed) {
                    return refuse(format!(
                        "messages.{index}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                    ));
                }
                if !ids.insert(id) {
                    return refuse(format!("messages.{index}: `tool_use` ids must be unique"));
                }
                open.insert(id, name);
                let Some(Value::Object(input)) = block.get("input") else {
                    return refuse(format!(
                        "messages.{index}: tool_use.input: Input should be a valid dictionary"
                    ));
                };
                let (id, name) = (id.to_owned(), name.to_owned());
                calls.push(Call { id, name, args: Args::Object(input.clone()), signature: None });
            }
            other => return refuse(format!("messages.{index}: unexpected block `{other}`")),
        }
    }
    request.messages.push(Message::Assistant { text: said, calls });
    Ok(())
}

/// A message of the person, with the results of the calls before it.
fn answer<'a>(
    index: usize,
    content: &'a [Value],
    open: &mut HashMap<&'a str, &'a str>,
    request: &mut Request,
) -> Result<(), Refusal> {
    for block in content {
        match text(block, "type")? {
            "text" => {
                if !open.is_empty() {
                    return refuse(without_result(&format!("messages.{index}"), open));
                }
                request.messages.push(unmarked(full_text(block)?));
            }
            "tool_result" => {
                let id = text(block, "tool_use_id")?;
                let Some(name) = open.remove(id) else {
                    return refuse(format!(
                        "messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. \
                         Each `tool_result` block must have a corresponding `tool_use` block in the \
                         previous message."
                    ));
                };
                let content = text(block, "content")?.to_owned();
                let is_error = block.get("is_error") == Some(&Value::Bool(true));
                let (call, name) = (id.to_owned(), name.to_owned());
                request.messages.push(Message::Tool { call, name, content, is_error });
            }
            other => return refuse(format!("messages.{index}: unexpected block `{other}`")),
        }
    }
    if !open.is_empty() {
        return refuse(without_result(&format!("messages.{index}"), open));
    }
    Ok(())
}

fn without_result(place: &str, open: &HashMap<&str, &str>) -> String {
    let ids: Vec<&str> = open.keys().copied().collect();
    format!(
        "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}",
        ids.join(", ")
    )
}

fn full_text(block: &Value) -> Result<&str, Refusal> {
    match text(block, "text")? {
        text if text.trim().is_empty() => refuse("text content blocks must be non-empty"),
        text => Ok(text),
    }
}

pub(super) fn stream(model: &str, thought: &str, reply: &Reply) -> Vec<Frame> {
    let other = |data: &Value| Frame::event(Kind::Other, data);
    let usage = json!({
        "input_tokens": reply.usage.input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": 1,
    });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let mut frames = vec![
        other(&json!({"type": "message_start", "message": message})),
        other(&json!({"type": "ping"})),
    ];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<(Kind, Value)>| {
        frames.push(other(
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        frames.extend(deltas.into_iter().map(|(kind, delta)| {
            Frame::event(
                kind,
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            )
        }));
        frames.push(other(&json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    if !thought.is_empty() {
        let delta = |piece| (Kind::Other, json!({"type": "thinking_delta", "thinking": piece}));
        block(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            pieces(thought).map(delta).collect(),
        );
    }
    if !reply.text.is_empty() {
        let delta = |piece| (Kind::Text, json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), pieces(&reply.text).map(delta).collect());
    }
    for call in &reply.calls {
        let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        let written = written(&call.args);
        let delta =
            |piece| (Kind::Arguments, json!({"type": "input_json_delta", "partial_json": piece}));
        block(start, halves(&written).into_iter().map(delta).collect());
    }
    let reason = match &reply.finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::Calls => "tool_use",
        Finish::Refused => "refusal",
        Finish::Other(other) => other,
    };
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": reply.usage.output});
    frames.push(other(&json!({"type": "message_delta", "delta": delta, "usage": usage})));
    frames.push(other(&json!({"type": "message_stop"})));
    frames
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}
