//! How much a request may take.

use std::time::Duration;

/// How much a request may take.
///
/// ```
/// use tollgate_fetch::Limits;
///
/// let limits = Limits { body: 64 * 1024, ..Limits::default() };
/// assert_eq!(limits.redirects, 5);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long any request may take, whatever its caller allows: from resolving the first name
    /// to the last byte behind the last redirect, and waiting for its turn as well.
    pub time: Duration,
    /// How many bytes the body of a response may have.
    pub body: usize,
    /// How many bytes the body of a request may have.
    pub request_body: usize,
    /// How many bytes the head of a response may have, a mebibyte at the most. It also may have
    /// no more than 128 headers.
    pub headers: usize,
    /// How many bytes the headers of a request may have, a mebibyte at the most. There may also
    /// be no more than 64.
    pub request_headers: usize,
    /// How many bytes a URL may have, also one that a redirect leads to; 20 KiB at the most.
    pub url: usize,
    /// How many redirects are followed.
    pub redirects: u32,
    /// How many requests run at once, those included that nobody waits for any more.
    pub running: usize,
    /// How many may wait for their turn.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(1),
            body: 1024 * 1024,
            request_body: 1024 * 1024,
            headers: 64 * 1024,
            request_headers: 16 * 1024,
            url: 8 * 1024,
            redirects: 5,
            running: 16,
            waiting: 64,
        }
    }
}

impl Limits {
    /// The same, where they can be kept: there are buffers of these sizes, and the length of a
    /// URL that is sent is counted in 16 bits.
    pub(crate) fn within_reason(mut self) -> Self {
        const MEBIBYTE: usize = 1024 * 1024;
        self.headers = self.headers.min(MEBIBYTE);
        self.request_headers = self.request_headers.min(MEBIBYTE);
        self.url = self.url.min(20 * 1024);
        self
    }
}
