//! What the names of tools and arguments tell about tools that the table does not have.

use super::programs::{KNOWN, LANGUAGES};
use crate::trust::words::{Line, Redirect};

/// Verbs of tools that only look.
const LOOKS: &[&str] = &[
    "read", "view", "list", "ls", "get", "search", "find", "grep", "glob", "stat", "show", "tree",
    "describe", "head", "tail", "cat", "count", "diff", "query", "fetch", "inspect", "browse",
];

/// Verbs of tools that do more.
const CHANGES: &[&str] = &[
    "write", "edit", "create", "delete", "remove", "move", "rename", "replace", "update", "set",
    "put", "patch", "append", "insert", "save", "copy", "apply", "exec", "execute", "run", "make",
    "upload", "download", "link", "chmod", "trash", "unlink", "modify", "change",
];

/// Verbs of tools that take a directory away with all that is in it.
const REMOVES: &[&str] = &["delete", "remove", "move", "rename", "trash", "unlink", "rm", "mv"];

/// Names of arguments that hold a command line or a script.
const COMMANDS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "commandline",
    "script",
    "shell",
    "bash",
    "code",
    "argv",
    "args",
];

/// Names of arguments that hold the directory a command runs in.
const DIRECTORIES: &[&str] = &["cwd", "workdir", "workingdirectory", "directory", "dir"];

/// Whether a tool is known, by its name, to be one that only looks.
pub(super) fn is_reader(tool: &str) -> bool {
    let verbs = verbs(tool);
    let looks = verbs.iter().any(|verb| LOOKS.contains(&verb.as_str()));
    let changes = verbs.iter().any(|verb| CHANGES.contains(&verb.as_str()));
    looks && !changes
}

/// Whether a tool removes or moves, by its name.
pub(super) fn is_remover(tool: &str) -> bool {
    verbs(tool).iter().any(|verb| REMOVES.contains(&verb.as_str()))
}

pub(super) fn names_command(argument: &str) -> bool {
    COMMANDS.contains(&plain(argument).as_str())
}

pub(super) fn names_directory(argument: &str) -> bool {
    DIRECTORIES.contains(&plain(argument).as_str())
}

/// Whether a tool that steers the agent only speaks with the person. What it says there may name
/// anything: it is how the agent asks for what it may not do.
pub(super) fn asks(tool: &str) -> bool {
    matches!(tool, "ask_question" | "ask_permission" | "list_permissions")
}

/// Whether a tool types into a program that runs.
pub(super) fn types_in(tool: &str) -> bool {
    let names =
        ["managetask", "writestdin", "sendinput", "sendkeys", "sendcommandinput", "sendterminput"];
    names.contains(&plain(tool).as_str())
}

/// True if a text that may be prose has the form of a command that writes or runs something.
pub(super) fn is_command(text: &str) -> bool {
    Line::parse(text).commands.iter().any(|command| {
        let (_, own) = command.parts();
        let program = own.first().map(|word| word.base_name()).unwrap_or_default();
        let is_known = [KNOWN, LANGUAGES].iter().any(|list| list.contains(&program));
        is_known || command.words.iter().any(|word| word.redirect == Some(Redirect::Out))
    })
}

/// The files that a patch in a text would change.
pub(super) fn patched(text: &str) -> impl Iterator<Item = &str> {
    const HEADS: &[&str] = &[
        "*** Update File:",
        "*** Add File:",
        "*** Delete File:",
        "*** Move to:",
        "+++ ",
        "--- ",
        "rename from ",
        "rename to ",
        "copy to ",
    ];
    text.lines().flat_map(|line| {
        let line = line.trim_start();
        let path = HEADS.iter().find_map(|head| line.strip_prefix(head));
        // Behind a tab is the time.
        let path =
            path.and_then(|path| path.split('\t').next()).map(|path| path.trim().trim_matches('"'));
        let path = path.filter(|path| !path.is_empty());
        // `b/x` is `x`, unless the patch is made without such a beginning.
        let short = path.and_then(|path| path.split_once('/')).map(|(_, rest)| rest);
        path.into_iter().chain(short.filter(|short| !short.is_empty()))
    })
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// The words of a name: `readTextFile` and `read_text-file` are `read`, `text`, `file`.
fn verbs(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        was_lower = c.is_lowercase();
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_known_by_its_name() {
        for name in ["read_file", "ReadTextFile", "list-directory", "fs.get_file_info", "Grep"] {
            assert!(is_reader(name), "{name}");
        }
        for name in ["write_file", "read_and_write", "findAndReplace", "mystery", "", "move_file"] {
            assert!(!is_reader(name), "{name}");
        }
        assert!(is_remover("deleteDirectory"));
        assert!(!is_remover("create_directory"));
    }
}
