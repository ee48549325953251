//! `tollgate hook`: the command that other agents call.
//!
//! Whatever happens, the host gets an answer that it understands: what was decided, or a refusal at a
//! gate and silence elsewhere. So the work is done by a child with a deadline, and what is printed if
//! that comes to nothing is ready before it begins. Nothing else is ever printed to standard output.

#[cfg(debug_assertions)]
mod fault;
mod grants;
mod made;
mod rounds;
mod session;

use std::borrow::Cow;
use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use rustix::event::{PollFd, PollFlags, poll};
use serde::Deserialize;
use serde_json::Value;
use tollgate_config::diagnostic::Severity;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_config::settings::Settings;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::{AnyEvent, Kind, json};
use tollgate_exec::{Answer, Executor, Plan, supervise};
use tollgate_hosts::{self as hosts, Choices, Form, Host, Incoming, Output, Reply, Verdict};
use tollgate_starlark::Starlark;

use crate::dispatch::{Fired, Input, Ready};
use crate::person;
use crate::problem::Problem;
use crate::world;
use grants::Grants;
use made::Made;
pub(crate) use session::Pins;

/// Answer one hook call of another agent: reads its payload on standard input
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate hook claude < payload.json
  tollgate hook copilot --event preToolUse < payload.json

Agents call this themselves, once `tollgate install HOST` has told them to. All
hooks and policies in force are asked, under the same trust as everywhere; the
answer is in the agent's own form. What cannot be read or decided is refused
where something would happen otherwise. `tollgate events --host HOST` tells what
becomes of each answer.

Exit codes: those that the agent goes by; mostly 0 to go on and 2 to refuse.")]
pub(crate) struct Args {
    /// The agent
    #[arg(value_parser = host_parser())]
    host: &'static Host,
    /// The event, in the agent's words, where its payload does not tell
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// The project's directory [default: the one the agent says, or is in]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// How many seconds the answer may take at the most
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: Option<u64>,
}

impl Args {
    /// The event's name, from the command line or from where the agent puts it beside its payload.
    fn named(&self) -> Option<String> {
        let told = || {
            let (variable, _) =
                self.host.wire.variables().iter().find(|(_, field)| *field == "event")?;
            env::var(variable).ok().filter(|name| self.host.event(name).is_some())
        };
        self.event.clone().or_else(told)
    }
}

/// Reads a host's name.
pub(crate) fn host_parser() -> impl clap::builder::TypedValueParser<Value = &'static Host> {
    PossibleValuesParser::new(hosts::ALL.iter().map(|host| host.name))
        .try_map(|name| hosts::by_name(&name).ok_or("there is no such host"))
}

/// For how long the answer is waited for, where nobody says: well below what any host gives a hook.
const DEADLINE: Duration = Duration::from_secs(25);

/// What of the time is not used.
const MARGIN: Duration = Duration::from_millis(500);

/// The most memory that the work may use, in bytes of address space.
const MEMORY: u64 = 4 << 30;

/// The most that a payload may have. What is longer is refused without a look.
const LARGEST: usize = 64 << 20;

/// The most that is read at once.
const LONGEST_READ: usize = 64 << 10;

const GAVE_UP: &str =
    "Tollgate could not decide about this, so it is refused. `tollgate doctor` tells more.";

/// Answers, and records which agent has asked. To do that last delays no answer.
pub(crate) fn run(args: &Args) -> ExitCode {
    let ended = respond(args);
    person::record(args.host.name);
    ended
}

fn respond(args: &Args) -> ExitCode {
    // What is left over is the host's for reading the answer.
    let time = args.deadline.map_or(DEADLINE, Duration::from_secs).min(args.host.patience);
    let time = time.saturating_sub(MARGIN).max(MARGIN);
    let begun = Instant::now();
    let named = args.named();
    let named = named.as_deref();
    let input = match payload(begun + time) {
        Ok(input) => input,
        Err(why) => return print(&args.host.refusal(named, &why)),
    };
    // What the event is decides how it is refused. Its name is looked for without keeping the rest.
    // The host knows better than whoever wrote the command.
    let event = event_name(args.host, &input).or(named.map(Cow::Borrowed));
    let refusal = args.host.refusal(event.as_deref(), GAVE_UP);
    let left = time.saturating_sub(begun.elapsed());
    let plan = Plan { memory: Some(MEMORY), ..Plan::new(left, answer(refusal.clone())) };
    let ended = supervise(plan, || answer(work(args, event.as_deref(), &input, begun + time)));
    match ended {
        Ok(ended) => {
            let Answer { stdout, stderr, code } = ended.answer;
            print(&Output { code, stdout, stderr })
        }
        Err(_) => print(&refusal),
    }
}

fn answer(output: Output) -> Answer {
    let Output { code, stdout, stderr } = output;
    Answer { stdout, stderr, code }
}

/// What the command is told where its own arguments are wrong: nothing that an agent takes for a yes.
pub(crate) fn misused(error: &clap::Error) -> ExitCode {
    let arguments: Vec<_> = env::args().skip(2).collect();
    let host = arguments.iter().find_map(|argument| hosts::by_name(argument));
    let message = error.to_string();
    let message = message.lines().next().unwrap_or("the arguments are wrong");
    match host {
        Some(host) => print(&host.refusal(None, &format!("tollgate hook: {message}"))),
        None => print(&Output::silent().failing(2, &format!("tollgate hook: {message}"))),
    }
}

/// Reads standard input, all of it, in time: a host that keeps it open is not waited for longer than one that is slow to
/// answer.
fn payload(deadline: Instant) -> Result<Vec<u8>, String> {
    let failed =
        |error: io::Error| format!("Tollgate cannot read what it was called with: {error}");
    let stdin = io::stdin();
    let mut bytes = Vec::new();
    // Most payloads are short, and to come by memory takes longer than to read them.
    let mut buffer = vec![0; 4 * 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = rustix::time::Timespec::try_from(left).ok();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) => return Err("Tollgate was not told in time what it was called for.".to_owned()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(failed(error.into())),
        }
        match rustix::io::read(&stdin, &mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(length) => {
                bytes.extend_from_slice(buffer.get(..length).unwrap_or_default());
                if length == buffer.len() {
                    buffer.resize(LONGEST_READ.min(4 * length), 0);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
        if bytes.len() > LARGEST {
            let most = LARGEST >> 20;
            return Err(format!("Tollgate was called with more than {most} MiB, so it refuses."));
        }
    }
}

/// What an input calls its event.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, alias = "hookName", alias = "agent_action_name")]
    hook_event_name: Option<Cow<'a, str>>,
}

/// The same in Polytoken. Others have something else there.
#[derive(Deserialize)]
struct ShortlyNamed<'a> {
    #[serde(borrow)]
    event: Option<Cow<'a, str>>,
}

fn event_name<'a>(host: &Host, input: &'a [u8]) -> Option<Cow<'a, str>> {
    let name = if host.name == hosts::polytoken::HOST.name {
        serde_json::from_slice::<ShortlyNamed<'a>>(input).ok()?.event
    } else {
        serde_json::from_slice::<Named<'a>>(input).ok()?.hook_event_name
    };
    name.filter(|name| host.event(name).is_some() || host.other_events.contains(&name.as_ref()))
}

/// Prints an answer. Where it cannot be printed, the exit code still says no.
fn print(output: &Output) -> ExitCode {
    let written = io::stdout().write_all(&output.stdout).and_then(|()| io::stdout().flush());
    let _ = io::stderr().write_all(&output.stderr);
    if written.is_err() {
        return ExitCode::from(2);
    }
    ExitCode::from(u8::try_from(output.code).unwrap_or(2))
}

/// Works an answer out.
fn work(args: &Args, event: Option<&str>, input: &[u8], deadline: Instant) -> Output {
    #[cfg(debug_assertions)]
    fault::inject();
    let host = args.host;
    let refused = |why: &str| host.refusal(event, why);
    let mut input = match json::from_slice(input) {
        Ok(input) => input,
        Err(error) => {
            return refused(&unreadable(&format!("the payload of {}", host.title), &error));
        }
    };
    complete(host, &mut input);
    let incoming = match host.read(args.named().as_deref(), input) {
        Ok(Some(incoming)) => incoming,
        Ok(None) => return Output::silent(),
        Err(error) => return refused(&format!("Tollgate: {error}")),
    };
    match decide(args, &incoming, deadline) {
        Ok(reply) => host.write(incoming.event, &reply),
        Err(problem) => refused(&format!("Tollgate: {problem}")),
    }
}

/// Says what is wrong with a payload.
pub(crate) fn unreadable(what: &str, error: &serde_json::Error) -> String {
    // Only a duplicate key is well-formed JSON that is not read.
    let why = if error.is_data() {
        ". Programs differ in which of the two values they use, so Tollgate cannot tell what would run."
    } else {
        ""
    };
    format!("Tollgate cannot read {what}: {error}{why}")
}

/// Adds to a payload what the agent tells in variables.
pub(crate) fn complete(host: &Host, input: &mut Value) {
    let Some(input) = input.as_object_mut() else { return };
    for (variable, field) in host.wire.variables() {
        if input.get(*field).is_none_or(Value::is_null)
            && let Some(told) = env::var(variable).ok().filter(|told| !told.is_empty())
        {
            input.insert((*field).to_owned(), told.into());
        }
    }
}

fn decide(args: &Args, incoming: &Incoming, deadline: Instant) -> Result<Reply, Problem> {
    let places = Places::of_this_process(None);
    let state = places.trust.as_deref().and_then(Path::parent).map(Path::to_owned);
    let project = project(args.project.as_deref(), incoming, state.as_deref(), Pins::Kept)?;
    session::begin(incoming, state.as_deref(), &project);
    let places = Places { project: Some(project.clone()), ..places };
    // This process has limits of its own, and a refusal is ready should it break them: a worker for scripts would only be
    // another one to wait for.
    let setup = setup(incoming, places, Starlark::in_process());
    let settings = setup.settings.settings.clone();
    let grants = Arc::new(Grants::new(incoming, state.as_deref(), &settings));
    let ready = Ready::excepting(setup, Some(grants.clone()))?;
    let fired = fired(&ready, incoming);
    let outcomes: Vec<AnyOutcome> = fired.into_iter().map(|fired| fired.outcome).collect();
    made::note(incoming, state.as_deref(), &outcomes);
    let choices = choices(incoming, &settings);
    let mut reply = Reply::of(incoming, &outcomes, choices);
    rounds::bound(incoming, &mut reply, state.as_deref(), settings.engine.rounds);
    let again = |outcome: &AnyOutcome| {
        let (AnyEvent::ToolPre(call), [_]) = (&outcome.event, &*incoming.parts) else {
            return None;
        };
        let session = incoming.session.clone();
        let until = deadline.checked_sub(MARGIN)?;
        let outcome = ready.rehearse(call.clone(), session, &outcome.record, until)?;
        let reply = Reply::of(incoming, std::slice::from_ref(&outcome), choices);
        Some((outcome, reply))
    };
    grants.settle(incoming, &outcomes, &settings, (&project, &again), &mut reply);
    if let (Verdict::Refuse, Some(outcome)) = (reply.verdict, outcomes.last()) {
        // The reason is for the model; which hook it was, and what was wrong with it, for the person.
        let detail = outcome.record.detail();
        // A rewrite that the agent cannot be told is refused by no hook: the reason says all of it.
        if !detail.is_empty() {
            reply.lost.push(format!("Tollgate: {detail}"));
        }
        let problems: Vec<_> = problems(&ready, Severity::Error).collect();
        if !problems.is_empty() {
            reply.lost.extend(problems);
            // Where the agent shows the person nothing, the model passes it on.
            reply.reason.push_str(" `tollgate check` and `tollgate trust` tell the person why.");
        }
    }
    if incoming.event.kind == Kind::SessionStart {
        // Nobody sees what is wrong with hook files while an agent runs, unless they are told as it begins.
        reply.lost.extend(problems(&ready, Severity::Warning));
    }
    // The program ends here, and what it holds with it.
    std::mem::forget((ready, outcomes));
    Ok(reply)
}

/// Returns the hooks that a host's event is put to. The analysis of commands is told what the session has done so far.
pub(crate) fn setup(incoming: &Incoming, places: Places, scripts: Starlark) -> Setup {
    let state = places.trust.as_deref().and_then(Path::parent).map(Path::to_owned);
    world::known(world::Session {
        began: session::began(incoming, state.as_deref()),
        fetched: made::list(Made::Fetched, incoming, state.as_deref()),
        written: made::list(Made::Written, incoming, state.as_deref()),
    });
    let mut setup = Setup::new(places).scripts(scripts);
    // As a session begins, the person is told what is wrong with any of the files.
    if incoming.event.kind != Kind::SessionStart {
        setup = setup.only(incoming.event.kind);
    }
    setup = setup.without(tollgate_config::dialect::run_by(incoming.host.name));
    // Hooks are asked one after the other: threads would only be started to be waited for.
    setup.executor = Executor::in_place();
    setup
}

/// Asks hooks about each part of a host's event, until one is refused.
pub(crate) fn fired(ready: &Ready, incoming: &Incoming) -> Vec<Fired> {
    let mut all: Vec<Fired> = Vec::new();
    for part in &incoming.parts {
        let event = carried(part.event.clone(), all.last().map(|fired| &fired.outcome));
        let fired = ready.fire(Input { event, session: incoming.session.clone() });
        let is_over = fired.outcome.permission == tollgate_core::verdict::Permission::Refused;
        all.push(fired);
        if is_over {
            break;
        }
    }
    all
}

/// Returns what a person has chosen about answers that the host has no form for.
pub(crate) fn choices(incoming: &Incoming, settings: &Settings) -> Choices {
    let tollgate_config::settings::Hosts { refuse_unasked, refuse_unwritten, pass_allow } =
        settings.hosts;
    let at_terminal = incoming.event.forms.ask != Form::Terminal || is_at_terminal();
    Choices { refuse_unasked, refuse_unwritten, pass_allow, at_terminal }
}

/// Whether whoever called this has a terminal: hooks have it from the agent.
fn is_at_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// What is wrong with hook files, and what to do about it.
fn problems(ready: &Ready, least: Severity) -> impl Iterator<Item = String> {
    let problems = ready.in_force().diagnostics.iter();
    problems.filter(move |problem| problem.severity >= least).map(|problem| match &problem.help {
        Some(help) => format!("Tollgate: {} ({help})", problem.line()),
        None => format!("Tollgate: {}", problem.line()),
    })
}

/// A result that was rewritten for one part is what the next one is about.
fn carried(mut event: AnyEvent, before: Option<&AnyOutcome>) -> AnyEvent {
    if let (AnyEvent::ToolPost(event), Some(AnyEvent::ToolPost(before))) =
        (&mut event, before.map(|outcome| &outcome.event))
    {
        event.result.clone_from(&before.result);
    }
    event
}

/// Returns the project that a directory is in. One that is gone, has too long a name, or a name that is not UTF-8, which
/// JSON cannot tell, is in the project around it; if there is none, this process's own directory counts, where the agent
/// has started it.
fn project_around(directory: Option<PathBuf>) -> PathBuf {
    let here = || match env::current_dir() {
        Ok(here) => Places::project_of(&here),
        Err(_) => PathBuf::from("/"),
    };
    let Some(directory) = directory else { return here() };
    let Some(around) = directory.ancestors().find(|ancestor| ancestor.is_dir()) else {
        return here();
    };
    if around == directory {
        return Places::project_of(around);
    }
    // Where nothing marks a project, each directory is one of its own.
    let below = around.join("gone");
    let project = Places::project_of(&below);
    if project == below { here() } else { project }
}

/// The project that the agent works on: what it was started for counts, not where it has gone since.
pub(crate) fn project(
    named: Option<&Path>,
    incoming: &Incoming,
    state: Option<&Path>,
    pins: Pins,
) -> Result<PathBuf, Problem> {
    if let Some(project) = named {
        // Nowhere no hooks are in force.
        if !project.is_dir() {
            let message = format!("`--project {}` is no directory", project.display());
            return Err(Problem::new(message).help("name the directory of a project, or none"));
        }
        return Ok(project.to_owned());
    }
    let variable = |name: &&str| env::var_os(name).map(PathBuf::from);
    let said = incoming.host.project_variables.iter().find_map(variable);
    if let Some(said) = said.filter(|path| path.is_absolute() && path.is_dir()) {
        return Ok(Places::project_of(&said));
    }
    let here = incoming.cwd.as_ref().map(PathBuf::from).filter(|path| path.is_absolute());
    session::project(incoming, state, project_around(here), pins)
}
