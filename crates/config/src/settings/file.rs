//! What one `config.toml` says, with the places where it says it.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::mask::Masker;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::host::Host;
use super::value::{Bytes, Choice, Time};
use super::{Environment, Excepting, Otherwise, WhenChanged, WhenUntrusted};
use crate::diagnostic::{Code, Report};
use crate::names;
use crate::source::{SourceFile, Span};

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Set<T> {
    pub(super) value: T,
    pub(super) span: Span,
}

/// The values of one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    pub(super) allow: Option<Set<Vec<Set<Host>>>>,
    pub(super) hook: Option<Set<Duration>>,
    pub(super) dispatch: Option<Set<Duration>>,
    pub(super) person: Option<Set<Duration>>,
    pub(super) drain: Option<Set<Duration>>,
    pub(super) stdout: Option<Set<u64>>,
    pub(super) commands: Option<Set<u64>>,
    pub(super) inspections: Option<Set<u64>>,
    pub(super) deadline: Option<Set<Duration>>,
    pub(super) otherwise: Option<Set<Otherwise>>,
    pub(super) changed: Option<Set<WhenChanged>>,
    pub(super) untrusted: Option<Set<WhenUntrusted>>,
    pub(super) fields: Option<Set<Vec<String>>>,
    pub(super) patterns: Option<Set<Vec<String>>>,
    pub(super) reask: Option<Set<bool>>,
    pub(super) rounds: Option<Set<u32>>,
    pub(super) refuse_unasked: Option<Set<bool>>,
    pub(super) refuse_unwritten: Option<Set<bool>>,
    pub(super) pass_allow: Option<Set<bool>>,
    pub(super) excepting: Option<Set<Excepting>>,
    pub(super) environment: Option<Set<Environment>>,
}

/// The keys, in the order they are shown in.
pub(super) const KEYS: &[&str] = &[
    "http.allow",
    "limits.hook",
    "limits.dispatch",
    "limits.person",
    "limits.drain",
    "limits.stdout",
    "limits.commands",
    "limits.inspections",
    "polytoken.deadline",
    "policy.otherwise",
    "trust.changed",
    "trust.untrusted",
    "mask.fields",
    "mask.patterns",
    "engine.reask",
    "engine.rounds",
    "hosts.refuse_unasked",
    "hosts.refuse_unwritten",
    "hosts.pass_allow",
    "exceptions.allow",
    "command.environment",
];

/// The most entries of a list.
const LONGEST_LIST: usize = 1_000;

const SECOND: Duration = Duration::from_secs(1);
/// Nothing useful is done in less; and a project that narrows further would switch off what others
/// rely on.
const SHORTEST: Duration = Duration::from_millis(100);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Reads a file. What is wrong with it is in the report.
pub(super) fn parse(source: &Arc<SourceFile>) -> (Written, Report) {
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let mut report = Report::new(Arc::clone(source));
    let mut broken_lines = Vec::new();
    for error in &errors {
        let span = error.span().map(Span::from);
        broken_lines.extend(span.map(|span| source.line(span.start)));
        let (code, help) = if error.message().contains("duplicate") {
            (Code::DuplicateKey, "a key stands once in its table: put the two together")
        } else {
            (Code::NotToml, "see https://toml.io for how it is written")
        };
        report.add(code, span, error.message().replace('\n', ", ")).help(help);
    }
    let mut reader = Reader { report, broken_lines, written: Written::default() };
    reader.tables(table.get_ref());
    (reader.written, reader.report)
}

type Value<'a> = Spanned<DeValue<'a>>;

struct Reader {
    report: Report,
    /// Lines that are not TOML: what was made of them is not worth a complaint.
    broken_lines: Vec<u32>,
    written: Written,
}

impl Reader {
    fn complain(&mut self, code: Code, span: Span, message: String, help: String) {
        if !self.broken_lines.contains(&self.report.file().line(span.start)) {
            self.report.add(code, span, message).help(help);
        }
    }

    fn wrong(&mut self, key: &str, value: &Value<'_>, wanted: &str) {
        let what = match value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{key}` is {what} here");
        self.complain(Code::WrongType, value.span().into(), message, format!("give it {wanted}"));
    }

    fn tables(&mut self, root: &DeTable<'_>) {
        for (name, value) in root {
            let table = name.get_ref().as_ref();
            let span = Span::from(name.span());
            let known: Vec<&str> =
                KEYS.iter().filter_map(|key| key.strip_prefix(table)?.strip_prefix('.')).collect();
            if known.is_empty() {
                self.unknown_table(table, span);
                continue;
            }
            let Some(keys) = value.get_ref().as_table() else {
                self.wrong(table, value, &format!("keys of its own: `[{table}]`"));
                continue;
            };
            for (key, value) in keys {
                let full = format!("{table}.{}", key.get_ref());
                if !self.value(&full, value) {
                    let nearest = names::nearest(key.get_ref(), &known);
                    let is_same = |k: &&&str| k.split('.').nth(1) == Some(key.get_ref().as_ref());
                    let elsewhere = || KEYS.iter().find(is_same);
                    let help = match nearest {
                        Some(name) => format!("`{name}` is probably meant"),
                        None => match elsewhere() {
                            Some(key) => format!("`{key}` is probably meant"),
                            None => format!("`[{table}]` has {}", names::list(&known)),
                        },
                    };
                    let message = format!("`{full}` is no setting");
                    self.complain(Code::UnknownField, key.span().into(), message, help);
                }
            }
        }
    }

    fn unknown_table(&mut self, name: &str, span: Span) {
        let mut tables: Vec<&str> = KEYS.iter().filter_map(|key| key.split('.').next()).collect();
        tables.dedup();
        let of_table = KEYS.iter().find(|key| key.split('.').nth(1) == Some(name));
        let help = match (of_table, names::nearest(name, &tables)) {
            (Some(key), _) => format!("`{key}` is probably meant: it stands in a table"),
            (None, Some(table)) => format!("`{table}` is probably meant"),
            (None, None) => format!("there are {}", names::list(&tables)),
        };
        self.complain(Code::UnknownField, span, format!("`{name}` is no table of settings"), help);
    }

    /// Reads the value of a key; false where there is no such key.
    fn value(&mut self, key: &str, value: &Value<'_>) -> bool {
        match key {
            "http.allow" => self.written.allow = self.hosts(key, value),
            "limits.hook" => self.written.hook = self.time(key, value, SHORTEST, HOUR),
            "limits.dispatch" => self.written.dispatch = self.time(key, value, SHORTEST, DAY),
            "limits.person" => self.written.person = self.time(key, value, SECOND, DAY * 7),
            "limits.drain" => self.written.drain = self.time(key, value, SHORTEST, HOUR),
            "limits.stdout" => self.written.stdout = self.size(key, value, 1 << 10, 1 << 30),
            "limits.commands" => self.written.commands = self.count(key, value, 1, 4_096),
            "limits.inspections" => {
                self.written.inspections = self.count(key, value, 16, 1_000_000);
            }
            "polytoken.deadline" => self.written.deadline = self.time(key, value, SHORTEST, HOUR),
            "policy.otherwise" => self.written.otherwise = self.choice(key, value),
            "trust.changed" => self.written.changed = self.choice(key, value),
            "trust.untrusted" => self.written.untrusted = self.choice(key, value),
            "mask.fields" => self.written.fields = self.fields(key, value),
            "mask.patterns" => self.written.patterns = self.patterns(key, value),
            "engine.reask" => self.written.reask = self.boolean(key, value),
            "engine.rounds" => {
                let count = self.count(key, value, 0, 1_000);
                let small = |set: Set<u64>| {
                    let value = u32::try_from(set.value).unwrap_or(u32::MAX);
                    Set { value, span: set.span }
                };
                self.written.rounds = count.map(small);
            }
            "hosts.refuse_unasked" => self.written.refuse_unasked = self.boolean(key, value),
            "hosts.refuse_unwritten" => self.written.refuse_unwritten = self.boolean(key, value),
            "hosts.pass_allow" => self.written.pass_allow = self.boolean(key, value),
            "exceptions.allow" => self.written.excepting = self.choice(key, value),
            "command.environment" => self.written.environment = self.environment(key, value),
            _ => return false,
        }
        true
    }

    fn integer(value: &Value<'_>) -> Option<i128> {
        let integer = value.get_ref().as_integer()?;
        i128::from_str_radix(integer.as_str(), integer.radix()).ok()
    }

    /// Holds a value against its range.
    fn ranged<T: PartialOrd + Copy>(
        &mut self,
        key: &str,
        set: Set<T>,
        (least, most): (T, T),
        show: impl Fn(T) -> String,
    ) -> Option<Set<T>> {
        if set.value >= least && set.value <= most {
            return Some(set);
        }
        let message = format!("`{key}` is {} here, which is out of range", show(set.value));
        let help = format!("it goes from {} to {}", show(least), show(most));
        self.complain(Code::OutOfRange, set.span, message, help);
        None
    }

    fn out_of_range(&mut self, key: &str, value: &Value<'_>, least: &str, most: &str) {
        let message = format!("`{key}` is out of range here");
        let help = format!("it goes from {least} to {most}");
        self.complain(Code::OutOfRange, value.span().into(), message, help);
    }

    fn time(
        &mut self,
        key: &str,
        value: &Value<'_>,
        least: Duration,
        most: Duration,
    ) -> Option<Set<Duration>> {
        let show = |time: Duration| Time(time).to_string();
        let seconds = Self::integer(value).map(u64::try_from);
        let time = match (seconds, value.get_ref().as_str()) {
            (Some(Ok(seconds)), _) => Duration::from_secs(seconds.min(u64::from(u32::MAX))),
            (Some(Err(_)), _) => {
                self.out_of_range(key, value, &show(least), &show(most));
                return None;
            }
            (None, Some(text)) if Time::parse(text).is_some() => Time::parse(text)?.0,
            _ => {
                let wanted = "a text such as `\"500ms\"`, `\"10s\"` or `\"2m\"`, or whole seconds";
                self.wrong(key, value, wanted);
                return None;
            }
        };
        self.ranged(key, Set { value: time, span: value.span().into() }, (least, most), show)
    }

    fn count(&mut self, key: &str, value: &Value<'_>, least: u64, most: u64) -> Option<Set<u64>> {
        let Some(number) = Self::integer(value) else {
            self.wrong(key, value, "a whole number");
            return None;
        };
        let Ok(number) = u64::try_from(number) else {
            self.out_of_range(key, value, &least.to_string(), &most.to_string());
            return None;
        };
        let set = Set { value: number, span: value.span().into() };
        self.ranged(key, set, (least, most), |number| number.to_string())
    }

    fn size(&mut self, key: &str, value: &Value<'_>, least: u64, most: u64) -> Option<Set<u64>> {
        let show = |bytes: u64| Bytes(bytes).to_string();
        let bytes = Self::integer(value).map(u64::try_from);
        let bytes = match (bytes, value.get_ref().as_str().map(Bytes::parse)) {
            (Some(Ok(bytes)), _) | (None, Some(Some(Bytes(bytes)))) => bytes,
            (Some(Err(_)), _) => {
                self.out_of_range(key, value, &show(least), &show(most));
                return None;
            }
            _ => {
                self.wrong(key, value, "a number of bytes, or a text such as `\"64KiB\"`");
                return None;
            }
        };
        self.ranged(key, Set { value: bytes, span: value.span().into() }, (least, most), show)
    }

    fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<Set<bool>> {
        let Some(boolean) = value.get_ref().as_bool() else {
            self.wrong(key, value, "`true` or `false`");
            return None;
        };
        Some(Set { value: boolean, span: value.span().into() })
    }

    fn choice<C: Choice>(&mut self, key: &str, value: &Value<'_>) -> Option<Set<C>> {
        let words: Vec<&str> = C::WORDS.iter().map(|(word, _)| *word).collect();
        let quoted: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
        let wanted = match quoted.as_slice() {
            [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => quoted.concat(),
        };
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(key, value, &wanted);
            return None;
        };
        if let Some((_, known)) = C::WORDS.iter().find(|(word, _)| *word == text) {
            return Some(Set { value: *known, span: value.span().into() });
        }
        let message = format!("`{key}` is `{text}` here");
        let help = match names::nearest(text, &words) {
            Some(name) => format!("`\"{name}\"` is probably meant"),
            None => format!("it is {wanted}"),
        };
        self.complain(Code::OutOfRange, value.span().into(), message, help);
        None
    }

    /// A list of texts, each with its place.
    fn texts(&mut self, key: &str, value: &Value<'_>, wanted: &str) -> Option<Vec<Set<String>>> {
        let Some(list) = value.get_ref().as_array() else {
            self.wrong(key, value, wanted);
            return None;
        };
        if list.len() > LONGEST_LIST {
            let message = format!("`{key}` has {} entries", list.len());
            let help = format!("it may have {LONGEST_LIST}");
            self.complain(Code::OutOfRange, value.span().into(), message, help);
            return None;
        }
        let mut texts = Some(Vec::new());
        for entry in list {
            match (entry.get_ref().as_str(), &mut texts) {
                (Some(text), Some(texts)) => {
                    texts.push(Set { value: text.to_owned(), span: entry.span().into() });
                }
                (Some(_), None) => {}
                (None, _) => {
                    self.wrong(key, entry, wanted);
                    texts = None;
                }
            }
        }
        texts
    }

    fn hosts(&mut self, key: &str, value: &Value<'_>) -> Option<Set<Vec<Set<Host>>>> {
        let texts = self.texts(key, value, "a list of hosts, such as `[\"example.org\"]`")?;
        let mut hosts = Vec::new();
        let total = texts.len();
        for Set { value: text, span } in texts {
            match text.parse::<Host>() {
                Ok(host) => hosts.push(Set { value: host, span }),
                Err(error) => {
                    let help = match error.meant {
                        Some(meant) => format!("`\"{meant}\"` is probably meant"),
                        None => {
                            "a host is `example.org`, `*.example.org` or with a port".to_owned()
                        }
                    };
                    let message = format!("`{}` is no host", error.text);
                    self.complain(Code::OutOfRange, span, message, help);
                }
            }
        }
        (hosts.len() == total).then_some(Set { value: hosts, span: value.span().into() })
    }

    fn fields(&mut self, key: &str, value: &Value<'_>) -> Option<Set<Vec<String>>> {
        let texts = self.texts(key, value, "a list of names of fields")?;
        if let Some(empty) = texts.iter().find(|text| text.value.trim().is_empty()) {
            let message = format!("a name in `{key}` is empty");
            self.complain(Code::EmptyValue, empty.span, message, "take it out".to_owned());
            return None;
        }
        let names = texts.into_iter().map(|text| text.value).collect();
        Some(Set { value: names, span: value.span().into() })
    }

    fn patterns(&mut self, key: &str, value: &Value<'_>) -> Option<Set<Vec<String>>> {
        let texts = self.texts(key, value, "a list of regular expressions")?;
        let total = texts.len();
        let mut patterns = Vec::new();
        for Set { value: pattern, span } in texts {
            match Masker::with([&pattern]) {
                Ok(_) if pattern.is_empty() => {
                    let message = format!("a pattern in `{key}` is empty");
                    self.complain(Code::EmptyValue, span, message, "take it out".to_owned());
                }
                Ok(_) => patterns.push(pattern),
                Err(error) => {
                    let why = error.message.lines().last().unwrap_or_default().to_owned();
                    let message = format!("`{pattern}` is no regular expression");
                    self.complain(Code::BadPattern, span, message, why);
                }
            }
        }
        (patterns.len() == total).then_some(Set { value: patterns, span: value.span().into() })
    }

    fn environment(&mut self, key: &str, value: &Value<'_>) -> Option<Set<Environment>> {
        let wanted = "`\"inherit\"`, or a list of names such as `[\"PATH\"]`";
        let span = Span::from(value.span());
        match value.get_ref().as_str() {
            Some("inherit") => return Some(Set { value: Environment::Inherit, span }),
            Some(other) => {
                let message = format!("`{key}` is `{other}` here");
                self.complain(Code::OutOfRange, span, message, format!("give it {wanted}"));
                return None;
            }
            None => {}
        }
        let texts = self.texts(key, value, wanted)?;
        let is_name = |name: &str| {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
            name.starts_with(begins) && name.chars().all(is_of_name)
        };
        if let Some(odd) = texts.iter().find(|text| !is_name(&text.value)) {
            let message = format!("`{}` is no name of a variable", odd.value);
            let help = "a name has letters, digits and `_`, and stands without its value";
            self.complain(Code::OutOfRange, odd.span, message, help.to_owned());
            return None;
        }
        let names = texts.into_iter().map(|text| text.value).collect();
        Some(Set { value: Environment::Only(names), span })
    }
}
