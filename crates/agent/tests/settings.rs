//! What `config.toml` says counts for the agent too.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;

use serde_json::json;
use support::World;
use tempfile::TempDir;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_model::script::Line;
use tollgate_starlark::Starlark;

/// A home with these settings of the person, and with this policy file where there is one.
fn setup(settings: &str, policy: Option<&str>) -> (TempDir, Setup) {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("project")).unwrap();
    let home = root.path().join("home/.config/tollgate");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config.toml"), settings).unwrap();
    if let Some(policy) = policy {
        fs::write(home.join("policy.star"), policy).unwrap();
    }
    let setup = Setup::new(Places::below(root.path())).scripts(Starlark::in_process());
    (root, setup)
}

#[tokio::test]
async fn what_is_masked_in_the_record_is_masked_in_the_transcript() {
    let call = json!({"CommandLine": "echo ACME-1234", "WaitMsBeforeAsync": 10_000});
    let world = World::new(vec![Line::call("run_command", call), Line::say("ACME-5678")]);
    let masks = "[mask]\npatterns = [\"ACME-[0-9]+\"]\nfields = [\"WaitMsBeforeAsync\"]\n";
    let (_root, setup) = setup(masks, None);
    let agent = world.start(world.builder().hook_files(setup)).await;
    agent.chat("Say ACME-9.").await.unwrap();
    let path = agent.session().transcript.clone().unwrap();
    agent.stop().await;
    let transcript = fs::read_to_string(path).unwrap();
    assert!(transcript.contains("echo ") && transcript.contains("[masked]"), "{transcript}");
    assert!(!transcript.contains("ACME-") && !transcript.contains("10000"), "{transcript}");
}
