//! Whatever becomes of the work, there is an answer. As supervision begins in a process with one
//! thread, the work is done by the example `supervised`.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod scene;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scene::{eventually, processes_with};

struct Outcome {
    stdout: String,
    stderr: String,
    code: Option<i32>,
    took: Duration,
}

/// The example, which is built along with the tests: beside their directory.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/supervised")
}

fn nap(kind: &str) -> String {
    let sum: u32 = kind.bytes().map(u32::from).sum();
    format!("1000.{}{sum:05}", std::process::id())
}

fn start(kind: &str) -> Child {
    Command::new(example())
        .args([kind, &nap(kind)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(kind: &str, child: Child) -> Outcome {
    let began = Instant::now();
    let output = child.wait_with_output().unwrap();
    let took = began.elapsed();
    eventually("all processes are gone", || processes_with(&nap(kind)).is_empty());
    Outcome {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
        took,
    }
}

fn supervised(kind: &str) -> Outcome {
    finish(kind, start(kind))
}

#[track_caller]
fn is_refused(kind: &str, why: &str) -> Outcome {
    let outcome = supervised(kind);
    assert_eq!((&*outcome.stdout, outcome.code), ("refused\n", Some(2)), "{}", outcome.stderr);
    let wanted = format!("why: Some({why:?})");
    assert!(outcome.stderr.contains(&wanted), "{} instead of {wanted}", outcome.stderr);
    // The time of the plan, half a second to clean up, and what it takes to start the example.
    assert!(outcome.took < Duration::from_millis(1500 + 500 + 500), "{:?}", outcome.took);
    outcome
}

#[test]
fn work_has_its_answer() {
    let outcome = supervised("works");
    assert_eq!((&*outcome.stdout, outcome.code), ("allowed\n", Some(0)), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("why: None"));
}

#[test]
fn what_the_work_prints_is_not_the_answer() {
    let outcome = supervised("prints");
    assert_eq!((&*outcome.stdout, outcome.code), ("allowed\n", Some(0)), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("noise: noise\n"), "{}", outcome.stderr);
    is_refused("prints and exits", "the work exited with code 0 without an answer");
}

#[test]
fn a_panic_is_a_refusal() {
    let outcome = is_refused("panics", "the work panicked: out of ideas");
    assert!(outcome.stderr.contains("noise: \nthread 'main'"), "{}", outcome.stderr);
}

#[test]
fn a_loop_is_a_refusal() {
    let outcome = is_refused("loops", "the work did not end within 1.5s");
    assert!(outcome.took >= Duration::from_millis(1300), "{:?}", outcome.took);
}

#[test]
fn an_early_exit_is_a_refusal() {
    is_refused("exits", "the work exited with code 0 without an answer");
    is_refused("aborts", "the work was killed by SIGABRT (signal 6) without an answer");
}

#[test]
fn to_be_killed_is_a_refusal() {
    is_refused("killed", "the work was killed by SIGKILL (signal 9) without an answer");
}

#[test]
fn to_starve_of_memory_is_a_refusal() {
    let why = "the work was killed by SIGABRT (signal 6) without an answer";
    let outcome = is_refused("hungry", why);
    assert!(outcome.stderr.contains("memory allocation of 4294967296 bytes failed"));
}

#[test]
fn half_an_answer_is_a_refusal() {
    is_refused("answers by halves", "the work exited with code 0 in the middle of an answer");
    is_refused("garbles", "the answer was garbled");
    is_refused("talks too much", "the answer is longer than 65536 bytes");
}

#[test]
fn daemons_are_killed() {
    let outcome = supervised("leaves daemons");
    assert_eq!((&*outcome.stdout, outcome.code), ("allowed\n", Some(0)), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("strays: 2"), "{}", outcome.stderr);
    is_refused("leaves daemons and loops", "the work did not end within 1.5s");
}

#[test]
fn commands_have_the_memory_and_the_time_they_need() {
    let outcome = supervised("executes");
    assert_eq!((&*outcome.stdout, outcome.code), ("unlimited\n", Some(0)), "{}", outcome.stderr);
    is_refused("executes too long", "the work did not end within 1.5s");
}

#[test]
fn a_request_to_end_is_a_refusal() {
    let kind = "executes too long";
    let child = start("executes too long");
    eventually("the command is up", || processes_with(&nap(kind)).len() >= 4);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let outcome = finish(kind, child);
    assert_eq!((&*outcome.stdout, outcome.code), ("refused\n", Some(2)), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("was asked to end by SIGTERM"), "{}", outcome.stderr);
}

#[test]
fn threads_are_too_many() {
    let outcome = supervised("threads");
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.stderr.contains("the process has 2 threads"), "{}", outcome.stderr);
}

/// A part of the work may have less memory than all of it, and what comes after has it again.
#[test]
fn a_part_has_less_memory() {
    let Outcome { stdout, code, .. } = supervised("bounds a part");
    assert_eq!((stdout.as_str(), code), ("(true, true, true, false, true)", Some(0)));
    assert!(tollgate_exec::MemoryBound::tighten(0).is_none(), "only where it is supervised");
}
