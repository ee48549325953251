//! Conditions, on an event as it is.

use std::cell::{Cell, OnceCell};

use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{Agent, Args, ToolCall};
use tollgate_core::{EventRef, Kind};

use super::fields::{agent_and_model, name_of, second_name};
use super::{ALIAS, ARGS};
use crate::analysis::{CondError, Condition, Elements, Items, Payload, View};

/// An event as the conditions of hooks look at it, without making anything of it first.
#[derive(Debug)]
pub(crate) struct Glance<'a> {
    event: EventRef<'a>,
    /// The session it is of, where that is known.
    session: Option<&'a SessionInfo>,
    /// The arguments of a call where one of them has a second name.
    aliased: OnceCell<Aliased<'a>>,
    /// Whether something was asked for that the event alone does not tell.
    beyond: Cell<bool>,
}

impl<'a> Glance<'a> {
    pub(crate) fn at(event: EventRef<'a>) -> Self {
        Self { event, session: None, aliased: OnceCell::new(), beyond: Cell::new(false) }
    }

    /// As [`at`](Self::at), where the session is known.
    pub(crate) fn of(event: EventRef<'a>, session: &'a SessionInfo) -> Self {
        Self { session: Some(session), ..Self::at(event) }
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

    /// Whether it can tell of a condition, whatever the event of one of these kinds, if it holds.
    pub(crate) fn always_tells(condition: &Condition, kinds: &[Kind]) -> bool {
        condition.looks_only_at(&|field| kinds.iter().all(|kind| is_plain(*kind, field)))
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
        match (self.event, call, key) {
            (event, _, "model") => Some(optional(agent_and_model(event).1)),
            (event, _, "agent") => {
                Some(agent_and_model(event).0.map_or(View::None, |agent| View::Dict(agent)))
            }
            (_, _, "session") => self.session.map(|session| View::Dict(session)),
            (_, Some(call), "name") => Some(text(name_of(call))),
            (_, Some(call), "native_name") => Some(text(call.native_name())),
            (_, Some(call), "server") => Some(optional(call.server.as_ref())),
            (_, Some(call), ARGS | ALIAS) => Some(self.args(call)),
            (EventRef::ToolPost(event), _, "result") => Some(View::from(&event.result)),
            (EventRef::ToolPost(_), _, "error") | (EventRef::ToolError(_), _, "result") => {
                Some(View::None)
            }
            (EventRef::ToolError(event), _, "error") => Some(text(&event.error)),
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

    fn each<'b>(&'b self, visit: &mut dyn FnMut(&'b str, View<'b>) -> bool) {
        // In the order of their names.
        let (before, after): (Vec<_>, Vec<_>) =
            self.args.iter().partition(|(key, _)| key.as_str() < self.theirs);
        let own = |(key, value): (&'b String, &'b Value)| (key.as_str(), value);
        let all = before.into_iter().map(own).chain([(self.theirs, self.value)]);
        for (key, value) in all.chain(after.into_iter().map(own)) {
            if !visit(key, View::from(value)) {
                return;
            }
        }
    }
}

impl Payload for Agent {
    fn get(&self, key: &str) -> Option<View<'_>> {
        match key {
            "depth" => Some(View::Int(self.depth.into())),
            "id" => Some(View::text(&self.id)),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        2
    }

    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, View<'a>) -> bool) {
        each_of(self, &["depth", "id"], visit);
    }
}

impl Payload for SessionInfo {
    fn get(&self, key: &str) -> Option<View<'_>> {
        match key {
            "artifacts" => self.artifacts.as_ref().map(View::text),
            // Only a look at the clock tells.
            "elapsed" => Some(View::Other),
            "id" => Some(View::text(&self.id)),
            "transcript" => self.transcript.as_ref().map(View::text),
            "workspaces" => Some(View::List(Elements::Of(&self.workspaces))),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        3 + usize::from(self.artifacts.is_some()) + usize::from(self.transcript.is_some())
    }

    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, View<'a>) -> bool) {
        each_of(self, &["artifacts", "elapsed", "id", "transcript", "workspaces"], visit);
    }
}

/// Those of these fields that are there.
fn each_of<'a>(
    of: &'a dyn Payload,
    fields: &[&'static str],
    visit: &mut dyn FnMut(&'a str, View<'a>) -> bool,
) {
    for field in fields {
        if let Some(value) = of.get(field)
            && !visit(field, value)
        {
            return;
        }
    }
}

impl Items for Vec<String> {
    fn at(&self, index: usize) -> Option<View<'_>> {
        self.get(index).map(View::text)
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }
}

/// Whether every event of a kind has such a field in it: a text, or none.
fn is_plain(kind: Kind, field: &str) -> bool {
    match kind {
        Kind::ToolPre | Kind::ToolPost | Kind::ToolError => {
            matches!(field, "name" | "native_name" | "server" | "model")
        }
        Kind::TurnStart => matches!(field, "prompt" | "model"),
        Kind::TurnEnd => matches!(field, "response" | "model"),
        Kind::Stop => matches!(field, "reason" | "model"),
        Kind::SubagentStop => matches!(field, "type" | "model"),
        _ => false,
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

    fn each<'b>(&'b self, _visit: &mut dyn FnMut(&'b str, View<'b>) -> bool) {
        self.beyond.set(true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tollgate_core::AnyEvent;
    use tollgate_core::event::{
        Stop, SubagentStop, ToolCall, ToolError, ToolPost, ToolPre, TurnEnd, TurnStart,
    };

    use super::*;

    /// What is said of a condition when it is loaded holds for every event.
    #[test]
    fn what_is_always_told_is_told() {
        let call = ToolCall::new("run_command").arg("CommandLine", "ls").arg("n", json!(1e300));
        let served = ToolCall::new("x").server("docs").arg("command", "ls");
        let events: [AnyEvent; 9] = [
            ToolPre::from(call.clone()).into(),
            ToolPre::from(served.clone()).into(),
            ToolPost::new(served.clone(), json!(null)).into(),
            ToolError::new(call, "no").into(),
            ToolError::new(served, "no").into(),
            TurnStart::new("a").into(),
            TurnEnd::new("a").into(),
            Stop::default().into(),
            SubagentStop::default().into(),
        ];
        let deep = format!("{0}1{1}", "[".repeat(60), "]".repeat(60));
        let conditions = [
            ("payload['name'] == 'run_command'", 3),
            ("payload['name'] in ['a', 'run_command'] and event == 'tool.pre'", 3),
            ("payload.get('server', 'x').startswith('d')", 3),
            ("'name' in payload and payload['native_name'].lower() == 'x'", 3),
            ("(payload['model'] or payload['name']) != None", 3),
            ("payload['model'] == None", 7),
            ("payload['prompt'] == 'a'", 1),
            ("payload['response'] == 'a'", 1),
            ("payload['reason'] == 'a'", 1),
            ("payload['type'] == 'a'", 1),
            ("event == 'x'", 7),
            // What is not in every event, or not of one sort.
            ("payload['args']['CommandLine'] == 'ls'", 0),
            ("payload['name'] == 'a' and payload['args']", 0),
            ("payload.get('name', payload['turn']) == 'a'", 0),
            ("payload['session']['id'] == 'a'", 0),
            ("payload['nothing'] == 'a'", 0),
            ("payload.get('args', {}) == {}", 0),
            ("'args' in payload", 0),
            ("payload['name'] in payload", 0),
            ("payload == {}", 0),
            ("len(payload) == 1", 0),
            ("type(payload) == 'dict'", 0),
            (&format!("{deep} == {deep}"), 0),
        ];
        for (text, kinds) in conditions {
            let condition = Condition::compile(text).unwrap();
            let told = |event: &AnyEvent| Glance::always_tells(&condition, &[event.kind()]);
            let mut of: Vec<_> = events.iter().filter(|event| told(event)).collect();
            for event in &of {
                assert!(Glance::at(event.view()).holds(&condition, "x").is_some(), "{text}");
            }
            of.dedup_by_key(|event| event.kind());
            assert_eq!(of.len(), kinds, "{text}");
        }
        let named = Condition::compile("payload['name'] == 'a'").unwrap();
        assert!(Glance::always_tells(&named, &[Kind::ToolPost, Kind::ToolError]));
        assert!(!Glance::always_tells(&named, &[Kind::ToolPost, Kind::Stop]));
    }
}
