//! Entries of the record.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::exceptions::{Binding, Exception};

/// The version of the entries that are written and read.
const VERSION: u32 = 1;

/// An entry of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// A segment begins.
    Began(Began),
    /// Something was refused.
    Refused(Box<Refused>),
    /// A hook objected, and an exception covered it.
    Excepted(Excepted),
    /// A person made an exception.
    ExceptionMade(Box<Exception>),
    /// A person revoked an exception.
    ExceptionRevoked(Revoked),
}

/// The beginning of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// The sequence number of the last frame before it; 0 at the beginning of a record.
    pub after: u64,
    /// The hash of that frame.
    pub previous: String,
    /// What of the segment before it is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
}

/// A torn tail: bytes behind the last whole frame of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The number of the segment.
    pub segment: u32,
    /// The number of bytes.
    pub bytes: u64,
}

/// A refusal. All texts are masked and bounded by the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refused {
    /// The code by which a person can except the call. None if that is not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The agent.
    pub host: String,
    /// The id of its session.
    pub session: String,
    /// The directory of the project.
    pub project: String,
    /// The working directory.
    pub directory: String,
    /// The event, such as `tool.pre`.
    pub event: String,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The MCP server of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The arguments as JSON, without secrets.
    pub arguments: String,
    /// The hook that decided.
    pub hook: String,
    /// The rule of a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The decision: `deny` or `ask`, for example.
    pub word: String,
    /// The reason that the model was told.
    pub reason: String,
    /// Further details for the person.
    pub detail: String,
    /// What an exception would bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
}

/// The use of an exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excepted {
    /// The exception.
    pub id: Code,
    /// The agent.
    pub host: String,
    /// The id of its session.
    pub session: String,
    /// The hooks that objected.
    pub hooks: Vec<String>,
}

/// The end of an exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// The exception.
    pub id: Code,
}

/// An entry with its place in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its number. None if it is not in the chain yet.
    pub sequence: Option<u64>,
    /// When it was recorded.
    pub time: SystemTime,
    /// The entry.
    pub entry: Entry,
}

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    /// Milliseconds since 1970.
    at: u64,
    entry: &'a Entry,
}

#[derive(Deserialize)]
struct Read {
    v: u32,
    at: u64,
    entry: Entry,
}

impl Entry {
    /// Returns the body of a frame. JSON without blanks has no line feed.
    pub(crate) fn body(&self) -> Result<Vec<u8>, serde_json::Error> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        serde_json::to_vec(&Written { v: VERSION, at, entry: self })
    }
}

impl Stored {
    /// Parses the body of a frame. None if it is of a version or kind that is not known.
    pub(crate) fn parse(body: &[u8], sequence: Option<u64>) -> Option<Self> {
        let Read { v, at, entry } = serde_json::from_slice(body).ok()?;
        let time = UNIX_EPOCH.checked_add(Duration::from_millis(at))?;
        (v == VERSION).then_some(Self { sequence, time, entry })
    }
}
