//! Redirects: each hop is checked as if it were the first.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{LONG, Server, TestNetwork, client, list, ok, redirect};
use tollgate_fetch::{Client, FetchError, Limits, Method, Request, Response};

/// Two hosts of one public server, and one that is inside.
fn network(server: &Server) -> TestNetwork {
    TestNetwork::default()
        .name("a.example", &[&["93.184.216.34"]])
        .name("b.example", &[&["93.184.216.35"]])
        .name("inside.example", &[&["10.0.0.1"]])
        .name("rebound.example", &[&["93.184.216.34"], &["127.0.0.1"]])
        .route("93.184.216.34", server)
        .route("93.184.216.35", server)
        .route("10.0.0.1", server)
        .route("127.0.0.1", server)
}

fn fetch(server: &Server, request: Request) -> Result<Response, FetchError> {
    client(&["*.example", "8.8.8.8", "*.corp"]).with_network(network(server)).request(request, LONG)
}

#[test]
fn a_redirect_leads_nowhere_that_a_request_may_not_go() {
    let cases = [
        ("http://127.0.0.1/", "not allowed (a redirect leads there)"),
        ("http://169.254.169.254/latest/meta-data/", "not allowed"),
        ("//127.0.0.1/", "not allowed"),
        ("http://0x7f.1/", "`127.0.0.1` on port 80 is not allowed"),
        ("http://inside.example/", "a private network (a redirect leads there)"),
        ("//inside.example/", "a private network"),
        ("http://example.org/", "`example.org` on port 80 is not allowed"),
        ("http://[::1]/", "not allowed"),
        ("http://a.example@127.0.0.1/", "name or password"),
        ("http://user:secret@a.example/", "name or password"),
        ("file:///etc/passwd", "only `https://`"),
        ("ftp://a.example/", "only `https://`"),
        ("data:text/plain,x", "only `https://`"),
        ("javascript:alert(1)", "only `https://`"),
        ("http://a.example:0/", "port"),
        ("http://a.example:99999/", "port"),
        ("http:\\\\127.0.0.1/", "`\\`"),
        ("/\\127.0.0.1/", "`\\`"),
        ("http://[::1", "IPv6"),
        ("http://", "host"),
    ];
    for (to, expected) in cases {
        for status in [301, 302, 303, 307, 308] {
            let server = Server::says(redirect(status, to));
            let error = fetch(&server, Request::get("http://a.example/")).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(expected), "{to}: {message}");
            assert!(!message.contains("secret"), "{message}");
            assert_eq!(server.got().len(), 1, "{to}");
        }
    }
}

#[test]
fn a_redirect_to_the_same_name_is_resolved_and_checked_again() {
    let server = Server::says(redirect(302, "/again"));
    let network = network(&server);
    let client = client(&["*.example"]).with_network(network.clone());
    let error = client.request(Request::get("http://rebound.example/"), LONG).unwrap_err();
    assert!(matches!(error, FetchError::NotPublic { redirected: true, .. }), "{error}");
    assert_eq!(network.resolved(), ["rebound.example", "rebound.example"]);
    assert_eq!(network.connected().len(), 1);
}

#[test]
fn redirects_are_followed_to_the_end() {
    let server = Server::with(&[
        ("/", &redirect(302, "one?x=1#part")),
        ("/one?x=1", &redirect(307, "//b.example/two")),
        ("/two", &redirect(308, "http://a.example./three")),
        ("/three", &ok("here")),
    ]);
    let response = fetch(&server, Request::get("http://a.example/")).unwrap();
    assert_eq!((response.status, &*response.text()), (200, "here"));
    assert_eq!(response.url, "http://a.example/three");
    let hosts: Vec<_> =
        server.got().iter().map(|got| got.header("host").unwrap().to_owned()).collect();
    assert_eq!(hosts, ["a.example", "a.example", "b.example", "a.example"]);
}

#[test]
fn five_redirects_are_followed_and_not_six() {
    let chain = |length: usize| {
        let hop = |n| (format!("/{n}"), redirect(302, &format!("/{}", n + 1)));
        let mut hops: Vec<(String, String)> = (0..length).map(hop).collect();
        hops.push((format!("/{length}"), ok("end")));
        let hops: Vec<(&str, &str)> = hops.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        Server::with(&hops)
    };
    let get = |server: &Server| fetch(server, Request::get("http://a.example/0"));
    assert_eq!(get(&chain(5)).unwrap().text(), "end");
    let server = chain(6);
    let error = get(&server).unwrap_err();
    assert_eq!(error.to_string(), "`a.example` leads to more than 5 redirects");
    assert_eq!(server.got().len(), 6);
    let loops = Server::says(redirect(301, "/0"));
    assert!(matches!(get(&loops), Err(FetchError::TooManyRedirects { limit: 5, .. })));
    assert_eq!(loops.got().len(), 6);
    let none = Client::new(Limits { redirects: 0, ..Limits::default() }, list(&["*.example"]));
    let none = none.with_network(network(&loops));
    let error = none.request(Request::get("http://a.example/0"), LONG).unwrap_err();
    assert!(matches!(error, FetchError::TooManyRedirects { limit: 0, .. }));
}

#[test]
fn methods_change_as_in_browsers() {
    use Method::{Delete, Get, Head, Post, Put};
    let cases = [
        (Post, 301, "GET", false),
        (Post, 302, "GET", false),
        (Post, 303, "GET", false),
        (Post, 307, "POST", true),
        (Post, 308, "POST", true),
        (Put, 301, "PUT", true),
        (Put, 302, "PUT", true),
        (Put, 303, "GET", false),
        (Put, 307, "PUT", true),
        (Delete, 302, "DELETE", false),
        (Delete, 303, "GET", false),
        (Get, 303, "GET", false),
        (Head, 303, "HEAD", false),
        (Head, 302, "HEAD", false),
    ];
    for (method, status, expected, has_body) in cases {
        let server = Server::with(&[("/", &redirect(status, "/next")), ("/next", &ok(""))]);
        let mut request = Request::new(method, "http://a.example/").header("content-type", "a/b");
        if matches!(method, Post | Put) {
            request = request.body("text");
        }
        fetch(&server, request).unwrap();
        let got = &server.got()[1];
        assert_eq!(got.line, format!("{expected} /next HTTP/1.1"), "{method} {status}");
        assert_eq!(got.body, if has_body { "text" } else { "" }, "{method} {status}");
        let keeps_type = expected == method.to_string();
        assert_eq!(got.header("content-type").is_some(), keeps_type, "{method} {status}");
    }
}

#[test]
fn secrets_stay_with_the_host_they_were_for() {
    let cases = [
        ("/next", true),
        ("http://a.example/next", true),
        ("http://A.example./next", true),
        ("http://b.example/next", false),
        ("http://a.example:8080/next", false),
        ("http://c.a.example/next", false),
    ];
    for (to, keeps) in cases {
        let server = Server::with(&[("/", &redirect(307, to)), ("/next", &ok(""))]);
        let network = network(&server).name("c.a.example", &[&["93.184.216.34"]]);
        let client = client(&["*.example"]).with_network(network);
        let request = Request::get("http://a.example/")
            .header("Authorization", "Bearer x")
            .header("Cookie", "a=b")
            .header("X-Api-Key", "x")
            .header("Accept", "text/plain");
        client.request(request, LONG).unwrap();
        for (index, keeps) in [(0, true), (1, keeps)] {
            let got = &server.got()[index];
            for name in ["authorization", "cookie", "x-api-key"] {
                assert_eq!(got.header(name).is_some(), keeps, "{to}: {name}");
            }
            assert_eq!(got.header("accept"), Some("text/plain"), "{to}");
        }
    }
}

#[test]
fn what_was_dropped_does_not_come_back() {
    let server = Server::with(&[
        ("/", &redirect(302, "http://b.example/two")),
        ("/two", &redirect(302, "http://a.example/three")),
        ("/three", &ok("")),
    ]);
    fetch(&server, Request::get("http://a.example/").header("authorization", "x")).unwrap();
    assert_eq!(server.got()[2].header("authorization"), None);
}

#[test]
fn what_looks_like_a_redirect_but_leads_nowhere_is_a_response() {
    for head in [
        "302 Found\r\ncontent-length: 2",
        "300 Choices\r\nlocation: http://127.0.0.1/\r\ncontent-length: 2",
        "304 Not Modified\r\nlocation: http://127.0.0.1/",
        "201 Created\r\nlocation: http://127.0.0.1/\r\ncontent-length: 2",
        "305 Use Proxy\r\nlocation: http://127.0.0.1/\r\ncontent-length: 2",
    ] {
        let server = Server::says(format!("HTTP/1.1 {head}\r\n\r\nhi"));
        let response = fetch(&server, Request::get("http://a.example/")).unwrap();
        assert_eq!(response.status.to_string(), head[..3], "{head}");
        assert_eq!(server.got().len(), 1);
    }
}
