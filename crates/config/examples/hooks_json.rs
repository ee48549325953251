//! Loads hook files and fires a tool call at them:
//! `cargo run -q -p tollgate-config --example hooks_json [DIRECTORY [COMMAND]]`
//!
//! Without a directory it makes a project with a guard, and one with a mistake in it.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::{env, fs};

use tollgate_config::diagnostic::{Colours, render};
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::{Setup, survey};
use tollgate_config::trust::Store;
use tollgate_core::prelude::*;

const GUARD: &str = r#"{
  "no-deletes": {
    "PreToolUse": [
      {"matcher": "run_command", "hooks": [{"command": "sh ./guard.sh", "timeout": 5}]}
    ]
  }
}
"#;
const SCRIPT: &str = r#"grep -q 'rm ' && echo '{"decision": "deny", "reason": "Nothing is deleted here."}' ||
echo '{"decision": "no_opinion"}'
"#;
const MISTAKE: &str = r#"{
  "no-deletes": {
    "PreTolUse": [{"matcher": "Bash", "hooks": [{"command": "sh ./guard.sh"}]}],
  }
}
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    if let Some(directory) = arguments.next() {
        let places = Places::of_this_process(Some(fs::canonicalize(directory)?));
        return fire(places, &arguments.next().unwrap_or_else(|| "ls".to_owned())).await;
    }
    let made = tempfile::tempdir()?;
    println!("A guard that nobody has trusted yet:");
    let guarded = project(&made.path().join("guarded"), GUARD)?;
    fire(guarded.clone(), "rm notes.txt").await?;

    println!("\nThe same, trusted:");
    let store = guarded.trust.clone().unwrap_or_default();
    Store::open(store)?.trust(&survey(&guarded)?)?;
    fire(guarded.clone(), "rm notes.txt").await?;
    fire(guarded.clone(), "ls").await?;

    println!("\nIts script was changed since:");
    fs::write(made.path().join("guarded/project/.agents/guard.sh"), "echo '{}'")?;
    fire(guarded, "ls").await?;

    println!("\nA person's own file with mistakes in it:");
    let broken = project(&made.path().join("broken"), GUARD)?;
    let file = broken.antigravity.clone().unwrap_or_default().join("hooks.json");
    fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    fs::write(&file, MISTAKE)?;
    fire(broken, "ls").await
}

/// A project with a hook file, and a home of its own.
fn project(root: &Path, hooks: &str) -> Result<Places, std::io::Error> {
    let folder: PathBuf = root.join("project/.agents");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("hooks.json"), hooks)?;
    fs::write(folder.join("guard.sh"), SCRIPT)?;
    Ok(Places::below(root))
}

/// Loads what is there, says what is wrong with it, and fires.
async fn fire(places: Places, line: &str) -> Result<(), Box<dyn std::error::Error>> {
    let hooks = Hooks::open(Setup::new(places))?;
    for diagnostic in &hooks.in_force().diagnostics {
        println!("{}", render(diagnostic, Colours::None));
    }
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolCall::new("run_command").arg("CommandLine", line);
    let outcome = hooks.runner().dispatch(&operation, ToolPre::from(call)).await;
    println!("$ {line}\n  {} {}", outcome.record.decision, outcome.reason());
    if outcome.record.decision != Word::None {
        println!("  ({})", outcome.record.detail());
    }
    Ok(())
}
