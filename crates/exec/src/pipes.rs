//! The pipes between us and a command.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, fcntl_dupfd_cloexec, read, write};
use rustix::pipe::{PipeFlags, pipe_with};

/// The two ends of a pipe. Ours does not block, theirs does.
pub(crate) struct Pipe {
    pub(crate) ours: OwnedFd,
    pub(crate) theirs: OwnedFd,
}

impl Pipe {
    /// A pipe that the command reads from.
    pub(crate) fn to_read() -> io::Result<Self> {
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
        Self::new(ours, theirs)
    }

    /// A pipe that the command writes to.
    pub(crate) fn to_write() -> io::Result<Self> {
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
        Self::new(ours, theirs)
    }

    fn new(ours: OwnedFd, theirs: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&ours, OFlags::NONBLOCK)?;
        Ok(Self { ours, theirs: clear_of_stdio(theirs)? })
    }
}

/// Moves a descriptor out of the way of those that the keeper puts at 0 to 3. It is only ever in
/// the way if the program has closed its own.
pub(crate) fn clear_of_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 3 { Ok(fd) } else { Ok(fcntl_dupfd_cloexec(&fd, 4)?) }
}

/// Writes as much of the rest as fits, and closes the pipe once nothing is left or nobody reads.
pub(crate) fn feed(pipe: &mut Option<OwnedFd>, bytes: &[u8], written: &mut usize) {
    while let Some(fd) = pipe {
        let rest = bytes.get(*written..).unwrap_or_default();
        if rest.is_empty() {
            *pipe = None;
            return;
        }
        match write(&*fd, rest) {
            Ok(count) => *written += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return,
            // A command that does not read its input may still have an answer.
            Err(_) => *pipe = None,
        }
    }
}

/// The most that is read at once.
const GULP: usize = 64 * 1024;

/// Reads once, and closes the pipe at its end. Returns what there was.
pub(crate) fn drink<'b>(pipe: &mut Option<OwnedFd>, buffer: &'b mut Vec<u8>) -> &'b [u8] {
    buffer.clear();
    let Some(fd) = pipe else { return &[] };
    // Not filled beforehand: most commands print a line, and what is not written to costs no memory.
    buffer.reserve_exact(GULP);
    let taken = loop {
        match read(&*fd, spare_capacity(buffer)) {
            Err(Errno::INTR) => {}
            taken => break taken,
        }
    };
    if !matches!(taken, Ok(1..) | Err(Errno::AGAIN)) {
        *pipe = None;
    }
    buffer
}
