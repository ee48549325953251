//! `tollgate status`

use std::path::{Path, PathBuf};

use serde::Serialize;
use tollgate_config::layers::Places;
use tollgate_config::load::survey;
use tollgate_config::trust::{Store, TrustState};
use tollgate_record::Reader;

use crate::allow::{about, call_shown};
use crate::doctor::{self, Patient, State};
use crate::exit::Exit;
use crate::install::surroundings;
use crate::out::{Out, styles, wrapped};
use crate::place::{project_shown, shown};
use crate::problem::Problem;
use crate::visible::in_one_line;

/// Number of refusals that are looked through for one in this project.
const MOST_REFUSALS: usize = 1_000;

/// Show on one screen which agents are guarded, by which hooks, and whether this project is trusted
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate status
  tollgate status --json | jq -r '.agents[] | select(.state != \"guarded\").host'

Exit codes: 0 every agent that asks Tollgate is guarded; 1 one of them is not, or none asks.")]
pub(crate) struct Args {
    /// Print one object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    project: PathBuf,
    /// The trust of the project's hooks.
    trust: &'static str,
    /// The hooks of files that are in force here for any agent.
    guards: Vec<String>,
    agents: Vec<Patient>,
    /// What is wrong with hook files.
    problems: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_refusal: Option<LastRefusal>,
}

/// The last call that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LastRefusal {
    /// When, for a person.
    pub(crate) when: String,
    /// The agent, by its title.
    pub(crate) agent: String,
    /// The call, masked and in one line.
    pub(crate) call: String,
    /// Why, as the agent was told.
    pub(crate) reason: String,
}

/// Returns the last refusal in a project. None if the record has none, or cannot be read.
fn last_refusal(project: &Path) -> Option<LastRefusal> {
    let trust = Places::of_this_process(None).trust?;
    let refusals = Reader::new(trust.parent()?).newest_refusals(MOST_REFUSALS).ok()?;
    let (stored, refused) =
        refusals.into_iter().find(|(_, refused)| Path::new(&refused.project) == project)?;
    let agent = tollgate_hosts::by_name(&refused.host).map_or(&*refused.host, |host| host.title);
    Some(LastRefusal {
        when: format!("{} ago", about(stored.time.elapsed().unwrap_or_default())),
        agent: agent.to_owned(),
        call: call_shown(&refused),
        reason: in_one_line(&refused.reason),
    })
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let here = surroundings(None)?;
    let agents = doctor::examine(&doctor::start(None)?, &here);
    let mut guards: Vec<String> = Vec::new();
    for name in agents.iter().flat_map(|agent| &agent.guards) {
        if !guards.contains(name) {
            guards.push(name.clone());
        }
    }
    let report = Report {
        trust: trust(&here.project),
        guards,
        problems: doctor::of_files(&agents).into_iter().map(str::to_owned).collect(),
        last_refusal: last_refusal(&here.project),
        agents,
        project: here.project,
    };
    let mut asks = report.agents.iter().filter(|agent| agent.state != State::Found).peekable();
    let is_well = asks.peek().is_some()
        && report.problems.is_empty()
        && asks.all(|agent| agent.state == State::Guarded);
    if args.json {
        out.json(&report);
    } else {
        report.text(out);
    }
    Ok(if is_well { Exit::Fine } else { Exit::Problem })
}

/// Returns how a project's hooks are trusted, in words.
fn trust(project: &Path) -> &'static str {
    let places = Places::of_this_process(Some(project.to_owned()));
    let Ok(survey) = survey(&places) else { return "cannot be told: `tollgate trust`" };
    if survey.pins().next().is_none() {
        return "nothing to trust";
    }
    let Some(Ok(store)) = places.trust.as_ref().map(Store::open) else {
        return "cannot be told: `tollgate trust`";
    };
    match store.state(&survey) {
        TrustState::Trusted(_) => "trusted",
        TrustState::Untrusted => "not trusted: `tollgate trust`",
        TrustState::Changed(_) => "changed since it was trusted: `tollgate trust`",
    }
}

impl Report {
    fn text(&self, out: &mut Out) {
        /// Width of the text beside the headings.
        const WIDTH: usize = 66;
        let head = styles::HEADING;
        if self.agents.is_empty() {
            out.line("No agent was found that Tollgate knows.");
        }
        for agent in &self.agents {
            agent.tell_state(out);
        }
        let row = |name: &str, text: &str, out: &mut Out| {
            for (index, line) in wrapped(text, WIDTH).into_iter().enumerate() {
                let name = if index == 0 { name } else { "" };
                out.line(format!("{head}{name:<12}{head:#}{line}"));
            }
        };
        let guards = match self.guards.as_slice() {
            [] => "none in force".to_owned(),
            some => some.join(", "),
        };
        row("guards", &guards, out);
        row("project", &format!("{}, {}", project_shown(&self.project), self.trust), out);
        if let Some(LastRefusal { when, agent, call, reason }) = &self.last_refusal {
            row("refused", &format!("{when}, to {agent}: `{call}`. {reason}"), out);
        }
        for problem in &self.problems {
            row("problem", problem, out);
        }
        let broken = self.agents.iter().any(|agent| agent.state == State::Broken);
        if broken {
            out.hint("`tollgate doctor` tells what is wrong");
        } else if self.agents.iter().any(|agent| agent.state == State::Found) {
            out.hint(format!("`tollgate setup` protects all agents, with hooks in {}", user()));
        }
    }
}

fn user() -> String {
    Places::of_this_process(None).user.as_deref().map(shown).unwrap_or_default()
}
