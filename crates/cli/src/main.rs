//! `tollgate`: see, check, try, test and trust the hooks of AI agents.

mod args;
mod check;
mod completions;
mod demo;
mod dispatch;
mod events;
mod exit;
mod fire;
mod init;
mod list;
mod man;
mod out;
mod place;
mod problem;
mod run;
mod schema;
mod show;
mod test;
mod trust;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::{Args as _, FromArgMatches as _, Parser as _};
use exit::Exit;
use out::Out;
use problem::Problem;

fn main() -> ExitCode {
    // A process that was started to run scripts goes no further.
    tollgate_starlark::worker::init();
    if asks_for_version() {
        let mut out = Out::default();
        out.line(concat!("tollgate ", env!("CARGO_PKG_VERSION")));
        return out.finish(Exit::Fine).into();
    }
    let command = match command() {
        Ok(command) => command,
        Err(error) => return usage(&error),
    };
    let mut out = Out::default();
    let exit = run(&command, &mut out).unwrap_or_else(|problem| {
        problem.tell(&mut out);
        Exit::Problem
    });
    out.finish(exit).into()
}

/// What is asked for. Of a program that is started for each event, `fire` is most of the time: it does not wait until
/// all other commands are described.
fn command() -> Result<Command, clap::Error> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "fire") {
        let name = "tollgate fire";
        let parser = clap::Command::new(name).bin_name(name).max_term_width(args::WIDTH);
        let parser = fire::Args::augment_args(parser);
        let matches = parser.try_get_matches_from(std::iter::once(name.into()).chain(arguments))?;
        return fire::Args::from_arg_matches(&matches).map(Command::Fire);
    }
    Cli::try_parse().map(|cli| cli.command)
}

fn run(command: &Command, out: &mut Out) -> Result<Exit, Problem> {
    match command {
        Command::List(args) => list::run(args, out),
        Command::Check(args) => check::run(args, out),
        Command::Fire(args) => fire::run(args, out),
        Command::Test(args) => test::run(args, out),
        Command::Trust(args) => trust::run(args, out),
        Command::Init(args) => init::run(args, out),
        Command::Run(args) => run::run(args, out),
        Command::Demo(args) => demo::run(args, out),
        Command::Schema(args) => schema::run(args, out),
        Command::Events(args) => events::run(args, out),
        Command::Completions(args) => completions::run(args, out),
        Command::Man(args) => man::run(args, out),
    }
}

/// Whether that is all that is asked for: then there is no need to know what else could be.
fn asks_for_version() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    first.is_some_and(|first| first == "--version" || first == "-V") && arguments.next().is_none()
}

/// What is wrong with the arguments, or the help that was asked for. The parser's own exit code for
/// a mistake is 2, which here means denied.
fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is no error.
    let _ = error.print();
    if error.use_stderr() { Exit::Problem.into() } else { Exit::Fine.into() }
}
