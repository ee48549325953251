//! The way out.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// The way out: names and connections. Give a client one of your own to test what uses it.
///
/// Neither function decides anything. What `resolve` answers is checked, and `connect` is only
/// called with addresses of that answer.
pub trait Network: Send + Sync + 'static {
    /// The addresses of a host. Asked once for each hop; a host that is an address is not asked.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;

    /// A connection to an address.
    fn connect(&self, address: SocketAddr, time: Duration) -> io::Result<TcpStream>;
}

/// The network of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNetwork;

impl Network for SystemNetwork {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }

    fn connect(&self, address: SocketAddr, time: Duration) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&address, time)
    }
}
