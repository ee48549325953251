//! A process that is killed in the middle of a turn: what was written down is all that happened, and a session can go
//! on from it.
//!
//! The process is this program once more, told by an environment variable what to do. Its model is a server of the test.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_agent::Agent;
use tollgate_agent::transcript::{self, Entry};
use tollgate_core::audit::JsonLines;
use tollgate_core::event::Agent as Who;
use tollgate_core::prelude::*;
use tollgate_model::Message;
use tollgate_model::provider::{Options, Provider, open_in};
use tollgate_model::script::{Line, Script};
use tollgate_model::server::{Fault, KEY, Server};

/// Where the process to be killed works, and the address of its model.
const PLACE: &str = "TOLLGATE_TEST_KILLED_PLACE";
const MODEL: &str = "TOLLGATE_TEST_KILLED_MODEL";

const LONG: Duration = Duration::from_mins(1);

/// Not a test: what the process does that is killed.
#[test]
fn killed_process() {
    let (Ok(place), Ok(url)) = (std::env::var(PLACE), std::env::var(MODEL)) else { return };
    let place = Path::new(&place);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let environment = |name: &str| match name {
            "OPENAI_API_KEY" => Some(KEY.to_owned()),
            "OPENAI_BASE_URL" => Some(url.clone()),
            _ => None,
        };
        let audit = File::create(place.join("audit.jsonl")).unwrap();
        let agent = Agent::builder()
            .model(open_in("openai/test", &Options::default(), &environment).unwrap())
            .workspace(place)
            .session_directory(place.join("session"))
            .session_id("the session")
            .allow_all()
            .policy(policy::deny("write_to_file").reason("read only"))
            .audit(Arc::new(JsonLines::new(audit)))
            .build()
            .start()
            .await
            .unwrap();
        agent.chat("First.").await.unwrap();
        agent.chat("Second.").await.unwrap();
    });
}

/// Ends what it started, however the test ends.
struct Process(Child);

impl Process {
    fn start(place: &Path, server: &Server) -> Self {
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["killed_process", "--exact", "--nocapture"])
            .env(PLACE, place)
            .env(MODEL, server.base_url())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(process)
    }

    /// As `kill -9` does.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        assert!(self.0.wait().unwrap().code().is_none());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn script(more: Vec<Line>) -> Script {
    let write = json!({"TargetFile": "x", "CodeContent": "", "Overwrite": true});
    let mut lines = vec![
        Line::say("Let me look.").and_call("list_dir", json!({"DirectoryPath": "."})),
        Line::say("The first is done."),
        Line::call("write_to_file", write).and_call(
            "run_command",
            json!({"CommandLine": "echo here", "WaitMsBeforeAsync": 60_000}),
        ),
    ];
    lines.extend(more);
    Script::new(lines)
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.text().to_owned()).collect()
}

/// The events that an audit trail tells of, all of whose lines can be read.
fn events(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "the last line is cut off");
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let dispatches = entries.filter(|entry| entry["type"] == "dispatch");
    dispatches.map(|entry| entry["record"]["event"].as_str().unwrap().to_owned()).collect()
}

/// A model that will answer `before` times, and then keeps whoever asks waiting.
fn holding(before: usize, script: Script) -> Server {
    let server = Server::start(Provider::OpenAi, script).unwrap();
    for _ in 0..before {
        server.fail(Fault::Dribble);
    }
    server.fail(Fault::Silence);
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_before_a_kill_is_all_of_it_and_the_session_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let server = holding(3, script(vec![Line::say("Where was I? {{last_user}}")]));
    let mut process = Process::start(directory.path(), &server);
    // The fourth is held: two calls have been made, and their results were sent.
    assert!(server.wait_for_requests(4, LONG));
    process.kill();

    let path = directory.path().join("session/transcript.jsonl");
    let (lines, unread) = transcript::read(&path).unwrap();
    assert!(unread.is_empty(), "{unread:?}");
    assert!(matches!(&lines[0].entry, Entry::Session { id, .. } if id == "the session"));
    assert!(lines.iter().all(|line| !matches!(line.entry, Entry::End)));
    let history = transcript::history(&lines, &Who::default().id);
    let said = texts(&history);
    assert_eq!(said.len(), 8, "{said:?}");
    assert_eq!(
        [&said[0], &said[1], &said[3], &said[4]],
        ["First.", "Let me look.", "The first is done.", "Second."]
    );
    assert_eq!(said[6], "read only");
    assert!(said[7].contains("here"), "{said:?}");

    let events = events(&directory.path().join("audit.jsonl"));
    let turn = ["model.pre", "model.post", "tool.pre", "tool.post", "invocation.end", "model.pre"];
    let first = ["session.start", "turn.start"].iter().chain(&turn);
    assert!(events.iter().zip(first).all(|(event, wanted)| event == wanted), "{events:?}");
    // Of the held call, hooks were asked before.
    assert_eq!(events.last().unwrap(), "model.pre");
    assert_eq!(events.iter().filter(|event| *event == "model.pre").count(), 4, "{events:?}");
    assert_eq!(events.iter().filter(|event| *event == "tool.pre").count(), 3, "{events:?}");
    assert_eq!(events.iter().filter(|event| *event == "tool.post").count(), 2, "{events:?}");

    can_be_cut_off_anywhere(&path, directory.path());

    let resumed = resume(&server, directory.path()).await;
    let response = resumed.chat("Go on.").await.unwrap();
    assert_eq!(response.text, "Where was I? Go on.");
    // The server refuses a history that a provider would refuse; this one holds all of it.
    let requests = server.requests();
    let sent = requests.last().unwrap()["messages"].as_array().unwrap();
    let mut wanted = said.clone();
    wanted.push("Go on.".to_owned());
    let content = |it: &Value| it["content"].as_str().unwrap_or_default().to_owned();
    assert_eq!(sent.iter().map(content).collect::<Vec<_>>(), wanted);
    resumed.stop().await;

    // It goes on in the same file, and can do so again.
    let (lines, unread) = transcript::read(&path).unwrap();
    assert!(unread.is_empty(), "{unread:?}");
    let history = transcript::history(&lines, &Who::default().id);
    assert_eq!(history.len(), 10, "{history:?}");
}

/// Wherever a transcript is cut off, what is read of it is a history that a model takes: no call without an answer, and
/// no answer without a call.
fn can_be_cut_off_anywhere(path: &Path, place: &Path) {
    let whole = fs::read(path).unwrap();
    let part = place.join("part.jsonl");
    for end in (0..whole.len()).step_by(7) {
        fs::write(&part, &whole[..end]).unwrap();
        let (lines, unread) = transcript::read(&part).unwrap();
        assert!(unread.len() <= 1, "{end}");
        let mut open: Vec<String> = Vec::new();
        for message in transcript::history(&lines, &Who::default().id) {
            match message {
                Message::Tool { call, .. } => {
                    let place = open.iter().position(|it| *it == call);
                    open.remove(place.unwrap_or_else(|| panic!("{end}: {call}")));
                }
                other => {
                    assert!(open.is_empty(), "{end}: {open:?}");
                    if let Message::Assistant { calls, .. } = other {
                        open.extend(calls.into_iter().map(|call| call.id));
                    }
                }
            }
        }
        assert!(open.is_empty(), "{end}: {open:?}");
    }
    fs::remove_file(part).unwrap();
}

async fn resume(server: &Server, directory: &Path) -> Agent<tollgate_agent::Started> {
    let model = open_in("openai/test", &Options::default(), &server.environment()).unwrap();
    Agent::builder()
        .model(model)
        .workspace(directory)
        .session_directory(directory.join("session"))
        .resume(directory.join("session/transcript.jsonl"))
        .allow_all()
        .build()
        .start()
        .await
        .unwrap()
}

/// Killed while a command runs: the call has no result, and the model is told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_under_way_is_told_as_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let started = directory.path().join("started");
    // It ends by itself once its parent is gone.
    let command = format!(
        "parent=$PPID; echo > {}; while kill -0 $parent 2>/dev/null; do sleep 0.05; done",
        started.display()
    );
    let args = json!({"CommandLine": command, "WaitMsBeforeAsync": 60_000});
    let script = Script::new(vec![
        Line::call("list_dir", json!({"DirectoryPath": "."})).and_call("run_command", args),
        Line::say("I see."),
        Line::say("I still see."),
    ]);
    let server = Server::start(Provider::OpenAi, script).unwrap();
    let mut process = Process::start(directory.path(), &server);
    let deadline = std::time::Instant::now() + LONG;
    while !started.exists() {
        assert!(std::time::Instant::now() < deadline, "the command never started");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    process.kill();

    let path = directory.path().join("session/transcript.jsonl");
    let (lines, _) = transcript::read(&path).unwrap();
    let history = transcript::history(&lines, &Who::default().id);
    let Some(Message::Tool { content, is_error: true, .. }) = history.last() else {
        panic!("{history:?}")
    };
    assert_eq!(content, "the session ended before this call did");

    // Once more, and once more: what was answered for the call then is still there.
    for (turn, answer) in ["I see.", "I still see."].into_iter().enumerate() {
        let resumed = resume(&server, directory.path()).await;
        assert_eq!(resumed.chat("What now?").await.unwrap().text, answer);
        assert_eq!(resumed.conversation().history().len(), 6 + 2 * turn);
        resumed.stop().await;
    }
}

/// A session that goes on in another directory has all of its history there.
#[tokio::test]
async fn a_session_goes_on_in_another_directory() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(
        Provider::OpenAi,
        Script::new(vec![Line::say("one"), Line::say("two"), Line::say("three")]),
    )
    .unwrap();
    let begin = |name: &str| {
        let model = open_in("openai/test", &Options::default(), &server.environment()).unwrap();
        let place = directory.path().join(name);
        Agent::builder().model(model).allow_all().session_directory(place)
    };
    let transcript = |name: &str| directory.path().join(name).join("transcript.jsonl");
    let agent = begin("a").build().start().await.unwrap();
    agent.chat("1").await.unwrap();
    agent.stop().await;
    let agent = begin("b").resume(transcript("a")).build().start().await.unwrap();
    agent.chat("2").await.unwrap();
    agent.stop().await;
    let agent = begin("c").resume(transcript("b")).build().start().await.unwrap();
    agent.chat("3").await.unwrap();
    assert_eq!(texts(&agent.conversation().history()), ["1", "one", "2", "two", "3", "three"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_file_that_is_no_transcript_is_not_gone_on_from() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    std::fs::write(&path, "Not a transcript.\n").unwrap();
    let model = tollgate_model::script::Scripted::new(vec![Line::say("Hello.")]);
    let error = Agent::builder().model(model).resume(&path).build().start().await.unwrap_err();
    assert!(
        error.to_string().ends_with("cannot be read: it is no transcript of a session"),
        "{error}"
    );
}
