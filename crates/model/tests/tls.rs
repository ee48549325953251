//! https, with an authority of one's own.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::{ask, once, read_request, request};
use tollgate_model::ModelError;
use tollgate_model::provider::{self, OpenError, Options};

/// A server that says hello to one client in Ollama's format, and the PEM of who vouches for it.
fn server(names: &[&str]) -> (u16, String, thread::JoinHandle<()>) {
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let pem = pem(authority.der());
    let issuer = Issuer::new(params, authority_key);

    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        // A client that does not trust us hangs up here.
        if !read_request(&mut stream) {
            return;
        }
        let line = "{\"message\":{\"content\":\"Hello.\"},\"done\":true}\n";
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(format!("{head}{line}").as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    (port, pem, thread)
}

fn pem(der: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in der.chunks(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        for digit in 0..4 {
            let is_there = digit <= three.len();
            text.push(if is_there {
                char::from(DIGITS[bits >> (18 - 6 * digit) & 63])
            } else {
                '='
            });
        }
    }
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

#[tokio::test]
async fn who_is_vouched_for_is_believed_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roots.pem");
    for (names, is_listed, is_believed) in [
        (["localhost", "127.0.0.1"], true, true),
        (["localhost", "127.0.0.1"], false, false),
        (["other.test", "192.0.2.1"], true, false),
    ] {
        for host in ["localhost", "127.0.0.1"] {
            let (port, pem, thread) = server(&names);
            std::fs::write(&path, pem).unwrap();
            let options = Options { base_url: Some(format!("https://{host}:{port}")), ..once() };
            let roots = is_listed.then(|| path.display().to_string());
            let environment = |name: &str| roots.clone().filter(|_| name == "SSL_CERT_FILE");
            let model = provider::open_in("ollama/x", &options, &environment).unwrap();
            let reply = ask(&*model, &request("Go")).await.0;
            if is_believed {
                assert_eq!(reply.unwrap().text, "Hello.", "{host}");
            } else {
                let error = reply.unwrap_err();
                assert!(matches!(error, ModelError::Connect { .. }), "{error}");
                assert!(error.to_string().contains("certificate"), "{error}");
            }
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_file_without_certificates_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roots.pem");
    let open = || {
        let environment =
            |name: &str| (name == "SSL_CERT_FILE").then(|| path.display().to_string());
        provider::open_in("ollama/x", &Options::default(), &environment).err().unwrap()
    };
    assert!(matches!(open(), OpenError::Tls(_)));
    std::fs::write(&path, "nothing").unwrap();
    let error = open().to_string();
    assert!(error.starts_with("SSL_CERT_FILE: "), "{error}");
    assert!(error.contains("there are none in it"), "{error}");
}
