//! What is sent, and what comes back.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use ureq::http::{self, HeaderName, HeaderValue};

use crate::error::{FetchError, Part};
use crate::limits::Limits;

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

impl Method {
    const ALL: [Self; 6] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    pub(crate) fn to_http(self) -> http::Method {
        match self {
            Self::Get => http::Method::GET,
            Self::Head => http::Method::HEAD,
            Self::Post => http::Method::POST,
            Self::Put => http::Method::PUT,
            Self::Patch => http::Method::PATCH,
            Self::Delete => http::Method::DELETE,
        }
    }

    /// Whether a request of this kind has a body, even an empty one.
    pub(crate) fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = FetchError;

    fn from_str(text: &str) -> Result<Self, FetchError> {
        let found = Self::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let text: String = text.chars().take(40).collect();
            FetchError::Request { why: format!("`{text}` is no method that can be used") }
        })
    }
}

/// What is sent.
///
/// ```
/// use tollgate_fetch::Request;
///
/// let request = Request::post("https://example.org/events", r#"{"n": 1}"#)
///     .header("content-type", "application/json");
/// assert_eq!(request.headers.len(), 1);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: String,
    /// The headers, besides those that belong to the connection.
    pub headers: Vec<(String, String)>,
    /// The body. Only `POST`, `PUT` and `PATCH` have one.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// A `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::Get, url)
    }

    /// A `POST`.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::new(Method::Post, url).body(body)
    }

    /// The same, with a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same, with a body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

/// Without the values of headers, which may be secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// What comes back. Every status is a response, also 404 and 500.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Where it came from, behind all redirects.
    pub url: String,
    /// The headers, with names in small letters. What is no UTF-8 is replaced.
    pub headers: Vec<(String, String)>,
    /// The body as it came: nothing is decompressed.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text. What is no UTF-8 is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

/// The method, headers and body of the next hop, found to be in order.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Vec<u8>,
}

/// Headers that say where a request ends or belong to the connection; who sets them could make
/// one request look like two.
const NOT_YOURS: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that go along to another host.
const HARMLESS: &[&str] = &["accept", "accept-language", "content-type", "user-agent"];

const HEADERS: usize = 64;

impl Outgoing {
    pub(crate) fn new(request: Request, limits: &Limits) -> Result<Self, FetchError> {
        let refuse = |why: String| Err(FetchError::Request { why });
        let Request { method, headers, body, .. } = request;
        if body.len() > limits.request_body {
            return Err(FetchError::TooLarge {
                what: Part::RequestBody,
                limit: limits.request_body,
            });
        }
        if !body.is_empty() && !method.has_body() {
            return refuse(format!("a `{method}` has no body"));
        }
        if headers.len() > HEADERS {
            return refuse(format!("it has more than {HEADERS} headers, which is the limit"));
        }
        let size = headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        if size > limits.request_headers {
            return Err(FetchError::TooLarge {
                what: Part::RequestHeaders,
                limit: limits.request_headers,
            });
        }
        let mut checked = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
                let name: String = name.chars().take(40).collect();
                return refuse(format!("`{}` is no name of a header", name.escape_debug()));
            };
            let lower = header.as_str();
            if NOT_YOURS.contains(&lower) || lower.starts_with("proxy-") {
                return refuse(format!("the header `{lower}` cannot be set"));
            }
            let Ok(mut value) = HeaderValue::from_str(&value) else {
                return refuse(format!("the header `{lower}` has characters that it cannot have"));
            };
            value.set_sensitive(!HARMLESS.contains(&lower));
            checked.push((header, value));
        }
        Ok(Self { method, headers: checked, body })
    }

    /// What is sent on after a redirect, as browsers do it.
    pub(crate) fn redirect(&mut self, status: u16, is_same_origin: bool) {
        let becomes_get = match status {
            303 => !matches!(self.method, Method::Get | Method::Head),
            301 | 302 => self.method == Method::Post,
            _ => false,
        };
        if becomes_get {
            self.method = Method::Get;
            self.body.clear();
            self.headers.retain(|(name, _)| !name.as_str().starts_with("content-"));
        }
        if !is_same_origin {
            self.headers.retain(|(name, _)| HARMLESS.contains(&name.as_str()));
        }
    }
}
