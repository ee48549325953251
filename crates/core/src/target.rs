//! Which tool: the names that hooks and policies match, compiled so that a look-up is one hash.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use hashbrown::{Equivalent, HashMap};
use serde::{Deserialize, Serialize};

use crate::event::ToolCall;
use crate::tools;

/// One server and tool that a fused name could mean.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The server.
    pub server: String,
    /// Its tool.
    pub tool: String,
}

impl Reading {
    /// Every server and tool that `name`, fused with `separator`, could mean. A name of more than
    /// some 500 bytes means none.
    ///
    /// ```
    /// use tollgate_core::target::Reading;
    ///
    /// let readings = Reading::all_of("a__b__c", "__");
    /// let read = |r: &Reading| format!("{} | {}", r.server, r.tool);
    /// assert_eq!(readings.iter().map(read).collect::<Vec<_>>(), ["a | b__c", "a__b | c"]);
    /// ```
    pub fn all_of(name: &str, separator: &str) -> Vec<Self> {
        // No server and no tool has a longer name; without a bound, a name of nothing but
        // separators would take memory by its square.
        const LONGEST: usize = 256;
        if separator.is_empty() || name.len() > 2 * LONGEST + separator.len() {
            return Vec::new();
        }
        let mut readings = Vec::new();
        let mut from = 0;
        // Overlapping separators (`a___b`) are splits too, so the search moves on by one character.
        while let Some(at) = name.get(from..).and_then(|rest| rest.find(separator)) {
            let at = from + at;
            let (server, rest) = name.split_at(at);
            let tool = rest.get(separator.len()..).unwrap_or_default();
            if !server.is_empty() && !tool.is_empty() {
                readings.push(Self { server: server.to_owned(), tool: tool.to_owned() });
            }
            from = at + rest.chars().next().map_or(1, char::len_utf8);
        }
        readings
    }
}

/// What matchers look at: a tool with its server, or another name that an event goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The MCP server, if any.
    pub server: Option<&'a str>,
    /// The name.
    pub name: &'a str,
    /// Other servers and tools it could mean.
    pub readings: &'a [Reading],
}

impl<'a> Subject<'a> {
    /// A subject without a server.
    pub const fn named(name: &'a str) -> Self {
        Self { server: None, name, readings: &[] }
    }

    /// The tool of a call.
    pub fn of_call(call: &'a ToolCall) -> Self {
        Self { server: call.server_name(), name: &call.name, readings: &call.readings }
    }

    /// Each server and tool it could mean, itself first.
    pub(crate) fn keys(self) -> impl Iterator<Item = Key<'a>> {
        std::iter::once(Key { server: self.server, name: self.name }).chain(
            self.readings.iter().map(|reading| Key {
                server: Some(reading.server.as_str()).filter(|server| !server.is_empty()),
                name: &reading.tool,
            }),
        )
    }
}

/// A server and a name, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key<'a> {
    pub(crate) server: Option<&'a str>,
    pub(crate) name: &'a str,
}

impl<'a> Key<'a> {
    /// As patterns see it: a name, or `server/tool`.
    pub(crate) fn text(self) -> Cow<'a, str> {
        match self.server {
            None => Cow::Borrowed(self.name),
            Some(server) => Cow::Owned([server, "/", self.name].concat()),
        }
    }

    /// Every server and name that patterns see as this text.
    pub(crate) fn all_written(text: &'a str) -> impl Iterator<Item = Self> {
        let of_servers = text.match_indices('/').filter_map(move |(at, _)| {
            Some(Key { server: Some(text.get(..at)?), name: text.get(at + 1..)? })
        });
        std::iter::once(Key { server: None, name: text }).chain(of_servers)
    }
}

/// A server and a name, owned: the key of [`Targets`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnedKey {
    server: Option<Box<str>>,
    name: Box<str>,
}

impl OwnedKey {
    fn borrow(&self) -> Key<'_> {
        Key { server: self.server.as_deref(), name: &self.name }
    }

    pub(crate) fn is(&self, key: Key<'_>) -> bool {
        self.borrow() == key
    }
}

// The same hash as the borrowed form has, which is what lets one be looked up by the other.
impl Hash for OwnedKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.borrow().hash(state);
    }
}

impl From<Key<'_>> for OwnedKey {
    fn from(key: Key<'_>) -> Self {
        Self { server: key.server.map(Into::into), name: key.name.into() }
    }
}

impl Equivalent<OwnedKey> for Key<'_> {
    fn equivalent(&self, key: &OwnedKey) -> bool {
        *self == key.borrow()
    }
}

/// A map by exact server and name.
#[derive(Debug, Clone)]
pub(crate) struct Targets<V> {
    map: HashMap<OwnedKey, V>,
}

impl<V> Default for Targets<V> {
    fn default() -> Self {
        Self { map: HashMap::new() }
    }
}

impl<V> Targets<V> {
    pub(crate) fn get(&self, key: Key<'_>) -> Option<&V> {
        // The common agent has no exact rule at all for most of its tools.
        if self.map.is_empty() { None } else { self.map.get(&key) }
    }

    /// The value at `key`, made where there is none.
    pub(crate) fn entry(&mut self, key: Key<'_>) -> &mut V
    where
        V: Default,
    {
        self.map.entry(OwnedKey::from(key)).or_default()
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.map.reserve(more);
    }
}

/// What a rule or a matcher names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// Every tool.
    Any,
    /// Every tool of a server.
    Server(String),
    /// The agent's own tool of this name, or of another name the tool table has for it.
    Tool(String),
    /// A server's tool.
    Mcp {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
    },
    /// As a person writes it in one word, `server/tool`. The word is not split where it is
    /// matched: it means every server and tool that are written so.
    Written(String),
}

impl Target {
    /// Reads `*`, `server/*`, `server/tool` or a tool's name.
    pub fn parse(text: &str) -> Self {
        if text == "*" {
            Self::Any
        } else if text.contains('/') {
            Self::Written(text.to_owned())
        } else {
            Self::Tool(text.to_owned())
        }
    }

    /// Whether no tool can be called so: a name with a `*` in it, or none at all. Tools do not
    /// have such names, so whoever writes one has another pattern in mind.
    pub(crate) fn means_nothing(&self) -> bool {
        let odd = |name: &str| name.is_empty() || name.contains('*');
        match self {
            Self::Any => false,
            Self::Tool(name) | Self::Server(name) => odd(name),
            Self::Mcp { server, tool } => odd(server) || odd(tool),
            Self::Written(text) => {
                let text = text.strip_suffix("/*").unwrap_or(text);
                odd(text) || text.starts_with('/') || text.ends_with('/')
            }
        }
    }

    /// How specific it is; a lower scope is looked at first.
    pub(crate) fn scope(&self) -> Scope {
        match self {
            Self::Any => Scope::Any,
            Self::Server(_) => Scope::Server,
            Self::Written(text) if text.ends_with("/*") => Scope::Server,
            Self::Tool(_) | Self::Mcp { .. } | Self::Written(_) => Scope::Exact,
        }
    }

    /// Whether it names an MCP server.
    pub(crate) fn names_server(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Mcp { .. } | Self::Written(_))
    }

    /// The server all of whose tools it means.
    pub(crate) fn whole_server(&self) -> Option<&str> {
        match self {
            Self::Server(server) => Some(server.as_str()),
            Self::Written(text) => text.strip_suffix("/*"),
            _ => None,
        }
        .filter(|server| !server.is_empty())
    }

    /// The exact names it means.
    pub(crate) fn keys(&self, names: Names) -> Vec<Key<'_>> {
        let tool = |name| Key { server: None, name };
        match self {
            Self::Any | Self::Server(_) => Vec::new(),
            Self::Tool(name) => match names {
                Names::OfTheTable => tools::spellings(name).into_iter().map(tool).collect(),
                Names::AsWritten => vec![tool(name)],
            },
            Self::Mcp { server, tool } => vec![Key { server: Some(server), name: tool }],
            Self::Written(text) if text.ends_with("/*") => vec![tool(text)],
            Self::Written(text) => {
                Key::all_written(text).filter(|key| key.server != Some("")).collect()
            }
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Server(server) => write!(f, "{server}/*"),
            Self::Tool(name) => f.write_str(name),
            Self::Mcp { server, tool } => write!(f, "{server}/{tool}"),
            Self::Written(text) => f.write_str(text),
        }
    }
}

/// Which names a tool goes by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Names {
    /// All that the tool table has for it.
    #[default]
    OfTheTable,
    /// The one that is written.
    AsWritten,
}

/// How specific a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Exact,
    Server,
    Any,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(target: &Target) -> Vec<(Option<&str>, &str)> {
        target.keys(Names::OfTheTable).into_iter().map(|key| (key.server, key.name)).collect()
    }

    #[test]
    fn a_written_target_means_every_split() {
        assert_eq!(
            keys(&Target::parse("srv/a/b")),
            [(None, "srv/a/b"), (Some("srv"), "a/b"), (Some("srv/a"), "b")]
        );
        assert_eq!(keys(&Target::parse("/x")), [(None, "/x")]);
        assert_eq!(keys(&Target::parse("srv/*")), [(None, "srv/*")]);
        assert_eq!(Target::parse("srv/a/*").whole_server(), Some("srv/a"));
        assert_eq!(Target::parse("/*").whole_server(), None);
    }

    #[test]
    fn fused_names_are_read_in_every_way() {
        let readings = |name| {
            Reading::all_of(name, "__")
                .into_iter()
                .map(|reading| (reading.server, reading.tool))
                .collect::<Vec<_>>()
        };
        let pair = |server: &str, tool: &str| (server.to_owned(), tool.to_owned());
        assert_eq!(readings("a__b"), [pair("a", "b")]);
        assert_eq!(readings("a___b"), [pair("a", "_b"), pair("a_", "b")]);
        assert_eq!(readings("__a"), []);
        assert_eq!(readings("plain"), []);
        assert_eq!(readings("é__ü__ö"), [pair("é", "ü__ö"), pair("é__ü", "ö")]);
    }
}
