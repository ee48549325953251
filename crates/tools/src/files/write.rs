//! `write_to_file`.

use super::{WriteToFile, diff};
use crate::atomic::{self, Expect};
use crate::blocking::Cancel;
use crate::config::Limits;
use crate::text::count;
use crate::tool::{Cx, ToolFailure};
use crate::workspace::{Kind, Missing, kind_of};

pub(super) fn write(
    cx: &Cx,
    args: &WriteToFile,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<String, ToolFailure> {
    let new = &args.code_content;
    if new.len() > limits.edit_bytes {
        let problem = format!(
            "cannot be written: CodeContent has {} bytes, and {} is the limit",
            new.len(),
            limits.edit_bytes
        );
        return Err(ToolFailure::path(&args.target_file, problem));
    }
    let place = cx.workspaces.to_write(&args.target_file, Missing::Make)?;
    let path = place.path.display();
    let lines = count(new.lines().count(), "line", "lines");
    let Some(stat) = place.stat else {
        atomic::write(&place, new.as_bytes(), &Expect::Nothing, cancel)?;
        return Ok(format!("Created {path} ({lines}, {} bytes).", new.len()));
    };
    let kind = kind_of(&stat);
    if kind != Kind::File {
        return Err(place.no_file(kind));
    }
    if !args.overwrite {
        return Err(atomic::exists(&place));
    }
    // What cannot be shown as a diff can still be replaced.
    let (old, stat) = match place.read(limits.edit_bytes) {
        Ok((old, stat)) => (String::from_utf8(old).ok(), stat),
        Err(ToolFailure::Path { .. }) => (None, stat),
        Err(other) => return Err(other),
    };
    if old.as_deref() == Some(new) {
        return Ok(format!("{path} already has exactly this content; nothing was changed."));
    }
    atomic::write(&place, new.as_bytes(), &Expect::Unchanged(&stat), cancel)?;
    let replaced = format!("Replaced {path} ({lines}, {} bytes).", new.len());
    Ok(match old {
        Some(old) => {
            format!("{replaced}\n{}", diff::unified(&place.path, &old, new, limits.diff_bytes))
        }
        None => replaced,
    })
}
