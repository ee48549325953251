//! `tollgate fire`

mod report;
mod text;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use tollgate_config::load::{FileState, Setup};
use tollgate_core::{Dialect, Kind};
use tollgate_exec::Executor;
use tollgate_starlark::Starlark;

use crate::dispatch::{Input, Ready};
use crate::exit::Exit;
use crate::out::Out;
use crate::place::{Project, dialect_parser, event_parser, named_files};
use crate::problem::Problem;
use crate::{check, place};

pub(crate) use report::Report;

/// Fire one event at the hooks, for real, and tell what they decide and why
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo '{\"name\": \"run_command\", \"args\": {\"CommandLine\": \"rm -rf ~\"}}' |
    tollgate fire tool.pre --payload -
  tollgate fire tool.pre --payload call.json --hooks hooks/command-guard.md
  tollgate fire turn.start --payload prompt.json --json

The payload has the event's own fields: tool.pre {name, args, server?},
tool.post adds result, tool.error adds error, turn.start {prompt}, turn.end
{response}, model.pre, model.post and invocation.end {invocation, steps}, stop
{execution, reason, error?, idle}, compaction.post {summary}, notification
{type, message}, facet.switch {from, to}, subagent.start and subagent.stop
{type, result?}, interaction {questions}, others {}. Each may have session {id,
workspaces, transcript, artifacts}, call, step, agent {id, depth} and model.

Exit codes: 0 go on (ask, retry and continue, too); 1 a problem in hooks or
arguments; 2 denied or cancelled.")]
pub(crate) struct Args {
    /// The event; `tollgate events` lists them
    #[arg(value_parser = event_parser(), hide_possible_values = true)]
    event: Kind,
    /// The event's payload: a file with JSON, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    payload: Option<PathBuf>,
    /// Hook files, or directories of them, instead of those in force here. They count as trusted
    #[arg(long, value_name = "PATH")]
    hooks: Vec<PathBuf>,
    /// What the files of `--hooks` are written for, where their place and shape do not tell
    #[arg(long, value_name = "NAME", value_parser = dialect_parser(), requires = "hooks")]
    dialect: Option<Dialect>,
    #[command(flatten)]
    project: Project,
    /// Ask the person where a hook wants them asked
    #[arg(long)]
    interactive: bool,
    /// Print one object
    #[arg(long)]
    json: bool,
}

// Kept apart from the other commands: together they have a frame of many pages, to be brought into memory for each event.
#[inline(never)]
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    crate::world::known(crate::world::Session::default());
    let payload = match &args.payload {
        Some(path) => read(path)?,
        None => "{}".to_owned(),
    };
    let input = Input::from_json(args.event, &payload)?;
    let before = input.event.to_value();
    let mut setup = Setup::new(args.project.places()?).scripts(Starlark::new()).only(args.event);
    setup.interactive = args.interactive;
    // One event, and hooks that are asked one after the other: threads would only be started to be waited for.
    setup.executor = Executor::in_place();
    if !args.hooks.is_empty() {
        setup = setup.named(named_files(&args.hooks, args.dialect)?);
    }
    let ready = Ready::new(setup)?;
    check::tell(&ready.in_force().diagnostics, out);
    let fired = ready.fire(input);
    let mut report = Report::of(&fired);
    if args.interactive && report.is_question() {
        out.flush()?;
        report.settle(ask(&report, args.payload.as_deref())?);
    }
    if args.json {
        out.json(&report);
    } else {
        text::tell(&report, &before, &fired, out);
        if report.hooks.is_empty() && args.hooks.is_empty() {
            let here = place::project_shown(&args.project.directory()?);
            let event = args.event;
            let has = |wanted: &[FileState]| {
                ready.in_force().files.iter().any(|file| wanted.contains(&file.state))
            };
            let next = if has(&[FileState::Changed]) {
                "`tollgate trust` shows what has changed"
            } else if has(&[FileState::Untrusted]) {
                "`tollgate trust` shows those of the project, and lets them run"
            } else if has(&[FileState::InForce, FileState::Broken, FileState::Off]) {
                "`tollgate list` shows where there are some"
            } else {
                "`tollgate init` makes some"
            };
            out.hint(format!("no hook of {here} is in force at {event}; {next}"));
        }
    }
    let exit = report.exit();
    // The program ends here. What it holds goes with it, faster than piece by piece; no process of a hook is left, as
    // each was waited for.
    std::mem::forget((ready, fired, report));
    Ok(exit)
}

/// The most that a payload may have.
const LARGEST: u64 = 64 << 20;

fn read(path: &Path) -> Result<String, Problem> {
    let name = if path == Path::new("-") { "standard input" } else { "the payload" };
    let unreadable = |error: io::Error| {
        let shown = if name == "standard input" {
            name.to_owned()
        } else {
            format!("`{}`", path.display())
        };
        Problem::new(format!("{shown} cannot be read: {error}"))
            .help("name a file that holds the payload as JSON, or `-` for standard input")
    };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = File::open(path).map_err(unreadable)?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > LARGEST {
        return Err(Problem::new(format!("{name} has more than {} MiB", LARGEST >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| Problem::new(format!("{name} is not UTF-8")))
}

/// Asks the person at the terminal. Without one, nobody has said yes.
fn ask(report: &Report, payload: Option<&Path>) -> Result<bool, Problem> {
    let stdin_is_taken = payload == Some(Path::new("-"));
    let mut answer = String::new();
    let question = format!("{}\nMay it go on? [y/N] ", report.question());
    if !stdin_is_taken && io::stdin().is_terminal() {
        io::Write::write_all(&mut io::stderr(), question.as_bytes())?;
        io::stdin().lock().read_line(&mut answer)?;
    } else {
        let terminal =
            File::options().read(true).write(true).open("/dev/tty").map_err(|error| {
                Problem::new(format!("there is no terminal to ask a person at: {error}"))
                    .help("without `--interactive`, a question is reported and not put")
            })?;
        io::Write::write_all(&mut &terminal, question.as_bytes())?;
        BufReader::new(&terminal).read_line(&mut answer)?;
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
