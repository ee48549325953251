//! Exceptions: what one binds, and whether it covers a call.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use tollgate_config::settings::Excepting;
use tollgate_core::event::ToolCall;
use tollgate_core::exception::Objection;
use tollgate_core::registry::HookInfo;
use tollgate_core::tools;
use tollgate_record::exceptions::{Binding, Exception, Lasting, Objector, digest};
use tollgate_shell::syntax::{CommandKind, Piece, Word, parse};

use crate::problem::Problem;
use crate::world;

/// The argument that holds a command line.
pub(crate) const LINE: &str = "CommandLine";

/// Arguments in which a model describes its call. They differ whenever it calls again and have no effect.
const REMARKS: &[&str] = &["description", "explanation"];

/// True if the setting permits an exception that lasts this long.
pub(crate) const fn is_permitted(lasting: Lasting, setting: Excepting) -> bool {
    match lasting {
        Lasting::Once => !matches!(setting, Excepting::None),
        Lasting::For => matches!(setting, Excepting::For | Excepting::Always),
        Lasting::Always => matches!(setting, Excepting::Always),
    }
}

/// Returns what an exception for a call would bind. What the decision has read is added when it is known.
pub(crate) fn binding(call: &ToolCall, directory: &str) -> Binding {
    Binding {
        hooks: Vec::new(),
        call: digest_of(call, true),
        rest: call.text(LINE).map(|_| digest_of(call, false)),
        directory: directory.to_owned(),
        reads: Vec::new(),
    }
}

/// Returns a hook that objects to a call, and its rule if it is a policy.
pub(crate) fn objector(hook: &HookInfo, rule: Option<&str>, reason: String) -> Objector {
    let rule = rule.filter(|_| hook.is_policy).map(str::to_owned);
    Objector { hook: hook.name.clone(), source: source(hook), rule, reason }
}

fn source(hook: &HookInfo) -> Option<String> {
    hook.source.as_ref().map(|source| source.file.to_string())
}

/// True if an exception covers an objection in a directory.
pub(crate) fn covers(exception: &Exception, objection: &Objection<'_>, directory: &str) -> bool {
    is_bound(&exception.binding, exception.pattern.as_deref(), objection, directory)
}

/// True if an objection in a directory is one of those that are bound.
pub(crate) fn is_bound(
    bound: &Binding,
    pattern: Option<&str>,
    objection: &Objection<'_>,
    directory: &str,
) -> bool {
    let Objection { hook, rule, call, .. } = objection;
    let reads = &bound.reads;
    let is_hook = |it: &Objector| {
        it.hook == hook.name && it.source == source(hook) && it.rule.as_deref() == *rule
    };
    if bound.directory != directory || !bound.hooks.iter().any(is_hook) {
        return false;
    }
    let is_call = match pattern {
        None => bound.call == digest_of(call, true),
        Some(pattern) => {
            let is_like = || {
                let pattern = Pattern::parse(pattern).ok()?;
                Some(pattern.covers(call.text(LINE)?))
            };
            bound.rest.as_deref() == Some(&*digest_of(call, false))
                && is_like() == Some(true)
                // Of another line, other files may be read: nobody has seen those.
                && world::seen().is_some_and(|seen| seen.iter().all(|one| reads.contains(one)))
        }
    };
    is_call && reads.iter().all(world::is_unchanged)
}

/// Returns the digest of a call: its tool, server and arguments, with or without the command line.
fn digest_of(call: &ToolCall, with_line: bool) -> String {
    let table = tools::lookup(&call.name).filter(|_| call.server.is_none());
    let is_remark = |name: &str| {
        REMARKS.contains(&name)
            && table.is_some_and(|tool| !tool.args.iter().any(|arg| arg.name == name))
    };
    let args: BTreeMap<&String, &Value> = call
        .args
        .iter()
        .filter(|(name, _)| !is_remark(name) && (with_line || *name != LINE))
        .collect();
    let mut text = String::new();
    let word = |text: &mut String, word: Option<&str>| match word {
        Some(word) => text.push_str(&Value::from(word).to_string()),
        None => text.push_str("null"),
    };
    for part in [Some(call.name.as_str()), call.server.as_deref(), call.canonical_path.as_deref()] {
        word(&mut text, part);
        text.push('\n');
    }
    for (name, value) in args {
        word(&mut text, Some(name));
        canonical(value, &mut text);
        text.push('\n');
    }
    digest(text.as_bytes())
}

/// Writes a value so that equal values have one form: fields are in order.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().collect();
            text.push('{');
            for (name, value) in fields {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for value in values {
                canonical(value, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// A pattern of command lines: words, of which `*` stands for one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    words: Vec<String>,
}

impl Pattern {
    /// Parses a pattern. Its words are plain, and the first one is the program.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let is_plain = |word: &String| {
            let is_of_word = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
            word == "*" || word.chars().all(is_of_word)
        };
        let problem = if words.first().is_none_or(|first| first == "*" || first.contains('=')) {
            "a pattern begins with the program".to_owned()
        } else if let Some(word) = words.iter().find(|word| !is_plain(word)) {
            format!("`{word}` is not a plain word, and `*` stands for a whole word")
        } else if !words.iter().any(|word| word == "*") {
            "the pattern has no `*`, so leave `--as` out".to_owned()
        } else {
            return Ok(Self { words });
        };
        Err(Problem::new(problem).help("a pattern is like `git push origin *`"))
    }

    /// True if a command line is one simple command with these words.
    pub(crate) fn covers(&self, line: &str) -> bool {
        let Some(words) = simple_words(line) else { return false };
        // A word such as `--force`, `+main` or `:main` changes what the command does.
        let is_one = |word: &str| !word.is_empty() && !word.starts_with(['-', '+', ':']);
        let mut both = self.words.iter().zip(&words);
        self.words.len() == words.len()
            && both.all(|(pattern, word)| pattern == word || (pattern == "*" && is_one(word)))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

/// Returns the words of a line that is a single simple command, with nothing in it that a shell would expand: no
/// variable, pattern, redirection or assignment.
fn simple_words(line: &str) -> Option<Vec<String>> {
    let script = parse(line).ok()?;
    let [statement] = script.statements.as_slice() else { return None };
    if statement.background || !statement.rest.is_empty() || statement.first.negated {
        return None;
    }
    let [command] = statement.first.commands.as_slice() else { return None };
    let CommandKind::Simple { assignments, words } = &command.kind else { return None };
    if !assignments.is_empty() || !command.redirects.is_empty() {
        return None;
    }
    words.iter().map(known).collect()
}

/// Returns the text of a word that is what it becomes.
fn known(word: &Word) -> Option<String> {
    fn push(pieces: &[Piece], text: &mut String) -> Option<()> {
        for piece in pieces {
            match piece {
                Piece::Text(plain) if !plain.contains(['*', '?', '[', ']', '{', '}', '~', '!']) => {
                    text.push_str(plain);
                }
                Piece::Quoted(quoted) => text.push_str(quoted),
                Piece::Double(pieces) => push(pieces, text)?,
                _ => return None,
            }
        }
        Some(())
    }
    let mut text = String::new();
    push(&word.pieces, &mut text)?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_whole_plain_words_only() {
        let pattern = Pattern::parse("git  push origin *").unwrap();
        assert_eq!(pattern.to_string(), "git push origin *");
        for line in
            ["git push origin main", "git push origin 'feature x'", "git \"push\" origin a.b/c # x"]
        {
            assert!(pattern.covers(line), "{line}");
        }
        for line in [
            "git push origin",
            "git push origin a b",
            "git push origin --force",
            "git push origin -f",
            "git push origin \"-f\"",
            "git push origin +main",
            "git push origin :main",
            "git push origin ''",
            "git push other main",
            "git push origin $BRANCH",
            "git push origin \"$BRANCH\"",
            "git push origin $(id)",
            "git push origin `id`",
            "git push origin m*",
            "git push origin {a,b}",
            "git push origin ~",
            "git push origin main > log",
            "git push origin main < in",
            "git push origin main &",
            "git push origin main; ls",
            "git push origin main\nls",
            "git push origin main && ls",
            "git push origin main | cat",
            "! git push origin main",
            "(git push origin main)",
            "GIT_SSH=evil git push origin main",
            "sudo git push origin main",
            "git push origin 'unclosed",
            "",
        ] {
            assert!(!pattern.covers(line), "{line}");
        }
    }

    #[test]
    fn a_pattern_that_could_be_anything_is_none() {
        for text in [
            "",
            "*",
            "* push",
            "X=1 *",
            "git push",
            "git p* x",
            "sh -c '*'",
            "a; *",
            "$X *",
            "a \u{202e} *",
        ] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn calls_are_the_same_by_all_that_has_an_effect() {
        let call = |line: &str| ToolCall::new("run_command").arg(LINE, line);
        let one = digest_of(
            &call("make").arg("Cwd", "/a").arg("x", serde_json::json!({"a": 1, "b": [2]})),
            true,
        );
        let same = call("make").arg("x", serde_json::json!({"b": [2], "a": 1})).arg("Cwd", "/a");
        assert_eq!(digest_of(&same.clone().arg("description", "Builds it"), true), one);
        for other in [
            call("make"),
            same.clone().arg("Cwd", "/b"),
            same.clone().arg("timeout", 5),
            same.clone().server("s"),
            same.clone().server("s").arg("description", "x"),
            same.clone().arg("x", serde_json::json!({"b": ["2"], "a": 1})),
            ToolCall { name: "run".to_owned(), ..same.clone() },
        ] {
            assert_ne!(digest_of(&other, true), one, "{other:?}");
        }
        assert_eq!(digest_of(&call("make"), false), digest_of(&call("ls"), false));
        assert_ne!(
            digest_of(&call("make").arg("Cwd", "/a"), false),
            digest_of(&call("make"), false)
        );
    }

    #[test]
    fn what_is_permitted_grows_with_the_setting() {
        for lasting in [Lasting::Once, Lasting::For, Lasting::Always] {
            let permitted = Excepting::ALL.map(|setting| is_permitted(lasting, setting));
            assert!(permitted.is_sorted() && !permitted[0] && permitted[3], "{lasting:?}");
        }
    }
}
