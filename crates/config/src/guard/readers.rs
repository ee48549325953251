//! Commands that plainly only look.

use crate::trust::words::{Command, HOLE, Line, Word};

/// Programs that only look, and the beginnings of options with which they do more.
const READERS: &[(&str, &[&str])] = &[
    ("cat", &[]),
    ("tac", &[]),
    ("head", &[]),
    ("tail", &[]),
    ("nl", &[]),
    ("less", &["-o", "-O", "--log-file", "--LOG-FILE", "+", "-k", "--lesskey"]),
    ("more", &["+"]),
    ("ls", &[]),
    ("tree", &["-o", "--output"]),
    ("grep", &[]),
    ("egrep", &[]),
    ("fgrep", &[]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("wc", &[]),
    ("stat", &[]),
    ("file", &["-C", "--compile"]),
    ("diff", &[]),
    ("cmp", &[]),
    ("jq", &[]),
    ("find", &["-delete", "-exec", "-ok", "-fprint", "-fls"]),
    ("cut", &[]),
    ("tr", &[]),
    ("od", &[]),
    ("hexdump", &[]),
    ("sha256sum", &[]),
    ("sha1sum", &[]),
    ("md5sum", &[]),
    ("b3sum", &[]),
    ("cksum", &[]),
    ("realpath", &[]),
    ("readlink", &[]),
    ("basename", &[]),
    ("dirname", &[]),
    ("echo", &[]),
    ("printf", &[]),
    ("test", &[]),
    ("[", &[]),
    ("[[", &[]),
    ("true", &[]),
    ("false", &[]),
    (":", &[]),
    ("pwd", &[]),
    ("cd", &[]),
    ("pushd", &[]),
    ("popd", &[]),
    ("which", &[]),
    ("type", &[]),
    ("for", &[]),
    ("exit", &[]),
    ("sleep", &[]),
    ("date", &["-s", "--set"]),
];

/// Subcommands of git that leave the files as they are.
const GIT: &[&str] = &[
    "diff",
    "log",
    "show",
    "status",
    "blame",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "cat-file",
    "shortlog",
    "describe",
    "branch",
    "add",
    "commit",
];

/// Subcommands of Tollgate that only tell.
const TOLLGATE: &[&str] = &["list", "check", "explain", "help"];

/// Variables that change nothing about what a program does.
const HARMLESS: &[&str] = &["LANG", "LC_ALL", "TZ", "NO_COLOR", "COLUMNS", "TERM"];

/// Whether all that a command does is look. What it redirects to is another matter.
pub(super) fn is_plain(line: &Line, command: &Command) -> bool {
    // A function may have taken the place of any program.
    if line.defines_function {
        return false;
    }
    let (assignments, words) = command.parts();
    let Some((program, arguments)) = words.split_first() else { return true };
    let is_harmless =
        |word: &&Word| word.assignment().is_some_and(|(name, _)| HARMLESS.contains(&name));
    if !assignments.iter().all(is_harmless) {
        return false;
    }
    let Some(name) = program_name(program) else { return false };
    let starts = |beginnings: &[&str]| {
        arguments.iter().any(|word| beginnings.iter().any(|b| word.text.starts_with(b)))
    };
    match name {
        "tollgate" => {
            let subcommand = arguments.first().map(|word| word.text.as_str());
            subcommand.is_some_and(|name| TOLLGATE.contains(&name)) && !starts(&["-o", "--"])
        }
        "git" => is_plain_git(arguments),
        "sort" => arguments.iter().all(|word| {
            let flags = word.text.strip_prefix('-');
            flags
                .is_none_or(|flags| flags.chars().all(|c| "bdfghimnrsuVz0123456789,.k".contains(c)))
        }),
        // Its second file is the one it writes.
        "uniq" => arguments.iter().all(|word| word.text.starts_with('-')),
        name => READERS
            .iter()
            .find(|(reader, _)| *reader == name)
            .is_some_and(|(_, more)| !starts(more)),
    }
}

/// The name of a program of the system; none of one at a place of its own.
pub(super) fn program_name(program: &Word) -> Option<&str> {
    let text = program.text.as_str();
    let name = ["/usr/bin/", "/bin/"].iter().find_map(|d| text.strip_prefix(d)).unwrap_or(text);
    (!name.contains(['/', HOLE])).then_some(name)
}

fn is_plain_git(arguments: &[&Word]) -> bool {
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    let subcommand = loop {
        match rest.next() {
            Some("-C") => drop(rest.next()),
            Some("--no-pager" | "-P") => {}
            other => break other,
        }
    };
    let writes = |option: &str| option.starts_with("--out") || option.starts_with("--ext");
    subcommand.is_some_and(|name| GIT.contains(&name)) && !rest.any(writes)
}
