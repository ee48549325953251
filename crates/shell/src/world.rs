//! What is known of the machine beyond the text of a command.
//!
//! A program that decides about real calls says once, at its start, where it runs ([`enter`]).
//! Without that, homes are told by how they look and no file is read, so that tests of hooks mean
//! the same everywhere.

use std::sync::OnceLock;

/// The machine that commands run on.
#[derive(Debug, Default)]
pub struct World {
    /// The homes of the person who runs the agent, absolute: of `HOME`, and of the account.
    pub homes: Vec<String>,
}

static HERE: OnceLock<World> = OnceLock::new();

/// Says where this process runs, once. Returns false if it was said before.
pub fn enter(world: World) -> bool {
    HERE.set(world).is_ok()
}

/// Returns the machine that commands run on, as far as it is known.
pub fn here() -> &'static World {
    static NOWHERE: World = World { homes: Vec::new() };
    HERE.get().unwrap_or(&NOWHERE)
}
