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
        let server = server.filter(|server| !server.is_empty());
        let tool = tool.filter(|tool| !tool.is_empty());
        if let (Some(server), Some(tool)) = (server, tool) {
            return ToolCall::new(tool).server(server);
        }
        let word = name.strip_prefix(self.prefix).filter(|word| !word.is_empty());
        let mut readings =
            word.map(|word| Reading::all_of(word, self.separator)).unwrap_or_default();
        if let Some(server) = server {
            let same = |reading: &&Reading| is_spelling(server, &reading.server);
            if let Some(reading) = readings.iter().find(same) {
                return ToolCall::new(&*reading.tool).server(server);
            }
            // Some hosts shorten the word. It is a tool of that server in any case.
            return ToolCall { readings, ..ToolCall::new(name) }.server(server);
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

/// True if a word has the server's name as `shown`: with what no name of a tool may have replaced.
fn is_spelling(server: &str, shown: &str) -> bool {
    let mut shown = shown.chars();
    let same = server.chars().all(|c| {
        let replaced = if c.is_ascii_alphanumeric() { c } else { '_' };
        shown.next().is_some_and(|it| it == c || it.eq_ignore_ascii_case(&replaced))
    });
    same && shown.next().is_none()
}
