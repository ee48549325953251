//! Commands that plainly only look.

use tollgate_shell::Value;

use crate::trust::words::HOLE;

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
    "grep",
    "check-ignore",
    "rev-list",
    "merge-base",
    "annotate",
    "whatchanged",
    "fetch",
    "push",
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

/// Subcommands of git that take a message, which is prose.
const MESSAGES: &[&str] = &["commit", "tag", "merge", "notes", "revert"];

/// Variables that change nothing about what a program does.
const HARMLESS: &[&str] = &["LANG", "LC_ALL", "TZ", "NO_COLOR", "COLUMNS", "TERM"];

/// True if all that a command does is look, by its words and the variables that are set for it. What it
/// redirects to is another matter.
pub(super) fn is_plain(words: &[String], variables: &[(String, Value)]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return true };
    if !variables.iter().all(|(name, _)| HARMLESS.contains(&name.as_str())) {
        return false;
    }
    let Some(name) = program_name(program) else { return false };
    let starts = |beginnings: &[&str]| {
        arguments.iter().any(|word| beginnings.iter().any(|b| word.starts_with(b)))
    };
    match name {
        "tollgate" => {
            let subcommand = arguments.first().map(String::as_str);
            subcommand.is_some_and(|name| TOLLGATE.contains(&name)) && !starts(&["-o", "--"])
        }
        "git" => is_plain_git(arguments),
        "gh" => match arguments {
            [group, subcommand, ..] => {
                matches!(group.as_str(), "pr" | "issue") && GH.contains(&subcommand.as_str())
            }
            _ => false,
        },
        "find" => is_plain_find(arguments),
        "xargs" => is_plain_xargs(arguments),
        "sed" => is_plain_sed(arguments),
        "sort" => arguments.iter().all(|word| {
            let flags = word.strip_prefix('-');
            flags
                .is_none_or(|flags| flags.chars().all(|c| "bdfghimnrsuVz0123456789,.k".contains(c)))
        }),
        // Its second file is the one it writes.
        "uniq" => arguments.iter().all(|word| word.starts_with('-')),
        name => READERS
            .iter()
            .find(|(reader, _)| *reader == name)
            .is_some_and(|(_, more)| !starts(more)),
    }
}

/// True if a command's words are a message to people.
pub(super) fn is_message(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str).peekable();
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

/// Whether a program does nothing with what it reads but show it, change it or keep it.
pub(super) fn passes_on(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "git", "gh", "tee", "dd", "cp", "mkdir", "sort", "uniq", "rev", "base64", "gzip", "fold",
        "fmt",
    ];
    OTHERS.contains(&name) || READERS.iter().any(|(reader, _)| *reader == name)
}

/// The name of a program of the system; none of one at a place of its own.
pub(super) fn program_name(program: &str) -> Option<&str> {
    let name =
        ["/usr/bin/", "/bin/"].iter().find_map(|d| program.strip_prefix(d)).unwrap_or(program);
    (!name.contains(['/', HOLE])).then_some(name)
}

/// True if a word may turn out to be an option.
fn may_be_option(word: &str) -> bool {
    word.starts_with(HOLE) || (word.starts_with('{') && word != "{}")
}

fn is_plain_find(arguments: &[String]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let is_looked = |program: &String| FOUND.contains(&program.as_str());
        if word == "-exec" && rest.next().is_some_and(is_looked) {
            continue;
        }
        if may_be_option(word) || FIND.iter().any(|option| word.starts_with(option)) {
            return false;
        }
    }
    true
}

/// `xargs -0 grep x`: what it is given is looked at.
fn is_plain_xargs(arguments: &[String]) -> bool {
    let is_flag = |word: &&String| matches!(word.as_str(), "-0" | "-r" | "-t" | "-n1");
    let program = arguments.iter().find(|word| !is_flag(word));
    program.is_some_and(|program| FOUND.contains(&program.as_str()))
}

/// `sed -n 1,20p file`: a script that can do nothing but print lines.
fn is_plain_sed(arguments: &[String]) -> bool {
    let is_flag = |word: &&String| matches!(word.as_str(), "-n" | "-E" | "-r" | "-s" | "-u");
    let flags = arguments.iter().take_while(is_flag).count();
    let mut rest = arguments.iter().skip(flags);
    rest.next().is_some_and(|script| script.chars().all(|c| "0123456789,$;p=q ".contains(c)))
        // Options may also stand behind.
        && rest.all(|file| !file.starts_with('-') && !may_be_option(file))
}

fn is_plain_git(arguments: &[String]) -> bool {
    let mut rest = arguments.iter().map(String::as_str);
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
