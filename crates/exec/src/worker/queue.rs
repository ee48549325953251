//! Who waits for a worker, which workers wait for somebody, and how they come together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::worker::board::FIRST;
use crate::worker::error::WorkerError;
use crate::worker::lease::Lease;
use crate::worker::pool::Pool;
use crate::worker::process::Worker;

/// A worker that nobody else has.
pub(crate) struct Held<T> {
    pub(crate) worker: Arc<Worker>,
    /// Its user's own. Made when it is asked for first.
    pub(crate) note: Option<T>,
    pub(crate) served: u64,
    /// The turn that was handed to it last.
    pub(crate) turn: u32,
    /// Whether a large frame was said since the memory was given back.
    pub(crate) large: bool,
}

impl<T> Held<T> {
    pub(crate) fn new(worker: Arc<Worker>) -> Self {
        Self { worker, note: None, served: 0, turn: FIRST, large: false }
    }
}

pub(crate) struct Idle<T> {
    pub(crate) held: Held<T>,
    pub(crate) since: Instant,
}

pub(crate) struct State<T> {
    /// The one used last comes last.
    pub(crate) idle: VecDeque<Idle<T>>,
    /// How many plain leases there are, or are about to be.
    pub(crate) active: usize,
    /// Those who wait until a plain lease may be had.
    pub(crate) waiting: VecDeque<Arc<Waiter<T>>>,
    /// Those who may have a lease, and need a worker for it.
    pub(crate) needing: VecDeque<Arc<Waiter<T>>>,
    /// How many workers are not ready yet.
    pub(crate) starting: usize,
    /// Whether to start one that nobody waits for.
    pub(crate) warm: bool,
    /// Whether there is a thread that attends the workers.
    pub(crate) attended: bool,
    /// When that thread is going to look by itself. Nothing: it is not waiting now.
    pub(crate) looks_at: Option<Looks>,
    pub(crate) closed: bool,
    pub(crate) started: u64,
}

/// When a waiting thread wakes by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looks {
    At(Instant),
    Never,
}

impl<T> Default for State<T> {
    fn default() -> Self {
        Self {
            idle: VecDeque::new(),
            active: 0,
            waiting: VecDeque::new(),
            needing: VecDeque::new(),
            starting: 0,
            warm: false,
            attended: false,
            looks_at: None,
            closed: false,
            started: 0,
        }
    }
}

/// What a waiter gets.
type Delivery<T> = (Arc<Waiter<T>>, Result<Held<T>, WorkerError>);

/// Leases to be handed out, and what is to be dropped, once nothing is locked any more.
pub(crate) struct Outbox<T> {
    leases: Vec<Delivery<T>>,
    pub(crate) retired: Vec<Held<T>>,
}

impl<T> Outbox<T> {
    pub(crate) fn new() -> Self {
        Self { leases: Vec::new(), retired: Vec::new() }
    }

    pub(crate) fn send(self, pool: &Arc<Pool<T>>) {
        for (waiter, result) in self.leases {
            let nested = waiter.nested;
            waiter.finish(result.map(|held| Lease::new(held, Arc::clone(pool), nested)));
        }
        for held in self.retired {
            held.worker.kill();
        }
    }
}

impl<T> State<T> {
    /// Brings together who waits and what there is.
    pub(crate) fn settle(&mut self, most: usize, out: &mut Outbox<T>) {
        while self.active < most
            && let Some(waiter) = self.waiting.pop_front()
        {
            self.active += 1;
            self.needing.push_back(waiter);
        }
        while !self.needing.is_empty()
            && let Some(idle) = self.pop_idle(out)
            && let Some(waiter) = self.needing.pop_front()
        {
            out.leases.push((waiter, Ok(idle)));
        }
    }

    pub(crate) fn pop_idle(&mut self, out: &mut Outbox<T>) -> Option<Held<T>> {
        loop {
            let Idle { held, .. } = self.idle.pop_back()?;
            if !held.worker.has_ended() {
                return Some(held);
            }
            out.retired.push(held);
        }
    }

    /// Somebody does not wait any more.
    pub(crate) fn forget(&mut self, waiter: &Arc<Waiter<T>>) {
        self.waiting.retain(|other| !Arc::ptr_eq(other, waiter));
        let before = self.needing.len();
        self.needing.retain(|other| !Arc::ptr_eq(other, waiter));
        if self.needing.len() < before {
            self.release(waiter.nested);
        }
    }

    /// A waiter who was counted gets no lease.
    pub(crate) fn refuse(
        &mut self,
        waiter: Arc<Waiter<T>>,
        error: WorkerError,
        out: &mut Outbox<T>,
    ) {
        self.release(waiter.nested);
        out.leases.push((waiter, Err(error)));
    }

    pub(crate) fn release(&mut self, nested: bool) {
        if !nested {
            self.active = self.active.saturating_sub(1);
        }
    }

    /// Answers those whose time has run out.
    pub(crate) fn expire(&mut self, now: Instant, most: usize, out: &mut Outbox<T>) {
        for late in take_late(&mut self.waiting, now) {
            let error = WorkerError::NoSlot { limit: late.limit, most };
            out.leases.push((late, Err(error)));
        }
        for late in take_late(&mut self.needing, now) {
            let reason = format!("it was not ready within {:?}", late.limit);
            self.refuse(late, WorkerError::NotStarted { reason, stderr: Vec::new() }, out);
        }
    }

    /// Lets those go that have been idle for too long; one may stay, unless nobody is left who could
    /// need it.
    pub(crate) fn retire(&mut self, now: Instant, after: Duration, out: &mut Outbox<T>) {
        let stay = usize::from(!self.closed);
        while self.idle.len() > stay
            && let Some(oldest) = self.idle.front()
            && (self.closed || now.saturating_duration_since(oldest.since) >= after)
            && let Some(oldest) = self.idle.pop_front()
        {
            out.retired.push(oldest.held);
        }
    }

    /// How many workers to start, given whether any is alive. They count as being started from now
    /// on.
    pub(crate) fn count_starts(&mut self, alive: bool) -> usize {
        let mut wanted = self.needing.len().saturating_sub(self.starting);
        let warm = std::mem::take(&mut self.warm) && !self.closed;
        if warm && !alive {
            wanted = wanted.max(1);
        }
        self.starting += wanted;
        wanted
    }

    /// Whether the attending thread is going to look by this time.
    pub(crate) fn is_looked_at_by(&self, deadline: Option<Instant>) -> bool {
        match (self.looks_at, deadline) {
            (Some(_), None) => true,
            (Some(Looks::At(at)), Some(deadline)) => at <= deadline,
            (None, _) | (Some(Looks::Never), Some(_)) => false,
        }
    }

    /// When somebody's time runs out, or a worker has been idle for long enough.
    pub(crate) fn next(&self, idle: Duration) -> Option<Instant> {
        let waiters = self.waiting.iter().chain(&self.needing).filter_map(|w| w.deadline);
        let retire = self
            .idle
            .front()
            .filter(|_| self.idle.len() > 1)
            .and_then(|i| i.since.checked_add(idle));
        waiters.chain(retire).min()
    }
}

fn take_late<T>(queue: &mut VecDeque<Arc<Waiter<T>>>, now: Instant) -> Vec<Arc<Waiter<T>>> {
    let is_late = |waiter: &Arc<Waiter<T>>| waiter.deadline.is_some_and(|by| by <= now);
    if !queue.iter().any(is_late) {
        return Vec::new();
    }
    let (late, rest) = queue.drain(..).partition(is_late);
    *queue = VecDeque::from(rest);
    late
}

/// Somebody who waits for a lease.
pub(crate) struct Waiter<T> {
    nested: bool,
    limit: Duration,
    /// None: so far away that the clock cannot tell.
    deadline: Option<Instant>,
    state: Mutex<Wait<T>>,
}

struct Wait<T> {
    result: Option<Result<Lease<T>, WorkerError>>,
    waker: Option<Waker>,
    abandoned: bool,
}

impl<T> Default for Wait<T> {
    fn default() -> Self {
        Self { result: None, waker: None, abandoned: false }
    }
}

impl<T> Waiter<T> {
    pub(crate) fn new(nested: bool, limit: Duration) -> Self {
        let deadline = Instant::now().checked_add(limit);
        Self { nested, limit, deadline, state: Mutex::new(Wait::default()) }
    }

    fn lock(&self) -> MutexGuard<'_, Wait<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Result<Lease<T>, WorkerError>> {
        let mut state = self.lock();
        if let Some(result) = state.result.take() {
            return Poll::Ready(result);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Nobody waits any more. Returns what there may be already, to be dropped where nothing is
    /// locked.
    pub(crate) fn abandon(&self) -> Option<Result<Lease<T>, WorkerError>> {
        let mut state = self.lock();
        state.abandoned = true;
        state.result.take()
    }

    fn finish(&self, result: Result<Lease<T>, WorkerError>) {
        let (waker, _unwanted) = {
            let mut state = self.lock();
            if state.abandoned {
                (None, Some(result))
            } else {
                state.result = Some(result);
                (state.waker.take(), None)
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
