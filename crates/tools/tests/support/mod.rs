//! A workspace in a temporary directory, and the built-in tools in it.

#![allow(dead_code, unreachable_pub)] // each test uses what it needs of it

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tollgate_tools::{
    Config, Cx, Output, TaskLimits, Tasks, Tool, ToolFailure, Workspaces, built_in,
};

/// Far more than any of these takes, also on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

pub struct Scene {
    /// Everything is below this.
    pub outer: TempDir,
    pub cx: Cx,
    pub tools: Vec<Arc<dyn Tool>>,
}

impl Scene {
    pub fn new() -> Self {
        Self::with(&Config::default(), TaskLimits::default())
    }

    pub fn with(config: &Config, limits: TaskLimits) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap().join("ws");
        std::fs::create_dir(&root).unwrap();
        let cx = Cx::new(Workspaces::new([&root]).unwrap(), Tasks::new(limits));
        Self { outer, cx, tools: built_in(config) }
    }

    /// The path of the workspace.
    pub fn root(&self) -> PathBuf {
        self.cx.workspaces.paths().next().unwrap().to_owned()
    }

    pub fn path(&self, name: &str) -> String {
        self.root().join(name).to_str().unwrap().to_owned()
    }

    /// The path of something beside the workspace.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.root().parent().unwrap().join(name)
    }

    pub fn put(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }

    pub async fn call(&self, tool: &str, args: Value) -> Result<Output, ToolFailure> {
        call(&self.tools, &self.cx, tool, args).await
    }

    /// The text of a call that succeeds.
    pub async fn text(&self, tool: &str, args: Value) -> String {
        let output = self.call(tool, args).await;
        output.unwrap_or_else(|error| panic!("{tool}: {error}")).text().into_owned()
    }

    /// The error of a call that does not.
    pub async fn error(&self, tool: &str, args: Value) -> String {
        match self.call(tool, args).await {
            Ok(output) => panic!("{tool} succeeded: {}", output.text()),
            Err(error) => error.to_string(),
        }
    }
}

pub async fn call(
    tools: &[Arc<dyn Tool>],
    cx: &Cx,
    tool: &str,
    args: Value,
) -> Result<Output, ToolFailure> {
    let tool = tools.iter().find(|one| one.spec().name == tool).unwrap();
    tool.call(cx, args.as_object().unwrap()).await
}

/// All names in a directory.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits until something is so.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let by = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < by, "{what} did not come true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
