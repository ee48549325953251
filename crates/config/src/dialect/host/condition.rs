//! Which events a hook is about, by what it would read: matchers and `if` are about the agent's own
//! names and arguments.

use globset::GlobBuilder;
use serde_json::Value;

use super::names::{Names, is_same, natives};
use super::{Aliases, HostDialect};

/// Which events a hook is about, by what it would read.
#[derive(Debug, Clone)]
pub struct Condition {
    aliases: Aliases,
    /// The field that the names are about.
    field: &'static str,
    names: Names,
    rule: Option<Rule>,
    shown: Option<String>,
    written: String,
}

/// `Bash(rm *)`: a tool, and what its call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    tool: String,
    /// What the agent calls it, where that is another system's name.
    natives: Vec<String>,
    about: Option<String>,
}

impl Condition {
    pub(super) fn new(
        dialect: &HostDialect,
        field: &'static str,
        (names, written): (Names, String),
        rule: Option<(Rule, String)>,
    ) -> Self {
        let (rule, shown) = rule.unzip();
        Self { aliases: dialect.form.aliases, field, names, rule, shown, written }
    }

    /// The matcher as its author wrote it.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// The condition that the author wrote beside a matcher.
    pub(crate) fn shown(&self) -> Option<&str> {
        self.shown.as_deref()
    }

    /// Whether the hook is about this.
    pub(crate) fn holds(&self, input: &Value) -> bool {
        // Where there is nothing to look at, the hook has to tell itself.
        let Some(name) = input.get(self.field).and_then(Value::as_str) else { return true };
        let names =
            if self.field == TOOL { self.all_names(name, input) } else { vec![name.into()] };
        names.iter().any(|name| self.names.mean(name))
            && self.rule.as_ref().is_none_or(|rule| rule.holds(&names, input))
    }

    /// Whether the matcher means this, whatever else is asked for.
    pub(crate) fn names_hold(&self, input: &Value) -> bool {
        Self { rule: None, ..self.clone() }.holds(input)
    }

    /// What a tool is called in matchers.
    fn all_names(&self, name: &str, input: &Value) -> Vec<String> {
        let mut names = vec![name.to_owned()];
        let aliases = self.aliases.iter().filter(|(tool, _)| *tool == name);
        names.extend(aliases.flat_map(|(_, others)| others.iter().map(ToString::to_string)));
        let is_notebook =
            text(input, "file_path").is_some_and(|path| path.to_lowercase().ends_with(".ipynb"));
        if name == "Edit" && is_notebook {
            names.push("NotebookEdit".to_owned());
        }
        // Agents replace what no name of a tool may have.
        let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
        let plain: String = name.chars().map(plain).collect();
        if plain != name {
            names.push(plain);
        }
        names
    }
}

/// The field with a tool's name.
pub(super) const TOOL: &str = "tool_name";

fn text<'v>(input: &'v Value, arg: &str) -> Option<&'v str> {
    input.get("tool_input").and_then(|args| args.get(arg)).and_then(Value::as_str)
}

impl Rule {
    /// Reads a rule; none where it is not one.
    pub(super) fn read(dialect: &HostDialect, written: &str) -> Option<Self> {
        let written = written.trim();
        let (tool, about) = match written.split_once('(') {
            None => (written, None),
            Some((tool, rest)) => (tool.trim(), Some(rest.strip_suffix(')')?)),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-*".contains(c);
        if tool.is_empty() || !tool.chars().all(is_name) {
            return None;
        }
        let about = about.map(str::trim).filter(|about| !about.is_empty() && *about != "*");
        let natives = natives(dialect, tool);
        Some(Self { tool: tool.to_owned(), natives, about: about.map(str::to_owned) })
    }

    /// The tool that it names.
    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether a call is one that the rule is about. Where that cannot be told, it is: then the hook
    /// runs, and tells itself.
    fn holds(&self, names: &[String], input: &Value) -> bool {
        let is_meant = |name: &String| {
            like(&self.tool, name) || is_same(&self.tool, name) || self.natives.contains(name)
        };
        if !names.iter().any(is_meant) {
            return false;
        }
        let Some(about) = &self.about else { return true };
        if let Some(command) = text(input, "command") {
            return command_is(about, command);
        }
        if let Some(url) = text(input, "url") {
            return about.strip_prefix("domain:").is_none_or(|domain| is_at(url, domain));
        }
        let paths = ["file_path", "notebook_path", "path"];
        let path = paths.iter().find_map(|name| text(input, name));
        path.is_none_or(|path| path_is(about, path, input.get("cwd").and_then(Value::as_str)))
    }
}

/// Whether a text is like a pattern in which `*` stands for anything.
fn like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether any of the commands in a line is like a pattern: `rm *`, `npm run test:*`.
fn command_is(pattern: &str, line: &str) -> bool {
    let is_like = |command: &str| match pattern.strip_suffix(":*") {
        Some(begin) => command.starts_with(begin),
        // `rm *` is also `rm` alone.
        None => like(pattern, command) || pattern.strip_suffix(" *") == Some(command),
    };
    // A program may be named by its path.
    let is_meant = |command: &str| {
        let command = command.trim();
        let program = command.split_whitespace().next().unwrap_or_default();
        let folder = program.rfind('/').map_or(0, |at| at + 1);
        is_like(command) || folder > 0 && command.get(folder..).is_some_and(is_like)
    };
    if is_meant(line) || line.split([';', '|', '&', '\n']).any(is_meant) {
        return true;
    }
    // What a shell would make of it is not to be told from its text. Where what the pattern begins
    // with is in it at all, it may be what runs.
    let begin = pattern.split([' ', '*', ':']).next().unwrap_or_default();
    let is_plain = !line.contains(['$', '`', '(', '{', '\'', '"', '\\', '<', '=']);
    !is_plain && (begin.is_empty() || line.contains(begin))
}

/// Whether an address is of a domain, or below it.
fn is_at(url: &str, domain: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_lowercase();
    let domain = domain.trim().trim_start_matches("*.").to_lowercase();
    host == domain || host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether a path is like a pattern: `//` from the root, `~/` from home, `/` from the project, else
/// anywhere.
fn path_is(pattern: &str, path: &str, cwd: Option<&str>) -> bool {
    let cwd = cwd.unwrap_or_default().trim_end_matches('/');
    let absolute =
        if path.starts_with(['/', '~']) { path.to_owned() } else { format!("{cwd}/{path}") };
    let home = std::env::var("HOME").unwrap_or_default();
    let pattern = if let Some(rest) = pattern.strip_prefix("//") {
        format!("/{rest}")
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        format!("{home}/{rest}")
    } else if pattern.starts_with('/') {
        format!("{cwd}{pattern}")
    } else {
        format!("**/{}", pattern.trim_start_matches("./"))
    };
    let is_like = |pattern: &str| {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        glob.map_or(true, |glob| glob.compile_matcher().is_match(&absolute))
    };
    // A directory stands for all that is below it.
    is_like(&pattern) || is_like(&format!("{}/**", pattern.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::claude::CLAUDE;

    fn holds(rule: &str, tool: &str, input: &Value) -> bool {
        let input = json!({"tool_name": tool, "tool_input": input, "cwd": "/work"});
        Rule::read(&CLAUDE, rule).unwrap().holds(&[tool.to_owned()], &input)
    }

    #[test]
    fn a_rule_is_about_commands() {
        let bash = |rule: &str, command: &str| holds(rule, "Bash", &json!({"command": command}));
        for (rule, command) in [
            ("Bash(rm *)", "rm -rf /"),
            ("Bash(rm *)", "rm"),
            ("Bash(rm *)", "ls; rm -rf /"),
            ("Bash(rm *)", "ls && /bin/rm -rf /"),
            ("Bash(rm *)", "X=$(rm -rf /)"),
            ("Bash(npm run test:*)", "npm run test:unit"),
            ("Bash(git push*)", "cd /x && git push --force"),
            ("Bash(* install)", "npm install"),
            ("Bash", "ls"),
            ("Bash(*)", "ls"),
        ] {
            assert!(bash(rule, command), "{rule}: {command}");
        }
        for (rule, command) in [
            ("Bash(rm *)", "ls -la"),
            ("Bash(git push*)", "git status"),
            ("Bash(npm run test:*)", "npm ci"),
            ("Read", "ls"),
        ] {
            assert!(!bash(rule, command), "{rule}: {command}");
        }
    }

    #[test]
    fn a_rule_is_about_paths_and_domains() {
        let edit = |rule: &str, path: &str| holds(rule, "Edit", &json!({"file_path": path}));
        assert!(edit("Edit(*.ts)", "/work/src/a.ts"));
        assert!(edit("Edit(/src/**)", "/work/src/a/b.rs"));
        assert!(edit("Edit(src/**)", "src/a.rs"));
        assert!(edit("Edit(//etc/**)", "/etc/passwd"));
        assert!(edit("Edit(secrets)", "/work/secrets/key"));
        assert!(!edit("Edit(*.ts)", "/work/src/a.rs"));
        assert!(!edit("Edit(/src/**)", "/work/docs/a.md"));
        let fetch = |rule: &str, url: &str| holds(rule, "WebFetch", &json!({"url": url}));
        assert!(fetch("WebFetch(domain:example.com)", "https://api.example.com/x"));
        assert!(!fetch("WebFetch(domain:example.com)", "https://notexample.com/x"));
        assert!(holds("mcp__git__*", "mcp__git__push", &json!({})));
        assert!(holds("mcp__my-server__x", "mcp__my_server__x", &json!({})));
        // Another system's name of the tool.
        assert!(holds("run_command(rm *)", "Bash", &json!({"command": "rm -rf /"})));
        assert!(!holds("run_command(rm *)", "Bash", &json!({"command": "ls"})));
        // What it is about cannot be told: the hook tells itself.
        assert!(holds("Skill(x)", "Skill", &json!({"name": "y"})));
    }

    #[test]
    fn what_is_no_rule_is_none() {
        for text in ["", "(x)", "Bash(x", "rm -rf *", "Bash(x) and more"] {
            assert_eq!(Rule::read(&CLAUDE, text), None, "{text}");
        }
    }
}
