//! Hooks that ask for a host's tool which is one of several that come as one tool of the table.
//!
//! The index knows tools of the table alone, so such a hook is found for all calls of that tool.
//! What the host called decides whether it is asked.

use std::sync::Arc;

use crate::error::BoxError;
use crate::event::{Event, ToolCall};
use crate::hook::{Ask, BoxFuture, Handle, HookResult};
use crate::matcher::{Form, Matcher, Pattern, Piece};
use crate::target::{Names, Subject, Target};
use crate::tools;

/// Which host's tools a matcher asks for, beside what else it asks for.
pub(super) struct Parts {
    /// The host's tools.
    natives: Vec<String>,
    /// The agent's own tools that it asks for as a whole.
    wholes: Vec<String>,
    /// The pattern that may match others.
    pattern: Option<Pattern>,
}

impl Parts {
    /// Those of a matcher; none where it has none.
    pub(super) fn of(matcher: &Matcher) -> Option<Self> {
        let mut found = Self { natives: Vec::new(), wholes: Vec::new(), pattern: None };
        match matcher {
            Matcher::All => {}
            Matcher::Targets(targets) => {
                for target in targets {
                    found.add(target);
                }
            }
            Matcher::Pattern(pattern) => {
                if let Form::Plain(pieces) = pattern.form() {
                    for piece in pieces {
                        if let Piece::Name(name) = piece {
                            found.add(&Target::Tool(name.clone()));
                        }
                    }
                }
                found.pattern = Some(pattern.clone());
            }
        }
        (!found.natives.is_empty()).then_some(found)
    }

    fn add(&mut self, target: &Target) {
        if let Some(native) = target.part() {
            self.natives.push(native.to_owned());
            return;
        }
        let keys = target.keys(Names::OfTheTable).into_iter();
        let own = keys.filter(|key| key.server.is_none());
        self.wholes.extend(own.map(|key| key.name.to_owned()));
    }

    /// True if the matcher asks for a call that the index has found for it.
    fn ask_for(&self, call: &ToolCall) -> bool {
        let is_native = |native: &String| *native == call.name || native == call.native_name();
        let matches = |name: &str| {
            self.pattern.as_ref().is_some_and(|pattern| pattern.matches(Subject::named(name)))
        };
        call.server_name().is_some()
            || !call.readings.is_empty()
            || self.natives.iter().any(is_native)
            || self.wholes.contains(&call.name)
            || matches(&call.name)
            || tools::names_in_use(&call.name).any(matches)
    }
}

/// A hook of such a matcher.
pub(super) struct OfParts<E: Event> {
    pub(super) parts: Parts,
    pub(super) handler: Arc<dyn Handle<E>>,
}

impl<E: Event> Handle<E> for OfParts<E> {
    fn wants(&self, event: &E) -> Result<bool, BoxError> {
        match event.tool_call() {
            Some(call) if !self.parts.ask_for(call) => Ok(false),
            _ => self.handler.wants(event),
        }
    }

    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        self.handler.handle(ask)
    }
}
