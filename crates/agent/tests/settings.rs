//! What `config.toml` says counts for the agent too.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;

use serde_json::json;
use support::{World, write};
use tempfile::TempDir;
use tollgate_agent::{Agent, AgentBuilder};
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::policy;
use tollgate_core::prelude::*;
use tollgate_model::provider::{Options, open_in};
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

const CLOSED: &str = "[policy]\notherwise = \"closed\"\n";

/// What the model is told of writing a file.
async fn written(
    settings: &str,
    file: Option<&str>,
    set: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> String {
    let world = World::new(vec![write("made", "x"), Line::say("{{last_tool.content}}")]);
    let (_root, setup) = setup(settings, file);
    let model = open_in("openai/test", &Options::default(), &world.server.environment()).unwrap();
    let builder = Agent::builder().model(model).workspace(world.directory.path()).hook_files(setup);
    let agent = world.start(set(builder)).await;
    let answer = agent.chat("Go.").await.unwrap().text;
    agent.stop().await;
    answer
}

#[tokio::test]
async fn what_no_policy_is_about_is_denied_where_that_is_closed() {
    let no_commands = |builder: AgentBuilder| builder.policy(policy::deny("run_command"));
    assert!(written("", None, no_commands).await.starts_with("Created"));
    assert_eq!(written(CLOSED, None, no_commands).await, "No policy allows tool 'write_to_file'.");
    let may_write = |builder: AgentBuilder| builder.policy(policy::allow("write_to_file"));
    assert!(written(CLOSED, None, may_write).await.starts_with("Created"));
}

#[tokio::test]
async fn what_is_closed_is_closed_where_there_is_no_policy_at_all() {
    let hook =
        |builder: AgentBuilder| builder.hook(decide("none", |_, _: &ToolPre| Decision::none()));
    assert!(written("", None, hook).await.starts_with("Created"));
    assert_eq!(written(CLOSED, None, hook).await, "No policy allows tool 'write_to_file'.");
    // A policy file speaks for itself.
    let file = Some("policy.allow(\"write_to_file\")\n");
    let told = written(CLOSED, file, hook).await;
    assert!(told.starts_with("Created"), "{told}");
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
