//! Values as conditions see them.

use std::borrow::Cow;
use std::rc::Rc;

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
    List(Elements<'a>),
    /// A tuple. Payloads have none, conditions do.
    Tuple(Elements<'a>),
    /// A dict whose keys are text.
    Dict(&'a dyn Payload),
    /// What a built-in hands out: values with names.
    Record(Record<'a>),
    /// A value of which only Starlark knows what it is. A condition that depends on it ends with
    /// [`CondError::NotNative`](super::CondError::NotNative).
    Other,
}

/// The elements of a list or tuple: of one that is there, or made by a script. Nothing changes either of them, so that
/// they can be shared.
#[derive(Debug, Clone)]
pub enum Elements<'a> {
    /// Of one that is there.
    Of(&'a dyn Items),
    /// Of one that was made, and how deep it nests.
    Made(Rc<[View<'a>]>, u8),
}

/// The values of a record, by their names.
pub type Record<'a> = Rc<[(&'static str, View<'a>)]>;

impl<'a> Elements<'a> {
    /// These.
    pub fn made(items: impl IntoIterator<Item = View<'a>>) -> Self {
        let items: Rc<[View<'a>]> = items.into_iter().collect();
        let deepest = items.iter().map(View::depth).max().unwrap_or(0);
        Self::Made(items, deepest.saturating_add(1))
    }

    /// The element at a place, from 0.
    pub fn at(&self, index: usize) -> Option<View<'a>> {
        match self {
            Self::Of(items) => items.at(index),
            Self::Made(items, _) => items.get(index).cloned(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Of(items) => items.len(),
            Self::Made(items, _) => items.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = View<'a>> + '_ {
        (0..self.len()).map_while(|at| self.at(at))
    }
}

impl<'a> View<'a> {
    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Str(text.into())
    }

    /// A text, or `None`.
    pub fn optional(text: Option<impl Into<Cow<'a, str>>>) -> Self {
        text.map_or(Self::None, Self::text)
    }

    /// A list of these.
    pub fn list(items: impl IntoIterator<Item = View<'a>>) -> Self {
        Self::List(Elements::made(items))
    }

    /// How deep what was made nests in it.
    fn depth(&self) -> u8 {
        match self {
            Self::List(Elements::Made(_, depth)) | Self::Tuple(Elements::Made(_, depth)) => *depth,
            // What built-ins hand out is a list of records with lists.
            Self::Record(_) => 4,
            _ => 0,
        }
    }

    /// A record of these.
    pub fn record<const N: usize>(fields: [(&'static str, View<'a>); N]) -> Self {
        Self::Record(Rc::new(fields))
    }
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
    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, View<'a>) -> bool);
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

    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, View<'a>) -> bool) {
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
            Value::Array(items) => View::List(Elements::Of(items)),
            Value::Object(entries) => View::Dict(entries),
        }
    }
}
