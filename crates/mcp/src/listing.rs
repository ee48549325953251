//! The tools of a server: listed within bounds, and held against what is wanted.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;

use crate::config::{Limits, Tools};
use crate::connection::short;

/// How many pages a list may have. Pages can be empty, so that the number of tools does not bound
/// them.
const PAGES: usize = 256;

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolInfo {
    /// Its name, as the server has it.
    pub name: String,
    /// What it does, in the server's words. For the model; nothing to rely on.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// The tools of a server, as many as it may have.
pub(crate) async fn list(
    peer: &Peer<RoleClient>,
    limits: &Limits,
) -> Result<Vec<ToolInfo>, String> {
    let has_tools = peer.peer_info().is_none_or(|info| info.capabilities.tools.is_some());
    if !has_tools {
        return Ok(Vec::new());
    }
    let mut tools = Tally::new(limits);
    let mut cursor = None;
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = peer.list_tools(Some(params)).await.map_err(|error| failed(&error))?;
        for tool in page.tools {
            tools.add(tool)?;
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools.list);
        }
    }
    Err(format!("the list has more than {PAGES} pages, which is the limit"))
}

fn failed(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(data) => format!("it answers: {}", short(&data.message)),
        ServiceError::UnexpectedResponse => "what it answers is no list of tools".to_owned(),
        other => short(&other.to_string()),
    }
}

/// The list so far, and how large it is.
struct Tally<'l> {
    list: Vec<ToolInfo>,
    names: HashSet<String>,
    size: usize,
    limits: &'l Limits,
}

impl<'l> Tally<'l> {
    fn new(limits: &'l Limits) -> Self {
        Self { list: Vec::new(), names: HashSet::new(), size: 0, limits }
    }

    fn add(&mut self, tool: Tool) -> Result<(), String> {
        let name = tool.name.into_owned();
        if name.is_empty() {
            return Err(format!("tool {} of the list has no name", self.list.len() + 1));
        }
        if !self.names.insert(name.clone()) {
            return Err(format!("there are two tools with the name `{}`", short(&name)));
        }
        if self.list.len() >= self.limits.tools {
            return Err(format!("there are more than {}, which is the limit", self.limits.tools));
        }
        let description = tool.description.map(std::borrow::Cow::into_owned).or(tool.title);
        let description = description.unwrap_or_default();
        let parameters = Value::Object(Arc::unwrap_or_clone(tool.input_schema));
        self.size += name.len() + description.len() + parameters.to_string().len();
        if self.size > self.limits.listing {
            return Err(format!(
                "their names, descriptions and schemas have more than {} bytes, which is the limit",
                self.limits.listing
            ));
        }
        self.list.push(ToolInfo { name, description, parameters });
        Ok(())
    }
}

/// Whether all names that somebody wants, or does not want, are there. A name that stands for
/// nothing is a mistake, and where it keeps a tool away, one that nobody would notice.
pub(crate) fn check(listed: &[ToolInfo], wanted: &Tools) -> Result<(), String> {
    let Some(name) = wanted.names().find(|name| listed.iter().all(|tool| tool.name != *name))
    else {
        return Ok(());
    };
    let mut known = String::new();
    for tool in listed.iter().take(20) {
        known.push_str(if known.is_empty() { "`" } else { ", `" });
        known.push_str(&tool.name);
        known.push('`');
    }
    let (key, rest) = match wanted {
        Tools::Except(_) => ("disabled", listed.len().saturating_sub(20)),
        Tools::All | Tools::Only(_) => ("enabled", listed.len().saturating_sub(20)),
    };
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let known = if listed.is_empty() { "none".to_owned() } else { known };
    Err(format!("`{name}` is to be {key}, but there is no such tool; there is {known}{more}"))
}

/// Those that are wanted.
pub(crate) fn select(listed: Vec<ToolInfo>, wanted: &Tools) -> Arc<[ToolInfo]> {
    listed.into_iter().filter(|tool| wanted.wants(&tool.name)).collect()
}
