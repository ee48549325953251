//! What can go wrong.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::address::Kind;

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The URL cannot be used.
    #[error("`{url}` cannot be fetched: {why}")]
    Url {
        /// The URL, or its beginning. Without a name and password, if it had some.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The host is not on the list.
    #[error(
        "`{host}` on port {port} is not allowed{}; to allow it, add `{host}` or `{host}:{port}` \
         to `http.allow` in config.toml",
        how(*redirected)
    )]
    NotAllowed {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Whether a redirect led there.
        redirected: bool,
    },
    /// The host is allowed, but it is not on the public internet.
    #[error(
        "`{host}` is at {address}, {kind}{}, and not listed for that; to allow it, add `{entry}` to \
         `http.allow` in config.toml{}",
        how(*redirected),
        if entry == host { "" } else { " and use that as the host" }
    )]
    NotPublic {
        /// The host.
        host: String,
        /// Where it is.
        address: IpAddr,
        /// What kind of address that is.
        kind: Kind,
        /// The entry that would allow it.
        entry: String,
        /// Whether a redirect led there.
        redirected: bool,
    },
    /// A redirect from https to http.
    #[error("`{host}` redirects from https to http, which is not followed")]
    Downgrade {
        /// The host that does.
        host: String,
    },
    /// One redirect after the other.
    #[error("`{host}` leads to more than {limit} redirects")]
    TooManyRedirects {
        /// The first host.
        host: String,
        /// How many are followed.
        limit: u32,
    },
    /// The request cannot be sent.
    #[error("the request cannot be sent: {why}")]
    Request {
        /// Why.
        why: String,
    },
    /// Too much.
    #[error("the {what} has more than {limit} bytes, which is the limit")]
    TooLarge {
        /// What is too large.
        what: Part,
        /// How many bytes it may have.
        limit: usize,
    },
    /// The time is over.
    #[error("no response within {time:?}: it ended while {stage}")]
    Deadline {
        /// How long it could have taken.
        time: Duration,
        /// How far it got.
        stage: Stage,
    },
    /// Too many at once.
    #[error(
        "{running} requests are running and {waiting} are waiting, which is the limit; try again later"
    )]
    Busy {
        /// How many run at the most.
        running: usize,
        /// How many wait at the most.
        waiting: usize,
    },
    /// The name could not be resolved.
    #[error("`{host}` cannot be resolved: {why}")]
    Resolve {
        /// The host.
        host: String,
        /// Why.
        why: String,
    },
    /// Nobody is there.
    #[error("cannot connect to `{host}` on port {port}: {why}")]
    Connect {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Why.
        why: String,
    },
    /// There was a connection, but no response that can be used.
    #[error("no usable response from `{host}`: {why}")]
    Exchange {
        /// The host.
        host: String,
        /// Why.
        why: String,
    },
    /// Something of ours failed.
    #[error("the request could not be made: {why}")]
    Internal {
        /// What.
        why: String,
    },
}

fn how(is_redirected: bool) -> &'static str {
    if is_redirected { " (a redirect leads there)" } else { "" }
}

impl FetchError {
    /// Whether the request was not let through, as opposed to one that failed.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::NotAllowed { .. } | Self::NotPublic { .. } | Self::Downgrade { .. })
    }
}

/// A part of an exchange that has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The body that is sent.
    RequestBody,
    /// The headers that are sent.
    RequestHeaders,
    /// The body that comes back.
    ResponseBody,
    /// The headers that come back.
    ResponseHeaders,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RequestBody => "body of the request",
            Self::RequestHeaders => "head of the request",
            Self::ResponseBody => "body of the response",
            Self::ResponseHeaders => "head of the response",
        })
    }
}

/// How far a request got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// It waits for others.
    Waiting,
    /// The name is resolved.
    Resolving,
    /// The connection is made, and made safe.
    Connecting,
    /// The request is sent and the response has not begun.
    Asking,
    /// The body comes.
    Reading,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting for other requests",
            Self::Resolving => "resolving the name",
            Self::Connecting => "connecting",
            Self::Asking => "waiting for the response",
            Self::Reading => "reading the body",
        })
    }
}
