//! What a line has other programs do, by its words alone.

use super::mention::normal;
use super::own::{calls_in, calls_in_pieces, renamed_call};
use super::programs::{
    AGENTS, EDITORS, FED, LANGUAGES, MESSAGES, REMOVERS, SWITCHES, UNPACKERS, WRITERS,
};
use crate::trust::words::{Command, HOLE, Line, Redirect, Word};

/// Whether a command's words are a message to people.
pub(super) fn is_message(command: &Command) -> bool {
    let (assignments, words) = command.parts();
    let mut words = words.iter().map(|word| word.text.as_str()).peekable();
    if !assignments.is_empty() {
        return false;
    }
    match words.next() {
        Some("git") => {
            while let Some(option) = words.next_if(|word| matches!(*word, "-C" | "-c")) {
                // Other settings may name programs.
                if words.next().is_some_and(|value| option == "-c" && !value.starts_with("user.")) {
                    return false;
                }
            }
            words.next().is_some_and(|name| MESSAGES.contains(&name))
        }
        Some("gh") => {
            words.next().is_some_and(|name| matches!(name, "pr" | "issue" | "release" | "gist"))
        }
        _ => false,
    }
}

/// The subcommand for people that a line calls, or has another program call.
pub(super) fn said_call(text: &str, line: &Line, plain: &[bool], is_fed: bool) -> Option<String> {
    let all = normal(text);
    if is_fed && (all.contains("tollgate") || all.contains("gate")) {
        let has_language = line
            .commands
            .iter()
            .any(|command| command.words.iter().any(|word| LANGUAGES.contains(&word.base_name())));
        let called = |said: &str| {
            let in_pieces = || if has_language { calls_in_pieces(said) } else { None };
            calls_in(said).or_else(in_pieces)
        };
        if called(&all).is_some() {
            let others = line.commands.iter().filter(|command| !is_message(command));
            let said = others.map(spoken).chain(line.documents.iter().cloned());
            let said: Vec<String> = said.collect();
            if let Some(subcommand) = called(&normal(&said.join("\n"))) {
                return Some(subcommand);
            }
        }
    }
    if all.contains("tollgate") {
        // Any program may run what it is told: a pager, an editor, a command of its own.
        let does = |(command, is_plain): &(&Command, &bool)| !**is_plain && !is_message(command);
        let doing = line.commands.iter().zip(plain).filter(does);
        let mut called = doing.map(|(command, _)| calls_in(&normal(&spoken(command))));
        if let Some(found) = called.find(Option::is_some) {
            return found;
        }
    }
    renamed_call(line)
}

/// All words of a command.
fn spoken(command: &Command) -> String {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    words.join(" ")
}

/// The switch by which an agent is started without its hooks, if one is.
pub(super) fn switched_off(line: &Line) -> Option<&'static str> {
    let starts =
        |command: &&Command| command.words.iter().any(|word| AGENTS.contains(&word.base_name()));
    line.commands.iter().filter(starts).find_map(|command| {
        let said = normal(&spoken(command));
        let is_set = |(small, _): &&(&str, &str)| {
            said.split_once(small).is_some_and(|(_, after)| {
                // Who only speaks of it does not say so.
                let after = after.trim_start_matches(|c: char| !c.is_alphanumeric());
                *small != "disableallhooks" || after.starts_with(['t', '1', 'y'])
            })
        };
        SWITCHES.iter().find(is_set).map(|(_, shown)| *shown)
    })
}

/// Whether nothing can be in a line that its words do not say: it only looks, or is one command
/// that is plainly written and handles no files as others say.
pub(super) fn tells_all(text: &str, line: &Line, plain: &[bool]) -> bool {
    let mut words = line.commands.iter().flat_map(|command| &command.words);
    let is_open = |word: &Word| {
        word.redirect == Some(Redirect::Out) && word.text.contains([HOLE, '*', '?', '['])
    };
    if plain.iter().all(|plain| *plain) {
        return !words.any(is_open);
    }
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:=@,+&|;>\"'#%\n".contains(&byte);
    let handles = |word: &Word| {
        let name = word.base_name();
        let is_listed = [FED, LANGUAGES, WRITERS, REMOVERS, EDITORS, UNPACKERS]
            .iter()
            .any(|list| list.contains(&name));
        // Most who say so have another program install something.
        (is_listed && name != "install") || matches!(name, "find" | "env")
    };
    let installs = |command: &Command| {
        let (_, own) = command.parts();
        let mut own =
            own.iter().skip_while(|word| matches!(word.text.as_str(), "sudo" | "command"));
        own.next().is_some_and(|word| word.base_name() == "install")
    };
    // Any program may do as it reads, and what it reads may be about Tollgate.
    !text.contains("tollgate")
        && text.bytes().all(is_plain)
        && !words.any(handles)
        && !line.commands.iter().any(installs)
}
