//! OpenAI's side of chat completions.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::frame::{Frame, Kind, Refusal, halves, list, pieces, refuse, text, tools};
use crate::message::{Args, Call, Message, Request};
use crate::model::{Finish, Reply};

pub(super) fn read(body: &Value) -> Result<Request, Refusal> {
    text(body, "model")?;
    let mut request = Request::default();
    // Calls that wait for their result, with their names.
    let mut open: HashMap<&str, &str> = HashMap::new();
    for message in list(body, "messages")? {
        let role = text(message, "role")?;
        if role != "tool" && !open.is_empty() {
            return refuse(
                "An assistant message with 'tool_calls' must be followed by tool messages \
                 responding to each 'tool_call_id'.",
            );
        }
        match role {
            "system" => {
                request.messages.push(Message::System(text(message, "content")?.to_owned()));
            }
            "user" => request.messages.push(Message::User(text(message, "content")?.to_owned())),
            "tool" => {
                let (id, content) = (text(message, "tool_call_id")?, text(message, "content")?);
                let Some(name) = open.remove(id) else {
                    return refuse(
                        "messages with role 'tool' must be a response to a preceding message with \
                         'tool_calls'.",
                    );
                };
                let (call, name) = (id.to_owned(), name.to_owned());
                let content = content.to_owned();
                request.messages.push(Message::Tool { call, name, content, is_error: false });
            }
            "assistant" => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                let said = message.get("content").and_then(Value::as_str);
                if said.is_none() && calls.is_none() {
                    return refuse("an assistant message needs content or tool_calls");
                }
                let mut read = Vec::new();
                for call in calls.into_iter().flatten() {
                    let function = call.get("function").unwrap_or(&Value::Null);
                    let (id, name) = (text(call, "id")?, text(function, "name")?);
                    if id.len() > 40 || open.insert(id, name).is_some() {
                        return refuse(format!(
                            "tool_calls: the id '{id}' is too long or not unique"
                        ));
                    }
                    let args = Args::read(text(function, "arguments")?);
                    let (id, name) = (id.to_owned(), name.to_owned());
                    read.push(Call { id, name, args, signature: None });
                }
                let text = said.unwrap_or_default().to_owned();
                request.messages.push(Message::Assistant { text, calls: read });
            }
            other => {
                return refuse(format!(
                    "'{other}' is not one of ['system', 'assistant', 'user', 'tool']"
                ));
            }
        }
    }
    if !open.is_empty() {
        return refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding \
             to each 'tool_call_id'.",
        );
    }
    if let Some(declared) = body.get("tools").and_then(Value::as_array) {
        let functions: Vec<&Value> =
            declared.iter().filter_map(|tool| tool.get("function")).collect();
        tools(&functions, "parameters", &mut request)?;
    }
    Ok(request)
}

pub(super) fn stream(model: &str, thought: &str, reply: &Reply) -> Vec<Frame> {
    let chunk = |delta: Value, finish: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": model, "system_fingerprint": null, "usage": null,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        })
    };
    let more = |kind, delta| Frame::data(kind, &chunk(delta, Value::Null));
    let mut frames = vec![more(Kind::Other, json!({"role": "assistant", "content": ""}))];
    frames.extend(
        pieces(thought).map(|piece| more(Kind::Other, json!({"reasoning_content": piece}))),
    );
    frames.extend(pieces(&reply.text).map(|piece| more(Kind::Text, json!({"content": piece}))));
    let arguments: Vec<String> = reply.calls.iter().map(|call| written(&call.args)).collect();
    for (index, call) in reply.calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let call = json!({"index": index, "id": call.id, "type": "function", "function": function});
        frames.push(more(Kind::Other, json!({"tool_calls": [call]})));
    }
    // Parts of several calls take turns.
    for half in 0..2 {
        for (index, text) in arguments.iter().enumerate() {
            let text = halves(text).get(half).copied().unwrap_or_default();
            let call = json!({"index": index, "function": {"arguments": text}});
            frames.push(more(Kind::Arguments, json!({"tool_calls": [call]})));
        }
    }
    let finish = match &reply.finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::Calls => "tool_calls",
        Finish::Refused => "content_filter",
        Finish::Other(other) => other,
    };
    frames.push(Frame::data(Kind::Other, &chunk(json!({}), finish.into())));
    let (input, output) = (reply.usage.input, reply.usage.output);
    let total = input.saturating_add(output);
    frames.push(Frame::data(
        Kind::Other,
        &json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": model, "choices": [],
            "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": total},
        }),
    ));
    frames.push(Frame { bytes: b"data: [DONE]\n\n".to_vec(), kind: Kind::Other });
    frames
}

/// Arguments as a model writes them.
pub(super) fn written(args: &Args) -> String {
    match args {
        Args::Object(map) => Value::Object(map.clone()).to_string(),
        Args::Malformed { text, .. } => text.clone(),
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400..=428 => "invalid_request_error",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}
