//! A person at a terminal.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use rustix::termios::tcgetwinsize;
use serde_json::Value;
use tokio::sync::Mutex as Turn;
use tollgate_core::event::{Question, Response, Responses, ToolCall};
use tollgate_core::hook::BoxFuture;

use super::lines::Lines;
use super::page::{Page, word};
use super::{Approval, Consent, Person};
use crate::permission::{Resource, ResourceKind};

/// How wide a terminal is that does not say.
const COLUMNS: usize = 80;

/// A person at a terminal, who is asked in words. One question at a time, whoever asks.
///
/// A terminal has one reader, and this is it: who wants what the person types otherwise takes it from
/// [`line`](Self::line). A line goes to the question that is open when it is typed; what was typed before a question was
/// shown does not answer it. A question that is given up is gone, and keeps nobody waiting.
#[derive(Clone)]
pub struct Terminal {
    shared: Arc<Shared>,
}

struct Shared {
    lines: Arc<Lines>,
    output: Mutex<Box<dyn Write + Send>>,
    /// The terminal, for its width.
    terminal: Option<File>,
    asking: Turn<()>,
}

impl Terminal {
    /// The terminal that this process belongs to, or else the one that is its standard input. An error where it has
    /// none: then nobody can be asked.
    pub fn open() -> io::Result<Self> {
        // Opened anew: that reading does not wait is then a matter of this handle, and of nobody else's.
        let open = |path: &str, flags: OFlags| {
            let flags = (flags | OFlags::NOCTTY).bits().cast_signed();
            File::options().read(true).write(true).custom_flags(flags).open(path)
        };
        let mut path = "/dev/tty";
        let mut input = open(path, OFlags::NONBLOCK);
        if input.is_err() && io::stdin().is_terminal() {
            path = "/dev/stdin";
            input = open(path, OFlags::NONBLOCK);
        }
        let (input, output) = (input?, open(path, OFlags::empty())?);
        let terminal = Some(output.try_clone()?);
        Ok(Self::new(Lines::of_terminal(input), Box::new(output), terminal))
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
        Self::new(Lines::of_stream(input), Box::new(output), None)
    }

    fn new(lines: Arc<Lines>, output: Box<dyn Write + Send>, terminal: Option<File>) -> Self {
        let (output, asking) = (Mutex::new(output), Turn::new(()));
        Self { shared: Arc::new(Shared { lines, output, terminal, asking }) }
    }

    /// The next line that the person types while they are asked nothing, without its end. None at the end of the input:
    /// on a terminal, where they type Ctrl-D. Giving it up loses nothing.
    pub async fn line(&self) -> Option<String> {
        let line = self.shared.lines.prompt().await?;
        Some(line.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn columns(&self) -> usize {
        let size = self.shared.terminal.as_ref().and_then(|terminal| tcgetwinsize(terminal).ok());
        size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
    }

    fn write(&self, text: &str) -> Option<()> {
        let mut output = self.shared.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(text.as_bytes()).ok()?;
        output.flush().ok()
    }

    /// Shows a page, and reads answers until one is understood. The end of the input is no answer.
    async fn ask<T>(
        &self,
        page: impl Fn(&mut Page),
        choices: &str,
        again: &str,
        understand: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let _one_at_a_time = self.shared.asking.lock().await;
        let mut is_cut = self.show(&page, false)?;
        // Nobody can have read the question before its last line was written.
        let asked = self.shared.lines.ask();
        let mut unanswered = Unanswered { terminal: self, is_open: true };
        let more = if is_cut { "[v] view all of it  " } else { "" };
        self.write(&format!("{more}{choices} > "))?;
        loop {
            let line = asked.answer().await?;
            let line = line.trim();
            if is_cut && matches!(line, "v" | "view") {
                self.show(&page, true)?;
                is_cut = false;
                self.write(&format!("{choices} > "))?;
                continue;
            }
            if let Some(understood) = understand(line) {
                unanswered.is_open = false;
                return Some(understood);
            }
            self.write(&format!("{again} > "))?;
        }
    }

    /// Writes a page. Says whether some of it was left out.
    fn show(&self, page: impl Fn(&mut Page), shows_all: bool) -> Option<bool> {
        let mut shown = Page::new(self.columns(), shows_all);
        page(&mut shown);
        let (text, is_cut) = shown.finish();
        self.write(&text)?;
        Some(is_cut)
    }
}

/// A question that was given up leaves the cursor behind it.
struct Unanswered<'a> {
    terminal: &'a Terminal,
    is_open: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.terminal.write("\n");
        }
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terminal")
    }
}

/// What is in the diff, where there is one.
const IN_THE_DIFF: [&str; 4] =
    ["CodeContent", "TargetContent", "ReplacementContent", "ReplacementChunks"];

fn show_call(page: &mut Page, call: &ToolCall, has_diff: bool) {
    let name = match &call.server {
        Some(server) => format!("{server}/{}", call.name),
        None => call.name.clone(),
    };
    let who = match call.agent.depth {
        0 => String::new(),
        _ => format!(" (subagent {})", word(&call.agent.id)),
    };
    page.line(&format!("  {}{who}", word(&name)));
    for (name, value) in &call.args {
        if has_diff && IN_THE_DIFF.contains(&name.as_str()) {
            continue;
        }
        match value {
            Value::String(text) => page.field(name, text),
            other => page.field(name, &other.to_string()),
        }
    }
}

fn show_approval(page: &mut Page, approval: &Approval<'_>) {
    page.line("\nMay the agent do this?");
    show_call(page, approval.call, approval.diff.is_some());
    if let Some(fails) = approval.fails {
        page.field("as things stand it would fail", fails);
    }
    if let Some(diff) = approval.diff {
        page.line("  what would change:");
        page.block(diff);
    }
    if !approval.reason.is_empty() {
        page.field("why you are asked", approval.reason);
    }
    if approval.may_remember {
        let is_elsewhere = |resource: &Resource| {
            resource.kind == ResourceKind::Command && approval.call.text("Cwd").is_some()
        };
        for resource in approval.resources {
            let place = if is_elsewhere(resource) { ", in the same directory" } else { "" };
            page.field("always would permit", &format!("{resource}{place}"));
        }
    }
}

fn show_permission(page: &mut Page, resource: &Resource, reason: &str) {
    page.line("\nMay the agent have this, until the session ends?");
    page.field("permission", &resource.to_string());
    if resource.what.contains('*') {
        let meaning = match resource.kind {
            ResourceKind::Command => {
                "arguments without quotes, variables or operators of the shell"
            }
            ResourceKind::ReadFile | ResourceKind::WriteFile => {
                "any name, and ** for all that is below"
            }
            _ => "any text",
        };
        page.line(&format!("  where * stands for {meaning}"));
    }
    page.field("its reason", reason);
}

fn show_question(page: &mut Page, question: &Question) {
    page.line("\nThe agent asks:");
    page.block(&question.question);
    for option in &question.options {
        page.option(&option.id, &option.text);
    }
}

impl Person for Terminal {
    fn approve<'a>(&'a self, approval: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        let may_remember = approval.may_remember;
        let (choices, again) = if may_remember {
            ("[y] yes, once  [a] always in this session  [n] no", "y, a or n?")
        } else {
            ("[y] yes, once  [n] no", "y or n?")
        };
        let understand = move |line: &str| match line.to_lowercase().as_str() {
            "y" | "yes" | "once" => Some(Consent::Once),
            "a" | "always" if may_remember => Some(Consent::ForSession),
            "n" | "no" | "" => Some(no()),
            _ => None,
        };
        Box::pin(async move {
            let page = |page: &mut Page| show_approval(page, approval);
            self.ask(page, choices, again, understand).await.unwrap_or_else(no)
        })
    }

    fn permit<'a>(&'a self, resource: &'a Resource, reason: &'a str) -> BoxFuture<'a, Consent> {
        let understand = |line: &str| match line.to_lowercase().as_str() {
            "y" | "yes" => Some(Consent::ForSession),
            "n" | "no" | "" => Some(no()),
            _ => None,
        };
        Box::pin(async move {
            let page = |page: &mut Page| show_permission(page, resource, reason);
            self.ask(page, "[y] yes  [n] no", "y or n?", understand).await.unwrap_or_else(no)
        })
    }

    fn answer<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        Box::pin(async move {
            let mut responses = Vec::new();
            for question in questions {
                let choices = match (question.options.is_empty(), question.is_multi_select) {
                    (true, _) => "an answer in words; nothing to skip",
                    (false, true) => "numbers with commas, or an answer in words; nothing to skip",
                    (false, false) => "a number, or an answer in words; nothing to skip",
                };
                let page = |page: &mut Page| show_question(page, question);
                let again = "only one of them, please";
                let understand = |line: &str| understood(question, line);
                match self.ask(page, choices, again, understand).await {
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
