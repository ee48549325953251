//! Requests as futures, without a runtime.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::Read as _;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use support::{Hangs, LONG, Server, TestNetwork, client, ok};
use tollgate_fetch::{FetchError, Request};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest runtime there is.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < LONG, "nobody has woken it");
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park_timeout(LONG),
        }
    }
}

#[test]
fn a_future_gets_its_response() {
    let server = Server::says(ok("x"));
    let client = client(&["127.0.0.1"]);
    let sending: Vec<_> =
        (0..40).map(|_| client.send(Request::get(server.url("/")), LONG)).collect();
    // Those under way do not need the client any more.
    drop(client);
    for future in sending {
        assert_eq!(block_on(future).unwrap().text(), "x");
    }
}

#[test]
fn a_future_is_woken_at_its_deadline() {
    let server = Server::new(|_, stream| {
        // Until the client hangs up.
        let _ = stream.read(&mut [0]);
        Ok(())
    });
    let time = Duration::from_millis(300);
    let begin = Instant::now();
    let error =
        block_on(client(&["127.0.0.1"]).send(Request::get(server.url("/")), time)).unwrap_err();
    assert!(matches!(error, FetchError::Deadline { .. }), "{error}");
    assert!(begin.elapsed() >= time && begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_future_is_woken_at_its_deadline_whatever_its_thread_hangs_in() {
    let (hangs, _, hold) = Hangs::new(TestNetwork::default());
    let client = client(&["*"]).with_network(hangs);
    let time = Duration::from_millis(300);
    let sending = client.send(Request::get("http://a.example/"), time);
    let error = block_on(sending).unwrap_err();
    assert!(matches!(error, FetchError::Deadline { .. }), "{error}");
    drop(hold);
}

#[test]
fn a_refusal_needs_no_thread() {
    let future = client(&["*"]).send(Request::get("http://127.0.0.1/"), LONG);
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(future);
    assert!(matches!(
        future.as_mut().poll(&mut context),
        Poll::Ready(Err(FetchError::NotPublic { .. }))
    ));
    // Nor does it panic when it is asked once more.
    assert!(matches!(future.as_mut().poll(&mut context), Poll::Ready(Err(_))));
}

#[test]
fn dropping_a_future_hangs_up() {
    let (tell, told) = mpsc::channel();
    let server = Server::new(move |_, stream| {
        tell.send("asked").unwrap();
        // Ends when the client is gone, and only then.
        let _ = stream.read(&mut [0]);
        tell.send("gone").unwrap();
        Ok(())
    });
    let client = client(&["127.0.0.1"]);
    let future = client.send(Request::get(server.url("/")), LONG);
    assert_eq!(told.recv_timeout(LONG), Ok("asked"));
    drop(future);
    let begin = Instant::now();
    assert_eq!(told.recv_timeout(LONG), Ok("gone"));
    assert!(begin.elapsed() < LONG / 2);
}

#[test]
fn a_future_can_go_anywhere() {
    fn is_free<T: Send + Unpin + 'static>(_: &T) {}
    let client = client(&[]);
    is_free(&client);
    is_free(&client.send(Request::get("http://a/"), LONG));
}
