//! What hooks write down as they go: counters, log entries, and a cache.
//!
//! A hook does not write here while it runs. It says what is to be written in its answer
//! ([`Effects`]), and the runner does it once, when the dispatch is done, also where a hook was
//! asked twice or the action was refused. So no hook sees half of what another one wrote, and a
//! question that is repeated counts once.

mod bounded;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use bounded::{Cache, Logs, Metrics};

/// What a hook wants written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Adds to a counter.
    Incr {
        /// The counter.
        name: String,
        /// How much.
        by: i64,
    },
    /// Sets a gauge.
    Set {
        /// The gauge.
        name: String,
        /// To what.
        value: f64,
    },
    /// Writes a log entry.
    Log(LogEntry),
    /// Puts a value into the cache.
    Cache {
        /// Its key.
        key: String,
        /// The value.
        value: Value,
    },
}

/// One entry of a turn's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// How much it matters.
    pub level: LogLevel,
    /// What is said.
    pub message: String,
    /// More of it, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
}

/// How much a log entry matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// It is good to know.
    Info,
    /// Somebody should look.
    Warn,
}

/// These locks are held while nothing else is called: there is nothing in them for a model checker.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a hook wants written down, in order.
pub type Effects = Vec<Effect>;

/// The counters and the cache of a session. All clones of its context share it, and so may its
/// tools.
///
/// ```
/// use tollgate_core::ledger::{Effect, Ledger};
///
/// let ledger = Ledger::default();
/// ledger.apply(&[Effect::Incr { name: "calls".into(), by: 2 }]);
/// assert_eq!(ledger.metrics()["calls"], 2);
/// ledger.cache_set("token", "t-7".into());
/// assert_eq!(ledger.cache_get("token"), Some("t-7".into()));
/// ```
///
/// Each part has a bound: 1,024 names of counters, of 256 bytes each; 1,024 values in the cache, of 1 MiB altogether,
/// where the oldest make room. What is beyond is not kept.
#[derive(Debug, Default)]
pub struct Ledger {
    metrics: Mutex<Metrics>,
    cache: Mutex<Cache>,
}

impl Ledger {
    /// Carries out what belongs to the session: counters and the cache.
    pub fn apply(&self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Incr { name, by } => lock(&self.metrics).incr(name, *by),
                Effect::Set { name, value } => lock(&self.metrics).set(name, *value),
                Effect::Cache { key, value } => self.cache_set(key, value.clone()),
                Effect::Log(_) => {}
            }
        }
    }

    /// All counters and gauges.
    pub fn metrics(&self) -> Map<String, Value> {
        lock(&self.metrics).snapshot()
    }

    /// A value of the cache.
    pub fn cache_get(&self, key: &str) -> Option<Value> {
        lock(&self.cache).get(key)
    }

    /// Puts a value into the cache. The oldest make room for it; one that is too large for the
    /// cache is not kept.
    pub fn cache_set(&self, key: &str, value: Value) {
        lock(&self.cache).set(key, value);
    }
}

/// The log of a turn. At most 1,000 entries are kept, of 256 KiB altogether; the first ones stay,
/// and how many more there were is counted.
#[derive(Debug, Default)]
pub struct TurnLog {
    logs: Mutex<Logs>,
}

impl TurnLog {
    /// Writes down the log entries among these.
    pub fn apply(&self, effects: &[Effect]) {
        let entries = effects.iter().filter_map(|effect| match effect {
            Effect::Log(entry) => Some(entry),
            Effect::Incr { .. } | Effect::Set { .. } | Effect::Cache { .. } => None,
        });
        for entry in entries {
            lock(&self.logs).add(entry);
        }
    }

    /// The entries, in order.
    pub fn entries(&self) -> Vec<LogEntry> {
        lock(&self.logs).entries.clone()
    }

    /// How many entries there was no room for.
    pub fn left_out(&self) -> u64 {
        lock(&self.logs).left_out
    }
}
