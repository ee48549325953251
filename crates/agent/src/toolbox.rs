//! The tools of one agent: what its model is told of them, and which one a call means.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_mcp::Server;
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
#[derive(Debug, Clone, Default)]
pub(crate) struct Toolbox {
    offers: Arc<HashMap<String, Offer>>,
    specs: Arc<[ToolSpec]>,
}

impl Toolbox {
    /// Of several tools with one name, the first counts.
    pub(crate) fn new(all: impl IntoIterator<Item = (ToolSpec, Offer)>) -> Self {
        let mut offers = HashMap::new();
        let mut specs = Vec::new();
        for (spec, offer) in all {
            if !offers.contains_key(&spec.name) {
                offers.insert(spec.name.clone(), offer);
                specs.push(spec);
            }
        }
        Self { offers: Arc::new(offers), specs: specs.into() }
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
    pub(crate) fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let specs = self.specs.iter().filter(|spec| wanted(&spec.name));
        let kept = specs.filter_map(|spec| Some((spec.clone(), self.get(&spec.name)?.clone())));
        Self::new(kept)
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
