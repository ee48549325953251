//! A runtime for tests: time moves only when told, and nothing runs by itself.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant, SystemTime};

use tollgate_core::hook::BoxFuture;
use tollgate_core::runtime::Runtime;

use crate::lock;

/// A [`Runtime`] whose clock is turned by hand. Clones share the clock.
///
/// There are no threads and no timers in it. [`advance`](Self::advance) moves the time and wakes
/// the sleepers whose time has come. What is spawned is kept, and runs on the caller's thread when
/// [`run`](Self::run) or [`run_background`](Self::run_background) is called, in the order it was
/// spawned. So a test that uses it alone has one order of events, the same each time.
///
/// ```
/// use std::time::Duration;
/// use tollgate_core::runtime::Runtime;
/// use tollgate_testing::clock::ManualRuntime;
///
/// let clock = ManualRuntime::new();
/// let mut nap = clock.sleep(Duration::from_secs(3600));
/// assert!(clock.run(nap.as_mut()).is_pending());
/// clock.advance(Duration::from_secs(3599));
/// assert!(clock.run(nap.as_mut()).is_pending());
/// clock.advance(Duration::from_secs(1));
/// assert!(clock.run(nap).is_ready());
/// ```
#[derive(Clone)]
pub struct ManualRuntime {
    begun: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    elapsed: Duration,
    next_sleeper: u64,
    sleepers: Vec<Sleeper>,
    background: Vec<Task>,
}

struct Sleeper {
    id: u64,
    due: Duration,
    waker: Waker,
}

struct Task {
    work: BoxFuture<'static, ()>,
    woken: Arc<Woken>,
}

/// Whether somebody woke a task since it was last polled.
struct Woken(AtomicBool);

impl Woken {
    /// A task is polled at least once.
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl Default for ManualRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl ManualRuntime {
    /// A clock that stands still. Its time of day is the beginning of 1970.
    pub fn new() -> Self {
        Self { begun: Instant::now(), state: Arc::default() }
    }

    /// Moves the time on, and wakes the sleepers that are due, the earliest first. They run when
    /// their executor next does; see [`run`](Self::run).
    pub fn advance(&self, by: Duration) {
        let mut due: Vec<Sleeper> = {
            let mut state = lock(&self.state);
            state.elapsed = state.elapsed.saturating_add(by);
            let now = state.elapsed;
            state.sleepers.extract_if(.., |sleeper| sleeper.due <= now).collect()
        };
        due.sort_by_key(|sleeper| (sleeper.due, sleeper.id));
        for sleeper in due {
            sleeper.waker.wake();
        }
    }

    /// How far the time was moved.
    pub fn elapsed(&self) -> Duration {
        lock(&self.state).elapsed
    }

    /// How many sleepers wait for their time.
    pub fn sleepers(&self) -> usize {
        lock(&self.state).sleepers.len()
    }

    /// Runs `future`, and what was spawned, until the future is done or nothing can go on before
    /// the time moves or somebody else wakes one of them. Call it again then.
    pub fn run<F: Future>(&self, future: F) -> Poll<F::Output> {
        let mut future = pin!(future);
        let woken = Woken::new();
        let waker = Waker::from(Arc::clone(&woken));
        loop {
            let moved = woken.take();
            if moved
                && let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Poll::Ready(done);
            }
            if !self.poll_background() && !moved {
                return Poll::Pending;
            }
        }
    }

    /// Runs what was spawned, as far as it can go before the time moves. Returns how many tasks
    /// are not done.
    pub fn run_background(&self) -> usize {
        while self.poll_background() {}
        lock(&self.state).background.len()
    }

    /// Polls each spawned task that was woken, once. Returns whether there was any.
    fn poll_background(&self) -> bool {
        // No lock is held while a task runs: it may spawn, sleep, or turn the clock.
        let mut tasks = std::mem::take(&mut lock(&self.state).background);
        let mut moved = false;
        tasks.retain_mut(|task| {
            if !task.woken.take() {
                return true;
            }
            moved = true;
            let waker = Waker::from(Arc::clone(&task.woken));
            task.work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        });
        let mut state = lock(&self.state);
        let spawned_meanwhile = std::mem::replace(&mut state.background, tasks);
        state.background.extend(spawned_meanwhile);
        moved
    }
}

impl Runtime for ManualRuntime {
    fn now(&self) -> Instant {
        // An instant that cannot be told does not exist; the clock then stands at its end.
        self.begun.checked_add(self.elapsed()).unwrap_or(self.begun)
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH.checked_add(self.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut state = lock(&self.state);
        state.next_sleeper += 1;
        let (id, due) = (state.next_sleeper, state.elapsed.saturating_add(duration));
        Box::pin(Sleep { id, due, state: Arc::clone(&self.state) })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Result<(), String> {
        lock(&self.state).background.push(Task { work: task, woken: Woken::new() });
        Ok(())
    }
}

impl fmt::Debug for ManualRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("ManualRuntime")
            .field("elapsed", &state.elapsed)
            .field("sleepers", &state.sleepers.len())
            .field("background", &state.background.len())
            .finish_non_exhaustive()
    }
}

/// Waits until the clock shows `due`.
struct Sleep {
    id: u64,
    due: Duration,
    state: Arc<Mutex<State>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.elapsed >= self.due {
            return Poll::Ready(());
        }
        state.sleepers.retain(|sleeper| sleeper.id != self.id);
        let waker = task.waker().clone();
        state.sleepers.push(Sleeper { id: self.id, due: self.due, waker });
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        lock(&self.state).sleepers.retain(|sleeper| sleeper.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::error::HookError;
    use tollgate_core::prelude::*;

    use super::*;
    use crate::scripted::Scripted;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn time_moves_only_when_told() {
        let clock = ManualRuntime::new();
        let (now, day) = (clock.now(), clock.wall_clock());
        assert_eq!((clock.now(), clock.wall_clock()), (now, day));
        clock.advance(5 * SECOND);
        assert_eq!((clock.now() - now, clock.elapsed()), (5 * SECOND, 5 * SECOND));
        assert_eq!(clock.wall_clock().duration_since(day).unwrap(), 5 * SECOND);
        clock.advance(Duration::MAX);
        assert_eq!(clock.elapsed(), Duration::MAX);
        assert_eq!(clock.now(), now, "a time that cannot be told is no panic");
    }

    #[test]
    fn sleepers_wake_when_they_are_due_and_not_before() {
        let clock = ManualRuntime::new();
        let order = Arc::new(Mutex::new(Vec::new()));
        for seconds in [3, 1, 2] {
            let (order, nap) = (Arc::clone(&order), clock.sleep(seconds * SECOND));
            let task = async move {
                nap.await;
                lock(&order).push(seconds);
            };
            clock.spawn(Box::pin(task)).unwrap();
        }
        assert_eq!(clock.run_background(), 3);
        assert_eq!(clock.sleepers(), 3);
        clock.advance(SECOND);
        assert_eq!(clock.run_background(), 2);
        assert_eq!(*lock(&order), [1]);
        clock.advance(9 * SECOND);
        assert_eq!(clock.run_background(), 0);
        assert_eq!(*lock(&order), [1, 3, 2], "tasks run in the order they were spawned");
        assert_eq!(clock.sleepers(), 0);
    }

    #[test]
    fn a_sleeper_that_is_dropped_is_forgotten() {
        let clock = ManualRuntime::new();
        let mut nap = clock.sleep(SECOND);
        assert!(clock.run(nap.as_mut()).is_pending());
        assert_eq!(clock.sleepers(), 1);
        drop(nap);
        assert_eq!(clock.sleepers(), 0);
        assert!(clock.run(clock.sleep(Duration::ZERO)).is_ready());
    }

    #[test]
    fn a_task_may_spawn_another() {
        let clock = ManualRuntime::new();
        let ran = Arc::new(AtomicBool::new(false));
        let (inner_clock, inner_ran) = (clock.clone(), Arc::clone(&ran));
        let outer = async move {
            let inner = async move { inner_ran.store(true, Ordering::Relaxed) };
            inner_clock.spawn(Box::pin(inner)).unwrap();
        };
        clock.spawn(Box::pin(outer)).unwrap();
        assert_eq!(clock.run_background(), 0);
        assert!(ran.load(Ordering::Relaxed));
    }

    #[test]
    fn a_hook_that_takes_too_long_is_ended_without_anyone_waiting() {
        let clock = ManualRuntime::new();
        let hook = Scripted::<ToolPre>::new().then_hang();
        let runner = Runner::builder()
            .runtime(Arc::new(clock.clone()))
            .register(hook.registration("hangs").deadline(2 * SECOND))
            .build()
            .unwrap();
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        let mut dispatch = pin!(runner.dispatch(&operation, ToolPre::default()));
        assert!(clock.run(dispatch.as_mut()).is_pending());
        clock.advance(SECOND);
        assert!(clock.run(dispatch.as_mut()).is_pending());
        clock.advance(SECOND);
        let Poll::Ready(outcome) = clock.run(dispatch) else { panic!("still waiting") };
        let error = outcome.record.answers[0].error.clone();
        assert_eq!(error, Some(HookError::TimedOut { limit: 2 * SECOND }));
        assert_eq!(outcome.record.took, 2 * SECOND);
    }

    #[test]
    fn inspectors_run_when_the_background_does() {
        let clock = ManualRuntime::new();
        let watcher = Scripted::<ToolPost>::new();
        let runner = Runner::builder()
            .runtime(Arc::new(clock.clone()))
            .register(watcher.registration("watcher").mode(Mode::Inspect))
            .build()
            .unwrap();
        let turn = SessionContext::new(SessionInfo::default()).turn();
        let dispatched = clock.run(runner.dispatch(&turn.operation(), ToolPost::default()));
        assert!(dispatched.is_ready());
        assert_eq!(clock.run_background(), 0);
        assert_eq!(watcher.asked().len(), 1);
        // The end of a turn waits for what watches it; `run` lets that happen.
        assert!(clock.run(runner.dispatch(&turn, TurnEnd::new("done"))).is_ready());
    }
}
