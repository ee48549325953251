//! What is said about names of tools in rules, matchers and conditions.
//!
//! A name that nobody knows may still be the tool of a server or of a program's own, so a name is only
//! reported where it is nearly a known one.

mod others;

use std::sync::LazyLock;

use tollgate_core::tools::{SYNONYMS, Synonym, TABLE, lookup, meant, synonym};
use tollgate_hosts::{ALL, antigravity, polytoken};

use crate::diagnostic::Code;
use crate::names::list;

/// What is said about a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Which sort of problem.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// What is said about the tool that a rule names. A host's name for a tool is fine there.
///
/// ```
/// use tollgate_config::tools::in_rule;
///
/// assert_eq!(in_rule("Bash"), None);
/// assert_eq!(in_rule("deploy"), None);
/// let said = in_rule("run_comand").ok_or("nothing is said")?;
/// assert_eq!(said.help, "did you mean `run_command`?");
/// # Ok::<(), &str>(())
/// ```
pub fn in_rule(name: &str) -> Option<Remark> {
    near(name).map(|near| unknown(name, near))
}

/// What is said about each of the names that a script compares with the name of a call's tool, which
/// is always the one of the table. A host's name beside the table's is fine: the script is for both.
///
/// ```
/// use tollgate_config::tools::in_condition;
///
/// let said = in_condition(&["Bash"]);
/// assert_eq!(said.len(), 1);
/// assert!(in_condition(&["Bash", "run_command"]).is_empty());
/// ```
pub fn in_condition(names: &[&str]) -> Vec<(usize, Remark)> {
    let is_there = |tool: &str| names.contains(&tool);
    let said = |(place, name): (usize, &&str)| {
        if lookup(name).is_some_and(|tool| tool.name != *name) {
            // A name that calls may have. Scripts see the one of the table.
            let ours: Vec<_> = meant(name).map(|tool| tool.name).collect();
            return (!ours.iter().any(|tool| is_there(tool)))
                .then(|| (place, never_in_script(name, &ours)));
        }
        match synonym(name) {
            Some(synonym) if lookup(name).is_none() => {
                let ours = synonym.tools;
                (!ours.iter().any(|tool| is_there(tool)))
                    .then(|| (place, never_in_script(name, ours)))
            }
            _ => near(name).map(|near| (place, unknown(name, near))),
        }
    };
    names.iter().enumerate().filter_map(said).collect()
}

fn never_in_script(name: &str, ours: &[&str]) -> Remark {
    let whose = system_of(name).map_or_else(String::new, |system| format!("{system}'s "));
    let write = match ours {
        [one] => format!("compare with `{one}`"),
        several => format!("compare with {}", list(several)),
    };
    Remark {
        code: Code::ForeignTool,
        message: format!(
            "`{name}` is {}name of a tool, and `payload[\"name\"]` is always Tollgate's",
            if whose.is_empty() { "another " } else { &whose }
        ),
        help: format!("{write}, or `payload[\"native_name\"]` with `{name}`"),
    }
}

fn unknown(name: &str, near: &str) -> Remark {
    Remark {
        code: Code::UnknownTool,
        message: format!("no tool is called `{}`", shown(name)),
        help: format!("did you mean `{near}`?"),
    }
}

/// A name as it is shown: with what is not seen in it, and not all of a long one.
pub(crate) fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}

/// A tool that another system has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignTool {
    /// Whose name it is.
    pub(crate) system: &'static str,
    /// The tools of the table that it is; none where it is none of them.
    pub(crate) ours: Vec<&'static str>,
}

/// The tool that some system has under this name.
pub(crate) fn foreign(name: &str) -> Option<ForeignTool> {
    let system = system_of(name)?;
    Some(ForeignTool { system, ours: meant(name).map(|tool| tool.name).collect() })
}

/// The system that a name of a tool is best known from.
fn system_of(name: &str) -> Option<&'static str> {
    if TABLE.iter().any(|tool| tool.name == name) {
        return Some(antigravity::HOST.title);
    }
    let named = |host: &&&'static tollgate_hosts::Host| {
        host.name != antigravity::HOST.name && host.tool(name).is_some()
    };
    let host = ALL.iter().find(named).map(|host| host.title);
    host.or_else(|| {
        let known = others::OTHERS.iter().find(|(_, names)| names.contains(&name));
        known.map(|(system, _)| *system)
    })
}

/// The name that Polytoken has for a tool of the table, where it has one.
pub(crate) fn in_polytoken(tool: &str) -> Option<&'static str> {
    match tool {
        // It has several tools for edits.
        "replace_file_content" | "multi_replace_file_content" => Some("file_edit_*"),
        _ => polytoken::HOST.tools.iter().find(|it| it.tool == tool).map(|it| it.native),
    }
}

/// True if a system is known to have a tool of this name.
pub(crate) fn is_known(name: &str) -> bool {
    lookup(name).is_some() || synonym(name).is_some() || system_of(name).is_some()
}

/// True if a name may well be that of a server's tool.
pub(crate) fn is_of_server(name: &str) -> bool {
    name.contains('/')
        || name.contains("__")
        || ["mcp_", "mcp-", "MCP:"].iter().any(|prefix| name.starts_with(prefix))
}

/// The names that a mistyped one may mean, those of the table first. Of names for a part of a tool, or
/// for none of the table, only those of several words: `delete` may well be another tool than Cursor's
/// `Delete`.
static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let table = TABLE.iter().map(|tool| tool.name);
    let is_whole = |synonym: &&Synonym| !synonym.part || has_words(synonym.name);
    let hosts = SYNONYMS.iter().filter(is_whole).map(|synonym| synonym.name);
    let aliases = TABLE.iter().flat_map(|tool| tool.aliases).copied();
    let others = others::OTHERS.iter().flat_map(|(_, names)| *names).copied();
    let all = table.chain(hosts).chain(aliases).chain(others.filter(|name| has_words(name)));
    all.filter(|name| !name.contains('*')).map(Known::new).collect()
});

/// True if a name has several words in it.
fn has_words(name: &str) -> bool {
    let inner = name.bytes().skip(1);
    name.contains('_')
        || inner.clone().any(|byte| byte.is_ascii_uppercase())
            && inner.clone().any(|byte| byte.is_ascii_lowercase())
}

/// The known tool that a name nearly is; none where the name is known, where it may be a server's,
/// and where it is nearly none.
pub(crate) fn near(name: &str) -> Option<&'static str> {
    // Nobody mistypes a name of hundreds of letters, and the comparison is quadratic.
    if name.len() > 64 || is_of_server(name) || is_known(name) {
        return None;
    }
    let own = letters(name);
    let mask = mask(&own);
    let allowed = allowed(own.len());
    // A file may name a thousand tools that are none of the known ones, so what cannot be near is not
    // compared.
    let candidates = KNOWN.iter().filter(|known| {
        (mask ^ known.mask).count_ones() as usize <= 2 * allowed
            && known.letters.len().abs_diff(own.len()) <= allowed
            && known.letters.as_bytes().first() == own.as_bytes().first()
            && !known.may_be_another(name, &own)
    });
    let distances = candidates.map(|known| {
        // Of several that are as near, the one of the table, which comes first.
        (strsim::osa_distance(&own, &known.letters), known.name)
    });
    let (distance, near) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(near)
}

/// A known name, and what it is compared by.
struct Known {
    name: &'static str,
    letters: String,
    mask: u32,
}

impl Known {
    fn new(name: &'static str) -> Self {
        let letters = letters(name);
        let mask = mask(&letters);
        Self { name, letters, mask }
    }

    /// True if a name that is near to this one is as likely a word of its own: `execute` beside
    /// `Execute`, `tasks` beside `task`.
    fn may_be_another(&self, name: &str, letters: &str) -> bool {
        if has_words(self.name) {
            return false;
        }
        let is_lower = |name: &str| !name.contains(char::is_uppercase);
        let ending = letters.strip_prefix(&*self.letters);
        is_lower(name) && !is_lower(self.name) || matches!(ending, Some("s" | "es" | "d" | "ed"))
    }
}

/// A name without case and separators.
fn letters(name: &str) -> String {
    let is_letter = |c: &char| !c.is_whitespace() && !matches!(c, '_' | '-' | '.');
    name.chars().filter(is_letter).flat_map(char::to_lowercase).collect()
}

/// Which letters a name has, a bit each.
fn mask(letters: &str) -> u32 {
    let ascii = letters.bytes().filter(u8::is_ascii_lowercase);
    ascii.fold(0, |bits, byte| bits | 1 << (byte - b'a'))
}

/// How many letters may be wrong in a name of so many. Short names are near to many words, and a
/// tool of a program's own may be any of them.
const fn allowed(letters: usize) -> usize {
    match letters {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Rows {
        near: std::collections::BTreeMap<String, String>,
        passed: Vec<String>,
    }

    #[test]
    fn what_is_nearly_a_known_name_is_said() {
        let rows: Rows =
            serde_json::from_str(include_str!("../../../cases/names/unknown.json")).unwrap();
        for (name, meant) in &rows.near {
            assert_eq!(near(name), Some(meant.as_str()), "{name}");
        }
        for name in &rows.passed {
            assert_eq!(near(name), None, "{name}");
        }
    }

    #[test]
    fn no_known_name_is_near_to_another() {
        let others = others::OTHERS.iter().flat_map(|(_, names)| *names).copied();
        let hosts = ALL.iter().flat_map(|host| host.tools.iter().map(|tool| tool.native));
        let table = TABLE.iter().flat_map(|tool| std::iter::once(&tool.name).chain(tool.aliases));
        for name in others.chain(hosts).chain(table.copied()) {
            assert_eq!(near(name), None, "{name}");
            assert!(is_known(name), "{name}");
        }
    }

    #[test]
    fn a_name_is_best_known_from_one_system() {
        for (name, system, ours) in [
            ("Bash", "Claude Code", &["run_command"][..]),
            ("run_shell_command", "Gemini CLI", &["run_command"]),
            ("shell", "Codex", &["run_command"]),
            ("shell_exec", "Polytoken", &["run_command"]),
            ("run_command", "Antigravity", &["run_command"]),
            ("Edit", "Claude Code", &["replace_file_content", "multi_replace_file_content"]),
            ("TodoWrite", "Claude Code", &[]),
            (
                "file_edit_insert",
                "Polytoken",
                &["replace_file_content", "multi_replace_file_content"],
            ),
        ] {
            let found = foreign(name).unwrap();
            assert_eq!((found.system, &*found.ours), (system, ours), "{name}");
        }
        assert_eq!(foreign("mystery"), None);
    }

    #[test]
    fn conditions_compare_with_the_tables_name() {
        let said = |names: &[&str]| {
            let said = in_condition(names);
            said.into_iter().map(|(place, it)| (place, it.code.id(), it.help)).collect::<Vec<_>>()
        };
        assert_eq!(said(&["run_command", "view_file", "deploy", "git/push"]), []);
        assert_eq!(said(&["Bash", "run_command", "bash"]), []);
        assert_eq!(
            said(&["view_file", "Bash", "Edit", "run_comand", "RUN_COMMAND"]),
            [
                (
                    1,
                    "TG028",
                    "compare with `run_command`, or `payload[\"native_name\"]` with `Bash`"
                        .to_owned()
                ),
                (
                    2,
                    "TG028",
                    "compare with `replace_file_content`, `multi_replace_file_content`, or \
                     `payload[\"native_name\"]` with `Edit`"
                        .to_owned()
                ),
                (3, "TG038", "did you mean `run_command`?".to_owned()),
                (
                    4,
                    "TG028",
                    "compare with `run_command`, or `payload[\"native_name\"]` with `RUN_COMMAND`"
                        .to_owned()
                ),
            ]
        );
    }
}
