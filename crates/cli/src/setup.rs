//! `tollgate setup`

mod manifest;
mod undo;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde::Serialize;
use tollgate_config::trust::Hash;
use tollgate_install::{self as installer, Found, Layer, Plan, Surroundings, Target, find};

use crate::doctor::{self, Patient, State};
use crate::exit::Exit;
use crate::init::{self, Starter};
use crate::install::surroundings;
use crate::out::{Out, count, styles};
use crate::place::shown;
use crate::problem::Problem;
use manifest::{Edit, File, Manifest};

/// Protect this machine: write a starter set of hooks and make the agents here ask Tollgate
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools)] // each is an argument
#[command(after_help = "\
Examples:
  tollgate setup                 # all agents on this machine, for all projects
  tollgate setup --dry-run       # shows what would be written, and writes nothing
  tollgate setup claude codex
  tollgate setup --undo          # restores everything, byte for byte

Hook files that exist are kept, and of an agent's settings only Tollgate's own hooks are edited. Then
test calls are put to each agent's command, as `tollgate doctor` does. It can be run again at any time.

Exit codes: 0 done, and an agent is guarded; 1 a problem, or none is guarded.")]
pub(crate) struct Args {
    /// The agents [default: all that are on this machine]
    #[arg(value_name = "HOST", value_parser = target_parser())]
    hosts: Vec<&'static Target>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Take back what setup wrote. Files that were edited since are kept and named
    #[arg(long, conflicts_with = "hosts")]
    undo: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print one object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// True if nothing is to be changed.
    pub(crate) const fn only_shows(&self) -> bool {
        self.dry_run
    }
}

fn target_parser() -> impl clap::builder::TypedValueParser<Value = &'static Target> {
    PossibleValuesParser::new(Target::all().iter().map(|target| target.name))
        .try_map(|name| Target::by_name(&name))
}

/// The steps of a set-up.
struct Steps {
    /// The person's directory of hooks.
    base: PathBuf,
    /// Hook files that are missing.
    starters: Vec<Starter>,
    /// The agents, with what their files need.
    agents: Vec<(Found, Plan)>,
    /// Agents whose files cannot be edited, and why.
    failed: Vec<Failed>,
}

/// An agent that Tollgate could not be installed into.
#[derive(Serialize)]
struct Failed {
    host: &'static str,
    title: &'static str,
    problem: String,
}

/// The report of a set-up, or of a dry run.
#[derive(Serialize)]
struct Report<'a> {
    dry_run: bool,
    /// Hook files.
    written: Vec<PathBuf>,
    /// Files of agents.
    edited: Vec<&'a Path>,
    failed: &'a [Failed],
    /// The agents, as `doctor` reports them; none in a dry run.
    agents: Vec<Patient>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    if args.undo {
        return undo::run(args, out);
    }
    let here = surroundings(None)?;
    let mut steps = Steps::plan(args, &here)?;
    if args.dry_run {
        if args.json {
            out.json(&steps.report(true, Vec::new()));
        } else {
            steps.tell(out);
        }
        return Ok(Exit::Fine);
    }
    let is_new = !steps.is_empty();
    if is_new {
        if !args.json && !args.yes {
            steps.tell(out);
        }
        confirmed(args, "Write these files?", out)?;
        steps.carry_out()?;
    }
    let start = doctor::start(None)?;
    let mut patients = doctor::examine(&start, &here);
    let is_ours = |name: &str| steps.agents.iter().any(|(found, _)| found.target.name == name);
    patients.retain(|patient| is_ours(patient.host));
    let is_guarded = patients.iter().any(|patient| patient.state == State::Guarded);
    let exit = if is_guarded && steps.failed.is_empty() { Exit::Fine } else { Exit::Problem };
    if args.json {
        out.json(&steps.report(false, patients));
    } else {
        steps.conclude(is_new, &patients, out);
    }
    Ok(exit)
}

/// Asks the person, unless they have said yes.
fn confirmed(args: &Args, question: &str, out: &mut Out) -> Result<(), Problem> {
    if args.yes {
        return Ok(());
    }
    if args.json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Problem::new("nobody is at a terminal to confirm this").help(
            "`tollgate setup --dry-run` shows what would be written, and `--yes` does it without a question",
        ));
    }
    out.flush()?;
    let mut stdout = io::stdout();
    write!(stdout, "{question} [Y/n] ")?;
    stdout.flush()?;
    let mut answer = String::new();
    let length = io::stdin().lock().read_line(&mut answer)?;
    let yes = length > 0 && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes");
    if yes { Ok(()) } else { Err(Problem::new("nothing was changed")) }
}

impl Steps {
    fn plan(args: &Args, here: &Surroundings) -> Result<Self, Problem> {
        let found: Vec<_> = find(here).into_iter().filter(Found::is_here).collect();
        for host in &args.hosts {
            if !found.iter().any(|it| it.target.name == host.name) {
                return Err(Problem::new(format!("{} is not on this machine", host.title)).help(
                    format!("`tollgate install {}` installs into it all the same", host.name),
                ));
            }
        }
        let is_wanted = |found: &Found| {
            args.hosts.is_empty() || args.hosts.iter().any(|it| it.name == found.target.name)
        };
        if found.is_empty() {
            return Err(Problem::new("no agent was found that Tollgate knows").help(
                "install an agent first; `tollgate install --help` lists those that Tollgate knows",
            ));
        }
        let base = init::user_directory()?;
        let mut starters = init::user_set();
        starters.retain(|starter| base.join(&starter.path).symlink_metadata().is_err());
        let mut steps = Self { base, starters, agents: Vec::new(), failed: Vec::new() };
        for found in found.into_iter().filter(is_wanted) {
            match installer::install(found.target, Layer::User, here) {
                Ok(plan) => steps.agents.push((found, plan)),
                Err(error) => {
                    steps.failed.push(Failed::new(&found, error.to_string()));
                    steps.agents.push((found, Plan::default()));
                }
            }
        }
        Ok(steps)
    }

    fn is_empty(&self) -> bool {
        self.starters.is_empty() && self.agents.iter().all(|(_, plan)| plan.is_empty())
    }

    fn report(&self, dry_run: bool, agents: Vec<Patient>) -> Report<'_> {
        let edits = self.agents.iter().flat_map(|(_, plan)| &plan.edits);
        Report {
            dry_run,
            written: self.starters.iter().map(|it| self.base.join(&it.path)).collect(),
            edited: edits.map(|edit| edit.path.as_path()).collect(),
            failed: &self.failed,
            agents,
        }
    }

    /// Says what would be written.
    fn tell(&self, out: &mut Out) {
        if self.is_empty() {
            out.line("Nothing to write: everything is in place.");
        }
        if !self.starters.is_empty() {
            let base = shown(&self.base);
            let files = count(self.starters.len(), "hook file");
            out.line(format!("{0}would write{0:#} {files} to {base}", styles::HEADING));
        }
        for (found, plan) in &self.agents {
            let Some(edit) = plan.edits.first() else { continue };
            let more = match plan.edits.len() {
                1 => String::new(),
                all => format!(" and {} more", all - 1),
            };
            let verb = if edit.before.is_some() { "edit" } else { "write" };
            let (title, path) = (found.target.title, shown(&edit.path));
            out.line(format!("{0}would {verb}{0:#} {path}{more}, for {title}", styles::HEADING));
        }
        for Failed { title, problem, .. } in &self.failed {
            out.line(format!("{0}problem:{0:#} {title}: {problem}", styles::ERROR));
        }
    }

    /// Writes it all. What is about to be written is recorded first, so that a crash leaves nothing unknown.
    fn carry_out(&mut self) -> Result<(), Problem> {
        let path = Manifest::path()?;
        let mut manifest = Manifest::read(&path)?.unwrap_or_default();
        manifest.add_folders(&path);
        for starter in &self.starters {
            let file = self.base.join(&starter.path);
            manifest.add_folders(&file);
            manifest.files.retain(|known| known.path != file);
            manifest.files.push(File { path: file, hash: Hash::of(starter.text.as_bytes()) });
        }
        manifest.write(&path)?;
        for starter in &self.starters {
            let file = self.base.join(&starter.path);
            init::write(&file, starter).map_err(|error| {
                Problem::new(format!("`{}` cannot be written: {error}", shown(&file)))
                    .help("`tollgate setup --undo` takes back what was written so far")
            })?;
        }
        for (found, plan) in &self.agents {
            if plan.is_empty() {
                continue;
            }
            let name = found.target.name;
            let was_there =
                found.layers.iter().any(|layer| layer.layer == Layer::User && layer.is_installed());
            // An installation that setup made itself is undone as a whole.
            let is_ours = manifest.agents.iter().any(|agent| agent.name == name);
            for edit in &plan.edits {
                let before = edit.before.as_deref().filter(|_| was_there && !is_ours);
                let before = before.map(|text| String::from_utf8_lossy(text).into_owned());
                let after = edit.after.as_deref().map(Hash::of);
                manifest.add_edit(name, Edit { path: edit.path.clone(), after, before });
            }
            manifest.write(&path)?;
            if let Err(error) = plan.apply() {
                self.failed.push(Failed::new(found, error.to_string()));
            }
        }
        Ok(())
    }

    /// Says what is protected and what is not, in at most 25 lines.
    fn conclude(&self, is_new: bool, patients: &[Patient], out: &mut Out) {
        /// Maximum number of agents in each part.
        const MOST: usize = 8;
        let of_failed = |host: &str| self.failed.iter().find(|failed| failed.host == host);
        let (guarded, others): (Vec<_>, Vec<_>) =
            patients.iter().partition(|patient| patient.state == State::Guarded);
        for (heading, all) in [("Protected", guarded), ("Not protected", others)] {
            if all.is_empty() {
                continue;
            }
            out.line(format!("{0}{heading}{0:#}", styles::HEADING));
            for patient in all.iter().take(MOST) {
                match of_failed(patient.host) {
                    Some(Failed { title, problem, .. }) => {
                        out.line(format!("  {0}{title}{0:#}: {problem}", styles::HEADING));
                    }
                    None => patient.tell_briefly(out),
                }
            }
            if let Some(more) = all.len().checked_sub(MOST).filter(|more| *more > 0) {
                out.line(format!("  and {more} more: `tollgate doctor`"));
            }
        }
        for problem in doctor::of_files(patients).into_iter().take(2) {
            out.line(format!("{0}problem:{0:#} {problem}", styles::ERROR));
        }
        let base = shown(&self.base);
        if is_new {
            out.line(format!("Hooks are in {base}; every project is covered from now on."));
            out.line("Restart agents that are running: they read their settings when they start.");
        } else {
            out.line(format!("Everything was in place already; hooks are in {base}."));
        }
        out.hint("`tollgate setup --undo` restores all files; `tollgate status` shows this again");
    }
}

impl Failed {
    fn new(found: &Found, problem: String) -> Self {
        Self { host: found.target.name, title: found.target.title, problem }
    }
}
