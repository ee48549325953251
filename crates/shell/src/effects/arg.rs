//! A word of a command line, or the rest of one behind an option's name.

use std::borrow::Cow;

use crate::value::{Part, Value};

/// A value without its first bytes: `--output=x` has `x` behind its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arg<'a> {
    value: &'a Value,
    skip: usize,
}

impl<'a> Arg<'a> {
    pub(crate) fn new(value: &'a Value) -> Self {
        Self { value, skip: 0 }
    }

    /// Without `bytes` more of the known text it begins with.
    pub(crate) fn behind(self, bytes: usize) -> Self {
        Self { value: self.value, skip: self.skip.saturating_add(bytes) }
    }

    /// The known text that it begins with.
    pub(crate) fn prefix(self) -> &'a str {
        self.value.prefix().get(self.skip..).unwrap_or("")
    }

    /// The text, where all of it is known.
    pub(crate) fn known(self) -> Option<&'a str> {
        self.value.known().map(|text| text.get(self.skip..).unwrap_or(""))
    }

    /// Whether it is this text and nothing else.
    pub(crate) fn is(self, text: &str) -> bool {
        self.known() == Some(text)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(self) -> bool {
        self.known() == Some("")
    }

    /// Whether nothing at all is known of it.
    pub(crate) fn is_unknown(self) -> bool {
        matches!(self.value.parts(), [Part::Unknown, ..]) && self.skip == 0
    }

    /// As a person would write it.
    pub(crate) fn text(self) -> Cow<'a, str> {
        if let Some(text) = self.known() {
            return Cow::Borrowed(text);
        }
        let whole = self.value.to_string();
        Cow::Owned(whole.get(self.skip..).unwrap_or("").to_owned())
    }

    /// What it is made of; the first text may have been cut.
    pub(crate) fn parts(self) -> impl Iterator<Item = Piece<'a>> {
        let skip = self.skip;
        self.value.parts().iter().enumerate().map(move |(index, part)| match part {
            Part::Text(text) if index == 0 => Piece::Text(text.get(skip..).unwrap_or("")),
            Part::Text(text) => Piece::Text(text),
            Part::Glob(text) => Piece::Glob(text),
            Part::Home => Piece::Home,
            Part::Unknown => Piece::Unknown,
        })
    }
}

/// A part of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Glob(&'a str),
    Home,
    Unknown,
}
