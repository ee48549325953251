//! Records what `tollgate setup` wrote, so that `setup --undo` can restore it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_config::layers::Places;
use tollgate_config::trust::Hash;

use crate::place::shown;
use crate::problem::Problem;

/// Its file, in the state directory.
const FILE: &str = "setup.json";

/// Maximum size of the file in bytes. It holds settings of agents only where Tollgate was in them before.
const LARGEST: u64 = 64 << 20;

const VERSION: u32 = 1;

/// Everything that was written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    version: u32,
    /// Directories that were created, each before the ones above it.
    pub(super) folders: Vec<PathBuf>,
    /// Hook files that were created.
    pub(super) files: Vec<File>,
    /// Agents that Tollgate was installed into.
    pub(super) agents: Vec<Agent>,
}

/// A file that was created.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// Its content when it was written.
    pub(super) hash: Hash,
}

/// An agent that Tollgate was installed into.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Agent {
    pub(super) name: String,
    pub(super) edits: Vec<Edit>,
}

/// A file of an agent that was edited or created.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) path: PathBuf,
    /// Its content afterwards; none if it was removed.
    pub(super) after: Option<Hash>,
    /// Its content before, if Tollgate was in it already. Otherwise `uninstall` restores it.
    pub(super) before: Option<String>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self { version: VERSION, folders: Vec::new(), files: Vec::new(), agents: Vec::new() }
    }
}

impl Manifest {
    /// Returns where it is kept.
    pub(super) fn path() -> Result<PathBuf, Problem> {
        let store = Places::of_this_process(None).trust;
        let folder = store.as_deref().and_then(Path::parent).map(Path::to_owned);
        folder.map(|folder| folder.join(FILE)).ok_or_else(|| {
            Problem::new("there is no state directory").help("set HOME to the path of yours")
        })
    }

    /// Reads it; none if `setup` has not run.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Problem> {
        let broken = |why: String| {
            Problem::new(format!("`{}` cannot be read: {why}", shown(path)))
                .help("`tollgate uninstall HOST` takes Tollgate out of one agent without it")
        };
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(broken(error.to_string())),
        };
        let mut text = String::new();
        let read = file.take(LARGEST + 1).read_to_string(&mut text);
        read.map_err(|error| broken(error.to_string()))?;
        let manifest: Self =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if manifest.version != VERSION {
            return Err(broken(format!("it is of version {}", manifest.version)));
        }
        Ok(Some(manifest))
    }

    /// Writes it, as a whole. What is in it may be private.
    pub(super) fn write(&self, path: &Path) -> Result<(), Problem> {
        let written = || {
            if let Some(folder) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let temporary = path.with_extension(format!("json.{}.tmp", std::process::id()));
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            let text = serde_json::to_vec_pretty(self)?;
            let done = file
                .write_all(&text)
                .and_then(|()| file.sync_all())
                .and_then(|()| fs::rename(&temporary, path));
            if done.is_err() {
                let _ = fs::remove_file(&temporary);
            }
            done
        };
        written().map_err(|error: io::Error| {
            Problem::new(format!("`{}` cannot be written: {error}", shown(path)))
                .help("nothing was installed; check the permissions of the directory")
        })
    }

    /// Records the directories that have to be created for a file.
    pub(super) fn add_folders(&mut self, file: &Path) {
        let missing = file.ancestors().skip(1).take_while(|folder| !folder.exists());
        let new: Vec<_> = missing.filter(|it| !self.folders.iter().any(|old| old == it)).collect();
        self.folders.splice(0..0, new.into_iter().map(Path::to_path_buf));
    }

    /// Records an edit of an agent's file, or that it was edited again.
    pub(super) fn add_edit(&mut self, name: &str, edit: Edit) {
        if !self.agents.iter().any(|agent| agent.name == name) {
            self.agents.push(Agent { name: name.to_owned(), edits: Vec::new() });
        }
        let agent = self.agents.iter_mut().find(|agent| agent.name == name);
        let Some(agent) = agent else { return };
        match agent.edits.iter_mut().find(|known| known.path == edit.path) {
            Some(known) => known.after = edit.after,
            None => agent.edits.push(edit),
        }
    }
}

/// Returns the hash of a file's content; none if there is no such file, or it cannot be read.
pub(super) fn hash_of(path: &Path) -> Option<Hash> {
    let file = fs::File::open(path).ok()?;
    let mut content = Vec::new();
    file.take(LARGEST).read_to_end(&mut content).ok()?;
    Some(Hash::of(&content))
}
