//! The schemas under `schemas/` are what the types say, and fit what is really written and read.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tollgate_config::dialect::{self, FileDialect, Output, harness};
use tollgate_config::settings::Loaded;
use tollgate_config::source::SourceFile;
use tollgate_core::context::SessionInfo;
use tollgate_core::dialect::Layer;
use tollgate_core::event::{
    CompactionPost, CompactionPre, FacetSwitch, Failure, InvocationEnd, ModelPost, ModelPre,
    Notification, SessionEnd, SessionStart, Stop, SubagentStart, SubagentStop, ToolCall, ToolError,
    ToolPost, ToolPre, TurnStart,
};
use tollgate_core::{AnyEvent, Dialect, Kind};

#[path = "../examples/schemas.rs"]
mod written;

fn antigravity() -> &'static dyn FileDialect {
    dialect::of(Dialect::HooksJson).unwrap()
}

fn polytoken() -> &'static dyn FileDialect {
    dialect::of(Dialect::Polytoken).unwrap()
}

fn of_host(host: Dialect) -> &'static dyn FileDialect {
    dialect::of(host).unwrap()
}

fn folder(codec: &dyn FileDialect) -> &'static str {
    match codec.dialect() {
        Dialect::HooksJson => "antigravity",
        other => other.name(),
    }
}

/// What a schema, as it stands in its file, has against a value.
fn complaints(path: &str, value: &Value) -> Vec<String> {
    let text = fs::read_to_string(written::directory().join(path)).unwrap();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap();
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

#[test]
fn the_files_are_what_the_types_say() {
    let directory = written::directory();
    let wanted: BTreeMap<PathBuf, String> =
        written::all().iter().map(|(path, schema)| (path.clone(), written::text(schema))).collect();
    let mut wrong = Vec::new();
    for (path, text) in &wanted {
        match fs::read_to_string(directory.join(path)) {
            Ok(found) if found == *text => {}
            Ok(_) => wrong.push(format!("{} differs", path.display())),
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    for path in written::files(&directory).unwrap() {
        if !wanted.contains_key(&path) {
            wrong.push(format!("{} is superfluous", path.display()));
        }
    }
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "schemas/ is out of date; run `{}`:\n{wrong}", written::COMMAND);
}

#[test]
fn they_are_valid_schemas_that_name_their_version_and_no_place() {
    for (path, schema) in written::all() {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(!schema.to_string().contains("\"$id\""), "{}", path.display());
        let result = jsonschema::draft202012::meta::validate(&schema);
        assert!(result.is_ok(), "{}: {result:?}", path.display());
    }
}

#[test]
fn every_event_has_both_schemas() {
    let schemas = written::all();
    for codec in dialect::ALL {
        for event in codec.events() {
            for kind in ["input", "answer"] {
                let path = format!("{}/{kind}/{}.schema.json", folder(*codec), event.name);
                assert!(schemas.contains_key(Path::new(&path)), "{path}");
            }
        }
    }
}

#[test]
fn the_schema_of_frontmatter_has_what_is_read() {
    let path = "harness/frontmatter.schema.json";
    let schema = &written::all()[Path::new(path)];
    let events: Vec<_> = harness::EVENTS.iter().map(|event| json!(event.name)).collect();
    assert_eq!(schema["$defs"]["Event"]["enum"], Value::from(events));
    let text = "---\nevent: tool.pre\nscript: x\npriority: 1\nwhen: x\nenabled: true\ntimeout: 1\n\
                description: x\n---\n";
    let file = SourceFile::new("x.md", text);
    let (artifact, diagnostics) = harness::read_artifact(&std::sync::Arc::new(file));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let mut keys: Vec<_> = artifact.unwrap().keys.iter().map(|key| key.name).collect();
    keys.sort_unstable();
    let known: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(known, keys);
    let hook = |timeout: Value| json!({"event": "tool.pre", "script": "x", "timeout": timeout});
    for timeout in [json!(0.5), json!(600), json!("250ms"), json!("2 s"), json!("1m")] {
        let found = complaints(path, &hook(timeout));
        assert!(found.is_empty(), "{found:?}");
    }
    for timeout in [json!(0), json!(601), json!("soon"), json!(true)] {
        assert!(!complaints(path, &hook(timeout)).is_empty());
    }
    assert!(!complaints(path, &json!({"event": "tool.pre"})).is_empty());
    assert!(!complaints(path, &json!({"event": "tool_pre", "script": "x"})).is_empty());
}

/// Each event, bare and with everything filled in.
fn events() -> Vec<AnyEvent> {
    let model = Some("m".to_owned());
    let bare = ToolCall::new("view_file");
    let call = ToolCall {
        model: model.clone(),
        ..ToolCall::new("run_command").arg("CommandLine", "ls").id("call_1").step(7)
    };
    let mcp = ToolCall::new("search").server("docs").arg("query", "x");
    let mut events: Vec<AnyEvent> = Vec::new();
    for call in [bare, call, mcp] {
        events.push(ToolPre::from(call.clone()).into());
        events.push(ToolPost::new(call.clone(), json!({"lines": [1, 2]})).into());
        events.push(ToolError::new(call, "exit status 1").into());
    }
    let stop = Stop {
        execution: 2,
        reason: "error".to_owned(),
        error: Some("out of steps".to_owned()),
        idle: true,
        model: model.clone(),
        ..Stop::default()
    };
    let notification = Notification {
        kind: "idle".to_owned(),
        message: "done".to_owned(),
        ..Notification::default()
    };
    let stopped =
        SubagentStop { kind: "review".to_owned(), result: Some(json!("ok")), ..Default::default() };
    let rest: Vec<AnyEvent> = vec![
        SessionStart { model: model.clone(), ..SessionStart::default() }.into(),
        SessionStart::default().into(),
        SessionEnd::default().into(),
        Failure { error: "overloaded".to_owned(), ..Failure::default() }.into(),
        TurnStart::new("hello").into(),
        ModelPre { invocation: 3, steps: 10, model: model.clone(), ..ModelPre::default() }.into(),
        ModelPre::default().into(),
        ModelPost::default().into(),
        InvocationEnd { invocation: 3, steps: 12, model, ..InvocationEnd::default() }.into(),
        InvocationEnd::default().into(),
        stop.into(),
        Stop::default().into(),
        CompactionPre::default().into(),
        CompactionPost { summary: "short".to_owned(), ..CompactionPost::default() }.into(),
        notification.into(),
        FacetSwitch { from: "plan".to_owned(), to: "execute".to_owned(), ..Default::default() }
            .into(),
        SubagentStart { kind: "review".to_owned(), ..SubagentStart::default() }.into(),
        stopped.into(),
        SubagentStop::default().into(),
    ];
    events.extend(rest);
    events
}

#[test]
fn what_handlers_are_given_is_valid() {
    let sessions = [
        SessionInfo::default(),
        SessionInfo {
            id: "ec33ebf9".to_owned(),
            workspaces: vec!["/project".to_owned()],
            transcript: Some("/project/transcript.jsonl".to_owned()),
            artifacts: Some("/project/artifacts".to_owned()),
        },
    ];
    for codec in dialect::ALL {
        let mut seen: Vec<Kind> = Vec::new();
        for event in events() {
            for session in &sessions {
                let Some(input) = codec.encode_event(event.view(), session) else { continue };
                seen.push(event.kind());
                let name = codec.name_of(event.kind()).unwrap();
                let path = format!("{}/input/{name}.schema.json", folder(*codec));
                let found = complaints(&path, &input);
                assert!(found.is_empty(), "{path}: {input}: {found:?}");
            }
        }
        for kind in codec.events().iter().flat_map(|event| event.kinds) {
            assert!(seen.contains(kind), "no sample of {kind} for {}", codec.dialect());
        }
    }
}

#[test]
fn what_is_no_input_is_not_valid() {
    for (path, wrong) in [
        ("antigravity/input/PreToolUse.schema.json", json!({"stepIdx": 1})),
        ("antigravity/input/PreToolUse.schema.json", json!({"toolCall": {"args": {}}})),
        ("antigravity/input/Stop.schema.json", json!({"executionNum": 1})),
        ("antigravity/input/PreInvocation.schema.json", json!({"invocationNum": -1})),
        ("polytoken/input/pre_tool_use.schema.json", json!({"event": "pre_tool_use"})),
        ("polytoken/input/pre_user_prompt.schema.json", json!({"prompt": 1})),
        ("polytoken/input/subagent_stop.schema.json", json!({"event": "subagent_stop"})),
    ] {
        assert!(!complaints(path, &wrong).is_empty(), "{path}: {wrong}");
    }
}

/// Answers, and whether they are ones. What the schema says, the codec says too.
#[allow(clippy::many_single_char_names)] // one letter a dialect, for a table that fits its lines
fn answers() -> Vec<(&'static dyn FileDialect, &'static str, Value, bool)> {
    let (a, p) = (antigravity(), polytoken());
    let (claude, codex, gemini) =
        (of_host(Dialect::Claude), of_host(Dialect::Codex), of_host(Dialect::Gemini));
    let pre = |mut own: Value| {
        own["hookEventName"] = json!("PreToolUse");
        json!({"hookSpecificOutput": own})
    };
    let call = json!({"name": "run_command", "args": {"CommandLine": "ls"}});
    vec![
        (a, "PreToolUse", json!({"decision": "allow"}), true),
        (a, "PreToolUse", json!({"decision": "deny", "reason": "no"}), true),
        (a, "PreToolUse", json!({"decision": "ask", "permissionOverrides": ["command(ls)"]}), true),
        (a, "PreToolUse", json!({"decision": "force_ask", "reason": null}), true),
        (a, "PreToolUse", json!({"decision": "no_opinion"}), true),
        (a, "PreToolUse", json!({"decision": ""}), true),
        (a, "PreToolUse", json!({"decision": "allow", "overwrite": {"Cwd": "/"}}), true),
        (a, "PreToolUse", json!({}), false),
        (a, "PreToolUse", json!({"decision": "block"}), false),
        (a, "PreToolUse", json!({"decision": true}), false),
        (a, "PreToolUse", json!({"decision": "allow", "overwrite": "ls"}), false),
        (a, "PreToolUse", json!({"decision": "ask", "permissionOverrides": [1]}), false),
        (a, "PostToolUse", json!({}), true),
        (a, "PreInvocation", json!({}), true),
        (a, "PreInvocation", json!({"injectSteps": [{"userMessage": "x"}]}), true),
        (a, "PreInvocation", json!({"injectSteps": [{"toolCall": call}]}), true),
        (a, "PreInvocation", json!({"injectSteps": [{"systemMessage": "x"}]}), true),
        (a, "PreInvocation", json!({"injectSteps": [{}]}), false),
        (a, "PreInvocation", json!({"injectSteps": "x"}), false),
        (
            a,
            "PreInvocation",
            json!({"injectSteps": [{"userMessage": "x", "systemMessage": "y"}]}),
            false,
        ),
        (a, "PostInvocation", json!({"terminationBehavior": "terminate"}), true),
        (a, "PostInvocation", json!({"injectSteps": [], "terminationBehavior": ""}), true),
        (a, "PostInvocation", json!({"terminationBehavior": "stop"}), false),
        (a, "Stop", json!({"decision": "continue", "reason": "tests fail"}), true),
        (a, "Stop", json!({"decision": "stop"}), true),
        (a, "Stop", json!({"decision": 1}), false),
        (a, "SessionStart", json!({"injectSteps": [{"ephemeralMessage": "x"}]}), true),
        (p, "pre_tool_use", json!({"outcome": "allow"}), true),
        (p, "pre_tool_use", json!({"outcome": "deny", "reason": "no", "stderr": "x"}), true),
        (p, "pre_tool_use", json!({"outcome": "allow", "reason": "fine"}), false),
        (p, "pre_tool_use", json!({"outcome": "ask"}), false),
        (p, "pre_tool_use", json!({"decision": "deny"}), false),
        (p, "pre_user_prompt", json!({"outcome": "accept", "additional_context": "x"}), true),
        (p, "pre_user_prompt", json!({"outcome": "reject", "additional_context": "x"}), false),
        (p, "pre_model_turn", json!({"outcome": "retry", "reason": "again"}), true),
        (p, "stop", json!({"outcome": "continue", "reason": "more"}), true),
        (p, "stop", json!({"outcome": "stop", "reason": "done"}), false),
        (p, "pre_compaction", json!({"outcome": "allow", "prepend_to_prompt": "x"}), true),
        (p, "pre_compaction", json!({"outcome": "suppress", "stdout": "x"}), false),
        (p, "session_start", json!({"outcome": "allow", "additional_context": "x"}), true),
        (p, "session_start", json!({"outcome": "deny"}), false),
        (p, "post_compaction", json!({"outcome": "allow", "append_to_output": "x"}), true),
        (p, "notification", json!({"outcome": "suppress"}), true),
        (p, "notification", json!({"outcome": "suppress", "reason": 1}), false),
        (p, "post_tool_use", json!({"outcome": "acknowledged"}), true),
        (claude, "PreToolUse", json!({}), true),
        (claude, "PreToolUse", pre(json!({"permissionDecision": "deny"})), true),
        (claude, "PreToolUse", pre(json!({"permissionDecision": "ask"})), true),
        (claude, "PreToolUse", pre(json!({"updatedInput": {"command": "ls"}})), true),
        (claude, "PreToolUse", json!({"decision": "block", "reason": "no"}), true),
        (claude, "PreToolUse", json!({"continue": false}), true),
        (claude, "PreToolUse", pre(json!({"permissionDecision": "denied"})), false),
        (claude, "PreToolUse", json!({"decision": "stop"}), false),
        (claude, "PreToolUse", json!({"hookSpecificOutput": []}), false),
        (claude, "PreToolUse", pre(json!({"updatedInput": "ls"})), false),
        (claude, "Stop", json!({"decision": "block", "reason": "more"}), true),
        (claude, "Stop", json!({"decision": "go on"}), false),
        (codex, "PreToolUse", json!({"decision": "block", "reason": "no"}), true),
        (codex, "PreToolUse", pre(json!({"permissionDecision": "ask"})), false),
        (gemini, "BeforeTool", json!({"decision": "deny", "reason": "no"}), true),
        (gemini, "BeforeTool", json!({"decision": "refuse"}), false),
    ]
}

#[test]
fn answers_are_valid_if_they_are_read() {
    for (codec, event, answer, is_one) in answers() {
        let path = format!("{}/answer/{event}.schema.json", folder(codec));
        let found = complaints(&path, &answer);
        assert_eq!(found.is_empty(), is_one, "{path}: {answer}: {found:?}");
        let named = codec.events().iter().find(|it| it.name == event).unwrap();
        let read = codec.decode_answer(named.kinds[0], &Output::json(&answer));
        assert_eq!(read.is_ok(), is_one, "{event}: {answer}: {read:?}");
    }
    for (codec, event) in [(antigravity(), "PreToolUse"), (polytoken(), "pre_tool_use")] {
        let path = format!("{}/answer/{event}.schema.json", folder(codec));
        assert!(!complaints(&path, &json!("allow")).is_empty());
    }
}

#[test]
fn what_is_no_file_is_not_valid() {
    let group = |command: Value| json!({"x": {"PreToolUse": [{"hooks": [command]}]}});
    let good = group(json!({"command": "true", "timeout": 10, "type": "command"}));
    assert!(complaints("antigravity/hooks.schema.json", &good).is_empty());
    let entry = |handler: Value| json!([{"name": "x", "event": "stop", "handler": handler}]);
    let good = entry(json!({"bash": "true"}));
    assert!(complaints("polytoken/hooks.schema.json", &good).is_empty());
    for (path, wrong) in [
        ("antigravity/hooks.schema.json", json!([])),
        ("antigravity/hooks.schema.json", json!({"$schema": "x"})),
        ("antigravity/hooks.schema.json", json!({"x": {"UserPromptSubmit": []}})),
        ("antigravity/hooks.schema.json", json!({"x": {"Stop": [{"hooks": []}]}})),
        ("antigravity/hooks.schema.json", json!({"x": {"PreToolUse": [{"command": "true"}]}})),
        ("antigravity/hooks.schema.json", group(json!({"command": ""}))),
        ("antigravity/hooks.schema.json", group(json!({"command": "true", "timeout": 0}))),
        ("antigravity/hooks.schema.json", group(json!({"command": "true", "type": "http"}))),
        ("polytoken/hooks.schema.json", json!({})),
        ("polytoken/hooks.schema.json", json!(["log-edits"])),
        ("polytoken/hooks.schema.json", entry(json!({"command": "true"}))),
        ("polytoken/hooks.schema.json", entry(json!("true"))),
        ("claude/hooks.schema.json", json!([])),
        ("claude/hooks.schema.json", json!({"hooks": []})),
        ("claude/hooks.schema.json", json!({"hooks": {"PreToolUses": []}})),
        ("claude/hooks.schema.json", json!({"hooks": {"Stop": [{"command": "true"}]}})),
        ("claude/hooks.schema.json", json!({"hooks": {"Stop": [{"hooks": [{"type": "http"}]}]}})),
        (
            "polytoken/hooks.schema.json",
            json!([{"name": "x", "event": "Stop", "handler": {"bash": "true"}}]),
        ),
    ] {
        assert!(!complaints(path, &wrong).is_empty(), "{path}: {wrong}");
    }
}

#[test]
fn settings_are_valid_if_they_are_read() {
    // The same table of settings in both forms.
    for (text, value, is_one) in [
        ("", json!({}), true),
        ("limits.hook = \"20s\"", json!({"limits": {"hook": "20s"}}), true),
        ("limits.drain = 1", json!({"limits": {"drain": 1}}), true),
        ("limits.stdout = \"64KiB\"", json!({"limits": {"stdout": "64KiB"}}), true),
        ("policy.otherwise = \"closed\"", json!({"policy": {"otherwise": "closed"}}), true),
        ("command.environment = [\"A\"]", json!({"command": {"environment": ["A"]}}), true),
        ("command.environment = \"inherit\"", json!({"command": {"environment": "inherit"}}), true),
        ("command.environment = \"all\"", json!({"command": {"environment": "all"}}), false),
        ("limit.hook = \"20s\"", json!({"limit": {"hook": "20s"}}), false),
        ("limits.hooks = \"20s\"", json!({"limits": {"hooks": "20s"}}), false),
        ("limits.hook = \"20 seconds\"", json!({"limits": {"hook": "20 seconds"}}), false),
        ("policy.otherwise = \"shut\"", json!({"policy": {"otherwise": "shut"}}), false),
        ("engine.reask = \"yes\"", json!({"engine": {"reask": "yes"}}), false),
    ] {
        let found = complaints("config.schema.json", &value);
        assert_eq!(found.is_empty(), is_one, "{text}: {found:?}");
        let source = SourceFile::new("config.toml", text).into();
        let loaded = Loaded::from_sources([(Layer::System, source)]);
        assert_eq!(loaded.broken.is_empty(), is_one, "{text}: {:?}", loaded.diagnostics);
    }
}
