//! Reading the tests in the body of a hook file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use jsonc_parser::ast::{Object, Value as Ast};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use serde_json::{Map, Value};

use super::{Code as Text, Expect, Expected, Given, GivenResponse, Said, TestBlock};
use crate::diagnostic::{Code, Report};
use crate::json::{self, as_array, as_object, as_text};
use crate::names;
use crate::source::{SourceFile, Span};

/// The first word of a block that is a test.
const WORD: &str = "test";

/// The line between a payload and what is expected.
const SEPARATOR: &str = "---";

/// The most tests of a hook.
const MOST_TESTS: usize = 1_000;

/// What may be given to a test.
const GIVEN: &[&str] = &["cache", "metrics", "http", "tools", "hooks"];

/// The key under which it stands in the payload.
const GIVEN_KEY: &str = "$given";

/// Whether a body has lines that look as if they began tests, without reading it as Markdown.
pub(super) fn may_have_tests(file: &SourceFile, body: Span) -> bool {
    let text = file.text().get(body.start..body.end).unwrap_or_default();
    text.lines().any(|line| {
        let line = line.trim_start();
        let info = line.trim_start_matches(['`', '~']);
        line.len() - info.len() >= 3 && info.split_whitespace().next() == Some(WORD)
    })
}

/// The tests of a body.
pub(super) fn read(file: &Arc<SourceFile>, body: Span, report: &mut Report) -> Vec<TestBlock> {
    let text = file.text().get(body.start..body.end).unwrap_or_default();
    // Most hooks say nothing of tests, and need not be read as Markdown.
    if !text.contains(WORD) {
        return Vec::new();
    }
    let mut tests = Vec::new();
    let mut count = 0;
    let mut events = Parser::new_ext(text, Options::empty()).into_offset_iter();
    while let Some((event, range)) = events.next() {
        let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) = event else { continue };
        let mut words = info.split_whitespace();
        if words.next() != Some(WORD) {
            continue;
        }
        let whole = Span { start: body.start + range.start, end: body.start + range.end };
        count += 1;
        if count > MOST_TESTS {
            report
                .add(
                    Code::BadTest,
                    Span::at(whole.start),
                    format!("the hook has more than {MOST_TESTS} tests"),
                )
                .help("remove those that test the same");
            break;
        }
        // The text comes in parts: in a list or a quotation, what stands before a line is left out.
        let parts = events
            .by_ref()
            .take_while(|(event, _)| !matches!(event, Event::End(_)))
            .filter_map(|(event, range)| match event {
                Event::Text(part) => Some((part, body.start + range.start)),
                _ => None,
            })
            .collect::<Vec<_>>();
        let parts = parts.iter().map(|(part, place)| (part.as_ref(), *place));
        let content = Text::of_parts(file, parts, whole);
        let first = words.next().unwrap_or_default();
        let name = words.collect::<Vec<_>>().join(" ");
        let reader = Reader { report, content: &content, span: whole };
        tests.extend(reader.test(first, name));
    }
    tests
}

/// Reads one block.
struct Reader<'r> {
    report: &'r mut Report,
    content: &'r Text,
    span: Span,
}

impl Reader<'_> {
    fn test(mut self, word: &str, name: String) -> Option<TestBlock> {
        let known = Expect::ALL.map(Expect::word);
        let expect = Expect::ALL.into_iter().find(|expect| expect.word() == word);
        if expect.is_none() {
            let shown: String = word.chars().take(80).collect();
            let said = match word {
                "" => "the test does not say what is expected".to_owned(),
                _ => format!("a test expects one of {}, not `{shown}`", names::list(&known)),
            };
            let help = match names::nearest(word, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write one of {} behind `test`", names::list(&known)),
            };
            self.report.add(Code::BadTest, self.first_line(), said).help(help);
        }
        let (payload, expected) = halves(self.content.text());
        let given = self.part(payload, "the payload", payload_of);
        let expected = match expected {
            Some(range) => self.part(range, "what is expected", |object, report| {
                expected_of(object, expect, report)
            }),
            None => Some(Expected::default()),
        };
        let (payload, given) = given?;
        Some(TestBlock {
            expect: expect?,
            name,
            payload,
            given,
            expected: expected?,
            span: self.span,
        })
    }

    fn first_line(&self) -> Span {
        let text = self.report.file().text();
        let rest = text.get(self.span.start..self.span.end).unwrap_or_default();
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        Span { start: self.span.start, end: self.span.start + length }
    }

    /// Reads one half: an object in JSON with comments.
    fn part<T>(
        &mut self,
        range: Range<usize>,
        what: &str,
        read: impl FnOnce(&Object<'_>, &mut Report) -> Option<T>,
    ) -> Option<T> {
        let text = self.content.text().get(range.clone()).unwrap_or_default();
        if text.trim().is_empty() {
            self.report
                .add(Code::BadTest, self.first_line(), format!("{what} is missing"))
                .help("write it as a JSON object");
            return None;
        }
        // It is read as a file of its own, and what is said of it is put where it stands in ours.
        let fragment = Arc::new(SourceFile::new("test", text));
        let mut report = Report::new(Arc::clone(&fragment));
        let root = json::parse_with_comments(&fragment, &mut report);
        let object = root.as_ref().and_then(|root| as_object(root, what, &mut report));
        let read = object.and_then(|object| read(object, &mut report));
        let failed = report.has_errors();
        let mut said = report.into_diagnostics();
        // A key that is twice in what is given is found by two.
        said.dedup();
        for said in said {
            let place =
                |span: Span| self.content.span(range.start + span.start..range.start + span.end);
            let at = said.span.map_or(self.span, place);
            let mut entry = self.report.add(Code::BadTest, at, said.message);
            if let Some(help) = said.help {
                entry = entry.help(help);
            }
            for (span, message) in said.related {
                entry = entry.related(place(span), message);
            }
        }
        read.filter(|_| !failed)
    }
}

/// The payload, and what is expected where that is said.
fn halves(text: &str) -> (Range<usize>, Option<Range<usize>>) {
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let end = begin + line.len();
        if line.trim_end() == SEPARATOR {
            return (0..begin, Some(end..text.len()));
        }
        begin = end;
    }
    (0..text.len(), None)
}

fn payload_of(object: &Object<'_>, report: &mut Report) -> Option<(Value, Given)> {
    json::no_duplicates_below(object, report);
    let given = match object.get(GIVEN_KEY) {
        Some(given) => given_of(&given.value, report)?,
        None => Given::default(),
    };
    let mut payload = json::map_of(object);
    payload.remove(GIVEN_KEY);
    Some((Value::Object(payload), given))
}

fn given_of(value: &Ast<'_>, report: &mut Report) -> Option<Given> {
    let object = as_object(value, "`$given`", report)?;
    let mut given = Given::default();
    for field in &object.properties {
        let name = field.name.as_str();
        if !GIVEN.contains(&name) {
            json::unknown_field(report, field, "`$given`", GIVEN);
            continue;
        }
        if name == "hooks" {
            let hooks = &as_array(&field.value, "`hooks`", report)?.elements;
            given.hooks = hooks.iter().map(json::value_of).collect();
            continue;
        }
        let Some(object) = as_object(&field.value, &format!("`{name}`"), report) else { continue };
        match name {
            "cache" => given.cache = json::map_of(object),
            "tools" => given.tools = json::map_of(object),
            "metrics" => given.metrics = numbers(object, report),
            _ => given.http = responses(object, report),
        }
    }
    Some(given)
}

/// Metrics, which are numbers.
fn numbers(object: &Object<'_>, report: &mut Report) -> Map<String, Value> {
    for field in &object.properties {
        if !matches!(field.value, Ast::NumberLit(_)) {
            json::wrong_type(
                report,
                &field.value,
                &format!("`{}`", field.name.as_str()),
                "a number",
            );
        }
    }
    json::map_of(object)
}

fn responses(object: &Object<'_>, report: &mut Report) -> BTreeMap<String, GivenResponse> {
    let mut responses = BTreeMap::new();
    for field in &object.properties {
        let address = field.name.as_str();
        let is_request = address
            .split_once(' ')
            .is_some_and(|(method, url)| matches!(method, "GET" | "POST") && url.contains("://"));
        if !is_request {
            report
                .add(Code::BadTest, json::name_span(field), format!("`{address}` is no request"))
                .help("write the method and the address: \"GET https://example.org/list\"");
        }
        if let Some(response) = response(&field.value, report) {
            responses.insert(address.to_owned(), response);
        }
    }
    responses
}

fn response(value: &Ast<'_>, report: &mut Report) -> Option<GivenResponse> {
    const FIELDS: &[&str] = &["status", "body", "headers"];
    let object = as_object(value, "a response", report)?;
    let mut response = GivenResponse { status: 200, body: String::new(), headers: BTreeMap::new() };
    for field in &object.properties {
        let value = &field.value;
        match field.name.as_str() {
            "status" => match json::value_of(value).as_u64().map(u16::try_from) {
                Some(Ok(status)) if (100..600).contains(&status) => response.status = status,
                _ => json::wrong_type(report, value, "`status`", "a number from 100 to 599"),
            },
            "body" => as_text(value, "`body`", report)?.clone_into(&mut response.body),
            "headers" => {
                for header in &as_object(value, "`headers`", report)?.properties {
                    let text = as_text(&header.value, "a header", report)?;
                    response.headers.insert(header.name.as_str().to_owned(), text.to_owned());
                }
            }
            _ => {
                json::unknown_field(report, field, "a response", FIELDS);
            }
        }
    }
    Some(response)
}

/// What some hook may change at some event. A test of a rewrite may name it without `patch`.
const CHANGEABLE: &[&str] = &["args", "arguments", "result", "prompt", "response", "context"];

fn expected_of(
    object: &Object<'_>,
    expect: Option<Expect>,
    report: &mut Report,
) -> Option<Expected> {
    json::no_duplicates_below(object, report);
    let fields: &[&str] = match expect {
        Some(Expect::Block | Expect::Ask) => &["reason", "reason_contains", "logs", "metrics"],
        Some(Expect::Error) => &["error", "error_contains", "logs", "metrics"],
        Some(Expect::Modify) => &["patch", "logs", "metrics"],
        Some(Expect::Allow | Expect::Skip) => &["logs", "metrics"],
        // What the test is was not understood; that is enough to say.
        None => return None,
    };
    let mut expected = Expected::default();
    for field in &object.properties {
        let (name, value) = (field.name.as_str(), &field.value);
        if expect == Some(Expect::Modify) && CHANGEABLE.contains(&name) {
            let patch = expected.patch.get_or_insert_default();
            patch.insert(name.to_owned(), json::value_of(value));
            continue;
        }
        if !fields.contains(&name) {
            let of = format!("what `{}` expects", expect.map_or("", Expect::word));
            let entry = json::unknown_field(report, field, &of, fields);
            if expect == Some(Expect::Modify) {
                entry.help("what is rewritten stands in `patch`: {\"patch\": {\"args\": …}}");
            }
            continue;
        }
        match name {
            "reason" | "error" => {
                expected.reason =
                    Some(Said::Exactly(as_text(value, "the text", report)?.to_owned()));
            }
            "reason_contains" | "error_contains" => {
                let said = Said::Contains(as_text(value, "the text", report)?.to_owned());
                if expected.reason.replace(said).is_some() {
                    report
                        .add(Code::BadTest, json::name_span(field), "the text is expected twice")
                        .help("keep the whole of it, or a part of it");
                }
            }
            "patch" => expected.patch = Some(json::map_of(as_object(value, "`patch`", report)?)),
            "logs" => {
                let logs = &as_array(value, "`logs`", report)?.elements;
                expected.logs = Some(logs.iter().map(json::value_of).collect());
            }
            _ => expected.metrics = Some(numbers(as_object(value, "`metrics`", report)?, report)),
        }
    }
    Some(expected)
}
