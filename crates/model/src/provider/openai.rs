//! OpenAI's chat completions, which many other servers speak too, each a little differently.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::draft::{self, Draft, Fault, parse, schema};
use super::failure;
use crate::history::{Answered, Turn};
use crate::message::{Args, Call, Request};
use crate::model::{Finish, Heard, Part, Reply, Usage};

pub(super) fn body(
    model: &str,
    request: &Request,
    turns: &[Turn<'_>],
    is_elsewhere: bool,
) -> Value {
    let mut messages = Vec::with_capacity(turns.len() + 1);
    if let Some(system) = &request.system {
        messages.push(json!({"role": "system", "content": system}));
    }
    for turn in turns {
        match turn {
            Turn::System(text) => messages.push(json!({"role": "system", "content": text})),
            Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
            Turn::Model { text, answered } if answered.is_empty() => {
                messages.push(json!({"role": "assistant", "content": text}));
            }
            Turn::Model { text, answered } => {
                let content = if text.is_empty() { Value::Null } else { Value::from(*text) };
                let calls: Vec<Value> = answered.iter().map(call).collect();
                messages
                    .push(json!({"role": "assistant", "content": content, "tool_calls": calls}));
                messages.extend(answered.iter().map(|Answered { id, content, .. }| {
                    json!({"role": "tool", "tool_call_id": id, "content": content})
                }));
            }
        }
    }
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if let Value::Object(body) = &mut body {
        if let Some(max) = request.max_tokens {
            // The new models of OpenAI refuse the old name; other servers do not know the new.
            let name = if is_elsewhere { "max_tokens" } else { "max_completion_tokens" };
            body.insert(name.to_owned(), max.into());
        }
        add_tools(body, request);
    }
    body
}

/// Tools in the form that Ollama has as well.
pub(super) fn add_tools(body: &mut Map<String, Value>, request: &Request) {
    if request.tools.is_empty() {
        return;
    }
    let tools = request.tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": schema(&tool.parameters),
        }})
    });
    body.insert("tools".to_owned(), tools.collect());
}

fn call(answered: &Answered<'_>) -> Value {
    let arguments = Value::Object(answered.call.args.to_object().into_owned()).to_string();
    let function = json!({"name": answered.name, "arguments": arguments});
    json!({"id": answered.id, "type": "function", "function": function})
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    /// Thoughts, as several servers have them.
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// A call while it comes.
struct Open {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

pub(super) struct Reader {
    draft: Draft,
    open: Vec<Open>,
    limit: usize,
}

impl Reader {
    pub(super) fn new(limit: usize) -> Self {
        Self { draft: Draft::new(limit), open: Vec::new(), limit }
    }

    fn delta(&mut self, delta: Delta, heard: &Heard<'_>) -> Result<(), Fault> {
        for thought in [delta.reasoning_content, delta.reasoning].into_iter().flatten() {
            if !thought.is_empty() {
                heard(Part::Thought(&thought));
                // Servers that have both say the same in both.
                break;
            }
        }
        if let Some(text) = delta.content {
            self.draft.text(&text, heard);
        }
        if let Some(text) = delta.refusal.filter(|text| !text.is_empty()) {
            self.draft.text(&text, heard);
            self.draft.finish = Some(Finish::Refused);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call)?;
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), Fault> {
        let id = delta.id.filter(|id| !id.is_empty());
        // Calls are told apart by their index. Some servers leave it out, or give each call the
        // same, so that another id is another call too.
        let known = self.open.iter().rposition(|open| match (delta.index, &id) {
            (Some(index), id) => {
                let is_same = |id: &String| open.id.is_empty() || *id == open.id;
                open.index == Some(index) && id.as_ref().is_none_or(is_same)
            }
            (None, Some(id)) => open.id == *id,
            (None, None) => true,
        });
        if known.is_none() {
            if self.open.len() >= self.limit {
                return Err(Fault::TooLarge(draft::CALLS, self.limit));
            }
            let (id, name, arguments) = Default::default();
            self.open.push(Open { index: delta.index, id, name, arguments });
        }
        let place = known.unwrap_or(self.open.len().saturating_sub(1));
        let Some(open) = self.open.get_mut(place) else { return Ok(()) };
        if let Some(id) = id {
            open.id = id;
        }
        if let Some(function) = delta.function {
            if let Some(name) = function.name.filter(|name| !name.is_empty()) {
                open.name = name;
            }
            match function.arguments {
                Some(Value::String(more)) => open.arguments.push_str(&more),
                None | Some(Value::Null) => {}
                // They should be a text; a server that sends them as JSON sends all of them.
                Some(other) => open.arguments.push_str(&other.to_string()),
            }
        }
        Ok(())
    }
}

impl draft::Reader for Reader {
    fn read(&mut self, data: &str, heard: &Heard<'_>) -> Result<bool, Fault> {
        if data.trim() == "[DONE]" {
            // It has said that this is all, if not why.
            self.draft.finish.get_or_insert(Finish::Stop);
            return Ok(true);
        }
        let chunk: Chunk = parse(data)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Fault::Failed(failure::in_value(&error)));
        }
        if let Some(usage) = chunk.usage {
            self.draft.usage = Usage {
                input: usage.prompt_tokens.unwrap_or_default(),
                output: usage.completion_tokens.unwrap_or_default(),
            };
        }
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return Ok(false) };
        if let Some(delta) = choice.delta {
            self.delta(delta, heard)?;
        }
        if let Some(reason) = choice.finish_reason
            && self.draft.finish.is_none()
        {
            self.draft.finish = Some(match reason.as_str() {
                "stop" => Finish::Stop,
                "length" => Finish::Length,
                "tool_calls" | "function_call" => Finish::Calls,
                "content_filter" => Finish::Refused,
                _ => Finish::Other(reason),
            });
        }
        // What it cost comes after the reason.
        Ok(false)
    }

    fn finish(&mut self, heard: &Heard<'_>) -> Result<Option<Reply>, Fault> {
        if self.draft.finish.is_none() {
            return Ok(None);
        }
        for Open { id, name, arguments, .. } in self.open.drain(..) {
            let args = Args::read(&arguments);
            self.draft.call(Call { id, name, args, signature: None }, heard)?;
        }
        Ok(self.draft.take())
    }
}
