//! Workers that do their worst, and hosts that end. Each has to end in its time, with a word about
//! what happened, and must leave nothing behind.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod scene;
mod stage;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scene::{alone, children, eventually};
use stage::{LONG, SHORT, Stage, answer, example, is_alive, pid};
use tollgate_exec::Status;
use tollgate_exec::worker::{Limits, Turn, WorkerError};

const MIB: usize = 1024 * 1024;

#[test]
fn it_takes_too_long() {
    let stage = Stage::new();
    for kind in ["spin", "sleep 600000"] {
        let mut lease = stage.lease();
        let pid = pid(&mut lease);
        let began = Instant::now();
        let error = lease.ask(kind.as_bytes(), SHORT).wait().unwrap_err();
        assert!(matches!(error, WorkerError::TimedOut { .. }), "{error}");
        assert_eq!(error.to_string(), "did not answer within 200ms and was killed");
        assert!((SHORT..SHORT * 5).contains(&began.elapsed()), "{:?}", began.elapsed());
        assert!(!lease.is_usable());
        let error = lease.ask(b"echo", LONG).wait().unwrap_err();
        assert!(matches!(error, WorkerError::Protocol { .. }), "{error}");
        eventually("it is dead", || !is_alive(&pid));
    }
    let error = stage.lease().ask(b"spin", Duration::ZERO).wait().unwrap_err();
    assert!(error.is_timeout(), "{error}");
    stage.works();
}

#[test]
fn it_takes_too_long_after_a_call() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    lease.ask(b"call 2", LONG).wait().unwrap();
    lease.reply(b"", LONG).wait().unwrap();
    drop(lease);
    // In the middle of a conversation: it was not given back.
    eventually("it is gone", || children().is_empty());
    stage.works();
}

#[test]
fn it_needs_too_much_memory() {
    let stage = Stage::new();
    for kind in ["allocate 4294967296", "many", "keep 17000000", "answer 4294967296"] {
        let error = stage.ask(kind).unwrap_err();
        assert!(matches!(error, WorkerError::OutOfMemory { .. }), "{kind}: {error:?}");
        assert_eq!(error.to_string(), "needed more than 16 MiB of memory and was ended");
    }
    stage.works();
}

#[test]
fn it_has_the_memory_it_was_promised() {
    for mib in [1, 16, 64] {
        let stage = Stage::with(Limits { memory: (mib * MIB) as u64, ..Limits::default() }, 1);
        let some = mib * MIB * 7 / 8;
        assert_eq!(answer(stage.ask(&format!("allocate {some}"))), "", "{mib} MiB");
        // Again and again, as it is given back.
        for _ in 0..3 {
            assert_eq!(answer(stage.ask(&format!("allocate {some}"))), "", "{mib} MiB");
        }
        let error = stage.ask(&format!("allocate {}", mib * MIB + MIB)).unwrap_err();
        assert!(matches!(error, WorkerError::OutOfMemory { .. }), "{mib} MiB: {error:?}");
    }
}

#[test]
fn a_new_baseline_leaves_as_much_as_before() {
    let stage = Stage::with(Limits::default(), 1);
    for _ in 0..10 {
        assert_eq!(answer(stage.ask("keep 10000000")), "");
        assert_eq!(answer(stage.ask("baseline")), "yes");
    }
    assert_eq!(answer(stage.ask("keep 10000000")), "");
    assert!(matches!(stage.ask("keep 10000000"), Err(WorkerError::OutOfMemory { .. })));
    // There is none outside of a worker.
    assert!(!tollgate_exec::worker::baseline());
    tollgate_exec::worker::serve(|_, _| panic!("not here"));
}

#[test]
fn it_ends() {
    let stage = Stage::new();
    let died = |kind: &str| match stage.ask(kind).unwrap_err() {
        WorkerError::Died { status, stderr } => {
            (status.unwrap(), String::from_utf8(stderr).unwrap())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(died("exit"), (Status::Exited(0), String::new()));
    assert_eq!(died("abort").0, Status::Signaled(libc::SIGABRT));
    assert_eq!(died("lie").0, Status::Exited(0));
    let (status, said) = died("recurse");
    assert_eq!(status, Status::Signaled(libc::SIGABRT));
    assert!(said.contains("has overflowed its stack"), "{said}");
    let error = stage.ask("exit").unwrap_err().to_string();
    assert_eq!(error, "the worker exited with code 0 without an answer");
    stage.works();
}

#[test]
fn it_panics() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    let error = lease.ask(b"panic at the disco", LONG).wait().unwrap_err();
    assert_eq!(error.to_string(), "the worker panicked: at the disco");
    assert!(!lease.is_usable());
    drop(lease);
    let long = format!("panic {}", "\u{e4}".repeat(100_000));
    let error = stage.ask(&long).unwrap_err();
    assert!(matches!(error, WorkerError::Panicked { message } if message.len() == 4096));
    stage.works();
}

#[test]
fn it_is_killed_by_somebody_else() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    let pid = pid(&mut lease);
    let asking = lease.ask(b"spin", LONG);
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    let error = asking.wait().unwrap_err();
    assert!(
        matches!(error, WorkerError::Died { status: Some(Status::Signaled(9)), .. }),
        "{error:?}"
    );
    drop(lease);
    // While it is idle.
    let pid = stage::pid(&mut stage.lease());
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    eventually("it is gone", || children().is_empty());
    stage.works();
}

#[test]
fn it_complains_a_lot() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    // Much more than fits into a pipe.
    assert_eq!(answer(lease.ask(b"complain 4096", LONG).wait()), "");
    let error = lease.ask(b"exit", LONG).wait().unwrap_err();
    let stderr = String::from_utf8_lossy(error.stderr()).into_owned();
    assert!(stderr.len() < 17 * 1024 && stderr.contains("bytes left out"), "{}", stderr.len());
    assert!(stderr.trim_end().ends_with(&"y".repeat(1023)));
}

#[test]
fn it_writes_over_what_is_shared() {
    let stage = Stage::new();
    for kind in ["scrawl 4096", "scrawl 128", "boast"] {
        let error = stage.ask(kind).unwrap_err();
        assert!(matches!(error, WorkerError::Protocol { .. }), "{kind}: {error:?}");
        stage.works();
    }
}

#[test]
fn frames_are_bounded() {
    let frame = 100_000;
    let limits = Limits { frame, ..Limits::default() };
    let stage = Stage::with(limits, 1);
    let too_large = |result: Result<Turn, WorkerError>, which: &str| match result.unwrap_err() {
        WorkerError::TooLarge { what, bytes, limit } => {
            assert_eq!((what, bytes, limit), (which, 100_001, frame));
        }
        other => panic!("{other:?}"),
    };
    let mut lease = stage.lease();
    let request = format!("echo {}", "x".repeat(frame - 5));
    assert_eq!(answer(lease.ask(request.as_bytes(), LONG).wait()).len(), frame - 5);
    too_large(lease.ask(format!("{request}x").as_bytes(), LONG).wait(), "request");
    assert!(lease.is_usable());
    assert_eq!(answer(lease.ask(b"answer 100000", LONG).wait()).len(), frame);
    too_large(lease.ask(b"answer 100001", LONG).wait(), "answer");
    assert!(lease.is_usable());
    let said = lease.ask(b"shout 100000", LONG).wait().unwrap();
    assert!(matches!(said, Turn::Call(bytes) if bytes.len() == frame));
    too_large(lease.reply(&vec![0; frame + 1], LONG).wait(), "reply");
    assert_eq!(answer(lease.reply(&vec![b'y'; frame], LONG).wait()).len(), frame);
    too_large(lease.ask(b"shout 100001", LONG).wait(), "call");
    assert!(!lease.is_usable());
    drop(lease);
    stage.works();
}

#[test]
fn large_frames_pass_whole_and_their_memory_is_given_back() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    let request = format!("echo {}", "abcdefg".repeat(MIB));
    for _ in 0..3 {
        assert_eq!(answer(lease.ask(request.as_bytes(), LONG).wait()), request[5..]);
    }
    let shared = || {
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let board = smaps.split("memfd:tollgate-worker").nth(1).unwrap();
        let line = board.lines().find(|line| line.starts_with("Rss:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
    };
    assert!(shared() < 1024, "{} kB", shared());
}

#[test]
fn it_is_confined() {
    let stage = Stage::new();
    let mut lease = stage.lease();
    let file = tempfile::NamedTempFile::new().unwrap();
    let delete = format!("delete {}", file.path().display());
    for kind in ["open", "run", "listen", &delete] {
        assert_eq!(answer(lease.ask(kind.as_bytes(), LONG).wait()), "no", "{kind}");
    }
    let pid = pid(&mut lease);
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let status = read("status");
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!((&*field("NoNewPrivs:"), &*field("Seccomp:")), ("1", "2"));
    // What a terminal sends is not for it.
    let stat = read("stat");
    assert_eq!(stat.rsplit_once(") ").unwrap().1.split(' ').nth(2), Some(&*pid));
    let limits = read("limits");
    for (name, value) in
        [("Max core file size", "0"), ("Max open files", "5"), ("Max file size", "0")]
    {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(line[name.len()..].split_whitespace().next(), Some(value), "{line}");
    }
    let names: Vec<_> = read("environ")
        .split_terminator('\0')
        .map(|v| v.split('=').next().unwrap().to_owned())
        .collect();
    assert!(
        names.iter().all(|name| name == "TOLLGATE_WORKER" || name == "LD_LIBRARY_PATH"),
        "{names:?}"
    );
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), Path::new("/"));
    let mut open: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .flatten()
        .map(|fd| {
            let target = fs::read_link(fd.path()).unwrap().to_string_lossy().into_owned();
            let kind = target.split(':').next().unwrap().replace(&pid, "PID");
            format!("{} {kind}", fd.file_name().to_string_lossy())
        })
        .collect();
    open.sort();
    let expected = ["0 /dev/null", "1 /dev/null", "2 pipe", "3 anon_inode", "4 /proc/PID/statm"];
    assert_eq!(open, expected);
}

#[test]
fn it_inherits_nothing() {
    let stage = Stage::new();
    let file = fs::File::open("/etc/passwd").unwrap();
    // As a library of the host might leave one open.
    let leaked = rustix::io::dup(&file).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let mut lease = stage.lease();
    let pid = pid(&mut lease);
    assert_eq!(fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(), 5);
}

#[test]
fn limits_may_be_anything() {
    let usual = Limits::default();
    let most = Limits { memory: u64::MAX, frame: usize::MAX, start: Duration::MAX, ..usual };
    let stage = Stage::with(Limits { idle: Duration::MAX, requests: u64::MAX, ..most }, usize::MAX);
    let mut lease = stage.workers().lease(Duration::MAX).wait().unwrap();
    assert_eq!(answer(lease.ask(b"echo all", Duration::MAX).wait()), "all");
    assert_eq!(answer(lease.ask(b"sleep 1", Duration::MAX).wait()), "");
    assert_eq!(answer(lease.ask(b"allocate 100000000", Duration::MAX).wait()), "");
    drop((lease, stage));

    let small = Limits { stack: 64 * 1024, requests: 0, idle: Duration::ZERO, ..usual };
    let stage = Stage::with(small, 0);
    stage.works();
    stage.works();
    drop(stage);

    let stage = Stage::with(Limits { frame: 0, ..usual }, 1);
    let error = stage.ask("x").unwrap_err();
    assert!(matches!(error, WorkerError::TooLarge { bytes: 1, limit: 0, .. }), "{error:?}");
    drop(stage);

    let stage = Stage::with(Limits { stack: usize::MAX / 2, ..usual }, 1);
    let error = stage.workers().lease(LONG).wait().unwrap_err().to_string();
    assert!(error.contains("there is no thread with a stack of"), "{error}");
    drop(stage);

    // Not enough for anything, so that it may end even before it is ready.
    let stage = Stage::with(Limits { memory: 0, ..usual }, 1);
    let asked = stage
        .workers()
        .lease(LONG)
        .wait()
        .and_then(|mut lease| lease.ask(b"allocate 1000000", LONG).wait());
    asked.unwrap_err();
}

#[test]
fn who_is_not_started_by_a_host_refuses() {
    let _alone = alone();
    let refused = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(113));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(Command::new(example()).arg("--tollgate-worker"));
    let expected = "--tollgate-worker is for Tollgate itself, not to be called: there is no host\n";
    assert_eq!(said, expected);
    let nonce = ("TOLLGATE_WORKER", "0".repeat(32));
    let said = refused(Command::new(example()).arg("--tollgate-worker").env(nonce.0, &nonce.1));
    assert!(said.ends_with("there is no host's memory\n"), "{said}");
    // The variable alone means nothing.
    let output = Command::new(example()).arg("init").env(nonce.0, nonce.1).output().unwrap();
    assert!(output.status.success());
}

/// A host of its own. Killed when it is dropped.
struct Host(Child);

impl Host {
    fn start(program: &Path, kind: &str) -> Self {
        let child = Command::new(program)
            .args(["hosts", kind])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Lets it begin. Returns its worker, and what else it is going to print.
    fn begin(&mut self) -> (String, impl Iterator<Item = String> + use<>) {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        (lines.next().unwrap(), lines)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_dies_with_its_host() {
    let _alone = alone();
    for kind in ["spin", "sleep 600000", "call 1"] {
        let mut host = Host::start(&example(), kind);
        let (worker, _lines) = host.begin();
        if kind == "call 1" {
            // The worker waits for a reply that does not come: the host ends in order.
            assert!(host.0.wait().unwrap().success());
        } else {
            assert!(is_alive(&worker));
            host.0.kill().unwrap();
        }
        eventually("the worker is dead", || !is_alive(&worker));
    }
}

#[test]
fn a_program_whose_file_is_gone_is_its_own_worker() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    fs::copy(example(), &program).unwrap();
    let mut host = Host::start(&program, "echo as it was");
    // Replaced, as by an update.
    let other = dir.path().join("other");
    fs::copy("/bin/false", &other).unwrap();
    fs::rename(other, &program).unwrap();
    let (_, mut lines) = host.begin();
    let expected = format!("Ok({:?})", Turn::Answer(b"as it was".into()));
    assert_eq!(lines.next(), Some(expected));
}
