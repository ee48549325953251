//! Which words of a command are data: named by it, read or written, but never run.
//!
//! Everything else counts as executed. A word is data only where no part of the command line could
//! run what it stands for: `cat x` reads `x`, and `cat x | sh` runs it.

use super::programs::{INTERPRETERS, WRAPPERS};
use super::words::{Command, Hole, Line, Redirect, Word};

/// Maximum depth of `bash -c 'bash -c …'` that is followed. Deeper scripts may run anything.
const DEEPEST: usize = 3;

/// Programs and builtins that never run what their operands name.
const READERS: &[&str] = &[
    ":",
    "[",
    "[[",
    "base64",
    "basename",
    "cat",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "diff",
    "dirname",
    "echo",
    "egrep",
    "exit",
    "false",
    "fgrep",
    "file",
    "fold",
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "mkdir",
    "nl",
    "od",
    "paste",
    "printf",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "rev",
    "rm",
    "rmdir",
    "set",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shift",
    "sleep",
    "sort",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "uniq",
    "wc",
    "xxd",
];

/// Where programs of the system are. One of the same name elsewhere is another program.
const SYSTEM: &[&str] = &["/bin/", "/usr/bin/"];

/// Programs that run texts which they are given.
const EVALUATORS: &[&str] = &["eval", "parallel", "source", ".", "trap"];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish"];

/// Words in code of other languages that may run what it has read.
const RUNNING: &[&str] = &[
    "exec",
    "eval",
    "system",
    "popen",
    "spawn",
    "subprocess",
    "compile",
    "import_module",
    "run",
    "`",
];

/// The roles of the words of a command line.
#[derive(Debug)]
pub(super) struct Roles {
    /// True if what one of the commands prints or names may be run.
    may_run: bool,
    /// Variables that stand only for data.
    data: Vec<String>,
    /// True if every program is one of the [`READERS`].
    pub(super) only_reads: bool,
}

impl Roles {
    /// Works out what the words of a line are. `may_run` is true if what the line prints may be run.
    pub(super) fn of(line: &Line, may_run: bool) -> Self {
        let may_run = may_run || may_run_words(line, 0);
        let is_empty = |command: &&Command| program(command).is_none();
        let only_reads =
            line.commands.iter().all(|command| is_empty(&command) || reads_only(command));
        let mut roles = Self { may_run, data: Vec::new(), only_reads: only_reads && !may_run };
        roles.data = roles.variables(line);
        roles
    }

    /// True if what the line prints may be run.
    pub(super) const fn may_run(&self) -> bool {
        self.may_run
    }

    /// True if a word of a command is only data.
    pub(super) fn is_data(&self, command: &Command, word: &Word) -> bool {
        if word.redirect == Some(Redirect::Out) {
            return true;
        }
        if self.may_run {
            return false;
        }
        if word.redirect == Some(Redirect::In) {
            return match program(command) {
                None => true,
                Some((name, _)) => {
                    reads_only(command) || name.text.contains('/') || is_interpreter(name)
                }
            };
        }
        let (assignments, _) = command.parts();
        if let Some((name, _)) = word.assignment()
            && assignments.iter().any(|it| std::ptr::eq(*it, word))
        {
            return program(command).is_none() && self.data.iter().any(|known| known == name);
        }
        reads_only(command)
            && program(command).is_some_and(|(_, operands)| {
                operands.iter().any(|operand| std::ptr::eq(*operand, word))
            })
    }

    /// The variables that are set in the line and stand only for data in it.
    fn variables(&self, line: &Line) -> Vec<String> {
        let words = || {
            line.commands
                .iter()
                .flat_map(|command| command.words.iter().map(move |word| (command, word)))
        };
        let names = words().filter_map(|(command, word)| {
            let (name, _) = word.assignment()?;
            program(command).is_none().then(|| name.to_owned())
        });
        let uses = |word: &Word, name: &str| {
            word.holes.iter().any(|hole| matches!(hole, Hole::Variable(used) if used == name))
        };
        let is_data = |name: &String| {
            let mut is_used = false;
            for (command, word) in words() {
                if word.assignment().is_some_and(|(set, _)| set == name) {
                    if program(command).is_some() || uses(word, name) {
                        return false;
                    }
                } else if self.is_data(command, word) {
                    is_used |= uses(word, name);
                } else if uses(word, name) || word.text.contains(name.as_str()) {
                    return false;
                }
            }
            is_used && !line.documents.iter().any(|document| document.contains(name.as_str()))
        };
        names.filter(is_data).collect()
    }
}

/// The program of a command and its operands, wrappers such as `env` and `timeout` left out.
pub(super) fn program(command: &Command) -> Option<(&Word, Vec<&Word>)> {
    let (_, words) = command.parts();
    let mut words = words.into_iter().peekable();
    while words.next_if(|word| WRAPPERS.contains(&word.base_name())).is_some() {
        let belongs = |word: &&Word| {
            let is_number = word.text.starts_with(|c: char| c.is_ascii_digit());
            word.text.starts_with('-') || word.assignment().is_some() || is_number
        };
        while words.next_if(belongs).is_some() {}
    }
    Some((words.next()?, words.collect()))
}

/// True if the program of a command only reads, prints or removes what its operands name.
pub(super) fn reads_only(command: &Command) -> bool {
    let Some((name, operands)) = program(command) else { return false };
    let plain = SYSTEM.iter().find_map(|directory| name.text.strip_prefix(directory));
    let plain = plain.unwrap_or(&name.text);
    if !name.holes.is_empty() || !READERS.contains(&plain) {
        return false;
    }
    let is_cluster_with = |word: &Word, letters: &[char]| {
        word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letters)
    };
    match plain {
        // `jq -f FILE` and `jq -L DIRECTORY` run what is there, as do imports.
        "jq" => !operands.iter().any(|word| {
            is_cluster_with(word, &['f', 'L'])
                || word.text.starts_with("--from")
                || word.text.starts_with("--lib")
                || word.text.contains("import ")
                || word.text.contains("include ")
        }),
        "sort" => !operands.iter().any(|word| word.text.starts_with("--com")),
        _ => true,
    }
}

/// `python` for `python3.12`.
fn interpreter(word: &Word) -> Option<&'static str> {
    let plain = word.base_name().trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let known = INTERPRETERS.iter().find(|(interpreter, _)| *interpreter == plain);
    known.map(|(interpreter, _)| *interpreter)
}

/// True if a program is a shell, or what runs a script in the shell that is there.
pub(super) fn is_shell(word: &Word) -> bool {
    matches!(word.text.as_str(), "." | "source")
        || interpreter(word).is_some_and(|it| SHELLS.contains(&it))
}

/// True if a script is one of a shell that runs no program but those that only read.
pub(super) fn only_reads(script: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(script) else { return false };
    let of_shell = match text.strip_prefix("#!").and_then(|rest| rest.lines().next()) {
        None => true,
        Some(line) => {
            let last = line.split_whitespace().rfind(|word| !word.starts_with('-'));
            last.is_some_and(|it| SHELLS.contains(&it.rsplit('/').next().unwrap_or_default()))
        }
    };
    of_shell && Roles::of(&Line::parse(text), false).only_reads
}

fn is_interpreter(word: &Word) -> bool {
    interpreter(word).is_some()
}

/// True if a part of a line runs what another one prints, or what a word of it stands for.
fn may_run_words(line: &Line, depth: usize) -> bool {
    if line.defines_function || depth >= DEEPEST {
        return true;
    }
    line.commands.iter().any(|command| {
        let sets_path =
            |word: &Word| word.text.starts_with("PATH=") || word.text.starts_with("PATH+=");
        if command.words.iter().any(sets_path) {
            return true;
        }
        let Some((name, operands)) = program(command) else { return false };
        let is_whole_hole =
            !name.holes.is_empty() && name.text.chars().all(|c| c == super::words::HOLE);
        if is_whole_hole || name.holes.iter().any(|hole| matches!(hole, Hole::Output(_))) {
            // `$(pwd)/check.sh` is a path like any other.
            return is_whole_hole;
        }
        if EVALUATORS.contains(&name.text.as_str()) {
            // `. ./env.sh` runs that file and nothing else.
            let is_file = |word: &&Word| word.holes.is_empty() && !word.text.starts_with("/dev/");
            let sources = matches!(name.text.as_str(), "." | "source");
            return !(sources && operands.first().is_some_and(is_file));
        }
        let (_, words) = command.parts();
        let is_listed = words.iter().any(|word| word.base_name() == "xargs");
        if is_listed && !reads_only(command) {
            return true;
        }
        interpreter(name).is_some_and(|interpreter| runs_input(interpreter, &operands, depth))
    })
}

/// True if an interpreter may run what comes on its input, or what a variable stands for.
fn runs_input(interpreter: &str, operands: &[&Word], depth: usize) -> bool {
    let is_shell = SHELLS.contains(&interpreter);
    let Some(first) = operands.iter().position(|word| !word.text.starts_with(['-', '+'])) else {
        return true;
    };
    let (options, rest) = operands.split_at(first);
    let Some(operand) = rest.first() else { return true };
    let is_path = |word: &Word| {
        word.text != "-"
            && !word.text.starts_with("/dev/")
            && word.holes.iter().all(|hole| matches!(hole, Hole::Variable(_)))
            && !word.text.ends_with(super::words::HOLE)
    };
    match options {
        [] => !is_path(operand),
        [option]
            if matches!(option.text.as_str(), "-e" | "-u" | "-x" | "-eu" | "-ex" | "-I" | "-B")
                && (is_shell || option.text != "-e") =>
        {
            !is_path(operand)
        }
        [.., option] if is_shell && option.text.ends_with('c') => {
            !operand.holes.is_empty() || may_run_words(&Line::parse(&operand.text), depth + 1)
        }
        [option] if !is_shell && matches!(option.text.as_str(), "-c" | "-e") => {
            !operand.holes.is_empty() || RUNNING.iter().any(|word| operand.text.contains(word))
        }
        _ => true,
    }
}
