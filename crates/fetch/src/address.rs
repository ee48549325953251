//! What kind of place an address is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// On the public internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// Shared by the customers of a provider (100.64.0.0/10).
    Shared,
    /// A private network of IPv6 (`fc00::/7`).
    UniqueLocal,
    /// The same link only.
    LinkLocal,
    /// Where a cloud tells a machine its secrets.
    Metadata,
    /// Many machines at once.
    Multicast,
    /// No address, which systems take for this machine.
    Unspecified,
    /// Everybody on the link.
    Broadcast,
    /// Set apart: documentation, benchmarks, protocols, the future.
    Reserved,
}

impl Kind {
    /// Whether a host that is listed by its name may be there: networks of one's own, and ranges
    /// that some use as if they were. At anything else that is not public only an address may be
    /// that is listed itself, since no name that is what it seems leads to a cloud's metadata.
    pub fn can_have_names(self) -> bool {
        match self {
            Self::Public
            | Self::Loopback
            | Self::Private
            | Self::Shared
            | Self::UniqueLocal
            | Self::Reserved => true,
            Self::LinkLocal
            | Self::Metadata
            | Self::Multicast
            | Self::Unspecified
            | Self::Broadcast => false,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "this machine itself",
            Self::Private | Self::UniqueLocal => "a private network",
            Self::Shared => "a provider's shared network",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "a cloud's metadata service",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "the unspecified address",
            Self::Broadcast => "a broadcast address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// What kind of place an address is. One that has an IPv4 address inside is what that is, if that
/// is not public.
///
/// ```
/// use tollgate_fetch::{Kind, kind};
///
/// assert_eq!(kind("93.184.216.34".parse()?), Kind::Public);
/// assert_eq!(kind("::ffff:10.0.0.1".parse()?), Kind::Private);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn kind(address: IpAddr) -> Kind {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

/// First and last address of a range.
struct Range(u32, u32, Kind);

const fn range(address: [u8; 4], bits: u32, kind: Kind) -> Range {
    let first = u32::from_be_bytes(address);
    let rest = if bits == 0 { u32::MAX } else { (1 << (32 - bits)) - 1 };
    Range(first, first | rest, kind)
}

/// The first that fits counts.
const V4: &[Range] = &[
    // Amazon and others, Azure, Alibaba, Oracle.
    range([169, 254, 169, 254], 32, Kind::Metadata),
    range([169, 254, 170, 2], 32, Kind::Metadata),
    range([168, 63, 129, 16], 32, Kind::Metadata),
    range([100, 100, 100, 200], 32, Kind::Metadata),
    range([192, 0, 0, 192], 32, Kind::Metadata),
    range([0, 0, 0, 0], 8, Kind::Unspecified),
    range([10, 0, 0, 0], 8, Kind::Private),
    range([100, 64, 0, 0], 10, Kind::Shared),
    range([127, 0, 0, 0], 8, Kind::Loopback),
    range([169, 254, 0, 0], 16, Kind::LinkLocal),
    range([172, 16, 0, 0], 12, Kind::Private),
    range([192, 0, 0, 0], 24, Kind::Reserved),
    range([192, 0, 2, 0], 24, Kind::Reserved),
    range([192, 88, 99, 0], 24, Kind::Reserved),
    range([192, 168, 0, 0], 16, Kind::Private),
    range([198, 18, 0, 0], 15, Kind::Reserved),
    range([198, 51, 100, 0], 24, Kind::Reserved),
    range([203, 0, 113, 0], 24, Kind::Reserved),
    range([224, 0, 0, 0], 4, Kind::Multicast),
    range([255, 255, 255, 255], 32, Kind::Broadcast),
    range([240, 0, 0, 0], 4, Kind::Reserved),
];

fn kind_v4(address: Ipv4Addr) -> Kind {
    let bits = address.to_bits();
    let found = V4.iter().find(|Range(first, last, _)| (*first..=*last).contains(&bits));
    found.map_or(Kind::Public, |Range(_, _, kind)| *kind)
}

/// Amazon's and Google's by IPv6.
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

#[expect(clippy::match_same_arms, reason = "it reads as a table, from top to bottom")]
fn kind_v6(address: Ipv6Addr) -> Kind {
    let segments = address.segments();
    if METADATA_V6.contains(&address) {
        return Kind::Metadata;
    }
    let own = match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Kind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Loopback,
        // Mapped, compatible, translated, NAT64: nothing but an IPv4 address in other clothes.
        [0, 0, 0, 0, 0, 0xffff | 0, _, _]
        | [0, 0, 0, 0, 0xffff, 0, _, _]
        | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Kind::Public,
        [0xfc00..=0xfdff, ..] => Kind::UniqueLocal,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        // Site-local: nobody should use it any more, some do.
        [0xfec0..=0xfeff, ..] => Kind::Private,
        [0xff00..=0xffff, ..] => Kind::Multicast,
        // NAT64 of a network's own: what is behind it is that network's.
        [0x64, 0xff9b, 1, ..] => Kind::Private,
        // Teredo and 6to4 are tunnels to what is inside; the rest of 2001::/23 is for protocols.
        [0x2001, 0, ..] | [0x2002, ..] => Kind::Public,
        [0x2001, 1..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Reserved,
        // Global unicast as it has been given out so far.
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Reserved,
    };
    if own != Kind::Public {
        return own;
    }
    let inside = inside(segments).map(kind_v4);
    inside.into_iter().find(|kind| *kind != Kind::Public).unwrap_or(Kind::Public)
}

/// The IPv4 addresses in an IPv6 address, if it is of a form that has some; else public ones.
#[expect(clippy::match_same_arms, reason = "one arm for each form")]
fn inside(segments: [u16; 8]) -> [Ipv4Addr; 2] {
    const NONE: Ipv4Addr = Ipv4Addr::new(1, 1, 1, 1);
    let of = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => [of(high, low), NONE],
        [0x2002, high, low, ..] => [of(high, low), NONE],
        // Teredo has its server in clear and its client inverted.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            [of(server_high, server_low), of(!high, !low)]
        }
        // ISATAP, whatever the prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => [of(high, low), NONE],
        _ => [NONE, NONE],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_ends_where_it_ends() {
        let cases = [
            ("0.255.255.255", Kind::Unspecified),
            ("1.0.0.0", Kind::Public),
            ("9.255.255.255", Kind::Public),
            ("10.0.0.0", Kind::Private),
            ("10.255.255.255", Kind::Private),
            ("11.0.0.0", Kind::Public),
            ("100.63.255.255", Kind::Public),
            ("100.64.0.0", Kind::Shared),
            ("100.127.255.255", Kind::Shared),
            ("100.128.0.0", Kind::Public),
            ("126.255.255.255", Kind::Public),
            ("127.0.0.0", Kind::Loopback),
            ("127.255.255.255", Kind::Loopback),
            ("128.0.0.0", Kind::Public),
            ("168.63.129.16", Kind::Metadata),
            ("169.253.255.255", Kind::Public),
            ("169.254.0.0", Kind::LinkLocal),
            ("169.254.169.254", Kind::Metadata),
            ("169.254.255.255", Kind::LinkLocal),
            ("169.255.0.0", Kind::Public),
            ("172.15.255.255", Kind::Public),
            ("172.16.0.0", Kind::Private),
            ("172.31.255.255", Kind::Private),
            ("172.32.0.0", Kind::Public),
            ("192.0.0.1", Kind::Reserved),
            ("192.0.1.0", Kind::Public),
            ("192.0.2.255", Kind::Reserved),
            ("192.167.255.255", Kind::Public),
            ("192.168.0.0", Kind::Private),
            ("192.168.255.255", Kind::Private),
            ("192.169.0.0", Kind::Public),
            ("198.17.255.255", Kind::Public),
            ("198.18.0.0", Kind::Reserved),
            ("198.19.255.255", Kind::Reserved),
            ("198.20.0.0", Kind::Public),
            ("198.51.100.7", Kind::Reserved),
            ("203.0.113.7", Kind::Reserved),
            ("223.255.255.255", Kind::Public),
            ("224.0.0.0", Kind::Multicast),
            ("239.255.255.255", Kind::Multicast),
            ("240.0.0.0", Kind::Reserved),
            ("255.255.255.254", Kind::Reserved),
            ("255.255.255.255", Kind::Broadcast),
            ("::", Kind::Unspecified),
            ("::1", Kind::Loopback),
            ("::2", Kind::Unspecified),
            ("::127.0.0.1", Kind::Loopback),
            ("::8.8.8.8", Kind::Public),
            ("::ffff:127.0.0.1", Kind::Loopback),
            ("::ffff:8.8.8.8", Kind::Public),
            ("::ffff:0:10.0.0.1", Kind::Private),
            ("64:ff9b::169.254.169.254", Kind::Metadata),
            ("64:ff9b::8.8.8.8", Kind::Public),
            ("64:ff9b:1::8.8.8.8", Kind::Private),
            ("64:ff9b:2::8.8.8.8", Kind::Reserved),
            ("100::1", Kind::Reserved),
            ("1fff::1", Kind::Reserved),
            ("2000::1", Kind::Public),
            // Teredo: the server, and the client inverted (192.168.0.1 is 3f57:fffe).
            ("2001:0:0a00:1::1", Kind::Private),
            ("2001:0:808:808::3f57:fffe", Kind::Private),
            ("2001:0:808:808::f7f7:f7f7", Kind::Public),
            ("2001:2::1", Kind::Reserved),
            ("2001:1ff::1", Kind::Reserved),
            ("2001:200::1", Kind::Public),
            ("2001:db8::1", Kind::Reserved),
            ("2001:4860:4860::8888", Kind::Public),
            ("2002:7f00:1::1", Kind::Loopback),
            ("2002:808:808::1", Kind::Public),
            ("2001:4860:4860::5efe:10.0.0.1", Kind::Private),
            ("2001:4860:4860::200:5efe:10.0.0.1", Kind::Private),
            ("2001:4860:4860::5efe:8.8.8.8", Kind::Public),
            ("3fff::1", Kind::Reserved),
            ("3fff:fff::1", Kind::Reserved),
            ("3fff:1000::1", Kind::Public),
            ("4000::1", Kind::Reserved),
            ("5f00::1", Kind::Reserved),
            ("fbff::1", Kind::Reserved),
            ("fc00::1", Kind::UniqueLocal),
            ("fd00:ec2::254", Kind::Metadata),
            ("fdff:ffff::1", Kind::UniqueLocal),
            ("fe00::1", Kind::Reserved),
            ("fe80::1", Kind::LinkLocal),
            ("febf::1", Kind::LinkLocal),
            ("fec0::1", Kind::Private),
            ("ff02::1", Kind::Multicast),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(text.parse().unwrap()), expected, "{text}");
        }
    }
}
