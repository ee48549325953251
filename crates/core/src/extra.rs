//! What a hook adds beside its verdict: text for the model, steps to inject, permissions.
//!
//! Additions of several hooks are kept one after the other, in the order the hooks ran. They
//! change nothing of the payload, so a hook in decide mode may give them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Args;

/// Something added beside a verdict.
pub trait Extra: Clone + Default + PartialEq + std::fmt::Debug + Serialize + Send + Sync {
    /// Puts `later` behind this.
    fn append(&mut self, later: Self);

    /// Whether nothing is added.
    fn is_empty(&self) -> bool;

    /// Reads what was added in neutral form; what this event has no place for comes back as the
    /// error.
    fn from_additions(additions: Additions) -> Result<Self, Misplaced>;

    /// Its neutral form.
    fn additions(&self) -> Additions;

    /// Whether it still holds when the payload is rewritten after it was given. What was
    /// permitted for other arguments does not; a text does.
    const OUTLIVES_REWRITE: bool = true;
}

/// What can be added, in the form that dialects read and write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Additions {
    /// Texts for the model.
    pub context: Vec<String>,
    /// Steps for the trajectory.
    pub steps: Vec<Step>,
    /// Resources that a call may use.
    pub overrides: Vec<String>,
}

/// Something added that the event has no place for, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misplaced(pub &'static str);

impl Additions {
    /// Fails where something is left that the event has no place for.
    fn nothing_else(self) -> Result<(), Misplaced> {
        if !self.context.is_empty() {
            Err(Misplaced("add context"))
        } else if !self.steps.is_empty() {
            Err(Misplaced("inject steps"))
        } else if !self.overrides.is_empty() {
            Err(Misplaced("override permissions"))
        } else {
            Ok(())
        }
    }
}

impl Extra for () {
    fn append(&mut self, _later: Self) {}
    fn is_empty(&self) -> bool {
        true
    }
    fn from_additions(additions: Additions) -> Result<Self, Misplaced> {
        additions.nothing_else()
    }
    fn additions(&self) -> Additions {
        Additions::default()
    }
}

/// Texts: context for the model, or what goes before or after a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Texts(pub Vec<String>);

impl Extra for Texts {
    fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn from_additions(mut additions: Additions) -> Result<Self, Misplaced> {
        let context = std::mem::take(&mut additions.context);
        additions.nothing_else().map(|()| Self(context))
    }
    fn additions(&self) -> Additions {
        Additions { context: self.0.clone(), ..Additions::default() }
    }
}

/// Resources that a call may use beyond its tool's default, such as `command(npm test)`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Overrides(pub Vec<String>);

impl Extra for Overrides {
    const OUTLIVES_REWRITE: bool = false;

    fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn from_additions(mut additions: Additions) -> Result<Self, Misplaced> {
        let overrides = std::mem::take(&mut additions.overrides);
        additions.nothing_else().map(|()| Self(overrides))
    }
    fn additions(&self) -> Additions {
        Additions { overrides: self.0.clone(), ..Additions::default() }
    }
}

/// A step put into the trajectory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// A tool to call. The call passes the whole pipeline like any other.
    ToolCall {
        /// The tool.
        name: String,
        /// Its arguments.
        #[serde(default)]
        args: Args,
    },
    /// A message of the user.
    UserMessage(String),
    /// A message of the system that the next model call sees and no later one.
    EphemeralMessage(String),
    /// A message of the system.
    SystemMessage(String),
}

/// Steps and context for a model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// Steps, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Context for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
}

impl Extra for Injection {
    fn append(&mut self, mut later: Self) {
        self.steps.append(&mut later.steps);
        self.context.append(&mut later.context);
    }
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.context.is_empty()
    }
    fn from_additions(mut additions: Additions) -> Result<Self, Misplaced> {
        let steps = std::mem::take(&mut additions.steps);
        let context = std::mem::take(&mut additions.context);
        additions.nothing_else().map(|()| Self { steps, context })
    }
    fn additions(&self) -> Additions {
        let Self { steps, context } = self.clone();
        Additions { context, steps, ..Additions::default() }
    }
}

/// Extras that hold text for the model.
pub trait CanAddText: Extra {
    /// Adds a text.
    fn add_text(&mut self, text: String);
}

impl CanAddText for Texts {
    fn add_text(&mut self, text: String) {
        self.0.push(text);
    }
}

impl CanAddText for Injection {
    fn add_text(&mut self, text: String) {
        self.context.push(text);
    }
}

/// The JSON form of an extra, for records.
pub(crate) fn to_value<X: Extra>(extra: &X) -> Option<Value> {
    if extra.is_empty() { None } else { serde_json::to_value(extra).ok() }
}
