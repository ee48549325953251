//! What the shell itself does when a command is run: its built-ins and functions.

use super::state::{Binding, home};
use super::typed::{TYPED_INTO, is_own_input};
use super::walk::Walker;
use super::{Command, Input, Why, output, programs, project};
use crate::names::base;
use crate::value::{Part, Value};

impl Walker {
    /// Runs a command: notes it, and follows what it runs in turn. Gives what it prints.
    pub(super) fn run(&mut self, command: Command) -> Value {
        let Some(program) = command.argv.first() else {
            self.emit(command);
            return Value::default();
        };
        let in_home = match program.parts() {
            [Part::Home, Part::Text(rest)] if rest.starts_with('/') => Some(format!("~{rest}")),
            _ => None,
        };
        let Some(name) = program.known().or(in_home.as_deref()) else {
            let text = program.to_string();
            self.unknown(Why::Program, &text);
            if let Some(name) = may_be(&text) {
                let mut argv = command.argv.clone();
                if let Some(program) = argv.first_mut() {
                    *program = Value::text(name);
                }
                self.emit(Command { argv, ..command.clone() });
            }
            let file = command.argv.get(1).and_then(Value::known).map(str::to_owned);
            self.emit(command);
            if let Some(file) = file {
                project::guessed(self, &file);
            }
            return Value::unknown();
        };
        let plain = name.trim_start_matches("./");
        if let Some(alias) = self.state.alias(name).or_else(|| self.state.alias(plain)) {
            self.alias(name, &alias, &command);
        }
        self.emit_while(command, Self::follow)
    }

    /// Whether aliases count is the shell's setting, so what one stands for is looked at beside it.
    fn alias(&mut self, name: &str, text: &str, command: &Command) {
        let label = format!("alias {name}");
        // An alias may use its own name, and may have been given another meaning inside of itself.
        if self.via.iter().filter(|via| **via == label).count() < 3 {
            let mut text = Value::text(text);
            text.append(&quoted(command.argv.get(1..).unwrap_or_default()));
            self.inner(&label, |walker| walker.code(&text, &command.input));
        }
    }

    /// What a command of which the program is known runs and prints.
    fn follow(&mut self, command: &Command) -> Value {
        let Command { argv, input, .. } = command;
        let Some((program, arguments)) = argv.split_first() else { return Value::default() };
        let shown = program.to_string();
        let name = program.known().unwrap_or(&shown);
        if self.state.function(name).is_some() {
            return self.function(name, arguments, input);
        }
        if let Some(printed) = self.builtin(name, arguments, input) {
            return printed;
        }
        let short = base(name);
        if let Some(printed) = programs::run(self, short, argv, input) {
            return printed;
        }
        let printed = output::of(&self.state, short, arguments, input);
        let decodes = matches!(short, "base64" | "base32" | "openssl" | "xxd" | "rev");
        if let Some(text) = printed.known().filter(|_| decodes) {
            self.decoded.push(text.to_owned());
        }
        printed
    }

    /// What a built-in does and prints, if it is one.
    fn builtin(&mut self, name: &str, arguments: &[Value], input: &Input) -> Option<Value> {
        let quiet = Some(Value::default());
        match name {
            "cd" | "pushd" => {
                let operand = arguments.iter().find(|argument| {
                    !matches!(argument.known(), Some("-P" | "-L" | "-e" | "-@" | "--" | "-n"))
                });
                self.change_directory(name, operand);
                quiet
            }
            "popd" => {
                let to = self.state.pop_directory();
                let to = to.map_or_else(|| vec![Value::unknown()], |to| to.to_vec());
                self.state.change_directory(to);
                quiet
            }
            "eval" => {
                let code = match arguments {
                    [first, rest @ ..] if first.known() == Some("--") => joined(rest),
                    all => joined(all),
                };
                Some(self.inner("eval", |walker| walker.code(&code, input)))
            }
            "exec" | "command" | "builtin" => self.passed_on(name, arguments, input),
            "." | "source" => {
                let path = arguments.first()?;
                let run = path.known().and_then(|path| self.run_file(path));
                if let Some(run) = run {
                    return Some(self.within(run.script, |walker| {
                        walker.inner("source", |walker| walker.code(&run.content, input))
                    }));
                }
                if path.known().is_some_and(is_own_input) {
                    return Some(self.read_script("source", input));
                }
                Some(Value::unknown())
            }
            "trap" => {
                self.trap(arguments);
                quiet
            }
            "exit" => {
                let traps = self.traps.clone();
                self.run_traps();
                self.traps = traps;
                quiet
            }
            _ => self.setting(name, arguments, input),
        }
    }

    /// Built-ins that set something, or do nothing that matters here.
    fn setting(&mut self, name: &str, arguments: &[Value], input: &Input) -> Option<Value> {
        let quiet = Some(Value::default());
        match name {
            "alias" => {
                for argument in arguments.iter().filter_map(Value::known) {
                    if let Some((name, text)) = argument.split_once('=') {
                        self.state.set_alias(name, Some(text));
                    }
                }
                quiet
            }
            "unalias" => {
                for argument in arguments.iter().filter_map(Value::known) {
                    self.state.set_alias(argument, None);
                }
                quiet
            }
            "unset" => {
                for argument in arguments.iter().filter_map(Value::known) {
                    self.state.unset(argument);
                }
                quiet
            }
            "set" => {
                self.options(arguments);
                quiet
            }
            "shift" => {
                let count = arguments.first().and_then(Value::known).unwrap_or("1").parse();
                let all = self.state.positional.len();
                let count = count.unwrap_or(all).min(all);
                self.state.positional.drain(..count);
                quiet
            }
            "read" | "getopts" => {
                self.read(name, arguments, input);
                quiet
            }
            "let" => {
                for argument in arguments {
                    self.subscripts_in(argument);
                }
                for argument in arguments.iter().filter_map(Value::known) {
                    if let Some((name, _)) = argument.split_once('=') {
                        self.state.set(name, Binding::one(Value::unknown()));
                    }
                }
                quiet
            }
            "printf" if arguments.first().and_then(Value::known) == Some("-v") => {
                for argument in arguments {
                    self.hidden_subscript(argument);
                }
                let name = arguments.get(1).and_then(Value::known)?.to_owned();
                let rest = arguments.get(2..).unwrap_or_default();
                let text = output::of(&self.state, "printf", rest, input);
                self.state.set(&name, Binding::one(text));
                quiet
            }
            "hash" => {
                // `hash -p PATH NAME` has the name mean something else from here on.
                if let [option, path, name, ..] = arguments
                    && option.known() == Some("-p")
                    && let (Some(path), Some(name)) = (path.known(), name.known())
                {
                    self.state.set_alias(name, Some(path));
                }
                quiet
            }
            "enable" if arguments.iter().any(|argument| argument.prefix().starts_with("-f")) => {
                self.unknown(Why::Code, "a built-in from a file");
                quiet
            }
            "compgen" | "complete" | "mapfile" | "readarray" | "jobs" | "test" | "[" | "wait" => {
                self.read(name, arguments, input);
                for (at, argument) in arguments.iter().enumerate() {
                    let next = arguments.get(at + 1).cloned();
                    match (argument.known(), next) {
                        (Some("-C"), Some(code)) => {
                            self.inner(name, |walker| walker.code(&code, &Input::Inherited));
                        }
                        (Some("-x"), Some(_)) if name == "jobs" => {
                            let argv = arguments.get(at + 1..).unwrap_or_default().to_vec();
                            self.inner(name, |walker| {
                                walker.run(Command { argv, ..Command::default() })
                            });
                        }
                        (Some("-v" | "-R" | "-p" | "-W"), Some(word)) => self.subscripts_in(&word),
                        _ => {}
                    }
                }
                quiet
            }
            "declare" | "typeset" | "local" | "export" | "readonly" | ":" | "true" | "false"
            | "shopt" | "umask" | "ulimit" | "return" | "break" | "continue" | "enable"
            | "bind" | "compopt" | "times" | "disown" | "suspend" | "logout" | "bg" | "fg" => quiet,
            _ => None,
        }
    }

    /// `exec`, `command` and `builtin` run what comes behind their options.
    fn passed_on(&mut self, name: &str, arguments: &[Value], input: &Input) -> Option<Value> {
        let mut at = 0;
        while let Some(option) = arguments.get(at).and_then(Value::known) {
            match option {
                "-a" if name == "exec" => at += 2,
                "-v" | "-V" if name == "command" => {
                    // It says where a program is, and runs nothing.
                    let found = arguments.get(at + 1).cloned();
                    return Some(found.unwrap_or_default());
                }
                "--" => {
                    at += 1;
                    break;
                }
                option if option.starts_with('-') && option.len() > 1 => at += 1,
                _ => break,
            }
        }
        let argv = arguments.get(at..).filter(|argv| !argv.is_empty())?.to_vec();
        let input = input.clone();
        // A function of that name is not meant, but to look at it does no harm.
        Some(self.inner(name, |walker| walker.run(Command { argv, input, ..Command::default() })))
    }

    fn change_directory(&mut self, name: &str, to: Option<&Value>) {
        if name == "pushd" {
            self.state.push_directory();
        }
        let Some(to) = to else {
            self.state.change_directory(vec![home()]);
            return;
        };
        if to.known() == Some("-") {
            let mut to = self.state.previous().to_vec();
            if to.is_empty() {
                to.push(Value::unknown());
            }
            self.state.change_directory(to);
            return;
        }
        if self.state.binding("CDPATH").is_some() {
            self.state.change_directory(vec![Value::unknown()]);
            return;
        }
        let from = self.state.directories.clone();
        let mut there: Vec<Value> = from.iter().map(|from| below(from, to)).collect();
        there.extend(self.state.leads_to(to));
        self.state.change_directory(there);
    }

    fn trap(&mut self, arguments: &[Value]) {
        let mut arguments = arguments.iter().filter(|argument| argument.known() != Some("--"));
        let Some(code) = arguments.next() else { return };
        if matches!(code.known(), Some("" | "-" | "-l" | "-p")) {
            return;
        }
        let at_end = arguments.all(|signal| {
            matches!(signal.known(), Some("EXIT" | "0" | "INT" | "TERM" | "HUP" | "QUIT"))
        });
        if !at_end {
            let code = code.clone();
            let before = self.state.clone();
            self.code(&code, &Input::Inherited);
            // It may have run, any number of times.
            self.state.join(before);
        }
        self.traps.push(code.clone());
    }

    fn options(&mut self, arguments: &[Value]) {
        for (at, argument) in arguments.iter().enumerate() {
            match argument.known() {
                Some("--") => {
                    self.state.positional = arguments.get(at + 1..).unwrap_or_default().to_vec();
                    return;
                }
                Some("errexit") => self.state.stops_at_errors = true,
                Some(option) if option.starts_with('-') && !option.starts_with("--") => {
                    self.state.stops_at_errors |= option.contains('e');
                }
                Some(option) if option.starts_with('+') => {
                    self.state.stops_at_errors &= !option.contains('e');
                }
                Some("pipefail" | "nounset" | "xtrace" | "noglob") => {}
                _ => {
                    self.state.positional = arguments.get(at..).unwrap_or_default().to_vec();
                    return;
                }
            }
        }
    }

    /// A shell that reads what to do from its input.
    pub(super) fn read_script(&mut self, name: &str, input: &Input) -> Value {
        match input {
            Input::Text(text) => {
                let text = text.clone();
                self.inner(name, |walker| walker.code(&text, &Input::Inherited))
            }
            Input::Pipe => {
                self.unknown(Why::Code, &format!("what is piped into {name}"));
                Value::unknown()
            }
            Input::Inherited => {
                self.typed_into(name);
                Value::unknown()
            }
            Input::File => Value::unknown(),
        }
    }

    /// A program that runs what is typed into it: nobody knows yet what that will be.
    pub(super) fn typed_into(&mut self, name: &str) {
        self.unknown(Why::Typed, &format!("{TYPED_INTO}{name}"));
    }
}

/// The program that deletes which a name may be that is known in part: `/bin/[r]m`, `r$?m`.
fn may_be(name: &str) -> Option<&'static str> {
    let open = name.replace("$?", "*");
    let pattern = base(&open);
    let told = pattern.chars().any(char::is_alphabetic);
    let names = ["rm", "shred", "dd", "mkfs", "wipefs"];
    // What is not known may have slashes in it.
    let end = pattern.rsplit('*').next().unwrap_or(pattern);
    let is_it = |name: &&&str| {
        crate::effects::location::matches(pattern, name) || pattern.contains('*') && end == **name
    };
    names.iter().filter(|_| told).find(is_it).copied()
}

/// A path below a directory, or by itself where it is absolute.
pub(super) fn below(directory: &Value, path: &Value) -> Value {
    let from_itself = match path.parts().first() {
        Some(Part::Text(text)) => text.starts_with('/'),
        Some(Part::Home | Part::Unknown) => true,
        Some(Part::Glob(_)) | None => false,
    };
    if from_itself {
        return path.clone();
    }
    let mut whole = directory.clone();
    whole.push_str("/");
    whole.append(path);
    whole
}

/// Values with a space between them.
pub(super) fn joined(values: &[Value]) -> Value {
    let mut all = Value::default();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            all.push_str(" ");
        }
        all.append(value);
    }
    all
}

/// Values as a shell would read them as words again, each with a space before it.
fn quoted(values: &[Value]) -> Value {
    let mut all = Value::default();
    for value in values {
        all.push_str(" ");
        for part in value.parts() {
            match part {
                Part::Text(text) => {
                    all.push_str("'");
                    all.push_str(&text.replace('\'', "'\\''"));
                    all.push_str("'");
                }
                other => all.push(other.clone()),
            }
        }
    }
    all
}
