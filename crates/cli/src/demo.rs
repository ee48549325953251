//! `tollgate demo`: a governed agent with a scripted model, in a directory that is gone afterwards.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tollgate_agent::permission::Resource;
use tollgate_agent::person::{Approval, Consent, Person, Terminal};
use tollgate_agent::{Agent, AgentError};
use tollgate_config::layers::Places;
use tollgate_config::load::{Files, Setup};
use tollgate_core::audit::JsonLines;
use tollgate_core::event::{Question, Responses};
use tollgate_core::hook::BoxFuture;
use tollgate_model::script::{Script, Scripted};
use tollgate_starlark::Starlark;

use crate::exit::Exit;
use crate::out::{Out, styles};
use crate::problem::Problem;
use crate::show::{Show, clean};

/// See a governed agent at work: no key, no network, half a minute
///
/// An agent with a scripted model works in a directory of its own. Hooks of four systems hold it: a deletion is denied,
/// an argument rewritten, a secret redacted, a file approved by you, a subagent held to the same rules, and the agent
/// sent back once before it may stop.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate demo          # you are asked once
  tollgate demo --yes    # without a terminal")]
pub(crate) struct Args {
    /// Say yes instead of you
    #[arg(long)]
    yes: bool,
}

/// The project of the demonstration: its files, by path.
const FILES: &[(&str, &str)] = &[
    (".agents/hooks.json", include_str!("demo/hooks.json")),
    (".polytoken/hooks.json", include_str!("demo/polytoken.json")),
    (".tollgate/hooks/command-guard.md", include_str!("../../../hooks/command-guard.md")),
    (".tollgate/hooks/secret-redaction.md", include_str!("../../../hooks/secret-redaction.md")),
    (".tollgate/hooks/staging-first.md", include_str!("demo/staging-first.md")),
    (".tollgate/policy.star", include_str!("demo/policy.star")),
    ("deploy.sh", include_str!("demo/deploy.sh")),
    ("settings.env", include_str!("demo/settings.env")),
    ("build/old.txt", "An old build.\n"),
];

pub(crate) fn run(args: &Args, _out: &mut Out) -> Result<Exit, Problem> {
    let directory = tempfile::tempdir()?;
    let project = directory.path().join("project");
    for (name, text) in FILES {
        let path = project.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&project))?;
        fs::write(path, text)?;
    }
    let script = Script::read("demo/model.json", include_str!("demo/model.json"));
    let script = script.map_err(|error| Problem::new(error.to_string()))?;
    let record = directory.path().join("record.jsonl");
    let show = Arc::new(Show::new(anstream::stdout(), &project));
    let listener = Arc::clone(&show);
    // What this program has written itself needs nobody's trust.
    let mut setup = Setup::new(Places::below(directory.path())).scripts(Starlark::new());
    setup.places.project = Some(project.clone());
    setup.files = Files::Found;
    let person: Box<dyn Person> = match Terminal::open() {
        Ok(person) if !args.yes => Box::new(person),
        _ => Box::new(SaysYes(Arc::clone(&show))),
    };
    let builder = Agent::builder()
        .model(Scripted::from(script))
        .workspace(&project)
        .session_directory(directory.path().join("session"))
        .hook_files(setup)
        .person(person)
        .audit(Arc::new(JsonLines::new(fs::File::create(&record)?)))
        .on_update(move |update| listener.tell(update));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        let agent = builder.build().start().await;
        let agent = agent.map_err(|error| Problem::new(error.to_string()))?;
        let prompt = "Clean up, deploy, and report what you did.";
        let heading = styles::HEADING;
        show.line(&format!("{heading}You: {prompt}{heading:#}"));
        // What is broken off leaves nothing behind, either.
        let answer = tokio::select! {
            answer = agent.chat(prompt) => answer,
            _ = tokio::signal::ctrl_c() => Err(AgentError::Cancelled),
        };
        show.end_line();
        agent.stop().await;
        let answer = answer.map_err(|error| Problem::new(error.to_string()))?;
        match answer.error {
            Some(error) => Err(Problem::new(error)),
            None => summary(&show, &record, &project),
        }
    });
    runtime.shutdown_background();
    exit
}

fn summary<W: io::Write>(show: &Show<W>, record: &Path, project: &Path) -> Result<Exit, Problem> {
    let audited = fs::read_to_string(project.join("audit.log")).unwrap_or_default();
    show.line("");
    if !audited.is_empty() {
        show.line("The audit log that a hook kept:");
        // The hook runs in the background, where one may be done before another that began earlier.
        let mut lines: Vec<_> = audited.lines().collect();
        lines.sort_unstable();
        for line in lines {
            show.line(&format!("  {line}"));
        }
    }
    let is_there = if project.join("build/old.txt").exists() { "yes" } else { "no" };
    show.line(&format!("The build is still there: {is_there}."));
    if fs::metadata(record)?.len() > 0 {
        show.line("What each hook was asked and answered was recorded, as `--record FILE` does for `tollgate run`.");
    }
    show.line("In a project of yours: `tollgate init`, then `tollgate run --model …`.");
    Ok(Exit::Fine)
}

/// Says yes where nobody can be asked, and shows that it was asked.
struct SaysYes<W>(Arc<Show<W>>);

impl<W> std::fmt::Debug for SaysYes<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SaysYes")
    }
}

impl<W: io::Write + Send + 'static> Person for SaysYes<W> {
    fn approve<'a>(&'a self, approval: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        let style = styles::WARNING;
        let (name, reason) = (clean(&approval.call.name), clean(approval.reason));
        self.0.line(&format!(
            "{style}? may it {name}:{style:#} {reason}  (the demonstration says yes)"
        ));
        for line in approval.diff.unwrap_or_default().lines() {
            self.0.line(&format!("    {}", clean(line)));
        }
        Box::pin(std::future::ready(Consent::Once))
    }

    fn permit<'a>(&'a self, _: &'a Resource, _: &'a str) -> BoxFuture<'a, Consent> {
        Box::pin(std::future::ready(Consent::Once))
    }

    fn answer<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        Box::pin(std::future::ready(None))
    }
}
