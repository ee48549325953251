//! Rewrites. A patch says which part of a payload becomes what; what a patch cannot say cannot
//! be rewritten, so the name and the server of a tool call never are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Args, Event, SubagentStop, ToolError, ToolPost, ToolPre, TurnEnd, TurnStart};

/// A rewrite of an event's payload.
pub trait Patch<E>: Clone + PartialEq + std::fmt::Debug + Serialize + Send + Sync {
    /// Carries it out. Returns whether anything is different now.
    fn apply(self, event: &mut E) -> bool;

    /// Reads a rewrite in neutral form; one that this event does not have comes back.
    fn from_rewrite(rewrite: Rewrite) -> Result<Self, Rewrite>;

    /// Its neutral form.
    fn rewrite(&self) -> Rewrite;
}

/// What can be rewritten, in the form that dialects read and write.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Rewrite {
    /// These arguments of a call; the ones not named stay.
    Args(Args),
    /// All arguments of a call; the ones not named go.
    AllArgs(Args),
    /// The prompt.
    Prompt(String),
    /// The response.
    Response(String),
    /// The result of a tool or subagent.
    Result(Value),
    /// The error of a tool, which stays one.
    Error(String),
}

impl Rewrite {
    /// What it rewrites, in a word.
    pub const fn what(&self) -> &'static str {
        match self {
            Self::Args(_) | Self::AllArgs(_) => "arguments",
            Self::Prompt(_) => "prompt",
            Self::Response(_) => "response",
            Self::Result(_) => "result",
            Self::Error(_) => "error",
        }
    }
}

/// No rewrite exists: a type without values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Never {}

impl<E: Event> Patch<E> for Never {
    fn apply(self, _event: &mut E) -> bool {
        match self {}
    }
    fn from_rewrite(rewrite: Rewrite) -> Result<Self, Rewrite> {
        Err(rewrite)
    }
    fn rewrite(&self) -> Rewrite {
        match *self {}
    }
}

/// How a patch, which is one value, is carried out on an event, and which neutral form it has.
macro_rules! patches {
    ($($patch:ident is $form:ident on $event:ident: |$on:ident, $value:ident| $apply:expr;)*) => {$(
        impl Patch<$event> for $patch {
            fn apply(self, $on: &mut $event) -> bool {
                let $value = self.0;
                $apply
            }
            fn from_rewrite(rewrite: Rewrite) -> Result<Self, Rewrite> {
                match rewrite {
                    Rewrite::$form(value) => Ok(Self(value)),
                    other => Err(other),
                }
            }
            fn rewrite(&self) -> Rewrite {
                Rewrite::$form(self.0.clone())
            }
        }
    )*};
}

/// Other arguments of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ArgsPatch {
    /// These; the ones not named stay.
    Set(Args),
    /// These and no others.
    Replace(Args),
}

impl Patch<ToolPre> for ArgsPatch {
    fn apply(self, event: &mut ToolPre) -> bool {
        let changed = match self {
            Self::Set(args) => set_args(&mut event.call.args, args),
            Self::Replace(args) => replace(&mut event.call.args, args),
        };
        if changed {
            // What the host worked out of other arguments says nothing about these.
            event.call.canonical_path = None;
        }
        changed
    }

    fn from_rewrite(rewrite: Rewrite) -> Result<Self, Rewrite> {
        match rewrite {
            Rewrite::Args(args) => Ok(Self::Set(args)),
            Rewrite::AllArgs(args) => Ok(Self::Replace(args)),
            other => Err(other),
        }
    }

    fn rewrite(&self) -> Rewrite {
        match self {
            Self::Set(args) => Rewrite::Args(args.clone()),
            Self::Replace(args) => Rewrite::AllArgs(args.clone()),
        }
    }
}

/// Another prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptPatch(pub String);

/// Another response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResponsePatch(pub String);

/// Another result of a tool or a subagent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultPatch(pub Value);

/// Another text for the error of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorPatch(pub String);

patches! {
    PromptPatch is Prompt on TurnStart: |event, prompt| replace(&mut event.prompt, prompt);
    ResponsePatch is Response on TurnEnd: |event, text| replace(&mut event.response, text);
    ResultPatch is Result on ToolPost: |event, result| replace(&mut event.result, result);
    ErrorPatch is Error on ToolError: |event, error| replace(&mut event.error, error);
    ResultPatch is Result on SubagentStop: |event, result| replace(&mut event.result, Some(result));
}

fn set_args(all: &mut Args, args: Args) -> bool {
    let mut changed = false;
    for (name, value) in args {
        if all.get(&name) != Some(&value) {
            all.insert(name, value);
            changed = true;
        }
    }
    changed
}

fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}
