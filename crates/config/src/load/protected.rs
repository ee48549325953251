//! What decides about the agent, and is therefore kept from it.

use std::path::{Path, PathBuf};

use tollgate_core::dialect::Layer;

use super::Found;
use super::trusted::Trust;
use crate::guard::Protected;
use crate::layers::{Format, Places};
use crate::trust::words::Line;
use crate::trust::{COPIES, Pin, PinKind};

/// What the agent must not write to.
pub(super) fn protected(places: &Places, trust: &Trust, found: &[Found]) -> Protected {
    let mut extra: Vec<PathBuf> = match trust {
        Trust::Trusted(survey, _) => {
            // Hook files are in places that are protected anyway, unless links lead elsewhere.
            let is_known = |pin: &&Pin| pin.kind == PinKind::HookFile && pin.target.is_none();
            let pins = survey.pins().filter(|pin| !is_known(pin));
            pins.map(|pin| survey.root().join(&pin.path)).collect()
        }
        Trust::Review(review) => {
            let root = places.project.as_deref().unwrap_or(Path::new("/"));
            review.pins().iter().map(|pin| root.join(&pin.path)).collect()
        }
        _ => Vec::new(),
    };
    // What runs while a change waits for review.
    let copies = places.trust.as_deref().and_then(Path::parent).map(|it| it.join(COPIES));
    extra.extend(copies);
    for found in found.iter().filter(|found| found.place.layer != Layer::Project) {
        extra.extend(scripts_of(found));
    }
    // Each of them may be a link.
    extra.extend(places.folders().into_iter().map(|folder| folder.path).filter(|it| it.exists()));
    extra.push(places.system.clone());
    extra.extend(places.user.clone());
    let own = places.files().into_iter().filter(|place| place.layer == Layer::User);
    let own = own.filter(|place| matches!(place.format, Format::Commands(_)));
    extra.extend(own.map(|place| place.path).filter(|path| !places.is_tollgates(path)));
    let config = places.user.as_ref().and_then(|user| user.parent()).map(Path::to_owned);
    Protected {
        project: places.project.clone().or_else(|| places.home.clone()).unwrap_or_default(),
        home: places.home.clone(),
        config: config.into_iter().collect(),
        store: places.trust.clone(),
        extra,
        programs: programs(),
    }
}

/// The program that runs now, and the one that a shell would find by its name.
fn programs() -> Vec<PathBuf> {
    let running = std::env::current_exe().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut named = std::env::split_paths(&path).map(|directory| directory.join("tollgate"));
    let named = named.find(|program| program.is_absolute() && program.is_file());
    let named = named.filter(|named| Some(named) != running.as_ref());
    running.into_iter().chain(named).collect()
}

/// What a file of the machine or the person would run, as far as its words tell: the agent must not
/// write to it. And the directory that the file is in, where its scripts usually are.
fn scripts_of(found: &Found) -> Vec<PathBuf> {
    if !matches!(found.place.format, Format::Commands(_)) {
        // Scripts name no files. The file is in a directory that is protected, and may be a link.
        let path = &found.place.path;
        return path.is_symlink().then(|| path.clone()).into_iter().collect();
    }
    let folder = found.place.path.parent().unwrap_or(Path::new("/"));
    let hooks = found.hooks().iter();
    // Most commands name nothing by its full path, and are not worth taking apart.
    let hooks = hooks.filter(|hook| has_full_path(&hook.command));
    let lines = hooks.map(|hook| Line::parse(&hook.command));
    let words = lines.flat_map(|line| line.commands).flat_map(|command| command.words);
    let paths = words.filter(|word| word.holes.is_empty() && word.text.starts_with('/'));
    let paths = paths.map(|word| PathBuf::from(word.text)).filter(|path| path.is_file());
    paths.chain([folder.to_owned()]).collect()
}

/// Whether a word of a command may begin with a slash.
fn has_full_path(command: &str) -> bool {
    let bytes = command.as_bytes();
    command.match_indices('/').any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"./_-~}".contains(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_program_is_among_them() {
        let running = std::env::current_exe().unwrap();
        assert_eq!(programs().first(), Some(&running));
    }
}
