//! A server that behaves: what its callers get.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::{Map, Value, json};
use support::{args, config, gone, noted, refused, start, until};
use tempfile::tempdir;
use tollgate_mcp::{McpError, Server, Text, Tools, Transport};

#[tokio::test]
async fn a_tool_is_called_with_its_arguments() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    let echo = server.call("echo", args(json!({"n": 1, "f": 1.50, "s": "ä", "l": [null]})));
    assert_eq!(echo.await.unwrap(), json!(r#"{"f": 1.5, "l": [null], "n": 1, "s": "\u00e4"}"#));
    let structured = server.call("structured", Map::new()).await.unwrap();
    assert_eq!(structured, json!({"a": 1}));
    let image = server.call("image", Map::new()).await.unwrap();
    assert_eq!(image[1], json!({"type": "image", "mimeType": "image/png", "data": "QUJD"}));
    server.close().await;
}

#[tokio::test]
async fn tools_are_listed_page_by_page_under_their_own_names() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("pages", place.path()).await;
    let names: Vec<_> = server.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["t0", "t1", "t2", "t3"]);
    assert_eq!(server.tools()[0].description, "does t0");
    assert_eq!(server.tools()[0].parameters, json!({"type": "object"}));
    // What the server calls itself is of no interest.
    assert_eq!(server.name(), "test");
}

#[tokio::test]
async fn failures_of_a_tool_are_no_failures_of_the_server() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("counted", place.path()).await;
    for _ in 0..3 {
        let error = server.call("fail", Map::new()).await.unwrap_err();
        assert!(matches!(&error, McpError::Tool { text, .. } if text == "no such file"), "{error}");
        let error = server.call("refuse", Map::new()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the MCP server `test` gave no result of `refuse`: bad arguments"
        );
    }
    assert_eq!(noted(place.path(), "starts").await, "1");
}

#[tokio::test]
async fn only_wanted_tools_are_there_to_be_called() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut only = config("plain", place.path());
    only.tools = Tools::only(["echo", "env"]);
    let server = Server::connect(only).await.unwrap();
    assert_eq!(server.tools().len(), 2);
    assert!(server.call("echo", Map::new()).await.is_ok());
    let error = server.call("fail", Map::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `test` offers no tool `fail`");

    let mut except = config("plain", place.path());
    except.tools = Tools::except(["echo"]);
    let server = Server::connect(except).await.unwrap();
    assert!(matches!(
        server.call("echo", Map::new()).await,
        Err(McpError::NoSuchTool { tool, .. }) if tool == "echo"
    ));
    assert!(server.tools().iter().all(|tool| tool.name != "echo"));
}

#[tokio::test]
async fn names_of_tools_that_are_not_there_are_mistakes() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    for tools in [Tools::only(["ecko"]), Tools::except(["ecko"])] {
        let mut config = config("plain", place.path());
        config.tools = tools;
        let error = refused(config).await;
        assert!(matches!(&error, McpError::Tools { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("`ecko`") && text.contains("`echo`, `env`"), "{text}");
    }
}

#[tokio::test]
async fn the_environment_is_passed_on_on_purpose() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("plain", place.path());
    if let Transport::Stdio { env, .. } = &mut config.transport {
        env.insert("MODE".into(), Text::literal("strict"));
        // A variable that every test has and that is not passed on by itself.
        env.insert("COPY".into(), "<${CARGO_PKG_NAME}>".parse().unwrap());
    }
    let server = Server::connect(config).await.unwrap();
    let answer = server.call("env", Map::new()).await.unwrap();
    let env: Map<String, Value> = serde_json::from_str(answer.as_str().unwrap()).unwrap();
    assert_eq!(env["MODE"], "strict");
    assert_eq!(env["COPY"], "<tollgate-mcp>");
    // What starts it may put something in front.
    let path = env["PATH"].as_str().unwrap();
    assert!(path.ends_with(&std::env::var("PATH").unwrap()), "{path}");
    assert!(std::env::var("CARGO_PKG_NAME").is_ok() && !env.contains_key("CARGO_PKG_NAME"));
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_named() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("plain", place.path());
    if let Transport::Stdio { env, .. } = &mut config.transport {
        env.insert("KEY".into(), Text::variable("TOLLGATE_IS_NOT_SET"));
    }
    assert_eq!(
        refused(config).await.to_string(),
        "the MCP server `test` cannot be used: env.KEY: the environment variable \
         `TOLLGATE_IS_NOT_SET` is not set"
    );
}

#[tokio::test]
async fn new_tools_are_seen_when_the_server_says_so() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    let mut changes = server.changes();
    assert!(matches!(server.call("new", Map::new()).await, Err(McpError::NoSuchTool { .. })));
    server.call("more", Map::new()).await.unwrap();
    tokio::time::timeout(support::LONG, changes.changed()).await.unwrap().unwrap();
    assert!(server.tools().iter().any(|tool| tool.name == "new"));

    // A list that cannot be used changes nothing, and is told of.
    server.call("more", Map::new()).await.unwrap();
    until("there is a problem", || server.problem().is_some()).await;
    let problem = server.problem().unwrap();
    assert_eq!(problem, "there are two tools with the name `new`");
    assert!(server.tools().iter().any(|tool| tool.name == "new"));
}

#[tokio::test]
async fn calls_run_at_the_same_time() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    let slow = server.call("slow", Map::new());
    let quick = async {
        noted(place.path(), "slow").await;
        server.call("echo", Map::new()).await
    };
    tokio::select! {
        answer = slow => panic!("{answer:?}"),
        answer = quick => assert_eq!(answer.unwrap(), json!("{}")),
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    let id = tokio::select! {
        answer = server.call("slow", Map::new()) => panic!("{answer:?}"),
        id = noted(place.path(), "slow") => id,
    };
    assert_eq!(noted(place.path(), "cancelled").await, id);
    assert!(server.call("echo", Map::new()).await.is_ok());
}

#[tokio::test]
async fn closing_ends_the_process_and_what_it_started() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    server.call("children", Map::new()).await.unwrap();
    let pids = noted(place.path(), "children").await;
    server.close().await;
    for pid in pids.split_whitespace() {
        assert!(!support::is_running(pid), "{pid}");
    }
    let error = server.call("echo", Map::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `test` was closed");
    server.close().await;
}

#[tokio::test]
async fn dropping_ends_the_process_and_what_it_started() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    server.call("children", Map::new()).await.unwrap();
    let pids = noted(place.path(), "children").await;
    drop(server);
    gone(&pids).await;
}

#[test]
fn the_end_of_the_runtime_ends_the_process_and_what_it_started() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let (server, pids) = first.block_on(async {
        let server = start("plain", place.path()).await;
        server.call("children", Map::new()).await.unwrap();
        (server, noted(place.path(), "children").await)
    });
    drop(first);
    runtime().block_on(gone(&pids));
    drop(server);
}

#[tokio::test]
async fn a_server_of_the_newer_protocol_alone_is_spoken_to_in_that() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("modern", place.path()).await;
    assert_eq!(server.call("echo", Map::new()).await.unwrap(), json!("{}"));
}

#[tokio::test]
async fn a_server_without_tools_has_none() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("no-tools", place.path()).await;
    assert!(server.tools().is_empty());
}
