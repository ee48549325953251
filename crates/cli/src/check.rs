//! `tollgate check`

use std::path::{Path, PathBuf};

use serde::Serialize;
use tollgate_config::diagnostic::{Code, Colours, Diagnostic, Severity, render_as};
use tollgate_config::layers::{Places, named};
use tollgate_config::load::{FileState, Files, Loaded, LoadedFile, Setup, load};
use tollgate_config::script::Listed;
use tollgate_config::settings;
use tollgate_core::Dialect;
use tollgate_core::dialect::Layer;
use tollgate_starlark::Starlark;

use crate::exit::Exit;
use crate::out::{Out, Table, count, styles};
use crate::place::{Project, dialect_parser, named_files, shown};
use crate::problem::Problem;

/// Check hook files: all problems, where they are, and what to do. Runs nothing
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate check                        # all hook files that are looked at here
  tollgate check .agents/hooks.json
  tollgate check --json hooks/ > problems.json
  tollgate check --explain TG023

Exit codes: 0 no errors; 1 errors, or a problem with the arguments.")]
pub(crate) struct Args {
    /// Hook files, or directories of them [default: those of the project, the person and the machine]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What the named files are written for, where their place and shape do not tell
    #[arg(long, value_name = "NAME", value_parser = dialect_parser(), requires = "paths")]
    dialect: Option<Dialect>,
    #[command(flatten)]
    project: Project,
    /// Print what a code means, and what to do about it
    #[arg(long, value_name = "CODE", exclusive = true)]
    explain: Option<String>,
    /// Print one object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    files: Vec<File<'a>>,
    problems: &'a [Diagnostic],
    errors: usize,
    warnings: usize,
    notes: usize,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a PathBuf,
    /// What it is written for; `settings` where it has none.
    dialect: &'static str,
    layer: Layer,
    hooks: usize,
    ok: bool,
    /// Whether it is not what was trusted.
    changed: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    if let Some(code) = &args.explain {
        out.text(code.parse::<Code>()?.page());
        return Ok(Exit::Fine);
    }
    let places = args.project.places()?;
    let is_settings = |path: &&PathBuf| path.file_name().is_some_and(|name| name == "config.toml");
    let (settings, paths): (Vec<_>, Vec<_>) = args.paths.iter().partition(is_settings);
    let settings = match (args.paths.is_empty(), &places.settings().project) {
        (true, Some(project)) => vec![project.clone()],
        _ => settings.into_iter().cloned().collect(),
    };
    let settings: Vec<_> =
        settings.iter().filter_map(|path| read_settings(path, &places)).collect();
    let mut setup = Setup::new(places).scripts(Starlark::new());
    setup.files = if args.paths.is_empty() {
        Files::Found
    } else {
        Files::Named(named_files(paths, args.dialect)?)
    };
    let mut loaded = load(&setup);
    // Those of a project that nobody has trusted are not in force, and have their problems all the same.
    let said: Vec<_> = loaded.diagnostics.iter().map(Diagnostic::line).collect();
    let own = settings.iter().flat_map(|(_, own)| own);
    let unsaid: Vec<_> = own.filter(|own| !said.contains(&own.line())).cloned().collect();
    loaded.diagnostics.splice(0..0, unsaid);
    loaded.diagnostics.extend(loaded.catalogue.iter().filter_map(untested));
    if args.paths.is_empty() {
        loaded.diagnostics.extend(trust_problems(setup));
    }
    let others = others(&loaded, &settings);
    let of = |severity| loaded.diagnostics.iter().filter(move |found| found.severity == severity);
    let report = Report {
        files: files(&loaded, &settings, &others),
        problems: &loaded.diagnostics,
        errors: of(Severity::Error).count(),
        warnings: of(Severity::Warning).count(),
        notes: of(Severity::Note).count(),
    };
    if args.json {
        out.json(&report);
    } else {
        text(args, &loaded, &report, out);
    }
    Ok(if report.errors > 0 { Exit::Problem } else { Exit::Fine })
}

/// The files that were looked at, each with whether anything is wrong with it.
fn files<'a>(loaded: &'a Loaded, settings: &'a [Settings], others: &'a [Other]) -> Vec<File<'a>> {
    let file = |path, dialect, layer, hooks, loads| {
        let own = || loaded.diagnostics.iter().filter(move |said| said.file.path() == path);
        let ok = loads && !own().any(Diagnostic::is_error);
        let is_change = |code| matches!(code, Code::ChangedSinceTrusted | Code::RunsAsApproved);
        let changed = own().any(|said| is_change(said.code));
        File { path, dialect, layer, hooks, ok, changed }
    };
    let hooks = loaded.files.iter().map(|it: &LoadedFile| {
        let loads = matches!(it.state, FileState::InForce | FileState::Off);
        file(&it.path, it.dialect.name(), it.layer, it.hooks, loads)
    });
    let settings = settings.iter().map(|(path, _)| file(path, "settings", Layer::Project, 0, true));
    let others = others.iter().map(|(path, dialect)| file(path, dialect, Layer::Project, 0, true));
    hooks.chain(settings).chain(others).collect()
}

/// A file and what it is written for.
type Other = (PathBuf, &'static str);

/// Files that something is said of, and that have no hook which could be loaded.
fn others(loaded: &Loaded, settings: &[Settings]) -> Vec<Other> {
    let mut others: Vec<Other> = Vec::new();
    for said in &loaded.diagnostics {
        let path = said.file.path();
        let is_known = loaded.files.iter().any(|file| file.path == path)
            || settings.iter().any(|(own, _)| own == path)
            || others.iter().any(|(other, _)| other == path);
        let is_of_trust = matches!(
            said.code,
            Code::ChangedSinceTrusted
                | Code::MissingSinceTrusted
                | Code::RunsAsApproved
                | Code::SameFileTwice
        );
        if is_known || is_of_trust || !path.is_file() {
            continue;
        }
        let format = named(path, None).ok().and_then(|places| Some(places.first()?.format));
        if let Some(format) = format {
            others.push((path.to_owned(), format.dialect().name()));
        }
    }
    others
}

/// A `config.toml`, and what is wrong with it.
type Settings = (PathBuf, Vec<Diagnostic>);

/// Reads a `config.toml` below those of the person and the machine, whether it is trusted or not. None
/// where there is none.
fn read_settings(path: &Path, places: &Places) -> Option<Settings> {
    let path = std::path::absolute(path).ok()?;
    path.symlink_metadata().ok()?;
    let mut files = places.settings();
    if ![&files.system, &files.user].into_iter().flatten().any(|own| *own == path) {
        files.project = Some(path.clone());
    }
    let mut said = settings::Loaded::read(&files).diagnostics;
    said.retain(|said| said.file.path() == path);
    Some((path, said))
}

/// That nobody knows what a Markdown hook does.
fn untested(hook: &Listed) -> Option<Diagnostic> {
    let is_untested = hook.dialect == Dialect::Harness && !hook.has_tests;
    is_untested.then(|| {
        let message = format!("no test in it says what `{}` does", hook.name);
        Diagnostic::of_file(&hook.path, Code::NoTest, message)
            .help("add a fenced block ```test block with a payload; `tollgate test` runs it")
    })
}

/// What keeps the project's hooks from running, though they may be right.
fn trust_problems(mut setup: Setup) -> Vec<Diagnostic> {
    setup.files = Files::Trusted;
    // What scripts mean was looked at already.
    setup.scripts = None;
    let mut said = load(&setup).diagnostics;
    said.retain(|said| {
        matches!(
            said.code,
            Code::NotTrusted
                | Code::ChangedSinceTrusted
                | Code::MissingSinceTrusted
                | Code::RunsAsApproved
                | Code::Unpinned
                | Code::BrokenTrustStore
        )
    });
    said
}

fn text(args: &Args, loaded: &Loaded, report: &Report<'_>, out: &mut Out) {
    for diagnostic in collapsed(&loaded.diagnostics) {
        out.line(rendered(&diagnostic));
        out.line("");
    }
    if report.files.is_empty() {
        out.line("No hook files here.");
        let is_gone = |code| matches!(code, Code::MissingSinceTrusted | Code::RunsAsApproved);
        if loaded.diagnostics.iter().any(|said| is_gone(said.code)) {
            out.hint(
                "there were some, which are trusted: restore them, or `tollgate trust` shows it",
            );
        } else {
            out.hint("`tollgate init` makes some to begin with");
        }
        return;
    }
    let mut table = Table::default();
    for file in &report.files {
        let state = match (file.ok, file.changed) {
            (_, true) => "changed",
            (true, false) => "ok",
            (false, false) => "broken",
        };
        let hooks =
            if file.dialect == "settings" { String::new() } else { count(file.hooks, "hook") };
        table.row([state, &shown(file.path), file.dialect, &hooks]);
    }
    for (file, line) in report.files.iter().zip(table.lines()) {
        let style = match (file.ok, file.changed) {
            (true, false) => styles::GOOD,
            (true, true) => styles::WARNING,
            (false, _) => styles::ERROR,
        };
        let (state, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
        out.line(format!("{style}{state}{style:#}{rest}"));
    }
    out.line("");
    let Report { files, errors, warnings, notes, .. } = report;
    out.line(format!(
        "{}: {}, {}, {}",
        count(files.len(), "file"),
        count(*errors, "error"),
        count(*warnings, "warning"),
        count(*notes, "note"),
    ));
    let first = loaded.diagnostics.iter().find(|found| found.severity > Severity::Note);
    if let Some(first) = first {
        out.hint(format!("`tollgate check --explain {}` says more about the first", first.code));
    } else if args.paths.is_empty() {
        out.hint("`tollgate list` shows what is in force");
    }
}

/// Says beside a result what is wrong with the hooks it came of.
pub(crate) fn tell(diagnostics: &[Diagnostic], out: &mut Out) {
    for diagnostic in collapsed(diagnostics) {
        // What cannot be pinned was shown to whoever trusted it.
        if diagnostic.severity > Severity::Note && diagnostic.code != Code::Unpinned {
            out.note(rendered(&diagnostic));
        }
    }
}

/// The same said of many files is said once.
fn collapsed(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut collapsed: Vec<(Diagnostic, usize)> = Vec::new();
    for diagnostic in diagnostics {
        let same = |(first, _): &&mut (Diagnostic, usize)| {
            diagnostic.span.is_none()
                && first.code == diagnostic.code
                && first.message == diagnostic.message
        };
        match collapsed.iter_mut().find(same) {
            Some((_, more)) => *more += 1,
            None => collapsed.push((diagnostic.clone(), 0)),
        }
    }
    let told = |(mut diagnostic, more): (Diagnostic, usize)| {
        if more > 0 {
            let files = if more == 1 { "file" } else { "files" };
            diagnostic.message = format!("{} (and {more} more {files})", diagnostic.message);
        }
        diagnostic
    };
    collapsed.into_iter().map(told).collect()
}

fn rendered(diagnostic: &Diagnostic) -> String {
    render_as(diagnostic, &shown(diagnostic.file.path()), Colours::Terminal)
}
