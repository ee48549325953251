//! Parts of a stream, and what is wrong with a request.

use serde_json::{Value, json};

use crate::message::{Message, Request, ToolSpec};

/// One part of a stream, as it is sent.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: Kind,
}

/// What is in a part, for faults that are to hit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Arguments,
    Other,
}

impl Frame {
    /// An event of which the data says all.
    pub(super) fn data(kind: Kind, data: &Value) -> Self {
        Self { bytes: format!("data: {data}\n\n").into_bytes(), kind }
    }

    /// An event with a name, which its data repeats as `type`.
    pub(super) fn event(kind: Kind, data: &Value) -> Self {
        let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
        Self { bytes: format!("event: {name}\ndata: {data}\n\n").into_bytes(), kind }
    }

    /// A line of JSON.
    pub(super) fn line(kind: Kind, data: &Value) -> Self {
        Self { bytes: format!("{data}\n").into_bytes(), kind }
    }
}

/// A text in pieces, as models write it: by words.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// A text in halves, for arguments.
pub(super) fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (left, right) = text.split_at(middle);
    [left, right]
}

/// Why a request is refused.
pub(super) struct Refusal(pub(super) String);

pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(why.into()))
}

/// A list that must be there.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], Refusal> {
    match value.get(name).and_then(Value::as_array) {
        Some(list) if !list.is_empty() => Ok(list),
        _ => refuse(format!("{name}: at least one is required")),
    }
}

/// A text that must be there.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    match value.get(name).and_then(Value::as_str) {
        Some(text) => Ok(text),
        None => refuse(format!("{name}: a string is required")),
    }
}

/// What was marked as the system's, where there are no such messages.
pub(super) fn unmarked(text: &str) -> Message {
    let inner = text.strip_prefix("<system-message>\n");
    match inner.and_then(|inner| inner.strip_suffix("\n</system-message>")) {
        Some(inner) => Message::System(inner.to_owned()),
        None => Message::User(text.to_owned()),
    }
}

/// The tools of a request: the declarations, and what their schema is called in them.
pub(super) fn tools(
    declarations: &[&Value],
    schema: &str,
    request: &mut Request,
) -> Result<(), Refusal> {
    let mut tools = Vec::new();
    for tool in declarations {
        let name = text(tool, "name")?;
        if !crate::history::is_name(name) {
            return refuse(format!("tools: `{name}` does not match ^[a-zA-Z0-9_-]{{1,64}}$"));
        }
        let parameters = tool.get(schema).cloned().unwrap_or_default();
        if parameters.get("type") != Some(&json!("object")) {
            return refuse(format!("tools: {schema} of `{name}`: type must be \"object\""));
        }
        let description = text(tool, "description")?.to_owned();
        tools.push(ToolSpec { name: name.to_owned(), description, parameters });
    }
    request.tools = tools.into();
    Ok(())
}
