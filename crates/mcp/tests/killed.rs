//! Servers of a process that is killed.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Map;
use support::{gone, is_running, noted, start};
use tempfile::tempdir;

/// Tells the program that is killed where its server leaves notes.
const PLACE: &str = "TOLLGATE_TEST_PLACE";

#[tokio::test]
async fn a_process_that_is_killed_takes_its_server_and_what_that_started_with_it() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut program = Command::new(env::current_exe().unwrap())
        .args(["--exact", "connects_and_waits", "--ignored"])
        .env(PLACE, place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pids = noted(place.path(), "children").await;
    assert_eq!(pids.split_whitespace().filter(|pid| is_running(pid)).count(), 2, "{pids}");
    // `SIGKILL`: it cannot do anything about its servers any more.
    program.kill().unwrap();
    program.wait().unwrap();
    gone(&pids).await;
}

#[tokio::test]
#[ignore = "the program that the other test kills"]
async fn connects_and_waits() {
    let Some(place) = env::var_os(PLACE).map(PathBuf::from) else { return };
    let server = start("plain", &place).await;
    server.call("children", Map::new()).await.unwrap();
    // It does not see that its input is closed.
    let _ = server.call("hang", Map::new()).await;
}
