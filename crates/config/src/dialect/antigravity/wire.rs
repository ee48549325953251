//! What handlers read and answer, in both directions.

mod answer;
mod input;

use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::{Dialect, EventRef, Kind};

pub use answer::schemas as answer_schemas;
pub use input::schemas as input_schemas;

pub(super) use input::MCP_TOOL;

use super::super::{Call, Codec, Decoded, EventName, Output, WireError};
use super::{Antigravity, EVENTS};

impl Codec for Antigravity {
    fn dialect(&self) -> Dialect {
        Dialect::HooksJson
    }

    fn events(&self) -> &'static [EventName] {
        EVENTS
    }

    fn encode_event(&self, event: EventRef<'_>, session: &SessionInfo) -> Option<Value> {
        input::encode(event, session)
    }

    fn environment(&self, _event: EventRef<'_>, _call: &Call<'_>) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn decode_event(&self, event: &str, input: Value) -> Result<Decoded, WireError> {
        input::decode(event, input)
    }

    fn decode_answer(&self, event: Kind, output: &Output) -> Result<Neutral, WireError> {
        answer::decode(event, output)
    }

    fn unwrap_rewrite(&self, event: EventRef<'_>, rewrite: Rewrite) -> Result<Rewrite, WireError> {
        input::unwrap_rewrite(event, rewrite)
    }

    fn encode_answer(&self, event: Kind, answer: &Neutral) -> Result<Output, WireError> {
        answer::encode(event, answer)
    }
}

fn unknown_event(name: &str) -> WireError {
    let known: Vec<_> = EVENTS.iter().map(|event| event.name).collect();
    WireError::new(format!("Antigravity has no event `{name}`: it has {}", known.join(", ")))
}
