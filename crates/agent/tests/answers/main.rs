//! Each event, and each answer to it: what comes of it, seen from the model's side.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod bounds;
mod cancel;
mod compaction;
mod fallen;
mod interaction;
mod invocation;
mod model;
mod permissions;
mod scene;
mod session;
mod stop;
mod stream;
mod subagent;
mod tool_after;
mod tool_pre;
mod turn;

#[path = "../support/mod.rs"]
mod support;
