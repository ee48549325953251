//! Makefiles.

use std::collections::BTreeMap;

use super::super::Input;
use super::super::expand::HOLE;
use super::super::files::Opened;
use super::super::walk::Walker;
use super::line;
use crate::value::Value;

/// How many targets are followed, and how deep.
const MOST_TARGETS: usize = 64;

/// How long an expanded text may get.
const LONGEST: usize = 8 * 1024;

#[derive(Default)]
struct Makefile {
    variables: BTreeMap<String, String>,
    rules: Vec<Rule>,
    /// Commands that run while the file is read.
    now: Vec<String>,
}

struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipe: Vec<String>,
}

pub(super) fn run(walker: &mut Walker, words: &[&str], input: &Input) {
    let mut goals = Vec::new();
    let (mut file, mut directory) = (None, None);
    let mut set = Vec::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-f" | "--file" | "--makefile" => file = words.next(),
            "-C" | "--directory" => directory = words.next(),
            "-j" | "-l" | "-o" | "-W" | "-I" => {}
            word if word.starts_with("-f") && !word.starts_with("--") => file = word.get(2..),
            word if word.starts_with("-C") => directory = word.get(2..),
            word if word.starts_with('-') => {}
            word if word.contains('=') => set.extend(word.split_once('=')),
            word if word.chars().all(|c| c.is_ascii_digit()) => {}
            word => goals.push(word.to_owned()),
        }
    }
    let below = |name: &str| {
        directory.map_or_else(|| name.to_owned(), |directory| format!("{directory}/{name}"))
    };
    let run = match (file, input) {
        (Some("-"), Input::Text(text)) => Some(Opened { content: text.clone(), script: None }),
        (Some("-"), _) => None,
        (Some(path), _) => walker.run_file(&below(path)),
        (None, _) => ["GNUmakefile", "makefile", "Makefile"]
            .iter()
            .find_map(|name| walker.run_file(&below(name))),
    };
    let Some(run) = run else { return };
    let Some(text) = run.content.known() else { return };
    let mut makefile = Makefile::parse(text);
    for (name, value) in set {
        makefile
            .variables
            .insert(name.trim_end_matches([':', '?', '+']).to_owned(), value.to_owned());
    }
    for command in std::mem::take(&mut makefile.now) {
        let command = makefile.expanded(&command, "");
        line(walker, &run, &command);
    }
    if goals.is_empty() {
        let is_first =
            |rule: &&Rule| rule.targets.first().is_some_and(|name| !name.starts_with('.'));
        goals.extend(
            makefile.rules.iter().find(is_first).and_then(|rule| rule.targets.first().cloned()),
        );
    }
    let work = |walker: &mut Walker| {
        if let Some(directory) = directory {
            let there = walker
                .state
                .directories
                .iter()
                .map(|from| super::super::builtins::below(from, &Value::text(directory)));
            walker.state.directories = there.collect::<Vec<_>>().into();
        }
        let mut seen = Vec::new();
        while let Some(goal) = goals.pop() {
            if seen.len() >= MOST_TARGETS || seen.contains(&goal) {
                continue;
            }
            for rule in makefile.rules.iter().filter(|rule| rule.targets.contains(&goal)) {
                goals.extend(rule.needs.iter().cloned());
                for command in &rule.recipe {
                    let command = makefile.expanded(command, &goal);
                    // A make inside of make is most often this one.
                    if !command.starts_with("make ") {
                        line(walker, &run, &command);
                    }
                }
            }
            seen.push(goal);
        }
    };
    walker.apart(work);
}

impl Makefile {
    fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let text = text.replace("\\\n", " ");
        for text in text.lines() {
            if let Some(command) = text.strip_prefix('\t') {
                if let Some(rule) = file.rules.last_mut() {
                    rule.recipe.push(command.trim().to_owned());
                }
                continue;
            }
            let text = text.split(" #").next().unwrap_or(text).trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            file.shells(text);
            if file.assignment(text) {
                continue;
            }
            let Some((targets, rest)) = text.split_once(':') else { continue };
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            let names = |text: &str| {
                text.trim_start_matches(':').split_whitespace().map(str::to_owned).collect()
            };
            let recipe =
                if recipe.trim().is_empty() { Vec::new() } else { vec![recipe.trim().to_owned()] };
            file.rules.push(Rule { targets: names(targets), needs: names(needs), recipe });
        }
        file
    }

    /// `NAME = value` in its many forms.
    fn assignment(&mut self, text: &str) -> bool {
        let Some((name, value)) = text.split_once('=') else { return false };
        let name = name.trim_end_matches([':', '?', '+', '!']).trim();
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        if name.is_empty() || name.contains([' ', ':', '$', '(']) {
            return false;
        }
        if text.split('=').next().is_some_and(|before| before.ends_with('!')) {
            self.now.push(value.trim().to_owned());
        }
        self.variables.insert(name.to_owned(), value.trim().to_owned());
        true
    }

    /// `$(shell COMMAND)` runs while the file is read.
    fn shells(&mut self, text: &str) {
        for part in text.split("$(shell ").skip(1) {
            self.now.push(balanced(part).to_owned());
        }
    }

    /// A text with the values of variables, as far as the file sets them.
    fn expanded(&self, text: &str, goal: &str) -> String {
        let mut text = text.trim_start_matches(['@', '-', '+', ' ']).to_owned();
        for _ in 0..8 {
            if !text.contains('$') || text.len() > LONGEST {
                break;
            }
            let next = self.once(&text, goal);
            if next == text {
                break;
            }
            text = next;
        }
        text.replace('\u{1}', "$")
    }

    fn once(&self, text: &str, goal: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let mut letters = after.chars();
            match letters.next() {
                // What the shell gets to see, and what is not expanded again.
                Some('$') => out.push('\u{1}'),
                Some('@') => out.push_str(goal),
                Some(open @ ('(' | '{')) => {
                    let inner = if open == '(' {
                        balanced(letters.as_str())
                    } else {
                        letters.as_str().split('}').next().unwrap_or("")
                    };
                    match self.variables.get(inner.trim()) {
                        Some(value) => out.push_str(value),
                        None => match inner.trim() {
                            "CC" => out.push_str("cc"),
                            "CXX" => out.push_str("c++"),
                            "RM" => out.push_str("rm -f"),
                            "MAKE" => out.push_str("make"),
                            "HOME" => out.push('~'),
                            _ => out.push(HOLE),
                        },
                    }
                    rest = letters.as_str().get(inner.len() + 1..).unwrap_or("");
                    continue;
                }
                Some(_) => out.push(HOLE),
                None => {}
            }
            rest = letters.as_str();
        }
        out.push_str(rest);
        out
    }
}

/// The text up to the bracket that closes the one before it.
fn balanced(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return text.get(..at).unwrap_or(text),
            ')' => depth -= 1,
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_variables_are_read() {
        let file = Makefile::parse(
            "D := build\nX = $(shell date)\nall: a b\n\t@echo $(D)/$@ $$HOME\n\t-rm -rf $(D) \\\n\t  more\na: ; touch a\n.PHONY: all\n",
        );
        assert_eq!(file.now, ["date"]);
        let all = file.rules.first().map(|rule| (rule.needs.clone(), rule.recipe.len()));
        assert_eq!(all, Some((vec!["a".to_owned(), "b".to_owned()], 2)));
        assert_eq!(file.expanded("@echo $(D)/$@ $$HOME", "all"), "echo build/all $HOME");
        assert_eq!(file.expanded("x $(shell a (b) c) y", ""), format!("x {HOLE} y"));
        assert_eq!(file.expanded("$", ""), "");
        assert_eq!(file.expanded("$(", ""), HOLE.to_string());
    }
}
