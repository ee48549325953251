//! `tollgate doctor`

mod canary;
mod cover;
mod files;

use std::path::{Path, PathBuf};

use serde::Serialize;
use tollgate_hosts::Host;
use tollgate_install::{CommandLine, Configured, Found, Installed, Layer, Surroundings, find};

use crate::exit::Exit;
use crate::install::{self, surroundings, uncovered};
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

Exit codes: 0 every guard holds; 1 one of them would not, or there is none, or hook files here are not
what they should be: not trusted, changed since, or broken.")]
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
    /// What is wrong with the hook files that it is held to here.
    hook_files: Vec<String>,
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
    /// Tools that it is not asked about, as far as they are known.
    tools_not_covered: Vec<&'static str>,
    canary: Option<Canary>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let here = surroundings(args.project.clone())?;
    let patients: Vec<Patient> =
        find(&here).iter().map(|found| Patient::examine(found, &here)).collect();
    let mut of_files: Vec<&String> = Vec::new();
    for problem in patients.iter().flat_map(|patient| &patient.hook_files) {
        if !of_files.contains(&problem) {
            of_files.push(problem);
        }
    }
    let holds = of_files.is_empty()
        && patients.iter().any(|patient| patient.holds == Some(true))
        && patients.iter().all(|patient| patient.holds != Some(false));
    if args.json {
        out.json(&patients);
    } else {
        for patient in &patients {
            patient.tell(out);
        }
        if !of_files.is_empty() {
            out.line(format!("{0}Hook files{0:#}", styles::HEADING));
        }
        for problem in of_files {
            out.line(format!("  {0}problem:{0:#} {problem}", styles::ERROR));
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
    fn examine(found: &Found, here: &Surroundings) -> Self {
        let host = tollgate_hosts::by_name(found.target.name);
        let layers: Vec<_> = found
            .layers
            .iter()
            .map(|installed| LayerReport::examine(found, host, installed, here))
            .collect();
        let is_installed = layers.iter().any(|layer| layer.installed);
        let is_well = layers.iter().all(|layer| layer.problems.is_empty());
        Self {
            host: found.target.name,
            title: found.target.title,
            program: found.program.clone(),
            holds: is_installed.then_some(is_well),
            hook_files: if is_installed {
                files::problems(found.target.name, &here.project)
            } else {
                Vec::new()
            },
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

/// The command that puts an installation right, in a sentence. A bare name stays one.
fn again(found: &Found, installed: &Installed) -> String {
    let mut programs = installed.commands.iter().filter_map(|it| it.program.as_deref());
    let bare = programs.find(|it| !it.contains('/'));
    let layer = match installed.layer {
        Layer::Project => " --project",
        Layer::User => "",
    };
    let usual = installed.layer == Layer::Project && bare == Some(install::NAME);
    let program = bare.filter(|_| !usual).map(|it| format!(" --program {it}")).unwrap_or_default();
    format!("`tollgate install {}{layer}{program}` puts it right", found.target.name)
}

impl LayerReport {
    fn is_of_interest(&self) -> bool {
        self.installed || !self.problems.is_empty()
    }

    fn examine(
        found: &Found,
        host: Option<&'static Host>,
        installed: &Installed,
        here: &Surroundings,
    ) -> Self {
        let unread = |error: &tollgate_install::InstallError| {
            format!("{}: put that right, or move the file away", error.problem())
        };
        let mut report = Self {
            layer: installed.layer.to_string(),
            path: installed.path.clone(),
            installed: installed.is_installed(),
            problems: installed.problems.iter().map(unread).collect(),
            notes: Vec::new(),
            tools_not_covered: Vec::new(),
            canary: None,
        };
        if !report.installed {
            return report;
        }
        report.tools_not_covered.clone_from(&installed.uncovered);
        let again = again(found, installed);
        // Wherever it stands, it is for all layers.
        for (path, setting) in found.layers.iter().flat_map(|layer| &layer.switched_off) {
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
        if let Some(what) = uncovered(&installed.uncovered) {
            report.notes.push(format!("not asked about {what}"));
        }
        report.problems.extend(installed.distrusted.iter().cloned());
        report.look_at_gates(host, installed, &again);
        report.look_at_versions(installed, &again, &here.program);
        for other in &installed.others {
            if let Some(how) = other.undoes {
                let command =
                    other.command.as_ref().map(CommandLine::to_string).unwrap_or_default();
                report.notes.push(format!(
                    "another hook at {} could undo what is not a refusal ({how}): `{command}` in {}",
                    other.event,
                    shown(&other.path)
                ));
            }
        }
        // Where the host keeps a record, what it needs was looked up.
        if !found.target.asks_for_trust {
            report.notes.extend(found.target.needs(installed.layer).into_iter().map(str::to_owned));
        }
        if let Some(host) = host {
            report.try_canary(host, installed, &again, here);
        }
        report
    }

    /// What is registered, does what it should, and would be written in another way now.
    fn look_at_versions(&mut self, installed: &Installed, again: &str, own: &Path) {
        let is_old = |it: &&Configured| !it.is_current && (it.weaker.is_empty() || !it.gate);
        let old = || installed.commands.iter().filter(is_old);
        let others = || old().filter_map(|it| it.program.as_deref());
        if let Some(program) = others().find(|it| Path::new(it) != own) {
            let own = own.display();
            self.notes.push(format!("it calls `{program}`, and this is {own}"));
        } else if old().next().is_some() {
            self.notes.push(format!("the command is not the one of this version: {again}"));
        }
    }

    /// What is registered, and does less than it would as it is written now.
    fn look_at_gates(&mut self, host: Option<&Host>, installed: &Installed, again: &str) {
        let gates = || installed.commands.iter().filter(|it| it.gate);
        // What is there twice is asked twice: once as it should be is enough.
        let is_weak = |it: &&Configured| {
            !gates().any(|other| other.event == it.event && other.weaker.is_empty())
        };
        let mut all: Vec<(String, Vec<&str>)> = Vec::new();
        for weak in gates().filter(is_weak) {
            let mut how = weak.weaker.join(", ");
            let of_tool = |host: &Host| {
                use tollgate_core::Kind::{ToolPost, ToolPre};
                host.event(&weak.event).is_some_and(|it| matches!(it.kind, ToolPre | ToolPost))
            };
            let left_out = match (host, &weak.matcher) {
                (Some(host), Some(matcher)) if of_tool(host) => cover::left_out(host, matcher),
                _ => Vec::new(),
            };
            if !left_out.is_empty() {
                how = format!("{how}, so that it is not asked about {}", cover::few(&left_out));
            }
            for tool in left_out {
                if !self.tools_not_covered.contains(&tool) {
                    self.tools_not_covered.push(tool);
                }
            }
            match all.iter_mut().find(|(known, _)| *known == how) {
                Some((_, events)) => events.push(&weak.event),
                None => all.push((how, vec![&weak.event])),
            }
        }
        for (how, events) in all {
            let are = if events.len() == 1 { "is" } else { "are" };
            let events = events.join(", ");
            self.problems
                .push(format!("{events} {are} not what this version writes: {how}; {again}"));
        }
    }

    /// The programs that gates call: those that are missing, and those that nobody tries here.
    fn look_at_programs(&mut self, installed: &Installed, tried: &str, again: &str, own: &Path) {
        let mut told = Vec::new();
        for gate in installed.commands.iter().filter(|it| it.gate) {
            let Some(program) = gate.program.as_deref().filter(|it| !told.contains(it)) else {
                continue;
            };
            told.push(program);
            if !gate.is_there {
                self.problems.push(format!(
                    "the program is not there: `{program}`; every call is refused until it is: {again}"
                ));
            } else if program != tried && Path::new(program) != own {
                let event = &gate.event;
                self.problems
                    .push(format!("another program is asked at {event}: `{program}`; {again}"));
            }
        }
    }

    fn try_canary(
        &mut self,
        host: &'static Host,
        installed: &Installed,
        again: &str,
        here: &Surroundings,
    ) {
        let is_gate = |it: &&Configured| {
            let event = host.event(&it.event);
            event.is_some_and(|it| it.kind == tollgate_core::Kind::ToolPre)
                || matches!(it.command, CommandLine::Plugin(_))
        };
        let gates = || installed.commands.iter().filter(is_gate);
        let Some(command) = gates().find(|it| it.weaker.is_empty()).or_else(|| gates().next())
        else {
            return;
        };
        let program = command.program.clone().unwrap_or_default();
        self.look_at_programs(installed, &program, again, &here.program);
        // What is missing refuses nothing itself.
        if !command.is_there {
            return;
        }
        let project = &here.project;
        let canary = match &command.command {
            plugin @ CommandLine::Plugin(_) => {
                Canary::through_plugin(host, plugin, program, project)
            }
            line => Canary::sing(host, &command.event, line, project),
        };
        if let Some(why) = canary.problem() {
            self.problems.push(why);
        }
        self.canary = Some(canary);
    }
}
