//! Which paths are in a workspace, on real files and links.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use tollgate_core::policy::{allow_all, workspace_only};
use tollgate_core::prelude::*;

use super::InputError;
use super::file::CaseFile;
use super::report::{Comparison, Difference, Report};

/// What stands for the root of the tree.
const ROOT: &str = "${ROOT}";

/// What begins the target of a link that is relative to where it stands.
const RELATIVE: &str = "@rel:";

/// What the message begins with where a path could not be resolved. What follows is the reason,
/// in the words of the language.
const FAILED: &str = "Policy evaluation failed for policy 'workspace_only': ";

/// Runs the cases of a file, on its tree, which is made in a temporary directory.
pub async fn check(file: &CaseFile) -> Result<Report, InputError> {
    let ground = Ground::make(file)?;
    let mut report = Report::default();
    for place in 0..file.cases().len() {
        let differences = match file.read_case::<Case>(place) {
            Ok(case) => differences(&case, &ground).await,
            Err(unreadable) => vec![unreadable],
        };
        report.count(file.failure(place, differences));
    }
    Ok(report)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tree {
    dirs: Vec<String>,
    files: Vec<String>,
    symlinks: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Case {
    workspaces: Vec<String>,
    tool: String,
    #[serde(default)]
    canonical_path: Option<String>,
    allow: bool,
    message: String,
}

/// A tree of files, which is deleted with this.
struct Ground {
    root: PathBuf,
    root_text: String,
    cwd: PathBuf,
    _directory: tempfile::TempDir,
}

impl Ground {
    fn make(file: &CaseFile) -> Result<Self, InputError> {
        let in_file = |problem: String| InputError::file(file.path(), problem);
        let tree = match file.field("tree") {
            Some(tree) => {
                Tree::deserialize(tree).map_err(|error| in_file(format!("at `tree`: {error}")))?
            }
            None => return Err(in_file("is no file of workspace cases: it has no `tree`".into())),
        };
        let directory = tempfile::tempdir().map_err(no_directory)?;
        // Where temporary files are may itself be behind a link.
        let root = directory.path().canonicalize().map_err(no_directory)?;
        let Some(root_text) = root.to_str().map(str::to_owned) else {
            let problem = format!("the temporary directory {} is not text", root.display());
            return Err(InputError::setup(problem));
        };
        let mut ground = Self { cwd: root.clone(), root, root_text, _directory: directory };
        ground.cwd = match file.field("cwd") {
            None => ground.root.clone(),
            Some(cwd) => match cwd.as_str() {
                Some(cwd) => ground.root.join(ground.filled_in(cwd)),
                None => return Err(in_file(format!("at `cwd`: {cwd} is no path"))),
            },
        };
        ground.plant(&tree).map_err(in_file)?;
        Ok(ground)
    }

    fn plant(&self, tree: &Tree) -> Result<(), String> {
        for name in &tree.dirs {
            self.made("dirs", name, |path| std::fs::create_dir_all(path))?;
        }
        for name in &tree.files {
            self.made("files", name, |path| std::fs::write(path, ""))?;
        }
        for (name, target) in &tree.symlinks {
            let target = match target.strip_prefix(RELATIVE) {
                Some(target) => PathBuf::from(self.filled_in(target)),
                None => self.root.join(self.filled_in(target)),
            };
            self.made("symlinks", name, |path| symlink(&target, path))?;
        }
        Ok(())
    }

    /// Makes something at a place in the tree; nowhere else, whatever the file says.
    fn made(
        &self,
        field: &str,
        name: &str,
        make: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<(), String> {
        let filled_in = self.filled_in(name);
        let filled_in = Path::new(&filled_in);
        let inside = filled_in.strip_prefix(&self.root).unwrap_or(filled_in);
        if !inside.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(format!("at `tree.{field}`: `{name}` is not below the root"));
        }
        let path = self.root.join(inside);
        // A link that was made before may lead out.
        let above = path.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
        if !above.is_some_and(|above| above.starts_with(&self.root)) {
            return Err(format!("at `tree.{field}`: `{name}` is not below the root"));
        }
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| make(&path))
            .map_err(|error| format!("at `tree.{field}`: `{name}` could not be made: {error}"))
    }

    /// A text with the root in it.
    fn filled_in(&self, text: &str) -> String {
        text.replace(ROOT, &self.root_text)
    }
}

#[allow(clippy::needless_pass_by_value)] // the form that `map_err` wants
fn no_directory(error: std::io::Error) -> InputError {
    InputError::setup(format!("no temporary directory for the tree: {error}"))
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_target: &Path, _link: &Path) -> std::io::Result<()> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "links are made on Unix only"))
}

async fn differences(case: &Case, ground: &Ground) -> Vec<Difference> {
    let mut comparison = Comparison::default();
    let roots = case.workspaces.iter().map(|root| ground.filled_in(root));
    let workspace =
        workspace_only(roots, std::fs::read_link).relative_to(&ground.cwd).as_in_the_sdk();
    let builder = Policies::builder().rules(workspace).rule(allow_all()).exact_names();
    let policies = match builder.build() {
        Ok(policies) => policies,
        Err(error) => {
            comparison.differ("the rules", "they are accepted", error.to_string());
            return comparison.differences;
        }
    };
    let mut call = ToolCall::new(case.tool.clone());
    call.canonical_path = case.canonical_path.as_deref().map(|path| ground.filled_in(path));
    let outcome = policies.decide(&call).await;
    comparison.same("allow", &json!(case.allow), &json!(outcome.is_allowed()));
    if case.message.starts_with(FAILED) {
        comparison.begins("message", FAILED, &outcome.message);
    } else {
        let expected = ground.filled_in(&case.message);
        comparison.same("message", &json!(expected), &json!(outcome.message));
    }
    comparison.differences
}
