//! What guards say: one of each of their sentences, in `cases/guards/sentences.jsonl`.
//!
//! `UPDATE=1` writes down what is said now; read it before it is committed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tollgate_core::event::ToolCall;
use tollgate_shell::effects::of_call;
use tollgate_shell::risk::{Situation, risks};

const HERE: &str = "/home/dev/project";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Case {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
    #[serde(default)]
    level: String,
    #[serde(default)]
    reason: String,
}

fn said(case: &Case) -> (String, String) {
    let mut call = ToolCall::new(case.tool.as_deref().unwrap_or("run_command"));
    call.server.clone_from(&case.server);
    call.args.clone_from(&case.args);
    if let Some(command) = &case.command {
        call = call.arg("CommandLine", command.as_str()).arg("Cwd", HERE);
    }
    let workspaces = [HERE.to_owned()];
    let homes = ["/home/dev".to_owned()];
    let situation = Situation {
        homes: &homes,
        workspaces: &workspaces,
        directory: Some(HERE),
        text: case.command.as_deref().unwrap_or_default(),
    };
    let found = risks(&of_call(&call, &workspaces), &situation);
    found.first().map_or_else(
        || ("pass".to_owned(), String::new()),
        |risk| (risk.level.name().to_owned(), risk.sentence.clone()),
    )
}

#[test]
fn a_stop_explains_itself() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/guards/sentences.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases: Vec<Case> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &mut cases {
        let (level, reason) = said(case);
        if (&level, &reason) != (&case.level, &case.reason) {
            wrong.push(format!(
                "{:?}\n  says {level}: {reason}\n  not  {}: {}",
                case.command, case.level, case.reason
            ));
            (case.level, case.reason) = (level, reason);
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        let lines = cases.iter().map(|case| serde_json::to_string(case).unwrap() + "\n");
        std::fs::write(path, lines.collect::<String>()).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn sentences_are_short_and_whole() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/guards/sentences.jsonl");
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        assert!(case.reason.len() < 260, "{}", case.reason);
        assert!(
            case.reason.ends_with(['.', '?', '`']) && !case.reason.contains("$?"),
            "{}",
            case.reason
        );
        assert!(case.level != "pass", "{line}");
    }
}
