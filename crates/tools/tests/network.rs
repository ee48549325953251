//! Pages, searches and images, from servers on loopback.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::{Scene, names};
use tollgate_fetch::{Allowlist, Client, Limits as FetchLimits};
use tollgate_tools::{Config, Images, Limits, TaskLimits, WebSearch};

/// What a server got.
#[derive(Debug, Clone, Default)]
struct Got {
    line: String,
    head: String,
    body: Vec<u8>,
}

/// A server that answers as it is told to, until it is dropped.
struct Server {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Server {
    fn new(answer: impl Fn(&Got) -> (u16, &'static str, Vec<u8>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let log = Arc::clone(&got);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(got) = receive(&mut stream) else { continue };
                if got.line == "QUIT" {
                    break;
                }
                log.lock().unwrap().push(got.clone());
                let (status, kind, body) = answer(&got);
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n",
                    body.len()
                );
                // The client may be gone; that is its right.
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
            }
        });
        Self { address, got }
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = TcpStream::connect(self.address).and_then(|mut stream| stream.write_all(b"QUIT\n"));
    }
}

fn receive(stream: &mut TcpStream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let mut got = Got::default();
    reader.read_line(&mut got.line).ok()?;
    got.line.truncate(got.line.trim_end().len());
    if got.line == "QUIT" {
        return Some(got);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().ok()?;
        }
        got.head.push_str(&line);
    }
    got.body.resize(length, 0);
    reader.read_exact(&mut got.body).ok()?;
    Some(got)
}

fn only(host: &str) -> Client {
    let list = Allowlist::new([host.to_owned()], |entry, host, _| entry == host);
    Client::new(FetchLimits { body: 10_000, ..FetchLimits::default() }, list)
}

fn reading(limits: Limits) -> Scene {
    let config = Config { fetch: Some(only("127.0.0.1")), limits, ..Config::default() };
    Scene::with(&config, TaskLimits::default())
}

#[tokio::test]
async fn a_page_is_read_as_text() {
    let server = Server::new(|got| match got.line.split(' ').nth(1).unwrap() {
        "/page" => (
            200,
            "text/html; charset=iso-8859-1",
            b"<title>Caf\xe9</title><p>See <a href='/next'>more</a>.".to_vec(),
        ),
        "/data" => (200, "application/json", b"{\"a\": 1}".to_vec()),
        "/image" => (200, "image/png", b"\x89PNG".to_vec()),
        "/exact" => (200, "text/plain", vec![b'x'; 10_000]),
        "/large" => (200, "text/plain", vec![b'x'; 10_001]),
        "/lost" => (404, "text/html", b"<h1>Not here</h1>".to_vec()),
        _ => (500, "text/plain", Vec::new()),
    });
    let scene = reading(Limits { view_bytes: 9_000, ..Limits::default() });
    let text =
        async |path: &str| scene.text("read_url_content", json!({"Url": server.url(path)})).await;
    let error =
        async |path: &str| scene.error("read_url_content", json!({"Url": server.url(path)})).await;
    assert_eq!(
        text("/page").await,
        format!(
            "{} (text/html; charset=iso-8859-1, 51 bytes):\n\nTitle: Café\n\nSee [more]({}).\n",
            server.url("/page"),
            server.url("/next")
        )
    );
    assert!(text("/data").await.ends_with("(application/json, 8 bytes):\n\n{\"a\": 1}\n"));
    assert!(text("/image").await.ends_with("(image/png, 4 bytes) is no text; it is not shown."));
    assert!(text("/exact").await.ends_with("x\n\n(cut after 9000 bytes)\n"));
    assert!(error("/large").await.contains("more than 10000 bytes"));
    assert!(error("/lost").await.ends_with("answered with status 404: # Not here"));
    assert!(error("/other").await.ends_with("answered with status 500"));
}

#[tokio::test]
async fn pages_are_read_only_from_where_it_is_allowed() {
    let server = Server::new(|_| (200, "text/plain", Vec::new()));
    let config = Config { fetch: Some(only("example.org")), ..Config::default() };
    let scene = Scene::with(&config, TaskLimits::default());
    for url in
        [server.url("/"), "http://169.254.169.254/".to_owned(), "file:///etc/passwd".to_owned()]
    {
        scene.error("read_url_content", json!({"Url": url})).await;
    }
    assert!(server.got().is_empty());
}

#[tokio::test]
async fn a_page_has_its_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let scene = reading(Limits { fetch_time: Duration::from_millis(50), ..Limits::default() });
    let error = scene.error("read_url_content", json!({"Url": url})).await;
    assert!(error.starts_with("no response within 50ms"), "{error}");
}

#[tokio::test]
async fn the_web_is_searched() {
    let server = Server::new(|got| {
        if got.line.contains("broken") {
            return (200, "text/html", b"<html>".to_vec());
        }
        if got.line.contains("refused") {
            return (429, "text/plain", Vec::new());
        }
        let none = got.line.contains("nothing");
        let result =
            json!({"title": "A\n b", "url": "https://a.example/", "content": "text", "score": 1});
        let results = if none { vec![] } else { vec![result; 12] };
        (200, "application/json", json!({"results": results}).to_string().into_bytes())
    });
    let search = Some(WebSearch::new(&server.url("/search?language=en")).unwrap());
    let scene = Scene::with(&Config { search, ..Config::default() }, TaskLimits::default());
    let text = scene.text("search_web", json!({"query": "a b&c", "domain": "a.example"})).await;
    assert!(
        text.starts_with(
            "10 of 12 results for `site:a.example a b&c`:\n\n1. A b\n   https://a.example/\n   text\n"
        ),
        "{text}"
    );
    assert_eq!(
        server.got()[0].line,
        "GET /search?language=en&q=site%3Aa.example+a+b%26c&format=json HTTP/1.1"
    );
    let text = scene.text("search_web", json!({"query": "nothing"})).await;
    assert_eq!(text, "Nothing found for `nothing`.");
    for (query, expected) in
        [("broken", "not as expected"), ("refused", "status 429"), (" ", "query is empty")]
    {
        let error = scene.error("search_web", json!({"query": query})).await;
        assert!(error.starts_with("the search failed: ") && error.contains(expected), "{error}");
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nimage";

fn artists(server: &Server, key: Option<&str>, fetch: Option<Client>) -> Scene {
    let mut images = Images::new(&server.url("/v1"), "brush-1").unwrap();
    if let Some(key) = key {
        images = images.key_from(key);
    }
    let config = Config { images: Some(images), fetch, ..Config::default() };
    let mut scene = Scene::with(&config, TaskLimits::default());
    let artifacts = scene.beside("made/artifacts");
    scene.cx = scene.cx.clone().artifacts(artifacts);
    scene
}

fn made(image: &Value) -> (u16, &'static str, Vec<u8>) {
    (200, "application/json", json!({"data": [image]}).to_string().into_bytes())
}

#[tokio::test]
async fn an_image_is_made_and_saved() {
    let server = Server::new(|_| made(&json!({"b64_json": STANDARD.encode(PNG)})));
    // A variable that every test has, so that there is something to be sent.
    let scene = artists(&server, Some("CARGO_PKG_NAME"), None);
    let dir = scene.beside("made/artifacts");
    let text = scene.text("generate_image", json!({"Prompt": "a cat", "ImageName": "cat"})).await;
    assert_eq!(text, format!("Saved the image as {} (13 bytes).", dir.join("cat.png").display()));
    assert_eq!(std::fs::read(dir.join("cat.png")).unwrap(), PNG);
    scene.text("generate_image", json!({"Prompt": "a cat", "ImageName": "cat"})).await;
    scene.text("generate_image", json!({"Prompt": "a dog"})).await;
    assert_eq!(names(&dir), ["cat-2.png", "cat.png", "image.png"]);
    let got = &server.got()[0];
    assert_eq!(got.line, "POST /v1/images/generations HTTP/1.1");
    assert!(got.head.contains("authorization: Bearer tollgate-tools\r\n"), "{}", got.head);
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    assert_eq!(body, json!({"model": "brush-1", "prompt": "a cat", "n": 1}));
    for name in ["../cat", "a/b", ".cat", &"x".repeat(101)] {
        let error = scene.error("generate_image", json!({"Prompt": "x", "ImageName": name})).await;
        assert!(error.starts_with("ImageName may have"), "{error}");
    }
}

#[tokio::test]
async fn images_are_edited() {
    let server = Server::new(|_| made(&json!({"b64_json": STANDARD.encode(PNG)})));
    let scene = artists(&server, None, None);
    scene.put("a.png", PNG);
    scene.put("b.jpg", b"\xff\xd8\xff--tollgate-0000000000000000-boundary");
    scene.put("c.txt", "no image");
    let args = json!({"Prompt": "make it blue", "ImagePaths": [scene.path("a.png")]});
    let text = scene.text("generate_image", args).await;
    let saved = text.split(" as ").nth(1).unwrap().split(" (").next().unwrap().to_owned();
    // One that was made before, and one that has the first boundary in it.
    let args = json!({"Prompt": "both", "ImagePaths": [saved, "b.jpg"]});
    scene.text("generate_image", args).await;
    let got = server.got();
    assert_eq!(got[0].line, "POST /v1/images/edits HTTP/1.1");
    assert!(!got[0].head.contains("authorization"), "{}", got[0].head);
    let body = String::from_utf8_lossy(&got[0].body);
    assert!(body.contains("name=\"prompt\"\r\n\r\nmake it blue\r\n"), "{body}");
    assert!(
        body.contains("name=\"image\"; filename=\"image-1.png\"\r\ncontent-type: image/png"),
        "{body}"
    );
    assert!(got[1].head.contains("boundary=tollgate-0000000000000001-boundary"), "{}", got[1].head);
    assert!(
        String::from_utf8_lossy(&got[1].body)
            .contains("name=\"image[]\"; filename=\"image-2.jpg\"")
    );
    let secret = scene.beside("secret.png");
    std::fs::write(&secret, PNG).unwrap();
    let error = scene
        .error("generate_image", json!({"Prompt": "x", "ImagePaths": [secret.to_str().unwrap()]}))
        .await;
    assert!(error.contains("outside the workspaces"), "{error}");
    let error =
        scene.error("generate_image", json!({"Prompt": "x", "ImagePaths": ["c.txt"]})).await;
    assert!(error.ends_with("is no PNG, JPEG, GIF or WebP image"), "{error}");
    let many = vec!["a.png"; 9];
    let error = scene.error("generate_image", json!({"Prompt": "x", "ImagePaths": many})).await;
    assert!(error.contains("more than 8 entries"), "{error}");
    assert_eq!(server.got().len(), 2);
}

#[tokio::test]
async fn an_image_may_be_elsewhere() {
    let elsewhere = Server::new(|_| (200, "image/png", PNG.to_vec()));
    let url = elsewhere.url("/made.png");
    let server = Server::new(move |_| made(&json!({"url": url})));
    let scene = artists(&server, None, None);
    let error = scene.error("generate_image", json!({"Prompt": "x"})).await;
    assert!(error.contains("is not allowed"), "{error}");
    let scene = artists(&server, None, Some(only("127.0.0.1")));
    scene.text("generate_image", json!({"Prompt": "x"})).await;
    assert_eq!(elsewhere.got().len(), 1);
}

#[tokio::test]
async fn a_service_that_fails_tells_no_key() {
    let server = Server::new(|got| {
        let said = format!("bad key: {}", got.head.lines().find(|l| l.contains("Bearer")).unwrap());
        (401, "text/plain", said.into_bytes())
    });
    let scene = artists(&server, Some("CARGO_PKG_NAME"), None);
    let error = scene.error("generate_image", json!({"Prompt": "x"})).await;
    assert!(error.contains("status 401: bad key: "), "{error}");
    assert!(error.contains("Bearer [masked]") && !error.contains("tollgate-tools"), "{error}");
    let scene = artists(&server, Some("TOLLGATE_NO_SUCH_VARIABLE"), None);
    let error = scene.error("generate_image", json!({"Prompt": "x"})).await;
    assert!(error.contains("`TOLLGATE_NO_SUCH_VARIABLE` has no key in it"), "{error}");
    let mut scene = artists(&server, None, None);
    scene.cx.artifacts = None;
    let error = scene.error("generate_image", json!({"Prompt": "x"})).await;
    assert!(error.contains("no directory for artifacts"), "{error}");
    let none = Server::new(|_| made(&json!({"b64_json": STANDARD.encode("<html>")})));
    let scene = artists(&none, None, None);
    let error = scene.error("generate_image", json!({"Prompt": "x"})).await;
    assert!(error.ends_with("something that is no image"), "{error}");
    assert!(!scene.beside("made/artifacts/image.png").exists());
}

#[test]
fn addresses_of_services_are_checked() {
    for bad in ["", "example.org", "ftp://example.org", "http://me:pw@example.org/", "http://"] {
        let error = WebSearch::new(bad).unwrap_err().to_string();
        assert!(error.contains("cannot be used") && !error.contains("pw"), "{error}");
        assert!(Images::new(bad, "m").is_err());
    }
}
