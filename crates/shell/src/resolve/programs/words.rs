//! Shells and commands among the words of a program, and in files that it is handed.

use super::super::walk::Walker;
use super::super::{Input, Why};
use super::program_of;
use crate::effects;
use crate::names::base;
use crate::value::Value;

/// Programs that take text for what it is. Of git and of some others, these commands.
const TEXT: &[&str] = &[
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "gh",
    "glab",
    "hub",
    "jq",
    "yq",
    "sed",
    "gsed",
    "cat",
    "tee",
    "test",
    "[",
    "expr",
    "curl",
    "wget",
    "http",
    "logger",
    "notify-send",
    "say",
    "mail",
    "mutt",
    "psql",
    "mysql",
    "sqlite3",
    "claude",
    "codex",
    "gemini",
    "aider",
    "ollama",
    "llm",
    "commit",
    "tag",
    "stash",
    "notes",
    "log",
    "show",
    "shortlog",
    "merge",
    "revert",
    "cherry-pick",
    "alias",
    "export",
    "declare",
    "read",
    "select",
    "trap",
    "eval",
    "diff",
    "cmp",
    "comm",
    "column",
    "fold",
    "fmt",
    "wc",
    "sort",
    "uniq",
    "tr",
    "cut",
];

/// Functions of languages that nobody here knows, by names that mean one thing.
const TELLING: &[&str] = &[
    "system(",
    "system \"",
    "syscmd(",
    "os.execute",
    "os:cmd",
    "shell-command",
    "Remove-Item",
    "delete-tree",
    "delete-directory",
    "rm_rf(",
    "rmtree(",
    "delete_all",
    ".delete()",
];

/// A word that is itself a command which deletes may be run by whatever program it is given to: there
/// are more options that take one than anybody can list.
pub(super) fn commands_in_words(walker: &mut Walker, name: &str, argv: &[Value]) {
    // Nearly all words are one.
    let several = |text: &str| text.bytes().any(|byte| matches!(byte, b' ' | b'('));
    if !argv.iter().any(|word| several(word.prefix())) {
        return;
    }
    // What a shell is given is followed as a script.
    if matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish") {
        return;
    }
    let takes_text = |word: &str| TEXT.contains(&word);
    let first = argv.iter().skip(1).filter_map(Value::known).find(|word| !word.starts_with('-'));
    if takes_text(name)
        || matches!(name, "git" | "hg" | "jj" | "svn") && first.is_some_and(takes_text)
    {
        return;
    }
    for word in argv.iter().skip(1) {
        let Some(text) = word.known().filter(|text| several(text)) else { continue };
        if TELLING.iter().any(|name| text.contains(name)) {
            walker.unknown(Why::Code, text);
        }
        let value = match text.split_once('=') {
            Some((option, value)) if !option.contains(' ') => value,
            _ => text,
        };
        let value = value.trim_start_matches(['!', '\'', '"', '%', '(', '$']);
        let program = value.split_whitespace().next().unwrap_or_default();
        let base = program.rsplit('/').next().unwrap_or(program);
        let deletes = matches!(base, "rm" | "dd" | "shred" | "wipefs" | "sudo" | "find" | "shell")
            || base.starts_with("mkfs");
        if deletes && !walker.via.iter().any(|via| via == "a word") {
            let script =
                value.trim_start_matches("shell ").trim_end_matches([')', '\'']).to_owned();
            walker.inner("a word", |walker| {
                walker.child(|walker| {
                    if crate::syntax::parse(&script).is_ok() {
                        walker.text(&script, &Input::Inherited);
                    }
                    Value::unknown()
                })
            });
        }
    }
}

/// A program whose words name a shell may run it, and hand on what it is fed: there are more options
/// that take a program than anybody can list.
pub(super) fn fed_shell(walker: &mut Walker, name: &str, argv: &[Value], input: &Input) {
    let takes_text = TEXT.contains(&name) && !matches!(name, "psql" | "mysql" | "sqlite3");
    if !matches!(input, Input::Text(_) | Input::Pipe) || takes_text || reads_only(name) {
        return;
    }
    let named = argv.iter().skip(1).any(|word| names_shell(&word.to_string()));
    if named && !walker.via.iter().any(|via| via == "a word") {
        walker.inner("a word", |walker| walker.child(|walker| walker.read_script(name, input)));
    }
}

/// A shell among the words of a program that nobody here knows is run by it, nobody knows how.
pub(super) fn unknown_shell(walker: &mut Walker, name: &str, argv: &[Value]) {
    if TEXT.contains(&name) || effects::is_known(name) || program_of(name).is_some() {
        return;
    }
    let is_path = |word: &str| {
        let program = word.split(' ').next().unwrap_or(word);
        program.contains("/bin/") && names_shell(program)
    };
    if argv.iter().skip(1).filter_map(Value::known).any(is_path) {
        walker.unknown(Why::Code, &format!("a shell that `{name}` starts"));
    }
}

/// True for programs that look through text in which a shell may be named.
fn reads_only(name: &str) -> bool {
    matches!(
        name,
        "head"
            | "tail"
            | "less"
            | "more"
            | "awk"
            | "gawk"
            | "mawk"
            | "xargs"
            | "patch"
            | "base64"
            | "nl"
            | "sh"
            | "bash"
            | "zsh"
            | "dash"
            | "docker"
            | "podman"
            | "kubectl"
            | "git"
            | "shellcheck"
            | "shfmt"
            | "bat"
            | "ssh"
    )
}

/// True if a text names a shell by itself: `/bin/sh`, `unixexec:path=/bin/sh,argv1=-c`.
fn names_shell(text: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.split(|c: char| !is_of_name(c) && c != '/').any(|word| {
        let shell =
            matches!(base(word), "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "csh" | "fish");
        shell && (word.contains("/bin/") || word.len() == text.len())
    })
}

/// A file that was written in the same line, and is handed to a program that nobody here knows, may
/// be run by it.
pub(super) fn written_file(walker: &mut Walker, name: &str, argv: &[Value]) {
    if walker.state.files() == 0 || TEXT.contains(&name) || effects::is_reader(name) {
        return;
    }
    for word in argv.iter().skip(1).filter_map(Value::known) {
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        let Some(content) = walker.state.file(value).cloned() else { continue };
        let Some(at) = content.prefix().find("rm -").filter(|_| content.size() < 4096) else {
            continue;
        };
        let script: String = content
            .prefix()
            .get(at..)
            .unwrap_or_default()
            .chars()
            .take_while(|c| !matches!(c, '"' | '\'' | '<' | '\n' | '`'))
            .collect();
        if !walker.via.iter().any(|via| via == "a word") && crate::syntax::parse(&script).is_ok() {
            walker.inner("a word", |walker| {
                walker.child(|walker| walker.text(&script, &Input::Inherited))
            });
        }
    }
}
