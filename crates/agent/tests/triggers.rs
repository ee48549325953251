//! Triggers by the clock, and what becomes of triggers that fail. No time passes here.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tollgate_agent::trigger::{
    BoxFuture, Cron, Fired, Options, Problem, Push, Sent, Trigger, TriggerError, Triggers, Zone,
    cron, every,
};

const SECOND: Duration = Duration::from_secs(1);

fn fired(trigger: &str, message: &str) -> Fired {
    Fired { trigger: trigger.into(), message: message.into(), missed: 0 }
}

/// A trigger that does what a closure says.
struct Scripted<F>(F);

impl<F> Trigger for Scripted<F>
where
    F: Fn(Push) -> BoxFuture<'static, Result<(), TriggerError>> + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn run(&self, push: Push) -> BoxFuture<'_, Result<(), TriggerError>> {
        (self.0)(push)
    }
}

fn scripted<F>(script: F) -> Arc<dyn Trigger>
where
    F: Fn(Push) -> BoxFuture<'static, Result<(), TriggerError>> + Send + Sync + 'static,
{
    Arc::new(Scripted(script))
}

#[tokio::test(start_paused = true)]
async fn every_fires_when_so_much_time_has_passed() {
    let trigger = every(10 * SECOND, "look").unwrap().named("clock");
    let (triggers, mut receiver, _problems) =
        Triggers::start(vec![Arc::new(trigger)], Options::default());
    let start = Instant::now();
    for n in 1..=3 {
        assert_eq!(receiver.recv().await, Some(fired("clock", "look")));
        assert_eq!(start.elapsed().as_secs(), 10 * n);
    }
    triggers.stop().await;
    assert_eq!(receiver.recv().await, None);
}

#[test]
fn a_period_of_nothing_is_refused() {
    assert_eq!(every(Duration::ZERO, "x").unwrap_err(), TriggerError::Period(Duration::ZERO));
    assert!(every(Duration::from_micros(999), "x").is_err());
    assert!(every(Duration::from_millis(1), "x").is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_period_without_end_is_told_of() {
    let trigger: Arc<dyn Trigger> = Arc::new(every(Duration::MAX, "x").unwrap());
    let options = Options { restarts: 0, ..Options::default() };
    let (_triggers, mut receiver, mut problems) = Triggers::start(vec![trigger], options);
    let problem = problems.recv().await.unwrap();
    assert_eq!(problem.error, TriggerError::Period(Duration::MAX));
    assert_eq!(problem.restarts_in, None);
    assert_eq!(receiver.recv().await, None);
}

/// By a clock that begins at some time (seconds since 1970) and goes as the runtime's does, moved
/// by what somebody sets it to.
fn by_the_clock(cron: Cron, begins: i64) -> (Arc<dyn Trigger>, Arc<AtomicI64>) {
    let start = Instant::now();
    let moved = Arc::new(AtomicI64::new(0));
    let set = moved.clone();
    let clock = move || {
        let passed = i64::try_from(start.elapsed().as_millis()).unwrap();
        let millis = begins * 1000 + passed + set.load(Ordering::Relaxed) * 1000;
        chrono::DateTime::from_timestamp_millis(millis).unwrap()
    };
    (Arc::new(cron.clock(clock)), moved)
}

/// 2026-03-02, a Monday, at 08:00:00 UTC.
const MONDAY: i64 = 1_772_438_400;

#[tokio::test(start_paused = true)]
async fn cron_fires_at_its_times() {
    let (trigger, _) = by_the_clock(cron("30 8,9 * * MON", "up").unwrap(), MONDAY);
    let (_triggers, mut receiver, _problems) = Triggers::start(vec![trigger], Options::default());
    let start = Instant::now();
    for minutes in [30, 90, 7 * 24 * 60 + 30] {
        assert_eq!(receiver.recv().await, Some(fired("cron 30 8,9 * * MON", "up")));
        let late = start.elapsed().as_secs() - minutes * 60;
        assert!(late < 2, "{minutes}: {late}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_the_machine_can_be_meant() {
    let minutes = cron("* * * * *", "minute").unwrap().zone(Zone::Local).named("m");
    let (trigger, _) = by_the_clock(minutes, MONDAY + 30);
    let (_triggers, mut receiver, _problems) = Triggers::start(vec![trigger], Options::default());
    let start = Instant::now();
    for minutes in 0..3 {
        assert_eq!(receiver.recv().await, Some(fired("m", "minute")));
        let late = start.elapsed().as_secs() - 30 - minutes * 60;
        assert!(late < 2, "{minutes}: {late}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_is_followed() {
    let (trigger, moved) = by_the_clock(cron("0 * * * *", "hour").unwrap(), MONDAY + 60);
    let (_triggers, mut receiver, _problems) = Triggers::start(vec![trigger], Options::default());
    tokio::time::sleep(SECOND).await;
    // Five hours on: of what was missed, one is made up for.
    moved.store(5 * 3600, Ordering::Relaxed);
    let start = Instant::now();
    assert!(receiver.recv().await.is_some());
    assert!(start.elapsed() <= 31 * SECOND, "{:?}", start.elapsed());
    assert_eq!(receiver.try_recv(), None);
    // And back: the next full hour is that of the clock.
    moved.store(0, Ordering::Relaxed);
    assert!(receiver.recv().await.is_some());
    assert!(start.elapsed() <= 3600 * SECOND, "{:?}", start.elapsed());
}

#[test]
fn times_that_are_none_are_refused() {
    let long = "1,".repeat(200);
    for expression in ["", "x", "* * *", "61 * * * *", "0 0 30 2 *", "* * * * * * * * *", &long] {
        let error = cron(expression, "x").unwrap_err();
        assert!(matches!(error, TriggerError::Cron { .. }), "{expression}: {error}");
        assert!(error.to_string().len() < 300, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_trigger_that_fails_is_started_again_later_each_time_and_given_up_in_the_end() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let start = Instant::now();
    let seen = times.clone();
    let failing = scripted(move |_| {
        seen.lock().unwrap().push(start.elapsed().as_secs());
        Box::pin(async { Err(TriggerError::Failed("no network".into())) })
    });
    let options = Options { longest_backoff: 5 * SECOND, restarts: 5, ..Options::default() };
    let (_triggers, mut receiver, mut problems) = Triggers::start(vec![failing], options);
    assert_eq!(receiver.recv().await, None);
    assert_eq!(*times.lock().unwrap(), [0, 1, 3, 7, 12, 17]);
    let mut waits = Vec::new();
    while let Some(Problem { trigger, error, restarts_in }) = problems.recv().await {
        assert_eq!((trigger.as_str(), error.to_string().as_str()), ("scripted", "no network"));
        waits.push(restarts_in.map(|wait| wait.as_secs()));
    }
    assert_eq!(waits, [Some(1), Some(2), Some(4), Some(5), Some(5), None]);
}

#[tokio::test(start_paused = true)]
async fn a_trigger_that_ran_for_long_has_not_failed_in_a_row() {
    let failing = scripted(|_| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Err(TriggerError::Failed("x".into()))
        })
    });
    let options = Options { restarts: 1, ..Options::default() };
    let (_triggers, _receiver, mut problems) = Triggers::start(vec![failing], options);
    for _ in 0..10 {
        assert_eq!(problems.recv().await.unwrap().restarts_in, Some(SECOND));
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_like_others() {
    let runs = AtomicU32::new(0);
    let panics = scripted(move |push| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        // One before there is a future, one in it, and then it works.
        assert!(run != 0, "at once");
        Box::pin(async move {
            assert!(run != 1, "in between");
            assert_eq!(push.send("at last"), Sent::Taken);
            Ok(())
        })
    });
    let other = Arc::new(every(SECOND, "tick").unwrap());
    let (triggers, mut receiver, mut problems) =
        Triggers::start(vec![panics, other], Options::default());
    for text in ["at once", "in between"] {
        let problem = problems.recv().await.unwrap();
        assert_eq!(problem.error, TriggerError::Panicked(text.into()));
    }
    let mut messages = Vec::new();
    while !messages.contains(&"at last".to_owned()) {
        messages.push(receiver.recv().await.unwrap().message);
    }
    assert!(messages.contains(&"tick".to_owned()), "{messages:?}");
    triggers.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_fires_faster_than_it_is_taken_is_bounded_and_says_so() {
    let fast: Arc<dyn Trigger> = Arc::new(every(Duration::from_millis(1), "fast").unwrap());
    let slow: Arc<dyn Trigger> = Arc::new(every(SECOND, "slow").unwrap());
    let options = Options { room: 3, ..Options::default() };
    let (_triggers, mut receiver, _problems) = Triggers::start(vec![fast, slow], options);
    tokio::time::sleep(SECOND + Duration::from_micros(500)).await;
    let mut missed = Vec::new();
    let mut others = 0;
    while let Some(fired) = receiver.try_recv() {
        if fired.message == "fast" { missed.push(fired.missed) } else { others += 1 }
    }
    // The slow one has its place although the fast one has used up its own.
    assert_eq!((missed.as_slice(), others), ([0, 0, 0].as_slice(), 1));
    let next = receiver.recv().await.unwrap();
    assert_eq!((next.message.as_str(), next.missed), ("fast", 997));
}

#[tokio::test(start_paused = true)]
async fn triggers_end_when_nobody_listens() {
    let trigger: Arc<dyn Trigger> = Arc::new(every(SECOND, "x").unwrap());
    let (triggers, receiver, mut problems) =
        Triggers::start(vec![trigger.clone()], Options::default());
    drop(receiver);
    // The list of problems ends with the last trigger.
    assert_eq!(problems.recv().await, None);
    assert_eq!(Arc::strong_count(&trigger), 1);
    drop(triggers);
}

#[tokio::test(start_paused = true)]
async fn stopping_and_dropping_end_all() {
    let hangs = scripted(|_| Box::pin(std::future::pending()));
    let (triggers, mut receiver, _problems) =
        Triggers::start(vec![hangs.clone(); 10], Options::default());
    triggers.stop().await;
    assert_eq!(receiver.recv().await, None);
    assert_eq!(Arc::strong_count(&hangs), 1);

    let (triggers, mut receiver, _problems) =
        Triggers::start(vec![hangs.clone(); 10], Options::default());
    drop(triggers);
    assert_eq!(receiver.recv().await, None);
    assert_eq!(Arc::strong_count(&hangs), 1);
}
