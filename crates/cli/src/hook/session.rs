//! Which project a session of another agent is about.
//!
//! Some agents say where they were started. Others say only where a command is to run, and that is the agent's own
//! choice: to go elsewhere would be a way out of the project's hooks. So what a session began with is kept, in a small
//! file, and counts for the rest of it.
//!
//! A file that is empty, or names a directory that is gone, is made anew from where the agent is. If it cannot be
//! written, the agent is only believed while its process is in the same project.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_config::layers::Places;
use tollgate_config::trust::Hash;
use tollgate_core::Kind;
use tollgate_hosts::Incoming;

use crate::person::{self, FOLDER};
use crate::problem::Problem;

/// Time for which files of a session are kept after its last call.
const KEPT: Duration = Duration::from_hours(24 * 30);

/// Time after which the file of a session that goes on is marked as used again.
const FRESH: Duration = Duration::from_hours(24);

/// Time for which an unfinished file is kept.
const UNFINISHED: Duration = Duration::from_hours(1);

/// Largest number of files that are looked at when old ones are removed.
const MOST: usize = 4_000;

/// Longest session id that is part of a file's name as it is.
const LONGEST_ID: usize = 80;

/// Says if a call writes the file that holds its session to a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pins {
    /// They are written as the session goes on.
    Kept,
    /// They are only read.
    Read,
}

/// The content of a session's file.
#[derive(Debug, PartialEq, Eq)]
struct Pin {
    project: PathBuf,
    began: SystemTime,
}

/// Returns the project that the session began in; `now` if that is not known.
pub(super) fn project(
    incoming: &Incoming,
    state: Option<&Path>,
    now: PathBuf,
    pins: Pins,
) -> Result<PathBuf, Problem> {
    let Some(file) = file(incoming, state) else { return Ok(now) };
    let kept = Pin::read(&file).map(|pin| pin.project).filter(|project| project.is_dir());
    if pins == Pins::Read {
        return Ok(kept.unwrap_or(now));
    }
    if incoming.event.kind == Kind::SessionEnd {
        let _ = fs::remove_file(&file);
        return Ok(kept.unwrap_or(now));
    }
    if let Some(kept) = kept {
        mark_used(&file);
        return Ok(kept);
    }
    match keep(incoming, &file, &now) {
        Err(error) if !is_agents(&now) => Err(Problem::new(format!(
            "cannot keep which project this session began in: {error}, at `{}`",
            file.display()
        ))
        .help("make it writable, or name the project: `tollgate hook --project DIR`")),
        _ => Ok(now),
    }
}

/// Notes that a session has begun, if its agent says itself which project it is about.
pub(super) fn begin(incoming: &Incoming, state: Option<&Path>, project: &Path) {
    let Some(file) = file(incoming, state) else { return };
    if incoming.event.kind != Kind::SessionEnd {
        if Pin::read(&file).is_some() {
            mark_used(&file);
        } else {
            let _ = keep(incoming, &file, project);
        }
    }
}

/// Returns when the session began, as far as that was noted.
pub(super) fn began(incoming: &Incoming, state: Option<&Path>) -> Option<SystemTime> {
    Pin::read(&file(incoming, state)?).map(|pin| pin.began)
}

/// Returns the name of a session's file. No two sessions have the same: what is not plain in an id, or too long, is
/// replaced by a digest of it, and no plain id has the underscore before that.
pub(super) fn name(incoming: &Incoming) -> String {
    let (host, id) = (incoming.host.name, incoming.session.id.as_str());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if id.len() <= LONGEST_ID && id.chars().all(is_plain) {
        return format!("{host}-{id}");
    }
    let plain: String =
        id.chars().map(|c| if is_plain(c) { c } else { '-' }).take(LONGEST_ID / 2).collect();
    let digest: String = Hash::of(id.as_bytes()).to_string().chars().take(32).collect();
    format!("{host}-{plain}_{digest}")
}

fn file(incoming: &Incoming, state: Option<&Path>) -> Option<PathBuf> {
    let state = state.filter(|_| !incoming.session.id.is_empty())?;
    Some(state.join(FOLDER).join(name(incoming)))
}

/// True if the agent's process is in this project as well, or cannot be found.
fn is_agents(project: &Path) -> bool {
    let directory = person::caller().and_then(|agent| agent.directory());
    directory.is_none_or(|directory| Places::project_of(&directory) == project)
}

impl Pin {
    /// Reads `PATH NUL NANOSECONDS`. Without the second, the time of the file counts.
    fn read(file: &Path) -> Option<Self> {
        let bytes = fs::read(file).ok()?;
        let mut parts = bytes.splitn(2, |byte| *byte == 0);
        let project = PathBuf::from(std::ffi::OsString::from_vec(parts.next()?.to_vec()));
        let nanos = parts.next().and_then(|part| std::str::from_utf8(part).ok()?.parse().ok());
        let noted = nanos.and_then(|it| UNIX_EPOCH.checked_add(Duration::from_nanos(it)));
        let began = noted.or_else(|| fs::metadata(file).ok()?.modified().ok())?;
        project.is_absolute().then_some(Self { project, began })
    }

    fn bytes(&self) -> Vec<u8> {
        let began = self.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        [self.project.as_os_str().as_bytes(), b"\0", began.to_string().as_bytes()].concat()
    }
}

/// Writes a session's file. If the session does not begin only now, it began no later than the first call of its agent's
/// process: files made since then are the session's.
fn keep(incoming: &Incoming, file: &Path, project: &Path) -> std::io::Result<()> {
    let Some(folder) = file.parent() else { return Ok(()) };
    tollgate_config::trust::private_directory(folder)?;
    let first_call = || {
        let record = folder.join(person::caller()?.record());
        fs::metadata(record).ok()?.modified().ok()
    };
    let is_new = incoming.event.kind == Kind::SessionStart;
    let began = if is_new { None } else { first_call() }.unwrap_or_else(SystemTime::now);
    // Whole or not at all: another call of the same session may be reading.
    let part = file.with_extension(format!("part-{}", std::process::id()));
    let written = File::options().write(true).create(true).truncate(true).open(&part).and_then(
        |mut written| written.write_all(&Pin { project: project.to_owned(), began }.bytes()),
    );
    if let Err(error) = written.and_then(|()| fs::rename(&part, file)) {
        let _ = fs::remove_file(&part);
        return Err(error);
    }
    forget_old(folder);
    Ok(())
}

/// Marks a session as going on, so that its file is not taken for one that is long over.
fn mark_used(file: &Path) {
    if age(file).is_some_and(|age| age > FRESH)
        && let Ok(opened) = File::options().write(true).open(file)
    {
        let _ = opened.set_modified(SystemTime::now());
    }
}

fn age(file: &Path) -> Option<Duration> {
    fs::symlink_metadata(file).ok()?.modified().ok()?.elapsed().ok()
}

/// Removes what is left of sessions that are long over, and of files that were not finished. Lists of a session are kept
/// as long as the session.
fn forget_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(MOST) {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Records of agents are removed when their process has ended.
        if name.starts_with("agent-") {
            continue;
        }
        let kept = if name.contains(".part-") { UNFINISHED } else { KEPT };
        let session = path.with_extension("");
        let is_used = kept == KEPT && age(&session).is_some_and(|age| age <= KEPT);
        if !is_used && age(&path).is_some_and(|age| age > kept) {
            let _ = fs::remove_file(path);
        }
    }
}
