//! How hosts name the tools of MCP servers: in one word, out of which the two have to be read again.

use tollgate_core::event::ToolCall;
use tollgate_core::target::Reading;

/// How a host makes one word of a server and its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpNames {
    /// What it begins with: `mcp__`. Empty where any tool that is not known could be one.
    pub prefix: &'static str,
    /// What stands between the two.
    pub separator: &'static str,
}

impl McpNames {
    /// As Claude Code does it, and most others: `mcp__server__tool`.
    pub const CLAUDE: Self = Self { prefix: "mcp__", separator: "__" };

    /// As Gemini CLI does it: `mcp_server_tool`.
    pub const GEMINI: Self = Self { prefix: "mcp_", separator: "_" };

    /// As Factory Droid does it: `server___tool`.
    pub const DROID: Self = Self { prefix: "", separator: "___" };

    /// The call of a tool that is none of the host's own. Where the word can be read in several ways,
    /// policies and matchers consider them all; where the host says which server it is, there is one.
    pub(crate) fn call(self, name: &str, server: Option<&str>, tool: Option<&str>) -> ToolCall {
        if let (Some(server), Some(tool)) = (server, tool) {
            return ToolCall::new(tool).server(server);
        }
        let Some(word) = name.strip_prefix(self.prefix).filter(|word| !word.is_empty()) else {
            return ToolCall::new(name);
        };
        let mut readings = Reading::all_of(word, self.separator);
        if let Some(server) = server {
            // The word has the server's name with what no name of a tool may have replaced.
            let replaced = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
            let shown: String = server.chars().map(replaced).collect();
            let same = |reading: &&Reading| reading.server == server || reading.server == shown;
            if let Some(reading) = readings.iter().find(same) {
                return ToolCall::new(&*reading.tool).server(server);
            }
        }
        match &mut *readings {
            [only] if !self.prefix.is_empty() => ToolCall::new(&*only.tool).server(&*only.server),
            _ => ToolCall { readings, ..ToolCall::new(name) },
        }
    }

    /// The word for a server's tool.
    pub(crate) fn word(self, server: &str, tool: &str) -> String {
        format!("{}{server}{}{tool}", self.prefix, self.separator)
    }
}
