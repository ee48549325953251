//! What is wrong with the hook files that an agent would be held to here.

use std::path::Path;

use tollgate_config::dialect::run_by;
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup, load};
use tollgate_core::Kind;
use tollgate_starlark::Starlark;

use crate::out::count;

/// One line for each sort of it, and what to do. Files that the agent runs itself are left out, as they are
/// when it calls.
pub(super) fn problems(host: &str, project: &Path) -> Vec<String> {
    let places = Places::of_this_process(Some(project.to_owned()));
    let loaded = load(&Setup::new(places).scripts(Starlark::new()).without(run_by(host)));
    let mut problems = Vec::new();
    let mut say = |state, whose: &str, what: &str| {
        let files = loaded.files.iter().filter(|file| file.state == state).count();
        let are = if files == 1 { "is" } else { "are" };
        if files > 0 {
            problems.push(format!("{} {whose} {are} {what}", count(files, "hook file")));
        }
        files > 0
    };
    let is_changed = say(
        FileState::Changed,
        "of this project",
        "not what was trusted, so what hooks in there could refuse is refused: `tollgate trust`",
    );
    let is_broken = say(
        FileState::Broken,
        "here",
        "broken, so what hooks in there could refuse is refused: `tollgate check`",
    );
    say(
        FileState::Untrusted,
        "of this project",
        "not trusted, so hooks in there do not run: `tollgate trust`",
    );
    // What is broken besides is what Tollgate itself goes by.
    if !loaded.is_sound && !is_changed && !is_broken {
        problems.push("Tollgate's own settings are broken: `tollgate check`".to_owned());
    }
    problems
}

/// Returns the names of the hooks of files that are in force when an agent asks here, in the order of their events.
pub(super) fn guards(host: &str, project: &Path) -> Vec<String> {
    let places = Places::of_this_process(Some(project.to_owned()));
    let setup = Setup::new(places).scripts(Starlark::new()).without(run_by(host));
    let Ok(hooks) = Hooks::open(setup) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for info in Kind::ALL.iter().flat_map(|kind| hooks.runner().hooks(*kind)) {
        // The built-in guard has no file, and the seal of a policy decides nothing itself.
        let counts = info.source.is_some() && info.name != SEAL;
        if counts && !names.contains(&info.name) {
            names.push(info.name.clone());
        }
    }
    names
}

/// The hook that refuses where a policy is not what was trusted.
const SEAL: &str = "policy-seal";
