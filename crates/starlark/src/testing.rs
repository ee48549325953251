//! Running the tests that stand in hook files.
//!
//! A test is a fenced block in the body of the file: a payload, and what the hook has to make of it.
//! What a test does not give is as it is in a new session: no counters, an empty cache, no web and
//! no tools.

mod given;
mod judge;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use tollgate_config::diagnostic::{Diagnostic, Report};
use tollgate_config::dialect::harness::{Artifact, Code, Expect, TestBlock};
use tollgate_config::script::ScriptEngine as _;
use tollgate_config::settings::Settings;

use crate::analysis::{self, depth};
use crate::engine::remote::NotCompiled;
use crate::engine::{DEFAULT_TIME, Starlark, limits_in_worker};
use crate::payload::of_test;
use crate::protocol::{Request, Response};
use crate::sandbox::{Failed, Limits, Ran, run_covered};
use given::GivenHost;

/// What came of the tests of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    /// The hook.
    pub hook: String,
    /// Its file.
    pub path: PathBuf,
    /// Its tests, in their order. None: nobody knows what the hook does.
    pub tests: Vec<TestResult>,
    /// The lines of the file that are part of its script and in which no test reached a statement.
    pub unreached: Vec<u32>,
}

/// What came of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestResult {
    /// What it is about; empty where it does not say so.
    pub name: String,
    /// What the hook had to do.
    pub expect: Expect,
    /// The line of the file where it stands.
    pub line: u32,
    /// What was different from what was expected; none where nothing was.
    pub failure: Option<String>,
}

impl Tested {
    /// Whether every test passed.
    pub fn passed(&self) -> bool {
        self.tests.iter().all(|test| test.failure.is_none())
    }
}

impl fmt::Display for Tested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hook, path, tests, unreached } = self;
        if tests.is_empty() {
            return write!(f, "{hook}: no tests ({})", path.display());
        }
        let failed = tests.iter().filter(|test| test.failure.is_some()).count();
        write!(f, "{hook}: {} passed, {failed} failed", tests.len() - failed)?;
        for test in tests {
            if let Some(failure) = &test.failure {
                let name = if test.name.is_empty() { test.expect.word() } else { &test.name };
                write!(f, "\n  {}:{}: {name}: {failure}", path.display(), test.line)?;
            }
        }
        if !unreached.is_empty() {
            let lines: Vec<_> = unreached.iter().map(ToString::to_string).collect();
            write!(f, "\n  no test reaches line {}", lines.join(", "))?;
        }
        Ok(())
    }
}

/// Why a hook's tests cannot be run: it does not load.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{hook}` does not load: {}", .problems.first().map(Diagnostic::line).unwrap_or_default())]
pub struct NotTestable {
    /// The hook.
    pub hook: String,
    /// What is wrong with it.
    pub problems: Vec<Diagnostic>,
}

impl Starlark {
    /// Runs the tests of a hook, each as the hook would run, and tells which lines none reached.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate_config::dialect::harness::read_artifact;
    /// use tollgate_config::source::SourceFile;
    /// use tollgate_starlark::Starlark;
    ///
    /// let text = r#"---
    /// event: tool.pre
    /// when: payload["name"] == "run_command"
    /// script: |
    ///   def handle(event, payload):
    ///       if "mkfs" in payload["args"].get("CommandLine", ""):
    ///           return block("no formatting of disks")
    ///       return allow()
    /// ---
    /// Keeps disks as they are.
    ///
    /// ~~~test block a disk
    /// {"name": "run_command", "args": {"CommandLine": "mkfs /dev/sda"}}
    /// ---
    /// {"reason": "no formatting of disks"}
    /// ~~~
    /// "#;
    /// let file = Arc::new(SourceFile::new("disks.md", text));
    /// let (artifact, problems) = read_artifact(&file);
    /// assert!(problems.is_empty());
    /// let tested = Starlark::in_process().test(&Arc::new(artifact.unwrap()))?;
    /// assert!(tested.passed());
    /// assert_eq!(tested.unreached, [8]);
    /// # Ok::<(), tollgate_starlark::testing::NotTestable>(())
    /// ```
    pub fn test(&self, artifact: &Arc<Artifact>) -> Result<Tested, NotTestable> {
        let mut report = Report::new(Arc::clone(&artifact.source));
        let loaded = self.load(&Settings::default()).hook(artifact, &mut report);
        let checked = analysis::check_script(artifact.script.text(), &analysis::SCRIPT).ok();
        let (Some(_), Some(checked)) = (loaded, checked) else {
            let problems = report.into_diagnostics();
            return Err(NotTestable { hook: artifact.name.clone(), problems });
        };
        let mut reached = BTreeSet::new();
        let mut run = |test: &TestBlock| {
            let failure = match self.run_test(artifact, test) {
                Ok((ran, lines)) => {
                    reached.extend(lines);
                    judge::failure(artifact, test, &ran)
                }
                Err(why) => Some(why),
            };
            let line = artifact.source.line(test.span.start);
            TestResult { name: test.name.clone(), expect: test.expect, line, failure }
        };
        let tests: Vec<TestResult> = artifact.tests.iter().map(&mut run).collect();
        let lines = checked.facts.lines.iter().filter_map(|line| u32::try_from(*line).ok());
        let unreached = lines.filter(|line| !reached.contains(line));
        Ok(Tested {
            hook: artifact.name.clone(),
            path: artifact.source.path().to_owned(),
            unreached: unreached.map(|line| artifact.script.line_in_file(line)).collect(),
            tests,
        })
    }

    fn run_test(&self, artifact: &Artifact, test: &TestBlock) -> Result<(Ran, Vec<u32>), String> {
        let payload = of_test(artifact.event, &test.payload)?;
        let limits = limits_in_worker(artifact.timeout.unwrap_or(DEFAULT_TIME));
        let host = GivenHost::new(&test.given);
        let ran = self.run_with(artifact, &payload, limits, &host)?;
        // Whatever the hook made of that: the test does not say what it would need to.
        host.unanswered().map_or(Ok(ran), Err)
    }

    fn run_with(
        &self,
        artifact: &Artifact,
        payload: &Map<String, Json>,
        limits: Limits,
        host: &GivenHost<'_>,
    ) -> Result<(Ran, Vec<u32>), String> {
        let script = artifact.script.text();
        let when = artifact.when.as_ref().map(Code::text);
        let event = artifact.event.name;
        let Some(workers) = self.workers() else {
            let height = depth::height(script).unwrap_or(depth::MOST_DEPTH);
            let run = || run_covered((script, when), event, payload, limits, host);
            return depth::with_stack(height, run).map_err(|error| error.to_string());
        };
        let (script, when) = (script.to_owned(), when.map(ToOwned::to_owned));
        let request = Request::Cover { script, when, event: event.to_owned(), limits };
        let payload = serde_json::to_string(payload).unwrap_or_default();
        match crate::engine::remote::ask_once(&workers, &request, &payload, limits, host) {
            Ok(Response::Covered(ran, lines)) => Ok((*ran, lines)),
            Ok(other) => Err(format!("the worker answered something else: {other:?}")),
            Err(NotCompiled::Failed(failed)) => Ok((failed_run(failed), Vec::new())),
            Err(NotCompiled::NoWorker(error)) => Err(error),
        }
    }
}

fn failed_run(failed: Failed) -> Ran {
    Ran { decided: Err(failed), effects: Vec::new(), changed_in_place: false }
}
