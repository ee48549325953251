//! What is wrong with the hook files that an agent would be held to here.

use std::path::Path;

use tollgate_config::dialect::run_by;
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup, load};
use tollgate_starlark::Starlark;

use crate::out::count;

/// One line for each sort of it, and what to do. Files that the agent runs itself are left out, as they are
/// when it calls.
pub(super) fn problems(host: &str, project: &Path) -> Vec<String> {
    let places = Places::of_this_process(Some(project.to_owned()));
    let loaded = load(&Setup::new(places).scripts(Starlark::new()).without(run_by(host)));
    let in_state = |state| loaded.files.iter().filter(|file| file.state == state).count();
    let mut problems = Vec::new();
    let mut say = |state, what: &str| match in_state(state) {
        0 => {}
        1 => problems.push(format!("1 hook file {}", what.replace("[are]", "is"))),
        many => {
            problems.push(format!("{} {}", count(many, "hook file"), what.replace("[are]", "are")))
        }
    };
    say(
        FileState::Changed,
        "of this project [are] not what was trusted, so what hooks in there could refuse is refused: `tollgate trust`",
    );
    say(
        FileState::Broken,
        "here [are] broken, so what hooks in there could refuse is refused: `tollgate check`",
    );
    // What is broken besides is what Tollgate itself goes by.
    if problems.is_empty() && !loaded.is_sound {
        problems.push("Tollgate's own settings are broken: `tollgate check`".to_owned());
    }
    let untrusted = in_state(FileState::Untrusted);
    if untrusted > 0 {
        let what = if untrusted == 1 { "is" } else { "are" };
        problems.push(format!(
            "{} of this project {what} not trusted, so hooks in there do not run: `tollgate trust`",
            count(untrusted, "hook file")
        ));
    }
    problems
}
