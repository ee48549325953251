//! A program that its caller talks to for as long as it runs.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::{Signal, pidfd_send_signal};

use crate::command::{Command, Launch};
use crate::keeper::{self, SIGNALED};
use crate::nest::{Nest, Task, order, stage, step};
use crate::outcome::{ExecError, Status};
use crate::pipes::{Pipe, clear_of_stdio};
use crate::{failure, raw, supervisor};

/// A program that runs under a keeper, with its pipes in the hands of the caller.
///
/// It ends, with all it started, when it is told to, when this is dropped, and when this process dies, also by `SIGKILL`.
///
/// ```
/// use std::fs::File;
/// use std::io::{Read, Write};
/// use std::sync::mpsc::channel;
/// use std::time::Duration;
/// use tollgate_exec::{Command, Service, Status};
///
/// let (told, ended) = channel();
/// let command = Command::shell("/bin/sh", "read -r line; exit 3");
/// let on_end = move |how| { let _ = told.send(how); };
/// let (_service, streams) = Service::start(&command, Duration::from_secs(1), on_end)?;
/// File::from(streams.stdin).write_all(b"hello\n").unwrap();
/// assert_eq!(ended.recv().unwrap()?, Status::Exited(3));
/// # Ok::<(), tollgate_exec::ExecError>(())
/// ```
pub struct Service {
    control: Arc<Control>,
}

/// Our ends of the pipes of a [`Service`]. They do not block.
#[derive(Debug)]
pub struct Streams {
    /// What it reads.
    pub stdin: OwnedFd,
    /// What it prints.
    pub stdout: OwnedFd,
    /// What it complains about.
    pub stderr: OwnedFd,
}

/// Shared by the caller and the thread that attends the keeper. None if the keeper is gone.
type Control = Mutex<Option<Attended>>;

struct Attended {
    nest: Nest,
    keeper: Arc<OwnedFd>,
}

impl Service {
    /// Starts a program. Between `SIGTERM` and `SIGKILL` it has the time of `grace`. `on_end` is called once it and all it
    /// started are gone, on a thread of its own: with its status, or with the reason why it could not be executed.
    pub fn start(
        command: &Command,
        grace: Duration,
        on_end: impl FnOnce(Result<Status, ExecError>) + Send + 'static,
    ) -> Result<(Self, Streams), ExecError> {
        let command = command.clone().prepare();
        command.prepared()?;
        let control = Arc::new(Control::default());
        let (sender, started) = sync_channel(1);
        let attended = Arc::clone(&control);
        thread::Builder::new()
            .name("tollgate-service".into())
            .stack_size(256 * 1024)
            .spawn(move || {
                if let Some(how) = attend(&command, grace, &attended, &sender) {
                    on_end(how);
                }
            })
            .map_err(ExecError::Thread)?;
        let streams = started.recv().map_err(|_| ExecError::Lost { stderr: Vec::new() })??;
        Ok((Self { control }, streams))
    }

    /// Asks the program to end, and kills it and all it started after the time of grace.
    pub fn end(&self) {
        self.order(order::END);
    }

    /// Kills the program and all it started.
    pub fn kill(&self) {
        self.order(order::KILL);
    }

    fn order(&self, order: u32) {
        if let Some(attended) = &*self.control.lock().unwrap_or_else(PoisonError::into_inner) {
            // An order to kill stays one.
            attended.nest.notes().order.fetch_max(order, Ordering::AcqRel);
            let _ = pidfd_send_signal(&attended.keeper, Signal::TERM);
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.control.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        f.debug_struct("Service").field("runs", &runs).finish_non_exhaustive()
    }
}

/// Starts a keeper and waits for its end. Nothing: the start has failed, and the caller knows.
fn attend(
    command: &Command,
    grace: Duration,
    control: &Control,
    started: &SyncSender<Result<Streams, ExecError>>,
) -> Option<Result<Status, ExecError>> {
    // Signals are for the program's own threads, and none may arrive while the keeper starts.
    raw::block_signals(raw::ALL_SIGNALS & !raw::OF_THE_C_LIBRARY);
    let begun = Launch::new(command, &[]).and_then(|launch| {
        let (attended, streams) = begin(&launch, grace)?;
        Ok((launch, attended, streams))
    });
    let (launch, attended, streams) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            let _ = started.send(Err(error));
            return None;
        }
    };
    let keeper = Arc::clone(&attended.keeper);
    *control.lock().unwrap_or_else(PoisonError::into_inner) = Some(attended);
    let _ = started.send(Ok(streams));
    while !matches!(poll(&mut [PollFd::new(&keeper, PollFlags::IN)], None), Ok(1..)) {}
    raw::wait(libc::P_PIDFD, keeper.as_raw_fd(), 0);
    let ended = control.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Attended { nest, .. } = ended?;
    Some(result(nest, launch))
}

/// Starts a keeper.
fn begin(launch: &Launch, grace: Duration) -> Result<(Attended, Streams), ExecError> {
    let failed = |step| move |source| ExecError::Start { step, source };
    let prepared = launch.prepared()?;
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(Into::into)
        .and_then(clear_of_stdio)
        .map_err(failed("an eventfd"))?;
    let input = Pipe::to_read().map_err(failed("its pipes"))?;
    let output = Pipe::to_write().map_err(failed("its pipes"))?;
    let errors = Pipe::to_write().map_err(failed("its pipes"))?;
    let mut nest = Nest::new().map_err(failed("its memory"))?;
    nest.furnish(Task {
        program: prepared.program.as_ptr(),
        argv: launch.argv(),
        envp: launch.envp(),
        cwd: prepared.cwd.as_ref().map_or(std::ptr::null(), |dir| dir.as_ptr()),
        stdio: [&input.theirs, &output.theirs, &errors.theirs].map(AsRawFd::as_raw_fd),
        bell: bell.as_raw_fd(),
        parent: std::process::id().cast_signed(),
        grace: u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX),
        address_space: supervisor::limit_outside(),
    });
    // SAFETY: the nest was furnished; the launch and the nest are kept until the keeper is gone, and are never freed should
    // it not end in order. The keeper has copies of the descriptors.
    #[allow(unsafe_code)]
    let keeper = unsafe { keeper::start(&mut nest) }.map_err(failed("a process"))?;
    let streams = Streams { stdin: input.ours, stdout: output.ours, stderr: errors.ours };
    Ok((Attended { nest, keeper: Arc::new(keeper) }, streams))
}

/// Returns the status of the program after its keeper is gone.
fn result(nest: Nest, launch: Launch) -> Result<Status, ExecError> {
    let notes = nest.notes();
    if notes.stage.load(Ordering::Acquire) != stage::DONE {
        // The keeper was killed. Its child may still be on its way to another program, with our memory for its stack and
        // its strings. What is left of its group is ended here.
        let handler = notes.handler.load(Ordering::Acquire);
        if handler > 0 {
            let _ = raw::kill(handler.wrapping_neg(), libc::SIGKILL);
        }
        nest.abandon();
        std::mem::forget(launch);
        return Err(ExecError::Lost { stderr: Vec::new() });
    }
    let failed_at = notes.failed_at.load(Ordering::Acquire);
    if failed_at != step::NONE {
        return Err(failure::explain(failed_at, notes.errno.load(Ordering::Relaxed), &launch));
    }
    Ok(match notes.status.load(Ordering::Relaxed) {
        code @ ..SIGNALED => Status::Exited(code),
        signaled => Status::Signaled(signaled - SIGNALED),
    })
}
