//! What calls of an agent's tools do.

use tollgate_core::event::ToolCall;
use tollgate_core::tools::{self, Access};

use super::of::on_path;
use super::run::host_of;
use super::{Effect, Effects, Kind, Target};
use crate::resolve::{Surroundings, Unknown, Why};

/// What a call of a tool does. Relative paths are relative to the first workspace.
pub fn of_call(call: &ToolCall, workspaces: &[String]) -> Effects {
    let directory = workspaces.first().map(|path| super::location::from_text(path));
    let mut effects = Effects::default();
    let tool = if call.server.as_deref().is_none_or(str::is_empty) {
        tools::lookup(&call.name)
    } else {
        None
    };
    let Some(tool) = tool else { return super::shape::effects_of(call, workspaces) };
    if tool.name == "manage_task" {
        typed(call, &mut effects);
        return effects;
    }
    if tool.access == Access::Execute {
        run(call, workspaces, &mut effects);
        return effects;
    }
    let tree = matches!(tool.name, "grep_search" | "find_by_name");
    let mut kind = match tool.access {
        Access::Write => Kind::Write,
        _ => Kind::Read,
    };
    // Writing a file anew is no deletion, whatever it was before.
    if tool.access == Access::Control {
        kind = Kind::Read;
    }
    if let Ok(touched) = tools::paths(call) {
        for path in touched {
            let mut effect = on_path(kind, &path.path, directory.as_ref(), tool.name);
            effect.tree = tree;
            if !effects.list.contains(&effect) {
                effects.list.push(effect);
            }
        }
    } else {
        // Which path it is cannot be told, so it may be any.
        let mut effect = on_path(kind, "", None, tool.name);
        effect.target = Target::Path(super::Location { text: "$?".to_owned(), exact: false });
        effect.tree = tree;
        effects.list.push(effect);
    }
    if tool.access == Access::Network {
        let url = call.args.get("Url").and_then(|url| url.as_str());
        let host = url.map_or("$?", host_of);
        effects.list.push(plain(Kind::Network, Target::Host(host.to_owned()), tool.name));
    }
    effects
}

fn run(call: &ToolCall, workspaces: &[String], effects: &mut Effects) {
    let text = call.args.get("CommandLine").and_then(|text| text.as_str());
    let Some(text) = text else {
        effects.unknowns.push(Unknown { why: Why::Code, text: call.name.clone() });
        return;
    };
    let directory =
        call.args.get("Cwd").and_then(|path| path.as_str()).filter(|path| !path.is_empty());
    let directory = match (directory, workspaces.first()) {
        (Some(path), Some(workspace)) if !path.starts_with(['/', '~']) => {
            Some(format!("{workspace}/{path}"))
        }
        (Some(path), _) => Some(path.to_owned()),
        (None, workspace) => workspace.cloned(),
    };
    let analysis = crate::analyze(text, &Surroundings { directory });
    *effects = super::of_analysis(&analysis);
}

/// What is typed into a command in the background. If that is a shell, this is a command line; if it is another
/// interpreter, this is code of a language that only the host knows.
fn typed(call: &ToolCall, effects: &mut Effects) {
    let action = call.args.get("Action").and_then(|action| action.as_str());
    if matches!(action, Some("list" | "status" | "output" | "wait" | "kill")) {
        return;
    }
    let Some(input) = call.args.get("Input").filter(|input| !input.is_null()) else { return };
    let text = input.as_str().map_or_else(|| input.to_string(), ToOwned::to_owned);
    let text = text.replace(['\r', '\u{4}'], "\n");
    // Where it would run was decided by what was typed before.
    *effects = super::of_analysis(&crate::analyze(&text, &Surroundings { directory: None }));
    if !is_answer(&text) {
        let text = text.trim().chars().take(120).collect();
        effects.unknowns.push(Unknown { why: Why::Code, text });
    }
}

/// Whether a text is a word and the end of a line, as programs ask for it: `y`, `3`, `my-project`. Without the end of the
/// line, more may follow.
fn is_answer(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.strip_suffix('\n').is_some_and(|word| word.trim_end_matches('\n').chars().all(is_plain))
}

fn plain(kind: Kind, target: Target, by: &str) -> Effect {
    Effect::new(kind, target, by)
}
