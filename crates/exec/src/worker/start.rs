//! How a worker is started, and what it is allowed.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::pipes::Pipe;
use crate::worker::board::{Board, Terms};
use crate::worker::child::{MARKER, VARIABLE, is_possible, spell};
use crate::worker::error::WorkerError;

/// Which program is the worker.
#[derive(Clone, Debug)]
pub struct Start {
    program: PathBuf,
}

impl Start {
    /// This very program, if it has called [`init`](crate::worker::init). What is started is what
    /// runs now, even if its file has been replaced or deleted since.
    pub fn this_program() -> Result<Self, WorkerError> {
        if !is_possible() {
            return Err(WorkerError::NotPossible);
        }
        // Means the file that is being executed, not its name.
        Ok(Self { program: "/proc/self/exe".into() })
    }

    /// Another program, which has to call [`init`](crate::worker::init). A relative path is one
    /// from the directory we are in now.
    pub fn program(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let program = std::path::absolute(&path).unwrap_or(path);
        Self { program }
    }

    /// Starts it. This thread must live for as long as the worker does, which dies with it.
    pub(crate) fn launch(&self, limits: &Limits) -> io::Result<Launched> {
        let terms = Terms {
            nonce: nonce()?,
            host: std::process::id(),
            memory: limits.memory,
            stack: limits.stack as u64,
        };
        let (board, memory) = Board::new(limits.frame, &terms)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC)?;
        fcntl_setfl(&bell, OFlags::NONBLOCK)?;
        let errors = Pipe::to_write()?;
        let mut command = Command::new(&self.program);
        command.arg(MARKER).env_clear().env(VARIABLE, spell(&terms));
        // Without it a program that needs it does not even start.
        if let Some(libraries) = std::env::var_os("LD_LIBRARY_PATH") {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        // Its three standard descriptors are all it gets: the worker makes of them what it needs.
        let mut child = command
            .stdin(Stdio::from(memory))
            .stdout(Stdio::from(bell.try_clone()?))
            .stderr(Stdio::from(errors.theirs))
            .spawn()?;
        let handle = watch(&child).inspect_err(|_| {
            let _ = child.kill().and_then(|()| child.wait());
        })?;
        Ok(Launched { board, bell, stderr: errors.ours, handle })
    }
}

fn nonce() -> io::Result<[u64; 2]> {
    let number = || {
        let mut bytes = [0; 8];
        getrandom(&mut bytes, GetRandomFlags::empty()).map(|_| u64::from_ne_bytes(bytes))
    };
    Ok([number()?, number()?])
}

/// Nothing else is kept of a child: whoever drops it neither waits for it nor kills it.
fn watch(child: &Child) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(rustix::io::Errno::SRCH)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// A worker that has just been started.
pub(crate) struct Launched {
    pub(crate) board: Board,
    pub(crate) bell: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) handle: OwnedFd,
}

/// What a worker may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory above its [baseline](crate::worker::baseline).
    pub memory: u64,
    /// Bytes of the stack it serves on. Counted in the baseline, so that it takes nothing from the
    /// memory; who uses more of it dies.
    pub stack: usize,
    /// The most bytes of a request, a call, a reply and an answer. One gibibyte at the most.
    pub frame: usize,
    /// The time it has to be ready after its start.
    pub start: Duration,
    /// How many requests it serves before it is replaced.
    pub requests: u64,
    /// How long it stays without anything to do. One of them stays for ever.
    pub idle: Duration,
}

impl Default for Limits {
    /// 16 MiB of memory above the baseline and as much stack, frames of 8 MiB, 10 seconds to start,
    /// 10 000 requests, 30 seconds without anything to do.
    fn default() -> Self {
        Self {
            memory: 16 * 1024 * 1024,
            stack: 16 * 1024 * 1024,
            frame: 8 * 1024 * 1024,
            start: Duration::from_secs(10),
            requests: 10_000,
            idle: Duration::from_secs(30),
        }
    }
}
