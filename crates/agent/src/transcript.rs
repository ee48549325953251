//! The transcript of a session: JSON lines, each written as it happens.
//!
//! A line is written in one go. What was written survives the end of the process, however it ends; a last line that was
//! cut off is left out when the transcript is read again. Secrets are masked before they are written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tollgate_core::event::Agent;
use tollgate_core::mask::Masker;
use tollgate_model::Message;

/// The longest line that is read. A tool's result is bounded well below it.
const LONGEST: u64 = 64 << 20;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Whose it is.
    pub agent: Agent,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// A session began.
    Session {
        /// Its id.
        id: String,
        /// The model.
        model: String,
        /// The directories it works in.
        workspaces: Vec<String>,
    },
    /// A turn began.
    Turn {
        /// Its number, from 1.
        number: u64,
        /// The trigger that began it; nothing where a person did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger: Option<String>,
    },
    /// Something was said.
    Message {
        /// What.
        message: Message,
    },
    /// Something was said for the next model call only.
    Ephemeral {
        /// What.
        text: String,
    },
    /// What was said before is now this.
    Compacted {
        /// What stands for it.
        messages: Vec<Message>,
    },
    /// The session is over.
    End,
}

/// Why a transcript cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the transcript `{}` cannot be {action}: {source}", path.display())]
pub struct TranscriptError {
    path: PathBuf,
    action: &'static str,
    source: io::Error,
}

impl TranscriptError {
    /// Of a file that has lines, and none of a transcript.
    pub(crate) fn none(path: &Path) -> Self {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it is no transcript of a session");
        Self { path: path.to_owned(), action: "read", source }
    }
}

/// A transcript that is being written.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    masker: Masker,
    /// The file, and the first error, after which nothing more is written: a transcript with a hole would lie.
    file: Mutex<Result<File, io::Error>>,
}

impl Transcript {
    /// Opens a transcript to add to it. Only its owner can read it.
    pub fn open(path: &Path, masker: Masker) -> Result<Self, TranscriptError> {
        let failed = |source| TranscriptError { path: path.to_owned(), action: "opened", source };
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let mut file = file.map_err(failed)?;
        // Behind a line that was cut off, a new one begins.
        if ends_in_a_line(path).map_err(failed)? {
            return Ok(Self { path: path.to_owned(), masker, file: Mutex::new(Ok(file)) });
        }
        file.write_all(b"\n").map_err(failed)?;
        Ok(Self { path: path.to_owned(), masker, file: Mutex::new(Ok(file)) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line.
    pub fn write(&self, agent: &Agent, entry: Entry) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let line = Line { at, agent: agent.clone(), entry };
        let Ok(mut value) = serde_json::to_value(&line) else { return };
        self.masker.value(&mut value);
        let mut text = value.to_string();
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(open) = &mut *file
            && let Err(error) = open.write_all(text.as_bytes())
        {
            *file = Err(error);
        }
    }

    /// Why it is not written any more, if so.
    pub fn problem(&self) -> Option<String> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.display();
        file.as_ref().err().map(|error| format!("the transcript `{path}` is not written: {error}"))
    }
}

fn ends_in_a_line(path: &Path) -> io::Result<bool> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = File::open(path)?;
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Reads a transcript. Lines that cannot be read are left out, and their numbers returned: of a process that was killed,
/// the last one.
pub fn read(path: &Path) -> Result<(Vec<Line>, Vec<usize>), TranscriptError> {
    let failed = |source| TranscriptError { path: path.to_owned(), action: "read", source };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let (mut lines, mut unread) = (Vec::new(), Vec::new());
    for number in 1.. {
        let mut text = Vec::new();
        let mut limited = io::Read::take(&mut reader, LONGEST);
        if limited.read_until(b'\n', &mut text).map_err(failed)? == 0 {
            break;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&text) {
            Ok(line) => lines.push(line),
            Err(_) => unread.push(number),
        }
    }
    Ok((lines, unread))
}

/// What an agent has in its history, by its transcript. A call that was cut off is answered.
pub fn history(lines: &[Line], agent: &str) -> Vec<Message> {
    let mut history = said(lines, agent);
    complete(&mut history);
    in_order(&mut history);
    history
}

/// The same, as far as it was written.
pub(crate) fn said(lines: &[Line], agent: &str) -> Vec<Message> {
    let mut history: Vec<Message> = Vec::new();
    for line in lines.iter().filter(|line| line.agent.id == agent) {
        match &line.entry {
            Entry::Message { message } => history.push(message.clone()),
            Entry::Compacted { messages } => history.clone_from(messages),
            _ => {}
        }
    }
    history
}

/// Puts what came of the calls of one message in the order of the calls. It was written as it came.
fn in_order(history: &mut [Message]) {
    let is_answer = |message: &Message| matches!(message, Message::Tool { .. });
    let mut rest = history;
    while let Some(said) = rest.iter().position(|message| !is_answer(message)) {
        let Some(([.., said], behind)) = rest.split_at_mut_checked(said + 1) else { return };
        let answers = behind.iter().take_while(|message| is_answer(message)).count();
        let Some((answers, behind)) = behind.split_at_mut_checked(answers) else { return };
        if let Message::Assistant { calls, .. } = said {
            answers.sort_by_key(|answer| match answer {
                Message::Tool { call, .. } => calls.iter().position(|own| own.id == *call),
                _ => None,
            });
        }
        rest = behind;
    }
}

/// Answers calls that were cut off, and leaves out answers whose call was lost: a model takes no history with either.
fn complete(history: &mut Vec<Message>) {
    let mut open: Vec<(String, String)> = Vec::new();
    let mut whole = Vec::with_capacity(history.len());
    for message in history.drain(..) {
        match &message {
            Message::Tool { call, .. } => {
                let Some(place) = open.iter().position(|(id, _)| id == call) else { continue };
                open.remove(place);
            }
            Message::Assistant { calls, .. } => {
                whole.extend(open.drain(..).map(cut_off));
                open.extend(calls.iter().map(|call| (call.id.clone(), call.name.clone())));
            }
            _ => {}
        }
        whole.push(message);
    }
    whole.extend(open.into_iter().map(cut_off));
    *history = whole;
}

/// Answers a call whose own answer is not there.
fn cut_off((call, name): (String, String)) -> Message {
    let content = "the session ended before this call did".to_owned();
    Message::Tool { call, name, content, is_error: true }
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use tollgate_model::Call;

    use super::*;

    #[test]
    fn what_was_written_is_read_again_and_a_line_that_was_cut_off_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("transcript.jsonl");
        let agent = Agent::default();
        let open = || Transcript::open(&path, Masker::default()).unwrap();
        let said = |text: &str| Entry::Message { message: Message::User(text.to_owned()) };
        open().write(&agent, said("one"));
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"at\": 1, \"agen").unwrap();
        assert_eq!(read(&path).unwrap().1, [2]);
        open().write(&agent, said("two"));
        let (lines, unread) = read(&path).unwrap();
        let texts: Vec<_> = history(&lines, "main").iter().map(|m| m.text().to_owned()).collect();
        assert_eq!((texts, unread), (vec!["one".to_owned(), "two".to_owned()], vec![2]));
    }

    /// Of a damaged transcript, what is left is a history that a model takes.
    #[test]
    fn a_damaged_transcript_is_made_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("transcript.jsonl");
        let agent = Agent::default();
        let transcript = Transcript::open(&path, Masker::default()).unwrap();
        let call = |id: &str| vec![Call::new(id, "x", json!({}))];
        let answer = |id: &str| Message::Tool {
            call: id.to_owned(),
            name: "x".to_owned(),
            content: "done".to_owned(),
            is_error: false,
        };
        for message in [
            Message::User("go".to_owned()),
            Message::Assistant { text: String::new(), calls: call("a") },
            answer("a"),
            Message::Assistant { text: String::new(), calls: call("b") },
            answer("b"),
            Message::Assistant { text: "done".to_owned(), calls: Vec::new() },
        ] {
            transcript.write(&agent, Entry::Message { message });
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for damaged in 1..=6 {
            let cut = |(place, line): (usize, &str)| {
                let length = if place + 1 == damaged { line.len() / 2 } else { line.len() };
                line.get(..length).unwrap().to_owned()
            };
            let lines: Vec<_> = text.lines().enumerate().map(cut).collect();
            std::fs::write(&path, lines.join("\n")).unwrap();
            let (lines, unread) = read(&path).unwrap();
            assert_eq!(unread, [damaged]);
            let mut open = Vec::new();
            for message in history(&lines, "main") {
                match message {
                    Message::Assistant { calls, .. } => {
                        assert!(open.is_empty(), "line {damaged}: a call without an answer");
                        open.extend(calls.into_iter().map(|call| call.id));
                    }
                    Message::Tool { call, .. } => {
                        assert_eq!(
                            open.pop(),
                            Some(call),
                            "line {damaged}: an answer without a call"
                        );
                    }
                    _ => {}
                }
            }
            assert!(open.is_empty(), "line {damaged}");
        }
    }

    #[test]
    fn calls_that_nobody_answered_are_answered() {
        let calls = vec![Call::new("a", "x", json!({})), Call::new("b", "y", json!({}))];
        let mut messages = vec![
            Message::User("go".to_owned()),
            Message::Assistant { text: String::new(), calls },
            Message::Tool {
                call: "a".to_owned(),
                name: "x".to_owned(),
                content: "done".to_owned(),
                is_error: false,
            },
        ];
        complete(&mut messages);
        assert_eq!(messages.len(), 4);
        assert!(
            matches!(messages.last(), Some(Message::Tool { call, is_error: true, .. }) if call == "b")
        );
    }

    #[test]
    fn secrets_are_masked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("transcript.jsonl");
        let transcript = Transcript::open(&path, Masker::default()).unwrap();
        let message = Message::User("export AWS_KEY=AKIAIOSFODNN7EXAMPLE".to_owned());
        transcript.write(&Agent::default(), Entry::Message { message });
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(!written.contains("AKIAIOSFODNN7EXAMPLE"), "{written}");
    }
}
