//! Workers of one kind, for whoever needs one.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::write;

use crate::worker::attend::attend;
use crate::worker::error::WorkerError;
use crate::worker::lease::Lease;
use crate::worker::leasing::Leasing;
use crate::worker::queue::{Held, Idle, Outbox, State, Waiter};
use crate::worker::start::{Limits, Start};

/// How many leases there may be within each other.
pub const MAX_DEPTH: usize = 64;

/// How many workers there are at once unless told otherwise: two for each processor, and at least
/// two.
pub fn default_most() -> usize {
    thread::available_parallelism().map_or(2, |count| count.get().saturating_mul(2))
}

/// Workers of one kind, started when they are needed. Cheap to clone; all clones share them.
///
/// `T` is what their user notes down about each of them, such as the code it was sent. See
/// [`init`](crate::worker::init) for an example.
///
/// So many leases are given out at once; who comes later waits, first come first served, and the
/// time runs. When the last clone is dropped, the workers end, those on loan when they are given
/// back.
pub struct Workers<T = ()> {
    pool: Arc<Pool<T>>,
    owner: Arc<Owner<T>>,
}

impl<T: Send + 'static> Workers<T> {
    /// Nothing is started yet. At least one lease can be had at a time.
    pub fn new(start: Start, limits: Limits, most: usize) -> Self {
        Self::with(start, limits, OnceLock::from(most.max(1)))
    }

    /// As [`new`](Self::new), with [as many](default_most) as this machine is for. How many these are is found out when
    /// the first is needed, which takes a while.
    pub fn for_this_machine(start: Start, limits: Limits) -> Self {
        Self::with(start, limits, OnceLock::new())
    }

    fn with(start: Start, limits: Limits, most: OnceLock<usize>) -> Self {
        let pool = Arc::new(Pool {
            start,
            limits,
            most,
            process: std::process::id(),
            bell: OnceLock::new(),
            state: Mutex::default(),
        });
        Self { owner: Arc::new(Owner { pool: Arc::clone(&pool) }), pool }
    }

    /// Leases a worker. If there is none for so long, that is an error.
    pub fn lease(&self, time: Duration) -> Leasing<T> {
        self.lease_nested(0, time)
    }

    /// Leases a worker while serving the call of another. Such a lease does not wait for others to
    /// be given back, which might wait for it: there may be more of them than plain ones. `depth`
    /// says how many leases it is within; 0 is a plain one, more than [`MAX_DEPTH`] an error.
    pub fn lease_nested(&self, depth: usize, time: Duration) -> Leasing<T> {
        if depth > MAX_DEPTH {
            return Leasing::done(Err(WorkerError::TooDeep { depth, most: MAX_DEPTH }));
        }
        Pool::lease(&self.pool, depth > 0, time)
    }

    /// Starts a worker in the background if there is none, so that it is ready when it is needed.
    pub fn warm(&self) {
        if self.pool.process != std::process::id() {
            return;
        }
        let mut state = self.pool.lock();
        if state.idle.is_empty() && Pool::ensure_attended(&self.pool, &mut state).is_ok() {
            state.warm = true;
            self.pool.ring();
        }
    }
}

impl<T> Workers<T> {
    /// What each worker may have.
    pub fn limits(&self) -> Limits {
        self.pool.limits
    }

    /// How many plain leases there may be at once.
    pub fn most(&self) -> usize {
        self.pool.most()
    }
}

impl<T> Clone for Workers<T> {
    fn clone(&self) -> Self {
        Self { pool: Arc::clone(&self.pool), owner: Arc::clone(&self.owner) }
    }
}

impl<T> fmt::Debug for Workers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.pool.lock();
        f.debug_struct("Workers")
            .field("start", &self.pool.start)
            .field("limits", &self.pool.limits)
            .field("most", &self.pool.most())
            .field("idle", &state.idle.len())
            .field("active", &state.active)
            .finish_non_exhaustive()
    }
}

/// Lets the workers go when the last handle is dropped.
struct Owner<T> {
    pool: Arc<Pool<T>>,
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        self.pool.lock().closed = true;
        self.pool.ring();
    }
}

pub(crate) struct Pool<T> {
    pub(crate) start: Start,
    pub(crate) limits: Limits,
    most: OnceLock<usize>,
    pub(crate) process: u32,
    /// Wakes the thread that attends.
    bell: OnceLock<OwnedFd>,
    state: Mutex<State<T>>,
}

impl<T> Pool<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn most(&self) -> usize {
        *self.most.get_or_init(default_most)
    }

    pub(crate) fn bell(&self) -> Option<&OwnedFd> {
        self.bell.get()
    }

    /// Has the attending thread look.
    pub(crate) fn ring(&self) {
        if let Some(bell) = self.bell.get() {
            let _ = write(bell, &1_u64.to_ne_bytes());
        }
    }

    /// Has the attending thread look at this time at the latest.
    pub(crate) fn wake_by(&self, deadline: Option<Instant>) {
        if !self.lock().is_looked_at_by(deadline) {
            self.ring();
        }
    }

    /// Takes a worker back, or the news that there is none to be had back.
    pub(crate) fn give_back(self: &Arc<Self>, held: Option<Held<T>>, nested: bool) {
        let mut out = Outbox::new();
        let look = {
            let mut state = self.lock();
            state.release(nested);
            if let Some(held) = held {
                if state.closed {
                    out.retired.push(held);
                } else if held.served >= self.limits.requests {
                    out.retired.push(held);
                    state.warm = true;
                } else {
                    state.idle.push_back(Idle { held, since: Instant::now() });
                }
            }
            state.settle(self.most(), &mut out);
            state.warm
                || state.needing.len() > state.starting
                // Those who may not stay have to be seen to in time.
                || (state.idle.len() > 1
                    && !state.is_looked_at_by(Instant::now().checked_add(self.limits.idle)))
        };
        out.send(self);
        if look {
            self.ring();
        }
    }

    /// Somebody does not wait any more.
    pub(crate) fn forget(self: &Arc<Self>, waiter: &Arc<Waiter<T>>) {
        let mut out = Outbox::new();
        {
            let mut state = self.lock();
            state.forget(waiter);
            state.settle(self.most(), &mut out);
        }
        out.send(self);
        self.ring();
    }
}

impl<T: Send + 'static> Pool<T> {
    fn lease(pool: &Arc<Self>, nested: bool, time: Duration) -> Leasing<T> {
        if pool.process != std::process::id() {
            return Leasing::done(Err(WorkerError::Forked { made_by: pool.process }));
        }
        let mut out = Outbox::new();
        let mut state = pool.lock();
        let admitted = nested || (state.active < pool.most() && state.waiting.is_empty());
        if admitted
            && state.needing.is_empty()
            && let Some(held) = state.pop_idle(&mut out)
        {
            if !nested {
                state.active += 1;
            }
            drop(state);
            out.send(pool);
            return Leasing::done(Ok(Lease::new(held, Arc::clone(pool), nested)));
        }
        if let Err(error) = Self::ensure_attended(pool, &mut state) {
            let reason = format!("no thread to attend it: {error}");
            return Leasing::done(Err(WorkerError::NotStarted { reason, stderr: Vec::new() }));
        }
        let waiter = Arc::new(Waiter::new(nested, time));
        if admitted {
            if !nested {
                state.active += 1;
            }
            state.needing.push_back(Arc::clone(&waiter));
        } else {
            state.waiting.push_back(Arc::clone(&waiter));
        }
        drop(state);
        out.send(pool);
        pool.ring();
        Leasing::waiting(waiter, Arc::clone(pool))
    }

    fn ensure_attended(pool: &Arc<Self>, state: &mut State<T>) -> io::Result<()> {
        if state.attended {
            return Ok(());
        }
        if pool.bell.get().is_none() {
            let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let _ = pool.bell.set(bell);
        }
        let attended = Arc::clone(pool);
        thread::Builder::new()
            .name("tollgate-worker".into())
            .stack_size(256 * 1024)
            .spawn(move || attend(&attended))?;
        state.attended = true;
        Ok(())
    }
}
