//! MCP servers.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tollgate_core::policy::McpServer;

/// An MCP server and how it is reached. What is not said about a field in one variant is said in
/// another: the names mean the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum McpServerConfig {
    /// A process, spoken to by its standard input and output.
    Stdio {
        /// The server's name.
        name: String,
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Where given, its other tools are denied. Excludes `disabled_tools`.
        #[serde(skip_serializing_if = "Option::is_none")]
        enabled_tools: Option<Vec<String>>,
        /// Where given, these are denied. Excludes `enabled_tools`.
        #[serde(skip_serializing_if = "Option::is_none")]
        disabled_tools: Option<Vec<String>>,
    },
    /// An address that sends events.
    Sse {
        /// The server's name.
        name: String,
        /// The address.
        url: String,
        /// Headers of every request.
        #[serde(skip_serializing_if = "Option::is_none")]
        headers: Option<HashMap<String, String>>,
        /// Where given, its other tools are denied. Excludes `disabled_tools`.
        #[serde(skip_serializing_if = "Option::is_none")]
        enabled_tools: Option<Vec<String>>,
        /// Where given, these are denied. Excludes `enabled_tools`.
        #[serde(skip_serializing_if = "Option::is_none")]
        disabled_tools: Option<Vec<String>>,
    },
    /// An address that is asked.
    Http {
        /// The server's name.
        name: String,
        /// The address.
        url: String,
        /// Headers of every request.
        #[serde(skip_serializing_if = "Option::is_none")]
        headers: Option<HashMap<String, String>>,
        /// How long a request may take, in seconds. Default: 30.
        #[serde(default = "default_timeout")]
        timeout: f64,
        /// How long the server may send nothing, in seconds. Default: 300.
        #[serde(default = "default_sse_read_timeout")]
        sse_read_timeout: f64,
        /// Whether the session is ended when the connection closes. Default: yes.
        #[serde(default = "default_terminate_on_close")]
        terminate_on_close: bool,
        /// Where given, its other tools are denied. Excludes `disabled_tools`.
        #[serde(skip_serializing_if = "Option::is_none")]
        enabled_tools: Option<Vec<String>>,
        /// Where given, these are denied. Excludes `enabled_tools`.
        #[serde(skip_serializing_if = "Option::is_none")]
        disabled_tools: Option<Vec<String>>,
    },
}

const fn default_timeout() -> f64 {
    30.0
}

const fn default_sse_read_timeout() -> f64 {
    300.0
}

const fn default_terminate_on_close() -> bool {
    true
}

impl McpServerConfig {
    /// The server's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Stdio { name, .. } | Self::Sse { name, .. } | Self::Http { name, .. } => name,
        }
    }
}

impl From<&McpServerConfig> for McpServer {
    fn from(config: &McpServerConfig) -> Self {
        let (McpServerConfig::Stdio { name, enabled_tools, disabled_tools, .. }
        | McpServerConfig::Sse { name, enabled_tools, disabled_tools, .. }
        | McpServerConfig::Http { name, enabled_tools, disabled_tools, .. }) = config;
        Self {
            name: name.clone(),
            enabled_tools: enabled_tools.clone(),
            disabled_tools: disabled_tools.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_an_http_server_has_a_default() {
        let text = r#"{"type": "http", "name": "docs", "url": "https://docs.example"}"#;
        let server: McpServerConfig = serde_json::from_str(text).unwrap();
        let McpServerConfig::Http { timeout, sse_read_timeout, terminate_on_close, .. } = server
        else {
            panic!("not an http server");
        };
        assert!((timeout - 30.0).abs() < f64::EPSILON);
        assert!((sse_read_timeout - 300.0).abs() < f64::EPSILON);
        assert!(terminate_on_close);
    }
}
