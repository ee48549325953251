//! MCP servers of an agent: their tools go through the same hooks, and what goes wrong with one costs its call.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;
mod witness;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use support::World;
use tollgate_agent::Agent;
use tollgate_core::patch::ResultPatch;
use tollgate_core::prelude::*;
use tollgate_mcp::ServerConfig;
use tollgate_model::script::Line;
use witness::Witness;

const LONG: Duration = Duration::from_mins(1);

fn patient(mut config: ServerConfig) -> ServerConfig {
    config.limits.start = LONG;
    config.limits.call = LONG;
    config
}

/// The server of `server.py`, which writes down the calls that reach it.
fn server(world: &World) -> ServerConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.py");
    patient(ServerConfig::stdio("docs", "python3", [script, &world.path("calls")]))
}

/// The calls that reached the server.
fn reached(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_call_of_a_servers_tool_passes_the_pipeline_by_server_and_tool() {
    tollgate_testing::needs!("python3");
    let world = World::new(vec![
        Line::call("mcp__docs__echo", json!({"text": "one"})),
        Line::call("mcp__docs__fail", json!({})),
        Line::say("Done."),
    ]);
    let witness = Witness::default();
    let rewrite = transform("rewrite", |_cx: &OperationContext, call: &ToolPre| {
        match call.server.as_deref() {
            Some("docs") if call.name == "echo" => Answer::set_args([("text", json!("two"))]),
            _ => Answer::none(),
        }
    });
    let redact = transform("redact", |_cx: &OperationContext, done: &ToolPost| {
        match (done.call.server.as_deref(), done.result.as_str()) {
            (Some("docs"), Some(text)) => {
                Answer::rewrite(ResultPatch(text.replace("echo", "•••").into()))
            }
            _ => Answer::none(),
        }
    });
    let hooks = [witness.hook(), rewrite, redact];
    let agent = world.start(world.builder().mcp_server(server(&world)).hooks(hooks)).await;
    assert!(agent.tools().contains(&"mcp__docs__echo".to_owned()), "{:?}", agent.tools());
    agent.chat("Go.").await.unwrap();
    agent.stop().await;
    assert!(world.was_told(1, "•••: two"), "{:?}", world.messages(1));
    assert!(world.was_told(2, "no such thing"), "{:?}", world.messages(2));
    assert_eq!(reached(&world), ["echo", "fail"]);
    assert_eq!(witness.of(Kind::ToolPre), ["tool.pre main docs/echo", "tool.pre main docs/fail"]);
    assert_eq!(witness.of(Kind::ToolPost), ["tool.post main docs/echo = \"echo: two\""]);
    assert_eq!(witness.of(Kind::ToolError).len(), 1, "{:?}", witness.lines());
}

#[tokio::test]
async fn policies_are_about_a_server_and_its_tools() {
    tollgate_testing::needs!("python3");
    for (rules, denied) in [
        (vec![policy::deny("docs/*").reason("not docs")], vec!["echo", "delete"]),
        (vec![policy::deny("docs/delete").reason("not docs")], vec!["delete"]),
        (vec![policy::deny("other/*").reason("not docs")], vec![]),
        // The agent's own tool of this name would be another one.
        (vec![policy::deny("delete").reason("not docs")], vec![]),
        (
            vec![policy::deny("docs/*").reason("not docs"), policy::allow("docs/echo")],
            vec!["delete"],
        ),
    ] {
        let world = World::new(vec![
            Line::call("mcp__docs__echo", json!({})).and_call("mcp__docs__delete", json!({})),
            Line::say("Done."),
        ]);
        let shown = format!("{rules:?}");
        let builder = world.builder().mcp_server(server(&world)).policies(rules);
        let agent = world.start(builder).await;
        agent.chat("Go.").await.unwrap();
        agent.stop().await;
        let mut wanted = vec!["echo", "delete"];
        wanted.retain(|name| !denied.contains(name));
        assert_eq!(reached(&world), wanted, "{shown}");
        let told = world.messages(1).iter().filter(|(_, text)| text == "not docs").count();
        assert_eq!(told, denied.len(), "{shown}: {:?}", world.messages(1));
    }
}

#[tokio::test]
async fn a_subagents_calls_of_a_server_pass_the_same_policies() {
    tollgate_testing::needs!("python3");
    let world = World::with_script(
        tollgate_model::Script::read(
            "test",
            r#"{
                "replies": [
                    {"calls": [{"name": "invoke_subagent", "args": {"Prompt": "task"}}]},
                    {"say": "{{last_tool.content}}"}
                ],
                "groups": [{"name": "sub", "for": {"first_user": "^task"}, "replies": [
                    {"calls": [{"name": "mcp__docs__delete", "args": {}}]},
                    {"say": "{{last_tool.content}}"}
                ]}]
            }"#,
        )
        .unwrap(),
    );
    let rule = policy::deny("docs/*").reason("not docs");
    let agent = world.start(world.builder().mcp_server(server(&world)).policy(rule)).await;
    assert_eq!(agent.chat("Go.").await.unwrap().text, "not docs");
    agent.stop().await;
    assert!(reached(&world).is_empty());
}

#[tokio::test]
async fn a_server_that_crashes_costs_its_call_and_not_the_agent() {
    tollgate_testing::needs!("python3");
    let world = World::new(vec![
        Line::call("mcp__docs__crash", json!({}))
            .and_call("list_dir", json!({"DirectoryPath": "."})),
        Line::call("mcp__docs__echo", json!({"text": "again"})),
        Line::say("Done."),
    ]);
    let witness = Witness::default();
    let builder = world.builder().mcp_server(server(&world)).hook(witness.hook());
    let agent = world.start(builder).await;
    let response = agent.chat("Go.").await.unwrap();
    assert_eq!((response.text.as_str(), response.error), ("Done.", None));
    agent.stop().await;
    let errors = witness.of(Kind::ToolError);
    assert!(errors[0].starts_with("tool.error main docs/crash"), "{errors:?}");
    // The other call was made, and the server is there again for the next.
    assert!(world.was_told(1, "session"), "{:?}", world.messages(1));
    assert!(world.was_told(2, "echo: again"), "{:?}", world.messages(2));
}

#[tokio::test]
async fn an_agent_with_a_server_and_nobody_who_decides_does_not_start() {
    tollgate_testing::needs!("python3");
    let world = World::new(vec![]);
    let model = tollgate_model::Scripted::new(vec![]);
    let builder = Agent::builder().model(model).mcp_server(server(&world));
    let error = builder.build().start().await.unwrap_err().to_string();
    assert!(error.contains("`docs`") && error.contains("allow_all()"), "{error}");
}

const VERSION: &str = "2026.8.31";

/// The program of a server that others wrote, if it is installed. Where it has to be, it is.
fn public_server() -> Option<PathBuf> {
    // The test runs from TARGET/PROFILE/deps.
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let program = target
        .join(format!("mcp-server-everything-{VERSION}"))
        .join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    if program.is_file() {
        return Some(program);
    }
    let missing =
        format!("{} is not there; run crates/mcp/tests/install-server", program.display());
    assert!(std::env::var_os("TOLLGATE_PUBLIC_SERVER").is_none(), "{missing}");
    // Not `eprintln`, which nobody sees of a test that passes.
    let _ = writeln!(std::io::stderr(), "\nNOT TESTED with a public MCP server: {missing}\n");
    None
}

#[tokio::test]
async fn a_server_that_others_wrote_is_governed_as_well() {
    tollgate_testing::needs!("python3");
    let Some(program) = public_server() else { return };
    let world = World::new(vec![
        Line::call("mcp__all__echo", json!({"message": "grüß Gott"}))
            .and_call("mcp__all__get-sum", json!({"a": 2, "b": 40}))
            .and_call("mcp__all__get-env", json!({})),
        Line::say("Done."),
    ]);
    let witness = Witness::default();
    let config = patient(ServerConfig::stdio("all", "node", [program.to_str().unwrap()]));
    let builder = world
        .builder()
        .mcp_server(config)
        .policy(policy::deny("all/get-env").reason("not the environment"))
        .hook(witness.hook());
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    agent.stop().await;
    assert!(world.was_told(1, "Echo: grüß Gott"), "{:?}", world.messages(1));
    assert!(world.was_told(1, "42") && world.was_told(1, "not the environment"));
    assert_eq!(
        witness.of(Kind::ToolPre),
        ["tool.pre main all/echo", "tool.pre main all/get-sum", "tool.pre main all/get-env"]
    );
    assert_eq!(witness.of(Kind::ToolPost).len(), 2);
}

#[tokio::test]
async fn an_agent_starts_without_a_server_that_does_not_unless_it_needs_it() {
    tollgate_testing::needs!("python3");
    let world =
        World::new(vec![Line::call("mcp__docs__echo", json!({"text": "one"})), Line::say("Done.")]);
    let none: [&str; 0] = [];
    let gone = || patient(ServerConfig::stdio("gone", "/no/such/program", none));
    let rule = policy::deny("gone/*");
    let builder = world.builder().mcp_server(gone()).mcp_server(server(&world)).policy(rule);
    let agent = world.start(builder).await;
    let notices = world.notices.lock().unwrap().clone();
    assert!(notices[0].starts_with("mcp: the MCP server `gone` is left out: "), "{notices:?}");
    agent.chat("Go.").await.unwrap();
    assert_eq!(reached(&world).len(), 1);
    agent.stop().await;
    let error = world.builder().required_mcp_server(gone()).build().start().await.unwrap_err();
    assert!(matches!(error, tollgate_agent::AgentError::Mcp(_)), "{error}");
}

#[tokio::test]
async fn the_model_is_told_of_tools_that_a_server_comes_up_with_later() {
    tollgate_testing::needs!("python3");
    let world = World::new(vec![
        Line::call("mcp__docs__grow", json!({})),
        Line::say("It grows."),
        Line::call("mcp__docs__late", json!({"text": "one"})),
        Line::say("Done."),
    ]);
    let agent = world.start(world.builder().mcp_server(server(&world))).await;
    assert!(!agent.tools().contains(&"mcp__docs__late".to_owned()));
    agent.chat("Go.").await.unwrap();
    // The server is asked for its new list in its own time.
    let deadline = std::time::Instant::now() + LONG;
    while !agent.tools().contains(&"mcp__docs__late".to_owned()) {
        assert!(std::time::Instant::now() < deadline, "never");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    agent.chat("And now?").await.unwrap();
    let tools = world.requests()[2]["tools"].to_string();
    assert!(tools.contains("mcp__docs__late"), "{tools}");
    assert_eq!(reached(&world), ["grow", "late"]);
    agent.stop().await;
}
