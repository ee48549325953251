//! One exchange over one connection.
//!
//! `ureq` speaks HTTP and TLS here and decides nothing: it gets no resolver, no proxy and no
//! redirects, and its connector can do nothing but connect to the addresses that were checked.
//! All waiting is done in [`Wire`], which knows one deadline.

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use ureq::config::Config;
use ureq::http::{self, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, RustlsConnector, Transport,
};
use ureq::{Agent, Body, Error, Timeout};

use crate::error::{FetchError, Part, Stage};
use crate::limits::Limits;
use crate::network::Network;
use crate::request::{Method, Outgoing};
use crate::target::Target;
use crate::ticket::Ticket;

/// How many addresses of a host are tried.
const TRIED: usize = 8;

/// How much is read at once.
const PIECE: usize = 16 * 1024;

/// What all exchanges of a client have in common.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    config: Config,
    tls: Arc<RustlsConnector>,
    /// How many bytes of a response are read from the network, with all that is around the body:
    /// chunks, trailers, interim responses.
    budget: usize,
    limits: Limits,
}

impl Line {
    pub(crate) fn new(limits: &Limits, roots: Option<Vec<Vec<u8>>>) -> Self {
        const ROOM: usize = 16 * 1024;
        let roots = roots.map_or(RootCerts::WebPki, |roots| {
            let roots = roots.iter().map(|der| Certificate::from_der(der).to_owned());
            RootCerts::new_with_certs(&roots.collect::<Vec<_>>())
        });
        let head = limits.url.saturating_mul(3).saturating_add(limits.request_headers);
        let config = Config::builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("tollgate/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .max_response_header_size(limits.headers)
            // The head of a response must fit whole, or it could not be found too large.
            .input_buffer_size(limits.headers.saturating_add(ROOM))
            .output_buffer_size(head.saturating_add(ROOM))
            .max_idle_connections(0)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        let budget = limits.body.saturating_mul(8).saturating_add(limits.headers);
        let budget = budget.saturating_add(4 * ROOM);
        Self { config, tls: Arc::default(), budget, limits: limits.clone() }
    }

    /// Sends a request to one of the addresses and waits for the head of the response.
    pub(crate) fn ask(
        &self,
        network: &Arc<dyn Network>,
        target: &Target,
        addresses: Vec<SocketAddr>,
        outgoing: &Outgoing,
        ticket: &Arc<Ticket>,
    ) -> Result<http::Response<Body>, FetchError> {
        ticket.enter(Stage::Connecting);
        let pinned = Pinned {
            network: Arc::clone(network),
            addresses,
            ticket: Arc::clone(ticket),
            host: target.host().to_owned(),
            budget: self.budget,
        };
        let connector = pinned.chain(Tls(Arc::clone(&self.tls))).chain(Connected(ticket.clone()));
        let agent = Agent::with_parts(self.config.clone(), connector, Nowhere);
        let mut request =
            http::Request::builder().method(outgoing.method.to_http()).uri(target.as_str());
        request = request.header(http::header::CONNECTION, "close");
        for (name, value) in &outgoing.headers {
            request = request.header(name, value);
        }
        let response = if outgoing.method.has_body() {
            request.body(outgoing.body.as_slice()).map_err(Error::from).and_then(|r| agent.run(r))
        } else {
            request.body(()).map_err(Error::from).and_then(|request| agent.run(request))
        };
        response.map_err(|error| self.explain(error, target, ticket))
    }

    /// Reads the body to its end.
    pub(crate) fn read(
        &self,
        response: http::Response<Body>,
        method: Method,
        target: &Target,
        ticket: &Ticket,
    ) -> Result<Vec<u8>, FetchError> {
        let limit = self.limits.body;
        let too_large = || FetchError::TooLarge { what: Part::ResponseBody, limit };
        if method == Method::Head {
            return Ok(Vec::new());
        }
        let body = response.into_body();
        if body.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        ticket.enter(Stage::Reading);
        let mut reader = body.into_reader();
        let mut read = Vec::new();
        let mut chunk = vec![0; PIECE];
        loop {
            // A connection that was cut off from outside looks like one that ended.
            ticket.left()?;
            let count = match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.explain(Error::from(error), target, ticket)),
            };
            if count > limit.saturating_sub(read.len()) {
                return Err(too_large());
            }
            read.extend(chunk.iter().take(count));
        }
        ticket.left()?;
        Ok(read)
    }

    fn explain(&self, error: Error, target: &Target, ticket: &Ticket) -> FetchError {
        let why = match error {
            Error::Timeout(_) => return ticket.late(),
            Error::LargeResponseHeader(..) => {
                let limit = self.limits.headers;
                return FetchError::TooLarge { what: Part::ResponseHeaders, limit };
            }
            Error::Other(inner) => match inner.downcast::<FetchError>() {
                Ok(error) => return *error,
                Err(inner) => inner.to_string(),
            },
            // What is cut off from outside fails in any of these ways.
            _ if ticket.left().is_err() => return ticket.late(),
            Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
                "the connection ended before the response did".to_owned()
            }
            Error::Io(error) => error.to_string(),
            Error::Http(error) => error.to_string(),
            Error::Protocol(error) => error.to_string(),
            Error::Rustls(error) => error.to_string(),
            other => other.to_string(),
        };
        FetchError::Exchange { host: target.host().to_owned(), why }
    }
}

/// Connects to the addresses that were checked, whatever `ureq` thinks it connects to.
struct Pinned {
    network: Arc<dyn Network>,
    addresses: Vec<SocketAddr>,
    ticket: Arc<Ticket>,
    host: String,
    budget: usize,
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Pinned {
    fn open(&self) -> Result<TcpStream, FetchError> {
        let mut last = None;
        let tried = self.addresses.len().min(TRIED);
        for (index, address) in self.addresses.iter().take(tried).enumerate() {
            // An address where nobody answers must leave time for the others.
            let others = u32::try_from(tried - index).unwrap_or(1);
            let time = self.ticket.left()? / others;
            match self.network.connect(*address, time) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some((*address, error)),
            }
        }
        self.ticket.left()?;
        let host = self.host.clone();
        Err(match last {
            Some((address, error)) => {
                FetchError::Connect { host, port: address.port(), why: error.to_string() }
            }
            None => FetchError::Resolve { host, why: "it has no address".to_owned() },
        })
    }
}

impl Connector<()> for Pinned {
    type Out = Wire;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _chained: Option<()>,
    ) -> Result<Option<Wire>, Error> {
        let stream = self.open().map_err(|error| Error::Other(error.into()))?;
        stream.set_nodelay(true)?;
        self.ticket.hold(stream.try_clone()?);
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        let ticket = Arc::clone(&self.ticket);
        Ok(Some(Wire { stream, buffers, ticket, budget: self.budget }))
    }
}

/// TLS with what is made once for all connections of a client.
#[derive(Debug)]
struct Tls(Arc<RustlsConnector>);

impl<In: Transport> Connector<In> for Tls {
    type Out = <RustlsConnector as Connector<In>>::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        self.0.connect(details, chained)
    }
}

/// Notes that there is a connection.
#[derive(Debug)]
struct Connected(Arc<Ticket>);

impl<In: Transport> Connector<In> for Connected {
    type Out = In;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<In>, Error> {
        self.0.enter(Stage::Asking);
        Ok(chained)
    }
}

/// Resolves nothing: that was done before.
#[derive(Debug)]
struct Nowhere;

impl Resolver for Nowhere {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// A connection with a deadline and a bound on what is read from it.
struct Wire {
    stream: TcpStream,
    buffers: LazyBuffers,
    ticket: Arc<Ticket>,
    budget: usize,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// What a failed read or write means: `None` is to try again.
fn failed(error: io::Error) -> Option<Error> {
    match error.kind() {
        ErrorKind::Interrupted => None,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Some(Error::Timeout(Timeout::Global)),
        _ => Some(Error::Io(error)),
    }
}

impl Transport for Wire {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        let mut rest = self.buffers.output().get(..amount).unwrap_or_default();
        while !rest.is_empty() {
            let left = self.ticket.left().map_err(|_| Error::Timeout(Timeout::Global))?;
            self.stream.set_write_timeout(Some(left))?;
            match self.stream.write(rest) {
                Ok(0) => return Err(Error::Io(ErrorKind::WriteZero.into())),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) => failed(error).map_or(Ok(()), Err)?,
            }
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        loop {
            let left = self.ticket.left().map_err(|_| Error::Timeout(Timeout::Global))?;
            self.stream.set_read_timeout(Some(left))?;
            let room = self.buffers.input_append_buf();
            // In small pieces: `ureq` holds what came along with an interim response for the
            // head of the next one, and would find that too large.
            let room = match room.split_at_mut_checked(PIECE) {
                Some((room, _)) => room,
                None => room,
            };
            match self.stream.read(room) {
                Ok(count) => {
                    let Some(budget) = self.budget.checked_sub(count) else {
                        let why = "there is far more around the body than in it";
                        return Err(Error::Io(io::Error::new(ErrorKind::InvalidData, why)));
                    };
                    self.budget = budget;
                    self.buffers.input_appended(count);
                    return Ok(count > 0);
                }
                Err(error) => failed(error).map_or(Ok(()), Err)?,
            }
        }
    }

    fn is_open(&mut self) -> bool {
        // Never used twice.
        false
    }
}
