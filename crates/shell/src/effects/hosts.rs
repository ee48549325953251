//! What kind of machine a host is, told by its name.

/// How far a host is, and who is behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// This machine.
    Local,
    /// The network it is in: private addresses, names without a dot.
    Private,
    /// The service that hands out the credentials of a virtual machine.
    Metadata,
    /// Where a tool is set up to go: a remote of the repository, a registry, a cluster, a provider.
    Configured,
    /// A site to which anybody can upload, and that shows it to others.
    Public,
    /// Any other.
    Other,
    /// It cannot be told.
    Unknown,
}

impl Reach {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Private => "private",
            Self::Metadata => "metadata",
            Self::Configured => "configured",
            Self::Public => "public",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

/// What stands for a host that a tool has in its settings, where need be with a name: `remote origin`.
const CONFIGURED: &[&str] = &["remote", "registry", "cluster", "provider"];

/// Sites to which anybody can upload.
const PUBLIC: &[&str] = &[
    "0x0.st",
    "anonfiles.com",
    "bashupload.com",
    "beeceptor.com",
    "burpcollaborator.net",
    "canarytokens.com",
    "catbox.moe",
    "codepad.org",
    "controlc.com",
    "dpaste.com",
    "dpaste.org",
    "dropmefiles.com",
    "file.io",
    "filebin.net",
    "gist.github.com",
    "gofile.io",
    "hastebin.com",
    "hookb.in",
    "interact.sh",
    "interactsh.com",
    "ix.io",
    "justpaste.it",
    "oast.fun",
    "oast.live",
    "oast.me",
    "oast.online",
    "oast.pro",
    "oast.site",
    "oastify.com",
    "paste.debian.net",
    "paste.ee",
    "paste.rs",
    "pastebin.com",
    "pastebin.pl",
    "pastie.org",
    "pipedream.net",
    "privatebin.net",
    "ptpb.pw",
    "rentry.co",
    "requestbin.com",
    "requestbin.net",
    "requestcatcher.com",
    "rs.io",
    "sendspace.com",
    "sprunge.us",
    "temp.sh",
    "termbin.com",
    "tmpfiles.org",
    "toptal.com/hastebin",
    "transfer.sh",
    "uguu.se",
    "webhook.site",
    "wetransfer.com",
    "write.as",
];

/// Tells what kind of machine a host is.
///
/// ```
/// use tollgate_shell::effects::hosts::{Reach, reach};
///
/// assert_eq!(reach("localhost"), Reach::Local);
/// assert_eq!(reach("192.168.1.4"), Reach::Private);
/// assert_eq!(reach("169.254.169.254"), Reach::Metadata);
/// assert_eq!(reach("x.oastify.com"), Reach::Public);
/// assert_eq!(reach("remote origin"), Reach::Configured);
/// assert_eq!(reach("example.org"), Reach::Other);
/// assert_eq!(reach("$?"), Reach::Unknown);
/// ```
pub fn reach(host: &str) -> Reach {
    if CONFIGURED.contains(&host.split(' ').next().unwrap_or(host)) {
        return Reach::Configured;
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let host = host.as_str();
    if matches!(
        host,
        "169.254.169.254"
            | "metadata.google.internal"
            | "100.100.100.200"
            | "fd00:ec2::254"
            | "169.254.170.2"
    ) {
        return Reach::Metadata;
    }
    if host == "localhost"
        || host.ends_with(".localhost")
        || matches!(host, "::1" | "0.0.0.0" | "::")
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
    {
        return Reach::Local;
    }
    let is_public = |site: &&str| {
        host.strip_suffix(*site).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    };
    if PUBLIC.iter().any(is_public) {
        return Reach::Public;
    }
    if host.is_empty() || host.contains("$?") {
        return Reach::Unknown;
    }
    if is_private(host) { Reach::Private } else { Reach::Other }
}

fn is_private(host: &str) -> bool {
    if let Ok(address) = host.parse::<std::net::Ipv4Addr>() {
        return address.is_private() || address.is_link_local();
    }
    if let Ok(address) = host.parse::<std::net::Ipv6Addr>() {
        return address.is_unique_local() || address.is_unicast_link_local();
    }
    !host.contains('.')
        || [".local", ".internal", ".lan", ".home", ".test", ".svc"]
            .iter()
            .any(|end| host.ends_with(end))
}
