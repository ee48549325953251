//! What a shell command would run, and what that would do, told from its text alone.

pub mod effects;
pub mod policy;
pub mod resolve;
pub mod risk;
pub mod syntax;
pub mod watch;
pub mod world;

mod names;
mod value;

pub use resolve::{Analysis, Command, Surroundings, Unknown, Why, analyze, typed_into};
pub use value::{Part, Value};
