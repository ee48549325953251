//! Protected places in code of other languages than the shell's, which a line has run.

use std::path::PathBuf;

use super::kept::Kept;
use super::mention::normal;
use super::places::{Places, Relation, Spot};
use super::programs::LANGUAGES;
use crate::trust::words::Line;

/// By what code changes a file, in most languages.
const CHANGES: &[&str] =
    &["open", "write", "unlink", "remove", "rename", "copy", "chmod", "link", "replace", "rmtree"];

/// By what it removes or moves one, or all that is in a directory.
const REMOVES: &[&str] =
    &["unlink", "remove", "rename", "rmtree", "rmdir", "rmsync", "rm_r", "delete", "move"];

/// By what it removes or moves a directory with all that is in it.
const REMOVES_ALL: &[&str] =
    &["rmtree", "rmsync", "rm_r", "remove_tree", "remove_dir_all", "rename"];

/// The place that code in a line changes, as far as the texts in it tell.
pub(super) fn changed<'s>(
    places: &'s Places,
    bases: &[PathBuf],
    text: &str,
    line: &Line,
) -> Option<&'s Spot> {
    let mut words = line.commands.iter().flat_map(|command| &command.words);
    if !words.any(|word| LANGUAGES.contains(&word.base_name())) {
        return None;
    }
    let said = normal(text);
    let has = |names: &[&str]| names.iter().any(|name| said.contains(name));
    if !has(CHANGES) && !has(REMOVES) {
        return None;
    }
    // To run Tollgate from code is fine.
    let mut programs = places.spots().iter().filter(|spot| spot.is_program);
    let named = programs.find(|spot| said.contains(&spot.path.to_string_lossy().to_lowercase()));
    named.or_else(|| if has(REMOVES) { removed(places, bases, text, &said) } else { None })
}

/// The place that is, or is below, what a text in code names; or that its pattern may stand for
/// where the code is about a person's home.
fn removed<'s>(places: &'s Places, bases: &[PathBuf], text: &str, said: &str) -> Option<&'s Spot> {
    let is_about_home = said.contains("home") || said.contains('~');
    let kept = Kept::new(places);
    let texts = text.split(['"', '\'', '`']).take(200);
    let mut texts = texts.filter(|text| text.len() > 1 && text.len() < 256 && !text.contains(' '));
    texts.find_map(|text| {
        let is_name =
            text.starts_with('~') || text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
        if !is_name {
            return None;
        }
        if let Some((relation, spot)) = places.relation(bases, text) {
            // What has a place somewhere in it is often said, and seldom removed.
            let is_whole = || REMOVES_ALL.iter().any(|name| said.contains(name));
            return (relation > Relation::Above || is_whole()).then_some(spot);
        }
        let is_pattern = text.contains(['*', '?']) && !text.contains('/');
        if is_about_home && is_pattern {
            kept.matching(bases, &format!("~/**/{text}"), false)
        } else {
            None
        }
    })
}
