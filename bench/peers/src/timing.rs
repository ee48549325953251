//! Timing two things side by side on a machine that is not quiet.
//!
//! Each is run in short batches, the two in turn, for many rounds. What disturbs the machine then
//! disturbs both, and few batches of each; the median of the batches tells the usual cost, the
//! minimum the undisturbed one.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How long a batch is to take. Short, so that most batches are not interrupted.
const BATCH: Duration = Duration::from_micros(200);

/// How long a batch of several threads is to take. Longer, so that it outweighs the moment in
/// which not all of them have begun.
const BATCH_OF_THREADS: Duration = Duration::from_micros(500);

/// The result of a future that is ready at once. No future measured here ever waits, so no
/// executor is in the figures. Inlined, so that the future is polled where it is made, as with
/// `.await`, and not moved first.
#[inline(always)]
#[allow(clippy::inline_always)] // moving a future is what must not be measured
pub fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Does `work` as often as it is told, and looks at each result where it was returned, so that
/// moving results is not measured.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
pub fn repeat<T>(times: u64, mut work: impl FnMut() -> T) {
    for _ in 0..times {
        let result = work();
        black_box(&result);
    }
}

/// Something to time: does it as often as it is told.
pub type Work = Box<dyn FnMut(u64)>;

/// Nanoseconds for one time.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub median: f64,
    pub min: f64,
}

impl Cost {
    fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self { median: samples[samples.len() / 2], min: samples[0] }
    }
}

#[allow(clippy::cast_precision_loss)] // a batch has thousands of times, not 2^52
fn nanos_each(took: Duration, times: u64) -> f64 {
    took.as_secs_f64() * 1e9 / times as f64
}

/// How many times make a batch.
fn batch(target: Duration, mut run: impl FnMut(u64) -> Duration) -> u64 {
    let mut times = 64;
    // The fastest of a few: one interruption must not make all batches too short.
    while (0..5).map(|_| run(times)).min() < Some(target) {
        times *= 2;
    }
    times
}

fn timed(work: &mut Work, times: u64) -> Duration {
    let begun = Instant::now();
    work(times);
    begun.elapsed()
}

/// Times two things in turn.
pub fn side_by_side(rounds: usize, mut left: Work, mut right: Work) -> (Cost, Cost) {
    let left_times = batch(BATCH, |times| timed(&mut left, times));
    let right_times = batch(BATCH, |times| timed(&mut right, times));
    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut time_left = || lefts.push(nanos_each(timed(&mut left, left_times), left_times));
        let mut time_right =
            || rights.push(nanos_each(timed(&mut right, right_times), right_times));
        // Neither always comes first.
        if round % 2 == 0 {
            time_left();
            time_right();
        } else {
            time_right();
            time_left();
        }
    }
    (Cost::of(lefts), Cost::of(rights))
}

/// Makes the work of one thread.
pub type MakeWork<'a> = &'a (dyn Fn() -> Work + Sync);

/// The time that `times` take in each of `threads` threads at once: the slowest thread's. None
/// where they did not really run at once, because something else had the processor.
fn timed_at_once(threads: usize, times: u64, make: MakeWork<'_>) -> Option<Duration> {
    let ready = AtomicUsize::new(0);
    let run = || {
        let mut work = make();
        work(16);
        // Spinning, because threads that were asleep would not begin together.
        ready.fetch_add(1, Ordering::SeqCst);
        while ready.load(Ordering::SeqCst) < threads {
            std::hint::spin_loop();
        }
        let begun = Instant::now();
        work(times);
        (begun, Instant::now())
    };
    let spans: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        running.into_iter().map(|thread| thread.join().expect("nothing here panics")).collect()
    });
    let slowest = spans.iter().map(|(begun, done)| *done - *begun).max()?;
    let all_begun = spans.iter().map(|(begun, _)| *begun).max()?;
    let first_done = spans.iter().map(|(_, done)| *done).min()?;
    let together = first_done.saturating_duration_since(all_begun);
    (together >= slowest * 9 / 10).then_some(slowest)
}

/// As [`timed_at_once`], again and again until they did run at once.
fn surely_timed_at_once(threads: usize, times: u64, make: MakeWork<'_>) -> Duration {
    let tries = (0..10_000).map(|_| timed_at_once(threads, times, make));
    tries.flatten().next().expect("two threads run at once on a machine with two processors")
}

/// What one time costs in one thread, and in each of two at once.
pub struct Threads {
    pub one: Cost,
    pub two: Cost,
}

/// Times two things in turn, each in one thread and in two.
pub fn threads_side_by_side(
    rounds: usize,
    left: MakeWork<'_>,
    right: MakeWork<'_>,
) -> (Threads, Threads) {
    let all = [(left, 1), (left, 2), (right, 1), (right, 2)];
    let times = all.map(|(make, threads)| {
        batch(BATCH_OF_THREADS, |times| surely_timed_at_once(threads, times, make))
    });
    let mut samples: [Vec<f64>; 4] = Default::default();
    for _ in 0..rounds {
        for (((make, threads), times), samples) in all.iter().zip(times).zip(&mut samples) {
            samples.push(nanos_each(surely_timed_at_once(*threads, times, make), times));
        }
    }
    let [left_one, left_two, right_one, right_two] = samples.map(Cost::of);
    (Threads { one: left_one, two: left_two }, Threads { one: right_one, two: right_two })
}
