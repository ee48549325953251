//! Reading the hooks of an agent's file. What else is in the file is none of our business.

use std::sync::Arc;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use tollgate_core::Kind;
use tollgate_core::dialect::Layer;
use tollgate_hosts::HostTool;

use super::super::own::{is_our_handler, is_ours};
use super::super::{EventName, FileHook, HookFile};
use super::HostDialect;
use super::condition::{Condition, Rule, TOOL};
use super::handler::has_hooks;
use super::names::{Names, alternatives};
use crate::diagnostic::{Code, Report, Severity};
use crate::json::{self, as_array, as_bool, as_object, as_text, name_span, span};
use crate::names;
use crate::source::Span;
use crate::tools::{foreign, is_of_server, near, shown};

/// Reads a file. `others` is how bad a handler is that nobody but the agent can run.
pub(super) fn parse(
    dialect: &HostDialect,
    report: &mut Report,
    layer: Layer,
    others: Severity,
) -> Option<HookFile> {
    let file = Arc::clone(report.file());
    // Most of these files have no hooks. Then it is not our business how they are written, as long as
    // they can be read: of one that cannot, nobody knows whether it was to have hooks.
    if !["hooks", "\\u"].iter().any(|sign| file.text().contains(sign)) {
        json::check_settings(&file, report);
        return (!report.has_errors()).then(HookFile::default);
    }
    let root = if dialect.form.comments {
        match json::parse_with_comments(&file, report) {
            // Nothing but comments.
            None if !report.has_errors() => return Some(HookFile::default()),
            root => root?,
        }
    } else {
        json::parse(&file, report)?
    };
    let Value::Object(root) = &root else {
        json::wrong_type(report, &root, "the file", "an object");
        return None;
    };
    if is_off(dialect, root) {
        return Some(HookFile::default());
    }
    let off = disabled(root);
    let mut reader = Reader { dialect, report, layer, others, hooks: Vec::new(), off };
    let mut tables = root.properties.iter().filter(|field| field.name.as_str() == "hooks");
    if let Some(first) = tables.next() {
        reader.table(&first.value);
        if let Some(second) = tables.next() {
            let at = name_span(second);
            reader
                .report
                .add(Code::DuplicateKey, at, "`hooks` is here twice")
                .related(name_span(first), "the first one")
                .help("keep one of them; most readers silently take the last");
        }
    } else {
        reader.misplaced(root);
    }
    let hooks = reader.hooks;
    (!report.has_errors()).then_some(HookFile { hooks, ..HookFile::default() })
}

/// Whether the file switches all hooks off.
fn is_off(dialect: &HostDialect, root: &Object<'_>) -> bool {
    let Some((field, wanted)) = dialect.form.off else { return false };
    let mut value = None;
    let mut object = Some(root);
    for name in field.split('.') {
        value = object.and_then(|object| object.get(name)).map(|field| &field.value);
        object = value.and_then(Value::as_object);
    }
    matches!(value, Some(Value::BooleanLit(literal)) if literal.value == wanted)
}

/// The names of hooks that the file switches off.
fn disabled(root: &Object<'_>) -> Vec<String> {
    let lists = ["hooksConfig", "hooks"].into_iter().filter_map(|table| root.get(table));
    let lists = lists.filter_map(|table| table.value.as_object()?.get("disabled"));
    let names = lists.filter_map(|list| list.value.as_array()).flat_map(|list| &list.elements);
    let texts = names.filter_map(|name| match name {
        Value::StringLit(text) => Some(text.value.to_string()),
        _ => None,
    });
    texts.collect()
}

pub(super) struct Reader<'r> {
    pub(super) dialect: &'r HostDialect,
    pub(super) report: &'r mut Report,
    pub(super) layer: Layer,
    pub(super) others: Severity,
    hooks: Vec<FileHook>,
    /// The names of hooks that are switched off.
    off: Vec<String>,
}

/// What a group says of all its handlers.
struct Group {
    /// What its matcher means, and the matcher as it is written.
    names: Option<(Names, String)>,
    number: usize,
}

impl Reader<'_> {
    /// Events that stand outside of the table, where nobody looks for them.
    fn misplaced(&mut self, root: &Object<'_>) {
        for field in &root.properties {
            let name = field.name.as_str();
            let is_event = self.dialect.events.iter().any(|event| event.name == name);
            if is_event && matches!(field.value, Value::Array(_)) {
                self.report
                    .add(
                        Code::EventAtTop,
                        name_span(field),
                        format!("`{name}` stands beside the table of hooks: it would never fire"),
                    )
                    .help(format!("put it into the table: {{\"hooks\": {{\"{name}\": […]}}}}"));
            }
        }
    }

    fn table(&mut self, value: &Value<'_>) {
        let Some(table) = as_object(value, "`hooks`", self.report) else { return };
        for field in &table.properties {
            let name = field.name.as_str();
            if let Some(event) = self.dialect.events.iter().find(|event| event.name == name) {
                self.event(event, field);
            } else if !self.dialect.form.beside.contains(&name) {
                self.other_event(field);
            }
        }
    }

    /// An event that does not happen here, or nowhere.
    fn other_event(&mut self, field: &ObjectProp<'_>) {
        let name = field.name.as_str();
        let at = name_span(field);
        let host = self.dialect.host;
        if host.event(name).is_some() || host.other_events.contains(&name) {
            if has_hooks(&field.value) {
                self.report
                    .add(
                        Code::NoEffect,
                        at,
                        format!(
                            "Tollgate has no event `{name}`: these hooks run under {} alone",
                            host.title
                        ),
                    )
                    .help("what they guard is not guarded elsewhere");
            }
            return;
        }
        let known: Vec<_> = self.dialect.events.iter().map(|event| event.name).collect();
        let near = names::nearest(name, &known);
        let entry = match names::foreign_event(name, &known) {
            Some(foreign) if near.is_none() => self.report.add(
                Code::ForeignEvent,
                at,
                format!("`{name}` is an event of {}, and would never fire here", foreign.system),
            ),
            _ => self.report.add(
                Code::UnknownEvent,
                at,
                format!("{} has no event `{name}`: it would never fire", host.title),
            ),
        };
        entry.help(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the events are {}", names::list(&known)),
        });
    }

    fn event(&mut self, event: &'static EventName, field: &ObjectProp<'_>) {
        let what = format!("`{}`", event.name);
        let Some(list) = as_array(&field.value, &what, self.report) else { return };
        let mut number = 0;
        for element in &list.elements {
            let Some(group) = as_object(element, "a group of handlers", self.report) else {
                continue;
            };
            self.group(event, group, &mut number);
        }
    }

    fn group(&mut self, event: &'static EventName, group: &Object<'_>, number: &mut usize) {
        let at = Span::from(group.range);
        if let Some(command) = group.get("command")
            && group.get("hooks").is_none()
        {
            if let Value::StringLit(text) = &command.value
                && is_ours(&text.value)
            {
                return;
            }
            self.report
                .add(
                    Code::CommandBesideMatcher,
                    name_span(command),
                    format!(
                        "`command` stands where a group belongs: {} would not run it",
                        event.name
                    ),
                )
                .help(
                    "put it into the group's list: {\"matcher\": …, \"hooks\": [{\"type\": \
                     \"command\", \"command\": …}]}",
                );
            return;
        }
        let handlers = group.get("hooks").map(|field| &field.value);
        // One that holds nothing but Tollgate is not looked at any further.
        if let Some(Value::Array(list)) = handlers
            && !list.elements.is_empty()
            && list.elements.iter().all(is_our_handler)
        {
            *number += list.elements.len();
            return;
        }
        let mut names = Some((Names::All, String::new()));
        for field in &group.properties {
            match field.name.as_str() {
                "matcher" => {
                    let written = match &field.value {
                        Value::StringLit(text) => text.value.trim().to_owned(),
                        _ => String::new(),
                    };
                    names = self.matcher(event, &field.value).map(|names| (names, written));
                }
                "hooks" | "sequential" => {}
                name if self.dialect.form.group.contains(&name) => {}
                _ => {
                    json::unknown_field(self.report, field, "a group", self.dialect.form.group)
                        .severity(Severity::Warning);
                }
            }
        }
        let Some(handlers) = handlers else {
            self.report
                .add(Code::MissingField, Span::at(at.start), "the group has no `hooks`")
                .help("list its handlers: \"hooks\": [{\"type\": \"command\", \"command\": …}]");
            return;
        };
        let Some(list) = as_array(handlers, "`hooks`", self.report) else { return };
        for element in &list.elements {
            *number += 1;
            if is_our_handler(element) {
                continue;
            }
            let Some(handler) = as_object(element, "a handler", self.report) else { continue };
            let group = Group { names: names.clone(), number: *number };
            self.handler(event, &group, handler);
        }
    }

    fn matcher(&mut self, event: &'static EventName, value: &Value<'_>) -> Option<Names> {
        // Null is how some write that there is none.
        if matches!(value, Value::NullKeyword(_)) {
            return Some(Names::All);
        }
        let text = as_text(value, "`matcher`", self.report)?;
        if field_of(self.dialect, event).is_none() {
            if !matches!(text.trim(), "" | "*") {
                self.report
                    .add(
                        Code::IgnoredMatcher,
                        span(value),
                        format!("{} has nothing to match: the matcher is ignored", event.name),
                    )
                    .help("remove it");
            }
            return Some(Names::All);
        }
        let is_about_tool = event.kinds.iter().all(|kind| kind.is_about_tool());
        if !is_about_tool && self.dialect.form.list.is_none() {
            return Some(Names::exact(text));
        }
        match Names::read(self.dialect, text) {
            Ok(names) => {
                if is_about_tool {
                    self.known_names(&names, text, span(value));
                }
                Some(names)
            }
            Err(error) => {
                let help = if error.message.contains("look-around") {
                    "expressions here have neither look-ahead nor look-behind: name the tools, or have \
                     the hook itself tell"
                        .to_owned()
                } else if text.starts_with('*') {
                    format!("it is a regular expression: for any text write `.*`, as in `.{text}`")
                } else {
                    "it is a regular expression that is looked for in the name".to_owned()
                };
                let message = format!("not a regular expression: {}", error.message);
                self.report.add(Code::BadPattern, span(value), message).help(help);
                None
            }
        }
    }

    /// What is said of the names in a matcher.
    fn known_names(&mut self, names: &Names, written: &str, at: Span) {
        match names {
            Names::All => {}
            Names::List(list, _) => {
                for name in list {
                    self.known_name(name, at);
                }
            }
            Names::Expression(..) => {
                let names = alternatives(written).into_iter();
                for name in names.filter(|name| !self.dialect.finds(name)) {
                    self.known_name(name, at);
                }
            }
        }
    }

    /// What is said of a name that is no tool of the agent.
    pub(super) fn known_name(&mut self, name: &str, at: Span) {
        let host = self.dialect.host;
        if self.dialect.knows_tool(name) || is_of_server(name) {
            return;
        }
        let other = foreign(name);
        if other.as_ref().is_some_and(|tool| tool.system == host.title) {
            return;
        }
        if let Some(foreign) = other {
            let message = format!("`{name}` is {}'s name of a tool", foreign.system);
            let entry = self.report.add(Code::ForeignTool, at, message);
            let theirs = |tool: &HostTool| foreign.ours.contains(&tool.tool);
            let theirs = host.tools.iter().find(|tool| theirs(tool));
            entry.help(match theirs {
                Some(theirs) => format!("in {} the tool is `{}`", host.title, theirs.native),
                None => format!("{} has no such tool", host.title),
            });
            return;
        }
        // Its own tools are fewer than all that are known, so more may be wrong.
        let tools: Vec<_> = host.tools.iter().map(|tool| tool.native).collect();
        let own = names::nearest(name, &tools).filter(|near| near.len() > 2);
        if let Some(near) = own.or_else(|| near(name)) {
            let message = format!("{} has no tool `{}`", host.title, shown(name));
            self.report.add(Code::UnknownTool, at, message).help(format!("did you mean `{near}`?"));
        }
    }

    fn handler(&mut self, event: &'static EventName, group: &Group, handler: &Object<'_>) {
        let at = Span::from(handler.range);
        let mut hook = FileHook { span: at, ..FileHook::new("", event, String::new()) };
        let mut rule = None;
        if handler.get("type").is_some_and(|field| !self.handler_type(&field.value)) {
            return;
        }
        for field in &handler.properties {
            let value = &field.value;
            match field.name.as_str() {
                "type" => {}
                "timeout" => hook.time = self.timeout(value),
                "if" if self.knows("if") => rule = self.rule(event, value),
                "shell" if self.knows("shell") => hook.shell = self.shell(value),
                "async" | "asyncRewake" if self.knows("async") => {
                    hook.in_background |=
                        as_bool(value, "`async`", self.report).unwrap_or_default();
                }
                "env" if self.knows("env") => hook.variables = self.variables(value),
                "name" if self.knows("name") => {
                    as_text(value, "`name`", self.report)
                        .unwrap_or_default()
                        .clone_into(&mut hook.name);
                }
                "description" | "statusMessage" if self.knows(field.name.as_str()) => {
                    hook.description =
                        as_text(value, "a description", self.report).map(str::to_owned);
                }
                name if self.knows(name) => {}
                _ => {
                    let known = self.dialect.form.handler;
                    json::unknown_field(self.report, field, "a handler", known)
                        .severity(Severity::Warning);
                }
            }
        }
        if self.off.contains(&hook.name) && !hook.name.is_empty() {
            return;
        }
        if hook.name.is_empty() {
            hook.name = format!("{} #{}", event.name, group.number);
        }
        let Some(command) = self.command(handler, at) else { return };
        // What is switched off by the command it runs.
        if self.off.contains(&command) {
            return;
        }
        hook.command = command;
        let Some(names) = group.names.clone() else { return };
        self.put(hook, names, rule);
    }

    /// Adds a hook for what its group and itself say it is about.
    fn put(&mut self, mut hook: FileHook, names: (Names, String), rule: Option<(Rule, String)>) {
        let Some(field) = field_of(self.dialect, hook.event) else {
            self.hooks.push(hook);
            return;
        };
        if field == TOOL {
            hook.matcher = names.0.matcher(self.dialect);
        }
        if !matches!(names.0, Names::All) || rule.is_some() {
            hook.condition = Some(Arc::new(Condition::new(self.dialect, field, names, rule)));
        }
        self.hooks.push(hook);
    }

    pub(super) fn knows(&self, field: &str) -> bool {
        self.dialect.form.handler.contains(&field)
    }
}

/// What matchers of an event look at, in what a hook reads.
pub(super) fn field_of(dialect: &HostDialect, event: &EventName) -> Option<&'static str> {
    let kind = event.kinds.first().copied().unwrap_or(Kind::Stop);
    if kind.is_about_tool() {
        return Some(TOOL);
    }
    dialect.form.subjects.iter().find(|(of, _)| *of == kind).map(|(_, field)| *field)
}
