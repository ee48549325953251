//! Hooks that are files of their own: a script for each event, or a plugin.

use crate::command::Call;
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

/// A script for an event of Cline. It goes by what is printed alone, so what is no answer has to be turned
/// into one; and what was printed before the end is dropped.
pub(crate) fn script(target: &Target, call: &Call, folders: usize) -> String {
    let mark = mark("#", target, folders);
    let program = words::quote(&call.program);
    let arguments: Vec<_> = call.arguments.iter().map(|word| words::quote(word)).collect();
    let arguments = arguments.join(" ");
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

/// A plugin. Where its text names the program like this, the path is put there.
pub(crate) fn plugin(target: &Target, text: &str, program: &str, folders: usize) -> String {
    let program = serde_json::Value::String(program.to_owned()).to_string();
    let text = text.replace("\"TOLLGATE_PROGRAM\"", &program);
    format!("{}{text}", mark("//", target, folders))
}
