//! Handlers that misbehave, through the engine: each ends in its time, in the decision that its
//! event has for a failure, with a detail that says what happened.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::prelude::*;

/// What a handler does, and what is said of it.
const HANDLERS: &[(&str, &str, &str)] = &[
    ("never reads its input", "sleep 1000", "did not end within 1s"),
    ("closes its input at once", "exec <&-; sleep 1000", "did not end within 1s"),
    ("prints without end", "yes", "printed more than 1048576 bytes"),
    ("prints a byte at a time", "while :; do printf x; sleep 0.2; done", "did not end within 1s"),
    ("ignores TERM", "trap '' TERM; while :; do sleep 0.1; done", "did not end within 1s"),
    ("leaves one that holds its output", "sleep 1000 & echo no", "not JSON"),
    ("leaves its session", "setsid sleep 1000 & exit 3", "exited with code 3"),
    ("forks twice", "(setsid sh -c 'sleep 1000 &' &); exit 3", "exited with code 3"),
    ("forks on and on", "while :; do sleep 1000 & done", "did not end within 1s"),
    ("ends by a signal", "kill -SEGV $$", "was killed by SIGSEGV"),
    ("says nothing", "true", "gave no decision"),
    ("prints NUL", "printf '{\"decision\":\\000}'", "not JSON"),
    ("prints no UTF-8", "printf '\\377\\376'", "not UTF-8"),
    ("prints brackets", "head -c 100000 /dev/zero | tr '\\0' '['", "recursion limit"),
    ("prints two answers", "echo '{\"decision\":\"allow\"}{}'", "two JSON values"),
    ("logs to its output", "echo checking; echo '{\"decision\":\"allow\"}'", "to stderr (`>&2`)"),
    ("is not there", "./no-such-handler", "exited with code 127"),
    ("may not be executed", "./plain.sh", "exited with code 126"),
    ("has no interpreter", "./lost.sh", "exited with code 12"),
];

/// A runner with one handler, for a gate and for the end of a run.
fn hooks(command: &str) -> (tempfile::TempDir, Hooks) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("home/.gemini/config");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("plain.sh"), "echo hello").unwrap();
    fs::write(folder.join("lost.sh"), "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(folder.join("lost.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let handler = json!({"command": command, "timeout": 1});
    let file = json!({"guard": {
        "PreToolUse": [{"matcher": "run_command", "hooks": [handler]}],
        "Stop": [handler],
    }});
    fs::write(folder.join("hooks.json"), file.to_string()).unwrap();
    let hooks = Hooks::open(Setup::new(Places::below(root.path()))).unwrap();
    (root, hooks)
}

/// Fires a call that has an argument of some bytes.
async fn fire(hooks: &Hooks, bytes: usize) -> (Outcome<ToolPre>, Duration) {
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let content = "x".repeat(bytes);
    let call = ToolCall::new("run_command").arg("CommandLine", "ls").arg("Content", content);
    let begun = Instant::now();
    let outcome = hooks.runner().dispatch(&operation, ToolPre::from(call)).await;
    (outcome, begun.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_ends_in_its_time_and_in_the_decision_for_a_failure() {
    let runs = HANDLERS.iter().map(|(name, command, said)| {
        tokio::spawn(async move {
            let (_root, hooks) = hooks(command);
            // More than any pipe takes, for one that does not read.
            let bytes = if name.contains("input") { 4 << 20 } else { 1 };
            let (outcome, took) = fire(&hooks, bytes).await;
            let detail = outcome.record.detail();
            assert_eq!(outcome.verdict.level, Level::Deny, "{name}: {detail}");
            assert!(detail.contains(said), "{name}: {detail}");
            assert!(detail.contains("hook `guard`"), "{name}: {detail}");
            // A second and a half, and as much again for a machine that runs all of these at once.
            assert!(took < Duration::from_secs(3), "{name}: {took:?}");

            // At the end of a run a failure lets it end.
            let turn = SessionContext::new(SessionInfo::default()).turn();
            let stop = Stop { reason: "model_stop".to_owned(), idle: true, ..Stop::default() };
            let outcome = hooks.runner().dispatch(&turn, stop).await;
            assert_eq!(outcome.verdict.word(), Word::None, "{name}: {}", outcome.record.detail());
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

#[tokio::test]
async fn a_directory_that_is_gone_closes_the_gate() {
    let (root, hooks) = hooks("echo '{\"decision\": \"allow\"}'");
    fs::remove_dir_all(root.path().join("home")).unwrap();
    let (outcome, _) = fire(&hooks, 1).await;
    assert_eq!(outcome.verdict.level, Level::Deny);
    let detail = outcome.record.detail();
    assert!(detail.contains("cannot run in the directory"), "{detail}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once_are_all_answered() {
    let (_root, hooks) = hooks("cat >/dev/null; echo '{\"decision\": \"ask\"}'");
    let hooks = std::sync::Arc::new(hooks);
    let all: Vec<_> = (0..200)
        .map(|number| {
            let hooks = std::sync::Arc::clone(&hooks);
            tokio::spawn(async move {
                let operation = SessionContext::new(SessionInfo::default()).turn().operation();
                let call = ToolCall::new("run_command").arg("CommandLine", format!("ls {number}"));
                let dispatch = hooks.runner().dispatch(&operation, ToolPre::from(call));
                dispatch.await.verdict.level
            })
        })
        .collect();
    let mut answered = 0;
    for one in all {
        // Whoever had to wait for others longer than its second is refused, and not forgotten.
        match one.await.unwrap() {
            Level::Ask => answered += 1,
            level => assert_eq!(level, Level::Deny),
        }
    }
    assert!(answered > 0);
}
