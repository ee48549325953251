//! What is said to a model and by it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One question to a model: everything it is to know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// Who the model is and what it is to do.
    pub system: Option<String>,
    /// What was said so far. The last is what the model answers.
    ///
    /// Each call of an [`Message::Assistant`] has one [`Message::Tool`] that answers it, before
    /// the next assistant's message.
    pub messages: Vec<Message>,
    /// What it may call.
    pub tools: Arc<[ToolSpec]>,
    /// How many tokens the answer may have. Without it, the provider's own limit; Anthropic wants
    /// one and gets [`DEFAULT_MAX_TOKENS`](crate::provider::DEFAULT_MAX_TOKENS).
    pub max_tokens: Option<u32>,
}

impl Request {
    /// A request that consists of one message of a person.
    pub fn user(text: impl Into<String>) -> Self {
        Self { messages: vec![Message::User(text.into())], ..Self::default() }
    }
}

/// One message of a conversation.
///
/// Its JSON goes into transcripts and stays as it is:
///
/// ```
/// use tollgate_model::{Call, Message};
///
/// let message = Message::Assistant {
///     text: String::new(),
///     calls: vec![Call::new("c1", "read", serde_json::json!({"path": "a.txt"}))],
/// };
/// let json = r#"{"role":"assistant","calls":[{"id":"c1","name":"read","args":{"path":"a.txt"}}]}"#;
/// assert_eq!(serde_json::to_string(&message)?, json);
/// assert_eq!(serde_json::from_str::<Message>(json)?, message);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The program that runs the model says something, anywhere in the conversation.
    ///
    /// Where a provider has no such messages, it goes as one of the person's, marked as coming
    /// from the system.
    System(String),
    /// A person says something.
    User(String),
    /// The model said something, called something, or both.
    Assistant {
        /// What it said.
        text: String,
        /// What it called.
        calls: Vec<Call>,
    },
    /// What came of a call.
    Tool {
        /// The [`Call::id`].
        call: String,
        /// The [`Call::name`].
        name: String,
        /// The result, as the model is to see it.
        content: String,
        /// Whether the call failed, or was not made.
        is_error: bool,
    },
}

impl Message {
    /// The text of the message: what was said, or the result.
    pub fn text(&self) -> &str {
        match self {
            Self::System(text) | Self::User(text) | Self::Assistant { text, .. } => text,
            Self::Tool { content, .. } => content,
        }
    }
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`, at most 64: what all providers take.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// A JSON Schema of an object.
    pub parameters: Value,
}

/// A call that a model wants to have made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// What its result refers to. Unique within one message.
    pub id: String,
    /// The tool. A model may make one up.
    pub name: String,
    /// With what.
    #[serde(flatten)]
    pub args: Args,
    /// What a provider wants to be given back with the call, and nobody else understands: the
    /// thought signatures of Gemini, which refuses a conversation without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Call {
    /// A call. An object is its arguments; anything else is [malformed](Args::Malformed).
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Value) -> Self {
        Self { id: id.into(), name: name.into(), args: Args::from(args), signature: None }
    }
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Args {
    /// As they should be.
    #[serde(rename = "args")]
    Object(Map<String, Value>),
    /// What the model wrote is no JSON object. It is kept as it was written, and nobody guesses
    /// what was meant: the model is to be told, and to try again.
    #[serde(rename = "malformed")]
    Malformed {
        /// What it wrote.
        text: String,
        /// What is wrong with that.
        error: String,
    },
}

impl Args {
    /// Arguments as a model wrote them. Nothing at all is how some call a tool without
    /// arguments.
    ///
    /// ```
    /// use tollgate_model::Args;
    ///
    /// assert!(matches!(Args::read(r#"{"path": "a.txt"}"#), Args::Object(_)));
    /// assert!(matches!(Args::read(""), Args::Object(map) if map.is_empty()));
    /// assert!(matches!(Args::read(r#"{"path": "a.t"#), Args::Malformed { .. }));
    /// ```
    pub fn read(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Self::Object(map),
            Ok(other) => Self::Malformed { text: text.to_owned(), error: not_an_object(&other) },
            Err(error) => Self::Malformed { text: text.to_owned(), error: error.to_string() },
        }
    }

    /// As an object, which is all that most providers take. What was malformed is a field of it.
    pub(crate) fn to_object(&self) -> Cow<'_, Map<String, Value>> {
        match self {
            Self::Object(map) => Cow::Borrowed(map),
            Self::Malformed { text, .. } => {
                let mut map = Map::new();
                map.insert("malformed_arguments".to_owned(), Value::String(text.clone()));
                Cow::Owned(map)
            }
        }
    }
}

impl From<Value> for Args {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(map) => Self::Object(map),
            Value::Null => Self::Object(Map::new()),
            // The text of a string is what was written, as by a server that could not read it.
            Value::String(text) => {
                let error = not_an_object(&Value::String(String::new()));
                Self::Malformed { text, error }
            }
            other => Self::Malformed { text: other.to_string(), error: not_an_object(&other) },
        }
    }
}

fn not_an_object(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("expected a JSON object, found {kind}")
}

/// A message in JSON.
#[derive(Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Form<'a> {
    System {
        text: Cow<'a, str>,
    },
    User {
        text: Cow<'a, str>,
    },
    Assistant {
        #[serde(default, skip_serializing_if = "str::is_empty")]
        text: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "<[Call]>::is_empty")]
        calls: Cow<'a, [Call]>,
    },
    Tool {
        call: Cow<'a, str>,
        name: Cow<'a, str>,
        content: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_false(value: &bool) -> bool {
    !value
}

impl Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self {
            Self::System(text) => Form::System { text: text.into() },
            Self::User(text) => Form::User { text: text.into() },
            Self::Assistant { text, calls } => {
                Form::Assistant { text: text.into(), calls: calls.into() }
            }
            Self::Tool { call, name, content, is_error } => Form::Tool {
                call: call.into(),
                name: name.into(),
                content: content.into(),
                is_error: *is_error,
            },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::System { text } => Self::System(text.into_owned()),
            Form::User { text } => Self::User(text.into_owned()),
            Form::Assistant { text, calls } => {
                Self::Assistant { text: text.into_owned(), calls: calls.into_owned() }
            }
            Form::Tool { call, name, content, is_error } => Self::Tool {
                call: call.into_owned(),
                name: name.into_owned(),
                content: content.into_owned(),
                is_error,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn transcripts_are_read_as_they_were_written() {
        let malformed = Args::read("{\"a\":");
        let messages = vec![
            Message::System("s".into()),
            Message::User("u".into()),
            Message::Assistant {
                text: "t".into(),
                calls: vec![
                    Call::new("1", "a", json!({"args": {"malformed": 1}})),
                    Call {
                        args: malformed,
                        signature: Some("x".into()),
                        ..Call::new("2", "b", json!({}))
                    },
                ],
            },
            Message::Tool {
                call: "1".into(),
                name: "a".into(),
                content: "no".into(),
                is_error: true,
            },
        ];
        let json = serde_json::to_string(&messages).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Message>>(&json).unwrap(), messages, "{json}");
        assert!(
            json.contains(
                r#"{"role":"tool","call":"1","name":"a","content":"no","is_error":true}"#
            )
        );
        assert!(json.contains(r#""malformed":{"text":"{\"a\":""#), "{json}");
    }

    #[test]
    fn what_is_no_object_is_kept_as_it_was_written() {
        for (text, error) in [
            ("[1]", "expected a JSON object, found a list"),
            ("\"{}\"", "expected a JSON object, found a string"),
            ("7", "expected a JSON object, found a number"),
            ("{\"a\": 1", "EOF while parsing an object at line 1 column 7"),
        ] {
            let expected = Args::Malformed { text: text.into(), error: error.into() };
            assert_eq!(Args::read(text), expected);
        }
        // Too deep to be read, and not lost.
        let deep = "[".repeat(100_000);
        assert!(matches!(Args::read(&deep), Args::Malformed { text, .. } if text == deep));
    }
}
