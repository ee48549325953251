//! Values as conditions see them.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// A value, borrowed from wherever it is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum View<'a> {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// A whole number. Starlark's have no bound; what does not fit is [`View::Other`].
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(Cow<'a, str>),
    /// A list.
    List(&'a dyn Items),
    /// A tuple. Payloads have none, conditions do.
    Tuple(&'a dyn Items),
    /// A dict whose keys are text.
    Dict(&'a dyn Payload),
    /// A value of which only Starlark knows what it is. A condition that depends on it ends with
    /// [`CondError::NotNative`](super::CondError::NotNative).
    Other,
}

/// A dict whose keys are text, such as a payload.
pub trait Payload: std::fmt::Debug {
    /// The value of a key.
    fn get(&self, key: &str) -> Option<View<'_>>;
    /// How many keys there are.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Calls for each key and value until the answer is `false`.
    fn each(&self, visit: &mut dyn FnMut(&str, View<'_>) -> bool);
}

/// The elements of a list or tuple.
pub trait Items: std::fmt::Debug {
    /// The element at a place, from 0.
    fn at(&self, index: usize) -> Option<View<'_>>;
    /// How many there are.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Payload for Map<String, Value> {
    fn get(&self, key: &str) -> Option<View<'_>> {
        Map::get(self, key).map(View::from)
    }

    fn len(&self) -> usize {
        Map::len(self)
    }

    fn each(&self, visit: &mut dyn FnMut(&str, View<'_>) -> bool) {
        for (key, value) in self {
            if !visit(key, View::from(value)) {
                return;
            }
        }
    }
}

impl Items for Vec<Value> {
    fn at(&self, index: usize) -> Option<View<'_>> {
        self.as_slice().get(index).map(View::from)
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }
}

impl<'a> From<&'a Value> for View<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => View::None,
            Value::Bool(it) => View::Bool(*it),
            Value::Number(number) => {
                // In the order in which the interpreter tries them.
                if let Some(it) = number.as_u64() {
                    View::Int(it.into())
                } else if let Some(it) = number.as_i64() {
                    View::Int(it.into())
                } else {
                    // Whole numbers of any size are whole in the language.
                    match (number.to_string(), number.as_f64()) {
                        (text, Some(it)) if text.contains(['.', 'e', 'E']) => View::Float(it),
                        _ => View::Other,
                    }
                }
            }
            Value::String(it) => View::Str(Cow::Borrowed(it)),
            Value::Array(items) => View::List(items),
            Value::Object(entries) => View::Dict(entries),
        }
    }
}
