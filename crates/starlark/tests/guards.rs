//! The guards that come with Tollgate: their tests pass and reach every line; the command guard stops
//! every destructive command of the corpus and leaves the harmless ones alone.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::Isolation;
use tollgate_config::dialect::harness::read_artifact;
use tollgate_config::source::SourceFile;
use tollgate_starlark::guards;

#[test]
fn every_guard_has_tests_that_pass_and_reach_every_line() {
    let mut wrong = Vec::new();
    for isolation in Isolation::ALL {
        let engine = isolation.engine();
        for guard in guards::ALL {
            let file = Arc::new(SourceFile::new(guard.file_name(), guard.text));
            let (artifact, problems) = read_artifact(&file);
            assert!(problems.is_empty(), "{}: {problems:?}", guard.name);
            let tested = engine.test(&Arc::new(artifact.unwrap())).unwrap();
            if !tested.passed() || tested.tests.len() < 2 || !tested.unreached.is_empty() {
                wrong.push(format!("{isolation:?} {tested}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_files_of_the_folder_come_with_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hooks");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    names.sort();
    let known: Vec<String> = guards::ALL.iter().map(guards::Guard::file_name).collect();
    assert_eq!(names, known);
}

/// The example has copies, as a project would.
#[test]
fn the_example_uses_them_as_they_are() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/governed-agent/.tollgate/hooks");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), guards::named(name).unwrap().text, "{name}");
        count += 1;
    }
    assert!(count >= 4, "{count}");
}

#[path = "../examples/guard_score/corpus.rs"]
mod corpus;

#[test]
fn the_starter_guards_hold() {
    let score = corpus::score().unwrap();
    assert!(score.destructive >= 400 && score.harmless >= 400, "{score:?}");
    assert!(score.missed.is_empty(), "{:#?}", score.missed);
    assert!(score.stopped.len() * 100 <= score.harmless, "{:#?}", score.stopped);
}
