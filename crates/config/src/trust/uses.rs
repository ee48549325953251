//! Which pinned files a command names, and in which of its words.

use std::path::{Path, PathBuf};

use super::executed::{Roles, program};
use super::programs::{readings, runs};
use super::survey::Survey;
use super::words::Line;

/// Maximum depth of scripts in words and here-documents, the same as where they are pinned.
const DEEPEST: usize = 3;

/// A pinned file that a command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// The file, as its pin is called.
    pub(crate) name: String,
    /// The word that stands for the file and for nothing else: the command's number and its own.
    /// None if the file is only a part of what the word says, or if it is named deeper inside.
    pub(crate) word: Option<(usize, usize)>,
    /// The program that is given the file. None if the file is the program.
    pub(crate) runner: Option<String>,
}

/// Finds the files that a command names, of those that are known.
pub(crate) fn uses(
    survey: &Survey,
    text: &str,
    cwd: &Path,
    is_known: &dyn Fn(&str) -> bool,
) -> Vec<Use> {
    let bases = vec![survey.place_of(cwd), survey.root().to_owned()];
    let mut walk = Walk { survey, is_known, bases, uses: Vec::new() };
    walk.text(text, (0, false));
    walk.uses
}

struct Walk<'a> {
    survey: &'a Survey,
    is_known: &'a dyn Fn(&str) -> bool,
    bases: Vec<PathBuf>,
    uses: Vec<Use>,
}

impl Walk<'_> {
    fn text(&mut self, text: &str, (depth, may_run): (usize, bool)) {
        let line = Line::parse(text);
        let roles = Roles::of(&line, may_run);
        let within = (depth + 1, roles.may_run());
        for (number, command) in line.commands.iter().enumerate() {
            let changes_directory = runs(command, &["cd", "pushd"]);
            let program = program(command);
            // `bash -c ./x` reads its word as a command line once more.
            let is_read_again = program.as_ref().is_some_and(|(_, operands)| {
                operands.iter().any(|word| word.text.starts_with('-') && word.text.ends_with('c'))
            });
            let program = program.map(|(name, _)| name);
            for (place, word) in command.words.iter().enumerate() {
                if roles.is_data(command, word) {
                    continue;
                }
                let is_plain =
                    depth == 0 && !is_read_again && word.redirect.is_none() && word.span.is_some();
                for (reading, _) in readings(word) {
                    let is_whole = !word.text.starts_with('@')
                        && word.assignment().is_none()
                        && (reading == word.text
                            || !word.holes.is_empty() && !word.text.contains('='));
                    let is_program = program.is_some_and(|program| std::ptr::eq(program, word));
                    let runner = program.filter(|_| !is_program);
                    for base in self.bases.clone() {
                        let path = base.join(&reading);
                        if changes_directory && path.is_dir() && !self.bases.contains(&path) {
                            self.bases.push(path.clone());
                        }
                        let name = self.survey.name_of(&path);
                        let Some(name) = name.filter(|name| (self.is_known)(name)) else {
                            continue;
                        };
                        self.uses.push(Use {
                            name,
                            word: (is_plain && is_whole).then_some((number, place)),
                            runner: runner.map(|word| word.base_name().to_owned()),
                        });
                    }
                }
                let is_script = word.text.contains([' ', '\n', ';', '\t']);
                if is_script && depth < DEEPEST {
                    self.text(&word.text, within);
                }
            }
        }
        if depth < DEEPEST {
            for document in &line.documents {
                self.text(document, within);
            }
        }
    }
}

/// A command with other words in some of its places. None if one of them cannot be told.
///
/// The words are counted as they are where the command runs; `text` is the command as it was
/// written, which has the same ones.
pub(crate) fn with_words(
    text: &str,
    as_run: &str,
    words: &[((usize, usize), String)],
) -> Option<String> {
    let (written, run) = (Line::parse(text), Line::parse(as_run));
    let shape = |line: &Line| line.commands.iter().map(|it| it.words.len()).collect::<Vec<_>>();
    if shape(&written) != shape(&run) || text.contains('\0') {
        return None;
    }
    let mut places = Vec::new();
    for ((command, word), new) in words {
        let span = written.commands.get(*command)?.words.get(*word)?.span?;
        places.push((span, new.as_str()));
    }
    places.sort_unstable();
    places.dedup();
    let mut characters = text.chars();
    let mut at = 0;
    let mut result = String::new();
    for ((begin, end), new) in places {
        // Two different files for one word.
        let before = begin.checked_sub(at)?;
        result.extend(characters.by_ref().take(before));
        result.push_str(new);
        characters.by_ref().take(end.checked_sub(begin)?).for_each(drop);
        at = end;
    }
    result.extend(characters);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_put_in_their_places() {
        let new = |at| (at, "'/c/a'".to_owned());
        for (text, as_run, words, expected) in [
            ("./a.sh x", "./a.sh x", vec![new((0, 0))], Some("'/c/a' x")),
            ("\"$P\"/a.sh --x; b", "\".\"/a.sh --x; b", vec![new((0, 0))], Some("'/c/a' --x; b")),
            ("a && bash ./b", "a && bash ./b", vec![new((1, 1))], Some("a && bash '/c/a'")),
            ("ü ./b ./b", "ü ./b ./b", vec![new((0, 2)), new((0, 1))], Some("ü '/c/a' '/c/a'")),
            ("a b", "a", vec![new((0, 0))], None),
            ("a", "a", vec![new((0, 0)), ((0, 0), "b".to_owned())], None),
        ] {
            assert_eq!(with_words(text, as_run, &words).as_deref(), expected, "{text}");
        }
    }
}
