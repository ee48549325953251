//! How often hooks may keep an agent from stopping.
//!
//! An agent that calls a command for each event does not say how often it was sent on already, and a
//! hook that always wants it to go on would keep it going for ever. So it is counted here, in a small
//! file for each session.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tollgate_core::AnyEvent;
use tollgate_hosts::{Incoming, Reply, Verdict};

/// The folder with the counts.
const FOLDER: &str = "rounds";

/// Lets the agent stop where it has been sent on often enough, or where that cannot be told.
pub(super) fn bound(incoming: &Incoming, reply: &mut Reply, state: Option<&Path>, most: u32) {
    let file = state.map(|state| state.join(FOLDER).join(super::session::name(incoming)));
    if reply.verdict != Verdict::Resume {
        if let Some(file) = file {
            let _ = fs::remove_file(file);
        }
        return;
    }
    // The host says whether this is the first time.
    let again = incoming.parts.iter().any(|part| match &part.event {
        AnyEvent::Stop(stop) => stop.execution > 0,
        _ => false,
    });
    let before = if again { file.as_deref().map_or(Ok(0), count) } else { Ok(0) };
    let kept = match before {
        Ok(before) if before >= most => Err(format!("it was sent on {before} times in a row")),
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
        let lost = format!("a hook wants the agent to go on, and {why}: {}", reply.reason);
        *reply = Reply { lost: vec![lost], ..Reply::default() };
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
        fs::create_dir_all(folder)?;
    }
    fs::write(file, count.to_string())
}
