//! The corpora of shell commands, put to the starter guards.

// Part of a program and of a test, neither of which anybody uses as a library.
#![allow(unreachable_pub)]

use std::fs;
use std::path::Path;

use serde_json::Value;
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::{Setup, survey};
use tollgate_config::trust::Store;
use tollgate_core::prelude::*;
use tollgate_starlark::{Starlark, guards};

/// How the guard did.
#[derive(Debug, Default)]
pub struct Score {
    /// How many destructive commands there are.
    pub destructive: usize,
    /// Those that passed.
    pub missed: Vec<String>,
    /// How many harmless commands there are.
    pub harmless: usize,
    /// Those that were blocked or put to a person, and what was said.
    pub stopped: Vec<(String, String)>,
    /// Destructive ones that were blocked.
    pub blocked: usize,
    /// Destructive ones that were put to a person.
    pub asked: usize,
}

/// Puts all commands to the starter guards, in a project that has no other hook.
pub fn score() -> Result<Score, Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let project = home.path().join("project");
    let hooks = project.join(".tollgate/hooks");
    fs::create_dir_all(&hooks)?;
    for guard in guards::STARTER.iter().filter_map(|name| guards::named(name)) {
        fs::write(hooks.join(guard.file_name()), guard.text)?;
    }
    let places = Places { project: Some(project), ..Places::below(home.path()) };
    Store::open(places.trust.clone().unwrap_or_default())?.trust(&survey(&places)?)?;
    let hooks = Hooks::open(Setup::new(places).scripts(Starlark::in_process()))?;
    if let Some(problem) = hooks.in_force().diagnostics.first() {
        return Err(format!("{problem:?}").into());
    }

    let mut score = Score::default();
    for command in commands("destructive")? {
        score.destructive += 1;
        match verdict(&hooks, &command) {
            (Word::None, _) => score.missed.push(command),
            (Word::Ask | Word::ForceAsk, _) => score.asked += 1,
            _ => score.blocked += 1,
        }
    }
    for command in commands("harmless")? {
        score.harmless += 1;
        match verdict(&hooks, &command) {
            (Word::None, _) => {}
            (_, why) => score.stopped.push((command, why)),
        }
    }
    Ok(score)
}

fn commands(name: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/shell");
    let text = fs::read_to_string(folder.join(format!("{name}.jsonl")))?;
    let command = |line: &str| -> Result<String, Box<dyn std::error::Error>> {
        let row: Value = serde_json::from_str(line)?;
        Ok(row.get("command").and_then(Value::as_str).ok_or("a row has no command")?.to_owned())
    };
    text.lines().map(command).collect()
}

fn verdict(hooks: &Hooks, command: &str) -> (Word, String) {
    const WORKSPACE: &str = "/home/dev/project";
    let workspaces = vec![WORKSPACE.to_owned()];
    let session = SessionContext::new(SessionInfo { workspaces, ..SessionInfo::default() });
    let call = ToolCall::new("run_command").arg("CommandLine", command).arg("Cwd", WORKSPACE);
    let operation = session.turn().operation();
    let dispatched = hooks.runner().dispatch(&operation, ToolPre::from(call));
    let outcome = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(dispatched),
        Err(error) => return (Word::None, error.to_string()),
    };
    let why = outcome.reason().to_owned();
    (outcome.record.decision.clone(), why)
}
