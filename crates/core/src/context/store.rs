//! Where the values of a context are.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::sync::{Mutex, lock};

/// A value in a context that could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// The value is of another type than was asked for.
    #[error("`{key}` is {found}, not a `{wanted}`: {message}")]
    OtherType {
        /// The key.
        key: String,
        /// The type asked for.
        wanted: &'static str,
        /// What is there.
        found: &'static str,
        /// What does not fit.
        message: String,
    },
    /// The value has no JSON form.
    #[error("`{key}` cannot be stored: {message}")]
    NotJson {
        /// The key.
        key: String,
        /// Why not.
        message: String,
    },
}

pub(super) fn read<T: DeserializeOwned>(key: &str, value: Value) -> Result<T, ContextError> {
    let found = match &value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    serde_json::from_value(value).map_err(|error| ContextError::OtherType {
        key: key.to_owned(),
        wanted: std::any::type_name::<T>(),
        found,
        message: error.to_string(),
    })
}

pub(super) fn write<T: Serialize>(key: &str, value: T) -> Result<Value, ContextError> {
    serde_json::to_value(value)
        .map_err(|error| ContextError::NotJson { key: key.to_owned(), message: error.to_string() })
}

/// One store. Each value has the stamp of the write that set it.
#[derive(Default)]
pub(super) struct Store {
    values: Mutex<Values>,
}

#[derive(Default)]
struct Values {
    by_key: HashMap<String, (u64, Value)>,
    writes: u64,
}

impl Store {
    pub(super) fn value(&self, key: &str) -> Option<Value> {
        lock(&self.values).by_key.get(key).map(|(_, value)| value.clone())
    }

    /// The value and its stamp; 0 is the stamp of a value that is not there.
    pub(super) fn stamped(&self, key: &str) -> (u64, Option<Value>) {
        match lock(&self.values).by_key.get(key) {
            Some((stamp, value)) => (*stamp, Some(value.clone())),
            None => (0, None),
        }
    }

    pub(super) fn put(&self, key: &str, value: Value) {
        lock(&self.values).put(key, value);
    }

    /// Sets the value unless somebody did so since it had `stamp`.
    pub(super) fn put_if(&self, key: &str, value: Value, stamp: u64) -> bool {
        let mut values = lock(&self.values);
        let unchanged = values.by_key.get(key).map_or(0, |(stamp, _)| *stamp) == stamp;
        if unchanged {
            values.put(key, value);
        }
        unchanged
    }

    pub(super) fn keys(&self) -> Vec<String> {
        lock(&self.values).by_key.keys().cloned().collect()
    }

    pub(super) fn all(&self) -> serde_json::Map<String, Value> {
        let values = lock(&self.values);
        values.by_key.iter().map(|(key, (_, value))| (key.clone(), value.clone())).collect()
    }
}

impl Values {
    fn put(&mut self, key: &str, value: Value) {
        self.writes += 1;
        let entry = (self.writes, value);
        match self.by_key.get_mut(key) {
            Some(place) => *place = entry,
            None => {
                self.by_key.insert(key.to_owned(), entry);
            }
        }
    }
}

/// A store and the ones above it.
#[derive(Default)]
pub struct Scoped {
    pub(super) store: Store,
    pub(super) parent: Option<Arc<Scoped>>,
}

impl Scoped {
    pub(super) fn find(&self, key: &str) -> Option<Value> {
        let mut scope = self;
        loop {
            if let Some(value) = scope.store.value(key) {
                return Some(value);
            }
            scope = scope.parent.as_deref()?;
        }
    }

    pub(super) fn below(parent: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { store: Store::default(), parent: Some(Arc::clone(parent)) })
    }
}

impl fmt::Debug for Scoped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may hold secrets; a debug print is no place for them.
        f.debug_struct("Scoped")
            .field("keys", &self.store.keys())
            .field("parent", &self.parent)
            .finish()
    }
}
