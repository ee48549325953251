//! Task runners other than make.

use super::super::files::Opened;
use super::super::walk::Walker;
use super::super::{Command, Input};
use super::{line, open};
use crate::value::Value;

/// Recipes of a `justfile`.
pub(super) fn just(walker: &mut Walker, words: &[&str]) {
    let run = ["justfile", "Justfile", ".justfile"].iter().find_map(|name| walker.run_file(name));
    let Some(run) = run else { return };
    let Some(text) = run.content.known().map(str::to_owned) else { return };
    let wanted: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let mut current = String::new();
    let mut first = None;
    let mut body = Vec::new();
    for text in text.lines() {
        if text.starts_with([' ', '\t']) {
            let command = text.trim().trim_start_matches(['@', '-']);
            body.push((current.clone(), open(command, "{{", "}}")));
        } else if let Some((head, _)) =
            text.split_once(':').filter(|(_, rest)| !rest.starts_with('='))
        {
            let name = head.trim_start_matches('@').split_whitespace().next().unwrap_or_default();
            name.clone_into(&mut current);
            first.get_or_insert_with(|| name.to_owned());
        }
    }
    let default = first.unwrap_or_default();
    let is_wanted =
        |name: &str| if wanted.is_empty() { name == default } else { wanted.contains(&name) };
    for (_, command) in body.iter().filter(|(name, _)| is_wanted(name)).take(64) {
        line(walker, &run, command);
    }
}

/// Commands of a `Taskfile.yml`.
pub(super) fn taskfile(walker: &mut Walker, words: &[&str]) {
    let names = ["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"];
    let Some(run) = names.iter().find_map(|name| walker.run_file(name)) else { return };
    let Some(text) = run.content.known().map(str::to_owned) else { return };
    let wanted: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let (mut in_tasks, mut task) = (false, String::new());
    let mut commands = Vec::new();
    for text in text.lines() {
        let indent = text.len() - text.trim_start().len();
        let bare = text.trim();
        if indent == 0 && !bare.is_empty() {
            in_tasks = bare == "tasks:";
        } else if in_tasks && indent <= 2 && bare.ends_with(':') {
            bare.trim_end_matches(':').trim_matches('"').clone_into(&mut task);
        } else if in_tasks
            && (wanted.is_empty() && task == "default" || wanted.contains(&task.as_str()))
        {
            let item = bare.strip_prefix("- ").unwrap_or(bare);
            let command =
                item.strip_prefix("cmd:").or_else(|| item.strip_prefix("cmds:")).unwrap_or(item);
            let is_command = bare.starts_with("- ") || item.starts_with("cmd:");
            if is_command && !item.starts_with("task:") {
                let command = command.trim().trim_matches(['"', '\'']);
                commands.push(open(command, "{{", "}}"));
            }
        }
    }
    for command in commands.iter().take(64) {
        line(walker, &run, command);
    }
}

/// Commands of a `tox.ini`.
pub(super) fn tox(walker: &mut Walker) {
    let Some(run) = walker.run_file("tox.ini") else { return };
    let Some(text) = run.content.known().map(str::to_owned) else { return };
    let mut in_commands = false;
    for text in text.lines().take(1024) {
        let is_more = text.starts_with([' ', '\t']);
        if !is_more {
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            in_commands = key.trim().starts_with("commands");
            if in_commands && !value.trim().is_empty() {
                line(walker, &run, &open(value.trim(), "{", "}"));
            }
        } else if in_commands {
            line(walker, &run, &open(text.trim().trim_start_matches("- "), "{", "}"));
        }
    }
}

/// Directories of this machine that a `compose.yaml` gives to its services.
pub(super) fn compose(walker: &mut Walker, name: &str, words: &[&str]) {
    let is_compose = name != "docker" || words.first() == Some(&"compose");
    let starts = words
        .iter()
        .any(|word| matches!(*word, "up" | "run" | "start" | "create" | "exec" | "restart"));
    if !is_compose || !starts {
        return;
    }
    let names = ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];
    let Some(run) = names.iter().find_map(|name| walker.run_file(name)) else { return };
    let Some(text) = run.content.known().map(str::to_owned) else { return };
    for text in text.lines() {
        let Some(item) = text.trim().strip_prefix("- ") else { continue };
        let item = item.trim().trim_matches(['"', '\'']);
        if item.starts_with(['/', '~', '.']) && item.contains(':') {
            mount(walker, &run, item);
        }
    }
}

fn mount(walker: &mut Walker, run: &Opened, volume: &str) {
    let argv = ["docker", "run", "-v", volume, "compose"].map(Value::text).to_vec();
    walker.within(run.script.clone(), |walker| {
        walker.emit(Command { argv, input: Input::Inherited, ..Command::default() });
        Value::default()
    });
}
