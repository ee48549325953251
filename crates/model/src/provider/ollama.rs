//! Ollama's chat: a line of JSON for each part.

use serde::Deserialize;
use serde_json::{Value, json};

use super::draft::{self, Draft, Fault, parse};
use super::{failure, openai};
use crate::history::{Answered, Turn};
use crate::message::{Args, Call, Request};
use crate::model::{Finish, Heard, Part, Reply, Usage};

pub(super) fn body(model: &str, request: &Request, turns: &[Turn<'_>]) -> Value {
    let mut messages = Vec::with_capacity(turns.len() + 1);
    if let Some(system) = &request.system {
        messages.push(json!({"role": "system", "content": system}));
    }
    for turn in turns {
        match turn {
            Turn::System(text) => messages.push(json!({"role": "system", "content": text})),
            Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
            Turn::Model { text, answered } => {
                let mut message = json!({"role": "assistant", "content": text});
                if let Value::Object(message) = &mut message
                    && !answered.is_empty()
                {
                    message.insert("tool_calls".to_owned(), answered.iter().map(call).collect());
                }
                messages.push(message);
                messages.extend(answered.iter().map(|Answered { id, name, content, .. }| {
                    // Results are told apart by their order; versions that know ids take those.
                    json!({"role": "tool", "tool_name": name, "tool_call_id": id, "content": content})
                }));
            }
        }
    }
    let mut body = json!({"model": model, "messages": messages, "stream": true});
    if let Value::Object(body) = &mut body {
        if let Some(max) = request.max_tokens {
            body.insert("options".to_owned(), json!({"num_predict": max}));
        }
        openai::add_tools(body, request);
    }
    body
}

fn call(answered: &Answered<'_>) -> Value {
    let arguments = Value::Object(answered.call.args.to_object().into_owned());
    json!({"id": answered.id, "function": {"name": answered.name, "arguments": arguments}})
}

#[derive(Deserialize)]
struct Line {
    message: Option<Said>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<CallOf>>,
}

#[derive(Deserialize)]
struct CallOf {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Option<Value>,
}

pub(super) struct Reader {
    draft: Draft,
}

impl Reader {
    pub(super) fn new(limit: usize) -> Self {
        Self { draft: Draft::new(limit) }
    }
}

impl draft::Reader for Reader {
    fn read(&mut self, data: &str, heard: &Heard<'_>) -> Result<bool, Fault> {
        if data.trim().is_empty() {
            return Ok(false);
        }
        let line: Line = parse(data)?;
        if let Some(error) = line.error {
            return Err(Fault::Failed(failure::in_value(&error)));
        }
        if let Some(said) = line.message {
            if let Some(thought) = said.thinking.filter(|thought| !thought.is_empty()) {
                heard(Part::Thought(&thought));
            }
            self.draft.text(said.content.as_deref().unwrap_or_default(), heard);
            for CallOf { id, function } in said.tool_calls.into_iter().flatten() {
                let args = Args::from(function.arguments.unwrap_or_default());
                let (id, name) = (id.unwrap_or_default(), function.name);
                self.draft.call(Call { id, name, args, signature: None }, heard)?;
            }
        }
        if line.done {
            self.draft.usage = Usage {
                input: line.prompt_eval_count.unwrap_or_default(),
                output: line.eval_count.unwrap_or_default(),
            };
            self.draft.finish = Some(match line.done_reason.as_deref() {
                None | Some("stop") => Finish::Stop,
                Some("length") => Finish::Length,
                Some(other) => Finish::Other(other.to_owned()),
            });
        }
        Ok(line.done)
    }

    fn finish(&mut self, _: &Heard<'_>) -> Result<Option<Reply>, Fault> {
        Ok(self.draft.take())
    }
}
