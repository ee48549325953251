//! Finds calls of Tollgate's subcommands for people.

use tollgate_shell::Command;
use tollgate_shell::resolve::{Access, Input};

use super::FOR_PEOPLE;
use super::command_line::{pattern, texts};
use super::kept::Kept;
use super::mention::normal;
use super::places::{Stars, is_hole, letters, matches_part};
use super::program::{self, for_people};
use super::programs::LANGUAGES;
use super::readers::{is_message, is_plain, passes_on};
use crate::trust::words::HOLE;

/// Returns the subcommand for people that one of these commands calls or may call.
pub(super) fn called(kept: &Kept<'_>, commands: &[Command]) -> Option<String> {
    let called = |command: &Command| {
        by_name(command)
            .or_else(|| program::called(kept, command))
            .or_else(|| said(command))
            .or_else(|| fed(command))
    };
    commands
        .iter()
        .find_map(called)
        .or_else(|| renamed(kept, commands))
        .or_else(|| written(commands))
}

fn is_tollgate(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default().to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    matches!(name, "tollgate" | "tollgate-cli")
}

/// Finds a call by the name of the program, which may be a pattern.
fn by_name(command: &Command) -> Option<String> {
    let words = texts(command);
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or_default().to_lowercase();
    let is_pattern = program.contains(HOLE) || name.contains(['*', '?', '[']);
    // A program in an unknown directory may be a copy under any name.
    let is_found = program.contains(HOLE) && !name.contains(HOLE);
    let may_be = is_hole(&name) || is_found || matches_part(&name, "tollgate", Stars::Search);
    if if is_pattern { !may_be } else { !is_tollgate(&name) } {
        return None;
    }
    let is_certain = if is_found { is_tollgate(&name) } else { !is_pattern || letters(&name) > 2 };
    let mut had_option = false;
    for argument in arguments {
        // `$X install` is another program more often than not; only Tollgate has `trust`.
        let subcommand = for_people(argument);
        if let Some(name) = subcommand.filter(|_| is_certain || argument == "trust") {
            return Some(name.to_owned());
        }
        let is_option = argument.starts_with('-');
        had_option |= is_option;
        // An option may have a value, and the subcommand follows.
        if !is_option && !had_option {
            break;
        }
    }
    None
}

/// Finds a call in the arguments of another program, which may run it: a pager, an editor, an alias.
fn said(command: &Command) -> Option<String> {
    let words = texts(command);
    if is_plain(&words, &command.variables) || is_message(&words) {
        return None;
    }
    let values = command.variables.iter().map(|(_, value)| pattern(value));
    let said: Vec<String> = words.iter().cloned().chain(values).collect();
    called_in_text(&words, &said.join(" "))
}

/// Finds a call in the input of a program that may run it.
fn fed(command: &Command) -> Option<String> {
    let Input::Text(text) = &command.input else { return None };
    let words = texts(command);
    let name = words.first()?.rsplit('/').next().unwrap_or_default();
    if passes_on(name) { None } else { called_in_text(&words, &pattern(text)) }
}

fn called_in_text(words: &[String], text: &str) -> Option<String> {
    let name = words.first()?.rsplit('/').next().unwrap_or_default();
    let text = normal(text);
    let by_name = if text.contains("tollgate") { calls_in(&text) } else { None };
    let is_language = LANGUAGES.contains(&name);
    by_name.or_else(|| {
        if is_language && text.contains("gate") { calls_in_pieces(&text) } else { None }
    })
}

/// Finds a call of a program that another command of the line has copied or renamed.
fn renamed(kept: &Kept<'_>, commands: &[Command]) -> Option<String> {
    let copies = |command: &Command| {
        let words = texts(command);
        let name = words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
        let is_kept = command.redirections.iter().any(|it| it.access != Access::Read);
        let renames = ["alias", "ln", "cp", "mv", "install", "hash", "dd", "rsync"];
        let is_copier =
            renames.contains(&name) || (is_kept && matches!(name, "cat" | "head" | "tail"));
        let names_it = |word: &str| {
            let word = word.rsplit('=').next().unwrap_or(word);
            is_tollgate(word) || (word.contains('/') && program::is_own(kept, command, word))
        };
        is_copier && words.iter().skip(1).any(|word| names_it(word))
    };
    let calls = |command: &Command| {
        let words = texts(command);
        let name = words.first()?.rsplit('/').next().unwrap_or_default();
        let is_other = tollgate_shell::effects::is_known(name) || is_tollgate(name);
        words.get(1).and_then(|word| for_people(word)).filter(|_| !is_other)
    };
    let called = commands.iter().find_map(calls)?;
    commands.iter().any(copies).then(|| called.to_owned())
}

/// Finds a call in a text that one command writes to a file and another command uses.
fn written(commands: &[Command]) -> Option<String> {
    commands.iter().enumerate().find_map(|(at, command)| {
        let targets = command.redirections.iter().filter(|it| it.access != Access::Read);
        let targets: Vec<String> = targets.map(|it| pattern(&it.target)).collect();
        let text = normal(&texts(command).join(" "));
        if targets.is_empty() || !text.contains("tollgate") {
            return None;
        }
        let later = commands.iter().skip(at + 1);
        let is_used = later
            .filter(|later| !is_plain(&texts(later), &later.variables))
            .any(|later| texts(later).iter().any(|word| targets.contains(word)));
        if is_used { calls_in(&text) } else { None }
    })
}

/// Returns the subcommand for people that a text calls, anywhere in it.
fn calls_in(normal: &str) -> Option<String> {
    let mut rest = normal;
    while let Some(at) = rest.find("tollgate") {
        let (before, after) = rest.split_at(at);
        rest = after.get("tollgate".len()..).unwrap_or_default();
        let after =
            ["-cli", ".exe"].iter().fold(rest, |rest, e| rest.strip_prefix(e).unwrap_or(rest));
        // `\n` before it and `-S` are letters here; `my_tollgate` is another name.
        if before.ends_with(['_', '.']) {
            continue;
        }
        if let Some(name) = subcommand_at(after) {
            return Some(name.to_owned());
        }
    }
    None
}

/// The subcommand that a text begins with, behind options and what separates words in any language.
fn subcommand_at(after: &str) -> Option<&'static str> {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '=');
    if after.starts_with(is_of_word) {
        return None;
    }
    // Another command begins there.
    let own = after.split([';', '|', '&']).next().unwrap_or_default();
    let words = own.split(|c: char| !is_of_word(c)).filter(|word| !word.is_empty());
    let mut had_option = false;
    for word in words.take(6) {
        // The letter of a `\n` may stand behind it.
        let is_it = |name: &&&str| word.starts_with(**name) && word.len() <= name.len() + 1;
        if let Some(name) = FOR_PEOPLE.iter().find(is_it) {
            return Some(name);
        }
        let is_option = word.starts_with('-');
        if !is_option && !had_option {
            return None;
        }
        had_option = is_option;
    }
    None
}

/// The subcommand that a program in some language calls, where it puts the words together from
/// pieces.
fn calls_in_pieces(normal: &str) -> Option<String> {
    let is_between = |c: char| c.is_whitespace() || ",()[]".contains(c);
    let close: String = normal.chars().filter(|c| !is_between(*c)).collect();
    let called = |name: &&&str| close.contains(&format!("tollgate{name}"));
    let close = FOR_PEOPLE.iter().find(called).copied();
    // `Command("tollgate", {args: ["trust"]})`
    let near = || {
        let (_, after) = normal.split_once("tollgate")?;
        let own = after.split([';', '|', '&']).next().unwrap_or_default();
        let mut words = own.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let wanted = |word: &str| FOR_PEOPLE.iter().find(|name| **name == word).copied();
        words.by_ref().take(4).find_map(wanted)
    };
    close.or_else(near).map(str::to_owned)
}
