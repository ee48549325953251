//! `tollgate doctor`

mod canary;

use std::path::PathBuf;

use serde::Serialize;
use tollgate_hosts::Host;
use tollgate_install::{CommandLine, Found, Installed, find};

use crate::exit::Exit;
use crate::install::{surroundings, uncovered};
use crate::out::{Out, styles};
use crate::place::shown;
use crate::problem::Problem;
use canary::Canary;

/// Tell of each agent on this machine whether Tollgate guards it: a canary call is refused, or not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate doctor
  tollgate doctor --project ~/src/shop --json

The canary is a call that Tollgate always refuses: the agent would run `tollgate trust`. It is put to
the very command that the agent has in its configuration, as the agent would put it.

Exit codes: 0 every guard holds; 1 one of them would not, or there is none.")]
pub(crate) struct Args {
    /// The project's directory [default: the one around the current directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print a list of objects
    #[arg(long)]
    json: bool,
}

/// One agent.
#[derive(Serialize)]
struct Patient {
    host: &'static str,
    title: &'static str,
    program: Option<PathBuf>,
    /// Whether the guard would hold; none where Tollgate is not installed.
    holds: Option<bool>,
    layers: Vec<LayerReport>,
    /// Events that are not passed to hooks.
    not_covered: &'static [&'static str],
}

/// What was found in a layer.
#[derive(Serialize)]
struct LayerReport {
    layer: String,
    path: PathBuf,
    installed: bool,
    /// What is wrong, and what to do.
    problems: Vec<String>,
    /// What is good to know.
    notes: Vec<String>,
    /// Tools that the agent does not ask about, by its matcher.
    not_asked_about: Vec<&'static str>,
    canary: Option<Canary>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let here = surroundings(args.project.clone())?;
    let patients: Vec<Patient> =
        find(&here).iter().map(|found| Patient::examine(found, &here.project)).collect();
    let holds = patients.iter().any(|patient| patient.holds == Some(true))
        && patients.iter().all(|patient| patient.holds != Some(false));
    if args.json {
        out.json(&patients);
    } else {
        for patient in &patients {
            patient.tell(out);
        }
        if patients.is_empty() {
            out.line("No agent was found that Tollgate knows.");
        }
        if patients.iter().all(|patient| patient.holds.is_none()) {
            out.hint("`tollgate install HOST` makes an agent ask Tollgate");
        }
    }
    Ok(if holds { Exit::Fine } else { Exit::Problem })
}

impl Patient {
    fn examine(found: &Found, project: &std::path::Path) -> Self {
        let host = tollgate_hosts::by_name(found.target.name);
        let layers: Vec<_> = found
            .layers
            .iter()
            .map(|installed| LayerReport::examine(found, host, installed, project))
            .collect();
        let is_installed = layers.iter().any(|layer| layer.installed);
        let is_well = layers.iter().all(|layer| layer.problems.is_empty());
        Self {
            host: found.target.name,
            title: found.target.title,
            program: found.program.clone(),
            holds: is_installed.then_some(is_well),
            layers,
            not_covered: host.map_or(&[], |host| host.other_events),
        }
    }

    fn tell(&self, out: &mut Out) {
        let (style, state) = match self.holds {
            Some(true) => (styles::GOOD, "holds"),
            Some(false) => (styles::ERROR, "does not hold"),
            None => (styles::WARNING, "not installed"),
        };
        out.line(format!("{0}{1}{0:#}  {style}{state}{style:#}", styles::HEADING, self.title));
        for layer in self.layers.iter().filter(|layer| layer.is_of_interest()) {
            let state = if layer.installed { "installed" } else { "not installed" };
            out.line(format!("  {}  {state}  {}", layer.layer, shown(&layer.path)));
            if let Some(canary) = &layer.canary {
                out.line(format!("    {canary}"));
            }
            for problem in &layer.problems {
                out.line(format!("    {0}problem:{0:#} {problem}", styles::ERROR));
            }
            for note in &layer.notes {
                out.line(format!("    {0}note:{0:#} {note}", styles::QUIET));
            }
        }
        match self.holds {
            None => out.line(format!("  `tollgate install {}` makes it ask Tollgate", self.host)),
            Some(_) if !self.not_covered.is_empty() => {
                let count = self.not_covered.len();
                out.line(format!(
                    "  {count} of its events are not passed to hooks: `tollgate events --host {}`",
                    self.host
                ));
            }
            Some(_) => {}
        }
    }
}

impl LayerReport {
    fn is_of_interest(&self) -> bool {
        self.installed || !self.problems.is_empty()
    }

    fn examine(
        found: &Found,
        host: Option<&'static Host>,
        installed: &Installed,
        project: &std::path::Path,
    ) -> Self {
        let mut report = Self {
            layer: installed.layer.to_string(),
            path: installed.path.clone(),
            installed: installed.is_installed(),
            problems: installed.problems.iter().map(ToString::to_string).collect(),
            notes: Vec::new(),
            not_asked_about: Vec::new(),
            canary: None,
        };
        if !report.installed {
            return report;
        }
        report.not_asked_about.clone_from(&installed.uncovered);
        let again =
            format!("`tollgate install {} --{}` puts it right", found.target.name, installed.layer);
        for (path, setting) in &installed.switched_off {
            report.problems.push(format!("{} turns hooks off: `{setting}`", shown(path)));
        }
        let (gates, others): (Vec<_>, Vec<_>) =
            installed.missing.iter().partition(|registration| registration.gate);
        let names = |all: &[&tollgate_install::Registration]| {
            all.iter().map(|it| it.event).collect::<Vec<_>>().join(", ")
        };
        if !gates.is_empty() {
            report.problems.push(format!("not asked about {}: {again}", names(&gates)));
        }
        if !others.is_empty() {
            report.notes.push(format!("not told about {}: {again}", names(&others)));
        }
        if installed.commands.iter().any(|command| !command.is_current) {
            report.notes.push(format!("the command is not the one of this version: {again}"));
        }
        if let Some(what) = uncovered(&installed.uncovered) {
            report.notes.push(format!("not asked about {what}"));
        }
        for other in &installed.others {
            if let Some(how) = other.undoes {
                let command =
                    other.command.as_ref().map(CommandLine::to_string).unwrap_or_default();
                report.notes.push(format!(
                    "another hook at {} could undo a refusal ({how}): `{command}` in {}",
                    other.event,
                    shown(&other.path)
                ));
            }
        }
        report.notes.extend(found.target.needs(installed.layer).into_iter().map(ToOwned::to_owned));
        if let Some(host) = host {
            report.try_canary(host, installed, project);
        }
        report
    }

    fn try_canary(
        &mut self,
        host: &'static Host,
        installed: &Installed,
        project: &std::path::Path,
    ) {
        let gate = |event: &str| {
            host.event(event).is_some_and(|it| it.kind == tollgate_core::Kind::ToolPre)
        };
        let command = installed.commands.iter().find(|command| gate(&command.event));
        let Some(command) = command else {
            if let Some(plugin) = installed.commands.first() {
                let canary = Canary::through_plugin(host, &plugin.command, project);
                self.take(canary);
            }
            return;
        };
        self.take(Canary::sing(host, &command.event, &command.command, project));
    }

    fn take(&mut self, canary: Canary) {
        if let Some(why) = canary.problem() {
            self.problems.push(why);
        }
        self.canary = Some(canary);
    }
}
