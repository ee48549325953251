//! Which tool: the names that hooks and policies match, compiled so that a look-up is one hash.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

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
        let reading = |(server, tool): (&str, &str)| Self {
            server: server.to_owned(),
            tool: tool.to_owned(),
        };
        splits(name, separator).into_iter().map(reading).collect()
    }
}

/// Every two parts with `separator` between them that make up `name`, neither of them empty.
fn splits<'n>(name: &'n str, separator: &str) -> Vec<(&'n str, &'n str)> {
    // No server and no tool has a longer name; without a bound, a name of nothing but separators
    // would take memory by its square.
    const LONGEST: usize = 256;
    if separator.is_empty() || name.len() > 2 * LONGEST + separator.len() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut from = 0;
    // Overlapping separators (`a___b`) are splits too, so the search moves on by one character.
    while let Some(at) = name.get(from..).and_then(|rest| rest.find(separator)) {
        let at = from + at;
        let (server, rest) = name.split_at(at);
        let tool = rest.get(separator.len()..).unwrap_or_default();
        if !server.is_empty() && !tool.is_empty() {
            found.push((server, tool));
        }
        from = at + rest.chars().next().map_or(1, char::len_utf8);
    }
    found
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

/// A server and a name, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnedKey {
    server: Option<Box<str>>,
    name: Box<str>,
}

impl OwnedKey {
    pub(crate) fn is(&self, key: Key<'_>) -> bool {
        self.server.as_deref() == key.server && *self.name == *key.name
    }
}

impl From<Key<'_>> for OwnedKey {
    fn from(key: Key<'_>) -> Self {
        Self { server: key.server.map(Into::into), name: key.name.into() }
    }
}

/// A name of a server or its tool in the one form in which all hosts' spellings are equal.
pub(crate) type Loose = SmallVec<[u8; 64]>;

/// A server's name in the one form of all its spellings. Hosts put the server into the name of its
/// tools, and replace what such a name may not have: `my-server` is `my_server` to Codex. Some
/// write it in lower case.
pub(crate) fn loose_server(server: &str) -> Loose {
    replaced(server).map(|byte| byte.to_ascii_lowercase()).collect()
}

/// As [`loose_server`], for a server's tool, whose case counts.
pub(crate) fn loose_tool(tool: &str) -> Loose {
    replaced(tool).collect()
}

/// A text with `_` for each character that some host replaces.
fn replaced(text: &str) -> impl Iterator<Item = u8> {
    // The bytes behind the first one of a character are a part of it.
    let first = text.bytes().filter(|byte| !(0x80..0xc0).contains(byte));
    first.map(|byte| if byte.is_ascii_alphanumeric() { byte } else { b'_' })
}

/// A text as patterns see it in the spelling of the strictest host; none where that is the text.
pub(crate) fn plain(text: &str) -> Option<String> {
    let kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/';
    if text.chars().all(kept) {
        return None;
    }
    Some(text.chars().map(|c| if kept(c) { c } else { '_' }).collect())
}

/// A map by server and name: the agent's own tools by their exact names, tools of servers by any
/// spelling.
#[derive(Debug, Clone)]
pub(crate) struct Targets<V> {
    own: HashMap<String, V>,
    /// By the server and the tool with a `/` between them, which neither has in this form.
    served: HashMap<Loose, V>,
}

impl<V> Default for Targets<V> {
    fn default() -> Self {
        Self { own: HashMap::new(), served: HashMap::new() }
    }
}

fn served(server: &str, tool: &str) -> Loose {
    let mut key = loose_server(server);
    key.push(b'/');
    key.extend(replaced(tool));
    key
}

impl<V> Targets<V> {
    pub(crate) fn get(&self, key: Key<'_>) -> Option<&V> {
        // The common agent has no exact rule at all for most of its tools.
        match key.server {
            None if self.own.is_empty() => None,
            None => self.own.get(key.name),
            Some(_) if self.served.is_empty() => None,
            Some(server) => self.served.get(&served(server, key.name)),
        }
    }

    /// The value at `key`, made where there is none.
    pub(crate) fn entry(&mut self, key: Key<'_>) -> &mut V
    where
        V: Default,
    {
        match key.server {
            None => self.own.entry_ref(key.name).or_default(),
            Some(server) => self.served.entry(served(server, key.name)).or_default(),
        }
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.own.reserve(more);
    }
}

/// What a rule or a matcher names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// Every tool.
    Any,
    /// Every tool of a server.
    Server(String),
    /// The agent's own tool of this name, of another name the tool table has for it, or of the
    /// name a host has for it (`Bash`). A server's tool where the name is one that hosts make of
    /// both: `mcp__server__tool`, `mcp_server_tool`, `server__tool`; and all tools of a server:
    /// `mcp__server`, `mcp__server__*`.
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
    /// Reads `*`, `server/*`, `server/tool` or a tool's name, which may be a host's name for it.
    pub fn parse(text: &str) -> Self {
        if text == "*" {
            Self::Any
        } else if text.contains('/') {
            Self::Written(text.to_owned())
        } else {
            Self::Tool(text.to_owned())
        }
    }

    /// True if no tool can be called so: a name with a `*` in it, or an empty one. The author of
    /// such a name has another pattern in mind.
    pub(crate) fn means_nothing(&self) -> bool {
        let odd = |name: &str| name.is_empty() || name.contains('*');
        match self {
            Self::Any => false,
            Self::Tool(name) => odd(fused_server(name).unwrap_or(name)),
            Self::Server(name) => odd(name),
            Self::Mcp { server, tool } => odd(server) || odd(tool),
            Self::Written(text) => {
                let text = text.strip_suffix("/*").unwrap_or(text);
                odd(text) || text.starts_with('/') || text.ends_with('/')
            }
        }
    }

    /// Why it cannot be the name of a tool of the agent, and what to write instead.
    pub(crate) fn no_name(&self) -> Option<&'static str> {
        let Self::Tool(name) = self else { return None };
        if name.contains('(') {
            return Some("name the tool alone, and say which of its calls in a condition");
        }
        if name.contains(['|', ',', ';']) {
            return Some("write a rule for each tool");
        }
        let is_odd =
            |c: char| c.is_whitespace() || c.is_control() || "^$\\?[]{})\"'`<>".contains(c);
        name.contains(is_odd).then_some("write the name of one tool, without a pattern")
    }

    /// How specific it is; a lower scope is looked at first.
    pub(crate) fn scope(&self, names: Names) -> Scope {
        match self {
            Self::Any => Scope::Any,
            _ if self.whole_server(names).is_some() => Scope::Server,
            Self::Written(text) if text.ends_with("/*") => Scope::Server,
            _ => Scope::Exact,
        }
    }

    /// Whether it names an MCP server.
    pub(crate) fn names_server(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Mcp { .. } | Self::Written(_))
    }

    /// The server all of whose tools it means.
    pub(crate) fn whole_server(&self, names: Names) -> Option<&str> {
        match self {
            Self::Server(server) => Some(server.as_str()),
            Self::Written(text) => text.strip_suffix("/*"),
            Self::Tool(name) if names == Names::OfTheTable => fused_server(name),
            _ => None,
        }
        .filter(|server| !server.is_empty())
    }

    /// The exact names it means.
    pub(crate) fn keys(&self, names: Names) -> Vec<Key<'_>> {
        let own = |name| Key { server: None, name };
        match self {
            Self::Any | Self::Server(_) => Vec::new(),
            Self::Tool(name) => match names {
                Names::OfTheTable => {
                    let spellings = tools::spellings(name).into_iter().map(own);
                    spellings.chain(fused_tools(name)).collect()
                }
                Names::AsWritten => vec![own(name)],
            },
            Self::Mcp { server, tool } => vec![Key { server: Some(server), name: tool }],
            Self::Written(text) if text.ends_with("/*") => vec![own(text)],
            Self::Written(text) => {
                Key::all_written(text).filter(|key| key.server != Some("")).collect()
            }
        }
    }

    /// The host's tool that it is about alone, where that is one of several that come as one tool
    /// of the table.
    pub(crate) fn part(&self) -> Option<&str> {
        let Self::Tool(name) = self else { return None };
        tools::is_part(name).then_some(name)
    }
}

/// The server of a call whose host does not say which server it is. Cursor is the one that does not.
/// Rules that deny or ask hold there for tools of the same name, whatever the server.
pub const UNNAMED_SERVER: &str = "mcp";

/// What hosts put before a server and its tool where they make one word of both: most of them, and
/// Gemini CLI and VS Code.
const FUSED: &str = "mcp__";
const FUSED_SHORT: &str = "mcp_";

/// The words of hosts for a server's tool.
pub(crate) fn fused(server: &str, tool: &str) -> [String; 2] {
    [[FUSED, server, "__", tool].concat(), [FUSED_SHORT, server, "_", tool].concat()]
}

/// The tools of servers that one word means, in every reading of the words that hosts make. What
/// may be a tool of the agent's own (`server_tool`, `server-tool`) is none of them.
pub(crate) fn fused_tools(word: &str) -> Vec<Key<'_>> {
    let found = if let Some(rest) = word.strip_prefix(FUSED) {
        splits(rest, "__")
    } else if let Some(rest) = word.strip_prefix(FUSED_SHORT) {
        splits(rest, "_")
    } else if let Some(tool) = word.strip_prefix("MCP:") {
        vec![(UNNAMED_SERVER, tool)]
    } else {
        let mut found = splits(word, "__");
        found.extend(splits(word, "___"));
        found
    };
    let is_name = |(_, tool): &(&str, &str)| !tool.is_empty() && !tool.contains('*');
    let key = |(server, name)| Key { server: Some(server), name };
    found.into_iter().filter(is_name).map(key).collect()
}

/// The server all of whose tools one word means: `mcp__server`, `mcp__server__*`, `server__*`.
fn fused_server(word: &str) -> Option<&str> {
    let server = if let Some(rest) = word.strip_prefix(FUSED) {
        rest.strip_suffix("__*").or_else(|| (!rest.contains("__")).then_some(rest))
    } else if let Some(rest) = word.strip_prefix(FUSED_SHORT) {
        rest.strip_suffix("_*")
    } else {
        word.strip_suffix("___*").or_else(|| word.strip_suffix("__*"))
    };
    server.filter(|server| !server.is_empty() && !server.contains('*'))
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
        let whole = |text: &str| {
            let target = Target::parse(text);
            target.whole_server(Names::OfTheTable).map(ToOwned::to_owned)
        };
        assert_eq!(whole("srv/a/*").as_deref(), Some("srv/a"));
        assert_eq!(whole("/*"), None);
        for (text, server) in [
            ("mcp__git", Some("git")),
            ("mcp__git__*", Some("git")),
            ("mcp__a__b__*", Some("a__b")),
            ("mcp_git_*", Some("git")),
            ("git__*", Some("git")),
            ("git___*", Some("git")),
            ("mcp__git__push", None),
            ("mcp__", None),
            ("mcp__*", None),
            ("mcp_git", None),
            ("run_command", None),
        ] {
            assert_eq!(whole(text).as_deref(), server, "{text}");
            let target = Target::parse(text);
            assert_eq!(target.means_nothing(), text == "mcp__*", "{text}");
            let scope = if server.is_some() { Scope::Server } else { Scope::Exact };
            assert_eq!(target.scope(Names::OfTheTable), scope, "{text}");
            assert_eq!(target.whole_server(Names::AsWritten), None, "{text}");
        }
    }

    #[test]
    fn a_word_for_a_servers_tool_means_every_split() {
        for (text, expected) in [
            ("mcp__git__push", vec![("git", "push")]),
            ("mcp__a__b__c", vec![("a", "b__c"), ("a__b", "c")]),
            ("mcp_git_push", vec![("git", "push")]),
            ("mcp_a_b_c", vec![("a", "b_c"), ("a_b", "c")]),
            ("git__push", vec![("git", "push")]),
            ("git___push", vec![("git", "_push"), ("git_", "push"), ("git", "push")]),
            ("MCP:push", vec![("mcp", "push")]),
            ("MCP:", vec![]),
            ("mcp__git__*", vec![]),
            ("run_command", vec![]),
            ("server-tool", vec![]),
        ] {
            let target = Target::parse(text);
            let keys = target.keys(Names::OfTheTable).into_iter();
            let found: Vec<_> = keys.filter_map(|key| Some((key.server?, key.name))).collect();
            assert_eq!(found, expected, "{text}");
            assert_eq!(target.keys(Names::AsWritten), [Key { server: None, name: text }]);
        }
    }

    #[test]
    fn a_hosts_name_means_the_tool_of_the_table() {
        let names = |text| {
            let target = Target::parse(text);
            let keys = target.keys(Names::OfTheTable).into_iter();
            keys.map(|key| key.name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("Bash"), ["Bash", "run_command", "RUN_COMMAND"]);
        assert_eq!(names("run_command"), ["run_command", "RUN_COMMAND"]);
        assert_eq!(names("Monitor"), ["Monitor", "run_command", "RUN_COMMAND"]);
        assert_eq!(names("mystery"), ["mystery"]);
        assert_eq!(Target::parse("Monitor").part(), Some("Monitor"));
        assert_eq!(Target::parse("Bash").part(), None);
        assert_eq!(Target::parse("list_directory").part(), None);
    }

    #[test]
    fn a_server_is_found_in_any_spelling() {
        let mut targets = Targets::default();
        let key = |server, name| Key { server: Some(server), name };
        *targets.entry(key("My-Server.io", "do-it/now")) = 1;
        *targets.entry(Key { server: None, name: "my-tool" }) = 2;
        for (server, tool, found) in [
            ("My-Server.io", "do-it/now", true),
            ("My_Server_io", "do_it_now", true),
            ("my-server.io", "do-it/now", true),
            ("My-Server.io", "Do-It/now", false),
            ("My-Serverio", "do-it/now", false),
            ("My-Server", "io/do-it/now", false),
        ] {
            let value = targets.get(key(server, tool)).copied();
            assert_eq!(value, found.then_some(1), "{server} {tool}");
        }
        assert_eq!(targets.get(Key { server: None, name: "my-tool" }), Some(&2));
        assert_eq!(targets.get(Key { server: None, name: "my_tool" }), None);
        assert_eq!(loose_server("é ü"), loose_server("___"));
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
