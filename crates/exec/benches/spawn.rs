//! What a command costs through the executor, against the bare spawn of the same.
//!
//! `cargo bench -p tollgate-exec --bench spawn`. Both do the same: `sh -c 'echo {}'` with three
//! pipes, 512 bytes written, all output read, and the end waited for. They take turns, so that
//! whatever else the machine does hits both.

// A bench reports by printing, and fails by panicking.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::io::{Read, Write};
use std::process::{Command as Bare, Stdio};
use std::time::{Duration, Instant};

use tollgate_exec::{Answer, Command, Executor, Input, Limits, Plan, supervise};

const SCRIPT: &str = "echo {}";

fn main() {
    // Before there are threads.
    let refusal = Answer { code: 2, ..Answer::default() };
    let supervised = median(200, || {
        let ended = supervise(Plan::new(Duration::from_secs(5), refusal.clone()), Answer::default);
        assert_eq!(ended.unwrap().why, None);
    });
    println!("supervise, around nothing: p50 {supervised:?}");

    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    for megabytes in [5, 200] {
        let mut ballast = vec![0_u8; megabytes * 1024 * 1024];
        ballast.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        compare(&format!("{megabytes} MB"), rounds);
        black_box(&ballast);
    }
}

fn compare(name: &str, rounds: usize) {
    let executor = Executor::new(4);
    let command = Command::shell("/bin/sh", SCRIPT).prepare();
    let stdin = [b' '; 512];
    let (mut bare_times, mut own_times) = (Vec::new(), Vec::new());
    for round in 0..rounds + 20 {
        let began = Instant::now();
        bare(&stdin);
        let bare_time = began.elapsed();
        let began = Instant::now();
        let input = Input::new(stdin, Duration::from_secs(10));
        let finished = executor.run(&command, input, Limits::default()).wait().unwrap();
        let own_time = began.elapsed();
        assert_eq!(finished.stdout, b"{}\n");
        if round >= 20 {
            bare_times.push(bare_time);
            own_times.push(own_time);
        }
    }
    let (bare, own) = (percentile(&mut bare_times, 50), percentile(&mut own_times, 50));
    let (bare_99, own_99) = (percentile(&mut bare_times, 99), percentile(&mut own_times, 99));
    let ratio = own.as_secs_f64() / bare.as_secs_f64();
    println!(
        "{name}: bare p50 {bare:?} p99 {bare_99:?}, executor p50 {own:?} p99 {own_99:?}, \
         ratio of p50 {ratio:.3}"
    );
}

fn bare(stdin: &[u8]) {
    let mut child = Bare::new("/bin/sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut output).unwrap();
    child.wait().unwrap();
    assert_eq!(output, b"{}\n");
}

fn median(rounds: usize, mut what: impl FnMut()) -> Duration {
    let times = (0..rounds).map(|_| {
        let began = Instant::now();
        what();
        began.elapsed()
    });
    percentile(&mut times.collect::<Vec<_>>(), 50)
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}
