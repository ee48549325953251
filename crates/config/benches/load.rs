//! What loading costs beside parsing, and what a hook that is a command costs beside its process.
//!
//! `cargo bench -p tollgate-config --bench load`. Each pair is measured in turns in one run, so
//! that what else the machine does falls on both; medians and their ratio are printed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_config::guard::{Guard, Protected};
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::prelude::*;

fn main() {
    // A word on the command line, as in `-- Polytoken`, restricts what is loaded to its dialect.
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    loading(only.as_deref());
    if only.is_none() {
        matching();
        dispatching();
        guarding();
    }
}

/// Runs both in turns and prints the medians.
fn compare(name: &str, rounds: usize, mut base: impl FnMut(), mut ours: impl FnMut()) {
    let time = |work: &mut dyn FnMut()| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let (mut bases, mut ourses) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bases.push(time(&mut base));
        ourses.push(time(&mut ours));
    }
    let (base, ours) = (median(bases), median(ourses));
    let ratio = ours.as_secs_f64() / base.as_secs_f64();
    println!("{name}: {base:?} and {ours:?}, ratio {ratio:.2}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Half exact names, half simple patterns or lists, ten distinct expressions.
fn matcher(number: usize) -> String {
    match number % 4 {
        0 | 2 => format!("tool_{number}"),
        1 if number % 100 == 1 => format!("browser_[a-z]+_{}|nav_\\d+", number % 1000 / 100),
        1 => format!("group_{number}_.*"),
        _ => format!("left_{number}|right_{number}"),
    }
}

fn antigravity(count: usize) -> String {
    let hook = |number: usize| {
        json!({"PreToolUse": [{"matcher": matcher(number), "hooks": [{
            "type": "command",
            "command": format!("./scripts/check-{number}.sh --strict"),
            "timeout": 10,
        }]}]})
    };
    let hooks: serde_json::Map<String, Value> =
        (0..count).map(|number| (format!("hook-{number}"), hook(number))).collect();
    serde_json::to_string_pretty(&hooks).unwrap()
}

fn polytoken(count: usize) -> String {
    let glob = |number: usize| match number % 4 {
        0 | 2 => format!("tool_{number}"),
        1 if number % 100 == 1 => format!("browser_[a-z]?_{}*", number % 1000 / 100),
        _ => format!("group_{number}_*"),
    };
    let hooks: Vec<_> = (0..count)
        .map(|number| {
            json!({
                "name": format!("hook-{number}"),
                "event": "pre_tool_use",
                "matcher": glob(number),
                "handler": {"bash": format!("./scripts/check-{number}.sh --strict")},
            })
        })
        .collect();
    serde_json::to_string_pretty(&hooks).unwrap()
}

fn write(root: &Path, file: &str, text: &str) -> Setup {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    Setup::new(Places::below(root))
}

fn loading(only: Option<&str>) {
    for (name, file, text) in [
        ("Antigravity", "home/.gemini/config/hooks.json", antigravity(1000)),
        ("Polytoken", "home/.config/polytoken/hooks.json", polytoken(1000)),
    ] {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let root = tempfile::tempdir().unwrap();
        let setup = write(root.path(), file, &text);
        let hooks = Hooks::load(Runner::builder().build().unwrap(), setup.clone());
        assert!(hooks.in_force().diagnostics.is_empty());
        // And the guard.
        assert_eq!(hooks.runner().hooks(Kind::ToolPre).count(), 1001);
        let what = format!("parse {} KB of JSON; load 1,000 {name} hooks", text.len() / 1000);
        compare(
            &what,
            200,
            || drop(black_box(serde_json::from_str::<Value>(&text).unwrap())),
            || {
                let runner = Runner::builder().build().unwrap();
                drop(black_box(Hooks::load(runner, setup.clone())));
            },
        );
    }
}

fn matching() {
    let load = |count: usize| {
        let root = tempfile::tempdir().unwrap();
        let setup = write(root.path(), "home/.gemini/config/hooks.json", &antigravity(count));
        let hooks = Hooks::load(Runner::builder().build().unwrap(), setup);
        (root, hooks)
    };
    let ((_few_root, few), (_many_root, many)) = (load(10), load(1000));
    for (how, tool) in [
        ("a name", "tool_4"),
        ("a list", "right_3"),
        ("a beginning", "group_5_x"),
        ("an expression", "browser_ab_0"),
        ("nothing", "unheard_of"),
    ] {
        let explain = |hooks: &Hooks| {
            for _ in 0..200 {
                let call = ToolPre::from(ToolCall::new(tool));
                black_box(hooks.runner().asked_about(&call));
            }
        };
        compare(
            &format!("200 × match by {how} among 10; among 1,000"),
            300,
            || explain(&few),
            || explain(&many),
        );
    }
}

/// What the guard adds to the usual calls.
fn guarding() {
    const TIMES: u32 = 2_000;
    let root = tempfile::tempdir().unwrap();
    let guard = Guard::new(Protected::project(root.path()));
    let shell = |line: &str| ToolCall::new("run_command").arg("CommandLine", line);
    let file = root.path().join("main.rs").display().to_string();
    for (name, call) in [
        ("ls", shell("ls")),
        ("cargo test", shell("cargo test")),
        ("a line of three", shell("cd src && cargo test -p x --all 2>&1 | tail -n 20")),
        ("a write", ToolCall::new("write_to_file").arg("TargetFile", file).arg("CodeContent", "x")),
    ] {
        let begun = Instant::now();
        for _ in 0..TIMES {
            assert!(guard.refuses(black_box(&call), &[]).is_none());
        }
        println!("guard, {name}: {:?}", begun.elapsed() / TIMES);
    }
}

fn dispatching() {
    const SCRIPT: &str = "cat >/dev/null; echo '{\"decision\": \"allow\"}'";
    let root = tempfile::tempdir().unwrap();
    let file = json!({"guard": {"PreToolUse": [{"matcher": "*", "hooks": [{"command": SCRIPT}]}]}});
    let setup = write(root.path(), "home/.gemini/config/hooks.json", &file.to_string());
    let hooks = Hooks::load(Runner::builder().build().unwrap(), setup);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = || ToolPre::from(ToolCall::new("run_command").arg("CommandLine", "ls"));
    let mut input = String::new();
    write!(
        input,
        "{{\"toolCall\":{{\"name\":\"run_command\",\"args\":{{\"CommandLine\":\"ls\"}}}}}}"
    )
    .unwrap();
    for ballast in [0usize, 200 << 20] {
        let weight = vec![1u8; ballast];
        compare(
            &format!("bare spawn; dispatch through one hook, {} MB in memory", ballast >> 20),
            200,
            || {
                let mut child = Command::new("/bin/sh")
                    .args(["-c", SCRIPT])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
                let (mut out, mut err) = (Vec::new(), Vec::new());
                child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
                child.stderr.take().unwrap().read_to_end(&mut err).unwrap();
                assert!(child.wait().unwrap().success());
            },
            || {
                let outcome = runtime.block_on(hooks.runner().dispatch(&operation, call()));
                assert_eq!(outcome.verdict.level, Level::Allow);
            },
        );
        drop(black_box(weight));
    }
}
