//! Hook files that are edited while a session runs.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use support::World;
use tempfile::TempDir;
use tollgate_agent::{Agent, AgentBuilder, Started};
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::prelude::*;
use tollgate_model::script::Line;
use tollgate_starlark::Starlark;

const LONG: Duration = Duration::from_mins(1);

/// A session whose model makes the same call in each turn and says what came of it.
struct Scene {
    world: World,
    root: TempDir,
    agent: Agent<Started>,
}

fn hook(script: &str) -> String {
    format!("---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      {script}\n---\n")
}

impl Scene {
    async fn new(set: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        let lines = (0..20).flat_map(|_| {
            [Line::call("list_permissions", json!({})), Line::say("{{last_tool.content}}")]
        });
        let world = World::new(lines.collect());
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("project")).unwrap();
        fs::create_dir_all(root.path().join("home/.config/tollgate/hooks")).unwrap();
        let setup = Setup::new(Places::below(root.path())).scripts(Starlark::in_process());
        let agent = world.start(set(world.builder().hook_files(setup))).await;
        Self { world, root, agent }
    }

    fn path(&self) -> PathBuf {
        self.root.path().join("home/.config/tollgate/hooks/guard.md")
    }

    /// What the model is told of its call.
    async fn answer(&self) -> String {
        self.agent.chat("Go.").await.unwrap().text
    }

    /// Waits until hooks say this of a call; nothing, where they let it pass.
    async fn until_hooks_say(&self, wanted: &str) {
        let deadline = Instant::now() + LONG;
        loop {
            let operation = SessionContext::new(SessionInfo::default()).turn().operation();
            let call = ToolPre::from(ToolCall::new("list_permissions"));
            let outcome = self.agent.runner().dispatch(&operation, call).await;
            if outcome.reason() == wanted {
                return;
            }
            assert!(Instant::now() < deadline, "{wanted}: {:?}", outcome.record);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until somebody was told this about hook files.
    async fn until_told(&self, wanted: &[&str]) {
        let deadline = Instant::now() + LONG;
        loop {
            let notices = self.world.notices.lock().unwrap().clone();
            if notices.iter().any(|notice| wanted.iter().all(|part| notice.contains(part))) {
                return;
            }
            assert!(Instant::now() < deadline, "{wanted:?}: {notices:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }
}

#[tokio::test]
async fn an_edited_file_counts_without_a_restart_and_a_broken_one_leaves_the_old_in_force() {
    let scene = Scene::new(AgentBuilder::watch_hook_files).await;
    assert_eq!(scene.answer().await, "[]");

    scene.write(&hook("return block(\"the first guard\")"));
    scene.until_hooks_say("the first guard").await;
    scene.until_told(&["hooks: ", "loaded again"]).await;
    assert_eq!(scene.answer().await, "the first guard");

    scene.write(&hook("return block(\"the second guard\")"));
    scene.until_hooks_say("the second guard").await;
    assert_eq!(scene.answer().await, "the second guard");

    scene.write("---\nevent: tool.per\n---\n");
    scene.until_told(&["hooks: ", "what was in force stays", "guard.md"]).await;
    assert_eq!(scene.answer().await, "the second guard");

    // As editors do it: another file takes its place.
    let beside = scene.root.path().join("guard.new");
    fs::write(&beside, hook("return block(\"the third guard\")")).unwrap();
    fs::rename(beside, scene.path()).unwrap();
    scene.until_hooks_say("the third guard").await;
    assert_eq!(scene.answer().await, "the third guard");

    fs::remove_file(scene.path()).unwrap();
    scene.until_hooks_say("").await;
    assert_eq!(scene.answer().await, "[]");
    assert!(scene.agent.hook_files().unwrap().files.is_empty());
    scene.agent.stop().await;
}

#[tokio::test]
async fn a_file_in_a_directory_that_was_not_there_counts_and_is_watched() {
    let scene = Scene::new(AgentBuilder::watch_hook_files).await;
    let directory = scene.root.path().join("home/.gemini/config");
    fs::create_dir_all(&directory).unwrap();
    for reason in ["a new file", "another one"] {
        let answer = json!({"decision": "deny", "reason": reason});
        let group = json!({"matcher": "*", "hooks": [{"command": format!("echo '{answer}'")}]});
        let file = json!({"guard": {"PreToolUse": [group]}});
        fs::write(directory.join("hooks.json"), file.to_string()).unwrap();
        scene.until_hooks_say(reason).await;
        assert_eq!(scene.answer().await, reason);
    }
    fs::remove_dir_all(directory.parent().unwrap()).unwrap();
    scene.until_hooks_say("").await;
    scene.agent.stop().await;
}

#[tokio::test]
async fn without_watching_an_edit_counts_when_somebody_asks_for_it() {
    let scene = Scene::new(|builder| builder).await;
    scene.write(&hook("return block(\"no\")"));
    assert_eq!(scene.answer().await, "[]");
    assert!(scene.agent.reload_hook_files().unwrap().is_in_force);
    assert_eq!(scene.answer().await, "no");
    scene.agent.stop().await;
}
