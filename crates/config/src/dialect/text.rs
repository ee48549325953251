//! Reading an answer from what a program printed.

use serde_json::{Map, Value};
use tollgate_core::json;

use super::WireError;

/// How much of what a program printed is shown.
const SHOWN: usize = 200;

/// The JSON object that a program printed; none where it printed nothing.
pub(super) fn answer(stdout: &[u8]) -> Result<Option<Map<String, Value>>, WireError> {
    let text = std::str::from_utf8(stdout).map_err(|error| {
        let before = stdout.get(..error.valid_up_to()).unwrap_or_default();
        let shown = excerpt(before);
        WireError::new(format!(
            "it printed bytes that are not UTF-8 (after {} bytes{}): an answer is one JSON object",
            error.valid_up_to(),
            if shown.is_empty() { String::new() } else { format!(", `{shown}`") },
        ))
    })?;
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    match json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(Some(fields)),
        Ok(other) => Err(WireError::new(format!(
            "it printed {}, and an answer is one JSON object: `{}`",
            kind(&other),
            excerpt(text.as_bytes())
        ))),
        Err(error) => Err(not_json(text, &error)),
    }
}

/// Says what is in the way of reading a text, and what to do about it.
fn not_json(text: &str, error: &serde_json::Error) -> WireError {
    let shown = excerpt(text.as_bytes());
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<json::Strict>();
    if let (Some(Ok(_)), Some(next)) = (values.next(), values.next()) {
        let what = if next.is_ok() { "two JSON values" } else { "more behind its JSON" };
        return WireError::new(format!(
            "it printed {what}: print one object and nothing else, and send other text to stderr \
             (`>&2`): `{shown}`"
        ));
    }
    let behind_log = text
        .char_indices()
        .filter(|(at, c)| {
            *c == '{' && (*at == 0 || text.get(..*at).is_some_and(|t| t.ends_with('\n')))
        })
        .skip_while(|(at, _)| *at == 0)
        .take(16)
        .any(|(at, _)| text.get(at..).is_some_and(|rest| json::from_str(rest).is_ok()));
    if behind_log {
        return WireError::new(format!(
            "it printed other text before its JSON: send that to stderr (`>&2`): `{shown}`"
        ));
    }
    if error.is_data() {
        return WireError::new(format!("its answer has a {error}: `{shown}`"));
    }
    WireError::new(format!("it printed text that is not JSON ({error}): `{shown}`"))
}

/// The beginning of a text, fit to be shown in one line.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let cut = bytes.get(..SHOWN * 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(cut);
    let text = text.trim();
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN {
            shown.push('…');
            break;
        }
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push(' '),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// What a value is, with its article.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Takes a field that has to be text.
pub(super) fn take_text(
    fields: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<String>, WireError> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(WireError::new(format!("`{name}` is {}, not a string", kind(&other)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &[u8]) -> String {
        answer(text).unwrap_err().message
    }

    #[test]
    fn one_object_is_an_answer() {
        assert_eq!(answer(b" \n"), Ok(None));
        assert!(answer(b"{\"a\": [1, -2, 0.5, null, true, \"x\"]}\r\n").unwrap().is_some());
    }

    #[test]
    fn everything_else_is_explained() {
        assert!(error(b"[]").contains("an array"));
        assert!(error(b"{\"a\":1,\"a\":2}").contains("duplicate key `a`"));
        assert!(error(b"{} {}").contains("two JSON values"));
        assert!(error(b"{} done").contains("more behind its JSON"));
        assert!(error(b"checking...\n{\"decision\": \"allow\"}").contains("before its JSON"));
        assert!(error(b"checking...\n{\n  \"decision\": \"allow\"\n}").contains("before its JSON"));
        assert!(error(b"{decision:allow}").contains("not JSON"));
        assert!(error(b"\xff\xfe").contains("not UTF-8"));
        assert!(error(b"{\"a\": \0}").contains("not JSON"));
        assert!(error("[".repeat(100_000).as_bytes()).contains("recursion limit"));
        assert!(error("x".repeat(1 << 20).as_bytes()).len() < 400);
    }
}
