//! The schemas of these files, and of what their handlers read and answer.

use schemars::Schema;
use serde_json::{Map, Value, json};
use tollgate_core::Kind;

use super::super::EventName;
use super::HostDialect;

fn schema(fields: Value) -> Schema {
    let mut schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema"});
    if let (Value::Object(all), Value::Object(fields)) = (&mut schema, fields) {
        all.extend(fields);
    }
    Schema::try_from(schema).unwrap_or_default()
}

/// The file, as far as it is about hooks.
pub(super) fn file(dialect: &HostDialect) -> Schema {
    let title = dialect.host.title;
    let names = dialect.events.iter().map(|event| event.name);
    // Also those that do not happen here: a file with them is right.
    let others = dialect.host.events.iter().map(|event| event.name);
    let others = others.chain(dialect.host.other_events.iter().copied());
    let groups = json!({"type": "array", "items": {"$ref": "#/$defs/Group"}});
    let mut events: Map<String, Value> =
        names.chain(others).map(|name| (name.to_owned(), groups.clone())).collect();
    for name in dialect.form.beside {
        events.insert((*name).to_owned(), json!(true));
    }
    let handler: Map<String, Value> = dialect
        .form
        .handler
        .iter()
        .map(|name| ((*name).to_owned(), handler_field(dialect, name)))
        .collect();
    let group: Map<String, Value> = dialect
        .form
        .group
        .iter()
        .map(|name| ((*name).to_owned(), group_field(dialect, name)))
        .collect();
    schema(json!({
        "title": format!("{}Hooks", title.replace(' ', "")),
        "description": format!("{title}'s settings, as far as they are about hooks that are commands."),
        "type": "object",
        "properties": {
            "hooks": {
                "description": "Groups of handlers, by event.",
                "type": "object",
                "properties": events,
                "additionalProperties": false,
            },
        },
        "$defs": {
            "Group": {
                "description": "Handlers for what a matcher names.",
                "type": "object",
                "properties": group,
                "required": ["hooks"],
            },
            "Handler": {
                "description": "A command to run.",
                "type": "object",
                "properties": handler,
                "required": ["command"],
            },
        },
    }))
}

fn group_field(dialect: &HostDialect, name: &str) -> Value {
    match name {
        "matcher" => {
            let about = if dialect.form.list.is_some() {
                "Names of tools with `|` between them, or a regular expression that is looked for in \
                 the name; `\"\"` and `\"*\"` mean all."
            } else {
                "A regular expression that is looked for in the name of the tool; `\"\"` and `\"*\"` \
                 mean all."
            };
            json!({"description": about, "type": ["string", "null"]})
        }
        "hooks" => json!({
            "description": "The handlers.", "type": "array", "items": {"$ref": "#/$defs/Handler"},
        }),
        "sequential" => json!({
            "description": "Under Tollgate, hooks run one after the other in any case.",
            "type": "boolean",
        }),
        _ => json!(true),
    }
}

fn handler_field(dialect: &HostDialect, name: &str) -> Value {
    match name {
        "type" => json!({"description": "Only `command` is run here.", "const": "command"}),
        "command" => {
            let shell = dialect.shell.program();
            let about = format!("A command for `{shell} -c`, run in the project's directory.");
            json!({"description": about, "type": "string", "minLength": 1})
        }
        "args" => json!({
            "description": "Its arguments; then no shell looks at them.",
            "type": "array", "items": {"type": "string"},
        }),
        "if" => json!({
            "description": "What the call has to be about: `Bash(rm *)`.", "type": "string",
        }),
        "shell" => json!({"description": "What runs it.", "enum": ["bash", "sh"]}),
        "timeout" => {
            let (unit, most) = if dialect.form.unit.as_secs() == 1 {
                ("seconds", 86_400)
            } else {
                ("milliseconds", 86_400_000)
            };
            let usual = dialect.time.as_millis() / dialect.form.unit.as_millis();
            json!({
                "description": format!("How long it may take, in {unit}. Default: {usual}."),
                "type": "number", "exclusiveMinimum": 0, "maximum": most,
            })
        }
        "async" | "asyncRewake" => json!({
            "description": "Whether nobody waits for it: then it can only watch.",
            "type": "boolean",
        }),
        "once" => json!({
            "description": "Not read: a hook that guards once guards no more.", "type": "boolean",
        }),
        "onFailure" => json!({
            "description": "Not read: under Tollgate a hook that fails closes its gate.",
            "enum": ["continue", "block"],
        }),
        "env" => json!({
            "description": "Variables for it.", "type": "object",
            "additionalProperties": {"type": "string"},
        }),
        "name" => json!({"description": "Its name.", "type": "string"}),
        "description" | "statusMessage" => {
            json!({"description": "What it is for.", "type": "string"})
        }
        _ => json!(true),
    }
}

/// What each handler reads.
pub(super) fn inputs(dialect: &HostDialect) -> Vec<(&'static str, Schema)> {
    dialect.events.iter().map(|event| (event.name, input(dialect, event))).collect()
}

fn input(dialect: &HostDialect, event: &EventName) -> Schema {
    let text = |about: &str| json!({"description": about, "type": "string"});
    let mut fields = json!({
        "hook_event_name": {"description": "The event.", "const": event.name},
        "session_id": text("The id of the session."),
        "transcript_path": text("The file of the transcript."),
        "cwd": text("The directory that the agent works in."),
        "model": text("The model in use."),
        "agent_id": text("The subagent it happens in; not there for the main agent."),
    });
    let mut required = vec!["hook_event_name", "session_id"];
    let kind = event.kinds.first().copied().unwrap_or(Kind::Stop);
    let (own, needed): (Value, &[&'static str]) = match kind {
        Kind::ToolPost => {
            let about = "What the tool came to, as the agent's own tool has it.";
            (json!({"tool_response": {"description": about}}), &[])
        }
        Kind::ToolError | Kind::Failure => (json!({"error": text("What went wrong.")}), &["error"]),
        Kind::TurnStart => (json!({"prompt": text("What was asked.")}), &["prompt"]),
        Kind::Stop => (
            json!({"stop_hook_active": {
                "description": "Whether the agent goes on because of a hook already.",
                "type": "boolean",
            }}),
            &["stop_hook_active"],
        ),
        Kind::SessionStart => (json!({"source": text("How it began.")}), &["source"]),
        Kind::SessionEnd => (json!({"reason": text("How it ended.")}), &["reason"]),
        Kind::CompactionPre => (json!({"trigger": text("What led to it.")}), &["trigger"]),
        Kind::CompactionPost => {
            (json!({"compact_summary": text("The summary.")}), &["compact_summary"])
        }
        Kind::Notification => (
            json!({"notification_type": text("What it is about."), "message": text("The text.")}),
            &["notification_type", "message"],
        ),
        Kind::SubagentStart => (json!({"agent_type": text("Its type.")}), &["agent_type"]),
        Kind::SubagentStop => (
            json!({
                "agent_type": text("Its type."),
                "last_assistant_message": {"description": "What it came to."},
                "stop_hook_active": {"type": "boolean"},
            }),
            &["agent_type"],
        ),
        _ => (json!({}), &[]),
    };
    required.extend(needed);
    if let (Value::Object(fields), Value::Object(own)) = (&mut fields, own) {
        fields.extend(own);
        if kind.is_about_tool() {
            let tool = format!("The tool, as {} calls it.", dialect.host.title);
            fields.insert("tool_name".to_owned(), text(&tool));
            let about = "What it is called with, under the names of that tool.";
            fields.insert("tool_input".to_owned(), json!({"description": about, "type": "object"}));
            fields.insert("tool_use_id".to_owned(), text("The id of the call."));
            required.extend(["tool_name", "tool_input"]);
        }
    }
    schema(json!({
        "title": format!("{}Input", event.name),
        "description": format!("The input of `{}`.", event.name),
        "type": "object", "properties": fields, "required": required,
    }))
}

/// What each handler answers.
pub(super) fn answers(dialect: &HostDialect) -> Vec<(&'static str, Schema)> {
    dialect.events.iter().map(|event| (event.name, answer(dialect, event))).collect()
}

fn answer(dialect: &HostDialect, event: &EventName) -> Schema {
    let text = |about: &str| json!({"description": about, "type": "string"});
    let kind = event.kinds.first().copied().unwrap_or(Kind::Stop);
    let is_gemini = dialect.form.list.is_none();
    let mut own = Map::new();
    let mut put = |name: &str, value: Value| drop(own.insert(name.to_owned(), value));
    put("hookEventName", json!({"const": event.name}));
    if kind == Kind::ToolPre && !is_gemini {
        let asks = dialect.host.event(event.name).map(|event| event.forms.ask);
        let decisions = if asks == Some(tollgate_hosts::Form::Own) {
            json!(["allow", "deny", "ask"])
        } else {
            json!(["allow", "deny"])
        };
        put(
            "permissionDecision",
            json!({"description": "What becomes of the call.", "enum": decisions}),
        );
        put("permissionDecisionReason", text("Why, for the model."));
        put(
            "updatedInput",
            json!({"description": "What the tool is called with instead, all of it.", "type": "object"}),
        );
    }
    if kind == Kind::ToolPre && is_gemini {
        put(
            "tool_input",
            json!({"description": "What the tool is called with instead.", "type": "object"}),
        );
    }
    if kind == Kind::ToolPost && !is_gemini {
        put(
            "updatedToolOutput",
            json!({"description": "The result instead, as the agent's own tool has it."}),
        );
    }
    if matches!(kind, Kind::TurnStart | Kind::SessionStart | Kind::ToolPost | Kind::ToolPre) {
        put("additionalContext", text("Text for the model."));
    }
    let words = if is_gemini {
        json!(["allow", "approve", "ask", "block", "deny", ""])
    } else if kind == Kind::ToolPre {
        json!(["approve", "block"])
    } else {
        json!(["block"])
    };
    schema(json!({
        "title": format!("{}Answer", event.name),
        "description": format!("The answer to `{}`; nothing at all is no opinion.", event.name),
        "type": "object",
        "properties": {
            "continue": {"description": "`false` ends more than this: the event is refused.", "type": "boolean"},
            "stopReason": text("Why all of it is to end."),
            "systemMessage": text("Text for the person."),
            "decision": {"description": "`block` refuses; at the end of a turn it goes on.", "enum": words},
            "reason": text("Why, for the model."),
            "hookSpecificOutput": {"type": "object", "properties": own},
        },
    }))
}
