//! A server on loopback that speaks the providers' formats, for tests.
//!
//! It plays a [script](crate::script), streams as the real ones do, refuses what they refuse, and
//! fails on demand. It has threads of its own and needs no runtime; when it is dropped, its
//! connections are closed and its threads have ended.
//!
//! ```
//! use tollgate_model::provider::{self, Options, Provider};
//! use tollgate_model::script::{Line, Script};
//! use tollgate_model::server::{Fault, Server};
//! use tollgate_model::Request;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let server = Server::start(Provider::Anthropic, Script::new(vec![Line::say("Hello.")]))?;
//! server.fail(Fault::Status { status: 529, retry_after: Some(0) });
//!
//! let options = Options::default();
//! let model = provider::open_in("anthropic/claude-x", &options, &server.environment())?;
//! let reply = model.respond(&Request::user("Hi"), &|_| {}).await?;
//! assert_eq!(reply.text, "Hello.");
//! assert_eq!(server.requests()[1]["messages"][0]["content"][0]["text"], "Hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```

mod anthropic;
mod exchange;
mod frame;
mod gemini;
mod ollama;
mod openai;

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::provider::Provider;
use crate::script::{Play, Script};
use exchange::Exchange;

/// The key that the server takes. It answers 401 to others, as the real ones do.
pub const KEY: &str = "sk-test-5f2a9c71e04b";

/// What goes wrong with one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An HTTP status instead of an answer, in the provider's form.
    Status {
        /// The status.
        status: u16,
        /// The seconds that `Retry-After` says.
        retry_after: Option<u64>,
    },
    /// A redirect, to itself.
    Redirect,
    /// A page, as of a proxy.
    Page,
    /// The connection ends in the middle of the text.
    CutText,
    /// The connection ends in the middle of the arguments of a call.
    CutArguments,
    /// The answer ends as HTTP has it, but before the provider would.
    EndEarly,
    /// An error of the provider in the middle of the stream.
    Error,
    /// The arguments of the first call are not JSON.
    MalformedArguments,
    /// The answer comes a byte at a time.
    Dribble,
    /// There is no answer.
    Silence,
    /// The answer begins, and then nothing more comes.
    Stall,
    /// The answer does not end.
    Endless,
    /// The text is not UTF-8.
    InvalidUtf8,
    /// A line does not end.
    HugeLine,
}

/// What the server was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The path and query.
    pub target: String,
    /// The headers, names in lower case. A key is not shown.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
    /// What the server answered with.
    pub status: u16,
}

/// A server that is running.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    provider: Provider,
    play: Play,
    is_over: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    faults: VecDeque<Fault>,
    seen: Vec<Seen>,
    hang_ups: usize,
    connections: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long, or until it is over.
    fn pause(&self, time: Duration) {
        let is_on = |_: &mut State| !self.is_over.load(Ordering::SeqCst);
        let _ = self.changed.wait_timeout_while(self.state(), time, is_on);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }
}

impl Server {
    /// Starts one on a free port of loopback.
    pub fn start(provider: Provider, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            provider,
            play: Play::new(script),
            is_over: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name("fake provider".to_owned())
            .spawn(move || accept(&listener, &own))?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// What to set as the base URL.
    pub fn base_url(&self) -> String {
        let version = if self.shared.provider == Provider::OpenAi { "/v1" } else { "" };
        format!("http://{}{version}", self.address)
    }

    /// An environment in which the provider is this server, for
    /// [`open_in`](crate::provider::open_in): its base URL and its key.
    pub fn environment(&self) -> impl Fn(&str) -> Option<String> + Clone + Send + Sync + 'static {
        let (provider, base_url) = (self.shared.provider, self.base_url());
        move |variable| {
            if provider.key_variable() == Some(variable) {
                Some(KEY.to_owned())
            } else {
                provider.base_url_variables().contains(&variable).then(|| base_url.clone())
            }
        }
    }

    /// The next answer fails so. Said more than once, it is for the answers after that.
    pub fn fail(&self, fault: Fault) {
        self.shared.change(|state| state.faults.push_back(fault));
    }

    /// The bodies that were sent.
    pub fn requests(&self) -> Vec<Value> {
        self.seen().into_iter().map(|seen| seen.body).collect()
    }

    /// All that was sent.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.state().seen.clone()
    }

    /// Waits until so many requests have come, and says whether they have.
    pub fn wait_for_requests(&self, count: usize, at_most: Duration) -> bool {
        self.wait_for(at_most, |state| state.seen.len() >= count)
    }

    /// Waits until so many clients have closed the connection before their answer was complete,
    /// and says whether they have.
    pub fn wait_for_hang_ups(&self, count: usize, at_most: Duration) -> bool {
        self.wait_for(at_most, |state| state.hang_ups >= count)
    }

    fn wait_for(&self, at_most: Duration, is_so: impl Fn(&State) -> bool) -> bool {
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, at_most, |state| !is_so(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        is_so(&state)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.change(|_| self.shared.is_over.store(true, Ordering::SeqCst));
        // Whoever waits for a connection gets one.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let (connections, threads) = {
            let mut state = self.shared.state();
            (std::mem::take(&mut state.connections), std::mem::take(&mut state.threads))
        };
        for connection in connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.is_over.load(Ordering::SeqCst) {
            break;
        }
        let own = Arc::clone(shared);
        let Ok(copy) = stream.try_clone() else { continue };
        let serving = move || {
            if let Ok(exchange) = Exchange::begin(&own, &stream) {
                exchange.answer();
            }
            let _ = stream.shutdown(Shutdown::Both);
        };
        let thread =
            thread::Builder::new().name("fake provider's answer".to_owned()).spawn(serving);
        let mut state = shared.state();
        state.threads.retain(|thread| !thread.is_finished());
        state.connections.retain(|connection| connection.peer_addr().is_ok());
        if let Ok(thread) = thread {
            state.threads.push(thread);
            state.connections.push(copy);
        }
    }
}

/// A whole stream, for tests of who reads it.
#[cfg(test)]
pub(crate) fn stream(
    provider: Provider,
    model: &str,
    thought: &str,
    reply: &crate::model::Reply,
) -> Vec<u8> {
    exchange::frames(provider, model, thought, reply)
        .into_iter()
        .flat_map(|frame| frame.bytes)
        .collect()
}
