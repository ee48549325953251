//! The stores of a ledger, each with a bound.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Map, Number, Value};

use super::LogEntry;

const NAMES: usize = 1024;
const LONGEST_NAME: usize = 256;
const KEYS: usize = 1024;
const CACHED: usize = 1024 * 1024;
const ENTRIES: usize = 1000;
const LOGGED: usize = 256 * 1024;

/// A counter holds whole numbers until somebody sets it to something else.
#[derive(Debug, Clone, Copy)]
enum Metric {
    Count(i64),
    Gauge(f64),
}

#[derive(Debug, Default)]
pub(super) struct Metrics(BTreeMap<String, Metric>);

impl Metrics {
    pub(super) fn incr(&mut self, name: &str, by: i64) {
        match self.place(name) {
            Some(Metric::Count(count)) => *count = count.saturating_add(by),
            #[allow(clippy::cast_precision_loss)] // a gauge is a float by choice of who set it
            Some(Metric::Gauge(gauge)) => *gauge += by as f64,
            None => {}
        }
    }

    pub(super) fn set(&mut self, name: &str, value: f64) {
        if let Some(metric) = self.place(name) {
            *metric = whole(value).map_or(Metric::Gauge(value), Metric::Count);
        }
    }

    fn place(&mut self, name: &str) -> Option<&mut Metric> {
        if !self.0.contains_key(name) && (self.0.len() >= NAMES || name.len() > LONGEST_NAME) {
            return None;
        }
        Some(self.0.entry(name.to_owned()).or_insert(Metric::Count(0)))
    }

    pub(super) fn snapshot(&self) -> Map<String, Value> {
        let value = |metric: &Metric| match metric {
            Metric::Count(count) => Value::from(*count),
            Metric::Gauge(gauge) => Number::from_f64(*gauge).map_or(Value::Null, Value::Number),
        };
        self.0.iter().map(|(name, metric)| (name.clone(), value(metric))).collect()
    }
}

/// The whole number that a float is, where it is one that both can hold.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_possible_truncation)] // checked to be whole and small
    (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    values: HashMap<String, (Value, usize)>,
    /// The keys, the one that was set longest ago first.
    order: VecDeque<String>,
    size: usize,
}

impl Cache {
    pub(super) fn get(&self, key: &str) -> Option<Value> {
        self.values.get(key).map(|(value, _)| value.clone())
    }

    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.remove(key);
        let size = key.len() + size_of(&value);
        if size > CACHED {
            return;
        }
        while self.values.len() >= KEYS || self.size + size > CACHED {
            let Some(oldest) = self.order.front().cloned() else { break };
            self.remove(&oldest);
        }
        self.size += size;
        self.order.push_back(key.to_owned());
        self.values.insert(key.to_owned(), (value, size));
    }

    fn remove(&mut self, key: &str) {
        if let Some((_, size)) = self.values.remove(key) {
            self.size -= size;
            self.order.retain(|other| other != key);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Logs {
    pub(super) entries: Vec<LogEntry>,
    pub(super) left_out: u64,
    size: usize,
}

impl Logs {
    pub(super) fn add(&mut self, entry: &LogEntry) {
        let fields = entry.fields.iter().map(|(name, value)| name.len() + size_of(value));
        let size = entry.message.len() + fields.sum::<usize>();
        if self.entries.len() >= ENTRIES || self.size + size > LOGGED {
            self.left_out += 1;
            return;
        }
        self.size += size;
        self.entries.push(entry.clone());
    }
}

/// About how much memory a value takes.
fn size_of(value: &Value) -> usize {
    const EACH: usize = std::mem::size_of::<Value>();
    EACH + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| EACH + name.len() + size_of(value)).sum()
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::ledger::LogLevel;

    #[test]
    fn counters_count_and_gauges_are_set() {
        let mut metrics = Metrics::default();
        metrics.incr("a", 2);
        metrics.incr("a", -1);
        metrics.set("b", 1.5);
        metrics.incr("b", 1);
        metrics.set("c", 4.0);
        metrics.incr("max", i64::MAX);
        metrics.incr("max", 1);
        metrics.set("nan", f64::NAN);
        let expected = serde_json::json!({"a": 1, "b": 2.5, "c": 4, "max": i64::MAX, "nan": null});
        assert_eq!(Value::Object(metrics.snapshot()), expected);
    }

    #[test]
    fn there_is_room_for_so_many_names() {
        let mut metrics = Metrics::default();
        (0..2 * NAMES).for_each(|n| metrics.incr(&n.to_string(), 1));
        metrics.incr("0", 1);
        let snapshot = metrics.snapshot();
        assert_eq!((snapshot.len(), &snapshot["0"]), (NAMES, &Value::from(2)));
        let mut metrics = Metrics::default();
        metrics.incr(&"x".repeat(LONGEST_NAME), 1);
        metrics.incr(&"x".repeat(LONGEST_NAME + 1), 1);
        assert_eq!(metrics.snapshot().len(), 1);
    }

    #[test]
    fn the_oldest_make_room() {
        let mut cache = Cache::default();
        (0..=KEYS).for_each(|n| cache.set(&n.to_string(), n.into()));
        assert_eq!((cache.get("0"), cache.get("1")), (None, Some(1.into())));
        let large = "x".repeat(CACHED / 2);
        cache.set("a", large.clone().into());
        cache.set("b", large.clone().into());
        assert!(cache.get("a").is_none() && cache.get("b").is_some() && cache.size <= CACHED);
        cache.set("b", "x".repeat(CACHED).into());
        assert!(cache.get("b").is_none(), "one that cannot be kept leaves no old value behind");
        assert_eq!(cache.values.len(), cache.order.len());
    }

    #[test]
    fn the_first_entries_stay() {
        let mut logs = Logs::default();
        let entry =
            |message: String| LogEntry { level: LogLevel::Info, message, fields: Map::default() };
        (0..ENTRIES + 5).for_each(|n| logs.add(&entry(n.to_string())));
        assert_eq!((logs.entries.len(), logs.left_out), (ENTRIES, 5));
        let mut logs = Logs::default();
        (0..3).for_each(|_| logs.add(&entry("x".repeat(LOGGED / 2))));
        assert_eq!((logs.entries.len(), logs.left_out), (2, 1));
    }
}
