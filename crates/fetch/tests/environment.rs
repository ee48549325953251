//! Proxies that the environment names are not used.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::process::Command;

use support::{LONG, Server, TestNetwork, client, ok};
use tollgate_fetch::Request;

const TARGET: &str = "TOLLGATE_FETCH_TARGET";

/// What is done in a process with another environment; alone it has nothing to do.
#[test]
fn fetches_what_the_environment_says() {
    let Ok(url) = std::env::var(TARGET) else { return };
    let response = client(&["127.0.0.1"]).request(Request::get(url), LONG).unwrap();
    assert_eq!(response.text(), "direct");
    // A name, which a proxy would resolve itself.
    let network = TestNetwork::default().name("a.example", &[&["8.8.8.8"]]);
    let client = client(&["*"]).with_network(network.clone());
    for url in ["http://a.example/", "https://a.example/"] {
        assert!(client.request(Request::get(url), LONG).is_err());
    }
    assert_eq!(network.connected().len(), 2);
}

#[test]
fn proxies_are_not_used() {
    let server = Server::says(ok("direct"));
    for scheme in ["http", "socks5", "socks4a"] {
        let proxy = Server::says(ok("by proxy"));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "fetches_what_the_environment_says"]);
        command.env(TARGET, server.url("/"));
        for name in
            ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
        {
            command.env(name, format!("{scheme}://{}", proxy.address));
        }
        command.env_remove("no_proxy").env_remove("NO_PROXY");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(proxy.got().is_empty(), "{scheme}");
    }
    assert_eq!(server.got().len(), 3);
}
