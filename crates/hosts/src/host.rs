//! A host: its events, its tools, and what it can be told.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{Args, ToolCall};
use tollgate_core::tools::lookalike_of;
use tollgate_core::{AnyEvent, EventRef, Kind};

use crate::mcp::McpNames;
use crate::output::{Output, WireError};
use crate::reply::Reply;
use crate::tools::{self, HostTool};

/// An agent that calls a hook command.
#[derive(Clone, Copy)]
pub struct Host {
    /// As people type it.
    pub name: &'static str,
    /// As its makers call it.
    pub title: &'static str,
    /// Its events that are among Tollgate's.
    pub events: &'static [HostEvent],
    /// Its other events: about these there is nothing to decide.
    pub other_events: &'static [&'static str],
    /// Its tools that are among Tollgate's.
    pub tools: &'static [HostTool],
    /// How it names the tools of MCP servers.
    pub mcp: McpNames,
    /// The variables in which it tells a hook the project's directory, the surest first.
    pub project_variables: &'static [&'static str],
    /// For how long it waits for a hook, where nobody has said otherwise.
    pub patience: Duration,
    /// What it says and is told.
    pub wire: &'static dyn Wire,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({})", self.name)
    }
}

/// Both halves of what goes between a host and a hook.
pub trait Wire: Send + Sync {
    /// What the host calls the event, where its input says so.
    fn event_of<'a>(&self, input: &'a Args) -> Option<&'a str> {
        input.get("hook_event_name").and_then(Value::as_str)
    }

    /// Whether the name that a command was registered under and the one in its input are of one
    /// event.
    fn is_same(&self, given: &str, named: &str) -> bool {
        given == named
    }

    /// Whether the event, as it was told this time, is one. Some hosts call a hook where nothing has
    /// happened yet.
    fn concerns(&self, _event: &HostEvent, _input: &Args) -> bool {
        true
    }

    /// Variables in which the host tells what its input may leave out, and what that would be called
    /// there. Of several for one, the first that is set counts.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The one tool through which those of MCP servers are called, where there is one.
    fn mcp_tool(&self) -> Option<&'static str> {
        None
    }

    /// Whether the host says of an agent that would stop whether it was sent on before.
    fn tells_rounds(&self) -> bool {
        true
    }

    /// Reads an event as the host writes it.
    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError>;

    /// Writes an event as the host would; none where it has no such event.
    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value>;

    /// Writes an answer as the host understands it.
    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output;

    /// Reads an answer as the host does. An error is an answer that it takes for none.
    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError>;
}

/// A host's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HostEvent {
    /// What the host calls it.
    pub name: &'static str,
    /// The event it is.
    pub kind: Kind,
    /// Whether something happens that should not, where nobody answers: then whoever cannot answer
    /// has to refuse.
    pub gate: bool,
    /// Whether `tollgate install` asks for it. Not for what another event of the host tells as well,
    /// and not where the host wants more of a hook than an answer.
    pub registered: bool,
    /// What becomes of what hooks say.
    pub forms: Forms,
}

impl HostEvent {
    /// One at which something happens unless it is refused.
    pub const fn gate(name: &'static str, kind: Kind, forms: Forms) -> Self {
        Self { name, kind, gate: true, registered: true, forms }
    }

    /// One that tells of something.
    pub const fn tells(name: &'static str, kind: Kind, forms: Forms) -> Self {
        Self { name, kind, gate: false, registered: true, forms }
    }

    /// One that is understood, and not asked for.
    pub const fn unregistered(mut self) -> Self {
        self.registered = false;
        self
    }
}

/// What becomes of each sort of answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Forms {
    /// Of a refusal: deny, cancel, suppress.
    pub refuse: Form,
    /// Of a question to the person.
    pub ask: Form,
    /// Of an explicit allow.
    pub allow: Form,
    /// Of a rewrite.
    pub rewrite: Form,
    /// Of text for the model.
    pub context: Form,
    /// Of going on instead of stopping, or trying again.
    pub resume: Form,
}

impl Forms {
    /// Where hooks can say nothing.
    pub const NONE: Self = Self {
        refuse: Form::None,
        ask: Form::None,
        allow: Form::None,
        rewrite: Form::None,
        context: Form::None,
        resume: Form::None,
    };
}

/// What a host makes of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// What it says: the host has a form for it.
    Own,
    /// What it says, where the host has a terminal to ask at. Where it has none its run would end or
    /// hang without a word, so the action is refused, with what to do instead.
    Terminal,
    /// The host has none, but puts the reason of a refusal where the result would be: what a hook has
    /// made of a result is told as that.
    Told,
    /// What has happened stays, and the model is told beside it why it should not have.
    Beside,
    /// The host has none, so the action is refused, with what to do instead.
    Refused,
    /// The host has none, and the action goes on without it.
    Lost,
    /// No hook can say this here.
    #[default]
    None,
}

/// An event as a host told it.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The host.
    pub host: &'static Host,
    /// Which of its events it is.
    pub event: &'static HostEvent,
    /// The session.
    pub session: SessionInfo,
    /// Where the agent is at work.
    pub cwd: Option<String>,
    /// What to ask hooks about. More than one where a call of the host does several things, such as
    /// a patch of several files; never none.
    pub parts: Vec<Part>,
    /// What the tool came to, as the host has it.
    pub result: Option<Value>,
}

impl PartialEq for Host {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// One thing to ask hooks about.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The event.
    pub event: AnyEvent,
    /// Which of the host's tools it is, where it is one that was translated.
    pub tool: Option<&'static HostTool>,
}

impl Part {
    /// An event that is not about a tool.
    pub fn of(event: impl Into<AnyEvent>) -> Self {
        Self { event: event.into(), tool: None }
    }

    /// The call that it is about.
    pub fn call(&self) -> Option<&ToolCall> {
        match &self.event {
            AnyEvent::ToolPre(event) => Some(&event.call),
            AnyEvent::ToolPost(event) => Some(&event.call),
            AnyEvent::ToolError(event) => Some(&event.call),
            _ => None,
        }
    }
}

impl Host {
    /// Its event of this name.
    pub fn event(&self, name: &str) -> Option<&'static HostEvent> {
        self.events.iter().find(|event| event.name == name)
    }

    /// Reads what it says. `event` is the event's name where the input does not tell it; where both
    /// do, they have to agree. None where it is an event that no hook is asked about.
    pub fn read(
        &'static self,
        event: Option<&str>,
        input: Value,
    ) -> Result<Option<Incoming>, WireError> {
        let title = self.title;
        let Value::Object(input) = input else {
            return Err(WireError::new(format!("{title} hands over one JSON object")));
        };
        let named = self.wire.event_of(&input);
        let name = match (event, named) {
            (Some(given), Some(named))
                if !self.wire.is_same(given, named) && self.event(named).is_some() =>
            {
                return Err(WireError::new(format!(
                    "the command says that it is for `{given}`, and was called for `{named}`: \
                     `tollgate install {}` registers each event by its name",
                    self.name
                )));
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => {
                return Err(WireError::new(format!(
                    "{title} does not say which event it is; `--event NAME` does"
                )));
            }
        };
        match self.event(name) {
            Some(event) if !self.wire.concerns(event, &input) => Ok(None),
            Some(event) => self.wire.read_event(self, event, input).map(Some),
            None if self.other_events.contains(&name) => Ok(None),
            None => Err(self.unknown_event(name)),
        }
    }

    /// What to print for an answer.
    pub fn write(&self, event: &HostEvent, reply: &Reply) -> Output {
        self.wire.write_answer(event, reply)
    }

    /// What to print where no event could be read of it: a refusal that the host understands at any
    /// gate, and does no harm elsewhere.
    pub fn refusal(&self, event: Option<&str>, reason: &str) -> Output {
        let reply = Reply::refuse(reason);
        let nothing = Reply::default();
        if event.is_some_and(|name| self.other_events.contains(&name)) {
            return Output::silent();
        }
        match event.map(|name| self.event(name)) {
            Some(Some(event)) if !event.gate => self.write(event, &nothing),
            Some(Some(event)) => self.write(event, &reply),
            // An event that is not known is none that install has registered; what it is for, nobody
            // knows. A gate is the one that has to be right.
            Some(None) | None => match self.events.iter().find(|it| it.kind == Kind::ToolPre) {
                Some(gate) => self.write(gate, &reply),
                None => Output::silent().failing(2, reason),
            },
        }
    }

    /// Which of its tools it is.
    pub fn tool(&self, native: &str) -> Option<&'static HostTool> {
        let named = self.tools.iter().find(|tool| tool.native == native);
        named.or_else(|| self.tools.iter().find(|tool| tool.is_family_of(native)))
    }

    /// Its tool whose name differs from this one only by case or by characters that are not
    /// displayed; none where it has a tool of this name. The host may take such a name for its own,
    /// and rules would not.
    ///
    /// ```
    /// let claude = tollgate_hosts::by_name("claude").ok_or("no such host")?;
    /// assert_eq!(claude.lookalike("bash"), Some("Bash"));
    /// assert_eq!(claude.lookalike("Bash"), None);
    /// assert_eq!(claude.lookalike("Skill"), None);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn lookalike(&self, name: &str) -> Option<&'static str> {
        lookalike_of(name, self.tools.iter().map(|tool| tool.native))
    }

    /// What it calls a tool, and what it passes to it.
    pub fn native(&self, call: &ToolCall) -> (String, Value) {
        tools::native(self, call)
    }

    fn unknown_event(&self, name: &str) -> WireError {
        let mut known: Vec<_> = self.events.iter().map(|event| event.name).collect();
        known.dedup();
        WireError::new(format!(
            "the event `{}` of {} is not known: those that are known are {}",
            name.chars().take(80).collect::<String>(),
            self.title,
            known.join(", ")
        ))
    }
}
