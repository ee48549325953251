//! Payloads as people have them: with the event's own fields, or as an agent or a dialect writes them.
//!
//! Agents' payloads are read by the hosts' own readers ([`Host::read`]), so that `fire` and case files ask hooks about
//! exactly what `tollgate hook` asks them about.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tollgate_config::dialect::{self, harness};
use tollgate_core::event::ToolCall;
use tollgate_core::{Kind, tools};
use tollgate_hosts::{self as hosts, Host, Incoming};

use crate::dispatch::Input;
use crate::problem::Problem;

/// Where a payload is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// On the command line.
    Text(String),
    /// On standard input.
    Stdin,
    /// In a file.
    File(PathBuf),
}

impl Source {
    /// Reads an argument: JSON if it begins with `{`, standard input if it is `-`, else the name of a file.
    pub(crate) fn of(argument: PathBuf) -> Self {
        match argument.to_str() {
            Some("-") => Self::Stdin,
            Some(text) if text.trim_start().starts_with('{') => Self::Text(text.to_owned()),
            _ => Self::File(argument),
        }
    }

    /// Returns the payload's text, at most [`LARGEST`] bytes of it.
    pub(crate) fn read(&self) -> Result<String, Problem> {
        let shown = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::Stdin => "standard input".to_owned(),
            Self::File(path) => format!("`{}`", path.display()),
        };
        let unreadable = |error: io::Error| {
            Problem::new(format!("{shown} cannot be read: {error}"))
                .help("pass the payload as JSON, as the name of a file, or `-` for standard input")
        };
        let mut bytes = Vec::new();
        match self {
            Self::File(path) => File::open(path).and_then(|file| take(file, &mut bytes)),
            _ => take(io::stdin().lock(), &mut bytes),
        }
        .map_err(unreadable)?;
        if bytes.len() as u64 > LARGEST {
            return Err(Problem::new(format!("{shown} has more than {} MiB", LARGEST >> 20)));
        }
        String::from_utf8(bytes).map_err(|_| Problem::new(format!("{shown} is not UTF-8")))
    }
}

/// Largest payload, in bytes.
const LARGEST: u64 = 64 << 20;

fn take(from: impl io::Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    from.take(LARGEST + 1).read_to_end(bytes).map(drop)
}

/// A payload, and whose it is.
#[derive(Debug)]
pub(crate) enum Payload {
    /// One with the event's own fields.
    Own(Box<Input>),
    /// An agent's.
    Host(Box<Incoming>),
    /// An agent's, at an event about which it asks no hook.
    Unasked {
        /// The agent.
        host: &'static Host,
    },
}

impl Payload {
    /// Finds out whose payload it is. The event may be in Tollgate's words or in those of any dialect or agent; it is
    /// not needed if the payload names it.
    pub(crate) fn of(
        event: Option<&str>,
        host: Option<&'static Host>,
        payload: Value,
    ) -> Result<Self, Problem> {
        if let Some(host) = host {
            return read(host, event, &payload)
                .unwrap_or_else(|| Err(Problem::new(format!("{} has no such event", host.title))));
        }
        let kinds = event.map(kinds_of).transpose()?;
        let kind = kinds.as_deref().and_then(<[_]>::first).copied();
        let Value::Object(fields) = payload else {
            let kind = kind.unwrap_or(Kind::ToolPre);
            return Input::from_value(kind, payload).map(own);
        };
        let told = fields.get("event").and_then(Value::as_str).and_then(own_kind);
        let names_itself = told.is_some() && kind.is_none_or(|kind| Some(kind) == told);
        // Agents write fields that no event has, so what can be read with the event's own fields is no agent's.
        let kind = kind.or(told);
        let read = kind.map(|kind| {
            let mut fields = fields.clone();
            if names_itself {
                fields.remove("event");
            }
            Input::from_value(kind, Value::Object(fields))
        });
        let problem = match read {
            Some(Ok(input)) => return Ok(own(input)),
            Some(Err(problem)) => Some(problem),
            None => None,
        };
        // A mistake in an event's own fields does not make it an agent's.
        let is_own = told.is_some() || event.is_some_and(|event| own_kind(event).is_some());
        let least = if is_own { Level::Named } else { Level::Shape };
        let mut candidates: Vec<Candidate> =
            hosts::ALL.iter().filter_map(|host| Candidate::new(host, event, &fields)).collect();
        // The sort is stable: of equals, the first host counts.
        candidates.sort_by_key(|candidate| Reverse(candidate.rank));
        match candidates.into_iter().next() {
            Some(best) if best.rank.level >= least => best.read,
            _ => Err(problem.unwrap_or_else(|| unnamed(&fields))),
        }
    }
}

fn own(input: Input) -> Payload {
    Payload::Own(Box::new(input))
}

/// The evidence that a payload comes from a host, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    level: Level,
    has_session: bool,
    is_its_tool: bool,
    is_in_its_folder: bool,
    /// How many arguments, and how many fields, the host has other names for.
    strange: Reverse<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// It cannot be read as the host's, and does not name an event of it.
    NotRead,
    /// It can be read as the host's, and no more.
    Shape,
    /// It names an event of the host, and cannot be read. That is what is wrong with it.
    Named,
    /// It can be read as the host's, and names its event or has its session.
    Read,
}

/// A host whose payload it may be.
struct Candidate {
    rank: Rank,
    read: Result<Payload, Problem>,
}

impl Candidate {
    fn new(host: &'static Host, event: Option<&str>, fields: &Map<String, Value>) -> Option<Self> {
        let named = host.wire.event_of(fields).filter(|name| is_event(host, name));
        let read = read(host, event, &Value::Object(fields.clone()))?;
        let level = match &read {
            Err(_) if named.is_some() => Level::Named,
            Err(_) => Level::NotRead,
            Ok(Payload::Host(incoming)) if incoming.session.id.is_empty() && named.is_none() => {
                Level::Shape
            }
            Ok(_) => Level::Read,
        };
        let mut rank = Rank {
            level,
            has_session: false,
            is_its_tool: false,
            is_in_its_folder: false,
            strange: Reverse((0, 0)),
        };
        if let Ok(Payload::Host(incoming)) = &read {
            let calls = || incoming.parts.iter().filter_map(|part| Some((part, part.call()?)));
            let folder = format!("/.{}/", host.name);
            let transcript = incoming.session.transcript.as_deref();
            rank.has_session = !incoming.session.id.is_empty();
            rank.is_its_tool =
                calls().all(|(part, call)| part.tool.is_some() || is_of_server(call));
            rank.is_in_its_folder = transcript.is_some_and(|path| path.contains(&folder));
            let arguments = calls().map(|(_, call)| strange(call)).sum();
            rank.strange = Reverse((arguments, differences(incoming, fields)));
        }
        Some(Self { rank, read })
    }
}

/// Returns how many fields the host would write and are not there, or are there and the host would not write.
fn differences(incoming: &Incoming, fields: &Map<String, Value>) -> usize {
    let Some(part) = incoming.parts.first() else { return 0 };
    let host = incoming.host;
    let written = host.wire.write_event(host, part.event.view(), &incoming.session);
    let Some(Value::Object(written)) = written else { return 0 };
    let missing = written.keys().filter(|name| !fields.contains_key(*name));
    missing.count() + fields.keys().filter(|name| !written.contains_key(*name)).count()
}

/// True if the host names the tools of servers like this one.
fn is_of_server(call: &ToolCall) -> bool {
    call.server.is_some() || !call.readings.is_empty()
}

/// Returns how many arguments of a call are missing, or are none of its tool's.
fn strange(call: &ToolCall) -> usize {
    let Some(tool) = tools::lookup(&call.name) else { return 0 };
    let missing = tool.args.iter().filter(|arg| arg.required && !call.args.contains_key(arg.name));
    let is_known = |name: &&String| tool.args.iter().any(|arg| arg.name == name.as_str());
    missing.count() + call.args.keys().filter(|name| !is_known(name)).count()
}

fn is_event(host: &Host, name: &str) -> bool {
    host.event(name).is_some() || host.other_events.contains(&name)
}

/// Reads a payload as a host's; none if the host has no such event.
fn read(
    host: &'static Host,
    event: Option<&str>,
    payload: &Value,
) -> Option<Result<Payload, Problem>> {
    let told = payload.as_object().and_then(|fields| host.wire.event_of(fields));
    let told = told.filter(|name| is_event(host, name));
    let name = match (event, told) {
        (Some(event), Some(told)) => {
            let is_same = || {
                let kind = host.event(told).map(|event| event.kind);
                kinds_of(event).is_ok_and(|kinds| kind.is_none_or(|kind| kinds.contains(&kind)))
            };
            if !host.wire.is_same(event, told) && !is_same() {
                return Some(Err(Problem::new(format!(
                    "the payload is for `{told}`, and `{event}` was asked for"
                ))));
            }
            told
        }
        (None, Some(told)) => told,
        (Some(event), None) if is_event(host, event) => event,
        (Some(event), None) => {
            let kind = own_kind(event)?;
            host.events.iter().find(|event| event.kind == kind)?.name
        }
        (None, None) => return None,
    };
    let read = host.read(Some(name), payload.clone());
    Some(match read {
        Ok(Some(incoming)) => Ok(Payload::Host(Box::new(incoming))),
        Ok(None) => Ok(Payload::Unasked { host }),
        Err(error) => Err(Problem::new(format!("{}: {error}", host.title))),
    })
}

/// Returns the event that has this name in Tollgate's own words.
fn own_kind(name: &str) -> Option<Kind> {
    name.parse().ok()
}

/// Returns the events that a name stands for, in Tollgate's words or in those of any dialect or agent. Capital letters
/// and separators do not count: `PreToolUse` is `pre_tool_use`.
pub(crate) fn kinds_of(name: &str) -> Result<Vec<Kind>, Problem> {
    if let Some(kind) = own_kind(name) {
        return Ok(vec![kind]);
    }
    let wanted = letters(name);
    let is_meant = |kind: &Kind| {
        let of_files = dialect::ALL.iter().flat_map(|format| format.events());
        let of_dialects = of_files
            .chain(harness::EVENTS)
            .filter(|event| event.kinds.contains(kind))
            .map(|event| event.name);
        let of_hosts = hosts::ALL.iter().flat_map(|host| host.events);
        let of_hosts = of_hosts.filter(|event| event.kind == *kind).map(|event| event.name);
        let own = [kind.name(), kind.method()].into_iter();
        own.chain(of_dialects).chain(of_hosts).any(|name| letters(name) == wanted)
    };
    let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(is_meant).collect();
    if !kinds.is_empty() {
        return Ok(kinds);
    }
    if hosts::ALL.iter().any(|host| host.other_events.contains(&name)) {
        return Ok(Vec::new());
    }
    let known: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let nearest = tollgate_config::nearest(name, &known);
    let meant = nearest.map(|kind| format!("did you mean `{kind}`? ")).unwrap_or_default();
    Err(Problem::new(format!("`{}` is not an event", name.chars().take(80).collect::<String>()))
        .help(format!("{meant}`tollgate events` lists all; names of other agents are taken, too")))
}

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn unnamed(fields: &Map<String, Value>) -> Problem {
    let names = ["hook_event_name", "hookName", "agent_action_name", "event"];
    match names.iter().find_map(|name| fields.get(*name)).and_then(Value::as_str) {
        Some(name) => match kinds_of(name) {
            Err(problem) => problem,
            Ok(_) => Problem::new(format!("no agent says `{name}` in this form"))
                .help("name the agent: `--host NAME`"),
        },
        None => Problem::new("the payload does not name its event")
            .help("name it: `tollgate fire EVENT --payload …`; `tollgate events` lists all"),
    }
}

/// Returns the directory that a payload without one is about, if it is not the project's own.
pub(crate) fn here(project: &Path) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let project = project.canonicalize().ok()?;
    (here != project && here.starts_with(&project)).then(|| here.to_str().map(str::to_owned))?
}
