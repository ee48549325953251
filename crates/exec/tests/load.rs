//! Many commands at once and one after the other, and the programs that run them.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod scene;

use std::os::unix::process::CommandExt;
use std::process::{Command as Bare, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, set_child_subreaper, setrlimit,
};
use scene::{Scene, children, eventually, executor_threads, mappings, open_fds};
use tollgate_exec::{Command, ExecError, Executor, Input, Limits, Running};

fn start(scene: &Scene, script: &str, time: Duration) -> Running {
    scene.executor.run(&scene.sh(script), Input::new([], time), Limits::default())
}

#[test]
fn in_place_one_after_the_other_and_two_at_once() {
    let scene = Scene::new("in place");
    let executor = Executor::in_place();
    let run = |script: &str, time: Duration| {
        let input = Input::new(*b"in\n", time);
        executor.run(&scene.sh(script), input, Limits::default()).wait()
    };
    let long = Duration::from_secs(20);
    // More than is read at once, and then less: nothing is left of the command before.
    let many = run("head -c 200000 /dev/zero", long).unwrap();
    assert_eq!(many.stdout, vec![0; 200_000]);
    assert_eq!(run("cat; echo err >&2", long).unwrap().stdout, b"in\n");
    let late = run("sleep 30", Duration::from_millis(20));
    assert!(matches!(late, Err(ExecError::TimedOut { .. })), "{late:?}");
    let (fds, maps) = (open_fds(), mappings());
    for _ in 0..20 {
        let after = run("cat", long).unwrap();
        assert_eq!((after.stdout, after.stderr), (b"in\n".to_vec(), Vec::new()));
    }
    // Fewer, where a thread of another test has ended meanwhile.
    assert!(open_fds() <= fds && mappings() <= maps);
    let once = thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| run("cat", long).unwrap().stdout));
        both.map(|one| one.join().unwrap())
    });
    assert_eq!(once, [b"in\n", b"in\n"]);
}

#[test]
fn two_hundred_at_once_with_few_descriptors() {
    let before = getrlimit(Resource::Nofile);
    let scene = Scene::new("limit");
    setrlimit(Resource::Nofile, Rlimit { current: Some(128), maximum: before.maximum }).unwrap();
    let executor = Executor::default();
    assert!(executor.max_at_once() <= 12, "{executor:?}");

    let (done, peak) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let watcher = thread::spawn({
        let (done, peak) = (Arc::clone(&done), Arc::clone(&peak));
        move || {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(open_fds(), Ordering::Relaxed);
            }
        }
    });
    let command = scene.sh("read line; echo $line");
    let running: Vec<_> = (0..200)
        .map(|n| {
            let input = Input::new(format!("{n}\n").into_bytes(), Duration::from_mins(1));
            executor.run(&command, input, Limits::default())
        })
        .collect();
    for (n, running) in running.into_iter().enumerate() {
        let finished = running.wait().unwrap();
        assert_eq!(String::from_utf8(finished.stdout).unwrap(), format!("{n}\n"));
    }
    done.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    drop(executor);
    eventually("their threads are gone", || executor_threads() == 0);
    setrlimit(Resource::Nofile, before).unwrap();
    let peak = peak.load(Ordering::Relaxed);
    assert!(peak <= 120, "{peak} descriptors");
}

#[test]
fn waits_for_descriptors_that_others_hold() {
    let before = getrlimit(Resource::Nofile);
    let scene = Scene::new("exhausted");
    let limit = open_fds() as u64 + 20;
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum: before.maximum }).unwrap();
    let mut hoard: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
    let error = scene.run("true", 200).unwrap_err();
    let running = start(&scene, "echo ok", Duration::from_secs(10));
    thread::sleep(Duration::from_millis(20));
    hoard.clear();
    let finished = running.wait();
    setrlimit(Resource::Nofile, before).unwrap();
    assert!(error.to_string().contains("Too many open files"), "{error}");
    assert_eq!(finished.unwrap().stdout, b"ok\n");
}

#[test]
fn five_hundred_one_after_the_other() {
    let scene = Scene::new("loop");
    let count = || (open_fds(), executor_threads(), children().len());
    // The first ones reach what it takes: threads, arenas of the allocator, buffers.
    for _ in 0..50 {
        scene.run("sleep 0 & echo hello", 20_000).unwrap();
    }
    let (before, mappings_before) = (count(), mappings());
    for _ in 0..500 {
        let finished = scene.run("echo hello", 20_000).unwrap();
        assert_eq!(finished.stdout, b"hello\n");
    }
    assert_eq!(count(), before);
    // The stack of another test may have come, and the allocator has some freedom.
    let mappings = mappings();
    assert!(mappings < mappings_before + 10, "{mappings} after {mappings_before}");
}

#[test]
fn time_in_the_queue_counts() {
    let scene = Scene::with("queue", Executor::new(1));
    let slow = start(&scene, "sleep 1", Duration::from_secs(20));
    let began = Instant::now();
    let error = start(&scene, "true", Duration::from_millis(200)).wait().unwrap_err();
    let took = began.elapsed();
    assert!(matches!(error, ExecError::NoSlot { at_once: 1, .. }), "{error}");
    assert!(error.to_string().starts_with("waited for a free slot for 200ms"), "{error}");
    assert!(took >= Duration::from_millis(200) && took < Duration::from_millis(700), "{took:?}");
    slow.wait().unwrap();
}

#[test]
fn the_queue_is_fair() {
    let scene = Scene::with("fair", Executor::new(1));
    let command = |n| scene.sh(&format!("echo {n} >> order")).cwd(scene.dir.path());
    let input = || Input::new([], Duration::from_secs(20));
    let running: Vec<_> =
        (0..20).map(|n| scene.executor.run(&command(n), input(), Limits::default())).collect();
    for running in running {
        running.wait().unwrap();
    }
    let order = std::fs::read_to_string(scene.dir.path().join("order")).unwrap();
    let order: Vec<u32> = order.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(order, (0..20).collect::<Vec<_>>());
}

#[test]
fn commands_outlive_their_executor_but_threads_do_not() {
    let scene = Scene::new("outlive");
    let executor = Executor::new(2);
    let input = Input::new([], Duration::from_secs(20));
    let running = executor.run(&scene.sh("sleep 0.2; echo ok"), input, Limits::default());
    drop(executor);
    assert_eq!(running.wait().unwrap().stdout, b"ok\n");
    eventually("its thread is gone", || executor_threads() == 0);
}

#[test]
fn a_runtime_can_wait_and_give_up() {
    let scene = Scene::new("tokio");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let all = (0..10).map(|_| start(&scene, "echo ok", Duration::from_secs(20)));
        for running in all.collect::<Vec<_>>() {
            assert_eq!(running.await.unwrap().stdout, b"ok\n");
        }
        let slow = start(&scene, "sleep $NAP", Duration::from_mins(1));
        let given_up = tokio::time::timeout(Duration::from_millis(50), slow).await;
        assert!(given_up.is_err());
    });
}

#[test]
fn the_program_does_not_see_the_keeper() {
    let scene = Scene::new("unseen");
    let running = start(&scene, "sleep 0.3", Duration::from_secs(20));
    eventually("there is a keeper", || !children().is_empty());
    // What a program does that reaps whatever child it may have.
    let reaped = rustix::process::wait(rustix::process::WaitOptions::NOHANG);
    assert_eq!(reaped.unwrap_err(), rustix::io::Errno::CHILD);
    assert!(running.wait().unwrap().status.is_success());
}

/// Not a test: what the next one starts, and kills.
#[test]
fn a_program_to_be_killed() {
    let Ok(nap) = std::env::var("NAP_OF_PROGRAM_TO_BE_KILLED") else { return };
    let script = "trap '' TERM HUP; setsid sleep $NAP & sleep $NAP & echo $$ > up; sleep $NAP";
    let command = Command::shell("/bin/sh", script).env("NAP", nap);
    let input = Input::new([], Duration::from_mins(1));
    let _ = Executor::shared().run(&command, input, Limits::default()).wait();
}

#[test]
fn the_command_dies_with_its_program() {
    let scene = Scene::new("program");
    set_child_subreaper(Some(Pid::INIT)).unwrap();
    let up = scene.dir.path().join("up");
    // The group, so that whatever stayed in it is killed like the program.
    let mut program = Bare::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_program_to_be_killed", "--test-threads=1"])
        .env("NAP_OF_PROGRAM_TO_BE_KILLED", &scene.nap)
        .current_dir(scene.dir.path())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    eventually("the command is up", || up.exists() && scene.survivors().len() >= 4);
    let group = Pid::from_raw(program.id().cast_signed()).unwrap();
    kill_process_group(group, Signal::KILL).unwrap();
    program.wait().unwrap();
    eventually("all are gone but the keeper", || {
        // The keeper is ours now, like any orphan.
        while let Ok(Some(_)) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {}
        scene.survivors().is_empty() && children().is_empty()
    });
    set_child_subreaper(None).unwrap();
}
