//! Workers of the example `worker`, and a check that nothing is left of them.

// Not each test file uses all of it.
#![allow(dead_code, unreachable_pub)]

use std::fs;
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::thread;
use std::time::Duration;

use crate::scene::{alone, children, eventually, executor_threads, open_fds};
use tollgate_exec::worker::{Lease, Limits, Start, Turn, WorkerError, Workers};

pub const LONG: Duration = Duration::from_secs(20);
pub const SHORT: Duration = Duration::from_millis(200);

/// The example, which is built along with the tests: beside their directory.
pub fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/worker")
}

/// Dropping it checks that nothing was left behind.
pub struct Stage {
    workers: Option<Workers<Vec<String>>>,
    fds: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    pub fn new() -> Self {
        Self::with(Limits::default(), 2)
    }

    pub fn with(limits: Limits, most: usize) -> Self {
        Self::of(Start::program(example()), limits, most)
    }

    pub fn of(start: Start, limits: Limits, most: usize) -> Self {
        let alone = alone();
        let fds = open_fds();
        let workers = Workers::new(start, limits, most);
        Self { workers: Some(workers), fds, _alone: alone }
    }

    pub fn workers(&self) -> &Workers<Vec<String>> {
        self.workers.as_ref().unwrap()
    }

    pub fn lease(&self) -> Lease<Vec<String>> {
        self.workers().lease(LONG).wait().unwrap()
    }

    /// Asks a worker that nobody else has.
    pub fn ask(&self, request: &str) -> Result<Turn, WorkerError> {
        self.lease().ask(request.as_bytes(), LONG).wait()
    }

    /// A worker is there, and does what it should.
    #[track_caller]
    pub fn works(&self) {
        assert_eq!(answer(self.ask("echo still here")), "still here");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        self.workers = None;
        eventually("no child is left", || children().is_empty());
        eventually("the thread is gone", || executor_threads() == 0);
        // Fewer where something of a test before was still being closed when they were counted.
        eventually("all descriptors are closed", || open_fds() <= self.fds);
    }
}

#[track_caller]
pub fn answer(result: Result<Turn, WorkerError>) -> String {
    match result {
        Ok(Turn::Answer(bytes)) => String::from_utf8(bytes).unwrap(),
        other => panic!("{other:?} instead of an answer"),
    }
}

pub fn pid(lease: &mut Lease<Vec<String>>) -> String {
    answer(lease.ask(b"pid", LONG).wait())
}

pub fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !matches!(stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]), None | Some(b'Z'))
}
