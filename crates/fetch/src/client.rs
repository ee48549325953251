//! The client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::FetchError;
use crate::follow::Way;
use crate::limits::Limits;
use crate::network::{Network, SystemNetwork};
use crate::permit::Permit;
use crate::pool::Pool;
use crate::request::{Request, Response};
use crate::ticket::{Sending, Ticket};
use crate::wire::Line;

/// How long a thread waits for more before it ends.
const IDLE: Duration = Duration::from_secs(5);

/// Makes requests that go only where they were allowed to.
///
/// Clones share their threads and bounds. There is no thread until the first request, and none
/// when there was nothing to do for some seconds.
#[derive(Clone)]
pub struct Client {
    way: Way,
    pool: Arc<Pool>,
}

impl Client {
    /// A client that may ask whom the permit allows.
    pub fn new(limits: Limits, permit: impl Permit) -> Self {
        let limits = limits.within_reason();
        let pool = Arc::new(Pool::new(limits.running, limits.waiting, IDLE));
        let line = Line::new(&limits, None);
        let network = Arc::new(SystemNetwork);
        Self { way: Way { limits, permit: Arc::new(permit), network, line }, pool }
    }

    /// The same, with another way out.
    pub fn with_network(mut self, network: impl Network) -> Self {
        self.way.network = Arc::new(network);
        self
    }

    /// The same, trusting these certificates (DER) to vouch for servers, and no others: the
    /// bundled ones no longer count.
    pub fn with_roots<C: AsRef<[u8]>>(mut self, roots: impl IntoIterator<Item = C>) -> Self {
        let roots = roots.into_iter().map(|der| der.as_ref().to_vec()).collect();
        self.way.line = Line::new(&self.way.limits, Some(roots));
        self
    }

    /// Whether a URL is in order and its host allowed, as far as that can be said without
    /// resolving its name.
    ///
    /// ```
    /// use tollgate_fetch::{Client, FetchError, Limits};
    ///
    /// let client = Client::new(Limits::default(), |host: &str, _: u16| host == "example.org");
    /// assert!(client.check("https://EXAMPLE.org./").is_ok());
    /// assert_eq!(
    ///     client.check("https://example.com/").unwrap_err().to_string(),
    ///     "`example.com` on port 443 is not allowed; to allow it, add `example.com` or \
    ///      `example.com:443` to `http.allow` in config.toml",
    /// );
    /// ```
    pub fn check(&self, url: &str) -> Result<(), FetchError> {
        self.way.check(url).map(drop)
    }

    /// Makes a request and waits for its response, no longer than the time given.
    pub fn request(&self, request: Request, time: Duration) -> Result<Response, FetchError> {
        self.begin(request, time).wait()
    }

    /// Begins a request. The time counts from now on.
    pub fn send(&self, request: Request, time: Duration) -> Sending {
        Sending { ticket: self.begin(request, time) }
    }

    fn begin(&self, request: Request, time: Duration) -> Arc<Ticket> {
        let ticket = Ticket::new(time.min(self.way.limits.time));
        // What is refused anyway needs no thread.
        if let Err(error) = self.way.check(&request.url) {
            ticket.finish(Err(error));
            return ticket;
        }
        let way = self.way.clone();
        self.pool.submit(&ticket, Box::new(move |ticket| way.follow(request, ticket)));
        ticket
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("limits", &self.way.limits).finish_non_exhaustive()
    }
}
