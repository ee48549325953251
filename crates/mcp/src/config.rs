//! What a server is and what it may take.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::McpError;
use crate::text::{Text, is_variable};

/// A server: how to get at it, which of its tools are wanted, and what it may take.
///
/// ```
/// use tollgate_mcp::{ServerConfig, Tools};
///
/// let mut config = ServerConfig::stdio("files", "mcp-files", ["--root", "/srv"]);
/// config.tools = Tools::except(["delete"]);
/// assert!(config.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// What it is called here. It has no say in that.
    pub name: String,
    /// How to get at it.
    pub transport: Transport,
    /// Which of its tools are wanted.
    pub tools: Tools,
    /// What it may take.
    pub limits: Limits,
}

/// How to get at a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that is started, and spoken to over its standard input and output.
    Stdio {
        /// The program. A name without a slash is looked up in `PATH`.
        command: String,
        /// Its arguments. Everybody on the machine can see them: no place for secrets.
        args: Vec<String>,
        /// Environment variables that it gets, besides `PATH`, `HOME` and the like.
        env: BTreeMap<String, Text>,
        /// Where it runs; where we do, if it is not said.
        cwd: Option<PathBuf>,
    },
    /// A place on the web (streamable HTTP).
    Http {
        /// Its address, `http` or `https`.
        url: String,
        /// Headers that go with every request.
        headers: BTreeMap<String, Text>,
    },
}

/// Which tools of a server are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tools {
    /// All of them, also those that it comes up with later.
    #[default]
    All,
    /// These and no others.
    Only(BTreeSet<String>),
    /// All but these.
    Except(BTreeSet<String>),
}

impl Tools {
    /// These and no others.
    pub fn only<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::Only(names.into_iter().map(Into::into).collect())
    }

    /// All but these.
    pub fn except<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::Except(names.into_iter().map(Into::into).collect())
    }

    /// Whether this one is wanted.
    pub fn wants(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(tool),
            Self::Except(names) => !names.contains(tool),
        }
    }

    /// The names that it mentions.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Self::All => None,
            Self::Only(names) | Self::Except(names) => Some(names),
        };
        names.into_iter().flatten().map(String::as_str)
    }
}

/// What a server may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take to start, to greet and to list its tools.
    pub start: Duration,
    /// How long a call may take. Where the server is started for it, that comes on top, and where
    /// it gives no answer, up to two seconds in which it is asked whether it is alive.
    pub call: Duration,
    /// How many bytes the model gets of an answer. Of a longer one, it gets the beginning.
    pub output: usize,
    /// How many bytes one message of the server may have. A program that sends a longer one is
    /// ended.
    pub message: usize,
    /// How many tools it may list.
    pub tools: usize,
    /// How many bytes their names, descriptions and schemas may have, all together.
    pub listing: usize,
    /// How long it is left alone when it has failed twice in a row. After each further time it is
    /// twice as long, up to a minute or this, whichever is longer. After the first failure it is
    /// started again at once.
    pub backoff: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_mins(1),
            output: 256 * 1024,
            message: 16 * 1024 * 1024,
            tools: 512,
            listing: 2 * 1024 * 1024,
            backoff: Duration::from_secs(1),
        }
    }
}

impl ServerConfig {
    /// The name that a server may have at the most, in bytes.
    const NAME: usize = 128;

    /// A program.
    pub fn stdio<A: Into<String>>(
        name: impl Into<String>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let transport = Transport::Stdio {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            cwd: None,
        };
        Self::new(name, transport)
    }

    /// A place on the web.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, Transport::Http { url: url.into(), headers: BTreeMap::new() })
    }

    /// With all tools and the usual limits.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self { name: name.into(), transport, tools: Tools::All, limits: Limits::default() }
    }

    /// Whether it is in order, as far as that can be said without starting anything.
    pub fn check(&self) -> Result<(), McpError> {
        if self.name.is_empty() {
            return Err(self.wrong("name", "is empty"));
        }
        if self.name.len() > Self::NAME || self.name.chars().any(char::is_control) {
            return Err(self.wrong("name", "must have 128 bytes at the most, and none of control"));
        }
        match &self.transport {
            Transport::Stdio { command, args, env, .. } => {
                if command.is_empty() {
                    return Err(self.wrong("command", "is empty"));
                }
                if command.contains('\0') || args.iter().any(|arg| arg.contains('\0')) {
                    return Err(self.wrong("command", "has a NUL in it or in its arguments"));
                }
                match env.keys().find(|name| !is_variable(name)) {
                    Some(name) => {
                        Err(self.wrong(&format!("env.{name}"), "is no name of a variable"))
                    }
                    None => Ok(()),
                }
            }
            Transport::Http { url, headers } => {
                crate::http::check(url, headers).map_err(|(place, why)| self.wrong(&place, &why))
            }
        }
    }

    pub(crate) fn wrong(&self, place: &str, why: &str) -> McpError {
        McpError::Config { server: self.name.clone(), place: place.to_owned(), why: why.to_owned() }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", env)
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &crate::http::shown(url))
                .field("headers", headers)
                .finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(config: &ServerConfig) -> String {
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_used_is_refused_before_anything_is_started() {
        let fine = ServerConfig::stdio("s", "cat", ["-"]);
        assert_eq!(fine.check(), Ok(()));
        assert!(
            wrong(&ServerConfig { name: String::new(), ..fine.clone() }).contains("name: is empty")
        );
        assert!(wrong(&ServerConfig { name: "a\nb".into(), ..fine.clone() }).contains("name"));
        assert!(wrong(&ServerConfig { name: "a".repeat(129), ..fine }).contains("128 bytes"));
        assert!(wrong(&ServerConfig::stdio("s", "", ["-"])).contains("command: is empty"));
        assert!(wrong(&ServerConfig::stdio("s", "cat", ["\0"])).contains("NUL"));
        assert!(wrong(&ServerConfig::http("s", "ftp://h/")).contains("url: "));
        let mut env = ServerConfig::stdio("s", "cat", ["-"]);
        if let Transport::Stdio { env, .. } = &mut env.transport {
            env.insert("A=B".into(), Text::literal("1"));
        }
        assert!(wrong(&env).contains("env.A=B: is no name"));
    }

    #[test]
    fn debug_shows_no_secrets() {
        let mut config = ServerConfig::http("s", "https://me:pass@h/mcp?key=topsecret");
        if let Transport::Http { headers, .. } = &mut config.transport {
            headers.insert("authorization".into(), Text::literal("Bearer topsecret"));
        }
        let shown = format!("{config:?}");
        assert!(shown.contains("https://h/mcp"), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("pass"), "{shown}");
    }
}
