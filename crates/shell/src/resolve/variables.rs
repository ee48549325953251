//! Variables: declared, read from input, and taken for commands by other programs.

use super::state::Binding;
use super::walk::Walker;
use super::{Input, Why};
use crate::syntax::{Assignment, Piece, Word};
use crate::value::Value;

/// Whether arguments of the form `name=value` are assignments.
pub(super) fn declares(words: &[Word]) -> bool {
    let Some([Piece::Text(name)]) = words.first().map(|word| word.pieces.as_slice()) else {
        return false;
    };
    matches!(name.as_str(), "declare" | "typeset" | "local" | "export" | "readonly")
}

/// Variables that programs take for commands.
const COMMANDS: &[&str] = &[
    "PS4",
    "PROMPT_COMMAND",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "BROWSER",
    "RSYNC_RSH",
    "CVS_RSH",
    "FCEDIT",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "MAILER",
];

/// Variables by which programs load code before they begin.
const LOADERS: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
    "PYTHONSTARTUP",
    "PERL5DB",
];

/// Whether the value of such a variable names code; others of its options are harmless.
fn loads_code(name: &str, value: &Value) -> bool {
    let text = value.to_string();
    match name {
        "NODE_OPTIONS" => ["-r ", "-r=", "--require", "--import", "--loader"]
            .iter()
            .any(|option| text.contains(option)),
        "PERL5OPT" | "RUBYOPT" => text.contains("-M") || text.contains("-r") || text.contains("-d"),
        _ => !text.is_empty(),
    }
}

/// Whether programs are looked for first where anybody may put one.
fn begins_elsewhere(path: &Value) -> bool {
    let first = path.prefix().split(':').next().unwrap_or_default();
    let is_open = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|open| first.starts_with(open));
    first == "." || is_open || path.prefix().starts_with(':')
}

/// Variables that name a file which shells run first.
const FILES: &[&str] = &["BASH_ENV", "ENV"];

impl Walker {
    /// What a program runs because a variable says so.
    pub(super) fn scripts_in_variable(&mut self, name: &str, value: &Value) {
        let names_command = ["_COMMAND", "_CMD", "_EDITOR", "_PAGER", "_ASKPASS", "_SHELL"];
        let is_command = |text: &str| text.contains(' ') || text.starts_with('/');
        let script = if COMMANDS.contains(&name)
            || names_command.iter().any(|end| name.ends_with(end))
                && value.known().is_some_and(is_command)
        {
            value.clone()
        } else if name == "PATH" && begins_elsewhere(value) || name.starts_with("BASH_FUNC_") {
            self.unknown(Why::Program, &format!("{name}={value}"));
            return;
        } else if LOADERS.contains(&name) && loads_code(name, value) {
            self.unknown(Why::Code, &format!("{name}={value}"));
            return;
        } else if FILES.contains(&name) {
            match value.known().and_then(|path| self.state.file(path)) {
                Some(content) => content.clone(),
                None if value.is_empty() => return,
                None => {
                    self.unknown(Why::Code, &format!("{name}={value}"));
                    return;
                }
            }
        } else {
            return;
        };
        self.inner(name, |walker| walker.apart(|walker| walker.code(&script, &Input::Inherited)));
    }

    /// Sets what a declaration says, and gives its arguments.
    pub(super) fn declaration(&mut self, words: &[Word]) -> Vec<Value> {
        let exports = words.iter().any(|word| {
            matches!(word.pieces.as_slice(), [Piece::Text(text)] if text == "export" || text == "-x")
        });
        let mut argv = Vec::new();
        for word in words {
            match assignment_of(word) {
                Some(assignment) => {
                    let value = self.assign(&assignment);
                    if exports {
                        self.state.export(&assignment.name);
                        self.scripts_in_variable(&assignment.name, &value);
                    }
                    let mut argument = Value::text(format!("{}=", assignment.name));
                    argument.append(&value);
                    argv.push(argument);
                }
                None => argv.extend(self.fields(std::slice::from_ref(word))),
            }
        }
        let is_reference = |option: &str| {
            option.starts_with('-') && !option.starts_with("--") && option.contains('n')
        };
        let refers = !exports && argv.iter().filter_map(Value::known).any(is_reference);
        let changes = |option: &str| {
            option.starts_with('-')
                && !option.starts_with("--")
                && option.contains(['i', 'l', 'u', 'n'])
        };
        if argv.iter().filter_map(Value::known).any(changes) && !exports {
            for name in argv
                .iter()
                .skip(1)
                .map(|word| word.prefix().split('=').next().unwrap_or("").to_owned())
            {
                if !name.starts_with('-') && !name.is_empty() {
                    self.state.set_typed(&name);
                    self.state.set(&name, Binding::one(Value::unknown()));
                }
            }
        }
        for argument in argv.iter().skip(1) {
            self.subscripts_in(argument);
            // Another name for a variable: what either holds is not followed any more.
            if refers && let Some((name, target)) = argument.known().and_then(|a| a.split_once('='))
            {
                self.state.set(name, Binding::one(Value::unknown()));
                self.state.set(target, Binding::one(Value::unknown()));
            }
        }
        if exports {
            for name in argv.iter().skip(1).filter_map(Value::known) {
                self.state.export(name);
            }
        }
        argv
    }

    /// Variables that are read from input.
    pub(super) fn read(&mut self, name: &str, arguments: &[Value], input: &Input) {
        if matches!(name, "test" | "[" | "jobs" | "wait" | "compgen" | "complete") {
            return;
        }
        for argument in arguments {
            self.hidden_subscript(argument);
        }
        if let Input::Text(text) = input {
            self.hidden_subscript(text);
        }
        let lines = match input {
            Input::Text(text) => text.known(),
            _ => None,
        };
        let names: Vec<_> = arguments.iter().filter_map(Value::known).collect();
        // Options of which the next word is the value.
        let valued = ["-p", "-d", "-n", "-N", "-t", "-u", "-i", "-s", "-O", "-c", "-C"];
        let mut before = "";
        let mut set = Vec::new();
        for name in names {
            if !name.starts_with('-') && (!valued.contains(&before) || before == "-s") {
                set.push(name);
            }
            before = name;
        }
        let separators = match self.lookup("IFS") {
            value if value.has_unknown() => String::new(),
            value => value.to_string(),
        };
        let split = |text: &str| -> Vec<String> {
            let words = text.trim_end_matches('\n').split(|c| separators.contains(c));
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        if arguments
            .iter()
            .filter_map(Value::known)
            .any(|option| option.starts_with('-') && option.ends_with('a') && name == "read")
        {
            let words = match lines {
                Some(text) => split(text).into_iter().map(Value::text).collect(),
                None => vec![Value::unknown()],
            };
            for name in set {
                self.state.set(name, Binding::Array(words.clone()));
            }
            return;
        }
        // A loop goes through all lines, so of several none is known.
        let one_line = lines.filter(|text| text.trim_end_matches('\n').lines().count() <= 1);
        match (one_line, set.as_slice()) {
            (Some(text), [only]) if name == "read" => {
                let value = Value::text(text.trim().to_owned());
                self.state.set(only, Binding::one(value));
            }
            (Some(text), [_, _, ..]) if name == "read" => {
                let count = set.len();
                let mut words = split(text).into_iter();
                for (at, name) in set.into_iter().enumerate() {
                    let value = if at + 1 == count {
                        words.by_ref().collect::<Vec<_>>().join(" ")
                    } else {
                        words.next().unwrap_or_default()
                    };
                    self.state.set(name, Binding::one(Value::text(value)));
                }
            }
            _ => {
                let value = match input {
                    // Every line begins as the text does, which programs that list files rely on.
                    Input::Text(text) if !text.is_empty() && lines.is_none() => {
                        super::expand::trim_newlines(text)
                    }
                    _ => Value::unknown(),
                };
                for name in set {
                    self.state.set(name, Binding::one(value.clone()));
                }
                for name in ["REPLY", "MAPFILE", "OPTARG"] {
                    self.state.set(name, Binding::one(value.clone()));
                }
            }
        }
    }
}

/// `name=value`, as a word of a declaration.
fn assignment_of(word: &Word) -> Option<Assignment> {
    let (first, rest) = word.pieces.split_first()?;
    let Piece::Text(text) = first else { return None };
    let (name, value) = text.split_once('=')?;
    let (name, append) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let mut pieces = Vec::with_capacity(rest.len() + 1);
    if !value.is_empty() {
        pieces.push(Piece::Text(value.to_owned()));
    }
    pieces.extend_from_slice(rest);
    let value = Word { pieces, span: word.span.clone() };
    Some(Assignment { name: name.to_owned(), subscript: None, append, value })
}
