//! Markdown hooks and policy files: what is read of them, where they are found, and when they run.
//!
//! The tables are in `cases/harness`; what their rows look like is in the `README.md` there.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use stub::{Stub, call, codes, hook, runner, trust, write};
use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::dialect::harness::{Artifact, Code, Said, TestBlock, read_artifact};
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup, load};
use tollgate_config::source::SourceFile;
use tollgate_core::prelude::*;

mod stub;

fn rows<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/harness").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn read(name: &str, text: &str) -> (Option<Artifact>, Vec<Diagnostic>) {
    read_artifact(&Arc::new(SourceFile::new(name, text)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    name: String,
    lines: Option<Vec<String>>,
    text: Option<String>,
    expect: Value,
    /// A key, a word of its code, and where that stands.
    #[serde(default)]
    places: Vec<(String, String, String)>,
}

/// Puts in what is there, and leaves out what is usual.
fn put(
    fields: &mut Map<String, Value>,
    name: &str,
    value: impl Into<Value>,
    usual: impl Into<Value>,
) {
    let value = value.into();
    if value != usual.into() {
        fields.insert(name.to_owned(), value);
    }
}

fn told_test(file: &SourceFile, test: &TestBlock) -> Value {
    let mut given = Map::new();
    put(&mut given, "cache", test.given.cache.clone(), json!({}));
    put(&mut given, "metrics", test.given.metrics.clone(), json!({}));
    put(&mut given, "tools", test.given.tools.clone(), json!({}));
    let http = test.given.http.iter();
    let http: Map<_, _> =
        http.map(|(url, it)| (url.clone(), json!([it.status, it.body]))).collect();
    put(&mut given, "http", http, json!({}));
    let mut fields = Map::new();
    put(&mut fields, "line", file.line(test.span.start), 0);
    put(&mut fields, "expect", test.expect.word(), "");
    put(&mut fields, "name", test.name.as_str(), Value::Null);
    put(&mut fields, "payload", test.payload.clone(), Value::Null);
    put(&mut fields, "given", given, json!({}));
    match &test.expected.reason {
        Some(Said::Exactly(said)) => put(&mut fields, "reason", said.as_str(), Value::Null),
        Some(Said::Contains(said)) => put(&mut fields, "contains", said.as_str(), Value::Null),
        None => {}
    }
    put(&mut fields, "patch", test.expected.patch.clone(), Value::Null);
    put(&mut fields, "logs", test.expected.logs.clone(), Value::Null);
    put(&mut fields, "metrics", test.expected.metrics.clone(), Value::Null);
    fields.into()
}

fn told(artifact: &Artifact) -> Value {
    let source = &artifact.source;
    let body = source.text().get(artifact.body.start..artifact.body.end).unwrap();
    let keys: Vec<_> = artifact.keys.iter().map(|key| key.name).collect();
    let tests: Vec<_> = artifact.tests.iter().map(|test| told_test(source, test)).collect();
    let timeout = artifact.timeout.map(|time| u64::try_from(time.as_millis()).unwrap());
    let mut fields = Map::new();
    put(&mut fields, "event", artifact.event.name, "");
    put(&mut fields, "line", artifact.line(), 0);
    put(&mut fields, "priority", artifact.priority, Value::Null);
    put(&mut fields, "when", artifact.when.as_ref().map(Code::text), Value::Null);
    put(&mut fields, "script", artifact.script.text(), "");
    put(&mut fields, "enabled", artifact.enabled, true);
    put(&mut fields, "timeout_ms", timeout, Value::Null);
    put(&mut fields, "description", artifact.description.clone(), Value::Null);
    // Where there are tests, the body is those.
    put(&mut fields, "body", if tests.is_empty() { body } else { "" }, "");
    put(&mut fields, "keys", keys, json!([]));
    put(&mut fields, "tests", tests, json!([]));
    fields.into()
}

#[test]
fn what_is_read_of_a_file() {
    for row in rows::<FileRow>("files.json") {
        let text = row.text.unwrap_or_else(|| row.lines.unwrap().join("\n"));
        let (artifact, diagnostics) = read("a.b.md", &text);
        assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", row.name);
        let artifact = artifact.unwrap();
        assert_eq!(artifact.name, "a.b");
        assert_eq!(told(&artifact), row.expect, "{}", row.name);
        for (key, word, place) in row.places {
            let code =
                if key == "when" { artifact.when.as_ref().unwrap() } else { &artifact.script };
            let at = code.text().find(&word).unwrap();
            let span = code.span(at..at + word.len());
            let found = artifact.source.position(span.start);
            assert_eq!(found.to_string(), place, "{}: {word}", row.name);
            let line = 1 + code.text()[..at].matches('\n').count();
            let line = code.line_in_file(u32::try_from(line).unwrap());
            assert_eq!(line, found.line, "{}: {word}", row.name);
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayersRow {
    name: String,
    files: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    #[serde(default = "yes")]
    trusted: bool,
    #[serde(default = "yes")]
    engine: bool,
    expect: LayersExpected,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayersExpected {
    codes: Vec<String>,
    states: Option<BTreeMap<String, String>>,
    order: Option<Vec<String>>,
    listed: Option<Vec<String>>,
    #[serde(default)]
    denied: bool,
    reason: Option<String>,
}

#[tokio::test]
async fn where_files_are_and_what_becomes_of_them() {
    for row in rows::<LayersRow>("layers.json") {
        let name = &row.name;
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("project")).unwrap();
        for (path, text) in &row.files {
            let is_hook = Path::new(path).extension().is_some_and(|it| it == "md");
            let text = if is_hook { hook(text) } else { text.clone() };
            write(&root.path().join(path), &text);
        }
        for (path, target) in &row.links {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, path).unwrap();
        }
        let places = Places::below(root.path());
        if row.trusted {
            trust(&places);
        }
        let engine = Stub::default();
        let setup = Setup::new(places);
        let setup = if row.engine { setup.scripts(engine.clone()) } else { setup };
        let loaded = load(&setup);
        assert_eq!(
            codes(&loaded.diagnostics),
            row.expect.codes,
            "{name}: {:?}",
            loaded.diagnostics
        );
        if let Some(states) = &row.expect.states {
            let state = |file: &tollgate_config::load::LoadedFile| {
                let name = file.path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, format!("{:?}", file.state))
            };
            let found: BTreeMap<_, _> = loaded.files.iter().map(state).collect();
            assert_eq!(found, *states, "{name}");
        }
        if let Some(listed) = &row.expect.listed {
            let names: Vec<_> = engine.catalogue().into_iter().map(|it| it.name).collect();
            assert_eq!(names, *listed, "{name}");
        }
        let runner = runner(loaded);
        if let Some(order) = &row.expect.order {
            let hooks = runner.hooks(Kind::ToolPre).map(|hook| hook.name.clone());
            // The guard is there in any case, and a policy of a project has a seal.
            let hooks = hooks.filter(|name| name != tollgate_config::guard::NAME);
            let names: Vec<_> = hooks.filter(|name| name != "policy-seal").collect();
            assert_eq!(names, *order, "{name}");
        }
        let outcome = call(&runner).await;
        if let Some(reason) = &row.expect.reason {
            assert_eq!(outcome.reason(), reason, "{name}");
        }
        assert_eq!(outcome.permit().is_refused(), row.expect.denied, "{name}");
    }
}

#[tokio::test]
async fn the_catalogue_says_what_files_say() {
    let root = tempfile::tempdir().unwrap();
    let keys = "priority: 4\nwhen: x\ntimeout: 2s\ndescription: Guards.";
    let path = root.path().join("system/hooks/x.md");
    write(&path, &(hook(keys) + "```test allow\n{}\n```\n"));
    write(&root.path().join("system/hooks/y.md"), &hook("event: tool.post"));
    let engine = Stub::default();
    let loaded = load(&Setup::new(Places::below(root.path())).scripts(engine.clone()));
    assert_eq!(loaded.longest.as_secs(), 5);
    let [y, x] = &engine.catalogue()[..] else { panic!("{:?}", engine.catalogue()) };
    assert_eq!((y.priority, y.enabled, y.has_tests, y.event), (None, true, false, "tool.post"));
    assert_eq!((x.priority, x.event, x.line, &x.path), (Some(4), "tool.pre", 2, &path));
    assert_eq!((x.when.as_deref(), x.has_tests), (Some("x"), true));
    assert_eq!((x.timeout.unwrap().as_secs(), x.description.as_deref()), (2, Some("Guards.")));
    let runner = runner(loaded);
    let hook = runner.hooks(Kind::ToolPre).find(|hook| hook.name == "x").unwrap();
    assert_eq!((hook.dialect, hook.layer, hook.priority), (Dialect::Harness, Layer::System, 4));
    assert_eq!(hook.source.as_ref().unwrap().line, Some(2));
    // It has its own time, and that to end in good order.
    assert!(hook.deadline.unwrap().as_millis() > 2_000);
    let posts = [Kind::ToolPost, Kind::ToolError];
    assert!(posts.iter().all(|kind| runner.hooks(*kind).any(|hook| hook.name == "y")));
}

#[test]
fn a_directory_has_a_thousand_hooks_and_no_more() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("system/hooks");
    let text = hook("enabled: false");
    for number in 0..1_000 {
        write(&folder.join(format!("{number}.md")), &text);
    }
    let setup = Setup::new(Places::below(root.path())).scripts(Stub::default());
    let loaded = load(&setup);
    assert_eq!((loaded.files.len(), loaded.diagnostics.len()), (1_000, 0));
    write(&folder.join("more.md"), &text);
    let loaded = load(&setup);
    assert_eq!(codes(&loaded.diagnostics), ["TG070"]);
    assert_eq!(loaded.files.len(), 1);
    assert_eq!(loaded.files[0].state, FileState::Broken);
}

#[test]
fn a_policy_has_sixty_four_kilobytes_and_no_more() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("system/policy.star");
    let setup = Setup::new(Places::below(root.path())).scripts(Stub::default());
    write(&path, &"#".repeat(64 * 1024));
    assert!(load(&setup).is_sound);
    write(&path, &"#".repeat(64 * 1024 + 1));
    assert_eq!(codes(&load(&setup).diagnostics), ["TG074"]);
}

/// Pieces of which files are made that are nearly right.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "---\n",
        "event: tool.pre\n",
        "script: |\n",
        "  x = 1\n",
        "script: |2-\r\n",
        "when: \"a\\\"é\"\n",
        "when: >\n",
        "priority: ",
        "timeout: ",
        "enabled: true\n",
        "&a ",
        "*a",
        "!t ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        ": ",
        "- ",
        "#",
        "\t",
        "\r",
        "```test allow\n",
        "```test\n",
        "~~~\n",
        "{\"a\": 1, \"$given\": {}}\n",
        "> ",
        "* ",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "日",
        "\\u00e9",
        "\0",
    ]);
    prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => "[ -~\\né]{0,6}"]
}

/// A line of code without what YAML does not let through.
fn code_line() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z(][ -~é日]{0,12}", 1 => Just(String::new())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_is_read_has_its_place(
        begins in any::<bool>(),
        pieces in prop::collection::vec(piece(), 0..40),
    ) {
        let begin = if begins { "---\nevent: tool.pre\nscript: |\n  x\n" } else { "" };
        let text = format!("{begin}{}", pieces.concat());
        let (artifact, diagnostics) = read("x.md", &text);
        prop_assert_eq!(artifact.is_none(), diagnostics.iter().any(Diagnostic::is_error));
        let is_place = |span: tollgate_config::source::Span| text.get(span.start..span.end).is_some();
        for diagnostic in &diagnostics {
            prop_assert!(diagnostic.span.is_none_or(is_place), "{:?}", diagnostic);
        }
        let Some(artifact) = artifact else { return Ok(()) };
        prop_assert!(is_place(artifact.body) && is_place(artifact.event_span));
        prop_assert!(artifact.tests.iter().all(|test| is_place(test.span)));
        prop_assert!(artifact.keys.iter().all(|key| is_place(key.span)));
        for code in artifact.when.iter().chain([&artifact.script]) {
            let length = code.text().len();
            for (start, end) in [(0, length), (length, length), (length / 2, length), (length, 0), (9, 99)] {
                let span = code.span(start..end);
                prop_assert!(span.start <= span.end && span.end <= text.len());
            }
            prop_assert!(code.line_in_file(u32::MAX) <= artifact.source.line(text.len()));
        }
    }

    #[test]
    fn code_in_a_block_is_known_byte_by_byte(
        first in "[a-z]{1,4}",
        lines in prop::collection::vec(code_line(), 0..8),
        indent in 1_usize..5,
        header in prop::sample::select(vec!["|", "|-", "|+"]),
        line_break in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let indentation = " ".repeat(indent);
        let code = std::iter::once(&first).chain(&lines);
        let code: Vec<_> = code.map(|line| format!("{indentation}{line}")).collect();
        let head = ["---", "event: error", &format!("script: {header}")].map(str::to_owned);
        let tail = ["when: x".to_owned(), "---".to_owned()];
        let text = head.into_iter().chain(code).chain(tail).collect::<Vec<_>>().join(line_break);
        let (artifact, diagnostics) = read("x.md", &text);
        let script = artifact.ok_or_else(|| TestCaseError::fail(format!("{diagnostics:?}")))?.script;
        let mut begin = 0;
        for (number, line) in script.text().split('\n').enumerate() {
            if !line.is_empty() {
                let span = script.span(begin..begin + line.len());
                prop_assert_eq!(text.get(span.start..span.end), Some(line));
                let number = u32::try_from(number + 1).unwrap();
                prop_assert_eq!(script.line_in_file(number), number + 3);
            }
            begin += line.len() + 1;
        }
    }
}
