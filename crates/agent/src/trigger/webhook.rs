//! A trigger by requests from outside.

use std::convert::Infallible;
use std::env;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{ALLOW, AUTHORIZATION, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::push::{Push, Sent};
use super::{Trigger, TriggerError};

/// How many connections there may be at once. Further ones wait to be accepted.
const CONNECTIONS: usize = 32;

/// How long a whole request may take.
const REQUEST: Duration = Duration::from_secs(10);

/// How short a secret may be. Shorter ones can be tried out.
const SHORTEST: usize = 16;

/// The secret that callers of a webhook know. Not printed by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// This one.
    Given(String),
    /// The value of this environment variable.
    Variable(String),
}

impl Secret {
    fn read(&self) -> Result<Bytes, TriggerError> {
        let wrong = |why: String| Err(TriggerError::Webhook(why));
        let (value, of) = match self {
            Self::Given(secret) => (secret.clone(), "its secret".to_owned()),
            Self::Variable(name) => match env::var(name) {
                Ok(secret) => (secret, format!("the secret in `{name}`")),
                Err(_) => {
                    return wrong(format!("the environment variable `{name}` is not set to text"));
                }
            },
        };
        if value.len() < SHORTEST {
            return wrong(format!("{of} has fewer than {SHORTEST} bytes, and could be tried out"));
        }
        Ok(Bytes::from(value))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("Given(..)"),
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
        }
    }
}

/// Where a webhook is, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfig {
    /// Where it listens. Port 0 is any that is free.
    pub address: SocketAddr,
    /// Whether that may be somewhere other machines can reach. What they send then goes over the
    /// network as it is: put something with TLS in front.
    pub beyond_loopback: bool,
    /// The path of its address.
    pub path: String,
    /// What callers send as `Authorization: Bearer SECRET`.
    pub secret: Secret,
    /// How many bytes a body may have.
    pub body: usize,
    /// The message, with `{body}` where the body of the request goes.
    pub message: String,
}

impl WebhookConfig {
    /// On loopback, on any port that is free, at `/`, for bodies up to 64 KiB, which are the
    /// message.
    pub fn new(secret: Secret) -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            beyond_loopback: false,
            path: "/".to_owned(),
            secret,
            body: 64 * 1024,
            message: "{body}".to_owned(),
        }
    }
}

/// Fires when somebody who knows its secret sends a `POST` request.
pub struct Webhook {
    name: String,
    address: SocketAddr,
    // Until it runs. It listens from the beginning, so that its address is known.
    listener: Mutex<Option<StdListener>>,
    desk: Arc<Desk>,
}

/// What answers requests.
struct Desk {
    path: String,
    // Compared by its hash, in a time that does not depend on it.
    secret: blake3::Hash,
    body: usize,
    message: String,
}

/// A trigger that fires when it is sent a request. It listens at once, and takes requests as soon
/// as it runs.
///
/// ```
/// use tollgate_agent::trigger::{Secret, WebhookConfig, webhook};
///
/// let secret = Secret::Given("correct horse battery".to_owned());
/// let hook = webhook(WebhookConfig { path: "/deployed".into(), ..WebhookConfig::new(secret) })?;
/// assert!(hook.address().ip().is_loopback() && hook.address().port() != 0);
/// # Ok::<(), tollgate_agent::trigger::TriggerError>(())
/// ```
pub fn webhook(config: WebhookConfig) -> Result<Webhook, TriggerError> {
    let WebhookConfig { address, beyond_loopback, path, secret, body, message } = config;
    if !address.ip().is_loopback() && !beyond_loopback {
        return Err(TriggerError::Webhook(format!(
            "{address} can be reached from other machines, which has to be allowed"
        )));
    }
    if !path.starts_with('/') {
        return Err(TriggerError::Webhook(format!("its path `{path}` must begin with `/`")));
    }
    let secret = blake3::hash(&secret.read()?);
    let listener = bind(address)?;
    let address = listener
        .local_addr()
        .map_err(|error| TriggerError::Webhook(format!("{address}: {error}")))?;
    Ok(Webhook {
        name: format!("webhook {path}"),
        address,
        listener: Mutex::new(Some(listener)),
        desk: Arc::new(Desk { path, secret, body, message }),
    })
}

fn bind(address: SocketAddr) -> Result<StdListener, TriggerError> {
    let failed = |error| TriggerError::Webhook(format!("{address}: {error}"));
    let listener = StdListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

impl Webhook {
    /// The same under another name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("name", &self.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Trigger for Webhook {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, push: Push) -> BoxFuture<'_, Result<(), TriggerError>> {
        Box::pin(async move {
            let bound = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
            let bound = bound.map_or_else(|| bind(self.address), Ok)?;
            let failed = |error: std::io::Error| TriggerError::Webhook(error.to_string());
            let listener = TcpListener::from_std(bound).map_err(failed)?;
            // They end with this.
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    () = push.closed() => return Ok(()),
                    Some(_) = connections.join_next() => {}
                    accepted = listener.accept(), if connections.len() < CONNECTIONS => {
                        // A caller that went away again is no failure of ours.
                        let Ok((stream, _)) = accepted else {
                            tokio::time::sleep(Duration::from_millis(10)).await;
                            continue;
                        };
                        connections.spawn(serve(stream, self.desk.clone(), push.clone()));
                    }
                }
            }
        })
    }
}

async fn serve(stream: tokio::net::TcpStream, desk: Arc<Desk>, push: Push) {
    let answer = service_fn(move |request| {
        let (desk, push) = (desk.clone(), push.clone());
        async move { Ok::<_, Infallible>(desk.answer(request, &push).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(16 * 1024)
        .max_headers(64)
        .serve_connection(TokioIo::new(stream), answer);
    // What goes wrong with a connection is between its caller and it.
    let _ = timeout(REQUEST, connection).await;
}

impl Desk {
    async fn answer(&self, request: Request<Incoming>, push: &Push) -> Response<Full<Bytes>> {
        if request.uri().path() != self.path {
            return say(StatusCode::NOT_FOUND, "there is nothing here");
        }
        if request.method() != Method::POST {
            let answer = say(StatusCode::METHOD_NOT_ALLOWED, "only POST is taken");
            return with(answer, ALLOW, "POST");
        }
        if !self.is_known(&request) {
            let answer = say(StatusCode::UNAUTHORIZED, "the secret is wrong");
            return with(answer, WWW_AUTHENTICATE, "Bearer");
        }
        let body = request.into_body();
        // One that says so is not read at all.
        if body.size_hint().lower() > self.body as u64 {
            return self.too_large();
        }
        let body = match Limited::new(body, self.body).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return self.too_large(),
            Err(_) => return say(StatusCode::BAD_REQUEST, "the body broke off"),
        };
        let Ok(text) = str::from_utf8(&body) else {
            return say(StatusCode::BAD_REQUEST, "the body is no UTF-8");
        };
        match push.send(self.message.replace("{body}", text)) {
            Sent::Taken => say(StatusCode::ACCEPTED, "taken"),
            Sent::Dropped => {
                let answer = say(StatusCode::SERVICE_UNAVAILABLE, "too many are waiting");
                with(answer, RETRY_AFTER, "10")
            }
            Sent::Closed => say(StatusCode::GONE, "the session has ended"),
        }
    }

    fn is_known(&self, request: &Request<Incoming>) -> bool {
        let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let given = given.and_then(|value| value.split_at_checked(7));
        let Some((scheme, secret)) = given else { return false };
        // This comparison takes the same time for all secrets.
        scheme.eq_ignore_ascii_case(b"bearer ") && blake3::hash(secret) == self.secret
    }

    fn too_large(&self) -> Response<Full<Bytes>> {
        let text = format!("the body has more than {} bytes, which is the limit", self.body);
        say(StatusCode::PAYLOAD_TOO_LARGE, &text)
    }
}

fn say(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{text}\n"))));
    *response.status_mut() = status;
    response
}

fn with(
    mut response: Response<Full<Bytes>>,
    name: HeaderName,
    value: &'static str,
) -> Response<Full<Bytes>> {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}
