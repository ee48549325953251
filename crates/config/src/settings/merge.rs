//! Which value is in force where several layers set one.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::dialect::Layer;

use super::file::{Set, Written};
use super::value::{Bytes, Choice, Time};
use super::{Environment, Origin, Settings};
use crate::diagnostic::{Code, Report};
use crate::source::{SourceFile, Span};

/// Whose values are merged.
pub(super) struct From<'a> {
    pub(super) layer: Layer,
    pub(super) source: &'a Arc<SourceFile>,
    /// Whether a layer above could not be read, so that what it allows is not known.
    pub(super) is_unsure: bool,
}

/// What is in force with the values of one more layer.
pub(super) fn merge(
    before: &Settings,
    written: &Written,
    from: &From<'_>,
    report: &mut Report,
) -> Settings {
    let mut merge = Merge { settings: before.clone(), from, report };
    merge.all(written);
    merge.settings
}

struct Merge<'a> {
    settings: Settings,
    from: &'a From<'a>,
    report: &'a mut Report,
}

/// What becomes of a value.
enum Fate {
    /// It is in force.
    Taken,
    /// What was in force stays.
    Left,
}

impl Merge<'_> {
    fn all(&mut self, written: &Written) {
        let w = written;
        self.most("limits.hook", w.hook.as_ref(), |s| &mut s.limits.hook, time);
        self.most("limits.dispatch", w.dispatch.as_ref(), |s| &mut s.limits.dispatch, time);
        self.most("limits.person", w.person.as_ref(), |s| &mut s.limits.person, time);
        self.most("limits.drain", w.drain.as_ref(), |s| &mut s.limits.drain, time);
        self.most("limits.stdout", w.stdout.as_ref(), |s| &mut s.limits.stdout, bytes);
        self.most("limits.commands", w.commands.as_ref(), |s| &mut s.limits.commands, number);
        self.most(
            "limits.inspections",
            w.inspections.as_ref(),
            |s| &mut s.limits.inspections,
            number,
        );
        self.most("polytoken.deadline", w.deadline.as_ref(), |s| &mut s.polytoken.deadline, time);
        self.most("engine.rounds", w.rounds.as_ref(), |s| &mut s.engine.rounds, |n| n.to_string());
        self.choice("policy.otherwise", w.otherwise.as_ref(), |s| &mut s.policy.otherwise);
        self.choice("trust.changed", w.changed.as_ref(), |s| &mut s.trust.changed);
        self.choice("trust.untrusted", w.untrusted.as_ref(), |s| &mut s.trust.untrusted);
        self.switch("engine.reask", w.reask.as_ref(), |s| &mut s.engine.reask, true);
        self.switch(
            "hosts.refuse_unasked",
            w.refuse_unasked.as_ref(),
            |s| &mut s.hosts.refuse_unasked,
            true,
        );
        self.switch(
            "hosts.refuse_unwritten",
            w.refuse_unwritten.as_ref(),
            |s| &mut s.hosts.refuse_unwritten,
            true,
        );
        self.switch("hosts.pass_allow", w.pass_allow.as_ref(), |s| &mut s.hosts.pass_allow, false);
        self.choice("exceptions.allow", w.excepting.as_ref(), |s| &mut s.exceptions.allow);
        self.hosts(written);
        self.environment(w.environment.as_ref());
        self.masks(written);
    }

    fn origin_of(&self, span: Span) -> Origin {
        let source = self.from.source;
        Origin {
            layer: self.from.layer,
            path: source.path().to_path_buf(),
            line: source.line(span.start),
        }
    }

    fn came_from(&mut self, key: &'static str, span: Span) {
        let origin = self.origin_of(span);
        self.settings.origins.insert(key, vec![origin]);
    }

    /// Decides about a value. `wider` is what it would have to be within, where it is not.
    fn fate(&mut self, key: &'static str, span: Span, here: &str, wider: Option<&str>) -> Fate {
        let is_set = !self.settings.origin(key).is_empty();
        // What no layer above has set is the machine's and the person's to choose.
        let is_free = matches!(self.from.layer, Layer::System | Layer::User)
            && !self.from.is_unsure
            && !is_set;
        let Some(bound) = wider.filter(|_| !is_free) else {
            self.came_from(key, span);
            return Fate::Taken;
        };
        // With a layer above unread, a person's own file is not wrong; it is only not believed.
        if self.from.is_unsure && self.from.layer == Layer::User {
            return Fate::Left;
        }
        let by = match self.settings.origin(key).first() {
            Some(origin) => format!("by {origin}"),
            None => "by default".to_owned(),
        };
        let message = format!("`{key}` is {here} here, and {bound} is allowed {by}");
        let help = match self.from.layer {
            Layer::Project | Layer::Code => "a project may only narrow what is set above it",
            Layer::System | Layer::User => "what the machine sets may only be narrowed",
        };
        self.report.add(Code::Widens, span, message).help(help);
        Fate::Left
    }

    /// A value that is narrower the smaller it is.
    fn most<T: PartialOrd + Copy>(
        &mut self,
        key: &'static str,
        set: Option<&Set<T>>,
        field: impl Fn(&mut Settings) -> &mut T,
        show: impl Fn(T) -> String,
    ) {
        let Some(set) = set else { return };
        let current = *field(&mut self.settings);
        let bound = (set.value > current).then(|| format!("at most {}", show(current)));
        if let Fate::Taken = self.fate(key, set.span, &show(set.value), bound.as_deref()) {
            *field(&mut self.settings) = set.value;
        }
    }

    /// A value that is narrower the later it stands among its words.
    fn choice<C: Choice>(
        &mut self,
        key: &'static str,
        set: Option<&Set<C>>,
        field: impl Fn(&mut Settings) -> &mut C,
    ) {
        let Some(set) = set else { return };
        let current = field(&mut self.settings).rank();
        let allowed = || {
            let words = C::WORDS.iter().skip(current).map(|(word, _)| format!("`\"{word}\"`"));
            format!("only {}", words.collect::<Vec<_>>().join(" or "))
        };
        let bound = (set.value.rank() < current).then(allowed);
        let here = format!("`\"{}\"`", set.value.word());
        if let Fate::Taken = self.fate(key, set.span, &here, bound.as_deref()) {
            *field(&mut self.settings) = set.value;
        }
    }

    /// A value that is narrower one way than the other.
    fn switch(
        &mut self,
        key: &'static str,
        set: Option<&Set<bool>>,
        field: impl Fn(&mut Settings) -> &mut bool,
        narrow: bool,
    ) {
        let Some(set) = set else { return };
        let widens = set.value != narrow && *field(&mut self.settings) == narrow;
        let bound = widens.then(|| format!("only `{narrow}`"));
        if let Fate::Taken = self.fate(key, set.span, &set.value.to_string(), bound.as_deref()) {
            *field(&mut self.settings) = set.value;
        }
    }

    fn hosts(&mut self, written: &Written) {
        const KEY: &str = "http.allow";
        let Some(set) = &written.allow else { return };
        let allowed = self.settings.http.allow.clone();
        let outside: Vec<_> = set
            .value
            .iter()
            .filter(|host| !allowed.iter().any(|above| above.covers(&host.value)))
            .collect();
        let bound = match allowed.as_slice() {
            [] => "no host".to_owned(),
            hosts => format!("only {}", quoted(hosts)),
        };
        let mut fate = Fate::Taken;
        if outside.is_empty() {
            self.came_from(KEY, set.span);
        }
        for host in outside {
            let here = format!("`\"{}\"`", host.value);
            fate = self.fate(KEY, host.span, &here, Some(&bound));
            if let Fate::Taken = fate {
                // It is free to set: then the whole list is.
                self.came_from(KEY, set.span);
                break;
            }
        }
        if let Fate::Taken = fate {
            self.settings.http.allow = set.value.iter().map(|host| host.value.clone()).collect();
        }
    }

    fn environment(&mut self, set: Option<&Set<Environment>>) {
        let Some(set) = set else { return };
        let bound = match (&self.settings.command.environment, &set.value) {
            (Environment::Only(above), Environment::Only(names))
                if names.iter().all(|name| above.contains(name)) =>
            {
                None
            }
            (Environment::Only(above), _) => Some(format!("only {}", quoted(above))),
            (Environment::Inherit, _) => None,
        };
        let here = shown_environment(&set.value);
        if let Fate::Taken = self.fate("command.environment", set.span, &here, bound.as_deref()) {
            self.settings.command.environment = set.value.clone();
        }
    }

    /// Masks add up: to mask more is always to narrow.
    fn masks(&mut self, written: &Written) {
        let mut add = |key: &'static str, set: Option<&Set<Vec<String>>>, patterns: bool| {
            let Some(set) = set else { return };
            let mask = &mut self.settings.mask;
            let list = if patterns { &mut mask.patterns } else { &mut mask.fields };
            for entry in &set.value {
                if !list.contains(entry) {
                    list.push(entry.clone());
                }
            }
            let origin = self.origin_of(set.span);
            self.settings.origins.entry(key).or_default().push(origin);
        };
        add("mask.fields", written.fields.as_ref(), false);
        add("mask.patterns", written.patterns.as_ref(), true);
    }
}

fn time(time: Duration) -> String {
    Time(time).to_string()
}

fn bytes(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

fn number(number: u64) -> String {
    number.to_string()
}

fn quoted<T: std::fmt::Display>(entries: &[T]) -> String {
    let quoted: Vec<_> = entries.iter().map(|entry| format!("\"{entry}\"")).collect();
    format!("`[{}]`", quoted.join(", "))
}

fn shown_environment(environment: &Environment) -> String {
    match environment {
        Environment::Inherit => "`\"inherit\"`".to_owned(),
        Environment::Only(names) => quoted(names),
    }
}

/// The value of a key as it would be written.
pub(super) fn shown(settings: &Settings, key: &str) -> String {
    let Settings { http, limits, polytoken, policy, trust, mask, engine, .. } = settings;
    let Settings { hosts, exceptions, command, .. } = settings;
    let text = |shown: String| format!("\"{shown}\"");
    let plain = |shown: String| shown.trim_matches('`').to_owned();
    match key {
        "http.allow" => plain(quoted(&http.allow)),
        "limits.hook" => text(time(limits.hook)),
        "limits.dispatch" => text(time(limits.dispatch)),
        "limits.person" => text(time(limits.person)),
        "limits.drain" => text(time(limits.drain)),
        "limits.stdout" => text(bytes(limits.stdout)),
        "limits.commands" => limits.commands.to_string(),
        "limits.inspections" => limits.inspections.to_string(),
        "polytoken.deadline" => text(time(polytoken.deadline)),
        "policy.otherwise" => text(policy.otherwise.word().to_owned()),
        "trust.changed" => text(trust.changed.word().to_owned()),
        "trust.untrusted" => text(trust.untrusted.word().to_owned()),
        "mask.fields" => toml_list(&mask.fields),
        "mask.patterns" => toml_list(&mask.patterns),
        "engine.reask" => engine.reask.to_string(),
        "engine.rounds" => engine.rounds.to_string(),
        "hosts.refuse_unasked" => hosts.refuse_unasked.to_string(),
        "hosts.refuse_unwritten" => hosts.refuse_unwritten.to_string(),
        "hosts.pass_allow" => hosts.pass_allow.to_string(),
        "exceptions.allow" => text(exceptions.allow.name().to_owned()),
        "command.environment" => plain(shown_environment(&command.environment)),
        _ => String::new(),
    }
}

/// Texts with anything in them. A basic string of TOML has the escapes of one of JSON.
fn toml_list(texts: &[String]) -> String {
    let escaped: Vec<_> = texts.iter().map(|text| serde_json::json!(text).to_string()).collect();
    format!("[{}]", escaped.join(", "))
}
