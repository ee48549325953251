//! HTTP requests that go only where they were allowed to.
//!
//! Whoever writes the URL is not trusted: it may come from a model, or from a script of a
//! repository that somebody else wrote. What they want is to reach, from inside, what is not
//! meant for them: the machine itself, its network, its cloud's metadata. So:
//!
//! - Nobody is asked who is not on the list. An empty list allows nothing.
//! - What is not on the public internet must be listed by its own name or address; `*` and
//!   `*.example.org` do not suffice. Link-local addresses, metadata services, multicast and
//!   unspecified addresses must be listed, and asked for, by their address.
//! - The host that is checked is the host that is asked: other spellings (`0x7f.1`, `LOCALHOST.`,
//!   `[::ffff:127.0.0.1]`) are brought to one form first.
//! - A name is resolved once. All its addresses are checked, and the connection goes to one of
//!   them, so that a name cannot mean something else a moment later.
//! - Each redirect is checked like a new request. It takes no secrets to another host and does
//!   not lead from https to http.
//! - Proxies that the environment names are not used: they would resolve names themselves.
//! - Everything has a bound: one deadline for the whole, the size of either body and head, the
//!   redirects, the requests at once. Nothing is decompressed.
//!
//! What is not kept from them: to send what they know to a host that is listed, and to learn
//! from the time it takes whether a listed host exists. Whether https is needed is the list's
//! owner's choice: the scheme plays no part in it. A body without a stated length ends where its
//! connection does, and somebody on the way could end it early.
//!
//! ```
//! use std::time::Duration;
//! use tollgate_fetch::{Allowlist, Client, FetchError, Limits, Request};
//!
//! // Entries and what they mean are the caller's; here, a host or `*`.
//! let list = Allowlist::new(["*"], |entry, host, _port| *entry == "*" || *entry == host);
//! let client = Client::new(Limits::default(), list);
//!
//! let metadata = Request::get("http://169.254.169.254/latest/meta-data/");
//! let error = client.request(metadata, Duration::from_secs(5)).unwrap_err();
//! assert!(matches!(error, FetchError::NotPublic { .. }));
//! ```

mod address;
mod client;
mod error;
mod follow;
mod limits;
mod network;
mod permit;
mod pool;
mod request;
mod target;
mod ticket;
mod wire;

pub use address::{Kind, kind};
pub use client::Client;
pub use error::{FetchError, Part, Stage};
pub use limits::Limits;
pub use network::{Network, SystemNetwork};
pub use permit::{Allowlist, Permit};
pub use request::{Method, Request, Response};
pub use ticket::Sending;
