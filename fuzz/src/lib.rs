//! What the fuzz targets share: an executor for futures that are always ready, a runtime that
//! never waits, and what a target means, in plain string comparisons.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::event::ToolCall;
use tollgate_core::hook::BoxFuture;
use tollgate_core::prelude::*;
use tollgate_core::runtime::Runtime;
use tollgate_core::target::Target;
use tollgate_core::tools;

/// Polls once: no hook and no condition of the fuzz targets ever waits for anything.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits, yet the engine does"),
    }
}

/// A runtime for dispatches in which nothing waits and nothing runs in the background.
struct NeverWaits;

impl Runtime for NeverWaits {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        panic!("a timer for something that was ready at once")
    }

    fn spawn(&self, _: BoxFuture<'static, ()>) -> Result<(), String> {
        panic!("a background task, and nobody inspects")
    }
}

/// A runner to add hooks to. Its limits are far away, so that a slow machine finds no bugs.
pub fn runner() -> tollgate_core::runner::RunnerBuilder {
    let day = Duration::from_secs(24 * 60 * 60);
    Runner::builder().runtime(Arc::new(NeverWaits)).limits(|limits| {
        limits.hook = day;
        limits.dispatch = day;
        limits.person = day;
    })
}

/// Dispatches a call.
pub fn dispatch(runner: &Runner, call: &ToolCall) -> Outcome<ToolPre> {
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    block_on(runner.dispatch(&operation, ToolPre::from(call.clone())))
}

/// Every server and tool that a call could mean, itself first. An empty server is none.
pub fn meanings(call: &ToolCall) -> Vec<(Option<&str>, &str)> {
    let own = (call.server.as_deref(), call.name.as_str());
    let others = call.readings.iter().map(|read| (Some(read.server.as_str()), read.tool.as_str()));
    std::iter::once(own)
        .chain(others)
        .map(|(server, name)| (server.filter(|server| !server.is_empty()), name))
        .collect()
}

/// Which names a tool goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// All that the tool table has for it.
    OfTheTable,
    /// The one that is written.
    AsWritten,
}

/// Whether a target means a tool: the slow way, from the documentation of [`Target`].
pub fn means(target: &Target, names: Names, server: Option<&str>, name: &str) -> bool {
    match target {
        Target::Any => true,
        Target::Server(whole) => server.is_some_and(|server| same_server(server, whole)),
        Target::Tool(tool) => {
            server.is_none()
                && (tool == name || names == Names::OfTheTable && tools::same(tool, name))
        }
        Target::Mcp { server: of, tool } => {
            server.is_some_and(|server| same_server(server, of)) && spelled(tool) == spelled(name)
        }
        Target::Written(text) => match (server, text.strip_suffix("/*")) {
            (None, _) => text == name,
            (Some(server), Some(whole)) => same_server(server, whole),
            (Some(server), None) => text.match_indices('/').any(|(at, _)| {
                same_server(server, &text[..at]) && spelled(&text[at + 1..]) == spelled(name)
            }),
        },
    }
}

/// A name as the strictest host spells it: `_` for every character but letters and digits.
fn spelled(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// True if every name of a call is the same in all hosts' spellings. Other names have cases of their
/// own, in `cases/names`; what hosts make of them is more than plain comparisons tell.
pub fn is_plain(call: &ToolCall) -> bool {
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric());
    let has_server = |server: Option<&str>| server.is_none_or(plain);
    meanings(call).iter().all(|(server, name)| {
        has_server(*server) && (plain(name) || server.is_none() && tools::lookup(name).is_some())
    })
}

/// Hosts spell servers each in their own way, some in lower case.
fn same_server(one: &str, other: &str) -> bool {
    spelled(one).eq_ignore_ascii_case(&spelled(other))
}

/// Whether a target is refused, since no tool is called so.
pub fn means_nothing(target: &Target) -> bool {
    let is_no_name = |name: &str| name.is_empty() || name.contains('*');
    match target {
        Target::Any => false,
        Target::Tool(name) | Target::Server(name) => is_no_name(name),
        Target::Mcp { server, tool } => is_no_name(server) || is_no_name(tool),
        Target::Written(text) => {
            let name = text.strip_suffix("/*").unwrap_or(text);
            is_no_name(name) || name.starts_with('/') || name.ends_with('/')
        }
    }
}
