//! Hook files of every dialect: found, checked, trusted, loaded and run.
//!
//! * [`source`], [`diagnostic`]: texts, places in them, and what is wrong there;
//! * [`dialect`]: each file format, with both halves of its codec;
//! * [`layers`], [`trust`]: where files are looked for, and whether they may run;
//! * [`settings`], [`guard`]: what `config.toml` says, and the hook that keeps agents from all this;
//! * [`script`]: what runs scripts, and is plugged in;
//! * [`tools`]: what is said about names of tools in rules, matchers and conditions;
//! * [`convert`]: files of one system as those of another;
//! * [`load`], [`hooks`]: from files to hooks in force, and again on request.

mod command;
pub mod convert;
pub mod diagnostic;
pub mod dialect;
pub mod guard;
pub mod hooks;
mod json;
pub mod layers;
pub mod load;
mod names;
mod read;
pub mod script;
pub mod settings;
pub mod source;
pub mod tools;
pub mod trust;

pub use names::nearest;
