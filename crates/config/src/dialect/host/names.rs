//! Matchers: which names they mean, and which calls those may be.

use tollgate_core::matcher::{Matcher, Pattern, PatternError};
use tollgate_core::target::{Subject, Target};
use tollgate_core::tools;
use tollgate_hosts::{HostTool, Shape};

use super::HostDialect;
use crate::tools::is_of_server;

/// What a matcher means, in the agent's own names.
#[derive(Debug, Clone)]
pub(super) enum Names {
    All,
    /// Exactly these; and what the agent calls those that other systems call so.
    List(Vec<String>, Vec<String>),
    /// What an expression is found in; and as above.
    Expression(Pattern, Vec<String>),
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
            let names: Vec<_> = names.map(str::to_owned).collect();
            let others = names.iter().flat_map(|name| natives(dialect, name)).collect();
            return Ok(Self::List(names, others));
        }
        let pattern = found_in(text)?;
        let names = alternatives(text).into_iter();
        let others = names.filter(|name| !dialect.finds(name));
        let others = others.flat_map(|name| natives(dialect, name)).collect();
        Ok(Self::Expression(pattern, others))
    }

    /// As [`read`](Self::read), where the whole text is one name.
    pub(super) fn exact(text: &str) -> Self {
        match text.trim() {
            "" | "*" => Self::All,
            name => Self::List(vec![name.to_owned()], Vec::new()),
        }
    }

    pub(super) fn mean(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::List(names, others) => {
                names.iter().any(|it| is_same(it, name)) || others.iter().any(|it| it == name)
            }
            Self::Expression(pattern, others) => {
                pattern.matches(Subject::named(name)) || others.iter().any(|it| it == name)
            }
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
            Self::List(names, _) if names.iter().all(|name| !may_be_of_server(dialect, name)) => {
                let targets = known.iter().map(|name| Target::Tool((*name).to_owned()));
                let others = names.iter().filter(|name| dialect.host.tool(name).is_none());
                Matcher::Targets(
                    targets.chain(others.map(|name| Target::Tool(name.clone()))).collect(),
                )
            }
            // A server's tool may have one of several names here.
            Self::List(names, _) => {
                let names = names.iter().map(|name| regex_escaped(name));
                with_servers(known, names)
            }
            Self::Expression(pattern, _) => {
                with_servers(known, std::iter::once(pattern_text(pattern)))
            }
        }
    }
}

/// The names in an expression that is nothing but names.
pub(super) fn alternatives(text: &str) -> Vec<&str> {
    let inner = text.trim_start_matches('^').trim_end_matches('$');
    let inner = inner.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or(inner);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '|';
    if !inner.chars().all(is_name) {
        return Vec::new();
    }
    inner.split('|').filter(|name| !name.is_empty()).collect()
}

/// What the agent calls the tools that another system calls so. Where it has none, a hook reads the
/// name of the table.
pub(super) fn natives(dialect: &HostDialect, name: &str) -> Vec<String> {
    if dialect.knows_tool(name) || is_of_server(name) {
        return Vec::new();
    }
    let meant: Vec<_> = tools::meant(name).map(|tool| tool.name).collect();
    let is_meant = |tool: &&HostTool| ours(tool).iter().any(|tool| meant.contains(tool));
    let theirs = dialect.host.tools.iter().filter(is_meant).map(|tool| tool.native);
    theirs.chain(meant.iter().copied()).map(str::to_owned).collect()
}

/// True if two names are one, in any spelling of a server's tool.
pub(super) fn is_same(written: &str, name: &str) -> bool {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    written == name
        || is_of_server(written)
            && is_of_server(name)
            && written.chars().map(plain).eq(name.chars().map(plain))
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

fn may_be_of_server(dialect: &HostDialect, name: &str) -> bool {
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
