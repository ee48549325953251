//! Rewrites. A patch says which part of a payload becomes what; what a patch cannot say cannot
//! be rewritten, so the name and the server of a tool call never are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Args, Event, SubagentStop, ToolPost, ToolPre, TurnEnd, TurnStart};

/// A rewrite of an event's payload.
pub trait Patch<E>: Clone + PartialEq + std::fmt::Debug + Serialize + Send + Sync {
    /// Carries it out. Returns whether anything is different now.
    fn apply(self, event: &mut E) -> bool;
}

/// No rewrite exists: a type without values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Never {}

impl<E: Event> Patch<E> for Never {
    fn apply(self, _event: &mut E) -> bool {
        match self {}
    }
}

/// Arguments to set in a tool call; the ones not named stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArgsPatch(pub Args);

impl Patch<ToolPre> for ArgsPatch {
    fn apply(self, event: &mut ToolPre) -> bool {
        let mut changed = false;
        for (name, value) in self.0 {
            if event.call.args.get(&name) != Some(&value) {
                event.call.args.insert(name, value);
                changed = true;
            }
        }
        if changed {
            // What the host worked out of other arguments says nothing about these.
            event.call.canonical_path = None;
        }
        changed
    }
}

/// Another prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptPatch(pub String);

impl Patch<TurnStart> for PromptPatch {
    fn apply(self, event: &mut TurnStart) -> bool {
        replace(&mut event.prompt, self.0)
    }
}

/// Another response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResponsePatch(pub String);

impl Patch<TurnEnd> for ResponsePatch {
    fn apply(self, event: &mut TurnEnd) -> bool {
        replace(&mut event.response, self.0)
    }
}

/// Another result of a tool or a subagent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultPatch(pub Value);

impl Patch<ToolPost> for ResultPatch {
    fn apply(self, event: &mut ToolPost) -> bool {
        replace(&mut event.result, self.0)
    }
}

impl Patch<SubagentStop> for ResultPatch {
    fn apply(self, event: &mut SubagentStop) -> bool {
        replace(&mut event.result, Some(self.0))
    }
}

fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}
