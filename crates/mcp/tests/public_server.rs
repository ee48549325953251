//! A server that others wrote: `@modelcontextprotocol/server-everything`, as a program and on the
//! web. `tests/install-server` installs it.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Map, Value, json};
use support::{LONG, args, gone, noted};
use tempfile::tempdir;
use tollgate_mcp::{McpError, Server, ServerConfig, Text, Transport};

const VERSION: &str = "2026.8.31";

/// The server's program, if it is installed. Where it has to be, it is.
fn program() -> Option<PathBuf> {
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

fn patient(mut config: ServerConfig) -> ServerConfig {
    config.limits.start = LONG;
    config.limits.call = LONG;
    config
}

/// What both ways of getting at it have in common.
async fn speaks_our_language(server: &Server) {
    let tools = server.tools();
    let echo = tools.iter().find(|tool| tool.name == "echo").unwrap();
    assert_eq!(echo.parameters["properties"]["message"]["type"], "string");

    let answer = server.call("echo", args(json!({"message": "grüß Gott"}))).await.unwrap();
    assert_eq!(answer, json!("Echo: grüß Gott"));
    let answer = server.call("get-sum", args(json!({"a": 2, "b": 40}))).await.unwrap();
    assert!(answer.as_str().unwrap().contains("42"), "{answer}");
    let answer = server.call("get-structured-content", args(json!({"location": "Chicago"}))).await;
    assert!(answer.as_ref().unwrap()["temperature"].is_number(), "{answer:?}");
    let answer = server.call("get-tiny-image", Map::new()).await.unwrap();
    let image = answer.as_array().unwrap().iter().find(|part| part["type"] == "image").unwrap();
    assert_eq!(image["mimeType"], "image/png");

    // Arguments that do not fit its schema.
    let error = server.call("get-sum", args(json!({"a": "x"}))).await.unwrap_err();
    assert!(matches!(error, McpError::Tool { .. } | McpError::NoResult { .. }), "{error}");
    // What it would ask us for is not there to be asked for.
    assert!(tools.iter().all(|tool| tool.name != "trigger-sampling-request"));
    assert!(server.call("echo", args(json!({"message": ""}))).await.is_ok());
}

#[tokio::test]
async fn it_runs_as_a_program() {
    let Some(program) = program() else { return };
    let place = tempdir().unwrap();
    let mut config = patient(ServerConfig::stdio("all", "node", [program.to_str().unwrap()]));
    if let Transport::Stdio { env, .. } = &mut config.transport {
        env.insert("GREETING".into(), Text::literal("hello"));
    }
    let server = Server::connect(config).await.unwrap();
    speaks_our_language(&server).await;

    let answer = server.call("get-env", Map::new()).await.unwrap();
    let env: Map<String, Value> = serde_json::from_str(answer.as_str().unwrap()).unwrap();
    assert_eq!(env["GREETING"], "hello");
    assert!(!env.keys().any(|name| name.starts_with("CARGO")), "{env:?}");
    server.close().await;
    drop(place);
}

#[tokio::test]
async fn a_long_call_is_cut_off_and_the_server_goes_on() {
    let Some(program) = program() else { return };
    let mut config = patient(ServerConfig::stdio("all", "node", [program.to_str().unwrap()]));
    config.limits.call = Duration::from_millis(500);
    let server = Server::connect(config).await.unwrap();
    let long = args(json!({"duration": 3600, "steps": 3600}));
    let error = server.call("trigger-long-running-operation", long).await.unwrap_err();
    assert!(matches!(error, McpError::Deadline { ended: false, .. }), "{error}");
    server.close().await;
}

/// The server on the web; its process ends with this.
struct OnTheWeb {
    process: Child,
    port: String,
}

impl OnTheWeb {
    async fn start(program: &Path, place: &Path) -> Self {
        let loopback = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/loopback.cjs");
        let file = place.join("port");
        let _ = std::fs::remove_file(&file);
        let process = Command::new("node")
            .args(["-r", loopback, program.to_str().unwrap(), "streamableHttp"])
            .env("PORT_FILE", &file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut started = Self { process, port: String::new() };
        started.port = noted(place, "port").await;
        started
    }

    fn config(&self) -> ServerConfig {
        patient(ServerConfig::http("all", format!("http://127.0.0.1:{}/mcp", self.port)))
    }
}

impl Drop for OnTheWeb {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn it_is_reached_on_the_web() {
    let Some(program) = program() else { return };
    let place = tempdir().unwrap();
    let web = OnTheWeb::start(&program, place.path()).await;
    let server = Server::connect(web.config()).await.unwrap();
    speaks_our_language(&server).await;
    server.close().await;

    // When it is gone, the call says so, and the next one too.
    let server = Server::connect(web.config()).await.unwrap();
    let pid = web.process.id().to_string();
    drop(web);
    gone(&pid).await;
    let error = server.call("echo", args(json!({"message": "x"}))).await.unwrap_err();
    assert!(matches!(error, McpError::Gone { .. } | McpError::Start { .. }), "{error}");
    let error = server.call("echo", args(json!({"message": "x"}))).await.unwrap_err();
    assert!(matches!(error, McpError::Start { .. } | McpError::Waiting { .. }), "{error}");
}
