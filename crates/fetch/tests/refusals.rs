//! Who is asked, and who is not.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::net::IpAddr;

use support::{LONG, Server, TestNetwork, client, list, ok};
use tollgate_fetch::{Client, FetchError, Kind, Limits, Request};

/// Spellings of addresses that nobody is to reach, and what they are.
const SPELLINGS: &[(&str, Kind)] = &[
    ("127.0.0.1", Kind::Loopback),
    ("127.0.0.1.", Kind::Loopback),
    ("127.1", Kind::Loopback),
    ("127.0.1", Kind::Loopback),
    ("127.000.000.001", Kind::Loopback),
    ("2130706433", Kind::Loopback),
    ("0x7f000001", Kind::Loopback),
    ("0X7F000001", Kind::Loopback),
    ("0x7f.1", Kind::Loopback),
    ("0x7f.0x0.0x0.0x1", Kind::Loopback),
    ("017700000001", Kind::Loopback),
    ("0177.0.0.1", Kind::Loopback),
    ("0177.0x0.1", Kind::Loopback),
    ("127.255.255.254", Kind::Loopback),
    ("127.0.0.%31", Kind::Loopback),
    ("%31%32%37.0.0.1", Kind::Loopback),
    ("１２７.０.０.１", Kind::Loopback),
    ("①②⑦.⓪.⓪.①", Kind::Loopback),
    ("127。0。0。1", Kind::Loopback),
    ("[::1]", Kind::Loopback),
    ("[0:0:0:0:0:0:0:1]", Kind::Loopback),
    ("[0000::0001]", Kind::Loopback),
    ("[::ffff:127.0.0.1]", Kind::Loopback),
    ("[::FFFF:7f00:1]", Kind::Loopback),
    ("[::127.0.0.1]", Kind::Loopback),
    ("[64:ff9b::127.0.0.1]", Kind::Loopback),
    ("[2002:7f00:1::]", Kind::Loopback),
    ("0", Kind::Unspecified),
    ("0.0.0.0", Kind::Unspecified),
    ("0x0", Kind::Unspecified),
    ("0.1", Kind::Unspecified),
    ("[::]", Kind::Unspecified),
    ("[::ffff:0.0.0.0]", Kind::Unspecified),
    ("10.0.0.1", Kind::Private),
    ("10.1", Kind::Private),
    ("0xa000001", Kind::Private),
    ("012.1", Kind::Private),
    ("172.16.1", Kind::Private),
    ("192.168.257", Kind::Private),
    ("3232235777", Kind::Private),
    ("[::ffff:c0a8:101]", Kind::Private),
    ("[fec0::1]", Kind::Private),
    ("[64:ff9b:1::808:808]", Kind::Private),
    ("100.64.1", Kind::Shared),
    ("[fc00::1]", Kind::UniqueLocal),
    ("[fdab:cdef::1]", Kind::UniqueLocal),
    ("169.254.169.254", Kind::Metadata),
    ("2852039166", Kind::Metadata),
    ("0xa9fea9fe", Kind::Metadata),
    ("169.254.43518", Kind::Metadata),
    ("0251.0376.0251.0376", Kind::Metadata),
    ("[::ffff:169.254.169.254]", Kind::Metadata),
    ("[::ffff:a9fe:a9fe]", Kind::Metadata),
    ("[fd00:ec2::254]", Kind::Metadata),
    ("168.63.129.16", Kind::Metadata),
    ("169.254.1.1", Kind::LinkLocal),
    ("[fe80::1]", Kind::LinkLocal),
    ("224.0.0.1", Kind::Multicast),
    ("[ff02::1]", Kind::Multicast),
    ("255.255.255.255", Kind::Broadcast),
    ("4294967295", Kind::Broadcast),
    ("192.0.2.1", Kind::Reserved),
    ("198.18.0.1", Kind::Reserved),
    ("203.0.113.9", Kind::Reserved),
    ("240.0.0.1", Kind::Reserved),
    ("[2001:db8::1]", Kind::Reserved),
    ("[100::1]", Kind::Reserved),
];

#[test]
fn no_spelling_of_a_forbidden_address_gets_through() {
    for port in ["", ":80", ":8080"] {
        for (host, expected) in SPELLINGS {
            let url = format!("http://{host}{port}/");
            let network = TestNetwork::default();
            let client = client(&["*", "*.0.0.1"]).with_network(network.clone());
            match client.request(Request::get(&url), LONG) {
                Err(FetchError::NotPublic { kind, .. }) => assert_eq!(kind, *expected, "{url}"),
                other => panic!("{url}: {other:?}"),
            }
            assert!(network.connected().is_empty() && network.resolved().is_empty(), "{url}");
        }
    }
}

#[test]
fn no_name_at_a_forbidden_address_gets_through() {
    for (host, expected) in SPELLINGS {
        let bare = host.trim_matches(['[', ']']);
        // Only those that are addresses as they stand.
        let Ok(_) = bare.parse::<IpAddr>() else { continue };
        for answers in [&[bare][..], &["8.8.8.8", bare], &[bare, "8.8.8.8"]] {
            let network = TestNetwork::default().name("a.example", &[answers]);
            let client = client(&["*", "*.example", host]).with_network(network.clone());
            match client.request(Request::get("https://a.example/"), LONG) {
                Err(FetchError::NotPublic { kind, .. }) => assert_eq!(kind, *expected, "{host}"),
                other => panic!("{host}: {other:?}"),
            }
            assert!(network.connected().is_empty(), "{host}");
        }
    }
}

#[test]
fn what_is_no_usable_url_is_refused() {
    let cases = [
        ("", "does not begin"),
        ("example.org", "does not begin"),
        ("//example.org/", "does not begin"),
        ("http:/example.org/", "does not begin"),
        ("http:example.org", "does not begin"),
        ("file:///etc/passwd", "only `https://`"),
        ("ftp://example.org/", "only `https://`"),
        ("gopher://127.0.0.1:6379/_x", "only `https://`"),
        ("unix:///run/docker.sock", "only `https://`"),
        ("javascript://example.org/", "only `https://`"),
        ("http://", "no host"),
        ("http:///example.org/", "no host"),
        ("http:////example.org/", "no host"),
        ("http://?x", "no host"),
        ("http://:80/", "host"),
        ("http://user@example.org/", "name or password"),
        ("http://user:secret@example.org/", "name or password"),
        ("http://@example.org/", "name or password"),
        ("http://example.org@127.0.0.1/", "name or password"),
        ("http://example.org\\@127.0.0.1/", "white space"),
        ("http://example.org\\.evil.example/", "white space"),
        (" http://example.org/", "white space"),
        ("http://exam\nple.org/", "white space"),
        ("http://exam\tple.org/", "white space"),
        ("http://example.org/\r\nhost: x", "white space"),
        ("http://example.org/a b", "white space"),
        ("http://example.org/\0", "white space"),
        ("http://example.org:0/", "port"),
        ("http://example.org:65536/", "port"),
        ("http://example.org:x/", "port"),
        ("http://1.2.3.4.5/", "IPv4"),
        ("http://256.1.1.1/", "IPv4"),
        ("http://0x100000000/", "IPv4"),
        ("http://[::1/", "IPv6"),
        ("http://[fe80::1%25eth0]/", "IPv6"),
        ("http://[127.0.0.1]/", "IPv6"),
        ("http://a..example/", "host"),
        ("http://./", "host"),
        ("http://../", "host"),
        ("http://example.org../", "host"),
        ("http://a%00b.example/", "domain"),
        ("http://a%2fb.example/", "domain"),
        ("http://a!b.example/", "host"),
        ("http://xn--a/", "domain"),
    ];
    let network = TestNetwork::default();
    let client = client(&["*", "127.0.0.1"]).with_network(network.clone());
    for (url, expected) in cases {
        match client.request(Request::get(url), LONG) {
            Err(error @ FetchError::Url { .. }) => {
                let message = error.to_string();
                assert!(message.contains(expected), "{url:?}: {message}");
                assert!(!message.contains("secret"), "{message}");
            }
            other => panic!("{url:?}: {other:?}"),
        }
    }
    assert!(network.connected().is_empty() && network.resolved().is_empty());
}

#[test]
fn a_url_has_a_bound() {
    let client = Client::new(Limits { url: 100, ..Limits::default() }, list(&["*"]));
    let begin = "https://example.org/";
    let url = |length: usize| begin.to_owned() + &"x".repeat(length - begin.len());
    assert_eq!(client.check(&url(100)), Ok(()));
    let error = client.check(&url(101)).unwrap_err().to_string();
    assert!(error.contains("more than 100 bytes"), "{error}");
    let error = client.check(&url(10_000_000)).unwrap_err().to_string();
    assert!(error.len() < 400, "{error}");
}

#[test]
fn an_empty_list_allows_nothing() {
    let network = TestNetwork::default();
    let client = client(&[]).with_network(network.clone());
    for url in ["https://example.org/", "http://127.0.0.1/", "http://[::1]/", "http://localhost/"] {
        let error = client.request(Request::get(url), LONG).unwrap_err();
        assert!(matches!(error, FetchError::NotAllowed { .. }), "{error}");
        assert!(error.is_refusal());
    }
    assert!(network.resolved().is_empty());
}

#[test]
fn hosts_are_compared_in_one_form() {
    let cases = [
        (&["example.org"][..], "https://example.org/", true),
        (&["example.org"], "https://EXAMPLE.Org/", true),
        (&["example.org"], "https://example.org./", true),
        (&["example.org"], "https://ex%61mple.org/", true),
        (&["example.org"], "https://ｅｘａｍｐｌｅ.org/", true),
        (&["example.org"], "https://example。org/", true),
        (&["example.org"], "HTTPS://example.org:443/", true),
        (&["example.org"], "https://example.org.evil.example/", false),
        (&["example.org"], "https://evil-example.org/", false),
        (&["example.org"], "https://a.example.org/", false),
        (&["*.example.org"], "https://a.example.org/", true),
        (&["*.example.org"], "https://a.b.example.org/", true),
        (&["*.example.org"], "https://example.org/", false),
        (&["*.example.org"], "https://evilexample.org/", false),
        (&["example.org:8080"], "http://example.org:8080/", true),
        (&["example.org:8080"], "http://example.org/", false),
        (&["example.org:443"], "https://example.org/", true),
        (&["example.org:443"], "http://example.org/", false),
        (&["xn--bcher-kva.example"], "https://bücher.example/", true),
        (&["xn--bcher-kva.example"], "https://BÜCHER.example/", true),
        (&["example.org"], "https://exаmple.org/", false), // with a Cyrillic letter
        (&["127.0.0.1"], "http://2130706433/", true),
        (&["127.0.0.1"], "http://0x7f.1/", true),
        (&["127.0.0.1"], "http://127.0.0.2/", false),
        (&["127.0.0.1:80"], "http://127.0.0.1:81/", false),
        (&["127.0.0.1"], "http://[::ffff:127.0.0.1]/", false),
        (&["[::1]"], "http://[0:0::1]/", true),
        (&["[::1]:80"], "http://[::1]:81/", false),
        (&["*", "169.254.169.254"], "http://169.254.169.254/", true),
        (&["*"], "http://8.8.8.8/", true),
        (&["*"], "http://[2001:4860:4860::8888]/", true),
    ];
    for (entries, url, expected) in cases {
        let checked = client(entries).check(url);
        assert_eq!(checked.is_ok(), expected, "{entries:?} {url}: {checked:?}");
    }
}

#[test]
fn a_name_that_is_listed_may_be_inside_but_not_at_metadata() {
    let server = Server::says(ok("inside"));
    let cases = [
        (&["wiki.corp"][..], "10.0.0.7", true),
        (&["wiki.corp"], "127.0.0.1", true),
        (&["wiki.corp"], "fd12::1", true),
        (&["wiki.corp"], "100.64.0.1", true),
        (&["wiki.corp"], "198.18.0.1", true),
        (&["*.corp"], "198.18.0.1", false),
        (&["wiki.corp:80"], "10.0.0.7", true),
        (&["wiki.corp:81", "*"], "10.0.0.7", false),
        (&["*.corp"], "10.0.0.7", false),
        (&["*.corp", "10.0.0.7"], "10.0.0.7", false),
        (&["wiki.corp"], "169.254.169.254", false),
        (&["wiki.corp", "169.254.169.254"], "169.254.169.254", false),
        (&["wiki.corp"], "fe80::1", false),
        (&["wiki.corp"], "0.0.0.0", false),
        (&["wiki.corp"], "224.0.0.1", false),
        (&["*.corp"], "8.8.8.8", true),
    ];
    for (entries, address, expected) in cases {
        let network =
            TestNetwork::default().name("wiki.corp", &[&[address]]).route(address, &server);
        let client = client(entries).with_network(network.clone());
        let response = client.request(Request::get("http://wiki.corp/"), LONG);
        assert_eq!(response.is_ok(), expected, "{entries:?} {address}: {response:?}");
        assert_eq!(network.connected().len(), usize::from(expected));
    }
}

#[test]
fn messages_say_what_to_write() {
    let network = TestNetwork::default()
        .name("wiki.corp", &[&["10.0.0.7"]])
        .name("evil.corp", &[&["169.254.169.254"]]);
    let client = client(&["*.corp"]).with_network(network);
    let message = |url: &str| client.request(Request::get(url), LONG).unwrap_err().to_string();
    assert_eq!(
        message("https://example.org:8443/"),
        "`example.org` on port 8443 is not allowed; to allow it, add `example.org` or \
         `example.org:8443` to `http.allow` in config.toml"
    );
    assert_eq!(
        message("https://wiki.corp/"),
        "`wiki.corp` is at 10.0.0.7, a private network, and not listed for that; to allow it, add \
         `wiki.corp` to `http.allow` in config.toml"
    );
    assert_eq!(
        message("https://evil.corp/"),
        "`evil.corp` is at 169.254.169.254, a cloud's metadata service, and not listed for that; \
         to allow it, add `169.254.169.254` to `http.allow` in config.toml and use that as the host"
    );
}

#[test]
fn a_name_is_resolved_once_and_the_answer_is_what_is_connected_to() {
    let server = Server::says(ok("public"));
    // The second answer would be the attack.
    let network = TestNetwork::default()
        .name("a.example", &[&["93.184.216.34"], &["127.0.0.1"]])
        .route("93.184.216.34", &server);
    let client = client(&["*"]).with_network(network.clone());
    let response = client.request(Request::get("http://a.example/"), LONG).unwrap();
    assert_eq!(response.text(), "public");
    assert_eq!(network.resolved(), ["a.example"]);
    assert_eq!(network.connected(), ["93.184.216.34:80".parse().unwrap()]);
    // Nothing is remembered: the next request is checked anew.
    let error = client.request(Request::get("http://a.example/"), LONG).unwrap_err();
    assert!(matches!(error, FetchError::NotPublic { kind: Kind::Loopback, .. }), "{error}");
    assert_eq!(network.connected().len(), 1);
}

#[test]
fn an_address_where_nobody_is_does_not_hide_the_others() {
    let server = Server::says(ok("second"));
    let network = TestNetwork::default()
        .name("a.example", &[&["8.8.8.8", "9.9.9.9"]])
        .route("9.9.9.9", &server);
    let client = client(&["*"]).with_network(network.clone());
    let response = client.request(Request::get("http://a.example/"), LONG).unwrap();
    assert_eq!(response.text(), "second");
    assert_eq!(network.connected().len(), 2);
}

#[test]
fn no_more_than_eight_addresses_are_tried() {
    let many: Vec<String> = (1..100).map(|n| format!("8.8.8.{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let network = TestNetwork::default().name("a.example", &[&many]).name("b.example", &[&[]]);
    let client = client(&["*"]).with_network(network.clone());
    let error = client.request(Request::get("http://a.example/"), LONG).unwrap_err();
    assert!(matches!(error, FetchError::Connect { .. }), "{error}");
    assert_eq!(network.connected().len(), 8);
    let error = client.request(Request::get("http://b.example/"), LONG).unwrap_err();
    assert!(matches!(error, FetchError::Resolve { .. }), "{error}");
    let error = client.request(Request::get("http://c.example/"), LONG).unwrap_err();
    assert_eq!(error.to_string(), "`c.example` cannot be resolved: no such name");
}

#[test]
fn a_function_is_a_permit_that_opens_nothing_inside() {
    let permit = |_: &str, _: u16| true;
    let client = Client::new(Limits::default(), permit);
    assert!(client.check("https://example.org/").is_ok());
    assert!(client.check("http://127.0.0.1/").is_err());
}
