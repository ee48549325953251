//! What an edit would do to a file, for the person who is asked about it.

use std::fs;

use serde_json::Value;
use similar::TextDiff;
use tollgate_core::event::ToolCall;
use tollgate_tools::Workspaces;

/// The largest file whose edit is shown.
const LARGEST: u64 = 1 << 20;

/// The diff that a call would make; none where it edits nothing, or that cannot be told.
pub(crate) fn diff(call: &ToolCall, workspaces: &Workspaces) -> Option<String> {
    let given = call.text("TargetFile").filter(|_| call.server.is_none())?;
    let path = &workspaces.paths().next()?.join(given);
    let before = match path.canonicalize() {
        Ok(real) => {
            let metadata = fs::metadata(&real).ok()?;
            let is_within = workspaces.paths().any(|root| real.starts_with(root));
            if !is_within || metadata.len() > LARGEST || !metadata.is_file() {
                return None;
            }
            fs::read_to_string(&real).ok()?
        }
        Err(_) => String::new(),
    };
    let after = if call.is("write_to_file") {
        call.text("CodeContent")?.to_owned()
    } else if call.is("replace_file_content") {
        replaced(&before, &Value::Object(call.args.clone()))?
    } else if call.is("multi_replace_file_content") {
        let chunks = call.args.get("ReplacementChunks")?.as_array()?;
        chunks.iter().try_fold(before.clone(), |text, chunk| replaced(&text, chunk))?
    } else {
        return None;
    };
    let name = path.display().to_string();
    let diff = TextDiff::from_lines(&before, &after);
    Some(diff.unified_diff().context_radius(2).header(&name, &name).to_string())
}

fn replaced(text: &str, chunk: &Value) -> Option<String> {
    let part = |name: &str| chunk.get(name).and_then(Value::as_str);
    let (old, new) = (part("TargetContent")?, part("ReplacementContent")?);
    let all = chunk.get("AllowMultiple").and_then(Value::as_bool).unwrap_or(false);
    let count = if all { usize::MAX } else { 1 };
    text.contains(old).then(|| text.replacen(old, new, count))
}
