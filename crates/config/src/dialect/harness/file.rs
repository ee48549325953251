//! Reading a hook file: what its keys say.

use std::sync::Arc;
use std::time::Duration;

use granit_parser::ScalarStyle;
use schemars::JsonSchema;
use tollgate_core::Kind;

use super::super::EventName;
use super::super::schema::without_null;
use super::frontmatter::{Entry, Scalar, Value, entries, parts};
use super::{Artifact, EVENTS, Key, LARGEST_SCRIPT, LONGEST, blocks};
use crate::diagnostic::{Code, Report};
use crate::names;
use crate::settings::Time;
use crate::source::{SourceFile, Span};

// The type here is for the schema. What is read goes by the functions below, which can say what
// is wrong and where.

/// The frontmatter of a Markdown hook.
#[derive(JsonSchema)]
#[schemars(rename = "HarnessFrontmatter", deny_unknown_fields)]
#[allow(dead_code)]
struct Frontmatter {
    /// When the hook runs.
    event: Event,
    /// Starlark that defines `handle(event, payload)`.
    #[schemars(length(min = 1, max = 65536))]
    script: String,
    /// Lower runs first; 0 where it is left out.
    priority: Option<i32>,
    /// One Starlark expression on `payload`: the hook runs where it is true.
    #[schemars(length(min = 1, max = 65536))]
    when: Option<String>,
    /// Whether the hook is in force; true where it is left out.
    enabled: Option<bool>,
    /// How long the hook may take.
    timeout: Option<Timeout>,
    /// What the hook is for.
    #[schemars(length(min = 1))]
    description: Option<String>,
}

/// A time: more than nothing, and at most ten minutes.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum Timeout {
    /// In seconds.
    Seconds(#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 600))] f64),
    /// With its unit: `250ms`, `2s`, `1m`.
    Text(#[schemars(regex(pattern = "^[0-9]+ *(ms|s|m|min)$"))] String),
}

/// An event.
#[derive(JsonSchema)]
#[allow(dead_code)]
enum Event {
    #[schemars(rename = "session.start")]
    SessionStart,
    #[schemars(rename = "session.end")]
    SessionEnd,
    #[schemars(rename = "turn.start")]
    TurnStart,
    #[schemars(rename = "turn.end")]
    TurnEnd,
    #[schemars(rename = "completion.pre")]
    CompletionPre,
    #[schemars(rename = "completion.post")]
    CompletionPost,
    #[schemars(rename = "tool.pre")]
    ToolPre,
    #[schemars(rename = "tool.post")]
    ToolPost,
    #[schemars(rename = "agent.stop")]
    AgentStop,
    #[schemars(rename = "delegation.post_verify")]
    DelegationPostVerify,
    #[schemars(rename = "error")]
    Error,
}

/// The JSON Schema of the frontmatter.
pub fn schema() -> schemars::Schema {
    without_null(schemars::schema_for!(Frontmatter))
}

const KEYS: &[&str] = &["event", "script", "priority", "when", "enabled", "timeout", "description"];

/// Reads a file. Everything that is wrong with it goes into the report; a file with an error gives
/// nothing.
pub(super) fn parse(
    report: &mut Report,
    tests: impl FnOnce(&Arc<SourceFile>, Span, &mut Report) -> Vec<super::TestBlock>,
) -> Option<Artifact> {
    let file = Arc::clone(report.file());
    let parts = parts(&file, report)?;
    let entries = entries(&file, parts.frontmatter, report);
    // What the body says is said even where the frontmatter says nothing.
    let tests = tests(&file, parts.body, report);
    let mut reader = Reader {
        file: &file,
        report,
        read: Read::default(),
        keys: Vec::new(),
        unknown: Vec::new(),
    };
    for entry in entries? {
        reader.entry(&entry);
    }
    reader.missing(parts.frontmatter);
    let Reader { read, keys, .. } = reader;
    let (event, event_span) = read.event?;
    let artifact = Artifact {
        name: name_of(&file),
        source: Arc::clone(&file),
        event,
        event_span,
        priority: read.priority,
        when: read.when,
        script: read.script?,
        enabled: read.enabled.unwrap_or(true),
        timeout: read.timeout,
        description: read.description,
        body: parts.body,
        has_tests: !tests.is_empty() || blocks::may_have_tests(&file, parts.body),
        tests,
        keys,
    };
    (!report.has_errors()).then_some(artifact)
}

/// The file's name without its ending.
fn name_of(file: &SourceFile) -> String {
    let name = file.path().file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".md").unwrap_or(&name).to_owned()
}

/// What was read so far.
#[derive(Default)]
struct Read {
    event: Option<(&'static EventName, Span)>,
    script: Option<super::Code>,
    priority: Option<i32>,
    when: Option<super::Code>,
    enabled: Option<bool>,
    timeout: Option<Duration>,
    description: Option<String>,
}

struct Reader<'r> {
    file: &'r Arc<SourceFile>,
    report: &'r mut Report,
    read: Read,
    keys: Vec<Key>,
    /// The unknown keys.
    unknown: Vec<String>,
}

impl Reader<'_> {
    fn entry(&mut self, entry: &Entry<'_>) {
        let Entry { key, value } = entry;
        let Some(name) = KEYS.iter().copied().find(|known| *known == key.text) else {
            return self.unknown_key(key);
        };
        if let Some(first) = self.keys.iter().find(|known| known.name == name) {
            self.report
                .add(Code::DuplicateKey, key.span, format!("`{name}` is here twice"))
                .related(first.span, "the first one")
                .help("keep one of them");
            return;
        }
        self.keys.push(Key { name, span: key.span });
        let value = match value {
            Value::Scalar(scalar) if scalar.is_null() => {
                self.report
                    .add(Code::EmptyValue, key.span, format!("`{name}` has no value"))
                    .help(format!("write one, or remove `{name}`"));
                return;
            }
            Value::Scalar(scalar) => scalar,
            // It was said that there is an alias.
            Value::Alias(_) => return,
            Value::List(span) => return self.collection(name, *span, "a list"),
            Value::Map(span) => return self.collection(name, *span, "keys and values"),
        };
        match name {
            "event" => self.read.event = self.event(value).map(|event| (event, value.span)),
            "script" => self.read.script = self.script(value),
            "priority" => self.read.priority = self.priority(value),
            "when" => self.read.when = self.code("when", value),
            "enabled" => self.read.enabled = self.enabled(value),
            "timeout" => self.read.timeout = self.timeout(value),
            _ => self.read.description = self.text("description", value).map(str::to_owned),
        }
    }

    fn collection(&mut self, name: &str, span: Span, what: &str) {
        let wanted = match name {
            "priority" => "a whole number",
            "enabled" => "true or false",
            "timeout" => "a time",
            _ => "a text",
        };
        let entry = self.report.add(
            Code::WrongType,
            span,
            format!("`{name}` has to be {wanted}, not {what}"),
        );
        match name {
            "event" => entry.help("a file is one hook at one event: write a file for each"),
            "script" => entry.help("write `script: |`, and the code below it, each line indented"),
            "when" => entry.help("write the expression below `when: |`, indented"),
            _ => entry,
        };
    }

    fn unknown_key(&mut self, key: &Scalar<'_>) {
        let name = &*key.text;
        let shown: String = name.chars().take(80).collect();
        if self.unknown.iter().any(|known| known == name) {
            return;
        }
        self.unknown.push(name.to_owned());
        let help = match name {
            "name" | "id" | "title" => "a hook is called after its file".to_owned(),
            "matcher" | "match" | "tool" | "tools" | "if" | "filter" => {
                "write a condition: `when: payload[\"name\"] == \"run_command\"`".to_owned()
            }
            "command" | "run" | "bash" | "shell" | "type" => {
                "a Markdown hook runs a Starlark `script`; commands stand in a hooks.json"
                    .to_owned()
            }
            "code" | "handler" | "handle" | "starlark" => "the code is `script`".to_owned(),
            "events" | "on" | "hook" | "trigger" => {
                "the event is `event`, one for each file".to_owned()
            }
            "disabled" => "write `enabled: false`".to_owned(),
            "order" | "weight" => "the order is `priority`: lower runs first".to_owned(),
            "deadline" | "timeout_ms" | "timeout_seconds" => {
                "the time is `timeout`: `timeout: 2s`".to_owned()
            }
            _ => match names::nearest(name, KEYS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("a hook has the keys {}", names::list(KEYS)),
            },
        };
        self.report
            .add(Code::UnknownField, key.span, format!("a hook has no key `{shown}`"))
            .help(help);
    }

    fn missing(&mut self, frontmatter: Span) {
        for (required, help) in [
            ("event", "say when it runs: `event: tool.pre`"),
            ("script", "say what it runs: `script: |`, and below it `def handle(event, payload):`"),
        ] {
            if !self.keys.iter().any(|key| key.name == required) {
                self.report
                    .add(
                        Code::MissingField,
                        Span::at(frontmatter.start),
                        format!("the hook has no `{required}`"),
                    )
                    .help(help);
            }
        }
    }

    /// A text that is neither a number nor true or false.
    fn text<'s>(&mut self, name: &str, value: &'s Scalar<'_>) -> Option<&'s str> {
        let text = &*value.text;
        let is_plain = value.style == ScalarStyle::Plain;
        let what = match text {
            _ if !is_plain => None,
            _ if bool_of(text).is_some() => Some("a boolean"),
            _ if number_of(text).is_some() => Some("a number"),
            _ => None,
        };
        if let Some(what) = what {
            self.report
                .add(Code::WrongType, value.span, format!("`{name}` has to be a text, not {what}"))
                .help("put it in quotes, if it is meant");
            return None;
        }
        if text.trim().is_empty() {
            self.report
                .add(Code::EmptyValue, value.span, format!("`{name}` is empty"))
                .help(format!("write something, or remove `{name}`"));
            return None;
        }
        Some(text)
    }

    fn event(&mut self, value: &Scalar<'_>) -> Option<&'static EventName> {
        let name = self.text("event", value)?;
        let found = EVENTS.iter().find(|event| event.name == name);
        if found.is_some() {
            return found;
        }
        let shown: String = name.chars().take(80).collect();
        let known: Vec<_> = EVENTS.iter().map(|event| event.name).collect();
        let all = || format!("the events are {}", names::list(&known));
        if let Some(foreign) =
            names::foreign_event(name, &known).filter(|it| it.system != "AI Harness")
        {
            let help = match foreign.harness {
                Some(ours) => format!("the event here is `{ours}`"),
                None => format!("there is no such event here; {}", all()),
            };
            self.report
                .add(
                    Code::ForeignEvent,
                    value.span,
                    format!("`{shown}` is an event of {}", foreign.system),
                )
                .help(help);
        } else {
            // The engine's own word for it is not AI Harness's.
            let engines = Kind::ALL.iter().find(|kind| kind.name() == name);
            let same = |event: &&EventName| engines.is_some_and(|kind| event.kinds.contains(kind));
            let help = match (EVENTS.iter().find(same), names::nearest(name, &known)) {
                (Some(event), _) => format!("the event here is `{}`", event.name),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => all(),
            };
            self.report
                .add(Code::UnknownEvent, value.span, format!("there is no event `{shown}`"))
                .help(help);
        }
        None
    }

    fn script(&mut self, value: &Scalar<'_>) -> Option<super::Code> {
        let is_folded = match value.style {
            ScalarStyle::Folded => true,
            ScalarStyle::Plain | ScalarStyle::SingleQuoted => self
                .file
                .text()
                .get(value.span.start..value.span.end)
                .is_some_and(|it| it.contains('\n')),
            _ => false,
        };
        if is_folded {
            self.report
                .add(Code::WrongType, value.span, "the lines of `script` are made one line by YAML")
                .help("write `script: |`, and the code below it, each line indented");
            return None;
        }
        self.code("script", value)
    }

    /// Code: any scalar, as it is.
    fn code(&mut self, name: &str, value: &Scalar<'_>) -> Option<super::Code> {
        if value.text.trim().is_empty() {
            self.report
                .add(Code::EmptyValue, value.span, format!("`{name}` is empty"))
                .help(format!("write the code, or remove `{name}`"));
            return None;
        }
        if value.text.len() > LARGEST_SCRIPT {
            self.report
                .add(
                    Code::ScriptTooLong,
                    Span::at(value.span.start),
                    format!(
                        "`{name}` has {} bytes, and {} KiB are allowed",
                        value.text.len(),
                        LARGEST_SCRIPT >> 10
                    ),
                )
                .help("a hook is a short script: make several hooks of it");
            return None;
        }
        let text = value.text.clone().into_owned();
        Some(match value.style {
            ScalarStyle::Literal => super::Code::block(self.file, text, value.span),
            ScalarStyle::Folded => super::Code::folded(self.file, text, value.span),
            _ => super::Code::in_line(self.file, text, value.span),
        })
    }

    fn priority(&mut self, value: &Scalar<'_>) -> Option<i32> {
        let text = &*value.text;
        let is_plain = value.style == ScalarStyle::Plain;
        if !is_plain || number_of(text).is_none() {
            let what = if bool_of(text).is_some() && is_plain { "a boolean" } else { "a text" };
            let said = format!("`priority` has to be a whole number, not {what}");
            let entry = self.report.add(Code::WrongType, value.span, said);
            if number_of(text).is_some() {
                entry.help("write it without quotes");
            } else {
                entry.help("lower numbers run first: `priority: 10`");
            }
            return None;
        }
        let number = text.parse().ok();
        if number.is_none() {
            self.report
                .add(Code::BadPriority, value.span, format!("`{text}` is no priority"))
                .help(format!("write a whole number from {} to {}", i32::MIN, i32::MAX));
        }
        number
    }

    fn enabled(&mut self, value: &Scalar<'_>) -> Option<bool> {
        let found = bool_of(&value.text).filter(|_| value.style == ScalarStyle::Plain);
        if found.is_none() {
            self.report
                .add(Code::WrongType, value.span, "`enabled` has to be true or false")
                .help("write `true` or `false`, without quotes");
        }
        found
    }

    fn timeout(&mut self, value: &Scalar<'_>) -> Option<Duration> {
        const HELP: &str = "write a time such as `250ms`, `2s` or `1m`, or a number of seconds";
        let text = value.text.trim();
        let seconds = number_of(text).filter(|_| value.style == ScalarStyle::Plain);
        let written = Time::parse(text).map(|time| time.0);
        if seconds.is_none() && written.is_none() {
            let shown: String = text.chars().take(80).collect();
            self.report
                .add(Code::WrongType, value.span, format!("`{shown}` is no time"))
                .help(HELP);
            return None;
        }
        let time = match seconds {
            Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            None => written,
        };
        let time = time.filter(|time| !time.is_zero() && *time <= LONGEST);
        if time.is_none() {
            let entry = self.report.add(
                Code::BadTimeout,
                value.span,
                format!("`timeout` has to be more than nothing and at most {}", Time(LONGEST)),
            );
            match seconds {
                Some(seconds) if seconds > LONGEST.as_secs_f64() && seconds.fract() == 0.0 => {
                    entry.help(format!("a number counts seconds; milliseconds are `{text}ms`"))
                }
                _ => entry.help(HELP),
            };
        }
        time
    }
}

fn bool_of(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A number as YAML has it, without its words for what is none.
fn number_of(text: &str) -> Option<f64> {
    let begins =
        text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let is_number =
        begins && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    is_number.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}
