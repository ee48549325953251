//! What the model gets of a server's answer.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

/// The answer as a value of about so many bytes at the most, or what the tool says about its
/// failure.
///
/// Structured content is taken as it is, where the rest is only its text once more. Text is a
/// string. Where there are images or resources, it is the list of all parts.
pub(crate) fn value(result: CallToolResult, limit: usize) -> Result<Value, String> {
    let is_error = result.is_error == Some(true);
    let texts = texts(&result.content);
    if is_error {
        let text = texts.filter(|text| !text.trim().is_empty());
        let text = text.or_else(|| result.structured_content.map(|value| value.to_string()));
        let text = text.unwrap_or_else(|| "the tool failed and did not say why".to_owned());
        return Err(cut(&text, limit));
    }
    let Some(texts) = texts else { return Ok(Value::Array(parts(result.content, limit))) };
    match result.structured_content {
        Some(value) => {
            let written = value.to_string();
            if written.len() <= limit {
                return Ok(value);
            }
            let text = if texts.is_empty() { written } else { texts };
            Ok(Value::String(cut(&text, limit)))
        }
        None => Ok(Value::String(cut(&texts, limit))),
    }
}

/// All of it, if it is only text.
fn texts(content: &[ContentBlock]) -> Option<String> {
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    Some(texts?.join("\n"))
}

fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit);
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}\n[{} bytes left out]", text.len() - end)
}

/// The parts, as far as there is room. Data that has no room is left out and not cut: a piece of
/// an image is none.
fn parts(content: Vec<ContentBlock>, limit: usize) -> Vec<Value> {
    let mut room = limit;
    let mut parts = Vec::new();
    let count = content.len();
    for (index, block) in content.into_iter().enumerate() {
        let Ok(Value::Object(mut part)) = serde_json::to_value(block) else { continue };
        tidy(&mut part, room);
        if let Some(Value::Object(resource)) = part.get_mut("resource") {
            tidy(resource, room);
        }
        let part = Value::Object(part);
        let size = part.to_string().len();
        // The notes about what was left out are not held against it.
        if room == 0 || size > room.saturating_add(200) {
            let note = format!("[{} more parts left out]", count - index);
            parts.push(Value::from_iter([("type", "text"), ("text", &note)]));
            break;
        }
        room = room.saturating_sub(size);
        parts.push(part);
    }
    parts
}

fn tidy(part: &mut Map<String, Value>, room: usize) {
    part.retain(|key, _| key != "_meta" && key != "annotations" && key != "icons");
    if let Some(Value::String(text)) = part.get_mut("text") {
        *text = cut(text, room);
    }
    for key in ["data", "blob"] {
        if let Some(Value::String(data)) = part.get(key)
            && data.len() > room
        {
            let size = data.len();
            part.remove(key);
            part.insert("leftOut".to_owned(), Value::String(format!("{size} bytes of {key}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(result: Value, limit: usize) -> Result<Value, String> {
        value(serde_json::from_value(result).unwrap(), limit)
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn text_is_a_string() {
        let content = json!({"content": [text("a"), text("b")]});
        assert_eq!(read(content, 100), Ok(json!("a\nb")));
        assert_eq!(read(json!({"content": []}), 100), Ok(json!("")));
    }

    #[test]
    fn structured_content_counts_unless_it_is_too_large() {
        let result = json!({"content": [text("{\"a\": 1}")], "structuredContent": {"a": 1}});
        assert_eq!(read(result.clone(), 100), Ok(json!({"a": 1})));
        assert_eq!(read(result, 4), Ok(json!("{\"a\"\n[4 bytes left out]")));
        let alone = json!({"content": [], "structuredContent": {"a": 1}});
        assert_eq!(read(alone, 4), Ok(json!("{\"a\"\n[3 bytes left out]")));
    }

    #[test]
    fn a_failure_is_what_the_tool_says() {
        let failed = |content: Value| read(json!({"content": content, "isError": true}), 100);
        assert_eq!(failed(json!([text("no such file")])), Err("no such file".into()));
        assert_eq!(failed(json!([])), Err("the tool failed and did not say why".into()));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let content = json!({"content": [text("ääää")]});
        assert_eq!(read(content.clone(), 3), Ok(json!("ä\n[6 bytes left out]")));
        assert_eq!(read(content.clone(), 8), Ok(json!("ääää")));
        assert_eq!(read(content, 0), Ok(json!("\n[8 bytes left out]")));
    }

    #[test]
    fn images_are_kept_or_left_out_but_not_cut() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(50),
            "annotations": {"priority": 1.0}, "_meta": {"x": 1}});
        let content = json!({"content": [text("see"), image]});
        let kept = json!([text("see"),
            {"type": "image", "mimeType": "image/png", "data": "A".repeat(50)}]);
        assert_eq!(read(content.clone(), 1000), Ok(kept));
        let left_out = json!([text("see"),
            {"type": "image", "mimeType": "image/png", "leftOut": "50 bytes of data"}]);
        assert_eq!(read(content, 60), Ok(left_out));
    }

    #[test]
    fn many_parts_end_where_the_room_does() {
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "n".repeat(300)});
        let content = json!({"content": vec![link; 1000]});
        let value = read(content, 1000).unwrap();
        assert!(value.to_string().len() < 1500, "{value}");
        let last = value.as_array().unwrap().last().unwrap().clone();
        assert!(last["text"].as_str().unwrap().ends_with("more parts left out]"), "{last}");
    }
}
