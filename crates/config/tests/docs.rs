//! The pages say what the code does: every code has its page, and every marked example is run.
//!
//! A fenced block is run if the line that opens it says what it is:
//!
//! * `json antigravity`, `json polytoken`, and `claude`, `codex`, `gemini`: a project's hook file that is not as it should be. On a
//!   code's page, it has to give that code.
//! * with `ok`: one without an error.
//! * with `project`: one that is looked at together with the layers above it, where the person has
//!   a hook `log-edits` and the machine one `audit`.
//! * `toml config`: a project's `config.toml`, also with `ok`.
//! * `markdown harness`: a Markdown hook, also with `ok`.
//! * `markdown starlark`: one whose script is the example. Here it is only read: what the script
//!   means is for the crate that runs it to check.
//! * `json antigravity input Stop`, `json antigravity answer Stop`: what a handler reads and
//!   answers at that event.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tollgate_config::diagnostic::{Code, Diagnostic, Report, Severity};
use tollgate_config::dialect::harness::read_artifact;
use tollgate_config::dialect::host::HostDialect;
use tollgate_config::dialect::{self, Codec as _, FileDialect, Output, antigravity, polytoken};
use tollgate_config::layers::Places;
use tollgate_config::load::{Setup, load, survey};
use tollgate_config::settings;
use tollgate_config::source::SourceFile;
use tollgate_config::trust::Store;
use tollgate_core::Dialect;
use tollgate_core::dialect::Layer;
use tollgate_core::prelude::*;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// What a block is.
#[derive(Clone, Copy)]
enum What {
    /// Of a `hooks.json`.
    Commands(&'static dyn FileDialect),
    Config,
    Markdown,
    /// As `Markdown`, but not for its frontmatter.
    Script,
}

/// A marked block of a page.
struct Block {
    page: String,
    line: usize,
    what: What,
    marks: Vec<String>,
    text: String,
}

impl Block {
    fn has(&self, mark: &str) -> bool {
        self.marks.iter().any(|it| it == mark)
    }

    /// The event of an input or an answer.
    fn event(&self, of: &str) -> Option<&str> {
        match self.marks.as_slice() {
            [what, event] if what == of => Some(event),
            _ => None,
        }
    }

    /// Whether it is a hook file.
    fn is_file(&self) -> bool {
        let is_wire = self.event("input").or(self.event("answer")).is_some();
        matches!(self.what, What::Commands(_) | What::Markdown) && !is_wire
    }

    fn dialect(&self) -> &'static dyn FileDialect {
        match self.what {
            What::Commands(format) => format,
            _ => panic!("{} is of no dialect", self.place()),
        }
    }

    fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.place()))
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        if self.has("project") {
            return self.in_layers();
        }
        let file = Arc::new(SourceFile::new(self.place(), self.text.as_str()));
        let (is_read, found) = match self.what {
            What::Config => {
                return settings::Loaded::from_sources([(Layer::Project, file)]).diagnostics;
            }
            What::Commands(format) => {
                let mut report = Report::new(file);
                let parsed = format.parse(&mut report, Layer::Project);
                (parsed.is_some(), report.into_diagnostics())
            }
            What::Markdown | What::Script => {
                let (artifact, found) = read_artifact(&file);
                (artifact.is_some(), found)
            }
        };
        assert_eq!(!is_read, found.iter().any(Diagnostic::is_error), "{}", self.place());
        found
    }

    /// What is said of the block as the file of a trusted project below other layers.
    fn in_layers(&self) -> Vec<Diagnostic> {
        let root = tempfile::tempdir().unwrap();
        let places = Places::below(root.path());
        let hook = |name: &str| {
            format!(r#"[{{"name": "{name}", "event": "stop", "handler": {{"bash": "true"}}}}]"#)
        };
        assert_eq!(self.dialect().dialect(), Dialect::Polytoken, "{}", self.place());
        for (path, text) in [
            ("system/polytoken/hooks.json", hook("audit")),
            ("home/.config/polytoken/hooks.json", hook("log-edits")),
            ("project/.polytoken/hooks.json", self.text.clone()),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
        store.trust(&survey(&places).unwrap()).unwrap();
        load(&Setup::new(places)).diagnostics
    }
}

/// The marked blocks of a page.
fn blocks(path: &Path) -> Vec<Block> {
    let text = fs::read_to_string(path).unwrap();
    let page = path.strip_prefix(docs()).unwrap().display().to_string();
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let info = line.trim_start_matches('`');
        let fence = line.strip_suffix(info).filter(|fence| fence.len() >= 3);
        let Some(fence) = fence else { continue };
        let inside: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != fence).collect();
        let mut words = info.split_whitespace().map(str::to_owned);
        let (first, second) = (words.next(), words.next());
        let commands = |of| What::Commands(dialect::of(of).unwrap());
        let what = match (first.as_deref(), second.as_deref()) {
            (Some("json"), Some("antigravity")) => commands(Dialect::HooksJson),
            (Some("json"), Some("polytoken")) => commands(Dialect::Polytoken),
            (Some("json"), Some("claude")) => commands(Dialect::Claude),
            (Some("json"), Some("codex")) => commands(Dialect::Codex),
            (Some("json"), Some("gemini")) => commands(Dialect::Gemini),
            (Some("toml"), Some("config")) => What::Config,
            (Some("markdown"), Some("harness")) => What::Markdown,
            (Some("markdown"), Some("starlark")) => What::Script,
            (_, None) => continue,
            other => panic!("{page}:{}: a block of what? {other:?}", number + 1),
        };
        blocks.push(Block {
            page: page.clone(),
            line: number + 1,
            what,
            marks: words.collect(),
            text: inside.join("\n"),
        });
    }
    blocks
}

/// The pages of a folder.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(docs().join(folder)).unwrap();
    let mut pages: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages
}

fn all_blocks() -> Vec<Block> {
    let pages = pages("diagnostics").into_iter().chain(pages("dialects"));
    pages.flat_map(|page| blocks(&page)).collect()
}

fn lines(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(Diagnostic::line).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_code_has_its_page_with_its_title_and_severity() {
    for code in Code::ALL {
        let page = code.page();
        let mut lines = page.lines();
        assert_eq!(lines.next(), Some(format!("# {code}: {}", code.title()).as_str()));
        let severity = format!("Severity: {}", code.severity());
        assert_eq!(lines.nth(1), Some(severity.as_str()), "{code}");
        for heading in ["## Example", "## At run time", "## How to fix it"] {
            let count = page.lines().filter(|line| *line == heading).count();
            assert_eq!(count, 1, "{code}: `{heading}`");
        }
    }
}

#[test]
fn there_is_no_page_without_a_code() {
    for page in pages("diagnostics") {
        let name = page.file_stem().unwrap().to_str().unwrap();
        assert!(name == "README" || name.parse::<Code>().is_ok(), "{}", page.display());
    }
}

#[test]
fn the_table_lists_every_code_once_and_in_order() {
    let table = fs::read_to_string(docs().join("diagnostics/README.md")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| [")).collect();
    let wanted: Vec<String> = Code::ALL
        .iter()
        .map(|code| format!("| [{code}]({code}.md) | {} | {} |", code.severity(), code.title()))
        .collect();
    assert_eq!(rows, wanted);
}

#[test]
fn examples_of_a_code_give_that_code() {
    for code in Code::ALL {
        let of_code = blocks(&docs().join(format!("diagnostics/{code}.md")));
        let (scripts, of_code): (Vec<_>, Vec<_>) =
            of_code.into_iter().partition(|block| matches!(block.what, What::Script));
        for block in &scripts {
            let found = block.diagnostics();
            assert!(found.is_empty(), "{} gives:\n{}", block.place(), lines(&found));
        }
        for block in of_code.iter().filter(|block| !block.has("ok")) {
            let found = block.diagnostics();
            let Some(it) = found.iter().find(|it| it.code == *code) else {
                panic!("{} does not give {code}, but:\n{}", block.place(), lines(&found));
            };
            assert_eq!(it.severity, code.severity(), "{}", it.line());
            // One mistake at a time: another problem would be a riddle to the reader.
            let others: Vec<_> = found.into_iter().filter(|it| it.code != *code).collect();
            assert!(others.is_empty(), "{} also gives:\n{}", block.place(), lines(&others));
        }
        for block in of_code.iter().filter(|block| block.has("ok")) {
            let found = block.diagnostics();
            assert!(found.is_empty(), "{} gives:\n{}", block.place(), lines(&found));
        }
    }
}

#[test]
fn codes_about_what_a_file_says_have_an_example_and_its_correction() {
    // Files that cannot be shown on a page, or problems that are not in a file.
    let in_words = |code: &Code| {
        let number: u32 = code.id().trim_start_matches("TG").parse().unwrap();
        let shown = [65, 66, 71, 72, 73, 75, 76];
        number <= 5 || number == 9 || (number >= 60 && !shown.contains(&number))
    };
    for code in Code::ALL.iter().filter(|code| !in_words(code)) {
        let of_code = blocks(&docs().join(format!("diagnostics/{code}.md")));
        assert!(of_code.iter().any(|block| block.has("ok")), "{code} has no correction");
        assert!(of_code.iter().any(|block| !block.has("ok")), "{code} has no example");
    }
}

#[test]
fn examples_of_dialects_are_as_they_are_marked() {
    for page in pages("dialects") {
        let blocks = blocks(&page);
        let files: Vec<_> = blocks.iter().filter(|block| block.is_file()).collect();
        assert!(!files.is_empty(), "{} shows no file", page.display());
        for block in files {
            let found = block.diagnostics();
            let is_good = found.iter().all(|it| it.severity == Severity::Note);
            assert_eq!(is_good, block.has("ok"), "{}:\n{}", block.place(), lines(&found));
        }
    }
}

/// Whether a tool call passes with the files of these places.
async fn passes(places: &Places) -> bool {
    let mut builder = Runner::builder();
    for registration in load(&Setup::new(places.clone())).registrations {
        builder = builder.register(registration);
    }
    let runner = builder.build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = runner.dispatch(&operation, ToolPre::from(ToolCall::new("view_file"))).await;
    // The guard has an opinion on none of this.
    let others = |answer: &&tollgate_core::record::Answered| {
        outcome.record.hook(answer).is_some_and(|hook| hook.name != tollgate_config::guard::NAME)
    };
    assert!(outcome.record.answers.iter().filter(others).all(|answer| answer.error.is_some()));
    outcome.permit().is_granted()
}

#[tokio::test]
async fn a_file_that_does_not_load_closes_what_the_page_on_layers_says() {
    let files = [
        ("system/antigravity/hooks.json", false),
        ("system/polytoken/hooks.json", false),
        ("home/.config/tollgate/antigravity/hooks.json", false),
        ("home/.config/tollgate/polytoken/hooks.json", false),
        ("home/.gemini/config/hooks.json", false),
        ("home/.config/polytoken/hooks.json", false),
        ("project/.agents/hooks.json", true),
        ("project/.polytoken/hooks.json", true),
    ];
    for (path, is_projects) in files {
        let root = tempfile::tempdir().unwrap();
        let places = Places::below(root.path());
        let store = places.trust.clone().unwrap();
        let path = root.path().join(path);
        fs::create_dir_all(root.path().join("project")).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(passes(&places).await, "without a file");
        fs::write(&path, "not JSON").unwrap();
        assert_eq!(passes(&places).await, is_projects, "broken: {}", path.display());
        if !is_projects {
            continue;
        }
        let trust = || Store::open(&store).unwrap().trust(&survey(&places).unwrap()).unwrap();
        trust();
        assert!(!passes(&places).await, "broken and trusted: {}", path.display());
        fs::write(&path, if path.ends_with(".agents/hooks.json") { "{}" } else { "[]" }).unwrap();
        // What was approved is broken as well.
        assert!(!passes(&places).await, "changed: {}", path.display());
        trust();
        assert!(passes(&places).await, "trusted again: {}", path.display());
        let good = fs::read(&store).unwrap();
        fs::write(&store, "not JSON").unwrap();
        assert!(!passes(&places).await, "without a store: {}", path.display());
        fs::write(&store, good).unwrap();
        let config = root.path().join("home/.config/tollgate/config.toml");
        fs::create_dir_all(config.parent().unwrap()).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(passes(&places).await, "deleted: {}", path.display());
        fs::write(config, "[trust]\nchanged = \"closed\"\n").unwrap();
        assert!(!passes(&places).await, "deleted, and closed: {}", path.display());
    }
}

fn host(of: Dialect) -> Option<&'static HostDialect> {
    dialect::HOSTS.iter().copied().find(|host| host.dialect() == of)
}

fn complaints(schema: &schemars::Schema, value: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema.as_value()).unwrap();
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

#[test]
fn good_files_are_valid_by_the_schema() {
    let is_json = |block: &&Block| matches!(block.what, What::Commands(_));
    let blocks = all_blocks();
    for block in blocks.iter().filter(|it| it.is_file() && it.has("ok")).filter(is_json) {
        let schema = match block.dialect().dialect() {
            Dialect::HooksJson => antigravity::file_schema(),
            Dialect::Polytoken => polytoken::file_schema(),
            other => host(other).unwrap().file_schema(),
        };
        let found = complaints(&schema, &block.json());
        assert!(found.is_empty(), "{}: {found:?}", block.place());
    }
}

#[test]
fn inputs_and_answers_are_read_and_valid_by_their_schemas() {
    let mut count = 0;
    let is_json = |block: &&Block| matches!(block.what, What::Commands(_));
    for block in all_blocks().iter().filter(is_json) {
        let of = block.dialect().dialect();
        let (event, schemas) = if let Some(event) = block.event("input") {
            block.dialect().decode_event(event, block.json()).unwrap();
            let schemas = match (of, host(of)) {
                (_, Some(host)) => host.input_schemas(),
                (Dialect::HooksJson, None) => antigravity::input_schemas(),
                _ => polytoken::input_schemas(),
            };
            (event, schemas)
        } else if let Some(event) = block.event("answer") {
            let named = block.dialect().events().iter().find(|it| it.name == event);
            let kind = named.unwrap_or_else(|| panic!("{}: {event}", block.place())).kinds[0];
            let answer = block.dialect().decode_answer(kind, &Output::json(&block.json())).unwrap();
            assert_eq!(answer.detail, None, "{}", block.place());
            let schemas = match (of, host(of)) {
                (_, Some(host)) => host.answer_schemas(),
                (Dialect::HooksJson, None) => antigravity::answer_schemas(),
                _ => polytoken::answer_schemas(),
            };
            (event, schemas)
        } else {
            continue;
        };
        let (_, schema) = schemas.iter().find(|(name, _)| *name == event).unwrap();
        let found = complaints(schema, &block.json());
        assert!(found.is_empty(), "{}: {found:?}", block.place());
        count += 1;
    }
    assert!(count >= 4, "{count} examples");
}

#[test]
fn the_table_of_settings_has_every_key_and_its_default() {
    let page = docs().join("layers-and-trust.md");
    let text = fs::read_to_string(&page).unwrap();
    let settings = settings::Settings::default();
    for (key, default, _) in settings.rows() {
        let row = format!("| `{key}` | `{default}` | ");
        assert!(text.lines().any(|line| line.starts_with(&row)), "{row}");
    }
    let rows = text.lines().filter(|line| {
        let key = line.strip_prefix("| `").and_then(|rest| rest.split('`').next());
        key.is_some_and(|key| key.contains('.') && !key.contains('/'))
    });
    assert_eq!(rows.count(), settings::KEYS.len());
    for block in blocks(&page) {
        let found = block.diagnostics();
        assert_eq!(found.is_empty(), block.has("ok"), "{}:\n{}", block.place(), lines(&found));
    }
}

/// Whether a matcher of a file asks for the tool `search` of the server `docs`.
async fn asks_for_mcp(path: &str, text: &str) -> bool {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::create_dir_all(root.path().join("project")).unwrap();
    fs::write(file, text).unwrap();
    let mut builder = Runner::builder();
    for registration in load(&Setup::new(Places::below(root.path()))).registrations {
        builder = builder.register(registration);
    }
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolPre::from(ToolCall::new("search").server("docs"));
    let outcome = builder.build().unwrap().dispatch(&operation, call).await;
    outcome.permit().is_refused()
}

#[tokio::test]
async fn tools_of_servers_are_matched_as_the_pages_say() {
    for (matcher, is_asked) in
        [("call_mcp_tool", true), ("docs/.*", true), ("", true), ("other/.*", false)]
    {
        let text = format!(
            r#"{{"x": {{"PreToolUse": [{{"matcher": "{matcher}", "hooks": [{{"command": "exit 1"}}]}}]}}}}"#
        );
        assert_eq!(asks_for_mcp("home/.gemini/config/hooks.json", &text).await, is_asked, "{text}");
    }
    for (matcher, is_asked) in
        [("mcp__docs__*", true), ("docs/*", true), ("*", true), ("mcp__other__*", false)]
    {
        let text = format!(
            r#"[{{"name": "x", "event": "pre_tool_use", "matcher": "{matcher}", "handler": {{"bash": "exit 2"}}}}]"#
        );
        let path = "home/.config/polytoken/hooks.json";
        assert_eq!(asks_for_mcp(path, &text).await, is_asked, "{text}");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    // A heading as a link names it.
    let anchor = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
        heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    let alone = docs().join("layers-and-trust.md");
    let all = pages("diagnostics").into_iter().chain(pages("dialects")).chain([alone]);
    for page in all {
        let text = fs::read_to_string(&page).unwrap();
        for rest in text.split("](").skip(1) {
            let link = rest.split(')').next().unwrap();
            if link.starts_with("http") {
                continue;
            }
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let place = format!("{}: {link}", page.display());
            let target = fs::read_to_string(target).unwrap_or_else(|e| panic!("{place}: {e}"));
            let mut headings = target.lines().filter(|line| line.starts_with('#'));
            let is_part = |heading: &str| anchor(heading.trim_start_matches('#')) == part;
            assert!(part.is_empty() || headings.any(is_part), "{place}");
        }
    }
}
