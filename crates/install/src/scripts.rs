//! Hooks that are files of their own: a script for each event, or a plugin.

use crate::command::{Call, Missing};
use crate::target::Target;
use crate::words;

/// What a file of ours begins with, behind the sign of a comment.
const MADE: &str = "Made by `tollgate install";

/// What is behind it, before the number of folders.
const FOLDERS: &str = "Folders made for it:";

/// The line that says whose file it is.
pub(crate) fn mark(comment: &str, target: &Target, folders: usize) -> String {
    let name = target.name;
    format!(
        "{comment} {MADE} {name}`; `tollgate uninstall {name}` removes it. {FOLDERS} {folders}.\n"
    )
}

/// How many folders were made for a file of ours. None where it is not ours.
pub(crate) fn folders(text: &str) -> Option<usize> {
    let line = text.lines().take(2).find(|line| line.contains(MADE))?;
    let (_, number) = line.rsplit_once(FOLDERS)?;
    number.trim().trim_end_matches('.').parse().ok()
}

/// The program that a file of ours calls.
pub(crate) fn program(text: &str) -> Option<String> {
    let of_script = || {
        let line = text.lines().find_map(|line| line.strip_prefix("tollgate="))?;
        words::split(line)?.into_iter().next()
    };
    let of_plugin = || {
        let line = text.lines().find_map(|line| line.strip_prefix("const COMMAND = "))?;
        let command: Vec<String> = serde_json::from_str(line).ok()?;
        command.into_iter().next()
    };
    of_script().or_else(of_plugin)
}

/// Beginning of the line in our script that looks for the program.
const LOOKS: &str = "command -v \"$tollgate\" ";

/// Text in our plugin that makes a missing program a warning.
const WARNS: &str = "const MISSING = \"warn\"";

/// A call with what a file of ours does where the program is missing, unless the registration says it.
pub(crate) fn kept(call: &Call, text: Option<&str>) -> Call {
    let mut call = call.clone();
    if let (None, Some(text)) = (call.registration.missing, text) {
        let warns = |line: &str| line.starts_with(LOOKS) || line.starts_with(WARNS);
        let warns = text.lines().any(warns);
        call.missing = if warns { Missing::Warn } else { Missing::Refuse };
    }
    call
}

/// A script for an event of Cline. It goes by what is printed alone, so what is no answer has to be turned
/// into one; and what was printed before the end is dropped.
pub(crate) fn script(target: &Target, call: &Call, folders: usize) -> String {
    let mark = mark("#", target, folders);
    let program = words::quote(&call.program);
    let arguments: Vec<_> = call.arguments.iter().map(|word| words::quote(word)).collect();
    let arguments = arguments.join(" ");
    let program = match call.missing {
        Missing::Refuse => program,
        Missing::Warn => {
            let (output, error) = &call.warning;
            let (output, error) = (words::quote(output), words::quote(error));
            format!(
                "{program}\n{LOOKS}>/dev/null 2>&1 || {{ printf %s {output}; printf %s {error} >&2; exit 0; }}"
            )
        }
    };
    if call.registration.gate {
        format!(
            r#"#!/bin/sh
{mark}tollgate={program}
answer=$("$tollgate" {arguments})
status=$?
case $status in
0) [ -z "$answer" ] || printf '%s\n' "$answer"; exit 0 ;;
2) [ -z "$answer" ] || {{ printf '%s\n' "$answer"; exit 0; }} ;;
esac
printf '%s\n' '{{"cancel": true, "errorMessage": "refused: Tollgate gave no answer (status '"$status"'); tollgate doctor tells why"}}'
"#
        )
    } else {
        format!(
            r#"#!/bin/sh
{mark}tollgate={program}
answer=$("$tollgate" {arguments} 2>/dev/null)
case $? in
0|2) [ -z "$answer" ] || printf '%s\n' "$answer" ;;
esac
exit 0
"#
        )
    }
}

/// The plugin of a host that calls no commands.
pub(crate) fn plugin(target: &Target, call: &Call, folders: usize) -> String {
    let seconds = call.deadline.to_string();
    // It tells the event itself.
    let command = [&*call.program, "hook", target.name, "--deadline", &seconds];
    let text = tollgate_hosts::opencode::plugin(&command, call.missing == Missing::Warn);
    format!("{}{text}", mark("//", target, folders))
}
