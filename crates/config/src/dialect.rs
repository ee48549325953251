//! The file formats, one folder each: `file.rs` reads the file, `wire.rs` is the codec of its
//! handlers.
//!
//! A codec has two halves. With the first, Tollgate runs a hook that was written for that system:
//! it writes the event as the handler expects it and reads the answer. With the second, Tollgate
//! stands behind that system as its hook: it reads the event and writes the answer. Both halves
//! are in one place, so that there and back again is a law that tests hold them to.
//!
//! Adding a dialect is a folder here, a line in [`ALL`], and a folder of cases.

mod answers;
pub mod antigravity;
mod checks;
pub mod claude;
pub mod codex;
pub mod gemini;
pub mod harness;
pub mod host;
mod own;
pub mod polytoken;
mod schema;
mod text;

pub use answers::answers;
pub(crate) use text::excerpt;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::dialect::Layer;
use tollgate_core::matcher::Matcher;
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::{AnyEvent, Dialect, EventRef, Kind};

pub use tollgate_hosts::{Output, WireError};

use crate::diagnostic::Report;
use crate::source::Span;

/// The file formats there are.
pub static ALL: &[&dyn FileDialect] = &[
    &antigravity::Antigravity,
    &polytoken::Polytoken,
    &claude::CLAUDE,
    &codex::CODEX,
    &gemini::GEMINI,
];

/// The files of agents, which are one form.
pub static HOSTS: &[&host::HostDialect] = &[&claude::CLAUDE, &codex::CODEX, &gemini::GEMINI];

/// The format of a dialect, where it has files of this sort.
pub fn of(dialect: Dialect) -> Option<&'static dyn FileDialect> {
    ALL.iter().copied().find(|format| format.dialect() == dialect)
}

/// The systems whose own files an agent runs itself, by the agent's name: under it, they are not run
/// by Tollgate as well.
///
/// ```
/// use tollgate_config::dialect::run_by;
/// use tollgate_core::Dialect;
///
/// assert_eq!(run_by("copilot"), [Dialect::Claude]);
/// assert_eq!(run_by("kimi"), []);
/// ```
pub fn run_by(agent: &str) -> &'static [Dialect] {
    match agent {
        // The second reads the settings of the first.
        "claude" | "copilot" => &[Dialect::Claude],
        "codex" => &[Dialect::Codex],
        "gemini" => &[Dialect::Gemini],
        "antigravity" => &[Dialect::HooksJson],
        "polytoken" => &[Dialect::Polytoken],
        _ => &[],
    }
}

/// A file format of hooks.
pub trait FileDialect: Codec {
    /// Reads a file. Everything that is wrong with it goes into the report; a file with an error
    /// gives nothing.
    fn parse(&self, report: &mut Report, layer: Layer) -> Option<HookFile>;

    /// As [`parse`](Self::parse), for a file that is only looked at: handlers that nobody but its own
    /// system can run are left out, with a warning.
    fn parse_in_part(&self, report: &mut Report, layer: Layer) -> Option<HookFile> {
        self.parse(report, layer)
    }

    /// Where its files are.
    fn home(&self) -> Home;

    /// How its commands are run.
    fn shell(&self) -> Shell;

    /// Where its commands are run.
    fn cwd(&self) -> Cwd;

    /// How long a handler may take that sets nothing.
    fn time(&self) -> Duration;

    /// The variables that hold the directory in which its commands are run.
    fn directory_variables(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Both halves of the contract with a handler.
pub trait Codec: Send + Sync {
    /// Whose contract it is.
    fn dialect(&self) -> Dialect;

    /// The names of its events.
    fn events(&self) -> &'static [EventName];

    /// What a handler reads on its standard input; none where the system has no such event.
    fn encode_event(&self, event: EventRef<'_>, session: &SessionInfo) -> Option<Value>;

    /// The variables a handler gets.
    fn environment(&self, event: EventRef<'_>, call: &Call<'_>) -> Vec<(&'static str, String)>;

    /// Reads an event as that system writes it. `event` is one of its names.
    fn decode_event(&self, event: &str, input: Value) -> Result<Decoded, WireError>;

    /// Reads what a handler answered.
    fn decode_answer(&self, event: Kind, output: &Output) -> Result<Neutral, WireError>;

    /// A rewrite of this event as the engine has it, where the system wraps what it is about.
    fn unwrap_rewrite(&self, event: EventRef<'_>, rewrite: Rewrite) -> Result<Rewrite, WireError> {
        let _ = event;
        Ok(rewrite)
    }

    /// Reads what a handler answered to this event, in the engine's words.
    fn answer_to(&self, event: EventRef<'_>, output: &Output) -> Result<Neutral, WireError> {
        let mut answer = self.decode_answer(event.kind(), output)?;
        if let Some(rewrite) = answer.rewrite.take() {
            answer.rewrite = Some(self.unwrap_rewrite(event, rewrite)?);
        }
        Ok(answer)
    }

    /// Writes an answer as that system reads it.
    fn encode_answer(&self, event: Kind, answer: &Neutral) -> Result<Output, WireError>;

    /// Its name for an event.
    fn name_of(&self, event: Kind) -> Option<&'static str> {
        self.events().iter().find(|name| name.kinds.contains(&event)).map(|name| name.name)
    }
}

/// An event in the words of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventName {
    /// The dialect's name.
    pub name: &'static str,
    /// The events it stands for.
    pub kinds: &'static [Kind],
}

/// What is known of one run of a handler beside the event.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The hook.
    pub hook: &'a str,
    /// The session.
    pub session: &'a SessionInfo,
    /// The project's directory, where there is one.
    pub project: Option<&'a str>,
    /// Whether a person is there to answer questions.
    pub interactive: bool,
}

/// An event as another system handed it over.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The event.
    pub event: AnyEvent,
    /// What it says of the session.
    pub session: SessionInfo,
}

/// The hooks of a file.
#[derive(Debug, Clone, Default)]
pub struct HookFile {
    /// Its hooks, in their order.
    pub hooks: Vec<FileHook>,
    /// The hooks of layers above that it switches off.
    pub negations: Vec<Negation>,
    /// Whether Tollgate itself is in it, as a hook of the agent whose file it is. It is none of `hooks`:
    /// its answer would be that of all of them.
    pub has_tollgate: bool,
}

/// A hook of a file: one handler at one event.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileHook {
    /// Its name.
    pub name: String,
    /// The event in the dialect's words.
    pub event: &'static EventName,
    /// Which instances of the event it asks for.
    pub matcher: Matcher,
    /// The command.
    pub command: String,
    /// How long it may take, where it says so.
    pub time: Option<Duration>,
    /// Where it stands.
    pub span: Span,
    /// Which of those that the matcher lets through it is really about, by what it would read.
    pub condition: Option<Arc<host::Condition>>,
    /// What runs the command, where that is not what its format has.
    pub shell: Option<Shell>,
    /// Variables of its own.
    pub variables: Vec<(String, String)>,
    /// Whether nobody waits for it: then it can only watch.
    pub in_background: bool,
    /// What it is for, where it says so.
    pub description: Option<String>,
}

impl FileHook {
    /// One for all instances of its event, with nothing but its command.
    pub fn new(name: impl Into<String>, event: &'static EventName, command: String) -> Self {
        Self {
            name: name.into(),
            event,
            matcher: Matcher::All,
            command,
            time: None,
            span: Span::at(0),
            condition: None,
            shell: None,
            variables: Vec::new(),
            in_background: false,
            description: None,
        }
    }
}

/// A hook that is switched off by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negation {
    /// The hook's name.
    pub name: String,
    /// Where it is said.
    pub span: Span,
}

/// What runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shell {
    /// `sh -c`.
    Sh,
    /// `bash -c`.
    Bash,
}

impl Shell {
    /// The program's name.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Bash => "bash",
        }
    }
}

/// Where a command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cwd {
    /// In the directory of the file it stands in.
    OfTheFile,
    /// In the project's directory.
    OfTheProject,
}

/// Where the files of a dialect are, beside Tollgate's own folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// Its folder in the system's and the person's Tollgate configuration.
    pub folder: &'static str,
    /// Its folder in a project.
    pub in_project: &'static str,
    /// The name of its file in either.
    pub file: &'static str,
    /// The names of further files in a project.
    pub also_in_project: &'static [&'static str],
    /// Whether the file has more in it than hooks: one without any hooks is then no hook file.
    pub is_shared: bool,
}
