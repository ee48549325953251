//! `tollgate trust`

mod diff;

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::dialect::{self, harness};
use tollgate_config::layers::Places;
use tollgate_config::load::{Files, LoadedFile, Setup, load, survey};
use tollgate_config::script::Listed;
use tollgate_config::trust::{
    Change, Digest, Pin, PinKind, Store, StoreError, Survey, TrustState, Unpinned,
};
use tollgate_core::dialect::Layer;
use tollgate_core::{Dialect, Kind};
use tollgate_starlark::Starlark;

use crate::exit::Exit;
use crate::out::{Out, Table, count, styles};
use crate::place::{Project, project_shown};
use crate::problem::Problem;
use crate::visible::{in_one_line, visible};
use diff::Difference;

/// Show what the hooks of a project would run, and pin it: only then do they run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate trust                 # show it, ask, pin it
  tollgate trust --show ~/src/project
  tollgate trust --yes 4f0c…     # in CI: pins only what has this hash
  tollgate trust --revoke

Exit codes: 0 done, or for `--show`: trusted as it is; 1 not trusted, or a
problem.")]
pub(crate) struct Args {
    /// The projects [default: the one around the current directory]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show it and pin nothing
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    show: bool,
    /// Pin it without asking; with a hash, only where it is what has that hash
    #[arg(long, value_name = "HASH", num_args = 0..=1, conflicts_with = "revoke")]
    #[allow(clippy::option_option)] // not given, given, given with a hash
    yes: Option<Option<String>>,
    /// Trust it no longer
    #[arg(long)]
    revoke: bool,
    #[command(flatten)]
    project: Project,
    /// Print one object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// True if nothing is to be pinned.
    pub(crate) const fn only_shows(&self) -> bool {
        self.show
    }
}

/// What is to be done with a project.
enum Wanted<'a> {
    Show,
    Ask,
    Pin(Option<&'a Digest>),
    Revoke,
}

#[derive(Serialize)]
struct Report {
    project: PathBuf,
    /// `trusted`, `not trusted`, `changed`, `nothing to trust`.
    state: &'static str,
    hash: String,
    hooks: Vec<Hook>,
    pinned: Vec<Pin>,
    unpinned: Vec<Unpinned>,
    changes: Vec<Change>,
    /// What is different in each file that has changed.
    differences: Vec<Difference>,
}

#[derive(Serialize)]
struct Hook {
    name: String,
    /// The event, in the words of its dialect.
    event: &'static str,
    /// The events that this stands for.
    events: Vec<Kind>,
    dialect: Dialect,
    file: PathBuf,
    line: u32,
    /// What it runs, where it is a command.
    command: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let mut paths = args.paths.clone();
    let mut hash = None;
    if let Some(Some(text)) = &args.yes {
        match text.parse::<Digest>() {
            Ok(digest) => hash = Some(digest),
            // `--yes PATH`
            Err(_) if Path::new(text).is_dir() => paths.insert(0, text.into()),
            Err(error) => {
                return Err(Problem::new(error)
                    .help("`tollgate trust --show` prints the hash of a project"));
            }
        }
    }
    let wanted = match (&args.yes, args.show, args.revoke) {
        (Some(_), ..) => Wanted::Pin(hash.as_ref()),
        (_, true, _) => Wanted::Show,
        (.., true) => Wanted::Revoke,
        _ => Wanted::Ask,
    };
    if hash.is_some() && paths.len() > 1 {
        return Err(Problem::new("a hash is of one project, and several are named")
            .help("name one project, or leave the hash out"));
    }
    let mut all = Vec::new();
    if paths.is_empty() {
        all.push(args.project.places()?);
    }
    for path in &paths {
        let directory = project_named(path)?;
        all.push(Places::of_this_process(Some(directory)));
    }
    let mut exit = Exit::Fine;
    let mut reports = Vec::new();
    for places in &all {
        if one(places, &wanted, args.json, &mut reports, out)? == Exit::Problem {
            exit = Exit::Problem;
        }
    }
    if args.json {
        out.json(&BTreeMap::from([("projects", reports)]));
    }
    Ok(exit)
}

/// The project of a path that was named: it may be one of its files.
fn project_named(path: &Path) -> Result<PathBuf, Problem> {
    let directory = if path.is_dir() { Some(path) } else { path.parent() };
    let is_there = path.symlink_metadata().is_ok();
    let found = directory.filter(|_| is_there).and_then(|it| it.canonicalize().ok());
    let directory = found.ok_or_else(|| {
        Problem::new(format!("there is no `{}`", path.display()))
            .help("name the directory of a project")
    })?;
    Ok(if path.is_dir() { directory } else { Places::project_of(&directory) })
}

fn one(
    places: &Places,
    wanted: &Wanted<'_>,
    json: bool,
    reports: &mut Vec<Report>,
    out: &mut Out,
) -> Result<Exit, Problem> {
    let path = places.trust.clone().ok_or_else(|| {
        Problem::new("there is no home to keep in it what is trusted")
            .help("set HOME or XDG_STATE_HOME to a directory of yours")
    })?;
    let mut store = Store::open(&path).map_err(of_store)?;
    let root = places.project.clone().unwrap_or_default();
    if matches!(wanted, Wanted::Revoke) {
        let was_trusted = store.revoke(&root).map_err(of_store)?;
        let what = if was_trusted { "is trusted no longer" } else { "was not trusted" };
        if !json {
            out.line(format!("{} {what}.", capital(&project_shown(&root))));
        }
        return Ok(Exit::Fine);
    }
    let survey = survey(places)?;
    let (listed, problems) = look(places);
    let report = Report::of(&survey, &store, listed);
    if !json {
        report.text(out);
    }
    let exit = match wanted {
        _ if report.state == "nothing to trust" => {
            if !json {
                out.hint("`tollgate init` makes hooks to begin with");
            }
            Exit::Fine
        }
        Wanted::Show | Wanted::Ask if report.state == "trusted" => Exit::Fine,
        Wanted::Show => {
            if !json {
                out.hint(format!("`tollgate trust --yes {}` pins exactly this", report.hash));
            }
            Exit::Problem
        }
        Wanted::Pin(hash) => {
            warn(&problems, json, out);
            match hash {
                Some(hash) => store.trust_if(&survey, hash).map_err(of_store)?,
                None => store.trust(&survey).map_err(of_store)?,
            }
            pinned(&survey, json, out);
            Exit::Fine
        }
        Wanted::Ask => {
            warn(&problems, json, out);
            if !io::stdin().is_terminal() || !io::stdout().is_terminal() || json {
                out.hint(format!(
                    "nobody is at a terminal to say yes; `tollgate trust --yes {}` pins exactly this",
                    report.hash
                ));
                Exit::Problem
            } else if agreed(out)? {
                store.trust_if(&survey, &survey.digest()).map_err(of_store)?;
                pinned(&survey, json, out);
                Exit::Fine
            } else {
                out.line("Nothing was pinned.");
                Exit::Problem
            }
        }
        Wanted::Revoke => Exit::Fine,
    };
    reports.push(report);
    Ok(exit)
}

/// What the project's files would have run, and what is wrong with them.
fn look(places: &Places) -> (Vec<Hook>, Vec<Diagnostic>) {
    let mut setup = Setup::new(places.clone()).scripts(Starlark::new());
    setup.files = Files::Found;
    let loaded = load(&setup);
    let is_its = |path: &Path| places.project.as_deref().is_some_and(|root| path.starts_with(root));
    let hooks = loaded.catalogue.iter().filter(|hook| hook.layer == Layer::Project);
    let is_policy =
        |file: &&LoadedFile| file.layer == Layer::Project && file.dialect == Dialect::Native;
    let policies = loaded.files.iter().filter(is_policy).map(|file| Hook {
        name: file
            .path
            .file_name()
            .map_or_else(String::new, |it| it.to_string_lossy().into_owned()),
        event: Kind::ToolPre.name(),
        events: vec![Kind::ToolPre],
        dialect: file.dialect,
        file: file.path.clone(),
        line: 1,
        command: None,
    });
    let hooks: Vec<Hook> = hooks.map(Hook::of).chain(policies).collect();
    let errors = loaded.diagnostics.into_iter().filter(Diagnostic::is_error);
    (hooks, errors.filter(|error| is_its(error.file.path())).collect())
}

fn warn(problems: &[Diagnostic], json: bool, out: &mut Out) {
    if problems.is_empty() || json {
        return;
    }
    let warning = styles::WARNING;
    out.line(format!(
        "{warning}warning:{warning:#} {} in these files; once they are trusted, their gates are \
         closed until that is repaired: `tollgate check`",
        count(problems.len(), "error")
    ));
}

fn pinned(survey: &Survey, json: bool, out: &mut Out) {
    if !json {
        out.line(format!("Pinned: {} is trusted as it is now.", project_shown(survey.root())));
        out.hint("`tollgate list` shows what is in force");
    }
}

fn agreed(out: &mut Out) -> Result<bool, Problem> {
    out.flush()?;
    let mut stdout = io::stdout();
    stdout.write_all(b"Trust this, and let it run? [y/N] ")?;
    stdout.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// With a capital at its beginning.
fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn of_store(error: StoreError) -> Problem {
    let diagnostic = error.diagnostic();
    let problem = Problem::new(&diagnostic.message);
    match diagnostic.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

impl Hook {
    fn of(hook: &Listed) -> Self {
        let names = match dialect::of(hook.dialect) {
            Some(codec) => codec.events(),
            None => harness::EVENTS,
        };
        let name = names.iter().find(|name| name.name == hook.event);
        Self {
            name: hook.name.clone(),
            event: hook.event,
            events: name.map(|name| name.kinds.to_vec()).unwrap_or_default(),
            dialect: hook.dialect,
            file: hook.path.clone(),
            line: hook.line,
            command: hook.command.clone(),
        }
    }

    /// The event as its author wrote it, or all of them, where that is a word for several.
    fn event(&self) -> String {
        if self.dialect != Dialect::Harness || self.events.len() < 2 {
            return self.event.to_owned();
        }
        self.events.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
    }

    fn runs(&self) -> String {
        match (&self.command, self.dialect) {
            (Some(command), _) => in_one_line(command),
            (None, Dialect::Native) => "rules, made in a sandbox".to_owned(),
            (None, _) => "a script in its sandbox".to_owned(),
        }
    }
}

impl Report {
    fn of(survey: &Survey, store: &Store, hooks: Vec<Hook>) -> Self {
        let (state, changes) = match store.state(survey) {
            TrustState::Changed(changes) => ("changed", changes),
            _ if survey.pins().next().is_none() => ("nothing to trust", Vec::new()),
            TrustState::Trusted(_) => ("trusted", Vec::new()),
            TrustState::Untrusted => ("not trusted", Vec::new()),
        };
        Self {
            project: survey.root().to_owned(),
            state,
            hash: survey.digest().to_string(),
            hooks,
            pinned: survey.pins().cloned().collect(),
            unpinned: survey.unpinned().into_iter().cloned().collect(),
            differences: diff::differences(store, survey, &changes),
            changes,
        }
    }

    fn text(&self, out: &mut Out) {
        let style = match self.state {
            "trusted" => styles::GOOD,
            "changed" => styles::ERROR,
            _ => styles::WARNING,
        };
        let heading = styles::HEADING;
        let project = capital(&project_shown(&self.project));
        let project = visible(&project);
        out.line(format!("{project}: {style}{}{style:#}", self.state));
        if !self.changes.is_empty() {
            out.line(format!("\n{heading}What has changed{heading:#}"));
            for change in &self.changes {
                out.line(format!("  {}", visible(&change.to_string())));
            }
            for difference in &self.differences {
                difference.text(out);
            }
        }
        if !self.hooks.is_empty() {
            out.line(format!("\n{heading}What would run{heading:#}"));
            let mut table = Table::default();
            for hook in &self.hooks {
                table.row([format!("  {}", visible(&hook.name)), hook.event(), hook.runs()]);
            }
            // Each is one line, however long: what runs is to be seen as it is.
            for line in table.lines() {
                out.line(line);
            }
        }
        if !self.pinned.is_empty() {
            out.line(format!("\n{heading}What is pinned{heading:#}"));
            let mut table = Table::default();
            for pin in &self.pinned {
                let kind = match pin.kind {
                    PinKind::HookFile => "  hook file",
                    PinKind::Script => "  script",
                    PinKind::Declared => "  declared",
                };
                let target = pin.target.as_ref().map(|target| format!(" -> {target}"));
                let path = format!("{}{}", pin.path, target.unwrap_or_default());
                table.row([kind, &pin.hash.short(), &visible(&path)]);
            }
            out.lines(&table);
        }
        if !self.unpinned.is_empty() {
            let warning = styles::WARNING;
            out.line(format!("\n{warning}What cannot be pinned, and may change unseen{warning:#}"));
            for Unpinned { file, command, reason } in &self.unpinned {
                out.line(format!("  {}: {}", visible(file), in_one_line(command)));
                out.line(format!("    {}", visible(reason)));
            }
        }
        if !self.pinned.is_empty() {
            out.line(format!("\n{heading}hash{heading:#} {}\n", self.hash));
        }
    }
}
