//! A place for commands to do their worst in, which checks that it is left as it was found.

// Not each test file uses all of it.
#![allow(dead_code, unreachable_pub)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tollgate_exec::{Command, ExecError, Executor, Finished, Input, Limits};

/// What is counted belongs to the whole process, so there is one scene at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static SCENES: AtomicU32 = AtomicU32::new(0);

/// Dropping it checks that nothing was left behind.
pub struct Scene {
    pub executor: Executor,
    pub dir: TempDir,
    /// How long the commands of this scene sleep: a number that no other process has among its
    /// arguments, whatever became of its environment.
    pub nap: String,
    fds: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Scene {
    pub fn new(name: &str) -> Self {
        Self::with(name, Executor::new(8))
    }

    pub fn with(name: &str, executor: Executor) -> Self {
        let alone = alone();
        let scene = SCENES.fetch_add(1, Ordering::Relaxed);
        let nap = format!("1000.{}{scene:03}", std::process::id());
        let dir = tempfile::Builder::new().prefix(name).tempdir().unwrap();
        Self { executor, dir, nap, fds: open_fds(), _alone: alone }
    }

    /// A script, with `$NAP` to sleep for.
    pub fn sh(&self, script: &str) -> Command {
        Command::shell("/bin/sh", script).env("NAP", &self.nap)
    }

    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub fn run(&self, script: &str, millis: u64) -> Result<Finished, ExecError> {
        self.run_with(script, Vec::new(), millis)
    }

    pub fn run_with(
        &self,
        script: &str,
        stdin: Vec<u8>,
        millis: u64,
    ) -> Result<Finished, ExecError> {
        self.run_input(&self.sh(script), stdin, millis)
    }

    pub fn run_command(&self, command: &Command, millis: u64) -> Result<Finished, ExecError> {
        self.run_input(command, Vec::new(), millis)
    }

    fn run_input(
        &self,
        command: &Command,
        stdin: Vec<u8>,
        millis: u64,
    ) -> Result<Finished, ExecError> {
        let time = Duration::from_millis(millis);
        let began = Instant::now();
        let result = self.executor.run(command, Input::new(stdin, time), Limits::default()).wait();
        let took = began.elapsed();
        assert!(took <= time + Duration::from_millis(500), "{took:?} instead of {time:?}");
        result
    }

    pub fn survivors(&self) -> Vec<String> {
        processes_with(&self.nap)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        eventually("all processes are gone", || self.survivors().is_empty());
        eventually("no child is left", || children().is_empty());
        self.executor = Executor::new(1);
        eventually("the threads are gone", || executor_threads() == 0);
        // Fewer where something of a test before was still being closed when they were counted.
        eventually("all descriptors are closed", || open_fds() <= self.fds);
    }
}

/// Waits until nothing else is tested in this process.
pub fn alone() -> MutexGuard<'static, ()> {
    let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    eventually("the threads of the scene before are gone", || executor_threads() == 0);
    alone
}

/// Waits for something, for three seconds at the most.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(3),
            "not so: {what}; children {:?}, {} descriptors",
            children(),
            open_fds()
        );
        thread::sleep(Duration::from_millis(2));
    }
}

pub fn open_fds() -> usize {
    // One is the directory that is being read.
    fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

pub fn executor_threads() -> usize {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("tollgate"))
        .count()
}

pub fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// A figure of `/proc/self/status`, in kilobytes.
pub fn status_kb(name: &str) -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The children of this process, dead or alive, as `/proc` describes them.
pub fn children() -> Vec<String> {
    let me = std::process::id().to_string();
    stats().filter(|stat| field(stat, 1) == Some(&me)).collect()
}

/// The processes with a text among their arguments or variables.
pub fn processes_with(text: &str) -> Vec<String> {
    let me = std::process::id().to_string();
    stats()
        .filter(|stat| {
            let pid = stat.split(' ').next().unwrap();
            let holds = |file: &str| {
                let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                String::from_utf8_lossy(&bytes).contains(text)
            };
            pid != me && (holds("cmdline") || holds("environ"))
        })
        .collect()
}

fn stats() -> impl Iterator<Item = String> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit())
        .filter_map(|entry| fs::read(entry.path().join("stat")).ok())
        .map(|stat| String::from_utf8_lossy(&stat).into_owned())
}

/// A field after the name: 0 is the state, 1 the parent.
fn field(stat: &str, place: usize) -> Option<&str> {
    stat.rsplit_once(") ")?.1.split(' ').nth(place)
}
