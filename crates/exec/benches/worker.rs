//! What it takes to ask a worker, against the bare system calls for the same: a message over a
//! socket to a process that sends it back.
//!
//! `cargo bench -p tollgate-exec --bench worker`. Both get 500 bytes and return 500, and take turns,
//! so that whatever else the machine does hits both. The pause between two requests matters: who
//! is asked rarely is fast asleep.

// A bench reports by printing, and fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::hint::black_box;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_exec::worker::{self, Limits, Start, Turn, Workers};

const LENGTH: usize = 500;
const TIME: Duration = Duration::from_secs(10);
/// Longer than a host looks for an answer by itself.
const BUSY: Duration = Duration::from_micros(300);

fn main() {
    let began = Instant::now();
    worker::init(|| worker::serve(|request, call| answer(request, call)));
    let initialised = began.elapsed();
    if std::env::args().nth(1).as_deref() == Some("bare") {
        return echo();
    }
    println!("init in a host: {initialised:?}");

    let workers = Workers::<()>::new(Start::this_program().unwrap(), Limits::default(), 2);
    let mut lease = workers.lease(TIME).wait().unwrap();
    let (mut socket, theirs) = UnixStream::pair().unwrap();
    let mut child = Command::new("/proc/self/exe")
        .arg("bare")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();

    let message = [7; LENGTH];
    for (name, pause, rounds) in [
        ("at once", Pause::None, 20_000),
        ("busy for 5 µs", Pause::Busy(Duration::from_micros(5)), 20_000),
        ("asleep for 300 µs", Pause::Asleep(Duration::from_micros(300)), 2000),
        ("asleep for 5 ms", Pause::Asleep(Duration::from_millis(5)), 500),
    ] {
        let (mut bare, mut own) = (Vec::new(), Vec::new());
        // In runs of some, as one right after the other would wake the machine for the second.
        for _ in 0..10 {
            bare.extend((0..rounds / 10).map(|_| {
                pause.make();
                timed(|| {
                    socket.write_all(&message).unwrap();
                    let mut answer = [0; LENGTH];
                    socket.read_exact(&mut answer).unwrap();
                    black_box(answer);
                })
            }));
            own.extend((0..rounds / 10).map(|_| {
                pause.make();
                timed(|| match lease.ask(&message, TIME).wait() {
                    Ok(Turn::Answer(answer)) => assert_eq!(answer.len(), LENGTH),
                    other => panic!("{other:?}"),
                })
            }));
        }
        println!("{name}: bare {}; worker {}", figures(&mut bare), figures(&mut own));
    }
    drop(socket);
    child.wait().unwrap();

    let mut calls: Vec<_> = (0..2000)
        .map(|_| {
            timed(|| {
                lease.ask(b"call", TIME).wait().unwrap();
                lease.reply(&message, TIME).wait().unwrap();
            })
        })
        .collect();
    println!("with one call to the host: {}", figures(&mut calls));
    let mut slow: Vec<_> = (0..1000)
        .map(|_| timed(|| drop(lease.ask(b"busy", TIME).wait().unwrap())).saturating_sub(BUSY))
        .collect();
    println!("with {BUSY:?} of work, without that: {}", figures(&mut slow));
    drop(lease);

    let mut leases: Vec<_> =
        (0..20_000).map(|_| timed(|| drop(workers.lease(TIME).wait().unwrap()))).collect();
    println!("lease: {}", figures(&mut leases));

    let mut starts: Vec<_> = (0..100)
        .map(|_| {
            let workers = Workers::<()>::new(Start::this_program().unwrap(), Limits::default(), 1);
            timed(|| drop(workers.lease(TIME).wait().unwrap()))
        })
        .collect();
    let mut bare: Vec<_> = (0..100)
        .map(|_| {
            timed(|| {
                let mut command = Command::new("/proc/self/exe");
                command.arg("bare").stdin(Stdio::null()).status().unwrap();
            })
        })
        .collect();
    println!("start: bare, and its end {}; worker {}", figures(&mut bare), figures(&mut starts));
}

fn answer(request: &[u8], call: &mut dyn FnMut(&[u8]) -> Vec<u8>) -> Vec<u8> {
    match request {
        b"call" => return call(request),
        b"busy" => Pause::Busy(BUSY).make(),
        _ => {}
    }
    request.to_vec()
}

fn echo() {
    let stdin = std::io::stdin();
    let mut socket = UnixStream::from(stdin.as_fd().try_clone_to_owned().unwrap());
    let mut message = [0; LENGTH];
    while socket.read_exact(&mut message).is_ok() {
        socket.write_all(&message).unwrap();
    }
}

#[derive(Clone, Copy)]
enum Pause {
    None,
    Busy(Duration),
    Asleep(Duration),
}

impl Pause {
    fn make(self) {
        match self {
            Self::None => {}
            Self::Asleep(time) => thread::sleep(time),
            Self::Busy(time) => {
                let began = Instant::now();
                while began.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

fn timed(what: impl FnOnce()) -> Duration {
    let began = Instant::now();
    what();
    began.elapsed()
}

fn figures(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let percentile = |percent| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    format!("p50 {:?} p90 {:?} p99 {:?}", percentile(50), percentile(90), percentile(99))
}
