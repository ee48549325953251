//! The hooks that are shipped as an example: their tests pass and reach every line, and they do what
//! they say.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::Isolation;
use tollgate_config::dialect::harness::read_artifact;
use tollgate_config::source::SourceFile;

#[test]
fn every_hook_has_tests_that_pass_and_reach_every_line() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/governed-agent/.harness/hooks");
    let mut priorities = Vec::new();
    for isolation in Isolation::ALL {
        let engine = isolation.engine();
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let file = Arc::new(SourceFile::new(&path, fs::read_to_string(&path).unwrap()));
            let (artifact, problems) = read_artifact(&file);
            assert!(problems.is_empty(), "{problems:?}");
            let artifact = Arc::new(artifact.unwrap());
            let tested = engine.test(&artifact).unwrap();
            assert!(tested.passed() && !tested.tests.is_empty(), "{isolation:?} {tested}");
            assert_eq!(tested.unreached, [0; 0], "{isolation:?} {tested}");
            priorities.push((artifact.priority.unwrap(), artifact.name.clone()));
            names.push(tested.hook);
        }
        assert_eq!(names.len(), 7);
    }
    priorities.sort();
    priorities.dedup();
    let order: Vec<_> = priorities.iter().map(|(priority, name)| (*priority, &**name)).collect();
    assert_eq!(
        order,
        [
            (1, "audit_tool_post"),
            (1, "audit_tool_pre"),
            (10, "command_guard"),
            (10, "path_guard"),
            (20, "prefer_named_tools"),
            (30, "meta_tool_guard"),
            (40, "completion_window_guard"),
        ]
    );
}
