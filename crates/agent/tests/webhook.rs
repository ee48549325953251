//! The webhook, with real requests.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tollgate_agent::trigger::{
    Options, Receiver, Secret, TriggerError, Triggers, WebhookConfig, webhook,
};

const SECRET: &str = "correct horse battery";
const LONG: Duration = Duration::from_secs(30);

struct Scene {
    address: SocketAddr,
    receiver: Receiver,
    triggers: Triggers,
}

fn config() -> WebhookConfig {
    let mut config = WebhookConfig::new(Secret::Given(SECRET.into()));
    config.path = "/hook".into();
    config.body = 100;
    config.message = "it says: {body}".into();
    config
}

fn start(room: usize) -> Scene {
    let hook = webhook(config()).unwrap();
    let address = hook.address();
    let options = Options { room, ..Options::default() };
    let (triggers, receiver, _problems) = Triggers::start(vec![Arc::new(hook)], options);
    Scene { address, receiver, triggers }
}

/// Sends bytes and gives back all that comes.
async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    exchange(address, bytes, false).await
}

async fn exchange(address: SocketAddr, bytes: &[u8], is_all: bool) -> String {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // It may have heard enough before we have said it all.
        let _ = stream.write_all(bytes).await;
        if is_all {
            let _ = stream.shutdown().await;
        }
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    timeout(LONG, exchange).await.unwrap()
}

async fn send(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    raw(address, request.as_bytes()).await
}

fn bearer(secret: &str) -> String {
    format!("Authorization: Bearer {secret}\r\n")
}

async fn post(address: SocketAddr, body: &str) -> String {
    send(address, "POST", "/hook", &bearer(SECRET), body).await
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[tokio::test]
async fn a_request_with_the_secret_is_a_message() {
    let mut scene = start(4);
    let answer = post(scene.address, "deployed äöü").await;
    assert_eq!(status(&answer), "202", "{answer}");
    let fired = scene.receiver.recv().await.unwrap();
    assert_eq!(fired.trigger, "webhook /hook");
    assert_eq!(fired.message, "it says: deployed äöü");
    let lower = send(scene.address, "POST", "/hook?x=1", &bearer(SECRET).to_lowercase(), "").await;
    assert_eq!(status(&lower), "202", "{lower}");
    scene.triggers.stop().await;
}

#[tokio::test]
async fn requests_that_are_not_in_order_are_refused() {
    let mut scene = start(4);
    let body = "x".repeat(101);
    let right = bearer(SECRET);
    let cases = [
        ("POST", "/hook", String::new(), "", "401"),
        ("POST", "/hook", bearer("wrong horse battery!!"), "", "401"),
        ("POST", "/hook", bearer(""), "", "401"),
        ("POST", "/hook", bearer(&SECRET[1..]), "", "401"),
        ("POST", "/hook", bearer(&format!("{SECRET}x")), "", "401"),
        ("POST", "/hook", format!("Authorization: Basic {SECRET}\r\n"), "", "401"),
        ("POST", "/hook", "Authorization: x\r\n".to_owned(), "", "401"),
        ("GET", "/hook", right.clone(), "", "405"),
        ("PUT", "/hook", right.clone(), "x", "405"),
        ("OPTIONS", "/hook", String::new(), "", "405"),
        ("POST", "/", right.clone(), "", "404"),
        ("POST", "/hook/", right.clone(), "", "404"),
        ("POST", "/hook", right.clone(), body.as_str(), "413"),
    ];
    for (method, path, headers, body, expected) in cases {
        let answer = send(scene.address, method, path, &headers, body).await;
        assert_eq!(status(&answer), expected, "{method} {path} {headers}: {answer}");
        assert!(!answer.contains(SECRET), "{answer}");
    }
    assert_eq!(scene.receiver.try_recv(), None);
    // At the bound.
    assert_eq!(status(&post(scene.address, &body[1..]).await), "202");
}

#[tokio::test]
async fn a_body_that_does_not_say_how_long_it_is_has_the_same_bound() {
    let mut scene = start(4);
    let head = format!(
        "POST /hook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n{}\r\n",
        bearer(SECRET)
    );
    let chunk = format!("32\r\n{}\r\n", "x".repeat(50));
    for (chunks, expected) in [(2, "202"), (3, "413"), (1000, "413")] {
        let request = format!("{head}{}0\r\n\r\n", chunk.repeat(chunks));
        let answer = raw(scene.address, request.as_bytes()).await;
        // One that goes on is cut off, and may not come to read the answer.
        if chunks < 1000 || !answer.is_empty() {
            assert_eq!(status(&answer), expected, "{chunks}: {answer}");
        }
    }
    assert!(scene.receiver.try_recv().is_some());
    assert!(scene.receiver.try_recv().is_none());
}

#[tokio::test]
async fn garbage_is_no_message_and_harms_nobody() {
    let mut scene = start(4);
    let not_text = [
        b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n".as_slice(),
        bearer(SECRET).as_bytes(),
        b"\r\n\xff\xfe",
    ]
    .concat();
    assert_eq!(status(&raw(scene.address, &not_text).await), "400");
    let many_headers = format!("POST /hook HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1000));
    let long_header = format!("POST /hook HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(100_000));
    for garbage in [
        b"\r\n\r\n\r\n".as_slice(),
        b"\0\0\0\0\r\n\r\n",
        b"hello\r\n\r\n",
        b"POST /hook HTTP/9.9\r\n\r\n",
        b"POST /hook HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /hook HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        many_headers.as_bytes(),
        long_header.as_bytes(),
    ] {
        // Some of it could go on, and would be waited for.
        let answer = exchange(scene.address, garbage, true).await;
        assert!(answer.is_empty() || status(&answer).starts_with('4'), "{answer}");
    }
    assert_eq!(scene.receiver.try_recv(), None);
    assert_eq!(status(&post(scene.address, "still here").await), "202");
}

#[tokio::test]
async fn callers_are_told_when_there_is_no_room() {
    let mut scene = start(1);
    assert_eq!(status(&post(scene.address, "1").await), "202");
    let answer = post(scene.address, "2").await;
    assert_eq!(status(&answer), "503", "{answer}");
    assert!(answer.to_lowercase().contains("retry-after: 10"), "{answer}");
    assert_eq!(scene.receiver.recv().await.unwrap().missed, 0);
    assert_eq!(status(&post(scene.address, "3").await), "202");
    assert_eq!(scene.receiver.recv().await.unwrap().missed, 1);
}

#[tokio::test]
async fn callers_that_say_nothing_keep_nobody_out_for_ever() {
    let mut scene = start(4);
    // As many as there may be at once, and one more.
    let mut idle = Vec::new();
    for _ in 0..33 {
        idle.push(TcpStream::connect(scene.address).await.unwrap());
    }
    let waiting = tokio::spawn(async move { post(scene.address, "at last").await });
    // Not while they are there, unless their time has passed.
    drop(idle);
    assert_eq!(status(&waiting.await.unwrap()), "202");
    assert!(scene.receiver.recv().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn callers_that_dawdle_are_cut_off() {
    let scene = start(4);
    let head = format!("POST /hook HTTP/1.1\r\nContent-Length: 50\r\n{}\r\n", bearer(SECRET));
    for beginning in ["", "POST /ho", head.as_str()] {
        let (address, beginning) = (scene.address, beginning.to_owned());
        let (told, ended) = tokio::sync::oneshot::channel();
        // On a thread of its own, so that the clock of the runtime can run ahead.
        std::thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream.write_all(beginning.as_bytes()).unwrap();
            let mut answer = String::new();
            let end = stream.read_to_string(&mut answer).map(|_| answer);
            told.send(end.map_err(|error| error.kind())).unwrap();
        });
        let answer = ended.await.unwrap();
        let is_cut = answer.as_ref().is_ok_and(|answer| !answer.starts_with("HTTP/1.1 2"));
        assert!(is_cut || answer == Err(ErrorKind::ConnectionReset), "{answer:?}");
    }
}

#[test]
fn what_cannot_be_offered_is_refused() {
    let refused = |change: fn(&mut WebhookConfig)| {
        let mut config = config();
        change(&mut config);
        match webhook(config) {
            Err(TriggerError::Webhook(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let why = refused(|config| config.address = "0.0.0.0:0".parse().unwrap());
    assert!(why.contains("other machines"), "{why}");
    let why = refused(|config| config.address = "[::]:0".parse().unwrap());
    assert!(why.contains("other machines"), "{why}");
    let why = refused(|config| config.path = "hook".into());
    assert!(why.contains("must begin with `/`"), "{why}");
    let why = refused(|config| config.secret = Secret::Given("short".into()));
    assert!(why.contains("fewer than 16 bytes") && !why.contains("short"), "{why}");
    let why = refused(|config| config.secret = Secret::Variable("TOLLGATE_NOT_SET".into()));
    assert!(why.contains("`TOLLGATE_NOT_SET` is not set"), "{why}");
    assert_eq!(format!("{:?}", config().secret), "Given(..)");

    // A port that somebody else has.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config();
    config.address = other.local_addr().unwrap();
    assert!(webhook(config).is_err());
}

#[test]
fn the_secret_can_come_from_the_environment() {
    // One that every test has.
    let mut config = config();
    config.secret = Secret::Variable("CARGO_MANIFEST_DIR".into());
    assert!(webhook(config).is_ok());
}
