//! Servers on the web that do not behave.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use support::{LONG, refused, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tollgate_mcp::{McpError, Server, ServerConfig, Text, Transport};

/// What a server is asked, and the bytes that it answers with.
type Script = dyn Fn(&Asked) -> Vec<u8> + Send + Sync;

#[derive(Debug, Clone, PartialEq)]
struct Asked {
    head: String,
    method: String,
    message: Value,
}

/// A server that answers as it is told. It ends with this.
struct Web {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Web {
    async fn new(script: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?key=topsecret", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (script, heard): (Arc<Script>, _) = (Arc::new(script), asked.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(converse(stream, script.clone(), heard.clone()));
            }
        });
        Self { url, asked, task }
    }

    fn config(&self) -> ServerConfig {
        let mut config = ServerConfig::http("web", &self.url);
        config.limits.start = LONG;
        config.limits.call = LONG;
        config
    }

    fn asked(&self, method: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.method == method).cloned().collect()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, script: Arc<Script>, log: Arc<Mutex<Vec<Asked>>>) {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let message: Value = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    let method = message["method"]
        .as_str()
        .map_or_else(|| head.split(' ').next().unwrap_or_default().to_uppercase(), str::to_owned);
    let asked = Asked { head, method, message };
    let answer = script(&asked);
    log.lock().unwrap().push(asked);
    // They may have had enough.
    let _ = stream.write_all(&answer).await;
    if answer.ends_with(WAIT) {
        while stream.read_buf(&mut bytes).await.unwrap_or(0) > 0 {}
    }
}

/// The head of a stream on which nothing comes.
const WAIT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Content-Length: 1000\r\n\r\n: wait\n\n";

fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\nMcp-Session-Id: s1\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn result(asked: &Asked, result: &Value) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": result});
    answer("200 OK", "application/json", &body.to_string())
}

fn events(asked: &Asked, result: &Value) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": result});
    answer("200 OK", "text/event-stream", &format!("event: message\ndata: {body}\n\n"))
}

/// A server in order, with one tool.
fn usual(asked: &Asked) -> Vec<u8> {
    match asked.method.as_str() {
        "initialize" => result(
            asked,
            &json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "x", "version": "1"}}),
        ),
        "notifications/initialized" | "notifications/cancelled" => {
            answer("202 Accepted", "text/plain", "")
        }
        "tools/list" => {
            result(asked, &json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}))
        }
        "tools/call" => result(asked, &json!({"content": [{"type": "text", "text": "done"}]})),
        "ping" => result(asked, &json!({})),
        _ => answer("405 Method Not Allowed", "text/plain", ""),
    }
}

async fn start_error(web: &Web) -> String {
    match refused(web.config()).await {
        McpError::Start { why, .. } => {
            assert!(!why.contains("topsecret"), "{why}");
            why
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn headers_go_with_every_request_and_the_session_is_ended() {
    let web = Web::new(usual).await;
    let mut config = web.config();
    if let Transport::Http { headers, .. } = &mut config.transport {
        headers.insert("Authorization".into(), "Bearer ${CARGO_PKG_NAME}".parse().unwrap());
    }
    let server = Server::connect(config).await.unwrap();
    assert_eq!(server.call("t", Map::new()).await.unwrap(), json!("done"));
    server.close().await;
    for method in ["initialize", "notifications/initialized", "tools/list", "tools/call"] {
        let asked = web.asked(method);
        assert!(asked[0].head.contains("authorization: bearer tollgate-mcp"), "{asked:?}");
    }
    assert!(web.asked("tools/call")[0].head.contains("mcp-session-id: s1"));
    assert_eq!(web.asked("DELETE").len(), 1);
    assert!(web.asked("DELETE")[0].head.contains("authorization: bearer tollgate-mcp"));
}

#[tokio::test]
async fn a_redirect_takes_the_headers_nowhere() {
    let other = Web::new(usual).await;
    let to = other.url.clone();
    let web = Web::new(move |_| {
        format!("HTTP/1.1 307 X\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    })
    .await;
    let why = start_error(&web).await;
    assert!(why.contains("it redirects, which is not followed"), "{why}");
    assert!(other.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn answers_to_the_greeting_that_are_none_are_told_of_in_short() {
    let long = "x".repeat(50_000);
    let cases: [(Vec<u8>, &str); 7] = [
        (answer("401 Unauthorized", "text/plain", "who are you?"), "HTTP 401 Unauthorized: who"),
        (answer("500 Oh", "text/html", &long), "HTTP 500"),
        (answer("200 OK", "text/html", "<html>"), "<html>"),
        (answer("200 OK", "application/json", "{"), "HTTP 200"),
        (b"garbage\r\n\r\n".to_vec(), "cannot be reached"),
        (Vec::new(), "cannot be reached"),
        (answer("200 OK", "text/event-stream", "data: x\n\n"), ""),
    ];
    for (bytes, expected) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
        let web = Web::new(move |_| bytes.clone()).await;
        let why = start_error(&web).await;
        assert!(why.starts_with("http://127.0.0.1:") && why.contains(expected), "{shown}: {why}");
        assert!(why.len() < 700, "{shown}: {}", why.len());
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![key.cert.der().clone()],
            rustls::pki_types::PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into()),
        )
        .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        connection.complete_io(&mut stream).unwrap_err().to_string()
    });
    let error = refused(ServerConfig::http("web", url)).await.to_string();
    assert!(error.contains("cannot be reached") && error.contains("certificate"), "{error}");
    // It was told so before anything of ours was sent.
    let told = server.join().unwrap();
    assert!(told.contains("UnknownCA") || told.contains("Certificate"), "{told}");
}

#[tokio::test]
async fn nobody_there_is_told_of() {
    let url = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let error = refused(ServerConfig::http("web", url)).await;
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    // It takes connections, and that is all.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let mut config = ServerConfig::http("web", url);
    config.limits.start = Duration::from_millis(200);
    let error = refused(config).await;
    assert!(error.to_string().contains("it was not ready within 200ms"), "{error}");
}

#[tokio::test]
async fn what_is_too_large_fails_its_call_and_no_more() {
    let large = json!({"content": [{"type": "text", "text": "x".repeat(50_000)}]});
    let web = Web::new(move |asked| {
        if asked.method != "tools/call" {
            return usual(asked);
        }
        match asked.message["params"]["arguments"]["as"].as_str() {
            Some("json") => result(asked, &large),
            Some("events") => events(asked, &large),
            _ => events(asked, &json!({"content": [{"type": "text", "text": "small"}]})),
        }
    })
    .await;
    let mut config = web.config();
    config.limits.message = 10_000;
    let server = Server::connect(config).await.unwrap();
    let call = async |kind: &str| server.call("t", support::args(json!({"as": kind}))).await;
    for kind in ["json", "events", "json", "events"] {
        let error = call(kind).await.unwrap_err().to_string();
        let expected = "it sent a message of more than 10000 bytes, which is the limit";
        assert!(error.contains(expected), "{kind}: {error}");
        assert_eq!(call("small").await.unwrap(), json!("small"));
    }
    assert_eq!(web.asked("initialize").len(), 1);
}

#[tokio::test]
async fn a_call_that_breaks_off_is_told_of_and_the_next_one_is_fine() {
    let calls = Mutex::new(0);
    let web = Web::new(move |asked| {
        if asked.method == "tools/call" {
            let mut calls = calls.lock().unwrap();
            *calls += 1;
            if *calls == 1 {
                return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                         Content-Length: 1000\r\n\r\n{\"jsonrpc\":"
                    .to_vec();
            }
        }
        usual(asked)
    })
    .await;
    let server = Server::connect(web.config()).await.unwrap();
    let error = server.call("t", Map::new()).await.unwrap_err();
    assert!(error.to_string().contains("its answer broke off"), "{error}");
    assert_eq!(server.call("t", Map::new()).await.unwrap(), json!("done"));
    assert_eq!(web.asked("initialize").len(), 1);
}

#[tokio::test]
async fn an_error_with_a_status_is_the_servers_answer() {
    let web = Web::new(|asked| {
        if asked.method != "tools/call" {
            return usual(asked);
        }
        let error = json!({"code": -32602, "message": "no such city"});
        let body = json!({"jsonrpc": "2.0", "id": asked.message["id"], "error": error});
        answer("400 Bad Request", "application/json", &body.to_string())
    })
    .await;
    let server = Server::connect(web.config()).await.unwrap();
    let error = server.call("t", Map::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `web` gave no result of `t`: no such city");
}

#[tokio::test]
async fn what_is_written_back_of_a_secret_is_hidden() {
    let web = Web::new(|asked| {
        let line = asked.head.lines().find(|line| line.starts_with("x-api-key")).unwrap();
        answer("403 Forbidden", "text/plain", &format!("not with {line}"))
    })
    .await;
    let mut config = web.config();
    if let Transport::Http { headers, .. } = &mut config.transport {
        headers.insert("x-api-key".into(), Text::literal("sk-12345678"));
    }
    let error = refused(config).await;
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("not with x-api-key: [hidden]"), "{shown}");
    assert!(!shown.contains("12345678"), "{shown}");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    let web =
        Web::new(|asked| if asked.method == "tools/call" { WAIT.to_vec() } else { usual(asked) })
            .await;
    let server = Server::connect(web.config()).await.unwrap();
    tokio::select! {
        answer = server.call("t", Map::new()) => panic!("{answer:?}"),
        () = until("it was called", || !web.asked("tools/call").is_empty()) => {}
    }
    until("it is told", || !web.asked("notifications/cancelled").is_empty()).await;
    let id = &web.asked("tools/call")[0].message["id"];
    assert_eq!(&web.asked("notifications/cancelled")[0].message["params"]["requestId"], id);
}

#[tokio::test]
async fn a_call_without_an_answer_has_an_end() {
    let web =
        Web::new(|asked| if asked.method == "tools/call" { WAIT.to_vec() } else { usual(asked) })
            .await;
    let mut config = web.config();
    config.limits.call = Duration::from_millis(100);
    let server = Server::connect(config).await.unwrap();
    let error = server.call("t", Map::new()).await.unwrap_err();
    assert!(matches!(error, McpError::Deadline { ended: false, .. }), "{error}");
}

#[tokio::test]
async fn what_comes_on_a_stream_besides_the_answer_has_bounds() {
    let web = Web::new(|asked| {
        if asked.method != "tools/call" {
            return usual(asked);
        }
        let (id, count) = (&asked.message["id"], &asked.message["params"]["arguments"]);
        let of = |key: &str| count[key].as_u64().unwrap_or(0);
        let mut body = String::new();
        for n in 0..of("logs") {
            let params = json!({"level": "info", "data": n});
            let log =
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
            let _ = write!(body, "data: {log}\n\n");
        }
        for n in 0..of("questions") {
            let question = json!({"jsonrpc": "2.0", "id": format!("q{n}"), "method": "roots/list"});
            let _ = write!(body, "data: {question}\n\n");
        }
        let result = json!({"content": [{"type": "text", "text": "done"}]});
        let done = json!({"jsonrpc": "2.0", "id": id, "result": result});
        answer("200 OK", "text/event-stream", &format!("{body}data: {done}\n\n"))
    })
    .await;
    let server = Server::connect(web.config()).await.unwrap();
    let call = async |args: Value| server.call("t", support::args(args)).await;
    assert_eq!(call(json!({"logs": 20_000})).await.unwrap(), json!("done"));
    assert_eq!(call(json!({"questions": 3})).await.unwrap(), json!("done"));
    let error = call(json!({"questions": 2000})).await.unwrap_err();
    assert!(error.to_string().contains("it asks us more than it answers"), "{error}");
}
