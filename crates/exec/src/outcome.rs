//! What came of a command.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A command that has ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// All it printed.
    pub stdout: Vec<u8>,
    /// What it printed to its standard error; of too much, the beginning and the end.
    pub stderr: Vec<u8>,
    /// From the call to the answer, with the wait for a free slot.
    pub took: Duration,
    /// How many processes it had left behind, which were killed.
    pub strays: u32,
    /// Whether any of them were still there when this answer was due. They are dealt with in the
    /// background for some seconds; what belongs to another user cannot be killed at all.
    pub left_behind: bool,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
}

impl Status {
    /// Whether it exited with code 0.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Exited(0))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signaled(signal) => match signal_name(signal) {
                Some(name) => write!(f, "was killed by {name} (signal {signal})"),
                None => write!(f, "was killed by signal {signal}"),
            },
        }
    }
}

/// The name of a signal, such as `SIGKILL`.
pub const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSTKFLT => "SIGSTKFLT",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGPROF => "SIGPROF",
        libc::SIGIO => "SIGIO",
        libc::SIGPWR => "SIGPWR",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

/// Why there is no answer of a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// A string that no process can be given.
    #[error("{what} {problem}")]
    Invalid {
        /// Which one.
        what: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It ran too long, and was killed.
    #[error("did not end within {limit:?} and was killed{}", unless_gone(*.left_behind))]
    TimedOut {
        /// The time it had.
        limit: Duration,
        /// What it had printed to its standard error.
        stderr: Vec<u8>,
        /// How many processes were killed besides it.
        strays: u32,
        /// Whether anything it started was still there when this answer was due.
        left_behind: bool,
    },
    /// It was never started: others took too long.
    #[error(
        "waited for a free slot for {limit:?}: {at_once} commands were running, which is as many \
         as may run at once"
    )]
    NoSlot {
        /// The time it had.
        limit: Duration,
        /// How many may run at once.
        at_once: usize,
    },
    /// It printed more than it may, and was killed.
    #[error("printed more than {limit} bytes and was killed")]
    TooMuchOutput {
        /// The limit.
        limit: usize,
        /// What it had printed to its standard error.
        stderr: Vec<u8>,
    },
    /// There is no such program.
    #[error("there is no program {program:?}")]
    NotFound {
        /// The program, as it was given.
        program: PathBuf,
    },
    /// The program is there, but may not be executed.
    #[error("{program:?} cannot be executed: {reason}")]
    NotExecutable {
        /// The program.
        program: PathBuf,
        /// Why, and what to do about it.
        reason: &'static str,
    },
    /// The script is there; the program in its first line is not.
    #[error("{program:?} needs {interpreter:?} to run, which is not there")]
    NoInterpreter {
        /// The script.
        program: PathBuf,
        /// What its first line names; for a binary, its loader.
        interpreter: String,
    },
    /// The directory to run it in cannot be entered.
    #[error("cannot run in the directory {dir:?}: {source}")]
    Cwd {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The system does not take that many arguments and variables.
    #[error(
        "its arguments and environment ({bytes} bytes) are more than the system takes: pass large \
         data on standard input"
    )]
    TooLong {
        /// How long they are together.
        bytes: usize,
    },
    /// The start failed for another reason.
    #[error("could not be started ({step}): {source}")]
    Start {
        /// What failed.
        step: &'static str,
        /// Why.
        source: io::Error,
    },
    /// No thread could be started to run it.
    #[error("no thread could be started to run it: {0}")]
    Thread(#[source] io::Error),
    /// The process that watched over it was killed from outside.
    #[error("the process that watched over it was killed, and the command with it")]
    Lost {
        /// What it had printed to its standard error.
        stderr: Vec<u8>,
    },
    /// The executor was made before a fork, and its threads stayed in the other process.
    #[error("the executor was made by process {made_by}: a forked process needs one of its own")]
    Forked {
        /// The process with the threads.
        made_by: u32,
    },
}

impl ExecError {
    /// What the command had printed to its standard error by then.
    pub fn stderr(&self) -> &[u8] {
        match self {
            Self::TimedOut { stderr, .. }
            | Self::TooMuchOutput { stderr, .. }
            | Self::Lost { stderr } => stderr,
            _ => &[],
        }
    }

    /// Whether time ran out, while it ran or before it could.
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::NoSlot { .. })
    }
}

const fn unless_gone(left_behind: bool) -> &'static str {
    if left_behind { "; some of what it started still has to be" } else { "" }
}
