//! `tollgate run`: an agent at the command line, held by the hooks in force.

mod session;
mod signals;
mod triggers;

use std::fs::File;
use std::io::{self, BufReader, IsTerminal as _, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_agent::person::{Nobody, Terminal};
use tollgate_agent::update::Update;
use tollgate_agent::{Agent, AgentBuilder};
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_config::settings;
use tollgate_core::audit::JsonLines;
use tollgate_core::policy::{
    AskHandler, Effect, Otherwise, Policies, Rule, allow, allow_all, safe_defaults,
};
use tollgate_model::provider::{Options, open};
use tollgate_starlark::Starlark;

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
  echo \"Fix the tests\" |
    tollgate run --model openai/gpt-5 --allow-all --record session.jsonl
  tollgate run --model ollama/qwen3 --on-change 'src/**/*.rs' \\
    \"Review what has changed: {paths}\"

With --every or --on-change it goes on until you end it, by Ctrl-C or a signal.
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

    /// Have it answer this prompt each time so much time has passed: 30s, 10m, 6h, 1d
    #[arg(long, num_args = 2, value_names = ["TIME", "PROMPT"])]
    every: Vec<String>,

    /// Have it answer this prompt when files change, whoever changes them: `{paths}` in it stands
    /// for which
    #[arg(long, num_args = 2, value_names = ["GLOB", "PROMPT"])]
    on_change: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    crate::world::known(crate::world::Session::default());
    let directory = match &args.directory {
        Some(directory) if directory.is_dir() => directory.clone(),
        Some(directory) => {
            return Err(Problem::new(format!("`{}` is no directory", directory.display())));
        }
        None => Places::project_of(&std::env::current_dir()?),
    };
    if let Some(path) = &args.resume {
        tell_damage(path, out)?;
    }
    let triggers = triggers::read(&args.every, &args.on_change, &directory)?;
    let prompt = prompt(args.prompt.as_deref(), !triggers.is_empty())?;
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
    // Who waits for triggers is there for a person as well, if there is one.
    let talks = io::stdin().is_terminal() && (prompt.is_none() || !triggers.is_empty());
    setup.interactive = talks;
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
    let mut builder = Agent::builder()
        .model(model)
        .instructions(INSTRUCTIONS)
        .workspace(&directory)
        .hook_files(setup)
        .enforce(policies)
        .on_update(move |update| match update {
            // Who is asked here and now needs no word of it, and where nobody is there, nothing waits for them. What
            // hooks have refused was told with what they came to.
            Update::Notice { kind: "approval" | "refused", .. } => {}
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
        // As the transcript: what an agent does is its person's business.
        let mut options = File::options();
        let file = options.append(true).create(true).mode(0o600).open(path).map_err(unwritable)?;
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
    let task = session::Task { prompt, talks, waits: !triggers.is_empty() };
    builder = triggers.add(builder);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(session::run(builder, &show, person.as_ref(), task, out));
    // What still works at something is not waited for: the session is over.
    runtime.shutdown_background();
    exit
}

/// What the agent is to do first; nothing where a person or a trigger will say.
fn prompt(given: Option<&str>, has_triggers: bool) -> Result<Option<String>, Problem> {
    const LONGEST: u64 = 4 << 20;
    let text = match given {
        Some(given) => given.to_owned(),
        // What waits for triggers may have been started by something that never closes its input.
        None if has_triggers || io::stdin().is_terminal() => return Ok(None),
        None => {
            let mut bytes = Vec::new();
            io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > LONGEST {
                return Err(Problem::new("standard input has more than 4 MiB, which is no prompt"));
            }
            let no_text = |_| Problem::new("standard input is no text in UTF-8");
            String::from_utf8(bytes).map_err(no_text)?
        }
    };
    if text.trim().is_empty() {
        return Err(Problem::new("there is nothing to do: the prompt is empty").help(
            "`tollgate run \"What does this project do?\"`, or without a prompt at a terminal",
        ));
    }
    Ok(Some(text))
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

const INSTRUCTIONS: &str = "You are an agent that works in a directory of the user's. Use your tools to find out what \
     you do not know, do what you are asked and no more, and say briefly what you did. Some calls may be denied: then \
     do not try to get around it, but find another way that is permitted, or say what you could not do and why.";

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

/// Most line numbers that are told of a damaged transcript.
const MOST_TOLD: usize = 8;

/// Says which lines of a transcript cannot be read. The session goes on without what they said.
fn tell_damage(path: &Path, out: &mut Out) -> Result<(), Problem> {
    let (lines, damaged) = tollgate_agent::transcript::read(path)?;
    if lines.is_empty() || damaged.is_empty() {
        return Ok(());
    }
    let mut numbers: Vec<String> =
        damaged.iter().take(MOST_TOLD).map(ToString::to_string).collect();
    if damaged.len() > MOST_TOLD {
        numbers.push(format!("{} more", damaged.len() - MOST_TOLD));
    }
    let (what, are) = if damaged.len() == 1 { ("line", "is") } else { ("lines", "are") };
    let warning = crate::out::styles::WARNING;
    out.note(format!(
        "{warning}warning:{warning:#} {what} {} of `{}` cannot be read and {are} left out",
        numbers.join(", "),
        path.display()
    ));
    Ok(())
}
