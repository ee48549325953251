//! The server, as its callers see it: there when it is needed.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};

use crate::config::{ServerConfig, Tools};
use crate::connection::{Connection, short};
use crate::error::McpError;
use crate::listing::{self, ToolInfo};
use crate::reply;

/// How long a server that gave no answer has to show that it is alive.
const PING: Duration = Duration::from_secs(2);

/// How long a server is left alone at the most, unless its configuration says longer.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// An MCP server.
///
/// Calls can be made at the same time. A call is cancelled by dropping its future, and the server
/// is told. Dropping the server ends its process and all it started; [`close`](Self::close)
/// does it gently.
pub struct Server {
    config: Arc<ServerConfig>,
    state: Mutex<State>,
    /// How many times it failed without a success in between.
    failures: AtomicU32,
    offer: Offer,
}

#[derive(Debug)]
enum State {
    Up(Arc<Connection>),
    Down { until: Instant, why: String },
    Closed,
}

impl Server {
    /// Starts a server and lists its tools.
    pub async fn connect(config: ServerConfig) -> Result<Self, McpError> {
        config.check()?;
        let config = Arc::new(config);
        let offer = Offer::default();
        let connection = Connection::open(&config, &offer).await?;
        let state = Mutex::new(State::Up(Arc::new(connection)));
        Ok(Self { config, state, failures: AtomicU32::new(0), offer })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// The tools that it offers and that are wanted, as it listed them last.
    pub fn tools(&self) -> Arc<[ToolInfo]> {
        self.offer.tools()
    }

    /// Told when its tools change.
    pub fn changes(&self) -> watch::Receiver<Arc<[ToolInfo]>> {
        self.offer.tools.subscribe()
    }

    /// What is wrong with the tools that it listed last, if they were not taken over.
    pub fn problem(&self) -> Option<String> {
        self.offer.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls a tool. The value is what the model gets: a string where the server answers with
    /// text, the structured content where there is some, the list of parts where there are images
    /// or resources.
    ///
    /// Starts the server if it is not running. A call is never repeated: where a server went away
    /// in the middle, nobody knows how far it got.
    pub async fn call(&self, tool: &str, args: Map<String, Value>) -> Result<Value, McpError> {
        self.look_up(tool)?;
        let connection = self.connection().await?;
        // It may have been started for this, and offer other things now.
        self.look_up(tool)?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        let call = connection.peer().call_tool_once(params);
        match timeout(self.config.limits.call, call).await {
            Ok(Ok(response)) => {
                self.failures.store(0, Ordering::Relaxed);
                self.read(tool, response, &connection)
            }
            Ok(Err(ServiceError::McpError(error))) => {
                self.failures.store(0, Ordering::Relaxed);
                Err(self.no_result(tool, connection.mask(&short(&error.message))))
            }
            Ok(Err(ServiceError::UnexpectedResponse)) => {
                Err(self.no_result(tool, "what it answers is no result of a call".to_owned()))
            }
            Ok(Err(error)) => match crate::http::failed_alone(&error) {
                Some(why) => Err(self.no_result(tool, connection.mask(&why))),
                None => Err(self.gone(tool, &connection, &error).await),
            },
            Err(_) => Err(self.hung(tool, &connection).await),
        }
    }

    /// Ends it: in peace, if it lets us, and otherwise within a few seconds. Calls that are under
    /// way fail, and so do later ones.
    pub async fn close(&self) {
        let state = std::mem::replace(&mut *self.state.lock().await, State::Closed);
        if let State::Up(connection) = state {
            connection.close().await;
        }
    }

    fn look_up(&self, tool: &str) -> Result<(), McpError> {
        if self.tools().iter().any(|offered| offered.name == tool) {
            return Ok(());
        }
        Err(McpError::NoSuchTool { server: self.name().to_owned(), tool: tool.to_owned() })
    }

    /// The connection, made anew if there is none.
    async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let server = || self.name().to_owned();
        let mut state = self.state.lock().await;
        if let State::Up(connection) = &*state
            && connection.is_closed()
        {
            let (why, _) = connection.post_mortem(&ServiceError::TransportClosed).await;
            *state = self.down(&why);
        }
        match &*state {
            State::Up(connection) => return Ok(connection.clone()),
            State::Closed => return Err(McpError::Closed { server: server() }),
            State::Down { until, why } => {
                let retry_in = until.saturating_duration_since(Instant::now());
                if !retry_in.is_zero() {
                    let failures = self.failures.load(Ordering::Relaxed);
                    return Err(McpError::Waiting {
                        server: server(),
                        failures,
                        retry_in,
                        why: why.clone(),
                    });
                }
            }
        }
        match Connection::open(&self.config, &self.offer).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *state = State::Up(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                *state = self.down(&error.to_string());
                Err(error)
            }
        }
    }

    /// Counts a failure, and says how long the server is left alone for it.
    fn down(&self, why: &str) -> State {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let wait = wait_after(failures, self.config.limits.backoff);
        let now = Instant::now();
        State::Down { until: now.checked_add(wait).unwrap_or(now), why: short(why) }
    }

    /// Gives a connection up, unless somebody else has.
    async fn give_up(&self, connection: &Arc<Connection>, why: &str) {
        connection.kill();
        let mut state = self.state.lock().await;
        if let State::Up(current) = &*state
            && Arc::ptr_eq(current, connection)
        {
            *state = self.down(why);
        }
    }

    async fn gone(
        &self,
        tool: &str,
        connection: &Arc<Connection>,
        error: &ServiceError,
    ) -> McpError {
        let (why, stderr) = connection.post_mortem(error).await;
        self.give_up(connection, &why).await;
        McpError::Gone { server: self.name().to_owned(), tool: tool.to_owned(), why, stderr }
    }

    async fn hung(&self, tool: &str, connection: &Arc<Connection>) -> McpError {
        let time = self.config.limits.call;
        // One slow tool is no reason to take the server from those who get their answers.
        let ended = !connection.answers(PING).await;
        if ended {
            self.give_up(connection, &format!("it gave no answer within {time:?}")).await;
        }
        let (server, tool) = (self.name().to_owned(), tool.to_owned());
        McpError::Deadline { server, tool, time, ended }
    }

    fn read(
        &self,
        tool: &str,
        response: CallToolResponse,
        connection: &Connection,
    ) -> Result<Value, McpError> {
        match response {
            CallToolResponse::Complete(result) => reply::value(result, self.config.limits.output)
                .map_err(|text| McpError::Tool {
                    server: self.name().to_owned(),
                    tool: tool.to_owned(),
                    text: connection.mask(&text),
                }),
            _ => {
                Err(self.no_result(tool, "it wants more than a call, which is not offered".into()))
            }
        }
    }

    fn no_result(&self, tool: &str, why: String) -> McpError {
        McpError::NoResult { server: self.name().to_owned(), tool: tool.to_owned(), why }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("config", &self.config).finish_non_exhaustive()
    }
}

/// How long a server is left alone that failed so many times in a row.
fn wait_after(failures: u32, base: Duration) -> Duration {
    if failures < 2 {
        return Duration::ZERO;
    }
    let factor = 2u32.saturating_pow(failures - 2);
    base.saturating_mul(factor).min(LONGEST_WAIT.max(base))
}

/// What a server offers at the moment.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    tools: watch::Sender<Arc<[ToolInfo]>>,
    problem: Arc<SyncMutex<Option<String>>>,
}

impl Default for Offer {
    fn default() -> Self {
        Self { tools: watch::Sender::new(Arc::from([])), problem: Arc::default() }
    }
}

impl Offer {
    fn tools(&self) -> Arc<[ToolInfo]> {
        self.tools.borrow().clone()
    }

    /// Takes a list over, as far as it is wanted. Where `is_first`, all names that somebody
    /// mentioned have to be in it.
    pub(crate) fn set(
        &self,
        listed: Vec<ToolInfo>,
        wanted: &Tools,
        is_first: bool,
    ) -> Result<(), String> {
        if is_first {
            listing::check(&listed, wanted)?;
        }
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let tools = listing::select(listed, wanted);
        self.tools.send_if_modified(|current| {
            let is_new = *current != tools;
            *current = tools;
            is_new
        });
        Ok(())
    }

    /// The same, for a list that came later: one that cannot be used changes nothing.
    pub(crate) fn renew(&self, listed: Result<Vec<ToolInfo>, String>, wanted: &Tools) {
        if let Err(why) = listed.and_then(|listed| self.set(listed, wanted, false)) {
            *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_left_alone_longer_and_longer_up_to_a_bound() {
        let second = Duration::from_secs(1);
        let waits: Vec<u64> =
            (0..12).map(|failures| wait_after(failures, second).as_secs()).collect();
        assert_eq!(waits, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(wait_after(u32::MAX, second), LONGEST_WAIT);
        assert_eq!(wait_after(3, Duration::from_hours(1)), Duration::from_hours(1));
        assert_eq!(wait_after(u32::MAX, Duration::MAX), Duration::MAX);
    }
}
