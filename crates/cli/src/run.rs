//! `tollgate run`: an agent at the command line, held by the hooks in force.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tollgate_agent::person::{Nobody, Terminal};
use tollgate_agent::update::Update;
use tollgate_agent::{Agent, AgentBuilder, AgentError, Response, Started};
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_config::settings;
use tollgate_core::audit::JsonLines;
use tollgate_core::policy::{
    AskHandler, Effect, Otherwise, Policies, Rule, allow, allow_all, safe_defaults,
};
use tollgate_model::provider::{Options, open};
use tollgate_starlark::Starlark;

use crate::check;
use crate::exit::Exit;
use crate::out::Out;
use crate::problem::Problem;
use crate::show::{Show, clean};

/// Run an agent that the hooks in force hold: one prompt, or a conversation
///
/// The agent works in a directory, with tools for files, search, commands and subagents. What it reads it may read;
/// about everything else you are asked, unless a hook denies it first: of what hooks and policies say, the strictest
/// counts. Without a terminal, what would have to be asked is denied.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate run --model anthropic/claude-sonnet-4-5 \"What does this project do?\"
  tollgate run --model ollama/qwen3 -C ../other
  echo \"Fix the tests\" |
    tollgate run --model openai/gpt-5 --allow-all --record session.jsonl

Keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY,
GEMINI_API_KEY.")]
pub(crate) struct Args {
    /// What the agent is to do [default: a conversation, or standard input]
    prompt: Option<String>,

    /// The model: openai/NAME, anthropic/NAME, gemini/NAME, ollama/NAME or script:FILE [default:
    /// that of the environment]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// The directory that it works in [default: the project around the current directory]
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Ask about nothing: what no hook denies is done
    #[arg(long)]
    allow_all: bool,

    /// Write what every hook was asked and answered to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// MCP servers, in the usual `mcpServers` form
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,

    /// Go on where the session of this transcript ended
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Load hook files again when they change
    #[arg(long)]
    watch: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let directory = match &args.directory {
        Some(directory) if directory.is_dir() => directory.clone(),
        Some(directory) => {
            return Err(Problem::new(format!("`{}` is no directory", directory.display())));
        }
        None => Places::project_of(&std::env::current_dir()?),
    };
    let prompt = match &args.prompt {
        Some(prompt) => Some(prompt.clone()),
        None if io::stdin().is_terminal() => None,
        None => {
            let mut text = String::new();
            io::stdin().lock().take(4 << 20).read_to_string(&mut text)?;
            Some(text)
        }
    };
    let name = args.model.clone().or_else(|| std::env::var("TOLLGATE_MODEL").ok());
    let name = name.ok_or_else(|| {
        Problem::new("which model shall it be?").help(
            "`--model anthropic/NAME` (or openai/, gemini/, ollama/, script:FILE), or set TOLLGATE_MODEL; \
             `tollgate demo` needs none",
        )
    })?;
    let model =
        open(&name, &Options::default()).map_err(|error| Problem::new(error.to_string()))?;
    let mut setup =
        Setup::new(Places::of_this_process(Some(directory.clone()))).scripts(Starlark::new());
    setup.interactive = prompt.is_none();
    let rules = if args.allow_all { vec![allow_all()] } else { asking() };
    // Not among the rules of the project: a policy of the project that allows something is asked as well, and the
    // stricter counts.
    let otherwise = match setup.settings.settings.policy.otherwise {
        settings::Otherwise::Open => Otherwise::Open,
        settings::Otherwise::Closed => Otherwise::Closed,
    };
    let policies = Policies::builder().rules(rules).otherwise(otherwise).build();
    let policies = policies.map_err(|error| Problem::new(error.to_string()))?;
    let show = Arc::new(Show::new(anstream::stdout(), &directory));
    let listener = Arc::clone(&show);
    let person = terminal();
    let is_asked_here = person.is_some();
    let mut builder = Agent::builder()
        .model(model)
        .instructions(INSTRUCTIONS)
        .workspace(&directory)
        .hook_files(setup)
        .enforce(policies)
        .on_update(move |update| match update {
            // Who is asked here and now needs no word of it.
            Update::Notice { kind: "approval", .. } if is_asked_here => {}
            // What hooks have refused was told with what they came to.
            Update::Notice { kind: "refused", .. } => {}
            update => listener.tell(update),
        });
    builder = match &person {
        Some(person) => builder.person(person.clone()),
        None => builder.person(Nobody),
    };
    if let Some(state) = state_directory() {
        let id = session_name();
        builder = builder.session_directory(state.join("sessions").join(&id)).session_id(id);
    }
    if let Some(path) = &args.record {
        let unwritable = |error: io::Error| {
            Problem::new(format!("`{}` cannot be written: {error}", path.display()))
        };
        let file = File::options().append(true).create(true).open(path).map_err(unwritable)?;
        builder = builder.audit(Arc::new(JsonLines::new(file)));
    }
    if let Some(path) = &args.resume {
        builder = builder.resume(path);
    }
    if args.watch {
        builder = builder.watch_hook_files();
    }
    if let Some(path) = &args.mcp {
        builder = with_servers(builder, path)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(session(builder, &show, person.as_ref(), prompt, out));
    // What still works at something is not waited for: the session is over.
    runtime.shutdown_background();
    exit
}

/// Rules that ask about all but reading. Who asks for a permission is asked about by that.
fn asking() -> Vec<Rule> {
    let reason = "all but reading is asked about, unless you say --allow-all";
    let explained = |rule: Rule| match rule.effect() {
        Effect::Ask => rule.reason(reason),
        _ => rule,
    };
    let rules = safe_defaults(AskHandler::host()).into_iter().map(explained);
    rules.chain([allow("ask_permission")]).collect()
}

/// The terminal that the person sits at.
fn terminal() -> Option<Terminal> {
    let other = || Terminal::on(BufReader::new(io::stdin()), io::stdout());
    Terminal::open().ok().or_else(|| io::stdin().is_terminal().then(other))
}

async fn session(
    builder: AgentBuilder,
    show: &Show<impl io::Write>,
    person: Option<&Terminal>,
    prompt: Option<String>,
    out: &mut Out,
) -> Result<Exit, Problem> {
    // From here on Ctrl-C is ours: it ends the turn, and where none is under way, the session.
    let mut interrupts = signal(SignalKind::interrupt())?;
    let agent = tokio::select! {
        agent = builder.build().start() => agent.map_err(|error| problem(&error))?,
        _ = interrupts.recv() => return Err(Problem::new("interrupted")),
    };
    if let Some(files) = agent.hook_files() {
        check::tell(&files.diagnostics, out);
        out.flush()?;
    }
    let exit = match (prompt, person) {
        (Some(prompt), _) => one_shot(&agent, show, &mut interrupts, prompt).await,
        (None, Some(person)) => conversation(&agent, show, &mut interrupts, person).await,
        (None, None) => Err(Problem::new("there is no terminal to talk at")),
    };
    tokio::select! {
        () = agent.stop() => {}
        _ = interrupts.recv() => {}
    }
    exit
}

const INSTRUCTIONS: &str = "You are an agent that works in a directory of the user's. Use your tools to find out what \
     you do not know, do what you are asked and no more, and say briefly what you did. Some calls may be denied: then \
     do not try to get around it, but find another way that is permitted, or say what you could not do and why.";

fn problem(error: &AgentError) -> Problem {
    Problem::new(clean(&error.to_string()))
}

fn with_servers(mut builder: AgentBuilder, path: &PathBuf) -> Result<AgentBuilder, Problem> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::new(format!("`{shown}` cannot be read: {error}")))?;
    let servers = tollgate_mcp::from_json(&text)
        .map_err(|error| Problem::new(format!("`{shown}`: {error}")))?;
    for server in servers {
        builder = builder.mcp_server(server);
    }
    Ok(builder)
}

/// Where what belongs to no project is kept.
fn state_directory() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    state.map(|state| state.join("tollgate"))
}

/// A name that sorts by time.
fn session_name() -> String {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("{}-{}", since.as_millis(), std::process::id())
}

async fn one_shot(
    agent: &Agent<Started>,
    show: &Show<impl io::Write>,
    interrupts: &mut Signal,
    prompt: String,
) -> Result<Exit, Problem> {
    let answer = turn(agent, interrupts, agent.chat(prompt)).await;
    show.end_line();
    answer.map_or_else(|| Err(Problem::new("interrupted")), |answer| tell(show, answer))
}

/// Runs a turn. Ctrl-C cancels it, and with it whatever the person is being asked; once more, and whatever still holds
/// it is not waited for.
async fn turn(
    agent: &Agent<Started>,
    interrupts: &mut Signal,
    turn: impl Future<Output = Result<Response, AgentError>>,
) -> Option<Result<Response, AgentError>> {
    let mut turn = std::pin::pin!(turn);
    tokio::select! {
        answer = &mut turn => return Some(answer),
        _ = interrupts.recv() => agent.cancel(),
    }
    tokio::select! {
        answer = &mut turn => Some(answer),
        _ = interrupts.recv() => None,
    }
}

/// Says what came of a turn, as far as that was not seen.
fn tell(
    show: &Show<impl io::Write>,
    answer: Result<Response, AgentError>,
) -> Result<Exit, Problem> {
    match answer {
        Ok(Response { refused: Some(refusal), .. }) => {
            show.told("denied", &refusal.reason);
            Ok(Exit::Denied)
        }
        // At a terminal it has been read where it happened.
        Ok(Response { error: Some(error), .. })
            if show.has_told(&error) && io::stdout().is_terminal() =>
        {
            Ok(Exit::Problem)
        }
        Ok(Response { error: Some(error), .. }) => Err(Problem::new(clean(&error))),
        Ok(_) => Ok(Exit::Fine),
        Err(error) => Err(problem(&error)),
    }
}

/// Prompts of a person, and messages of triggers, until the person has had enough.
async fn conversation(
    agent: &Agent<Started>,
    show: &Show<impl io::Write>,
    interrupts: &mut Signal,
    person: &Terminal,
) -> Result<Exit, Problem> {
    show.line("What shall I do? (Ctrl-C stops what I do; Ctrl-D ends)");
    loop {
        show.prompt();
        // Nothing of this is lost where something else comes first. What a person types while a turn is under way waits
        // for its end.
        let line = tokio::select! {
            biased;
            line = person.line() => Some(line),
            () = agent.message_waits() => None,
            _ = interrupts.recv() => Some(None),
        };
        let answer = match line {
            Some(None) => {
                show.end_line();
                return Ok(Exit::Fine);
            }
            Some(Some(line)) => {
                show.was_typed();
                if line.trim().is_empty() {
                    continue;
                }
                turn(agent, interrupts, agent.chat(line)).await
            }
            None => turn(agent, interrupts, agent.next_triggered()).await,
        };
        show.end_line();
        let Some(answer) = answer else { return Ok(Exit::Fine) };
        if let Err(problem) = tell(show, answer) {
            show.told("error", &problem.to_string());
        }
    }
}
