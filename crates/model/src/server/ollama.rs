//! Ollama's side of chat.

use serde_json::{Value, json};

use super::frame::{Frame, Kind, Refusal, list, pieces, refuse, text, tools};
use crate::message::{Args, Call, Message, Request};
use crate::model::{Finish, Reply};

pub(super) fn read(body: &Value) -> Result<Request, Refusal> {
    text(body, "model")?;
    let mut request = Request::default();
    let mut count = 0;
    // Calls that wait for their result, in their order.
    let mut open: Vec<String> = Vec::new();
    for message in list(body, "messages")? {
        let content = text(message, "content")?.to_owned();
        match text(message, "role")? {
            "system" => request.messages.push(Message::System(content)),
            "user" => request.messages.push(Message::User(content)),
            "tool" => {
                if open.is_empty() {
                    return refuse("a tool message answers no call");
                }
                let name = text(message, "tool_name")?.to_owned();
                let call = open.remove(0);
                request.messages.push(Message::Tool { call, name, content, is_error: false });
            }
            "assistant" => {
                let mut calls = Vec::new();
                for call in
                    message.get("tool_calls").and_then(Value::as_array).into_iter().flatten()
                {
                    let function = call.get("function").unwrap_or(&Value::Null);
                    let Some(Value::Object(args)) = function.get("arguments") else {
                        return refuse("json: cannot unmarshal into api.ToolCallFunctionArguments");
                    };
                    count += 1;
                    let id = format!("call-{count}");
                    open.push(id.clone());
                    let (name, args) =
                        (text(function, "name")?.to_owned(), Args::Object(args.clone()));
                    calls.push(Call { id, name, args, signature: None });
                }
                request.messages.push(Message::Assistant { text: content, calls });
            }
            other => {
                return refuse(format!(
                    "invalid role: {other}, must be one of [system user assistant tool]"
                ));
            }
        }
    }
    if let Some(declared) = body.get("tools").and_then(Value::as_array) {
        let functions: Vec<&Value> =
            declared.iter().filter_map(|tool| tool.get("function")).collect();
        tools(&functions, "parameters", &mut request)?;
    }
    Ok(request)
}

pub(super) fn stream(model: &str, thought: &str, reply: &Reply) -> Vec<Frame> {
    let line = |kind, message: Value| {
        let line = json!({"model": model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false});
        Frame::line(kind, &line)
    };
    let say = |name: &str, piece: &str| json!({"role": "assistant", "content": "", name: piece});
    let mut frames = Vec::new();
    frames.extend(pieces(thought).map(|piece| line(Kind::Other, say("thinking", piece))));
    frames.extend(pieces(&reply.text).map(|piece| line(Kind::Text, say("content", piece))));
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().enumerate().map(|(index, call)| {
            let arguments = match &call.args {
                Args::Object(map) => Value::Object(map.clone()),
                Args::Malformed { text, .. } => Value::String(text.clone()),
            };
            json!({"function": {"index": index, "name": call.name, "arguments": arguments}})
        });
        let calls: Vec<Value> = calls.collect();
        let message = json!({"role": "assistant", "content": "", "tool_calls": calls});
        frames.push(line(Kind::Arguments, message));
    }
    let reason = match &reply.finish {
        Finish::Stop | Finish::Calls => "stop",
        Finish::Length => "length",
        Finish::Refused => "refused",
        Finish::Other(other) => other,
    };
    frames.push(Frame::line(
        Kind::Other,
        &json!({
            "model": model, "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
            "total_duration": 1, "load_duration": 1, "eval_duration": 1, "prompt_eval_duration": 1,
            "prompt_eval_count": reply.usage.input, "eval_count": reply.usage.output,
        }),
    ));
    frames
}

pub(super) fn error(message: &str) -> Value {
    json!({"error": message})
}
