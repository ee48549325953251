//! Calls of Tollgate's own subcommands for people, by their text.

use super::FOR_PEOPLE;
use super::words::candidates;
use crate::trust::words::{Command, HOLE, Hole, Line, Redirect, Word};

pub(super) fn is_tollgate(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or_default().to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    matches!(name, "tollgate" | "tollgate-cli")
}

/// The subcommand for people that a command calls, by its words.
pub(super) fn calls(command: &Command, texts: &[&str]) -> Option<String> {
    let wanted = |text: &str| FOR_PEOPLE.iter().find(|name| text.eq_ignore_ascii_case(name));
    for (index, text) in texts.iter().enumerate() {
        if !is_tollgate(text) {
            continue;
        }
        let rest = texts.get(index + 1..).unwrap_or_default();
        let mut had_option = false;
        for word in rest {
            if let Some(name) = wanted(word) {
                return Some((*name).to_owned());
            }
            // A subcommand that is not known before it runs may be any.
            if word.contains(HOLE) {
                return Some("trust".to_owned());
            }
            let is_option = word.starts_with('-');
            had_option |= is_option;
            // Behind an option may be its value, and the subcommand behind that.
            if !is_option && !had_option {
                break;
            }
        }
        let feeds = |word: &Word| matches!(word.base_name(), "xargs" | "parallel");
        if rest.is_empty() && command.words.iter().any(feeds) {
            return Some("trust".to_owned());
        }
    }
    // `$TOLLGATE trust`, whatever it holds; `$PM install` is something else.
    match texts {
        [program, "trust", ..] if program.contains(HOLE) => Some("trust".to_owned()),
        _ => None,
    }
}

/// The subcommand for people that a text calls, anywhere in it.
pub(super) fn calls_in(normal: &str) -> Option<String> {
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
pub(super) fn calls_in_pieces(normal: &str) -> Option<String> {
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

/// A call of `tollgate trust` by another name that the same line gave it.
pub(super) fn renamed_call(line: &Line) -> Option<String> {
    let says_it = |hole: &Hole| match hole {
        Hole::Output(text) => text.split_whitespace().any(is_tollgate),
        Hole::Variable(_) => false,
    };
    let names_it =
        |word: &Word| candidates(&word.text).any(is_tollgate) || word.holes.iter().any(says_it);
    let is_named = line.commands.iter().any(|command| {
        let renames = ["alias", "ln", "cp", "mv", "install", "hash", "dd", "rsync"];
        let (_, words) = command.parts();
        let is_kept = command.words.iter().any(|word| word.redirect == Some(Redirect::Out));
        let copies = |name: &str| renames.contains(&name) || (is_kept && name == "cat");
        words.first().is_none_or(|program| copies(program.base_name()))
            && command.words.iter().any(names_it)
    });
    let calls = |command: &Command| {
        let (_, words) = command.parts();
        let first = words.get(1).map(|word| word.text.to_lowercase())?;
        FOR_PEOPLE.contains(&first.as_str()).then_some(first)
    };
    if is_named { line.commands.iter().find_map(calls) } else { None }
}
