//! Getting a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Duration, timeout};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::{Io, chain};

/// How many addresses of a name are tried.
const ADDRESSES: usize = 4;
/// How long each is tried before the next: an address of a family that leads nowhere must not
/// take all the time there is.
const EACH: Duration = Duration::from_secs(4);

/// A connection to where the URL leads, with TLS for https.
pub(super) async fn connect(url: &Url, tls: &Arc<ClientConfig>) -> Result<Box<dyn Io>, String> {
    let host = url.host().ok_or("the URL has no host")?;
    let port = url.port_or_known_default().ok_or("the URL has no port")?;
    let stream = reach(&host, port).await?;
    // Requests are written in one go; there is nothing to wait for.
    let _ = stream.set_nodelay(true);
    if url.scheme() != "https" {
        return Ok(Box::new(stream));
    }
    let name = match host {
        Host::Domain(name) => ServerName::try_from(name.to_owned())
            .map_err(|_| format!("`{name}` is no name that a certificate can have"))?,
        Host::Ipv4(address) => ServerName::IpAddress(std::net::IpAddr::V4(address).into()),
        Host::Ipv6(address) => ServerName::IpAddress(std::net::IpAddr::V6(address).into()),
    };
    let connecting = TlsConnector::from(Arc::clone(tls)).connect(name, stream);
    let stream =
        connecting.await.map_err(|error| format!("no safe connection: {}", chain(&error)))?;
    Ok(Box::new(stream))
}

async fn reach(host: &Host<&str>, port: u16) -> Result<TcpStream, String> {
    let addresses: Vec<SocketAddr> = match host {
        Host::Ipv4(address) => vec![(*address, port).into()],
        Host::Ipv6(address) => vec![(*address, port).into()],
        Host::Domain(name) => lookup_host((*name, port))
            .await
            .map_err(|error| format!("`{name}` cannot be resolved: {error}"))?
            .take(ADDRESSES)
            .collect(),
    };
    let mut why = "the name has no addresses".to_owned();
    for address in &addresses {
        let connecting = TcpStream::connect(address);
        // The last one has all the time that is left.
        let result = if Some(address) == addresses.last() {
            connecting.await
        } else {
            timeout(EACH, connecting)
                .await
                .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        };
        match result {
            Ok(stream) => return Ok(stream),
            Err(error) => why = format!("cannot connect: {error}"),
        }
    }
    Err(why)
}
