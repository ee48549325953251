//! How we talk with a command: what it prints, and what it is told.
//!
//! Commands are run by `tollgate-exec`, which collects output and gives it out at the end. Here it
//! is wanted as it comes, in order, and input is wanted long after the start. So the command is
//! given other descriptors than those: it opens a named pipe for both of its outputs, and for its
//! input a terminal. The pipe has a name for as long as it takes to open it.
//!
//! The input is a terminal because there is always one where people type. Programs such as `rg`
//! search their input when that is a pipe, and would wait for ever. What a command prints does
//! not go to it, so nothing is paged, coloured or redrawn.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use tempfile::TempDir;
use tokio::net::unix::pipe;

/// Opens both, says so with one byte, and becomes the shell with the command.
pub(super) const SCRIPT: &str = r#"exec <"$1" >"$2" 2>&1 || exit 126; printf .; exec "$3" -c "$4""#;

/// Our ends.
pub(super) struct Line {
    pub(super) output: pipe::Receiver,
    pub(super) terminal: Option<Terminal>,
    pub(super) names: Names,
}

/// Where the command finds its ends.
pub(super) struct Names {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
    /// Removed when dropped, which is when the command has opened its ends.
    _dir: TempDir,
    /// Until the command has opened the pipe somebody else has to hold it open for writing.
    _held: OwnedFd,
}

/// A terminal for input. Nothing of what is typed is printed.
#[derive(Debug)]
pub(super) struct Terminal {
    keys: pipe::Sender,
    screen: pipe::Receiver,
    /// Without it there would be errors whenever no process has the terminal open.
    _theirs: OwnedFd,
}

impl Line {
    pub(super) fn open() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("tollgate-").tempdir()?;
        let name = dir.path().join("output");
        mknodat(CWD, &name, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
        let output = pipe::OpenOptions::new().open_receiver(&name)?;
        let held = open(&name, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        // Where there are no terminals, commands have no input.
        let (terminal, input) = match Terminal::open() {
            Ok((terminal, name)) => (Some(terminal), name),
            Err(_) => (None, Path::new("/dev/null").to_owned()),
        };
        let names = Names { input, output: name, _dir: dir, _held: held };
        Ok(Self { output, terminal, names })
    }
}

impl Terminal {
    fn open() -> io::Result<(Self, PathBuf)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let theirs = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = open(&*name, theirs, Mode::empty())?;
        let mut modes = tcgetattr(&theirs)?;
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        tcsetattr(&theirs, OptionalActions::Now, &modes)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let name = PathBuf::from(std::ffi::OsString::from(name.to_string_lossy().into_owned()));
        // Read and written like a pipe, which is all that these ask of it.
        let keys = pipe::Sender::from_owned_fd_unchecked(ours.try_clone()?)?;
        let screen = pipe::Receiver::from_owned_fd_unchecked(ours)?;
        Ok((Self { keys, screen, _theirs: theirs }, name))
    }

    /// Types a text. It has to fit into what the system holds for a program that does not read.
    pub(super) async fn write(&self, mut text: &[u8]) -> io::Result<()> {
        while !text.is_empty() {
            self.keys.writable().await?;
            match self.keys.try_write(text) {
                Ok(written) => text = text.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what programs have written to their input, as some do to prompt.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        receive(&self.screen, buffer).await
    }
}

/// Reads what is there, and waits for it where there is nothing. Nothing: it has ended.
pub(super) async fn receive(from: &pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        from.readable().await?;
        match from.try_read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}
