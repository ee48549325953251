//! How large payloads are.

use serde_json::{Map, Value};
use tollgate_core::EventRef;
use tollgate_core::context::Context;

/// How deep a payload may be: what JSON is read to.
const DEEPEST: usize = 127;

/// How long a number may be. To read one takes time that grows with the square of its length.
const LONGEST_NUMBER: usize = 1024;

/// About how large a value is.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    /// In bytes of JSON.
    pub(crate) size: usize,
    depth: usize,
    /// Those of its longest number.
    digits: usize,
}

impl Measure {
    pub(crate) fn of(value: &Value) -> Self {
        let mut measure = Self::default();
        measure.add(value, 1);
        measure
    }

    /// Of the payload of an event, where that takes nothing but a look: those about tools, and
    /// prompts.
    pub(crate) fn of_event(event: EventRef<'_>, cx: &impl Context) -> Option<Self> {
        let mut measure = Self { size: 256, ..Self::default() };
        let call = match event {
            EventRef::ToolPre(event) => Some(&event.call),
            EventRef::ToolPost(event) => {
                measure.add(&event.result, 2);
                Some(&event.call)
            }
            EventRef::ToolError(event) => {
                measure.size += event.error.len();
                Some(&event.call)
            }
            EventRef::TurnStart(event) => {
                measure.size += event.prompt.len();
                None
            }
            _ => return None,
        };
        if let Some(call) = call {
            measure.fields(&call.args, 2);
            measure.size += 2 * call.name.len();
        }
        let info = cx.session().info();
        measure.size += info.id.len() + info.workspaces.iter().map(String::len).sum::<usize>();
        Some(measure)
    }

    /// Fails where no script may be given it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.depth > DEEPEST {
            return Err(format!("the payload is nested more than {DEEPEST} deep"));
        }
        if self.digits > LONGEST_NUMBER {
            return Err(format!("a number in the payload has more than {LONGEST_NUMBER} digits"));
        }
        Ok(())
    }

    fn add(&mut self, value: &Value, depth: usize) {
        self.size += 8;
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) if number.as_i64().is_some() => {}
            Value::Number(number) => {
                let digits = number.to_string().len();
                self.size += digits;
                self.digits = self.digits.max(digits);
            }
            Value::String(text) => self.size += text.len(),
            Value::Array(items) => {
                self.depth = self.depth.max(depth);
                for item in items {
                    self.add(item, depth + 1);
                }
            }
            Value::Object(fields) => self.fields(fields, depth),
        }
    }

    pub(super) fn fields(&mut self, fields: &Map<String, Value>, depth: usize) {
        self.depth = self.depth.max(depth);
        for (name, value) in fields {
            self.size += name.len();
            self.add(value, depth + 1);
        }
    }
}
