//! Hooks in Markdown with Starlark, and policies as a file.
//!
//! A hook is one Markdown file: frontmatter with an event, a condition and a script, then its
//! documentation and its tests. This crate runs the scripts; finding, checking and trusting the
//! files is [`tollgate_config`]'s part.

// The language's own macros write what its traits want. None is written by hand.
#![allow(unsafe_code)]

pub mod analysis;
mod answer;
mod builtins;
mod convert;
mod engine;
pub mod guards;
mod hook;
mod host;
mod lexical;
mod payload;
mod policy;
mod protocol;
mod sandbox;
pub mod testing;
mod tools;
pub mod worker;

pub use answer::answers;
pub use engine::{DEFAULT_TIME, DEFAULT_TIME_OUTSIDE, MEMORY, STEPS, Starlark};
pub use tools::{HookTools, ToolRequest};

/// Runs the code of the documentation pages as tests. This crate has all that they use.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
}
