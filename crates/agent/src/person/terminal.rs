//! A person at a terminal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tollgate_core::event::{Question, Response, Responses, ToolCall};
use tollgate_core::hook::BoxFuture;

use super::{Approval, Consent, Person};
use crate::permission::Resource;

/// How much of an argument, or of a diff, is shown.
const MOST_LINES: usize = 40;
const MOST_COLUMNS: usize = 200;

/// A person at a terminal, who is asked in words. One question at a time, whoever asks.
#[derive(Clone)]
pub struct Terminal {
    streams: Arc<Mutex<Streams>>,
}

struct Streams {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
}

impl Terminal {
    /// The terminal that this process belongs to. An error where it has none: then nobody can be asked.
    pub fn open() -> io::Result<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        Ok(Self::on(BufReader::new(terminal.try_clone()?), terminal))
    }

    /// A person who reads and writes elsewhere.
    ///
    /// ```
    /// use tollgate_agent::permission::Resource;
    /// use tollgate_agent::person::{Consent, Person, Terminal};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let person = Terminal::on(&b"maybe\ny\n"[..], std::io::sink());
    /// let resource: Resource = "read_file(/etc/hosts)".parse()?;
    /// assert_eq!(person.permit(&resource, "to find the host").await, Consent::ForSession);
    /// # Ok(()) }
    /// ```
    pub fn on(input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let streams = Streams { input: Box::new(input), output: Box::new(output) };
        Self { streams: Arc::new(Mutex::new(streams)) }
    }

    /// Puts a question on a thread that may wait, and reads answers until one is understood. The end of the input is
    /// no answer.
    async fn ask<T: Send + 'static>(
        &self,
        question: String,
        again: &'static str,
        understand: impl Fn(&str) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let streams = Arc::clone(&self.streams);
        let asked = tokio::task::spawn_blocking(move || {
            let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
            streams.output.write_all(question.as_bytes()).ok()?;
            loop {
                streams.output.flush().ok()?;
                let mut line = String::new();
                // A person types less; what is longer is not understood.
                let mut limited = io::Read::take(&mut streams.input, 64 * 1024);
                if limited.read_line(&mut line).ok()? == 0 {
                    return None;
                }
                if let Some(understood) = understand(line.trim()) {
                    return Some(understood);
                }
                streams.output.write_all(again.as_bytes()).ok()?;
            }
        });
        asked.await.ok().flatten()
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terminal")
    }
}

/// A text as it can be shown: without what would move the cursor or change colours, and not without end.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (number, line) in text.lines().enumerate() {
        if number == MOST_LINES {
            let _ = write!(shown, "\n  … and {} more lines", text.lines().count() - number);
            break;
        }
        if number > 0 {
            shown.push_str("\n  ");
        }
        let plain = line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c });
        shown.extend(plain.take(MOST_COLUMNS));
        if line.chars().count() > MOST_COLUMNS {
            shown.push('…');
        }
    }
    shown
}

fn call_shown(call: &ToolCall) -> String {
    let name = match &call.server {
        Some(server) => format!("{server}/{}", call.name),
        None => call.name.clone(),
    };
    let who = match call.agent.depth {
        0 => String::new(),
        _ => format!(" (subagent {})", call.agent.id),
    };
    let mut text = format!("{}{who}", shown(&name));
    for (name, value) in &call.args {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let _ = write!(text, "\n  {}: {}", shown(name), shown(&value));
    }
    text
}

impl Person for Terminal {
    fn approve<'a>(&'a self, approval: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        let mut question = format!("\nMay the agent do this?\n{}\n", call_shown(approval.call));
        if !approval.reason.is_empty() {
            let _ = writeln!(question, "  why you are asked: {}", shown(approval.reason));
        }
        if let Some(fails) = approval.fails {
            let _ = writeln!(question, "  as things stand it would fail: {}", shown(fails));
        }
        if let Some(diff) = approval.diff {
            let _ = writeln!(question, "  {}", shown(diff));
        }
        let may_remember = approval.may_remember;
        if may_remember {
            let all: Vec<_> = approval.resources.iter().map(ToString::to_string).collect();
            let _ = write!(
                question,
                "[y] once  [a] always in this session: {}  [n] no > ",
                shown(&all.join(", "))
            );
        } else {
            question.push_str("[y] once  [n] no > ");
        }
        Box::pin(async move {
            let again = "y, a or n? > ";
            let answer =
                self.ask(question, again, move |line| match line.to_lowercase().as_str() {
                    "y" | "yes" | "once" => Some(Consent::Once),
                    "a" | "always" if may_remember => Some(Consent::ForSession),
                    "n" | "no" | "" => Some(no()),
                    _ => None,
                });
            answer.await.unwrap_or_else(no)
        })
    }

    fn permit<'a>(&'a self, resource: &'a Resource, reason: &'a str) -> BoxFuture<'a, Consent> {
        let question = format!(
            "\nThe agent asks for a permission until the session ends: {}\n  {}\n[y] yes  [n] no > ",
            shown(&resource.to_string()),
            shown(reason)
        );
        Box::pin(async move {
            let answer =
                self.ask(question, "y or n? > ", |line| match line.to_lowercase().as_str() {
                    "y" | "yes" => Some(Consent::ForSession),
                    "n" | "no" | "" => Some(no()),
                    _ => None,
                });
            answer.await.unwrap_or_else(no)
        })
    }

    fn answer<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        Box::pin(async move {
            let mut responses = Vec::new();
            for question in questions {
                let mut text = format!("\n{}\n", shown(&question.question));
                for option in &question.options {
                    let _ = writeln!(text, "  [{}] {}", shown(&option.id), shown(&option.text));
                }
                text.push_str(if question.is_multi_select {
                    "numbers with commas, or an answer in words; nothing to skip > "
                } else {
                    "a number, or an answer in words; nothing to skip > "
                });
                let asked = question.clone();
                let again = "only one of them, please > ";
                let answered = self.ask(text, again, move |line| understood(&asked, line)).await;
                match answered {
                    Some(response) => responses.push(response),
                    None => return Some(Responses { responses, cancelled: true }),
                }
            }
            Some(Responses { responses, cancelled: false })
        })
    }
}

fn no() -> Consent {
    Consent::No { reason: "the person who was asked said no".to_owned() }
}

/// What a line says to a question. None: too much of it.
fn understood(question: &Question, line: &str) -> Option<Response> {
    if line.is_empty() {
        return Some(Response { skipped: true, ..Response::default() });
    }
    let parts: Vec<&str> = line.split(',').map(str::trim).collect();
    let is_option = |part: &&str| question.options.iter().any(|option| option.id == **part);
    if parts.iter().all(is_option) {
        let several = parts.len() > 1 && !question.is_multi_select;
        let chosen = parts.into_iter().map(str::to_owned).collect();
        return (!several)
            .then(|| Response { selected_option_ids: Some(chosen), ..Response::default() });
    }
    Some(Response { freeform_response: line.to_owned(), ..Response::default() })
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc;

    use tollgate_core::event::Choice;

    use super::*;

    struct Written(mpsc::Sender<u8>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            for byte in bytes {
                self.0.send(*byte).unwrap();
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    async fn approve(typed: &'static str, may_remember: bool) -> (Consent, String) {
        let (sender, receiver) = mpsc::channel();
        let person = Terminal::on(typed.as_bytes(), Written(sender));
        let call = ToolCall::new("run_command").arg("CommandLine", "echo \u{1b}[2Jhidden");
        let resource: Resource = "command(echo)".parse().unwrap();
        let approval = Approval {
            call: &call,
            reason: "commands are asked about",
            detail: "",
            resources: std::slice::from_ref(&resource),
            diff: Some("-a\n+b"),
            fails: None,
            may_remember,
        };
        let consent = person.approve(&approval).await;
        drop(person);
        (consent, String::from_utf8(receiver.iter().collect()).unwrap())
    }

    #[tokio::test]
    async fn a_person_sees_the_call_and_says_once_always_or_no() {
        let (consent, seen) = approve("y\n", true).await;
        assert_eq!(consent, Consent::Once);
        for part in
            ["run_command", "CommandLine", "commands are asked about", "+b", "command(echo)"]
        {
            assert!(seen.contains(part), "{seen}");
        }
        assert!(!seen.contains('\u{1b}'), "a call cannot draw on the terminal");
        assert_eq!(approve("a\n", true).await.0, Consent::ForSession);
        assert_eq!(approve("a\ny\n", false).await.0, Consent::Once);
        assert_eq!(approve("what?\nn\n", true).await.0, no());
        assert_eq!(approve("", true).await.0, no());
    }

    #[tokio::test]
    async fn questions_are_answered_by_number_or_in_words() {
        let option = |id: &str| Choice { id: id.to_owned(), text: format!("option {id}") };
        let question = |is_multi_select| Question {
            question: "Which?".to_owned(),
            options: vec![option("1"), option("2")],
            is_multi_select,
        };
        let person = Terminal::on(&b"1, 2\n2\n1,2\nneither\n\n"[..], io::sink());
        let questions = [question(false), question(true), question(false), question(false)];
        let answered = person.answer(&questions).await.unwrap();
        let chosen: Vec<_> = answered
            .responses
            .iter()
            .map(|r| r.selected_option_ids.clone().unwrap_or_default())
            .collect();
        assert_eq!(chosen, [vec!["2"], vec!["1", "2"], vec![], vec![]]);
        let last = answered.responses.last().unwrap();
        assert!(last.skipped && !answered.cancelled);
    }
}
