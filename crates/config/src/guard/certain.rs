//! Commands of which it is certain that they change nothing protected, although they mention it.
//!
//! The look at a command's text is careful, and stops some that are harmless. What a shell would make
//! of the command can be told in most cases: then, and only then, it counts.

use std::path::{Path, PathBuf};

use tollgate_shell::effects::{self, Effect, Kind, Target};
use tollgate_shell::{Surroundings, analyze};

use super::places::{Places, Relation};
use crate::trust::words::HOLE;

/// Whether a command, run in any of these directories, leaves everything protected as it is.
pub(super) fn leaves_alone(
    places: &Places,
    bases: &[PathBuf],
    directory: Option<&str>,
    line: &str,
) -> bool {
    let given = directory.map(Path::new);
    bases.iter().all(|base| {
        let directory = given.map_or_else(|| base.clone(), |given| base.join(given));
        let surroundings = Surroundings { directory: directory.to_str().map(str::to_owned) };
        let analysis = analyze(line, &surroundings);
        let found = effects::of_analysis(&analysis);
        let stays = |command: &tollgate_shell::Command| command.host.is_none();
        found.unknowns.is_empty()
            && surroundings.directory.is_some()
            && analysis.commands.iter().all(stays)
            && found.list.iter().all(|effect| is_apart(places, bases, effect))
    })
}

fn is_apart(places: &Places, bases: &[PathBuf], effect: &Effect) -> bool {
    match (effect.kind, &effect.target) {
        // Programs that run may do anything.
        (Kind::Execute, _) => false,
        (Kind::Write | Kind::Delete, Target::Path(location)) => {
            if location.text.starts_with("$?") {
                return false;
            }
            let path = location.text.replace("$?", &HOLE.to_string());
            let relation = |path: &str| places.relation(bases, path).map(|(relation, _)| relation);
            // A new file beside the others is one of them.
            let beside = path.rsplit_once('/').and_then(|(directory, _)| relation(directory));
            if matches!(beside, Some(Relation::Around | Relation::Within)) {
                return false;
            }
            let apart = match relation(&path) {
                None => true,
                Some(Relation::Above) => !effect.tree && effect.kind == Kind::Write,
                Some(Relation::Around | Relation::Within) => false,
            };
            apart && places.linked(bases, &location.text).is_none()
        }
        // A hard link has another name, and is the same file.
        (Kind::Read, Target::Path(location)) if matches!(effect.by.as_str(), "cp" | "ln") => {
            let found = places.relation(bases, &location.text);
            !matches!(found, Some((Relation::Around | Relation::Within, _)))
        }
        _ => true,
    }
}
