//! `find_by_name`.

use std::fmt::Write as _;

use super::tree::{Clock, globs, walk};
use super::{FindByName, Sort};
use crate::blocking::Cancel;
use crate::config::Limits;
use crate::text::count;
use crate::tool::{Cx, ToolFailure};
use crate::workspace::{Kind, kind_of, stat_beneath};

pub(super) fn find(
    cx: &Cx,
    args: &FindByName,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<String, ToolFailure> {
    let place = cx.workspaces.to_read(&args.search_directory, cx.read_outside)?;
    let dir = place.open_directory()?;
    let pattern = args.pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let wanted = globs("Pattern", [pattern.unwrap_or("*")])?;
    let excludes = args.excludes.as_deref().unwrap_or_default();
    let left_out = globs("Excludes", excludes.iter().map(String::as_str))?;
    let extensions: Option<Vec<&str>> = args
        .extensions
        .as_ref()
        .filter(|extensions| !extensions.is_empty())
        .map(|list| list.iter().map(|one| one.trim_start_matches('.')).collect());
    let sort = args.r#type.unwrap_or(Sort::Any);
    let clock = Clock::start(limits.search_time);
    let mut found = String::new();
    let (mut shown, mut has_more, mut is_late) = (0, false, false);
    for entry in walk(&place, args.max_depth, left_out, cancel) {
        cancel.check()?;
        if clock.is_over() {
            is_late = true;
            break;
        }
        // What cannot be read is not found.
        let Ok(entry) = entry else { continue };
        let Ok(path) = entry.path().strip_prefix(&place.path) else { continue };
        if path.as_os_str().is_empty() {
            continue;
        }
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let fits = match sort {
            Sort::Any => true,
            Sort::Directory => is_directory,
            Sort::File => !is_directory,
        };
        let has_extension = extensions.as_ref().is_none_or(|list| {
            !is_directory && path.extension().is_some_and(|own| list.iter().any(|one| own == *one))
        });
        if !fits || !has_extension || !wanted.is_match(path) {
            continue;
        }
        if shown == limits.results {
            has_more = true;
            break;
        }
        // From the handle, so that a directory that has become a link since is not looked into.
        let Some(stat) = stat_beneath(&dir, path) else { continue };
        let path = path.display();
        match kind_of(&stat) {
            Kind::File => {
                let _ = writeln!(found, "{path} ({} bytes)", stat.st_size);
            }
            Kind::Directory => {
                let _ = writeln!(found, "{path}/");
            }
            kind => {
                let _ = writeln!(found, "{path} ({})", kind.name());
            }
        }
        shown += 1;
    }
    let mut text = format!(
        "Found {} below {}{}\n{found}",
        count(shown, "entry", "entries"),
        place.path.display(),
        if shown == 0 { "." } else { ":" }
    );
    if has_more {
        text.push_str("(there are more; make Pattern or SearchDirectory narrower)\n");
    }
    if is_late {
        text.push_str(&clock.note());
    }
    Ok(text)
}
