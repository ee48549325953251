//! One request over one connection, whose answer is read as it comes.
//!
//! There is no pool and no task in the background: all of it is in the future of the call, so
//! that the connection is closed when that is dropped. A handshake more is little beside what a
//! model takes. Redirects are not followed: they would take the key elsewhere.

mod connect;
mod tls;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use http_body_util::Full;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Duration, timeout};
use url::Url;

pub use tls::TlsError;
pub(crate) use tls::config as tls_config;

use crate::error::Stage;

/// How many bytes the head of an answer may have; twice that, as they happen to arrive.
const HEAD: usize = 64 * 1024;
/// How long somebody may take to say what is wrong.
const EXCERPT: Duration = Duration::from_secs(5);

/// How long the parts of a call may take.
///
/// ```
/// use std::time::Duration;
/// use tollgate_model::Timeouts;
///
/// let patient = Timeouts { idle: Duration::from_mins(10), ..Timeouts::default() };
/// assert!(patient.whole > patient.idle);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From resolving the name to a safe connection.
    pub connect: Duration,
    /// From there to the head of the answer. A local model is loaded in that time.
    pub first_byte: Duration,
    /// Between two parts of the answer.
    pub idle: Duration,
    /// All of it, without what [`Retry`](crate::Retry) does.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            whole: Duration::from_mins(20),
        }
    }
}

/// What stands between us and an answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no connection, or it ended before there was an answer.
    Connect(String),
    /// It took too long.
    Late(Stage, Duration),
    /// The answer ended early.
    Cut(String),
    /// What came back is no HTTP.
    Unreadable(String),
}

impl From<hyper::Error> for Trouble {
    fn from(error: hyper::Error) -> Self {
        if error.is_parse() {
            Self::Unreadable(format!("it is no HTTP: {}", chain(&error)))
        } else {
            Self::Connect(format!("the connection ended before there was one: {}", chain(&error)))
        }
    }
}

/// What is read and written.
trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

type Connection = http1::Connection<TokioIo<Box<dyn Io>>, Full<Bytes>>;

/// What is sent.
pub(crate) struct Post {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Vec<u8>,
}

/// An answer, of which the head is there.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    connection: Pin<Box<Connection>>,
    is_over: bool,
    idle: Duration,
}

impl Post {
    /// Sends it and waits for the head of the answer.
    pub(crate) async fn send(
        self,
        tls: &std::sync::Arc<rustls::ClientConfig>,
        timeouts: Timeouts,
    ) -> Result<Answer, Trouble> {
        let io = timeout(timeouts.connect, connect::connect(&self.url, tls))
            .await
            .map_err(|_| Trouble::Late(Stage::Connect, timeouts.connect))?
            .map_err(Trouble::Connect)?;
        let request = self.into_request()?;
        timeout(timeouts.first_byte, exchange(io, request, timeouts.idle))
            .await
            .map_err(|_| Trouble::Late(Stage::FirstByte, timeouts.first_byte))?
    }

    fn into_request(self) -> Result<hyper::Request<Full<Bytes>>, Trouble> {
        let host = match (self.url.host_str(), self.url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        };
        let target = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let mut request = hyper::Request::post(target)
            .header("host", host)
            .header("content-type", "application/json");
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers);
        }
        request
            .body(Full::new(Bytes::from(self.body)))
            .map_err(|error| Trouble::Connect(format!("the request cannot be written: {error}")))
    }
}

async fn exchange(
    io: Box<dyn Io>,
    request: hyper::Request<Full<Bytes>>,
    idle: Duration,
) -> Result<Answer, Trouble> {
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(HEAD).handshake(TokioIo::new(io)).await?;
    let mut connection = Box::pin(connection);
    let mut is_over = false;
    let mut sending = pin!(sender.send_request(request));
    let response = poll_fn(|context| {
        if let Poll::Ready(response) = sending.as_mut().poll(context) {
            return Poll::Ready(response);
        }
        // What is wrong with the connection is what `sending` is told.
        is_over = is_over || connection.as_mut().poll(context).is_ready();
        sending.as_mut().poll(context)
    })
    .await?;
    let (head, body) = response.into_parts();
    let (status, headers) = (head.status, head.headers);
    Ok(Answer { status, headers, body, connection, is_over, idle })
}

impl Answer {
    /// The next bytes of the body. There are none at its proper end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Trouble> {
        loop {
            let next = timeout(self.idle, poll_fn(|context| self.poll(context))).await;
            match next.map_err(|_| Trouble::Late(Stage::Idle, self.idle))? {
                None => return Ok(None),
                Some(Err(error)) => return Err(Trouble::Cut(chain(&error))),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    fn poll(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, hyper::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        self.is_over = self.is_over || self.connection.as_mut().poll(context).is_ready();
        Pin::new(&mut self.body).poll_frame(context)
    }

    /// The beginning of the body, as text: what there is of it soon.
    pub(crate) async fn excerpt(mut self, limit: usize) -> String {
        let mut bytes = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                bytes.extend_from_slice(chunk.get(..limit - bytes.len()).unwrap_or(&chunk));
                if bytes.len() >= limit {
                    break;
                }
            }
        };
        let _ = timeout(EXCERPT, reading).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// An error and what is behind it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}
