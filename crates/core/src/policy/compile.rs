//! Rules, checked and put where a look-up finds them.

use std::collections::HashSet;
use std::sync::Arc;

use hashbrown::HashMap;

use super::rule::{Effect, Rule};
use super::{McpServer, Policies};
use crate::target::{Names, Target, Targets};

/// What follows when no rule applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// No opinion: the call goes on as it would without policies.
    #[default]
    Open,
    /// The call is denied: what an agent wants that nobody watches.
    Closed,
}

/// Rules that cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A rule is about an MCP server, and no servers were given.
    #[error(
        "rule '{rule}' is about an MCP server, but no servers were given: name the registered servers, so that the rule cannot be bypassed in silence"
    )]
    ServersRequired {
        /// The rule.
        rule: String,
    },
    /// A rule is about a tool that cannot be.
    #[error(
        "rule '{rule}' is about `{target}`, which no tool is called: a `*` stands for all tools, or for all of a server as in `server/*`"
    )]
    NeverMatches {
        /// The rule.
        rule: String,
        /// What it is about.
        target: String,
    },
    /// A rule asks, and nobody is there to ask.
    #[error("rule '{rule}' asks the user, but has no handler that asks")]
    MissingHandler {
        /// The rule.
        rule: String,
    },
    /// A server has both enabled and disabled tools.
    #[error("MCP server '{server}' has both enabled and disabled tools: give one of them")]
    EnabledAndDisabled {
        /// The server.
        server: String,
    },
    /// Two servers that differ have the same name.
    #[error("two different MCP servers are called '{server}'")]
    DuplicateServer {
        /// The name.
        server: String,
    },
    /// A server has no name.
    #[error("an MCP server has no name")]
    UnnamedServer,
}

/// Puts [`Policies`] together.
#[derive(Debug, Default)]
#[must_use = "call `build` to get the policies"]
pub struct PoliciesBuilder {
    rules: Vec<Rule>,
    servers: Option<Vec<McpServer>>,
    otherwise: Otherwise,
    names: Names,
}

impl PoliciesBuilder {
    /// Adds rules.
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Adds a rule.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds the registered MCP servers. Rules about servers need them; an empty list will do.
    pub fn servers(mut self, servers: impl IntoIterator<Item = McpServer>) -> Self {
        self.servers.get_or_insert_default().extend(servers);
        self
    }

    /// What follows when no rule applies. Default: open.
    pub fn otherwise(mut self, otherwise: Otherwise) -> Self {
        self.otherwise = otherwise;
        self
    }

    /// A rule is about the tool of exactly the name it has, as in the Antigravity SDK. Otherwise
    /// it is about that tool under all names that the tool table has for it, so that
    /// `deny("run_command")` stops `RUN_COMMAND` too.
    pub fn exact_names(mut self) -> Self {
        self.names = Names::AsWritten;
        self
    }

    /// Checks and compiles.
    pub fn build(self) -> Result<Policies, PolicyError> {
        let Self { mut rules, servers, otherwise, names } = self;
        rules.sort_by_key(Rule::level);
        if names == Names::OfTheTable
            && let Some(rule) = rules.iter().find(|rule| rule.target.means_nothing())
        {
            return Err(PolicyError::NeverMatches {
                rule: rule.label(),
                target: rule.target.to_string(),
            });
        }
        if let (None, Some(rule)) = (&servers, rules.iter().find(|rule| rule.target.names_server()))
        {
            return Err(PolicyError::ServersRequired { rule: rule.label() });
        }
        if let Some(rule) =
            rules.iter().find(|rule| rule.effect == Effect::Ask && rule.handler.is_none())
        {
            return Err(PolicyError::MissingHandler { rule: rule.label() });
        }
        let mut compiled = Compiled {
            rules: Vec::with_capacity(rules.len()),
            exact: Targets::default(),
            servers: HashMap::new(),
            any: Vec::new(),
            gates: gates(servers.unwrap_or_default())?,
            otherwise,
        };
        for (rule, place) in rules.into_iter().zip(0u32..) {
            let names = if rule.all_names { Names::OfTheTable } else { names };
            compiled.index(&rule, place, names);
            compiled.rules.push(Labelled { label: rule.label().into(), rule });
        }
        Ok(Policies::new(compiled))
    }
}

fn gates(servers: Vec<McpServer>) -> Result<HashMap<Box<str>, Tools>, PolicyError> {
    let mut seen: HashMap<String, McpServer> = HashMap::new();
    let mut gates = HashMap::new();
    for server in servers {
        let name = server.name.clone();
        if name.is_empty() {
            return Err(PolicyError::UnnamedServer);
        }
        if seen.get(&name).is_some_and(|other| *other != server) {
            return Err(PolicyError::DuplicateServer { server: name });
        }
        seen.insert(name.clone(), server.clone());
        let McpServer { enabled_tools, disabled_tools, .. } = server;
        let tools = match (enabled_tools, disabled_tools) {
            (Some(_), Some(_)) => return Err(PolicyError::EnabledAndDisabled { server: name }),
            (Some(enabled), None) => Tools::Only(enabled.into_iter().collect()),
            (None, Some(disabled)) => Tools::AllBut(disabled.into_iter().collect()),
            (None, None) => continue,
        };
        gates.insert(name.into(), tools);
    }
    Ok(gates)
}

pub(super) struct Compiled {
    /// In the order of their levels.
    pub(super) rules: Vec<Labelled>,
    pub(super) exact: Targets<Vec<u32>>,
    pub(super) servers: HashMap<String, Vec<u32>>,
    pub(super) any: Vec<u32>,
    pub(super) gates: HashMap<Box<str>, Tools>,
    pub(super) otherwise: Otherwise,
}

/// A rule with its label, which is made once.
pub(super) struct Labelled {
    pub(super) rule: Rule,
    pub(super) label: Arc<str>,
}

/// Which tools of a server may be called at all.
pub(super) enum Tools {
    Only(HashSet<String>),
    AllBut(HashSet<String>),
}

impl Compiled {
    fn index(&mut self, rule: &Rule, place: u32, names: Names) {
        if rule.target == Target::Any {
            self.any.push(place);
        }
        if let Some(server) = rule.target.whole_server() {
            self.servers.entry_ref(server).or_default().push(place);
        }
        for key in rule.target.keys(names) {
            self.exact.entry(key).push(place);
        }
    }
}
