//! Reading one handler: its command, and what is said beside it.

use std::time::Duration;

use jsonc_parser::ast::{Object, Value};

use super::super::checks::check_command;
use super::super::own::is_our_handler;
use super::super::{EventName, Shell};
use super::condition::{Rule, TOOL};
use super::file::{Reader, field_of};
use crate::diagnostic::Code;
use crate::json::{self, as_array, as_object, as_text, name_span, span};
use crate::source::Span;

/// The longest that a handler may be given: a day.
const LONGEST: Duration = Duration::from_hours(24);

/// From here on somebody meant milliseconds, where it is seconds.
const MILLISECONDS_FROM: f64 = 1_000.0;

/// The other types of handlers that agents have.
const OTHER_TYPES: &[&str] = &["http", "prompt", "agent", "mcp_tool"];

/// What is filled in in the words of a command.
const PROJECT: &str = "${CLAUDE_PROJECT_DIR}";

impl Reader<'_> {
    pub(super) fn handler_type(&mut self, value: &Value<'_>) -> bool {
        let Some(kind) = as_text(value, "`type`", self.report) else { return false };
        if kind == "command" {
            return true;
        }
        let title = self.dialect.host.title;
        let entry = if OTHER_TYPES.contains(&kind) {
            let message = format!(
                "handlers of type `{kind}` are run by {title} alone: Tollgate cannot ask this one"
            );
            self.report.add(Code::UnknownHandlerType, span(value), message).severity(self.others)
        } else {
            let message = format!("there are no handlers of type `{kind}`");
            self.report.add(Code::UnknownHandlerType, span(value), message)
        };
        entry.help("make it a command, or remove it");
        false
    }

    /// The command, with its arguments where it has any.
    pub(super) fn command(&mut self, handler: &Object<'_>, at: Span) -> Option<String> {
        let Some(field) = handler.get("command") else {
            self.report
                .add(Code::MissingField, Span::at(at.start), "the handler has no `command`")
                .help("say what to run: {\"type\": \"command\", \"command\": \"./check.sh\"}");
            return None;
        };
        let command = as_text(&field.value, "`command`", self.report)?.to_owned();
        let command = match handler.get("args").filter(|_| self.knows("args")) {
            None => command,
            Some(args) => {
                let list = as_array(&args.value, "`args`", self.report)?;
                let mut words = vec![quoted(&command)];
                for word in &list.elements {
                    words.push(quoted(as_text(word, "an argument", self.report)?));
                }
                words.join(" ")
            }
        };
        check_command(self.report, &command, span(&field.value), self.layer);
        Some(command)
    }

    pub(super) fn rule(
        &mut self,
        event: &'static EventName,
        value: &Value<'_>,
    ) -> Option<(Rule, String)> {
        let text = as_text(value, "`if`", self.report)?;
        if field_of(self.dialect, event) != Some(TOOL) {
            self.report
                .add(
                    Code::NoEffect,
                    span(value),
                    format!("{} is about no tool: `if` is ignored", event.name),
                )
                .help("remove it");
            return None;
        }
        let rule = Rule::read(self.dialect, text);
        if let Some(rule) = rule.as_ref().filter(|rule| !rule.tool().contains('*')) {
            self.known_name(rule.tool(), span(value));
        }
        if rule.is_none() {
            self.report
                .add(Code::BadPattern, span(value), format!("`{text}` is no rule"))
                .help("name a tool and what its call is about: `Bash(rm *)`, `Edit(src/**)`");
        }
        Some((rule?, text.to_owned()))
    }

    pub(super) fn shell(&mut self, value: &Value<'_>) -> Option<Shell> {
        match as_text(value, "`shell`", self.report)? {
            "bash" => Some(Shell::Bash),
            "sh" => Some(Shell::Sh),
            other => {
                self.report
                    .add(
                        Code::UnknownHandlerType,
                        span(value),
                        format!("commands for `{other}` are not run here"),
                    )
                    .help("write it for `bash`, or leave `shell` out for `sh`");
                None
            }
        }
    }

    pub(super) fn variables(&mut self, value: &Value<'_>) -> Vec<(String, String)> {
        let Some(object) = as_object(value, "`env`", self.report) else { return Vec::new() };
        let mut variables = Vec::new();
        for field in &object.properties {
            let Some(text) = as_text(&field.value, "a variable", self.report) else { continue };
            let name = field.name.as_str();
            if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
                self.report.add(
                    Code::WrongType,
                    name_span(field),
                    format!("`{}` cannot be a variable", name.escape_default()),
                );
                continue;
            }
            variables.push((name.to_owned(), text.to_owned()));
        }
        variables
    }

    pub(super) fn timeout(&mut self, value: &Value<'_>) -> Option<Duration> {
        let unit = self.dialect.form.unit;
        let in_seconds = unit == Duration::from_secs(1);
        let units = if in_seconds { "seconds" } else { "milliseconds" };
        let Value::NumberLit(number) = value else {
            json::wrong_type(self.report, value, "`timeout`", &format!("a number of {units}"));
            return None;
        };
        let parsed = number.value.parse::<f64>().ok().filter(|number| *number > 0.0);
        let time = parsed.and_then(|number| {
            let seconds = number * unit.as_secs_f64();
            Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= LONGEST)
        });
        if time.is_none() {
            let most = LONGEST.as_millis() / unit.as_millis();
            self.report
                .add(Code::BadTimeout, span(value), format!("`{}` is no time-out", number.value))
                .help(format!("give {units}, at most {most}"));
        } else if in_seconds && parsed.is_some_and(|number| number >= MILLISECONDS_FROM) {
            let minutes = time.unwrap_or_default().as_secs() / 60;
            self.report
                .add(
                    Code::TimeoutInMilliseconds,
                    span(value),
                    format!("the time-out is in seconds: this is {minutes} minutes"),
                )
                .help("if you mean milliseconds, write a thousandth of it");
        }
        time
    }
}

/// Whether a list of groups has a handler that is not Tollgate.
pub(super) fn has_hooks(value: &Value<'_>) -> bool {
    let groups = value.as_array().map(|list| list.elements.as_slice()).unwrap_or_default();
    let hooks = groups.iter().filter_map(|group| group.as_object()?.get("hooks"));
    let handlers = hooks.filter_map(|hooks| hooks.value.as_array()).flat_map(|it| &it.elements);
    handlers.into_iter().any(|handler| !is_our_handler(handler))
}

/// A word for the shell, as it is, but for the project's directory, which agents fill in here.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+,@%:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let parts: Vec<_> =
        word.split(PROJECT).map(|part| format!("'{}'", part.replace('\'', r"'\''"))).collect();
    parts.join("\"${CLAUDE_PROJECT_DIR}\"")
}
