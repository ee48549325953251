//! What Cline says, with its fields where the others have them.
//!
//! It takes what a model passes to a tool in many forms: one command or several, as texts or as
//! objects, under several names, or without any. Whatever it would run or read has to be seen.

use serde_json::{Map, Value, json};
use tollgate_core::event::Args;

/// An event in the names that most hosts have.
pub(super) fn flat(input: &Args) -> Args {
    let mut flat = Map::new();
    let mut put = |name: &str, value: Option<&Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            flat.insert(name.to_owned(), value.clone());
        }
    };
    let within = |outer: &str, inner: &str| input.get(outer).and_then(|outer| outer.get(inner));
    let session = within("sessionContext", "rootSessionId").filter(|id| !id.is_null());
    put("session_id", session.or_else(|| input.get("taskId")));
    let roots = input.get("workspaceRoots").and_then(Value::as_array);
    let root = within("workspaceInfo", "rootPath");
    put("cwd", roots.and_then(|roots| roots.first()).or(root));
    // The agent that the person talks to has a name too.
    if within_text(input.get("parent_agent_id")) {
        put("agent_id", input.get("agent_id"));
    }
    put("model", within("model", "slug"));
    put("prompt", within("userPromptSubmit", "prompt").or_else(|| input.get("prompt")));
    put("last_assistant_message", within("turn", "outputText"));
    put("error", input.get("error"));
    for (outer, older) in [("tool_call", "preToolUse"), ("tool_result", "postToolUse")] {
        let name = within(outer, "name").or_else(|| within(older, "toolName"));
        let args = within(outer, "input").or_else(|| within(older, "parameters"));
        put("tool_name", name);
        put("tool_use_id", within(outer, "id"));
        let seen = name.and_then(Value::as_str).zip(args).map(|(name, args)| canonical(name, args));
        put("tool_input", seen.as_ref());
        if name.and_then(Value::as_str) == Some("use_mcp_tool") {
            put("mcp_context", args);
        }
    }
    let failed = within("tool_result", "error").filter(|error| !error.is_null());
    let result = failed.or_else(|| within("tool_result", "output"));
    put("tool_response", result.or_else(|| within("postToolUse", "result")));
    flat
}

fn within_text(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

/// What a tool is called with, in the one form that it documents.
fn canonical(tool: &str, input: &Value) -> Value {
    let (list, names): (&str, &[&str]) = match tool {
        "run_commands" => ("commands", &["commands", "command", "cmd"]),
        "read_files" => {
            ("files", &["files", "file_paths", "paths", "path", "file_path", "filePath"])
        }
        "search_codebase" => ("queries", &["queries"]),
        _ => return input.clone(),
    };
    let mut elements = Vec::new();
    match input {
        // One element without the list around it, with what it has beside its name.
        Value::Object(fields) if !fields.contains_key(list) && alone(tool, fields) => {
            elements.push(input);
        }
        Value::Object(fields) => {
            for value in names.iter().filter_map(|name| fields.get(*name)) {
                elements.extend(each(value));
            }
        }
        other => elements.extend(each(other)),
    }
    let element = |value: &Value| match tool {
        "run_commands" => command(value),
        "read_files" => file(value),
        _ => value.clone(),
    };
    if elements.is_empty() {
        return input.clone();
    }
    json!({ list: elements.into_iter().map(element).collect::<Vec<_>>() })
}

fn alone(tool: &str, fields: &Args) -> bool {
    let has = |name: &&str| fields.contains_key(*name);
    match tool {
        "run_commands" => has(&"command"),
        "read_files" => {
            ["path", "file_path", "filePath"].iter().any(has)
                && !["paths", "file_paths"].iter().any(has)
        }
        _ => false,
    }
}

fn each(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(elements) => elements.iter().collect(),
        Value::Null => Vec::new(),
        other => vec![other],
    }
}

/// A command as a line for a shell: it may also be a program and its arguments.
fn command(value: &Value) -> Value {
    let name = |name: &str| value.get(name).and_then(Value::as_str);
    let Some(program) = name("command").or_else(|| name("cmd")) else { return value.clone() };
    let Some(args) = value.get("args").and_then(Value::as_array) else { return program.into() };
    let mut line = quoted(program);
    for arg in args {
        line.push(' ');
        line.push_str(&quoted(&arg.as_str().map_or_else(|| arg.to_string(), ToOwned::to_owned)));
    }
    line.into()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A file with its bounds: its path may stand for it, and has other names.
fn file(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields = fields.clone();
            for name in ["file_path", "filePath"] {
                if let Some(path) = fields.remove(name) {
                    fields.entry("path").or_insert(path);
                }
            }
            Value::Object(fields)
        }
        path => json!({ "path": path }),
    }
}

/// An event as Cline writes it.
pub(super) fn nested(flat: Value, name: impl Fn(&str) -> Option<&'static str>) -> Option<Value> {
    let Value::Object(mut flat) = flat else { return None };
    let event = flat.remove("hook_event_name")?;
    let hook = name(event.as_str()?)?;
    let mut take = |name: &str| flat.remove(name).unwrap_or_default();
    let session = take("session_id");
    let (tool, input, id) = (take("tool_name"), take("tool_input"), take("tool_use_id"));
    let agent = take("agent_id");
    let parent = if agent.is_null() { Value::Null } else { session.clone() };
    let mut fields = json!({
        "hookName": hook,
        "taskId": session,
        "sessionContext": {"rootSessionId": session},
        "workspaceRoots": [take("cwd")],
        "agent_id": agent,
        "parent_agent_id": parent,
    });
    let more = match hook {
        "tool_call" => Some((hook, json!({"id": id, "name": tool, "input": input}))),
        "tool_result" => {
            let output = take("tool_response");
            Some((hook, json!({"id": id, "name": tool, "input": input, "output": output})))
        }
        "prompt_submit" => Some(("userPromptSubmit", json!({"prompt": take("prompt")}))),
        "agent_end" => Some(("turn", json!({"outputText": take("last_assistant_message")}))),
        "agent_error" => Some(("error", take("error"))),
        _ => None,
    };
    if let (Some((name, value)), Value::Object(fields)) = (more, &mut fields) {
        fields.insert(name.to_owned(), value);
    }
    Some(fields)
}
