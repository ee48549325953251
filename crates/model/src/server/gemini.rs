//! Gemini's side of `streamGenerateContent`.

use serde_json::{Value, json};

use super::frame::{Frame, Kind, Refusal, list, pieces, refuse, text, tools, unmarked};
use crate::message::{Args, Call, Message, Request};
use crate::model::{Finish, Reply};

pub(super) fn read(model: &str, body: &Value) -> Result<Request, Refusal> {
    let mut request = Request::default();
    if let Some(system) = body.get("systemInstruction") {
        let texts: Vec<&str> = list(system, "parts")?
            .iter()
            .map(|part| text(part, "text"))
            .collect::<Result<_, _>>()?;
        request.system = Some(texts.join("\n\n"));
    }
    // The calls of the last content that wait for their results, in their order.
    let mut open: Vec<(String, &str)> = Vec::new();
    let mut last = "model";
    for (index, content) in list(body, "contents")?.iter().enumerate() {
        let (role, parts) = (text(content, "role")?, list(content, "parts")?);
        match role {
            "model" => {
                let message = speak(model, index, parts, &mut open)?;
                if last != "user" && !open.is_empty() {
                    return refuse(
                        "Please ensure that function call turn comes immediately after a user turn \
                         or after a function response turn.",
                    );
                }
                request.messages.push(message);
            }
            "user" => answer(parts, &mut open, &mut request)?,
            other => return refuse(format!("Please use a valid role: user, model. Not `{other}`")),
        }
        last = role;
    }
    if !open.is_empty() {
        return refuse(COUNT);
    }
    for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
        let declared = list(tool, "functionDeclarations")?;
        tools(&declared.iter().collect::<Vec<_>>(), "parametersJsonSchema", &mut request)?;
    }
    Ok(request)
}

const COUNT: &str = "Please ensure that the number of function response parts is equal to the \
                     number of function call parts of the function call turn.";

fn speak<'a>(
    model: &str,
    index: usize,
    parts: &'a [Value],
    open: &mut Vec<(String, &'a str)>,
) -> Result<Message, Refusal> {
    if !open.is_empty() {
        return refuse(COUNT);
    }
    let (mut said, mut calls) = (String::new(), Vec::new());
    for part in parts {
        if let Some(call) = part.get("functionCall") {
            let name = text(call, "name")?;
            let signature = part.get("thoughtSignature").and_then(Value::as_str);
            if calls.is_empty() && model.starts_with("gemini-3") && signature.is_none() {
                return refuse(format!(
                    "Function call `{name}` in the {index}. content block is missing a `thought_signature`."
                ));
            }
            let Some(Value::Object(args)) = call.get("args") else {
                return refuse(format!("args of `{name}`: an object is required"));
            };
            let id = format!("{index}-{}", calls.len());
            open.push((id.clone(), name));
            let (name, args) = (name.to_owned(), Args::Object(args.clone()));
            calls.push(Call { id, name, args, signature: signature.map(str::to_owned) });
        } else {
            said.push_str(text(part, "text")?);
        }
    }
    Ok(Message::Assistant { text: said, calls })
}

fn answer(
    parts: &[Value],
    open: &mut Vec<(String, &str)>,
    request: &mut Request,
) -> Result<(), Refusal> {
    let responses: Vec<&Value> =
        parts.iter().filter_map(|part| part.get("functionResponse")).collect();
    if responses.len() != open.len() || (!responses.is_empty() && responses.len() != parts.len()) {
        return refuse(COUNT);
    }
    for (response, (id, name)) in responses.into_iter().zip(open.drain(..)) {
        if text(response, "name")? != name {
            return refuse(format!("the function response part of `{name}` is missing"));
        }
        let result = response.get("response").and_then(Value::as_object);
        let Some((kind, content)) = result.and_then(|result| result.iter().next()) else {
            return refuse("response: an object is required");
        };
        request.messages.push(Message::Tool {
            call: id,
            name: name.to_owned(),
            content: content.as_str().unwrap_or_default().to_owned(),
            is_error: kind == "error",
        });
    }
    for part in parts.iter().filter(|part| part.get("functionResponse").is_none()) {
        match text(part, "text")? {
            "" => {
                return refuse(
                    "parts: required oneof field 'data' must have one initialized field",
                );
            }
            text => request.messages.push(unmarked(text)),
        }
    }
    Ok(())
}

pub(super) fn stream(model: &str, thought: &str, reply: &Reply) -> Vec<Frame> {
    let (input, output) = (reply.usage.input, reply.usage.output);
    let usage = json!({
        "promptTokenCount": input, "candidatesTokenCount": output,
        "totalTokenCount": input.saturating_add(output),
    });
    let chunk = |kind, parts: Value, more: &[(&str, &str)]| {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        if let Value::Object(candidate) = &mut candidate {
            candidate
                .extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
        }
        let chunk = json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "r1"});
        Frame::data(kind, &chunk)
    };
    let mut frames = Vec::new();
    frames.extend(
        pieces(thought)
            .map(|piece| chunk(Kind::Other, json!([{"text": piece, "thought": true}]), &[])),
    );
    frames
        .extend(pieces(&reply.text).map(|piece| chunk(Kind::Text, json!([{"text": piece}]), &[])));
    let mut reason = match &reply.finish {
        Finish::Stop | Finish::Calls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Refused => "SAFETY",
        Finish::Other(other) => other,
    };
    let mut message = None;
    let mut parts = Vec::new();
    for call in &reply.calls {
        match &call.args {
            Args::Object(args) => {
                let mut part = json!({"functionCall": {"name": call.name, "args": args}});
                if let Value::Object(part) = &mut part
                    && parts.is_empty()
                {
                    part.insert(
                        "thoughtSignature".to_owned(),
                        format!("signature of {}", call.id).into(),
                    );
                }
                parts.push(part);
            }
            // It does not pass on what it cannot read.
            Args::Malformed { text, .. } => {
                reason = "MALFORMED_FUNCTION_CALL";
                message = Some(format!("Malformed function call: {}({text})", call.name));
            }
        }
    }
    if !parts.is_empty() {
        frames.push(chunk(Kind::Arguments, parts.into(), &[]));
    }
    let mut end = vec![("finishReason", reason)];
    end.extend(message.as_deref().map(|message| ("finishMessage", message)));
    frames.push(chunk(Kind::Other, json!([{"text": ""}]), &end));
    frames
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": word}})
}
