//! The cases of `cases/antigravity`, `cases/polytoken` and of the agents: each writes its hook files, loads them,
//! dispatches one event, and holds what came of it against what is expected.
//!
//! What the cases look like is in the `README.md` beside them.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_config::diagnostic::{Code, Diagnostic};
use tollgate_config::layers::Places;
use tollgate_config::load::{Loaded, Setup, load, survey};
use tollgate_config::trust::Store;
use tollgate_core::audit::MemorySink;
use tollgate_core::prelude::*;
use tollgate_core::runner::AnyOutcome;

/// How many cases run at the same time.
const AT_ONCE: usize = 8;
/// How long one may take. The longest time-out of a handler in them is one second.
const LONGEST: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// What is worth knowing about it, for the reader.
    #[serde(rename = "about")]
    _about: Option<String>,
    /// The person's hook file: JSON, or the text of the file.
    hooks: Option<Value>,
    /// Instead of `hooks`: the hook files by layer.
    #[serde(default)]
    layers: BTreeMap<String, Value>,
    /// Whether the project's hooks are trusted.
    #[serde(default = "yes")]
    trusted: bool,
    event: Kind,
    payload: Value,
    #[serde(default)]
    session: SessionInfo,
    #[serde(default)]
    interactive: bool,
    /// How long a Polytoken handler may take.
    deadline_ms: Option<u64>,
    /// The text that stands for `$HANDLER`; else it is made of the four fields below.
    handler: Option<String>,
    /// What the handler prints: a text as it is, or a value as JSON.
    prints: Option<Value>,
    prints_hex: Option<String>,
    /// What it prints as an error.
    #[serde(default)]
    says: String,
    #[serde(default)]
    exit: i32,
    #[serde(default)]
    expect: Expect,
}

fn yes() -> bool {
    true
}

/// What is expected. What is not said is expected not to be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expect {
    /// The codes of what is said of the files.
    diagnostics: Vec<String>,
    decision: Option<String>,
    reason: Option<String>,
    /// The payload in the end; none where it is as it was.
    payload: Option<Value>,
    context: Vec<String>,
    inject: Vec<Value>,
    overrides: Vec<String>,
    /// A part of the error of a hook; none where no hook fails.
    error: Option<String>,
    /// A part of the detail of an answer; none where no answer has one.
    detail: Option<String>,
    /// A part of what the person is told.
    told: Option<String>,
    /// How often the handler ran; once where nothing is said.
    ran: Option<usize>,
    /// What it read; not looked at where nothing is said. The same for what follows.
    stdin: Option<Value>,
    /// What it read when it was asked again.
    stdin_again: Option<Value>,
    /// Variables it had; null for those it had not.
    env: BTreeMap<String, Option<String>>,
    /// Where it ran.
    cwd: Option<String>,
    /// Files it wrote into the case's directory.
    files: BTreeMap<String, String>,
}

/// Cases that have something in common: each of `for`, if there is any, with each of `cases`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    #[serde(rename = "about")]
    _about: Option<String>,
    #[serde(default)]
    common: Map<String, Value>,
    #[serde(default, rename = "for")]
    each: Vec<Map<String, Value>>,
    cases: Vec<Map<String, Value>>,
}

/// Puts the fields of a case on others: `expect` field by field, the rest as a whole, the names
/// behind each other.
fn put_on(below: &Map<String, Value>, fields: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = below.clone();
    for (name, value) in fields {
        match (name.as_str(), merged.get_mut(name), value) {
            ("expect", Some(Value::Object(expect)), Value::Object(more)) => {
                expect.extend(more.clone());
            }
            ("name", Some(Value::String(before)), Value::String(more)) => {
                *before = format!("{before}, {more}");
            }
            _ => {
                merged.insert(name.clone(), value.clone());
            }
        }
    }
    merged
}

fn cases_in(folder: &Path) -> Vec<Case> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "diagnostics"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let groups: Vec<Group> = serde_json::from_slice(&fs::read(&file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for group in groups {
            let each = if group.each.is_empty() { vec![Map::new()] } else { group.each };
            for row in &each {
                let below = put_on(&group.common, row);
                for case in &group.cases {
                    let fields = Value::Object(put_on(&below, case));
                    let mut case: Case = serde_json::from_value(fields.clone())
                        .unwrap_or_else(|error| panic!("{}: {error}: {fields}", file.display()));
                    case.name = format!("{stem}: {}", case.name);
                    cases.push(case);
                }
            }
        }
    }
    cases
}

/// The home of a dialect's files in each layer.
struct Homes {
    system: &'static str,
    user: &'static str,
    project: &'static str,
    file: &'static str,
}

/// Runs everything in a folder.
fn run(folder: &str, homes: &'static Homes) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases").join(folder);
    let cases = Arc::new(cases_in(&folder));
    let mut names = HashSet::new();
    for case in &*cases {
        assert!(names.insert(&case.name), "two cases are called `{}`", case.name);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (cases, next) = (Arc::clone(&cases), Arc::clone(&next));
            runtime.spawn(async move {
                let mut failures = Vec::new();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let mut wrong = check(case, homes).await;
                    if begun.elapsed() > LONGEST {
                        wrong.push(format!("it took {:?}", begun.elapsed()));
                    }
                    if !wrong.is_empty() {
                        failures.push(format!("{}\n    {}", case.name, wrong.join("\n    ")));
                    }
                }
                failures
            })
        })
        .collect();
    let mut failures: Vec<String> =
        workers.into_iter().flat_map(|worker| runtime.block_on(worker).unwrap()).collect();
    failures.sort();
    let (wrong, all) = (failures.len(), cases.len());
    assert!(failures.is_empty(), "{wrong} of {all} cases fail:\n{}", failures.join("\n"));
}

#[test]
fn antigravity() {
    run(
        "antigravity",
        &Homes {
            system: "system/antigravity",
            user: "home/.gemini/config",
            project: "project/.agents",
            file: "hooks.json",
        },
    );
}

#[test]
fn polytoken() {
    run(
        "polytoken",
        &Homes {
            system: "system/polytoken",
            user: "home/.config/polytoken",
            project: "project/.polytoken",
            file: "hooks.json",
        },
    );
}

#[test]
fn claude() {
    run(
        "claude",
        &Homes {
            system: "system/claude",
            user: "home/.claude",
            project: "project/.claude",
            file: "settings.json",
        },
    );
}

#[test]
fn codex() {
    run(
        "codex",
        &Homes {
            system: "system/codex",
            user: "home/.codex",
            project: "project/.codex",
            file: "hooks.json",
        },
    );
}

#[test]
fn gemini() {
    run(
        "gemini",
        &Homes {
            system: "system/gemini",
            user: "home/.gemini",
            project: "project/.gemini",
            file: "settings.json",
        },
    );
}

/// Writes into every string of a value what `$HANDLER` and `$CASE_DIR` stand for.
fn fill_in(value: &Value, handler: &str, dir: &str) -> Value {
    match value {
        Value::String(text) => text.replace("$HANDLER", handler).replace("$CASE_DIR", dir).into(),
        Value::Array(items) => items.iter().map(|item| fill_in(item, handler, dir)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(n, v)| (n.clone(), fill_in(v, handler, dir)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// The handler that notes what it was given and prints what the case says.
fn usual_handler(case: &Case, dir: &Path) -> String {
    let printed = match (&case.prints_hex, &case.prints) {
        (Some(hex), _) => bytes(hex),
        (None, Some(Value::String(text))) => text.clone().into_bytes(),
        (None, Some(value)) => value.to_string().into_bytes(),
        (None, None) => Vec::new(),
    };
    fs::write(dir.join("prints"), printed).unwrap();
    fs::write(dir.join("says"), &case.says).unwrap();
    let exit = case.exit;
    // When it is asked again, the names of the files get a `1`.
    format!(
        "echo >>$CASE_DIR/ran; env >$CASE_DIR/env$TOLLGATE_REASK; pwd >$CASE_DIR/cwd; \
         cat >$CASE_DIR/stdin$TOLLGATE_REASK; cat $CASE_DIR/prints; cat $CASE_DIR/says >&2; \
         exit {exit}"
    )
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Writes the files of a case and loads them.
fn set_up(case: &Case, homes: &Homes, dir: &Path) -> Loaded {
    let text = dir.to_str().unwrap();
    let handler = case.handler.clone().unwrap_or_else(|| usual_handler(case, dir));
    let mut layers = case.layers.clone();
    if let Some(hooks) = &case.hooks {
        assert!(layers.insert("user".to_owned(), hooks.clone()).is_none(), "{}", case.name);
    }
    for (layer, hooks) in &layers {
        let home = match layer.as_str() {
            "system" => homes.system,
            "user" => homes.user,
            "project" => homes.project,
            other => panic!("{}: there is no layer {other}", case.name),
        };
        let hooks = match fill_in(hooks, &handler, text) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        fs::create_dir_all(dir.join(home)).unwrap();
        fs::write(dir.join(home).join(homes.file), hooks).unwrap();
    }
    fs::create_dir_all(dir.join("project")).unwrap();
    let places = Places::below(dir);
    if layers.contains_key("project") && case.trusted {
        let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
        store.trust(&survey(&places).unwrap()).unwrap();
    }
    let mut setup = Setup::new(places);
    setup.interactive = case.interactive;
    if let Some(deadline) = case.deadline_ms {
        setup.settings.settings.polytoken.deadline = Duration::from_millis(deadline);
    }
    load(&setup)
}

/// What is wrong with a case.
async fn check(case: &Case, homes: &Homes) -> Vec<String> {
    let temporary = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(temporary.path()).unwrap();
    let mut loaded = set_up(case, homes, &dir);
    // What cannot be pinned is a matter of trust, not of the file.
    loaded.diagnostics.retain(|d| d.code != Code::Unpinned);
    let mut found = Wrong::default();
    let codes: Vec<_> = loaded.diagnostics.iter().map(|d| d.code.id().to_owned()).collect();
    if codes != case.expect.diagnostics {
        let lines: Vec<_> = loaded.diagnostics.iter().map(Diagnostic::line).collect();
        found.0.push(format!("diagnostics: {lines:#?}, not {:?}", case.expect.diagnostics));
    }
    let sink = Arc::new(MemorySink::new(100));
    let mut builder = Runner::builder().audit(sink.clone());
    for registration in loaded.registrations {
        builder = builder.register(registration);
    }
    let runner = builder.build().unwrap();
    let event = AnyEvent::from_value(case.event, case.payload.clone())
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let payload = event.to_value();
    let operation = SessionContext::new(case.session.clone()).turn().operation();
    let outcome = runner.dispatch_any(&operation, event).await;
    let cut_off = runner.drain(Duration::from_secs(20)).await;
    found.same("cut off", &cut_off.len(), &0);
    found.outcome(case, &outcome, &payload);
    found.errors(case, &outcome, &sink);
    found.traces(case, &dir);
    found.0
}

/// Collects what is not as expected.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn same<T: PartialEq + Debug + ?Sized>(&mut self, what: &str, is: &T, wanted: &T) {
        if is != wanted {
            self.0.push(format!("{what}: is {is:?}, not {wanted:?}"));
        }
    }

    fn json(&mut self, what: &str, is: &Value, wanted: &Value) {
        if is != wanted {
            self.0.push(format!("{what}: is {is}, not {wanted}"));
        }
    }

    /// A part that has to be in one of some texts; without one there must be none.
    fn part(&mut self, what: &str, texts: &[String], part: Option<&str>) {
        let right = match part {
            None => texts.is_empty(),
            Some(part) => texts.iter().any(|text| text.contains(part)),
        };
        if !right {
            self.0.push(format!("{what}: is {texts:?}, not {part:?}"));
        }
    }

    fn outcome(&mut self, case: &Case, outcome: &AnyOutcome, before: &Value) {
        let expect = &case.expect;
        let decision = outcome.decision.to_string();
        self.same("decision", decision.as_str(), expect.decision.as_deref().unwrap_or("none"));
        self.same("reason", &*outcome.reason, expect.reason.as_deref().unwrap_or_default());
        let wanted = expect.payload.as_ref().unwrap_or(before);
        self.json("payload", &outcome.event.to_value(), wanted);
        let extra = outcome.extra.clone().unwrap_or_default();
        let part = |name: &str| extra.get(name).cloned().unwrap_or_else(|| json!([]));
        let list = if extra.is_array() { extra.clone() } else { json!([]) };
        let (overrides, context) = match case.event {
            Kind::ToolPre => (list, json!([])),
            Kind::ModelPre | Kind::InvocationEnd => (json!([]), part("context")),
            _ => (json!([]), list),
        };
        self.json("overrides", &overrides, &json!(expect.overrides));
        self.json("context", &context, &json!(expect.context));
        self.json("inject", &part("steps"), &json!(expect.inject));
        let details: Vec<_> =
            outcome.record.answers.iter().filter_map(|line| line.detail.as_deref()).collect();
        let details: Vec<_> = details.into_iter().map(str::to_owned).collect();
        self.part("detail", &details, expect.detail.as_deref());
        if let Some(told) = &expect.told {
            self.part("told", &[outcome.record.detail()], Some(told));
        }
    }

    /// The errors of hooks, of those in the background too.
    fn errors(&mut self, case: &Case, outcome: &AnyOutcome, sink: &MemorySink) {
        let mut errors: Vec<String> = outcome
            .record
            .answers
            .iter()
            .filter_map(|line| line.error.as_ref().map(ToString::to_string))
            .collect();
        if let Err(error) = &outcome.record.inspectors {
            errors.push(error.to_string());
        }
        for entry in sink.entries().iter().filter(|entry| entry.value()["type"] == "inspection") {
            for inspection in entry.value()["inspections"].as_array().unwrap() {
                if let Some(error) = inspection.get("error") {
                    let message = error.get("message").and_then(Value::as_str);
                    errors.push(message.map_or_else(|| error.to_string(), str::to_owned));
                }
            }
        }
        let wanted = case.expect.error.as_deref();
        self.part("error", &errors, wanted);
    }

    /// What the handler left behind.
    fn traces(&mut self, case: &Case, dir: &Path) {
        let expect = &case.expect;
        let text = dir.to_str().unwrap();
        let filled = |value: &Value| fill_in(value, "", text);
        let read = |name: &str| {
            let bytes = fs::read(dir.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        self.same("ran", &read("ran").lines().count(), &expect.ran.unwrap_or(1));
        for (file, wanted) in [("stdin", &expect.stdin), ("stdin1", &expect.stdin_again)] {
            if let Some(wanted) = wanted {
                let is = serde_json::from_str(&read(file)).unwrap_or_default();
                self.json(file, &is, &filled(wanted));
            }
        }
        let variables = read("env");
        for (name, wanted) in &expect.env {
            let is = variables
                .lines()
                .find_map(|line| line.strip_prefix(name.as_str())?.strip_prefix('='))
                .map(str::to_owned);
            let wanted = wanted.as_ref().map(|wanted| wanted.replace("$CASE_DIR", text));
            self.same(name, &is, &wanted);
        }
        if let Some(cwd) = &expect.cwd {
            self.same("cwd", read("cwd").trim_end(), &*cwd.replace("$CASE_DIR", text));
        }
        for (name, wanted) in &expect.files {
            self.same(name, &*read(name), &**wanted);
        }
    }
}
