//! Conditions, on an event as it is.

use std::cell::Cell;

use tollgate_core::EventRef;

use super::fields::{agent_and_model, name_of, second_name};
use super::{ALIAS, ARGS};
use crate::analysis::{CondError, Condition, Payload, View};

/// An event as the conditions of hooks look at it, without making anything of it first.
#[derive(Debug)]
pub(crate) struct Glance<'a> {
    event: EventRef<'a>,
    /// Whether something was asked for that the event alone does not tell.
    beyond: Cell<bool>,
}

impl<'a> Glance<'a> {
    pub(crate) fn at(event: EventRef<'a>) -> Self {
        Self { event, beyond: Cell::new(false) }
    }

    /// Whether a condition holds, where the event alone can tell.
    pub(crate) fn holds(
        &self,
        condition: &Condition,
        event: &str,
    ) -> Option<Result<bool, CondError>> {
        let held = condition.eval(event, self);
        let is_open = self.beyond.get() || held == Err(CondError::NotNative);
        (!is_open).then_some(held)
    }

    fn field(&self, key: &str) -> Option<View<'_>> {
        let text = |text: &'a str| View::Str(text.into());
        let optional = |value: Option<&'a String>| value.map_or(View::None, |value| text(value));
        let call = match self.event {
            EventRef::ToolPre(event) => Some(&event.call),
            EventRef::ToolPost(event) => Some(&event.call),
            EventRef::ToolError(event) => Some(&event.call),
            _ => None,
        };
        if key == "model" {
            return Some(optional(agent_and_model(self.event).1));
        }
        match (self.event, call, key) {
            (_, Some(call), "name") => Some(text(name_of(call))),
            (_, Some(call), "native_name") => Some(text(&call.name)),
            (_, Some(call), "server") => Some(optional(call.server.as_ref())),
            (_, Some(call), ARGS | ALIAS) if second_name(call).is_some() => None,
            (_, Some(call), ARGS | ALIAS) => Some(View::Dict(&call.args)),
            (EventRef::TurnStart(event), _, "prompt") => Some(text(&event.prompt)),
            (EventRef::TurnEnd(event), _, "response") => Some(text(&event.response)),
            (EventRef::Stop(event), _, "reason") => Some(text(&event.reason)),
            (EventRef::SubagentStop(event), _, "type") => Some(text(&event.kind)),
            _ => None,
        }
    }
}

impl Payload for Glance<'_> {
    fn get(&self, key: &str) -> Option<View<'_>> {
        let found = self.field(key);
        // Whether there is no such field at all is the whole payload's to tell.
        self.beyond.set(self.beyond.get() || found.is_none());
        found
    }

    fn len(&self) -> usize {
        self.beyond.set(true);
        0
    }

    fn each(&self, _visit: &mut dyn FnMut(&str, View<'_>) -> bool) {
        self.beyond.set(true);
    }
}
