//! Reports progress on standard error once a step takes longer than a second.

use std::io::{self, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Time after which a step is announced.
const PATIENCE: Duration = Duration::from_secs(1);

/// Announces steps that take long. Ends with the value.
#[derive(Debug)]
pub(crate) struct Progress {
    steps: Sender<String>,
}

impl Progress {
    /// Starts a thread that watches the time. Without one, nothing is announced.
    pub(crate) fn new() -> Self {
        let (steps, received) = mpsc::channel::<String>();
        let watch = move || {
            let mut current = None;
            loop {
                match received.recv_timeout(PATIENCE) {
                    Ok(step) => current = Some(step),
                    Err(RecvTimeoutError::Timeout) => {
                        if let Some(step) = current.take() {
                            let _ = writeln!(io::stderr(), "{step} ...");
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let _ = thread::Builder::new().name("progress".to_owned()).spawn(watch);
        Self { steps }
    }

    /// Begins the next step.
    pub(crate) fn step(&self, what: impl Into<String>) {
        let _ = self.steps.send(what.into());
    }
}
