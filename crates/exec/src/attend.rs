//! One command, from its start to its end, attended by a thread.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::read;
use rustix::process::{Signal, pidfd_send_signal};

use crate::command::Launch;
use crate::excerpt::Excerpt;
use crate::executor::{Job, Pool};
use crate::keeper::{self, PERSISTENCE, SIGNALED};
use crate::nest::{Nest, Task, order, stage, step};
use crate::outcome::{ExecError, Finished, Status};
use crate::pipes::{Pipe, clear_of_stdio, drink, feed};
use crate::raw;
use crate::{failure, supervisor};

/// How long an answer is held back for the end of what the handler has left behind; after the
/// time of grace, if it had to be ended.
const CLEANING: Duration = Duration::from_millis(350);

/// How long output is left in its pipes at first. Most commands have ended by then and have printed
/// less than a pipe holds; to read as they print would only wake this thread in between.
const QUIET: Duration = Duration::from_millis(4);

/// The most that a pipe holds, so that to empty it has an end even if somebody still writes.
const PIPE: usize = 1024 * 1024;

/// What is kept from one command to the next: by a thread, or by an executor without threads.
#[derive(Default)]
pub(crate) struct Desk {
    nest: Option<Nest>,
    bell: Option<Arc<OwnedFd>>,
    buffer: Vec<u8>,
}

/// Runs a command and answers its caller. Returns whether the pool was told that this thread is
/// about to be free.
pub(crate) fn attend(desk: &mut Desk, job: &Job, pool: &Pool) -> bool {
    let began =
        if job.is_late() { Err(pool.no_slot(job)) } else { Attendance::begin(desk, job, pool) };
    let Some(result) = see_through(desk, job, began) else { return false };
    // Told before the caller, who may have the next command ready.
    pool.expect();
    job.call.finish(result);
    true
}

/// Runs a command on the thread of its caller, who waits.
pub(crate) fn attend_here(desk: &mut Desk, job: &Job, pool: &Pool) {
    // A signal that came to a handler while the keeper starts would come to it in both processes.
    let before = raw::block_more_signals(raw::ALL_SIGNALS & !raw::OF_THE_C_LIBRARY);
    let began = Attendance::begin(desk, job, pool);
    raw::block_signals(before);
    if let Some(result) = see_through(desk, job, began) {
        job.call.finish(result);
    }
}

/// Waits for the end of a command. Nothing: nobody wants its result.
fn see_through(
    desk: &mut Desk,
    job: &Job,
    began: Result<Option<Attendance<'_>>, ExecError>,
) -> Option<Result<Finished, ExecError>> {
    let result = match began {
        Ok(Some(attendance)) => attendance.see_through(desk),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    };
    job.call.end();
    if let Some(bell) = &desk.bell {
        // Nobody rings it from now on; it has to be silent for the next command.
        let _ = read(bell, &mut [0; 8]);
    }
    result
}

/// A command that has been started.
struct Attendance<'a> {
    job: &'a Job,
    bell: Arc<OwnedFd>,
    nest: Nest,
    /// What the keeper points to.
    launch: Launch,
    keeper: OwnedFd,
    stdin: Option<OwnedFd>,
    written: usize,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    printed: Vec<u8>,
    complaints: Excerpt,
    /// When to begin to read what it prints.
    read_from: Instant,
    ending: Option<Ending>,
    answer_by: Option<Instant>,
}

/// Why a command was made to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    TimedOut,
    TooMuchOutput,
    Abandoned,
}

impl<'a> Attendance<'a> {
    /// Starts the command. Nothing: nobody wants it any more.
    fn begin(desk: &mut Desk, job: &'a Job, pool: &Pool) -> Result<Option<Self>, ExecError> {
        let launch = Launch::new(&job.command, &job.input.env)?;
        let prepared = launch.prepared()?;
        let bell = desk.bell(job)?;
        if !job.call.begin(&bell) {
            return Ok(None);
        }
        let [input, output, errors] =
            patiently(job, || Ok([Pipe::to_read()?, Pipe::to_write()?, Pipe::to_write()?]))
                .map_err(|source| ExecError::Start { step: "its pipes", source })?;
        // Most input fits into the pipe: then it is all there before the command is.
        let (mut stdin, mut written) = (Some(input.ours), 0);
        feed(&mut stdin, &job.input.stdin, &mut written);
        let mut nest = desk.nest()?;
        nest.furnish(Task {
            program: prepared.program.as_ptr(),
            argv: launch.argv(),
            envp: launch.envp(),
            cwd: prepared.cwd.as_ref().map_or(std::ptr::null(), |dir| dir.as_ptr()),
            stdio: [&input.theirs, &output.theirs, &errors.theirs].map(AsRawFd::as_raw_fd),
            bell: bell.as_raw_fd(),
            parent: pool.process.cast_signed(),
            grace: u64::try_from(job.limits.grace.as_nanos()).unwrap_or(u64::MAX),
            address_space: supervisor::limit_outside(),
        });
        // SAFETY: the nest was furnished; the launch and the nest are kept until the keeper is
        // gone, and are never freed should it not end in order.
        #[allow(unsafe_code)]
        let keeper = match unsafe { keeper::start(&mut nest) } {
            Ok(keeper) => keeper,
            Err(source) => {
                desk.nest = Some(nest);
                return Err(ExecError::Start { step: "a process", source });
            }
        };
        Ok(Some(Self {
            job,
            bell,
            nest,
            launch,
            keeper,
            stdin,
            written,
            stdout: Some(output.ours),
            stderr: Some(errors.ours),
            printed: Vec::new(),
            complaints: Excerpt::new(job.limits.stderr),
            read_from: Instant::now() + QUIET,
            ending: None,
            answer_by: None,
        }))
    }

    /// Waits for the end. Nothing: it took too long, so the caller has been answered before.
    fn see_through(mut self, desk: &mut Desk) -> Option<Result<Finished, ExecError>> {
        let gone = self.pump(&mut desk.buffer);
        if gone {
            raw::wait(libc::P_PIDFD, self.keeper.as_raw_fd(), 0);
        }
        self.stdin = None;
        self.empty_pipes(&mut desk.buffer);
        let result = self.result(gone);
        let result = if gone {
            Some(result)
        } else {
            self.job.call.finish(result);
            outlast(&self.keeper, self.job.limits.grace);
            None
        };
        let Self { nest, launch, .. } = self;
        if nest.notes().stage.load(Ordering::Acquire) == stage::DONE {
            desk.nest = Some(nest);
        } else {
            // The keeper was killed. Its child may still be on its way to another program, with
            // our memory for its stack and its strings. What is left of its group is ended here.
            let handler = nest.notes().handler.load(Ordering::Acquire);
            if handler > 0 {
                let _ = raw::kill(-handler, libc::SIGKILL);
            }
            nest.abandon();
            std::mem::forget(launch);
        }
        result
    }

    /// Moves input and output until the keeper is gone, or the answer is due without it. Returns
    /// whether it is gone.
    fn pump(&mut self, buffer: &mut Vec<u8>) -> bool {
        loop {
            let now = Instant::now();
            if self.ending.is_none() && self.job.deadline.is_some_and(|deadline| deadline <= now) {
                self.end(Ending::TimedOut, order::END);
            }
            if self.answer_by.is_some_and(|by| by <= now) {
                return false;
            }
            let Some([keeper, bell, stdin, stdout, stderr]) = self.poll(now) else { continue };
            if bell {
                self.listen(now);
            }
            if stdin {
                feed(&mut self.stdin, &self.job.input.stdin, &mut self.written);
            }
            if stdout {
                self.read_stdout(buffer);
            }
            if stderr {
                self.complaints.push(drink(&mut self.stderr, buffer));
            }
            if keeper {
                return true;
            }
        }
    }

    /// Waits for something to happen, and returns which of the five it happened to.
    fn poll(&self, now: Instant) -> Option<[bool; 5]> {
        // In the place of what is not asked about, nothing is asked about something else.
        let nothing = || PollFd::new(&self.keeper, PollFlags::empty());
        let to_read = |pipe| PollFd::new(pipe, PollFlags::IN);
        let to_write = |pipe| PollFd::new(pipe, PollFlags::OUT);
        let quiet = now < self.read_from;
        let mut fds = [
            to_read(&self.keeper),
            PollFd::new(&self.bell, PollFlags::IN),
            self.stdin.as_ref().map_or_else(nothing, to_write),
            self.stdout.as_ref().filter(|_| !quiet).map_or_else(nothing, to_read),
            self.stderr.as_ref().filter(|_| !quiet).map_or_else(nothing, to_read),
        ];
        let deadline = self.job.deadline.filter(|_| self.ending.is_none());
        let read_from = Some(self.read_from).filter(|_| quiet);
        let next = [deadline, self.answer_by, read_from].into_iter().flatten().min();
        let timeout = next.map(|next| timespec(next.saturating_duration_since(now)));
        poll(&mut fds, timeout.as_ref()).ok()?;
        Some(fds.map(|fd| !fd.revents().is_empty()))
    }

    /// Somebody rang: the caller, who has lost interest, or the keeper, whose handler has ended.
    fn listen(&mut self, now: Instant) {
        let _ = read(&self.bell, &mut [0; 8]);
        if self.ending.is_none() && self.job.call.is_abandoned() {
            self.end(Ending::Abandoned, order::END);
        }
        if self.nest.notes().stage.load(Ordering::Acquire) != stage::STARTED {
            let by = now + CLEANING;
            self.answer_by = Some(self.answer_by.map_or(by, |earlier| earlier.min(by)));
        }
    }

    fn end(&mut self, ending: Ending, order: u32) {
        self.ending = Some(ending);
        self.answer_by = Instant::now().checked_add(self.job.limits.grace.saturating_add(CLEANING));
        self.stdin = None;
        self.nest.notes().order.store(order, Ordering::Release);
        let _ = pidfd_send_signal(&self.keeper, Signal::TERM);
    }

    fn read_stdout(&mut self, buffer: &mut Vec<u8>) {
        self.printed.extend_from_slice(drink(&mut self.stdout, buffer));
        if self.printed.len() > self.job.limits.stdout {
            self.stdout = None;
            if self.ending.is_none() {
                self.end(Ending::TooMuchOutput, order::KILL);
            }
        }
    }

    /// Takes what is left in the pipes, and closes them. Whoever may still hold the other ends is
    /// not waited for.
    fn empty_pipes(&mut self, buffer: &mut Vec<u8>) {
        while self.stdout.is_some() {
            let before = self.printed.len();
            self.printed.extend_from_slice(drink(&mut self.stdout, buffer));
            if self.printed.len() == before || self.printed.len() > self.job.limits.stdout {
                self.stdout = None;
            }
        }
        let mut taken = 0;
        while self.stderr.is_some() {
            let bytes = drink(&mut self.stderr, buffer);
            self.complaints.push(bytes);
            taken += bytes.len();
            if bytes.is_empty() || taken > PIPE {
                self.stderr = None;
            }
        }
    }

    fn result(&mut self, gone: bool) -> Result<Finished, ExecError> {
        let notes = self.nest.notes();
        let stage = notes.stage.load(Ordering::Acquire);
        let failed_at = notes.failed_at.load(Ordering::Acquire);
        if failed_at != step::NONE {
            let errno = notes.errno.load(Ordering::Relaxed);
            return Err(failure::explain(failed_at, errno, &self.launch));
        }
        let stderr = std::mem::replace(&mut self.complaints, Excerpt::new(0)).into_bytes();
        let strays = notes.strays.load(Ordering::Relaxed);
        let left_behind = !gone || notes.left.load(Ordering::Relaxed) != 0;
        let limit = self.job.limits.stdout;
        match self.ending {
            Some(Ending::TimedOut) => {
                let limit = self.job.input.time;
                Err(ExecError::TimedOut { limit, stderr, strays, left_behind })
            }
            Some(Ending::TooMuchOutput) => Err(ExecError::TooMuchOutput { limit, stderr }),
            None if self.printed.len() > limit => Err(ExecError::TooMuchOutput { limit, stderr }),
            None if stage != stage::STARTED => Ok(Finished {
                status: match notes.status.load(Ordering::Relaxed) {
                    code @ ..SIGNALED => Status::Exited(code),
                    signaled => Status::Signaled(signaled - SIGNALED),
                },
                stdout: std::mem::take(&mut self.printed),
                stderr,
                took: self.job.began.elapsed(),
                strays,
                left_behind,
            }),
            Some(Ending::Abandoned) | None => Err(ExecError::Lost { stderr }),
        }
    }
}

impl Desk {
    fn bell(&mut self, job: &Job) -> Result<Arc<OwnedFd>, ExecError> {
        if let Some(bell) = &self.bell {
            return Ok(Arc::clone(bell));
        }
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let made = patiently(job, || clear_of_stdio(eventfd(0, flags)?))
            .map_err(|source| ExecError::Start { step: "an eventfd", source })?;
        Ok(Arc::clone(self.bell.insert(Arc::new(made))))
    }

    fn nest(&mut self) -> Result<Nest, ExecError> {
        match self.nest.take() {
            Some(nest) => Ok(nest),
            None => Nest::new().map_err(|source| ExecError::Start { step: "its memory", source }),
        }
    }
}

impl Job {
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// Waits while the program has as many descriptors open as it may: others will be closed.
fn patiently<T>(job: &Job, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    loop {
        let made = open();
        let exhausted = matches!(&made, Err(error)
            if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)));
        if !exhausted || job.is_late() || job.call.is_abandoned() {
            return made;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a keeper that goes on in the background. It gives up by itself in time; one that
/// does not is killed.
fn outlast(keeper: &OwnedFd, grace: Duration) {
    let patience = Duration::from_nanos(PERSISTENCE.saturating_mul(2)) + Duration::from_secs(2);
    for (wait, kill) in [(patience.saturating_add(grace), true), (patience, false)] {
        let until = Instant::now().checked_add(wait);
        while until.is_none_or(|until| Instant::now() < until) {
            let left = until.map_or(wait, |until| until.saturating_duration_since(Instant::now()));
            let mut fds = [PollFd::new(keeper, PollFlags::IN)];
            if matches!(poll(&mut fds, Some(&timespec(left))), Ok(1..)) {
                raw::wait(libc::P_PIDFD, keeper.as_raw_fd(), 0);
                return;
            }
        }
        if kill {
            let _ = pidfd_send_signal(keeper, Signal::KILL);
        }
    }
}

pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 })
}
