//! Hosts that hooks may reach.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A host or a pattern of hosts: `example.org`, `*.example.org` for all below it, `*` for every
/// one; with a port, only that one.
///
/// ```
/// use tollgate_config::settings::Host;
///
/// let host: Host = "*.example.org".parse()?;
/// assert!(host.allows("API.example.org", 443));
/// assert!(!host.allows("example.org", 443));
/// # Ok::<(), tollgate_config::settings::NotAHost>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    /// In small letters.
    name: String,
    port: Option<u16>,
}

/// A text that names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no host{}", .meant.as_ref().map(|meant| format!("; is `{meant}` meant?")).unwrap_or_default())]
pub struct NotAHost {
    /// The text.
    pub text: String,
    /// The host in it, if there is one.
    pub meant: Option<String>,
}

impl Host {
    /// Whether a host is meant.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        self.covers_name(host) && self.port.is_none_or(|own| own == port)
    }

    /// Whether every host that the other means is meant here.
    pub fn covers(&self, other: &Self) -> bool {
        self.covers_name(&other.name) && (self.port.is_none() || self.port == other.port)
    }

    fn covers_name(&self, name: &str) -> bool {
        match self.name.strip_prefix('*') {
            Some(below) => name.len() > below.len() && name.ends_with(below),
            None => self.name == name,
        }
    }
}

impl FromStr for Host {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, NotAHost> {
        if let Some(host) = parse(text) {
            return Ok(host);
        }
        // An address where its host belongs.
        let inner = text.split_once("://").map_or(text, |(_, rest)| rest);
        let inner = inner.split(['/', '?', '#']).next().unwrap_or_default().trim();
        let meant = parse(inner).map(|host| host.to_string());
        Err(NotAHost { text: text.chars().take(200).collect(), meant })
    }
}

fn parse(text: &str) -> Option<Host> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    let name = name.to_ascii_lowercase();
    let below = name.strip_prefix("*.").unwrap_or(&name);
    let is_label = |label: &str| {
        let is_of_label = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !label.is_empty() && label.len() <= 63 && label.chars().all(is_of_label)
    };
    let is_address = |inner: &str| {
        let inner = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
    };
    let is_name = below.len() <= 253 && below.split('.').all(is_label);
    (name == "*" || is_name || is_address(&name)).then_some(Host { name, port })
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        text.parse().unwrap()
    }

    #[test]
    fn hosts_are_read_and_addresses_are_not() {
        for text in
            ["a", "a.example.org", "*.example.org", "*", "a:80", "127.0.0.1:8080", "[::1]:80"]
        {
            assert_eq!(host(text).to_string(), text);
        }
        for (text, meant) in [
            ("https://a.example.org/x", Some("a.example.org")),
            ("a.example.org/", Some("a.example.org")),
            ("", None),
            ("a..b", None),
            ("a b", None),
            ("*.*", None),
            ("a*.example.org", None),
            ("a:99999", None),
            ("user@a", None),
        ] {
            let error = text.parse::<Host>().unwrap_err();
            assert_eq!(error.meant.as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn a_pattern_covers_what_is_below_it() {
        assert!(host("*").covers(&host("a.b:1")));
        assert!(host("*.b").covers(&host("a.b")));
        assert!(host("*.b").covers(&host("*.a.b")));
        assert!(host("*.b").covers(&host("*.b")));
        assert!(!host("*.b").covers(&host("b")));
        assert!(!host("*.b").covers(&host("ab")));
        assert!(!host("*.b").covers(&host("*")));
        assert!(host("b").covers(&host("b:1")));
        assert!(!host("b:1").covers(&host("b")));
        assert!(!host("b:1").covers(&host("b:2")));
    }
}
