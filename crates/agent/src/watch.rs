//! Loading hook files again when they change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tollgate_config::hooks::{Hooks, Reloaded};

use crate::error::AgentError;
use crate::update::{Listener, Update};

/// How long it is quiet before files are loaded: an editor writes a file in several steps.
const QUIET: Duration = Duration::from_millis(200);

/// Watches the places of hook files as long as it lives.
#[derive(Debug)]
pub(crate) struct Watcher {
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
        let mut eye = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let matters = event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)));
            if matters {
                // One that waits stands for all.
                let _ = sender.try_send(());
            }
        })
        .map_err(|error| AgentError::Watch(error.to_string()))?;
        watch(&mut eye, hooks).map_err(|error| AgentError::Watch(error.to_string()))?;
        let (hooks, listener) = (Arc::clone(hooks), Arc::clone(listener));
        let task = tokio::spawn(async move {
            while changed.recv().await.is_some() {
                while tokio::time::timeout(QUIET, changed.recv()).await.is_ok_and(|it| it.is_some())
                {
                }
                let again = Arc::clone(&hooks);
                let loaded = tokio::task::spawn_blocking(move || {
                    // First, so that what changes after the files were read is seen.
                    let result = watch(&mut eye, &again);
                    (eye, result, again.reload())
                });
                let Ok((same, result, reloaded)) = loaded.await else { return };
                eye = same;
                listener(&Update::Notice { kind: "hooks", message: &said_of(&reloaded) });
                if let Err(error) = result {
                    let message = AgentError::Watch(error.to_string()).to_string();
                    listener(&Update::Notice { kind: "hooks", message: &message });
                }
            }
        });
        Ok(Self { task })
    }
}

/// Watches the directories that hook files are in. What is not there yet is seen through the directory that it would be
/// in.
fn watch(eye: &mut RecommendedWatcher, hooks: &Hooks) -> notify::Result<()> {
    let mut before = BTreeMap::new();
    loop {
        let mut places: BTreeMap<PathBuf, RecursiveMode> = BTreeMap::new();
        for directory in hooks.directories() {
            let Some(there) = directory.ancestors().find(|path| path.is_dir()) else { continue };
            let is_whole = there == directory.as_path();
            if is_whole {
                places.insert(there.to_owned(), RecursiveMode::Recursive);
            } else if there != Path::new("/") {
                places.entry(there.to_owned()).or_insert(RecursiveMode::NonRecursive);
            }
        }
        // A directory may have been made before the one that it is in was watched: then there is more to watch.
        if places == before {
            return Ok(());
        }
        for (place, mode) in &places {
            match eye.watch(place, *mode) {
                // It is gone again, and then its parent is looked at.
                Err(_) if !place.is_dir() => {}
                result => result?,
            }
        }
        before = places;
    }
}

fn said_of(reloaded: &Reloaded) -> String {
    if reloaded.is_in_force {
        return format!("hook files were loaded again: version {}", reloaded.found.version);
    }
    let first = reloaded.found.diagnostics.iter().find(|it| it.is_error());
    let why = first.map(tollgate_config::diagnostic::Diagnostic::line).unwrap_or_default();
    format!("hook files have changed and do not load; what was in force stays: {why}")
}
