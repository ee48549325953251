//! One connection to a server, from the greeting to its end.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientRequest, ErrorCode, PingRequest, ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::config::{ServerConfig, Transport};
use crate::error::McpError;
use crate::handler::Handler;
use crate::http::{Web, shown};
use crate::listing;
use crate::process::{self, Process};
use crate::server::Offer;
use crate::stdio::{Lines, Verdict};
use crate::text::{Secrets, Text};

/// How long the process of a connection that broke has to say why.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How often a server is asked for its tools when it says on and on that they have changed.
const LISTING_PAUSE: Duration = Duration::from_millis(250);

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// How much of what others say goes into our errors.
const SHORT: usize = 500;

/// The beginning of a text.
pub(crate) fn short(text: &str) -> String {
    if text.len() <= SHORT {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(SHORT)).unwrap_or_default())
}

/// A connection. Its process ends with it.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    line: Line,
    follower: JoinHandle<()>,
}

/// What a connection goes over.
struct Line {
    process: Option<Process>,
    verdict: Verdict,
    secrets: Secrets,
}

impl Connection {
    /// Starts the server, greets it and lists its tools into `offer`.
    pub(crate) async fn open(config: &Arc<ServerConfig>, offer: &Offer) -> Result<Self, McpError> {
        match timeout(config.limits.start, Self::greet(config, offer)).await {
            Ok(result) => result,
            Err(_) => Err(McpError::Start {
                server: config.name.clone(),
                why: format!("it was not ready within {:?}", config.limits.start),
                stderr: String::new(),
            }),
        }
    }

    async fn greet(config: &Arc<ServerConfig>, offer: &Offer) -> Result<Self, McpError> {
        // What nearly all servers speak comes first. Those that speak only what is newer say so.
        let (service, line) = match serve(config, ClientLifecycleMode::Initialize).await? {
            (Err(ClientInitializeError::JsonRpcError(error)), line) if is_too_old(error.code) => {
                drop(line);
                let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                serve(config, ClientLifecycleMode::Discover { preferred_versions }).await?
            }
            met => met,
        };
        let service = match service {
            Ok(service) => service,
            Err(error) => return Err(line.not_started(config, &error).await),
        };
        let changed = service.service().changed.clone();
        let peer = service.peer().clone();
        let tools = |why: String| McpError::Tools { server: config.name.clone(), why };
        let listed = match listing::list(&peer, &config.limits).await {
            Ok(listed) => listed,
            Err(why) => {
                let why = line.verdict.why().map_or(why, str::to_owned);
                return Err(tools(line.secrets.mask(&why)));
            }
        };
        offer.set(listed, &config.tools, true).map_err(tools)?;
        let follower = tokio::spawn(follow(peer.clone(), changed, config.clone(), offer.clone()));
        Ok(Self { peer, service: Mutex::new(Some(service)), line, follower })
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// Whether it is known to be of no use any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Whether there is still somebody at the other end.
    pub(crate) async fn answers(&self, within: Duration) -> bool {
        // What is newer has nothing that every server must answer.
        let can_ping =
            self.peer.peer_info().is_some_and(|info| info.protocol_version.has_initialize());
        let ping = ClientRequest::PingRequest(PingRequest::default());
        can_ping && matches!(timeout(within, self.peer.send_request(ping)).await, Ok(Ok(_)))
    }

    /// Why a call failed with the connection, and what the process had to say.
    pub(crate) async fn post_mortem(&self, error: &ServiceError) -> (String, String) {
        let why = match error {
            ServiceError::TransportSend(error) => short(&error.error.to_string()),
            ServiceError::TransportClosed => "it closed the connection".to_owned(),
            other => short(&other.to_string()),
        };
        self.line.post_mortem(why).await
    }

    /// What is told of it, without secrets.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.line.secrets.mask(text)
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        self.follower.abort();
        self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(process) = &self.line.process {
            process.kill();
        }
    }

    /// Ends it in peace, if it lets us.
    pub(crate) async fn close(&self) {
        self.follower.abort();
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            // It is dropped in any case, and what was left behind ends with its task.
            let _ = service.close_with_timeout(GOODBYE).await;
        }
        if let Some(process) = &self.line.process {
            process.end().await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("process", &self.line.process).finish_non_exhaustive()
    }
}

impl Line {
    /// Why it broke, in the best words there are: ours, those of the process, those of the line.
    async fn post_mortem(&self, why: String) -> (String, String) {
        if let Some(ours) = self.verdict.why() {
            return (ours.to_owned(), String::new());
        }
        let Some(process) = &self.process else { return (self.secrets.mask(&why), String::new()) };
        let how = process.ended(LAST_WORDS).await;
        (how.unwrap_or(why), self.secrets.mask(&process.stderr()))
    }

    async fn not_started(&self, config: &ServerConfig, error: &ClientInitializeError) -> McpError {
        let server = config.name.clone();
        let has_answered = !matches!(
            error,
            ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. }
        );
        let (why, stderr) = if has_answered {
            (self.secrets.mask(&describe(error)), String::new())
        } else {
            self.post_mortem(describe(error)).await
        };
        let why = match &config.transport {
            Transport::Http { url, .. } => format!("{}: {why}", shown(url)),
            Transport::Stdio { .. } if has_answered || self.verdict.why().is_some() => why,
            Transport::Stdio { .. } => format!("{why} before it answered"),
        };
        McpError::Start { server, why, stderr }
    }
}

/// The errors hold whole messages, which may be of any length.
fn describe(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::TransportError { error, .. } => short(&error.error.to_string()),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it answers to the greeting: {}", short(&error.message))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that is spoken here".to_owned()
        }
        _ => "what it answers to the greeting is something else".to_owned(),
    }
}

/// Whether an answer to the older greeting may mean that there is only the newer one.
fn is_too_old(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::METHOD_NOT_FOUND | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
}

type Greeted = Result<RunningService<RoleClient, Handler>, ClientInitializeError>;

async fn serve(
    config: &ServerConfig,
    lifecycle: ClientLifecycleMode,
) -> Result<(Greeted, Line), McpError> {
    let verdict = Verdict::default();
    let mut secrets = Secrets::default();
    let handler = Handler::default();
    let limits = &config.limits;
    let failed = |why| McpError::Start { server: config.name.clone(), why, stderr: String::new() };
    match &config.transport {
        Transport::Stdio { command, args, env, cwd } => {
            let env = expand(config, "env", env, &mut secrets)?;
            let (process, input, output) =
                process::start(command, args, &env, cwd.as_deref()).map_err(failed)?;
            let service = process.service();
            let line = Line { process: Some(process), verdict: verdict.clone(), secrets };
            let lines = Lines::new(input, output, limits.message, verdict, service);
            Ok((handler.serve_with_lifecycle(lines, lifecycle).await, line))
        }
        Transport::Http { url, headers } => {
            let headers = headers_of(config, headers, &mut secrets)?;
            let web = Web::new(limits.message, limits.start).map_err(failed)?;
            let mut retry = ExponentialBackoff::default();
            retry.max_times = Some(5);
            retry.max_delay = Some(Duration::from_secs(30));
            let mut settings = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(headers)
                .max_sse_event_size(limits.message);
            settings.retry_config = Arc::new(retry);
            let transport = StreamableHttpClientTransport::with_client(web, settings);
            let line = Line { process: None, verdict, secrets };
            Ok((handler.serve_with_lifecycle(transport, lifecycle).await, line))
        }
    }
}

/// The values of a configuration, with what the environment has to add.
fn expand(
    config: &ServerConfig,
    place: &str,
    texts: &BTreeMap<String, Text>,
    secrets: &mut Secrets,
) -> Result<BTreeMap<String, String>, McpError> {
    let mut values = BTreeMap::new();
    for (name, text) in texts {
        let value = text.expand(|variable| env::var(variable).ok()).map_err(|variable| {
            let why = format!("the environment variable `{variable}` is not set");
            config.wrong(&format!("{place}.{name}"), &why)
        })?;
        if value.contains('\0') {
            return Err(config.wrong(&format!("{place}.{name}"), "has a NUL in it"));
        }
        // What was written down in full may be a secret as well; a setting such as `production`
        // is hidden with it.
        secrets.add(&value);
        values.insert(name.clone(), value);
    }
    Ok(values)
}

fn headers_of(
    config: &ServerConfig,
    headers: &BTreeMap<String, Text>,
    secrets: &mut Secrets,
) -> Result<HashMap<HeaderName, HeaderValue>, McpError> {
    let mut read = HashMap::new();
    for (name, value) in expand(config, "headers", headers, secrets)? {
        let wrong = || config.wrong(&format!("headers.{name}"), "its value is none of a header");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        read.insert(key, value);
    }
    Ok(read)
}

/// Lists the tools again whenever the server says that they have changed.
async fn follow(
    peer: Peer<RoleClient>,
    changed: Arc<tokio::sync::Notify>,
    config: Arc<ServerConfig>,
    offer: Offer,
) {
    // Newer servers tell only those who ask to be told.
    let wanted = SubscriptionFilter::builder().tools_list_changed().build();
    let is_told = peer.peer_info().is_none_or(|info| info.protocol_version.has_initialize());
    let mut subscription = if is_told { None } else { peer.listen(wanted).await.ok() };
    loop {
        match &mut subscription {
            None => changed.notified().await,
            Some(told) => {
                if !matches!(told.next().await, Ok(Some(_))) {
                    subscription = None;
                    continue;
                }
            }
        }
        let listed = timeout(config.limits.start, listing::list(&peer, &config.limits)).await;
        let listed = listed.unwrap_or_else(|_| Err("it took too long to list them".to_owned()));
        offer.renew(listed, &config.tools);
        sleep(LISTING_PAUSE).await;
    }
}
