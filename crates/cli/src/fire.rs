//! `tollgate fire`

mod report;
mod text;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser as _};
use serde_json::Value;
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup};
use tollgate_core::{AnyEvent, Dialect, json};
use tollgate_exec::Executor;
use tollgate_hosts::{Host, Incoming, Reply};
use tollgate_starlark::Starlark;

use crate::dispatch::{Fired, Input, Ready};
use crate::exit::Exit;
use crate::hook::{self, Pins, host_parser};
use crate::out::Out;
use crate::payload::{self, Payload, Source};
use crate::place::{Project, dialect_parser, named_files};
use crate::problem::Problem;
use crate::{check, place, world};

pub(crate) use report::{Report, decisive};

/// Fire one event at the hooks, for real, and tell what they decide and why
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate fire tool.pre --payload \\
    '{\"name\": \"run_command\", \"args\": {\"CommandLine\": \"rm -rf ~\"}}'
  tollgate fire --payload payload-of-claude.json
  tollgate fire PreToolUse --host droid --payload - < payload.json
  tollgate fire tool.pre --payload call.json --hooks hooks/command-guard.md
  tollgate fire turn.start --payload prompt.json --json

What an agent has written is read as `tollgate hook` reads it, and gets the same
answer. Other payloads have the event's own fields: tool.pre {name, args,
server?}, tool.post adds result, tool.error adds error, turn.start {prompt},
turn.end {response}, model.pre, model.post and invocation.end {invocation,
steps}, stop {execution, reason, error?, idle}, compaction.post {summary},
notification {type, message}, facet.switch {from, to}, subagent.start and
subagent.stop {type, result?}, interaction {questions}, others {}. Each may have
session {id, workspaces, transcript, artifacts}, call, step, agent {id, depth}
and model. A command without a directory runs in this one.

Exit codes: 0 go on (retry and continue, too); 1 a problem in hooks or
arguments; 2 denied or cancelled; 3 a person has to decide.")]
pub(crate) struct Args {
    /// The event, in the words of any dialect or agent, if the payload does not name it
    event: Option<String>,
    /// The event's payload: JSON, a file with JSON, or `-` for standard input
    #[arg(long, value_name = "JSON|FILE", value_parser = PathBufValueParser::new().map(Source::of))]
    payload: Option<Source>,
    /// The agent that wrote the payload [default: told from its form]
    #[arg(long, value_name = "NAME", value_parser = host_parser())]
    host: Option<&'static Host>,
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
    let mut payload = match &args.payload {
        Some(source) => json::from_str(&source.read()?)
            .map_err(|error| Problem::new(format!("cannot read the payload: {error}")))?,
        None => Value::Object(serde_json::Map::new()),
    };
    if let Some(host) = args.host {
        hook::complete(host, &mut payload);
    }
    match Payload::of(args.event.as_deref(), args.host, payload)? {
        Payload::Own(input) => own(args, *input, out),
        Payload::Host(incoming) => host(args, &incoming, out),
        Payload::Unasked { host } => {
            if args.json {
                out.json(&serde_json::json!({"host": {"name": host.name, "verdict": "silent"}}));
            } else {
                out.line(format!("{} asks no hook about this: it goes on", host.title));
            }
            Ok(Exit::Fine)
        }
    }
}

/// Fires an event that was told with its own fields.
fn own(args: &Args, mut input: Input, out: &mut Out) -> Result<Exit, Problem> {
    world::known(world::Session::default());
    let places = args.project.places()?;
    if args.project.named().is_none()
        && input.session.workspaces.is_empty()
        && let Some(here) = places.project.as_deref().and_then(payload::here)
    {
        match &mut input.event {
            AnyEvent::ToolPre(event) => tollgate_hosts::place(&mut event.call, &here),
            AnyEvent::ToolPost(event) => tollgate_hosts::place(&mut event.call, &here),
            AnyEvent::ToolError(event) => tollgate_hosts::place(&mut event.call, &here),
            _ => {}
        }
    }
    let before = input.event.to_value();
    let mut setup = Setup::new(places).scripts(Starlark::new()).only(input.event.kind());
    // One event, and hooks that are asked one after the other: threads would only be started to be waited for.
    setup.executor = Executor::in_place();
    let ready = ready(args, setup, out)?;
    let fired = ready.fire(input);
    let mut report = Report::of(&fired);
    report.named_only = !args.hooks.is_empty();
    if args.interactive && report.is_question() {
        out.flush()?;
        report.settle(ask(&report, args.payload.as_ref())?);
    }
    tell(args, &report, &before, &fired, &ready, out)?;
    let exit = report.exit();
    // The program ends here. What it holds goes with it, faster than piece by piece; no process of a hook is left, as
    // each was waited for.
    std::mem::forget((ready, fired, report));
    Ok(exit)
}

/// Fires an event as an agent told it, at the hooks that `tollgate hook` would ask. Nothing is kept of it.
fn host(args: &Args, incoming: &Incoming, out: &mut Out) -> Result<Exit, Problem> {
    let places = Places::of_this_process(None);
    let state = places.trust.as_deref().and_then(Path::parent).map(Path::to_owned);
    let project = hook::project(args.project.named(), incoming, state.as_deref(), Pins::Read)?;
    let places = Places { project: Some(project), ..places };
    let setup = hook::setup(incoming, places, Starlark::new());
    let settings = setup.settings.settings.clone();
    let ready = ready(args, setup, out)?;
    let fired = hook::fired(&ready, incoming);
    let outcomes: Vec<_> = fired.iter().map(|fired| fired.outcome.clone()).collect();
    let reply = Reply::of(incoming, &outcomes, hook::choices(incoming, &settings));
    let Some((part, decisive)) = decisive(incoming, fired) else {
        return Err(Problem::new(format!("{} told nothing to decide about", incoming.host.title)));
    };
    let before = part.event.to_value();
    let mut report = Report::of(&decisive);
    report.named_only = !args.hooks.is_empty();
    report.answered(incoming, &reply);
    if args.interactive && report.is_question() {
        out.flush()?;
        report.settle(ask(&report, args.payload.as_ref())?);
    }
    tell(args, &report, &before, &decisive, &ready, out)?;
    let exit = report.exit();
    std::mem::forget((ready, decisive, report));
    Ok(exit)
}

/// Loads the hooks that are asked.
fn ready(args: &Args, mut setup: Setup, out: &mut Out) -> Result<Ready, Problem> {
    setup.interactive = args.interactive;
    if !args.hooks.is_empty() {
        setup = setup.named(named_files(&args.hooks, args.dialect)?);
    }
    let ready = Ready::new(setup)?;
    check::tell(&ready.in_force().diagnostics, out);
    Ok(ready)
}

fn tell(
    args: &Args,
    report: &Report,
    before: &Value,
    fired: &Fired,
    ready: &Ready,
    out: &mut Out,
) -> Result<(), Problem> {
    if args.json {
        out.json(report);
        return Ok(());
    }
    text::tell(report, before, fired, out);
    if report.named_only {
        out.hint("only the files of `--hooks` were asked, without those in force here and the built-in guard");
    } else if report.hooks.is_empty() {
        let here = match ready.project() {
            Some(project) => place::project_shown(project),
            None => place::project_shown(&args.project.directory()?),
        };
        let event = report.event;
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
    Ok(())
}

/// Asks the person at the terminal. Without one, nobody has said yes.
fn ask(report: &Report, payload: Option<&Source>) -> Result<bool, Problem> {
    let stdin_is_taken = payload == Some(&Source::Stdin);
    let mut answer = String::new();
    let question = format!("{}\nMay it go on? [y/N] ", report.question());
    if !stdin_is_taken && io::stdin().is_terminal() {
        io::Write::write_all(&mut io::stderr(), question.as_bytes())?;
        io::stdin().lock().read_line(&mut answer)?;
    } else {
        let terminal =
            File::options().read(true).write(true).open("/dev/tty").map_err(|error| {
                Problem::new(format!("there is no terminal to ask a person at: {error}"))
                    .help("without `--interactive`, fire reports the question instead of asking it")
            })?;
        io::Write::write_all(&mut &terminal, question.as_bytes())?;
        BufReader::new(&terminal).read_line(&mut answer)?;
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
