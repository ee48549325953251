//! Google's Gemini: `generateContent`, as a stream.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::draft::{self, Draft, Fault, MADE_UP, marked, parse, schema};
use super::failure;
use crate::error::ModelError;
use crate::history::{Answered, Turn};
use crate::message::{Args, Call, Request};
use crate::model::{Finish, Heard, Part, Reply, Usage};

/// What goes in place of a signature where there is none, because the call was another model's.
/// It is what Google says to write then.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

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
    let system: Vec<Value> =
        request.system.as_deref().into_iter().chain(leading).filter_map(text_part).collect();
    let mut contents = Contents::default();
    for turn in rest {
        match turn {
            Turn::System(text) => contents.add("user", text_part(&marked(text))),
            Turn::User(text) => contents.add("user", text_part(text)),
            Turn::Model { text, answered } => {
                contents.add("model", text_part(text));
                let calls = answered.iter().enumerate();
                contents.add("model", calls.map(|(index, answered)| call(model, index, answered)));
                // Results must be a content of their own, right behind their calls.
                contents.add("user", answered.iter().map(result));
                contents.is_closed |= !answered.is_empty();
            }
        }
    }
    if contents.list.is_empty() {
        let why = "what was said to the model is empty";
        return Err(ModelError::Request { place: "messages".to_owned(), why: why.to_owned() });
    }
    let contents =
        contents.list.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts}));
    let mut body = Map::new();
    body.insert("contents".to_owned(), contents.collect());
    if !system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": system}));
    }
    if !request.tools.is_empty() {
        let declarations = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                // The older `parameters` know little of JSON Schema and refuse the rest.
                "parametersJsonSchema": schema(&tool.parameters),
            })
        });
        let declarations: Vec<Value> = declarations.collect();
        body.insert("tools".to_owned(), json!([{"functionDeclarations": declarations}]));
    }
    if let Some(max) = request.max_tokens {
        body.insert("generationConfig".to_owned(), json!({"maxOutputTokens": max}));
    }
    Ok(Value::Object(body))
}

/// Contents, of which neighbours with the same role are one.
#[derive(Default)]
struct Contents {
    list: Vec<(&'static str, Vec<Value>)>,
    /// Nothing more goes into the last.
    is_closed: bool,
}

impl Contents {
    fn add(&mut self, role: &'static str, parts: impl IntoIterator<Item = Value>) {
        let mut parts = parts.into_iter().peekable();
        if parts.peek().is_none() {
            return;
        }
        match self.list.last_mut() {
            Some((last, content)) if *last == role && !self.is_closed => content.extend(parts),
            _ => self.list.push((role, parts.collect())),
        }
        self.is_closed = false;
    }
}

fn text_part(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({"text": text}))
}

fn call(model: &str, index: usize, answered: &Answered<'_>) -> Value {
    let mut call = json!({
        "name": answered.name,
        "args": answered.call.args.to_object().into_owned(),
    });
    add_id(&mut call, answered);
    let mut part = json!({"functionCall": call});
    let signature = answered.call.signature.as_deref();
    // From the third generation on they are asked for, on the first call of a turn.
    let is_asked_for = !model.contains("gemini-1") && !model.contains("gemini-2");
    let signature = signature.or_else(|| (index == 0 && is_asked_for).then_some(NO_SIGNATURE));
    if let (Value::Object(part), Some(signature)) = (&mut part, signature) {
        part.insert("thoughtSignature".to_owned(), signature.into());
    }
    part
}

fn result(answered: &Answered<'_>) -> Value {
    let name = if answered.is_error { "error" } else { "output" };
    let mut response = json!({"name": answered.name, "response": {name: answered.content}});
    add_id(&mut response, answered);
    json!({"functionResponse": response})
}

/// Gemini is told the ids that it gave. It did not give ours.
fn add_id(value: &mut Value, answered: &Answered<'_>) {
    if let Value::Object(map) = value
        && !answered.id.starts_with(MADE_UP)
    {
        map.insert("id".to_owned(), answered.id.clone().into());
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<PartOf>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartOf {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // they are Google's
struct Tokens {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

pub(super) struct Reader {
    draft: Draft,
}

impl Reader {
    pub(super) fn new(limit: usize) -> Self {
        Self { draft: Draft::new(limit) }
    }

    fn part(&mut self, part: PartOf, heard: &Heard<'_>) -> Result<(), Fault> {
        if let Some(text) = part.text.filter(|text| !text.is_empty()) {
            if part.thought {
                heard(Part::Thought(&text));
            } else {
                self.draft.text(&text, heard);
            }
        }
        let Some(FunctionCall { id, name, args }) = part.function_call else { return Ok(()) };
        let args = Args::from(args.unwrap_or_default());
        let (id, signature) = (id.unwrap_or_default(), part.thought_signature);
        self.draft.call(Call { id, name, args, signature }, heard)
    }
}

impl draft::Reader for Reader {
    fn read(&mut self, data: &str, heard: &Heard<'_>) -> Result<bool, Fault> {
        let chunk: Chunk = parse(data)?;
        if let Some(error) = chunk.error {
            return Err(Fault::Failed(failure::in_value(&error)));
        }
        if let Some(tokens) = chunk.usage_metadata {
            let sum = |counts: [Option<u64>; 2]| {
                counts.into_iter().flatten().fold(0, u64::saturating_add)
            };
            self.draft.usage = Usage {
                input: sum([tokens.prompt_token_count, tokens.tool_use_prompt_token_count]),
                output: sum([tokens.candidates_token_count, tokens.thoughts_token_count]),
            };
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.draft.finish = Some(Finish::Refused);
        }
        let Some(candidate) = chunk.candidates.into_iter().flatten().next() else {
            return Ok(false);
        };
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, heard)?;
        }
        if let Some(reason) = candidate.finish_reason {
            self.draft.finish = Some(match reason.as_str() {
                "STOP" => Finish::Stop,
                "MAX_TOKENS" => Finish::Length,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "IMAGE_SAFETY" | "LANGUAGE" => Finish::Refused,
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
                    let text = candidate.finish_message.unwrap_or(reason);
                    return Err(Fault::BadCall(failure::tidy(&text)));
                }
                _ => Finish::Other(reason),
            });
        }
        // There may be more after the reason; the end of the stream is the end.
        Ok(false)
    }

    fn finish(&mut self, _: &Heard<'_>) -> Result<Option<Reply>, Fault> {
        Ok(self.draft.take())
    }
}
