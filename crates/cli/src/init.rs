//! `tollgate init`

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde::Serialize;
use tollgate_config::layers::Places;
use tollgate_config::load::survey;
use tollgate_config::trust::{Store, TrustState};
use tollgate_core::Dialect;
use tollgate_starlark::guards;

use crate::exit::Exit;
use crate::out::{Out, styles};
use crate::place::{Project, dialect_value, shown};
use crate::problem::Problem;

/// Write a starter set of hooks, with tests, for a project or for yourself. Overwrites nothing
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate init                          # guards in Markdown, and a policy, for this project
  tollgate init --user                   # for all your projects; in force without `tollgate trust`
  tollgate init --dialect hooks-json     # .agents/hooks.json, for Antigravity
  tollgate init --dialect harness --guard budget --guard network-guard")]
pub(crate) struct Args {
    /// For which system; may be given several times [default: harness and native]
    #[arg(long, value_name = "NAME", value_parser = starter_parser())]
    dialect: Vec<Dialect>,
    /// Which of the guards that come with Tollgate; may be given several times
    #[arg(long, value_name = "NAME", value_parser = guard_parser())]
    guard: Vec<String>,
    /// For all your projects, in `$XDG_CONFIG_HOME/tollgate`
    #[arg(long, conflicts_with = "directory")]
    user: bool,
    #[command(flatten)]
    project: Project,
    /// Print one object
    #[arg(long)]
    json: bool,
}

/// The systems that there are starters for.
const STARTERS: [Dialect; 4] =
    [Dialect::Harness, Dialect::Native, Dialect::HooksJson, Dialect::Polytoken];

/// Reads the name of a system that there is a starter for.
fn starter_parser() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(STARTERS.map(dialect_value))
        .try_map(|name| Dialect::named(&name).ok_or("there is no such dialect"))
}

fn guard_parser() -> clap::builder::PossibleValuesParser {
    guards::ALL.iter().map(|guard| guard.name).into()
}

/// A file to write.
pub(crate) struct Starter {
    /// From the directory of the project or of the person.
    pub(crate) path: PathBuf,
    pub(crate) text: &'static str,
    /// Whether it is a program.
    runs: bool,
}

impl Starter {
    fn new(path: &str, text: &'static str) -> Self {
        Self { path: path.into(), text, runs: false }
    }

    fn program(path: &str, text: &'static str) -> Self {
        Self { runs: true, ..Self::new(path, text) }
    }
}

#[derive(Serialize)]
struct Report {
    /// The project, or the person's directory.
    #[serde(rename = "project")]
    base: PathBuf,
    written: Vec<PathBuf>,
    /// What was there already, and is as it was.
    kept: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let (base, starters) = if args.user {
        (user_directory()?, user_starters(args)?)
    } else {
        (args.project.directory()?, starters(args)?)
    };
    let mut report = Report { base: base.clone(), written: Vec::new(), kept: Vec::new() };
    for starter in &starters {
        let path = base.join(&starter.path);
        match write(&path, starter) {
            Ok(true) => report.written.push(path),
            Ok(false) => report.kept.push(path),
            Err(error) => {
                return Err(Problem::new(format!("`{}` cannot be written: {error}", shown(&path)))
                    .help("look at who owns the directory, and whether it may be written to"));
            }
        }
    }
    if args.json {
        out.json(&report);
        return Ok(Exit::Fine);
    }
    for path in &report.written {
        out.line(format!("{0}written{0:#}  {1}", styles::GOOD, shown(path)));
    }
    for path in &report.kept {
        out.line(format!(
            "{0}kept{0:#}     {1} (it was there already)",
            styles::QUIET,
            shown(path)
        ));
    }
    if args.user {
        next_for_user(out);
    } else {
        next(is_trusted(args), starters.iter().any(|starter| starter.runs), out);
    }
    Ok(Exit::Fine)
}

/// Returns the person's directory of hooks.
pub(crate) fn user_directory() -> Result<PathBuf, Problem> {
    Places::of_this_process(None).user.ok_or_else(|| {
        Problem::new("there is no home directory").help("set HOME to the path of yours")
    })
}

/// The starter set of a person: the files below their directory.
fn user_starters(args: &Args) -> Result<Vec<Starter>, Problem> {
    let other = args.dialect.iter().find(|it| !matches!(it, Dialect::Harness | Dialect::Native));
    if let Some(dialect) = other {
        return Err(Problem::new(format!("the starter for {dialect} is for projects"))
            .help("leave `--user` out, or `--dialect`"));
    }
    Ok(starters(args)?.into_iter().map(below_own).collect())
}

/// The starter set that `setup` writes for a person.
pub(crate) fn user_set() -> Vec<Starter> {
    let guards = guards::STARTER.iter().filter_map(|name| guards::named(name)).map(of_guard);
    guards.chain(policies()).map(below_own).collect()
}

/// A starter whose path begins below Tollgate's own directory.
fn below_own(mut starter: Starter) -> Starter {
    if let Ok(below) = starter.path.strip_prefix(".tollgate") {
        starter.path = below.to_owned();
    }
    starter
}

fn of_guard(guard: &guards::Guard) -> Starter {
    Starter::new(&format!(".tollgate/hooks/{}", guard.file_name()), guard.text)
}

fn policies() -> [Starter; 2] {
    [
        Starter::new(".tollgate/policy.star", include_str!("init/policy.star")),
        Starter::new(".tollgate/policy.cases.json", include_str!("init/policy.cases.json")),
    ]
}

/// Says what to do after the person's own set was written. It needs no trust.
fn next_for_user(out: &mut Out) {
    out.line("");
    out.line(format!("{0}What next{0:#}", styles::HEADING));
    for (command, what) in [
        ("tollgate list", "shows what is in force"),
        ("tollgate setup", "makes the agents on this machine ask these hooks"),
    ] {
        out.line(format!("  {command:<15} {what}"));
    }
}

/// Whether what is there now is trusted already.
fn is_trusted(args: &Args) -> bool {
    let state = || {
        let places = args.project.places().ok()?;
        let store = Store::open(places.trust.as_ref()?).ok()?;
        Some(matches!(store.state(&survey(&places).ok()?), TrustState::Trusted(_)))
    };
    state().unwrap_or(false)
}

/// What to do now. Tests of commands run these, and so only what is trusted.
fn next(is_trusted: bool, has_commands: bool, out: &mut Out) {
    out.line("");
    out.line(format!("{0}What next{0:#}", styles::HEADING));
    let test = ("tollgate test", "runs the tests of these hooks");
    let trust = ("tollgate trust", "shows what they run, and lets them run");
    let mut steps = match (is_trusted, has_commands) {
        (true, _) => vec![test],
        (false, true) => vec![trust, test],
        (false, false) => vec![test, trust],
    };
    steps.push(("tollgate list", "shows what is in force"));
    for (command, what) in steps {
        out.line(format!("  {command:<15} {what}"));
    }
    out.line("");
    out.line(
        "  echo '{\"name\": \"run_command\", \"args\": {\"CommandLine\": \"git push --force\"}}' |",
    );
    out.line("    tollgate fire tool.pre --payload -");
}

fn starters(args: &Args) -> Result<Vec<Starter>, Problem> {
    let dialects = match args.dialect.as_slice() {
        [] if args.guard.is_empty() => &[Dialect::Harness, Dialect::Native][..],
        [] => &[Dialect::Harness],
        some => some,
    };
    if !args.guard.is_empty() && !dialects.contains(&Dialect::Harness) {
        return Err(Problem::new(
            "the guards are Markdown hooks, and `--dialect` leaves those out",
        )
        .help("add `--dialect harness`"));
    }
    let mut starters = Vec::new();
    for dialect in dialects {
        match dialect {
            Dialect::Harness => {
                let own: Vec<&str> = args.guard.iter().map(String::as_str).collect();
                let names = if own.is_empty() { guards::STARTER } else { &own };
                let guards = names.iter().filter_map(|name| guards::named(name));
                starters.extend(guards.map(of_guard));
            }
            Dialect::Native => starters.extend(policies()),
            Dialect::HooksJson => starters.extend([
                Starter::new(".agents/hooks.json", include_str!("init/antigravity.json")),
                Starter::program(".agents/guard.sh", include_str!("init/antigravity.sh")),
                Starter::new(
                    ".agents/hooks.cases.json",
                    include_str!("init/antigravity.cases.json"),
                ),
            ]),
            Dialect::Polytoken => starters.extend([
                Starter::new(".polytoken/hooks.json", include_str!("init/polytoken.json")),
                Starter::program(".polytoken/guard.sh", include_str!("init/polytoken.sh")),
                Starter::new(
                    ".polytoken/hooks.cases.json",
                    include_str!("init/polytoken.cases.json"),
                ),
            ]),
            Dialect::AntigravitySdk | Dialect::Claude | Dialect::Codex | Dialect::Gemini => {
                return Err(Problem::new(format!("there is no starter for {dialect}")));
            }
        }
    }
    Ok(starters)
}

/// Writes a file where there is none. Says whether it did.
pub(crate) fn write(path: &Path, starter: &Starter) -> std::io::Result<bool> {
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        // Never writable by a group, whatever the umask is: a guard in such a directory is not in force.
        DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    }
    let mode = if starter.runs { 0o755 } else { 0o644 };
    match OpenOptions::new().write(true).create_new(true).mode(mode).open(path) {
        Ok(mut file) => file.write_all(starter.text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
