//! `list_dir`.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, statat};

use crate::config::Limits;
use crate::text::count;
use crate::tool::{Cx, ToolFailure};
use crate::workspace::{Kind, kind_of};

/// How many entries are looked at in order to show the first ones in order.
const LOOKED_AT: usize = 100_000;

pub(super) fn list(cx: &Cx, path: &str, limits: &Limits) -> Result<String, ToolFailure> {
    let place = cx.workspaces.to_read(path, cx.read_outside)?;
    let dir = place.open_directory()?;
    let failed = |error| ToolFailure::system("read the directory", &place.path, error);
    let mut names = Vec::new();
    let mut is_whole = true;
    for entry in Dir::read_from(&dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == LOOKED_AT {
            is_whole = false;
            break;
        }
        names.push(OsStr::from_bytes(name).to_owned());
    }
    names.sort_unstable();
    let total = names.len();
    let mut text = format!(
        "{} has {}{}.\n",
        place.path.display(),
        if is_whole { "" } else { "more than " },
        count(total, "entry", "entries")
    );
    for name in names.iter().take(limits.entries) {
        let shown = name.to_string_lossy();
        let line = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match kind_of(&stat) {
                Kind::File => format!("{shown} ({} bytes)", stat.st_size),
                Kind::Directory => format!("{shown}/"),
                Kind::Link => {
                    let target = rustix::fs::readlinkat(&dir, name, Vec::new());
                    let target = target.map(|t| t.to_string_lossy().into_owned());
                    format!("{shown} (a link to {})", target.unwrap_or_default())
                }
                kind => format!("{shown} ({})", kind.name()),
            },
            // Gone since, or not for us to look at.
            Err(_) => format!("{shown} (?)"),
        };
        text.push_str(&line);
        text.push('\n');
    }
    if total > limits.entries || !is_whole {
        let left = total.saturating_sub(limits.entries);
        let _ = writeln!(text, "({left} more left out; find_by_name searches them)");
    }
    Ok(text)
}
