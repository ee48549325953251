//! Conditions, loops and groups: every branch is taken.

use super::state::{Binding, State};
use super::walk::{Walker, either, joined};
use super::{Input, Why};
use crate::syntax::{self, CommandKind, Pipeline, Script, Word};
use crate::value::Value;

/// How often a loop over known words is gone through.
const MOST_TURNS: usize = 64;

impl Walker {
    pub(super) fn compound(&mut self, kind: &CommandKind, input: &Input) -> Value {
        match kind {
            CommandKind::Simple { .. } | CommandKind::Empty => Value::default(),
            CommandKind::Subshell(script) => self.apart(|walker| walker.script(script, input)),
            CommandKind::Group(script) => self.script(script, input),
            CommandKind::If { clauses, otherwise } => {
                let mut outputs = Vec::new();
                let mut ends: Option<State> = None;
                for clause in clauses {
                    self.script(&clause.condition, input);
                    let before = self.state.clone();
                    outputs.push(self.script(&clause.body, input));
                    let after = std::mem::replace(&mut self.state, before);
                    ends = Some(joined(ends, after));
                }
                if let Some(script) = otherwise {
                    outputs.push(self.script(script, input));
                }
                if let Some(ends) = ends {
                    self.state.join(ends);
                }
                either(outputs)
            }
            CommandKind::Loop(clause) => {
                let mut outputs = Vec::new();
                // Twice: what the first turn sets, the second may use.
                for _ in 0..2 {
                    let before = self.state.clone();
                    self.script(&clause.condition, input);
                    outputs.push(self.script(&clause.body, input));
                    self.state.join(before);
                }
                if outputs.iter().all(Value::is_empty) {
                    Value::default()
                } else {
                    Value::unknown()
                }
            }
            CommandKind::For { variable, items, body } => {
                let items = match items {
                    Some(words) => self.fields_in_all_worlds(words),
                    None => self.state.positional.clone(),
                };
                self.turns(variable, items, body, input)
            }
            CommandKind::ForArithmetic { expression, body } => {
                self.counted(expression, body, input)
            }
            CommandKind::Case { subject, arms } => {
                self.one_value(subject);
                let before = self.state.clone();
                let mut outputs = Vec::new();
                let mut ends: Option<State> = None;
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.one_value(pattern);
                    }
                    outputs.push(self.script(&arm.body, input));
                    let after = std::mem::replace(&mut self.state, before.clone());
                    ends = Some(joined(ends, after));
                }
                if let Some(ends) = ends {
                    self.state.join(ends);
                }
                either(outputs)
            }
            CommandKind::Function { name, body } => {
                self.state.define(name, (**body).clone());
                // Bash calls it for every program that it does not find.
                if name == "command_not_found_handle" {
                    self.function(name, &[Value::unknown()], &Input::Inherited);
                }
                Value::default()
            }
            CommandKind::Coproc(body) => {
                self.spawning += 1;
                self.apart(|walker| walker.command(body, &Input::Pipe));
                self.spawning -= 1;
                Value::default()
            }
            CommandKind::Arithmetic(word) => {
                self.one_value(word);
                Value::default()
            }
            CommandKind::Test(words) => {
                for word in words {
                    let value = self.one_value(word);
                    if value.prefix().contains('[') {
                        self.subscripts_in(&value);
                    }
                }
                Value::default()
            }
        }
    }

    /// `for ((…))`: what it counts with is not known.
    fn counted(&mut self, expression: &Word, body: &Script, input: &Input) -> Value {
        self.one_value(expression);
        let names = expression.pieces.iter().filter_map(|piece| match piece {
            syntax::Piece::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let text: String = names.collect();
        for name in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                self.state.set(name, Binding::one(Value::unknown()));
            }
        }
        self.script(body, input);
        Value::unknown()
    }

    /// The fields of words, in all combinations of what their variables may hold.
    fn fields_in_all_worlds(&mut self, words: &[Word]) -> Vec<Value> {
        let outer = std::mem::take(&mut self.world);
        let mut all = Vec::new();
        loop {
            for field in self.fields(words) {
                if !all.contains(&field) {
                    all.push(field);
                }
            }
            if !self.world.next() {
                break;
            }
        }
        self.world = outer;
        all
    }

    fn turns(&mut self, name: &str, items: Vec<Value>, body: &Script, input: &Input) -> Value {
        let before = self.state.clone();
        let mut output = Value::default();
        if items.len() > MOST_TURNS {
            self.unknown(Why::TooMuch, "a loop over very many words");
        }
        for item in items.into_iter().take(MOST_TURNS) {
            self.hidden_subscript(&item);
            self.state.set(name, Binding::one(item));
            output.append(&self.script(body, input));
        }
        self.state.join(before);
        output
    }
}

/// True if a pipeline only prints where a program is.
pub(super) fn looks_up(pipeline: &Pipeline) -> bool {
    let [syntax::Command { kind: CommandKind::Simple { words, .. }, .. }] =
        pipeline.commands.as_slice()
    else {
        return false;
    };
    let text = |at: usize| match words.get(at)?.pieces.as_slice() {
        [syntax::Piece::Text(text)] => Some(text.as_str()),
        _ => None,
    };
    matches!((text(0), text(1)), (Some("which"), _) | (Some("command"), Some("-v")))
}
