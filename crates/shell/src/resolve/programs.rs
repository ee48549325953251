//! Programs that run other programs.

mod clients;
mod many;
mod options;
mod shells;
mod table;
mod tools;
mod words;

use super::builtins::joined;
use super::files::Opened;
use super::walk::Walker;
use super::{Command, Input, Why, code, project};
use crate::effects;
use crate::names::{Index, base};
use crate::value::{Part, Value};
use options::{ends_cluster, is_assignment, is_option, options_end, value_of};
use table::PROGRAMS;
use words::{commands_in_words, fed_shell, unknown_shell, written_file};

/// What a program does with its arguments and its input. Gives what is printed, or nothing where it
/// runs no other.
type Run = fn(&mut Walker, &[Value], &Input) -> Option<Value>;

/// How a program runs another one.
enum Runs {
    /// The rest of its arguments is the command: behind its options, and so many operands.
    Rest { operands: usize },
    /// The operands behind the first ones, joined, are a script.
    Joined { operands: usize },
    /// Its own way.
    Own(Run),
}

struct Program {
    names: &'static [&'static str],
    /// Options that take the next word as their value.
    valued: &'static [&'static str],
    /// Options of which the value is a script.
    scripts: &'static [&'static str],
    runs: Runs,
}

/// Whether a program is only to say something about itself.
fn tells_itself(arguments: &[Value]) -> bool {
    let tells = ["--version", "--help", "-version", "-help", "-V", "-h", "-?"];
    arguments.iter().filter_map(Value::known).any(|argument| tells.contains(&argument))
}

fn nothing(_: &mut Walker, _: &[Value], _: &Input) -> Option<Value> {
    None
}

/// Follows what a program runs. Gives what is printed, or nothing where it runs no other.
pub(super) fn run(walker: &mut Walker, name: &str, argv: &[Value], input: &Input) -> Option<Value> {
    fed_shell(walker, name, argv, input);
    if let Some(printed) = code::run(walker, name, argv, input) {
        return Some(printed);
    }
    commands_in_words(walker, name, argv);
    project::run(walker, name, argv, input);
    unknown_shell(walker, name, argv);
    written_file(walker, name, argv);
    clients::run(walker, name, argv.get(1..).unwrap_or_default(), input);
    let Some(program) = program_of(name) else {
        return script_file(walker, argv, input).or_else(|| tail(walker, name, argv, input));
    };
    let arguments = argv.get(1..).unwrap_or_default();
    let mut printed = None;
    let own = match program.runs {
        // Behind them stands another command, with options of its own.
        Runs::Rest { operands } | Runs::Joined { operands } => {
            arguments.get(..program.operands(arguments, operands)).unwrap_or_default()
        }
        Runs::Own(_) => arguments,
    };
    for script in program.scripts_in(own) {
        let output =
            walker.inner(name, |walker| walker.child(|walker| walker.code(&script, input)));
        printed = Some(output);
    }
    match &program.runs {
        Runs::Own(run) => run(walker, arguments, input).or(printed),
        _ if printed.is_some() => printed,
        Runs::Rest { operands } => {
            let rest = arguments.get(program.operands(arguments, *operands)..)?;
            // `sudo -s`, `sudo -i` and the like without a command: a shell of the person's.
            if rest.is_empty() {
                let reads = matches!(input, Input::Text(_) | Input::Pipe);
                let wants_shell = |argument: &Value| {
                    let is_cluster = |text: &str| {
                        !text.starts_with("--")
                            && text.starts_with('-')
                            && text.contains(['s', 'i'])
                    };
                    matches!(argument.known(), Some("--shell" | "--login"))
                        || argument.known().is_some_and(is_cluster)
                };
                let gives_shell = match name {
                    "unshare" | "chroot" | "nsenter" | "run0" => reads || !tells_itself(arguments),
                    "sudo" | "doas" => reads || arguments.iter().any(wants_shell),
                    "runuser" => reads,
                    _ => false,
                };
                return gives_shell.then(|| walker.read_script(name, input));
            }
            let rest = rest.to_vec();
            let at =
                arguments.iter().position(|word| matches!(word.known(), Some("-D" | "--chdir")));
            let directory = at.filter(|_| name == "sudo").and_then(|at| arguments.get(at + 1));
            let Some(directory) = directory.cloned() else {
                return Some(walker.inner_argv(name, rest, input));
            };
            Some(walker.apart(|walker| {
                walker.state.directories = vec![directory].into();
                walker.inner_argv(name, rest, input)
            }))
        }
        Runs::Joined { operands } => {
            let rest = arguments.get(program.operands(arguments, *operands)..)?;
            let script = joined(rest);
            Some(walker.inner(name, |walker| walker.child(|walker| walker.code(&script, input))))
        }
    }
}

impl Program {
    /// Where the operands behind the first so many begin.
    fn operands(&self, arguments: &[Value], skip: usize) -> usize {
        let valued: Vec<&str> = self.valued.iter().chain(self.scripts).copied().collect();
        let mut at = options_end(arguments, &valued);
        let mut left = skip;
        // Assignments before a command are part of it, as for `env`.
        while left > 0 && at < arguments.len() {
            at += 1;
            left -= 1;
            at += options_end(arguments.get(at..).unwrap_or_default(), &valued);
        }
        let runs_argv = matches!(self.runs, Runs::Rest { .. });
        while runs_argv && arguments.get(at).is_some_and(is_assignment) {
            at += 1;
        }
        at
    }

    fn scripts_in(&self, arguments: &[Value]) -> Vec<Value> {
        let mut scripts = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            for option in self.scripts {
                if is_option(argument, option) || ends_cluster(argument, option) {
                    scripts.extend(arguments.get(at + 1).cloned());
                } else if let Some(value) = value_of(argument, option) {
                    // `--checkpoint-action=exec=COMMAND`
                    let value = match value.known().and_then(|text| text.strip_prefix("exec=")) {
                        Some(command) => Value::text(command),
                        None => value,
                    };
                    scripts.push(value);
                }
            }
        }
        scripts
    }
}

impl Walker {
    /// Runs a command from inside another.
    fn inner_argv(&mut self, via: &str, argv: Vec<Value>, input: &Input) -> Value {
        let input = input.clone();
        self.inner(via, |walker| walker.run(Command { argv, input, ..Command::default() }))
    }

    /// Does something in another program, which does not see all variables.
    fn child<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.apart(|walker| {
            walker.state.in_program();
            work(walker)
        })
    }
}

/// By their names.
#[expect(clippy::indexing_slicing, reason = "runs when it is compiled, never later")]
static BY_NAME: Index<1024> = {
    let mut names: [&[&str]; PROGRAMS.len()] = [&[]; PROGRAMS.len()];
    let mut row = 0;
    while row < PROGRAMS.len() {
        names[row] = PROGRAMS[row].names;
        row += 1;
    }
    Index::new(&names)
};

fn program_of(name: &str) -> Option<&'static Program> {
    let row =
        BY_NAME.find(name, |row| PROGRAMS.get(row).is_some_and(|it| it.names.contains(&name)))?;
    PROGRAMS.get(row)
}

/// A program that nobody here knows may run what its arguments name. Where one of them is a program
/// that deletes or a shell, that is looked at as if it did.
fn tail(walker: &mut Walker, name: &str, argv: &[Value], input: &Input) -> Option<Value> {
    let is_launcher = matches!(
        name,
        "ssh-agent"
            | "machinectl"
            | "cgexec"
            | "sshpass"
            | "pssh"
            | "pdsh"
            | "direnv"
            | "dotenv"
            | "ccache"
            | "distcc"
            | "start-stop-daemon"
            | "flatpak-spawn"
            | "byobu"
            | "abduco"
            | "dtach"
            | "nsjail"
            | "apptainer"
            | "singularity"
            | "expect"
            | "rails"
            | "cmake"
            | "gdb"
            | "lldb"
            | "perf"
            | "opam"
            | "nix"
            | "guix"
            | "mix"
            | "bundle"
            | "foreman"
            | "honcho"
            | "supervisorctl"
            | "at"
            | "mpirun"
            | "mpiexec"
            | "srun"
            | "sbatch"
            | "qsub"
            | "bsub"
            | "condor_run"
            | "service"
    );
    if !is_launcher && effects::is_known(name) {
        return None;
    }
    let is_program = |argument: &Value| {
        argument
            .known()
            .map(base)
            .is_some_and(|base| is_run_by_others(base) || base.starts_with("mkfs."))
    };
    let at = argv.iter().skip(1).position(is_program)? + 1;
    let rest = argv.get(at..).filter(|rest| rest.len() > 1)?.to_vec();
    walker.inner_argv(name, rest, input);
    None
}

/// Whether a word is more likely to be a program than anything else.
fn is_run_by_others(name: &str) -> bool {
    matches!(
        name,
        "rm" | "sh"
            | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "sudo"
            | "env"
            | "find"
            | "dd"
            | "shred"
            | "mkfs"
            | "xargs"
            | "git"
            | "chmod"
            | "chown"
            | "mv"
            | "truncate"
            | "wipefs"
            | "kill"
            | "dropdb"
    )
}

/// `./script` that was written before.
fn script_file(walker: &mut Walker, argv: &[Value], input: &Input) -> Option<Value> {
    let name = argv.first()?.to_string();
    let name = name.as_str();
    if !name.contains('/') {
        return None;
    }
    let Some(run) = walker.run_file(name) else {
        if walker.unpacked && !builds_from_source(name) && walker.is_absent(name) {
            walker.unknown(Why::Fetched, &format!("`{name}`"));
        }
        return None;
    };
    Some(interpreted(walker, name, &run, argv, input))
}

/// True for the scripts by which source packages are built: to unpack one and build it is ordinary work.
fn builds_from_source(name: &str) -> bool {
    matches!(base(name), "configure" | "autogen.sh" | "buildconf" | "bootstrap.sh" | "config")
}

/// A file of which the content is known, run as a program.
fn interpreted(
    walker: &mut Walker,
    name: &str,
    run: &Opened,
    argv: &[Value],
    input: &Input,
) -> Value {
    let content = &run.content;
    if let [Part::Unknown] = content.parts() {
        walker.unknown(Why::Code, &format!("`{name}`"));
        return Value::unknown();
    }
    let first = content.prefix().lines().next().unwrap_or_default();
    let interpreter = first.strip_prefix("#!").and_then(|line| {
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        words.find(|word| *word != "env" && !word.starts_with('-'))
    });
    if let Some(interpreter) = interpreter
        && code::speaks(interpreter)
    {
        let interpreter = interpreter.to_owned();
        return walker.inner(name, |walker| {
            project::look(walker, &interpreter, run);
            Value::unknown()
        });
    }
    // Of a file that is there, only what calls itself a script is taken for one.
    let is_script =
        first.starts_with("#!") || !name.starts_with(['.', '/', '~']) || run.script.is_none();
    if !is_script
        && !has_shell_ending(name)
        && run.script.as_ref().is_some_and(|script| script.is_settled)
    {
        return Value::unknown();
    }
    if walker.via.iter().any(|via| via == name) {
        walker.runs_itself(name);
        return Value::unknown();
    }
    let positional = argv.get(1..).unwrap_or_default().to_vec();
    let this = Value::text(name);
    walker.within(run.script.clone(), |walker| {
        walker.inner(name, |walker| {
            walker.child(|walker| {
                walker.state.positional = positional;
                walker.state.set_script(Some(this));
                let output = walker.code(content, input);
                walker.run_traps();
                output
            })
        })
    })
}

fn has_shell_ending(name: &str) -> bool {
    let ending = std::path::Path::new(name).extension().and_then(|ending| ending.to_str());
    matches!(ending, None | Some("sh" | "bash" | "zsh"))
}
