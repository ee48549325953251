//! The tools of one agent: what its model is told of them, and which one a call means.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tollgate_mcp::{Server, ToolInfo};
use tollgate_model::ToolSpec;
use tollgate_tools::Tool;

/// A tool that the model may call.
#[derive(Debug, Clone)]
pub(crate) enum Offer {
    /// One that does its work by itself.
    Tool(Arc<dyn Tool>),
    /// One that directs the agent.
    Control(&'static str),
    /// One of an MCP server.
    Mcp { server: Arc<Server>, tool: String },
}

/// The tools of one agent.
#[derive(Clone)]
pub(crate) struct Toolbox {
    /// Those that stay, in their order.
    own: Arc<[(ToolSpec, Offer)]>,
    /// Servers, whose tools may become others, each with those that are taken over here.
    servers: Vec<(Arc<Server>, Arc<[ToolInfo]>)>,
    /// Which of them are wanted, by name.
    wanted: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    offers: Arc<HashMap<String, Offer>>,
    specs: Arc<[ToolSpec]>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Toolbox {
    /// Of several tools with one name, the first counts.
    pub(crate) fn new(own: Vec<(ToolSpec, Offer)>, servers: &[Arc<Server>]) -> Self {
        Self::of(own.into(), servers.iter().map(Arc::clone), Arc::new(|_: &str| true))
    }

    fn of(
        own: Arc<[(ToolSpec, Offer)]>,
        servers: impl Iterator<Item = Arc<Server>>,
        wanted: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    ) -> Self {
        let servers: Vec<_> = servers.map(|server| (Arc::clone(&server), server.tools())).collect();
        let theirs = servers.iter().flat_map(|(server, tools)| {
            tools.iter().map(|tool| {
                let name = mcp_name(server.name(), &tool.name);
                let (description, parameters) = (tool.description.clone(), tool.parameters.clone());
                let offer = Offer::Mcp { server: Arc::clone(server), tool: tool.name.clone() };
                (ToolSpec { name, description, parameters }, offer)
            })
        });
        let mut offers = HashMap::new();
        let mut specs = Vec::new();
        for (spec, offer) in own.iter().cloned().chain(theirs) {
            if wanted(&spec.name) && !offers.contains_key(&spec.name) {
                offers.insert(spec.name.clone(), offer);
                specs.push(spec);
            }
        }
        Self { own, servers, wanted, offers: Arc::new(offers), specs: specs.into() }
    }

    /// What the model is told.
    pub(crate) fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Offer> {
        self.offers.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|spec| spec.name.as_str())
    }

    /// These of its tools, and no others.
    pub(crate) fn only(&self, wanted: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let before = Arc::clone(&self.wanted);
        let wanted = Arc::new(move |name: &str| before(name) && wanted(name));
        let servers = self.servers.iter().map(|(server, _)| Arc::clone(server));
        Self::of(Arc::clone(&self.own), servers, wanted)
    }

    /// The same with the tools that its servers have now, where those are others.
    pub(crate) fn renewed(&self) -> Option<Self> {
        let is_other =
            |(server, tools): &(Arc<Server>, Arc<[ToolInfo]>)| !Arc::ptr_eq(&server.tools(), tools);
        if !self.servers.iter().any(is_other) {
            return None;
        }
        let servers = self.servers.iter().map(|(server, _)| Arc::clone(server));
        Some(Self::of(Arc::clone(&self.own), servers, Arc::clone(&self.wanted)))
    }
}

/// The name by which a model calls a tool of an MCP server. Providers take 64 letters, digits, `_` and `-`.
pub(crate) fn mcp_name(server: &str, tool: &str) -> String {
    const LONGEST: usize = 64;
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
    };
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    if name.len() <= LONGEST {
        return name;
    }
    // What is cut off is told apart by a hash.
    let hash = blake3::hash(format!("{server}/{tool}").as_bytes()).to_hex();
    let kept = name.get(..LONGEST - 9).unwrap_or(&name);
    format!("{kept}_{}", hash.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mcp_tools_are_what_providers_take() {
        assert_eq!(mcp_name("git hub", "list.issues"), "mcp__git_hub__list_issues");
        let long = mcp_name("server", &"tool".repeat(40));
        assert_eq!(long.len(), 64);
        assert_ne!(long, mcp_name("server", &"tool".repeat(41)));
    }
}
