//! Loading hook files again when they change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tollgate_config::hooks::Hooks;

use crate::error::AgentError;
use crate::update::{Listener, Update};

/// How long it is quiet before files are loaded: an editor writes a file in several steps.
const QUIET: Duration = Duration::from_millis(200);

/// Watches the places of hook files as long as it lives.
#[derive(Debug)]
pub(crate) struct Watcher {
    _watcher: notify::RecommendedWatcher,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watcher {
    pub(crate) fn start(hooks: &Arc<Hooks>, listener: &Listener) -> Result<Self, AgentError> {
        let (sender, mut changed) = mpsc::channel(1);
        let failed = |error: notify::Error| AgentError::Watch(error.to_string());
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                let matters = event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)));
                if matters {
                    // One that waits stands for all.
                    let _ = sender.try_send(());
                }
            })
            .map_err(failed)?;
        for directory in hooks.directories() {
            // What is not there yet is seen through the directory that it would be in.
            if let Some(there) = directory.ancestors().find(|path| path.is_dir()) {
                let mode = if there == directory.as_path() {
                    RecursiveMode::Recursive
                } else {
                    RecursiveMode::NonRecursive
                };
                if there != Path::new("/") {
                    watcher.watch(there, mode).map_err(failed)?;
                }
            }
        }
        let (hooks, listener) = (Arc::clone(hooks), Arc::clone(listener));
        let task = tokio::spawn(async move {
            while changed.recv().await.is_some() {
                while tokio::time::timeout(QUIET, changed.recv()).await.is_ok_and(|it| it.is_some())
                {
                }
                let again = Arc::clone(&hooks);
                let Ok(reloaded) = tokio::task::spawn_blocking(move || again.reload()).await else {
                    continue;
                };
                let message = if reloaded.is_in_force {
                    format!("hook files were loaded again: version {}", reloaded.found.version)
                } else {
                    let first = reloaded.found.diagnostics.iter().find(|it| it.is_error());
                    let why = first.map(tollgate_config::diagnostic::Diagnostic::line);
                    format!(
                        "hook files have changed and do not load; what was in force stays: {}",
                        why.unwrap_or_default()
                    )
                };
                listener(&Update::Notice { kind: "hooks", message: &message });
            }
        });
        Ok(Self { _watcher: watcher, task })
    }
}
