//! `tollgate`: see, check, try, test and trust the hooks of AI agents.

mod allow;
mod args;
mod check;
mod completions;
mod convert;
mod demo;
mod dispatch;
mod doctor;
mod events;
mod exception;
mod exit;
mod fire;
mod hook;
mod init;
mod install;
mod list;
mod man;
mod out;
mod payload;
mod person;
mod place;
mod problem;
mod progress;
mod run;
mod schema;
mod setup;
mod show;
mod status;
mod test;
mod translate;
mod trust;
mod visible;
mod why;
mod world;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};
use exit::Exit;
use out::Out;
use problem::Problem;
use tollgate_config::guard::FOR_PEOPLE;

fn main() -> ExitCode {
    // A process that was started to run scripts goes no further.
    tollgate_starlark::worker::init();
    if std::env::args_os().nth(1).is_none() {
        return without_arguments();
    }
    if asks_for_version() {
        let mut out = Out::default();
        out.line(concat!("tollgate ", env!("CARGO_PKG_VERSION")));
        return out.finish(Exit::Fine).into();
    }
    let Asked { command, name } = match asked() {
        Ok(asked) => asked,
        Err(error) => return usage(&error),
    };
    if let Command::Hook(args) = &command {
        return hook::run(args);
    }
    if let Command::Translate(args) = &command {
        return translate::run(args);
    }
    let mut out = Out::default();
    let allowed = match name {
        Some(name) if !command.only_shows() => person::required(name),
        _ => Ok(()),
    };
    let exit = allowed.and_then(|()| run(&command, &mut out)).unwrap_or_else(|problem| {
        problem.tell(&mut out);
        if asks_for_json() && !out.has_result() {
            out.json(&problem.report());
        }
        Exit::Problem
    });
    out.finish(exit).into()
}

/// What is asked for.
struct Asked {
    command: Command,
    /// The name of the command, where it is one for people.
    name: Option<&'static str>,
}

impl From<Command> for Asked {
    fn from(command: Command) -> Self {
        Self { command, name: None }
    }
}

/// Parses the arguments. Of a program that is started for each event, `fire` and `hook` are most of the time: they do
/// not wait until all other commands are described.
fn asked() -> Result<Asked, clap::Error> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == "fire" => {
            of::<fire::Args>("tollgate fire", arguments).map(|args| Command::Fire(args).into())
        }
        Some(first) if first == "hook" => {
            of::<hook::Args>("tollgate hook", arguments).map(|args| Command::Hook(args).into())
        }
        // As people know it from other programs.
        Some(first) if first == "help" => {
            let asked = std::iter::once("tollgate".into()).chain(arguments);
            let asked = asked.chain([OsString::from("--help")]);
            Cli::try_parse_from(asked).map(|cli| cli.command.into())
        }
        _ => {
            let matches = Cli::command().try_get_matches()?;
            let of_people = |name: &&&str| matches.subcommand_name() == Some(name);
            let name = FOR_PEOPLE.iter().find(of_people).copied();
            let cli = Cli::from_arg_matches(&matches)
                .map_err(|error| error.format(&mut Cli::command()))?;
            Ok(Asked { command: cli.command, name })
        }
    }
}

/// The arguments of one command.
fn of<A: clap::Args>(
    name: &'static str,
    arguments: impl Iterator<Item = OsString>,
) -> Result<A, clap::Error> {
    let parser = clap::Command::new(name).bin_name(name).max_term_width(args::WIDTH);
    let matches = A::augment_args(parser)
        .try_get_matches_from(std::iter::once(name.into()).chain(arguments))?;
    A::from_arg_matches(&matches)
}

fn run(command: &Command, out: &mut Out) -> Result<Exit, Problem> {
    match command {
        Command::List(args) => list::run(args, out),
        Command::Check(args) => check::run(args, out),
        Command::Fire(args) => fire::run(args, out),
        Command::Why(args) => why::run(args, out),
        // Has been run already: it prints what another program reads, and nothing else.
        Command::Hook(_) | Command::Translate(_) => Ok(Exit::Problem),
        Command::Install(args) => install::install(args, out),
        Command::Uninstall(args) => install::uninstall(args, out),
        Command::Setup(args) => setup::run(args, out),
        Command::Status(args) => status::run(args, out),
        Command::Doctor(args) => doctor::run(args, out),
        Command::Test(args) => test::run(args, out),
        Command::Trust(args) => trust::run(args, out),
        Command::Allow(args) => allow::run(args, out),
        Command::Init(args) => init::run(args, out),
        Command::Run(args) => run::run(args, out),
        Command::Demo(args) => demo::run(args, out),
        Command::Convert(args) => convert::run(args, out),
        Command::Schema(args) => schema::run(args, out),
        Command::Events(args) => events::run(args, out),
        Command::Completions(args) => completions::run(args, out),
        Command::Man(args) => man::run(args, out),
    }
}

/// Says what there is to begin with. Nothing was asked for, so nothing was done: not a success.
fn without_arguments() -> ExitCode {
    let mut out = Out::default();
    out.note("tollgate: hooks for AI agents. It needs a command.");
    out.note("");
    for (command, about) in [
        ("tollgate setup", "protect this machine: guards for all agents here"),
        ("tollgate status", "show which agents are guarded, and by what"),
        ("tollgate list", "show the hooks in force here"),
        ("tollgate why 'COMMAND'", "say what would be decided about a command line, and why"),
        ("tollgate allow CODE", "let a call pass that was refused"),
        ("tollgate --help", "list all commands"),
    ] {
        out.note(format!("  {command:<24} {about}"));
    }
    out.finish(Exit::Problem);
    ExitCode::from(MISUSED)
}

/// The exit code without any argument, as of other programs.
const MISUSED: u8 = 2;

/// Whether that is all that is asked for: then there is no need to know what else could be.
fn asks_for_version() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    first.is_some_and(|first| first == "--version" || first == "-V") && arguments.next().is_none()
}

/// Whether a program reads the result: then it gets an object also where there is none.
fn asks_for_json() -> bool {
    let mut arguments = std::env::args_os().skip(1).take_while(|argument| argument != "--");
    arguments.any(|argument| argument == "--json")
}

/// What is wrong with the arguments, or the help that was asked for. The parser's own exit code for
/// a mistake is 2, which here means denied.
fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().nth(1).is_some_and(|first| first == "hook") {
        return hook::misused(error);
    }
    if error.use_stderr() && std::env::args_os().nth(1).is_some_and(|first| first == "translate") {
        return translate::misused(error);
    }
    if error.use_stderr() && asks_for_json() {
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        let problem = Problem::new(message.strip_prefix("error: ").unwrap_or(message))
            .help("`--help` tells which arguments there are");
        let mut out = Out::default();
        out.json(&problem.report());
        out.finish(Exit::Problem);
    }
    // A closed pipe is no error.
    let _ = error.print();
    if error.use_stderr() { Exit::Problem.into() } else { Exit::Fine.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a name in the list that is misspelt would keep nobody from anything.
    #[test]
    fn every_command_for_people_is_one() {
        let cli = Cli::command();
        for name in FOR_PEOPLE {
            assert!(cli.get_subcommands().any(|command| command.get_name() == *name), "{name}");
        }
    }
}
