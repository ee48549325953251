//! The examples, run.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code, unreachable_pub)] // it is a program of its own
#[path = "../examples/guarded.rs"]
mod guarded;

use tollgate_core::prelude::*;

#[tokio::test]
async fn guarded() {
    let runner = guarded::runner().unwrap();
    let turn = SessionContext::new(SessionInfo::default()).turn();
    let mut said = Vec::new();
    for call in guarded::wishes() {
        said.push(guarded::run(&runner, &turn, call).await);
    }
    assert_eq!(
        said,
        [
            r#"ran view_file {"AbsolutePath":"/workspace/src/main.rs"} (password •••)"#,
            "refused: Denied by policy 'workspace_only'.\n    \
             for the person: deny by hook `policy`, rule `workspace_only`: Denied by policy 'workspace_only'.",
            r#"ran run_command {"CommandLine":"timeout 60 cargo test"} (password •••)"#,
            "refused: Deleting files is not part of the job.\n    \
             for the person: deny by hook `policy`, rule `run_command`: Deleting files is not part of the job.",
        ]
    );
}

#[tokio::test]
async fn guarded_holds_back_what_could_not_be_redacted() {
    let runner = guarded::runner().unwrap();
    let broken = transform("broken", |_cx, _: &ToolPost| Err::<Answer<ToolPost>, _>("boom"));
    runner.register(broken.priority(-1)).unwrap();
    let turn = SessionContext::new(SessionInfo::default()).turn();
    let call = ToolCall::new("run_command").arg("CommandLine", "cargo test");
    let said = guarded::run(&runner, &turn, call).await;
    assert!(said.starts_with("its result is held back"), "{said}");
    assert!(!said.contains("hunter2"));
}
