//! A session as it happens, for a person to read.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anstream::adapter::strip_str;
use serde_json::Value;
use tollgate_agent::person::plain;
use tollgate_agent::update::{Decided, Update};
use tollgate_core::Kind;
use tollgate_core::event::{Agent, ToolCall};

use crate::out::{micros, styles};

/// How much of a value is shown on its line.
const WIDTH: usize = 100;

/// Writes what happens, line by line.
#[derive(Debug)]
pub(crate) struct Show<W> {
    state: Mutex<State<W>>,
}

#[derive(Debug)]
struct State<W> {
    out: W,
    /// Whether the last thing written was a piece of a line.
    is_within_line: bool,
    /// The last error that was told.
    error: Option<String>,
    /// The directory that the agent works in. Paths below it are shown from there.
    here: String,
}

impl<W: Write> Show<W> {
    /// For an agent that works in this directory.
    pub(crate) fn new(out: W, directory: &Path) -> Self {
        let here = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let here = format!("{}/", here.display());
        Self { state: Mutex::new(State { out, is_within_line: false, error: None, here }) }
    }

    /// Writes an update. That nobody reads any more is no reason to stop the agent.
    pub(crate) fn tell(&self, update: &Update<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = state.tell(update);
    }

    /// Ends a line that was begun.
    pub(crate) fn end_line(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = state.end_line();
    }

    /// Tells the person that it is for them to type.
    pub(crate) fn prompt(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = state.prompt();
    }

    /// The person has typed a line, and ended the one that was begun.
    pub(crate) fn was_typed(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_within_line = false;
    }

    /// Whether this error was told, and no other since.
    pub(crate) fn has_told(&self, error: &str) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.error.as_deref() == Some(error)
    }

    /// Writes what somebody else has said.
    pub(crate) fn told(&self, what: &str, text: &str) {
        self.line(&format!("{what}: {}", within(text, "")));
    }

    /// Writes a line of one's own.
    pub(crate) fn line(&self, line: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = state.line(line);
    }
}

impl<W: Write> State<W> {
    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_within_line) {
            writeln!(self.out)?;
        }
        self.out.flush()
    }

    fn prompt(&mut self) -> io::Result<()> {
        self.end_line()?;
        write!(self.out, "> ")?;
        self.is_within_line = true;
        self.out.flush()
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.end_line()?;
        writeln!(self.out, "{}", line.replace(&self.here, ""))?;
        self.out.flush()
    }

    fn quiet(&mut self, line: &str) -> io::Result<()> {
        let quiet = styles::QUIET;
        self.line(&format!("{quiet}{line}{quiet:#}"))
    }

    fn tell(&mut self, update: &Update<'_>) -> io::Result<()> {
        match update {
            Update::TurnStarted { prompt, trigger: Some(trigger) } => {
                self.quiet(&format!("  {} says: {}", one_line(trigger), one_line(prompt)))
            }
            Update::Text { agent, text } => self.text(agent, text),
            Update::Again { why, wait, .. } => {
                let wait = time(*wait);
                self.quiet(&format!("  the model is asked again in {wait}: {}", one_line(why)))
            }
            Update::Decided { agent, decided } => self.decided(agent, decided),
            Update::CallStarted { call } => {
                self.line(&format!("{}→ {}", indent(&call.agent), call_shown(call)))
            }
            Update::CallRefused { call, reason, detail } => self.refused(call, reason, detail),
            Update::CallFinished { call, result, is_error, took } => {
                let indent = indent(&call.agent);
                let (sign, style) =
                    if *is_error { ("✗", styles::ERROR) } else { ("✓", styles::GOOD) };
                // All that fits on a line of it says more than its first line.
                let words = value_shown(result).replace(&self.here, "");
                let words: Vec<_> = words.split_whitespace().take(WIDTH).collect();
                let result = one_line(&words.join(" "));
                self.line(&format!("{indent}{style}{sign}{style:#} {result}  ({})", time(*took)))
            }
            Update::SentBack { agent, reason } => {
                let style = styles::WARNING;
                let (indent, reason) = (indent(agent), within(reason, &indent(agent)));
                self.line(&format!("{indent}{style}↺ sent back:{style:#} {reason}"))
            }
            Update::Compacted { messages, .. } => {
                self.quiet(&format!("  a summary stands for {messages} messages now"))
            }
            Update::SubagentStarted { agent, kind, prompt } => {
                let (id, prompt) = (&agent.id, one_line(prompt));
                self.line(&format!("{}{id} ({}) begins: {prompt}", indent(agent), one_line(kind)))
            }
            Update::SubagentFinished { agent, response } => {
                self.line(&format!("{}{} is done: {}", indent(agent), agent.id, one_line(response)))
            }
            Update::Notice { kind, message } => {
                if *kind == "error" {
                    self.error = Some((*message).to_owned());
                }
                let style = styles::WARNING;
                self.line(&format!("{style}{kind}:{style:#} {}", within(message, "")))
            }
            _ => Ok(()),
        }
    }

    fn text(&mut self, agent: &Agent, text: &str) -> io::Result<()> {
        let text = clean(text);
        if text.is_empty() {
            return Ok(());
        }
        if !self.is_within_line {
            write!(self.out, "{}", indent(agent))?;
        }
        self.is_within_line = !text.ends_with('\n');
        write!(self.out, "{text}")?;
        self.out.flush()
    }

    /// One dim line for what hooks came to.
    fn decided(&mut self, agent: &Agent, decided: &Decided) -> io::Result<()> {
        let subject = decided.subject.as_deref().map(|it| format!(" {}", one_line(it)));
        let rewritten = if decided.rewritten { ", rewritten" } else { "" };
        let hooks = decided.hooks.join(", ");
        let took = time(decided.took);
        self.quiet(&format!(
            "{}· {}{}: {}{rewritten}  [{}]  ({took})",
            indent(agent),
            decided.event,
            subject.unwrap_or_default(),
            decided.decision,
            one_line(&hooks),
        ))?;
        // A call that is denied is told by itself.
        if !matches!(decided.decision, "deny" | "cancel") || decided.event == Kind::ToolPre {
            return Ok(());
        }
        let style = styles::ERROR;
        let (indent, detail) = (indent(agent), within(&decided.detail, &indent(agent)));
        self.line(&format!("{indent}{style}✗ {} denied{style:#}: {detail}", decided.event))
    }

    fn refused(&mut self, call: &ToolCall, reason: &str, detail: &str) -> io::Result<()> {
        let (indent, style) = (indent(&call.agent), styles::ERROR);
        self.line(&format!("{indent}{style}✗ denied{style:#} {}", call_shown(call)))?;
        if !reason.is_empty() {
            self.line(&format!("{indent}  {}", within(reason, &indent)))?;
        }
        // What the model is told is not told twice.
        let told = format!(": {reason}");
        let detail = detail.strip_suffix(&told).unwrap_or(detail);
        self.quiet(&format!("{indent}  {}", within(detail, &indent)))
    }
}

/// How far what an agent does stands to the right.
fn indent(agent: &Agent) -> String {
    "    ".repeat(usize::try_from(agent.depth).unwrap_or(0).min(8))
}

/// A text without what would move the cursor or change colours: it comes from a model, a tool or a hook.
pub(crate) fn clean(text: &str) -> String {
    // Line ends as Windows has them, and no others.
    let text = strip_str(text).to_string().replace("\r\n", "\n");
    plain(&text).into_owned()
}

/// The same, on a line of ours. What would begin another one is marked as not ours.
fn within(text: &str, indent: &str) -> String {
    clean(text).trim_end().replace('\n', &format!("\n{indent}  | "))
}

fn one_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = clean(lines.next().unwrap_or_default());
    let mut shown: String = first.chars().take(WIDTH).collect();
    if first.chars().count() > WIDTH || lines.next().is_some() {
        shown.push('…');
    }
    shown
}

fn value_shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn call_shown(call: &ToolCall) -> String {
    let name = match &call.server {
        Some(server) => format!("{server}/{}", call.name),
        None => call.name.clone(),
    };
    // What says most comes first in the tables of tools; a file's content says little here.
    let shown = call.args.iter().filter(|(name, _)| *name != "CodeContent");
    let args: Vec<_> =
        shown.map(|(name, value)| format!("{name}={}", one_line(&value_shown(value)))).collect();
    format!("{} {}", one_line(&name), one_line(&args.join("  ")))
}

fn time(time: Duration) -> String {
    micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
