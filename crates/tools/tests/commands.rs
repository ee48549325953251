//! Commands, in the foreground and in the background.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{LONG, Scene, until};
use tollgate_tools::{Config, Output, TaskEnd, TaskLimits, Variables};

async fn run(scene: &Scene, command: &str) -> Output {
    let args = json!({"CommandLine": command, "WaitMsBeforeAsync": 30_000});
    scene.call("run_command", args).await.unwrap()
}

/// What it printed.
fn printed(output: &Output) -> String {
    let text = output.text();
    text.split_once("Output:\n").unwrap().1.to_owned()
}

/// Starts a command in the background, and returns its id.
async fn start(scene: &Scene, command: &str) -> String {
    let text =
        scene.text("run_command", json!({"CommandLine": command, "WaitMsBeforeAsync": 0})).await;
    let at = text.find("task-").unwrap();
    text[at..].split('.').next().unwrap().to_owned()
}

async fn manage(scene: &Scene, action: &str, id: &str) -> String {
    scene.text("manage_task", json!({"Action": action, "TaskId": id, "WaitMs": 30_000})).await
}

/// Whether a process is there and not dead.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

async fn pid_in(file: &Path) -> String {
    until("the process writes its number", || {
        std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_command_runs_in_bash_and_in_a_workspace() {
    let scene = Scene::new();
    scene.put("dir/file", "");
    let output =
        run(&scene, "echo one; echo two >&2; echo three; pwd; [[ -n $BASH_VERSION ]]").await;
    assert!(output.text().starts_with("Exit code: 0 (after "), "{}", output.text());
    assert_eq!(printed(&output), format!("one\ntwo\nthree\n{}\n", scene.root().display()));
    assert_eq!(output.error, None);
    let args = json!({"CommandLine": "ls; exit 3", "Cwd": scene.path("dir")});
    let output = scene.call("run_command", args).await.unwrap();
    assert!(output.text().starts_with("Exit code: 3 (after "), "{}", output.text());
    assert_eq!(
        (printed(&output).as_str(), output.error.as_deref()),
        ("file\n", Some("exit status 3"))
    );
    let output = run(&scene, "kill -9 $$").await;
    assert!(output.error.as_ref().unwrap().contains("SIGKILL"), "{output:?}");
    assert_eq!(printed(&output), "(none)");
    let error = scene.error("run_command", json!({"CommandLine": "ls", "Cwd": "dir/file"})).await;
    assert!(error.ends_with("is no directory to run a command in"), "{error}");
    for bad in ["", "  ", "a\0b", &"x".repeat(128 * 1024)] {
        let error = scene.error("run_command", json!({"CommandLine": bad})).await;
        assert!(error.contains("CommandLine is empty"), "{error}");
    }
    // The longest that there may be.
    let long = format!("echo {}", "x".repeat(128 * 1024 - 6));
    assert_eq!(printed(&run(&scene, &format!("{} | wc -c", &long[..120_000])).await), "119996\n");
    assert_eq!(run(&scene, &long).await.error, None);
    assert!(scene.cx.tasks.idle());
    assert_eq!(scene.text("manage_task", json!({"Action": "list"})).await, "0 tasks.\n");
}

#[tokio::test]
async fn a_command_that_reads_a_terminal_is_not_paged_and_has_no_temporary_files() {
    let scene = Scene::new();
    let script =
        "[ -t 0 ] && echo in; [ -t 1 ] || echo out; [ -t 2 ] || echo err; echo $TERM $PAGER";
    assert_eq!(printed(&run(&scene, script).await), "in\nout\nerr\ndumb cat\n");
    // What it was started with is gone while it runs.
    let script = "pipe=$(readlink /proc/$$/fd/1); dir=$(dirname \"$pipe\"); \
                  while [ -e \"$dir\" ]; do sleep 0.01; done; echo \"$dir\" is gone";
    let text = printed(&run(&scene, script).await);
    assert!(text.contains("/tollgate-") && text.ends_with(" is gone\n"), "{text}");
}

/// A command may have ended before anybody has looked at what it printed.
#[tokio::test]
async fn the_output_of_a_short_command_is_whole() {
    let scene = Scene::new();
    for _ in 0..30 {
        let (one, other) = tokio::join!(run(&scene, "echo one"), run(&scene, "printf .; echo two"));
        assert_eq!((printed(&one).as_str(), printed(&other).as_str()), ("one\n", ".two\n"));
    }
}

#[tokio::test]
async fn of_a_long_output_the_beginning_and_the_end_are_kept() {
    let limits = TaskLimits { output: 2000, ..TaskLimits::default() };
    let scene = Scene::with(&Config::default(), limits);
    let output = run(&scene, "echo first; yes 0123456789 | head -c 3000000; echo; echo last").await;
    let text = printed(&output);
    assert!(text.starts_with("first\n0123456789\n"), "{text}");
    assert!(text.ends_with("\nlast\n"), "{text}");
    assert!(text.contains("… (2998012 bytes left out) …"), "{text}");
    assert!(text.len() < 2100, "{}", text.len());
    let output = run(&scene, "head -c 2000 /dev/zero | tr '\\0' x").await;
    assert_eq!(printed(&output), "x".repeat(2000));
}

/// A test does not change its environment, so it runs itself again with another.
#[test]
fn secrets_are_not_passed_on() {
    const INNER: &str = "TOLLGATE_TEST_INNER";
    if std::env::var_os(INNER).is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "secrets_are_not_passed_on", "--nocapture"])
            .env(INNER, "1")
            .env("OPENAI_API_KEY", "hunter2")
            .env("DATABASE_URL", "postgres://me:hunter2@db/app")
            .env("CI_TOKEN", "passed")
            .env("HARMLESS", "too")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let variables = Variables::default().pass("CI_TOKEN").hide("HOME").set("OWN", "set");
        let scene = Scene::with(&Config { variables, ..Config::default() }, TaskLimits::default());
        let text = printed(&run(&scene, "echo $OWN $CI_TOKEN $HARMLESS ${HOME:-none}; env").await);
        assert!(text.starts_with("set passed too none\n"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    });
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended() {
    let scene = Scene::new();
    let script = "setsid sh -c 'echo $$ > stray; exec sleep 1000' & while [ ! -s stray ]; do sleep 0.01; done";
    let text = printed(&run(&scene, script).await);
    assert!(text.starts_with("(ended with the command: 1 process that "), "{text}");
    let pid = pid_in(&scene.root().join("stray")).await;
    until("the stray ends", || !runs(&pid)).await;
}

#[tokio::test]
async fn a_dropped_call_ends_its_command() {
    let scene = Scene::new();
    let script =
        "trap '' TERM; sh -c 'echo $$ > child; exec sleep 1000' & echo $$ > own; wait; sleep 1000";
    let args = json!({"CommandLine": script, "WaitMsBeforeAsync": 60_000});
    {
        let call = scene.call("run_command", args);
        let started = async {
            (pid_in(&scene.root().join("own")).await, pid_in(&scene.root().join("child")).await)
        };
        let pids = tokio::select! {
            output = call => panic!("{output:?}"),
            pids = started => pids,
        };
        assert!(runs(&pids.0) && runs(&pids.1));
    }
    let own = scene.read("own");
    let child = scene.read("child");
    until("both end", || !runs(&own) && !runs(&child)).await;
    until("nothing runs", || scene.cx.tasks.idle()).await;
}

#[tokio::test]
async fn a_long_command_goes_on_in_the_background() {
    let scene = Scene::new();
    let mut ended = scene.cx.tasks.subscribe();
    let id =
        start(&scene, "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; exit 4")
            .await;
    assert_eq!(id, "task-1");
    assert!(!scene.cx.tasks.idle());
    until("it prints", || has_printed(&scene, &id, "before")).await;
    let text = scene.text("manage_task", json!({"Action": "list"})).await;
    assert!(text.starts_with("1 task.\ntask-1 has been running for "), "{text}");
    let args = json!({"Action": "wait", "TaskId": id, "WaitMs": 1});
    let text = scene.text("manage_task", args).await;
    assert!(text.starts_with("task-1 has been running for "), "{text}");
    scene.put("go", "");
    let told = tokio::time::timeout(LONG, ended.recv()).await.unwrap().unwrap();
    assert_eq!((told.id.as_str(), told.end), ("task-1", TaskEnd::Exited(4)));
    scene.cx.tasks.wait_idle().await;
    let text = manage(&scene, "output", &id).await;
    assert!(text.starts_with("task-1 exited with code 4 after "), "{text}");
    assert!(text.ends_with("Output:\nbefore\nafter\n"), "{text}");
    let text = manage(&scene, "wait", &id).await;
    assert!(text.starts_with("Exit code: 4 (after "), "{text}");
    let text = manage(&scene, "kill", &id).await;
    assert!(text.starts_with("Nothing to do: task-1 exited"), "{text}");
    let error = scene.error("manage_task", json!({"Action": "status", "TaskId": "task-9"})).await;
    assert_eq!(error, "there is no task `task-9`; tasks: task-1");
    let error = scene.error("manage_task", json!({"Action": "kill"})).await;
    assert_eq!(error, "`TaskId` of `manage_task` is missing; tasks: task-1");
}

/// Whether a task has printed something, asked without a runtime of its own.
fn has_printed(scene: &Scene, id: &str, wanted: &str) -> bool {
    let call = manage(scene, "output", id);
    let mut call = std::pin::pin!(call);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match call.as_mut().poll(&mut cx) {
        std::task::Poll::Ready(text) => text.contains(wanted),
        std::task::Poll::Pending => false,
    }
}

#[tokio::test]
async fn a_task_is_typed_into() {
    let scene = Scene::new();
    let id = start(&scene, "while read -r line; do echo \"got $line\"; done; echo end").await;
    let send = |input: &str| json!({"Action": "send_input", "TaskId": id, "Input": input});
    assert_eq!(scene.text("manage_task", send("one\n")).await, "Sent 4 bytes to task-1.");
    let text = scene.text("manage_task", send("tw")).await;
    assert!(text.contains("The line is not finished"), "{text}");
    scene.text("manage_task", send("o\n")).await;
    scene.text("manage_task", send("\u{4}")).await;
    let text = manage(&scene, "wait", &id).await;
    assert!(text.ends_with("Output:\ngot one\ngot two\nend\n"), "{text}");
    let error = scene.error("manage_task", send("x\n")).await;
    assert!(error.contains("it has ended"), "{error}");
    // One that does not read.
    let id = start(&scene, "sleep 1000").await;
    let send = |input: String| json!({"Action": "send_input", "TaskId": id, "Input": input});
    let error = scene.error("manage_task", send("x".repeat(4001))).await;
    assert!(error.contains("more than 4000 bytes"), "{error}");
    let error = scene.error("manage_task", json!({"Action": "send_input", "TaskId": id})).await;
    assert_eq!(error, "`Input` of `manage_task` is missing");
    scene.cx.tasks.shutdown().await;
}

#[tokio::test]
async fn a_task_is_killed_with_all_it_started() {
    let limits = TaskLimits { grace: Duration::from_millis(200), ..TaskLimits::default() };
    let scene = Scene::with(&Config::default(), limits);
    let script = "trap '' TERM; setsid sh -c 'echo $$ > stray; exec sleep 1000' & echo $$ > own; while :; do sleep 1; done";
    let id = start(&scene, script).await;
    let own = pid_in(&scene.root().join("own")).await;
    let stray = pid_in(&scene.root().join("stray")).await;
    let began = Instant::now();
    let text = manage(&scene, "kill", &id).await;
    assert!(text.starts_with("task-1 was ended on request after "), "{text}");
    assert!(began.elapsed() < Duration::from_secs(10));
    until("both end", || !runs(&own) && !runs(&stray)).await;
}

#[tokio::test]
async fn the_end_of_a_session_ends_all_tasks() {
    let scene = Scene::new();
    for number in 0..3 {
        start(&scene, &format!("echo $$ > {number}; exec sleep 1000")).await;
    }
    let mut pids = Vec::new();
    for number in 0..3 {
        pids.push(pid_in(&scene.root().join(number.to_string())).await);
    }
    scene.cx.tasks.shutdown().await;
    assert!(scene.cx.tasks.idle());
    until("all end", || !pids.iter().any(|pid| runs(pid))).await;
    let error = scene.error("run_command", json!({"CommandLine": "ls"})).await;
    assert_eq!(error, "the session has ended");
}

#[tokio::test]
async fn dropping_the_session_ends_all_tasks() {
    let scene = Scene::new();
    start(&scene, "echo $$ > own; exec sleep 1000").await;
    let own = pid_in(&scene.root().join("own")).await;
    let Scene { outer, cx, tools } = scene;
    drop((cx, tools));
    until("it ends", || !runs(&own)).await;
    drop(outer);
}

#[test]
fn dropping_the_runtime_ends_all_tasks() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scene = Scene::new();
    let own = runtime.block_on(async {
        start(&scene, "echo $$ > own; exec sleep 1000").await;
        pid_in(&scene.root().join("own")).await
    });
    drop(runtime);
    let by = Instant::now() + LONG;
    while runs(&own) {
        assert!(Instant::now() < by);
        std::thread::yield_now();
    }
    assert!(scene.cx.tasks.idle());
}

#[tokio::test]
async fn tasks_have_bounds() {
    let limits = TaskLimits {
        at_once: 2,
        remembered: 2,
        time: Duration::from_millis(300),
        grace: Duration::from_millis(50),
        ..TaskLimits::default()
    };
    let scene = Scene::with(&Config::default(), limits);
    start(&scene, "sleep 1000").await;
    start(&scene, "sleep 1000").await;
    let error = scene.error("run_command", json!({"CommandLine": "ls"})).await;
    assert!(error.starts_with("2 commands are running, which is the limit"), "{error}");
    let text = manage(&scene, "wait", "task-1").await;
    assert!(text.starts_with("The command was ended after 300ms, which is the limit"), "{text}");
    scene.cx.tasks.wait_idle().await;
    for _ in 0..3 {
        let id = start(&scene, "sleep 1000").await;
        manage(&scene, "kill", &id).await;
    }
    let text: String = scene.text("manage_task", json!({"Action": "list"})).await;
    // Those that are remembered, and the one that ended since.
    assert!(text.starts_with("3 tasks.\n"), "{text}");
    let none: Value = json!({"Action": "explode"});
    let error = scene.error("manage_task", none).await;
    assert!(error.starts_with("`Action` of `manage_task` does not fit: "), "{error}");
}

#[tokio::test]
async fn who_has_waited_for_the_end_of_a_command_is_not_told_of_it() {
    let scene = Scene::new();
    let mut ended = scene.cx.tasks.subscribe();
    let attended = start(&scene, "read line").await;
    let killed = start(&scene, "sleep 600").await;
    let left = start(&scene, "read line").await;
    let send = |id: &str| json!({"Action": "send_input", "TaskId": id, "Input": "x\n"});
    scene.text("manage_task", send(&attended)).await;
    manage(&scene, "wait", &attended).await;
    manage(&scene, "kill", &killed).await;
    scene.text("manage_task", send(&left)).await;
    let told = tokio::time::timeout(LONG, ended.recv()).await.unwrap().unwrap();
    assert_eq!((told.id, told.end), (left, TaskEnd::Exited(0)));
}

#[tokio::test]
async fn all_that_was_typed_into_a_command_is_known_and_has_an_end() {
    let scene = Scene::new();
    let id = start(&scene, "cat > /dev/null").await;
    assert_eq!(scene.cx.tasks.typing("task-9"), None);
    let send = |text: String| json!({"Action": "send_input", "TaskId": id, "Input": text});
    scene.text("manage_task", send("one\n".to_owned())).await;
    scene.text("manage_task", send("two\n".to_owned())).await;
    let typing = scene.cx.tasks.typing(&id).unwrap();
    assert_eq!((typing.command.as_str(), typing.typed.as_str()), ("cat > /dev/null", "one\ntwo\n"));
    let line = format!("{}\n", "x".repeat(3_999));
    for _ in 0..16 {
        scene.text("manage_task", send(line.clone())).await;
    }
    let error = scene.error("manage_task", send(line)).await;
    assert!(error.contains("65536 bytes were typed into it"), "{error}");
    manage(&scene, "kill", &id).await;
    assert_eq!(scene.cx.tasks.typing(&id), None);
}
