//! The agents people use, as callers of a hook command.
//!
//! Each of them calls a command at points of its life, with JSON on its standard input, and goes by
//! what it prints and how it exits. No two agree on the names of the events, on the tools, or on what
//! an answer is, and nearly all of them take a broken answer for a yes. A [`Host`] is one such agent:
//! its events, its tools, and both halves of what it says and is told.
//!
//! ```
//! use serde_json::json;
//! use tollgate_hosts::{Reply, by_name};
//!
//! let claude = by_name("claude").ok_or("no such host")?;
//! let input = json!({
//!     "hook_event_name": "PreToolUse", "session_id": "1", "cwd": "/work",
//!     "tool_name": "Bash", "tool_input": {"command": "rm -rf ~"},
//! });
//! let incoming = claude.read(None, input)?.ok_or("nothing to decide")?;
//! assert_eq!(incoming.parts[0].call().map(|call| &*call.name), Some("run_command"));
//!
//! let refused = claude.write(incoming.event, &Reply::refuse("not here"));
//! assert_eq!(refused.code, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate runs nothing, reads no file and knows no hooks: it turns what a host says into events
//! and what was decided about them into what the host understands.

mod facts;
mod fields;
mod form;
mod host;
mod mcp;
mod output;
mod patch;
mod reply;
mod result;
mod tools;

pub mod antigravity;
pub mod claude;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod droid;
pub mod gemini;
pub mod kimi;
pub mod opencode;
pub mod polytoken;
pub mod qwen;
pub mod vscode;
pub mod windsurf;

pub use facts::{Facts, Version};
pub use host::{Form, Forms, Host, HostEvent, Incoming, Part, Wire};
pub use mcp::McpNames;
pub use output::{Output, WireError};
pub use reply::{Choices, Reply, Rewritten, Verdict};
pub use tools::{HostTool, Shape, place};

/// All hosts.
pub static ALL: &[&Host] = &[
    &claude::HOST,
    &codex::HOST,
    &gemini::HOST,
    &copilot::HOST,
    &qwen::HOST,
    &kimi::HOST,
    &droid::HOST,
    &cline::HOST,
    &opencode::HOST,
    &cursor::HOST,
    &windsurf::HOST,
    &vscode::HOST,
    &antigravity::HOST,
    &polytoken::HOST,
];

/// The host of this name.
pub fn by_name(name: &str) -> Option<&'static Host> {
    ALL.iter().copied().find(|host| host.name == name)
}
