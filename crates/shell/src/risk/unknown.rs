//! What cannot be told.

use super::{Class, Judge, Level, Risk, sentence};
use crate::effects::{Effect, Kind};
use crate::resolve::{Why, risky_word};

impl Judge<'_> {
    /// True if the shell itself talks to another machine, which may say what to run.
    fn is_connected(&self) -> bool {
        let connects = |effect: &Effect| {
            effect.kind == Kind::Network
                && matches!(effect.by.as_str(), "redirection" | "dig" | "host" | "nslookup" | "nc")
        };
        self.effects.list.iter().any(connects)
    }

    pub(super) fn unknowns(&mut self) {
        for unknown in &self.effects.unknowns {
            let (class, level) = match unknown.why {
                Why::Endless => (Class::Destroy, Level::Deny),
                Why::Remote => (Class::Code, Level::Deny),
                // What is typed later is looked at when it is typed.
                Why::Typed | Why::Opaque => continue,
                Why::Program if !self.is_connected() => continue,
                // A shell refuses it as well.
                Why::Syntax if risky_word(&unknown.text).is_none() => continue,
                Why::Program
                | Why::Syntax
                | Why::Ambiguous
                | Why::TooMuch
                | Why::Code
                | Why::Fetched => (Class::Code, Level::Ask),
            };
            let sentence = sentence::unknown(unknown.why, &unknown.text);
            let risk = Risk { class, level, sentence };
            if !self.found.contains(&risk) {
                self.found.push(risk);
            }
        }
    }
}
