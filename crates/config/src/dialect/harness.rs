//! AI Harness's hooks: a Markdown file each, with YAML frontmatter that holds a Starlark script.
//!
//! What the file is and says is read here. What its script means is for a
//! [`ScriptEngine`](crate::script::ScriptEngine) to find out.

mod artifact;
mod blocks;
mod code;
mod file;
mod frontmatter;
mod test_block;

use std::time::Duration;

pub(crate) use artifact::read_hook;
pub use artifact::{Artifact, Key, read_artifact};
pub use code::Code;
pub use file::schema as frontmatter_schema;
pub use test_block::{Expect, Expected, Given, GivenResponse, Said, TestBlock};

use tollgate_core::Kind;

use super::EventName;

/// Its events.
pub static EVENTS: &[EventName] = &[
    EventName { name: "session.start", kinds: &[Kind::SessionStart] },
    EventName { name: "session.end", kinds: &[Kind::SessionEnd] },
    EventName { name: "turn.start", kinds: &[Kind::TurnStart] },
    EventName { name: "turn.end", kinds: &[Kind::TurnEnd] },
    EventName { name: "completion.pre", kinds: &[Kind::ModelPre] },
    EventName { name: "completion.post", kinds: &[Kind::ModelPost] },
    EventName { name: "tool.pre", kinds: &[Kind::ToolPre] },
    EventName { name: "tool.post", kinds: &[Kind::ToolPost, Kind::ToolError] },
    EventName { name: "agent.stop", kinds: &[Kind::Stop] },
    EventName { name: "delegation.post_verify", kinds: &[Kind::SubagentStop] },
    EventName { name: "error", kinds: &[Kind::Failure] },
];

/// The largest script or condition, in bytes.
pub const LARGEST_SCRIPT: usize = 64 * 1024;

/// The longest time that a hook may ask for.
pub const LONGEST: Duration = Duration::from_mins(10);
