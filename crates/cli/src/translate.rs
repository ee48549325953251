//! `tollgate translate`: a hook command of one system behind another.
//!
//! It stands between an agent and a command that was written for another: the agent's payload goes to
//! the command in the words it knows, and its answer goes back in the agent's. What fails on the way,
//! the command itself included, is a refusal at a gate.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;
use tollgate_config::dialect::{FileDialect, Output};
use tollgate_config::load::command_hook;
use tollgate_core::context::{SessionContext, SessionInfo};
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::verdict::{Permission, Word};
use tollgate_core::{AnyEvent, Kind, Runner, json};
use tollgate_exec::{Answer, Plan, supervise};
use tollgate_hosts::{self as hosts, Choices, Host, Reply};

use crate::convert::format_parser;
use crate::hook::unreadable;

/// Run a hook command of one dialect as a hook of another: `tollgate convert` writes this
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate translate claude gemini -- ./guard.sh
  tollgate translate hooks-json claude --directory .agents -- 'sh check.sh'

Reads on standard input what an agent of the second dialect says, gives it to
the command as one of the first would, and prints the command's answer as the
agent understands it. A command that fails is a refusal where something would
happen otherwise.

Exit codes: those that the agent goes by; mostly 0 to go on and 2 to refuse.")]
pub(crate) struct Args {
    /// The dialect that the command is written for
    #[arg(value_parser = format_parser())]
    from: &'static dyn FileDialect,
    /// The dialect of the agent that calls it
    #[arg(value_parser = format_parser())]
    to: &'static dyn FileDialect,
    /// The event, in the agent's words, where its payload does not tell
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Where the command is run, from here
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// How many seconds it may take [default: what its own agent gives it]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: Option<u64>,
    /// The command: a line for the shell, or words
    #[arg(required = true, last = true)]
    command: Vec<String>,
}

/// The most that a payload may have.
const LARGEST: u64 = 64 << 20;

const GAVE_UP: &str = "A hook could not be asked about this, so it is refused.";

/// Asks the command, and says to the agent what came of it.
pub(crate) fn run(args: &Args) -> ExitCode {
    let refusal = refusal(args, args.event.as_deref(), GAVE_UP);
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes);
    if read.is_err() || bytes.len() as u64 > LARGEST {
        return print(&refusal);
    }
    let time = args.deadline.map_or_else(|| args.from.time(), Duration::from_secs);
    let answer = |Output { code, stdout, stderr }: Output| Answer { stdout, stderr, code };
    let plan = Plan::new(time + Duration::from_secs(1), answer(refusal.clone()));
    match supervise(plan, || answer(work(args, &bytes, time))) {
        Ok(ended) => {
            let Answer { stdout, stderr, code } = ended.answer;
            print(&Output { code, stdout, stderr })
        }
        Err(_) => print(&refusal),
    }
}

/// What the agent is told where the command could not be asked.
pub(crate) fn misused(error: &clap::Error) -> ExitCode {
    let message = error.to_string();
    let message = message.lines().next().unwrap_or("the arguments are wrong");
    print(&Output::silent().failing(2, &format!("tollgate translate: {message}")))
}

fn print(output: &Output) -> ExitCode {
    let written = io::stdout().write_all(&output.stdout).and_then(|()| io::stdout().flush());
    let _ = io::stderr().write_all(&output.stderr);
    if written.is_err() {
        return ExitCode::from(2);
    }
    ExitCode::from(u8::try_from(output.code).unwrap_or(2))
}

fn host(args: &Args) -> Option<&'static Host> {
    hosts::by_name(args.to.dialect().name())
}

/// A refusal as the agent understands it.
fn refusal(args: &Args, event: Option<&str>, why: &str) -> Output {
    if let Some(host) = host(args) {
        return host.refusal(event, why);
    }
    let kind = event.and_then(|name| kind_of(args, name)).unwrap_or(Kind::ToolPre);
    let words = [Word::Deny, Word::Cancel, Word::Continue];
    let written = words
        .into_iter()
        .find_map(|word| args.to.encode_answer(kind, &Neutral::new(word, why)).ok());
    written.unwrap_or_else(Output::silent)
}

fn kind_of(args: &Args, event: &str) -> Option<Kind> {
    let named = args.to.events().iter().find(|it| it.name == event)?;
    named.kinds.first().copied()
}

fn work(args: &Args, input: &[u8], time: Duration) -> Output {
    let refused = |why: &str| refusal(args, args.event.as_deref(), why);
    let input = match json::from_slice(input) {
        Ok(input) => input,
        Err(error) => return refused(&unreadable("the payload", &error)),
    };
    let Some(host) = host(args) else { return simple(args, input, time) };
    let incoming = match host.read(args.event.as_deref(), input) {
        Ok(Some(incoming)) => incoming,
        Ok(None) => return Output::silent(),
        Err(error) => return refused(&error.to_string()),
    };
    let here = incoming.cwd.as_ref().map(PathBuf::from).filter(|path| path.is_absolute());
    let mut session = incoming.session.clone();
    session.workspaces = incoming.cwd.clone().into_iter().collect();
    let mut outcomes = Vec::new();
    for part in &incoming.parts {
        match ask(args, part.event.clone(), session.clone(), here.as_deref(), time) {
            Ok(outcome) => {
                let is_over = outcome.permission == Permission::Refused;
                outcomes.push(outcome);
                if is_over {
                    break;
                }
            }
            Err(why) => return host.refusal(Some(incoming.event.name), &why),
        }
    }
    // What the command says is all there is, so an allow of it is one.
    let choices = Choices { pass_allow: true, ..Choices::default() };
    host.write(incoming.event, &Reply::of(&incoming, &outcomes, choices))
}

/// For a system whose events are one thing each.
fn simple(args: &Args, input: Value, time: Duration) -> Output {
    let refused = |why: &str| refusal(args, args.event.as_deref(), why);
    let named = input.get("event").and_then(Value::as_str).map(str::to_owned);
    let Some(event) = args.event.clone().or(named) else {
        return refused("The payload does not say which event it is; `--event NAME` does.");
    };
    let decoded = match args.to.decode_event(&event, input) {
        Ok(decoded) => decoded,
        Err(error) => return refused(&error.message),
    };
    let kind = decoded.event.kind();
    let before = decoded.event.clone();
    let here = decoded.session.workspaces.first().map(PathBuf::from);
    let outcome = match ask(args, decoded.event, decoded.session, here.as_deref(), time) {
        Ok(outcome) => outcome,
        Err(why) => return refused(&why),
    };
    let answer = neutral(&before, outcome);
    match args.to.encode_answer(kind, &answer) {
        Ok(output) => output,
        // What cannot be said in full is said as what is left of it, or refused.
        Err(_) if answer.rewrite.is_none() && answer.word == Word::None => {
            let nothing = Neutral::default();
            args.to.encode_answer(kind, &nothing).unwrap_or_else(|_| Output::silent())
        }
        Err(error) => refused(&error.message),
    }
}

/// What came of an event, as an answer to it.
fn neutral(before: &AnyEvent, outcome: AnyOutcome) -> Neutral {
    let rewrite = match (before, &outcome.event) {
        (AnyEvent::ToolPre(before), AnyEvent::ToolPre(after)) if before.args != after.args => {
            Some(Rewrite::Args(after.args.clone()))
        }
        (AnyEvent::ToolPost(before), AnyEvent::ToolPost(after))
            if before.result != after.result =>
        {
            Some(Rewrite::Result(after.result.clone()))
        }
        (AnyEvent::TurnStart(before), AnyEvent::TurnStart(after))
            if before.prompt != after.prompt =>
        {
            Some(Rewrite::Prompt(after.prompt.clone()))
        }
        _ => None,
    };
    let AnyOutcome { decision, reason, additions, .. } = outcome;
    Neutral { word: decision, reason, additions, rewrite, detail: None }
}

/// Asks the command about one event.
fn ask(
    args: &Args,
    event: AnyEvent,
    mut session: SessionInfo,
    here: Option<&Path>,
    time: Duration,
) -> Result<AnyOutcome, String> {
    let current = env::current_dir().map_err(|error| format!("There is no directory: {error}"))?;
    let directory = args
        .directory
        .as_ref()
        .map_or_else(|| current.clone(), |directory| current.join(directory));
    if session.workspaces.is_empty() {
        session.workspaces.push(here.unwrap_or(&current).to_string_lossy().into_owned());
    }
    let command = match args.command.as_slice() {
        [line] => line.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    };
    let Some(hook) = command_hook(args.from, event.kind(), &command, &directory, time) else {
        return Err(format!("{} has no event for {}", args.from.dialect(), event.kind()));
    };
    let runner = Runner::builder()
        .limits(|limits| limits.dispatch = time + Duration::from_secs(1))
        .register(hook)
        .build()
        .map_err(|error| error.to_string())?;
    let operation = SessionContext::new(session).turn().operation();
    let outcome = pollster::block_on(runner.dispatch_any(&operation, event));
    pollster::block_on(runner.drain(time));
    Ok(outcome)
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
