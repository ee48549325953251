//! `tollgate test`

mod cases;
mod coverage;
mod find;
mod junit;
mod markdown;
mod text;

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tollgate_starlark::Starlark;

use crate::exit::Exit;
use crate::out::Out;
use crate::place::Project;
use crate::problem::Problem;
use coverage::Coverage;
use find::Suite;

/// Run the tests inside Markdown hooks, and case files (`*.cases.json`) for hooks of any dialect
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate test                           # all of the project
  tollgate test .tollgate/hooks/command-guard.md
  tollgate test --junit report.xml hooks/

A case file names hook files beside it, and what is to be decided:
  {\"hooks\": [\"policy.star\"],
   \"cases\": [{\"name\": \"no system files\", \"event\": \"tool.pre\",
              \"payload\": {\"name\": \"write_to_file\",
                          \"args\": {\"TargetFile\": \"/etc/hosts\"}},
              \"decision\": \"deny\", \"reason\": \"configuration\"}]}
`reason` is a regular expression; without `hooks`, the hooks of the project are
asked.

Exit codes: 0 all passed; 1 some did not, or cannot be run.")]
pub(crate) struct Args {
    /// Hook files, case files, or directories of them; what is named may run [default: the project]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    project: Project,
    /// Write a report in the XML of `JUnit` to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Fail also where a hook, a rule or a line of a script is reached by no test
    #[arg(long)]
    strict: bool,
    /// Print one object
    #[arg(long)]
    json: bool,
}

/// What came of a file with tests.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    file: PathBuf,
    /// The hook, where the file is one.
    hook: Option<String>,
    tests: Vec<Tested>,
    /// Why none could be run.
    error: Option<String>,
    /// The lines of the hook's script that no test reached.
    unreached: Vec<u32>,
    #[serde(skip)]
    took: Duration,
    #[serde(skip)]
    coverage: Coverage,
}

/// What came of one test.
#[derive(Debug, Serialize)]
struct Tested {
    name: String,
    line: Option<u32>,
    /// What was different from what was expected.
    failure: Option<String>,
}

impl Outcome {
    fn failed(&self) -> usize {
        self.tests.iter().filter(|test| test.failure.is_some()).count()
    }
}

#[derive(Debug, Serialize)]
struct Report {
    suites: Vec<Outcome>,
    passed: usize,
    failed: usize,
    /// Files whose tests could not be run.
    broken: usize,
    /// What no test exercised.
    untested: coverage::Untested,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let suites = find::all(&args.paths, &args.project)?;
    if suites.is_empty() {
        return Err(Problem::new("there is nothing to test here").help(
            "tests are fenced blocks ```test block in Markdown hooks, and `*.cases.json`; \
             `tollgate init` makes hooks with tests",
        ));
    }
    let engine = Starlark::new();
    let outcomes = in_parallel(&suites, |suite| match suite {
        Suite::Markdown(place) => markdown::run(&engine, place),
        Suite::Cases(file) => cases::run(&engine, file),
    });
    let report = Report::of(outcomes);
    if let Some(path) = &args.junit {
        fs::write(path, junit::xml(&report.suites)).map_err(|error| {
            Problem::new(format!("`{}` cannot be written: {error}", path.display()))
        })?;
    }
    if args.json {
        out.json(&report);
    } else {
        text::tell(&report, out);
    }
    let incomplete = args.strict && !report.untested.is_empty();
    let failed = report.failed > 0 || report.broken > 0 || incomplete;
    Ok(if failed { Exit::Problem } else { Exit::Fine })
}

impl Report {
    fn of(suites: Vec<Outcome>) -> Self {
        let tests = || suites.iter().flat_map(|suite| &suite.tests);
        let failed = tests().filter(|test| test.failure.is_some()).count();
        Self {
            passed: tests().count() - failed,
            failed,
            broken: suites.iter().filter(|suite| suite.error.is_some()).count(),
            untested: coverage::untested(&suites),
            suites,
        }
    }
}

/// Runs all on as many threads as there are processors, with a line that says how far it is.
fn in_parallel(suites: &[Suite], run: impl Fn(&Suite) -> Outcome + Sync) -> Vec<Outcome> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(suites.len());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::default();
    let progress = Progress::new(suites.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(suite) = suites.get(place) else { return };
                    let begun = Instant::now();
                    let outcome = run(suite);
                    let outcome = Outcome { took: begun.elapsed(), ..outcome };
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((place, outcome));
                    progress.show(done.len());
                }
            });
        }
    });
    progress.clear();
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// A line on the terminal that is written over; nothing where there is no terminal.
struct Progress {
    total: usize,
    begun: Instant,
    is_shown: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self { total, begun: Instant::now(), is_shown: std::io::stderr().is_terminal() }
    }

    fn show(&self, done: usize) {
        // What is over in a moment needs none.
        if self.is_shown && self.begun.elapsed() > Duration::from_millis(300) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K{done} of {} files tested", self.total);
        }
    }

    fn clear(&self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
