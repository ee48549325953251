//! Reading `hooks.json`.

use std::sync::Arc;
use std::time::Duration;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use tollgate_core::dialect::Layer;
use tollgate_core::matcher::Matcher;

use super::super::checks::check_command;
use super::super::own::{is_our_element, is_our_handler};
use super::super::{EventName, FileHook, HookFile};
use super::{EVENTS, matcher, quoting};
use crate::diagnostic::{Code, Report, Severity};
use crate::json::{self, as_array, as_bool, as_object, as_text, name_span, span};
use crate::names;
use crate::source::Span;

const HOOK_FIELDS: &[&str] = &[
    "enabled",
    "PreToolUse",
    "PostToolUse",
    "PreInvocation",
    "PostInvocation",
    "Stop",
    "SessionStart",
];
const GROUP_FIELDS: &[&str] = &["matcher", "hooks"];
const HANDLER_FIELDS: &[&str] = &["type", "command", "timeout"];

/// The longest that a handler may be given: a day.
const LONGEST: u64 = 86_400;
/// From here on somebody meant milliseconds.
const MILLISECONDS_FROM: u64 = 1_000;

pub(super) fn parse(report: &mut Report, layer: Layer) -> Option<HookFile> {
    let file = Arc::clone(report.file());
    let root = json::parse(&file, report)?;
    if let Value::Array(array) = &root {
        let entry = report
            .add(
                Code::ForeignDialect,
                Span::at(array.range.start),
                "the file has to be an object of named hooks, not an array",
            )
            .help("write {\"my-hook\": {\"PreToolUse\": […]}}");
        let is_polytoken = |value: &Value<'_>| {
            value.as_object().is_some_and(|entry| entry.get("handler").is_some())
        };
        if array.elements.iter().any(is_polytoken) {
            entry.help(
                "an array of entries is Polytoken's form: it belongs in `.polytoken/hooks.json`",
            );
        }
        return None;
    }
    let root = as_object(&root, "the file", report)?;
    let mut reader = Reader { report, layer, file: HookFile::default() };
    for field in &root.properties {
        reader.top_level(field);
    }
    let file = reader.file;
    (!report.has_errors()).then_some(file)
}

fn event_named(name: &str) -> Option<&'static EventName> {
    EVENTS.iter().find(|event| event.name == name)
}

/// Whether handlers of an event stand in groups with a matcher.
fn has_groups(event: &EventName) -> bool {
    event.kinds.iter().all(|kind| kind.is_about_tool())
}

struct Reader<'r> {
    report: &'r mut Report,
    layer: Layer,
    file: HookFile,
}

impl Reader<'_> {
    fn top_level(&mut self, field: &ObjectProp<'_>) {
        let name = field.name.as_str();
        let at = name_span(field);
        let is_event = event_named(name).is_some() || names::foreign(names::EVENTS, name).is_some();
        // A hook may well be called `notification`, if it looks like a hook.
        let looks_like_a_hook = field.value.as_object().is_some_and(|inside| {
            inside.properties.iter().any(|inner| event_named(inner.name.as_str()).is_some())
        });
        if is_event && !looks_like_a_hook {
            let foreign = names::foreign(names::EVENTS, name).and_then(|event| event.antigravity);
            let event = foreign.unwrap_or(name);
            self.report
                .add(
                    Code::EventAtTop,
                    at,
                    format!("`{name}` is an event, and stands where the name of a hook belongs"),
                )
                .help(format!(
                    "give the hook a name around it: {{\"my-hook\": {{\"{event}\": …}}}}"
                ));
            return;
        }
        if name == "hooks" && !self.wrapper(field) {
            return;
        }
        let Value::Object(hook) = &field.value else {
            self.report
                .add(
                    Code::NotAHook,
                    at,
                    format!(
                        "`{name}` is taken for the name of a hook, and {} is no hook",
                        json::describe(&field.value)
                    ),
                )
                .help("remove it: each key at the top level names a hook");
            return;
        };
        if name.trim().is_empty() {
            self.report
                .add(Code::EmptyValue, at, "a hook needs a name")
                .help("name it after what it does: the name is shown wherever it decides");
        }
        self.hook(name, hook, at);
    }

    /// A `hooks` around everything, as other systems have it. Returns whether to read it as a hook
    /// of that name all the same.
    fn wrapper(&mut self, field: &ObjectProp<'_>) -> bool {
        let at = name_span(field);
        let inside = field.value.as_object();
        let has_events = inside.is_some_and(|inside| {
            inside.properties.iter().any(|inner| matches!(inner.value, Value::Array(_)))
        });
        let entry = self.report.add(
            Code::Wrapper,
            at,
            "`hooks` is not a wrapper here: it is taken for the name of a hook",
        );
        if has_events {
            // Which is what Antigravity makes of it too: the handlers run, under that name.
            entry
                .severity(Severity::Warning)
                .help("it is read as one hook called `hooks`; name it after what it does");
            return true;
        }
        entry.help("remove the wrapper: the names of the hooks stand at the top level");
        false
    }

    fn hook(&mut self, name: &str, hook: &Object<'_>, at: Span) {
        let first = self.file.hooks.len();
        let mut has_event = false;
        let mut enabled = true;
        // Reports duplicates; that it is an object is known.
        json::no_duplicates(hook, self.report);
        for field in &hook.properties {
            let key = field.name.as_str();
            if key == "enabled" {
                enabled = as_bool(&field.value, "`enabled`", self.report).unwrap_or(false);
            } else if let Some(event) = event_named(key) {
                has_event = true;
                self.event(name, event, field);
            } else {
                has_event |= self.unknown_key(field);
            }
        }
        if !has_event {
            self.report.add(Code::NoEffect, at, format!("hook `{name}` handles no event")).help(
                format!("give it one of {}", names::list(HOOK_FIELDS.get(1..).unwrap_or_default())),
            );
        }
        if !enabled {
            self.file.hooks.truncate(first);
        }
    }

    /// A key that is neither `enabled` nor an event. Returns whether it was meant as an event.
    fn unknown_key(&mut self, field: &ObjectProp<'_>) -> bool {
        let key = field.name.as_str();
        let at = name_span(field);
        let known = HOOK_FIELDS.get(1..).unwrap_or_default();
        if let Some(foreign) = names::foreign_event(key, known) {
            let help = match foreign.antigravity {
                Some(ours) => format!("the event here is `{ours}`"),
                None => {
                    format!("there is no such event here; the events are {}", names::list(known))
                }
            };
            self.report
                .add(
                    Code::ForeignEvent,
                    at,
                    format!("`{key}` is an event of {}, and would never fire here", foreign.system),
                )
                .help(help);
            return true;
        }
        let near = names::nearest(key, known);
        if near.is_some() || matches!(field.value, Value::Array(_)) {
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the events are {}", names::list(known)),
            };
            self.report
                .add(
                    Code::UnknownEvent,
                    at,
                    format!("there is no event `{key}`: it would never fire"),
                )
                .help(help);
            return true;
        }
        let entry = json::unknown_field(self.report, field, "a hook", HOOK_FIELDS)
            .severity(Severity::Warning);
        if matches!(key, "command" | "matcher" | "timeout") {
            entry.help("a handler stands under an event: {\"PreToolUse\": [{\"matcher\": …, \"hooks\": […]}]}");
        }
        false
    }

    fn event(&mut self, name: &str, event: &'static EventName, field: &ObjectProp<'_>) {
        let list = field.value.as_array().map(|list| list.elements.as_slice()).unwrap_or_default();
        if !list.is_empty() && list.iter().all(is_our_element) {
            self.file.has_tollgate = true;
            return;
        }
        if event.name == "SessionStart" {
            self.report
                .add(
                    Code::NewerFeature,
                    name_span(field),
                    "`SessionStart` is newer than the documented format",
                )
                .help("older versions of Antigravity ignore it");
        }
        let Value::Array(list) = &field.value else {
            let what = format!("`{}`", event.name);
            json::wrong_type(self.report, &field.value, &what, "an array");
            return;
        };
        if list.elements.is_empty() {
            self.report.add(
                Code::NoEffect,
                span(&field.value),
                format!("`{}` has no handlers", event.name),
            );
        }
        for element in &list.elements {
            let whats = if has_groups(event) { "a group of handlers" } else { "a handler" };
            if is_our_element(element) {
                self.file.has_tollgate = true;
                continue;
            }
            let Some(object) = as_object(element, whats, self.report) else { continue };
            if has_groups(event) {
                self.group(name, event, object);
            } else {
                self.flat(name, event, object);
            }
        }
    }

    /// `{matcher, hooks}`, as tool events have it.
    fn group(&mut self, name: &str, event: &'static EventName, group: &Object<'_>) {
        let at = Span::from(group.range);
        if let Some(command) = group.get("command") {
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
                    "put it into the group's list: {\"matcher\": …, \"hooks\": [{\"command\": …}]}",
                );
            return;
        }
        let mut matcher = Some(Matcher::All);
        let mut handlers = None;
        for field in &group.properties {
            match field.name.as_str() {
                "matcher" => matcher = matcher::matcher(&field.value, self.report),
                "hooks" => handlers = Some(&field.value),
                _ => {
                    json::unknown_field(self.report, field, "a group", GROUP_FIELDS)
                        .severity(Severity::Warning);
                }
            }
        }
        let Some(handlers) = handlers else {
            self.report
                .add(Code::MissingField, Span::at(at.start), "the group has no `hooks`")
                .help("list its handlers: \"hooks\": [{\"command\": …}]");
            return;
        };
        let Some(list) = as_array(handlers, "`hooks`", self.report) else { return };
        if list.elements.is_empty() {
            self.report.add(Code::NoEffect, span(handlers), "the group has no handlers");
        }
        let mut left = list.elements.len();
        for element in &list.elements {
            left -= 1;
            // Most groups have one handler, which gets the matcher itself.
            let matcher = if left == 0 { matcher.take() } else { matcher.clone() };
            if is_our_handler(element) {
                self.file.has_tollgate = true;
                continue;
            }
            let Some(object) = as_object(element, "a handler", self.report) else { continue };
            self.handler(name, event, object, matcher);
        }
    }

    /// A handler without a group, as the other events have it.
    fn flat(&mut self, name: &str, event: &'static EventName, handler: &Object<'_>) {
        if let Some(inner) = handler.get("hooks") {
            self.report
                .add(Code::GroupWithoutMatcher, name_span(inner), format!("{} takes handlers, not groups of them", event.name))
                .help(format!("put the handlers of the group straight into the list: \"{}\": [{{\"command\": …}}]", event.name));
            return;
        }
        if let Some(matcher) = handler.get("matcher") {
            self.report
                .add(
                    Code::IgnoredMatcher,
                    name_span(matcher),
                    format!("{} has no tool to match: the matcher is ignored", event.name),
                )
                .help("remove it");
        }
        self.handler(name, event, handler, Some(Matcher::All));
    }

    fn handler(
        &mut self,
        name: &str,
        event: &'static EventName,
        handler: &Object<'_>,
        matcher: Option<Matcher>,
    ) {
        let at = Span::from(handler.range);
        let mut command = None;
        let mut time = None;
        for field in &handler.properties {
            match field.name.as_str() {
                "type" => self.handler_type(&field.value),
                "command" => command = self.command(&field.value),
                "timeout" => time = self.timeout(&field.value),
                // Said where the event is known.
                "matcher" if !has_groups(event) => {}
                _ => {
                    json::unknown_field(self.report, field, "a handler", HANDLER_FIELDS)
                        .severity(Severity::Warning);
                }
            }
        }
        if handler.get("command").is_none() {
            self.report
                .add(Code::MissingField, Span::at(at.start), "the handler has no `command`")
                .help("say what to run: {\"command\": \"./scripts/check.sh\"}");
        }
        if let (Some(command), Some(matcher)) = (command, matcher) {
            self.file.hooks.push(FileHook {
                matcher,
                time,
                span: at,
                ..FileHook::new(name, event, command)
            });
        }
    }

    fn handler_type(&mut self, value: &Value<'_>) {
        let Some(kind) = as_text(value, "`type`", self.report) else { return };
        if kind != "command" {
            let kind = kind.to_owned();
            self.report
                .add(
                    Code::UnknownHandlerType,
                    span(value),
                    format!("there are no handlers of type `{kind}`"),
                )
                .help("only `command` is known");
        }
    }

    fn command(&mut self, value: &Value<'_>) -> Option<String> {
        let command = as_text(value, "`command`", self.report)?.to_owned();
        check_command(self.report, &command, span(value), self.layer);
        if let Some(said) = quoting::printed_without_quotes(&command) {
            self.report
                .add(
                    Code::BrokenQuotes,
                    span(value),
                    format!(
                        "the shell takes the quotes away: this prints `{said}`, which is not JSON"
                    ),
                )
                .help("put the JSON in single quotes: echo '{\"decision\": \"allow\"}'");
        }
        Some(command)
    }

    fn timeout(&mut self, value: &Value<'_>) -> Option<Duration> {
        let Value::NumberLit(number) = value else {
            json::wrong_type(self.report, value, "`timeout`", "a number of seconds");
            return None;
        };
        let seconds = number.value.parse::<u64>().ok().filter(|n| (1..=LONGEST).contains(n));
        let Some(seconds) = seconds else {
            self.report
                .add(Code::BadTimeout, span(value), format!("`{}` is no time-out", number.value))
                .help(match number.value.parse::<u64>() {
                    Ok(large) if large > LONGEST => {
                        format!(
                            "it is in seconds; if you mean milliseconds, write {}",
                            large.div_ceil(1000)
                        )
                    }
                    _ => format!("give whole seconds, from 1 to {LONGEST}"),
                });
            return None;
        };
        if seconds >= MILLISECONDS_FROM {
            let minutes = seconds / 60;
            self.report
                .add(
                    Code::TimeoutInMilliseconds,
                    span(value),
                    format!("the time-out is in seconds: this is {minutes} minutes"),
                )
                .help(format!("if you mean milliseconds, write {}", seconds.div_ceil(1000)));
        }
        Some(Duration::from_secs(seconds))
    }
}
