//! Puts Tollgate into the configuration of the agents people use, and takes it out again.
//!
//! A [`Target`] is one such agent: where its hooks are, for a person and for a project, and how one of them
//! looks there. [`install`] and [`uninstall`] make a [`Plan`], which touches nothing and can be shown;
//! [`Plan::apply`] does it. What else is in a file stays as it is, to the byte: its order, its comments,
//! the hooks of others. Who installs and uninstalls has the files that they had.
//!
//! ```no_run
//! use tollgate_install::{Layer, Surroundings, Target, install};
//!
//! let here = Surroundings::new("/home/ann", "/work/shop", "/usr/bin/tollgate").with_environment();
//! let codex = Target::by_name("codex")?;
//! let plan = install(codex, Layer::User, &here)?;
//! println!("{}", plan.diff());
//! for done in plan.apply()? {
//!     println!("{}, as it was: {:?}", done.path.display(), done.backup);
//! }
//! for need in codex.needs(Layer::User) {
//!     println!("still to do: {need}");
//! }
//! # Ok::<(), tollgate_install::InstallError>(())
//! ```

mod apply;
mod codex;
mod command;
mod compare;
mod entries;
mod error;
mod file;
mod find;
mod json;
mod plan;
mod scripts;
mod settings;
mod splice;
mod surroundings;
mod target;
mod targets;
#[cfg(test)]
mod texts;
mod toml;
mod words;

pub use apply::{Applied, revert};
pub use command::{CommandLine, Missing, Registration, closed_line};
pub use error::InstallError;
pub use find::{Configured, Found, Installed, Other, examine, find};
pub use plan::{Edit, Plan, install, install_for, registrations, uninstall};
pub use surroundings::Surroundings;
pub use target::{Layer, Target};
