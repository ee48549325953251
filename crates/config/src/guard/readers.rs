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

/// What `find` does more than look with.
const FIND: &[&str] = &["-delete", "-exec", "-ok", "-fprint", "-fls"];

/// Programs that only look, whatever their options.
const FOUND: &[&str] =
    &["grep", "egrep", "fgrep", "cat", "head", "tail", "wc", "ls", "stat", "sha256sum", "md5sum"];

/// Subcommands of `gh pr` and `gh issue` that touch no file here.
const GH: &[&str] = &["create", "comment", "view", "list", "edit", "close", "status", "diff"];

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
        "gh" => match arguments {
            [group, subcommand, ..] => {
                matches!(group.text.as_str(), "pr" | "issue")
                    && GH.contains(&subcommand.text.as_str())
            }
            _ => false,
        },
        "find" => is_plain_find(arguments),
        "xargs" => is_plain_xargs(arguments),
        "sed" => is_plain_sed(arguments),
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

/// Whether a program does nothing with what it reads but show it, change it or keep it.
pub(super) fn passes_on(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "git", "gh", "tee", "dd", "cp", "mkdir", "sort", "uniq", "rev", "base64", "gzip", "fold",
        "fmt",
    ];
    OTHERS.contains(&name) || READERS.iter().any(|(reader, _)| *reader == name)
}

/// The name of a program of the system; none of one at a place of its own.
pub(super) fn program_name(program: &Word) -> Option<&str> {
    let text = program.text.as_str();
    let name = ["/usr/bin/", "/bin/"].iter().find_map(|d| text.strip_prefix(d)).unwrap_or(text);
    (!name.contains(['/', HOLE])).then_some(name)
}

/// Whether a word may turn out to be an option.
fn may_be_option(word: &Word) -> bool {
    word.text.starts_with(HOLE) || (word.text.starts_with('{') && word.text != "{}")
}

fn is_plain_find(arguments: &[&Word]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let runs = word.text == "-exec";
        let is_looked = |program: &&Word| FOUND.contains(&program.text.as_str());
        if runs && rest.next().is_some_and(is_looked) {
            continue;
        }
        if may_be_option(word) || FIND.iter().any(|option| word.text.starts_with(option)) {
            return false;
        }
    }
    true
}

/// `xargs -0 grep x`: what it is given is looked at.
fn is_plain_xargs(arguments: &[&Word]) -> bool {
    let is_flag = |word: &&&Word| matches!(word.text.as_str(), "-0" | "-r" | "-t" | "-n1");
    let program = arguments.iter().find(|word| !is_flag(word));
    program.is_some_and(|program| FOUND.contains(&program.text.as_str()))
}

/// `sed -n 1,20p file`: a script that can do nothing but print lines.
fn is_plain_sed(arguments: &[&Word]) -> bool {
    let is_flag = |word: &&Word| matches!(word.text.as_str(), "-n" | "-E" | "-r" | "-s" | "-u");
    let flags = arguments.iter().take_while(|word| is_flag(word)).count();
    let mut rest = arguments.iter().skip(flags);
    rest.next().is_some_and(|script| script.text.chars().all(|c| "0123456789,$;p=q ".contains(c)))
        // Options may also stand behind.
        && rest.all(|file| !file.text.starts_with('-') && !may_be_option(file))
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
