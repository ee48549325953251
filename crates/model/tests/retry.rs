//! Calls that failed, made again, on a clock that is turned by waiting.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tollgate_model::{
    BoxFuture, Failure, Finish, Heard, Model, ModelError, Part, Policy, Reply, Request, Retry,
    Stage, Usage,
};

/// A model that fails so often, and then answers.
struct Failing {
    times: u32,
    error: ModelError,
    takes: Duration,
    asked: AtomicU32,
}

impl Failing {
    fn new(times: u32, error: ModelError) -> Self {
        Self { times, error, takes: Duration::ZERO, asked: AtomicU32::new(0) }
    }
}

impl Model for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn respond<'a>(
        &'a self,
        _: &'a Request,
        heard: &'a Heard<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let asked = self.asked.fetch_add(1, Ordering::SeqCst);
            heard(Part::Text("x"));
            tokio::time::sleep(self.takes).await;
            if asked < self.times {
                return Err(self.error.clone());
            }
            let (text, calls, usage) = ("done".to_owned(), Vec::new(), Usage::default());
            Ok(Reply { text, calls, usage, finish: Finish::Stop })
        })
    }
}

fn status(status: u16, retry_after: Option<Duration>) -> ModelError {
    let failure = Failure { status: Some(status), retry_after, ..Failure::default() };
    ModelError::Provider { model: "failing".to_owned(), failure }
}

fn policy() -> Policy {
    Policy {
        attempts: 5,
        first_wait: Duration::from_secs(1),
        longest_wait: Duration::from_secs(3),
        total: Duration::from_mins(10),
    }
}

/// Asks, and says which waits were heard of.
async fn ask(model: &impl Model) -> (Result<Reply, ModelError>, Vec<(u32, Duration)>) {
    let waits = Mutex::new(Vec::new());
    let heard = |part: Part<'_>| {
        if let Part::Again { attempt, wait, .. } = part {
            waits.lock().unwrap().push((attempt, wait));
        }
    };
    let reply = model.respond(&Request::user("Go"), &heard).await;
    (reply, waits.into_inner().unwrap())
}

#[tokio::test(start_paused = true)]
async fn waits_double_up_to_the_longest_less_a_random_part() {
    let model = Retry::new(Failing::new(4, status(503, None)), policy());
    let begin = Instant::now();
    let (reply, waits) = ask(&model).await;
    assert_eq!(reply.unwrap().text, "done");
    let took = begin.elapsed();
    let attempts: Vec<u32> = waits.iter().map(|(attempt, _)| *attempt).collect();
    assert_eq!(attempts, [2, 3, 4, 5]);
    for ((_, wait), full) in waits.iter().zip([1, 2, 3, 3]) {
        let full = Duration::from_secs(full);
        assert!(*wait >= full / 2 && *wait <= full, "{wait:?} of {full:?}");
    }
    let sum: Duration = waits.iter().map(|(_, wait)| *wait).sum();
    // The clock counts in milliseconds.
    assert!(took >= sum && took < sum + Duration::from_millis(10), "{took:?}, {sum:?}");
}

#[tokio::test(start_paused = true)]
async fn waits_differ() {
    let mut waits = Vec::new();
    for _ in 0..20 {
        let model = Retry::new(Failing::new(1, status(503, None)), policy());
        waits.extend(ask(&model).await.1);
    }
    waits.dedup();
    assert!(waits.len() > 1, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted() {
    for attempts in [0, 1, 3] {
        let model = Retry::new(Failing::new(9, status(429, None)), Policy { attempts, ..policy() });
        let (reply, waits) = ask(&model).await;
        assert_eq!(reply.unwrap_err(), status(429, None));
        assert_eq!(waits.len(), usize::try_from(attempts).unwrap().saturating_sub(1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_ends_at_once() {
    let unreadable = ModelError::Unreadable { model: "m".to_owned(), why: "x".to_owned() };
    let failure =
        Failure { status: Some(429), kind: "insufficient_quota".to_owned(), ..Failure::default() };
    let broke = ModelError::Provider { model: "m".to_owned(), failure };
    for error in [
        status(400, None),
        status(401, None),
        status(403, None),
        status(404, None),
        unreadable,
        broke,
    ] {
        let model = Retry::new(Failing::new(1, error.clone()), policy());
        let (reply, waits) = ask(&model).await;
        assert_eq!(reply.unwrap_err(), error);
        assert!(waits.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_gets_the_wait_that_it_asks_for_unless_it_is_too_long() {
    for (asked, is_waited_for) in [(0, true), (3, true), (4, false)] {
        let asked = Duration::from_secs(asked);
        let model = Retry::new(Failing::new(1, status(429, Some(asked))), policy());
        let begin = Instant::now();
        let (reply, waits) = ask(&model).await;
        assert_eq!(reply.is_ok(), is_waited_for);
        if is_waited_for {
            assert_eq!(waits, [(2, asked)]);
            assert!(begin.elapsed() >= asked);
        } else {
            assert!(waits.is_empty());
            assert!(reply.unwrap_err().to_string().contains("it asks to wait 4s"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_of_it_has_an_end() {
    // Between two attempts: the wait would lead beyond the end.
    let total = Duration::from_millis(2500);
    let model = Retry::new(
        Failing::new(9, status(503, Some(Duration::from_secs(1)))),
        Policy { total, ..policy() },
    );
    let begin = Instant::now();
    let (reply, waits) = ask(&model).await;
    assert_eq!(reply.unwrap_err(), status(503, Some(Duration::from_secs(1))));
    assert_eq!(waits.len(), 2);
    assert!(begin.elapsed() <= total);

    // In the middle of one.
    let takes = Duration::from_hours(1);
    let model = Retry::new(
        Failing { takes, ..Failing::new(9, status(503, None)) },
        Policy { total, ..policy() },
    );
    let begin = Instant::now();
    let error = ask(&model).await.0.unwrap_err();
    assert!(
        matches!(error, ModelError::Deadline { stage: Stage::Whole, time, .. } if time == total)
    );
    assert!(begin.elapsed() < total + Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn policies_without_measure_are_no_panic() {
    let endless = Policy {
        attempts: 200,
        first_wait: Duration::MAX,
        longest_wait: Duration::from_secs(1),
        total: Duration::MAX,
    };
    let model = Retry::new(Failing::new(100, status(503, None)), endless);
    assert!(ask(&model).await.0.is_ok());
    let forever = Policy { longest_wait: Duration::MAX, ..endless };
    for wait in [Some(Duration::MAX), None] {
        let model = Retry::new(Failing::new(1, status(503, wait)), forever);
        assert!(ask(&model).await.0.is_err());
    }
}
