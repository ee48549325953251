//! Servers that do not behave: they cost their call, and nothing else.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use serde_json::{Map, json};
use support::{args, config, gone, noted, refused, start};
use tempfile::tempdir;
use tollgate_mcp::{McpError, Server, ServerConfig, Text, Transport};

/// Long enough for a call to get there, and short enough to wait for.
const SHORT: Duration = Duration::from_millis(300);

fn started(error: McpError) -> (String, String) {
    match error {
        McpError::Start { why, stderr, .. } => (why, stderr),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    tollgate_testing::needs!("python3");
    let (why, _) = started(refused(ServerConfig::stdio("s", "no-such-program", [""; 0])).await);
    assert!(why.starts_with("`no-such-program` cannot be run: "), "{why}");

    let place = tempdir().unwrap();
    let mut config = config("plain", place.path());
    if let Transport::Stdio { cwd, .. } = &mut config.transport {
        *cwd = Some(place.path().join("no-such-directory"));
    }
    let (why, _) = started(refused(config).await);
    assert!(why.contains("no-such-directory is not there"), "{why}");
}

#[tokio::test]
async fn a_server_that_exits_at_once_tells_why() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let (why, stderr) = started(refused(config("exits", place.path())).await);
    assert_eq!(why, "it ended with exit status 3 before it answered");
    assert_eq!(stderr, "no database");
}

#[tokio::test]
async fn a_server_that_never_greets_is_ended() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("silent", place.path());
    config.limits.start = Duration::from_secs(1);
    let (why, _) = started(refused(config).await);
    assert_eq!(why, "it was not ready within 1s");
    // Unless it was ended before it had begun.
    if let Ok(pid) = std::fs::read_to_string(place.path().join("silent")) {
        gone(&pid).await;
    }
}

#[tokio::test]
async fn greetings_that_are_none_are_told_of_in_short() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let (why, _) = started(refused(config("rude", place.path())).await);
    assert!(why.starts_with("it answers to the greeting: not today x"), "{why}");
    assert!(why.len() < 700, "{}", why.len());
    let (why, _) = started(refused(config("odd-greeting", place.path())).await);
    assert_eq!(why, "what it answers to the greeting is something else");
}

#[tokio::test]
async fn a_line_without_end_is_not_kept() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("endless-line", place.path());
    config.limits.message = 1_000_000;
    let (why, _) = started(refused(config).await);
    assert_eq!(why, "it sent a message of more than 1000000 bytes, which is the limit");
}

#[tokio::test]
async fn chatter_without_end_is_not_listened_to() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let (why, _) = started(refused(config("chatter", place.path())).await);
    assert_eq!(why, "it prints what is no message, on and on");
}

#[tokio::test]
async fn what_is_no_message_is_skipped() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("garbage", place.path()).await;
    let noise = server.call("noise", args(json!({"lines": 5000}))).await.unwrap();
    assert_eq!(noise, json!("done"));
    let error = server.call("noise", args(json!({"lines": 20_000}))).await.unwrap_err();
    assert!(error.to_string().contains("it prints what is no message"), "{error}");
    // And it is back.
    assert!(server.call("echo", Map::new()).await.is_ok());
}

#[tokio::test]
async fn lists_have_bounds() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    for (mode, why) in [
        ("endless", "there are more than 120, which is the limit"),
        ("empty-pages", "the list has more than 256 pages, which is the limit"),
        (
            "large-list",
            "their names, descriptions and schemas have more than 50000 bytes, which is the limit",
        ),
        ("twice", "there are two tools with the name `a`"),
        ("nameless", "tool 2 of the list has no name"),
        ("no-list", "what it answers is no list of tools"),
    ] {
        let mut config = config(mode, place.path());
        config.limits.tools = 120;
        config.limits.listing = 50_000;
        let error = refused(config).await;
        let text = format!("the tools of the MCP server `test` cannot be used: {why}");
        assert_eq!(error.to_string(), text, "{mode}");
    }
}

#[tokio::test]
async fn a_list_at_its_bounds_is_fine() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("pages", place.path());
    config.limits.tools = 4;
    // Four times `t0`, `does t0` and `{"type":"object"}`.
    config.limits.listing = 4 * (2 + 7 + 17);
    assert!(Server::connect(config.clone()).await.is_ok());
    config.limits.listing -= 1;
    assert!(matches!(refused(config).await, McpError::Tools { .. }));
}

#[tokio::test]
async fn a_long_answer_is_cut_and_says_so() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("counted", place.path());
    config.limits.output = 1000;
    config.limits.message = 100_000;
    let server = Server::connect(config).await.unwrap();
    let huge = async |size: usize| server.call("huge", args(json!({"size": size}))).await;
    assert_eq!(huge(1000).await.unwrap(), json!("x".repeat(1000)));
    let cut = format!("{}\n[1 bytes left out]", "x".repeat(1000));
    assert_eq!(huge(1001).await.unwrap(), json!(cut));
    let parts = server.call("many", args(json!({"count": 500}))).await.unwrap();
    assert!(parts.to_string().len() < 1300, "{}", parts.to_string().len());

    // And one that is no answer any more ends the server.
    let error = huge(100_000).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the MCP server `test` went away during `huge`: it sent a message of more than 100000 \
         bytes, which is the limit"
    );
    assert_eq!(huge(1).await.unwrap(), json!("x"));
    assert_eq!(noted(place.path(), "starts").await, "2");
}

#[tokio::test]
async fn a_crash_costs_its_call() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("counted", place.path()).await;
    let error = server.call("exit", Map::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the MCP server `test` went away during `exit`: it ended with exit status 9; it wrote: out \
         of memory"
    );
    assert!(server.call("echo", Map::new()).await.is_ok());
    assert_eq!(noted(place.path(), "starts").await, "2");
}

#[tokio::test]
async fn a_server_that_fails_again_and_again_is_left_alone() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("once", place.path());
    config.limits.backoff = Duration::from_hours(1);
    let server = Server::connect(config).await.unwrap();
    let call = async || server.call("exit", Map::new()).await.unwrap_err();
    assert!(matches!(call().await, McpError::Gone { .. }));
    // At once the first time, and then not any more.
    assert!(matches!(call().await, McpError::Start { .. }));
    for _ in 0..3 {
        let error = call().await;
        let McpError::Waiting { failures: 2, retry_in, why, .. } = &error else {
            panic!("{error}")
        };
        assert!(*retry_in > Duration::from_mins(59), "{error}");
        assert!(why.contains("exit status 4"), "{error}");
    }
    assert_eq!(noted(place.path(), "starts").await, "2");
}

#[tokio::test]
async fn a_server_is_tried_again_when_its_time_has_come() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("counted", place.path());
    config.limits.backoff = Duration::ZERO;
    let server = Server::connect(config).await.unwrap();
    for _ in 0..4 {
        assert!(matches!(server.call("exit", Map::new()).await, Err(McpError::Gone { .. })));
    }
    assert!(server.call("echo", Map::new()).await.is_ok());
    assert_eq!(noted(place.path(), "starts").await, "5");
}

#[tokio::test]
async fn a_server_that_died_between_two_calls_is_started_for_the_next() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("counted", place.path()).await;
    server.call("children", Map::new()).await.unwrap();
    let pids = noted(place.path(), "children").await;
    let pid = pids.split_whitespace().next().unwrap();
    let killed = std::process::Command::new("kill").args(["-9", pid]).status().unwrap();
    assert!(killed.success());
    // Its child goes with it, and then the connection is known to be closed.
    gone(&pids).await;
    // Whoever calls before that is noticed is told.
    let answer = server.call("echo", Map::new()).await;
    if let Err(error) = answer {
        assert!(matches!(error, McpError::Gone { .. }), "{error}");
    }
    assert!(server.call("echo", Map::new()).await.is_ok());
    assert_eq!(noted(place.path(), "starts").await, "2");
}

#[tokio::test]
async fn a_server_that_hangs_is_ended() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("counted", place.path());
    config.limits.call = SHORT;
    let server = Server::connect(config).await.unwrap();
    let pid = noted(place.path(), "pid").await;
    let error = server.call("hang", Map::new()).await.unwrap_err();
    let McpError::Deadline { ended: true, time: SHORT, .. } = error else { panic!("{error}") };
    gone(&pid).await;
    // It comes back at the next call, whether or not that is answered in so short a time.
    let _ = server.call("echo", Map::new()).await;
    assert_eq!(noted(place.path(), "starts").await, "2");
}

#[tokio::test]
async fn a_slow_tool_is_no_hanging_server() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("counted", place.path());
    config.limits.call = SHORT;
    let server = Server::connect(config).await.unwrap();
    let error = server.call("slow", Map::new()).await.unwrap_err();
    assert!(matches!(error, McpError::Deadline { ended: false, .. }), "{error}");
    // It was told that nobody waits any more.
    let id = noted(place.path(), "slow").await;
    assert_eq!(noted(place.path(), "cancelled").await, id);
    assert_eq!(noted(place.path(), "starts").await, "1");
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_is_ended_all_the_same() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("stays", place.path()).await;
    server.call("children", Map::new()).await.unwrap();
    let pids = noted(place.path(), "children").await;
    server.close().await;
    assert!(pids.split_whitespace().all(|pid| !support::is_running(pid)));
}

#[tokio::test]
async fn requests_of_a_server_are_refused() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    for (method, what) in [
        ("sampling/createMessage", "sampling"),
        ("roots/list", "listing roots"),
        ("elicitation/create", "elicitation"),
        ("x/unheard-of", "x/unheard-of"),
    ] {
        let answer = server.call("ask", args(json!({"method": method}))).await.unwrap();
        let answer = answer.as_str().unwrap();
        assert!(answer.contains("-32601") && answer.contains(what), "{method}: {answer}");
    }
}

#[tokio::test]
async fn a_server_that_asks_and_does_not_listen_is_ended() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    let error = server.call("deaf", Map::new()).await.unwrap_err();
    assert!(error.to_string().contains("it does not read what it is sent"), "{error}");
    assert!(server.call("echo", Map::new()).await.is_ok());
}

#[tokio::test]
async fn a_flood_of_notifications_is_let_by() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("plain", place.path()).await;
    let flood = server.call("flood", args(json!({"count": 5000}))).await.unwrap();
    assert_eq!(flood, json!("done"));
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_of() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let server = start("counted", place.path()).await;
    let error = server.call("odd", Map::new()).await.unwrap_err();
    assert!(error.to_string().contains("what it answers is no result of a call"), "{error}");
    assert!(server.call("echo", Map::new()).await.is_ok());
    assert_eq!(noted(place.path(), "starts").await, "1");
}

#[tokio::test]
async fn secrets_of_the_configuration_stay_out_of_errors() {
    tollgate_testing::needs!("python3");
    let place = tempdir().unwrap();
    let mut config = config("plain", place.path());
    if let Transport::Stdio { env, .. } = &mut config.transport {
        env.insert("API_KEY".into(), Text::literal("sk-12345678"));
    }
    let server = Server::connect(config).await.unwrap();
    let error = server.call("leak", args(json!({"politely": true}))).await.unwrap_err();
    assert_eq!(error.to_string(), "[hidden] is no key");
    let error = server.call("leak", Map::new()).await.unwrap_err();
    let shown = format!("{error} {error:?} {server:?}");
    assert!(shown.contains("key is [hidden]") && !shown.contains("12345678"), "{shown}");
}
