//! `tollgate setup --undo`

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use tollgate_config::trust::Hash;
use tollgate_install::{self as installer, Layer, Plan, Surroundings, Target};

use super::manifest::{Agent, Manifest, hash_of};
use super::{Args, confirmed};
use crate::exit::Exit;
use crate::install::surroundings;
use crate::out::{Out, count, styles};
use crate::place::shown;
use crate::problem::Problem;

/// The report of an undo.
#[derive(Default, Serialize)]
struct Report {
    dry_run: bool,
    /// Files that are as they were before, or gone.
    restored: Vec<PathBuf>,
    /// Files that were edited since.
    kept: Vec<Kept>,
    /// What could not be undone.
    failed: Vec<String>,
    /// The record of refused calls, which outlives the set-up.
    record: Option<PathBuf>,
}

/// A file that is not what it was before.
#[derive(Serialize)]
struct Kept {
    path: PathBuf,
    why: &'static str,
}

const EDITED: &str = "edited since setup wrote it";
const UNREAD: &str = "it cannot be read";
const REST: &str = "edited since; only Tollgate's hooks are taken out";

pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let path = Manifest::path()?;
    let Some(mut manifest) = Manifest::read(&path)? else {
        if args.json {
            out.json(&Report { dry_run: args.dry_run, ..Report::default() });
        } else {
            out.line("Nothing to undo: `tollgate setup` has not run here.");
        }
        return Ok(Exit::Fine);
    };
    let here = surroundings(None)?;
    let files =
        manifest.files.len() + manifest.agents.iter().map(|it| it.edits.len()).sum::<usize>();
    if !args.dry_run {
        confirmed(args, &format!("Undo setup, which wrote {}?", count(files, "file")), out)?;
    }
    let mut report = Report { dry_run: args.dry_run, ..Report::default() };
    // The agents first: hooks that are gone refuse nothing, and agents that still ask would not know.
    let agents = std::mem::take(&mut manifest.agents);
    for agent in agents {
        if let Err(why) = undo_agent(&agent, &here, &mut report) {
            report.failed.push(why);
            manifest.agents.push(agent);
        }
    }
    manifest.files.retain(|file| match hash_of(&file.path) {
        None => {
            // It is gone, or it is there and cannot be read.
            if file.path.symlink_metadata().is_ok() {
                report.kept.push(Kept { path: file.path.clone(), why: UNREAD });
            }
            false
        }
        Some(hash) if hash != file.hash => {
            report.kept.push(Kept { path: file.path.clone(), why: EDITED });
            false
        }
        Some(_) if report.dry_run => {
            report.restored.push(file.path.clone());
            false
        }
        Some(_) => match fs::remove_file(&file.path) {
            Ok(()) => {
                report.restored.push(file.path.clone());
                false
            }
            Err(error) => {
                report.failed.push(format!("`{}` cannot be removed: {error}", shown(&file.path)));
                true
            }
        },
    });
    if !args.dry_run {
        if report.failed.is_empty() {
            fs::remove_file(&path).map_err(|error| {
                Problem::new(format!("`{}` cannot be removed: {error}", shown(&path)))
            })?;
            // Only what is empty is removed.
            for folder in &manifest.folders {
                let _ = fs::remove_dir(folder);
            }
        } else {
            manifest.write(&path)?;
        }
    }
    report.record = path
        .parent()
        .map(|state| state.join(tollgate_record::FOLDER))
        .filter(|record| record.is_dir());
    let exit = if report.failed.is_empty() { Exit::Fine } else { Exit::Problem };
    if args.json {
        out.json(&report);
    } else {
        tell(&report, out);
    }
    Ok(exit)
}

/// Takes Tollgate out of an agent, or restores the registration that it had before.
fn undo_agent(agent: &Agent, here: &Surroundings, report: &mut Report) -> Result<(), String> {
    let target = Target::by_name(&agent.name).map_err(|error| error.to_string())?;
    let failed = |error: installer::InstallError| format!("{}: {error}", target.title);
    let place = target.place(Layer::User, here).map_err(failed)?;
    if let Some(edit) = agent.edits.iter().find(|edit| !edit.path.starts_with(&place)) {
        let (then, now) = (shown(&edit.path), shown(&place));
        return Err(format!(
            "{}: setup wrote `{then}`, and its configuration is at `{now}` now; set its variables as they were",
            target.title
        ));
    }
    if agent.edits.iter().all(|edit| edit.before.is_none()) {
        let plan = installer::uninstall(target, Layer::User, here).map_err(failed)?;
        for edit in &plan.edits {
            let known = agent.edits.iter().find(|it| it.path == edit.path);
            if known.is_some_and(|it| it.after == hash_of(&it.path)) {
                report.restored.push(edit.path.clone());
            } else {
                report.kept.push(Kept { path: edit.path.clone(), why: REST });
            }
        }
        return apply(&plan, report).map_err(failed);
    }
    for edit in &agent.edits {
        let now = hash_of(&edit.path);
        if now == edit.before.as_ref().map(|text| Hash::of(text.as_bytes())) {
            // It was never written, or has been put back by hand.
            continue;
        }
        if now != edit.after {
            report.kept.push(Kept { path: edit.path.clone(), why: EDITED });
            continue;
        }
        let before = edit.before.clone().map(String::into_bytes);
        let plan = installer::revert(&edit.path, before).map_err(failed)?;
        report.restored.push(edit.path.clone());
        apply(&plan, report).map_err(failed)?;
    }
    Ok(())
}

fn apply(plan: &Plan, report: &Report) -> Result<(), installer::InstallError> {
    if !report.dry_run {
        plan.apply()?;
    }
    Ok(())
}

fn tell(report: &Report, out: &mut Out) {
    /// Maximum number of lines about files.
    const MOST: usize = 12;
    let (restored, what) = (count(report.restored.len(), "file"), styles::GOOD);
    if report.dry_run {
        out.line(format!("{what}would restore{what:#} {restored}"));
    } else {
        out.line(format!("{what}restored{what:#} {restored}"));
    }
    for Kept { path, why } in report.kept.iter().take(MOST) {
        out.line(format!("{0}kept{0:#} {1} ({why})", styles::WARNING, shown(path)));
    }
    for failed in report.failed.iter().take(MOST) {
        out.line(format!("{0}problem:{0:#} {failed}", styles::ERROR));
    }
    if let Some(record) = report.record.as_deref() {
        out.hint(format!("the record of refused calls stays in {}", shown(record)));
    }
    if !report.failed.is_empty() {
        out.hint("`tollgate setup --undo` can be run again once these are solved");
    }
}
