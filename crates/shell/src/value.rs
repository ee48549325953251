//! A word after expansion, as far as it is known.

use std::fmt;

use smallvec::{SmallVec, smallvec};

/// What a word has become.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Value {
    /// Nearly always one.
    parts: SmallVec<[Part; 1]>,
}

impl Clone for Value {
    // Values are copied a lot, and nearly all of them are one text.
    fn clone(&self) -> Self {
        match self.parts.as_slice() {
            [Part::Text(text)] => Self { parts: smallvec![Part::Text(text.clone())] },
            parts => Self { parts: parts.iter().cloned().collect() },
        }
    }
}

/// A part of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// Known text.
    Text(String),
    /// A glob that has its meaning: `*`, `?`, `[…]`, as written.
    Glob(String),
    /// The home of the person who runs it.
    Home,
    /// Anything.
    Unknown,
}

impl Part {
    /// Its text, where it has one.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Glob(text) => text,
            Self::Home | Self::Unknown => "",
        }
    }
}

impl Value {
    /// A value that is known.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { parts: if text.is_empty() { SmallVec::new() } else { smallvec![Part::Text(text)] } }
    }

    /// A value of which nothing is known.
    pub fn unknown() -> Self {
        Self { parts: smallvec![Part::Unknown] }
    }

    /// Adds a part behind the others.
    pub fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (_, Part::Text(text)) if text.is_empty() => {}
            (Some(Part::Text(last)), Part::Text(text)) => last.push_str(&text),
            (Some(Part::Unknown), Part::Unknown) => {}
            (_, part) => self.parts.push(part),
        }
    }

    /// Adds known text behind the others.
    pub fn push_str(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    /// Adds another value behind this one.
    pub fn append(&mut self, other: &Self) {
        for part in &other.parts {
            self.push(part.clone());
        }
    }

    /// Puts another value behind this one, which it becomes where this one is empty.
    pub(crate) fn join(&mut self, other: Self) {
        if self.parts.is_empty() {
            *self = other;
            return;
        }
        for part in other.parts {
            self.push(part);
        }
    }

    /// What it is made of: no two texts side by side, no empty one.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The text, where all of it is known.
    pub fn known(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The known text that it begins with.
    pub fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// How long its text is, in bytes.
    pub fn size(&self) -> usize {
        self.parts.iter().map(|part| part.text().len()).sum()
    }

    /// Whether some of it is not known.
    pub fn has_unknown(&self) -> bool {
        self.parts.contains(&Part::Unknown)
    }

    /// Whether a glob in it has its meaning.
    pub fn has_glob(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Glob(_)))
    }

    /// Whether it is empty for sure.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// As a person would write it: `~` for the home, `$?` for what is not known.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) | Part::Glob(text) => f.write_str(text)?,
                Part::Home => f.write_str("~")?,
                Part::Unknown => f.write_str("$?")?,
            }
        }
        Ok(())
    }
}
