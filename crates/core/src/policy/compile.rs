//! Rules, checked and put where a look-up finds them.

use std::collections::HashSet;
use std::sync::Arc;

use hashbrown::HashMap;

use super::rule::{Effect, Rule};
use super::{McpServer, Policies};
use crate::event::ToolCall;
use crate::target::{Key, Loose, Names, Target, Targets, UNNAMED_SERVER, loose_server, loose_tool};

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
    /// A rule is about what cannot be a tool's name.
    #[error("rule '{rule}' is about `{target}`, which cannot be the name of a tool: {help}")]
    NotAName {
        /// The rule.
        rule: String,
        /// What it is about.
        target: String,
        /// What to write instead.
        help: &'static str,
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
    /// `deny("run_command")` stops `RUN_COMMAND` too, and under the names that hosts have for it, so
    /// that `deny("Bash")` and `deny("mcp__git__push")` do what they say.
    pub fn exact_names(mut self) -> Self {
        self.names = Names::AsWritten;
        self
    }

    /// Checks and compiles.
    pub fn build(self) -> Result<Policies, PolicyError> {
        let Self { mut rules, servers, otherwise, names } = self;
        rules.sort_by_key(|rule| rule.level(names));
        if names == Names::OfTheTable {
            let of = |rule: &Rule| (rule.label(), rule.target.to_string());
            let no_name = |rule: &Rule| Some((of(rule), rule.target.no_name()?));
            if let Some(((rule, target), help)) = rules.iter().find_map(no_name) {
                return Err(PolicyError::NotAName { rule, target, help });
            }
            if let Some(rule) = rules.iter().find(|rule| rule.target.means_nothing()) {
                let (rule, target) = of(rule);
                return Err(PolicyError::NeverMatches { rule, target });
            }
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
            let part = rule.target.part().filter(|_| names == Names::OfTheTable).map(Into::into);
            compiled.rules.push(Labelled { label: rule.label().into(), part, rule });
        }
        Ok(Policies::new(compiled))
    }
}

/// Which tools may be called at all, of the servers where that is not all of them.
pub(super) type Gates = HashMap<Loose, Vec<Gate>>;

fn gates(servers: Vec<McpServer>) -> Result<Gates, PolicyError> {
    let mut seen: HashMap<String, McpServer> = HashMap::new();
    let mut gates = Gates::new();
    for server in servers {
        let name = server.name.clone();
        if name.is_empty() {
            return Err(PolicyError::UnnamedServer);
        }
        match seen.get(&name) {
            Some(other) if *other != server => {
                return Err(PolicyError::DuplicateServer { server: name });
            }
            Some(_) => continue,
            None => {}
        }
        seen.insert(name.clone(), server.clone());
        let McpServer { enabled_tools, disabled_tools, .. } = server;
        let loose = |tools: Vec<String>| tools.iter().map(|tool| loose_tool(tool)).collect();
        let tools = match (enabled_tools, disabled_tools) {
            (Some(_), Some(_)) => return Err(PolicyError::EnabledAndDisabled { server: name }),
            (Some(enabled), None) => Tools::Only(loose(enabled)),
            (None, Some(disabled)) => Tools::AllBut(loose(disabled)),
            (None, None) => continue,
        };
        gates.entry(loose_server(&name)).or_default().push(Gate { server: name, tools });
    }
    // One that offers all its tools is held to no other's gate.
    for (name, server) in seen {
        if server.enabled_tools.is_none()
            && server.disabled_tools.is_none()
            && let Some(gates) = gates.get_mut(&loose_server(&name))
        {
            gates.push(Gate { server: name, tools: Tools::AllBut(HashSet::new()) });
        }
    }
    Ok(gates)
}

pub(super) struct Compiled {
    /// In the order of their levels.
    pub(super) rules: Vec<Labelled>,
    pub(super) exact: Targets<Vec<u32>>,
    /// By the one form of all spellings of a server.
    pub(super) servers: HashMap<Loose, Vec<u32>>,
    pub(super) any: Vec<u32>,
    pub(super) gates: Gates,
    pub(super) otherwise: Otherwise,
}

/// A rule with its label, which is made once.
pub(super) struct Labelled {
    pub(super) rule: Rule,
    pub(super) label: Arc<str>,
    /// The host's tool that it is about alone, of several that come as one tool of the table.
    pub(super) part: Option<Box<str>>,
}

impl Labelled {
    /// True if the rule is about the call, of whose tool the name is known to fit.
    pub(super) fn is_about(&self, call: &ToolCall) -> bool {
        let is_part = |part: &str| call.native_name() == part || call.name == part;
        self.part.as_deref().is_none_or(is_part)
    }
}

/// A server of which not all tools may be called.
pub(super) struct Gate {
    pub(super) server: String,
    pub(super) tools: Tools,
}

/// Which tools of a server may be called at all.
pub(super) enum Tools {
    Only(HashSet<Loose>),
    AllBut(HashSet<Loose>),
}

impl Gate {
    pub(super) fn lets(&self, tool: &str) -> bool {
        let tool = loose_tool(tool);
        match &self.tools {
            Tools::Only(enabled) => enabled.contains(&tool),
            Tools::AllBut(disabled) => !disabled.contains(&tool),
        }
    }
}

impl Compiled {
    fn index(&mut self, rule: &Rule, place: u32, names: Names) {
        if rule.target == Target::Any {
            self.any.push(place);
        }
        // What must not pass must not pass where the server is not known.
        let is_strict = rule.effect != Effect::Allow && names == Names::OfTheTable;
        let unnamed = loose_server(UNNAMED_SERVER);
        let also = |server: &str| is_strict && loose_server(server) != unnamed;
        if let Some(server) = rule.target.whole_server(names) {
            if also(server) {
                self.servers.entry(unnamed.clone()).or_default().push(place);
            }
            self.servers.entry(loose_server(server)).or_default().push(place);
        }
        for key in rule.target.keys(names) {
            let unnamed = Key { server: Some(UNNAMED_SERVER), name: key.name };
            if key.server.is_some_and(also) && self.exact.entry(unnamed).last() != Some(&place) {
                self.exact.entry(unnamed).push(place);
            }
            self.exact.entry(key).push(place);
        }
    }
}
