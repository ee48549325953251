//! Commands that do their worst. Each has to end in its time, with a word about what happened, and
//! must leave nothing behind.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod scene;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use scene::{Scene, eventually, status_kb};
use tollgate_exec::{Command, Environment, ExecError, Executor, Input, Limits, Status};

const LARGE: usize = 4 * 1024 * 1024;

#[test]
fn never_reads_its_large_input() {
    let scene = Scene::new("unread");
    let error = scene.run_with("sleep $NAP", vec![b'x'; LARGE], 300).unwrap_err();
    assert!(matches!(error, ExecError::TimedOut { .. }), "{error}");
    assert_eq!(error.to_string(), "did not end within 300ms and was killed");
}

#[test]
fn closes_its_input_at_once() {
    let scene = Scene::new("closed");
    let finished = scene.run_with("exec 0<&-; echo ok", vec![b'x'; LARGE], 5000).unwrap();
    assert_eq!((finished.status, &*finished.stdout), (Status::Exited(0), &b"ok\n"[..]));
}

#[test]
fn exits_while_its_input_is_written() {
    let scene = Scene::new("early");
    let script = "head -c 100000 > /dev/null; echo ok; exit 2";
    let finished = scene.run_with(script, vec![b'x'; LARGE], 5000).unwrap();
    assert_eq!((finished.status, &*finished.stdout), (Status::Exited(2), &b"ok\n"[..]));
}

#[test]
fn a_large_input_and_output_pass_whole() {
    let scene = Scene::new("cat");
    let bytes: Vec<u8> = (0..=250).cycle().take(LARGE).collect();
    let limits = Limits { stdout: LARGE, ..Limits::default() };
    let input = Input::new(bytes.clone(), Duration::from_secs(20));
    let finished = scene.executor.run(&scene.sh("cat"), input, limits).wait().unwrap();
    assert!(finished.stdout == bytes);
}

#[test]
fn prints_a_gigabyte() {
    let scene = Scene::new("flood");
    let before = status_kb("VmHWM");
    let error = scene.run("head -c 1073741824 /dev/zero", 10_000).unwrap_err();
    assert!(matches!(error, ExecError::TooMuchOutput { limit: 1_048_576, .. }), "{error}");
    let grown = status_kb("VmHWM") - before;
    assert!(grown < 16 * 1024, "{grown} kB");
}

#[test]
fn complains_for_a_gigabyte() {
    let scene = Scene::new("complaints");
    let before = status_kb("VmHWM");
    let script = "echo first >&2; head -c 1073741824 /dev/zero >&2; echo last >&2";
    let finished = scene.run(script, 60_000).unwrap();
    assert_eq!(finished.status, Status::Exited(0));
    assert!(finished.stderr.starts_with(b"first\n") && finished.stderr.ends_with(b"last\n"));
    assert!(finished.stderr.len() < 65 * 1024);
    let grown = status_kb("VmHWM") - before;
    assert!(grown < 16 * 1024, "{grown} kB");
}

#[test]
fn prints_one_byte_a_second() {
    let scene = Scene::new("drip");
    let script = "echo slow >&2; while :; do printf x; sleep 1; done";
    let error = scene.run(script, 300).unwrap_err();
    assert!(matches!(error, ExecError::TimedOut { .. }), "{error}");
    assert_eq!(error.stderr(), b"slow\n");
}

#[test]
fn ignores_the_request_to_end() {
    let scene = Scene::new("deaf");
    let error = scene.run("trap '' TERM; while :; do sleep $NAP; done", 300).unwrap_err();
    assert!(matches!(error, ExecError::TimedOut { left_behind: false, .. }), "{error}");
}

#[test]
fn tidies_up_when_asked_to_end() {
    let scene = Scene::new("tidy");
    let script = "trap 'echo bye >&2; exit 0' TERM; while :; do sleep 0.01; done";
    let error = scene.run(script, 300).unwrap_err();
    // The shell may have had something to say before.
    assert!(error.stderr().ends_with(b"bye\n"), "{error:?}");
}

#[test]
fn stops_itself() {
    let scene = Scene::new("stopped");
    let error = scene.run("kill -STOP $$", 300).unwrap_err();
    assert!(matches!(error, ExecError::TimedOut { .. }), "{error}");
}

#[test]
fn leaves_a_grandchild_that_holds_its_output() {
    let scene = Scene::new("holder");
    let finished = scene.run("sleep $NAP & echo ok", 10_000).unwrap();
    assert_eq!((finished.status, &*finished.stdout), (Status::Exited(0), &b"ok\n"[..]));
    assert_eq!((finished.strays, finished.left_behind), (1, false));
    assert!(finished.took < Duration::from_secs(2), "{:?}", finished.took);
}

/// Each way starts a process that creates the file `up` once it has left.
#[test]
fn escapes() {
    let nap = "echo > up; exec sleep $NAP";
    let bare_nap = "echo > up; exec sleep NUMBER";
    let ways = [
        ("session", format!("setsid sh -c '{nap}' &")),
        ("double fork", format!("(setsid sh -c '{nap}' &)")),
        ("double fork in a session", format!("setsid sh -c '({nap}) & exit 0'")),
        ("a session in a session", format!("setsid sh -c 'setsid sh -c \"{nap}\" & exit 0'")),
        ("cleared environment", format!("(env -i setsid sh -c '{bare_nap}' &)")),
        ("a tree", format!("setsid sh -c 'setsid sleep $NAP & setsid sh -c \"{nap}\"' &")),
        ("without descriptors", format!("setsid sh -c '{nap}' <&- >&- 2>&- &")),
    ];
    for (name, way) in ways {
        for ending in ["echo ok", "exec sleep $NAP"] {
            let scene = Scene::new("escape");
            let way = way.replace("NUMBER", &scene.nap);
            let script = format!("{way}\nuntil [ -e up ]; do sleep 0.01; done; {ending}");
            let command = scene.sh(&script).cwd(scene.dir.path());
            let began = Instant::now();
            let result = scene.run_command(&command, 1000);
            if ending == "echo ok" {
                let finished = result.unwrap();
                assert_eq!(finished.stdout, b"ok\n", "{name}");
                assert!(finished.strays >= 1 && !finished.left_behind, "{name}: {finished:?}");
                assert!(began.elapsed() < Duration::from_millis(1500), "{name}");
            } else {
                assert!(matches!(result, Err(ExecError::TimedOut { .. })), "{name}: {result:?}");
            }
        }
    }
}

#[test]
fn forks_until_it_is_stopped() {
    for way in ["sleep $NAP &", "setsid sleep $NAP &", "(setsid sh -c 'sleep $NAP & sleep $NAP' &)"]
    {
        let scene = Scene::new("forks");
        let error = scene.run(&format!("while :; do {way} done"), 300).unwrap_err();
        assert!(matches!(error, ExecError::TimedOut { .. }), "{way}: {error}");
    }
}

/// A process that is never the same for long: each starts the next, in a session of its own, and
/// exits. It gives up by itself after 100 000, should it win.
#[test]
fn flees_by_forking() {
    let scene = Scene::new("flees");
    let hop = "#!/bin/sh\n[ $1 -gt 0 ] && setsid \"$0\" $(($1 - 1)) $2 &\n";
    let path = scene.script("hop", hop);
    let script = format!("setsid {} 100000 $NAP; sleep 0.1; echo ok", path.display());
    let finished = scene.run(&script, 10_000).unwrap();
    assert_eq!(finished.stdout, b"ok\n");
    assert!(finished.took < Duration::from_secs(2), "{:?}", finished.took);
}

#[test]
fn is_ended_by_a_signal() {
    let scene = Scene::new("signal");
    let finished = scene.run("ulimit -c 0; echo so >&2; kill -SEGV $$", 5000).unwrap();
    assert_eq!(finished.status, Status::Signaled(libc::SIGSEGV));
    assert_eq!(finished.status.to_string(), "was killed by SIGSEGV (signal 11)");
    assert_eq!(finished.stderr, b"so\n");
}

#[test]
fn has_no_signal_ignored_or_blocked() {
    let scene = Scene::new("mask");
    // Programs written in Rust ignore this one.
    let finished = scene.run("kill -PIPE $$; sleep $NAP", 5000).unwrap();
    assert_eq!(finished.status, Status::Signaled(libc::SIGPIPE));
    let finished = scene.run("grep -E '^Sig(Blk|Ign)' /proc/self/status", 5000).unwrap();
    let zero = "0".repeat(16);
    let expected = format!("SigBlk:\t{zero}\nSigIgn:\t{zero}\n");
    assert_eq!(String::from_utf8_lossy(&finished.stdout), expected);
}

#[test]
fn has_only_its_own_descriptors() {
    let scene = Scene::new("fds");
    let _open = fs::File::open("/dev/null").unwrap();
    // 3 is the directory itself.
    let finished = scene.run("ls /proc/self/fd", 5000).unwrap();
    assert_eq!(String::from_utf8_lossy(&finished.stdout), "0\n1\n2\n3\n");
}

#[test]
fn prints_no_text() {
    let scene = Scene::new("bytes");
    let finished = scene.run(r"printf 'a\000\377\376b'", 5000).unwrap();
    assert_eq!(finished.stdout, b"a\0\xff\xfeb");
}

#[test]
fn cannot_be_started() {
    let scene = Scene::new("start");
    let why = |command: Command| scene.run_command(&command, 5000).unwrap_err().to_string();

    let missing = scene.script("missing", "#!/no/such -x\n");
    let why_missing = why(Command::new(&missing));
    assert!(
        why_missing.ends_with("needs \"/no/such\" to run, which is not there"),
        "{why_missing}"
    );

    let plain = scene.script("plain", "#!/bin/sh\n");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(why(Command::new(&plain)).contains("chmod +x"));

    let headless = scene.script("headless", "echo hello\n");
    assert!(why(Command::new(&headless)).contains("#!/bin/sh"));

    assert!(why(Command::new(scene.dir.path())).contains("it is a directory"));
    assert_eq!(why(Command::new("/no/such")), "there is no program \"/no/such\"");
    assert_eq!(why(Command::new("no-such")), "there is no program \"no-such\"");
    assert_eq!(why(Command::new("/etc/passwd/x")), "there is no program \"/etc/passwd/x\"");

    let gone = scene.dir.path().join("gone");
    let why_gone = why(scene.sh("true").cwd(&gone));
    assert!(why_gone.contains("gone\": No such file or directory"), "{why_gone}");
    let why_file = why(scene.sh("true").cwd(&plain));
    assert!(why_file.contains("plain\": Not a directory"), "{why_file}");

    assert_eq!(why(scene.sh("tr\0ue")), "argument 2 contains a NUL byte");
}

#[test]
fn is_given_too_large_an_environment() {
    let scene = Scene::new("large");
    let mut input = Input::new([], Duration::from_secs(5));
    input.env = vec![("LARGE".into(), "x".repeat(256 * 1024))];
    let error = scene.executor.run(&scene.sh("true"), input, Limits::default()).wait().unwrap_err();
    assert!(matches!(error, ExecError::TooLong { bytes } if bytes > 256 * 1024), "{error}");
    let message = error.to_string();
    assert!(message.contains("pass large data on standard input"), "{message}");

    let mut input = Input::new([], Duration::from_secs(5));
    input.env = vec![("A".into(), "x\0y".into())];
    let error = scene.executor.run(&scene.sh("true"), input, Limits::default()).wait().unwrap_err();
    assert_eq!(error.to_string(), "the variable \"A\" contains a NUL byte");
}

#[test]
fn sees_the_variables_it_is_given() {
    let scene = Scene::new("env");
    let command = Command::shell("/bin/sh", "echo $A,$B,${PATH:+path}")
        .environment(Environment::empty())
        .env("A", "1")
        .env("B", "2");
    let mut input = Input::new([], Duration::from_secs(5));
    input.env = vec![("B".into(), "3".into())];
    let run = |command: &Command| {
        scene.executor.run(command, input.clone(), Limits::default()).wait().unwrap().stdout
    };
    // Dash has a path of its own if it is given none.
    assert!(run(&command).starts_with(b"1,3,"));
    assert_eq!(run(&command.environment(Environment::only(["PATH"]))), b"1,3,path\n");
}

#[test]
fn kills_its_keeper() {
    let scene = Scene::new("regicide");
    let error = scene.run("kill -KILL $PPID; sleep $NAP", 5000).unwrap_err();
    assert!(matches!(error, ExecError::Lost { .. }), "{error}");
    // The thread goes on to the next.
    assert!(scene.run("true", 5000).unwrap().status.is_success());
}

#[test]
fn is_dropped() {
    let scene = Scene::new("dropped");
    let up = scene.dir.path().join("up");
    let script = "setsid sleep $NAP & echo > up; trap '' TERM; sleep $NAP; sleep $NAP";
    let command = scene.sh(script).cwd(scene.dir.path());
    let input = Input::new([], Duration::from_mins(1));
    let running = scene.executor.run(&command, input, Limits::default());
    eventually("the command is up", || up.exists());
    drop(running);
    // The scene checks that it is gone.
}

#[test]
fn is_dropped_before_it_began() {
    let scene = Scene::with("queued", Executor::new(1));
    let slow = scene.executor.run(
        &scene.sh("sleep 0.2"),
        Input::new([], Duration::from_mins(1)),
        Limits::default(),
    );
    let trace = scene.sh("echo > up").cwd(scene.dir.path());
    let input = Input::new([], Duration::from_mins(1));
    drop(scene.executor.run(&trace, input, Limits::default()));
    slow.wait().unwrap();
    scene.run("true", 5000).unwrap();
    assert!(!scene.dir.path().join("up").exists());
}
