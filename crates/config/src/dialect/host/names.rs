//! Matchers: which names they mean, and which calls those may be.

use tollgate_core::matcher::{Matcher, Pattern, PatternError};
use tollgate_core::target::{Subject, Target};
use tollgate_core::tools;
use tollgate_hosts::{HostTool, Shape};

use super::HostDialect;

/// What a matcher means, in the agent's own names.
#[derive(Debug, Clone)]
pub(super) enum Names {
    All,
    /// Exactly these.
    List(Vec<String>),
    /// What an expression is found in.
    Expression(Pattern),
}

impl Names {
    /// Reads a matcher as the agent does.
    pub(super) fn read(dialect: &HostDialect, text: &str) -> Result<Self, PatternError> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self::All);
        }
        let is_list =
            |among: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || among.contains(c));
        if dialect.form.list.is_some_and(is_list) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(Self::List(names.map(str::to_owned).collect()));
        }
        found_in(text).map(Self::Expression)
    }

    /// As [`read`](Self::read), where the whole text is one name.
    pub(super) fn exact(text: &str) -> Self {
        match text.trim() {
            "" | "*" => Self::All,
            name => Self::List(vec![name.to_owned()]),
        }
    }

    pub(super) fn mean(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::List(names) => names.iter().any(|it| it == name),
            Self::Expression(pattern) => pattern.matches(Subject::named(name)),
        }
    }

    /// The calls that may be meant: all of them are, and some others. An agent's name for a tool is
    /// one of several that Tollgate's tool may have there, so the last word is with what the hook
    /// would read.
    pub(super) fn matcher(&self, dialect: &HostDialect) -> Matcher {
        if matches!(self, Self::All) {
            return Matcher::All;
        }
        let aliases = |tool: &HostTool| {
            let of_tool = dialect.form.aliases.iter().filter(|(name, _)| *name == tool.native);
            of_tool.flat_map(|(_, others)| others.iter().copied()).collect::<Vec<_>>()
        };
        let is_meant = |tool: &&HostTool| {
            self.mean(tool.native) || aliases(tool).into_iter().any(|name| self.mean(name))
        };
        let mut known: Vec<&str> =
            dialect.host.tools.iter().filter(is_meant).flat_map(ours).collect();
        known.sort_unstable();
        known.dedup();
        match self {
            Self::All => Matcher::All,
            Self::List(names) if names.iter().all(|name| !is_of_server(dialect, name)) => {
                let targets = known.iter().map(|name| Target::Tool((*name).to_owned()));
                let others = names.iter().filter(|name| dialect.host.tool(name).is_none());
                Matcher::Targets(
                    targets.chain(others.map(|name| Target::Tool(name.clone()))).collect(),
                )
            }
            // A server's tool may have one of several names here.
            Self::List(names) => {
                let names = names.iter().map(|name| regex_escaped(name));
                with_servers(known, names)
            }
            Self::Expression(pattern) => {
                with_servers(known, std::iter::once(pattern_text(pattern)))
            }
        }
    }
}

/// The tools of the table that one of an agent may be.
fn ours(tool: &HostTool) -> Vec<&'static str> {
    match (tool.tool, tool.shape) {
        (_, Shape::Patch(_)) => {
            vec!["write_to_file", "replace_file_content", "multi_replace_file_content"]
        }
        // Agents that have no tool for several edits do them one by one.
        ("replace_file_content", _) => vec!["replace_file_content", "multi_replace_file_content"],
        (tool, _) => vec![tool],
    }
}

fn is_of_server(dialect: &HostDialect, name: &str) -> bool {
    let prefix = dialect.host.mcp.prefix;
    prefix.is_empty() || name.starts_with(prefix)
}

/// Names of the table, what other expressions match, and all tools of servers.
fn with_servers(known: Vec<&str>, others: impl Iterator<Item = String>) -> Matcher {
    let spellings = known.into_iter().flat_map(|name| {
        let aliases = tools::lookup(name).map(|tool| tool.aliases).unwrap_or_default();
        std::iter::once(name).chain(aliases.iter().copied()).map(str::to_owned)
    });
    let all: Vec<_> = spellings.chain(others).chain([".*/.*".to_owned()]).collect();
    // All its parts were read before; together they may be too much, and then all calls are asked about.
    Matcher::regex(&all.join("|")).unwrap_or(Matcher::All)
}

/// An expression that is looked for in a name, as one for all of the name.
fn found_in(text: &str) -> Result<Pattern, PatternError> {
    // Alone first: what is only valid inside of a group is not valid.
    Pattern::regex(text)?;
    Pattern::regex(&format!(".*(?:{text}).*"))
}

fn pattern_text(pattern: &Pattern) -> String {
    Matcher::Pattern(pattern.clone()).to_string()
}

fn regex_escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() && c != '_' {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
