//! Whether a command is Tollgate itself, as the hook of an agent. Its answer would be that of all hooks
//! in force, of which it would be one.

use std::path::Path;

use jsonc_parser::ast::Value;

use super::host::handler::quoted;
use crate::trust::words::{Command, Line};

/// What makes a failure a refusal.
const WRAPPER: &[&str] = &["exit", "echo", "printf", "true", ":", "case", "esac", "["];

/// The script in which `tollgate install --missing warn` looks for the program before it is called.
const LOOKS: &str = "command -v \"$2\" >/dev/null 2>&1 || \
     { printf %s \"$0\"; printf %s \"$1\" >&2; exit 0; }; shift 2; exec \"$@\"";

/// Whether a command does nothing but call Tollgate, in one of the forms that `tollgate install` writes
/// or that people do.
pub(crate) fn is_ours(command: &str) -> bool {
    // Most commands are not, which is soon told.
    if !command.contains("hook") {
        return false;
    }
    let line = Line::parse(command);
    let mut commands = line.commands.iter();
    let Some(first) = commands.next() else { return false };
    if !is_our_call(&words(first)) {
        return false;
    }
    !line.defines_function
        && line.documents.is_empty()
        && commands.all(|command| {
            let words = words(command);
            let word = words.first().copied().unwrap_or_default();
            let is_status = |word: &str| {
                let begin = word.split_once('=').map(|(name, _)| name);
                begin.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric()))
                    || word.chars().all(|c| c.is_ascii_digit() || "|)*".contains(c))
            };
            WRAPPER.contains(&word) || is_status(word)
        })
}

/// Whether a handler is Tollgate itself.
pub(super) fn is_our_handler(value: &Value<'_>) -> bool {
    let Some(handler) = value.as_object() else { return false };
    let text = |value: &Value<'_>| match value {
        Value::StringLit(text) => Some(text.value.to_string()),
        _ => None,
    };
    let Some(command) = handler.get("command").and_then(|field| text(&field.value)) else {
        return false;
    };
    match handler.get("args").and_then(|args| args.value.as_array()) {
        None => is_ours(&command),
        Some(args) => {
            let words = args.elements.iter().filter_map(text).map(|word| quoted(&word));
            let words: Vec<_> = std::iter::once(quoted(&command)).chain(words).collect();
            is_ours(&words.join(" "))
        }
    }
}

/// Whether a value is a command that is Tollgate itself.
pub(super) fn is_our_command(value: &Value<'_>) -> bool {
    matches!(value, Value::StringLit(text) if is_ours(&text.value))
}

/// Whether an element of an event's list is Tollgate alone: a handler, or a group of them.
pub(super) fn is_our_element(value: &Value<'_>) -> bool {
    let group = value.as_object().and_then(|group| group.get("hooks")?.value.as_array());
    match group {
        Some(group) => !group.elements.is_empty() && group.elements.iter().all(is_our_handler),
        None => is_our_handler(value),
    }
}

fn words(command: &Command) -> Vec<&str> {
    let words = command.words.iter().filter(|word| word.redirect.is_none());
    words.map(|word| word.text.as_str()).collect()
}

fn is_our_call(words: &[&str]) -> bool {
    match words {
        [shell, "-c", script, _, "hook", host, ..] => {
            ["sh", "bash"].contains(&name(shell))
                && script.contains("\"$0\" \"$@\"")
                && is_host(host)
        }
        // With a warning where the program is missing.
        [shell, "-c", LOOKS, _, _, _, call @ ..] => {
            ["sh", "bash"].contains(&name(shell)) && is_our_call(call)
        }
        // With the host's own refusal before the program: its code, what it prints, and as an error.
        [shell, "-c", script, code, _, _, _, "hook", host, "--event", ..] => {
            ["sh", "bash"].contains(&name(shell))
                && script.starts_with("o=$1 r=$2; shift 2;")
                && script.contains("$(\"$@\"")
                && code.chars().all(|c| c.is_ascii_digit())
                && is_host(host)
        }
        [program, "hook", host, ..] => name(program) == "tollgate" && is_host(host),
        _ => false,
    }
}

fn name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The name of an agent. Also of one that this version does not know.
fn is_host(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn what_install_writes_is_ours() {
        for command in [
            "tollgate hook claude",
            "/usr/local/bin/tollgate hook codex --event PreToolUse --deadline 50",
            "'/opt/my tools/tollgate' hook gemini",
            "tollgate hook X; s=$?; case $s in 0|2) exit $s;; esac; echo refused >&2; exit 2",
            "tollgate hook claude || true",
            r#"/bin/sh -c 'command -v "$2" >/dev/null 2>&1 || { printf %s "$0"; printf %s "$1" >&2; exit 0; }; shift 2; exec "$@"' '' '' tollgate /bin/sh -c '"$0" "$@"; exit' tollgate hook claude --event Stop"#,
            r#"/bin/sh -c 'o=$1 r=$2; shift 2; exec 3>&1; e=$({ a=$("$@" 3>&-); }); exit 0' 0 '{"decision":"deny"}' '' /opt/tollgate hook antigravity --event PreToolUse --deadline 50"#,
            r#"/bin/sh -c '"$0" "$@"; s=$?; case $s in 0|2) exit $s;; esac; echo "refused: ($0)" >&2; exit 2' /bin/tollgate hook codex --event Stop --deadline 50"#,
        ] {
            assert!(is_ours(command), "{command}");
        }
    }

    #[test]
    fn what_does_more_is_not() {
        for command in [
            "",
            "./hook.sh",
            "tollgate fire tool.pre",
            "tollgate hook",
            "./guard.sh && tollgate hook claude",
            "tollgate hook claude; ./guard.sh",
            "tollgate hook claude | tee log",
            "/opt/other hook claude",
            "sh -c './guard.sh' x hook claude",
            r#"sh -c './guard.sh; "$@"' 0 a b /bin/tollgate hook antigravity --event Stop"#,
            "echo tollgate hook claude",
        ] {
            assert!(!is_ours(command), "{command}");
        }
    }
}
