//! `tollgate why`

mod words;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{Args as CallArgs, ToolCall, ToolPre};
use tollgate_core::{AnyEvent, Kind};
use tollgate_exec::Executor;
use tollgate_shell::policy::effects_of;
use tollgate_starlark::Starlark;

use crate::dispatch::{Input, Ready};
use crate::exit::Exit;
use crate::fire::Report;
use crate::out::{Out, styles, width, wrapped};
use crate::place::named_files;
use crate::problem::Problem;
use crate::{check, world};
use words::{Seen, Unclear};

/// Say what would be decided about a command line here, and why
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate why 'git push --force'
  tollgate why 'rm -rf build' --cwd /work/project/web
  tollgate why 'curl https://example.com | sh' --json
  tollgate why 'rm -rf ~' --hooks hooks/command-guard.md

The command is not run. All hooks in force in the directory are asked, as for an
agent that runs the command there. `does` is what the command does, `may` what
it does under some condition.

Exit codes: 0 it goes on; 1 a problem in hooks or arguments; 2 denied; 3 a
person has to decide.")]
pub(crate) struct Args {
    /// The command line, as one argument
    #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
    command: String,
    /// The directory it would run in [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Ask the hooks of this file or directory, and no others; may be repeated
    #[arg(long, value_name = "PATH")]
    hooks: Vec<PathBuf>,
    /// Print one object
    #[arg(long)]
    json: bool,
}

/// The output of `why`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    command: &'a str,
    directory: &'a str,
    effects: &'a [Seen],
    /// What could not be told: the command may do other things.
    unknown: &'a [Unclear],
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    world::known(world::Session::default());
    let directory = directory(args)?;
    let places = Places::of_this_process(Some(Places::project_of(&directory)));
    let Some(directory) = directory.to_str().map(str::to_owned) else {
        return Err(Problem::new(format!("`{}` is not UTF-8", directory.display()))
            .help("agents cannot say in JSON that they are in such a directory"));
    };
    let mut call = ToolCall { name: "run_command".into(), ..ToolCall::default() };
    call.args = CallArgs::from_iter([
        ("CommandLine".to_owned(), json!(args.command)),
        ("Cwd".to_owned(), json!(directory)),
    ]);
    let mut setup = Setup::new(places).scripts(Starlark::new()).only(Kind::ToolPre);
    if !args.hooks.is_empty() {
        setup = setup.named(named_files(&args.hooks, None)?);
    }
    // Hooks are asked one after the other: threads would only be started to be waited for.
    setup.executor = Executor::in_place();
    let ready = Ready::new(setup)?;
    check::tell(&ready.in_force().diagnostics, out);
    let workspaces: Vec<String> =
        ready.project().map(|project| project.to_string_lossy().into_owned()).into_iter().collect();
    let found = effects_of(&call, &workspaces);
    let effects = words::effects(&found);
    let unknown = words::unknowns(&found);
    let event = AnyEvent::ToolPre(ToolPre { call });
    let fired = ready.fire(Input { event, session: SessionInfo::default() });
    let report = Report::of(&fired);
    let exit = report.exit();
    let answer = Answer {
        command: &args.command,
        directory: &directory,
        effects: &effects,
        unknown: &unknown,
        report: &report,
    };
    if args.json {
        out.json(&answer);
    } else {
        tell(&answer, out);
    }
    std::mem::forget((ready, fired));
    Ok(exit)
}

fn directory(args: &Args) -> Result<PathBuf, Problem> {
    let named = match &args.cwd {
        Some(named) => named.clone(),
        None => std::env::current_dir().map_err(|error| {
            Problem::new(format!("the current directory cannot be told: {error}"))
                .help("name one: `--cwd DIR`")
        })?,
    };
    let directory = named.canonicalize().ok().filter(|directory| directory.is_dir());
    directory.ok_or_else(|| {
        Problem::new(format!("`{}` is not a directory", named.display()))
            .help("`--cwd` names the directory that the command would run in")
    })
}

fn tell(answer: &Answer<'_>, out: &mut Out) {
    let report = answer.report;
    let (style, said) = match report.decision {
        "deny" => (styles::ERROR, "denied"),
        "ask" | "force_ask" => (styles::WARNING, "a person has to decide"),
        "allow" => (styles::GOOD, "allowed"),
        _ => (styles::GOOD, "goes on: no hook objects"),
    };
    let style = Out::style(style);
    out.line(format!("{style}{said}{style:#}"));
    let mut field = |name: &str, text: &str| {
        for (place, line) in wrapped(text, width().saturating_sub(11)).iter().enumerate() {
            let name = if place == 0 { name } else { "" };
            out.line(format!("  {name:<8} {line}"));
        }
    };
    if !report.reason.is_empty() {
        field("reason", &report.reason);
    }
    let told = format!(": {}", report.reason);
    let detail = report.detail.strip_suffix(&told).unwrap_or(&report.detail);
    if !detail.is_empty() {
        // A file below this directory is shown as it would be typed here.
        let here = std::env::current_dir().unwrap_or_default();
        field("detail", &detail.replace(&format!("({}/", here.display()), "("));
    }
    let command = report.payload.get("args").and_then(|args| args.get("CommandLine"));
    if let Some(rewritten) = command.and_then(|it| it.as_str()).filter(|it| *it != answer.command) {
        field("rewrite", rewritten);
    }
    let lines: Vec<(&str, String)> = answer
        .effects
        .iter()
        .map(|effect| (effect.certainty, effect.line()))
        .chain(answer.unknown.iter().map(|unclear| ("unknown", unclear.line())))
        .collect();
    if lines.is_empty() {
        field("does", "nothing that is known to matter");
    }
    for (place, (name, text)) in lines.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| lines.get(before));
        let is_same = before.is_some_and(|(before, _)| before == name);
        field(if is_same { "" } else { name }, text);
    }
    if report.hooks.is_empty() {
        out.hint("no hook is in force here; `tollgate init` makes some");
    }
}
