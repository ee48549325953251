//! Hooks as files: what is wrong with one and where, what a reload changes, what trust allows, and
//! hooks that govern other hooks.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::fs;
use std::path::Path;

use common::{Bench, Isolation};
use serde::Deserialize;
use tempfile::TempDir;
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup, survey};
use tollgate_config::trust::Store;
use tollgate_core::prelude::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadRow {
    name: String,
    text: String,
    /// Code, place and a part of the message of everything that is said.
    expect: Vec<(String, String, String)>,
}

fn rows() -> Vec<LoadRow> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/starlark/hooks/load.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A hook that blocks every call for this reason.
fn blocks(reason: &str) -> String {
    format!(
        "---\nevent: tool.pre\ntimeout: 20s\nscript: |\n  def handle(event, payload):\n      return block(\"{reason}\")\n---\n"
    )
}

async fn ask(hooks: &Hooks) -> Outcome<ToolPre> {
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let event = ToolPre::from(ToolCall::new("view_file").arg("AbsolutePath", "/a"));
    hooks.runner().dispatch(&operation, event).await
}

#[tokio::test]
async fn what_is_wrong_with_a_hook_is_said_with_its_place_and_closes_the_gates() {
    let engines = Isolation::ALL.map(Isolation::engine);
    for row in rows() {
        for (engine, isolation) in engines.iter().zip(Isolation::ALL) {
            let at = format!("{}, {isolation:?}", row.name);
            let bench = Bench::unchecked(engine.clone(), &[("guard.md", &row.text)], "");
            let found = bench.hooks.in_force();
            let said: Vec<_> = found
                .diagnostics
                .iter()
                .map(|found| {
                    let place = found.span.map(|span| found.file.position(span.start).to_string());
                    (found.code.to_string(), place.unwrap_or_default(), found.message.clone())
                })
                .collect();
            assert_eq!(said.len(), row.expect.len(), "{at}: {said:#?}");
            for ((code, place, message), (code_wanted, place_wanted, part)) in
                said.iter().zip(&row.expect)
            {
                assert_eq!((code, place), (code_wanted, place_wanted), "{at}: {said:#?}");
                assert!(message.contains(part), "{at}: {message}");
            }
            let is_broken =
                found.diagnostics.iter().any(tollgate_config::diagnostic::Diagnostic::is_error);
            let outcome = ask(&bench.hooks).await;
            let wanted = if is_broken { Word::Deny } else { Word::None };
            assert_eq!(outcome.record.decision, wanted, "{at}: {:?}", outcome.record);
            if is_broken {
                assert!(
                    outcome.record.detail().contains("guard.md"),
                    "{}",
                    outcome.record.detail()
                );
                let prompt = TurnStart::new("hi");
                let outcome = bench.hooks.runner().dispatch(&bench.turn, prompt).await;
                assert_eq!(outcome.record.decision, Word::Deny, "{at}: turn.start");
            }
        }
    }
}

#[tokio::test]
async fn a_hook_that_was_broken_and_is_mended_works_after_a_reload() {
    for isolation in Isolation::ALL {
        let broken = blocks("mended").replace("return block", "return blok");
        let bench = Bench::unchecked(isolation.engine(), &[("guard.md", &broken)], "");
        assert!(ask(&bench.hooks).await.record.detail().contains("TG081"));
        let path = bench.hooks.in_force().files[0].path.clone();
        fs::write(&path, blocks("mended")).unwrap();
        let reloaded = bench.hooks.reload();
        assert!(reloaded.is_in_force, "{:?}", reloaded.found.diagnostics);
        assert_eq!(ask(&bench.hooks).await.reason(), "mended", "{isolation:?}");
    }
}

#[tokio::test]
async fn a_reload_that_finds_something_wrong_changes_nothing() {
    for isolation in Isolation::ALL {
        let first = blocks("one");
        let bench = Bench::new(isolation, &[("guard.md", &first)]);
        let path = bench.hooks.in_force().files[0].path.clone();
        let fails = first.replace("def handle", "X = [][0]\n  def handle");
        for broken in ["no hook at all", &first.replace("handle", "hndle"), &fails] {
            fs::write(&path, broken).unwrap();
            let reloaded = bench.hooks.reload();
            assert!(!reloaded.is_in_force);
            assert!(
                reloaded
                    .found
                    .diagnostics
                    .iter()
                    .any(tollgate_config::diagnostic::Diagnostic::is_error)
            );
            assert_eq!(ask(&bench.hooks).await.reason(), "one", "{isolation:?} {broken}");
        }
        // Each reload has its own code, though it is of the same file.
        for reason in ["two", "three"] {
            fs::write(&path, blocks(reason)).unwrap();
            assert!(bench.hooks.reload().is_in_force);
            assert_eq!(ask(&bench.hooks).await.reason(), reason, "{isolation:?}");
        }
        fs::remove_file(&path).unwrap();
        assert!(bench.hooks.reload().is_in_force);
        assert_eq!(ask(&bench.hooks).await.record.decision, Word::None);
    }
}

#[tokio::test]
async fn a_dispatch_under_way_goes_on_with_the_hooks_it_began_with() {
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &[("guard.md", &blocks("old"))]);
        let path = bench.hooks.in_force().files[0].path.clone();
        let operation = bench.turn.operation();
        let event = ToolPre::from(ToolCall::new("view_file"));
        let mut dispatch = Box::pin(bench.hooks.runner().dispatch(&operation, event));
        // One step: far enough to have begun, and where it is asked at once, to be done.
        let waker = std::task::Waker::noop();
        let first = dispatch.as_mut().poll(&mut std::task::Context::from_waker(waker));
        fs::write(&path, blocks("new")).unwrap();
        assert!(bench.hooks.reload().is_in_force);
        let outcome = match first {
            std::task::Poll::Ready(outcome) => outcome,
            std::task::Poll::Pending => dispatch.await,
        };
        assert_eq!(outcome.reason(), "old", "{isolation:?}");
        assert_eq!(ask(&bench.hooks).await.reason(), "new", "{isolation:?}");
    }
}

/// A project with a Markdown hook in `.harness/hooks`.
struct Project {
    _root: TempDir,
    places: Places,
}

impl Project {
    fn new(text: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let places = Places::below(&root.path().canonicalize().unwrap());
        let project = Self { _root: root, places };
        project.write(text);
        project
    }

    fn write(&self, text: &str) {
        let folder = self.places.project.as_ref().unwrap().join(".harness/hooks");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("guard.md"), text).unwrap();
    }

    fn trust(&self) {
        let mut store = Store::open(self.places.trust.as_ref().unwrap()).unwrap();
        store.trust(&survey(&self.places).unwrap()).unwrap();
    }

    fn open(&self, isolation: Isolation) -> Hooks {
        Hooks::open(Setup::new(self.places.clone()).scripts(isolation.engine())).unwrap()
    }
}

fn states(hooks: &Hooks) -> Vec<FileState> {
    hooks.in_force().files.iter().map(|file| file.state).collect()
}

#[tokio::test]
async fn a_hook_of_a_project_runs_when_it_is_trusted_and_as_it_was_trusted() {
    for isolation in Isolation::ALL {
        let project = Project::new(&blocks("ours"));
        let hooks = project.open(isolation);
        assert_eq!(states(&hooks), [FileState::Untrusted], "{isolation:?}");
        assert_eq!(ask(&hooks).await.record.decision, Word::None, "{isolation:?}");

        project.trust();
        assert!(hooks.reload().is_in_force);
        assert_eq!(states(&hooks), [FileState::InForce], "{isolation:?}");
        assert_eq!(ask(&hooks).await.reason(), "ours", "{isolation:?}");

        // Without a reload: the file is looked at before each question.
        project.write(&blocks("theirs").replace("block(\"theirs\")", "allow()"));
        let outcome = ask(&hooks).await;
        assert_eq!(outcome.record.decision, Word::Deny, "{isolation:?}");
        assert_ne!(outcome.reason(), "ours", "{isolation:?}");
        let opened_anew = project.open(isolation);
        // Loaded anew, it runs as it was approved.
        assert_eq!(states(&opened_anew), [FileState::InForce], "{isolation:?}");
        assert_eq!(ask(&opened_anew).await.reason(), "ours", "{isolation:?}");

        project.trust();
        assert!(hooks.reload().is_in_force);
        assert_eq!(ask(&hooks).await.record.decision, Word::None, "{isolation:?}");
    }
}

#[tokio::test]
async fn a_broken_hook_that_nobody_trusted_closes_nothing() {
    for isolation in Isolation::ALL {
        let project = Project::new(&blocks("x").replace("return block", "return blok"));
        let hooks = project.open(isolation);
        assert_eq!(ask(&hooks).await.record.decision, Word::None, "{isolation:?}");
        project.trust();
        let hooks = project.open(isolation);
        assert_eq!(states(&hooks), [FileState::Broken], "{isolation:?}");
        assert_eq!(ask(&hooks).await.record.decision, Word::Deny, "{isolation:?}");
    }
}

#[tokio::test]
async fn a_hook_can_demand_something_of_all_hooks() {
    const DEMANDS: &str = r#"---
event: turn.start
priority: -100
timeout: 20s
description: Every hook says when it runs.
script: |
  def handle(event, payload):
      without = [h["name"] for h in hooks.list() if hooks.get(h["name"])["priority"] == None]
      if without:
          return block("these hooks have no priority: " + ", ".join(without))
      return allow()
---
"#;
    let with = blocks("x").replace("tool.pre", "tool.pre\npriority: 3");
    for isolation in Isolation::ALL {
        let files = [
            ("a.md", &*blocks("x")),
            ("b.md", &*with),
            ("meta.md", DEMANDS),
            ("z.md", &*blocks("z")),
        ];
        let bench = Bench::new(isolation, &files);
        let ask = async || {
            let turn = bench.session.turn();
            let outcome = bench.hooks.runner().dispatch(&turn, TurnStart::new("hi")).await;
            (outcome.record.decision.clone(), outcome.reason().to_owned())
        };
        let denied = (Word::Deny, "these hooks have no priority: a, z".to_owned());
        assert_eq!(ask().await, denied, "{isolation:?}");
        for name in ["a.md", "z.md"] {
            let folder = bench.hooks.in_force().files[0].path.parent().unwrap().to_owned();
            fs::write(folder.join(name), &with).unwrap();
        }
        assert!(bench.hooks.reload().is_in_force);
        assert_eq!(ask().await, (Word::None, String::new()), "{isolation:?}");
    }
}

#[tokio::test]
async fn what_a_hook_is_told_of_the_others() {
    const TELLS: &str = r#"---
event: tool.pre
priority: 7
when: payload["name"] == "view_file"
timeout: 20s
description: Tells.
script: |
  def handle(event, payload):
      return block(json.encode([{k: h[k] for k in h if k != "path"} for h in hooks.list()]))
---
"#;
    for isolation in Isolation::ALL {
        let off = blocks("x").replace("tool.pre", "error\nenabled: false");
        let bench = Bench::new(isolation, &[("off.md", &off), ("tells.md", TELLS)]);
        let outcome = ask(&bench.hooks).await;
        let told: serde_json::Value = serde_json::from_str(outcome.reason()).unwrap();
        let wanted = serde_json::json!([
            {"name": "off", "dialect": "harness", "event": "error", "priority": null, "layer": "user", "line": 2,
             "when": null, "timeout": 20.0, "description": null, "enabled": false, "has_tests": false},
            {"name": "tells", "dialect": "harness", "event": "tool.pre", "priority": 7, "layer": "user", "line": 2,
             "when": "payload[\"name\"] == \"view_file\"", "timeout": 20.0, "description": "Tells.",
             "enabled": true, "has_tests": false},
        ]);
        assert_eq!(told, wanted, "{isolation:?}");
    }
}
