//! Workers and those who ask them. As a worker is a program that says so at the top of its `main`,
//! they are the example `worker`.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod scene;
mod stage;

use std::cell::Cell;
use std::fs;
use std::future::Future;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use scene::{children, eventually};
use stage::{LONG, SHORT, Stage, answer, example, is_alive, pid};
use tollgate_exec::worker::{Limits, MAX_DEPTH, Start, Turn, WorkerError, Workers};

#[test]
fn a_worker_serves_a_thousand_requests() {
    let stage = Stage::new();
    let id = stage.lease().id();
    for number in 0..1000 {
        let mut lease = stage.lease();
        assert_eq!(lease.id(), id);
        let text = "x".repeat(number);
        assert_eq!(answer(lease.ask(format!("echo {text}").as_bytes(), LONG).wait()), text);
    }
    assert_eq!(children().len(), 1);
}

#[test]
fn it_calls_its_host() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    let mut said = lease.ask(b"call 100", LONG).wait().unwrap();
    for number in 0..100 {
        assert_eq!(said, Turn::Call(number.to_string().into()));
        said = lease.reply(format!("<{number}>").as_bytes(), LONG).wait().unwrap();
    }
    let expected: Vec<_> = (0..100).map(|number| format!("<{number}>")).collect();
    assert_eq!(answer(Ok(said)), expected.concat());
    assert_eq!(answer(lease.ask(b"echo more", LONG).wait()), "more");
}

#[test]
fn its_clock_stands_still_while_the_host_has_the_turn() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    let said = lease.ask(b"call 1", SHORT).wait().unwrap();
    assert_eq!(said, Turn::Call(b"0".into()));
    thread::sleep(SHORT * 2);
    assert_eq!(answer(lease.reply(b"late", LONG).wait()), "late");
}

#[test]
fn who_speaks_out_of_turn_is_told() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    let why = lease.reply(b"", LONG).wait().unwrap_err().to_string();
    assert_eq!(why, "there is no call to reply to: ask first");
    lease.ask(b"call 1", LONG).wait().unwrap();
    let why = lease.ask(b"echo", LONG).wait().unwrap_err().to_string();
    assert_eq!(why, "the worker waits for the reply to its call, not for a request");
    assert_eq!(answer(lease.reply(b"so", LONG).wait()), "so");
}

#[test]
fn what_is_noted_stays_with_the_worker() {
    let stage = Stage::new();
    let mut first = stage.lease();
    let mut second = stage.lease();
    assert_ne!(first.id(), second.id());
    first.state().push("first".into());
    assert!(second.state().is_empty());
    let id = first.id();
    drop(first);
    let mut again = stage.lease();
    assert_eq!((again.id(), &**again.state()), (id, &["first".to_owned()][..]));
    let _ = again.ask(b"exit", LONG).wait().unwrap_err();
    drop((again, second));
    // The other is still there; a third would be new.
    let mut other = stage.lease();
    assert!(other.id() != id && other.state().is_empty());
}

/// Polls once, as an executor would that has other things to do.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn the_host_loses_interest() {
    let stage = Stage::with(Limits::default(), 1);
    let mut lease = stage.lease();
    let pid = pid(&mut lease);
    assert!(poll_once(lease.ask(b"spin", LONG)).is_pending());
    assert!(!lease.is_usable());
    eventually("it is dead", || !is_alive(&pid));
    drop(lease);
    // Never polled.
    let mut lease = stage.lease();
    drop(lease.ask(b"echo", LONG));
    assert!(!lease.is_usable());
    drop(lease);
    // Before there is a worker, and while another has it.
    drop(stage.workers().lease(LONG));
    let lease = stage.lease();
    let mut waiting = Box::pin(stage.workers().lease(LONG));
    assert!(poll_once(waiting.as_mut()).is_pending());
    drop(waiting);
    drop(lease);
    stage.works();
}

#[test]
fn no_more_than_so_many_at_once() {
    let stage = Stage::with(Limits::default(), 2);
    let (first, second) = (stage.lease(), stage.lease());
    let began = Instant::now();
    let error = stage.workers().lease(SHORT).wait().unwrap_err();
    assert_eq!(error.to_string(), "waited for a free worker for 200ms: all 2 were busy");
    assert!(error.is_timeout() && began.elapsed() >= SHORT);
    let waiting = stage.workers().lease(LONG);
    let id = first.id();
    drop(first);
    assert_eq!(waiting.wait().unwrap().id(), id);
    drop(second);
    assert_eq!(children().len(), 2);
}

#[test]
fn nested_leases_never_wait_for_each_other() {
    let stage = Stage::with(Limits::default(), 1);
    let mut leases = vec![stage.lease()];
    for depth in 1..=8 {
        let mut lease = stage.workers().lease_nested(depth, LONG).wait().unwrap();
        assert_eq!(lease.ask(b"call 1", LONG).wait().unwrap(), Turn::Call(b"0".into()));
        leases.push(lease);
    }
    for lease in leases.iter_mut().skip(1).rev() {
        assert_eq!(answer(lease.reply(b"r", LONG).wait()), "r");
    }
    drop(leases);
    assert_eq!(children().len(), 9);
    let error = stage.workers().lease_nested(MAX_DEPTH + 1, LONG).wait().unwrap_err();
    assert_eq!(error.to_string(), "65 requests within each other are too many: at most 64");
    // They count for nothing in what plain ones may have.
    drop(stage.lease());
    stage.works();
}

#[test]
fn idle_ones_end_but_for_one() {
    let limits = Limits { idle: Duration::from_millis(50), ..Limits::default() };
    let stage = Stage::with(limits, 4);
    let leases: Vec<_> = (0..4).map(|_| stage.lease()).collect();
    assert_eq!(children().len(), 4);
    drop(leases);
    eventually("one is left", || children().len() == 1);
    stage.works();
    assert_eq!(children().len(), 1);
}

#[test]
fn one_that_has_served_enough_is_replaced() {
    let stage = Stage::with(Limits { requests: 3, ..Limits::default() }, 1);
    let ids: Vec<_> = (0..7)
        .map(|_| {
            let mut lease = stage.lease();
            answer(lease.ask(b"echo", LONG).wait());
            lease.id()
        })
        .collect();
    assert_eq!(ids, [1, 1, 1, 2, 2, 2, 3]);
}

#[test]
fn many_threads_share_the_workers() {
    let stage = Stage::with(Limits::default(), 3);
    thread::scope(|scope| {
        for thread in 0..8 {
            let stage = &stage;
            scope.spawn(move || {
                for number in 0..50 {
                    let text = format!("{thread} {number}");
                    if number % 25 == 24 {
                        let _ = stage.ask("exit").unwrap_err();
                    }
                    assert_eq!(answer(stage.ask(&format!("echo {text}"))), text);
                }
            });
        }
    });
    assert!(children().len() <= 3);
}

#[test]
fn a_runtime_has_its_thread_meanwhile() {
    let stage = Stage::with(Limits::default(), 4);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let workers = stage.workers().clone();
    let (busy, most, ticks) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let ask = async || {
        let mut lease = workers.lease(LONG).await.unwrap();
        busy.set(busy.get() + 1);
        most.set(most.get().max(busy.get()));
        answer(lease.ask(b"sleep 500", LONG).await);
        busy.set(busy.get() - 1);
    };
    let tick = async || {
        while busy.get() > 0 || most.get() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            ticks.set(ticks.get() + 1);
        }
    };
    runtime.block_on(async {
        tokio::join!(ask(), ask(), ask(), tick());
        assert!(most.get() > 1 && ticks.get() > 5, "{most:?} {ticks:?}");
        // Cancelled by the runtime's own clock.
        let mut lease = workers.lease(LONG).await.unwrap();
        let late = tokio::time::timeout(SHORT, lease.ask(b"spin", LONG)).await;
        assert!(late.is_err());
    });
    drop(workers);
    stage.works();
}

#[test]
fn it_cannot_be_started() {
    let why = |start: Start| {
        let limits = Limits { start: SHORT, ..Limits::default() };
        let stage = Stage::of(start, limits, 1);
        let first = stage.workers().lease(LONG).wait().unwrap_err();
        let second = stage.workers().lease(LONG).wait().unwrap_err();
        assert_eq!(first.to_string(), second.to_string());
        eventually("nothing is left", || children().is_empty());
        first.to_string()
    };
    let dir = tempfile::tempdir().unwrap();
    let named = |name: &str| {
        let path = dir.path().join(name);
        symlink(example(), &path).unwrap();
        Start::program(path)
    };
    let prefix = "the worker could not be started: ";
    let missing = why(Start::program("/no/such"));
    assert_eq!(missing, format!("{prefix}No such file or directory (os error 2)"));
    let other = why(Start::program("/bin/false"));
    assert_eq!(other, format!("{prefix}it exited with code 1 before it was ready"));
    let bad = why(named("worker-bad"));
    assert!(bad.starts_with(&format!("{prefix}it exited with code 101 before it was")), "{bad}");
    let mute = why(named("worker-mute"));
    assert_eq!(mute, format!("{prefix}it was not ready within 200ms"));
    // One that is started by somebody else, with all that we have given him.
    let between = dir.path().join("between");
    fs::write(&between, format!("#!/bin/sh\n{} \"$@\"\nexit $?\n", example().display())).unwrap();
    fs::set_permissions(&between, fs::Permissions::from_mode(0o755)).unwrap();
    let stranger = why(Start::program(between));
    let refusal = "--tollgate-worker is for Tollgate itself, not to be called: its host is gone";
    let how = "it exited with code 113 before it was ready";
    assert_eq!(stranger, format!("{prefix}{how}: {refusal}"));
    // This test has not said that it could be one.
    assert!(matches!(Start::this_program(), Err(WorkerError::NotPossible)));
}

#[test]
fn a_lease_may_not_wait_for_a_start_for_ever() {
    let stage = Stage::with(Limits::default(), 1);
    let error = stage.workers().lease(Duration::ZERO).wait().unwrap_err();
    assert!(matches!(error, WorkerError::NotStarted { .. }), "{error:?}");
    stage.works();
}

#[test]
fn who_waits_is_answered_though_the_pool_is_gone() {
    for _ in 0..20 {
        let stage = Stage::new();
        let workers = Workers::<()>::new(Start::program(example()), Limits::default(), 1);
        let leasing = workers.lease(Duration::ZERO);
        drop(workers);
        let error = leasing.wait().unwrap_err();
        assert!(matches!(error, WorkerError::NotStarted { .. }), "{error}");
        let workers = Workers::<()>::new(Start::program(example()), Limits::default(), 1);
        let leasing = workers.lease(LONG);
        drop(workers);
        let mut lease = leasing.wait().unwrap();
        assert_eq!(answer(lease.ask(b"echo late", LONG).wait()), "late");
        drop((lease, stage));
    }
}

#[test]
fn it_is_warm_before_it_is_needed() {
    let stage = Stage::new();
    stage.workers().warm();
    eventually("there is a worker", || children().len() == 1);
    stage.workers().warm();
    stage.works();
    assert_eq!(children().len(), 1);
}

#[test]
fn nobody_waits_for_one_that_is_not_wanted_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let mute = dir.path().join("worker-mute");
    symlink(example(), &mute).unwrap();
    let stage = Stage::of(Start::program(mute), Limits::default(), 1);
    stage.workers().warm();
    eventually("it is being started", || children().len() == 1);
    // The stage checks that it is gone, long before it would have to be ready.
}
