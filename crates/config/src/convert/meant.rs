//! Which tools a hook is about.

use tollgate_core::context::SessionInfo;
use tollgate_core::event::{ToolCall, ToolPre};
use tollgate_core::matcher::Matcher;
use tollgate_core::target::{Reading, Subject, Target};
use tollgate_core::{Dialect, Event as _, tools};

use crate::dialect::{FileDialect, FileHook, HOSTS};
use crate::tools::{in_polytoken, is_known as is_known_tool};

/// What a matcher means.
pub(super) struct Meant {
    /// Tools of the table.
    pub(super) tools: Vec<&'static str>,
    /// Servers, each with a tool or with all of them.
    pub(super) servers: Vec<(String, Option<String>)>,
    /// Expressions for tools of servers.
    pub(super) expressions: Vec<String>,
    /// Names that nobody knows.
    pub(super) others: Vec<String>,
    /// A part of which it cannot be told all that it means.
    pub(super) unclear: Option<String>,
}

/// A matcher as its author wrote it.
pub(super) fn written(hook: &FileHook) -> String {
    match &hook.condition {
        Some(condition) => condition.written().to_owned(),
        None => hook.matcher.to_string(),
    }
}

/// Whether a matcher is nothing but names.
pub(super) fn is_plain(written: &str) -> bool {
    written.chars().all(|c| c.is_ascii_alphanumeric() || "_-|".contains(c))
}

/// What a hook is about; none for all there is.
pub(super) fn of(from: &dyn FileDialect, hook: &FileHook) -> Option<Meant> {
    let written = written(hook);
    if matches!(hook.matcher, Matcher::All) && matches!(written.as_str(), "" | "*") {
        return None;
    }
    let asks_for = |tool: &&str| {
        let input = from
            .encode_event(ToolPre { call: ToolCall::new(*tool) }.view(), &SessionInfo::default());
        matches(from.dialect(), &hook.matcher, tool)
            && hook.condition.as_ref().is_none_or(|condition| {
                input.as_ref().is_none_or(|input| condition.names_hold(input))
            })
    };
    let known: Vec<_> = tools::TABLE.iter().map(|tool| tool.name).filter(asks_for).collect();
    let mut meant = Meant {
        tools: known,
        servers: Vec::new(),
        expressions: Vec::new(),
        others: Vec::new(),
        unclear: None,
    };
    let inner = written.trim_start_matches('^').trim_end_matches('$');
    let inner = inner.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or(inner);
    for part in inner.split(['|', ',']).map(str::trim).filter(|part| !part.is_empty()) {
        let (part, is_whole) = match part.trim_start_matches('^') {
            part if part.ends_with('$') => (part.trim_end_matches('$'), true),
            part => (part, written.ends_with('$')),
        };
        if let Some(server) = server(from, part) {
            meant.servers.push(server);
        } else if !is_plain(part) && is_of_servers(from, part) {
            // It is looked for in a name, which may go on behind it.
            let end = if is_whole || part.ends_with(".*") { "" } else { ".*" };
            meant.expressions.push(format!("{part}{end}"));
        } else if !is_plain(part) {
            meant.unclear = Some(written.clone());
        } else if !is_known(from, part) {
            meant.others.push(part.to_owned());
        }
    }
    Some(meant)
}

fn matches(dialect: Dialect, matcher: &Matcher, tool: &str) -> bool {
    match matcher {
        Matcher::All => true,
        Matcher::Targets(targets) => targets.iter().any(|target| match target {
            Target::Any => true,
            Target::Tool(name) => tools::same(name, tool),
            _ => false,
        }),
        Matcher::Pattern(pattern) => {
            let theirs = in_polytoken(tool).filter(|_| dialect == Dialect::Polytoken);
            // Of several tools for edits, one is as good as the other.
            let theirs = theirs.map(|name| name.replace('*', "search_replace"));
            pattern.matches(Subject::named(tool))
                || theirs.is_some_and(|name| pattern.matches(Subject::named(&name)))
        }
    }
}

/// Whether a name is that of a tool which the system has.
fn is_known(from: &dyn FileDialect, name: &str) -> bool {
    let host = HOSTS.iter().find(|host| host.dialect_of() == from.dialect());
    match host {
        Some(host) => host.knows_tool(name),
        None => is_known_tool(name),
    }
}

/// Whether an expression is about tools of servers and no others.
fn is_of_servers(from: &dyn FileDialect, part: &str) -> bool {
    let host = HOSTS.iter().find(|host| host.dialect_of() == from.dialect());
    host.is_some_and(|host| {
        let prefix = host.host().mcp.prefix;
        !prefix.is_empty() && part.starts_with(prefix) && !part.contains(['(', '^', '$', '\\'])
    })
}

/// The server and the tool that a part of a matcher names.
fn server(from: &dyn FileDialect, part: &str) -> Option<(String, Option<String>)> {
    let host = HOSTS.iter().find(|host| host.dialect_of() == from.dialect());
    let (server, tool) = if let Some(host) = host {
        let word = part.strip_prefix(host.host().mcp.prefix)?;
        let readings = Reading::all_of(word, host.host().mcp.separator);
        let Reading { server, tool } = readings.into_iter().next()?;
        (server, tool)
    } else {
        let (server, tool) = part.split_once('/')?;
        (server.to_owned(), tool.to_owned())
    };
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    match tool.as_str() {
        _ if !is_name(&server) => None,
        ".*" | "*" | ".+" | "" => Some((server, None)),
        tool if is_name(tool) => Some((server, Some(tool.to_owned()))),
        _ => None,
    }
}
