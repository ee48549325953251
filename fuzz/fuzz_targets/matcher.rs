//! Any text as a glob, a regular expression or a target: it compiles or is refused, it matches
//! what other implementations say it matches, and the index of a runner asks exactly the hooks
//! whose matcher matches.

#![no_main]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use globset::GlobBuilder;
use libfuzzer_sys::fuzz_target;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use tollgate_core::event::ToolCall;
use tollgate_core::matcher::{Matcher, Pattern};
use tollgate_core::prelude::*;
use tollgate_core::registry::RegisterError;
use tollgate_core::target::{Reading, Subject, Target};
use tollgate_core::tools;
use tollgate_fuzz::{Names, dispatch, is_plain, meanings, means, means_nothing, runner};

/// The input is text in fields, so that the fuzzer can cut and paste whole patterns; the first
/// character of a field says what it is. What separates them is never part of UTF-8.
const BETWEEN_FIELDS: u8 = 0xFF;
/// Enough to be interesting together, few enough to be fast.
const MOST: usize = 8;

#[derive(Debug, Default)]
struct Case {
    matchers: Vec<(Form, String)>,
    calls: Vec<ToolCall>,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Glob,
    Regex,
    Target,
}

impl Case {
    fn read(data: &[u8]) -> Self {
        let mut case = Self::default();
        for field in data.split(|byte| *byte == BETWEEN_FIELDS) {
            let Some((first, text)) = field.split_first() else { continue };
            let text = String::from_utf8_lossy(text).into_owned();
            match first {
                b'g' => case.matchers.push((Form::Glob, text)),
                b'r' => case.matchers.push((Form::Regex, text)),
                b't' => case.matchers.push((Form::Target, text)),
                // A call by its name; one for each server it could be of; more of its readings.
                b'n' => case.calls.push(ToolCall::new(text)),
                b'm' => case.calls.extend(splits(&text).map(|(s, t)| ToolCall::new(t).server(s))),
                b'f' => {
                    if let Some(call) = case.calls.last_mut() {
                        let reading = |(server, tool): (&str, &str)| Reading {
                            server: server.to_owned(),
                            tool: tool.to_owned(),
                        };
                        call.readings.extend(splits(&text).map(reading).take(MOST));
                    }
                }
                _ => {}
            }
        }
        case.matchers.truncate(MOST);
        case.calls.truncate(MOST);
        // What a target names is hard to come by otherwise.
        for (_, text) in &case.matchers {
            case.calls.push(ToolCall::new(text.as_str()));
            let splits = splits(text).take(MOST);
            case.calls.extend(splits.map(|(server, tool)| ToolCall::new(tool).server(server)));
        }
        case
    }
}

/// Every server and tool that could be meant.
fn splits(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices('/').map(|(at, _)| (&text[..at], &text[at + 1..]))
}

/// As patterns see them.
fn written(call: &ToolCall) -> impl Iterator<Item = String> {
    meanings(call).into_iter().map(|(server, name)| match server {
        Some(server) => format!("{server}/{name}"),
        None => name.to_owned(),
    })
}

/// Whether `globset` itself says that a glob matches. It works on bytes: for text that is not
/// ASCII it means something else by `?` and `[…]`.
fn check_glob(text: &str, pattern: &Pattern, call: &ToolCall) {
    let names: Vec<_> = written(call).collect();
    if !text.is_ascii() || !names.iter().all(|name| name.is_ascii()) {
        return;
    }
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    let glob = glob.expect("it is a glob, as it was compiled").compile_matcher();
    let expected = names.iter().any(|name| glob.is_match(name));
    assert_eq!(pattern.matches(Subject::of_call(call)), expected, "glob {text:?}, {names:?}");
}

/// Whether the slowest and simplest engine says that an expression matches: the longest match
/// from the beginning is all there is.
fn check_regex(text: &str, pattern: &Pattern, call: &ToolCall) {
    let longest = PikeVM::builder()
        .configure(PikeVM::config().match_kind(MatchKind::All))
        .syntax(syntax::Config::new().dot_matches_new_line(true))
        .build(text)
        .expect("it is a regex, as it was compiled");
    let mut cache = longest.create_cache();
    let mut whole = |name: &String| {
        let found = longest.find(&mut cache, Input::new(name).anchored(Anchored::Yes));
        found.is_some_and(|found| found.end() == name.len())
    };
    let names: Vec<_> = written(call).collect();
    let expected = names.iter().any(&mut whole);
    assert_eq!(pattern.matches(Subject::of_call(call)), expected, "regex {text:?}, {names:?}");
}

/// A matcher of the input, if it compiles, and whether it matches a call.
enum Compiled<'a> {
    Glob(&'a str, Pattern),
    Regex(&'a str, Pattern),
    Target(Target),
}

impl<'a> Compiled<'a> {
    fn new(form: Form, text: &'a str) -> Option<Self> {
        let pattern = match form {
            Form::Target => return Self::target(Target::parse(text)),
            Form::Glob => Pattern::glob(text).map(|pattern| Self::Glob(text, pattern)),
            Form::Regex => Pattern::regex(text).map(|pattern| Self::Regex(text, pattern)),
        };
        match pattern {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                assert_eq!(error.pattern, text);
                assert!(!error.message.is_empty(), "{error:?}");
                None
            }
        }
    }

    fn target(target: Target) -> Option<Self> {
        if !means_nothing(&target) {
            return Some(Self::Target(target));
        }
        let hook = decide("never", |_cx, _call: &ToolPre| Decision::none());
        let hook = hook.matching(Matcher::Targets(vec![target]));
        let error = runner().register(hook).build().expect_err("it would never be asked");
        assert!(matches!(error, RegisterError::NeverMatches { .. }), "{error}");
        None
    }

    fn matcher(&self) -> Matcher {
        match self {
            Self::Glob(_, pattern) | Self::Regex(_, pattern) => Matcher::Pattern(pattern.clone()),
            Self::Target(target) => Matcher::Targets(vec![target.clone()]),
        }
    }

    fn matches(&self, call: &ToolCall) -> bool {
        match self {
            Self::Glob(text, pattern) => {
                check_glob(text, pattern, call);
                matches_by_any_name(pattern, call)
            }
            Self::Regex(text, pattern) => {
                check_regex(text, pattern, call);
                matches_by_any_name(pattern, call)
            }
            Self::Target(target) => {
                let meant = |(server, name)| means(target, Names::OfTheTable, server, name);
                meanings(call).into_iter().any(meant)
            }
        }
    }
}

/// The agent's own tools are matched by their name in use as well, whatever they are called by.
fn matches_by_any_name(pattern: &Pattern, call: &ToolCall) -> bool {
    let own = meanings(call).into_iter().filter(|(server, _)| server.is_none());
    let mut in_use = own.flat_map(|(_, name)| {
        tools::TABLE.iter().filter(move |tool| tool.aliases.contains(&name)).map(|tool| tool.name)
    });
    pattern.matches(Subject::of_call(call))
        || in_use.any(|name| pattern.matches(Subject::named(name)))
}

fuzz_target!(|data: &[u8]| {
    let Case { matchers, calls } = Case::read(data);
    let matchers: Vec<_> =
        matchers.iter().filter_map(|(form, text)| Compiled::new(*form, text)).collect();
    let asked = Arc::new(AtomicU32::new(0));
    let mut builder = runner();
    for (place, matcher) in matchers.iter().enumerate() {
        let asked = Arc::clone(&asked);
        let hook = decide(place.to_string(), move |_cx, _call: &ToolPre| {
            let before = asked.fetch_or(1 << place, Ordering::Relaxed);
            assert_eq!(before & (1 << place), 0, "hook {place} is asked twice");
            Decision::none()
        });
        builder = builder.register(hook.matching(matcher.matcher()));
    }
    let runner = match builder.build() {
        Ok(runner) => runner,
        // Each is small enough alone, but all of them together may be too much.
        Err(RegisterError::Pattern { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    for call in calls.iter().filter(|call| is_plain(call)) {
        let expected = matchers
            .iter()
            .enumerate()
            .filter(|(_, matcher)| matcher.matches(call))
            .fold(0, |bits, (place, _)| bits | 1 << place);
        asked.store(0, Ordering::Relaxed);
        let outcome = dispatch(&runner, call);
        // A name that only looks like a known one is refused before anybody is asked.
        if call.server.as_deref().is_none_or(str::is_empty)
            && tools::lookalike(&call.name).is_some()
        {
            assert_eq!(asked.load(Ordering::Relaxed), 0, "{call:?}");
            assert!(!outcome.permit().is_granted());
            continue;
        }
        assert_eq!(asked.load(Ordering::Relaxed), expected, "{call:?}");
        assert!(outcome.permit().is_granted());
    }
});
