//! How often hooks may send an agent round again: instead of stopping, or before the model is called.
//!
//! An agent that calls a command for each event does not say how often it was sent on already, and a
//! hook that always wants it to go on would keep it going for ever. So it is counted here, in a small
//! file for each session.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tollgate_core::{AnyEvent, Kind};
use tollgate_hosts::{Form, Incoming, Reply, Verdict};

use super::session::name;
use crate::person::FOLDER;

/// The events at which an agent can be sent round again, and what is kept of each.
const COUNTED: &[(Kind, &str)] =
    &[(Kind::Stop, "rounds"), (Kind::ModelPre, "retries"), (Kind::InvocationEnd, "loops")];

/// Does not send the agent round again where that was done often enough, or where that cannot be told:
/// it stops, and the model is not called.
pub(super) fn bound(incoming: &Incoming, reply: &mut Reply, state: Option<&Path>, most: u32) {
    let tells = incoming.host.wire.tells_rounds();
    let kind = incoming.event.kind;
    let folder = state.map(|state| state.join(FOLDER));
    let file = |suffix: &str| Some(folder.as_ref()?.join(format!("{}.{suffix}", name(incoming))));
    if kind == Kind::TurnStart && !tells {
        // What a person asks for is begun anew.
        for file in COUNTED.iter().filter_map(|(_, suffix)| file(suffix)) {
            let _ = fs::remove_file(file);
        }
    }
    let Some((_, suffix)) = COUNTED.iter().find(|(counted, _)| *counted == kind) else { return };
    if incoming.event.forms.resume != Form::Own {
        return;
    }
    let file = file(suffix);
    if reply.verdict != Verdict::Resume {
        if let Some(file) = file {
            let _ = fs::remove_file(file);
        }
        return;
    }
    // Most hosts say whether this is the first time.
    let again = incoming.parts.iter().any(|part| match &part.event {
        AnyEvent::Stop(stop) => stop.execution > 0 || !tells,
        _ => true,
    });
    let before = if again { file.as_deref().map_or(Ok(0), count) } else { Ok(0) };
    let kept = match before {
        Ok(before) if before >= most => {
            // It ends here. Who does not say when it begins anew is counted from here on.
            if let (Some(file), true) = (&file, kind != Kind::Stop || !tells) {
                let _ = fs::remove_file(file);
            }
            Err(format!("it was sent on {before} times in a row"))
        }
        Ok(before) => match file.map(|file| write(&file, before + 1)) {
            Some(Ok(())) => Ok(()),
            // Once is safe without counting.
            None | Some(Err(_)) if !again => Ok(()),
            None => Err("there is no place to count".to_owned()),
            Some(Err(error)) => Err(format!("how often cannot be kept: {error}")),
        },
        Err(error) => Err(format!("how often it was is not known: {error}")),
    };
    if let Err(why) = kept {
        let said = format!("a hook wants the agent to go on, and {why}: {}", reply.reason);
        *reply = match kind {
            Kind::Stop => Reply { lost: vec![said], ..Reply::default() },
            _ => Reply::refuse(&said),
        };
    }
}

fn count(file: &Path) -> io::Result<u32> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    text.trim().parse().map_err(|_| io::Error::other("the file holds no number"))
}

fn write(file: &PathBuf, count: u32) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        tollgate_config::trust::private_directory(folder)?;
    }
    fs::write(file, count.to_string())
}
