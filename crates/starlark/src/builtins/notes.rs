//! What a run wants written down: counters, lines of a log, values to keep. It counts once the script has decided.

use std::cell::{Cell, RefCell};

use serde_json::{Map, Value as Json};
use tollgate_core::ledger::{Effect, LogEntry, LogLevel};

/// The most that one run may want written down.
const MOST_EFFECTS: usize = 1000;
const LARGEST_EFFECTS: usize = 256 * 1024;

/// How long the name of a counter may be.
const LONGEST_NAME: usize = 256;

/// What one run has noted.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    effects: RefCell<Vec<Effect>>,
    /// How large they are.
    written: Cell<usize>,
}

impl Notes {
    /// Adds to a counter.
    pub(crate) fn incr(&self, name: &str, by: i64) -> Result<(), String> {
        check_name(name)?;
        self.add(Effect::Incr { name: name.to_owned(), by }, name.len())
    }

    /// Sets a gauge.
    pub(crate) fn set(&self, name: &str, value: f64) -> Result<(), String> {
        check_name(name)?;
        if !value.is_finite() {
            return Err(format!("`{name}` cannot be set to {value}"));
        }
        self.add(Effect::Set { name: name.to_owned(), value }, name.len())
    }

    /// Adds a line to the log.
    pub(crate) fn log(
        &self,
        level: LogLevel,
        message: String,
        fields: Map<String, Json>,
    ) -> Result<(), String> {
        let values = fields.iter().map(|(name, value)| name.len() + value.to_string().len());
        let size = message.len() + values.sum::<usize>();
        self.add(Effect::Log(LogEntry { level, message, fields }), size)
    }

    /// Keeps a value.
    pub(crate) fn keep(&self, key: &str, value: Json) -> Result<(), String> {
        let size = key.len() + value.to_string().len();
        self.add(Effect::Cache { key: key.to_owned(), value }, size)
    }

    /// What was noted so far.
    pub(crate) fn so_far<T>(&self, look: impl FnOnce(&[Effect]) -> T) -> T {
        look(&self.effects.borrow())
    }

    pub(crate) fn into_effects(self) -> Vec<Effect> {
        self.effects.into_inner()
    }

    fn add(&self, effect: Effect, size: usize) -> Result<(), String> {
        let written = self.written.get().saturating_add(size);
        let mut effects = self.effects.borrow_mut();
        if effects.len() >= MOST_EFFECTS || written > LARGEST_EFFECTS {
            return Err(format!(
                "a hook may write down {MOST_EFFECTS} things, of {} KiB altogether, each time it is \
                 asked: this is more",
                LARGEST_EFFECTS / 1024
            ));
        }
        self.written.set(written);
        effects.push(effect);
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "the name of a counter may have {LONGEST_NAME} bytes, this has {}",
            name.len()
        ));
    }
    Ok(())
}
