//! The other working trees of a project's repository.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most working trees of a repository that are looked at.
const MOST: usize = 256;

/// The longest line that a file of Git's has for a path.
const LONGEST: u64 = 8 << 10;

/// Where the same project is in the other working trees of its repository, the main one first.
///
/// A linked working tree counts if both sides say so: its `.git` names the repository, and the
/// repository names it. A file that somebody puts into a project is not enough.
pub(super) fn other_places(root: &Path) -> Vec<PathBuf> {
    let Some(top) = root.ancestors().find(|it| it.join(".git").symlink_metadata().is_ok()) else {
        return Vec::new();
    };
    let Ok(below) = root.strip_prefix(top) else { return Vec::new() };
    let git = top.join(".git");
    let common = if git.is_dir() { git.canonicalize().ok() } else { common_of(&git) };
    let Some(common) = common else { return Vec::new() };
    let main = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let linked = entries.take(MOST).filter_map(|entry| tree_of(&entry.path()));
    let trees = main.map(Path::to_owned).into_iter().chain(linked);
    let places =
        trees.map(|tree| if below.as_os_str().is_empty() { tree } else { tree.join(below) });
    places.filter(|place| place != root).collect()
}

/// The repository of a linked working tree, by its `.git`.
fn common_of(git: &Path) -> Option<PathBuf> {
    let top = git.parent()?;
    let text = line(git)?;
    let own = top.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let common = own.join(line(&own.join("commondir"))?).canonicalize().ok()?;
    let is_its = own.parent() == Some(common.join("worktrees").as_path())
        && tree_of(&own)?.canonicalize().ok()? == top.canonicalize().ok()?;
    is_its.then_some(common)
}

/// The working tree that a directory in `worktrees` is of.
fn tree_of(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(line(&directory.join("gitdir"))?);
    Some(git.parent()?.to_owned())
}

/// The first line of a file.
fn line(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = super::hash::open(path).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim_end().to_owned())
}
