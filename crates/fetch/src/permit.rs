//! Who may be asked.

use std::fmt;
use std::net::IpAddr;

use crate::address::{Kind, kind};
use crate::error::FetchError;
use crate::target::Target;

/// Who may be asked.
///
/// A host is given as it stands in a URL, brought to one form: small letters, punycode, no dot at
/// the end, IPv4 addresses as four numbers, IPv6 addresses in brackets and as short as they get.
///
/// The scheme plays no part: what may be asked by https may be asked by http.
pub trait Permit: Send + Sync + 'static {
    /// Whether requests may go to a host.
    fn allows(&self, host: &str, port: u16) -> bool;

    /// Whether a person has listed this very host, and not just a pattern that fits it. Only
    /// then may it be at an address that is not public.
    fn names(&self, host: &str, port: u16) -> bool {
        let _ = (host, port);
        false
    }
}

/// A function is a list of patterns: nothing it allows may be at an address that is not public.
impl<F: Fn(&str, u16) -> bool + Send + Sync + 'static> Permit for F {
    fn allows(&self, host: &str, port: u16) -> bool {
        self(host, port)
    }
}

/// A list of hosts. An empty one allows nothing.
///
/// What an entry is and which hosts it means is its owner's business; what is needed here is its
/// text: one without `*` names a host.
///
/// ```
/// use tollgate_fetch::{Allowlist, Permit};
///
/// let list = Allowlist::new(["127.0.0.1", "*"], |entry, host, _| {
///     *entry == "*" || *entry == host
/// });
/// assert!(list.allows("example.org", 443) && !list.names("example.org", 443));
/// assert!(list.names("127.0.0.1", 80));
/// ```
#[derive(Clone)]
pub struct Allowlist<E> {
    patterns: Vec<E>,
    names: Vec<E>,
    matches: fn(&E, &str, u16) -> bool,
}

impl<E: fmt::Display> Allowlist<E> {
    /// A list of entries, and what says whether one means a host and port.
    pub fn new(entries: impl IntoIterator<Item = E>, matches: fn(&E, &str, u16) -> bool) -> Self {
        let is_pattern = |entry: &E| entry.to_string().contains('*');
        let (patterns, names) = entries.into_iter().partition(is_pattern);
        Self { patterns, names, matches }
    }
}

impl<E: fmt::Display> fmt::Debug for Allowlist<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.names.iter().chain(&self.patterns);
        f.debug_set().entries(entries.map(ToString::to_string)).finish()
    }
}

impl<E: Send + Sync + 'static> Permit for Allowlist<E> {
    fn allows(&self, host: &str, port: u16) -> bool {
        let mut entries = self.names.iter().chain(&self.patterns);
        entries.any(|entry| (self.matches)(entry, host, port))
    }

    fn names(&self, host: &str, port: u16) -> bool {
        self.names.iter().any(|entry| (self.matches)(entry, host, port))
    }
}

/// Whether a target may be asked, before it is known where it is.
pub(crate) fn check_host(
    permit: &dyn Permit,
    target: &Target,
    redirected: bool,
) -> Result<(), FetchError> {
    let (host, port) = (target.host(), target.port());
    if permit.allows(host, port) {
        return Ok(());
    }
    Err(FetchError::NotAllowed { host: host.to_owned(), port, redirected })
}

/// Whether it may be asked at all of the addresses it is at. One bad address is enough: a name
/// that is at a public address and at 127.0.0.1 is not an honest one.
pub(crate) fn check_addresses(
    permit: &dyn Permit,
    target: &Target,
    addresses: &[IpAddr],
    redirected: bool,
) -> Result<(), FetchError> {
    let is_named = permit.names(target.host(), target.port());
    for &address in addresses {
        let kind = kind(address);
        let is_allowed = match kind {
            Kind::Public => true,
            kind if kind.can_have_names() => is_named,
            _ => is_named && target.address().is_some(),
        };
        if !is_allowed {
            let host = target.host().to_owned();
            let entry = if kind.can_have_names() { host.clone() } else { literal(address) };
            return Err(FetchError::NotPublic { host, address, kind, entry, redirected });
        }
    }
    Ok(())
}

/// An address as the host of a URL.
fn literal(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}
