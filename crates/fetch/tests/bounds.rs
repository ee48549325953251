//! Every resource has a bound.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::{Hangs, LONG, Server, TestNetwork, client, list, ok};
use tollgate_fetch::{Client, FetchError, Limits, Method, Part, Request, Response, Stage};

/// Long enough that a server on loopback is reached, short enough to wait for.
const SHORT: Duration = Duration::from_millis(400);

fn get(server: &Server, time: Duration) -> Result<Response, FetchError> {
    client(&["127.0.0.1"]).request(Request::get(server.url("/")), time)
}

fn small() -> Client {
    let limits = Limits { body: 100, request_body: 100, headers: 1000, ..Limits::default() };
    Client::new(limits, list(&["127.0.0.1"]))
}

#[test]
fn bodies_are_read_whole() {
    let cases = [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more", "hello"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ""),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end"),
        ("HTTP/1.0 200 OK\r\n\r\nold", "old"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n",
            "hello world",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-trailer: 1\r\n\r\n",
            "a",
        ),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na", "a"),
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone", "none"),
        ("HTTP/1.1 500 Oh\r\ncontent-length: 3\r\n\r\nbad", "bad"),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nbomb", "bomb"),
    ];
    for (text, expected) in cases {
        let server = Server::says(text);
        let response = get(&server, LONG).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(response.text(), expected, "{text}");
    }
}

#[test]
fn what_is_no_response_is_an_error_and_not_a_panic() {
    let cases: &[&[u8]] = &[
        b"",
        b"\r\n\r\n",
        b"garbage\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 999999 X\r\n\r\n",
        b"HTTP/1.1 000 X\r\n\r\n",
        b"HTTP/1.1 -20 X\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\0\0\0\0\0\0",
        b"\xff\xfe\xfd\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nearly",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello",
    ];
    for text in cases {
        let shown = String::from_utf8_lossy(text);
        let server = Server::says(*text);
        match get(&server, LONG) {
            Err(FetchError::Exchange { host, .. }) => assert_eq!(host, "127.0.0.1", "{shown:?}"),
            other => panic!("{shown:?}: {other:?}"),
        }
    }
}

#[test]
fn a_body_ends_at_its_bound() {
    let chunked = |length: usize| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        format!("{head}{}0\r\n\r\n", "1\r\nx\r\n".repeat(length))
    };
    let until_end = |length: usize| format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(length));
    let stated = |length: usize| ok(&"x".repeat(length));
    let forms: [(&str, &dyn Fn(usize) -> String); 3] =
        [("stated", &stated), ("chunked", &chunked), ("until the end", &until_end)];
    for (name, form) in forms {
        let request = |server: &Server| small().request(Request::get(server.url("/")), LONG);
        let response = request(&Server::says(form(100))).unwrap();
        assert_eq!(response.body.len(), 100, "{name}");
        let error = request(&Server::says(form(101))).unwrap_err();
        let what = Part::ResponseBody;
        assert_eq!(error, FetchError::TooLarge { what, limit: 100 }, "{name}");
        assert_eq!(
            error.to_string(),
            "the body of the response has more than 100 bytes, which is the limit"
        );
    }
    // Without end, and with an end that is said to be far away.
    for head in ["", "content-length: 1000000000000\r\n", "transfer-encoding: chunked\r\n"] {
        let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n");
        let server = Server::new(move |_, stream| {
            stream.write_all(head.as_bytes())?;
            loop {
                stream.write_all(b"1\r\nx\r\n")?;
            }
        });
        let error = small().request(Request::get(server.url("/")), LONG).unwrap_err();
        assert!(matches!(error, FetchError::TooLarge { .. }), "{error}");
    }
    // By default, a mebibyte, also behind interim responses that come with it.
    let interim = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(3);
    let server = Server::says(interim + &stated(1024 * 1024));
    assert_eq!(get(&server, LONG).unwrap().body.len(), 1024 * 1024);
    assert_eq!(get(&Server::says(stated(1024 * 1024)), LONG).unwrap().body.len(), 1024 * 1024);
    assert!(get(&Server::says(stated(1024 * 1024 + 1)), LONG).is_err());
}

#[test]
fn the_head_of_a_response_has_a_bound() {
    let padded = |length: usize| {
        let (begin, end) = ("HTTP/1.1 200 OK\r\nx: ", "\r\ncontent-length: 0\r\n\r\n");
        format!("{begin}{}{end}", "x".repeat(length - begin.len() - end.len()))
    };
    let request = |server: &Server| small().request(Request::get(server.url("/")), LONG);
    assert_eq!(request(&Server::says(padded(1000))).unwrap().status, 200);
    let error = request(&Server::says(padded(1001))).unwrap_err();
    assert_eq!(error, FetchError::TooLarge { what: Part::ResponseHeaders, limit: 1000 });
    // One line without end, and lines without end.
    for piece in ["xxxxxxxx", "x: y\r\n"] {
        let server = Server::new(move |_, stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx: ")?;
            loop {
                stream.write_all(piece.as_bytes())?;
            }
        });
        let error = get(&server, LONG).unwrap_err();
        assert!(matches!(error, FetchError::TooLarge { .. } | FetchError::Exchange { .. }));
    }
    // Interim responses without end.
    let server = Server::new(|_, stream| {
        loop {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
    });
    let error = small().request(Request::get(server.url("/")), LONG).unwrap_err();
    let is_known = matches!(error, FetchError::TooLarge { .. } | FetchError::Exchange { .. });
    assert!(is_known, "{error}");
    // Trailers without end.
    let server = Server::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n")?;
        loop {
            stream.write_all(b"x: y\r\n")?;
        }
    });
    let error = small().request(Request::get(server.url("/")), LONG).unwrap_err();
    assert!(matches!(error, FetchError::Exchange { .. }), "{error}");
}

#[test]
fn a_request_has_bounds() {
    let server = Server::says(ok(""));
    let send = |request: Request| small().request(request, LONG);
    let post = |length: usize| Request::post(server.url("/"), vec![b'x'; length]);
    assert!(send(post(100)).is_ok());
    let error = send(post(101)).unwrap_err();
    assert_eq!(error, FetchError::TooLarge { what: Part::RequestBody, limit: 100 });
    let with = |count: usize, size: usize| {
        let mut request = Request::get(server.url("/"));
        for n in 0..count {
            request = request.header(format!("x{n:03}"), "x".repeat(size - 4));
        }
        request
    };
    assert!(send(with(64, 10)).is_ok());
    assert!(send(with(65, 10)).unwrap_err().to_string().contains("more than 64 headers"));
    assert!(send(with(1, 16 * 1024)).is_ok());
    let error = send(with(1, 16 * 1024 + 1)).unwrap_err();
    assert_eq!(error, FetchError::TooLarge { what: Part::RequestHeaders, limit: 16 * 1024 });
    let long = format!("/{}", "x".repeat(8000));
    assert!(send(Request::get(server.url(&long))).is_ok());
    assert_eq!(server.got().len(), 4);
}

#[test]
fn headers_cannot_make_two_requests_of_one() {
    let server = Server::says(ok(""));
    let cases = [
        ("Host", "evil.example", "cannot be set"),
        ("content-length", "0", "cannot be set"),
        ("Transfer-Encoding", "chunked", "cannot be set"),
        ("connection", "keep-alive", "cannot be set"),
        ("upgrade", "h2c", "cannot be set"),
        ("expect", "100-continue", "cannot be set"),
        ("proxy-authorization", "x", "cannot be set"),
        ("x", "a\r\nhost: b", "characters"),
        ("x", "a\nb", "characters"),
        ("x", "a\0b", "characters"),
        ("x\r\ny", "a", "no name of a header"),
        ("x y", "a", "no name of a header"),
        ("", "a", "no name of a header"),
        ("ü", "a", "no name of a header"),
    ];
    let client = client(&["127.0.0.1"]);
    for (name, value, expected) in cases {
        let request = Request::get(server.url("/")).header(name, value);
        let error = client.request(request, LONG).unwrap_err().to_string();
        assert!(error.contains(expected), "{name:?}: {error}");
    }
    let request = Request::get(server.url("/")).body("x");
    let error = client.request(request, LONG).unwrap_err().to_string();
    assert!(error.contains("a `GET` has no body"), "{error}");
    assert!(server.got().is_empty());
    assert!("TRACE".parse::<Method>().is_err());
    assert_eq!("post".parse::<Method>(), Ok(Method::Post));
}

#[test]
fn what_is_sent_is_what_was_asked_for() {
    let server = Server::says(ok("done"));
    let client = client(&["127.0.0.1"]);
    let methods =
        [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete];
    for (index, method) in methods.into_iter().enumerate() {
        let mut request = Request::new(method, server.url("/a%20b?c=d&e=ü#f")).header("X-Own", "1");
        let has_body = matches!(method, Method::Post | Method::Put | Method::Patch);
        if has_body {
            request = request.body("{}");
        }
        let response = client.request(request, LONG).unwrap();
        assert_eq!(response.text(), if method == Method::Head { "" } else { "done" });
        assert_eq!(response.header("Content-Length"), Some("4"));
        let got = &server.got()[index];
        assert_eq!(got.line, format!("{method} /a%20b?c=d&e=%C3%BC HTTP/1.1"));
        assert_eq!(got.header("host"), Some(server.address.to_string().as_str()));
        assert_eq!(got.header("x-own"), Some("1"));
        assert_eq!(got.header("accept-encoding"), Some("identity"));
        assert_eq!(got.body, if has_body { "{}" } else { "" });
        assert_eq!(got.header("content-length"), has_body.then_some("2"));
    }
}

/// Asks in vain, and says how far that got. On a busy machine a short time may be over before
/// anything has happened, so there are longer ones.
fn ends_while(client: &Client, request: &Request, expected: Stage) {
    for time in [SHORT, SHORT * 5, SHORT * 25] {
        let begin = Instant::now();
        let outcome = client.request(request.clone(), time);
        let took = begin.elapsed();
        assert!(took >= time && took < time + Duration::from_secs(10), "{took:?}");
        match outcome {
            Err(FetchError::Deadline { time: said, stage }) => {
                assert_eq!(said, time);
                if stage == expected {
                    return;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it never ended while {expected}");
}

#[test]
fn slow_servers_cost_the_deadline_and_no_more() {
    let silent = || {
        Server::new(|_, stream| {
            // Until the client hangs up.
            let _ = stream.read(&mut [0]);
            Ok(())
        })
    };
    let drips = |head: &'static str, piece: &'static str| {
        Server::new(move |_, stream| {
            stream.write_all(head.as_bytes())?;
            loop {
                stream.write_all(piece.as_bytes())?;
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    };
    let stated = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let ended = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n";
    let cases = [
        (silent(), Stage::Asking),
        (drips("HTTP/1.1 200 OK\r\nx: ", "x"), Stage::Asking),
        (drips("", "HTTP/1.1 100 Continue\r\n\r\n"), Stage::Asking),
        (drips("HTTP/1.1 200 OK\r\n\r\n", "x"), Stage::Reading),
        (drips(stated, "x"), Stage::Reading),
        (drips(chunked, "1\r\nx\r\n"), Stage::Reading),
        (drips(ended, "x: y\r\n"), Stage::Reading),
    ];
    let client = client(&["127.0.0.1"]);
    std::thread::scope(|scope| {
        for (server, expected) in &cases {
            let request = Request::get(server.url("/"));
            let client = &client;
            scope.spawn(move || ends_while(client, &request, *expected));
        }
    });
}

#[test]
fn a_server_that_does_not_read_costs_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let limits = Limits { request_body: 1 << 25, ..Limits::default() };
    let client = Client::new(limits, list(&["127.0.0.1"]));
    ends_while(&client, &Request::post(url, vec![b'x'; 1 << 25]), Stage::Asking);
}

#[test]
fn a_server_that_never_begins_tls_costs_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    ends_while(&client(&["127.0.0.1"]), &Request::get(url), Stage::Connecting);
}

#[test]
fn redirects_share_one_deadline() {
    let server = Server::new(|_, stream| {
        std::thread::sleep(SHORT / 3);
        stream.write_all(support::redirect(302, "/").as_bytes())
    });
    let limits = Limits { redirects: 1000, ..Limits::default() };
    let client = Client::new(limits, list(&["127.0.0.1"]));
    let error = client.request(Request::get(server.url("/")), SHORT).unwrap_err();
    assert!(matches!(error, FetchError::Deadline { .. }), "{error}");
    assert!(server.got().len() <= 4);
}

#[test]
fn a_time_of_nothing_and_of_for_ever_are_times() {
    let server = Server::says(ok("x"));
    let error = get(&server, Duration::ZERO).unwrap_err();
    assert!(matches!(error, FetchError::Deadline { .. }), "{error}");
    assert_eq!(get(&server, Duration::MAX).unwrap().text(), "x");
    let limits = Limits { time: Duration::MAX, ..Limits::default() };
    let client = Client::new(limits, list(&["127.0.0.1"]));
    let response = client.request(Request::get(server.url("/")), Duration::MAX);
    assert_eq!(response.unwrap().text(), "x");
}

#[test]
fn bounds_can_be_anything() {
    let server = Server::says(ok("x"));
    let get = |limits: Limits| {
        let client = Client::new(limits, list(&["127.0.0.1"]));
        client.request(Request::get(server.url("/")), LONG)
    };
    let (all, none) = (usize::MAX, 0);
    let limits = |size| Limits {
        body: size,
        request_body: size,
        headers: size,
        request_headers: size,
        url: size,
        waiting: size,
        ..Limits::default()
    };
    assert_eq!(get(limits(all)).unwrap().text(), "x");
    assert!(get(limits(none)).is_err());
    let limits = Limits { running: none, waiting: none, ..Limits::default() };
    assert_eq!(get(limits).unwrap().text(), "x");
}

#[test]
fn a_resolver_that_hangs_costs_the_deadline_and_does_not_pile_up() {
    let server = Server::says(ok("x"));
    let network =
        TestNetwork::default().name("a.example", &[&["8.8.8.8"]]).route("8.8.8.8", &server);
    let limits = Limits { running: 2, waiting: 1, ..Limits::default() };
    let (hangs, has_entered, hold) = Hangs::new(network.clone());
    let client = Client::new(limits, list(&["*"])).with_network(hangs);
    let request = Request::get("http://a.example/");

    ends_while(&client, &request, Stage::Resolving);
    has_entered.recv_timeout(LONG).unwrap();
    let second = client.send(request.clone(), LONG);
    has_entered.recv_timeout(LONG).unwrap();
    drop(second);
    // Both threads hang, though nobody waits for either. One more waits in vain, and one more
    // than that is not even taken.
    let waits = client.send(request.clone(), LONG);
    let error = client.request(request.clone(), LONG).unwrap_err();
    assert_eq!(error, FetchError::Busy { running: 2, waiting: 1 });
    // One that nobody wants any more takes no place.
    drop(waits);
    ends_while(&client, &request, Stage::Waiting);
    // What was abandoned connects to nobody when it comes back to life.
    drop(hold);
    assert_eq!(client.request(request, LONG).unwrap().text(), "x");
    assert_eq!(network.connected().len(), 1);
}

#[test]
fn a_network_that_panics_is_an_error() {
    struct Panics;
    impl tollgate_fetch::Network for Panics {
        fn resolve(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
            panic!("on purpose")
        }
        fn connect(&self, _: std::net::SocketAddr, _: Duration) -> std::io::Result<TcpStream> {
            panic!("on purpose")
        }
    }
    let limits = Limits { running: 1, ..Limits::default() };
    let client = Client::new(limits, list(&["*"])).with_network(Panics);
    for url in ["http://a.example/", "http://8.8.8.8/", "http://a.example/"] {
        let error = client.request(Request::get(url), LONG).unwrap_err();
        assert!(matches!(error, FetchError::Internal { .. }), "{error}");
    }
}

#[test]
fn no_more_run_at_once_than_may() {
    let (now, most) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let (count, peak) = (now.clone(), most.clone());
    let server = Server::new(move |_, stream| {
        {
            let mut now = count.lock().unwrap();
            *now += 1;
            let mut most = peak.lock().unwrap();
            *most = (*most).max(*now);
        }
        std::thread::sleep(Duration::from_millis(20));
        *count.lock().unwrap() -= 1;
        stream.write_all(ok("x").as_bytes())
    });
    let limits = Limits { running: 3, ..Limits::default() };
    let client = Client::new(limits, list(&["127.0.0.1"]));
    std::thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| client.request(Request::get(server.url("/")), LONG).unwrap());
        }
    });
    assert_eq!(server.got().len(), 30);
    assert!(*most.lock().unwrap() <= 3);
}
