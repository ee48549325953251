//! Hook files of one system as those of another, as far as the meaning carries over.
//!
//! Where a hook stands, what it is about and how long it may take have a counterpart or not; what has
//! none is said. What a command reads and prints has none at all: so the converted hook runs the
//! command it had behind `tollgate translate`, which says to it what its own system would.

mod meant;
mod write;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::Kind;
use tollgate_core::dialect::{Layer, Mode, OnFailure};

use crate::diagnostic::{Diagnostic, Report};
use crate::dialect::{Cwd, EventName, FileDialect, FileHook, HOSTS};
use crate::source::{Position, SourceFile, Span};

/// A hook file of another system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Its text.
    pub text: String,
    /// How many hooks it has.
    pub hooks: usize,
    /// What did not carry over, in the order of the file.
    pub lost: Vec<Lost>,
}

/// A call of Tollgate, which stands before the command of a converted hook.
#[derive(Debug, Clone, Copy)]
pub struct Behind<'a> {
    /// The system that makes it.
    pub to: &'static dyn FileDialect,
    /// The system's name of the event.
    pub event: &'static str,
    /// Whether something happens that should not, where nobody answers.
    pub gate: bool,
    /// What Tollgate is called with.
    pub arguments: &'a [String],
}

impl Behind<'_> {
    /// The plain line, with the program under its name: without it, most systems let pass what the hook
    /// was to refuse.
    pub fn plain(&self) -> String {
        let words = std::iter::once("tollgate").chain(self.arguments.iter().map(String::as_str));
        words.map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// Something that did not carry over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Where it stands.
    pub at: Position,
    /// What it is.
    pub what: String,
}

/// How much longer a system waits for Tollgate than Tollgate for the command.
const MARGIN: Duration = Duration::from_secs(5);

/// The longest that Tollgate waits for a command.
const LONGEST: Duration = Duration::from_hours(1);

/// A hook as it is to be written.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    event: &'static EventName,
    /// The names it asks for, in the words of the system; none for all.
    names: Option<Vec<String>>,
    command: String,
    time: Option<Duration>,
    in_background: bool,
    description: Option<String>,
    /// Whether something happens that should not, where it gives no answer.
    gate: bool,
}

/// Makes a hook file of one system out of that of another. `line` writes the call of Tollgate as the
/// other system is to run it. An error is what keeps the file from being read.
///
/// ```
/// use tollgate_config::convert::convert;
/// use tollgate_config::dialect;
/// use tollgate_config::source::SourceFile;
/// use tollgate_core::Dialect;
///
/// let text = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash|mcp__git__.*", "hooks": [
///     {"type": "command", "command": "./guard.sh", "timeout": 5}]}]}}"#;
/// let file = SourceFile::new("settings.json", text).into();
/// let of = |it| dialect::of(it).ok_or("no such dialect");
/// let (claude, gemini) = (of(Dialect::Claude)?, of(Dialect::Gemini)?);
/// let converted = convert(claude, gemini, &file, &|call| call.plain()).map_err(|_| "broken")?;
/// assert!(converted.text.contains(r#""matcher": "^(run_shell_command|mcp_git_.*)$""#));
/// assert!(converted.text.contains(r"tollgate translate claude gemini --event BeforeTool --deadline 5 -- ./guard.sh"));
/// assert!(converted.lost.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    from: &'static dyn FileDialect,
    to: &'static dyn FileDialect,
    source: &Arc<SourceFile>,
    line: &dyn Fn(Behind<'_>) -> String,
) -> Result<Converted, Vec<Diagnostic>> {
    let mut report = Report::new(Arc::clone(source));
    let Some(file) = from.parse_in_part(&mut report, Layer::User) else {
        return Err(report.into_diagnostics());
    };
    if from.dialect() == to.dialect() {
        // It is that already, with all that only its own system understands.
        let text = source.text().to_owned();
        return Ok(Converted { text, hooks: file.hooks.len(), lost: Vec::new() });
    }
    let (entries, lost) = (Vec::new(), Vec::new());
    let mut conversion = Conversion { from, to, source, line, entries, lost };
    for said in report.into_diagnostics() {
        conversion.lose(said.span.unwrap_or_default(), said.message);
    }
    for negation in &file.negations {
        let what = format!("`!{}`, which switches a hook off", negation.name);
        conversion.lose(negation.span, what);
    }
    for hook in &file.hooks {
        conversion.hook(hook);
    }
    let Conversion { entries, mut lost, .. } = conversion;
    lost.sort_by_key(|lost| lost.at);
    Ok(Converted { text: write::file(to, &entries), hooks: entries.len(), lost })
}

struct Conversion<'s> {
    from: &'static dyn FileDialect,
    to: &'static dyn FileDialect,
    source: &'s SourceFile,
    line: &'s dyn Fn(Behind<'_>) -> String,
    entries: Vec<Entry>,
    lost: Vec<Lost>,
}

impl Conversion<'_> {
    fn lose(&mut self, span: Span, what: impl Into<String>) {
        let at = self.source.position(span.start);
        self.lost.push(Lost { at, what: what.into() });
    }

    fn hook(&mut self, hook: &FileHook) {
        let to = self.to.dialect();
        let mut events: Vec<&'static EventName> = Vec::new();
        for kind in hook.event.kinds {
            match self.to.events().iter().find(|event| event.kinds.contains(kind)) {
                Some(event) if !events.contains(&event) => events.push(event),
                Some(_) => {}
                None => self.lose(
                    hook.span,
                    format!("`{}`: {to} has no event for {kind} ({})", hook.name, hook.event.name),
                ),
            }
        }
        for event in events {
            let kind = event.kinds.first().copied().unwrap_or(Kind::Stop);
            let names = match self.names(hook, kind) {
                Ok(names) => names,
                Err(why) => {
                    self.lose(hook.span, format!("`{}`: {why}", hook.name));
                    continue;
                }
            };
            if hook.in_background && !write::has_background(self.to) {
                let what = format!("`{}` is not waited for: {to} waits for it", hook.name);
                self.lose(hook.span, what);
            }
            if hook.time.is_some() && !write::has_time(self.to) {
                let what = format!("the time-out of `{}`: {to} has one for all", hook.name);
                self.lose(hook.span, what);
            }
            let when = hook.condition.as_ref().and_then(|it| it.shown()).map(str::to_owned);
            if let Some(when) = &when {
                let what = format!(
                    "the condition `{when}` of `{}`: it runs for all that its matcher means",
                    hook.name
                );
                self.lose(hook.span, what);
            }
            let gate = !hook.in_background && self.is_gate(event, kind);
            self.entries.push(Entry {
                name: hook.name.clone(),
                event,
                names,
                command: self.command(hook, event, gate),
                gate,
                // Who waits for Tollgate waits longer than Tollgate does: else nobody is there to refuse.
                time: Some(self.time(hook) + MARGIN),
                in_background: hook.in_background,
                description: hook.description.clone(),
            });
        }
    }

    /// How long the command may take: what it says itself, or its own system does, as far as the other
    /// system waits.
    fn time(&self, hook: &FileHook) -> Duration {
        let time = hook.time.unwrap_or_else(|| self.from.time()).min(LONGEST);
        if write::has_time(self.to) {
            return time;
        }
        time.min(self.to.time().saturating_sub(MARGIN)).max(Duration::from_secs(1))
    }

    /// Whether something happens at an event that should not, where nobody answers.
    fn is_gate(&self, event: &EventName, kind: Kind) -> bool {
        let host = HOSTS.iter().find(|host| host.dialect_of() == self.to.dialect());
        match host.and_then(|host| host.host().event(event.name)) {
            Some(event) => event.gate,
            None => kind.rule(self.to.dialect()).is_some_and(|rule| {
                rule.on_failure == OnFailure::Close && rule.mode > Mode::Inspect
            }),
        }
    }

    /// The command, behind what makes the other system look like its own.
    fn command(&self, hook: &FileHook, event: &'static EventName, gate: bool) -> String {
        let mut variables = String::new();
        for (name, value) in &hook.variables {
            let _ = write!(variables, "{name}={} ", quoted(value));
        }
        let shell = hook.shell.filter(|shell| *shell != self.from.shell());
        let command = match shell {
            Some(shell) => format!("{} -c {}", shell.program(), quoted(&hook.command)),
            None => hook.command.clone(),
        };
        let mut arguments = vec!["translate".to_owned()];
        arguments.extend([self.from, self.to].map(|system| system.dialect().name().to_owned()));
        arguments.extend(["--event", event.name].map(str::to_owned));
        // A command that names files does so from where its own system runs it.
        let directory = match (self.from.cwd(), self.to.cwd()) {
            (Cwd::OfTheFile, Cwd::OfTheProject) => Some(self.from.home().in_project),
            (Cwd::OfTheProject, Cwd::OfTheFile) => Some(".."),
            _ => None,
        };
        if let Some(directory) = directory {
            arguments.extend(["--directory", directory].map(str::to_owned));
        }
        let time = self.time(hook);
        let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
        arguments.extend(["--deadline".to_owned(), seconds.max(1).to_string()]);
        arguments.extend(["--".to_owned(), command]);
        let call = Behind { to: self.to, event: event.name, gate, arguments: &arguments };
        format!("{variables}{}", (self.line)(call))
    }

    /// The names that a hook asks for, in the words of the other system.
    fn names(&mut self, hook: &FileHook, kind: Kind) -> Result<Option<Vec<String>>, String> {
        let to = self.to.dialect();
        if !kind.is_about_tool() {
            return self.other_names(hook, kind);
        }
        let Some(meant) = meant::of(self.from, hook) else { return Ok(None) };
        let mut names: Vec<String> = Vec::new();
        let mut put = |name: String| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        let mut missing = Vec::new();
        let mut unclear = meant.unclear;
        for tool in &meant.tools {
            match write::tool(self.to, tool) {
                Some(name) => put(name),
                None => missing.push(format!("`{tool}`")),
            }
        }
        for (server, tool) in &meant.servers {
            put(write::server(self.to, server, tool.as_deref()));
        }
        for part in &meant.expressions {
            match write::expression(self.from, self.to, part) {
                Some(name) => put(name),
                None => unclear = Some(meant::written(hook)),
            }
        }
        meant.others.iter().cloned().for_each(put);
        if names.is_empty() {
            let written = meant::written(hook);
            return Err(format!("{to} has no tool that its matcher `{written}` could mean"));
        }
        if !missing.is_empty() {
            let what = format!(
                "`{}` is about {}, and {to} has no such tool",
                hook.name,
                missing.join(", ")
            );
            self.lose(hook.span, what);
        }
        if let Some(unclear) = unclear {
            let what = format!(
                "`{}`: what `{unclear}` matches beyond the tools that are known",
                hook.name
            );
            self.lose(hook.span, what);
        }
        Ok(Some(names))
    }

    /// What a hook asks for at an event that is about no tool.
    fn other_names(&mut self, hook: &FileHook, kind: Kind) -> Result<Option<Vec<String>>, String> {
        let written = meant::written(hook);
        if written.is_empty() || written == "*" {
            return Ok(None);
        }
        if write::matches(self.to, kind) && meant::is_plain(&written) {
            return Ok(Some(written.split('|').map(str::to_owned).collect()));
        }
        Err(format!("{} cannot match `{written}` at {}", self.to.dialect(), hook.event.name))
    }
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+,@%:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
