//! Searching and editing.

use crate::effects::Kind;
use crate::effects::arg::Arg;
use crate::effects::row::{A, INPLACE, PATTERN, TREE};
use crate::effects::run::Call;

/// The operands without the one that is a pattern, or a program.
fn files<'a>(call: &mut Call<'a, '_>) -> Vec<Arg<'a>> {
    let mut operands = std::mem::take(&mut call.operands);
    if !call.has(PATTERN) && !operands.is_empty() {
        operands.remove(0);
    }
    operands
}

pub(crate) fn awk(call: &mut Call<'_, '_>) {
    let in_place = call.values_of(A).iter().any(|library| library.is("inplace"));
    for file in files(call) {
        // `name=value` sets a variable.
        let name = file.prefix().split_once('=').map(|(name, _)| name);
        let sets = name.is_some_and(|name| {
            !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        });
        if !sets {
            call.path(Kind::Read, file, false);
            if in_place {
                call.path(Kind::Write, file, false);
            }
        }
    }
}

pub(crate) fn grep(call: &mut Call<'_, '_>) {
    let tree = call.has(TREE);
    let files = files(call);
    if files.is_empty() && tree {
        call.path_text(Kind::Read, ".", true);
    }
    for file in files {
        call.path(Kind::Read, file, tree);
    }
}

pub(crate) fn ripgrep(call: &mut Call<'_, '_>) {
    let files = files(call);
    if files.is_empty() && call.command.input == crate::resolve::Input::Inherited {
        call.path_text(Kind::Read, ".", true);
    }
    for file in files {
        call.path(Kind::Read, file, true);
    }
}

pub(crate) fn jq(call: &mut Call<'_, '_>) {
    // `--args` makes the rest values, `--arg name value` has two.
    if call.has(A) {
        return;
    }
    for file in files(call) {
        if file.prefix().contains(['.', '/']) || file.known().is_none() {
            call.path(Kind::Read, file, false);
        }
    }
}

pub(crate) fn yq(call: &mut Call<'_, '_>) {
    let in_place = call.has(INPLACE);
    let mut operands = std::mem::take(&mut call.operands);
    if operands
        .first()
        .is_some_and(|first| matches!(first.prefix(), "eval" | "e" | "eval-all" | "ea"))
    {
        operands.remove(0);
    }
    if !call.has(PATTERN) && operands.len() > 1 {
        operands.remove(0);
    }
    for file in operands {
        call.path(Kind::Read, file, false);
        if in_place {
            call.path(Kind::Write, file, false);
        }
    }
}

/// An editor may write what it opens, and its commands may write and run other things.
pub(crate) fn editor(call: &mut Call<'_, '_>) {
    for file in std::mem::take(&mut call.operands) {
        if let Some(command) = file.prefix().strip_prefix('+') {
            editor_command(call, command);
            continue;
        }
        call.path(Kind::Read, file, false);
        call.path(Kind::Write, file, false);
    }
    for commands in call.values_of(A) {
        for command in commands.text().split('|') {
            editor_command(call, command);
        }
    }
    if let crate::resolve::Input::Text(text) = &call.command.input {
        for line in text.to_string().lines() {
            editor_command(call, line);
        }
    }
}

fn editor_command(call: &mut Call<'_, '_>, command: &str) {
    let command = command.trim().trim_start_matches([':', '%']);
    if let Some(code) = command.strip_prefix('!') {
        call.program(code.split_whitespace().next().unwrap_or("sh"));
        return;
    }
    let Some((verb, rest)) = command.split_once(char::is_whitespace) else { return };
    let file = rest.trim();
    match verb {
        "w" | "w!" | "write" | "write!" | "wq" | "saveas" | "sav" | "W" if !file.is_empty() => {
            if let Some(code) = file.strip_prefix('!') {
                call.program(code.split_whitespace().next().unwrap_or("sh"));
            } else {
                call.path_text(Kind::Write, file, false);
            }
        }
        "e" | "r" | "edit" | "read" if !file.is_empty() && !file.starts_with('!') => {
            call.path_text(Kind::Read, file, false);
        }
        _ => {}
    }
}
