//! The JSON form of the three tool events: one flat object, whose `result` or `error` says which
//! of them it is.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::payload::{Agent, Args, Native, ToolCall, ToolError, ToolPost, ToolPre};
use crate::target::Reading;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolWire {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(default)]
    args: Args,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    readings: Vec<Reading>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    canonical_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "call")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Agent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    native: Option<Arc<Native>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A field that is there, `null` included, as opposed to one that is not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl ToolWire {
    fn of(call: ToolCall, result: Option<Value>, error: Option<String>) -> Self {
        let ToolCall {
            name,
            server,
            args,
            readings,
            canonical_path,
            id,
            step,
            agent,
            model,
            native,
        } = call;
        let agent = (agent != Agent::default()).then_some(agent);
        Self {
            name,
            server,
            args,
            readings,
            canonical_path,
            id,
            step,
            agent,
            model,
            native,
            result,
            error,
        }
    }

    fn split(self) -> (ToolCall, Option<Value>, Option<String>) {
        let Self {
            name,
            server,
            args,
            readings,
            canonical_path,
            id,
            step,
            agent,
            model,
            native,
            result,
            error,
        } = self;
        let agent = agent.unwrap_or_default();
        let call = ToolCall {
            name,
            server,
            args,
            readings,
            canonical_path,
            id,
            step,
            agent,
            model,
            native,
        };
        (call, result, error)
    }
}

/// Says that a tool event has a field of another one, or lacks its own.
#[derive(Debug, thiserror::Error)]
pub(super) enum Mismatch {
    #[error("unknown field `{0}`: {1} has none")]
    Unexpected(&'static str, &'static str),
    #[error("missing field `{0}`")]
    Missing(&'static str),
}

impl TryFrom<ToolWire> for ToolPre {
    type Error = Mismatch;
    fn try_from(wire: ToolWire) -> Result<Self, Mismatch> {
        match wire.split() {
            (call, None, None) => Ok(Self { call }),
            (_, Some(_), _) => Err(Mismatch::Unexpected("result", "tool.pre")),
            (_, _, Some(_)) => Err(Mismatch::Unexpected("error", "tool.pre")),
        }
    }
}

impl TryFrom<ToolWire> for ToolPost {
    type Error = Mismatch;
    fn try_from(wire: ToolWire) -> Result<Self, Mismatch> {
        match wire.split() {
            (call, Some(result), None) => Ok(Self { call, result }),
            (_, None, _) => Err(Mismatch::Missing("result")),
            (_, _, Some(_)) => Err(Mismatch::Unexpected("error", "tool.post")),
        }
    }
}

impl TryFrom<ToolWire> for ToolError {
    type Error = Mismatch;
    fn try_from(wire: ToolWire) -> Result<Self, Mismatch> {
        match wire.split() {
            (call, None, Some(error)) => Ok(Self { call, error }),
            (_, _, None) => Err(Mismatch::Missing("error")),
            (_, Some(_), _) => Err(Mismatch::Unexpected("result", "tool.error")),
        }
    }
}

impl From<ToolPre> for ToolWire {
    fn from(event: ToolPre) -> Self {
        Self::of(event.call, None, None)
    }
}

impl From<ToolPost> for ToolWire {
    fn from(event: ToolPost) -> Self {
        Self::of(event.call, Some(event.result), None)
    }
}

impl From<ToolError> for ToolWire {
    fn from(event: ToolError) -> Self {
        Self::of(event.call, None, Some(event.error))
    }
}
