//! Hook files of one system as those of another: what carries over, what is said of the rest, and that
//! what comes out loads.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_config::convert::{Behind, Converted, convert};
use tollgate_config::diagnostic::{Diagnostic, Report};
use tollgate_config::dialect::{self, FileDialect};
use tollgate_config::source::SourceFile;
use tollgate_core::Dialect;
use tollgate_core::dialect::Layer;

fn of(dialect: Dialect) -> &'static dyn FileDialect {
    dialect::of(dialect).unwrap()
}

/// Without what closes it, which is the agent's that it is installed into.
fn plain(call: Behind<'_>) -> String {
    call.plain()
}

fn converted(from: Dialect, to: Dialect, file: &Value) -> (Value, Vec<String>) {
    let source = Arc::new(SourceFile::new("hooks.json", file.to_string()));
    let Converted { text, lost, .. } = convert(of(from), of(to), &source, &plain).unwrap();
    // What comes out is a file of that system without anything to be said of it.
    let mut report = Report::new(Arc::new(SourceFile::new("out.json", text.as_str())));
    let parsed = of(to).parse(&mut report, Layer::User);
    let said: Vec<_> = report.into_diagnostics().iter().map(Diagnostic::line).collect();
    assert!(parsed.is_some() && said.is_empty(), "{text}: {said:?}");
    (serde_json::from_str(&text).unwrap(), lost.into_iter().map(|lost| lost.what).collect())
}

fn claude() -> Value {
    json!({"hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh", "timeout": 5}]},
            {"matcher": "Edit|Write|mcp__git__push", "hooks": [{"type": "command", "command": "python3 'a b.py'"}]},
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "./done.sh"}]}],
    }})
}

#[test]
fn of_one_agent_for_another() {
    let (file, lost) = converted(Dialect::Claude, Dialect::Gemini, &claude());
    assert_eq!(lost, Vec::<String>::new());
    let run = |event: &str, seconds: u64, command: &str| {
        format!(
            "tollgate translate claude gemini --event {event} --deadline {seconds} -- {command}"
        )
    };
    let expected = json!({"hooks": {
        "BeforeTool": [
            {"matcher": "^(run_shell_command)$", "hooks": [{
                "type": "command", "name": "PreToolUse #1", "timeout": 10_000,
                "command": run("BeforeTool", 5, "./guard.sh"),
            }]},
            {"matcher": "^(write_file|replace|mcp_git_push)$", "hooks": [{
                "type": "command", "name": "PreToolUse #2", "timeout": 605_000,
                "command": run("BeforeTool", 600, r"'python3 '\''a b.py'\'''"),
            }]},
        ],
        "AfterAgent": [{"hooks": [{
            "type": "command", "name": "Stop #1", "timeout": 605_000,
            "command": run("AfterAgent", 600, "./done.sh"),
        }]}],
    }});
    assert_eq!(file, expected);
    let (file, _) = converted(Dialect::Claude, Dialect::Codex, &claude());
    let groups = &file["hooks"]["PreToolUse"];
    assert_eq!(groups[0]["matcher"], "Bash");
    assert_eq!(groups[1]["matcher"], "apply_patch|mcp__git__push");
}

#[test]
fn for_antigravity_and_polytoken() {
    let (file, lost) = converted(Dialect::Claude, Dialect::HooksJson, &claude());
    assert_eq!(lost, Vec::<String>::new());
    assert_eq!(file["PreToolUse-1"]["PreToolUse"][0]["matcher"], "run_command");
    assert_eq!(
        file["PreToolUse-1"]["PreToolUse"][0]["hooks"][0],
        json!({
            "command": "tollgate translate claude hooks-json --event PreToolUse --directory .. --deadline 5 -- ./guard.sh",
            "timeout": 10,
        })
    );
    let (file, lost) = converted(Dialect::Claude, Dialect::Polytoken, &claude());
    assert_eq!(lost, ["the time-out of `PreToolUse #1`: polytoken has one for all"]);
    assert!(file[0]["handler"]["bash"].as_str().unwrap().contains(" --deadline 5 -- "));
    assert_eq!(file[0]["matcher"], "shell_exec");
    assert_eq!(file[0]["event"], "pre_tool_use");
}

#[test]
fn of_antigravity_and_polytoken() {
    let antigravity = json!({"gate": {
        "PreToolUse": [{"matcher": "run_command|docs/.*", "hooks": [{"command": "./guard.sh"}]}],
        "PostInvocation": [{"command": "./after.sh"}],
    }});
    let (file, lost) = converted(Dialect::HooksJson, Dialect::Claude, &antigravity);
    assert_eq!(lost, ["`gate`: claude has no event for invocation.end (PostInvocation)"]);
    assert_eq!(
        file,
        json!({"hooks": {"PreToolUse": [{"matcher": "^(Bash|mcp__docs__.*)$", "hooks": [{
            "type": "command", "onFailure": "block", "timeout": 35,
            "command": "tollgate translate hooks-json claude --event PreToolUse --directory .agents --deadline 30 -- ./guard.sh",
        }]}]}})
    );
    let polytoken = json!([
        {"name": "gate", "event": "pre_tool_use", "matcher": "shell_exec", "handler": {"bash": "./guard.sh"}},
        {"name": "facets", "event": "facet_switch", "handler": {"bash": "./note.sh"}},
    ]);
    let (file, lost) = converted(Dialect::Polytoken, Dialect::Gemini, &polytoken);
    assert_eq!(lost, ["`facets`: gemini has no event for facet.switch (facet_switch)"]);
    assert_eq!(file["hooks"]["BeforeTool"][0]["matcher"], "^(run_shell_command)$");
}

#[test]
fn what_is_lost_is_said() {
    let file = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "./a.sh", "if": "Bash(rm *)", "async": true},
        ]}],
        "PostToolUseFailure": [{"hooks": [{"type": "command", "command": "./b.sh"}]}],
        "Notification": [{"matcher": "idle", "hooks": [{"type": "command", "command": "./c.sh"}]}],
    }});
    let (_, lost) = converted(Dialect::Claude, Dialect::Gemini, &file);
    assert_eq!(
        lost,
        [
            "`PreToolUse #1` is not waited for: gemini waits for it",
            "the condition `Bash(rm *)` of `PreToolUse #1`: it runs for all that its matcher means",
        ]
    );
    let (_, lost) = converted(Dialect::Claude, Dialect::Codex, &file);
    assert_eq!(lost.len(), 3, "{lost:?}");
    let broken = Arc::new(SourceFile::new("x.json", "{\"hooks\": {\"Nothing\": []}}"));
    let said = convert(of(Dialect::Claude), of(Dialect::Codex), &broken, &plain).unwrap_err();
    assert_eq!(said[0].code.id(), "TG023");
}

#[test]
fn a_call_tells_whether_it_is_at_a_gate() {
    let source = Arc::new(SourceFile::new("hooks.json", claude().to_string()));
    let line = |call: Behind<'_>| format!("{} {} {}", call.event, call.gate, call.to.dialect());
    for (to, gate, stop) in [
        (Dialect::Codex, "PreToolUse true codex", "Stop false codex"),
        (Dialect::Gemini, "BeforeTool true gemini", "AfterAgent false gemini"),
        (Dialect::HooksJson, "PreToolUse true hooks-json", "Stop false hooks-json"),
        (Dialect::Polytoken, "pre_tool_use true polytoken", "stop true polytoken"),
    ] {
        let Converted { text, .. } = convert(of(Dialect::Claude), of(to), &source, &line).unwrap();
        assert!(text.contains(gate) && text.contains(stop), "{text}");
    }
}

#[test]
fn what_only_its_own_agent_runs_is_lost_and_the_rest_stays() {
    for kind in ["prompt", "http", "agent"] {
        let file = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": kind, "prompt": "is it safe?", "url": "http://localhost"},
            {"type": "command", "command": "./guard.sh"},
        ]}]}});
        let (file, lost) = converted(Dialect::Claude, Dialect::Codex, &file);
        assert_eq!(lost.iter().filter(|lost| lost.contains(&format!("`{kind}`"))).count(), 1);
        let hooks = &file["hooks"]["PreToolUse"];
        assert!(hooks[0]["hooks"][0]["command"].as_str().unwrap().ends_with(" ./guard.sh"));
    }
}

#[test]
fn servers_go_by_the_names_that_the_other_agent_has_for_them() {
    let cases = [
        ("mcp__.*", Dialect::Codex, Some("^(mcp__.*)$")),
        ("mcp__git__.*|mcp__.*__write", Dialect::Codex, Some("^(mcp__git__.*|mcp__.*__write.*)$")),
        ("^mcp__.*__write$", Dialect::Codex, Some("^(mcp__.*__write)$")),
        ("mcp__.*", Dialect::Gemini, Some("^(mcp_.*)$")),
        ("mcp__.*__write", Dialect::Gemini, None),
    ];
    for (matcher, to, wanted) in cases {
        let file = json!({"hooks": {"PreToolUse": [
            {"matcher": matcher, "hooks": [{"type": "command", "command": "./guard.sh"}]},
        ]}});
        let (file, lost) = converted(Dialect::Claude, to, &file);
        let event = if to == Dialect::Gemini { "BeforeTool" } else { "PreToolUse" };
        let found = file["hooks"][event][0]["matcher"].as_str().map(str::to_owned);
        assert_eq!(found.as_deref(), wanted, "{matcher}: {lost:?}");
        assert_eq!(lost.is_empty(), wanted.is_some(), "{matcher}: {lost:?}");
    }
}

#[test]
fn a_file_for_its_own_agent_stays_as_it_is() {
    let events = [
        (Dialect::Claude, "Setup"),
        (Dialect::Codex, "PermissionRequest"),
        (Dialect::Gemini, "BeforeToolSelection"),
    ];
    for (dialect, event) in events {
        let hook = json!({"type": "command", "command": "./a.sh"});
        let own = json!({"type": "prompt", "prompt": "safe?"});
        let file =
            json!({"hooks": {event: [{"matcher": "x.*", "hooks": [hook, own]}]}, "other": 1});
        let source = Arc::new(SourceFile::new("hooks.json", format!("{file:#}")));
        let same = convert(of(dialect), of(dialect), &source, &plain).unwrap();
        assert_eq!((same.text.as_str(), same.lost.len()), (source.text(), 0), "{dialect}");
    }
}
