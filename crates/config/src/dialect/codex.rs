//! Codex's `hooks.json`: Claude Code's form, read strictly, `bash -c`.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::event::ToolCall;
use tollgate_core::{Dialect, Kind, tools};
use tollgate_hosts::codex;

use super::host::{Form, HostDialect};
use super::{EventName, Home, Shell};

/// The dialect.
pub static CODEX: HostDialect = HostDialect {
    dialect: Dialect::Codex,
    host: &codex::HOST,
    events: EVENTS,
    home: Home {
        folder: "codex",
        in_project: ".codex",
        file: "hooks.json",
        also_in_project: &[],
        is_shared: true,
    },
    shell: Shell::Bash,
    time: Duration::from_mins(10),
    form: Form {
        comments: false,
        unit: Duration::from_secs(1),
        off: None,
        beside: &[],
        group: &["matcher", "hooks"],
        handler: &[
            "type",
            "command",
            "commandWindows",
            "timeout",
            "async",
            "statusMessage",
            "additionalContextLimit",
        ],
        list: Some("_|"),
        aliases: &[("apply_patch", &["Write", "Edit"])],
        subjects: &[
            (Kind::SessionStart, "source"),
            (Kind::SessionEnd, "reason"),
            (Kind::CompactionPre, "trigger"),
            (Kind::CompactionPost, "trigger"),
            (Kind::SubagentStart, "agent_type"),
            (Kind::SubagentStop, "agent_type"),
        ],
    },
    variables: |_| Vec::new(),
    instead,
    result: |_, text| text.into(),
};

/// Its events that happen here.
static EVENTS: &[EventName] = &[
    EventName { name: "PreToolUse", kinds: &[Kind::ToolPre] },
    EventName { name: "PostToolUse", kinds: &[Kind::ToolPost] },
    EventName { name: "UserPromptSubmit", kinds: &[Kind::TurnStart] },
    EventName { name: "SessionStart", kinds: &[Kind::SessionStart] },
    EventName { name: "SessionEnd", kinds: &[Kind::SessionEnd] },
    EventName { name: "Stop", kinds: &[Kind::Stop] },
    EventName { name: "SubagentStart", kinds: &[Kind::SubagentStart] },
    EventName { name: "SubagentStop", kinds: &[Kind::SubagentStop] },
    EventName { name: "PreCompact", kinds: &[Kind::CompactionPre] },
    EventName { name: "PostCompact", kinds: &[Kind::CompactionPost] },
];

/// It writes files by patches, and has no tool to read one.
fn instead(call: &ToolCall) -> Option<(&'static str, Value)> {
    let name = tools::lookup(&call.name).map(|tool| tool.name)?;
    let target = in_one_line(call.text("TargetFile").unwrap_or_default());
    let mut patch = String::from("*** Begin Patch\n");
    match name {
        "write_to_file" => {
            let _ = writeln!(patch, "*** Add File: {target}");
            put(&mut patch, '+', call.text("CodeContent").unwrap_or_default());
        }
        "replace_file_content" => {
            let _ = writeln!(patch, "*** Update File: {target}");
            edit(&mut patch, &Value::Object(call.args.clone()));
        }
        "multi_replace_file_content" => {
            let _ = writeln!(patch, "*** Update File: {target}");
            let chunks = call.args.get("ReplacementChunks").and_then(Value::as_array);
            for chunk in chunks.into_iter().flatten() {
                edit(&mut patch, chunk);
            }
        }
        "view_file" => {
            let file = call.text("AbsolutePath").unwrap_or_default().to_lowercase();
            let images = [".png", ".jpg", ".jpeg", ".gif", ".webp"];
            if images.iter().any(|ending| file.ends_with(ending)) {
                return None;
            }
            return Some(("view_file", Value::Object(call.args.clone())));
        }
        _ => return None,
    }
    patch.push_str("*** End Patch\n");
    Some(("apply_patch", json!({"command": patch})))
}

/// A path in which no other header can hide.
fn in_one_line(path: &str) -> String {
    path.replace(['\n', '\r'], " ")
}

fn edit(patch: &mut String, edit: &Value) {
    let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
    patch.push_str("@@\n");
    put(patch, '-', text("TargetContent"));
    put(patch, '+', text("ReplacementContent"));
}

fn put(patch: &mut String, sign: char, text: &str) {
    for line in text.lines() {
        let _ = writeln!(patch, "{sign}{line}");
    }
}
