//! Protected places in code of other languages than the shell's.

use tollgate_shell::Command;
use tollgate_shell::resolve::Input;

use super::command_line::{CommandLine, pattern, texts};
use super::kept::Kept;
use super::mention::normal;
use super::places::{Relation, Spot, Stars};

/// By what code changes a file, in most languages.
const CHANGES: &[&str] =
    &["open", "write", "unlink", "remove", "rename", "copy", "chmod", "link", "replace", "rmtree"];

/// By what it removes or moves one, or all that is in a directory.
const REMOVES: &[&str] =
    &["unlink", "remove", "rename", "rmtree", "rmdir", "rmsync", "rm_r", "delete", "move"];

/// By what it removes or moves a directory with all that is in it.
const REMOVES_ALL: &[&str] =
    &["rmtree", "rmsync", "rm_r", "remove_tree", "remove_dir_all", "rename"];

/// The place that the code which a command is given changes, as far as the texts in it tell.
pub(super) fn changed<'s>(line: &CommandLine<'s>, command: &Command) -> Option<&'s Spot> {
    let mut text = texts(command).join(" ");
    if let Input::Text(input) = &command.input {
        text.push('\n');
        text.push_str(&pattern(input));
    }
    let said = normal(&text);
    let has = |names: &[&str]| names.iter().any(|name| said.contains(name));
    if !has(CHANGES) && !has(REMOVES) {
        return None;
    }
    // To run Tollgate from code is fine.
    let mut programs = line.kept.places.spots().iter().filter(|spot| spot.is_program);
    let named = programs.find(|spot| said.contains(&spot.path.to_string_lossy().to_lowercase()));
    named.or_else(|| if has(REMOVES) { removed(line.kept, &text, &said) } else { None })
}

/// The place that is, or is below, what a text in code names; or that its pattern may stand for
/// where the code is about a person's home.
fn removed<'s>(kept: &'s Kept<'s>, text: &str, said: &str) -> Option<&'s Spot> {
    let is_about_home = said.contains("home") || said.contains('~');
    let texts = text.split(['"', '\'', '`']).take(200);
    let mut texts = texts.filter(|text| text.len() > 1 && text.len() < 256 && !text.contains(' '));
    texts.find_map(|text| {
        let is_name =
            text.starts_with('~') || text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
        if !is_name {
            return None;
        }
        match kept.relation(text, Stars::Search) {
            Some((Relation::Within | Relation::Around, spot)) => return Some(spot),
            // What has a place somewhere in it is often said, and seldom removed.
            Some((Relation::Above, _)) if REMOVES_ALL.iter().any(|name| said.contains(name)) => {
                return kept.places.below(&kept.bases, text, |_| true);
            }
            _ => {}
        }
        let is_pattern = text.contains(['*', '?']) && !text.contains('/');
        if !is_about_home || !is_pattern {
            return None;
        }
        match kept.relation(&format!("~/**/{text}"), Stars::Search) {
            Some((Relation::Within, spot)) => Some(spot),
            _ => None,
        }
    })
}
