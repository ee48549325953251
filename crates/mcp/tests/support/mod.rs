//! Servers for tests.
#![allow(dead_code)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tollgate_mcp::{McpError, Server, ServerConfig};

/// Long enough for a machine that does other things as well.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// The server of `server.py`, in one of its modes.
pub(crate) fn config(mode: &str, directory: &Path) -> ServerConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/server.py");
    let directory = directory.to_str().unwrap();
    let mut config = ServerConfig::stdio("test", "python3", [script, mode, directory]);
    config.limits.start = LONG;
    config.limits.call = LONG;
    config
}

pub(crate) async fn start(mode: &str, directory: &Path) -> Server {
    Server::connect(config(mode, directory)).await.unwrap()
}

pub(crate) async fn refused(config: ServerConfig) -> McpError {
    match Server::connect(config).await {
        Ok(server) => panic!("{server:?} was taken"),
        Err(error) => error,
    }
}

pub(crate) fn args(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

/// What a server wrote into a file, once it is there.
pub(crate) async fn noted(directory: &Path, name: &str) -> String {
    let path = directory.join(name);
    until(&format!("{} is there", path.display()), || path.exists()).await;
    fs::read_to_string(path).unwrap()
}

/// Waits for something that happens by itself.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: never");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until none of these processes is left.
pub(crate) async fn gone(pids: &str) {
    for pid in pids.split_whitespace() {
        until(&format!("{pid} is gone"), || !is_running(pid)).await;
    }
}

/// A process that has ended and was not waited for by its parent does not run.
pub(crate) fn is_running(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state != Some('Z')
}
