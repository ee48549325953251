//! What goes between a program and its workers: a line of JSON and, behind it, a payload as it is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::host::{Call, Reply};
use crate::sandbox::{Failed, Limits, Ran};

/// Which code: never used again, so that a worker that knows it knows what is meant.
pub(crate) type CodeId = u64;

/// What a worker is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Forget all code.
    Forget,
    /// Compile a hook.
    Load { id: CodeId, script: String, when: Option<String>, may_mutate: bool, limits: Limits },
    /// Ask a hook, and its condition before if `when`, about the payload that follows.
    Run { id: CodeId, event: String, when: bool, limits: Limits },
    /// Compile a hook, ask it about the payload that follows, and tell which lines were reached.
    Cover { script: String, when: Option<String>, event: String, limits: Limits },
    /// Compile a policy file, and tell its rules.
    Rules { id: CodeId, text: String, limits: Limits },
    /// Ask a condition of a policy file about the arguments that follow.
    Predicate { id: CodeId, place: usize, limits: Limits },
}

/// What a worker answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Response {
    Done,
    Loaded(Result<(), Failed>),
    Ran(Box<Ran>),
    /// And the lines of the script that were reached.
    Covered(Box<Ran>, Vec<u32>),
    Rules(Result<Vec<crate::policy::RuleSpec>, Failed>),
    Holds(Result<bool, Failed>),
    /// The request cannot be read, or is about code that was never sent.
    Confused(String),
}

/// Writes a request and what follows it.
pub(crate) fn write_request(request: &Request, payload: &str) -> Vec<u8> {
    let mut bytes = json(request);
    bytes.push(b'\n');
    bytes.extend_from_slice(payload.as_bytes());
    bytes
}

/// Reads a request and what follows it.
pub(crate) fn read_request(bytes: &[u8]) -> Result<(Request, Map<String, Json>), String> {
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (head, rest) = bytes.split_at(at);
    let request = read(head)?;
    let payload = match rest.get(1..) {
        None | Some([]) => Map::new(),
        Some(payload) => {
            read(payload).map_err(|why| format!("the payload cannot be read: {why}"))?
        }
    };
    Ok((request, payload))
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    // None of these types has a key that is not a string, or anything else that could fail.
    serde_json::to_vec(value).unwrap_or_default()
}

pub(crate) fn read<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// A question of a script, on its way to the host.
pub(crate) fn write_call(call: &Call) -> Vec<u8> {
    json(call)
}

/// The reply to one.
pub(crate) fn write_reply(reply: &Reply) -> Vec<u8> {
    json(reply)
}
