//! From a request to its response: every hop is checked as if it were the first.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ureq::http::{HeaderMap, header};

use crate::error::{FetchError, Stage};
use crate::limits::Limits;
use crate::network::Network;
use crate::permit::{self, Permit};
use crate::request::{Outgoing, Request, Response};
use crate::target::Target;
use crate::ticket::Ticket;
use crate::wire::Line;

/// What a client has.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) limits: Limits,
    pub(crate) permit: Arc<dyn Permit>,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) line: Line,
}

impl Way {
    /// What can be said without asking anybody.
    pub(crate) fn check(&self, url: &str) -> Result<Target, FetchError> {
        let target = Target::parse(url, self.limits.url)?;
        permit::check_host(&*self.permit, &target, false)?;
        if let Some(address) = target.address() {
            permit::check_addresses(&*self.permit, &target, &[address], false)?;
        }
        Ok(target)
    }

    /// Follows a request to its response.
    pub(crate) fn follow(
        &self,
        request: Request,
        ticket: &Arc<Ticket>,
    ) -> Result<Response, FetchError> {
        let first = self.check(&request.url)?;
        let mut outgoing = Outgoing::new(request, &self.limits)?;
        let mut target = first.clone();
        let mut redirects = 0;
        loop {
            let addresses = self.locate(&target, redirects > 0, ticket)?;
            let port = target.port();
            let addresses =
                addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
            let response = self.line.ask(&self.network, &target, addresses, &outgoing, ticket)?;
            let status = response.status().as_u16();
            if let Some(next) = self.next(&target, status, response.headers())? {
                if redirects >= self.limits.redirects {
                    let (host, limit) = (first.host().to_owned(), self.limits.redirects);
                    return Err(FetchError::TooManyRedirects { host, limit });
                }
                redirects += 1;
                outgoing.redirect(status, next.is_same_origin(&target));
                target = next;
                continue;
            }
            let headers = headers(response.headers());
            let body = self.line.read(response, outgoing.method, &target, ticket)?;
            return Ok(Response { status, url: target.as_str().to_owned(), headers, body });
        }
    }

    /// Where a target is. It is found out once, and what was found out is what is connected to.
    fn locate(
        &self,
        target: &Target,
        redirected: bool,
        ticket: &Ticket,
    ) -> Result<Vec<IpAddr>, FetchError> {
        ticket.enter(Stage::Resolving);
        ticket.left()?;
        let permit = &*self.permit;
        permit::check_host(permit, target, redirected)?;
        let addresses = match target.address() {
            Some(address) => vec![address],
            None => self.network.resolve(target.host()).map_err(|error| FetchError::Resolve {
                host: target.host().to_owned(),
                why: error.to_string(),
            })?,
        };
        ticket.left()?;
        permit::check_addresses(permit, target, &addresses, redirected)?;
        Ok(addresses)
    }

    /// Where a response sends us, if it does.
    fn next(
        &self,
        target: &Target,
        status: u16,
        headers: &HeaderMap,
    ) -> Result<Option<Target>, FetchError> {
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = headers.get(header::LOCATION) else {
            return Ok(None);
        };
        let location = String::from_utf8_lossy(location.as_bytes());
        let next = target.join(&location, self.limits.url)?;
        if target.is_https() && !next.is_https() {
            return Err(FetchError::Downgrade { host: target.host().to_owned() });
        }
        Ok(Some(next))
    }
}

fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect()
}
