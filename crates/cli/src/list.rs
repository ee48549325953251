//! `tollgate list`

use std::path::{Path, PathBuf};

use serde::Serialize;
use tollgate_config::diagnostic::{Code, Severity};
use tollgate_config::hooks::{Hooks, InForce};
use tollgate_config::load::{FileState, Setup};
use tollgate_core::dialect::{Layer, Mode, OnFailure};
use tollgate_core::registry::{HookInfo, Source};
use tollgate_core::{Dialect, Kind};
use tollgate_starlark::Starlark;

use crate::exit::Exit;
use crate::out::{Out, Table, count, styles};
use crate::place::{Project, event_parser, hook_shown, project_shown, shown};
use crate::problem::Problem;

/// List the hooks in force, per event, in the order they run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate list
  tollgate list --event tool.pre
  tollgate list --json | jq '.events[].hooks[].name'

Exit codes: 0 fine; 1 some files are broken, or not what was trusted.")]
pub(crate) struct Args {
    /// Only this event
    #[arg(long, value_name = "EVENT", value_parser = event_parser(), hide_possible_values = true)]
    event: Option<Kind>,
    #[command(flatten)]
    project: Project,
    /// Print one object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    project: PathBuf,
    events: Vec<OfEvent>,
    files: Vec<File>,
    /// The files that are not what was trusted.
    changed: Vec<PathBuf>,
    /// The files that are not what was trusted, while what was approved goes on running.
    approved: Vec<PathBuf>,
    errors: usize,
    warnings: usize,
}

#[derive(Serialize)]
struct OfEvent {
    event: Kind,
    hooks: Vec<Hook>,
}

#[derive(Serialize)]
struct Hook {
    name: String,
    dialect: Dialect,
    source: Option<Source>,
    layer: Layer,
    /// None for one that is asked before or after all others.
    priority: Option<i64>,
    /// True if it is asked after all others.
    last: bool,
    /// Which tools it asks for.
    matcher: String,
    /// Its condition.
    when: Option<String>,
    mode: Mode,
    /// What an error of it does.
    on_error: &'static str,
    trust: &'static str,
    /// The rules of a policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<String>,
}

#[derive(Serialize)]
struct File {
    path: PathBuf,
    dialect: Dialect,
    layer: Layer,
    state: &'static str,
    hooks: usize,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let project = args.project.directory()?;
    let hooks = Hooks::open(Setup::new(args.project.places()?).scripts(Starlark::new()))?;
    let in_force = hooks.in_force();
    let wanted = |kind: &&Kind| args.event.is_none_or(|event| event == **kind);
    let of_event = |kind: &Kind| OfEvent {
        event: *kind,
        hooks: hooks.runner().hooks(*kind).map(|info| hook(*kind, &info, &in_force)).collect(),
    };
    let events = Kind::ALL.iter().filter(wanted).map(of_event);
    let said =
        |severity| in_force.diagnostics.iter().filter(|said| said.severity == severity).count();
    let report = Report {
        project,
        events: events.filter(|of_event| !of_event.hooks.is_empty()).collect(),
        files: in_force
            .files
            .iter()
            .map(|file| File {
                path: file.path.clone(),
                dialect: file.dialect,
                layer: file.layer,
                state: state(file.state),
                hooks: file.hooks,
            })
            .collect(),
        changed: with_codes(&in_force, &[Code::ChangedSinceTrusted, Code::MissingSinceTrusted]),
        approved: with_codes(&in_force, &[Code::RunsAsApproved]),
        errors: said(Severity::Error),
        warnings: said(Severity::Warning),
    };
    if args.json {
        out.json(&report);
    } else {
        text(args, &report, out);
    }
    Ok(if report.errors > 0 { Exit::Problem } else { Exit::Fine })
}

/// The files of which one of these is said.
fn with_codes(in_force: &InForce, codes: &[Code]) -> Vec<PathBuf> {
    let said = in_force.diagnostics.iter().filter(|said| codes.contains(&said.code));
    said.map(|said| said.file.path().to_owned()).collect()
}

const fn state(state: FileState) -> &'static str {
    match state {
        FileState::InForce => "in force",
        FileState::Broken => "broken",
        FileState::Untrusted => "not trusted",
        FileState::Changed => "changed",
        FileState::Off => "off",
    }
}

fn hook(kind: Kind, info: &HookInfo, in_force: &InForce) -> Hook {
    let path = info.source.as_ref().map(|source| Path::new(&*source.file));
    let file = in_force.files.iter().find(|file| Some(file.path.as_path()) == path);
    let line = info.source.as_ref().and_then(|source| source.line);
    let listed = in_force.catalogue.iter().find(|listed| {
        Some(listed.path.as_path()) == path && Some(listed.line) == line && listed.name == info.name
    });
    let rule = kind.rule(info.dialect);
    Hook {
        name: info.name.clone(),
        dialect: info.dialect,
        source: info.source.clone(),
        layer: info.layer,
        priority: Some(info.priority).filter(|priority| *priority != i64::MIN && !info.is_last),
        last: info.is_last,
        matcher: info.matcher.to_string(),
        when: listed.and_then(|listed| listed.when.clone()),
        mode: rule.map_or(info.mode, |rule| rule.mode.min(info.mode)),
        on_error: on_error(kind, rule.map(|rule| rule.on_failure)),
        trust: match (info.layer, file.map(|file| file.state)) {
            (_, Some(FileState::Broken)) => "broken",
            (_, Some(FileState::Changed)) => "changed",
            (_, None) if info.source.is_none() => "built in",
            (Layer::Project, _) if is_approved(in_force, path) => "as approved",
            (Layer::Project, _) => "trusted",
            (Layer::System, _) => "the machine's",
            (Layer::User | Layer::Code, _) => "yours",
        },
        rules: info.rules.iter().map(ToString::to_string).collect(),
    }
}

/// True if a file has changed and goes on running as it was approved.
fn is_approved(in_force: &InForce, path: Option<&Path>) -> bool {
    path.is_some_and(|path| {
        with_codes(in_force, &[Code::RunsAsApproved]).iter().any(|it| it == path)
    })
}

/// What an error of a hook does, in the words of its event.
fn on_error(kind: Kind, on_failure: Option<OnFailure>) -> &'static str {
    match on_failure {
        Some(OnFailure::Close) => kind.answers().closed.unwrap_or("goes on"),
        Some(OnFailure::Open) | None => "goes on",
        Some(OnFailure::End) => "ends the chain",
    }
}

fn text(args: &Args, report: &Report, out: &mut Out) {
    let events: Vec<(Kind, Vec<Row>)> =
        report.events.iter().map(|of_event| (of_event.event, rows(&of_event.hooks))).collect();
    let mut table = Table::default();
    table.row(["  NAME", "DIALECT", "LAYER", "PRIORITY", "MODE", "ON ERROR", "TRUST"]);
    for row in events.iter().flat_map(|(_, rows)| rows) {
        table.row(row.cells.clone());
    }
    let mut lines = table.lines().into_iter();
    let heading = lines.next().unwrap_or_default();
    for (place, (event, rows)) in events.iter().enumerate() {
        if place == 0 {
            out.line(format!("{0}{heading}{0:#}", styles::QUIET));
        } else {
            out.line("");
        }
        out.line(format!("{0}{event}{0:#}", styles::HEADING));
        for (row, line) in rows.iter().zip(lines.by_ref()) {
            out.line(line);
            if !row.below.is_empty() {
                out.line(format!("{0}    {1}{0:#}", styles::QUIET, row.below));
            }
        }
    }
    if let (Some(event), true) = (args.event, events.is_empty()) {
        out.line(format!("No hook is in force at {event}."));
    }
    footer(args, report, out);
}

/// A hook in the table, and what stands below it.
struct Row {
    cells: [String; 7],
    below: String,
}

/// The hooks of an event. What stands for the files of a project that is not what was trusted is one
/// row: they all do the same.
fn rows(hooks: &[Hook]) -> Vec<Row> {
    let stands_in = |hook: &&Hook| hook.trust == "changed";
    let several = hooks.iter().filter(stands_in).count();
    let mut rows = Vec::new();
    let mut is_told = false;
    for hook in hooks {
        let mut name = hook_shown(&hook.name);
        let mut dialect = hook.dialect.to_string();
        let mut below = below(hook);
        if several > 1 && stands_in(&hook) {
            if std::mem::replace(&mut is_told, true) {
                continue;
            }
            name = format!("{several} files, closed");
            "-".clone_into(&mut dialect);
            below = String::new();
        }
        let cells = [
            format!("  {name}"),
            dialect,
            layer(hook.layer).to_owned(),
            priority(hook),
            hook.mode.to_string(),
            hook.on_error.to_owned(),
            hook.trust.to_owned(),
        ];
        rows.push(Row { cells, below });
    }
    rows
}

/// What the second line of a hook says: where it stands, and what it asks for.
fn below(hook: &Hook) -> String {
    let source = hook.source.as_ref().map(|source| {
        let file = shown(Path::new(&*source.file));
        source.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))
    });
    let tools = (hook.matcher != "*").then(|| format!("tools {}", hook.matcher));
    let when = hook.when.as_ref().map(|when| {
        let when: Vec<_> = when.split_whitespace().collect();
        format!("when {}", when.join(" "))
    });
    let rules = (!hook.rules.is_empty()).then(|| count(hook.rules.len(), "rule"));
    let parts: Vec<_> = [source, tools, when, rules].into_iter().flatten().collect();
    parts.join("  ")
}

const fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::System => "system",
        Layer::User => "user",
        Layer::Project => "project",
        Layer::Code => "code",
    }
}

fn priority(hook: &Hook) -> String {
    let end = if hook.last { "last" } else { "first" };
    hook.priority.map_or_else(|| end.to_owned(), |priority| priority.to_string())
}

/// What is not in force, and what to do about it.
fn footer(args: &Args, report: &Report, out: &mut Out) {
    let of_state =
        |wanted: &'static str| report.files.iter().filter(move |file| file.state == wanted);
    let paths = |state| match state {
        "changed" => report.changed.iter().map(|path| shown(path)).collect(),
        "as approved" => report.approved.iter().map(|path| shown(path)).collect(),
        state => of_state(state).map(|file| shown(&file.path)).collect::<Vec<_>>(),
    };
    let mut say = |state: &'static str, message: &str, next: &str| {
        const MOST: usize = 8;
        let paths = paths(state);
        if paths.is_empty() {
            return;
        }
        if out.has_result() {
            out.line("");
        }
        let style = if state == "off" { styles::QUIET } else { styles::WARNING };
        out.line(format!("{style}{message}{style:#}"));
        for path in paths.iter().take(MOST) {
            out.line(format!("  {path}"));
        }
        if let Some(more) = paths.len().checked_sub(MOST).filter(|more| *more > 0) {
            out.line(format!("  and {more} more"));
        }
        if !next.is_empty() {
            out.line(next);
        }
    };
    say(
        "not trusted",
        "Not trusted, so not in force:",
        "`tollgate trust` shows what they run, and pins it",
    );
    let closed = if report.approved.is_empty() {
        "Not what was trusted, so the gates of all hook files here are closed:"
    } else {
        "Cannot run as it was approved, so its gates are closed:"
    };
    say("changed", closed, "`tollgate check` says why, `tollgate trust` shows what has changed");
    say(
        "as approved",
        "Changed since it was trusted; what was approved goes on running:",
        "`tollgate trust` shows what has changed",
    );
    say("broken", "Broken; their gates are closed:", "`tollgate check` shows what is wrong");
    say("off", "Switched off:", "");
    let only = args.event.map(|event| format!(" at {event}")).unwrap_or_default();
    let of_files = |of_event: &OfEvent| of_event.hooks.iter().any(|hook| hook.source.is_some());
    if !report.events.iter().any(of_files) && report.files.is_empty() {
        if out.has_result() {
            out.line("");
        }
        out.line(format!(
            "No hook files{only}, of {} or of yours.",
            project_shown(&report.project)
        ));
        out.line("`tollgate init` makes some to begin with");
    }
    if report.warnings > 0 && report.errors == 0 {
        out.hint(format!("{}; `tollgate check` shows them", count(report.warnings, "warning")));
    }
}
