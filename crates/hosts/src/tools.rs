//! A host's tools in Tollgate's words, and back.

use std::sync::Arc;

use serde_json::{Map, Value};
use tollgate_core::event::{Args, Native, ToolCall};
use tollgate_core::tools::{self, Tool};

use crate::host::Host;
use crate::patch;

/// A tool of a host that is one of Tollgate's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTool {
    /// What the host calls it. With a `*` at its end it is all that begin like this.
    pub native: &'static str,
    /// What it is called in the table.
    pub tool: &'static str,
    /// Its arguments: the host's name, and the table's. Others keep the name they have.
    pub args: &'static [(&'static str, &'static str)],
    /// How many calls one of it is.
    pub shape: Shape,
}

/// How many calls one call of a host is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// One.
    #[default]
    One,
    /// One for each element of this list, or one where it is no list. An element that is an object
    /// has arguments of its own.
    Each(&'static str),
    /// One for each file of the patch in this argument.
    Patch(&'static str),
    /// One, with a list of edits in this argument.
    Edits(&'static str),
    /// One for each address in the text of this argument.
    Urls(&'static str),
    /// One, and one more for each file of a patch in the command in this argument: the host applies
    /// such a patch itself.
    Command(&'static str),
}

/// The most addresses that are looked for in a text. Where there are more, the call has none, which no
/// guard of addresses lets pass.
const MOST_URLS: usize = 1000;

impl HostTool {
    /// A tool that is one call.
    pub const fn new(
        native: &'static str,
        tool: &'static str,
        args: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { native, tool, args, shape: Shape::One }
    }

    /// In another shape.
    pub const fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Whether it is for all tools that begin like this one.
    pub(crate) fn is_family_of(&self, native: &str) -> bool {
        self.native.strip_suffix('*').is_some_and(|begin| native.starts_with(begin))
    }

    fn ours(&self, native: &str) -> Option<&'static str> {
        self.args.iter().find(|(theirs, _)| *theirs == native).map(|(_, ours)| *ours)
    }

    fn theirs(&self, ours: &str) -> Option<&'static str> {
        self.args.iter().find(|(_, name)| *name == ours).map(|(theirs, _)| *theirs)
    }

    /// The name that a call has it under, of several that mean the same.
    fn theirs_in(&self, input: &Args, ours: &str) -> Option<&'static str> {
        let given = |(theirs, name): &&(&str, &str)| *name == ours && input.contains_key(*theirs);
        let given = self.args.iter().find(given).map(|(theirs, _)| *theirs);
        given.or_else(|| self.theirs(ours))
    }

    /// Where an argument stands in the table; one that is not there stands before all others.
    fn place(&self, native: &str) -> Option<usize> {
        self.args.iter().position(|(theirs, _)| *theirs == native)
    }
}

/// The calls that a host's call of one of its tools comes to; never none.
pub(crate) fn translate(
    host: &'static Host,
    tool: &'static HostTool,
    name: &str,
    input: &Value,
    cwd: Option<&str>,
) -> Vec<ToolCall> {
    let native = as_it_is(host, name, input);
    let input = &arguments(tool, input);
    let calls = match tool.shape {
        Shape::One | Shape::Edits(_) => vec![(tool.tool, renamed(tool, input))],
        Shape::Each(list) => each(tool, input, list),
        Shape::Patch(text) => match input.get(text).and_then(Value::as_str) {
            // What cannot be read touches files that nobody knows: it is a call without its path,
            // which no guard of paths lets pass.
            None => vec![(tool.tool, renamed(tool, input))],
            Some(text) => match patch::calls(text) {
                calls if calls.is_empty() => vec![(tool.tool, renamed(tool, input))],
                calls => calls,
            },
        },
        Shape::Urls(text) => urls(tool, input, text),
        Shape::Command(text) => {
            let text = input.get(text).and_then(Value::as_str).unwrap_or_default();
            let patched = if patch::is_in(text) { patch::calls(text) } else { Vec::new() };
            std::iter::once((tool.tool, renamed(tool, input))).chain(patched).collect()
        }
    };
    let finished = |(name, args): (&'static str, Args)| {
        let args = tools::lookup(name)
            .map_or_else(|| args.clone(), |known| placed(known, args.clone(), cwd));
        ToolCall { args, native: Some(Arc::clone(&native)), ..ToolCall::new(name) }
    };
    calls.into_iter().map(finished).collect()
}

/// The host's name for what a call cannot do without, where it is not there: the command of one that
/// runs something, the path or the patch of one that writes. Without it nobody knows what would happen.
pub(crate) fn lacking(tool: &HostTool, input: &Value, calls: &[ToolCall]) -> Option<&'static str> {
    let known = tools::lookup(tool.tool)?;
    if !matches!(known.access, tools::Access::Execute | tools::Access::Write) {
        return None;
    }
    if let Shape::Patch(text) = tool.shape {
        let patch = arguments(tool, input);
        let is_there = patch.get(text).and_then(Value::as_str).is_some_and(|it| !it.is_empty());
        return (!is_there).then_some(text);
    }
    let needed = known.args.iter().filter(|arg| arg.required).find(|arg| {
        let own = calls.iter().filter(|call| call.name == known.name);
        !own.clone().all(|call| call.args.get(arg.name).is_some_and(Value::is_string))
    })?;
    tool.theirs(needed.name).or(Some(needed.name))
}

/// What a tool is called with. A host that hands over no more than a text means its first argument.
fn arguments(tool: &HostTool, input: &Value) -> Args {
    match (input, tool.shape) {
        (Value::Object(input), _) => input.clone(),
        (
            Value::String(_),
            Shape::Patch(name) | Shape::Each(name) | Shape::Urls(name) | Shape::Command(name),
        ) => Map::from_iter([(name.to_owned(), input.clone())]),
        (Value::String(_), Shape::One | Shape::Edits(_)) => {
            let first = tool.args.first();
            first.map(|(name, _)| ((*name).to_owned(), input.clone())).into_iter().collect()
        }
        _ => Map::new(),
    }
}

/// A call in the words it came in.
pub(crate) fn as_it_is(host: &Host, name: &str, input: &Value) -> Arc<Native> {
    let (host, name) = (host.name.to_owned(), name.to_owned());
    Arc::new(Native { host, name, input: input.clone() })
}

/// The arguments under the table's names.
fn renamed(tool: &HostTool, input: &Args) -> Args {
    let rename = |(name, value): (&String, &Value)| {
        let ours = tool.ours(name).unwrap_or(name);
        let value = match tool.shape {
            Shape::Edits(list) if list == name => chunks(tool, value),
            _ => value.clone(),
        };
        (ours.to_owned(), value)
    };
    // An argument that the host itself calls as the table does another one gives way to that; of two
    // names for one argument, the one that stands first in the table counts. One that is nothing is
    // not given.
    let mut args: Vec<_> = input.iter().filter(|(_, value)| !value.is_null()).collect();
    args.sort_by_key(|(name, _)| std::cmp::Reverse(tool.place(name).unwrap_or(usize::MAX)));
    args.into_iter().map(rename).collect()
}

/// The edits of one file, as the table's tool has them.
fn chunks(tool: &HostTool, edits: &Value) -> Value {
    let chunk = |edit: &Value| match edit {
        Value::Object(edit) => Value::Object(
            edit.iter()
                .map(|(name, value)| (tool.ours(name).unwrap_or(name).to_owned(), value.clone()))
                .collect(),
        ),
        other => other.clone(),
    };
    match edits {
        Value::Array(edits) => edits.iter().map(chunk).collect(),
        other => other.clone(),
    }
}

/// One call for each element of a list.
fn each(tool: &HostTool, input: &Args, list: &str) -> Vec<(&'static str, Args)> {
    let one = |value: &Value| {
        let mut input = input.clone();
        match value {
            Value::Object(fields) => {
                input.remove(list);
                input.extend(fields.clone());
            }
            value => drop(input.insert(list.to_owned(), value.clone())),
        }
        (tool.tool, renamed(tool, &input))
    };
    match input.get(list) {
        Some(Value::Array(elements)) if !elements.is_empty() => elements.iter().map(one).collect(),
        _ => vec![(tool.tool, renamed(tool, input))],
    }
}

/// One call for each address in a text; one without an address where there is none.
fn urls(tool: &HostTool, input: &Args, text: &str) -> Vec<(&'static str, Args)> {
    let words = input.get(text).and_then(Value::as_str).unwrap_or_default().split_whitespace();
    let found: Vec<_> = words.filter(|word| word.contains("://")).take(MOST_URLS + 1).collect();
    if found.is_empty() || found.len() > MOST_URLS {
        return vec![(tool.tool, renamed(tool, input))];
    }
    let one = |url: &str| {
        let mut args = renamed(tool, input);
        args.insert("Url".to_owned(), url.into());
        (tool.tool, args)
    };
    let stated = tool.theirs("Url").and_then(|name| input.get(name)).and_then(Value::as_str);
    found.into_iter().chain(stated).map(one).collect()
}

/// Makes the paths of a call absolute, and adds the directory where a command runs: as readers do it for the calls of
/// hosts, for a call of Tollgate's own tools.
///
/// ```
/// use serde_json::json;
/// use tollgate_core::event::ToolCall;
///
/// let mut call = ToolCall { name: "run_command".into(), ..ToolCall::default() };
/// call.args.insert("CommandLine".to_owned(), json!("ls"));
/// tollgate_hosts::place(&mut call, "/work/project");
/// assert_eq!(call.text("Cwd"), Some("/work/project"));
/// ```
pub fn place(call: &mut ToolCall, cwd: &str) {
    let is_own = call.server.as_deref().is_none_or(str::is_empty);
    if let Some(tool) = tools::lookup(&call.name).filter(|_| is_own) {
        call.args = placed(tool, std::mem::take(&mut call.args), Some(cwd));
    }
}

/// Paths where the agent is, and the directory where it is at work, where the call leaves that to the
/// host.
fn placed(tool: &Tool, mut args: Args, cwd: Option<&str>) -> Args {
    let Some(cwd) = cwd else { return args };
    let is_command = tool.access == tools::Access::Execute;
    for arg in tool.args.iter().filter(|arg| arg.is_path) {
        match args.get_mut(arg.name) {
            Some(Value::String(path)) => *path = absolute(path, cwd),
            Some(Value::Array(paths)) => {
                for path in paths {
                    if let Value::String(path) = path {
                        *path = absolute(path, cwd);
                    }
                }
            }
            // A search without a place is one of the whole project.
            None | Some(Value::Null)
                if is_command
                    || arg.required
                        && tool.access == tools::Access::Read
                        && arg.name != "AbsolutePath" =>
            {
                args.insert(arg.name.to_owned(), cwd.into());
            }
            _ => {}
        }
    }
    args
}

fn absolute(path: &str, cwd: &str) -> String {
    match path {
        "" | "." => cwd.to_owned(),
        // What it stands for is the host's to say; guards know what it usually is.
        _ if path.starts_with(['/', '~']) => path.to_owned(),
        _ => format!("{}/{}", cwd.trim_end_matches('/'), path.strip_prefix("./").unwrap_or(path)),
    }
}

/// What the host is to pass to its tool instead, where arguments were rewritten. `place` is which of
/// the calls it is that `tool` was taken for. None where the host has no way to say it.
pub(crate) fn back(
    tool: Option<&HostTool>,
    place: usize,
    input: &Value,
    before: &Args,
    after: &Args,
) -> Option<Value> {
    let Some(tool) = tool else { return Some(Value::Object(after.clone())) };
    let mut input = input.as_object()?.clone();
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    for name in names.filter(|name| before.get(*name) != after.get(*name)) {
        let element = match tool.shape {
            Shape::Each(list) => input.get_mut(list).and_then(|list| list.get_mut(place)),
            _ => None,
        };
        if let Some(Value::Object(fields)) = element {
            put_back(tool, fields, name, after.get(name))?;
            continue;
        }
        let theirs = match tool.theirs_in(&input, name) {
            Some(theirs) => theirs,
            // The table's own, for which the host has no name.
            None if is_in_table(tool, name) => return None,
            None => name,
        };
        let value = after.get(name).cloned();
        match (tool.shape, value) {
            (Shape::Patch(_), _) => return None,
            (Shape::Command(_), _) if place > 0 => return None,
            (Shape::Urls(text), value) if name == "Url" && !input.contains_key(theirs) => {
                let (old, new) = (before.get(name)?.as_str()?, value.as_ref()?.as_str()?);
                let changed = input.get(text)?.as_str()?.replace(old, new);
                input.insert(text.to_owned(), changed.into());
            }
            (Shape::Edits(list), Some(value)) if list == theirs => {
                input.insert(theirs.to_owned(), native_chunks(tool, &value));
            }
            (Shape::Each(list), Some(value)) if list == theirs => match input.get_mut(list) {
                Some(Value::Array(elements)) => *elements.get_mut(place)? = value,
                _ => drop(input.insert(theirs.to_owned(), value)),
            },
            (Shape::Each(list), None) if list == theirs => return None,
            (_, Some(value)) => drop(input.insert(theirs.to_owned(), value)),
            (_, None) => drop(input.remove(theirs)),
        }
    }
    Some(Value::Object(input))
}

/// An argument of one element of a list.
fn put_back(tool: &HostTool, fields: &mut Args, name: &str, value: Option<&Value>) -> Option<()> {
    let theirs = match tool.theirs_in(fields, name) {
        Some(theirs) => theirs,
        None if is_in_table(tool, name) => return None,
        None => name,
    };
    match value {
        Some(value) => fields.insert(theirs.to_owned(), value.clone()),
        None => fields.remove(theirs),
    };
    Some(())
}

fn is_in_table(tool: &HostTool, arg: &str) -> bool {
    tools::lookup(tool.tool).is_some_and(|known| known.args.iter().any(|it| it.name == arg))
}

fn native_chunks(tool: &HostTool, chunks: &Value) -> Value {
    let edit = |chunk: &Value| match chunk {
        Value::Object(chunk) => Value::Object(
            chunk
                .iter()
                .map(|(name, value)| (tool.theirs(name).unwrap_or(name).to_owned(), value.clone()))
                .collect(),
        ),
        other => other.clone(),
    };
    match chunks {
        Value::Array(chunks) => chunks.iter().map(edit).collect(),
        other => other.clone(),
    }
}

/// A call in a host's words: its own, where it comes from there; else those of the tool that does the
/// same.
pub(crate) fn native(host: &Host, call: &ToolCall) -> (String, Value) {
    if let Some(native) = call.native.as_ref().filter(|native| native.host == host.name) {
        return (native.name.clone(), native.input.clone());
    }
    if let Some(server) = call.server.as_deref().filter(|server| !server.is_empty()) {
        return (host.mcp.word(server, &call.name), Value::Object(call.args.clone()));
    }
    let known = tools::lookup(&call.name).map_or(&*call.name, |tool| tool.name);
    let is_several = |shape| matches!(shape, Shape::Patch(_) | Shape::Urls(_));
    let same = |tool: &&HostTool| tool.tool == known && !is_several(tool.shape);
    let Some(tool) = host.tools.iter().find(same) else {
        return (call.name.clone(), Value::Object(call.args.clone()));
    };
    let renamed = call.args.iter().map(|(name, value)| {
        let value = match (tool.shape, tool.theirs(name)) {
            (Shape::Edits(list), Some(theirs)) if list == theirs => native_chunks(tool, value),
            (Shape::Each(list), Some(theirs)) if list == theirs => vec![value.clone()].into(),
            _ => value.clone(),
        };
        (tool.theirs(name).unwrap_or(name).to_owned(), value)
    });
    let input: Args = renamed.collect();
    match tool.shape {
        // Its elements are objects, of which this is one.
        Shape::Each(list) if !tool.args.iter().any(|(theirs, _)| *theirs == list) => {
            let list = (list.to_owned(), Value::from(vec![Value::Object(input)]));
            (tool.native.to_owned(), Value::Object(Map::from_iter([list])))
        }
        _ => (tool.native.to_owned(), Value::Object(input)),
    }
}
