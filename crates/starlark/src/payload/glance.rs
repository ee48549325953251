//! Conditions, on an event as it is.

use std::cell::{Cell, OnceCell};

use serde_json::Value;
use tollgate_core::EventRef;
use tollgate_core::event::{Args, ToolCall};

use super::fields::{agent_and_model, name_of, second_name};
use super::{ALIAS, ARGS};
use crate::analysis::{CondError, Condition, Payload, View};

/// An event as the conditions of hooks look at it, without making anything of it first.
#[derive(Debug)]
pub(crate) struct Glance<'a> {
    event: EventRef<'a>,
    /// The arguments of a call where one of them has a second name.
    aliased: OnceCell<Aliased<'a>>,
    /// Whether something was asked for that the event alone does not tell.
    beyond: Cell<bool>,
}

impl<'a> Glance<'a> {
    pub(crate) fn at(event: EventRef<'a>) -> Self {
        Self { event, aliased: OnceCell::new(), beyond: Cell::new(false) }
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

    /// What is made of it as a payload, where the event alone was enough for that.
    pub(crate) fn tells<T>(&self, make: impl FnOnce(&dyn Payload) -> Option<T>) -> Option<T> {
        make(self).filter(|_| !self.beyond.get())
    }

    /// The arguments of a call, as scripts see them.
    fn args(&self, call: &'a ToolCall) -> View<'_> {
        let Some((ours, theirs)) = second_name(call) else { return View::Dict(&call.args) };
        match call.args.get(ours) {
            Some(value) => {
                let aliased = Aliased { args: &call.args, theirs, value };
                View::Dict(self.aliased.get_or_init(|| aliased))
            }
            None => View::Dict(&call.args),
        }
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
            (_, Some(call), ARGS | ALIAS) => Some(self.args(call)),
            (EventRef::TurnStart(event), _, "prompt") => Some(text(&event.prompt)),
            (EventRef::TurnEnd(event), _, "response") => Some(text(&event.response)),
            (EventRef::Stop(event), _, "reason") => Some(text(&event.reason)),
            (EventRef::SubagentStop(event), _, "type") => Some(text(&event.kind)),
            _ => None,
        }
    }
}

/// Arguments of which one has a second name.
#[derive(Debug)]
struct Aliased<'a> {
    args: &'a Args,
    theirs: &'static str,
    value: &'a Value,
}

impl Payload for Aliased<'_> {
    fn get(&self, key: &str) -> Option<View<'_>> {
        let value = if key == self.theirs { Some(self.value) } else { self.args.get(key) };
        value.map(View::from)
    }

    fn len(&self) -> usize {
        self.args.len() + 1
    }

    fn each(&self, visit: &mut dyn FnMut(&str, View<'_>) -> bool) {
        let all = self.args.iter().map(|(key, value)| (key.as_str(), value));
        for (key, value) in all.chain([(self.theirs, self.value)]) {
            if !visit(key, View::from(value)) {
                return;
            }
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
