//! Reading `hooks.json`.

use std::sync::Arc;

use hashbrown::HashMap;
use jsonc_parser::ast::{Object, ObjectProp, Value};
use schemars::JsonSchema;
use tollgate_core::dialect::Layer;
use tollgate_core::matcher::Matcher;

use super::super::checks::check_command;
use super::super::own::is_our_command;
use super::super::schema::without_null;
use super::super::{EventName, FileHook, HookFile, Negation};
use super::{EVENTS, matcher};
use crate::diagnostic::{Code, Report};
use crate::json::{self, as_object, as_text, name_span, span};
use crate::names;
use crate::source::Span;

// The types here are for the schema. What is read goes by the functions below, which can say what
// is wrong and where.

/// Polytoken's `hooks.json`: hooks, and negations of global ones.
#[derive(JsonSchema)]
#[schemars(rename = "PolytokenHooks", transparent)]
#[allow(dead_code)]
struct File(Vec<Item>);

/// A hook, or a negation of one.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum Item {
    /// A hook.
    Entry(Entry),
    /// `"!name"` switches off the global hook of that name. In a project's file only.
    Negation(#[schemars(regex(pattern = "^!.+"))] String),
}

/// A hook.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct Entry {
    /// Its name, for logs and negations.
    #[schemars(length(min = 1))]
    name: String,
    /// The event it handles.
    event: Event,
    /// A glob on the event's subject: the tool, the type of a subagent, else the event's name.
    matcher: Option<String>,
    /// What to run.
    handler: Handler,
}

/// The code to run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct Handler {
    /// A script for `bash -c`, run in the project's directory.
    #[schemars(length(min = 1))]
    bash: String,
}

/// An event.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code)]
enum Event {
    SessionStart,
    PreUserPrompt,
    PreModelTurn,
    PostModelTurn,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    Stop,
    PreCompaction,
    PostCompaction,
    Notification,
    FacetSwitch,
    SubagentStart,
    SubagentStop,
}

/// The JSON Schema of the file.
pub fn schema() -> schemars::Schema {
    without_null(schemars::schema_for!(File))
}

const ENTRY_FIELDS: &[&str] = &["name", "event", "matcher", "handler"];
const HANDLER_FIELDS: &[&str] = &["bash"];

pub(super) fn parse(report: &mut Report, layer: Layer) -> Option<HookFile> {
    let file = Arc::clone(report.file());
    let root = json::parse(&file, report)?;
    let Value::Array(root) = &root else {
        let entry = report.add(
            Code::ForeignDialect,
            Span::at(span(&root).start),
            format!("the file has to be an array of hooks, not {}", json::describe(&root)),
        );
        let Value::Object(object) = &root else { return None };
        if object.get("handler").is_some() {
            entry.help("put the hook into a list: `[` before it and `]` behind it");
        } else {
            entry.help(
                "write [{\"name\": …, \"event\": \"pre_tool_use\", \"handler\": {\"bash\": …}}]; an \
                 object of hooks is the form of Antigravity (`.agents/hooks.json`) or Claude Code",
            );
        }
        return None;
    };
    let mut reader = Reader { report, layer, file: HookFile::default() };
    for element in &root.elements {
        match element {
            Value::StringLit(text) => reader.negation(&text.value, Span::from(text.range)),
            Value::Object(_) => {
                if let Some(object) = as_object(element, "an entry", reader.report) {
                    reader.entry(object);
                }
            }
            other => json::wrong_type(
                reader.report,
                other,
                "an entry",
                "a hook (an object) or a negation (a string)",
            ),
        }
    }
    reader.no_name_twice();
    let file = reader.file;
    (!report.has_errors()).then_some(file)
}

struct Reader<'r> {
    report: &'r mut Report,
    layer: Layer,
    file: HookFile,
}

impl Reader<'_> {
    fn negation(&mut self, text: &str, at: Span) {
        let Some(name) = text.strip_prefix('!').filter(|name| !name.is_empty()) else {
            self.report
                .add(Code::NotANegation, at, format!("`{text}` is neither a hook nor a negation"))
                .help("a string switches off a global hook by its name: \"!log-edits\"");
            return;
        };
        if self.layer != Layer::Project {
            self.report
                .add(
                    Code::NegationNotPossible,
                    at,
                    "there is nothing above this file to switch off",
                )
                .help(
                    "a project's file can switch off a global hook; here, remove the hook itself",
                );
            return;
        }
        self.file.negations.push(Negation { name: name.to_owned(), span: at });
    }

    fn entry(&mut self, entry: &Object<'_>) {
        let command = entry.get("handler").and_then(|it| it.value.as_object()?.get("bash"));
        if command.is_some_and(|command| is_our_command(&command.value)) {
            self.file.has_tollgate = true;
            return;
        }
        let at = Span::from(entry.range);
        let mut name = None;
        let mut event = None;
        let mut command = None;
        let mut matcher = None;
        for field in &entry.properties {
            match field.name.as_str() {
                "name" => name = self.name(&field.value),
                "event" => event = self.event(&field.value),
                "matcher" => matcher = Some(&field.value),
                "handler" => command = self.handler(&field.value),
                _ => self.unknown_field(field),
            }
        }
        for required in ["name", "event", "handler"] {
            if entry.get(required).is_none() {
                self.report
                    .add(
                        Code::MissingField,
                        Span::at(at.start),
                        format!("the hook has no `{required}`"),
                    )
                    .help(match required {
                        "name" => "name it after what it does: \"name\": \"protect-changelog\"",
                        "event" => "say when it runs: \"event\": \"pre_tool_use\"",
                        _ => "say what it runs: \"handler\": {\"bash\": \"…\"}",
                    });
            }
        }
        let matcher = match (matcher, event) {
            (None, _) => Some(Matcher::All),
            (Some(value), Some(event)) => matcher::matcher(value, event, self.report),
            (Some(value), None) => as_text(value, "`matcher`", self.report).map(|_| Matcher::All),
        };
        if let (Some(name), Some(event), Some(command), Some(matcher)) =
            (name, event, command, matcher)
        {
            let hook = FileHook { matcher, span: at, ..FileHook::new(name, event, command) };
            self.file.hooks.push(hook);
        }
    }

    fn unknown_field(&mut self, field: &ObjectProp<'_>) {
        let entry = json::unknown_field(self.report, field, "a hook", ENTRY_FIELDS);
        if matches!(field.name.as_str(), "command" | "bash" | "hooks" | "type") {
            entry.help("what to run stands in \"handler\": {\"bash\": \"…\"}");
        } else if matches!(field.name.as_str(), "enabled" | "disabled") {
            entry.help("remove the hook, or switch off a global one in a project: \"!its-name\"");
        } else if matches!(field.name.as_str(), "timeout" | "timeout_ms") {
            entry.help("a hook cannot set its deadline: it is `polytoken.deadline` in config.toml");
        }
    }

    fn name(&mut self, value: &Value<'_>) -> Option<String> {
        let name = as_text(value, "`name`", self.report)?.to_owned();
        if name.trim().is_empty() {
            self.report
                .add(Code::EmptyValue, span(value), "a hook needs a name")
                .help("name it after what it does");
        }
        Some(name)
    }

    fn event(&mut self, value: &Value<'_>) -> Option<&'static EventName> {
        let name = as_text(value, "`event`", self.report)?;
        let found = EVENTS.iter().find(|event| event.name == name);
        if found.is_none() {
            let known: Vec<_> = EVENTS.iter().map(|event| event.name).collect();
            if name.is_empty() {
                self.report
                    .add(Code::EmptyValue, span(value), "the event is empty")
                    .help(format!("the events are {}", names::list(&known)));
            } else if let Some(foreign) = names::foreign_event(name, &known) {
                let help = match foreign.polytoken {
                    Some(ours) => format!("the event here is `{ours}`"),
                    None => format!(
                        "there is no such event here; the events are {}",
                        names::list(&known)
                    ),
                };
                self.report
                    .add(
                        Code::ForeignEvent,
                        span(value),
                        format!("`{name}` is an event of {}", foreign.system),
                    )
                    .help(help);
            } else {
                let help = match names::nearest(name, &known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if name == "post_clear" => {
                        "it is newer than the documented format; there is nothing like it here"
                            .to_owned()
                    }
                    None => format!("the events are {}", names::list(&known)),
                };
                self.report
                    .add(Code::UnknownEvent, span(value), format!("there is no event `{name}`"))
                    .help(help);
            }
        }
        found
    }

    fn handler(&mut self, value: &Value<'_>) -> Option<String> {
        let handler = match value {
            Value::StringLit(_) => {
                json::wrong_type(self.report, value, "`handler`", "an object: {\"bash\": …}");
                return None;
            }
            other => as_object(other, "`handler`", self.report)?,
        };
        let mut command = None;
        for field in &handler.properties {
            let name = field.name.as_str();
            if name == "bash" {
                if let Some(text) = as_text(&field.value, "`bash`", self.report) {
                    let text = text.to_owned();
                    check_command(self.report, &text, span(&field.value), self.layer);
                    command = Some(text);
                }
            } else {
                self.report
                    .add(
                        Code::UnknownHandler,
                        name_span(field),
                        format!("there is no handler `{name}`"),
                    )
                    .help(format!("the handler is {}", names::list(HANDLER_FIELDS)));
            }
        }
        if handler.properties.is_empty() {
            self.report
                .add(Code::MissingField, span(value), "the handler has no `bash`")
                .help("say what to run: {\"bash\": \"…\"}");
        }
        command
    }

    /// A name twice is allowed, and makes a negation hit both.
    fn no_name_twice(&mut self) {
        let mut seen: HashMap<&str, Span> = HashMap::with_capacity(self.file.hooks.len());
        for hook in &self.file.hooks {
            let first = *seen.entry(&hook.name).or_insert(hook.span);
            if first != hook.span {
                self.report
                    .add(
                        Code::DuplicateName,
                        Span::at(hook.span.start),
                        format!("two hooks are called `{}`", hook.name),
                    )
                    .related(Span::at(first.start), "the first one")
                    .help("a negation or a log that names it means both");
            }
        }
    }
}
