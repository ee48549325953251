//! Anthropic's messages.

use serde::Deserialize;
use serde_json::{Value, json};

use super::draft::{self, Draft, Fault, marked, parse, schema};
use super::{DEFAULT_MAX_TOKENS, failure};
use crate::error::ModelError;
use crate::history::{Answered, Turn};
use crate::message::{Args, Call, Request};
use crate::model::{Finish, Heard, Part, Reply};

/// The version of the format.
pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn body(
    model: &str,
    request: &Request,
    turns: &[Turn<'_>],
) -> Result<Value, ModelError> {
    let leading = turns.iter().map_while(|turn| match turn {
        Turn::System(text) => Some(*text),
        _ => None,
    });
    let rest = turns.get(leading.clone().count()..).unwrap_or_default();
    let mut system: Vec<Value> =
        request.system.as_deref().into_iter().chain(leading).filter_map(text_block).collect();
    let mut messages = Messages::default();
    for turn in rest {
        match turn {
            Turn::System(text) => messages.add("user", text_block(&marked(text))),
            Turn::User(text) => messages.add("user", text_block(text)),
            Turn::Model { text, answered } => {
                messages.add("assistant", text_block(text));
                messages.add("assistant", answered.iter().map(call));
                messages.add("user", answered.iter().map(result));
            }
        }
    }
    let Some((_, last)) = messages.0.last_mut() else {
        let why = "what was said to the model is empty";
        return Err(ModelError::Request { place: "messages".to_owned(), why: why.to_owned() });
    };
    // What was sent before is not paid for in full again.
    for block in [system.last_mut(), last.last_mut()].into_iter().flatten() {
        if let Value::Object(block) = block {
            block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
        }
    }
    let messages: Vec<Value> = messages
        .0
        .into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect();
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "messages": messages,
        "stream": true,
    });
    if let Value::Object(body) = &mut body {
        if !system.is_empty() {
            body.insert("system".to_owned(), system.into());
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": schema(&tool.parameters),
                })
            });
            body.insert("tools".to_owned(), tools.collect());
        }
    }
    Ok(body)
}

/// Messages in which roles alternate: what follows with the same role is of the same message.
#[derive(Default)]
struct Messages(Vec<(&'static str, Vec<Value>)>);

impl Messages {
    fn add(&mut self, role: &'static str, blocks: impl IntoIterator<Item = Value>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        match self.0.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.0.push((role, blocks.collect())),
        }
    }
}

/// A block, unless there is nothing in it: an empty one is refused.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn call(answered: &Answered<'_>) -> Value {
    let input = Value::Object(answered.call.args.to_object().into_owned());
    json!({"type": "tool_use", "id": answered.id, "name": answered.name, "input": input})
}

fn result(answered: &Answered<'_>) -> Value {
    let mut block =
        json!({"type": "tool_result", "tool_use_id": answered.id, "content": answered.content});
    if answered.is_error
        && let Value::Object(block) = &mut block
    {
        block.insert("is_error".to_owned(), true.into());
    }
    block
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        content_block: Block,
    },
    ContentBlockDelta {
        delta: BlockDelta,
    },
    ContentBlockStop {},
    MessageDelta {
        delta: End,
        usage: Option<Tokens>,
    },
    MessageStop {},
    Error {
        error: Value,
    },
    /// Pings, and what they add.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Option<Value>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[allow(clippy::struct_field_names)] // they are Anthropic's
struct Tokens {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// A call while it comes.
struct Open {
    id: String,
    name: String,
    input: Option<Value>,
    json: String,
}

pub(super) struct Reader {
    draft: Draft,
    open: Option<Open>,
    is_over: bool,
}

impl Reader {
    pub(super) fn new(limit: usize) -> Self {
        Self { draft: Draft::new(limit), open: None, is_over: false }
    }

    fn usage(&mut self, tokens: Option<Tokens>) {
        let Some(tokens) = tokens else { return };
        let input = [
            tokens.input_tokens,
            tokens.cache_creation_input_tokens,
            tokens.cache_read_input_tokens,
        ];
        let input = input.into_iter().flatten().fold(0_u64, u64::saturating_add);
        // The end tells what it was in all; what it leaves out stays as it was at the beginning.
        if input > 0 {
            self.draft.usage.input = input;
        }
        if let Some(output) = tokens.output_tokens {
            self.draft.usage.output = output;
        }
    }

    fn close(&mut self, heard: &Heard<'_>) -> Result<(), Fault> {
        let Some(Open { id, name, input, json }) = self.open.take() else { return Ok(()) };
        let args = match input {
            // Arguments that come at once and not in parts, which some gateways do.
            Some(input) if json.is_empty() => Args::from(input),
            _ => Args::read(&json),
        };
        self.draft.call(Call { id, name, args, signature: None }, heard)
    }
}

impl draft::Reader for Reader {
    fn read(&mut self, data: &str, heard: &Heard<'_>) -> Result<bool, Fault> {
        match parse(data)? {
            Event::MessageStart { message } => self.usage(message.usage),
            Event::ContentBlockStart { content_block } => {
                self.close(heard)?;
                match content_block {
                    Block::Text { text } => self.draft.text(&text, heard),
                    Block::ToolUse { id, name, input } => {
                        self.open = Some(Open { id, name, input, json: String::new() });
                    }
                    Block::Other => {}
                }
            }
            Event::ContentBlockDelta { delta } => match delta {
                BlockDelta::TextDelta { text } => self.draft.text(&text, heard),
                BlockDelta::ThinkingDelta { thinking } => {
                    if !thinking.is_empty() {
                        heard(Part::Thought(&thinking));
                    }
                }
                BlockDelta::InputJsonDelta { partial_json } => {
                    if let Some(open) = &mut self.open {
                        open.json.push_str(&partial_json);
                    }
                }
                BlockDelta::Other => {}
            },
            Event::ContentBlockStop {} => self.close(heard)?,
            Event::MessageDelta { delta, usage } => {
                self.usage(usage);
                if let Some(reason) = delta.stop_reason {
                    self.draft.finish = Some(match reason.as_str() {
                        "end_turn" | "stop_sequence" => Finish::Stop,
                        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
                        "tool_use" => Finish::Calls,
                        "refusal" => Finish::Refused,
                        _ => Finish::Other(reason),
                    });
                }
            }
            Event::MessageStop {} => {
                self.is_over = true;
                return Ok(true);
            }
            Event::Error { error } => return Err(Fault::Failed(failure::in_value(&error))),
            Event::Other => {}
        }
        Ok(false)
    }

    fn finish(&mut self, heard: &Heard<'_>) -> Result<Option<Reply>, Fault> {
        if !self.is_over {
            return Ok(None);
        }
        // A call that was cut off at the limit of tokens does not end like others.
        self.close(heard)?;
        self.draft.finish.get_or_insert(Finish::Stop);
        Ok(self.draft.take())
    }
}
