//! Which files a session of another agent has fetched from other machines.
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
use tollgate_shell::effects::{Effect, Target};
use tollgate_shell::policy::effects_of;

use super::session::{FOLDER, name};

/// The largest list. A session that fetches more is asked about files that it fetched first.
const LARGEST: u64 = 64 * 1024;

/// The file with the list of a session.
pub(super) fn list(incoming: &Incoming, state: Option<&Path>) -> Option<PathBuf> {
    let is_named = !incoming.session.id.is_empty();
    state
        .filter(|_| is_named)
        .map(|state| state.join(FOLDER).join(format!("{}.fetched", name(incoming))))
}

/// Keeps what a call fetches that is let through.
pub(super) fn note(incoming: &Incoming, state: Option<&Path>, outcomes: &[AnyOutcome]) {
    if incoming.event.kind != Kind::ToolPre {
        return;
    }
    let Some(list) = list(incoming, state) else { return };
    let mut paths = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.permission != Permission::Refused) {
        if let AnyEvent::ToolPre(call) = &outcome.event {
            let effects = effects_of(call, &incoming.session.workspaces);
            paths.extend(effects.list.iter().filter(|effect| effect.fetches).filter_map(path));
        }
    }
    let is_full = || fs::metadata(&list).is_ok_and(|about| about.len() > LARGEST);
    if paths.is_empty() || is_full() {
        return;
    }
    // Where it cannot be kept, the file is looked at like any other of the session.
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
