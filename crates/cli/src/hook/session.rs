//! Which project a session of another agent is about.
//!
//! Some agents say where they were started. Others say only where a command is to run, and that is the agent's own
//! choice: to go elsewhere would be a way out of the project's hooks. So what a session began with is kept, in a small
//! file, and counts for the rest of it.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tollgate_core::Kind;
use tollgate_hosts::Incoming;

use crate::person::FOLDER;

/// For how long they are kept where nobody says that a session has ended.
const KEPT: Duration = Duration::from_hours(24 * 30);

/// What becomes of the files in which projects of sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pins {
    /// They are written as the session goes on.
    Kept,
    /// They are only read.
    Read,
}

/// The project that the session began in; `now` where that is not known.
pub(super) fn project(
    incoming: &Incoming,
    state: Option<&Path>,
    now: PathBuf,
    pins: Pins,
) -> PathBuf {
    let Some(state) = state.filter(|_| !incoming.session.id.is_empty()) else { return now };
    let folder = state.join(FOLDER);
    let file = folder.join(name(incoming));
    if pins == Pins::Read {
        return read(&file).unwrap_or(now);
    }
    if incoming.event.kind == Kind::SessionEnd {
        let kept = read(&file);
        let _ = fs::remove_file(&file);
        return kept.unwrap_or(now);
    }
    if let Some(kept) = read(&file) {
        return kept;
    }
    // Where it cannot be kept, where the agent says it is has to do.
    let _ = keep(&folder, &file, &now);
    now
}

/// Notes that a session has begun, where its agent says itself which project it is about.
pub(super) fn begin(incoming: &Incoming, state: Option<&Path>, project: &Path) {
    let Some(state) = state.filter(|_| !incoming.session.id.is_empty()) else { return };
    let folder = state.join(FOLDER);
    let file = folder.join(name(incoming));
    if incoming.event.kind != Kind::SessionEnd && !file.exists() {
        let _ = keep(&folder, &file, project);
    }
}

/// When the session began, as far as that was noted.
pub(super) fn began(incoming: &Incoming, state: Option<&Path>) -> Option<SystemTime> {
    let state = state.filter(|_| !incoming.session.id.is_empty())?;
    fs::metadata(state.join(FOLDER).join(name(incoming))).ok()?.modified().ok()
}

/// The name of a session's file.
pub(super) fn name(incoming: &Incoming) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let id: String = incoming.session.id.chars().map(plain).take(80).collect();
    format!("{}-{id}", incoming.host.name)
}

fn read(file: &Path) -> Option<PathBuf> {
    let kept = PathBuf::from(std::ffi::OsString::from_vec(fs::read(file).ok()?));
    (kept.is_absolute() && kept.is_dir()).then_some(kept)
}

fn keep(folder: &Path, file: &Path, project: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    // Whole or not at all: another call of the same session may be reading.
    let part = file.with_extension(format!("{}", std::process::id()));
    let mut written = fs::File::options().write(true).create_new(true).open(&part)?;
    written.write_all(project.as_os_str().as_bytes())?;
    fs::rename(&part, file)?;
    forget_old(folder);
    Ok(())
}

/// Removes what is left of sessions that are long over.
fn forget_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(1_000) {
        let age = entry.metadata().and_then(|metadata| metadata.modified());
        let age = age.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
