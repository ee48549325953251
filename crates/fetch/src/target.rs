//! Where a URL leads.

use std::net::IpAddr;

use url::{Host, Url};

use crate::error::FetchError;

/// A URL that was found to be usable, with its host in the one form that is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    url: Url,
    host: String,
    port: u16,
    address: Option<IpAddr>,
}

impl Target {
    /// Reads a URL that somebody wrote.
    ///
    /// Browsers forgive much: line ends inside, `\` for `/`, any number of slashes. Here nothing
    /// is forgiven, so that whoever looked at the text before sees the same host in it as we do.
    pub(crate) fn parse(text: &str, limit: usize) -> Result<Self, FetchError> {
        let refuse = |why: &str| Err(refusal(text, why));
        if text.len() > limit {
            return refuse(&format!("it has more than {limit} bytes, which is the limit"));
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
            return refuse("it has white space, control characters or `\\` in it");
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return refuse("it does not begin with `https://` or `http://`");
        };
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return refuse("only `https://` and `http://` can be fetched");
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() {
            return refuse("it has no host");
        }
        if authority.contains('@') {
            return refuse("it has a name or password in it; send an `authorization` header");
        }
        match Url::parse(text) {
            Ok(url) => Self::of(url, limit),
            Err(error) => refuse(&error.to_string()),
        }
    }

    /// Where a redirect leads that was found here.
    pub(crate) fn join(&self, location: &str, limit: usize) -> Result<Self, FetchError> {
        let refuse = |why: &str| Err(refusal(location, why));
        if location.len() > limit {
            return refuse(&format!("it has more than {limit} bytes, which is the limit"));
        }
        if location.chars().any(|c| c.is_control() || c == '\\') {
            return refuse("the redirect has control characters or `\\` in it");
        }
        match self.url.join(location) {
            Ok(url) => Self::of(url, limit),
            Err(error) => refuse(&error.to_string()),
        }
    }

    fn of(mut url: Url, limit: usize) -> Result<Self, FetchError> {
        let refuse = |why: &str| Err(refusal(url.as_str(), why));
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("only `https://` and `http://` can be fetched");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("it has a name or password in it; send an `authorization` header");
        }
        let (host, address) = match url.host() {
            Some(Host::Ipv4(address)) => (address.to_string(), Some(IpAddr::V4(address))),
            Some(Host::Ipv6(address)) => (format!("[{address}]"), Some(IpAddr::V6(address))),
            Some(Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                if !is_name(name) {
                    return refuse("its host is no name that could be resolved");
                }
                (name.to_owned(), None)
            }
            None => return refuse("it has no host"),
        };
        let Some(port) = url.port_or_known_default().filter(|port| *port != 0) else {
            return refuse("its port is none that can be connected to");
        };
        // So that the name that is asked for is the name that was checked.
        if url.host_str() != Some(&host) && url.set_host(Some(&host)).is_err() {
            return Err(refusal(url.as_str(), "its host cannot be used"));
        }
        url.set_fragment(None);
        // Escapes can make it three times as long.
        if url.as_str().len() > limit.saturating_mul(3) {
            return Err(refusal(url.as_str(), "it is too long"));
        }
        Ok(Self { url, host, port, address })
    }

    pub(crate) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host, as a [`Permit`](crate::Permit) gets it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address, where the host is one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether both are at the same place, so that what is for one is for the other.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.url.scheme() == other.url.scheme()
            && self.host == other.host
            && self.port == other.port
    }
}

/// Whether it is a name of labels that can be resolved. The list of hosts knows no others.
fn is_name(name: &str) -> bool {
    let is_of_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label =
        |label: &str| !label.is_empty() && label.len() <= 63 && label.bytes().all(is_of_label);
    name.len() <= 253 && name.split('.').all(is_label)
}

/// An error with as much of the text as a person wants to see, and no password.
fn refusal(text: &str, why: &str) -> FetchError {
    const SHOWN: usize = 200;
    let is_shown = |c: &char| !c.is_control();
    let mut url: String = text.chars().filter(is_shown).take(SHOWN + 1).collect();
    let authority_at = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(authority_at..).unwrap_or_default();
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if let Some(at) = authority.rfind('@') {
        url.replace_range(authority_at..authority_at + at, "…");
    }
    if url.chars().count() > SHOWN {
        url = url.chars().take(SHOWN).chain(['…']).collect();
    }
    FetchError::Url { url, why: why.to_owned() }
}
