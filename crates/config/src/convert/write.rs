//! Writing the hooks of a system.

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{ToolCall, ToolPre};
use tollgate_core::{Dialect, Event as _, Kind};

use super::Entry;
use crate::dialect::host::HostDialect;
use crate::dialect::{FileDialect, HOSTS};
use crate::tools::in_polytoken;

fn host(of: &dyn FileDialect) -> Option<&'static HostDialect> {
    HOSTS.iter().copied().find(|host| host.dialect_of() == of.dialect())
}

/// Whether a system has hooks that are not waited for.
pub(super) fn has_background(to: &dyn FileDialect) -> bool {
    host(to).is_some_and(|host| host.has_field("async"))
}

/// Whether a hook of a system may say how long it may take.
pub(super) fn has_time(to: &dyn FileDialect) -> bool {
    to.dialect() != Dialect::Polytoken
}

/// Whether hooks at an event that is about no tool can say which.
pub(super) fn matches(to: &dyn FileDialect, kind: Kind) -> bool {
    host(to).is_some_and(|host| host.has_subject(kind))
        || to.dialect() == Dialect::Polytoken
            && matches!(kind, Kind::SubagentStart | Kind::SubagentStop)
}

/// What a system calls a tool of the table.
pub(super) fn tool(to: &dyn FileDialect, tool: &str) -> Option<String> {
    match host(to) {
        Some(host) => {
            let name = native(to, ToolCall::new(tool))?;
            host.knows_tool(&name).then_some(name)
        }
        None if to.dialect() == Dialect::Polytoken => {
            Some(in_polytoken(tool).unwrap_or(tool).to_owned())
        }
        None => Some(tool.to_owned()),
    }
}

/// What a system calls a tool of a server, or all of them.
pub(super) fn server(to: &dyn FileDialect, server: &str, tool: Option<&str>) -> String {
    let any = if to.dialect() == Dialect::Polytoken { "*" } else { ".*" };
    let tool = tool.unwrap_or(any);
    match host(to) {
        Some(_) => native(to, ToolCall::new(tool).server(server))
            .unwrap_or_else(|| format!("{server}/{tool}")),
        None => format!("{server}/{tool}"),
    }
}

/// An expression for tools of servers, in the words of another system: where that names them alike, or
/// where all of them are meant.
pub(super) fn expression(
    from: &dyn FileDialect,
    to: &dyn FileDialect,
    expression: &str,
) -> Option<String> {
    let (from, to) = (host(from)?.host().mcp, host(to)?.host().mcp);
    if from == to {
        return Some(expression.to_owned());
    }
    let is_all = matches!(expression.strip_prefix(from.prefix)?, ".*" | ".+");
    (is_all && !to.prefix.is_empty()).then(|| format!("{}.*", to.prefix))
}

fn native(to: &dyn FileDialect, call: ToolCall) -> Option<String> {
    let input = to.encode_event(ToolPre { call }.view(), &SessionInfo::default())?;
    input.get("tool_name").and_then(Value::as_str).map(str::to_owned)
}

/// The file.
pub(super) fn file(to: &dyn FileDialect, entries: &[Entry]) -> String {
    let value = match host(to) {
        Some(host) => of_host(host, entries),
        None if to.dialect() == Dialect::Polytoken => polytoken(entries),
        None => antigravity(entries),
    };
    format!("{value:#}\n")
}

fn list<'m>(parent: &'m mut Map<String, Value>, name: &str) -> Option<&'m mut Vec<Value>> {
    parent.entry(name).or_insert_with(|| json!([])).as_array_mut()
}

fn of_host(host: &HostDialect, entries: &[Entry]) -> Value {
    let mut events = Map::new();
    for entry in entries {
        let mut handler = json!({"type": "command", "command": entry.command});
        if let Value::Object(handler) = &mut handler {
            let mut put = |name: &str, value: Value| {
                if host.has_field(name) {
                    handler.insert(name.to_owned(), value);
                }
            };
            put("name", entry.name.clone().into());
            if let Some(time) = entry.time {
                put("timeout", host.in_units(time));
            }
            if entry.in_background {
                put("async", true.into());
            }
            if entry.gate {
                put("onFailure", "block".into());
            }
            if let Some(description) = &entry.description {
                put("description", description.clone().into());
                put("statusMessage", description.clone().into());
            }
        }
        let mut group = Map::new();
        if let Some(names) = &entry.names {
            let is_tool = entry.event.kinds.iter().all(|kind| kind.is_about_tool());
            group.insert("matcher".to_owned(), host.matcher_of(names, is_tool).into());
        }
        group.insert("hooks".to_owned(), json!([handler]));
        if let Some(groups) = list(&mut events, entry.event.name) {
            groups.push(group.into());
        }
    }
    json!({"hooks": events})
}

fn antigravity(entries: &[Entry]) -> Value {
    let mut hooks = Map::new();
    for entry in entries {
        let mut handler = Map::from_iter([("command".to_owned(), json!(entry.command))]);
        if let Some(time) = entry.time {
            let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
            handler.insert("timeout".to_owned(), seconds.into());
        }
        let is_tool = entry.event.kinds.iter().all(|kind| kind.is_about_tool());
        let item = if is_tool {
            let mut group = Map::new();
            if let Some(names) = &entry.names {
                group.insert("matcher".to_owned(), names.join("|").into());
            }
            group.insert("hooks".to_owned(), json!([handler]));
            Value::Object(group)
        } else {
            Value::Object(handler)
        };
        let hook = hooks.entry(plain(&entry.name)).or_insert_with(|| json!({}));
        if let Some(list) = hook.as_object_mut().and_then(|hook| list(hook, entry.event.name)) {
            list.push(item);
        }
    }
    Value::Object(hooks)
}

fn polytoken(entries: &[Entry]) -> Value {
    let mut items = Vec::new();
    for entry in entries {
        // A glob means one name.
        let names = match &entry.names {
            None => vec![None],
            Some(names) => names.iter().map(Some).collect(),
        };
        let several = names.len() > 1;
        for (place, matcher) in names.into_iter().enumerate() {
            let mut name = plain(&entry.name);
            if several {
                name = format!("{name}-{}", place + 1);
            }
            let mut item = json!({"name": name, "event": entry.event.name});
            if let (Value::Object(item), Some(matcher)) = (&mut item, matcher) {
                item.insert("matcher".to_owned(), matcher.as_str().into());
            }
            if let Value::Object(item) = &mut item {
                item.insert("handler".to_owned(), json!({"bash": entry.command}));
            }
            items.push(item);
        }
    }
    items.into()
}

/// A name as people give them to hooks.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '-' };
    let name: String = name.replace(" #", "-").chars().map(plain).collect();
    if name.is_empty() { "hook".to_owned() } else { name }
}
