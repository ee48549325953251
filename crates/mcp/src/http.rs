//! Servers on the web, over streamable HTTP.
//!
//! The client is ours because everything that comes in needs a bound. It follows no redirects and
//! uses no proxies: the headers are for the server that was named.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::connection::short;
use crate::stdio::message as read_message;
use crate::text::Text;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

/// How much of an answer that says no is looked at.
const REFUSAL: usize = 64 * 1024;

/// How many requests a server may make of us over one connection. All are refused, but even that
/// takes room until it has heard it.
const QUESTIONS: usize = 256;

/// Headers that the protocol sets.
const OURS: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    LAST_EVENT,
    SESSION,
    "mcp-protocol-version",
    "transfer-encoding",
];

/// Whether an address and headers can be used; where not, which and why.
pub(crate) fn check(url: &str, headers: &BTreeMap<String, Text>) -> Result<(), (String, String)> {
    let wrong = |why: &str| Err(("url".to_owned(), why.to_owned()));
    let Ok(uri) = url.parse::<Uri>() else { return wrong("is no URL") };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return wrong("must begin with https:// or http://");
    }
    match uri.authority() {
        None => return wrong("has no host"),
        Some(authority) if authority.as_str().contains('@') => {
            return wrong("has a user in it, which is not sent; use a header");
        }
        Some(_) => {}
    }
    for name in headers.keys() {
        let place = || format!("headers.{name}");
        let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
            return Err((place(), "is no name of a header".to_owned()));
        };
        if OURS.contains(&parsed.as_str()) {
            return Err((place(), "is set by the protocol".to_owned()));
        }
    }
    Ok(())
}

/// An address without what may be secret in it.
pub(crate) fn shown(url: &str) -> String {
    match url.parse::<Uri>() {
        Ok(uri) => {
            let scheme = uri.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
            let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{scheme}{}{port}{}", uri.host().unwrap_or_default(), uri.path())
        }
        Err(_) => "(no URL)".to_owned(),
    }
}

/// Why there is no answer from the web.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebError {
    #[error("cannot be reached: {0}")]
    Reach(String),
    #[error("the request cannot be sent: {0}")]
    Request(String),
    #[error("it sent a message of more than {0} bytes, which is the limit")]
    TooLarge(usize),
    #[error("its answer broke off: {0}")]
    Broken(String),
    #[error("it asks us more than it answers")]
    Asks,
    #[error("it redirects, which is not followed; name the address that it leads to")]
    Redirect,
}

type Failure = StreamableHttpError<WebError>;

/// Why a call failed, if that says nothing about the next one: there was an answer, and it was of
/// no use.
pub(crate) fn failed_alone(error: &ServiceError) -> Option<String> {
    let ServiceError::TransportSend(error) = error else { return None };
    let failure = error.error.downcast_ref::<Failure>()?;
    let is_alone = matches!(
        failure,
        StreamableHttpError::Client(
            WebError::TooLarge(_) | WebError::Broken(_) | WebError::Redirect
        ) | StreamableHttpError::UnexpectedServerResponse(_)
    );
    is_alone.then(|| match failure {
        StreamableHttpError::Client(error) => error.to_string(),
        other => short(&other.to_string()),
    })
}

fn failure(error: WebError) -> Failure {
    StreamableHttpError::Client(error)
}

/// Makes the requests of one connection.
#[derive(Clone)]
pub(crate) struct Web {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    longest: usize,
    questions: Arc<AtomicUsize>,
}

impl Web {
    /// `longest` is how many bytes one message may have.
    pub(crate) fn new(longest: usize, connect: Duration) -> Result<Self, String> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(connect));
        connector.set_nodelay(true);
        let provider = rustls::crypto::ring::default_provider();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .map_err(|error| format!("TLS cannot be used: {error}"))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .http1_max_headers(100)
            .build(connector);
        Ok(Self { client, longest, questions: Arc::default() })
    }

    async fn ask(
        &self,
        builder: Builder,
        headers: HashMap<HeaderName, HeaderValue>,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = builder
            .body(Full::new(body))
            .map_err(|error| failure(WebError::Request(error.to_string())))?;
        request.headers_mut().extend(headers);
        let response = self
            .client
            .request(request)
            .await
            .map_err(|error| failure(WebError::Reach(chain(&error))))?;
        if response.status().is_redirection() {
            return Err(failure(WebError::Redirect));
        }
        Ok(response)
    }

    /// All of a body, if that is no more than so much.
    async fn whole(&self, body: Incoming, most: usize) -> Result<Bytes, Failure> {
        let collected = Limited::new(body, most).collect().await.map_err(|error| {
            let is_too_large = error.is::<http_body_util::LengthLimitError>();
            failure(if is_too_large {
                WebError::TooLarge(most)
            } else {
                WebError::Broken(short(&error.to_string()))
            })
        })?;
        Ok(collected.to_bytes())
    }

    /// The events of a body, as far as anybody here does something with them. One that is too long
    /// ends them, with an error as the answer to the request that they belong to; so do too many
    /// requests of the server's own.
    fn events(
        &self,
        body: Incoming,
        request: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let longest = self.longest;
        let mut event = EventSize::default();
        let bytes = body.into_data_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| WebError::Broken(error.to_string()))?;
            if event.add(&chunk) > longest {
                return Err(WebError::TooLarge(longest));
            }
            Ok(chunk)
        });
        let events = SseStream::from_bytes_stream(bytes);
        let questions = self.questions.clone();
        let mut is_over = false;
        events
            .filter_map(move |event| {
                let event = match event.map(|event| (kind(&event), event)) {
                    Ok((Kind::Idle, _)) => None,
                    Ok((Kind::Question, event)) => {
                        let asked = questions.fetch_add(1, Ordering::Relaxed);
                        Some(if asked < QUESTIONS { Ok(event) } else { Err(asks()) })
                    }
                    Ok((Kind::Other, event)) => Some(Ok(event)),
                    Err(error) => Some(Err(error)),
                };
                std::future::ready(event)
            })
            .map(move |event| match (event, &request) {
                (Err(error), Some(id)) => instead(&error, id).ok_or(error),
                (event, _) => event,
            })
            .take_while(move |event| {
                let goes_on = !is_over;
                is_over = event.is_err();
                std::future::ready(goes_on)
            })
            .boxed()
    }
}

/// What an event is to us.
enum Kind {
    /// A notification that changes nothing.
    Idle,
    /// A request.
    Question,
    Other,
}

fn kind(event: &Sse) -> Kind {
    #[derive(serde::Deserialize)]
    struct Message<'m> {
        #[serde(borrow)]
        method: Option<Cow<'m, str>>,
        id: Option<serde::de::IgnoredAny>,
    }

    let data = event.data.as_deref().unwrap_or_default();
    let Ok(message) = serde_json::from_str::<Message<'_>>(data) else { return Kind::Other };
    match (message.method.as_deref(), message.id) {
        (Some(_), Some(_)) => Kind::Question,
        (Some("notifications/message" | "notifications/progress"), None) => Kind::Idle,
        _ => Kind::Other,
    }
}

fn asks() -> SseError {
    SseError::Body(Box::new(WebError::Asks))
}

/// The answer to a request whose real one is not waited for.
fn instead(error: &SseError, id: &RequestId) -> Option<Sse> {
    let SseError::Body(cause) = error else { return None };
    let cause = cause.downcast_ref::<WebError>()?;
    if !matches!(cause, WebError::TooLarge(_) | WebError::Asks) {
        return None;
    }
    let answer = ErrorData::internal_error(cause.to_string(), None);
    let answer = ServerJsonRpcMessage::error(answer, Some(id.clone()));
    Some(Sse::default().data(serde_json::to_string(&answer).ok()?))
}

/// How long the event is that is being read. Events end with an empty line.
#[derive(Debug, Default)]
struct EventSize {
    size: usize,
    line: usize,
    after_cr: bool,
}

impl EventSize {
    /// The longest that any event has become with this.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let mut longest = 0;
        for byte in bytes {
            self.size += 1;
            let is_second_half = *byte == b'\n' && self.after_cr;
            self.after_cr = *byte == b'\r';
            longest = longest.max(self.size);
            match byte {
                _ if is_second_half => {}
                b'\n' | b'\r' if self.line == 0 => self.size = 0,
                b'\n' | b'\r' => self.line = 0,
                _ => self.line += 1,
            }
        }
        longest
    }
}

/// An error with its causes, which is where hyper says what happened.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    short(&text)
}

fn is_kind(response: &Response<Incoming>, kind: &str) -> bool {
    let found = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    found.is_some_and(|found| found.starts_with(kind))
}

fn request(method: Method, uri: &str, session: Option<&str>) -> Builder {
    let builder = Request::builder().method(method).uri(uri);
    match session {
        Some(session) => builder.header(SESSION, session),
        None => builder,
    }
}

/// What it says where it says no. The text is the server's.
fn refusal(status: StatusCode, body: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(body);
    let text = short(text.trim());
    let why = if text.is_empty() { String::new() } else { format!(": {text}") };
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}{why}")))
}

impl StreamableHttpClient for Web {
    type Error = WebError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let request_id = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let body = serde_json::to_vec(&message)?;
        let builder = request(Method::POST, &uri, session.as_deref())
            .header(ACCEPT, format!("{JSON}, {EVENTS}"))
            .header(CONTENT_TYPE, JSON);
        let response = self.ask(builder, headers, body.into()).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let given = response.headers().get(SESSION).and_then(|value| value.to_str().ok());
        let given = given.map(str::to_owned);
        if !status.is_success() {
            let body = self.whole(response.into_body(), REFUSAL).await.unwrap_or_default();
            return match read_message(&body) {
                Some(answer @ ServerJsonRpcMessage::Error(_)) if request_id.is_some() => {
                    Ok(StreamableHttpPostResponse::Json(answer, given))
                }
                _ => Err(refusal(status, &body)),
            };
        }
        if is_kind(&response, EVENTS) {
            let events = self.events(response.into_body(), request_id);
            return Ok(StreamableHttpPostResponse::Sse(events, given));
        }
        let body = self.whole(response.into_body(), self.longest).await?;
        match read_message(&body) {
            Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, given)),
            // Nobody waits for an answer to these.
            None if request_id.is_none() => Ok(StreamableHttpPostResponse::Accepted),
            None => Err(refusal(status, &body)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let builder = request(Method::DELETE, &uri, Some(&session));
        self.ask(builder, headers, Bytes::new()).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let mut builder = request(Method::GET, &uri, session.as_deref()).header(ACCEPT, EVENTS);
        if let Some(last_event) = last_event {
            builder = builder.header(LAST_EVENT, last_event);
        }
        let response = self.ask(builder, headers, Bytes::new()).await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(refusal(status, &[]));
        }
        if !is_kind(&response, EVENTS) {
            return Err(StreamableHttpError::UnexpectedContentType(None));
        }
        Ok(self.events(response.into_body(), None))
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web").field("longest", &self.longest).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_measured_up_to_their_empty_line() {
        let mut event = EventSize::default();
        assert_eq!(event.add(b"data: 1234\n\n"), 12);
        assert_eq!(event.add(b"data: 1\r\n\r\nd"), 10);
        assert_eq!(event.add(b"ata"), 5);
        assert_eq!(event.add(b"\r\rx\n"), 7);
        assert_eq!(event.add(&[b'x'; 100]), 102);
    }

    #[test]
    fn addresses_and_headers_are_checked() {
        let check = |url: &str, header: &str| {
            let headers = BTreeMap::from([(header.to_owned(), Text::literal("x"))]);
            check(url, &headers).map_err(|(place, why)| format!("{place}: {why}"))
        };
        assert_eq!(check("http://127.0.0.1:1/mcp", "authorization"), Ok(()));
        for (url, header, place) in [
            ("", "a", "url"),
            ("/mcp", "a", "url"),
            ("ftp://h/", "a", "url"),
            ("http://a:b@h/", "a", "url"),
            ("http://h/", "a b", "headers.a b"),
            ("http://h/", "Host", "headers.Host"),
            ("http://h/", "Mcp-Session-Id", "headers.Mcp-Session-Id"),
        ] {
            let error = check(url, header).unwrap_err();
            assert!(error.starts_with(place), "{url} {header}: {error}");
        }
    }
}
