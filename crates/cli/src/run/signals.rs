//! Signals that end what an agent does.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// From when this is made on, these signals are ours. Ctrl-C ends the turn, and where none is under way, the session. The
/// others end the session: a service that is stopped, a terminal that is closed.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    is_over: bool,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            is_over: false,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => self.is_over = true,
            _ = self.hang_up.recv() => self.is_over = true,
        }
    }

    /// Whether one has come that ends the session.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }
}
