//! The thread that starts workers, watches over them, and buries them.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::read;

use crate::attend::timespec;
use crate::excerpt::Excerpt;
use crate::pipes::drink;
use crate::raw;
use crate::worker::board::{FIRST, Look, kind};
use crate::worker::error::WorkerError;
use crate::worker::pool::Pool;
use crate::worker::process::{End, Watch, Worker};
use crate::worker::queue::{Held, Idle, Looks, Outbox};
use crate::worker::start::Launched;

/// How much is kept of what a worker prints to its standard error.
const COMPLAINTS: usize = 16 * 1024;

/// The most that is read of it after its end.
const PIPE: usize = 1024 * 1024;

/// How long the thread stays without anything to do.
const IDLE: Duration = Duration::from_secs(5);

/// A worker, as this thread sees it.
struct Ward {
    worker: Arc<Worker>,
    stderr: Option<OwnedFd>,
    complaints: Excerpt,
    /// Until when it has to be ready, as long as it is not.
    ready_by: Option<Deadline>,
}

/// None: so far away that the clock cannot tell.
type Deadline = Option<Instant>;

/// What happened to a ward.
#[derive(Clone, Copy, Default)]
struct Signs {
    ended: bool,
    rang: bool,
    complained: bool,
}

/// Attends the workers of a pool, until there are none and nobody wants any.
pub(crate) fn attend<T>(pool: &Arc<Pool<T>>) {
    // Signals are for the program's own threads. Two stay unblocked, with which the C library
    // tells all threads of a change of user.
    let own = raw::signal_set(32) | raw::signal_set(33);
    raw::block_signals(raw::ALL_SIGNALS & !own);
    let mut wards = Vec::new();
    let mut buffer = Vec::new();
    let mut idle_since = Instant::now();
    loop {
        let now = Instant::now();
        let mut out = Outbox::new();
        let (to_start, unwanted, done) = {
            let mut state = pool.lock();
            state.looks_at = None;
            state.expire(now, pool.most(), &mut out);
            state.settle(pool.most(), &mut out);
            state.retire(now, pool.limits.idle, &mut out);
            let alive = wards.iter().any(|ward: &Ward| !ward.worker.is_killed());
            let to_start = state.count_starts(alive);
            let unwanted = state.closed && state.needing.is_empty() && state.waiting.is_empty();
            if !wards.is_empty() || to_start > 0 || !state.waiting.is_empty() {
                idle_since = now;
            }
            let done = wards.is_empty()
                && to_start == 0
                && state.waiting.is_empty()
                && (state.closed || now.saturating_duration_since(idle_since) >= IDLE);
            // From here on, whoever wants something has to start another thread.
            state.attended = !done;
            (to_start, unwanted, done)
        };
        out.send(pool);
        if done {
            return;
        }
        for _ in 0..to_start {
            match start(pool) {
                Ok(ward) => wards.push(ward),
                Err(reason) => fail_start(pool, reason, Vec::new()),
            }
        }
        if unwanted {
            for ward in wards.iter_mut().filter(|ward| ward.ready_by.is_some()) {
                give_up(pool, ward, String::new());
            }
        }
        let signs = wait(pool, &wards, idle_since);
        for (ward, signs) in wards.iter_mut().zip(signs) {
            see_to(pool, ward, signs, &mut buffer);
        }
        wards.retain(|ward| !ward.worker.has_ended());
    }
}

fn start<T>(pool: &Pool<T>) -> Result<Ward, String> {
    let launched = pool.start.launch(&pool.limits).map_err(|error| error.to_string())?;
    let Launched { board, bell, stderr, handle } = launched;
    let id = {
        let mut state = pool.lock();
        state.started += 1;
        state.started
    };
    let worker = Arc::new(Worker {
        id,
        board,
        bell,
        handle,
        process: pool.process,
        memory: pool.limits.memory,
        watch: Mutex::new(Watch::default()),
        killed: AtomicBool::new(false),
        end: OnceLock::new(),
    });
    Ok(Ward {
        worker,
        stderr: Some(stderr),
        complaints: Excerpt::new(COMPLAINTS),
        ready_by: Some(Instant::now().checked_add(pool.limits.start)),
    })
}

/// The one who has waited longest gets to know.
fn fail_start<T>(pool: &Arc<Pool<T>>, reason: String, stderr: Vec<u8>) {
    let mut out = Outbox::new();
    {
        let mut state = pool.lock();
        state.starting = state.starting.saturating_sub(1);
        if let Some(waiter) = state.needing.pop_front() {
            state.refuse(waiter, WorkerError::NotStarted { reason, stderr }, &mut out);
        }
        state.settle(pool.most(), &mut out);
    }
    out.send(pool);
}

/// Waits for something to happen, and says what to whom.
fn wait<T>(pool: &Pool<T>, wards: &[Ward], idle_since: Instant) -> Vec<Signs> {
    let Some(pool_bell) = pool.bell() else { return Vec::new() };
    let deadlines = wards
        .iter()
        .filter_map(|ward| ward.ready_by.flatten().into_iter().chain(ward.worker.deadline()).min());
    let stay = wards.is_empty().then(|| idle_since + IDLE);
    let mut next = deadlines.chain(stay).min();
    {
        // From here on, whoever has something for this thread rings.
        let mut state = pool.lock();
        next = next.into_iter().chain(state.next(pool.limits.idle)).min();
        state.looks_at = Some(next.map_or(Looks::Never, Looks::At));
    }
    let timeout = next.map(|next| timespec(next.saturating_duration_since(Instant::now())));
    let mut fds = vec![PollFd::new(pool_bell, PollFlags::IN)];
    for ward in wards {
        fds.push(PollFd::new(&ward.worker.handle, PollFlags::IN));
        fds.push(PollFd::new(&ward.worker.bell, PollFlags::IN));
        // In the place of what is not asked about, nothing is asked about something else.
        fds.push(ward.stderr.as_ref().map_or_else(
            || PollFd::new(pool_bell, PollFlags::empty()),
            |stderr| PollFd::new(stderr, PollFlags::IN),
        ));
    }
    if poll(&mut fds, timeout.as_ref()).is_err() {
        return vec![Signs::default(); wards.len()];
    }
    let mut happened = fds.iter().map(|fd| !fd.revents().is_empty());
    if happened.next() == Some(true) {
        let _ = read(pool_bell, &mut [0; 8]);
    }
    let mut next = || happened.next().unwrap_or_default();
    wards.iter().map(|_| Signs { ended: next(), rang: next(), complained: next() }).collect()
}

fn see_to<T>(pool: &Arc<Pool<T>>, ward: &mut Ward, signs: Signs, buffer: &mut Vec<u8>) {
    if signs.complained {
        ward.complaints.push(drink(&mut ward.stderr, buffer));
    }
    if signs.rang {
        let _ = read(&ward.worker.bell, &mut [0; 8]);
        if ward.ready_by.is_some() {
            greet(pool, ward);
        }
        ward.worker.wake();
    }
    if signs.ended {
        bury(pool, ward, buffer);
        return;
    }
    let now = Instant::now();
    ward.worker.expire(now);
    if let Some(Some(ready_by)) = ward.ready_by
        && ready_by <= now
    {
        let reason = format!("it was not ready within {:?}", pool.limits.start);
        give_up(pool, ward, reason);
    }
}

/// The worker says that it is ready.
fn greet<T>(pool: &Arc<Pool<T>>, ward: &mut Ward) {
    let said = match ward.worker.board.look(FIRST) {
        Look::Mine => ward.worker.board.hear_worker().kind,
        Look::Theirs => return,
        Look::Garbled => 0,
    };
    if said != kind::READY {
        give_up(pool, ward, "what it said was garbled".into());
        return;
    }
    ward.ready_by = None;
    let mut out = Outbox::new();
    {
        let mut state = pool.lock();
        state.starting = state.starting.saturating_sub(1);
        let held = Held::new(Arc::clone(&ward.worker));
        let now = Instant::now();
        state.idle.push_back(Idle { held, since: now });
        // Who has waited for it for too long does not get it.
        state.expire(now, pool.most(), &mut out);
        state.settle(pool.most(), &mut out);
    }
    out.send(pool);
}

fn give_up<T>(pool: &Arc<Pool<T>>, ward: &mut Ward, reason: String) {
    ward.ready_by = None;
    ward.worker.kill();
    let complaints = std::mem::replace(&mut ward.complaints, Excerpt::new(0));
    fail_start(pool, reason, complaints.into_bytes());
}

/// The worker has ended.
fn bury<T>(pool: &Arc<Pool<T>>, ward: &mut Ward, buffer: &mut Vec<u8>) {
    let status = ward.worker.reap();
    let mut taken = 0;
    while ward.stderr.is_some() && taken <= PIPE {
        let bytes = drink(&mut ward.stderr, buffer);
        if bytes.is_empty() {
            break;
        }
        taken += bytes.len();
        ward.complaints.push(bytes);
    }
    let stderr = std::mem::replace(&mut ward.complaints, Excerpt::new(0)).into_bytes();
    if ward.ready_by.take().is_some() {
        let how = status.map_or_else(|| "ended".into(), |status| status.to_string());
        let said = String::from_utf8_lossy(&stderr);
        let said = said.lines().next().unwrap_or_default();
        let colon = if said.is_empty() { "" } else { ": " };
        fail_start(pool, format!("it {how} before it was ready{colon}{said}"), stderr.clone());
    }
    let _ = ward.worker.end.set(End { status, stderr });
    let mut retired = Outbox::new();
    {
        let mut state = pool.lock();
        let place = state.idle.iter().position(|i| Arc::ptr_eq(&i.held.worker, &ward.worker));
        let idle = place.and_then(|place| state.idle.remove(place));
        retired.retired.extend(idle.map(|idle| idle.held));
    }
    retired.send(pool);
    ward.worker.wake();
}
