//! `tollgate run`: an agent at the command line, held by the hooks in force.

use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use tollgate_agent::person::{Nobody, Terminal};
use tollgate_agent::{Agent, AgentBuilder, AgentError, Response, Started};
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::audit::JsonLines;
use tollgate_core::policy::{AskHandler, Policies, allow_all, safe_defaults};
use tollgate_model::provider::{Options, open};
use tollgate_starlark::Starlark;

use crate::check;
use crate::exit::Exit;
use crate::out::Out;
use crate::problem::Problem;
use crate::show::Show;

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
  echo \"Fix the tests\" | tollgate run --model openai/gpt-5 --allow-all --record session.jsonl

Keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY.")]
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
    let rules = if args.allow_all { vec![allow_all()] } else { safe_defaults(AskHandler::host()) };
    // Not among the rules of the project: a policy of the project that allows something is asked as well, and the
    // stricter counts.
    let policies = Policies::builder().rules(rules).build();
    let policies = policies.map_err(|error| Problem::new(error.to_string()))?;
    let show = Arc::new(Show::new(anstream::stdout(), &directory));
    let listener = Arc::clone(&show);
    let mut builder = Agent::builder()
        .model(model)
        .instructions(INSTRUCTIONS)
        .workspace(&directory)
        .hook_files(setup)
        .enforce(policies)
        .on_update(move |update| listener.tell(update));
    builder = match Terminal::open() {
        Ok(person) => builder.person(person),
        Err(_) => builder.person(Nobody),
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
    runtime.block_on(async {
        let agent = builder.build().start().await.map_err(|error| problem(&error))?;
        if let Some(files) = agent.hook_files() {
            check::tell(&files.diagnostics, out);
            out.flush()?;
        }
        let exit = match prompt {
            Some(prompt) => one_shot(&agent, &show, prompt).await,
            None => conversation(&agent, &show).await,
        };
        agent.stop().await;
        exit
    })
}

const INSTRUCTIONS: &str = "You are an agent that works in a directory of the user's. Use your tools to find out what \
     you do not know, do what you are asked and no more, and say briefly what you did. Some calls may be denied: then \
     do not try to get around it, but find another way that is permitted, or say what you could not do and why.";

fn problem(error: &AgentError) -> Problem {
    Problem::new(error.to_string())
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
    prompt: String,
) -> Result<Exit, Problem> {
    let answer = turn(agent, agent.chat(prompt)).await;
    show.end_line();
    tell(show, answer)
}

/// Runs a turn; Ctrl-C cancels it.
async fn turn(
    agent: &Agent<Started>,
    turn: impl Future<Output = Result<Response, AgentError>>,
) -> Result<Response, AgentError> {
    let mut turn = std::pin::pin!(turn);
    tokio::select! {
        answer = &mut turn => answer,
        _ = tokio::signal::ctrl_c() => {
            agent.cancel();
            turn.await
        }
    }
}

/// Says what came of a turn, as far as that was not seen.
fn tell(
    show: &Show<impl io::Write>,
    answer: Result<Response, AgentError>,
) -> Result<Exit, Problem> {
    match answer {
        Ok(Response { refused: Some(refusal), .. }) => {
            show.line(&format!("denied: {}", refusal.reason));
            Ok(Exit::Denied)
        }
        Ok(Response { error: Some(error), .. }) => Err(Problem::new(error)),
        Ok(_) => Ok(Exit::Fine),
        Err(error) => Err(problem(&error)),
    }
}

/// Prompts of a person, and messages of triggers, until the person has had enough.
async fn conversation(
    agent: &Agent<Started>,
    show: &Show<impl io::Write>,
) -> Result<Exit, Problem> {
    let (lines, mut typed) = tokio::sync::mpsc::channel(1);
    // Reading a terminal cannot be given up, so it has a thread that nobody waits for.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    show.line("What shall I do? (an empty line or Ctrl-D ends)");
    loop {
        let answer = tokio::select! {
            line = typed.recv() => match line {
                Some(line) if !line.trim().is_empty() => turn(agent, agent.chat(line)).await,
                _ => return Ok(Exit::Fine),
            },
            answer = agent.next_triggered() => answer,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Fine),
        };
        show.end_line();
        if let Err(problem) = tell(show, answer) {
            show.line(&format!("error: {problem}"));
        }
    }
}
