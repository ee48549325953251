//! `write_to_file`.

use rustix::fs::Stat;

use super::{WriteToFile, diff};
use crate::atomic::{self, Expect};
use crate::blocking::Cancel;
use crate::config::Limits;
use crate::text::count;
use crate::tool::{Cx, ToolFailure};
use crate::workspace::{Kind, Missing, Place, kind_of};

/// What a call would do.
enum Planned {
    Create(Place),
    /// The file has this content already.
    Nothing(Place),
    Replace {
        place: Place,
        stat: Stat,
        /// What is there, as far as it can be shown.
        old: Option<String>,
    },
}

pub(super) fn write(
    cx: &Cx,
    args: &WriteToFile,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<String, ToolFailure> {
    let new = &args.code_content;
    let size = format!("{}, {} bytes", count(new.lines().count(), "line", "lines"), new.len());
    match plan(cx, args, limits, Missing::Make)? {
        Planned::Create(place) => {
            atomic::write(&place, new.as_bytes(), &Expect::Nothing, cancel)?;
            Ok(format!("Created {} ({size}).", place.path.display()))
        }
        Planned::Nothing(place) => Ok(format!(
            "{} already has exactly this content; nothing was changed.",
            place.path.display()
        )),
        Planned::Replace { place, stat, old } => {
            atomic::write(&place, new.as_bytes(), &Expect::Unchanged(&stat), cancel)?;
            let replaced = format!("Replaced {} ({size}).", place.path.display());
            Ok(match old {
                Some(old) => {
                    let diff = diff::unified(&place.path, &old, new, limits.diff_bytes);
                    format!("{replaced}\n{diff}")
                }
                None => replaced,
            })
        }
    }
}

/// The diff that a call would make.
pub(super) fn preview(cx: &Cx, args: &WriteToFile, limits: &Limits) -> Result<String, ToolFailure> {
    let new = &args.code_content;
    let unified = |place: &Place, old: &str| diff::unified(&place.path, old, new, diff::PREVIEW);
    Ok(match plan(cx, args, limits, Missing::Suppose)? {
        Planned::Create(place) if new.is_empty() => {
            format!("{} would be made, and be empty.\n", place.path.display())
        }
        Planned::Create(place) => unified(&place, ""),
        Planned::Nothing(place) => {
            format!("{} has exactly this content already.\n", place.path.display())
        }
        Planned::Replace { place, old: Some(old), .. } => unified(&place, &old),
        Planned::Replace { place, old: None, .. } => format!(
            "{} is replaced as a whole: what it has now is no text, or too much to be shown.\n{}",
            place.path.display(),
            unified(&place, "")
        ),
    })
}

/// All of it but the writing.
fn plan(
    cx: &Cx,
    args: &WriteToFile,
    limits: &Limits,
    missing: Missing,
) -> Result<Planned, ToolFailure> {
    let new = &args.code_content;
    if new.len() > limits.edit_bytes {
        let problem = format!(
            "cannot be written: CodeContent has {} bytes, and {} is the limit",
            new.len(),
            limits.edit_bytes
        );
        return Err(ToolFailure::path(&args.target_file, problem));
    }
    let place = cx.workspaces.to_write(&args.target_file, missing)?;
    let Some(stat) = place.stat else { return Ok(Planned::Create(place)) };
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
        return Ok(Planned::Nothing(place));
    }
    Ok(Planned::Replace { place, stat, old })
}
