//! `tollgate install` and `tollgate uninstall`

use std::env;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde::Serialize;
use tollgate_config::layers::Places;
use tollgate_config::load::survey;
use tollgate_config::trust::{Store, TrustState};
use tollgate_install::{
    self as installer, Applied, Layer, Missing, Plan, Registration, Surroundings, Target,
};

use crate::exit::Exit;
use crate::out::{Out, styles};
use crate::place::shown;
use crate::problem::Problem;

/// Make another agent ask Tollgate: edits its configuration, and nothing else in it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate install codex                 # in your own configuration, for all projects
  tollgate install claude --project      # in the project's, for everybody who works on it
  tollgate install claude --project --missing warn
  tollgate install gemini --dry-run      # shows what would be changed
  tollgate install antigravity --all-tools

The rest of a file stays as it is, byte for byte, and a copy of the file is kept beside it. A file that
cannot be parsed is not touched. `tollgate doctor` tells whether the agent is guarded; `tollgate uninstall
HOST` takes Tollgate out again.

Exit codes: 0 done, or nothing to do; 1 a problem.")]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    common: Common,
    /// Ask about every tool, where Tollgate would leave out those that only read (Antigravity asks you
    /// about each call that no hook has an opinion about)
    #[arg(long)]
    all_tools: bool,
    /// The program that is written: a path, or a bare name that is looked up on the PATH
    /// [default: the path of this program; with --project, `tollgate`]
    #[arg(long, value_name = "NAME")]
    program: Option<PathBuf>,
    /// What a colleague without Tollgate gets: a warning and no guards, or a refusal of every call
    /// [default: what is configured, else refuse]
    #[arg(long, value_name = "HOW", value_enum, requires = "project")]
    missing: Option<HowMissing>,
}

/// The choice for a machine without the program, as an argument.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum HowMissing {
    Warn,
    Refuse,
}

impl From<HowMissing> for Missing {
    fn from(how: HowMissing) -> Self {
        match how {
            HowMissing::Warn => Self::Warn,
            HowMissing::Refuse => Self::Refuse,
        }
    }
}

/// Take Tollgate out of another agent's configuration again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate uninstall claude
  tollgate uninstall codex --project --dry-run

Exit codes: 0 done, or nothing to do; 1 a problem.")]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    common: Common,
}

impl InstallArgs {
    /// True if nothing is to be changed.
    pub(crate) const fn only_shows(&self) -> bool {
        self.common.dry_run
    }
}

impl UninstallArgs {
    /// True if nothing is to be changed.
    pub(crate) const fn only_shows(&self) -> bool {
        self.common.dry_run
    }
}

#[derive(Debug, clap::Args)]
struct Common {
    /// The agent
    #[arg(value_parser = target_parser())]
    host: &'static Target,
    /// In your own configuration, for all projects (the default)
    #[arg(long)]
    user: bool,
    /// In the project's configuration, for everybody who works on it [default DIR: the project around the current
    /// directory]
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = clap::builder::OsStringValueParser::new().map(PathBuf::from),
        conflicts_with = "user"
    )]
    project: Option<PathBuf>,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one object
    #[arg(long)]
    json: bool,
}

fn target_parser() -> impl clap::builder::TypedValueParser<Value = &'static Target> {
    PossibleValuesParser::new(Target::all().iter().map(|target| target.name))
        .try_map(|name| Target::by_name(&name))
}

/// What was done, or would be.
#[derive(Serialize)]
struct Report {
    host: &'static str,
    layer: String,
    dry_run: bool,
    files: Vec<FileReport>,
    /// Tools that the agent does not ask about.
    not_asked_about: Vec<&'static str>,
    needs: Vec<String>,
}

#[derive(Serialize)]
struct FileReport {
    path: PathBuf,
    backup: Option<PathBuf>,
    diff: String,
}

pub(crate) fn install(args: &InstallArgs, out: &mut Out) -> Result<Exit, Problem> {
    let (layer, mut here) = args.common.place()?;
    let host = args.common.host;
    let mut needs: Vec<_> = host.needs(layer).into_iter().map(str::to_owned).collect();
    match &args.program {
        Some(program) => here.program.clone_from(program),
        // Colleagues have it elsewhere.
        None if layer == Layer::Project => here.program = NAME.into(),
        None => {}
    }
    let mut events = installer::registrations(host)?;
    if args.all_tools {
        events = events.into_iter().map(Registration::for_all_tools).collect();
    }
    if let Some(missing) = args.missing {
        events = events.into_iter().map(|it| it.with_missing(missing.into())).collect();
    }
    if layer == Layer::Project {
        needs.push(for_colleagues(args, host, &here));
    }
    let plan = installer::install_for(host, layer, &here, &events)?;
    args.common.carry_out(&plan, layer, &here, Some(needs), out)
}

pub(crate) fn uninstall(args: &UninstallArgs, out: &mut Out) -> Result<Exit, Problem> {
    let (layer, here) = args.common.place()?;
    let host = args.common.host;
    let plan = installer::uninstall(host, layer, &here)?;
    let other = match layer {
        Layer::User => (Layer::Project, " --project"),
        Layer::Project => (Layer::User, ""),
    };
    let is_in = |layer| installer::uninstall(host, layer, &here).is_ok_and(|it| !it.is_empty());
    if plan.is_empty() && is_in(other.0) {
        out.hint(format!(
            "it is installed for the {}: `tollgate uninstall {}{}`",
            other.0, host.name, other.1
        ));
    }
    args.common.carry_out(&plan, layer, &here, None, out)
}

/// The program's bare name.
pub(crate) const NAME: &str = "tollgate";

/// Says what colleagues need, and what they get without it.
fn for_colleagues(args: &InstallArgs, host: &Target, here: &Surroundings) -> String {
    let program = here.program.display();
    let place = if here.program.is_absolute() { "at" } else { "on the PATH as" };
    let without = format!("anyone without Tollgate {place} `{program}`");
    match args.missing {
        Some(HowMissing::Warn) => format!("{without} works without guards, and gets a warning"),
        Some(HowMissing::Refuse) => format!("{without} will have every call refused"),
        None => format!(
            "{without} will have every call refused, unless a warning was chosen before: `tollgate install {} \
             --project --missing warn` lets calls pass with a warning",
            host.name
        ),
    }
}

/// Whether the project is trusted as it is.
fn is_trusted(project: &Path) -> bool {
    let places = Places::of_this_process(Some(project.to_owned()));
    let store = places.trust.as_ref().and_then(|path| Store::open(path).ok());
    match (store, survey(&places)) {
        (Some(store), Ok(survey)) => matches!(store.state(&survey), TrustState::Trusted(_)),
        _ => false,
    }
}

/// Where agents, projects and this program are.
pub(crate) fn surroundings(project: Option<PathBuf>) -> Result<Surroundings, Problem> {
    let home = env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
        Problem::new("there is no home directory").help("set HOME to where yours is")
    })?;
    let project = match project {
        Some(project) => project.canonicalize().map_err(|error| {
            Problem::new(format!("`{}` is no directory: {error}", project.display()))
                .help("name the directory of a project")
        })?,
        None => Places::project_of(&env::current_dir()?),
    };
    let program = env::current_exe()?;
    Ok(Surroundings::new(home, project, program).with_environment())
}

/// What an agent does not ask about, and what that means.
pub(crate) fn uncovered(tools: &[&'static str]) -> Option<String> {
    (!tools.is_empty()).then(|| {
        format!(
            "{}; no policy or hook holds for these, one about what may be read included: \
             `--all-tools` registers Tollgate for every tool, and a matcher that you write stays",
            tools.join(", ")
        )
    })
}

impl Common {
    fn place(&self) -> Result<(Layer, Surroundings), Problem> {
        let layer = if self.project.is_some() { Layer::Project } else { Layer::User };
        // Without a directory it is the one around the current one.
        let named = self.project.clone().filter(|project| !project.as_os_str().is_empty());
        Ok((layer, surroundings(named)?))
    }

    fn carry_out(
        &self,
        plan: &Plan,
        layer: Layer,
        here: &Surroundings,
        needs: Option<Vec<String>>,
        out: &mut Out,
    ) -> Result<Exit, Problem> {
        let puts_in = needs.is_some();
        let mut needs = needs.unwrap_or_default();
        let was_trusted = !self.dry_run && !plan.is_empty() && is_trusted(&here.project);
        let applied = if self.dry_run { Vec::new() } else { plan.apply()? };
        // What hooks in there could refuse is refused until then, and nobody would know why.
        if was_trusted && !is_trusted(&here.project) {
            needs.push(
                "this project was trusted as it was before: look at what has changed and trust it again, \
                 `tollgate trust`"
                    .to_owned(),
            );
        }
        if self.json {
            let backup = |path: &PathBuf| {
                applied.iter().find(|done| done.path == *path).and_then(|done| done.backup.clone())
            };
            let files = plan.edits.iter().map(|edit| FileReport {
                path: edit.path.clone(),
                backup: backup(&edit.path),
                diff: edit.diff(),
            });
            out.json(&Report {
                host: self.host.name,
                layer: layer.to_string(),
                dry_run: self.dry_run,
                files: files.collect(),
                not_asked_about: plan.uncovered.clone(),
                needs,
            });
            return Ok(Exit::Fine);
        }
        self.tell(plan, &applied, layer, puts_in, out);
        if let Some(what) = uncovered(&plan.uncovered) {
            out.line(format!("{0}not asked about:{0:#} {what}", styles::WARNING));
        }
        for need in needs {
            out.line(format!("{0}still to do:{0:#} {need}", styles::WARNING));
        }
        if puts_in && !self.dry_run {
            out.hint("`tollgate doctor` tells whether it is guarded");
        }
        Ok(Exit::Fine)
    }

    fn tell(&self, plan: &Plan, applied: &[Applied], layer: Layer, puts_in: bool, out: &mut Out) {
        let title = self.host.title;
        if plan.is_empty() {
            let state = if puts_in { "is installed already" } else { "is not installed" };
            out.line(format!("Tollgate {state} in {title}, for the {layer}"));
        } else if self.dry_run {
            out.text(&plan.diff());
        } else {
            let done = if puts_in { "asks Tollgate now" } else { "no longer asks Tollgate" };
            out.line(format!("{0}{title} {done}{0:#}, for the {layer}", styles::GOOD));
        }
        for Applied { path, backup, .. } in applied {
            match backup {
                Some(backup) => out.line(format!("  {}  (before: {})", shown(path), shown(backup))),
                None => out.line(format!("  {}", shown(path))),
            }
        }
    }
}
