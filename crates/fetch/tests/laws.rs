//! What holds for every URL and every response.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use support::{LONG, Server, list};
use tollgate_fetch::{Client, Kind, Limits, Network, Request, kind};

/// Resolves every name to the same, connects to nobody, and remembers who that would have been.
#[derive(Clone, Default)]
struct Recorder {
    answer: Vec<IpAddr>,
    resolved: Arc<Mutex<Vec<String>>>,
    connected: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Network for Recorder {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.resolved.lock().unwrap().push(host.to_owned());
        Ok(self.answer.clone())
    }

    fn connect(&self, address: SocketAddr, _: Duration) -> io::Result<TcpStream> {
        self.connected.lock().unwrap().push(address);
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

/// Pieces that URLs are made of, and what is put into them to deceive.
fn url() -> impl Strategy<Value = String> {
    let scheme = prop_oneof![
        8 => Just("http://".to_owned()),
        4 => Just("https://".to_owned()),
        1 => "(http:|HTTPS:/|ftp://|file:///|//|)",
    ];
    let part = prop_oneof![
        "[0-9]{1,10}",
        "0x[0-9a-f]{1,8}",
        "0[0-7]{1,11}",
        "[a-z]{1,8}",
        Just("127".to_owned()),
        Just("169.254.169.254".to_owned()),
        Just("localhost".to_owned()),
        Just("allowed.example".to_owned()),
        Just("xn--".to_owned()),
        Just("１２７".to_owned()),
        "\\[[0-9a-f:.]{1,20}\\]",
        "[.@:%#?/\\\\]",
        "%[0-9a-f]{2}",
        "\\PC",
    ];
    let host = prop::collection::vec(part, 1..6)
        .prop_flat_map(|parts| prop_oneof![Just(parts.join(".")), Just(parts.concat())]);
    let rest = prop_oneof![Just(String::new()), ":[0-9]{0,6}", "/\\PC{0,10}", "[:@/?#]\\PC{0,10}"];
    prop_oneof![
        9 => (scheme, host, rest).prop_map(|(scheme, host, rest)| scheme + &host + &rest),
        1 => any::<String>(),
    ]
}

/// Any address, and often one near a border.
fn address() -> impl Strategy<Value = IpAddr> {
    let first = prop::sample::select(vec![0_u8, 8, 10, 100, 127, 169, 172, 192, 198, 224, 255]);
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        (first, any::<[u8; 3]>()).prop_map(|(a, [b, c, d])| IpAddr::from([a, b, c, d])),
        any::<[u16; 8]>().prop_map(IpAddr::from),
        (any::<[u8; 4]>(), prop::sample::select(vec![0, 0xffff_u16])).prop_map(|(v4, sixth)| {
            let [a, b, c, d] = v4;
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            IpAddr::from([0, 0, 0, 0, 0, sixth, high, low])
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_url_leads_to_an_address_that_is_not_public(url in url(), answer in address()) {
        let network = Recorder { answer: vec![answer], ..Recorder::default() };
        let client = Client::new(Limits::default(), list(&["*"])).with_network(network.clone());
        let _ = client.request(Request::get(&url), LONG);
        for address in network.connected.lock().unwrap().iter() {
            prop_assert_eq!(kind(address.ip()), Kind::Public, "{}", url);
        }
    }

    #[test]
    fn no_url_leads_to_a_host_that_is_not_listed(url in url()) {
        let network = Recorder { answer: vec![[8, 8, 8, 8].into()], ..Recorder::default() };
        let client = Client::new(Limits::default(), list(&["allowed.example:80"]));
        let client = client.with_network(network.clone());
        let outcome = client.request(Request::get(&url), LONG);
        for host in network.resolved.lock().unwrap().iter() {
            prop_assert_eq!(host, "allowed.example", "{}", url);
        }
        for address in network.connected.lock().unwrap().iter() {
            prop_assert_eq!(*address, SocketAddr::from(([8, 8, 8, 8], 80)), "{}", url);
        }
        prop_assert!(outcome.is_err());
    }

    #[test]
    fn a_check_says_what_a_request_does(url in url()) {
        let network = Recorder { answer: vec![[8, 8, 8, 8].into()], ..Recorder::default() };
        let client = Client::new(Limits::default(), list(&["*", "127.0.0.1"]));
        let client = client.with_network(network.clone());
        let checked = client.check(&url);
        let _ = client.request(Request::get(&url), LONG);
        prop_assert_eq!(checked.is_ok(), !network.connected.lock().unwrap().is_empty(), "{}", url);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_response_is_too_much(
        head in "(HTTP/1\\.[01] [1-5][0-9]{2} OK\r\n|\\PC{0,10}\r\n)",
        headers in prop::collection::vec(
            "(content-length: [0-9]{1,4}|transfer-encoding: chunked|location: \\PC{0,8}|[a-z]{1,4}: \\PC{0,4})\r\n",
            0..4,
        ),
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut text = (head + &headers.concat() + "\r\n").into_bytes();
        text.extend(body);
        let server = Server::says(text);
        let limits = Limits { body: 100, ..Limits::default() };
        let client = Client::new(limits, list(&["127.0.0.1"]));
        if let Ok(response) = client.request(Request::get(server.url("/")), LONG) {
            prop_assert!(response.body.len() <= 100);
        }
    }
}
