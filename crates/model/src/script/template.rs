//! Texts that quote the conversation.

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use crate::message::{Message, Request};

/// How many bytes a text may have once it quotes.
const LONGEST: usize = 4 * 1024 * 1024;

/// What can be quoted.
const NAMES: &str = "`last_user`, `last_system`, `last_tool.name`, `last_tool.content` and `turn`";

/// A text of a file, of which the quotes are known.
pub(super) fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    check(&text).map_err(D::Error::custom)?;
    Ok(text)
}

/// JSON of a file, of which the quotes in texts are known.
pub(super) fn checked_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    fn walk(value: &Value) -> Result<(), String> {
        match value {
            Value::String(text) => check(text),
            Value::Array(list) => list.iter().try_for_each(walk),
            Value::Object(map) => map.values().try_for_each(walk),
            _ => Ok(()),
        }
    }
    let value = Value::deserialize(deserializer)?;
    walk(&value).map_err(D::Error::custom)?;
    Ok(value)
}

fn check(text: &str) -> Result<(), String> {
    each(text, |piece| match piece {
        Piece::Text(_)
        | Piece::Quote(
            "last_user" | "last_system" | "last_tool.name" | "last_tool.content" | "turn",
        ) => Ok(()),
        Piece::Quote(name) => Err(unknown(name)),
    })
}

fn unknown(name: &str) -> String {
    format!(
        "`{{{{{name}}}}}` quotes nothing; there are {NAMES}, and `\\{{{{` for braces themselves"
    )
}

enum Piece<'a> {
    Text(&'a str),
    Quote(&'a str),
}

fn each<'a>(
    mut text: &'a str,
    mut take: impl FnMut(Piece<'a>) -> Result<(), String>,
) -> Result<(), String> {
    while let Some((before, after)) = text.split_once("{{") {
        if let Some(before) = before.strip_suffix('\\') {
            take(Piece::Text(before))?;
            take(Piece::Text("{{"))?;
            text = after;
            continue;
        }
        take(Piece::Text(before))?;
        let Some((name, after)) = after.split_once("}}") else {
            return Err("`{{` without `}}`; write `\\{{` for braces themselves".to_owned());
        };
        take(Piece::Quote(name.trim()))?;
        text = after;
    }
    take(Piece::Text(text))
}

/// The text with what it quotes.
pub(super) fn expand(text: &str, request: &Request, turn: usize) -> Result<String, String> {
    let mut out = String::new();
    each(text, |piece| {
        let number;
        let quoted = match piece {
            Piece::Text(text) => text,
            Piece::Quote("turn") => {
                number = turn.to_string();
                &number
            }
            Piece::Quote(name) => quote(name, request)?,
        };
        if out.len() + quoted.len() > LONGEST {
            return Err(format!("what it quotes has more than {LONGEST} bytes"));
        }
        out.push_str(quoted);
        Ok(())
    })?;
    Ok(out)
}

fn quote<'a>(name: &str, request: &'a Request) -> Result<&'a str, String> {
    let found = request.messages.iter().rev().find_map(|message| match (name, message) {
        ("last_user", Message::User(text)) | ("last_system", Message::System(text)) => Some(text),
        ("last_tool.name", Message::Tool { name, .. }) => Some(name),
        ("last_tool.content", Message::Tool { content, .. }) => Some(content),
        _ => None,
    });
    match (found, name) {
        (Some(text), _) => Ok(text),
        (None, "last_system") => request.system.as_deref().ok_or_else(|| nothing(name)),
        (None, "last_user" | "last_tool.name" | "last_tool.content") => Err(nothing(name)),
        (None, _) => Err(unknown(name)),
    }
}

fn nothing(name: &str) -> String {
    format!("`{{{{{name}}}}}` has nothing to quote yet")
}

/// JSON, the texts in it with what they quote.
pub(super) fn expand_value(value: &Value, request: &Request, turn: usize) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(expand(text, request, turn)?),
        Value::Array(list) => {
            let list = list.iter().map(|value| expand_value(value, request, turn));
            Value::Array(list.collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let fields = map.iter();
            let fields =
                fields.map(|(name, value)| Ok((name.clone(), expand_value(value, request, turn)?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_quote_and_braces_can_be_braces() {
        let request = Request {
            system: Some("be kind".into()),
            messages: vec![
                Message::User("one {{turn}}".into()),
                Message::Tool {
                    call: "1".into(),
                    name: "ls".into(),
                    content: "a.txt".into(),
                    is_error: false,
                },
            ],
            ..Request::default()
        };
        let expand = |text: &str| expand(text, &request, 3);
        let text =
            "{{last_user}}|{{ last_tool.content }}|{{last_tool.name}}|{{turn}}|{{last_system}}";
        assert_eq!(expand(text).unwrap(), "one {{turn}}|a.txt|ls|3|be kind");
        assert_eq!(expand(r"\{{turn}} }} { {").unwrap(), "{{turn}} }} { {");
        assert!(expand("{{turn").unwrap_err().contains("without"));
        assert!(expand("{{nobody}}").unwrap_err().contains("`{{nobody}}` quotes nothing"));
        let empty = Request::default();
        assert!(
            super::expand("{{last_user}}", &empty, 1).unwrap_err().contains("nothing to quote")
        );
    }

    #[test]
    fn quoting_has_a_bound() {
        let request = Request::user("x".repeat(LONGEST / 2));
        assert!(expand("{{last_user}}{{last_user}}", &request, 1).is_ok());
        let error = expand("{{last_user}}{{last_user}}.", &request, 1).unwrap_err();
        assert!(error.contains("more than"), "{error}");
    }
}
