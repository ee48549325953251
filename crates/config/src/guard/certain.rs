//! Commands of which it is certain that they change nothing protected, although they mention it.
//!
//! The look at a command's text is careful, and stops some that are harmless. What a shell would make
//! of the command can be told in most cases: then, and only then, it counts.

use std::path::PathBuf;

use tollgate_shell::effects::{Effect, Kind, Target, Thing};

use super::places::{Places, Relation};
use super::told::Told;
use crate::trust::words::HOLE;

/// Whether a command, run in any of these directories, leaves everything protected as it is.
pub(super) fn leaves_alone(
    places: &Places,
    bases: &[PathBuf],
    told: &Told<'_>,
    line: &str,
) -> bool {
    // Where `..` leads behind a link is not in the text.
    if line.contains("/..") {
        return false;
    }
    told.runs().iter().all(|run| {
        let stays = |command: &tollgate_shell::Command| command.host.is_none();
        run.effects.unknowns.is_empty()
            && run.analysis.commands.iter().all(stays)
            && run.effects.list.iter().all(|effect| is_apart(places, bases, effect))
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
            // To `find` a dot at the beginning is a letter as any other.
            let dotted = path.rsplit_once('/').map(|(before, name)| format!("{before}/.{name}"));
            let is_found = path.contains("**/") || path.contains(&format!("{HOLE}/"));
            let dotted = dotted.filter(|_| is_found).and_then(|path| relation(&path));
            if matches!(dotted, Some(Relation::Around | Relation::Within)) {
                return false;
            }
            let apart = match relation(&path) {
                None => true,
                Some(Relation::Above) => !effect.tree && effect.kind == Kind::Write,
                Some(Relation::Around | Relation::Within) => false,
            };
            apart && places.linked(bases, &location.text).is_none()
        }
        // Another directory may come to lie over the place.
        (Kind::System, Target::Thing { what, .. }) => *what != Thing::Filesystem.name(),
        // A hard link has another name, and is the same file.
        (Kind::Read, Target::Path(location)) if matches!(effect.by.as_str(), "cp" | "ln") => {
            let found = places.relation(bases, &location.text);
            !matches!(found, Some((Relation::Around | Relation::Within, _)))
        }
        _ => true,
    }
}
