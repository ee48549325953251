//! What commands run in: their shell, and the variables they get or do not get.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tollgate_core::dialect::Layer;
use tollgate_exec::find_program;

use crate::dialect::Shell;

/// Where a shell is. The usual places come first: what the search path finds may be anybody's.
pub(super) fn place_of(shell: Shell) -> PathBuf {
    let name = shell.program();
    let usual = ["/bin", "/usr/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(name));
    let found = usual.iter().find(|path| path.exists()).cloned();
    found.or_else(|| find_program(name)).unwrap_or_else(|| Path::new("/bin").join(name))
}

/// Variables that have a shell run or do something else before the script, or that are ours to set.
pub(super) fn is_for_shells(name: &OsStr) -> bool {
    const NAMES: [&str; 5] = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "TOLLGATE_REASK"];
    NAMES.iter().any(|known| name == *known) || name.as_bytes().starts_with(b"BASH_FUNC_")
}

/// What handlers of a layer get whatever our own variables are. Those of the machine and the
/// person run beside the project's files, and must not run them.
pub(super) fn variables(layer: Layer, project: Option<&Path>) -> Vec<(&'static str, OsString)> {
    let Some(project) = project else { return Vec::new() };
    if layer == Layer::Project {
        return Vec::new();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_outside = |entry: &PathBuf| entry.is_absolute() && !entry.starts_with(project);
    let entries = std::env::split_paths(&path).filter(is_outside);
    let path = std::env::join_paths(entries).unwrap_or_default();
    vec![("PATH", path), ("PYTHONSAFEPATH", "1".into())]
}
