//! Tools that reach out of the machine.

mod html;
mod images;
mod page;
mod web;

use std::sync::Arc;

use tollgate_fetch::{Allowlist, Client, Limits as FetchLimits};
use url::Url;

pub use images::Images;
pub use web::WebSearch;

use crate::config::{Config, Limits};
use crate::tool::Tool;

pub(crate) fn tools(config: &Config, limits: &Arc<Limits>) -> Vec<Arc<dyn Tool>> {
    let mut tools = Vec::new();
    if let Some(client) = &config.fetch {
        tools.push(page::tool(client, limits));
    }
    if let Some(search) = &config.search {
        tools.push(web::tool(search, limits));
    }
    if let Some(images) = &config.images {
        tools.push(images::tool(images, config.fetch.as_ref(), limits));
    }
    tools
}

/// An address that a person has configured cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` cannot be used as the address of a service: {problem}")]
pub struct EndpointError {
    /// The address, without a name and password.
    pub address: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Reads the address of a service.
fn endpoint(address: &str) -> Result<Url, EndpointError> {
    let wrong = |address: &str, problem: &str| EndpointError {
        address: address.chars().take(200).collect(),
        problem: problem.to_owned(),
    };
    let url = Url::parse(address).map_err(|error| wrong("…", &error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("…", "it has a name or a password in it"));
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(address, "it must begin with https:// or http://, and have a host"));
    }
    Ok(url)
}

/// A client that asks this one service and nobody else. The person who configured it has named
/// it, so it may be on this machine.
fn client_for(url: &Url, limits: FetchLimits) -> Client {
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or_default();
    let only = Service(format!("{host}:{port}"));
    Client::new(
        limits,
        Allowlist::new([only], |only, host, port| only.0 == format!("{host}:{port}")),
    )
}

/// The host and port of a service.
struct Service(String);

impl std::fmt::Display for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
