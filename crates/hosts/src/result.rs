//! The text in what a tool came to. Hosts wrap it differently; hooks see the text, and what they make
//! of it goes back to where it was.

use serde_json::Value;

/// Where the text of a result is.
enum Spot {
    /// The result is the text.
    All,
    /// In a field.
    Field(&'static str),
    /// In a field of a field.
    Inner(&'static str, &'static str),
    /// What a command printed, and what it printed as an error.
    Streams,
    /// In the parts of a list, each with a `text`; the list is in a field, or all there is.
    Parts(Option<&'static str>),
}

const FIELDS: &[&str] =
    &["llmContent", "textResultForLlm", "text_result_for_llm", "output", "content", "result"];

fn spot(result: &Value) -> Option<Spot> {
    let is_parts = |value: &Value| {
        let parts = value.as_array().filter(|parts| !parts.is_empty());
        parts.is_some_and(|parts| {
            parts.iter().all(|part| part.get("text").is_some_and(Value::is_string))
        })
    };
    if result.is_string() {
        return Some(Spot::All);
    }
    if is_parts(result) {
        return Some(Spot::Parts(None));
    }
    let fields = result.as_object()?;
    if fields.get("stdout").is_some_and(Value::is_string) {
        return Some(Spot::Streams);
    }
    if fields.get("file").and_then(|file| file.get("content")).is_some_and(Value::is_string) {
        return Some(Spot::Inner("file", "content"));
    }
    FIELDS.iter().find_map(|name| match fields.get(*name) {
        Some(Value::String(_)) => Some(Spot::Field(name)),
        Some(value) if is_parts(value) => Some(Spot::Parts(Some(name))),
        _ => None,
    })
}

/// What hooks see of a result: its text, or all of it where no text is found.
pub(crate) fn seen(result: &Value) -> Value {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(spot) = spot(result) else { return result.clone() };
    Value::String(match spot {
        Spot::All => text(Some(result)),
        Spot::Field(name) => text(result.get(name)),
        Spot::Inner(outer, inner) => text(result.get(outer).and_then(|value| value.get(inner))),
        Spot::Streams => {
            let (out, err) = (text(result.get("stdout")), text(result.get("stderr")));
            match (out.is_empty(), err.is_empty()) {
                (_, true) => out,
                (true, false) => err,
                (false, false) => format!("{out}\n{err}"),
            }
        }
        Spot::Parts(name) => {
            let parts = name.map_or(Some(result), |name| result.get(name));
            let parts = parts.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let texts: Vec<_> = parts.iter().map(|part| text(part.get("text"))).collect();
            texts.join("\n")
        }
    })
}

/// The host's result with what hooks have made of it. None where what they made has no place in it.
pub(crate) fn replaced(result: &Value, rewritten: &Value) -> Option<Value> {
    let Some(spot) = spot(result) else { return Some(rewritten.clone()) };
    let text = rewritten.as_str().map_or_else(|| rewritten.to_string(), ToOwned::to_owned);
    let mut result = result.clone();
    match spot {
        Spot::All => result = text.into(),
        Spot::Field(name) => *result.get_mut(name)? = text.into(),
        Spot::Inner(outer, inner) => *result.get_mut(outer)?.get_mut(inner)? = text.into(),
        Spot::Streams => {
            *result.get_mut("stdout")? = text.into();
            if let Some(stderr) = result.get_mut("stderr") {
                *stderr = "".into();
            }
        }
        Spot::Parts(name) => {
            let parts = match name {
                Some(name) => result.get_mut(name)?,
                None => &mut result,
            };
            let parts = parts.as_array_mut()?;
            parts.truncate(1);
            *parts.first_mut()?.get_mut("text")? = text.into();
        }
    }
    // What a host shows to the person beside what it gives to the model holds the same text.
    if let Some(shown) = result.get_mut("returnDisplay") {
        *shown = "".into();
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_is_seen_and_put_back() {
        let cases = [
            (json!("key=1"), "key=1", json!("X")),
            (
                json!({"stdout": "key=1", "stderr": "warn", "interrupted": false}),
                "key=1\nwarn",
                json!({"stdout": "X", "stderr": "", "interrupted": false}),
            ),
            (
                json!({"type": "text", "file": {"filePath": "/a", "content": "key=1"}}),
                "key=1",
                json!({"type": "text", "file": {"filePath": "/a", "content": "X"}}),
            ),
            (
                json!([{"type": "text", "text": "key=1"}]),
                "key=1",
                json!([{"type": "text", "text": "X"}]),
            ),
            (
                json!({"llmContent": [{"text": "a"}, {"text": "b"}], "returnDisplay": "a b"}),
                "a\nb",
                json!({"llmContent": [{"text": "X"}], "returnDisplay": ""}),
            ),
            (
                json!({"resultType": "success", "textResultForLlm": "key=1"}),
                "key=1",
                json!({"resultType": "success", "textResultForLlm": "X"}),
            ),
        ];
        for (result, text, after) in cases {
            assert_eq!(seen(&result), json!(text));
            assert_eq!(replaced(&result, &json!("X")), Some(after));
        }
        let other = json!({"agentId": 1});
        assert_eq!(seen(&other), other);
        assert_eq!(replaced(&other, &json!({"agentId": 2})), Some(json!({"agentId": 2})));
    }
}
