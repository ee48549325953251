//! https.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::{Got, LONG, Server, TestNetwork, list, ok, redirect};
use tollgate_fetch::{Client, FetchError, Limits, Request, Response};

/// Somebody who vouches for servers.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: Vec<u8>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let der = params.self_signed(&key).unwrap().der().to_vec();
        Self { issuer: Issuer::new(params, key), der }
    }

    /// A server with a certificate for these names, which always answers the same.
    fn server(&self, names: &[&str], text: String) -> SocketAddr {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                // A client that trusts us not hangs up here.
                if Got::read(&mut stream).is_ok() {
                    let _ = stream.write_all(text.as_bytes());
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
            }
        });
        address
    }
}

fn get(authority: &Authority, server: SocketAddr, url: &str) -> Result<Response, FetchError> {
    let plain = Server::says(ok("plain"));
    let network = TestNetwork::default()
        .name("a.example", &[&["93.184.216.34"]])
        .name("plain.example", &[&["93.184.216.35"]])
        .lead("93.184.216.34", server)
        .route("93.184.216.35", &plain);
    let client = Client::new(Limits::default(), list(&["*.example", "93.184.216.34"]));
    client.with_roots([&authority.der]).with_network(network).request(Request::get(url), LONG)
}

#[test]
fn a_server_that_is_vouched_for_is_asked() {
    let authority = Authority::new();
    let server = authority.server(&["a.example", "93.184.216.34"], ok("safe"));
    for url in [
        "https://a.example/",
        "https://a.example./",
        "https://A.EXAMPLE:8443/",
        "https://93.184.216.34/",
    ] {
        assert_eq!(get(&authority, server, url).unwrap().text(), "safe", "{url}");
    }
}

#[test]
fn a_server_that_is_not_vouched_for_is_not() {
    let authority = Authority::new();
    let other = authority.server(&["b.example"], ok("other"));
    let error = get(&authority, other, "https://a.example/").unwrap_err();
    assert!(matches!(error, FetchError::Exchange { .. }), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    // Known to another authority, or to none.
    let server = authority.server(&["a.example"], ok("unknown"));
    let error = get(&Authority::new(), server, "https://a.example/").unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let network = TestNetwork::default().name("a.example", &[&["8.8.8.8"]]).lead("8.8.8.8", server);
    let bundled = Client::new(Limits::default(), list(&["*"])).with_network(network);
    let error = bundled.request(Request::get("https://a.example/"), LONG).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn no_redirect_leads_from_https_to_http() {
    let authority = Authority::new();
    for to in ["http://a.example/", "http://plain.example/", "http://127.0.0.1/"] {
        let server = authority.server(&["a.example"], redirect(302, to));
        let error = get(&authority, server, "https://a.example/").unwrap_err();
        assert_eq!(error, FetchError::Downgrade { host: "a.example".to_owned() }, "{to}");
        assert!(error.is_refusal());
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_an_error() {
    let plain = Server::says(ok("plain"));
    let error = get(&Authority::new(), plain.address, "https://a.example/").unwrap_err();
    assert!(matches!(error, FetchError::Exchange { .. }), "{error}");
}

#[test]
fn roots_that_are_none_vouch_for_nobody() {
    let authority = Authority::new();
    let server = authority.server(&["a.example"], ok("x"));
    let nobody = Authority { der: b"no certificate".to_vec(), ..Authority::new() };
    assert!(get(&nobody, server, "https://a.example/").is_err());
}
