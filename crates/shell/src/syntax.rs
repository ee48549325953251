//! The text of a script as a tree.
//!
//! Nothing is expanded here. Every word is taken apart into pieces in the same pass that finds it,
//! so that no text is looked at twice, however deep it is nested.
//!
//! It is read as `bash -c` of version 5.2 reads it. Where bash takes a word without looking into
//! it and looks later, both readings have to agree, or the text is refused: `$((…))` with a `case`
//! in a substitution, for one. Patterns such as `@(a|b)` are words everywhere, as with `extglob`.

use std::fmt;

mod arithmetic;
mod ast;
mod commands;
mod compound;
mod condition;
mod cursor;
mod dollar;
mod heredoc;
mod parameters;
mod quotes;
mod redirects;
mod second;
mod words;

pub use ast::{
    Assignment, CaseArm, Clause, Command, CommandKind, Connective, Direction, Operator, Parameter,
    Piece, Pipeline, Redirect, RedirectKind, Script, Statement, Word,
};
pub use second::{Agreement, second_opinion};

/// How deep constructs may be nested in each other. All of them count: substitutions, compound
/// commands, `${a:-…}`, brackets of arithmetic, quotes.
pub const DEEPEST: usize = 64;

/// A text that is no script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where, in bytes of the text.
    pub at: usize,
    /// What is wrong.
    pub what: String,
    /// Whether it may well be a script, but one nested deeper than [`DEEPEST`].
    pub too_deep: bool,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for SyntaxError {}

/// Parses a script.
pub fn parse(text: &str) -> Result<Script, SyntaxError> {
    if let Some(at) = text.bytes().position(|byte| byte == 0) {
        return Err(SyntaxError { at, what: "a NUL".to_owned(), too_deep: false });
    }
    cursor::Parser::new(text).whole().map_err(|error| *error)
}
