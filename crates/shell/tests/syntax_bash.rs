//! The parser against bash itself, where there is one. Bash only reads here: `bash -n` runs
//! nothing.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tollgate_shell::syntax::{Agreement, parse, second_opinion};

/// Whether there is a bash that reads as the parser does.
fn has_bash() -> bool {
    let version = Command::new("bash").arg("--version").output();
    version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("version 5.2"))
}

/// Whether bash takes a text for a script.
fn accepts(text: &str) -> bool {
    let mut bash = Command::new("bash")
        .arg("-n")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = bash.stdin.take().unwrap();
    // It may end before it has read everything.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    let output = bash.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // A wrong `[[` is only told in words.
    output.status.success() && said.lines().all(|line| line.contains("warning"))
}

/// The commands of all corpora.
fn corpora() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/shell");
    let Ok(files) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut commands = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            commands.extend(case.get("command").and_then(|c| c.as_str()).map(str::to_owned));
        }
    }
    commands
}

#[test]
fn corpora_are_read_alike() {
    let commands = corpora();
    let bash = has_bash();
    let (mut same, mut asked) = (0_usize, 0_usize);
    for text in &commands {
        let script = parse(text);
        if bash {
            assert_eq!(script.is_ok(), accepts(text), "{text:?}: {:?}", script.err());
        }
        if let Ok(script) = script {
            asked += 1;
            match second_opinion(text, &script) {
                Agreement::Same => same += 1,
                other => eprintln!("{other:?}: {text:?}"),
            }
        }
    }
    assert!(same * 100 >= asked * 98, "{same} of {asked}");
}

/// Scripts that are mostly right.
fn script() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a",
        "-x",
        "\"b c\"",
        "'q)'",
        "$x",
        "${x:-y}",
        "\"${x%.*}\"",
        "$((1+2))",
        "*.c",
        "x=1",
        "{a,b}",
        "in",
        "do",
        "fi",
        "}",
        "#",
        "a#b",
        "\\$",
        "$'a\\'b'",
        "[",
        "!",
        "$(a)",
        "<(b)",
        "${a[1]}",
        "2",
        "\"`a`\"",
    ]);
    let redirect = prop::sample::select(vec![
        "", "", "", " >f", " 2>&1", " <f", " <<<w", " &>>f", " {v}>f", " >&-",
    ]);
    let simple = (prop::collection::vec(word, 1..4), redirect)
        .prop_map(|(words, redirect)| format!("{}{redirect}", words.join(" ")));
    simple.prop_recursive(4, 24, 3, |inner| {
        let joint = prop::sample::select(vec![
            " && ", " || ", "; ", "\n", " & ", " | ", " |& ", " ", ";; ",
        ]);
        prop_oneof![
            (inner.clone(), joint, inner.clone())
                .prop_map(|(a, joint, b)| format!("{a}{joint}{b}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("{{ {a}; }}")),
            inner.clone().prop_map(|a| format!("echo $({a}) \"$({a})\"")),
            inner.clone().prop_map(|a| format!("f() {{ {a}\n}}")),
            inner.clone().prop_map(|a| format!("! {a}")),
            inner.clone().prop_map(|a| format!("time {a}")),
            inner.clone().prop_map(|a| format!("coproc {a}")),
            inner.clone().prop_map(|a| format!("for x in a b; do {a}; done")),
            inner.clone().prop_map(|a| format!("case x in a|b) {a};; (c) {a}\nesac")),
            inner.clone().prop_map(|a| format!("[[ a == {a} ]]")),
            inner.clone().prop_map(|a| format!("x=({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("while {a}\ndo {b}\ndone >f")),
        ]
    })
}

/// What bash refuses is refused. What it accepts is accepted, but for what it only looks at when
/// it runs, and what it and this parser could read differently.
#[test]
fn generated_scripts_are_read_alike() {
    if !has_bash() {
        return;
    }
    let mut runner = TestRunner::deterministic();
    let strategy = script();
    for _ in 0..600 {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        let script = parse(&text);
        if accepts(&text) {
            assert!(script.is_ok(), "{text:?}: {:?}", script.err());
        } else {
            assert!(script.is_err(), "{text:?}");
        }
    }
}
