//! The tests inside a Markdown hook.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::dialect::harness::read_artifact;
use tollgate_config::layers::Place;
use tollgate_config::source::SourceFile;
use tollgate_starlark::Starlark;

use super::coverage::Coverage;
use super::{Outcome, Tested};

pub(super) fn run(engine: &Starlark, place: &Place) -> Outcome {
    let mut outcome = Outcome {
        file: place.path.clone(),
        hook: place.path.file_stem().map(|name| name.to_string_lossy().into_owned()),
        tests: Vec::new(),
        error: None,
        unreached: Vec::new(),
        took: Duration::ZERO,
        coverage: Coverage::default(),
    };
    match tested(engine, place) {
        Ok(tested) => {
            let tests = tested.tests.into_iter();
            let test = |test: tollgate_starlark::testing::TestResult| Tested {
                name: format!("{} {}", test.expect.word(), test.name).trim_end().to_owned(),
                line: Some(test.line),
                failure: test.failure,
            };
            outcome.tests = tests.map(test).collect();
            if !outcome.tests.is_empty() {
                outcome.unreached = tested.unreached;
            }
        }
        Err(error) => outcome.error = Some(error),
    }
    outcome
}

fn tested(engine: &Starlark, place: &Place) -> Result<tollgate_starlark::testing::Tested, String> {
    let text = fs::read_to_string(&place.path).map_err(|error| error.to_string())?;
    let (artifact, problems) = read_artifact(&Arc::new(SourceFile::new(&place.path, text)));
    let Some(artifact) = artifact else {
        let first = problems.iter().find(|problem| problem.is_error());
        return Err(first.map_or_else(|| "it does not load".to_owned(), Diagnostic::line));
    };
    engine.test(&Arc::new(artifact)).map_err(|error| error.to_string())
}
