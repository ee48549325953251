//! `tollgate run` with a person at its terminal: what they type reaches whoever is asking, and nobody else.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};

/// Far more than any of these takes, also on a busy machine.
const LONG: Duration = Duration::from_mins(2);

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

/// What the terminal has shown so far.
#[derive(Default)]
struct Screen {
    shown: Mutex<(String, bool)>,
    changed: Condvar,
}

/// An agent at a terminal that is its own.
struct Session {
    root: tempfile::TempDir,
    child: Child,
    keys: File,
    screen: Arc<Screen>,
    /// How much of what was shown was looked at.
    seen: usize,
}

impl Session {
    /// `tollgate run`, with a model that says these replies.
    fn start(model: &Value, arguments: &[&str]) -> Self {
        Self::start_by(&["setsid", "--ctty", env!("CARGO_BIN_EXE_tollgate")], model, arguments)
    }

    fn start_by(program: &[&str], model: &Value, arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "project"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("model.json"), model.to_string()).unwrap();
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let window = Winsize { ws_row: 50, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, window).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let side = || File::options().read(true).write(true).open(Path::new(&name)).unwrap();
        let mut command = Command::new(program[0]);
        command
            .args(&program[1..])
            .args(["run", "--model", "script:../model.json"])
            .args(arguments)
            .current_dir(root.path().join("project"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", root.path().join("home"))
            .env("TERM", "dumb")
            .stdin(Stdio::from(side()))
            .stdout(Stdio::from(side()))
            .stderr(Stdio::from(side()));
        let child = command.spawn().unwrap();
        // Our copies of its side are closed with this.
        drop(command);
        let keys = File::from(terminal);
        let screen = Arc::new(Screen::default());
        let mut reader = keys.try_clone().unwrap();
        let writes = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of the other side is an error here.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                writes.shown.lock().unwrap().0.push_str(&text);
                writes.changed.notify_all();
            }
            writes.shown.lock().unwrap().1 = true;
            writes.changed.notify_all();
        });
        Self { root, child, keys, screen, seen: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("project").join(name)
    }

    fn type_in(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is shown, behind what was waited for before. Gives what came before it.
    fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + LONG;
        let mut shown = self.screen.shown.lock().unwrap();
        loop {
            if let Some(at) = shown.0[self.seen..].find(text) {
                let before = shown.0[self.seen..][..at].to_owned();
                self.seen += at + text.len();
                return before;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let is_over = shown.1 || left.is_zero();
            assert!(!is_over, "`{text}` was not shown behind byte {}:\n{}", self.seen, shown.0);
            shown = self.screen.changed.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Waits for the end of the program. Gives its exit code, and all that was shown.
    fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + LONG;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let shown = self.screen.shown.lock().unwrap().0.clone();
                panic!("it does not end:\n{shown}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let mut shown = self.screen.shown.lock().unwrap();
        while !shown.1 {
            shown = self.screen.changed.wait_timeout(shown, LONG).unwrap().0;
        }
        (status.code(), shown.0.clone())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Of no effect where it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(line: &str) -> Value {
    json!({"calls": [{"name": "run_command", "args": {"CommandLine": line, "WaitMsBeforeAsync": 60_000}}]})
}

fn say(text: &str) -> Value {
    json!({"say": text})
}

const ASKED: &str = "[n] no > ";
const PROMPT: &str = "\n> ";

#[test]
fn an_answer_reaches_the_question_and_the_next_line_the_model() {
    let model =
        json!([command("echo ran-it"), say("one-is-over"), say("You said: {{last_user}}.")]);
    let mut session = Session::start(&model, &[]);
    session.until(PROMPT);
    session.type_in("go\n");
    let asked = session.until(ASKED);
    assert!(asked.contains("May the agent do this?"), "{asked}");
    assert!(asked.contains("  CommandLine: echo ran-it"), "{asked}");
    session.type_in("y\n");
    session.until("Output: ran-it");
    session.until("one-is-over");
    session.until(PROMPT);
    // Who presses Enter once too often has said nothing.
    session.type_in("\n");
    session.until("> ");
    session.type_in("and now?\n");
    session.until("You said: and now?.");
    session.until(PROMPT);
    session.type_in(CTRL_D);
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn always_is_remembered_to_the_letter_and_no_is_no() {
    let model = json!([
        command("echo *"),
        command("echo *"),
        command("echo other"),
        command("echo third"),
        say("over")
    ]);
    let mut session = Session::start(&model, &["go"]);
    session.until("always would permit: command(echo *)");
    session.until(ASKED);
    session.type_in("always\n");
    let between = session.until("CommandLine: echo other");
    assert_eq!(between.matches("✓ ").count(), 2, "{between}");
    session.until(ASKED);
    session.type_in("perhaps\n");
    session.until("y, a or n? > ");
    session.type_in("n\n");
    session.until("the person who was asked said no");
    session.until(ASKED);
    session.type_in(CTRL_D);
    session.until("the person who was asked said no");
    session.until("over");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn what_was_typed_before_a_question_was_shown_does_not_answer_it() {
    let model = json!([command("touch made"), say("one-is-over"), say("You said: {{last_user}}.")]);
    let mut session = Session::start(&model, &[]);
    session.until(PROMPT);
    session.type_in("go\ny\n");
    session.until(ASKED);
    session.type_in("n\n");
    session.until("the person who was asked said no");
    session.until("one-is-over");
    // It was the next prompt.
    session.until("You said: y.");
    assert!(!session.path("made").exists());
    session.type_in(CTRL_D);
    assert_eq!(session.end().0, Some(0));

    // The same before anything was asked at all.
    let model = json!([command("touch made"), say("over")]);
    let mut session = Session::start(&model, &["go"]);
    session.type_in("y\n");
    session.until(ASKED);
    session.type_in("n\n");
    session.until("the person who was asked said no");
    session.until("over");
    assert!(!session.path("made").exists());
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn ctrl_c_at_a_question_ends_the_turn_and_then_the_program() {
    let model = json!([command("touch made"), say("You said: {{last_user}}.")]);
    let mut session = Session::start(&model, &["go"]);
    session.until(ASKED);
    session.type_in(CTRL_C);
    session.until("error: the turn was cancelled");
    let made = session.path("made");
    assert_eq!(session.end().0, Some(1));
    assert!(!made.exists());

    let mut session = Session::start(&model, &[]);
    session.until(PROMPT);
    session.type_in("go\n");
    session.until(ASKED);
    session.type_in(CTRL_C);
    session.until("error: the turn was cancelled");
    session.until(PROMPT);
    session.type_in("y\n");
    session.until("You said: y.");
    session.until(PROMPT);
    assert!(!session.path("made").exists());
    session.type_in(CTRL_C);
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn a_line_typed_while_a_message_is_answered_is_the_next_prompt() {
    // What is said while a subagent begins is one word: between two, its lines may be shown.
    let wait = "touch begun; while ! test -e go-on; do sleep 0.01; done; touch finished";
    let model = json!({
        "replies": [
            {"calls": [{"name": "invoke_subagent", "args": {"Prompt": "SUB do it", "Background": true}}]},
            say("one-is-over"),
            command(wait),
            say("the message is answered"),
            say("You said: {{last_user}}."),
        ],
        "groups": [{
            "name": "sub",
            "for": {"first_user": "^SUB"},
            "replies": [command("while ! test -e answer; do sleep 0.01; done"), say("sub is done")],
        }],
    });
    let mut session = Session::start(&model, &["--allow-all"]);
    session.until(PROMPT);
    session.type_in("go\n");
    session.until("one-is-over");
    session.until(PROMPT);
    fs::write(session.path("answer"), "").unwrap();
    session.until("CommandLine=touch begun");
    session.type_in("and then?\n");
    fs::write(session.path("go-on"), "").unwrap();
    session.until("the message is answered");
    assert!(session.path("finished").exists());
    session.until("You said: and then?.");
    session.type_in(CTRL_D);
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn ctrl_c_ends_the_turn_of_a_message_and_not_the_program() {
    let model = json!({
        "replies": [
            {"calls": [{"name": "invoke_subagent", "args": {"Prompt": "SUB do it", "Background": true}}]},
            say("one-is-over"),
            command("sleep 600"),
            say("You said: {{last_user}}."),
        ],
        "groups": [{
            "name": "sub",
            "for": {"first_user": "^SUB"},
            "replies": [command("while ! test -e answer; do sleep 0.01; done"), say("sub is done")],
        }],
    });
    let mut session = Session::start(&model, &["--allow-all"]);
    session.until(PROMPT);
    session.type_in("go\n");
    session.until("one-is-over");
    session.until(PROMPT);
    fs::write(session.path("answer"), "").unwrap();
    session.until("CommandLine=sleep 600");
    session.type_in(CTRL_C);
    session.until("error: the turn was cancelled");
    session.until(PROMPT);
    session.type_in("still there?\n");
    session.until("You said: still there?.");
    session.type_in(CTRL_D);
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn a_question_of_a_subagent_is_asked_between_prompts() {
    let model = json!({
        "replies": [
            {"calls": [{"name": "invoke_subagent", "args": {"Prompt": "SUB do it", "Background": true}}]},
            say("one-is-over"),
            say("The message is answered."),
            say("You said: {{last_user}}."),
        ],
        "groups": [{
            "name": "sub",
            "for": {"first_user": "^SUB"},
            "replies": [command("touch made"), say("sub is done")],
        }],
    });
    let mut session = Session::start(&model, &[]);
    session.until(PROMPT);
    session.type_in("go\n");
    // To start it is asked about first.
    session.until(ASKED);
    session.type_in("y\n");
    session.until("run_command (subagent agent-1)");
    session.until(ASKED);
    session.type_in("y\n");
    session.until("The message is answered.");
    assert!(session.path("made").exists());
    session.until(PROMPT);
    session.type_in("well?\n");
    session.until("You said: well?.");
    session.type_in(CTRL_D);
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn questions_are_answered_by_number_or_in_words() {
    let question = |text: &str| json!({"Question": text, "Options": ["red", "blue"]});
    let model = json!([
        {"calls": [{"name": "ask_question", "args": {"Questions": [question("Which?"), question("And then?")]}}]},
        say("It was {{last_tool.content}}")
    ]);
    let mut session = Session::start(&model, &["--allow-all", "go"]);
    let asked = session.until("nothing to skip > ");
    assert!(asked.contains("| Which?") && asked.contains("[2] blue"), "{asked}");
    session.type_in("2\n");
    session.until("nothing to skip > ");
    session.type_in("green\n");
    session.until("It was ");
    let (code, shown) = session.end();
    assert_eq!(code, Some(0));
    assert!(
        shown.contains(r#""chosen":["blue"]"#) && shown.contains(r#""answer":"green""#),
        "{shown}"
    );
}

#[test]
fn a_terminal_that_is_only_the_standard_input_will_do() {
    let model = json!([command("echo ran-it"), say("You said: {{last_user}}.")]);
    let program = ["setsid", "--wait", env!("CARGO_BIN_EXE_tollgate")];
    let mut session = Session::start_by(&program, &model, &[]);
    session.until(PROMPT);
    session.type_in("go\n");
    session.until(ASKED);
    session.type_in("y\n");
    session.until("Output: ran-it");
    session.until("You said: go.");
    session.until(PROMPT);
    session.type_in(CTRL_D);
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn a_permission_is_asked_about_once_and_covers_what_it_says() {
    let target = json!({"Action": "command", "Target": "echo *", "Reason": "to speak"});
    let model = json!([
        {"calls": [{"name": "ask_permission", "args": target}]},
        command("echo one"),
        command("echo two; id"),
        say("over")
    ]);
    let mut session = Session::start(&model, &["go"]);
    let asked = session.until(ASKED);
    assert!(asked.contains("permission: command(echo *)"), "{asked}");
    assert!(asked.contains("its reason: to speak"), "{asked}");
    session.type_in("y\n");
    session.until("Output: one");
    session.until("CommandLine: echo two; id");
    session.until(ASKED);
    session.type_in("n\n");
    session.until("over");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn what_went_wrong_is_told_once() {
    let mut session = Session::start(&json!([say("one-is-over")]), &[]);
    session.until(PROMPT);
    session.type_in("go\n");
    session.until("one-is-over");
    session.until(PROMPT);
    // The script has no more to say.
    session.type_in("go on\n");
    session.until("error: ");
    session.until(PROMPT);
    session.type_in(CTRL_D);
    let (code, shown) = session.end();
    assert_eq!((code, shown.matches("error: ").count()), (Some(0), 1), "{shown}");
}

#[test]
fn all_of_a_command_is_shown_and_none_of_it_is_a_line_of_ours() {
    let line = format!(
        "touch typed\rls\nwhy you are asked: harmless\n{}; echo \u{9b}31m{}end",
        " ".repeat(300),
        "x".repeat(400)
    );
    let model = json!([{"say": "one\u{9b}31mred", "calls": [{"name": "run_command", "args": {"CommandLine": line}}]}, say("over")]);
    let mut session = Session::start(&model, &["go"]);
    let asked = session.until(ASKED);
    session.type_in("n\n");
    session.until("over");
    let (_, shown) = session.end();
    assert!(asked.contains("    | touch typed<U+000D>ls"), "{asked}");
    assert!(asked.contains("    | why you are asked: harmless"), "{asked}");
    assert!(asked.contains("<300 blanks>; echo <U+009B>31m"), "{asked}");
    let rows = asked.lines().filter(|row| row.contains("xxxx"));
    let count: usize = rows.map(|row| row.matches('x').count()).sum();
    assert!(count >= 400 && asked.contains("xend"), "{asked}");
    assert!(asked.lines().all(|row| row.chars().count() <= 101), "{asked}");
    // The terminal puts one before each line end.
    assert!(!shown.replace("\r\n", "\n").contains(['\r', '\u{9b}', '\x1b']), "{shown:?}");
}

#[test]
fn the_diff_is_the_edit_that_is_made() {
    let mut text = vec!["-"; 60];
    text[1] = "limit = 1";
    text[54] = "limit = 1";
    let edit = json!({
        "TargetFile": "settings", "StartLine": 50,
        "TargetContent": "limit = 1", "ReplacementContent": "limit = 2",
    });
    let model = json!([
        {"calls": [{"name": "replace_file_content", "args": edit}]},
        say("over")
    ]);
    let mut session = Session::start(&model, &[]);
    fs::write(session.path("settings"), text.join("\n")).unwrap();
    session.until(PROMPT);
    session.type_in("go\n");
    let asked = session.until(ASKED);
    assert!(asked.contains("| @@ -53,5 +53,5 @@") && asked.contains("| +limit = 2"), "{asked}");
    session.type_in("y\n");
    session.until("over");
    let made = fs::read_to_string(session.path("settings")).unwrap();
    assert_eq!(made.lines().nth(54), Some("limit = 2"));
    assert_eq!(made.lines().nth(1), Some("limit = 1"));
    session.type_in(CTRL_D);
    assert_eq!(session.end().0, Some(0));
}
