//! What can go wrong.

use std::time::Duration;

/// Why there is no server, or no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The configuration cannot be used.
    #[error("the MCP server `{server}` cannot be used: {place}: {why}")]
    Config {
        /// The server.
        server: String,
        /// Which part of its configuration.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// It did not come up.
    #[error("the MCP server `{server}` could not be started: {why}{}", said(stderr))]
    Start {
        /// The server.
        server: String,
        /// Why.
        why: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// It came up, but what it offers cannot be used.
    #[error("the tools of the MCP server `{server}` cannot be used: {why}")]
    Tools {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// It has no such tool, or the configuration leaves it out.
    #[error("the MCP server `{server}` offers no tool `{tool}`")]
    NoSuchTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The tool ran and says that it failed. What it says is for the model.
    #[error("{text}")]
    Tool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// What the tool says.
        text: String,
    },
    /// The server answered, but with no result.
    #[error("the MCP server `{server}` gave no result of `{tool}`: {why}")]
    NoResult {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// What it says, or what is wrong with what it says.
        why: String,
    },
    /// The time is over.
    #[error(
        "the MCP server `{server}` gave no answer to `{tool}` within {time:?}{}",
        if *ended { "; it did not answer at all any more, and is started anew at the next call" } else { "" }
    )]
    Deadline {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// How long it could have taken.
        time: Duration,
        /// Whether the server hung as a whole and was ended.
        ended: bool,
    },
    /// It went away during the call. Whether the call was carried out is not known.
    #[error("the MCP server `{server}` went away during `{tool}`: {why}{}", said(stderr))]
    Gone {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Why.
        why: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// It failed several times in a row, and is left alone for a while.
    #[error(
        "the MCP server `{server}` failed {failures} times in a row and is not started again for \
         {retry_in:?}; the last time: {why}"
    )]
    Waiting {
        /// The server.
        server: String,
        /// How many times it failed in a row.
        failures: u32,
        /// When it can be tried again.
        retry_in: Duration,
        /// Why it failed the last time.
        why: String,
    },
    /// It was closed.
    #[error("the MCP server `{server}` was closed")]
    Closed {
        /// The server.
        server: String,
    },
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it wrote: {stderr}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_written_where_something_was() {
        let start = |stderr: &str| {
            let (server, why) = ("s".to_owned(), "it ended".to_owned());
            McpError::Start { server, why, stderr: stderr.to_owned() }.to_string()
        };
        assert_eq!(start(""), "the MCP server `s` could not be started: it ended");
        assert_eq!(start("oh"), "the MCP server `s` could not be started: it ended; it wrote: oh");
    }
}
