//! What is typed into a program while it runs. A shell, or an interpreter, that is left to its input runs it.

use super::{Surroundings, analyze};
use crate::value::Value;

/// How what is said of a program begins that runs what is typed into it.
pub(super) const TYPED_INTO: &str = "what is typed into ";

/// The command line that comes to the same as a command that runs and all that was typed into it.
///
/// What is typed into a shell is itself a command line. What is typed into any other program is what it would read from
/// a here-document, and a look at that tells what the program makes of it.
///
/// ```
/// use tollgate_shell::typed_into;
///
/// assert_eq!(typed_into("bash", "rm -rf ~\n"), "rm -rf ~\n");
/// assert_eq!(typed_into("python3", "print(1)\n"), "{ python3\n} <<'TYPED'\nprint(1)\nTYPED\n");
/// ```
///
/// Keys that change what was typed before (backspace, tab, arrows) leave open what a program gets to see: that it reads
/// something is all that is told then, and that is code nobody knows where the program runs what it reads.
pub fn typed_into(command: &str, text: &str) -> String {
    // A terminal makes one of the other, and takes the end of the input for itself.
    let mut typed = text.replace('\r', "\n").replace('\u{4}', "");
    let edits = typed.chars().any(|key| key.is_control() && key != '\n');
    if !edits && is_shell(command) {
        return typed;
    }
    if !typed.ends_with('\n') {
        typed.push('\n');
    }
    let mut end = "TYPED".to_owned();
    while typed.lines().any(|line| line == end) {
        end.push('_');
    }
    if edits {
        return format!("{{ {command}\n}} < /dev/tty\n: <<'{end}'\n{typed}{end}\n");
    }
    format!("{{ {command}\n}} <<'{end}'\n{typed}{end}\n")
}

/// Whether a command is nothing but a shell here that is left to its input.
fn is_shell(command: &str) -> bool {
    let found = analyze(command, &Surroundings::default());
    let [shell] = found.commands.as_slice() else { return false };
    let [unknown] = found.unknowns.as_slice() else { return false };
    unknown.text == format!("{TYPED_INTO}sh")
        && shell.redirections.is_empty()
        && shell.variables.is_empty()
        && shell.host.is_none()
}

/// Whether a path is another name of what a program has as its input.
pub(super) fn is_own_input(path: &str) -> bool {
    matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "/proc/thread-self/fd/0")
}

/// Whether a path is where somebody types.
pub(super) fn is_terminal(path: &str) -> bool {
    matches!(path, "/dev/tty" | "/dev/console") || path.starts_with("/dev/pts/")
}

/// Whether an interpreter without code is only to say something about itself, or has other work than to read code.
pub(super) fn is_busy(is_python: bool, name: &str, arguments: &[Value]) -> bool {
    const BUSY: &[&str] = &[
        "--version",
        "-version",
        "-V",
        "-VV",
        "--help",
        "-help",
        "-h",
        "-?",
        "--help-all",
        "--v8-options",
        "--test",
        "-noshell",
        "--batch",
    ];
    let known = || arguments.iter().filter_map(Value::known);
    let own = |argument: &str| match argument {
        "-i" | "-m" => name.starts_with("php"),
        // For Python it is another word for being talkative.
        "-v" => !is_python,
        _ => BUSY.contains(&argument),
    };
    let reads = |argument: &str| {
        argument == "-" || is_own_input(argument) || argument == "-i" && !own(argument)
    };
    !known().any(reads) && known().any(own)
}
