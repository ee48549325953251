//! `tollgate run` that works by itself, and how it ends: told to by a signal, with what belongs to an end.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

struct Session {
    root: tempfile::TempDir,
    child: Child,
    shown: BufReader<ChildStdout>,
}

impl Session {
    /// `tollgate run` without a terminal, with a model that says these replies.
    fn start(model: &Value, arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "project", "project/src"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("model.json"), model.to_string()).unwrap();
        let mut child = Command::new("setsid")
            .args([env!("CARGO_BIN_EXE_tollgate"), "run"])
            .args(["--model", "script:../model.json", "--record", "../record.jsonl"])
            .args(arguments)
            .current_dir(root.path().join("project"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", root.path().join("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let shown = BufReader::new(child.stdout.take().unwrap());
        Self { root, child, shown }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("project").join(name)
    }

    /// Waits until a line with this is shown.
    fn until(&mut self, text: &str) {
        self.until_one_of(&[text]);
    }

    /// The same for one of several. Gives which.
    fn until_one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(self.shown.read_line(&mut line).unwrap() > 0, "{texts:?} not shown:\n{all}");
            if let Some(text) = texts.iter().find(|text| line.contains(**text)) {
                return text;
            }
            all.push_str(&line);
        }
    }

    /// Sends a signal to the program: it is in the place of `setsid`.
    fn signal(&self, name: &str) {
        let program = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &program]).status().unwrap().success());
    }

    /// Waits for its end. Gives its exit code, and the last event that hooks were asked about.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.shown.read_to_string(&mut rest).unwrap();
        let code = self.child.wait().unwrap().code();
        let record = fs::read_to_string(self.root.path().join("record.jsonl")).unwrap();
        let last: Value = serde_json::from_str(record.lines().next_back().unwrap()).unwrap();
        (code, last["record"]["event"].as_str().unwrap().to_owned())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn echo() -> Value {
    json!([{"say": "I heard: {{last_user}}", "once": false}])
}

/// A model that looks around, and then takes its time.
fn slow() -> Value {
    let look = json!([{"name": "list_dir", "args": {"DirectoryPath": "."}}]);
    json!([{"calls": look}, {"say": "Late.", "delay_ms": 600_000}])
}

fn ended() -> (Option<i32>, String) {
    (Some(0), "session.end".to_owned())
}

#[test]
fn a_prompt_comes_each_time_so_much_time_has_passed() {
    let mut session = Session::start(&echo(), &["--every", "1ms", "Look.", "Begin."]);
    session.until("I heard: Begin.");
    session.until("every 1ms says: Look.");
    session.until("I heard: Look.");
    session.until("I heard: Look.");
    session.signal("TERM");
    assert_eq!(session.end(), ended());
}

#[test]
fn a_prompt_comes_when_files_change_below_the_directory() {
    let arguments = ["--on-change", "src/**/*.rs", "Look at {paths}", "--every", "2s", "Ready."];
    let mut session = Session::start(&echo(), &arguments);
    session.until("I heard: Ready.");
    // It may begin to watch a moment later, and a change before it does is none: so there are more until one is seen.
    let path = session.path("src/a.rs");
    let seen = format!("I heard: Look at {}", path.display());
    loop {
        fs::write(&path, "").unwrap();
        if session.until_one_of(&[&seen, "I heard: Ready."]) == seen {
            break;
        }
    }
    session.signal("HUP");
    assert_eq!(session.end(), ended());
}

#[test]
fn ctrl_c_ends_what_it_does_and_then_the_session() {
    let mut session = Session::start(&slow(), &["--every", "1h", "Look.", "Begin."]);
    session.until("✓");
    session.signal("INT");
    session.until("the turn was cancelled");
    session.until("I wait for what I am to do.");
    session.signal("INT");
    assert_eq!(session.end(), ended());
}

#[test]
fn a_session_that_is_terminated_in_the_middle_of_a_turn_ends_as_others_do() {
    let mut session = Session::start(&slow(), &["Begin."]);
    session.until("✓");
    session.signal("TERM");
    assert_eq!(session.end(), (Some(1), "session.end".to_owned()));
}
