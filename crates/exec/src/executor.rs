//! The executor: so many threads, each of which runs one command at a time, and a queue.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

use crate::attend::{Desk, attend, attend_here};
use crate::command::Command;
use crate::outcome::ExecError;
use crate::raw;
use crate::running::{Call, Running};

/// How many commands run at once unless told otherwise.
pub const DEFAULT_AT_ONCE: usize = 64;

/// How long a thread waits for another command before it ends.
const IDLE: Duration = Duration::from_secs(5);

/// The most descriptors that one command takes: three pipes, the keeper, the bell.
const DESCRIPTORS: u64 = 8;

/// What a call hands to a command.
#[derive(Clone)]
pub struct Input {
    /// What it reads from its standard input.
    pub stdin: Arc<[u8]>,
    /// Variables for this call, in addition to those of the command.
    pub env: Vec<(String, String)>,
    /// The time it has, from the call on.
    pub time: Duration,
}

impl Input {
    /// Input without variables.
    pub fn new(stdin: impl Into<Arc<[u8]>>, time: Duration) -> Self {
        Self { stdin: stdin.into(), env: Vec::new(), time }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Input")
            .field("stdin", &self.stdin.len())
            .field("env", &names)
            .field("time", &self.time)
            .finish()
    }
}

/// How much a command may print, and how it is made to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time between `SIGTERM` and `SIGKILL`. A command whose time is up is gone this long and
    /// 400 milliseconds later.
    pub grace: Duration,
    /// The most bytes it may print; more is an error.
    pub stdout: usize,
    /// The most bytes that are kept of its standard error; of more, the middle is left out.
    pub stderr: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { grace: Duration::from_millis(100), stdout: 1024 * 1024, stderr: 64 * 1024 }
    }
}

/// Runs commands. Cheap to clone; all clones share their threads and their queue.
///
/// So many commands run at once, each attended by a thread; the others wait, first come first
/// served, and their time runs. Threads are started when they are needed and end some seconds
/// after, or once the last clone is dropped and the last command has ended.
#[derive(Clone)]
pub struct Executor {
    pool: Arc<Pool>,
    _owner: Arc<Owner>,
}

impl Executor {
    /// An executor for so many commands at once, or fewer if this process may not open enough
    /// descriptors: they may take three quarters of those.
    pub fn new(max_at_once: usize) -> Self {
        Self::with(max_at_once, false)
    }

    /// An executor without threads, for a program that runs a few commands one after the other and ends: a command runs
    /// on the thread of who asks for it, who gets it back when it is over. Nothing else can be done there meanwhile, so
    /// that only the command's own time limits it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_exec::{Command, Executor, Input, Limits};
    ///
    /// let echo = Command::shell("/bin/sh", "cat");
    /// let input = Input::new(*b"hello", Duration::from_secs(10));
    /// let finished = Executor::in_place().run(&echo, input, Limits::default()).wait()?;
    /// assert_eq!(finished.stdout, b"hello");
    /// # Ok::<(), tollgate_exec::ExecError>(())
    /// ```
    pub fn in_place() -> Self {
        Self::with(DEFAULT_AT_ONCE, true)
    }

    fn with(max_at_once: usize, in_place: bool) -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let enough_for = (descriptors - descriptors / 4) / DESCRIPTORS;
        let max = max_at_once.min(usize::try_from(enough_for).unwrap_or(usize::MAX)).max(1);
        let pool = Arc::new(Pool {
            max,
            in_place,
            desk: Mutex::default(),
            process: std::process::id(),
            state: Mutex::default(),
            work: Condvar::new(),
            waiting: Condvar::new(),
        });
        Self { _owner: Arc::new(Owner { pool: Arc::clone(&pool) }), pool }
    }

    /// The executor of this process, for [`DEFAULT_AT_ONCE`] commands.
    #[allow(unsafe_code)]
    pub fn shared() -> &'static Self {
        static SHARED: AtomicPtr<Executor> = AtomicPtr::new(ptr::null_mut());
        let current = SHARED.load(Ordering::Acquire);
        // SAFETY: what is stored there is never freed.
        if let Some(executor) = unsafe { current.as_ref() }
            && executor.pool.process == std::process::id()
        {
            return executor;
        }
        // There is none yet, or a fork has left its threads behind.
        let new = Box::into_raw(Box::new(Self::new(DEFAULT_AT_ONCE)));
        match SHARED.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: never freed from now on.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: the box is still ours, and the one that was faster is never freed.
                unsafe {
                    drop(Box::from_raw(new));
                    &*other
                }
            }
        }
    }

    /// How many commands may run at once.
    pub fn max_at_once(&self) -> usize {
        self.pool.max
    }

    /// Runs a command. It begins at once, not when the future is polled; [in place](Self::in_place) it also ends.
    pub fn run(&self, command: &Command, input: Input, limits: Limits) -> Running {
        let call = Arc::new(Call::default());
        let began = Instant::now();
        let job = Job {
            command: command.clone(),
            deadline: began.checked_add(input.time),
            input,
            limits,
            began,
            call: Arc::clone(&call),
        };
        // What is dropped here has been answered.
        if self.pool.in_place && !self.pool.is_of_a_fork() {
            // Two at once, which nobody asks for, have a desk each.
            let mut desk =
                self.pool.desk.lock().map(|mut desk| mem::take(&mut *desk)).unwrap_or_default();
            attend_here(&mut desk, &job, &self.pool);
            if let Ok(mut kept) = self.pool.desk.lock() {
                *kept = desk;
            }
        } else if let Err(error) = Pool::submit(&self.pool, job) {
            call.finish(Err(error));
        }
        Running::new(call, Arc::clone(&self.pool))
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self::new(DEFAULT_AT_ONCE)
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.pool.lock();
        f.debug_struct("Executor")
            .field("max_at_once", &self.pool.max)
            .field("threads", &state.threads)
            .field("waiting", &state.jobs.len())
            .finish_non_exhaustive()
    }
}

/// Lets the threads go when the last executor is dropped.
struct Owner {
    pool: Arc<Pool>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.pool.lock().closed = true;
        self.pool.work.notify_all();
        self.pool.waiting.notify_all();
    }
}

/// A call to be run.
pub(crate) struct Job {
    pub(crate) command: Command,
    pub(crate) input: Input,
    pub(crate) limits: Limits,
    pub(crate) call: Arc<Call>,
    pub(crate) began: Instant,
    /// None: so far away that the clock cannot tell.
    pub(crate) deadline: Option<Instant>,
}

impl Drop for Job {
    fn drop(&mut self) {
        // Has an effect only where it was not answered, which would leave the caller waiting.
        self.call.finish(Err(ExecError::Lost { stderr: Vec::new() }));
    }
}

pub(crate) struct Pool {
    pub(crate) max: usize,
    /// Whether commands run where they are asked for.
    in_place: bool,
    /// For these.
    desk: Mutex<Desk>,
    pub(crate) process: u32,
    state: Mutex<State>,
    /// There is a job.
    work: Condvar,
    /// There is a job that no thread is free for.
    waiting: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// The threads that wait for a job or are about to.
    idle: usize,
    /// Whether there is a thread that watches the time of those who wait.
    watched: bool,
    closed: bool,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this is another process than the one that made it.
    fn is_of_a_fork(&self) -> bool {
        self.process != std::process::id()
    }

    fn submit(pool: &Arc<Self>, job: Job) -> Result<(), ExecError> {
        if pool.is_of_a_fork() {
            return Err(ExecError::Forked { made_by: pool.process });
        }
        let mut state = pool.lock();
        if state.idle <= state.jobs.len() {
            if state.threads < pool.max {
                match spawn(pool, "tollgate-exec", Self::work) {
                    Ok(()) => {
                        state.threads += 1;
                        state.idle += 1;
                    }
                    Err(error) if state.threads == 0 => return Err(ExecError::Thread(error)),
                    Err(_) => Self::watch_queue(pool, &mut state)?,
                }
            } else {
                Self::watch_queue(pool, &mut state)?;
            }
        }
        state.jobs.push_back(job);
        drop(state);
        pool.work.notify_one();
        Ok(())
    }

    fn watch_queue(pool: &Arc<Self>, state: &mut State) -> Result<(), ExecError> {
        if !state.watched {
            spawn(pool, "tollgate-queue", Self::expire).map_err(ExecError::Thread)?;
            state.watched = true;
        }
        pool.waiting.notify_one();
        Ok(())
    }

    /// Drops a call that nobody wants any more, if it still waits.
    pub(crate) fn forget(&self, call: &Arc<Call>) {
        let job = {
            let mut state = self.lock();
            let place = state.jobs.iter().position(|job| Arc::ptr_eq(&job.call, call));
            place.and_then(|place| state.jobs.remove(place))
        };
        drop(job);
    }

    /// What each thread does.
    fn work(&self) {
        // Signals are for the program's own threads.
        raw::block_signals(raw::ALL_SIGNALS & !raw::OF_THE_C_LIBRARY);
        let _seat = Seat { pool: self };
        let mut desk = Desk::default();
        let mut expected = true;
        while let Some(job) = self.take(expected) {
            expected = attend(&mut desk, &job, self);
        }
    }

    /// A thread will be free for another job in a moment.
    pub(crate) fn expect(&self) {
        self.lock().idle += 1;
    }

    /// Waits for a job. Nothing: the thread is not needed any more.
    fn take(&self, expected: bool) -> Option<Job> {
        let mut state = self.lock();
        if !expected {
            state.idle += 1;
        }
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.idle -= 1;
                return Some(job);
            }
            let timed_out = if state.closed {
                true
            } else {
                let (after, waited) =
                    self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                state = after;
                waited.timed_out()
            };
            if timed_out && state.jobs.is_empty() {
                state.idle -= 1;
                return None;
            }
        }
    }

    /// Answers those whose time runs out while they wait. Ends when nobody waits.
    fn expire(&self) {
        let mut state = self.lock();
        let mut idle_since = Instant::now();
        loop {
            let now = Instant::now();
            let mut late = Vec::new();
            let mut place = 0;
            while let Some(job) = state.jobs.get(place) {
                if job.deadline.is_some_and(|deadline| deadline <= now) {
                    late.extend(state.jobs.remove(place));
                } else {
                    place += 1;
                }
            }
            if !late.is_empty() {
                drop(state);
                for job in late {
                    job.call.finish(Err(self.no_slot(&job)));
                }
                state = self.lock();
                continue;
            }
            if state.jobs.is_empty() {
                if state.closed || now.duration_since(idle_since) >= IDLE {
                    state.watched = false;
                    return;
                }
            } else {
                idle_since = now;
            }
            let next = state.jobs.iter().filter_map(|job| job.deadline).min();
            let pause = next.map_or(IDLE, |deadline| deadline.saturating_duration_since(now));
            (state, _) =
                self.waiting.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn no_slot(&self, job: &Job) -> ExecError {
        ExecError::NoSlot { limit: job.input.time, at_once: self.max }
    }
}

/// Counts a thread for as long as it lives.
struct Seat<'a> {
    pool: &'a Pool,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.pool.lock().threads -= 1;
    }
}

fn spawn(pool: &Arc<Pool>, name: &str, task: fn(&Pool)) -> io::Result<()> {
    let pool = Arc::clone(pool);
    let thread = thread::Builder::new().name(name.into()).stack_size(256 * 1024);
    thread.spawn(move || task(&pool)).map(drop)
}
