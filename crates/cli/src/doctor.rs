//! `tollgate doctor`

mod canary;
mod cover;
mod files;
mod layer;
mod version;

use std::env;
use std::path::PathBuf;

use serde::Serialize;
use tollgate_hosts::Version;
use tollgate_install::{Found, Surroundings, find};

use crate::exit::Exit;
use crate::install::surroundings;
use crate::out::{Out, count, styles};
use crate::place::shown;
use crate::problem::Problem;
use crate::progress::Progress;
use layer::LayerReport;

/// Tell of each agent on this machine whether it is guarded: test calls are refused, or not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate doctor
  tollgate doctor --project ~/src/shop --json

Test calls are put to the very command that the agent has in its configuration, from the directory that
the agent would start in. Nothing of them is run. The first one is a call that Tollgate always refuses,
`tollgate trust`: it tells whether the agent is connected. The others destroy something, such as
`mkfs.ext4 -F /dev/sda1`: an agent is guarded if a hook in force refuses one of them.

Exit codes: 0 every agent that asks Tollgate is guarded; 1 one of them is not, or none asks, or hook files
here are untrusted, changed or broken.")]
pub(crate) struct Args {
    /// The directory that agents start in [default: the current directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print a list of objects
    #[arg(long)]
    json: bool,
}

/// The degree to which an agent is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It asks Tollgate, and a hook in force refuses a destructive call.
    Guarded,
    /// It asks Tollgate, and no hook in force refuses one.
    Connected,
    /// Tollgate is installed, and something is wrong with it.
    Broken,
    /// Tollgate is not installed in it.
    Found,
}

/// One agent.
#[derive(Debug, Serialize)]
pub(crate) struct Patient {
    pub(crate) host: &'static str,
    title: &'static str,
    program: Option<PathBuf>,
    version: Option<String>,
    pub(crate) state: State,
    /// The state in a sentence.
    summary: String,
    /// The hooks of files that are in force here when this agent asks.
    pub(crate) guards: Vec<String>,
    pub(crate) layers: Vec<LayerReport>,
    /// Events that are not passed to hooks.
    not_covered: &'static [&'static str],
    /// What is wrong with the hook files that it is held to here.
    pub(crate) hook_files: Vec<String>,
}

/// Returns the directory that agents would start in.
pub(crate) fn start(named: Option<PathBuf>) -> Result<PathBuf, Problem> {
    let start = named.map_or_else(env::current_dir, Ok)?;
    start.canonicalize().map_err(|error| {
        Problem::new(format!("`{}` is not a directory: {error}", start.display()))
            .help("name an existing directory")
    })
}

/// Examines all agents on this machine, as if each was started in this directory.
pub(crate) fn examine(start: &std::path::Path, here: &Surroundings) -> Vec<Patient> {
    let progress = Progress::new();
    progress.step("Asking the agents for their versions");
    let found = find(here);
    let versions = version::all(&found);
    let patient = |(found, version): (&Found, Option<Version>)| {
        progress.step(format!("Checking {}", found.target.title));
        Patient::examine(found, version, start, here)
    };
    found.iter().zip(versions).map(patient).collect()
}

/// Returns what is wrong with hook files, each problem once.
pub(crate) fn of_files(patients: &[Patient]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for problem in patients.iter().flat_map(|patient| &patient.hook_files) {
        if !all.contains(&problem.as_str()) {
            all.push(problem);
        }
    }
    all
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let start = start(args.project.clone())?;
    let here = surroundings(args.project.clone())?;
    let patients = examine(&start, &here);
    let of_files = of_files(&patients);
    let asks = |patient: &&Patient| patient.state != State::Found;
    let is_well = of_files.is_empty()
        && patients.iter().any(|patient| patient.state == State::Guarded)
        && patients.iter().filter(asks).all(|patient| patient.state == State::Guarded);
    if args.json {
        out.json(&patients);
        return Ok(if is_well { Exit::Fine } else { Exit::Problem });
    }
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
    } else if !patients.iter().any(|patient| asks(&patient)) {
        out.hint("`tollgate setup` protects all of them; `tollgate install HOST` one");
    }
    Ok(if is_well { Exit::Fine } else { Exit::Problem })
}

impl Patient {
    fn examine(
        found: &Found,
        version: Option<Version>,
        start: &std::path::Path,
        here: &Surroundings,
    ) -> Self {
        let host = tollgate_hosts::by_name(found.target.name);
        let mut layers: Vec<_> = found
            .layers
            .iter()
            .map(|installed| LayerReport::examine(found, host, installed, start, here))
            .collect();
        let installed = layers.iter_mut().find(|layer| layer.installed);
        if let (Some(host), Some(layer)) = (host, installed) {
            let (problem, note) = version::judged(host, version);
            layer.problems.extend(problem);
            layer.notes.extend(note);
        }
        let is_installed = layers.iter().any(|layer| layer.installed);
        let (hook_files, guards) = if is_installed {
            let project = &here.project;
            (files::problems(found.target.name, project), files::guards(found.target.name, project))
        } else {
            (Vec::new(), Vec::new())
        };
        let mut patient = Self {
            host: found.target.name,
            title: found.target.title,
            program: found.program.clone(),
            version: version.map(|version| version.to_string()),
            state: State::Found,
            summary: String::new(),
            guards,
            hook_files,
            layers,
            not_covered: host.map_or(&[], |host| host.other_events),
        };
        patient.conclude();
        patient
    }

    /// Works out the state, and puts it into words.
    fn conclude(&mut self) {
        let problems: usize = self.layers.iter().map(|layer| layer.problems.len()).sum();
        let mut canaries = self.layers.iter().filter_map(|layer| layer.canary.as_ref());
        let canary = canaries.next();
        let guards = match self.guards.len() {
            0 => String::new(),
            some => format!(" by {}", count(some, "hook")),
        };
        (self.state, self.summary) = if !self.layers.iter().any(|layer| layer.installed) {
            (State::Found, format!("found, not guarded. Run `tollgate install {}`.", self.host))
        } else if problems > 0 {
            (State::Broken, format!("not guarded: {}", count(problems, "problem")))
        } else if let Some(held) = canary.and_then(canary::Canary::held) {
            (State::Guarded, format!("guarded{guards}; {held}"))
        } else {
            let how = "`tollgate init --user` puts a starter set in force";
            (State::Connected, format!("connected, but no guards are on: {how}."))
        };
    }

    /// Writes the state in one line.
    pub(crate) fn tell_state(&self, out: &mut Out) {
        let style = match self.state {
            State::Guarded => styles::GOOD,
            State::Broken => styles::ERROR,
            State::Connected | State::Found => styles::WARNING,
        };
        let Self { title, summary, .. } = self;
        out.line(format!("{0}{title}{0:#}: {style}{summary}{style:#}", styles::HEADING));
    }

    /// Writes the state in one line, with what to do about it if there is one thing to do.
    pub(crate) fn tell_briefly(&self, out: &mut Out) {
        let mut problems = self.layers.iter().flat_map(|layer| &layer.problems);
        let first = problems.next().filter(|_| problems.next().is_none());
        let text = first.unwrap_or(&self.summary);
        out.line(format!("  {0}{1}{0:#}: {text}", styles::HEADING, self.title));
    }

    fn tell(&self, out: &mut Out) {
        self.tell_state(out);
        for layer in self.layers.iter().filter(|layer| layer.is_of_interest()) {
            let state = if layer.installed { "installed" } else { "not installed" };
            out.line(format!("  {}  {state}  {}", layer.layer, shown(&layer.path)));
            for problem in &layer.problems {
                out.line(format!("    {0}problem:{0:#} {problem}", styles::ERROR));
            }
            for note in &layer.notes {
                out.line(format!("    {0}note:{0:#} {note}", styles::QUIET));
            }
        }
        if self.state != State::Found && !self.not_covered.is_empty() {
            let count = self.not_covered.len();
            out.line(format!(
                "  {count} of its events are not passed to hooks: `tollgate events --host {}`",
                self.host
            ));
        }
    }
}
