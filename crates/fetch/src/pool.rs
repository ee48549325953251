//! The threads that requests run on: as many as are needed up to a bound, and none when idle.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::FetchError;
use crate::ticket::{Outcome, Ticket};

pub(crate) type Work = Box<dyn FnOnce(&Arc<Ticket>) -> Outcome + Send>;

struct Job {
    ticket: Arc<Ticket>,
    work: Work,
    id: u64,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// Threads there are, and those of them with nothing to do.
    threads: usize,
    idle: usize,
    /// What the clock watches, the earliest first.
    deadlines: BTreeMap<(Instant, u64), Weak<Ticket>>,
    has_clock: bool,
    next_id: u64,
    is_closed: bool,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    clock: Condvar,
    running: usize,
    waiting: usize,
    /// How long a thread waits for more before it ends.
    idle: Duration,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of the threads. They finish what they have when it is dropped.
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    pub(crate) fn new(running: usize, waiting: usize, idle: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                work: Condvar::new(),
                clock: Condvar::new(),
                running: running.max(1),
                waiting,
                idle,
            }),
        }
    }

    /// Has it done, or ends the ticket with the reason why not.
    pub(crate) fn submit(&self, ticket: &Arc<Ticket>, work: Work) {
        if let Err(error) = self.try_submit(ticket, work) {
            ticket.finish(Err(error));
        }
    }

    fn try_submit(&self, ticket: &Arc<Ticket>, work: Work) -> Result<(), FetchError> {
        let shared = &self.shared;
        let mut state = shared.lock();
        // A thread that is idle or can be started takes one without its waiting.
        let free = state.idle + shared.running.saturating_sub(state.threads);
        if state.waiting.len() >= shared.waiting.saturating_add(free) {
            // Only now: those that nobody wants any more take no place.
            state.waiting.retain(|job| !job.ticket.is_over());
        }
        if state.waiting.len() >= shared.waiting.saturating_add(free) {
            let (running, waiting) = (shared.running, shared.waiting);
            return Err(FetchError::Busy { running, waiting });
        }
        if !state.has_clock {
            start("fetch-clock", shared, keep_time)?;
            state.has_clock = true;
        }
        if state.idle <= state.waiting.len() && state.threads < shared.running {
            match start("fetch", shared, run_jobs) {
                Ok(()) => state.threads += 1,
                // Those there are will come to it.
                Err(_) if state.threads > 0 => {}
                Err(error) => return Err(error),
            }
        }
        let id = state.next_id;
        state.next_id += 1;
        state.deadlines.insert((ticket.deadline(), id), Arc::downgrade(ticket));
        state.waiting.push_back(Job { ticket: Arc::clone(ticket), work, id });
        shared.work.notify_one();
        shared.clock.notify_one();
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.work.notify_all();
        self.shared.clock.notify_all();
    }
}

fn start(name: &str, shared: &Arc<Shared>, run: fn(&Shared)) -> Result<(), FetchError> {
    let shared = Arc::clone(shared);
    let started: io::Result<_> =
        thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared));
    match started {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(FetchError::Internal { why: format!("a thread could not be started: {error}") })
        }
    }
}

/// A thread's life.
fn run_jobs(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if let Some(Job { ticket, work, id }) = state.waiting.pop_front() {
            drop(state);
            if !ticket.is_over() {
                // What is used here is not all ours, and a thread that dies would be missed.
                let outcome = catch_unwind(AssertUnwindSafe(|| work(&ticket)));
                ticket.finish(outcome.unwrap_or_else(|_| {
                    Err(FetchError::Internal { why: "something panicked".to_owned() })
                }));
            }
            state = shared.lock();
            state.deadlines.remove(&(ticket.deadline(), id));
            if state.is_closed && state.deadlines.is_empty() {
                shared.clock.notify_one();
            }
            continue;
        }
        if state.is_closed {
            break;
        }
        state.idle += 1;
        let waited = shared.work.wait_timeout(state, shared.idle);
        let (after, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        state = after;
        state.idle -= 1;
        if waited.timed_out() && state.waiting.is_empty() {
            break;
        }
    }
    state.threads -= 1;
}

/// The clock's life: it ends requests whose time is over, whatever their thread hangs in.
fn keep_time(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        let now = Instant::now();
        let next = state.deadlines.first_key_value().map(|((deadline, _), _)| *deadline);
        match next {
            Some(deadline) if deadline <= now => {
                let Some((_, ticket)) = state.deadlines.pop_first() else { continue };
                drop(state);
                // Not under the lock: it wakes somebody.
                if let Some(ticket) = ticket.upgrade() {
                    ticket.expire();
                }
                state = shared.lock();
            }
            Some(deadline) => {
                let left = deadline.saturating_duration_since(now);
                let waited = shared.clock.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            None if state.is_closed => break,
            None => {
                let waited = shared.clock.wait_timeout(state, shared.idle);
                let (after, waited) = waited.unwrap_or_else(PoisonError::into_inner);
                state = after;
                if waited.timed_out() && state.deadlines.is_empty() {
                    break;
                }
            }
        }
    }
    state.has_clock = false;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    thread_local! {
        /// Dropped when the thread ends.
        static ALIVE: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
    }

    /// Has `count` jobs done at the same time, and tells when the threads of all have ended.
    fn occupy(pool: &Pool, count: usize) -> Receiver<()> {
        let (alive, ended) = channel();
        let (ready, all_ready) = channel();
        let (go, gone) = channel::<()>();
        let gone = Arc::new(Mutex::new(gone));
        let mut tickets = Vec::new();
        for _ in 0..count {
            let (alive, ready, gone) = (alive.clone(), ready.clone(), Arc::clone(&gone));
            let ticket = Ticket::new(LONG);
            tickets.push(Arc::clone(&ticket));
            pool.submit(
                &ticket,
                Box::new(move |_| {
                    ALIVE.set(Some(alive));
                    ready.send(()).unwrap();
                    // Until nobody holds the other end any more.
                    let _ = gone.lock().unwrap().recv();
                    Err(FetchError::Internal { why: "done".to_owned() })
                }),
            );
        }
        for _ in 0..count {
            all_ready.recv_timeout(LONG).unwrap();
        }
        drop(go);
        for ticket in tickets {
            assert!(ticket.wait().is_err());
        }
        ended
    }

    #[test]
    fn threads_end_when_idle_and_come_back_when_needed() {
        let pool = Pool::new(4, 4, Duration::from_millis(1));
        for _ in 0..3 {
            let ended = occupy(&pool, 4);
            assert_eq!(ended.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        }
    }

    #[test]
    fn threads_end_with_the_pool() {
        let pool = Pool::new(4, 4, LONG * 100);
        let shared = Arc::downgrade(&pool.shared);
        let ended = occupy(&pool, 4);
        drop(pool);
        assert_eq!(ended.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        // The clock too, though there is nothing that tells us when.
        let begin = Instant::now();
        while shared.strong_count() > 0 {
            assert!(begin.elapsed() < LONG);
            thread::yield_now();
        }
    }
}
