//! Programs that are spoken to while they run.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use tollgate_exec::{Command, ExecError, Service, Status, Streams};

const LONG: Duration = Duration::from_mins(1);

type Ended = Receiver<Result<Status, ExecError>>;

fn start(command: &Command, grace: Duration) -> Result<(Service, Streams, Ended), ExecError> {
    let (told, ended) = channel();
    let (service, streams) = Service::start(command, grace, move |how| told.send(how).unwrap())?;
    Ok((service, streams, ended))
}

fn sh(script: &str) -> (Service, Streams, Ended) {
    start(&Command::shell("/bin/sh", script), LONG).unwrap()
}

/// The next line that it prints.
fn line(streams: Streams) -> (String, Streams) {
    let Streams { stdin, stdout, stderr } = streams;
    poll(&mut [PollFd::new(&stdout, PollFlags::IN)], None).unwrap();
    let mut line = String::new();
    BufReader::new(File::from(stdout.try_clone().unwrap())).read_line(&mut line).unwrap();
    (line.trim().to_owned(), Streams { stdin, stdout, stderr })
}

fn gone(pid: &str) {
    let deadline = Instant::now() + LONG;
    while Path::new("/proc").join(pid).exists() {
        assert!(Instant::now() < deadline, "{pid} is still there");
        std::thread::yield_now();
    }
}

#[test]
fn it_reads_and_prints_while_it_runs() {
    let (_service, streams, ended) = sh("read -r word; echo \"got $word\"; read -r more; exit 4");
    File::from(streams.stdin.try_clone().unwrap()).write_all(b"this\n").unwrap();
    let (said, streams) = line(streams);
    assert_eq!(said, "got this");
    drop(streams);
    assert_eq!(ended.recv_timeout(LONG).unwrap().unwrap(), Status::Exited(4));
}

#[test]
fn whatever_it_started_ends_with_it() {
    // In a session of its own, so that no signal to the group gets there.
    let script = "setsid sh -c 'echo $$; exec sleep 3600' & wait";
    let kill: fn(Service) -> Option<Service> = |service| {
        service.kill();
        Some(service)
    };
    let end: fn(Service) -> Option<Service> = |service| {
        service.end();
        Some(service)
    };
    let forget: fn(Service) -> Option<Service> = |service| {
        drop(service);
        None
    };
    for (way, how) in [(kill, 9), (end, 15), (forget, 9)] {
        let (service, streams, ended) = sh(script);
        let (pid, _streams) = line(streams);
        assert!(fs::exists(format!("/proc/{pid}")).unwrap());
        let kept = way(service);
        assert_eq!(ended.recv_timeout(LONG).unwrap().unwrap(), Status::Signaled(how));
        gone(&pid);
        drop(kept);
    }
}

#[test]
fn what_does_not_end_when_it_is_asked_is_killed() {
    let stubborn = Command::shell("/bin/sh", "trap '' TERM; echo ready; while :; do sleep 1; done");
    let (service, streams, ended) = start(&stubborn, Duration::from_millis(20)).unwrap();
    let (_, _streams) = line(streams);
    service.end();
    assert_eq!(ended.recv_timeout(LONG).unwrap().unwrap(), Status::Signaled(9));
}

#[test]
fn a_program_that_cannot_be_run_is_told_of() {
    let error = start(&Command::new("no-such-program"), LONG).unwrap_err();
    assert!(matches!(error, ExecError::NotFound { .. }), "{error}");
    let (_service, _streams, ended) = start(&Command::new("/etc/passwd"), LONG).unwrap();
    let error = ended.recv_timeout(LONG).unwrap().unwrap_err();
    assert!(matches!(error, ExecError::NotExecutable { .. }), "{error}");
}
