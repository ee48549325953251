//! The hooks in the documentation do what the pages say of them.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::Isolation;
use tollgate_config::diagnostic::{Code, Diagnostic, Report};
use tollgate_config::dialect::harness::read_artifact;
use tollgate_config::script::ScriptEngine as _;
use tollgate_config::settings::Settings;
use tollgate_config::source::SourceFile;
use tollgate_starlark::Starlark;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The blocks of a page that begin with these words, and what is behind the words.
fn blocks(page: &Path, words: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(page).unwrap();
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("````").and_then(|line| line.strip_prefix(words)) else {
            continue;
        };
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "````").collect();
        found.push((rest.trim().to_owned(), block.join("\n") + "\n"));
    }
    found
}

/// Everything that is wrong with a hook.
fn problems(engine: &Starlark, text: &str) -> Vec<Diagnostic> {
    let file = Arc::new(SourceFile::new("hook.md", text));
    let (artifact, mut problems) = read_artifact(&file);
    if let Some(artifact) = artifact {
        let mut report = Report::new(file);
        let _ = engine.load(&Settings::default()).hook(&Arc::new(artifact), &mut report);
        problems.extend(report.into_diagnostics());
    }
    problems
}

#[test]
fn what_a_page_shows_as_wrong_is_wrong_and_what_it_corrects_is_right() {
    let engine = Isolation::Mixed.engine();
    let mut seen = 0;
    for entry in fs::read_dir(docs().join("diagnostics")).unwrap() {
        let page = entry.unwrap().path();
        for (mark, text) in blocks(&page, "markdown starlark") {
            let found = problems(&engine, &text);
            let mut codes: Vec<Code> = found.iter().map(|problem| problem.code).collect();
            codes.dedup();
            let own: Code = page.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            // That a hook has no tests is said by whoever runs them.
            if own == Code::NoTest {
                continue;
            }
            match &*mark {
                "ok" => assert_eq!(codes, [], "{}: {text}", page.display()),
                "" => assert_eq!(codes, [own], "{}: {text}", page.display()),
                other => panic!("{}: `{other}` is no mark", page.display()),
            }
            seen += 1;
        }
    }
    assert!(seen >= 16, "{seen}");
}

#[test]
fn the_hooks_of_the_page_on_markdown_load_and_pass_their_tests() {
    let page = docs().join("dialects/ai-harness-markdown.md");
    for isolation in Isolation::ALL {
        let engine = isolation.engine();
        let mut tests = 0;
        for (_, text) in blocks(&page, "markdown harness").iter().filter(|(mark, _)| mark == "ok") {
            let file = Arc::new(SourceFile::new("hook.md", text.as_str()));
            let (artifact, problems) = read_artifact(&file);
            assert!(problems.is_empty(), "{problems:?}");
            let tested = engine.test(&Arc::new(artifact.unwrap())).unwrap();
            assert!(tested.passed(), "{isolation:?} {tested}");
            tests += tested.tests.len();
        }
        assert!(tests >= 5, "{tests}");
    }
}
