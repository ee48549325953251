//! What goes wrong on the way: each fault at each provider.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use serde_json::json;
use support::{LONG, ask, at_once, model, model_with, once, read_request, request, server};
use tollgate_model::provider::{Limits, Options, Provider};
use tollgate_model::script::Line;
use tollgate_model::server::{Fault, Server};
use tollgate_model::{Args, Finish, ModelError, Part, Reply, Stage, Timeouts};

fn lines() -> Vec<Line> {
    vec![Line::say("One two three four.").and_call("read", json!({"path": "a.txt"}))]
}

/// Asks once a server that fails so.
async fn failing(provider: Provider, fault: Fault, options: Options) -> (ModelError, Server) {
    let server = server(provider, lines());
    server.fail(fault);
    let model = model_with(provider, &server, &options);
    let error = ask(&*model, &request("Go")).await.0.unwrap_err();
    (error, server)
}

#[tokio::test]
async fn a_status_is_an_error_and_some_of_them_pass() {
    for provider in Provider::ALL {
        for (status, passes) in [
            (400, false),
            (401, false),
            (403, false),
            (404, false),
            (408, true),
            (409, true),
            (413, false),
            (429, true),
            (500, true),
            (503, true),
            (529, true),
        ] {
            let fault = Fault::Status { status, retry_after: Some(3) };
            let (error, _) = failing(provider, fault, once()).await;
            assert_eq!(error.is_transient(), passes, "{provider}: {error}");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
            let ModelError::Provider { failure, .. } = &error else { panic!("{error:?}") };
            assert_eq!(failure.status, Some(status));
            assert_eq!(failure.message, "failed on demand", "{provider}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_is_an_error_and_not_a_short_answer() {
    for provider in Provider::ALL {
        for fault in [Fault::CutText, Fault::CutArguments, Fault::EndEarly] {
            let (error, _) = failing(provider, fault, once()).await;
            assert!(matches!(error, ModelError::Cut { .. }), "{provider} {fault:?}: {error}");
            assert!(error.is_transient());
        }
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer_is_one() {
    for provider in Provider::ALL {
        let (error, _) = failing(provider, Fault::Error, once()).await;
        let ModelError::Provider { failure, .. } = &error else { panic!("{provider}: {error:?}") };
        assert_eq!(failure.message, "failed on demand");
        assert!(error.is_transient(), "{provider}: {error}");
    }
}

#[tokio::test]
async fn what_passes_is_tried_again_and_who_listens_is_told() {
    for provider in Provider::ALL {
        let server =
            server(provider, vec![lines()[0].clone(), lines()[0].clone(), lines()[0].clone()]);
        server.fail(Fault::Status { status: 429, retry_after: Some(0) });
        server.fail(Fault::CutArguments);
        server.fail(Fault::Error);
        let model = model_with(provider, &server, &at_once());
        let (reply, heard) = ask(&*model, &request("Go")).await;
        let Reply { text, calls, finish, .. } = reply.unwrap();
        assert_eq!((text.as_str(), calls.len()), ("One two three four.", 1), "{provider}");
        assert_eq!(finish, Finish::Calls);
        // What was heard of the attempts before is void.
        assert_eq!(heard[0], "again 4", "{provider}");
        assert_eq!(heard[1..].concat(), "text One text two text three text four.call read");
        let requests = server.requests();
        assert_eq!(requests.len(), 4);
        assert!(requests.windows(2).all(|two| two[0] == two[1]), "each attempt is the same");
    }
}

#[tokio::test]
async fn malformed_arguments_arrive_as_they_were_written() {
    for provider in Provider::ALL {
        let server = server(provider, lines());
        server.fail(Fault::MalformedArguments);
        let reply = ask(&*model(provider, &server), &request("Go")).await.0;
        if provider == Provider::Gemini {
            // It does not pass them on; what it says of them is not lost.
            let error = reply.unwrap_err();
            assert!(error.is_transient());
            assert!(error.to_string().contains("read({\"path\": \"a.t)"), "{error}");
            continue;
        }
        let calls = reply.unwrap().calls;
        assert_eq!(calls[0].name, "read");
        let Args::Malformed { text, error } = &calls[0].args else { panic!("{calls:?}") };
        assert_eq!(text, "{\"path\": \"a.t");
        assert!(!error.is_empty());
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_at_the_limit_of_tokens_is_malformed() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let line = Line { finish: Some(Finish::Length), ..Line::call("read", json!("{\"path\":")) };
        let server = server(provider, vec![line]);
        let reply = ask(&*model(provider, &server), &request("Go")).await.0.unwrap();
        assert_eq!(reply.finish, Finish::Length);
        assert!(
            matches!(&reply.calls[0].args, Args::Malformed { text, .. } if text == "{\"path\":")
        );
    }
}

#[tokio::test]
async fn bytes_may_come_one_at_a_time() {
    for provider in Provider::ALL {
        let line = Line::say("Grüße 🦀!").and_call("read", json!({"path": "ü"}));
        let server = server(provider, vec![line]);
        server.fail(Fault::Dribble);
        let reply = ask(&*model(provider, &server), &request("Go")).await.0.unwrap();
        assert_eq!(reply.text, "Grüße 🦀!", "{provider}");
        assert_eq!(reply.calls[0].args, Args::from(json!({"path": "ü"})));
    }
}

#[tokio::test]
async fn each_stage_has_its_deadline() {
    let short = Duration::from_millis(60);
    for provider in Provider::ALL {
        for (fault, timeouts, stage) in [
            (
                Fault::Silence,
                Timeouts { first_byte: short, ..Timeouts::default() },
                Stage::FirstByte,
            ),
            (Fault::Stall, Timeouts { idle: short, ..Timeouts::default() }, Stage::Idle),
            (Fault::Stall, Timeouts { whole: short, ..Timeouts::default() }, Stage::Whole),
            (Fault::Silence, Timeouts { whole: short, ..Timeouts::default() }, Stage::Whole),
        ] {
            let (error, server) = failing(provider, fault, Options { timeouts, ..once() }).await;
            let ModelError::Deadline { stage: own, time, .. } = error else { panic!("{error:?}") };
            assert_eq!((own, time), (stage, short), "{provider}");
            assert!(server.wait_for_hang_ups(1, LONG), "{provider}: the connection is closed");
        }
    }
}

#[tokio::test]
async fn an_idle_stream_is_tried_again() {
    for provider in Provider::ALL {
        let server = server(provider, vec![Line { once: Some(false), ..lines()[0].clone() }]);
        server.fail(Fault::Stall);
        let timeouts = Timeouts { idle: Duration::from_millis(200), ..Timeouts::default() };
        let model = model_with(provider, &server, &Options { timeouts, ..at_once() });
        ask(&*model, &request("Go")).await.0.unwrap();
        // A slow machine may need more.
        assert!(server.requests().len() >= 2, "{provider}");
    }
}

#[tokio::test]
async fn answers_have_bounds_and_end_at_them() {
    for provider in Provider::ALL {
        let limits = Limits { answer: 300_000, line: 100_000, ..Limits::default() };
        for (fault, what, limit) in [
            (Fault::Endless, "the answer in bytes", 300_000),
            (Fault::HugeLine, "a line of the answer in bytes", 100_000),
        ] {
            let (error, server) = failing(provider, fault, Options { limits, ..at_once() }).await;
            let ModelError::TooLarge { what: own, limit: bound, .. } = error else {
                panic!("{error:?}")
            };
            assert_eq!((own, bound), (what, limit), "{provider}");
            assert!(server.wait_for_hang_ups(1, LONG), "{provider}");
            assert_eq!(server.requests().len(), 1, "{provider}: it is not tried again");
        }
    }
}

#[tokio::test]
async fn requests_and_calls_have_bounds() {
    for provider in Provider::ALL {
        let three =
            Line::call("read", json!({})).and_call("read", json!({})).and_call("list", json!({}));
        let server = server(provider, vec![three.clone(), three]);
        let asked = |limits| {
            let model = model_with(provider, &server, &Options { limits, ..once() });
            async move { ask(&*model, &request("Go")).await.0 }
        };
        assert!(asked(Limits { calls: 3, ..Limits::default() }).await.is_ok());
        let error = asked(Limits { calls: 2, ..Limits::default() }).await.unwrap_err().to_string();
        assert!(error.contains("the number of calls exceeds the limit of 2"), "{error}");
        let error =
            asked(Limits { request: 100, ..Limits::default() }).await.unwrap_err().to_string();
        assert!(error.contains("the request in bytes exceeds the limit of 100"), "{error}");
        assert_eq!(server.requests().len(), 2, "the last was not sent");
    }
}

#[tokio::test]
async fn what_is_not_utf8_is_not_read() {
    for provider in Provider::ALL {
        let (error, server) = failing(provider, Fault::InvalidUtf8, at_once()).await;
        assert!(matches!(error, ModelError::Unreadable { .. }), "{provider}: {error}");
        assert!(error.to_string().contains("not UTF-8"), "{error}");
        assert!(server.wait_for_hang_ups(1, LONG));
    }
}

#[tokio::test]
async fn a_page_or_a_redirect_is_no_answer() {
    for provider in Provider::ALL {
        let (error, server) = failing(provider, Fault::Page, at_once()).await;
        assert!(
            error.to_string().contains("text/html and no stream; check the base URL"),
            "{error}"
        );
        assert_eq!(server.requests().len(), 1);
        let (error, server) = failing(provider, Fault::Redirect, at_once()).await;
        assert!(error.to_string().contains("which is not followed"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn nobody_there_is_an_error_that_may_pass() {
    for provider in Provider::ALL {
        // A client's own port: it is taken, and nobody listens there.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let base_url = Some(format!("http://{}", client.local_addr().unwrap()));
        let options = Options { base_url, ..once() };
        let name = support::name(provider);
        let model = tollgate_model::provider::open_in(name, &options, &|_| None).unwrap();
        let error = ask(&*model, &request("Go")).await.0.unwrap_err();
        assert!(matches!(error, ModelError::Connect { .. }), "{error}");
        assert!(error.is_transient());
        assert!(error.to_string().contains("127.0.0.1:"), "{error}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection_at_once() {
    for provider in Provider::ALL {
        for fault in [Fault::Silence, Fault::Stall, Fault::Endless] {
            let server = server(provider, lines());
            server.fail(fault);
            // An endless answer is not to end before it is dropped.
            let limits = Limits { answer: usize::MAX, ..Limits::default() };
            let model = model_with(provider, &server, &Options { limits, ..once() });
            let request = request("Go");
            let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
            let call = tokio::spawn(async move {
                let heard = |_: Part<'_>| sender.send(()).unwrap_or_default();
                let _ = model.respond(&request, &heard).await;
            });
            let server = if fault == Fault::Endless {
                receiver.recv().await.unwrap();
                server
            } else {
                let waiting = tokio::task::spawn_blocking(move || {
                    assert!(server.wait_for_requests(1, LONG));
                    server
                });
                waiting.await.unwrap()
            };
            call.abort();
            assert!(call.await.unwrap_err().is_cancelled());
            assert!(server.wait_for_hang_ups(1, LONG), "{provider} {fault:?}");
        }
    }
}

#[test]
fn a_server_that_is_dropped_waits_for_nobody() {
    use std::io::Write as _;
    let begin = std::time::Instant::now();
    let slow = Line { delay_ms: 600_000, ..Line::say("x") };
    let server = server(Provider::Ollama, vec![slow.clone(), slow]);
    server.fail(Fault::Silence);
    let address = server.base_url().trim_start_matches("http://").to_owned();
    let connect = || std::net::TcpStream::connect(&address).unwrap();
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}"#;
    let post = format!("POST /api/chat HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // One that is not answered, one that is answered late, one that does not ask.
    let mut silent = connect();
    silent.write_all(post.as_bytes()).unwrap();
    assert!(server.wait_for_requests(1, LONG));
    let mut late = connect();
    late.write_all(post.as_bytes()).unwrap();
    let _mute = connect();
    drop(server);
    assert!(begin.elapsed() < LONG);
}

/// What comes of a server that answers with this and hangs up.
async fn from_one_that_writes(bytes: Vec<u8>) -> ModelError {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = Some(format!("http://{}", listener.local_addr().unwrap()));
    let writing = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(read_request(&mut stream));
        // The client may hang up first.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let options = Options { base_url, ..once() };
    let model = tollgate_model::provider::open_in("ollama/x", &options, &|_| None).unwrap();
    let error = ask(&*model, &request("Go")).await.0.unwrap_err();
    writing.join().unwrap();
    error
}

#[tokio::test]
async fn what_is_no_http_is_said_so_and_heads_have_a_bound() {
    let error = from_one_that_writes(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()).await;
    assert!(error.to_string().contains("it is no HTTP"), "{error}");
    assert!(!error.is_transient());

    let with_head = |length: usize| {
        let head = format!("HTTP/1.1 404 No\r\nx: {}\r\n\r\n", "x".repeat(length));
        from_one_that_writes(head.into_bytes())
    };
    let error = with_head(60 * 1024).await;
    assert!(error.to_string().contains("answered 404"), "{error}");
    let error = with_head(128 * 1024).await;
    assert!(error.to_string().contains("it is no HTTP: message head is too large"), "{error}");

    let error = from_one_that_writes(Vec::new()).await;
    assert!(error.to_string().contains("the connection ended before there was one"), "{error}");
    assert!(error.is_transient());
}
