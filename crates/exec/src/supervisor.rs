//! One answer, whatever happens to whoever works it out.
//!
//! A program that is run for one answer must not owe it to its own good health: to be killed for
//! its memory, to panic or to loop would all count as no answer, which some callers take for a
//! yes. So the work is done by a child under limits, and the parent holds nothing but the deadline
//! and a refusal that was prepared beforehand.

#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, child_subreaper, getrlimit, pidfd_open, set_child_subreaper,
};

use crate::attend::timespec;
use crate::excerpt::Excerpt;
use crate::frame::{Message, OVERHEAD, Unframed, frame, unframe};
use crate::outcome::{Status, signal_name};
use crate::pipes::{Pipe, drink};
use crate::raw::{self, End, Waited};
use crate::sweep::{Scratch, parent_in, sweep};

/// What to answer, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The time the work has.
    pub time: Duration,
    /// The most memory it may use, in bytes of address space. The commands it runs with an
    /// [`Executor`](crate::Executor) are not bound by this.
    pub memory: Option<u64>,
    /// The most bytes its answer may have.
    pub output: usize,
    /// The answer if there is no other.
    pub refusal: Answer,
}

impl Plan {
    /// A plan without a limit of memory, for answers of one megabyte at the most.
    pub const fn new(time: Duration, refusal: Answer) -> Self {
        Self { time, memory: None, output: 1024 * 1024, refusal }
    }
}

/// What a program prints, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// For its standard output.
    pub stdout: Vec<u8>,
    /// For its standard error.
    pub stderr: Vec<u8>,
    /// Its exit code.
    pub code: i32,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The answer of the work, or the refusal.
    pub answer: Answer,
    /// Why it is the refusal, if it is.
    pub why: Option<String>,
    /// What the work itself printed to its standard error, such as the message of a panic; of too
    /// much, the beginning and the end.
    pub noise: Vec<u8>,
    /// How many processes it had left behind, which were killed.
    pub strays: u32,
}

/// Why the work was not begun.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuperviseError {
    /// The process has more than one thread, so that it cannot fork safely.
    #[error("the process has {0} threads; it must be supervised before it starts any")]
    Threads(usize),
    /// Something the supervision needs was refused.
    #[error("could not set up {step}: {source}")]
    System {
        /// What.
        step: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// The limit of the address space that was there before ours.
static OUTSIDE: OnceLock<(u64, u64)> = OnceLock::new();

/// The limit to give to the commands we run, if ours is not for them.
pub(crate) fn limit_outside() -> Option<(u64, u64)> {
    OUTSIDE.get().copied()
}

/// What the sweep behind the work needs. It is there without being asked for, and takes no memory where there is nothing
/// to sweep.
static SCRATCH: Mutex<Scratch> = Mutex::new(Scratch::new());

/// How much of the noise is kept.
const NOISE: usize = 16 * 1024;

/// How long it may take to clean up behind the work.
const CLEANING: u64 = 400_000_000;

/// Does `work` in a child process, and comes back with its answer in time or with the refusal.
///
/// To be called while the process has one thread. What the work prints is not printed, and what
/// it leaves running is killed. A signal that asks the program to end (`SIGTERM`, `SIGINT`,
/// `SIGHUP`) ends the work, with the refusal for an answer.
pub fn supervise(plan: Plan, work: impl FnOnce() -> Answer) -> Result<Ended, SuperviseError> {
    let failed = |step| move |source| SuperviseError::System { step, source };
    let threads = fs::read_dir("/proc/self/task").map_err(failed("a look at its threads"))?.count();
    if threads != 1 {
        return Err(SuperviseError::Threads(threads));
    }
    let begun = Instant::now();
    let setting = Setting::arrange().map_err(failed("its surroundings"))?;
    let answers = Pipe::to_write().map_err(failed("a pipe"))?;
    let noise = Pipe::to_write().map_err(failed("a pipe"))?;
    let null = fs::File::options().write(true).open("/dev/null").map_err(failed("/dev/null"))?;
    let parent = raw::getpid();
    let mut supervision = Supervision {
        deadline: begun.checked_add(plan.time),
        limit: plan.time,
        output: plan.output,
        answers: Some(answers.ours),
        noise: Some(noise.ours),
        received: Vec::new(),
        excerpt: Excerpt::new(NOISE),
        buffer: Vec::new(),
    };
    // SAFETY: there is one thread, so the child is a whole program, and may do what we may.
    match unsafe { libc::fork() } {
        -1 => Err(failed("a process")(io::Error::last_os_error())),
        0 => {
            drop(supervision);
            let out = Outlet { answers: answers.theirs, noise: noise.theirs, null };
            be_the_worker(&plan, &setting, &out, parent, work)
        }
        worker => {
            drop((answers.theirs, noise.theirs));
            let outcome = supervision.attend(worker, &setting);
            let swept = supervision.clean_up(worker, &setting);
            let noise = supervision.excerpt.into_bytes();
            let (answer, why) = match outcome {
                Ok(answer) => (answer, None),
                Err(why) => (plan.refusal, Some(why)),
            };
            Ok(Ended { answer, why, noise, strays: swept })
        }
    }
}

/// What the supervisor changes about itself, and changes back.
struct Setting {
    mask: u64,
    was_subreaper: bool,
    /// Becomes readable when somebody asks us to end.
    signals: OwnedFd,
    /// Children that were there before.
    spared: Vec<c_int>,
}

/// The signals that ask a program to end.
const ENDING: [c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

impl Setting {
    fn arrange() -> io::Result<Self> {
        let ending = ENDING.iter().fold(0, |set, signal| set | raw::signal_set(*signal));
        let mask = raw::block_more_signals(ending | raw::signal_set(libc::SIGCHLD));
        let restored = Restored(mask);
        let signals = raw::signalfd(ending).map_err(io::Error::from_raw_os_error)?;
        // SAFETY: a new descriptor that nobody else owns.
        let signals = unsafe { OwnedFd::from_raw_fd(signals) };
        // Whoever started us may have had children reap themselves.
        raw::reset_signal(libc::SIGCHLD);
        let was_subreaper = child_subreaper()?.is_some();
        set_child_subreaper(Some(Pid::INIT))?;
        let spared = match raw::wait(libc::P_ALL, 0, libc::WNOWAIT) {
            Waited::Nobody => Vec::new(),
            _ => children()?,
        };
        std::mem::forget(restored);
        Ok(Self { mask, was_subreaper, signals, spared })
    }
}

/// Puts the mask of signals back.
struct Restored(u64);

impl Drop for Restored {
    fn drop(&mut self) {
        raw::block_signals(self.0);
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if !self.was_subreaper {
            let _ = set_child_subreaper(None);
        }
        raw::block_signals(self.mask);
    }
}

/// The children of this process: those of its one thread.
fn children() -> io::Result<Vec<c_int>> {
    let me = raw::getpid();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { continue };
        if parent_in(&stat) == Some(me) {
            found.push(pid);
        }
    }
    Ok(found)
}

/// What the child writes to.
struct Outlet {
    answers: OwnedFd,
    noise: OwnedFd,
    null: fs::File,
}

/// The child: does the work, and says what came of it.
fn be_the_worker(
    plan: &Plan,
    setting: &Setting,
    outlet: &Outlet,
    parent: c_int,
    work: impl FnOnce() -> Answer,
) -> ! {
    let prepared = prepare_worker(plan, outlet, parent);
    raw::block_signals(setting.mask);
    if let Err(errno) = prepared {
        // Seen by the supervisor as the reason for an exit without an answer.
        let error = io::Error::from_raw_os_error(errno);
        let _ = raw::write(2, format!("could not be set up: {error}").as_bytes());
        raw::exit(1);
    }
    let message = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => Message::Answer(answer),
        Err(panic) => Message::Panic(panic_message(&*panic)),
    };
    let framed = frame(&message);
    let mut rest = &*framed;
    while !rest.is_empty() {
        match raw::write(outlet.answers.as_raw_fd(), rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(libc::EINTR) => {}
            Err(_) => break,
        }
    }
    raw::exit(0)
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

fn prepare_worker(plan: &Plan, outlet: &Outlet, parent: c_int) -> Result<(), c_int> {
    raw::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)?;
    if raw::getppid() != parent {
        raw::exit(1);
    }
    raw::dup3(outlet.null.as_raw_fd(), 1, 0)?;
    raw::dup3(outlet.noise.as_raw_fd(), 2, 0)?;
    raw::set_limit(libc::RLIMIT_CORE, 0, 0)?;
    if let Some(memory) = plan.memory {
        let before = getrlimit(Resource::As);
        let (soft, hard) = (before.current.unwrap_or(u64::MAX), before.maximum.unwrap_or(u64::MAX));
        // The hard limit stays, so that the commands the worker runs can have the old one.
        raw::set_limit(libc::RLIMIT_AS, memory.min(soft), hard)?;
        let _ = OUTSIDE.set((soft, hard));
    }
    Ok(())
}

/// The parent.
struct Supervision {
    deadline: Option<Instant>,
    limit: Duration,
    output: usize,
    answers: Option<OwnedFd>,
    noise: Option<OwnedFd>,
    received: Vec<u8>,
    excerpt: Excerpt,
    buffer: Vec<u8>,
}

impl Supervision {
    /// Waits for the answer. An error says why there is none.
    fn attend(&mut self, worker: c_int, setting: &Setting) -> Result<Answer, String> {
        let handle = Pid::from_raw(worker)
            .ok_or(Errno::SRCH)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()))
            .map_err(|error| format!("the work could not be watched: {error}"))?;
        loop {
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| deadline <= now) {
                return Err(format!("the work did not end within {:?}", self.limit));
            }
            if self.answers.is_none() {
                return Err(self.last_words(worker, &handle));
            }
            let open = |pipe| PollFd::new(pipe, PollFlags::IN);
            let closed = || PollFd::new(&handle, PollFlags::empty());
            let mut fds = [
                PollFd::new(&handle, PollFlags::IN),
                PollFd::new(&setting.signals, PollFlags::IN),
                self.noise.as_ref().map_or_else(closed, open),
                self.answers.as_ref().map_or_else(closed, open),
            ];
            let left = self.deadline.map(|by| timespec(by.saturating_duration_since(now)));
            if poll(&mut fds, left.as_ref()).is_err() {
                continue;
            }
            let [ended, asked, noisy, answering] = fds.map(|fd| !fd.revents().is_empty());
            if noisy {
                self.excerpt.push(drink(&mut self.noise, &mut self.buffer));
            }
            if answering && let Some(answer) = self.read_answer()? {
                return Ok(answer);
            }
            if asked && let Some(signal) = asked_to_end(&setting.signals) {
                let name = signal_name(signal).unwrap_or("a signal");
                return Err(format!("the program was asked to end by {name}"));
            }
            if ended && !answering {
                self.answers = None;
            }
        }
    }

    fn read_answer(&mut self) -> Result<Option<Answer>, String> {
        self.received.extend_from_slice(drink(&mut self.answers, &mut self.buffer));
        if self.received.len() > self.output.saturating_add(OVERHEAD) {
            return Err(format!("the answer is longer than {} bytes", self.output));
        }
        match unframe(&self.received) {
            Unframed::Whole(Message::Answer(answer)) => Ok(Some(answer)),
            Unframed::Whole(Message::Panic(message)) => {
                Err(format!("the work panicked: {message}"))
            }
            Unframed::Part => Ok(None),
            Unframed::Garbled => Err("the answer was garbled".into()),
        }
    }

    /// Why a worker that cannot answer any more has not.
    fn last_words(&self, worker: c_int, handle: &OwnedFd) -> String {
        // A process closes its pipes a moment before it has ended.
        let moment = timespec(Duration::from_millis(100));
        let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&moment));
        let how = match raw::wait(libc::P_PID, worker, libc::WNOWAIT) {
            Waited::Ended(_, End::Exited(code)) => Status::Exited(code).to_string(),
            Waited::Ended(_, End::Signaled(signal)) => Status::Signaled(signal).to_string(),
            Waited::Alive | Waited::Nobody => "closed its pipe".into(),
        };
        let far = if self.received.is_empty() { "without" } else { "in the middle of" };
        format!("the work {how} {far} an answer")
    }

    /// Ends the worker and all it has started. Returns how many that were.
    fn clean_up(&mut self, worker: c_int, setting: &Setting) -> u32 {
        let began = raw::now();
        let _ = raw::kill(worker, libc::SIGKILL);
        while raw::wait(libc::P_PID, worker, 0) == Waited::Alive
            && raw::now().wrapping_sub(began) < CLEANING
        {
            raw::wait_for_signal(raw::signal_set(libc::SIGCHLD), 5_000_000);
        }
        let mut scratch = SCRATCH.lock().unwrap_or_else(PoisonError::into_inner);
        let swept = sweep(&mut scratch, &setting.spared, CLEANING, |_| ());
        while self.noise.is_some() {
            let bytes = drink(&mut self.noise, &mut self.buffer);
            self.excerpt.push(bytes);
            if bytes.is_empty() {
                self.noise = None;
            }
        }
        swept.killed
    }
}

fn asked_to_end(signals: &OwnedFd) -> Option<c_int> {
    // The kernel's `signalfd_siginfo`, which begins with the number of the signal.
    let mut info = [0_u8; 128];
    raw::read(signals.as_raw_fd(), &mut info).ok()?;
    info.first_chunk().map(|number| i32::from_ne_bytes(*number))
}
