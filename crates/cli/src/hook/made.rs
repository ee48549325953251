//! Which files a session of another agent has fetched from other machines, or written by its tools.
//!
//! What was downloaded in one call and is run in the next is code that nobody has seen. Agents do not
//! say so when they run it; so what a call fetches is kept, in a small file for each session.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tollgate_core::runner::AnyOutcome;
use tollgate_core::verdict::Permission;
use tollgate_core::{AnyEvent, Kind};
use tollgate_hosts::Incoming;
use tollgate_shell::effects::{self, Effect, Target};
use tollgate_shell::policy::effects_of;

use super::session::name;
use crate::person::FOLDER;

/// The largest list. A session that fetches more is asked about files that it fetched first.
const LARGEST: u64 = 64 * 1024;

/// A list of files that a session has made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made {
    /// From other machines.
    Fetched,
    /// By its tools.
    Written,
}

/// The file with a list of a session.
pub(super) fn list(made: Made, incoming: &Incoming, state: Option<&Path>) -> Option<PathBuf> {
    let ending = match made {
        Made::Fetched => "fetched",
        Made::Written => "written",
    };
    let is_named = !incoming.session.id.is_empty();
    state
        .filter(|_| is_named)
        .map(|state| state.join(FOLDER).join(format!("{}.{ending}", name(incoming))))
}

/// Keeps what a call fetches or writes that is let through.
pub(super) fn note(incoming: &Incoming, state: Option<&Path>, outcomes: &[AnyOutcome]) {
    if incoming.event.kind != Kind::ToolPre {
        return;
    }
    let (mut fetched, mut written) = (Vec::new(), Vec::new());
    for outcome in outcomes.iter().filter(|outcome| outcome.permission != Permission::Refused) {
        if let AnyEvent::ToolPre(call) = &outcome.event {
            let effects = effects_of(call, &incoming.session.workspaces);
            let is_tool = call.text("CommandLine").is_none();
            for effect in effects.list.iter().filter(|effect| effect.kind == effects::Kind::Write) {
                match path(effect) {
                    Some(path) if effect.fetches => fetched.push(path),
                    Some(path) if is_tool => written.push(path),
                    _ => {}
                }
            }
        }
    }
    keep(list(Made::Fetched, incoming, state), &fetched);
    keep(list(Made::Written, incoming, state), &written);
}

/// Adds paths to a list. Where they cannot be kept, files are looked at like any other of the session.
fn keep(list: Option<PathBuf>, paths: &[String]) {
    let Some(list) = list.filter(|_| !paths.is_empty()) else { return };
    if fs::metadata(&list).is_ok_and(|about| about.len() > LARGEST) {
        return;
    }
    let file = OpenOptions::new().create(true).append(true).open(&list);
    let _ = file.and_then(|mut file| file.write_all((paths.join("\n") + "\n").as_bytes()));
}

fn path(effect: &Effect) -> Option<String> {
    match &effect.target {
        Target::Path(location) if location.exact && !location.text.contains('\n') => {
            Some(location.text.clone())
        }
        _ => None,
    }
}
